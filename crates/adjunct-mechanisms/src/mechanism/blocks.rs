//! Modes that take whole blocks: ECB and CBC of AES and triple DES, and CBC with the padding of PKCS #7.

use super::Mechanism;
use super::common::{des3, iv};
use super::generate::no_params;
use super::params::Params;
use crate::object::Held;
use crate::object::prepared::{Form, Prepared};
use crate::operation::{Again, Cipher, Follows};
use crate::rv::{Result, Rv, ensure};
use adjunct::InOut;
use adjunct::ops::cipher::once::{self, TripleDes};
use adjunct::ops::cipher::{Block, Chain, Counted, Shared, aes, des};
use cryptoki_sys::*;
use subtle::{Choice, ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess};
use zeroize::Zeroizing;

/// A mode with its key.
trait Blocks: Send {
    /// Runs the whole blocks of a call, made of bytes held back and `part`: first those of `head`, if any, then those of `body`.
    fn run(&mut self, bytes: usize, iv: &mut Block, head: Option<InOut<'_>>, body: InOut<'_>) -> Result;

    /// The last block, whose bytes were counted.
    fn last(&mut self, iv: &mut Block, block: InOut<'_>) -> Result;

    /// Whether another message may follow ([`Again::follows`]).
    fn follows(&self) -> Follows {
        Follows::Never
    }
}

/// A mode whose key is prepared.
struct Keyed<M> {
    mode: Prepared<Counted<M>>,
    encrypt: bool,
}

fn chain<R>(iv: &mut Block, run: impl FnOnce(Chain<'_>) -> R) -> R {
    run(Chain { iv, stream: &mut [0; 16], used: &mut 0, bits: false })
}

impl<M: Shared + Send + Sync> Blocks for Keyed<M>
where
    Counted<M>: Form,
{
    fn run(&mut self, bytes: usize, iv: &mut Block, head: Option<InOut<'_>>, body: InOut<'_>) -> Result {
        self.mode.get()?.lend().update(self.encrypt, bytes, |mut pieces| {
            if let Some(head) = head {
                chain(iv, |chain| pieces.run(chain, head))?;
            }
            if !body.is_empty() {
                chain(iv, |chain| pieces.run(chain, body))?;
            }
            Ok(())
        })
    }

    fn last(&mut self, iv: &mut Block, block: InOut<'_>) -> Result {
        let mut mode = self.mode.get()?.lend();
        Ok(chain(iv, |chain| mode.last(self.encrypt, chain, block))?)
    }

    fn follows(&self) -> Follows {
        self.mode.key().follows()
    }
}

/// Triple DES in ECB, which the core has for a key that each call brings.
struct DesEcb {
    key: Zeroizing<[u8; 24]>,
    encrypt: bool,
}

impl Blocks for DesEcb {
    fn run(&mut self, _: usize, _: &mut Block, head: Option<InOut<'_>>, body: InOut<'_>) -> Result {
        for io in head.into_iter().chain([body]).filter(|io| !io.is_empty()) {
            once::ecb::<TripleDes, 8>(&*self.key, self.encrypt, io)?;
        }
        Ok(())
    }

    fn last(&mut self, _: &mut Block, block: InOut<'_>) -> Result {
        Ok(once::ecb::<TripleDes, 8>(&*self.key, self.encrypt, block)?)
    }
}

/// A message in blocks.
struct Message<B> {
    blocks: B,
    iv: Block,
    /// How many bytes of it a caller gives.
    given: usize,
    size: usize,
    encrypt: bool,
    padded: bool,
    /// What no whole block has come of yet. Where padding is to be taken off, the last block waits as well.
    held: [u8; 16],
    used: usize,
}

impl<B> Drop for Message<B> {
    fn drop(&mut self) {
        adjunct::wipe(&mut self.held);
    }
}

impl<B: Blocks> Again for Message<B> {
    fn follows(&self) -> Follows {
        self.blocks.follows()
    }

    fn rest(&mut self) {
        adjunct::wipe(&mut self.held);
        self.used = 0;
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        match *params {
            Params::None if self.given == 0 => {}
            Params::Bytes(iv) if iv.len() == self.given => match <&Block>::try_from(iv) {
                // A copy of a length that is known takes no call.
                Ok(iv) => self.iv = *iv,
                Err(_) => self.iv[..iv.len()].copy_from_slice(iv),
            },
            _ => return false,
        }
        true
    }

    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut running = Zeroizing::new(Vec::with_capacity(self.iv.len() + self.used));
        running.extend_from_slice(&self.iv);
        running.extend_from_slice(&self.held[..self.used]);
        Some(running)
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        let invalid = Rv(CKR_SAVED_STATE_INVALID);
        let (iv, held) = running.split_first_chunk().ok_or(invalid)?;
        // A whole block waits only where it may be the last one, whose padding is taken off.
        let most = if self.padded && !self.encrypt { self.size } else { self.size - 1 };
        ensure(held.len() <= most, invalid.0)?;
        self.held[..held.len()].copy_from_slice(held);
        (self.iv, self.used) = (*iv, held.len());
        Ok(())
    }
}

/// Begins a message in ECB of AES.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn aes_ecb(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    no_params(mechanism)?;
    keyed::<aes::Ecb>(key, encrypt, &[], false)
}

/// Begins a message in CBC of AES.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn aes_cbc<const PADDED: bool>(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    keyed::<aes::Cbc>(key, encrypt, &iv::<16>(mechanism.params)?, PADDED)
}

/// Begins a message in ECB of triple DES.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn des3_ecb(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    no_params(mechanism)?;
    let blocks = DesEcb { key: des3(&key)?, encrypt };
    let (iv, held) = ([0; 16], [0; 16]);
    Ok(Box::new(Message { blocks, iv, given: 0, size: 8, encrypt, padded: false, held, used: 0 }))
}

/// Begins a message in CBC of triple DES.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn des3_cbc<const PADDED: bool>(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    keyed::<des::Cbc>(key, encrypt, &iv::<8>(mechanism.params)?, PADDED)
}

fn keyed<M: Shared + Send + Sync + 'static>(
    key: Held,
    encrypt: bool,
    given: &[u8],
    padded: bool,
) -> Result<Box<dyn Cipher>>
where
    Counted<M>: Form<Of = bool>,
{
    let blocks = Keyed { mode: Prepared::<Counted<M>>::new(key, encrypt)?, encrypt };
    let (mut iv, held) = ([0; 16], [0; 16]);
    iv[..given.len()].copy_from_slice(given);
    Ok(Box::new(Message { blocks, iv, given: given.len(), size: M::BLOCK, encrypt, padded, held, used: 0 }))
}

/// How many bytes the padding of a block has, and whether it is one, in a time that does not depend on either.
fn padding(block: &[u8]) -> (usize, Choice) {
    let count = block.last().copied().unwrap_or_default();
    let size = block.len() as u8;
    let mut good = !count.ct_eq(&0) & !count.ct_gt(&size);
    for (at, byte) in (0..size).zip(block.iter().rev()) {
        good &= byte.ct_eq(&count) | !at.ct_lt(&count);
    }
    (usize::from(count), good)
}

impl<B: Blocks> Cipher for Message<B> {
    fn update_length(&self, input: usize) -> usize {
        let total = self.used + input;
        let waits = usize::from(self.padded && !self.encrypt).min(total);
        (total - waits) / self.size * self.size
    }

    fn update(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let whole = self.update_length(input.len());
        let out = out.get_mut(..whole).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        let mut rest = input;
        if whole == 0 {
            self.blocks.run(input.len(), &mut self.iv, None, InOut::in_place(&mut []))?;
        } else {
            // A block that was begun is made whole first.
            let first = if self.used == 0 { 0 } else { self.size };
            let (head, tail) = input.split_at(first.saturating_sub(self.used));
            self.held[self.used..self.used + head.len()].copy_from_slice(head);
            let (begun, body) = out.split_at_mut(first);
            let (now, later) = tail.split_at(body.len());
            let begun = (first > 0).then(|| InOut::apart(&self.held[..first], begun));
            self.blocks.run(input.len(), &mut self.iv, begun, InOut::apart(now, body))?;
            (self.used, rest) = (0, later);
        }
        self.held[self.used..self.used + rest.len()].copy_from_slice(rest);
        self.used += rest.len();
        Ok(whole)
    }

    fn final_length(&self) -> usize {
        if self.padded { self.size } else { 0 }
    }

    fn exact(&self) -> bool {
        self.encrypt || !self.padded
    }

    fn once_length(&self, input: usize) -> usize {
        match (self.padded, self.encrypt) {
            (true, true) => (input / self.size + 1) * self.size,
            (true, false) => input,
            (false, _) => input / self.size * self.size,
        }
    }

    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        if !self.padded && self.used == 0 && input.len() == out.len() && input.len().is_multiple_of(self.size) {
            // Whole blocks, without detours.
            self.blocks.run(input.len(), &mut self.iv, None, InOut::apart(input, out))?;
            return Ok(input.len());
        }
        let written = self.update(input, out)?;
        let room = out.len() - written;
        let last = self.final_length().min(room);
        Ok(written + self.finish(&mut out[written..written + last])?)
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let wrong = if self.encrypt { CKR_DATA_LEN_RANGE } else { CKR_ENCRYPTED_DATA_LEN_RANGE };
        if !self.padded {
            return ensure(self.used == 0, wrong).map(|()| 0);
        }
        let (used, size) = (self.used, self.size);
        let mut block = Zeroizing::new([0; 16]);
        if self.encrypt {
            block[..used].copy_from_slice(&self.held[..used]);
            block[used..size].fill((size - used) as u8);
        } else {
            ensure(used == size, wrong)?;
            *block = self.held;
        }
        let Message { blocks, iv, .. } = self;
        blocks.last(iv, InOut::in_place(&mut block[..size]))?;
        let length = if self.encrypt {
            size
        } else {
            let (count, good) = padding(&block[..size]);
            ensure(bool::from(good), CKR_ENCRYPTED_DATA_INVALID)?;
            size - count
        };
        let out = out.get_mut(..length).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        out.copy_from_slice(&block[..length]);
        Ok(length)
    }
}
