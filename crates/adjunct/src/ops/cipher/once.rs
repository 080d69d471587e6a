//! The modes of DES, triple DES and AES (SP 800-38A and its addendum) in one call with a key of its own: each counts once, with its
//! bytes, in its direction, after it ran.

use super::direction;
use crate::adapter::cpu::awslc::cipher::AesKey;
use crate::adapter::cpu::awslc::cipher_des::Des;
use crate::catalogue::Function;
use crate::error::Error;
use crate::ops::Tally;
use adjunct_kernels::{InOut, wipe};
use schedule::Schedule;

mod schedule {
    use super::{Error, InOut};

    /// A key schedule, for the modes of this file alone: here nothing is counted.
    ///
    /// Its default has no key: one is set where it stays, for whatever is moved leaves a copy behind.
    pub trait Schedule<const B: usize>: Default {
        /// Sets the key for one direction; a stream of keys (CTR, OFB, CFB) needs that of encryption.
        fn set_key(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error>;
        /// ECB over whole blocks, in the direction of the key.
        fn ecb(&self, encrypt: bool, io: InOut<'_>);
        /// CBC over whole blocks, in the direction of the key; `iv` becomes the last ciphertext block.
        fn cbc(&self, encrypt: bool, iv: &mut [u8; B], io: InOut<'_>);
        /// CTR over any length with a counter over the whole block, which becomes the next.
        fn ctr(&self, counter: &mut [u8; B], io: InOut<'_>);
        /// CTR with a list of counters, as long as the message, up to whole blocks.
        fn ctr_list(&self, list: &[u8], io: InOut<'_>);
        /// CFB with feedback of 1 byte to a block; `iv` becomes the shift register.
        fn cfb(&self, encrypt: bool, feedback: usize, iv: &mut [u8; B], io: InOut<'_>);
        /// OFB; `iv` becomes the last block of the stream.
        fn ofb(&self, iv: &mut [u8; B], io: InOut<'_>);
    }
}

/// A block cipher by the functions its modes count as.
pub trait Cipher<const B: usize>: Schedule<B> {
    /// ECB.
    const ECB: Function;
    /// CBC, with ciphertext stealing too.
    const CBC: Function;
    /// CFB with any feedback.
    const CFB: Function;
    /// OFB.
    const OFB: Function;
    /// CTR, with a list of counters too.
    const CTR: Function;
    /// Whether its key sizes are counted apart.
    const SIZES: bool;

    /// The bits that a key counts by; 0 where its size is not counted apart.
    #[inline]
    fn bits(key: &[u8]) -> usize {
        if Self::SIZES { key.len() * 8 } else { 0 }
    }
}

/// One operation with a key of its own: sets it (for encryption where `schedule` says so), has `work` done, and counts it as
/// `function`.
#[inline]
fn once<C: Cipher<B>, const B: usize>(
    function: Function,
    key: &[u8],
    schedule: bool,
    encrypt: bool,
    io: InOut<'_>,
    work: impl FnOnce(&C, InOut<'_>),
) -> Result<(), Error> {
    let mut cipher = C::default();
    cipher.set_key(key, schedule)?;
    let tally = Tally::new(function, C::bits(key));
    let bytes = io.len();
    work(&cipher, io);
    tally.count(direction(encrypt), bytes);
    Ok(())
}

/// AES. Only the functions of this file do something with it.
#[derive(Debug, Default)]
pub struct Aes(AesKey);

impl Cipher<16> for Aes {
    const ECB: Function = Function::AesEcb;
    const CBC: Function = Function::AesCbc;
    const CFB: Function = Function::AesCfb;
    const OFB: Function = Function::AesOfb;
    const CTR: Function = Function::AesCtr;
    const SIZES: bool = true;
}

impl Schedule<16> for Aes {
    #[inline]
    fn set_key(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error> {
        if encrypt { self.0.set_encrypt(key) } else { self.0.set_decrypt(key) }
    }

    #[inline]
    fn ecb(&self, encrypt: bool, io: InOut<'_>) {
        self.0.ecb(encrypt, io);
    }

    #[inline]
    fn cbc(&self, encrypt: bool, iv: &mut [u8; 16], io: InOut<'_>) {
        self.0.cbc(encrypt, iv, io);
    }

    #[inline]
    fn ctr(&self, counter: &mut [u8; 16], io: InOut<'_>) {
        let mut stream = [0; 16];
        self.0.ctr(counter, &mut stream, &mut 0, io);
        // What is left of the last block's is nobody's to find.
        wipe(&mut stream);
    }

    #[inline]
    fn ctr_list(&self, list: &[u8], io: InOut<'_>) {
        self.0.ctr_list(list, io);
    }

    #[inline]
    fn cfb(&self, encrypt: bool, feedback: usize, iv: &mut [u8; 16], io: InOut<'_>) {
        self.0.cfb_segments(encrypt, feedback, iv, io);
    }

    #[inline]
    fn ofb(&self, iv: &mut [u8; 16], io: InOut<'_>) {
        self.0.ofb(iv, &mut 0, io);
    }
}

macro_rules! des {
    ($($(#[$doc:meta])* $name:ident $key:literal $ecb:ident $cbc:ident $cfb:ident $ofb:ident $ctr:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name(Des);

        impl Cipher<8> for $name {
            const ECB: Function = Function::$ecb;
            const CBC: Function = Function::$cbc;
            const CFB: Function = Function::$cfb;
            const OFB: Function = Function::$ofb;
            const CTR: Function = Function::$ctr;
            const SIZES: bool = false;
        }

        impl Schedule<8> for $name {
            fn set_key(&mut self, key: &[u8], _encrypt: bool) -> Result<(), Error> {
                if key.len() != $key {
                    return Err(Error::Length { what: "DES key", got: key.len(), expected: stringify!($key) });
                }
                self.0.set_key(key)
            }

            fn ecb(&self, encrypt: bool, io: InOut<'_>) {
                self.0.ecb(encrypt, io);
            }

            fn cbc(&self, encrypt: bool, iv: &mut [u8; 8], io: InOut<'_>) {
                self.0.cbc(encrypt, iv, io);
            }

            fn ctr(&self, counter: &mut [u8; 8], io: InOut<'_>) {
                self.0.ctr(counter, io);
            }

            fn ctr_list(&self, list: &[u8], io: InOut<'_>) {
                self.0.ctr_list(list, io);
            }

            fn cfb(&self, encrypt: bool, feedback: usize, iv: &mut [u8; 8], io: InOut<'_>) {
                self.0.cfb(encrypt, feedback, iv, io);
            }

            fn ofb(&self, iv: &mut [u8; 8], io: InOut<'_>) {
                self.0.ofb(iv, io);
            }
        }
    )*};
}

des! {
    /// DES with one key of 8 bytes. Only the functions of this file do something with it.
    SingleDes 8 DesEcb DesCbc DesCfb DesOfb DesCtr;
    /// DES with three keys, 24 bytes. Only the functions of this file do something with it.
    TripleDes 24 TdesEcb TdesCbc TdesCfb TdesOfb TdesCtr;
}

/// ECB.
///
/// # Errors
/// [`Error::Length`] unless there are whole blocks.
pub fn ecb<C: Cipher<B>, const B: usize>(key: &[u8], encrypt: bool, io: InOut<'_>) -> Result<(), Error> {
    whole::<B>(&io)?;
    once(C::ECB, key, encrypt, encrypt, io, |cipher: &C, io| cipher.ecb(encrypt, io))
}

/// CBC.
///
/// # Errors
/// [`Error::Length`] unless there are whole blocks.
pub fn cbc<C: Cipher<B>, const B: usize>(
    key: &[u8],
    iv: &mut [u8; B],
    encrypt: bool,
    io: InOut<'_>,
) -> Result<(), Error> {
    whole::<B>(&io)?;
    once(C::CBC, key, encrypt, encrypt, io, |cipher: &C, io| cipher.cbc(encrypt, iv, io))
}

fn whole<const B: usize>(io: &InOut<'_>) -> Result<(), Error> {
    if io.len().is_multiple_of(B) {
        Ok(())
    } else {
        Err(Error::Length { what: "message", got: io.len(), expected: "whole blocks" })
    }
}

/// CBC with ciphertext stealing; `iv` becomes the last whole ciphertext block of plain CBC.
///
/// `variant` is 1 to 3 (`ICA_CBCCS_VARIANT*`, CS1 to CS3): the last two blocks as they come, switched unless the last is whole, or
/// always switched.
///
/// # Errors
/// [`Error::Length`] below a block, and for any other variant.
pub fn cbc_stealing<C: Cipher<B>, const B: usize>(
    key: &[u8],
    iv: &mut [u8; B],
    encrypt: bool,
    variant: u32,
    io: InOut<'_>,
) -> Result<(), Error> {
    let length = io.len();
    if length < B {
        return Err(Error::Length { what: "message", got: length, expected: "a block and more" });
    }
    // The last piece has 1 to B bytes; before it stands a whole block, if there is one at all.
    let last = (length - 1) % B + 1;
    let switched = match variant {
        1 => false,
        2 => last < B,
        3 => true,
        _ => {
            return Err(Error::Length {
                what: "variant of ciphertext stealing",
                got: variant as usize,
                expected: "1 to 3",
            });
        }
    };
    once(C::CBC, key, encrypt, encrypt, io, |cipher: &C, io| match length == B || last == B && !switched {
        true => cipher.cbc(encrypt, iv, io),
        false => steal(cipher, iv, encrypt, switched, io),
    })
}

/// The rest of [`cbc_stealing`]: the last two blocks, of which the last is short or they are switched.
fn steal<C: Cipher<B>, const B: usize>(cipher: &C, iv: &mut [u8; B], encrypt: bool, switched: bool, io: InOut<'_>) {
    let last = (io.len() - 1) % B + 1;
    let length = io.len();
    let (run, tail) = io.split_at(length - last - B);
    cipher.cbc(encrypt, iv, run);
    let mut pair = Pair::read(&tail);
    if encrypt {
        // Plain CBC over the two, the last one padded with zeros; of its first block only as much stays as the last one had.
        pair.bytes_mut()[B + last..2 * B].fill(0);
        cipher.cbc(true, iv, InOut::in_place(&mut pair.bytes_mut()[..2 * B]));
        if switched {
            pair.swap(B, last);
        } else {
            pair.close(B, last);
        }
    } else {
        if switched {
            pair.unswap(B, last);
        } else {
            pair.open(B, last);
        }
        // Now: the short piece of the first block in front, the whole second one behind it at B.
        let mut second = [0; B];
        second.copy_from_slice(&pair.bytes()[B..2 * B]);
        let mut plain = zeroize::Zeroizing::new(second);
        cipher.cbc(false, &mut [0; B], InOut::in_place(&mut plain[..]));
        // What was stolen from the first block is the end of what the second one decrypts to.
        let mut first = [0; B];
        first[..last].copy_from_slice(&pair.bytes()[..last]);
        first[last..].copy_from_slice(&plain[last..]);
        let bytes = pair.bytes_mut();
        bytes[..B].copy_from_slice(&first);
        cipher.cbc(false, iv, InOut::in_place(&mut bytes[..B]));
        for i in 0..last {
            bytes[B + i] = plain[i] ^ first[i];
        }
        *iv = second;
    }
    pair.write(tail);
}

/// The last two blocks of a message, the second perhaps short. The longest block has 16 bytes.
struct Pair {
    bytes: [u8; 32],
}

impl Drop for Pair {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

impl Pair {
    fn read(io: &InOut<'_>) -> Pair {
        let mut bytes = [0; 32];
        for (i, byte) in bytes.iter_mut().enumerate().take(io.len()) {
            *byte = io.get(i);
        }
        Pair { bytes }
    }

    fn write(&self, mut io: InOut<'_>) {
        for i in 0..io.len() {
            io.set(i, self.bytes[i]);
        }
    }

    fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut [u8; 32] {
        &mut self.bytes
    }

    /// Two whole blocks become the beginning of the first and the second.
    fn close(&mut self, block: usize, last: usize) {
        self.bytes.copy_within(block..2 * block, last);
    }

    /// The reverse: the second to its own place.
    fn open(&mut self, block: usize, last: usize) {
        self.bytes.copy_within(last..last + block, block);
    }

    /// Two whole blocks become the second and the beginning of the first.
    fn swap(&mut self, block: usize, last: usize) {
        let mut first = [0; 16];
        first[..last].copy_from_slice(&self.bytes[..last]);
        self.bytes.copy_within(block..2 * block, 0);
        self.bytes[block..block + last].copy_from_slice(&first[..last]);
    }

    /// The reverse: the beginning of the first in front, the second at its place.
    fn unswap(&mut self, block: usize, last: usize) {
        let mut first = [0; 16];
        first[..last].copy_from_slice(&self.bytes[block..block + last]);
        self.bytes.copy_within(0..block, block);
        self.bytes[..last].copy_from_slice(&first[..last]);
    }
}

/// CFB with feedback of `feedback` bytes, 1 to a block; `iv` becomes the shift register.
///
/// # Errors
/// [`Error::Length`] for any other feedback.
pub fn cfb<C: Cipher<B>, const B: usize>(
    key: &[u8],
    iv: &mut [u8; B],
    encrypt: bool,
    feedback: u32,
    io: InOut<'_>,
) -> Result<(), Error> {
    let feedback = feedback as usize;
    if feedback == 0 || feedback > B {
        return Err(Error::Length { what: "CFB segment", got: feedback, expected: "1 to a block" });
    }
    once(C::CFB, key, true, encrypt, io, |cipher: &C, io| cipher.cfb(encrypt, feedback, iv, io))
}

/// OFB, the same in both directions; `iv` becomes the last block of the stream.
///
/// # Errors
/// [`Error::Length`] for a key that cannot be.
pub fn ofb<C: Cipher<B>, const B: usize>(
    key: &[u8],
    iv: &mut [u8; B],
    encrypt: bool,
    io: InOut<'_>,
) -> Result<(), Error> {
    once(C::OFB, key, true, encrypt, io, |cipher: &C, io| cipher.ofb(iv, io))
}

/// CTR, the same in both directions, of which the last `width` bits count, without carry into those before.
///
/// # Errors
/// [`Error::Length`] unless `width` is 8 to the block's bits in steps of 8.
pub fn ctr<C: Cipher<B>, const B: usize>(
    key: &[u8],
    counter: &mut [u8; B],
    encrypt: bool,
    width: u32,
    io: InOut<'_>,
) -> Result<(), Error> {
    let width = width as usize;
    if width == 0 || width > 8 * B || !width.is_multiple_of(8) {
        return Err(Error::Length { what: "counter", got: width / 8, expected: "1 to a block" });
    }
    let fixed = B - width / 8;
    let prefix = *counter;
    once(C::CTR, key, true, encrypt, io, |cipher: &C, mut io| {
        while !io.is_empty() {
            // As many blocks as it takes until the counting bits are all zeros: the others stay as they are up to there.
            let left = distance(&counter[fixed..]);
            let at_most = usize::try_from(left).ok().and_then(|blocks| blocks.checked_mul(B)).unwrap_or(usize::MAX);
            let (now, later) = io.split_head(at_most);
            cipher.ctr(counter, now);
            counter[..fixed].copy_from_slice(&prefix[..fixed]);
            io = later;
        }
    })
}

/// How often a big-endian number counts until it is all zeros, or `u64::MAX` where that is more than any message has blocks.
fn distance(number: &[u8]) -> u64 {
    let (high, low) = number.split_at(number.len().saturating_sub(6));
    if high.iter().any(|&byte| byte != 0xFF) {
        return u64::MAX;
    }
    let value = low.iter().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    (1u64 << (8 * low.len())) - value
}

/// CTR with a list of counters, as long as the message, up to whole blocks; the same in both directions.
///
/// # Errors
/// [`Error::Length`] for a key that cannot be, or too short a list.
pub fn ctr_list<C: Cipher<B>, const B: usize>(
    key: &[u8],
    list: &[u8],
    encrypt: bool,
    io: InOut<'_>,
) -> Result<(), Error> {
    if list.len() < io.len().next_multiple_of(B) {
        return Err(Error::Length { what: "list of counters", got: list.len(), expected: "as long as the message" });
    }
    once(C::CTR, key, true, encrypt, io, |cipher: &C, io| cipher.ctr_list(list, io))
}
