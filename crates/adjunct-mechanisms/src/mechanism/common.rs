//! What the ciphers and MACs of secret keys share: values of keys, initialization vectors, and buffers for incomplete blocks.

use super::params::Params;
pub use crate::object::prepared::{des3, secret};
use crate::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// Reads an IV that is the whole parameter.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn iv<const N: usize>(params: Params<'_>) -> Result<[u8; N]> {
    let Params::Bytes(bytes) = params else { return fail(CKR_MECHANISM_PARAM_INVALID) };
    bytes.try_into().map_err(|_| Rv(CKR_MECHANISM_PARAM_INVALID))
}

/// Appends to what waits for the rest of a message.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn keep(waiting: &mut Zeroizing<Vec<u8>>, part: &[u8]) -> Result {
    if waiting.capacity() - waiting.len() < part.len() {
        // What a vector leaves behind when it grows is not wiped.
        let room = (waiting.len() + part.len()).max(2 * waiting.capacity());
        let mut grown = Zeroizing::new(Vec::new());
        grown.try_reserve_exact(room)?;
        grown.extend_from_slice(waiting);
        *waiting = grown;
    }
    waiting.extend_from_slice(part);
    Ok(())
}
