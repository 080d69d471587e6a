//! ChaCha20 as a stream. Its IV is the 32-bit counter and the nonce of RFC 8439, as OpenSSL has it.

use super::modes::Work;
use super::{Chain, Counted, Mode};
use crate::catalogue::Function;
use crate::error::Error;
use adjunct_cpu::cipher::chacha::ChaCha20;
pub use adjunct_cpu::cipher::chacha::{Begun, COUNTER, KEY};
use adjunct_kernels::InOut;

/// A key as 32 bytes.
///
/// # Errors
/// [`Error::Length`] for any other length.
#[inline]
pub(in crate::ops) fn key(key: &[u8]) -> Result<&[u8; KEY], Error> {
    key.try_into().map_err(|_| Error::Length { what: "ChaCha20 key", got: key.len(), expected: "32" })
}

/// ChaCha20, which keeps its counter itself.
#[derive(Debug, Clone, Default)]
pub struct Stream(ChaCha20);

impl Work for Stream {
    fn set_key(&mut self, key: &[u8], _encrypt: bool) -> Result<(), Error> {
        self.0.set_key(self::key(key)?);
        Ok(())
    }

    #[inline]
    fn run(&mut self, _encrypt: bool, _chain: Chain<'_>, io: InOut<'_>) {
        self.0.apply(io);
    }
}

impl Mode for Stream {
    const FUNCTION: Function = Function::ChaCha20;
    const BLOCK: usize = 1;
    const SIZES: bool = false;
}

impl Counted<Stream> {
    /// Sets counter and nonce.
    pub fn set_counter(&mut self, counter: &[u8; COUNTER]) {
        self.mode.0.set_counter(counter);
    }

    /// Whether a block is begun, so that [`Begun`] makes a difference.
    #[inline]
    pub fn is_begun(&self) -> bool {
        self.mode.0.is_begun()
    }

    /// Drops what is left of a begun block; by itself [`Counted::set_key`] does so as [`Begun::Again`] has it.
    pub fn settle(&mut self, begun: Begun) {
        self.mode.0.settle(begun);
    }

    /// Counter and nonce of the block that is begun, or of the one after it; else of the next.
    pub fn counter(&self, begun: Begun) -> [u8; COUNTER] {
        self.mode.0.counter(begun)
    }

    /// Encrypts or decrypts all bytes of a call.
    ///
    /// # Panics
    /// Without a key.
    #[inline]
    pub fn apply(&mut self, encrypt: bool, io: InOut<'_>) {
        let done = self.run(encrypt, Chain { iv: &mut [0; 16], stream: &mut [0; 16], used: &mut 0, bits: false }, io);
        debug_assert!(done.is_ok(), "no card has such keys");
    }
}
