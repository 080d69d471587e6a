//! PRNO: the true random number generator, and Hash_DRBG over SHA-512 (NIST SP 800-90A, 10.1.1).

use super::block::DrbgBlock;
use super::{Assist, Instruction, Machine, Refused, Registers};

/// The code of the DRBG.
pub(super) const DRBG: u8 = 3;
/// The code of the true random number generator.
const TRNG: u64 = 114;

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

    /// Fills `out` from a DRBG that has been seeded, as one request without additional input: V and the counter move on.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    pub fn drbg_generate(&self, drbg: &mut DrbgBlock, out: &mut [u8]) -> Result<(), Refused> {
        let mut registers = Registers::new(DRBG.into(), drbg);
        (registers.destination, registers.destination_length) = (out.as_mut_ptr(), out.len());
        // SAFETY: the DRBG's block; the output may be of any length.
        unsafe { self.run_to_end(Instruction::Prno, &mut registers) }
    }
}
