//! GCM: the library's context, with its table and the state of one message. The public API has GCM only as one-shot AEAD or behind EVP_CIPHER,
//! which costs more than the cipher at 16 bytes: hence the private functions.

use super::aes::Schedule;
use super::private::{self, Block128, GcmContext, GcmKey};
use adjunct_kernels::{InOut, wipe};

/// The state of one message and the key's table; wiped when dropped.
#[derive(Clone)]
pub(crate) struct AwsLcGcm {
    own: GcmContext,
    /// Whether the schedule is one of AES instructions.
    hardware: bool,
}

impl Drop for AwsLcGcm {
    fn drop(&mut self) {
        wipe(self.own.key.htable.as_flattened_mut());
        for block in [&mut self.own.yi, &mut self.own.eki, &mut self.own.ek0, &mut self.own.xi] {
            wipe(block);
        }
    }
}

impl AwsLcGcm {
    /// One without a key, for a schedule of AES instructions or without: [`AwsLcGcm::init`] gives it one where it is to stay.
    pub(crate) fn new(hardware: bool) -> AwsLcGcm {
        let key = GcmKey { htable: [[0; 2]; 16], gmult: None, ghash: None, block: None, use_hw_gcm_crypt: 0 };
        let zero = [0; 16];
        let own = GcmContext { yi: zero, eki: zero, ek0: zero, len: [0; 2], xi: zero, key, mres: 0, ares: 0 };
        AwsLcGcm { own, hardware }
    }

    /// Sets the key; and for hash key what is given, which need not be the key's own.
    ///
    /// # Safety
    /// `schedule` is one for encryption, of AES instructions that are in force where the context is for one of those.
    pub(crate) unsafe fn init(&mut self, schedule: *const Schedule, subkey: Option<&[u8; 16]>) {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        let block: Block128 = if self.hardware { private::aes_hw_encrypt } else { private::AES_encrypt };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let block: Block128 = private::AES_encrypt;
        let table = &mut self.own.key;
        // SAFETY: the table has GCM128_KEY's layout; the caller says that the schedule was made for the block function.
        unsafe { private::CRYPTO_gcm128_init_key(table, schedule, block, self.hardware.into()) };
        if let Some(subkey) = subkey {
            let GcmKey { htable, gmult, ghash, .. } = table;
            // SAFETY: 16 entries. What it says of AVX the table has been told already.
            unsafe { private::CRYPTO_ghash_init(gmult, ghash, htable.as_mut_ptr(), &mut 0, subkey.as_ptr()) };
        }
    }

    /// Begins a message.
    ///
    /// # Safety
    /// The context has its key of `schedule`.
    pub(crate) unsafe fn set_iv(&mut self, schedule: *const Schedule, iv: &[u8]) {
        // SAFETY: the context has GCM128_CONTEXT's layout, and as the caller says a key; pointer and length describe the slice.
        unsafe { private::CRYPTO_gcm128_setiv(&mut self.own, schedule, iv.as_ptr(), iv.len()) };
    }

    /// Takes in additional data; false after the message has begun, or where it is too long.
    ///
    /// # Safety
    /// The context has a key.
    pub(crate) unsafe fn aad(&mut self, data: &[u8]) -> bool {
        // SAFETY: the context has GCM128_CONTEXT's layout, and as the caller says a key; pointer and length describe the slice.
        unsafe { private::CRYPTO_gcm128_aad(&mut self.own, data.as_ptr(), data.len()) == 1 }
    }

    /// Works on the next piece of the message; false where that is too long.
    ///
    /// # Safety
    /// The context has its key of `schedule`.
    pub(crate) unsafe fn crypt(&mut self, schedule: *const Schedule, encrypting: bool, io: InOut<'_>) -> bool {
        let (input, output, length, ctx) = (io.input(), io.output(), io.len(), &raw mut self.own);
        // SAFETY: buffers of the length given; the caller says that the context has its key of the schedule, which is one of AES instructions
        // that are in force where `hardware` says so.
        let done = unsafe {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            if self.hardware {
                let run = if encrypting {
                    private::CRYPTO_gcm128_encrypt_ctr32
                } else {
                    private::CRYPTO_gcm128_decrypt_ctr32
                };
                return run(ctx, schedule, input, output, length, private::aes_hw_ctr32_encrypt_blocks) == 1;
            }
            let run = if encrypting { private::CRYPTO_gcm128_encrypt } else { private::CRYPTO_gcm128_decrypt };
            run(ctx, schedule, input, output, length)
        };
        done == 1
    }

    /// Goes on with a message of which the next counter block and the hash so far are known; lengths count from here.
    pub(crate) fn resume(&mut self, counter: &[u8; 16], hash: &[u8; 16]) {
        (self.own.yi, self.own.xi) = (*counter, *hash);
        (self.own.len, self.own.mres, self.own.ares) = ([0; 2], 0, 0);
    }

    /// The next counter block and the hash after whole blocks of additional data and text.
    pub(crate) fn progress(&self) -> ([u8; 16], [u8; 16]) {
        (self.own.yi, self.own.xi)
    }

    /// Ends the message: its tag.
    ///
    /// # Safety
    /// The context has a key, and a message was begun.
    pub(crate) unsafe fn tag(&mut self) -> [u8; 16] {
        let mut out = [0; 16];
        // SAFETY: the tag has the length given; the caller says that the context has a key.
        unsafe { private::CRYPTO_gcm128_tag(&mut self.own, out.as_mut_ptr(), out.len()) };
        out
    }
}
