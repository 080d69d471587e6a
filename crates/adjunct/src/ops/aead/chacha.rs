//! ChaCha20-Poly1305 (RFC 8439) as a stream: each piece of a message counts once, with its bytes, after it ran.

use crate::catalogue::Function;
use crate::error::Error;
use crate::ops::Tally;
pub use crate::ops::cipher::chacha::KEY;
use crate::ops::cipher::{chacha, direction};
use adjunct_cpu::cipher::chacha as cpu;
pub use adjunct_cpu::cipher::chacha::TAG;
use adjunct_kernels::InOut;

/// The length of a nonce in bytes.
pub const NONCE: usize = super::DEFAULT_IV;

/// A key and the message at hand; wiped when dropped.
#[derive(Debug, Clone, Default)]
pub struct ChaCha20Poly1305 {
    key: cpu::ChaCha20Poly1305,
    /// `None` before a key is set.
    tally: Option<Tally>,
}

impl ChaCha20Poly1305 {
    /// Whether there is a key.
    #[inline]
    pub const fn has_key(&self) -> bool {
        self.tally.is_some()
    }

    /// Sets the key; a message begun is dropped.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 32 bytes.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set_key(chacha::key(key)?);
        self.tally = Some(Tally::new(Function::ChaCha20Poly1305, 0));
        Ok(())
    }

    /// Sets the nonce; a message begun is dropped.
    #[inline]
    pub fn set_nonce(&mut self, nonce: &[u8; NONCE]) {
        self.key.set_nonce(nonce);
    }

    /// Takes additional data.
    #[inline]
    pub fn aad(&mut self, data: &[u8]) {
        self.key.aad(data);
    }

    /// Encrypts or decrypts the next piece of the message.
    ///
    /// # Panics
    /// Without a key.
    #[inline]
    pub fn message(&mut self, encrypt: bool, io: InOut<'_>) {
        let tally = self.tally.expect("a key");
        let (aead, bytes) = (&mut self.key, io.len());
        aead.message(encrypt, io);
        tally.count(direction(encrypt), bytes);
    }

    /// Ends the message and gives its tag.
    #[inline]
    pub fn tag(&mut self) -> [u8; TAG] {
        self.key.tag()
    }
}
