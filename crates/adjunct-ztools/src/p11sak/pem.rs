//! PEM files of keys: PKCS #8, SubjectPublicKeyInfo, and OpenSSL's older forms for RSA and EC, with or without a password.

use crate::pem::{self, Part, encrypted};
use adjunct_mechanisms::der::{self, Attribute, Packed};
use adjunct_pkcs11_client::sys::{CKA_CLASS, CKA_EC_POINT};
use zeroize::Zeroizing;

/// A PEM text.
pub(super) fn text(what: &str, der: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(pem::of(what, der).as_bytes().to_vec())
}

/// A PEM text with headers.
pub(super) fn text_with_headers(what: &str, headers: &[(&str, String)], bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Zeroizing::new(pem::with_headers(what, &headers, bytes).as_bytes().to_vec())
}

/// The key of a PEM file.
pub(super) struct PemKey {
    part: Part,
    /// The private key's encoding; `None` for a public key.
    packed: Option<Packed>,
}

impl PemKey {
    /// The first key of a file that is private, or public.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn find(file: &[u8], private: bool) -> Result<PemKey, &'static str> {
        let text = std::str::from_utf8(file).map_err(|_| "it is no PEM file")?;
        let wanted: &[(&str, Option<Packed>)] = if private {
            &[
                ("PRIVATE KEY", Some(Packed::Pkcs8)),
                ("RSA PRIVATE KEY", Some(Packed::Pkcs1)),
                ("EC PRIVATE KEY", Some(Packed::Sec1)),
                (encrypted::LABEL, Some(Packed::Pkcs8)),
            ]
        } else {
            &[("PUBLIC KEY", None)]
        };
        let parts = pem::parts(text).unwrap_or_default();
        let found = parts.into_iter().find_map(|part| {
            let (_, packed) = wanted.iter().find(|(label, _)| *label == part.label)?;
            Some(PemKey { part, packed: *packed })
        });
        let key = found.ok_or("it has no such key")?;
        if key.part.bytes.is_empty() { Err("it is damaged") } else { Ok(key) }
    }

    /// Whether the key has a password.
    pub(super) fn is_encrypted(&self) -> bool {
        encrypted::is(&self.part)
    }

    /// Takes the password away.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn open(&mut self, password: &[u8]) -> Result<(), &'static str> {
        self.part.bytes = encrypted::open(&self.part, password).map_err(|why| why.words())?;
        Ok(())
    }

    /// What makes the key.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn attributes(&self) -> Result<Vec<Attribute>, &'static str> {
        let der = &self.part.bytes;
        let attributes = match self.packed {
            Some(Packed::Sec1) if !der::names_curve(der) => return Err("it names no curve"),
            Some(packed) => der::private_key(der, packed),
            None => der::public_key(der),
        };
        let private = self.packed.is_some();
        let mut attributes = attributes.ok_or("the key is damaged, or of a kind that is not known here")?;
        // The class is the caller's to say, and the point is the public key's.
        attributes.retain(|(kind, _)| *kind != CKA_CLASS && (!private || *kind != CKA_EC_POINT));
        Ok(attributes)
    }
}
