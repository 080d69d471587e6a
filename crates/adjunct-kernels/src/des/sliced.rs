//! DES by bit slices: vector `i` has bit `i` of every block, and the S-boxes are circuits of the vectors' instructions.
//!
//! IP, E and P are a choice of vectors, and cost nothing. A round takes the S-boxes' circuits, 48 XORs of key bits (words that are
//! broadcast) and 32 of the result. Blocks are turned into slices and back by transposing 64 by 64 bits in each column of 64-bit words:
//! of vectors of `n` words block `n j + c` is word `c` of vector `j`.
//!
//! A circuit may give the complement of an output bit, where that saves an instruction. What is complemented then is the half that it is
//! added to, and the round that reads this half takes complemented key bits. Each half is added to eight times in 16 rounds, so nothing
//! is left of it at the end.

use super::tables::{input, key_bit, output, place};
use super::{ROUNDS, Rounds, circuits, circuits_ternary};
use std::arch::x86_64::*;

/// All ones or zeros for each bit of a round's words.
#[repr(align(64))]
pub(super) struct Masks([u32; 64]);

/// The key bits that are complemented in rounds that read a complemented half, where the circuits give the complements `outputs`: of
/// each S-box the lowest bit for the first output.
const fn complements(outputs: [u8; 8]) -> u64 {
    let mut half = [false; 32];
    let mut at = 0;
    while at < 32 {
        half[output(at / 4, at % 4)] = outputs[at / 4] >> (at % 4) & 1 == 1;
        at += 1;
    }
    let mut word = 0;
    at = 0;
    while at < 48 {
        if half[input(at / 6, at % 6)] {
            word |= 1 << key_bit(at / 6, at % 6);
        }
        at += 1;
    }
    word
}

/// A vector of 64-bit words. Everything here is inlined into functions that enable its instructions.
///
/// # Safety
/// Its functions are to be called where the CPU has its instructions.
pub(super) trait Vector: Copy {
    /// The words of a vector.
    const WORDS: usize;
    /// The outputs of each S-box that its circuit gives as complements ([`complements`]).
    const COMPLEMENTS: [u8; 8];

    unsafe fn load(words: *const u64) -> Self;
    unsafe fn store(self, words: *mut u64);
    unsafe fn splat(bits: u64) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// The exclusive or of `self` and a mask of 32 bits, repeated to the vector's width.
    ///
    /// # Safety
    /// The CPU has the vector's instructions.
    unsafe fn key(self, mask: &u32) -> Self;
    /// `(self >> N ^ other) & mask` in each word.
    ///
    /// # Safety
    /// The CPU has the vector's instructions.
    unsafe fn differ<const N: u32>(self, other: Self, mask: Self) -> Self;
    unsafe fn left<const N: u32>(self) -> Self;
    /// The outputs of S-box K, of which those in [`Vector::COMPLEMENTS`] are complements.
    ///
    /// # Safety
    /// The CPU has the vector's instructions.
    unsafe fn sbox<const K: usize>(x: [Self; 6]) -> [Self; 4];
    unsafe fn masks(word: u64, masks: &mut Masks);
}

/// Blocks as words, and their slices.
pub(super) type Buffer = [u64; 512];

/// S-box K of a round: reads the half that is not TO, and adds the result to half TO.
///
/// # Safety
/// The CPU has the vector's instructions, and `slices` leads to 64 vectors that no other code uses.
#[inline(always)]
unsafe fn part<V: Vector, const K: usize, const TO: usize>(slices: *mut u64, keys: &Masks) {
    // SAFETY: the slices are 64 vectors; the CPU has the instructions.
    unsafe {
        let at = |slice: usize| slices.add(slice * V::WORDS);
        let from: [[usize; 2]; 6] = const {
            let mut from = [[0; 2]; 6];
            let mut m = 0;
            while m < 6 {
                from[m] = [place(1 - TO, input(K, m)), key_bit(K, m)];
                m += 1;
            }
            from
        };
        let to: [usize; 4] = const {
            let mut to = [0; 4];
            let mut o = 0;
            while o < 4 {
                to[o] = place(TO, output(K, o));
                o += 1;
            }
            to
        };
        let y = V::sbox::<K>(std::array::from_fn(|m| V::load(at(from[m][0])).key(&keys.0[from[m][1]])));
        for o in 0..4 {
            V::load(at(to[o])).xor(y[o]).store(at(to[o]));
        }
    }
}

#[inline(always)]
unsafe fn round<V: Vector, const TO: usize>(slices: *mut u64, keys: &Masks) {
    // SAFETY: upheld by the caller.
    unsafe {
        part::<V, 0, TO>(slices, keys);
        part::<V, 1, TO>(slices, keys);
        part::<V, 2, TO>(slices, keys);
        part::<V, 3, TO>(slices, keys);
        part::<V, 4, TO>(slices, keys);
        part::<V, 5, TO>(slices, keys);
        part::<V, 6, TO>(slices, keys);
        part::<V, 7, TO>(slices, keys);
    }
}

/// Three steps of the transposition, on vectors `STEP` apart: bits that are `STEP`, twice and four times as much apart are exchanged.
///
/// # Safety
/// The CPU has the vector's instructions, and `words` leads to 64 vectors that no other code uses.
#[inline(always)]
unsafe fn exchange<V: Vector, const STEP: usize, const N1: u32, const N2: u32, const N4: u32>(words: *mut u64) {
    /// The bits whose number does not have the bit `distance`.
    const fn low(distance: u32) -> u64 {
        u64::MAX / (1 << distance | 1)
    }
    // SAFETY: upheld by the caller: 64 vectors.
    unsafe {
        let masks = [V::splat(low(N1)), V::splat(low(N2)), V::splat(low(N4))];
        for first in 0..8 {
            let first = first / STEP * (8 * STEP) + first % STEP;
            let at = |i: usize| words.add((first + i * STEP) * V::WORDS);
            let mut v: [V; 8] = std::array::from_fn(|i| V::load(at(i)));
            macro_rules! swap {
                ($distance:ident, $mask:literal, $($a:literal $b:literal),*) => {
                    $(let t = v[$a].differ::<$distance>(v[$b], masks[$mask]);
                    v[$b] = v[$b].xor(t);
                    v[$a] = v[$a].xor(t.left::<$distance>());)*
                };
            }
            swap!(N4, 2, 0 4, 1 5, 2 6, 3 7);
            swap!(N2, 1, 0 2, 1 3, 4 6, 5 7);
            swap!(N1, 0, 0 1, 2 3, 4 5, 6 7);
            for (i, v) in v.into_iter().enumerate() {
                v.store(at(i));
            }
        }
    }
}

/// Transposes 64 by 64 bits in each column of 64 vectors.
///
/// # Safety
/// The CPU has the vector's instructions, and `words` leads to 64 vectors that no other code uses.
#[inline(always)]
unsafe fn transpose<V: Vector>(words: *mut u64) {
    // SAFETY: upheld by the caller.
    unsafe {
        exchange::<V, 8, 8, 16, 32>(words);
        exchange::<V, 1, 1, 2, 4>(words);
    }
}

/// Encrypts or decrypts the blocks of one pass, in the direction of the rounds.
///
/// # Safety
/// The CPU has the vector's instructions.
#[inline(always)]
unsafe fn pass<V: Vector>(rounds: &Rounds, blocks: &mut Buffer) {
    assert!(64 * V::WORDS <= blocks.len());
    let words = blocks.as_mut_ptr();
    let mut masks = [const { Masks([0; 64]) }; 2];
    // SAFETY: the buffer has 64 vectors; the caller has the instructions.
    unsafe {
        transpose::<V>(words);
        for des in rounds.words().chunks_exact(ROUNDS) {
            for (at, pair) in des.chunks_exact(2).enumerate() {
                // The second and third of each four rounds read a half that has been added to an odd number of times.
                let complements = const { complements(V::COMPLEMENTS) };
                let [first, second] = if at % 2 == 0 { [0, complements] } else { [complements, 0] };
                V::masks(pair[0] ^ first, &mut masks[0]);
                V::masks(pair[1] ^ second, &mut masks[1]);
                round::<V, 0>(words, &masks[0]);
                round::<V, 1>(words, &masks[1]);
            }
            // The halves change sides; the bits that IP takes them from are neighbours.
            for at in (0..64).step_by(2) {
                let (a, b) = (words.add(at * V::WORDS), words.add((at + 1) * V::WORDS));
                let (left, right) = (V::load(a), V::load(b));
                right.store(a);
                left.store(b);
            }
        }
        transpose::<V>(words);
    }
    for masks in &mut masks {
        crate::wipe(&mut masks.0);
    }
}

/// Passes on vectors of 512 bits.
pub(super) mod wide {
    use super::{Buffer, Rounds};
    use std::arch::x86_64::__m512i;

    /// Blocks of a pass.
    pub(in super::super) const WIDTH: usize = 512;

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(in super::super) fn pass(rounds: &Rounds, blocks: &mut Buffer) {
        // SAFETY: the instructions are enabled.
        unsafe { super::pass::<__m512i>(rounds, blocks) };
    }
}

/// Passes on vectors of 256 bits.
pub(super) mod avx2 {
    use super::{Buffer, Rounds};
    use std::arch::x86_64::__m256i;

    /// Blocks of a pass.
    pub(in super::super) const WIDTH: usize = 256;

    #[target_feature(enable = "avx2")]
    pub(in super::super) fn pass(rounds: &Rounds, blocks: &mut Buffer) {
        // SAFETY: the instructions are enabled.
        unsafe { super::pass::<__m256i>(rounds, blocks) };
    }
}

impl Vector for __m512i {
    const WORDS: usize = 8;
    const COMPLEMENTS: [u8; 8] = [0; 8];

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_loadu_si512(words.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_storeu_si512(words.cast(), self) };
    }

    #[inline(always)]
    unsafe fn splat(bits: u64) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_set1_epi64(bits.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn key(self, mask: &u32) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_xor_si512(self, _mm512_set1_epi32(mask.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn differ<const N: u32>(self, other: Self, mask: Self) -> Self {
        // SAFETY: upheld by the caller. The table is (a ^ b) & c.
        unsafe { _mm512_ternarylogic_epi64::<0x28>(_mm512_srli_epi64::<N>(self), other, mask) }
    }

    #[inline(always)]
    unsafe fn left<const N: u32>(self) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm512_slli_epi64::<N>(self) }
    }

    #[inline(always)]
    unsafe fn sbox<const K: usize>(x: [Self; 6]) -> [Self; 4] {
        // SAFETY: upheld by the caller.
        unsafe { circuits_ternary::sbox::<K>(x) }
    }

    #[inline(always)]
    unsafe fn masks(word: u64, masks: &mut Masks) {
        for (at, masks) in masks.0.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            // SAFETY: upheld by the caller; 16 words are a vector.
            unsafe { _mm512_storeu_si512(masks.as_mut_ptr().cast(), _mm512_movm_epi32((word >> (16 * at)) as u16)) };
        }
    }
}

impl Vector for __m256i {
    const WORDS: usize = 4;
    const COMPLEMENTS: [u8; 8] = circuits::COMPLEMENTS;

    #[inline(always)]
    unsafe fn load(words: *const u64) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_loadu_si256(words.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, words: *mut u64) {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_storeu_si256(words.cast(), self) };
    }

    #[inline(always)]
    unsafe fn splat(bits: u64) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_set1_epi64x(bits.cast_signed()) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn key(self, mask: &u32) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_xor_si256(self, _mm256_set1_epi32(mask.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn differ<const N: u32>(self, other: Self, mask: Self) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_and_si256(_mm256_xor_si256(_mm256_srl_epi64(self, _mm_cvtsi32_si128(N as i32)), other), mask) }
    }

    #[inline(always)]
    unsafe fn left<const N: u32>(self) -> Self {
        // SAFETY: upheld by the caller.
        unsafe { _mm256_sll_epi64(self, _mm_cvtsi32_si128(N as i32)) }
    }

    #[inline(always)]
    unsafe fn sbox<const K: usize>(x: [Self; 6]) -> [Self; 4] {
        // SAFETY: upheld by the caller.
        unsafe { circuits::sbox::<K>(x) }
    }

    #[inline(always)]
    unsafe fn masks(word: u64, masks: &mut Masks) {
        // SAFETY: upheld by the caller; eight words are a vector.
        unsafe {
            let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            for (at, masks) in masks.0.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let byte = _mm256_set1_epi32((word >> (8 * at)) as i32);
                let masked = _mm256_cmpeq_epi32(_mm256_and_si256(byte, bits), bits);
                _mm256_storeu_si256(masks.as_mut_ptr().cast(), masked);
            }
        }
    }
}
