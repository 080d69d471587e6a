//! The permutation Keccak-f\[1600\] (FIPS 202, 3) on AVX-512, for one message.
//!
//! Each of the 25 words has a vector register to itself, of which it fills the lower half of the lowest 128 bits: there are 32 of
//! them, where the 16 general registers would have most words in memory, and the extension has what Keccak is made of as one
//! instruction each, the XOR of three words, a ^ (!b & c), and a rotation. A round takes 95: 10 for the sums of columns, 10
//! and 25 for theta, 24 for rho, 25 for chi, one for iota; pi is a choice of registers. General registers take some 130, and many
//! loads and stores. (Planes in vectors of five words, with 21 permutations a round, took twice as long on Zen 4.) Nothing depends on
//! the data.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use std::arch::x86_64::*;

/// Words of a state: word (x, y) of FIPS 202 stands at 5y + x.
pub const WORDS: usize = 25;

/// Rounds of a permutation.
const ROUNDS: usize = 24;

/// The constants of iota (FIPS 202, 3.2.5).
static IOTA: [u64; ROUNDS] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// The counts of rho (FIPS 202, table 2), in the order of the state.
const RHO: [i32; WORDS] =
    [0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14];

/// Truth tables: a ^ b ^ c, and a ^ (!b & c).
const XOR: i32 = 0x96;
const CHI: i32 = 0xd2;

/// A state, a word in each register.
type Registers = [__m128i; WORDS];

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn round(a: Registers, iota: &u64) -> Registers {
    macro_rules! xor {
        ($a:expr, $b:expr, $c:expr) => {
            _mm_ternarylogic_epi64::<XOR>($a, $b, $c)
        };
    }
    macro_rules! sum {
        ($x:literal) => {
            xor!(xor!(a[$x], a[$x + 5], a[$x + 10]), a[$x + 15], a[$x + 20])
        };
    }
    let sums = [sum!(0), sum!(1), sum!(2), sum!(3), sum!(4)];
    let turned = sums.map(|sum| _mm_rol_epi64::<1>(sum));
    // Added before the words are: with both halves to keep there would be more than the registers hold.
    let added: [__m128i; 5] = std::array::from_fn(|x| _mm_xor_si128(sums[(x + 4) % 5], turned[(x + 1) % 5]));
    // Theta and rho of the word that pi moves to (x, y): it comes from (x + 3y, x).
    macro_rules! moved {
        ($x:literal, $y:literal) => {{
            const FROM: usize = 5 * $x + ($x + 3 * $y) % 5;
            _mm_rol_epi64::<{ RHO[FROM] }>(_mm_xor_si128(a[FROM], added[FROM % 5]))
        }};
    }
    macro_rules! row {
        ($y:literal) => {{
            let b = [moved!(0, $y), moved!(1, $y), moved!(2, $y), moved!(3, $y), moved!(4, $y)];
            [
                _mm_ternarylogic_epi64::<CHI>(b[0], b[1], b[2]),
                _mm_ternarylogic_epi64::<CHI>(b[1], b[2], b[3]),
                _mm_ternarylogic_epi64::<CHI>(b[2], b[3], b[4]),
                _mm_ternarylogic_epi64::<CHI>(b[3], b[4], b[0]),
                _mm_ternarylogic_epi64::<CHI>(b[4], b[0], b[1]),
            ]
        }};
    }
    let rows = [row!(0), row!(1), row!(2), row!(3), row!(4)];
    let mut next = std::array::from_fn(|at| rows[at / 5][at % 5]);
    next[0] = _mm_xor_si128(next[0], load(iota));
    next
}

/// A word, in a register of its own.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn load(word: &u64) -> __m128i {
    // SAFETY: eight bytes.
    unsafe { _mm_loadl_epi64(std::ptr::from_ref(word).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn rounds(mut state: Registers) -> Registers {
    for iota in &IOTA {
        state = round(state, iota);
    }
    state
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn store(registers: Registers, state: &mut [u64; WORDS]) {
    for (word, register) in state.iter_mut().zip(registers) {
        *word = _mm_cvtsi128_si64(register).cast_unsigned();
    }
}

/// Permutes a state.
#[target_feature(enable = "avx512f,avx512vl")]
pub fn permute(state: &mut [u64; WORDS]) {
    let registers = rounds(std::array::from_fn(|at| load(&state[at])));
    store(registers, state);
}

/// Takes in the whole blocks of `data`, of `rate` bytes each: each is added to the state's first words, and the state permuted. What
/// is left of `data` is less than a block and not looked at.
///
/// # Panics
/// Where `rate` is no multiple of 8 from 8 to 168, the longest that FIPS 202 has.
#[target_feature(enable = "avx512f,avx512vl")]
pub fn absorb(state: &mut [u64; WORDS], data: &[u8], rate: usize) {
    assert!(rate.is_multiple_of(8) && (8..=168).contains(&rate), "a rate in whole words");
    let mut registers: Registers = std::array::from_fn(|at| load(&state[at]));
    // Without a division, which the checks of constant time forbid even of lengths.
    let mut rest = data;
    while let Some((block, later)) = rest.split_at_checked(rate) {
        rest = later;
        let words = block.as_chunks::<8>().0;
        // Not a loop: registers have no index.
        macro_rules! add {
            ($($at:literal)*) => {
                $(if let Some(word) = words.get($at) {
                    // SAFETY: eight bytes.
                    let word = unsafe { _mm_loadl_epi64(word.as_ptr().cast()) };
                    registers[$at] = _mm_xor_si128(registers[$at], word);
                })*
            };
        }
        add!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20);
        registers = rounds(registers);
    }
    store(registers, state);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> bool {
        let here = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
        if !here {
            println!("SKIPPED: this CPU has no AVX-512");
        }
        here
    }

    /// The permutation as FIPS 202 writes it.
    fn plain(state: &mut [u64; WORDS]) {
        for iota in IOTA {
            let sum = |x: usize| (0..5).fold(0, |sum, y| sum ^ state[5 * y + x]);
            let sums: [u64; 5] = std::array::from_fn(sum);
            for (at, word) in state.iter_mut().enumerate() {
                *word ^= sums[(at + 4) % 5] ^ sums[(at % 5 + 1) % 5].rotate_left(1);
            }
            let mut moved = [0; WORDS];
            for (at, word) in moved.iter_mut().enumerate() {
                let (x, y) = (at % 5, at / 5);
                let (from_x, from_y) = ((x + 3 * y) % 5, x);
                *word = state[5 * from_y + from_x].rotate_left(RHO[5 * from_y + from_x] as u32);
            }
            for (at, word) in state.iter_mut().enumerate() {
                let row = at / 5 * 5;
                *word = moved[at] ^ (!moved[row + (at + 1) % 5] & moved[row + (at + 2) % 5]);
            }
            state[0] ^= iota;
        }
    }

    fn some(seed: u64) -> [u64; WORDS] {
        let mut next = seed;
        std::array::from_fn(|_| {
            next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            next ^ next >> 29
        })
    }

    #[test]
    fn the_permutation_of_zeros_is_the_standards() {
        if !here() {
            return;
        }
        let mut state = [0; WORDS];
        // SAFETY: the features are there.
        unsafe { permute(&mut state) };
        // KeccakF-1600-IntermediateValues of the Keccak team: the first words after one permutation of zeros.
        assert_eq!(state[..3], [0xf125_8f79_40e1_dde7, 0x84d5_ccf9_33c0_478a, 0xd598_261e_a65a_a9ee]);
    }

    #[test]
    fn the_permutation_is_that_of_the_standard() {
        if !here() {
            return;
        }
        for seed in 0..200 {
            let (mut a, mut b) = (some(seed), some(seed));
            // SAFETY: the features are there.
            unsafe { permute(&mut a) };
            plain(&mut b);
            assert_eq!(a, b, "{seed}");
        }
    }

    #[test]
    fn blocks_are_absorbed_as_the_standard_says() {
        if !here() {
            return;
        }
        let data: Vec<u8> = (0..1000u32).map(|i| ((i * 31) >> 3) as u8).collect();
        for rate in [72, 104, 136, 144, 168] {
            for length in [0, rate - 1, rate, 2 * rate + 5, 5 * rate] {
                let (mut a, mut b) = (some(length as u64), some(length as u64));
                // SAFETY: the features are there.
                unsafe { absorb(&mut a, &data[..length], rate) };
                for block in data[..length].chunks_exact(rate) {
                    for (word, bytes) in b.iter_mut().zip(block.as_chunks().0) {
                        *word ^= u64::from_le_bytes(*bytes);
                    }
                    plain(&mut b);
                }
                assert_eq!(a, b, "{rate}: {length}");
            }
        }
    }
}
