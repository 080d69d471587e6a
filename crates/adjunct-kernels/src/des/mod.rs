//! DES and triple DES (FIPS 46-3, SP 800-67) of many blocks side by side.
//!
//! Libraries look S-boxes up in memory: one block after the other, about 100 cycles a byte of triple DES, in a time that
//! depends on which lines of the tables are cached, and so on the key. Here nothing branches or indexes memory by a secret.
//!
//! * `sliced`: a vector has one bit of as many blocks as it has bits, and S-boxes are circuits (Biham, "A fast new DES
//!   implementation in software", FSE 1997). 512 blocks at a time by AVX-512, 256 by AVX2. A pass takes the same time for any number
//!   of blocks.
//! * `lookup`: eight blocks in a vector by AVX-512's byte permutation, which looks up 64 bytes in a table of 64 that is a register. For
//!   fewer blocks, and for streams that cannot be cut: CBC encryption and CBC-MAC of several messages.
//!
//! Each has its cost in its file.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

mod circuits;
mod circuits_ternary;
mod lookup;
mod modes;
mod sliced;
mod tables;

#[cfg(test)]
mod tests;

pub use lookup::Stream;

use crate::{InOut, opaque_debug, wipe};

/// Length of a block in bytes.
pub const BLOCK: usize = 8;

/// A key schedule of one key as OpenSSL and AWS-LC have it: two words a round.
pub type Schedule = [u32; 32];

/// Rounds of DES.
const ROUNDS: usize = 16;

/// The round keys of one direction in the order in which they are used; wiped when dropped.
#[derive(Clone)]
pub struct Rounds {
    /// Both words of a round of the [`Schedule`], the first the lower.
    words: [u64; 3 * ROUNDS],
    count: usize,
}

opaque_debug!(Rounds);

impl Drop for Rounds {
    fn drop(&mut self) {
        wipe(&mut self.words);
    }
}

impl Rounds {
    /// Makes the rounds of one key, or of three.
    ///
    /// # Panics
    /// For any other number.
    pub fn new(schedules: &[Schedule], encrypt: bool) -> Rounds {
        match schedules {
            [schedule] => Rounds::single(schedule, encrypt),
            _ => Rounds::triple(schedules.try_into().expect("one key or three"), encrypt),
        }
    }

    /// Makes the rounds of one key.
    pub fn single(schedule: &Schedule, encrypt: bool) -> Rounds {
        let mut rounds = Rounds { words: [0; 3 * ROUNDS], count: ROUNDS };
        rounds.set(0, schedule, encrypt);
        rounds
    }

    /// Makes the rounds of three keys: encryption, decryption, encryption, or backwards.
    pub fn triple(schedules: &[Schedule; 3], encrypt: bool) -> Rounds {
        let mut rounds = Rounds { words: [0; 3 * ROUNDS], count: 3 * ROUNDS };
        let [a, b, c] = schedules;
        for (at, (schedule, forwards)) in [(a, true), (b, false), (c, true)].into_iter().enumerate() {
            rounds.set(if encrypt { at } else { 2 - at }, schedule, forwards == encrypt);
        }
        rounds
    }

    fn set(&mut self, at: usize, schedule: &Schedule, forwards: bool) {
        for (round, words) in schedule.as_chunks::<2>().0.iter().enumerate() {
            let place = ROUNDS * at + if forwards { round } else { ROUNDS - 1 - round };
            self.words[place] = u64::from(words[0]) | u64::from(words[1]) << 32;
        }
    }

    /// The words in use.
    fn words(&self) -> &[u64] {
        &self.words[..self.count]
    }
}

/// What works on the blocks of one message side by side. All kernels give the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// AVX-512 (F, BW, DQ, VL) with VBMI, BITALG and GFNI.
    Lookup,
    /// AVX-512 (F, BW, DQ, VL).
    Wide,
    /// AVX2.
    Avx2,
}

impl Kernel {
    /// How many of `blocks` blocks, from the first on, it does faster than a library that does one after the other.
    #[inline]
    pub const fn takes(self, blocks: usize) -> usize {
        // A pass takes as long as a library 11 (AVX-512) to 18 blocks.
        let (width, least) = match self {
            Kernel::Lookup => return if blocks < 3 { 0 } else { blocks },
            Kernel::Wide => (512, 16),
            Kernel::Avx2 => (256, 24),
        };
        let rest = blocks % width;
        if rest < least { blocks - rest } else { blocks }
    }

    /// ECB over whole blocks, in the direction of the rounds.
    ///
    /// # Safety
    /// The CPU has the kernel's instructions.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub unsafe fn ecb(self, rounds: &Rounds, io: InOut<'_>) {
        // SAFETY: upheld by the caller.
        unsafe { modes::run(self, rounds, None, io) };
    }

    /// CBC decryption over whole blocks by rounds that decrypt; `iv` becomes the last ciphertext block.
    ///
    /// # Safety
    /// The CPU has the kernel's instructions.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub unsafe fn cbc_decrypt(self, rounds: &Rounds, iv: &mut [u8; BLOCK], io: InOut<'_>) {
        // SAFETY: upheld by the caller.
        unsafe { modes::run(self, rounds, Some(iv), io) };
    }
}

/// Encrypts streams that chain their blocks, each with its own key, side by side, 16 at a time. They may be of any number and lengths;
/// where their iterator does not say that there are more than eight, it is eight at a time.
///
/// # Safety
/// The CPU has the instructions of [`Kernel::Lookup`].
///
/// # Panics
/// If some have single keys and some triple ones.
pub unsafe fn encrypt_streams<'a>(streams: impl Iterator<Item = Stream<'a>>) {
    // SAFETY: upheld by the caller.
    unsafe { lookup::encrypt_streams(streams) };
}
