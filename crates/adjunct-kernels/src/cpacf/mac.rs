//! KMAC and PCC: CMAC (NIST SP 800-38B).

use super::block::CmacBlock;
use super::{Assist, Cipher, Instruction, Machine, Refused, Registers};

impl<M: Machine> Assist<M> {
    /// Takes whole blocks into a CMAC's chaining value (KMAC); others must follow.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the key is not as long as the cipher's, the chaining value not a block, or the message not of whole blocks.
    pub fn cmac(&self, cipher: Cipher, key: &[u8], chain: &mut [u8], blocks: &[u8]) -> Result<(), Refused> {
        assert!(blocks.len().is_multiple_of(cipher.block()));
        self.chained(Instruction::Kmac, (cipher, key), 0, chain, |registers| registers.source(blocks))
    }

    /// Ends a CMAC (PCC) with its last block, which may be short, or empty where the whole message is; `chain` becomes the MAC.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the key is not as long as the cipher's, the chaining value not a block, or the last block longer.
    pub fn cmac_last(&self, cipher: Cipher, key: &[u8], chain: &mut [u8], last: &[u8]) -> Result<(), Refused> {
        match cipher.block() {
            8 => self.cmac_last_by::<8>(cipher, key, chain, last),
            _ => self.cmac_last_by::<16>(cipher, key, chain, last),
        }
    }

    fn cmac_last_by<const B: usize>(
        &self,
        cipher: Cipher,
        key: &[u8],
        chain: &mut [u8],
        last: &[u8],
    ) -> Result<(), Refused> {
        assert!(chain.len() == B && last.len() <= B);
        let mut block = CmacBlock::<B> {
            length: last.len() as u8 * 8,
            reserved: [0; 7],
            message: [0; B],
            chain: [0; B],
            key: cipher.field(key),
        };
        block.message[..last.len()].copy_from_slice(last);
        block.chain.copy_from_slice(chain);
        // SAFETY: all is in the block; there are no operands.
        unsafe { self.run_to_end(Instruction::Pcc, &mut Registers::new(cipher.code().into(), &mut block)) }?;
        chain.copy_from_slice(&block.chain);
        Ok(())
    }
}
