//! Triple DES with two or three keys (SP 800-67): ECB, CBC, CMAC, keys.

use super::derive::Derive;
use super::generate::random_key;
use super::params::Shape;
use super::registry::{CIPHERS, Entry, SIGNS, WRAPS};
use super::{blocks, mac};
use cryptoki_sys::*;

/// A mechanism with keys of two or three times 8 bytes.
const fn entry(kind: CK_MECHANISM_TYPE, flags: CK_FLAGS, shape: Shape) -> Entry {
    Entry::new(kind, 16, 24, flags, shape)
}

pub const ENTRIES: &[Entry] = &[
    Entry::new(CKM_DES2_KEY_GEN, 16, 16, CKF_GENERATE, Shape::Ignored)
        .secret(|mechanism, template| random_key(mechanism, template, CKK_DES2, Some(16), |_| true)),
    Entry::new(CKM_DES3_KEY_GEN, 24, 24, CKF_GENERATE, Shape::Ignored)
        .secret(|mechanism, template| random_key(mechanism, template, CKK_DES3, Some(24), |_| true)),
    entry(CKM_DES3_ECB, CIPHERS | WRAPS, Shape::Bytes).cipher(blocks::des3_ecb).unit(8),
    entry(CKM_DES3_CBC, CIPHERS | WRAPS, Shape::Bytes).cipher(blocks::des3_cbc::<false>).unit(8),
    entry(CKM_DES3_CBC_PAD, CIPHERS | WRAPS, Shape::Bytes).cipher(blocks::des3_cbc::<true>),
    entry(CKM_DES3_CMAC, SIGNS, Shape::Bytes).signs(mac::DES3_CMAC),
    entry(CKM_DES3_CMAC_GENERAL, SIGNS, Shape::Number).signs(mac::DES3_CMAC),
    Entry::new(CKM_DES3_ECB_ENCRYPT_DATA, 24, 24, CKF_DERIVE, Shape::Derive(Derive::Des3Ecb)),
    Entry::new(CKM_DES3_CBC_ENCRYPT_DATA, 24, 24, CKF_DERIVE, Shape::Derive(Derive::Des3Cbc)),
];
