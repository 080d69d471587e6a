//! HMAC (FIPS 198-1) with each hash, with its whole result or as many bytes of it as the caller says, and the keys for one HMAC alone.

use super::generate::random_key;
use super::hash::Hash;
use super::mac;
use super::params::Shape;
use super::registry::{Entry, LONG, SIGNS};
use crate::rv::Rv;
use cryptoki_sys::*;

/// The HMAC with a hash.
const fn whole(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    Entry::new(kind, 1, LONG, SIGNS, Shape::Bytes).hash(hash).signs(mac::HMAC)
}

/// The HMAC with a hash of which the caller says the length.
const fn general(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    Entry::new(kind, 1, LONG, SIGNS, Shape::Number).hash(hash).signs(mac::HMAC)
}

/// Keys for the HMAC with a hash: as long as its result, where the template does not say.
const fn keys(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    Entry::new(kind, 1, LONG, CKF_GENERATE, Shape::Ignored).hash(hash).secret(|mechanism, template| {
        let hash = mechanism.entry.hash.ok_or(Rv(CKR_MECHANISM_INVALID))?;
        random_key(mechanism, template, key_type(hash), Some(hash.size() as CK_ULONG), |_| true)
    })
}

pub(crate) const ENTRIES: &[Entry] = &[
    whole(CKM_SHA_1_HMAC, Hash::Sha1),
    general(CKM_SHA_1_HMAC_GENERAL, Hash::Sha1),
    keys(CKM_SHA_1_KEY_GEN, Hash::Sha1),
    whole(CKM_SHA224_HMAC, Hash::Sha224),
    general(CKM_SHA224_HMAC_GENERAL, Hash::Sha224),
    keys(CKM_SHA224_KEY_GEN, Hash::Sha224),
    whole(CKM_SHA256_HMAC, Hash::Sha256),
    general(CKM_SHA256_HMAC_GENERAL, Hash::Sha256),
    keys(CKM_SHA256_KEY_GEN, Hash::Sha256),
    whole(CKM_SHA384_HMAC, Hash::Sha384),
    general(CKM_SHA384_HMAC_GENERAL, Hash::Sha384),
    keys(CKM_SHA384_KEY_GEN, Hash::Sha384),
    whole(CKM_SHA512_HMAC, Hash::Sha512),
    general(CKM_SHA512_HMAC_GENERAL, Hash::Sha512),
    keys(CKM_SHA512_KEY_GEN, Hash::Sha512),
    whole(CKM_SHA512_224_HMAC, Hash::Sha512_224),
    general(CKM_SHA512_224_HMAC_GENERAL, Hash::Sha512_224),
    keys(CKM_SHA512_224_KEY_GEN, Hash::Sha512_224),
    whole(CKM_SHA512_256_HMAC, Hash::Sha512_256),
    general(CKM_SHA512_256_HMAC_GENERAL, Hash::Sha512_256),
    keys(CKM_SHA512_256_KEY_GEN, Hash::Sha512_256),
    whole(CKM_SHA3_224_HMAC, Hash::Sha3_224),
    general(CKM_SHA3_224_HMAC_GENERAL, Hash::Sha3_224),
    keys(CKM_SHA3_224_KEY_GEN, Hash::Sha3_224),
    whole(CKM_SHA3_256_HMAC, Hash::Sha3_256),
    general(CKM_SHA3_256_HMAC_GENERAL, Hash::Sha3_256),
    keys(CKM_SHA3_256_KEY_GEN, Hash::Sha3_256),
    whole(CKM_SHA3_384_HMAC, Hash::Sha3_384),
    general(CKM_SHA3_384_HMAC_GENERAL, Hash::Sha3_384),
    keys(CKM_SHA3_384_KEY_GEN, Hash::Sha3_384),
    whole(CKM_SHA3_512_HMAC, Hash::Sha3_512),
    general(CKM_SHA3_512_HMAC_GENERAL, Hash::Sha3_512),
    keys(CKM_SHA3_512_KEY_GEN, Hash::Sha3_512),
];

/// The hash of the HMAC with its whole result that a type names: `CKM_SHA256_HMAC`, as the PRF of a derivation, of which MD5's is one too.
pub fn hash_of(kind: CK_MECHANISM_TYPE) -> Option<Hash> {
    if kind == CKM_MD5_HMAC {
        return Some(Hash::Md5);
    }
    let entry = ENTRIES.iter().find(|entry| entry.kind == kind)?;
    entry.hash.filter(|_| matches!(entry.shape, Shape::Bytes))
}

/// The type of keys that are for the HMAC with a hash alone.
pub const fn key_type(hash: Hash) -> CK_KEY_TYPE {
    match hash {
        Hash::Md5 => CKK_MD5_HMAC,
        Hash::Sha1 => CKK_SHA_1_HMAC,
        Hash::Sha224 => CKK_SHA224_HMAC,
        Hash::Sha256 => CKK_SHA256_HMAC,
        Hash::Sha384 => CKK_SHA384_HMAC,
        Hash::Sha512 => CKK_SHA512_HMAC,
        Hash::Sha512_224 => CKK_SHA512_224_HMAC,
        Hash::Sha512_256 => CKK_SHA512_256_HMAC,
        Hash::Sha3_224 => CKK_SHA3_224_HMAC,
        Hash::Sha3_256 => CKK_SHA3_256_HMAC,
        Hash::Sha3_384 => CKK_SHA3_384_HMAC,
        Hash::Sha3_512 => CKK_SHA3_512_HMAC,
    }
}
