//! KM, KMC, KMCTR, KMF and KMO: DES, triple DES and AES in ECB, CBC, CTR, CFB and OFB, over whole blocks.

use super::block::{ChainBlock, KeyBlock, MAX_KEY};
use super::{Assist, Instruction, Machine, Refused, Registers, modifier};
use crate::InOut;
use zeroize::Zeroize;

/// A block cipher, by the length of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// DES: 8 bytes.
    Des,
    /// Triple DES with three keys: 24 bytes.
    TripleDes,
    /// AES-128: 16 bytes.
    Aes128,
    /// AES-192: 24 bytes.
    Aes192,
    /// AES-256: 32 bytes.
    Aes256,
}

/// Bytes of counters that are made at a time.
const COUNTERS: usize = 512;

impl Cipher {
    /// All ciphers.
    pub const ALL: [Cipher; 5] = [Cipher::Des, Cipher::TripleDes, Cipher::Aes128, Cipher::Aes192, Cipher::Aes256];

    /// AES by the length of its key in bytes.
    pub const fn aes(length: usize) -> Option<Cipher> {
        match length {
            16 => Some(Cipher::Aes128),
            24 => Some(Cipher::Aes192),
            32 => Some(Cipher::Aes256),
            _ => None,
        }
    }

    /// The function code, the same for all instructions that have the cipher.
    pub const fn code(self) -> u8 {
        match self {
            Cipher::Des => 1,
            Cipher::TripleDes => 3,
            Cipher::Aes128 => 18,
            Cipher::Aes192 => 19,
            Cipher::Aes256 => 20,
        }
    }

    /// The length of a block in bytes.
    pub const fn block(self) -> usize {
        match self {
            Cipher::Des | Cipher::TripleDes => 8,
            _ => 16,
        }
    }

    /// The length of the key in bytes.
    pub const fn key_length(self) -> usize {
        match self {
            Cipher::Des => 8,
            Cipher::Aes128 => 16,
            Cipher::TripleDes | Cipher::Aes192 => 24,
            Cipher::Aes256 => 32,
        }
    }

    /// The key in the field of a parameter block.
    ///
    /// # Panics
    /// If it is not as long as the cipher's.
    pub(super) fn field(self, key: &[u8]) -> [u8; MAX_KEY] {
        assert_eq!(key.len(), self.key_length());
        let mut field = [0; MAX_KEY];
        field[..key.len()].copy_from_slice(key);
        field
    }
}

impl<M: Machine> Assist<M> {
    /// ECB over whole blocks (KM).
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the key is not as long as the cipher's, or the text not of whole blocks.
    pub fn ecb(&self, cipher: Cipher, key: &[u8], encrypt: bool, io: InOut<'_>) -> Result<(), Refused> {
        assert!(io.len().is_multiple_of(cipher.block()));
        let mut block = KeyBlock { key: cipher.field(key) };
        let function = u64::from(cipher.code()) | modifier(!encrypt);
        // SAFETY: a key in its block; whole blocks of text.
        unsafe { self.run_to_end(Instruction::Km, &mut Registers::new(function, &mut block).in_out(&io)) }
    }

    /// CBC over whole blocks (KMC); `chain`, a block, becomes the last of ciphertext.
    ///
    /// # Errors
    /// As for [`Assist::ecb`].
    ///
    /// # Panics
    /// As for [`Assist::ecb`], or if `chain` is not a block.
    pub fn cbc(
        &self,
        cipher: Cipher,
        key: &[u8],
        encrypt: bool,
        chain: &mut [u8],
        io: InOut<'_>,
    ) -> Result<(), Refused> {
        assert!(io.len().is_multiple_of(cipher.block()));
        self.chained(Instruction::Kmc, (cipher, key), modifier(!encrypt), chain, |registers| registers.in_out(&io))
    }

    /// CFB over whole segments (KMF) of `segment` bytes: 1 to a block's length; `chain`, a block, becomes what the next segment
    /// is made with.
    ///
    /// # Errors
    /// As for [`Assist::ecb`].
    ///
    /// # Panics
    /// As for [`Assist::cbc`], or if the text is not of whole segments.
    pub fn cfb(
        &self,
        cipher: Cipher,
        key: &[u8],
        encrypt: bool,
        segment: usize,
        chain: &mut [u8],
        io: InOut<'_>,
    ) -> Result<(), Refused> {
        assert!((1..=cipher.block()).contains(&segment) && io.len().is_multiple_of(segment));
        // The length of a segment stands in bits 32 to 39 of register 0.
        let flags = modifier(!encrypt) | (segment as u64) << 24;
        self.chained(Instruction::Kmf, (cipher, key), flags, chain, |registers| registers.in_out(&io))
    }

    /// OFB over whole blocks (KMO); `chain`, a block, becomes the last of the key stream.
    ///
    /// # Errors
    /// As for [`Assist::ecb`].
    ///
    /// # Panics
    /// As for [`Assist::cbc`].
    pub fn ofb(&self, cipher: Cipher, key: &[u8], chain: &mut [u8], io: InOut<'_>) -> Result<(), Refused> {
        assert!(io.len().is_multiple_of(cipher.block()));
        self.chained(Instruction::Kmo, (cipher, key), 0, chain, |registers| registers.in_out(&io))
    }

    /// An instruction with a chaining value, which becomes the next; the text is of the unit that the callers have checked.
    pub(super) fn chained(
        &self,
        instruction: Instruction,
        (cipher, key): (Cipher, &[u8]),
        flags: u64,
        chain: &mut [u8],
        operands: impl FnOnce(Registers) -> Registers,
    ) -> Result<(), Refused> {
        assert!(key.len() == cipher.key_length() && chain.len() == cipher.block());
        let mut block = ChainBlock::new(chain, key);
        let mut registers = operands(Registers::new(u64::from(cipher.code()) | flags, &mut block));
        // SAFETY: chaining value and key in their block; the operands are the callers'.
        unsafe { self.run_to_end(instruction, &mut registers) }?;
        chain.copy_from_slice(block.chain(chain.len()));
        Ok(())
    }

    /// CTR over whole blocks (KMCTR) with a big-endian counter over the whole block, which becomes the next.
    ///
    /// # Errors
    /// As for [`Assist::ecb`].
    ///
    /// # Panics
    /// As for [`Assist::cbc`].
    pub fn ctr(&self, cipher: Cipher, key: &[u8], counter: &mut [u8], io: InOut<'_>) -> Result<(), Refused> {
        let mut made = [0; COUNTERS];
        let mut next = [0; 16];
        let size = cipher.block();
        next[16 - size..].copy_from_slice(counter);
        let mut number = u128::from_be_bytes(next);
        let mut rest = io;
        while !rest.is_empty() {
            let (part, later) = rest.split_head(COUNTERS);
            for place in made[..part.len()].chunks_mut(size) {
                place.copy_from_slice(&number.to_be_bytes()[16 - size..]);
                number = number.wrapping_add(1);
            }
            self.counters(cipher, key, &made[..part.len()], part)?;
            rest = later;
        }
        counter.copy_from_slice(&number.to_be_bytes()[16 - size..]);
        made.zeroize();
        Ok(())
    }

    /// CTR over whole blocks (KMCTR), with a counter given for each.
    ///
    /// # Errors
    /// As for [`Assist::ecb`].
    ///
    /// # Panics
    /// As for [`Assist::ecb`], or if there are not as many bytes of counters as of text.
    pub fn counters(&self, cipher: Cipher, key: &[u8], counters: &[u8], io: InOut<'_>) -> Result<(), Refused> {
        assert!(io.len().is_multiple_of(cipher.block()) && counters.len() == io.len());
        let mut block = KeyBlock { key: cipher.field(key) };
        let mut registers = Registers::new(cipher.code().into(), &mut block).in_out(&io);
        registers.third = counters.as_ptr();
        // SAFETY: a key in its block; whole blocks of text, and as many counters.
        unsafe { self.run_to_end(Instruction::Kmctr, &mut registers) }
    }
}
