//! AES-XTS: KM over whole blocks, PCC for the parameter it begins with.

use super::block::{XtsBlock, XtsParameterBlock};
use super::{Assist, Instruction, Machine, Refused, Registers, modifier};
use crate::InOut;

/// The function code by the length of one key in bytes, the same for KM and PCC.
const fn code(length: usize) -> u64 {
    match length {
        16 => 50,
        32 => 52,
        _ => panic!("an XTS key of 16 or 32 bytes"),
    }
}

impl<M: Machine> Assist<M> {
    /// XTS over whole blocks (KM) with the key of the data; `parameter`, the tweak encrypted, becomes that of the next block.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the key is not of 16 or 32 bytes, or the text not of whole blocks.
    pub fn xts(&self, key: &[u8], encrypt: bool, parameter: &mut [u8; 16], io: InOut<'_>) -> Result<(), Refused> {
        assert!(io.len().is_multiple_of(16));
        match key.len() {
            16 => self.xts_by::<16>(key, encrypt, parameter, &io),
            _ => self.xts_by::<32>(key, encrypt, parameter, &io),
        }
    }

    fn xts_by<const K: usize>(
        &self,
        key: &[u8],
        encrypt: bool,
        parameter: &mut [u8; 16],
        io: &InOut<'_>,
    ) -> Result<(), Refused> {
        let mut block = XtsBlock::<K> { key: [0; K], parameter: *parameter };
        block.key.copy_from_slice(key);
        let function = code(K) | modifier(!encrypt);
        // SAFETY: key and parameter in their block; whole blocks of text.
        unsafe { self.run_to_end(Instruction::Km, &mut Registers::new(function, &mut block).in_out(io)) }?;
        *parameter = block.parameter;
        Ok(())
    }

    /// Computes the parameter that a data unit begins with (PCC): its tweak, encrypted with the key of the tweak.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the key is not of 16 or 32 bytes.
    pub fn xts_parameter(&self, key: &[u8], tweak: &[u8; 16]) -> Result<[u8; 16], Refused> {
        match key.len() {
            16 => self.xts_parameter_by::<16>(key, tweak),
            _ => self.xts_parameter_by::<32>(key, tweak),
        }
    }

    fn xts_parameter_by<const K: usize>(&self, key: &[u8], tweak: &[u8; 16]) -> Result<[u8; 16], Refused> {
        let zero = [0; 16];
        let mut block = XtsParameterBlock::<K> { key: [0; K], tweak: *tweak, block: zero, bit: zero, parameter: zero };
        block.key.copy_from_slice(key);
        // SAFETY: key and tweak in their block; there are no operands.
        unsafe { self.run_to_end(Instruction::Pcc, &mut Registers::new(code(K), &mut block)) }?;
        Ok(block.parameter)
    }
}
