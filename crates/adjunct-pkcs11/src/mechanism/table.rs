//! The mechanisms that there are, with the sizes of their keys and what they do (C_GetMechanismInfo).

use cryptoki_sys::*;

/// A mechanism.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub kind: CK_MECHANISM_TYPE,
    /// Sizes of keys: in bits for RSA and curves, else in bytes; 0 where there is no key.
    pub least: CK_ULONG,
    pub most: CK_ULONG,
    pub flags: CK_FLAGS,
}

const SIGNS: CK_FLAGS = CKF_SIGN | CKF_VERIFY;
const CURVES: CK_FLAGS = CKF_EC_F_P | CKF_EC_OID | CKF_EC_CURVENAME | CKF_EC_UNCOMPRESS;

const fn entry(kind: CK_MECHANISM_TYPE, least: CK_ULONG, most: CK_ULONG, flags: CK_FLAGS) -> Entry {
    Entry { kind, least, most, flags }
}

/// All, in the order of C_GetMechanismList.
pub const MECHANISMS: &[Entry] = &[
    entry(CKM_RSA_PKCS_KEY_PAIR_GEN, 512, 16384, CKF_GENERATE_KEY_PAIR),
    entry(CKM_RSA_PKCS, 512, 16384, SIGNS),
    entry(CKM_RSA_X_509, 512, 16384, SIGNS),
    entry(CKM_SHA1_RSA_PKCS, 512, 16384, SIGNS),
    entry(CKM_SHA224_RSA_PKCS, 512, 16384, SIGNS),
    entry(CKM_SHA256_RSA_PKCS, 512, 16384, SIGNS),
    entry(CKM_SHA384_RSA_PKCS, 512, 16384, SIGNS),
    entry(CKM_SHA512_RSA_PKCS, 512, 16384, SIGNS),
    entry(CKM_RSA_PKCS_PSS, 512, 16384, SIGNS),
    entry(CKM_SHA1_RSA_PKCS_PSS, 512, 16384, SIGNS),
    entry(CKM_SHA224_RSA_PKCS_PSS, 512, 16384, SIGNS),
    entry(CKM_SHA256_RSA_PKCS_PSS, 512, 16384, SIGNS),
    entry(CKM_SHA384_RSA_PKCS_PSS, 512, 16384, SIGNS),
    entry(CKM_SHA512_RSA_PKCS_PSS, 512, 16384, SIGNS),
    entry(CKM_EC_KEY_PAIR_GEN, 160, 521, CKF_GENERATE_KEY_PAIR | CURVES),
    entry(CKM_ECDSA, 160, 521, SIGNS | CURVES),
    entry(CKM_ECDSA_SHA1, 160, 521, SIGNS | CURVES),
    entry(CKM_ECDSA_SHA224, 160, 521, SIGNS | CURVES),
    entry(CKM_ECDSA_SHA256, 160, 521, SIGNS | CURVES),
    entry(CKM_ECDSA_SHA384, 160, 521, SIGNS | CURVES),
    entry(CKM_ECDSA_SHA512, 160, 521, SIGNS | CURVES),
    entry(CKM_EC_EDWARDS_KEY_PAIR_GEN, 255, 255, CKF_GENERATE_KEY_PAIR | CURVES),
    entry(CKM_EDDSA, 255, 255, SIGNS | CURVES),
    entry(CKM_EC_MONTGOMERY_KEY_PAIR_GEN, 255, 255, CKF_GENERATE_KEY_PAIR | CURVES),
    entry(CKM_GENERIC_SECRET_KEY_GEN, 1, 4096, CKF_GENERATE),
    entry(CKM_AES_KEY_GEN, 16, 32, CKF_GENERATE),
    entry(CKM_MD5, 0, 0, CKF_DIGEST),
    entry(CKM_SHA_1, 0, 0, CKF_DIGEST),
    entry(CKM_SHA224, 0, 0, CKF_DIGEST),
    entry(CKM_SHA256, 0, 0, CKF_DIGEST),
    entry(CKM_SHA384, 0, 0, CKF_DIGEST),
    entry(CKM_SHA512, 0, 0, CKF_DIGEST),
    entry(CKM_SHA512_224, 0, 0, CKF_DIGEST),
    entry(CKM_SHA512_256, 0, 0, CKF_DIGEST),
    entry(CKM_SHA3_224, 0, 0, CKF_DIGEST),
    entry(CKM_SHA3_256, 0, 0, CKF_DIGEST),
    entry(CKM_SHA3_384, 0, 0, CKF_DIGEST),
    entry(CKM_SHA3_512, 0, 0, CKF_DIGEST),
];

/// A mechanism by its type.
pub fn find(kind: CK_MECHANISM_TYPE) -> Option<&'static Entry> {
    MECHANISMS.iter().find(|entry| entry.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stands_there_once_and_has_a_name() {
        for (at, entry) in MECHANISMS.iter().enumerate() {
            assert!(MECHANISMS[..at].iter().all(|other| other.kind != entry.kind), "{:#x}", entry.kind);
            assert!(crate::names::mechanism(entry.kind).is_some() && entry.least <= entry.most && entry.flags != 0);
        }
    }
}
