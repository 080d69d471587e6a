//! Encryption (RFC 8017, 7): an encoding, and the public operation.

use super::oaep::oaep_encode;
use super::pkcs1::pkcs1_encode;
use super::{MAX_SIZE, Method, RsaKey, length};
use crate::error::Error;
use zeroize::Zeroizing;

/// An encryption scheme.
#[derive(Debug, Clone, Copy)]
pub enum Encryption<'a> {
    /// RSAES-PKCS1-v1_5.
    Pkcs1,
    /// RSAES-OAEP.
    Oaep {
        /// The digest of the label.
        hash: &'static Method,
        /// The digest of the masks.
        mgf1: &'static Method,
        /// The label.
        label: &'a [u8],
    },
    /// The public operation alone, on a message as long as the modulus.
    Raw,
}

impl RsaKey {
    /// Encrypts `message` into `out`, which has [`RsaKey::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for a raw message of another length than the modulus; [`Error::Unsupported`] for one that does not fit
    /// into it; else as for [`RsaKey::public`].
    pub fn encrypt(&self, scheme: Encryption<'_>, message: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let mut block = Zeroizing::new([0; MAX_SIZE]);
        let block = &mut block[..self.size()];
        match scheme {
            Encryption::Pkcs1 => pkcs1_encode(message, block)?,
            Encryption::Oaep { hash, mgf1, label } => oaep_encode(hash, mgf1, label, message, block)?,
            Encryption::Raw if message.len() == block.len() => block.copy_from_slice(message),
            Encryption::Raw => return Err(length("message", message.len(), "the modulus's")),
        }
        self.public(block, out)
    }
}
