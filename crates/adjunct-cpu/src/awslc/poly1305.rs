//! Poly1305 (RFC 8439, 2.5), where no kernel serves.

use crate::cipher::poly1305::{KEY, TAG};
use aws_lc_sys as lc;
use zeroize::Zeroize;

/// Poly1305 under a one-time key; wiped when dropped.
#[repr(C, align(64))]
#[derive(Clone)]
pub struct Poly1305 {
    state: lc::poly1305_state,
    /// Bytes of the block that is begun.
    begun: usize,
}

impl std::fmt::Debug for Poly1305 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poly1305").finish_non_exhaustive()
    }
}

impl Default for Poly1305 {
    fn default() -> Poly1305 {
        let mut poly = Poly1305 { state: [0; 512], begun: 0 };
        poly.restart(&[0; KEY]);
        poly
    }
}

impl Drop for Poly1305 {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}

impl Poly1305 {
    /// Begins anew, under another key.
    pub fn restart(&mut self, key: &[u8; KEY]) {
        // SAFETY: the key has 32 bytes.
        unsafe { lc::CRYPTO_poly1305_init(&mut self.state, key.as_ptr()) };
        self.begun = 0;
    }

    /// Takes in the next part of the message.
    pub fn update(&mut self, data: &[u8]) {
        // SAFETY: begun in `restart`.
        unsafe { lc::CRYPTO_poly1305_update(&mut self.state, data.as_ptr(), data.len()) };
        self.begun = (self.begun + data.len()) % TAG;
    }

    /// Fills a begun block with zeros (RFC 8439, 2.8).
    pub fn pad(&mut self) {
        if self.begun > 0 {
            self.update(&[0; TAG][self.begun..]);
        }
    }

    /// Ends the message, and gives its tag. Call [`Poly1305::restart`] before the next message.
    pub fn finish(&mut self) -> [u8; TAG] {
        let mut tag = [0; TAG];
        // SAFETY: the tag has 16 bytes.
        unsafe { lc::CRYPTO_poly1305_finish(&mut self.state, tag.as_mut_ptr()) };
        tag
    }
}
