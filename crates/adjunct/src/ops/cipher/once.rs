//! The modes of DES, triple DES and AES (SP 800-38A and its addendum) in one call with a key of its own: each counts once, with its
//! bytes, in its direction, after it ran.

use super::direction;
use crate::catalogue::Function;
use crate::error::Error;
use crate::ops::Tally;
use adjunct_cpu::cipher::aes::AesKey;
use adjunct_cpu::cipher::des::Des;
use adjunct_kernels::{InOut, wipe};
use adjunct_lanes::tdes;
use schedule::Schedule;
use zeroize::Zeroizing;

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

/// A block cipher by the functions its modes count as. Only the functions of this file do something with it.
pub trait Cipher<const B: usize> {
    /// The cipher's key schedule.
    type Key: Schedule<B>;
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
    /// The cipher's one key length, with its name in errors; `None` where there are several lengths, which the schedule knows and which are counted
    /// apart.
    const LENGTH: Option<(usize, &'static str)>;

    /// The bits that a key counts by; 0 where its size is not counted apart.
    #[inline]
    fn bits(key: &[u8]) -> usize {
        if Self::LENGTH.is_none() { key.len() * 8 } else { 0 }
    }
}

/// Does an operation with a key of its own: sets it (for encryption where `schedule` says so), has `work` done, and counts it as `function`.
#[inline]
fn once<C: Cipher<B>, const B: usize>(
    function: Function,
    key: &[u8],
    schedule: bool,
    encrypt: bool,
    io: InOut<'_>,
    work: impl FnOnce(&C::Key, InOut<'_>),
) -> Result<(), Error> {
    if let Some((length, expected)) = C::LENGTH
        && key.len() != length
    {
        return Err(Error::Length { what: "key", got: key.len(), expected });
    }
    let mut cipher = C::Key::default();
    cipher.set_key(key, schedule)?;
    let tally = Tally::new(function, C::bits(key));
    let bytes = io.len();
    work(&cipher, io);
    tally.count(direction(encrypt), bytes);
    Ok(())
}

macro_rules! ciphers {
    ($($(#[$doc:meta])* $name:ident $block:literal $key:ident $length:expr, $ecb:ident $cbc:ident $cfb:ident $ofb:ident $ctr:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Cipher<$block> for $name {
            type Key = $key;
            const ECB: Function = Function::$ecb;
            const CBC: Function = Function::$cbc;
            const CFB: Function = Function::$cfb;
            const OFB: Function = Function::$ofb;
            const CTR: Function = Function::$ctr;
            const LENGTH: Option<(usize, &'static str)> = $length;
        }
    )*};
}

ciphers! {
    /// AES.
    Aes 16 AesKey None, AesEcb AesCbc AesCfb AesOfb AesCtr;
    /// DES with one key of 8 bytes.
    SingleDes 8 Des Some((8, "8")), DesEcb DesCbc DesCfb DesOfb DesCtr;
    /// DES with three keys, 24 bytes.
    TripleDes 8 Des Some((24, "24")), TdesEcb TdesCbc TdesCfb TdesOfb TdesCtr;
}

impl Schedule<16> for AesKey {
    #[inline]
    fn set_key(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error> {
        if encrypt { self.set_encrypt(key) } else { self.set_decrypt(key) }
    }

    #[inline]
    fn ctr(&self, counter: &mut [u8; 16], io: InOut<'_>) {
        let mut stream = [0; 16];
        self.ctr(counter, &mut stream, &mut 0, io);
        // What is left of the last block's is nobody's to find.
        wipe(&mut stream);
    }

    #[inline]
    fn cfb(&self, encrypt: bool, feedback: usize, iv: &mut [u8; 16], io: InOut<'_>) {
        self.cfb_segments(encrypt, feedback, iv, io);
    }

    #[inline]
    fn ofb(&self, iv: &mut [u8; 16], io: InOut<'_>) {
        self.ofb(iv, &mut 0, io);
    }

    #[inline]
    fn ecb(&self, encrypt: bool, io: InOut<'_>) {
        self.ecb(encrypt, io);
    }

    #[inline]
    fn cbc(&self, encrypt: bool, iv: &mut [u8; 16], io: InOut<'_>) {
        self.cbc(encrypt, iv, io);
    }

    #[inline]
    fn ctr_list(&self, list: &[u8], io: InOut<'_>) {
        self.ctr_list(list, io);
    }
}

impl Schedule<8> for Des {
    fn set_key(&mut self, key: &[u8], _encrypt: bool) -> Result<(), Error> {
        self.set_key(key)
    }

    fn ctr(&self, counter: &mut [u8; 8], io: InOut<'_>) {
        self.ctr(counter, io);
    }

    fn cfb(&self, encrypt: bool, feedback: usize, iv: &mut [u8; 8], io: InOut<'_>) {
        self.cfb(encrypt, feedback, iv, io);
    }

    fn ofb(&self, iv: &mut [u8; 8], io: InOut<'_>) {
        self.ofb(iv, io);
    }

    fn ecb(&self, encrypt: bool, io: InOut<'_>) {
        self.ecb(encrypt, io);
    }

    fn cbc(&self, encrypt: bool, iv: &mut [u8; 8], io: InOut<'_>) {
        if encrypt {
            tdes::cbc_encrypt(self, iv, io);
        } else {
            self.cbc(false, iv, io);
        }
    }

    fn ctr_list(&self, list: &[u8], io: InOut<'_>) {
        self.ctr_list(list, io);
    }
}

/// ECB.
///
/// # Errors
/// [`Error::Length`] unless there are whole blocks.
pub fn ecb<C: Cipher<B>, const B: usize>(key: &[u8], encrypt: bool, io: InOut<'_>) -> Result<(), Error> {
    whole::<B>(&io)?;
    once::<C, B>(C::ECB, key, encrypt, encrypt, io, |cipher, io| cipher.ecb(encrypt, io))
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
    once::<C, B>(C::CBC, key, encrypt, encrypt, io, |cipher, io| cipher.cbc(encrypt, iv, io))
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
    once::<C, B>(C::CBC, key, encrypt, encrypt, io, |cipher, io| match length == B || last == B && !switched {
        true => cipher.cbc(encrypt, iv, io),
        false => steal(cipher, iv, encrypt, switched, io),
    })
}

/// Ends [`cbc_stealing`] with the last two blocks, of which the last is short or the two are switched.
fn steal<K: Schedule<B>, const B: usize>(key: &K, iv: &mut [u8; B], encrypt: bool, switched: bool, io: InOut<'_>) {
    let last = (io.len() - 1) % B + 1;
    let length = io.len();
    let (run, mut tail) = io.split_at(length - last - B);
    key.cbc(encrypt, iv, run);
    // Two blocks, of which the longest has 16 bytes.
    let mut room = Zeroizing::new([0; 32]);
    let pair = &mut room[..2 * B];
    for (i, byte) in pair[..B + last].iter_mut().enumerate() {
        *byte = tail.get(i);
    }
    if encrypt {
        // Plain CBC over the two, the last one padded with zeros; of its first block only as much stays as the last one had.
        key.cbc(true, iv, InOut::in_place(pair));
        if switched {
            pair.rotate_left(B);
        } else {
            pair.copy_within(B.., last);
        }
    } else {
        // The short piece of the first block goes in front, the whole second one behind it at B.
        if switched {
            pair.rotate_right(B);
        } else {
            pair.copy_within(last..last + B, B);
        }
        let (first, second) = pair.split_at_mut(B);
        let mut plain = Zeroizing::new([0; B]);
        plain.copy_from_slice(second);
        let next = *plain;
        key.cbc(false, &mut [0; B], InOut::in_place(&mut plain[..]));
        // What was stolen from the first block is the end of what the second one decrypts to.
        first[last..].copy_from_slice(&plain[last..]);
        for i in 0..last {
            second[i] = plain[i] ^ first[i];
        }
        key.cbc(false, iv, InOut::in_place(first));
        *iv = next;
    }
    for (i, byte) in pair[..B + last].iter().enumerate() {
        tail.set(i, *byte);
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
    once::<C, B>(C::CFB, key, true, encrypt, io, |cipher, io| cipher.cfb(encrypt, feedback, iv, io))
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
    once::<C, B>(C::OFB, key, true, encrypt, io, |cipher, io| cipher.ofb(iv, io))
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
    once::<C, B>(C::CTR, key, true, encrypt, io, |cipher, mut io| {
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
    once::<C, B>(C::CTR, key, true, encrypt, io, |cipher, io| cipher.ctr_list(list, io))
}
