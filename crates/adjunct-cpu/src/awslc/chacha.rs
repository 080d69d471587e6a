//! ChaCha20 (RFC 8439, 2.4).

use adjunct_kernels::InOut;
use aws_lc_sys as lc;

/// Encrypts or decrypts whole blocks, the first with `counter`, whose 32 bits must not overflow within them.
pub(crate) fn blocks(key: &[u8; 32], counter: u32, nonce: &[u8; 12], io: InOut<'_>) {
    // SAFETY: the key has 32 bytes and the nonce 12; the buffers have the length given.
    unsafe { lc::CRYPTO_chacha_20(io.output(), io.input(), io.len(), key.as_ptr(), nonce.as_ptr(), counter) };
}
