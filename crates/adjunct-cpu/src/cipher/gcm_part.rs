//! AES-GCM (SP 800-38D) as a stream whose state is the caller's: each step is given the key anew, the hash key, and how far it is.

use super::aes::{AesKey, BLOCK, Block, xor};
use super::gcm::Gcm;
use super::stream;
use adjunct_base::error::Error;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::gcm_once;
use adjunct_kernels::{opaque_debug, short, wipe};

/// How a stream begins.
pub struct Start {
    /// The initial counter block.
    pub first: Block,
    /// The next counter block.
    pub next: Block,
    /// The hash key.
    pub subkey: Block,
}

opaque_debug!(Start);

impl Drop for Start {
    #[inline]
    fn drop(&mut self) {
        wipe(&mut self.subkey);
    }
}

/// Begins a stream.
///
/// # Errors
/// [`Error::Length`] for a key that is not 16, 24 or 32 bytes.
#[inline]
pub fn start(key: &[u8], iv: &[u8]) -> Result<Start, Error> {
    let mut aes = AesKey::default();
    aes.set_encrypt(key)?;
    let mut subkey = [0; BLOCK];
    aes.encrypt_block(&mut subkey);
    let (first, next) = match iv.try_into() {
        Ok(iv) => (numbered(iv, 1), numbered(iv, 2)),
        Err(_) => hashed(key, &subkey, iv)?,
    };
    let start = Start { first, next, subkey };
    wipe(&mut subkey);
    Ok(start)
}

/// The counter block of an initialization vector of 12 bytes and a number below 256, put together before it is written.
#[inline]
fn numbered(iv: &[u8; 12], number: u8) -> Block {
    (u128::from(number) << 120 | short::number(iv)).to_le_bytes()
}

/// The first two counter blocks of an initialization vector of another length.
fn hashed(key: &[u8], subkey: &Block, iv: &[u8]) -> Result<(Block, Block), Error> {
    let mut gcm = Gcm::default();
    gcm.set_keys(key, subkey)?;
    gcm.resume(&[0; BLOCK], &[0; BLOCK]);
    absorb(&mut gcm, iv)?;
    gcm.aad(&bytes(lengths(0, iv.len() as u64)))?;
    let first = gcm.progress().1;
    let mut next = first;
    increment(&mut next);
    Ok((first, next))
}

/// The progress of a stream.
pub struct State {
    /// The next counter block.
    pub counter: Block,
    /// The hash so far.
    pub hash: Block,
    /// The hash key, which stays.
    pub subkey: Block,
}

opaque_debug!(State);

impl Drop for State {
    #[inline]
    fn drop(&mut self) {
        wipe(&mut self.subkey);
    }
}

/// A part of a stream: additional data, then text, zeros behind either to a whole block.
///
/// # Errors
/// As for [`start`]; [`Error::Failed`] for too long a part.
#[inline]
pub fn part(key: &[u8], state: &mut State, encrypt: bool, aad: &[u8], text: InOut<'_>) -> Result<(), Error> {
    #[cfg(target_arch = "x86_64")]
    if aad.len().max(text.len()) <= gcm_once::MOST {
        let mut aes = AesKey::default();
        aes.set_encrypt(key)?;
        if aes.vector() {
            let State { subkey, counter, hash } = state;
            // SAFETY: VPCLMULQDQ is in force, and with it PCLMULQDQ.
            unsafe { gcm_once::part(aes.keys(), subkey, counter, hash, encrypt, aad, text) };
            return Ok(());
        }
    }
    part_any(key, state, encrypt, aad, text)
}

#[inline]
fn part_any(key: &[u8], state: &mut State, encrypt: bool, aad: &[u8], text: InOut<'_>) -> Result<(), Error> {
    let State { subkey, counter, hash } = state;
    let mut gcm = Gcm::default();
    gcm.set_keys(key, subkey)?;
    gcm.resume(counter, hash);
    if !aad.is_empty() {
        absorb(&mut gcm, aad)?;
    }
    let (whole, mut tail) = text.split_whole(BLOCK);
    if encrypt {
        gcm.encrypt(whole)?
    } else {
        gcm.decrypt(whole)?
    }
    (*counter, *hash) = gcm.progress();
    if !tail.is_empty() {
        let mut stream = *counter;
        gcm.encrypt_block(&mut stream);
        let mut cipher = [0; BLOCK];
        for i in 0..tail.len() {
            let input = tail.get(i);
            tail.set(i, input ^ stream[i]);
            cipher[i] = if encrypt { input ^ stream[i] } else { input };
        }
        increment(counter);
        gcm.resume(counter, hash);
        wipe(&mut stream);
        gcm.aad(&cipher)?;
        *hash = gcm.progress().1;
    }
    Ok(())
}

/// Ends a stream of `aad` bytes of additional data and `text` bytes of text, whose initial counter block is `first`: `hash` becomes its tag.
///
/// # Errors
/// As for [`start`].
#[inline]
pub fn last(key: &[u8], subkey: &Block, first: &Block, aad: u64, text: u64, hash: &mut Block) -> Result<(), Error> {
    let lengths = lengths(aad, text);
    #[cfg(target_arch = "x86_64")]
    {
        let mut aes = AesKey::default();
        aes.set_encrypt(key)?;
        if aes.vector() {
            // SAFETY: VPCLMULQDQ is in force, and with it PCLMULQDQ.
            unsafe { gcm_once::last(aes.keys(), subkey, first, lengths, hash) };
            return Ok(());
        }
    }
    let mut gcm = Gcm::default();
    gcm.set_keys(key, subkey)?;
    gcm.resume(&[0; BLOCK], hash);
    gcm.aad(&bytes(lengths))?;
    let mut mask = *first;
    gcm.encrypt_block(&mut mask);
    *hash = gcm.progress().1;
    xor(hash, &mask);
    wipe(&mut mask);
    Ok(())
}

/// Hashes data, zeros behind it to a whole block.
fn absorb(gcm: &mut Gcm, data: &[u8]) -> Result<(), Error> {
    let (whole, tail) = data.split_at(data.len() / BLOCK * BLOCK);
    gcm.aad(whole)?;
    if !tail.is_empty() {
        let mut last = [0; BLOCK];
        last[..tail.len()].copy_from_slice(tail);
        gcm.aad(&last)?;
    }
    Ok(())
}

/// Bytes of additional data and of text in bits.
const fn lengths(aad: u64, text: u64) -> [u64; 2] {
    [aad.wrapping_mul(8), text.wrapping_mul(8)]
}

fn bytes([aad, text]: [u64; 2]) -> Block {
    (u128::from(aad) << 64 | u128::from(text)).to_be_bytes()
}

/// Increments the last four bytes of a counter block, big-endian, modulo 2^32.
fn increment(counter: &mut Block) {
    stream::increment(counter.last_chunk_mut::<4>().expect("the end of a block"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product of GHASH (SP 800-38D, 6.3), bit by bit.
    fn product(x: u128, mut y: u128) -> u128 {
        let mut sum = 0;
        for bit in (0..128).rev() {
            sum ^= if x >> bit & 1 == 1 { y } else { 0 };
            y = y >> 1 ^ if y & 1 == 1 { 0xe1 << 120 } else { 0 };
        }
        sum
    }

    fn hashed(mut hash: u128, subkey: &Block, data: &[u8]) -> u128 {
        for block in data.chunks(BLOCK) {
            let mut whole = [0; BLOCK];
            whole[..block.len()].copy_from_slice(block);
            hash = product(hash ^ u128::from_be_bytes(whole), u128::from_be_bytes(*subkey));
        }
        hash
    }

    /// GHASH uses the hash key that is given, as libica's functions do, whatever the length: a program may use one key's hash key with another key.
    #[test]
    fn it_hashes_under_the_key_that_is_given() {
        let bytes = |length: usize, from: usize| (0..length).map(|i| ((i + from) * 167) as u8).collect::<Vec<_>>();
        for (round, length) in [0, 1, 15, 16, 17, 31, 32, 48, 100, 512, 700].into_iter().enumerate() {
            let (key, aad, plain) = (bytes([16, 24, 32][round % 3], round), bytes(length / 2, 5), bytes(length, 9));
            let subkey = bytes(BLOCK, 77).try_into().expect("a block");
            let mut aes = AesKey::default();
            aes.set_encrypt(&key).expect("a key");
            // It wraps within the low four bytes.
            let start: Block = [[7; 12].as_slice(), &[0xff, 0xff, 0xff, 0xfe]].concat().try_into().expect("a block");
            let (mut right, mut next) = (Vec::new(), start);
            for block in plain.chunks(BLOCK) {
                let mut stream = next;
                aes.encrypt_block(&mut stream);
                right.extend(block.iter().zip(stream).map(|(byte, stream)| byte ^ stream));
                increment(&mut next);
            }
            let before = [0x3c; BLOCK];
            let hash_right = hashed(hashed(u128::from_be_bytes(before), &subkey, &aad), &subkey, &right);
            for encrypt in [true, false] {
                let mut state = State { counter: start, hash: before, subkey };
                let (input, output) = if encrypt { (&plain, &right) } else { (&right, &plain) };
                let mut text = input.clone();
                let io = InOut::in_place(&mut text);
                part(&key, &mut state, encrypt, &aad, io).expect("a part");
                let mut hash = state.hash;
                assert_eq!((&text, state.counter), (output, next), "{length} bytes, encrypting {encrypt}");
                assert_eq!(hash, hash_right.to_be_bytes(), "{length} bytes, encrypting {encrypt}");
                last(&key, &subkey, &start, aad.len() as u64, length as u64, &mut hash).expect("a tag");
                let mut tag = hashed(hash_right, &subkey, &super::bytes(lengths(aad.len() as u64, length as u64)));
                let mut mask = start;
                aes.encrypt_block(&mut mask);
                tag ^= u128::from_be_bytes(mask);
                assert_eq!(hash, tag.to_be_bytes(), "{length} bytes, encrypting {encrypt}");
            }
        }
    }
}
