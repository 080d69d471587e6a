//! DES and triple DES (FIPS 46-3, SP 800-67).

#[cfg(target_arch = "x86_64")]
mod side;

use super::stream;
use crate::awslc::des as library;
use crate::cpacf::cipher::Given;
use adjunct_base::error::Error;
use adjunct_kernels::cpacf::{Cipher, Instruction};
use adjunct_kernels::{InOut, opaque_debug, wipe};

/// The block length in bytes.
pub const BLOCK: usize = 8;
/// The key length in bytes: three keys.
pub const KEY: usize = 24;

/// The key schedules of three keys.
pub type Schedules = [library::Schedule; 3];

/// A message whose blocks are chained by CBC encryption, with three keys of its own.
#[derive(Debug)]
pub struct Chained<'a> {
    /// The key schedules.
    pub schedules: &'a Schedules,
    /// The IV, which becomes the last ciphertext block.
    pub iv: &'a mut [u8; BLOCK],
    /// The message, in whole blocks.
    pub io: InOut<'a>,
}

/// DES with one key or with three, in the modes the library has and in those that are made of blocks here; wiped when dropped.
#[derive(Clone, Default)]
pub struct Des {
    /// The schedules of the keys; of one key the first alone.
    schedules: [library::Schedule; 3],
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
            library::set(schedule, part);
        }
        Ok(())
    }

    /// One of the schedules of three keys, for the library alone.
    pub fn from_schedules(schedules: &Schedules) -> Des {
        Des { schedules: *schedules, triple: true, given: Given::default() }
    }

    /// The schedules of three keys, where there are three.
    pub fn triple(&self) -> Option<&Schedules> {
        self.triple.then_some(&self.schedules)
    }

    /// The key as CPACF takes it.
    pub(crate) fn given(&self) -> &Given {
        &self.given
    }

    /// The schedules as the library takes them.
    /// Has an instruction for all of a mode do the whole units of a message, where there is one; gives what is left of it.
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
    #[inline]
    pub fn ctr(&self, counter: &mut [u8; BLOCK], io: InOut<'_>) {
        let io = self.at_once(BLOCK, io, |given, io| given.ctr(counter, io));
        #[cfg(target_arch = "x86_64")]
        let io = self.ctr_side(counter, io);
        stream::ctr(counter, io, |io| self.ecb(true, io));
    }

    /// CTR with a list of counters, as long as the message, up to whole blocks.
    ///
    /// # Panics
    /// If the list is shorter.
    pub fn ctr_list(&self, list: &[u8], io: InOut<'_>) {
        let all = io.len();
        let io = self.at_once(BLOCK, io, |given, io| given.counters(&list[..io.len()], io));
        #[cfg(target_arch = "x86_64")]
        let io = self.list_side(&list[all - io.len()..], io);
        stream::ctr_list::<BLOCK>(&list[all - io.len()..], io, |io| self.ecb(true, io));
    }

    /// CFB over any length with segments of `segment` bytes, 1 to a block; `iv` becomes the shift register.
    ///
    /// # Panics
    /// For any other segment.
    #[inline]
    pub fn cfb(&self, encrypt: bool, segment: usize, iv: &mut [u8; BLOCK], io: InOut<'_>) {
        let io = self.at_once(segment, io, |given, io| given.cfb(encrypt, segment, iv, io));
        assert!((1..=BLOCK).contains(&segment));
        #[cfg(target_arch = "x86_64")]
        let io = if encrypt { io } else { self.cfb_side(segment, iv, io) };
        stream::cfb(encrypt, segment, iv, io, |io| self.ecb(true, io));
    }

    /// OFB over any length; `iv` becomes the last block of the stream.
    #[inline]
    pub fn ofb(&self, iv: &mut [u8; BLOCK], io: InOut<'_>) {
        let io = self.at_once(BLOCK, io, |given, io| given.ofb(iv, io));
        stream::ofb(iv, io, |io| self.ecb(true, io));
    }

    /// ECB over whole blocks.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    #[inline]
    pub fn ecb(&self, encrypt: bool, mut io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        if self.given.ecb(encrypt, &mut io) {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        let io = self.ecb_side(encrypt, io);
        library::ecb(&self.schedules, self.triple, encrypt, io);
    }

    /// CBC over whole blocks; `iv` becomes the last ciphertext block.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    #[inline]
    pub fn cbc(&self, encrypt: bool, iv: &mut [u8; BLOCK], mut io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        if self.given.cbc(encrypt, iv, &mut io) {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        let io = if encrypt { io } else { self.cbc_side(iv, io) };
        library::cbc(&self.schedules, self.triple, encrypt, iv, io);
    }
}

/// Whether messages that are chained are encrypted side by side here, faster than one after the other: where the kernel for it runs.
pub fn has_streams() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = side::kernel() == Some(adjunct_kernels::des::Kernel::Lookup);
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Encrypts messages by CBC, each in whole blocks under its own keys: side by side where [`has_streams`], else one after the other.
///
/// # Panics
/// If a length is not a multiple of the block.
pub fn encrypt_chained<'a>(messages: impl Iterator<Item = Chained<'a>>) {
    #[cfg(target_arch = "x86_64")]
    if has_streams() {
        return side::encrypt_chained(messages);
    }
    for Chained { schedules, iv, io } in messages {
        Des::from_schedules(schedules).cbc(true, iv, io);
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

    /// What is done to `text` in one call, in place and apart, and in calls for each unit of `unit` bytes, which are the library's.
    fn alike(text: &[u8], unit: usize, run: impl Fn(&mut [u8; BLOCK], InOut<'_>)) {
        let (mut ivs, mut here, mut there) = ([[0xf7; BLOCK]; 3], text.to_vec(), vec![0; text.len()]);
        // A counter that is about to wrap.
        ivs.iter_mut().for_each(|iv| iv[..5].fill(0xff));
        run(&mut ivs[0], InOut::in_place(&mut here));
        run(&mut ivs[1], InOut::apart(text, &mut there));
        let mut one_by_one = text.to_vec();
        one_by_one.chunks_mut(unit).for_each(|part| run(&mut ivs[2], InOut::in_place(part)));
        assert!(
            here == one_by_one && there == one_by_one && ivs[0] == ivs[2] && ivs[1] == ivs[2],
            "{} bytes",
            text.len()
        );
    }

    #[test]
    fn blocks_side_by_side_are_those_of_the_library() {
        #[cfg(target_arch = "x86_64")]
        if side::kernel().is_none() {
            println!("SKIPPED: this CPU lacks AVX2, or it is masked: the library does all");
        }
        let mut all = vec![0; 9000];
        crate::random(&mut all);
        let lengths = (1..40).chain([100, 127, 128, 129, 255, 256, 300, 511, 512, 513, 530, 1025, 1100]);
        for blocks in lengths {
            for size in [BLOCK, KEY] {
                let des = Des::new(&all[blocks..blocks + size]).expect("a key");
                let whole = &all[..blocks * BLOCK];
                for encrypt in [true, false] {
                    alike(whole, BLOCK, |_, io| des.ecb(encrypt, io));
                    alike(whole, BLOCK, |iv, io| des.cbc(encrypt, iv, io));
                    for segment in [1, 3, BLOCK] {
                        alike(&all[..blocks * segment], segment, |iv, io| des.cfb(encrypt, segment, iv, io));
                        // The last segment is not whole.
                        alike(&all[..blocks * segment - segment / 2], segment, |iv, io| {
                            des.cfb(encrypt, segment, iv, io)
                        });
                    }
                }
                for length in [blocks * BLOCK, blocks * BLOCK - 3] {
                    alike(&all[..length], BLOCK, |counter, io| des.ctr(counter, io));
                    alike(&all[..length], BLOCK, |iv, io| des.ofb(iv, io));
                    let list: Vec<u8> = all.iter().rev().copied().collect();
                    let (mut here, mut one_by_one) = (all[..length].to_vec(), all[..length].to_vec());
                    des.ctr_list(&list, InOut::in_place(&mut here));
                    for (part, list) in one_by_one.chunks_mut(BLOCK).zip(list.chunks(BLOCK)) {
                        des.ctr_list(list, InOut::in_place(part));
                    }
                    assert_eq!(here, one_by_one);
                }
            }
        }
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
