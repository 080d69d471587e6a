//! PEM files of keys: PKCS #8, SubjectPublicKeyInfo, and OpenSSL's older forms for RSA and EC.

use crate::pem;
use adjunct_pkcs11::der::{self, Attribute, Packed};
use adjunct_pkcs11_client::sys::{CKA_CLASS, CKA_EC_POINT};
use zeroize::Zeroizing;

/// A PEM text.
pub(super) fn text(what: &str, der: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(pem::of(what, der).as_bytes().to_vec())
}

/// What makes the key of a PEM file.
///
/// # Errors
/// Why there is none.
pub(super) fn key(file: &[u8], private: bool) -> Result<Vec<Attribute>, &'static str> {
    let text = std::str::from_utf8(file).map_err(|_| "it is no PEM file")?;
    let wanted: &[(&str, Option<Packed>)] = if private {
        &[
            ("PRIVATE KEY", Some(Packed::Pkcs8)),
            ("RSA PRIVATE KEY", Some(Packed::Pkcs1)),
            ("EC PRIVATE KEY", Some(Packed::Sec1)),
            ("ENCRYPTED PRIVATE KEY", None),
        ]
    } else {
        &[("PUBLIC KEY", None)]
    };
    let parts = pem::parts(text).unwrap_or_default();
    let found = wanted.iter().find_map(|(what, packed)| {
        let (_, der) = parts.iter().find(|(label, _)| label == what)?;
        Some((*packed, der))
    });
    let (packed, der) = found.ok_or("it has no such key")?;
    // OpenSSL's old way of encryption has headers.
    if private && (packed.is_none() || der.is_empty() && text.contains("Proc-Type:")) {
        return Err("the key has a password: write it without one first (openssl pkey -in FILE -out FILE2)");
    }
    if der.is_empty() {
        return Err("it is damaged");
    }
    let attributes = match packed {
        Some(Packed::Sec1) if !der::names_curve(der) => return Err("it names no curve"),
        Some(packed) => der::private_key(der, packed),
        None => der::public_key(der),
    };
    let mut attributes = attributes.ok_or("the key is damaged, or of a kind that is not known here")?;
    // The class is the caller's to say, and the point is the public key's.
    attributes.retain(|(kind, _)| *kind != CKA_CLASS && (!private || *kind != CKA_EC_POINT));
    Ok(attributes)
}
