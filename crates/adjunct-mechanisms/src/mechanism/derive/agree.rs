//! Key agreement: ECDH (SP 800-56A, 5.7.1.2), X25519 and X448 (RFC 7748), and what a secret is hashed to.

use super::{Secret, last};
use crate::curve448;
use crate::mechanism::hash::Hash;
use crate::object::Object;
use crate::object::key::{Curve, ObjectKey, raw_point};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::digest::{MAX_SIZE, Part};
use adjunct::ops::ec;
use adjunct::ops::ecx::{x448, x25519};
use cryptoki_sys::*;
use zeroize::Zeroizing;

const INVALID: Rv = Rv(CKR_MECHANISM_PARAM_INVALID);

/// CK_ECDH1_DERIVE_PARAMS. All curves here but X25519 and X448 have a cofactor of 1, with which both forms of the agreement are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agree<'a> {
    /// Whether the secret is multiplied by the curve's cofactor.
    pub cofactor: bool,
    /// What the key is made of the secret by.
    pub kdf: Kdf,
    /// The shared data of both sides, besides the secret.
    pub shared: &'a [u8],
    /// The peer's point.
    pub public: &'a [u8],
}

/// The key derivation function that is applied to the shared secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kdf {
    /// The secret itself.
    None,
    /// ANSI X9.63, 5.6.3: the secret stands before the counter.
    X963(Hash),
    /// SP 800-56C, 4.1: the counter stands before the secret.
    Sp800(Hash),
}

impl Kdf {
    /// The key derivation function of a number of the standard (`CKD_*`).
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID` for another; those of X9.42 are for its own mechanisms.
    pub fn of(kdf: CK_EC_KDF_TYPE) -> Result<Kdf> {
        Ok(match kdf {
            CKD_NULL => Kdf::None,
            CKD_SHA1_KDF => Kdf::X963(Hash::Sha1),
            CKD_SHA224_KDF => Kdf::X963(Hash::Sha224),
            CKD_SHA256_KDF => Kdf::X963(Hash::Sha256),
            CKD_SHA384_KDF => Kdf::X963(Hash::Sha384),
            CKD_SHA512_KDF => Kdf::X963(Hash::Sha512),
            CKD_SHA3_224_KDF => Kdf::X963(Hash::Sha3_224),
            CKD_SHA3_256_KDF => Kdf::X963(Hash::Sha3_256),
            CKD_SHA3_384_KDF => Kdf::X963(Hash::Sha3_384),
            CKD_SHA3_512_KDF => Kdf::X963(Hash::Sha3_512),
            CKD_SHA1_KDF_SP800 => Kdf::Sp800(Hash::Sha1),
            CKD_SHA224_KDF_SP800 => Kdf::Sp800(Hash::Sha224),
            CKD_SHA256_KDF_SP800 => Kdf::Sp800(Hash::Sha256),
            CKD_SHA384_KDF_SP800 => Kdf::Sp800(Hash::Sha384),
            CKD_SHA512_KDF_SP800 => Kdf::Sp800(Hash::Sha512),
            CKD_SHA3_224_KDF_SP800 => Kdf::Sp800(Hash::Sha3_224),
            CKD_SHA3_256_KDF_SP800 => Kdf::Sp800(Hash::Sha3_256),
            CKD_SHA3_384_KDF_SP800 => Kdf::Sp800(Hash::Sha3_384),
            CKD_SHA3_512_KDF_SP800 => Kdf::Sp800(Hash::Sha3_512),
            _ => return Err(INVALID),
        })
    }

    /// The key of a shared secret. Without a hash the last bytes of the secret: what is too much is taken off its front (PKCS #11
    /// 3.2, 6.3.17). With one, as much as is wanted, or one digest, as openCryptoki has it: the standard does not say. The digests are
    /// parts of the agreement, which counts.
    pub fn derive(self, secret: &[u8], shared: &[u8], wanted: Option<usize>) -> Result<Secret> {
        let hash = match self {
            Kdf::None => {
                ensure(shared.is_empty(), CKR_MECHANISM_PARAM_INVALID)?;
                return last(secret, wanted);
            }
            Kdf::X963(hash) | Kdf::Sp800(hash) => hash,
        };
        let mut key = adjunct::memory::zeros(wanted.unwrap_or(hash.size()))?;
        let (mut digest, mut block) = (Part::new(hash.method()), Zeroizing::new([0; MAX_SIZE]));
        for (number, chunk) in key.chunks_mut(hash.size()).enumerate() {
            let counter = u32::try_from(number + 1).map_err(|_| Rv(CKR_KEY_SIZE_RANGE))?.to_be_bytes();
            let parts = match self {
                Kdf::Sp800(_) => [&counter, secret, shared],
                _ => [secret, &counter, shared],
            };
            digest.reset();
            parts.iter().for_each(|part| digest.update(part));
            digest.finish(&mut block[..]);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
        Ok(key)
    }
}

impl Agree<'_> {
    /// Derives bytes from the secret that the base key shares with the peer.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`; `CKR_MECHANISM_PARAM_INVALID` for a point that is none of the curve, or of small order.
    pub fn derive(&self, base: &Object, wanted: Option<usize>) -> Result<Secret> {
        ensure(base.class() == CKO_PRIVATE_KEY, CKR_KEY_TYPE_INCONSISTENT)?;
        match &*base.key()? {
            ObjectKey::Ec(key) => {
                let point = raw_point(Curve::Group(key.group()), self.public);
                let peer = ec::EcKey::new(key.group(), Some(point), None).map_err(invalid)?;
                let mut room = Zeroizing::new([0; ec::MAX_FIELD]);
                let secret = key.shared_secret(&peer, &mut room).map_err(failed)?;
                self.kdf.derive(secret, self.shared, wanted)
            }
            ObjectKey::X25519 { private: Some(private), .. } if !self.cofactor => {
                let peer = raw_point(Curve::X25519, self.public).try_into().map_err(|_| INVALID)?;
                let secret = x25519::shared_secret(private, peer).map_err(invalid)?;
                self.kdf.derive(&secret[..], self.shared, wanted)
            }
            ObjectKey::X448 { private: Some(private), .. } if !self.cofactor => {
                let peer = raw_point(Curve::X448, self.public).try_into().map_err(|_| INVALID)?;
                let secret = x448::shared_secret(private, peer, curve448::x448).map_err(invalid)?;
                self.kdf.derive(&secret[..], self.shared, wanted)
            }
            _ => fail(CKR_KEY_TYPE_INCONSISTENT),
        }
    }
}

fn invalid(error: adjunct::Error) -> Rv {
    if matches!(error, adjunct::Error::Memory) || !error.may_fall_back() { error.into() } else { INVALID }
}

fn failed(error: adjunct::Error) -> Rv {
    let tells = matches!(error, adjunct::Error::Memory) || !error.may_fall_back();
    if tells { error.into() } else { Rv(CKR_FUNCTION_FAILED) }
}
