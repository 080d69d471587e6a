//! AES-GCM as a stream: additional data and message in any pieces, then the tag.

use super::cipher::AesKey;
use crate::cpu::{self, Feature};
use crate::error::Error;
use adjunct_kernels::InOut;
use aws_lc_sys as lc;
use zeroize::Zeroize;

/// The longest tag in bytes.
pub const TAG: usize = 16;

type Block128 = unsafe extern "C" fn(*const u8, *mut u8, *const lc::AES_KEY);
type Ctr128 = unsafe extern "C" fn(*const u8, *mut u8, usize, *const lc::AES_KEY, *const u8);

// GCM128_KEY and GCM128_CONTEXT of AWS-LC's modes/internal.h. The public API has GCM only as one-shot AEAD or behind
// EVP_CIPHER, which costs more than the cipher at 16 bytes.
#[repr(C)]
#[derive(Clone)]
struct KeyTable {
    htable: [[u64; 2]; 16],
    gmult: Option<unsafe extern "C" fn()>,
    ghash: Option<unsafe extern "C" fn()>,
    block: Option<Block128>,
    use_hw_gcm_crypt: u32,
}

#[repr(C, align(16))]
#[derive(Clone)]
struct Context {
    yi: [u8; 16],
    eki: [u8; 16],
    ek0: [u8; 16],
    len: [u64; 2],
    xi: [u8; 16],
    key: KeyTable,
    mres: u32,
    ares: u32,
}

unsafe extern "C" {
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_init_key"]
    fn init_key(table: *mut KeyTable, key: *const lc::AES_KEY, block: Block128, block_is_hwaes: i32);
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_setiv"]
    fn setiv(ctx: *mut Context, key: *const lc::AES_KEY, iv: *const u8, len: usize);
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_aad"]
    fn aad(ctx: *mut Context, aad: *const u8, len: usize) -> i32;
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_encrypt"]
    fn encrypt(ctx: *mut Context, key: *const lc::AES_KEY, input: *const u8, output: *mut u8, len: usize) -> i32;
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_decrypt"]
    fn decrypt(ctx: *mut Context, key: *const lc::AES_KEY, input: *const u8, output: *mut u8, len: usize) -> i32;
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_encrypt_ctr32"]
    fn encrypt_ctr32(
        ctx: *mut Context,
        key: *const lc::AES_KEY,
        input: *const u8,
        output: *mut u8,
        len: usize,
        ctr: Ctr128,
    ) -> i32;
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_decrypt_ctr32"]
    fn decrypt_ctr32(
        ctx: *mut Context,
        key: *const lc::AES_KEY,
        input: *const u8,
        output: *mut u8,
        len: usize,
        ctr: Ctr128,
    ) -> i32;
    #[link_name = "aws_lc_0_47_0_CRYPTO_gcm128_tag"]
    fn tag(ctx: *mut Context, tag: *mut u8, len: usize);
    #[link_name = "aws_lc_0_47_0_AES_encrypt"]
    fn aes_encrypt(input: *const u8, output: *mut u8, key: *const lc::AES_KEY);
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    #[link_name = "aws_lc_0_47_0_aes_hw_encrypt"]
    fn aes_hw_encrypt(input: *const u8, output: *mut u8, key: *const lc::AES_KEY);
    #[link_name = "aws_lc_0_47_0_aes_hw_ctr32_encrypt_blocks"]
    fn aes_hw_ctr32(input: *const u8, output: *mut u8, blocks: usize, key: *const lc::AES_KEY, ivec: *const u8);
}

/// AES-GCM with its key and the state of one message; wiped when dropped.
#[repr(C, align(16))]
#[derive(Clone)]
pub struct Gcm {
    ctx: Context,
    key: AesKey,
    hardware: bool,
}

impl std::fmt::Debug for Gcm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gcm").finish_non_exhaustive()
    }
}

impl Default for Gcm {
    fn default() -> Gcm {
        let key = KeyTable { htable: [[0; 2]; 16], gmult: None, ghash: None, block: None, use_hw_gcm_crypt: 0 };
        let zero = [0; 16];
        let ctx = Context { yi: zero, eki: zero, ek0: zero, len: [0; 2], xi: zero, key, mres: 0, ares: 0 };
        Gcm { ctx, key: AesKey::default(), hardware: false }
    }
}

impl Drop for Gcm {
    fn drop(&mut self) {
        let ctx = &mut self.ctx;
        ctx.key.htable.as_flattened_mut().zeroize();
        for block in [&mut ctx.yi, &mut ctx.eki, &mut ctx.ek0, &mut ctx.xi] {
            block.zeroize();
        }
    }
}

impl Gcm {
    /// Sets the key.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set_encrypt(key)?;
        let features = cpu::features();
        self.hardware = features.has(Feature::Aes) || features.has(Feature::ArmAes);
        let mut block: Block128 = aes_encrypt;
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        if self.hardware {
            block = aes_hw_encrypt;
        }
        // SAFETY: the table has GCM128_KEY's layout; the schedule was made for the block function.
        unsafe { init_key(&mut self.ctx.key, self.key.raw(), block, self.hardware.into()) };
        Ok(())
    }

    /// Whether a key has been set.
    pub fn has_key(&self) -> bool {
        self.ctx.key.block.is_some()
    }

    /// Begins a message. The key must have been set.
    ///
    /// # Panics
    /// If no key is set or the IV is empty.
    pub fn set_iv(&mut self, iv: &[u8]) {
        assert!(self.has_key() && !iv.is_empty());
        // SAFETY: the context has GCM128_CONTEXT's layout and a key.
        unsafe { setiv(&mut self.ctx, self.key.raw(), iv.as_ptr(), iv.len()) };
    }

    /// Adds additional data; all of it comes before the message.
    ///
    /// # Errors
    /// [`Error::Failed`] after the message has begun, or beyond 2^61 bytes.
    pub fn aad(&mut self, data: &[u8]) -> Result<(), Error> {
        assert!(self.has_key());
        // SAFETY: as above.
        let done = unsafe { aad(&mut self.ctx, data.as_ptr(), data.len()) };
        if done == 1 { Ok(()) } else { Err(Error::Failed("AES-GCM additional data")) }
    }

    /// Encrypts the next piece of the message.
    ///
    /// # Errors
    /// [`Error::Failed`] beyond 2^36 - 32 bytes.
    pub fn encrypt(&mut self, io: InOut<'_>) -> Result<(), Error> {
        assert!(self.has_key());
        let (ctx, key) = (&raw mut self.ctx, self.key.raw());
        // SAFETY: the buffers have the length given, the context its key, and the counter mode suits the schedule.
        let done = unsafe {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            if self.hardware {
                encrypt_ctr32(ctx, key, io.input(), io.output(), io.len(), aes_hw_ctr32)
            } else {
                encrypt(ctx, key, io.input(), io.output(), io.len())
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            encrypt(ctx, key, io.input(), io.output(), io.len())
        };
        if done == 1 { Ok(()) } else { Err(Error::Failed("AES-GCM")) }
    }

    /// Decrypts the next piece of the message. What comes out is not authenticated until the tag has been compared.
    ///
    /// # Errors
    /// [`Error::Failed`] beyond 2^36 - 32 bytes.
    pub fn decrypt(&mut self, io: InOut<'_>) -> Result<(), Error> {
        assert!(self.has_key());
        let (ctx, key) = (&raw mut self.ctx, self.key.raw());
        // SAFETY: as above.
        let done = unsafe {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            if self.hardware {
                decrypt_ctr32(ctx, key, io.input(), io.output(), io.len(), aes_hw_ctr32)
            } else {
                decrypt(ctx, key, io.input(), io.output(), io.len())
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            decrypt(ctx, key, io.input(), io.output(), io.len())
        };
        if done == 1 { Ok(()) } else { Err(Error::Failed("AES-GCM")) }
    }

    /// Ends the message and gives its tag.
    pub fn tag(&mut self) -> [u8; TAG] {
        assert!(self.has_key());
        let mut out = [0; TAG];
        // SAFETY: the tag has the length given.
        unsafe { tag(&mut self.ctx, out.as_mut_ptr(), TAG) };
        out
    }
}
