//! AES: the key schedule and the modes that work on it directly, with no context of the library in between.

use crate::cpu;
use crate::error::Error;
use adjunct_kernels::InOut;
use aws_lc_sys as lc;
use zeroize::Zeroize;

/// The block length of AES in bytes.
pub const BLOCK: usize = 16;

/// A block.
pub type Block = [u8; BLOCK];

/// An AES key schedule, for one direction; lies inline in whatever holds it and is wiped when dropped.
///
/// The first 244 bytes are AWS-LC's `AES_KEY`.
#[repr(C, align(16))]
#[derive(Clone)]
pub struct AesKey {
    words: [u32; 60],
    rounds: u32,
    hardware: bool,
}

const _: () = assert!(std::mem::size_of::<lc::AES_KEY>() == 244);

impl std::fmt::Debug for AesKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AesKey").finish_non_exhaustive()
    }
}

impl Drop for AesKey {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

impl Default for AesKey {
    fn default() -> AesKey {
        AesKey { words: [0; 60], rounds: 0, hardware: false }
    }
}

impl AesKey {
    /// Sets the key for encryption (also for the decryption of all modes but ECB, CBC and XTS).
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    pub fn set_encrypt(&mut self, key: &[u8]) -> Result<(), Error> {
        self.set(key, lc::AES_set_encrypt_key)
    }

    /// Sets the key for decryption.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    pub fn set_decrypt(&mut self, key: &[u8]) -> Result<(), Error> {
        self.set(key, lc::AES_set_decrypt_key)
    }

    fn set(
        &mut self,
        key: &[u8],
        function: unsafe extern "C" fn(*const u8, u32, *mut lc::AES_KEY) -> i32,
    ) -> Result<(), Error> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(Error::Length { what: "AES key", got: key.len(), expected: "16, 24 or 32" });
        }
        self.hardware = hardware();
        // SAFETY: the key has the length given; the schedule has AES_KEY's layout.
        let done = unsafe { function(key.as_ptr(), key.len() as u32 * 8, (&raw mut *self).cast()) };
        if done == 0 { Ok(()) } else { Err(Error::Failed("AES key schedule")) }
    }

    pub(super) fn raw(&self) -> *const lc::AES_KEY {
        (&raw const *self).cast()
    }

    /// Encrypts one block; the key must be an encryption key.
    #[inline]
    pub fn encrypt_block(&self, block: &mut Block) {
        let p = block.as_mut_ptr();
        // SAFETY: one block in place.
        unsafe { lc::AES_encrypt(p, p, self.raw()) }
    }

    /// ECB over whole blocks, in the direction of the key.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub fn ecb(&self, encrypt: bool, io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        if io.is_empty() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if self.hardware {
            // SAFETY: whole blocks; AES-NI is in force.
            unsafe { hw::ecb(io.input(), io.output(), io.len(), self.raw(), encrypt.into()) };
            return;
        }
        let block = if encrypt { lc::AES_encrypt } else { lc::AES_decrypt };
        for i in (0..io.len()).step_by(BLOCK) {
            // SAFETY: one block within the buffers.
            unsafe { block(io.input().add(i), io.output().add(i), self.raw()) };
        }
    }

    /// CBC over whole blocks, in the direction of the key; `iv` becomes the last ciphertext block.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub fn cbc(&self, encrypt: bool, iv: &mut Block, io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        if io.is_empty() {
            return;
        }
        // SAFETY: whole blocks.
        unsafe { lc::AES_cbc_encrypt(io.input(), io.output(), io.len(), self.raw(), iv.as_mut_ptr(), encrypt.into()) };
    }

    /// CTR with a big-endian counter of 128 bits. `keystream` holds a begun block of which `used` bytes have been
    /// used (0: none).
    ///
    /// # Panics
    /// If `used` is not below 16.
    pub fn ctr(&self, counter: &mut Block, keystream: &mut Block, used: &mut u32, io: InOut<'_>) {
        assert!((*used as usize) < BLOCK);
        if io.is_empty() {
            return;
        }
        // SAFETY: the buffers have the length given; used is below 16.
        unsafe {
            lc::AES_ctr128_encrypt(
                io.input(),
                io.output(),
                io.len(),
                self.raw(),
                counter.as_mut_ptr(),
                keystream.as_mut_ptr(),
                used,
            )
        };
    }
}

/// Whether AES runs on dedicated instructions here.
pub fn hardware() -> bool {
    let features = cpu::features();
    features.has(cpu::Feature::Aes) || features.has(cpu::Feature::ArmAes)
}

#[cfg(target_arch = "x86_64")]
pub(super) mod hw {
    use aws_lc_sys::AES_KEY;
    use std::ffi::c_int;

    // Not in the headers, and the public ECB takes one block a call: a quarter of the speed.
    unsafe extern "C" {
        #[link_name = "aws_lc_0_47_0_aes_hw_ecb_encrypt"]
        pub fn ecb(input: *const u8, output: *mut u8, len: usize, key: *const AES_KEY, encrypt: c_int);
    }
}
