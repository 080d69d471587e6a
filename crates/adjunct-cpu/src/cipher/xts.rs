//! AES-XTS over one data unit (IEEE 1619, SP 800-38E).

#[cfg(target_arch = "x86_64")]
use super::aes::wide;
use super::aes::{AesKey, BLOCK, Block, xor};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::awslc::aes as library;
use adjunct_base::error::Error;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::ni;
use adjunct_kernels::{InOut, wipe};

/// The longest data unit in bytes: 2^20 blocks.
pub const MAX_UNIT: usize = BLOCK << 20;

/// The two keys, the data's for one direction; wiped when dropped.
#[derive(Debug, Clone, Default)]
pub struct Xts {
    data: AesKey,
    tweak: AesKey,
    encrypt: bool,
}

impl Xts {
    /// Sets both keys.
    ///
    /// # Errors
    /// [`Error::Length`] if they are not 16 or 32 bytes each.
    #[inline]
    pub fn set_keys(&mut self, data: &[u8], tweak: &[u8], encrypt: bool) -> Result<(), Error> {
        if !matches!(data.len(), 16 | 32) || data.len() != tweak.len() {
            return Err(Error::Length { what: "AES-XTS key", got: data.len(), expected: "16 or 32" });
        }
        self.encrypt = encrypt;
        if encrypt { self.data.set_encrypt(data) } else { self.data.set_decrypt(data) }?;
        self.tweak.set_encrypt(tweak)
    }

    /// Works on one data unit.
    ///
    /// # Errors
    /// [`Error::Length`] below one block or above [`MAX_UNIT`].
    #[inline]
    pub fn unit(&self, iv: &Block, io: InOut<'_>) -> Result<(), Error> {
        if io.len() < BLOCK || io.len() > MAX_UNIT {
            return Err(Error::Length { what: "XTS data unit", got: io.len(), expected: "16 to 2^24" });
        }
        #[cfg(target_arch = "x86_64")]
        if self.data.single() && io.len() == BLOCK {
            // SAFETY: AES-NI is in force.
            unsafe { ni::xts_block(self.data.keys(), self.tweak.keys(), self.encrypt, iv, io) };
            return Ok(());
        }
        #[cfg(target_arch = "x86_64")]
        if self.data.single() && !self.data.vector() {
            // SAFETY: the length has been checked; AES-NI is in force and made both schedules.
            unsafe { library::xts_by_instructions(self.data.raw(), self.tweak.raw(), self.encrypt, iv, io) };
            return Ok(());
        }
        #[cfg(target_arch = "aarch64")]
        // The library's code for arm64 is of AES-256 alone: shorter keys go block by block, each by the AES instructions.
        if crate::features().has(adjunct_base::catalogue::Feature::ArmAes)
            // SAFETY: the schedule has AES_KEY's layout.
            && unsafe { (*self.data.raw()).rounds } == 14
        {
            // SAFETY: the length has been checked; the AES instructions are in force and made both schedules.
            unsafe { library::xts_by_instructions(self.data.raw(), self.tweak.raw(), self.encrypt, iv, io) };
            return Ok(());
        }
        let mut tweak = *iv;
        #[cfg(target_arch = "x86_64")]
        if io.len().is_multiple_of(BLOCK) && self.data.vector() {
            let (data, tweak_keys) = (self.data.keys(), Some(self.tweak.keys()));
            // SAFETY: the instructions are in force.
            unsafe { wide!(self.data, xts(data, tweak_keys, self.encrypt, &mut tweak, io)) };
            wipe(&mut tweak);
            return Ok(());
        }
        self.begin(&mut tweak);
        self.run(&mut tweak, io);
        wipe(&mut tweak);
        Ok(())
    }

    /// The tweak that [`Xts::part`] begins with.
    #[inline]
    pub fn tweak(&self, iv: &Block) -> Block {
        let mut tweak = *iv;
        self.begin(&mut tweak);
        tweak
    }

    fn begin(&self, tweak: &mut Block) {
        if self.tweak.given().tweak(tweak) {
            return;
        }
        self.tweak.encrypt_block(tweak);
    }

    /// Works on a part of a data unit of any length; `tweak` becomes the next part's. Only the last part may be other than whole
    /// blocks.
    ///
    /// # Errors
    /// [`Error::Length`] below one block.
    #[inline]
    pub fn part(&self, tweak: &mut Block, io: InOut<'_>) -> Result<(), Error> {
        if io.len() < BLOCK {
            return Err(Error::Length { what: "XTS part", got: io.len(), expected: "16 and more" });
        }
        self.run(tweak, io);
        Ok(())
    }

    fn run(&self, tweak: &mut Block, io: InOut<'_>) {
        let stolen = io.len() % BLOCK;
        // Stealing takes the last whole block too; decrypting, it has the later tweak, and so is not in the run.
        let run = io.len() - stolen - if stolen > 0 && !self.encrypt { BLOCK } else { 0 };
        let (whole, rest) = io.split_at(run);
        let before = whole.output();
        self.blocks(tweak, whole);
        if stolen > 0 {
            self.steal(*tweak, before.wrapping_add(run), rest, stolen);
        }
    }

    fn blocks(&self, tweak: &mut Block, mut io: InOut<'_>) {
        if io.is_empty() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if self.data.vector() {
            // SAFETY: the instructions are in force.
            return unsafe { wide!(self.data, xts(self.data.keys(), None, self.encrypt, tweak, io)) };
        }
        if self.data.given().xts(self.encrypt, tweak, &mut io) {
            return;
        }
        for at in (0..io.len()).step_by(BLOCK) {
            let mut block = [0; BLOCK];
            // SAFETY: a whole block lies at `at` of both.
            unsafe {
                std::ptr::copy(io.input().add(at), block.as_mut_ptr(), BLOCK);
                self.one(tweak, &mut block);
                std::ptr::copy(block.as_ptr(), io.output().add(at), BLOCK);
            }
            *tweak = double(tweak);
        }
    }

    fn one(&self, tweak: &Block, block: &mut Block) {
        xor(block, tweak);
        if self.encrypt {
            self.data.encrypt_block(block)
        } else {
            self.data.decrypt_block(block)
        }
        xor(block, tweak);
    }

    /// The last whole block and the `stolen` bytes behind it. `end` is where the run's output ends; `rest` what the run
    /// left: the bytes behind the last block, and decrypting that block before them.
    fn steal(&self, tweak: Block, end: *mut u8, rest: InOut<'_>, stolen: usize) {
        let (mut full, mut part) = ([0; BLOCK], [0; BLOCK]);
        // SAFETY: encrypting, a whole block of output lies before `end`; all lengths are within the unit. The input is
        // read before the output, which may be the same memory, is written.
        unsafe {
            if self.encrypt {
                std::ptr::copy(end.sub(BLOCK), full.as_mut_ptr(), BLOCK);
                std::ptr::copy(rest.input(), part.as_mut_ptr(), stolen);
                part[stolen..].copy_from_slice(&full[stolen..]);
                self.one(&tweak, &mut part);
                std::ptr::copy(part.as_ptr(), end.sub(BLOCK), BLOCK);
                std::ptr::copy(full.as_ptr(), rest.output(), stolen);
            } else {
                std::ptr::copy(rest.input(), full.as_mut_ptr(), BLOCK);
                std::ptr::copy(rest.input().add(BLOCK), part.as_mut_ptr(), stolen);
                self.one(&double(&tweak), &mut full);
                part[stolen..].copy_from_slice(&full[stolen..]);
                self.one(&tweak, &mut part);
                std::ptr::copy(part.as_ptr(), rest.output(), BLOCK);
                std::ptr::copy(full.as_ptr(), rest.output().add(BLOCK), stolen);
            }
        }
    }
}

/// Times x in GF(2^128), little-endian, without a branch.
fn double(tweak: &Block) -> Block {
    let t = u128::from_le_bytes(*tweak);
    (t << 1 ^ (((t as i128) >> 127) as u128 & 0x87)).to_le_bytes()
}
