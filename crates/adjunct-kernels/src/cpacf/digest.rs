//! KIMD and KLMD: SHA-1, SHA-2 (FIPS 180-4), SHA-3 and SHAKE (FIPS 202), and KIMD's GHASH (NIST SP 800-38D).

use super::block::{DigestBlock, GhashBlock, LastDigestBlock};
use super::{Assist, Instruction, Machine, Refused, Registers};

/// A function of KIMD and KLMD. Digests that differ only in their first state and their length share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1.
    Sha1,
    /// SHA-224 and SHA-256.
    Sha256,
    /// SHA-384, SHA-512, SHA-512/224 and SHA-512/256.
    Sha512,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// SHAKE-128.
    Shake128,
    /// SHAKE-256.
    Shake256,
}

/// The code of KIMD's GHASH.
const GHASH: u8 = 65;
/// KLMD goes on with an extendable-output function whose message has ended.
const MORE_OUTPUT: u64 = 0x100;

impl Hash {
    /// All hashes.
    pub const ALL: [Hash; 9] = {
        use Hash::*;
        [Sha1, Sha256, Sha512, Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake128, Shake256]
    };

    /// The function code, of KIMD as of KLMD.
    pub const fn code(self) -> u8 {
        match self {
            Hash::Sha1 => 1,
            Hash::Sha256 => 2,
            Hash::Sha512 => 3,
            Hash::Sha3_224 => 32,
            Hash::Sha3_256 => 33,
            Hash::Sha3_384 => 34,
            Hash::Sha3_512 => 35,
            Hash::Shake128 => 36,
            Hash::Shake256 => 37,
        }
    }

    /// The length of a block in bytes.
    pub const fn block(self) -> usize {
        match self {
            Hash::Sha1 | Hash::Sha256 => 64,
            Hash::Sha512 => 128,
            Hash::Sha3_224 => 144,
            Hash::Sha3_256 | Hash::Shake256 => 136,
            Hash::Sha3_384 => 104,
            Hash::Sha3_512 => 72,
            Hash::Shake128 => 168,
        }
    }

    /// The length of the state in bytes.
    pub const fn state(self) -> usize {
        match self {
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
            Hash::Sha512 => 64,
            _ => 200,
        }
    }

    const fn xof(self) -> bool {
        matches!(self, Hash::Shake128 | Hash::Shake256)
    }
}

impl<M: Machine> Assist<M> {
    /// Takes whole blocks into a state (KIMD): SHA-1's and SHA-2's words big-endian, SHA-3's in the order of FIPS 202's bytes.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the state is not as long as the function's, or the message not of whole blocks.
    pub fn absorb(&self, hash: Hash, state: &mut [u8], blocks: &[u8]) -> Result<(), Refused> {
        assert!(blocks.len().is_multiple_of(hash.block()));
        match hash.state() {
            20 => self.absorb_by::<20>(hash, state, blocks),
            32 => self.absorb_by::<32>(hash, state, blocks),
            64 => self.absorb_by::<64>(hash, state, blocks),
            _ => self.absorb_by::<200>(hash, state, blocks),
        }
    }

    fn absorb_by<const S: usize>(&self, hash: Hash, state: &mut [u8], blocks: &[u8]) -> Result<(), Refused> {
        assert_eq!(state.len(), S);
        let mut block = DigestBlock::<S> { state: [0; S] };
        block.state.copy_from_slice(state);
        let mut registers = Registers::new(hash.code().into(), &mut block).source(blocks);
        // SAFETY: the state in its block; whole blocks of message.
        unsafe { self.run_to_end(Instruction::Kimd, &mut registers) }?;
        state.copy_from_slice(&block.state);
        Ok(())
    }

    /// Ends a message of `bits` bits in all (KLMD) with what is left of it, of any length; the digest is the beginning of
    /// `state`. SHA-3 does not look at `bits`.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the state is not as long as the function's, or the function is an extendable-output function.
    pub fn finish(&self, hash: Hash, state: &mut [u8], rest: &[u8], bits: u128) -> Result<(), Refused> {
        assert!(!hash.xof());
        let bits = bits.to_be_bytes();
        match hash.state() {
            20 => self.finish_by::<20, 8>(hash, state, rest, &bits),
            32 => self.finish_by::<32, 8>(hash, state, rest, &bits),
            64 => self.finish_by::<64, 16>(hash, state, rest, &bits),
            _ => self.finish_by::<200, 0>(hash, state, rest, &bits),
        }
    }

    fn finish_by<const S: usize, const L: usize>(
        &self,
        hash: Hash,
        state: &mut [u8],
        rest: &[u8],
        bits: &[u8; 16],
    ) -> Result<(), Refused> {
        assert_eq!(state.len(), S);
        let mut block = LastDigestBlock::<S, L> { state: [0; S], bits: [0; L] };
        block.state.copy_from_slice(state);
        block.bits.copy_from_slice(&bits[16 - L..]);
        let mut registers = Registers::new(hash.code().into(), &mut block).source(rest);
        // SAFETY: state and length in their block; the rest of a message may be of any length.
        unsafe { self.run_to_end(Instruction::Klmd, &mut registers) }?;
        state.copy_from_slice(&block.state);
        Ok(())
    }

    /// Ends the message of an extendable-output function (KLMD) with what is left of it, and fills `out`.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the state is not of 200 bytes, or the function not an extendable-output function.
    pub fn squeeze_first(&self, hash: Hash, state: &mut [u8], rest: &[u8], out: &mut [u8]) -> Result<(), Refused> {
        self.squeeze_by(hash, 0, state, rest, out)
    }

    /// Fills `out` with whole blocks more of an extendable-output function (KLMD), or the beginning of one; what the state's
    /// block holds has been given out before.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// As for [`Assist::squeeze_first`].
    pub fn squeeze_more(&self, hash: Hash, state: &mut [u8], out: &mut [u8]) -> Result<(), Refused> {
        self.squeeze_by(hash, MORE_OUTPUT, state, &[], out)
    }

    fn squeeze_by(&self, hash: Hash, flags: u64, state: &mut [u8], rest: &[u8], out: &mut [u8]) -> Result<(), Refused> {
        assert!(hash.xof() && state.len() == hash.state());
        let mut block = DigestBlock::<200> { state: [0; 200] };
        block.state.copy_from_slice(state);
        let mut registers = Registers::new(u64::from(hash.code()) | flags, &mut block).source(rest);
        (registers.destination, registers.destination_length) = (out.as_mut_ptr(), out.len());
        // SAFETY: the state in its block; the rest of a message and the output may be of any length.
        unsafe { self.run_to_end(Instruction::Klmd, &mut registers) }?;
        state.copy_from_slice(&block.state);
        Ok(())
    }

    /// Takes whole blocks into a GHASH (KIMD).
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done.
    ///
    /// # Panics
    /// If the data is not of whole blocks.
    pub fn ghash(&self, subkey: &[u8; 16], hash: &mut [u8; 16], blocks: &[u8]) -> Result<(), Refused> {
        assert!(blocks.len().is_multiple_of(16));
        let mut block = GhashBlock { hash: *hash, subkey: *subkey };
        // SAFETY: hash and subkey in their block; whole blocks of data.
        unsafe {
            self.run_to_end(Instruction::Kimd, &mut Registers::new(GHASH.into(), &mut block).source(blocks))?;
        }
        *hash = block.hash;
        Ok(())
    }
}
