//! AES-NI on one block at a time or a few: the serial modes, and short runs of the parallel ones.

use super::{Keys, by_length};
use crate::{InOut, short, wipe};
use std::arch::x86_64::*;

/// Blocks worked on at once where the mode allows.
const LANES: usize = 8;

/// A block from memory.
///
/// # Safety
/// 16 bytes can be read.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) unsafe fn load(from: *const u8) -> __m128i {
    // SAFETY: the caller gives 16 bytes to read; the load needs no alignment.
    unsafe { _mm_loadu_si128(from.cast()) }
}

/// A block to memory.
///
/// # Safety
/// 16 bytes can be written.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) unsafe fn store(to: *mut u8, block: __m128i) {
    // SAFETY: the caller gives 16 bytes to write; the store needs no alignment.
    unsafe { _mm_storeu_si128(to.cast(), block) }
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) fn from_bytes(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes.
    unsafe { load(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) fn to_bytes(block: __m128i) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: 16 bytes.
    unsafe { store(bytes.as_mut_ptr(), block) };
    bytes
}

/// The round keys in registers.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) fn schedule<const N: usize>(keys: Keys<'_>) -> [__m128i; N] {
    let mut loaded = [_mm_setzero_si128(); N];
    for (k, bytes) in loaded.iter_mut().zip(keys) {
        *k = from_bytes(bytes);
    }
    loaded
}

/// Encrypts blocks side by side.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) fn encrypt<const N: usize, const L: usize>(keys: &[__m128i; N], blocks: &mut [__m128i; L]) {
    for b in blocks.iter_mut() {
        *b = _mm_xor_si128(*b, keys[0]);
    }
    for k in &keys[1..N - 1] {
        for b in blocks.iter_mut() {
            *b = _mm_aesenc_si128(*b, *k);
        }
    }
    for b in blocks.iter_mut() {
        *b = _mm_aesenclast_si128(*b, keys[N - 1]);
    }
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn one<const N: usize>(keys: &[__m128i; N], block: __m128i) -> __m128i {
    let mut blocks = [block];
    encrypt(keys, &mut blocks);
    blocks[0]
}

/// Encrypts one block.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub fn encrypt_block(keys: Keys<'_>, block: &mut [u8; 16]) {
    let mut state = _mm_xor_si128(from_bytes(block), from_bytes(&keys[0]));
    let (last, middle) = keys[1..].split_last().expect("round keys");
    for k in middle {
        state = _mm_aesenc_si128(state, from_bytes(k));
    }
    *block = to_bytes(_mm_aesenclast_si128(state, from_bytes(last)));
}

/// Decrypts one block.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub fn decrypt_block(keys: Keys<'_>, block: &mut [u8; 16]) {
    let mut state = _mm_xor_si128(from_bytes(block), from_bytes(&keys[0]));
    let (last, middle) = keys[1..].split_last().expect("round keys");
    for k in middle {
        state = _mm_aesdec_si128(state, from_bytes(k));
    }
    *block = to_bytes(_mm_aesdeclast_si128(state, from_bytes(last)));
}

/// CBC encryption of whole blocks; `iv` becomes the last block.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn cbc_encrypt(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => chained::<N, 0>(keys, iv, io))
}

/// CFB-128 encryption of whole blocks; `iv` becomes the last block.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn cfb_encrypt(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => chained::<N, 1>(keys, iv, io))
}

/// OFB over whole blocks, both directions; `iv` becomes the last block of key stream.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn ofb(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => chained::<N, 2>(keys, iv, io))
}

/// All rounds but the first key and the last round.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) fn middle<const N: usize>(keys: &[__m128i; N], mut state: __m128i) -> __m128i {
    for k in &keys[1..N - 1] {
        state = _mm_aesenc_si128(state, *k);
    }
    state
}

/// The modes in which each block waits for the one before: 0 is CBC, 1 CFB, 2 OFB.
///
/// The last round adds its key last, so what the next block adds first (data and first key) goes into that key: between
/// two blocks nothing stands but the rounds.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn chained<const N: usize, const MODE: u8>(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    if io.is_empty() {
        return;
    }
    let k = schedule::<N>(keys);
    let last = k[N - 1];
    let joint = _mm_xor_si128(last, k[0]);
    let mut chain = from_bytes(iv);
    let mut state = _mm_xor_si128(chain, k[0]);
    let mut at = 0;
    // SAFETY: a whole block lies at each `at`.
    unsafe {
        let mut block = load(io.input());
        if MODE == 0 {
            state = _mm_xor_si128(state, block);
        }
        loop {
            let mixed = middle(&k, state);
            chain = _mm_aesenclast_si128(mixed, if MODE == 1 { _mm_xor_si128(last, block) } else { last });
            let output = if MODE == 2 { _mm_xor_si128(chain, block) } else { chain };
            let this = block;
            store(io.output().add(at), output);
            at += 16;
            if at == io.len() {
                break;
            }
            block = load(io.input().add(at));
            state = _mm_aesenclast_si128(
                mixed,
                match MODE {
                    0 => _mm_xor_si128(joint, block),
                    1 => _mm_xor_si128(joint, this),
                    _ => joint,
                },
            );
        }
    }
    *iv = to_bytes(chain);
}

/// CFB-128 decryption of whole blocks; `iv` becomes the last ciphertext block.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn cfb_decrypt(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => cfb_decrypt_n::<N>(keys, iv, io))
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn cfb_decrypt_n<const N: usize>(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    let k = schedule::<N>(keys);
    let mut chain = from_bytes(iv);
    let mut at = 0;
    while io.len() - at >= 16 * LANES {
        let mut cipher = [chain; LANES];
        for (i, c) in cipher.iter_mut().enumerate() {
            // SAFETY: LANES blocks lie at `at`.
            *c = unsafe { load(io.input().add(at + 16 * i)) };
        }
        let mut stream = [chain; LANES];
        stream[1..].copy_from_slice(&cipher[..LANES - 1]);
        encrypt(&k, &mut stream);
        for i in 0..LANES {
            // SAFETY: LANES blocks lie at `at` of the output too, which is as long as the input.
            unsafe { store(io.output().add(at + 16 * i), _mm_xor_si128(cipher[i], stream[i])) };
        }
        chain = cipher[LANES - 1];
        at += 16 * LANES;
    }
    while at < io.len() {
        // SAFETY: a whole block lies at `at`.
        unsafe {
            let block = load(io.input().add(at));
            store(io.output().add(at), _mm_xor_si128(block, one(&k, chain)));
            chain = block;
        }
        at += 16;
    }
    *iv = to_bytes(chain);
}

/// CFB-8, SP 800-38A 6.3 with 8-bit segments; `iv` is the shift register.
#[target_feature(enable = "sse4.1,aes")]
pub fn cfb8(keys: Keys<'_>, encrypting: bool, iv: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => cfb8_n::<N>(keys, encrypting, iv, io))
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn cfb8_n<const N: usize>(keys: Keys<'_>, encrypting: bool, iv: &mut [u8; 16], mut io: InOut<'_>) {
    let k = schedule::<N>(keys);
    let mut register = from_bytes(iv);
    for at in 0..io.len() {
        let stream = _mm_cvtsi128_si32(one(&k, register)) as u8;
        let input = io.get(at);
        let output = input ^ stream;
        io.set(at, output);
        let cipher = if encrypting { output } else { input };
        register = _mm_insert_epi8::<15>(_mm_srli_si128::<1>(register), cipher.into());
    }
    *iv = to_bytes(register);
}

/// CFB-1 over `bits` bits, the first of a byte being its highest; `iv` is the shift register. Bits of the last byte
/// beyond them are left as they are in the output.
///
/// # Panics
/// If the buffers hold fewer bits.
#[target_feature(enable = "sse4.1,aes")]
pub fn cfb1(keys: Keys<'_>, encrypting: bool, iv: &mut [u8; 16], bits: usize, mut io: InOut<'_>) {
    assert!(bits.div_ceil(8) <= io.len());
    let mut register = u128::from_be_bytes(*iv);
    for bit in 0..bits {
        let (at, shift) = (bit / 8, 7 - bit % 8);
        let mut block = register.to_be_bytes();
        encrypt_block(keys, &mut block);
        let input = io.get(at) >> shift & 1;
        let output = input ^ block[0] >> 7;
        // SAFETY: `at` is within the output.
        let old = unsafe { *io.output().add(at) };
        io.set(at, old & !(1 << shift) | output << shift);
        register = register << 1 | u128::from(if encrypting { output } else { input });
    }
    *iv = register.to_be_bytes();
}

/// Runs ECB on the one block of `io`.
///
/// # Panics
/// If it is shorter.
#[target_feature(enable = "sse4.1,aes")]
pub fn ecb_block(keys: Keys<'_>, encrypting: bool, io: InOut<'_>) {
    assert!(io.len() >= 16);
    // SAFETY: a block lies at either.
    unsafe {
        let block = load(io.input());
        store(
            io.output(),
            if encrypting {
                by_length!(keys, N => single::<N, true>(keys, block))
            } else {
                by_length!(keys, N => single::<N, false>(keys, block))
            },
        );
    }
}

/// CBC decryption of the one block that `io` is; `iv` becomes it.
///
/// # Panics
/// If it is shorter.
#[target_feature(enable = "sse4.1,aes")]
pub fn cbc_decrypt_block(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len() >= 16);
    // SAFETY: a block lies at either.
    unsafe {
        let block = load(io.input());
        let plain = by_length!(keys, N => single::<N, false>(keys, block));
        store(io.output(), _mm_xor_si128(plain, from_bytes(iv)));
        *iv = to_bytes(block);
    }
}

/// Runs CFB-128 on the one block of `io`; `iv` becomes its ciphertext.
///
/// # Panics
/// If it is shorter.
#[target_feature(enable = "sse4.1,aes")]
pub fn cfb_block(keys: Keys<'_>, encrypting: bool, iv: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len() >= 16);
    let stream = by_length!(keys, N => single::<N, true>(keys, from_bytes(iv)));
    // SAFETY: a block lies at either.
    unsafe {
        let input = load(io.input());
        let output = _mm_xor_si128(input, stream);
        store(io.output(), output);
        *iv = to_bytes(if encrypting { output } else { input });
    }
}

/// Runs CTR on the one block of `io`.
///
/// # Panics
/// If it is shorter.
#[target_feature(enable = "sse4.1,aes")]
pub fn ctr_block(keys: Keys<'_>, counter: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len() >= 16);
    let stream = by_length!(keys, N => single::<N, true>(keys, from_bytes(counter)));
    // SAFETY: a block lies at either.
    unsafe { store(io.output(), _mm_xor_si128(load(io.input()), stream)) };
    *counter = u128::from_be_bytes(*counter).wrapping_add(1).to_be_bytes();
}

/// Runs XTS on the one block of `io`, the first of its data unit. Both keys have one length.
///
/// # Panics
/// If it is shorter, or the keys are not.
#[target_feature(enable = "sse4.1,aes")]
pub fn xts_block(keys: Keys<'_>, tweak_keys: Keys<'_>, encrypting: bool, tweak: &[u8; 16], io: InOut<'_>) {
    assert!(io.len() >= 16);
    // SAFETY: a block lies at either.
    unsafe {
        let output = by_length!(keys, N => {
            let tweak = single::<N, true>(tweak_keys, from_bytes(tweak));
            let block = _mm_xor_si128(load(io.input()), tweak);
            let both = if encrypting { single::<N, true>(keys, block) } else { single::<N, false>(keys, block) };
            _mm_xor_si128(both, tweak)
        });
        store(io.output(), output);
    }
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub(super) fn single<const N: usize, const ENCRYPT: bool>(keys: Keys<'_>, block: __m128i) -> __m128i {
    let keys: &[[u8; 16]; N] = keys.try_into().expect("N round keys");
    let mut state = _mm_xor_si128(block, from_bytes(&keys[0]));
    for k in &keys[1..N - 1] {
        let k = from_bytes(k);
        state = if ENCRYPT { _mm_aesenc_si128(state, k) } else { _mm_aesdec_si128(state, k) };
    }
    let last = from_bytes(&keys[N - 1]);
    if ENCRYPT { _mm_aesenclast_si128(state, last) } else { _mm_aesdeclast_si128(state, last) }
}

/// CTR with a big-endian counter of 128 bits over whole blocks, for short runs.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn ctr(keys: Keys<'_>, counter: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => ctr_n::<N>(keys, counter, io))
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn ctr_n<const N: usize>(keys: Keys<'_>, counter: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    let k = schedule::<N>(keys);
    let mut count = u128::from_be_bytes(*counter);
    let mut at = 0;
    while at < io.len() {
        let here = ((io.len() - at) / 16).min(4);
        let mut stream = [_mm_setzero_si128(); 4];
        for (i, s) in stream.iter_mut().enumerate() {
            *s = from_bytes(&count.wrapping_add(i as u128).to_be_bytes());
        }
        if here == 1 {
            stream[0] = one(&k, stream[0]);
        } else {
            encrypt(&k, &mut stream);
        }
        for (i, s) in stream.iter().enumerate().take(here) {
            // SAFETY: `here` blocks lie at `at`.
            unsafe {
                let block = load(io.input().add(at + 16 * i));
                store(io.output().add(at + 16 * i), _mm_xor_si128(block, *s));
            }
        }
        count = count.wrapping_add(here as u128);
        at += 16 * here;
    }
    *counter = count.to_be_bytes();
}

/// Loads fewer than 16 bytes, with zeros behind them. Like the functions from here on that name no target features, it is for callers whose target
/// features include SSE4.1 and AES-NI.
#[inline(always)]
pub(super) fn part(bytes: &[u8]) -> __m128i {
    let value = short::number(bytes);
    // SAFETY: the public function that this is inlined into has SSE2 among its target features: every x86-64 has it.
    unsafe { _mm_set_epi64x((value >> 64) as i64, value as i64) }
}

/// Loads at most a block, with zeros behind it.
#[inline(always)]
pub(super) fn at_most(bytes: &[u8]) -> __m128i {
    // SAFETY: 16 bytes.
    if bytes.len() == 16 { unsafe { load(bytes.as_ptr()) } } else { part(bytes) }
}

/// Applies the key stream to at most a block of text; returns the input and the output, each filled with zeros to a block.
#[inline(always)]
pub(super) fn crypt(stream: __m128i, io: InOut<'_>) -> (__m128i, __m128i) {
    let length = io.len();
    // SAFETY: the text; at most a block.
    unsafe {
        let input = at_most(std::slice::from_raw_parts(io.input(), length));
        let output = keep(_mm_xor_si128(input, stream), length);
        if length == 16 {
            store(io.output(), output);
        } else {
            let mut whole = to_bytes(output);
            whole.as_ptr().copy_to(io.output(), length);
            wipe(&mut whole);
        }
        (input, output)
    }
}

/// The first `length` bytes of a block, zeros behind them.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn keep(block: __m128i, length: usize) -> __m128i {
    const MASK: [u8; 32] = {
        let mut mask = [0; 32];
        let mut i = 0;
        while i < 16 {
            mask[i] = 0xff;
            i += 1;
        }
        mask
    };
    _mm_and_si128(block, from_bytes(MASK[16 - length..].first_chunk().expect("a block of the mask")))
}
