//! DES and triple DES (FIPS 46-3, SP 800-67).

use super::cipher_stream as stream;
use super::private::{self, DesKeySchedule};
use crate::adapter::cpu::cpacf::cipher::Given;
use crate::error::Error;
use adjunct_kernels::cpacf::{Cipher, Instruction};
use adjunct_kernels::{InOut, opaque_debug, wipe};
use std::ffi::c_void;

/// The block length in bytes.
pub const BLOCK: usize = 8;
/// The key length in bytes: three keys.
pub const KEY: usize = 24;

/// DES with one key or with three, in the modes the library has and in those that are made of blocks here; wiped when dropped.
#[derive(Clone, Default)]
pub struct Des {
    /// Key schedules; DES with one key uses the first alone.
    schedules: [DesKeySchedule; 3],
    triple: bool,
    given: Given,
}

opaque_debug!(Des);

impl Drop for Des {
    fn drop(&mut self) {
        wipe(self.schedules.as_flattened_mut());
    }
}

impl Des {
    /// A key of 8 or 24 bytes. Parity and weak keys are not looked at.
    ///
    /// # Errors
    /// [`Error::Length`] for another length.
    pub fn new(key: &[u8]) -> Result<Des, Error> {
        let mut des = Des::default();
        des.set_key(key)?;
        Ok(des)
    }

    /// Sets a key of 8 or 24 bytes, in place.
    ///
    /// # Errors
    /// As for [`Des::new`].
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        let cipher = match key.len() {
            BLOCK => Cipher::Des,
            KEY => Cipher::TripleDes,
            other => return Err(Error::Length { what: "DES key", got: other, expected: "8 or 24" }),
        };
        self.triple = key.len() == KEY;
        self.given.set(Some(cipher), key);
        for (schedule, part) in self.schedules.iter_mut().zip(key.as_chunks::<BLOCK>().0) {
            // SAFETY: a key is eight bytes.
            unsafe { private::DES_set_key_unchecked(part.as_ptr(), schedule.as_mut_ptr().cast()) };
        }
        Ok(())
    }

    /// The key as CPACF takes it.
    pub(super) fn given(&self) -> &Given {
        &self.given
    }

    /// The schedules as the library takes them.
    fn raw(&self) -> [*const c_void; 3] {
        self.schedules.each_ref().map(|s| s.as_ptr().cast())
    }

    /// Has one instruction work on the whole units of a message, if the CPU has one for the mode; gives what is left of the message.
    fn at_once<'a>(
        &self,
        unit: usize,
        mut io: InOut<'a>,
        work: impl FnOnce(&Given, &mut InOut<'_>) -> bool,
    ) -> InOut<'a> {
        // What counts as hardware is KM's, which the end of a message needs.
        if !self.given.has(Instruction::Km) {
            return io;
        }
        let whole = io.len() / unit * unit;
        let done = whole > 0 && work(&self.given, &mut io.reborrow().split_at(whole).0);
        if done { io.split_at(whole).1 } else { io }
    }

    /// CTR over any length, with a big-endian counter over the whole block, which becomes the next.
    pub fn ctr(&self, counter: &mut [u8; BLOCK], io: InOut<'_>) {
        let io = self.at_once(BLOCK, io, |given, io| given.ctr(counter, io));
        stream::ctr(counter, io, |io| self.ecb(true, io));
    }

    /// CTR with a list of counters, as long as the message, up to whole blocks.
    ///
    /// # Panics
    /// If the list is shorter.
    pub fn ctr_list(&self, list: &[u8], io: InOut<'_>) {
        let all = io.len();
        let io = self.at_once(BLOCK, io, |given, io| given.counters(&list[..io.len()], io));
        stream::ctr_list::<BLOCK>(&list[all - io.len()..], io, |io| self.ecb(true, io));
    }

    /// CFB over any length with segments of `segment` bytes, 1 to a block; `iv` becomes the shift register.
    ///
    /// # Panics
    /// For any other segment.
    pub fn cfb(&self, encrypt: bool, segment: usize, iv: &mut [u8; BLOCK], io: InOut<'_>) {
        let io = self.at_once(segment, io, |given, io| given.cfb(encrypt, segment, iv, io));
        stream::cfb(encrypt, segment, iv, io, |io| self.ecb(true, io));
    }

    /// OFB over any length; `iv` becomes the last block of the stream.
    pub fn ofb(&self, iv: &mut [u8; BLOCK], io: InOut<'_>) {
        let io = self.at_once(BLOCK, io, |given, io| given.ofb(iv, io));
        stream::ofb(iv, io, |io| self.ecb(true, io));
    }

    /// ECB over whole blocks.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub fn ecb(&self, encrypt: bool, mut io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        if self.given.ecb(encrypt, &mut io) {
            return;
        }
        let ([a, b, c], enc) = (self.raw(), encrypt.into());
        for at in (0..io.len()).step_by(BLOCK) {
            // SAFETY: a block lies at `at` in both buffers.
            unsafe {
                let (input, output) = (io.input().add(at), io.output().add(at));
                if self.triple {
                    private::DES_ecb3_encrypt(input, output, a, b, c, enc);
                } else {
                    private::DES_ecb_encrypt(input, output, a, enc);
                }
            }
        }
    }

    /// CBC over whole blocks; `iv` becomes the last ciphertext block.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub fn cbc(&self, encrypt: bool, iv: &mut [u8; BLOCK], mut io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        if self.given.cbc(encrypt, iv, &mut io) {
            return;
        }
        let ([a, b, c], iv, enc) = (self.raw(), iv.as_mut_ptr(), encrypt.into());
        // SAFETY: whole blocks; the IV is one.
        unsafe {
            if self.triple {
                private::DES_ede3_cbc_encrypt(io.input(), io.output(), io.len(), a, b, c, iv, enc);
            } else {
                private::DES_ncbc_encrypt(io.input(), io.output(), io.len(), a, iv, enc);
            }
        }
    }
}

/// Makes each byte's parity odd, as a generated key must have it (FIPS 46-3).
pub fn set_odd_parity(key: &mut [u8]) {
    for byte in key {
        *byte = *byte & 0xFE | (byte.count_ones() as u8 ^ *byte ^ 1) & 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_and_three() {
        // FIPS 81's example, and three times the same key.
        let key = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        let expected = [0x3f, 0xa4, 0x0e, 0x8a, 0x98, 0x4d, 0x48, 0x15];
        for key in [key.to_vec(), key.repeat(3)] {
            let des = Des::new(&key).expect("a key");
            let mut block = *b"Now is t";
            des.ecb(true, InOut::in_place(&mut block));
            assert_eq!(block, expected);
            des.ecb(false, InOut::in_place(&mut block));
            assert_eq!(&block, b"Now is t");
            let mut iv = [0; 8];
            des.cbc(true, &mut iv, InOut::in_place(&mut block));
            assert_eq!((block, iv), (expected, expected));
        }
        assert!(Des::new(&key[..7]).is_err());
    }

    #[test]
    fn parity_is_odd_and_only_the_lowest_bit_changes() {
        for byte in 0..=255u8 {
            let mut key = [byte];
            set_odd_parity(&mut key);
            assert_eq!(key[0].count_ones() % 2, 1);
            assert_eq!(key[0] & 0xFE, byte & 0xFE);
        }
    }
}
