//! Signatures (RFC 8017, 8): an encoding, and the private or the public operation.

use super::pkcs1::{pkcs1_sign, pkcs1_signed};
use super::pss::{pss_sign, pss_verify};
use super::{Hash, MAX_SIZE, Method, RsaKey, Salt, length};
use crate::error::Error;
use zeroize::Zeroizing;

/// A signature scheme.
#[derive(Debug, Clone, Copy)]
pub enum Signature {
    /// RSASSA-PKCS1-v1_5 of a digest; without one, of data as they stand.
    Pkcs1(Option<Hash>),
    /// RSASSA-PSS of a digest.
    Pss {
        /// The digest of the message and of its salted form.
        hash: &'static Method,
        /// The digest of the mask.
        mgf1: &'static Method,
        /// The salt to make or to expect.
        salt: Salt,
    },
    /// The private operation alone, on data as long as the modulus.
    Raw,
}

impl Signature {
    /// Length of the data that is signed, if it is a digest.
    fn hashed(self) -> Option<usize> {
        match self {
            Signature::Pkcs1(hash) => hash.map(Hash::size),
            Signature::Pss { hash, .. } => Some(hash.size),
            Signature::Raw => None,
        }
    }

    /// Checks the length of the data that is signed.
    fn takes(self, data: &[u8]) -> Result<(), Error> {
        match self.hashed() {
            Some(size) if size != data.len() => Err(length("digest", data.len(), "the digest's own length")),
            _ => Ok(()),
        }
    }
}

impl RsaKey {
    /// Signs `data`, a digest where the scheme has one, into `out`, which has [`RsaKey::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for `data` of another length than the scheme takes; [`Error::Unsupported`] where they do not fit into the
    /// modulus, and for a digest without an identifier; else as for [`RsaKey::private`].
    pub fn sign(&self, scheme: Signature, data: &[u8], out: &mut [u8]) -> Result<(), Error> {
        scheme.takes(data)?;
        let mut block = Zeroizing::new([0; MAX_SIZE]);
        let block = &mut block[..self.size()];
        match scheme {
            Signature::Pkcs1(hash) => pkcs1_sign(hash, data, block)?,
            Signature::Pss { hash, mgf1, salt } => pss_sign(self.bits(), hash, mgf1, salt, data, block)?,
            Signature::Raw if data.len() == block.len() => block.copy_from_slice(data),
            Signature::Raw => return Err(length("data to be signed", data.len(), "the modulus's")),
        }
        self.private(block, out)
    }

    /// Whether `signature` is this key's of `data`, a digest where the scheme has one. A signature shorter than the modulus is padded with zeros, as
    /// in OpenSSL, but for PKCS#1 v1.5 of a digest, which RFC 8017 (8.2.2) wants whole.
    pub fn verify(&self, scheme: Signature, signature: &[u8], data: &[u8]) -> bool {
        let size = self.size();
        let whole = signature.len() == size || !matches!(scheme, Signature::Pkcs1(Some(_)));
        let mut block = [0; MAX_SIZE];
        if !whole || scheme.takes(data).is_err() {
            return false;
        }
        let Ok(block) = self.open(signature, &mut block) else { return false };
        match scheme {
            Signature::Pkcs1(Some(hash)) => {
                let mut expected = [0; MAX_SIZE];
                pkcs1_sign(Some(hash), data, &mut expected[..size]).is_ok() && *block == expected[..size]
            }
            Signature::Pkcs1(None) => pkcs1_signed(block).is_some_and(|signed| !signed.is_empty() && signed == data),
            Signature::Pss { hash, mgf1, salt } => pss_verify(self.bits(), hash, mgf1, salt, data, block),
            Signature::Raw => block == data,
        }
    }

    /// What a signature opens to, the public operation alone: a block as long as the modulus, within `room`. A shorter signature is
    /// the number that it is.
    ///
    /// # Errors
    /// [`Error::Length`] for a longer one, [`Error::Unsupported`] for one that is not below the modulus.
    pub fn open<'a>(&self, signature: &[u8], room: &'a mut [u8; MAX_SIZE]) -> Result<&'a mut [u8], Error> {
        let size = self.size();
        let zeros = size.checked_sub(signature.len());
        let zeros = zeros.ok_or_else(|| length("RSA signature", signature.len(), "the modulus's"))?;
        let mut input = [0; MAX_SIZE];
        input[zeros..size].copy_from_slice(signature);
        self.public(&input[..size], &mut room[..size])?;
        Ok(&mut room[..size])
    }
}

#[cfg(test)]
mod tests {
    use super::super::SHA1;
    use super::*;

    #[test]
    fn what_is_signed_verifies_and_nothing_else_does() {
        let key = RsaKey::generate(1024, &[1, 0, 1], None).unwrap();
        let public = key.to_public().unwrap();
        let mut raw = [7; 128];
        raw[0] = 0;
        for (scheme, data) in [
            (Signature::Pkcs1(Some(Hash::One(&SHA1))), &[1; 20][..]),
            (Signature::Pkcs1(Some(Hash::Md5Sha1)), &[1; 36]),
            (Signature::Pkcs1(None), b"as it stands"),
            (Signature::Pss { hash: &SHA1, mgf1: &SHA1, salt: Salt::Auto }, &[1; 20]),
            (Signature::Raw, &raw),
        ] {
            let mut signature = [0; 128];
            key.sign(scheme, data, &mut signature).unwrap();
            assert!(public.verify(scheme, &signature, data), "{scheme:?}");
            let mut other = data.to_vec();
            other[3] ^= 1;
            assert!(!public.verify(scheme, &signature, &other), "{scheme:?}");
            assert!(!public.verify(scheme, &signature, &data[1..]), "{scheme:?}");
            assert!(!public.verify(scheme, &signature[..127], data), "{scheme:?}");
            assert!(matches!(public.sign(scheme, data, &mut signature), Err(Error::InvalidKey(_))), "{scheme:?}");
            if scheme.hashed().is_some() {
                assert!(
                    matches!(key.sign(scheme, &data[1..], &mut signature), Err(Error::Length { .. })),
                    "{scheme:?}"
                );
            }
        }
        let mut out = [0; 128];
        assert!(matches!(key.sign(Signature::Pkcs1(None), &[1; 118], &mut out), Err(Error::Unsupported(_))));
        assert!(matches!(key.sign(Signature::Raw, &[0xff; 128], &mut out), Err(Error::Unsupported(_))));
        assert!(matches!(key.sign(Signature::Raw, &[1; 127], &mut out), Err(Error::Length { .. })));
    }
}
