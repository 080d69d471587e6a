//! Ciphers that take any number of bytes: CTR, OFB and CFB of AES, and ChaCha20.

use super::Mechanism;
use super::common::{iv, secret};
use super::params::Params;
use crate::object::Held;
use crate::object::prepared::{Form, Prepared};
use crate::operation::{Again, Cipher, Follows};
use crate::rv::{Result, Rv, ensure, fail, key_size};
use adjunct::InOut;
use adjunct::ops::cipher::chacha::{self, COUNTER};
use adjunct::ops::cipher::{Block, Chain, Counted, Shared, aes};
use cryptoki_sys::*;

/// A stream cipher's operation on some bytes.
trait Stream: Send {
    fn run(&mut self, io: InOut<'_>) -> Result;

    /// Whether another message may follow ([`Again::follows`]).
    fn follows(&self) -> Follows {
        Follows::Never
    }

    /// Wipes what is left of a message that has ended ([`Again::rest`]).
    fn rest(&mut self) {}

    /// Begins another message with these parameters ([`Again::again`]); false where that cannot be.
    fn again(&mut self, _params: &Params<'_>) -> bool {
        false
    }
}

/// A stream as an operation.
struct Streaming<S>(S);

impl<S: Stream> Again for Streaming<S> {
    fn follows(&self) -> Follows {
        self.0.follows()
    }

    fn rest(&mut self) {
        self.0.rest();
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        self.0.again(params)
    }
}

impl<S: Stream> Cipher for Streaming<S> {
    fn update_length(&self, input: usize) -> usize {
        input
    }

    fn update(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let out = out.get_mut(..input.len()).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        self.0.run(InOut::apart(input, out))?;
        Ok(input.len())
    }

    fn final_length(&self) -> usize {
        0
    }

    fn finish(&mut self, _: &mut [u8]) -> Result<usize> {
        Ok(0)
    }

    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        self.update(input, out)
    }
}

/// Begins a message in CTR of AES.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn aes_ctr(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    counting(key, encrypt, mechanism.params)
}

/// Begins a message in OFB of AES.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn aes_ofb(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    feedback::<aes::Ofb>(key, encrypt, iv(mechanism.params)?)
}

/// Begins a message in CFB of AES with whole blocks.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn aes_cfb128(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    feedback::<aes::Cfb>(key, encrypt, iv(mechanism.params)?)
}

/// Begins a message in CFB of AES with bytes.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn aes_cfb8(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    feedback::<aes::Cfb8>(key, encrypt, iv(mechanism.params)?)
}

/// Begins a message of ChaCha20.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn chacha20(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    let Params::ChaCha { counter, nonce } = mechanism.params else { return fail(CKR_MECHANISM_PARAM_INVALID) };
    chacha(secret(&key, CKK_CHACHA20)?, encrypt, counter, nonce)
}

/// Position in a message, as a mode needs it.
struct Place {
    iv: Block,
    stream: Block,
    used: u32,
}

impl Place {
    const fn at(iv: Block) -> Place {
        Place { iv, stream: [0; 16], used: 0 }
    }

    fn chain(&mut self) -> Chain<'_> {
        Chain { iv: &mut self.iv, stream: &mut self.stream, used: &mut self.used, bits: false }
    }
}

impl Place {
    fn wipe(&mut self) {
        adjunct::wipe(&mut self.iv);
        adjunct::wipe(&mut self.stream);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// OFB and CFB.
struct Feedback<M> {
    mode: Prepared<Counted<M>>,
    encrypt: bool,
    place: Place,
}

fn feedback<M: Shared + Send + Sync + 'static>(key: Held, encrypt: bool, iv: Block) -> Result<Box<dyn Cipher>>
where
    Counted<M>: Form<Of = bool>,
{
    let mode = Prepared::<Counted<M>>::new(key, encrypt)?;
    Ok(Box::new(Streaming(Feedback { mode, encrypt, place: Place::at(iv) })))
}

impl<M: Shared + Send + Sync> Stream for Feedback<M>
where
    Counted<M>: Form,
{
    fn run(&mut self, io: InOut<'_>) -> Result {
        Ok(self.mode.get()?.read(self.encrypt, self.place.chain(), io)?)
    }

    fn follows(&self) -> Follows {
        self.mode.key().follows()
    }

    fn rest(&mut self) {
        self.place.wipe();
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        let Ok(vector) = iv(*params) else { return false };
        (self.place.iv, self.place.used) = (vector, 0);
        true
    }
}

/// CTR, of which only the last bits of the block count. No block of the key stream comes twice: a message that would need one is refused.
struct Counting {
    mode: Prepared<Counted<aes::Ctr>>,
    encrypt: bool,
    place: Place,
    /// The bits of the block that belong to the counter.
    mask: u128,
    /// How many blocks can still be counted.
    left: u128,
}

fn counting(key: Held, encrypt: bool, params: Params<'_>) -> Result<Box<dyn Cipher>> {
    let (block, mask) = counter(&params)?;
    let mode = Prepared::new(key, encrypt)?;
    Ok(Box::new(Streaming(Counting { mode, encrypt, place: Place::at(block), mask, left: blocks(mask) })))
}

/// The first block, and the bits of it that count.
fn counter(params: &Params<'_>) -> Result<(Block, u128)> {
    let &Params::Counter { bits, block } = params else { return fail(CKR_MECHANISM_PARAM_INVALID) };
    ensure((1..=128).contains(&bits), CKR_MECHANISM_PARAM_INVALID)?;
    Ok((block, u128::MAX >> (128 - bits)))
}

/// How many blocks bits count. Of 128 bits one block less than there are, which no message has.
const fn blocks(mask: u128) -> u128 {
    mask.saturating_add(1)
}

impl Stream for Counting {
    fn run(&mut self, io: InOut<'_>) -> Result {
        let Counting { mode, encrypt, place, mask, left } = self;
        // What is left of the block that was begun needs no other.
        let begun = if place.used == 0 { 0 } else { 16 - place.used as usize };
        let blocks = io.len().saturating_sub(begun).div_ceil(16) as u128;
        ensure(blocks <= *left, CKR_DATA_LEN_RANGE)?;
        *left -= blocks;
        let counter = u128::from_be_bytes(place.iv) & *mask;
        if place.used == 0 && blocks <= *mask - counter {
            // Nothing is carried out of the bits that count.
            return Ok(mode.get()?.read(*encrypt, place.chain(), io)?);
        }
        let fixed = u128::from_be_bytes(place.iv) & !*mask;
        mode.get()?.lend().update(*encrypt, io.len(), |mut pieces| {
            let (first, mut rest) = io.split_head(begun);
            if !first.is_empty() {
                pieces.run(place.chain(), first)?;
            }
            while !rest.is_empty() {
                // As many blocks as come before the bits that count are all zeros; the carry out of them is dropped.
                let until = (*mask - (u128::from_be_bytes(place.iv) & *mask)).saturating_add(1);
                let most = usize::try_from(until.saturating_mul(16)).unwrap_or(usize::MAX);
                let (now, later) = rest.split_head(most);
                pieces.run(place.chain(), now)?;
                place.iv = (u128::from_be_bytes(place.iv) & *mask | fixed).to_be_bytes();
                rest = later;
            }
            Ok(())
        })
    }

    fn follows(&self) -> Follows {
        self.mode.key().follows()
    }

    fn rest(&mut self) {
        self.place.wipe();
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        let Ok((block, mask)) = counter(params) else { return false };
        (self.place.iv, self.place.used) = (block, 0);
        (self.mask, self.left) = (mask, blocks(mask));
        true
    }
}

/// ChaCha20 with a counter of 32 bits (RFC 8439) or of 64 (its first form).
struct ChaCha {
    stream: Counted<chacha::Stream>,
    encrypt: bool,
    /// Whether the counter has 64 bits.
    wide: bool,
    /// Counter and nonce where the lower half of the counter last began.
    start: [u8; COUNTER],
    /// How many bytes the lower half of the counter is good for.
    left: u64,
}

const LOW: u64 = 1 << 32;

fn chacha(key: &[u8], encrypt: bool, counter: &[u8], nonce: &[u8]) -> Result<Box<dyn Cipher>> {
    let wide = match (counter.len(), nonce.len()) {
        (4, 12) => false,
        (8, 8) => true,
        _ => return fail(CKR_MECHANISM_PARAM_INVALID),
    };
    let mut start = [0; COUNTER];
    start[..counter.len()].copy_from_slice(counter);
    start[counter.len()..].copy_from_slice(nonce);
    let low = u32::from_le_bytes([start[0], start[1], start[2], start[3]]);
    let left = (LOW - u64::from(low)) * 64;
    let mut made = Box::new(Streaming(ChaCha { stream: Counted::default(), encrypt, wide, start, left }));
    made.0.stream.set_key(key, encrypt).map_err(key_size)?;
    made.0.stream.set_counter(&start);
    Ok(made)
}

impl Stream for ChaCha {
    fn run(&mut self, mut io: InOut<'_>) -> Result {
        ensure(self.wide || io.len() as u64 <= self.left, CKR_DATA_LEN_RANGE)?;
        while io.len() as u64 > self.left {
            // The lower half of the counter runs over within this call.
            let (now, later) = io.split_head(self.left as usize);
            self.stream.apply(self.encrypt, now);
            let high = u32::from_le_bytes([self.start[4], self.start[5], self.start[6], self.start[7]]);
            self.start[..4].fill(0);
            self.start[4..8].copy_from_slice(&high.wrapping_add(1).to_le_bytes());
            self.stream.set_counter(&self.start);
            (io, self.left) = (later, LOW * 64);
        }
        self.left -= io.len() as u64;
        self.stream.apply(self.encrypt, io);
        Ok(())
    }
}
