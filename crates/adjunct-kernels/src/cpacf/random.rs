//! PRNO: the true random number generator, and Hash_DRBG over SHA-512 (NIST SP 800-90A, 10.1.1).

use super::block::DrbgBlock;
use super::{Assist, Instruction, MODIFIER, Machine, Refused, Registers};

/// The code of the DRBG.
const DRBG: u64 = 3;
/// The code of the true random number generator.
const TRNG: u64 = 114;
/// The longest seed in bytes.
const LONGEST_SEED: usize = 512;

impl<M: Machine> Assist<M> {
    /// Fills `out` with conditioned bytes of the true random number generator.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    pub fn entropy(&self, out: &mut [u8]) -> Result<(), Refused> {
        let mut none = [0u8; 0];
        let mut registers = Registers::new(TRNG, &mut none);
        // The first operand is for raw bytes, of which none are wanted, the second for conditioned ones.
        registers.destination = out.as_mut_ptr();
        (registers.source, registers.source_length) = (out.as_mut_ptr().cast_const(), out.len());
        // SAFETY: the function has no parameter block; the second operand may be written.
        unsafe { self.run_to_end(Instruction::Prno, &mut registers) }
    }

    /// Seeds a DRBG: instantiates one whose block is new, reseeds another. `seed` is the entropy, with the nonce and what else
    /// belongs to it behind it.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done. So for a seed of more than 512 bytes.
    pub fn drbg_seed(&self, drbg: &mut DrbgBlock, seed: &[u8]) -> Result<(), Refused> {
        let mut registers = Registers::new(DRBG | MODIFIER, drbg).source(seed);
        if seed.len() > LONGEST_SEED {
            return Err(Refused::Absent);
        }
        // SAFETY: the DRBG's block; the seed is not longer than it may be.
        unsafe { self.run_to_end(Instruction::Prno, &mut registers) }
    }

    /// Fills `out` from a DRBG that has been seeded.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    pub fn drbg_generate(&self, drbg: &mut DrbgBlock, out: &mut [u8]) -> Result<(), Refused> {
        let mut registers = Registers::new(DRBG, drbg);
        (registers.destination, registers.destination_length) = (out.as_mut_ptr(), out.len());
        // SAFETY: the DRBG's block; the output may be of any length.
        unsafe { self.run_to_end(Instruction::Prno, &mut registers) }
    }
}
