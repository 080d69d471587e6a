//! What leaves the module encrypted: keys and states. The public part is [`adjunct_ep11_wire::blob`]'s.
//!
//! The encrypted part is AES-256-CBC of whole blocks, without padding: who seals brings whole blocks. The MAC is HMAC-SHA-256 of all before it, and is
//! compared in constant time before anything is decrypted. The keys of both are derived of the wrapping key ([`crate::keys::Purpose`]).

use crate::error::{Result, ensure, fail};
use crate::keys::{Domain, Purpose, WrappingKey, hmac};
use adjunct::InOut;
use adjunct::ops::cipher::once::{Aes, cbc};
use adjunct::ops::random::random;
use adjunct_ep11_wire::blob::{self as wire, ATTRIBUTES, HEAD, IV, MAC, MAGIC, MODE, SESSION, VERSION, WKID};
use adjunct_ep11_wire::codes::rv;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bytes of a block.
pub const BLOCK: usize = 16;

/// What the public part says of what is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// The session; zeros where it has none.
    pub session: [u8; SESSION],
    /// Boolean attributes.
    pub flags: u32,
    /// Compliance mode.
    pub mode: u64,
}

/// Seals whole blocks.
///
/// # Errors
/// `CKR_FUNCTION_FAILED` for what is no whole blocks, or none; `CKR_HOST_MEMORY`.
pub fn seal(key: &WrappingKey, purpose: Purpose, head: &Head, inner: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    ensure(!inner.is_empty() && inner.len().is_multiple_of(BLOCK), rv::FUNCTION_FAILED)?;
    let mut out = adjunct::memory::zeros(HEAD + inner.len() + MAC)?;
    out[..SESSION].copy_from_slice(&head.session);
    out[WKID..ATTRIBUTES].copy_from_slice(key.id());
    out[ATTRIBUTES + 4..MODE].copy_from_slice(&head.flags.to_be_bytes());
    out[MODE..VERSION].copy_from_slice(&head.mode.to_be_bytes());
    out[VERSION..VERSION + 2].copy_from_slice(&MAGIC);
    random(&mut out[VERSION + 2..HEAD]);
    let mut iv = [0; BLOCK];
    iv.copy_from_slice(&out[IV..HEAD]);
    let end = HEAD + inner.len();
    out[HEAD..end].copy_from_slice(inner);
    cbc::<Aes, BLOCK>(&key.encrypting(purpose)[..], &mut iv, true, InOut::in_place(&mut out[HEAD..end]))?;
    let (all, mac) = out.split_at_mut(end);
    let mut sum = [0; MAC];
    hmac(key.authenticating(purpose), &[all], &mut sum)?;
    mac.copy_from_slice(&sum);
    Ok(out)
}

/// The head of a blob and the wrapping key that opens it, by the blob's public part alone.
///
/// # Errors
/// `CKR_IBM_BLOB_ERROR` for what is no blob; `CKR_IBM_WKID_MISMATCH`, `CKR_IBM_WK_NOT_INITIALIZED`.
pub fn key_of<'a>(domain: &'a Domain, blob: &[u8]) -> Result<&'a WrappingKey> {
    let Some(id) = wire::wkid(blob).filter(|_| wire::is_blob(blob)) else { return fail(rv::IBM_BLOB_ERROR) };
    Ok(domain.opening(id)?)
}

/// Opens a blob with its wrapping key.
///
/// # Errors
/// `CKR_IBM_BLOB_ERROR` where it is not what was sealed with this key for this purpose; `CKR_HOST_MEMORY`.
pub fn open(key: &WrappingKey, purpose: Purpose, blob: &[u8]) -> Result<(Head, Zeroizing<Vec<u8>>)> {
    ensure(wire::is_blob(blob) && (blob.len() - HEAD - MAC).is_multiple_of(BLOCK), rv::IBM_BLOB_ERROR)?;
    let (all, mac) = blob.split_at(blob.len() - MAC);
    let mut sum = [0; MAC];
    hmac(key.authenticating(purpose), &[all], &mut sum)?;
    ensure(bool::from(sum.ct_eq(mac)), rv::IBM_BLOB_ERROR)?;
    let mut head = Head { flags: wire::flags(blob).unwrap_or(0), ..Head::default() };
    head.session.copy_from_slice(&blob[..SESSION]);
    head.mode = blob[MODE..VERSION].iter().fold(0, |mode, byte| mode << 8 | u64::from(*byte));
    let mut iv = [0; BLOCK];
    iv.copy_from_slice(&blob[IV..HEAD]);
    let mut inner = adjunct::memory::zeros(all.len() - HEAD)?;
    inner.copy_from_slice(&all[HEAD..]);
    cbc::<Aes, BLOCK>(&key.encrypting(purpose)[..], &mut iv, false, InOut::in_place(&mut inner))?;
    Ok((head, inner))
}

/// A blob under another wrapping key, of the same length.
///
/// # Errors
/// As [`open`].
pub fn reseal(from: &WrappingKey, to: &WrappingKey, purpose: Purpose, blob: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let (head, inner) = open(from, purpose, blob)?;
    seal(to, purpose, &head, &inner)
}
