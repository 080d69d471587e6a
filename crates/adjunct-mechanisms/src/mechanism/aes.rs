//! AES: modes (SP 800-38A to 38F), MACs, key wrap, keys.

use super::aead::{self, AeadKind};
use super::derive::Derive;
use super::generate::random_key;
use super::params::Shape;
use super::registry::{CIPHERS, Entry, MESSAGES, SIGNS, WRAPS};
use super::wrap::{self, Padding};
use super::{blocks, mac, streams, xts};
use cryptoki_sys::*;

/// A mechanism with AES's keys, of 16 to 32 bytes.
const fn entry(kind: CK_MECHANISM_TYPE, flags: CK_FLAGS, shape: Shape) -> Entry {
    Entry::new(kind, 16, 32, flags, shape)
}

/// A mechanism with the two keys of XTS.
const fn double(kind: CK_MECHANISM_TYPE, flags: CK_FLAGS, shape: Shape) -> Entry {
    Entry::new(kind, 32, 64, flags, shape)
}

pub const ENTRIES: &[Entry] = &[
    entry(CKM_AES_KEY_GEN, CKF_GENERATE, Shape::Ignored).secret(|mechanism, template| {
        random_key(mechanism, template, CKK_AES, None, |size| matches!(size, 16 | 24 | 32))
    }),
    entry(CKM_AES_ECB, CIPHERS | WRAPS, Shape::Bytes).cipher(blocks::aes_ecb).unit(16),
    entry(CKM_AES_CBC, CIPHERS | WRAPS, Shape::Bytes).cipher(blocks::aes_cbc::<false>).unit(16),
    entry(CKM_AES_CBC_PAD, CIPHERS | WRAPS, Shape::Bytes).cipher(blocks::aes_cbc::<true>),
    entry(CKM_AES_CTR, CIPHERS | WRAPS, Shape::Counter).cipher(streams::aes_ctr),
    entry(CKM_AES_OFB, CIPHERS, Shape::Bytes).cipher(streams::aes_ofb),
    entry(CKM_AES_CFB128, CIPHERS, Shape::Bytes).cipher(streams::aes_cfb128),
    entry(CKM_AES_CFB8, CIPHERS, Shape::Bytes).cipher(streams::aes_cfb8),
    entry(CKM_AES_GCM, CIPHERS | WRAPS | MESSAGES, Shape::Gcm)
        .cipher(|mechanism, key, encrypt| aead::begin(AeadKind::Gcm, &mechanism.params, key, encrypt)),
    entry(CKM_AES_CCM, CIPHERS | WRAPS | MESSAGES, Shape::Ccm)
        .cipher(|mechanism, key, encrypt| aead::begin(AeadKind::Ccm, &mechanism.params, key, encrypt)),
    entry(CKM_AES_CMAC, SIGNS, Shape::Bytes).signs(mac::AES_CMAC),
    entry(CKM_AES_CMAC_GENERAL, SIGNS, Shape::Number).signs(mac::AES_CMAC),
    // Each message has an IV of its own.
    entry(CKM_AES_GMAC, CKF_SIGN | CKF_VERIFY, Shape::Gmac).signs(mac::GMAC),
    entry(CKM_AES_KEY_WRAP, CIPHERS | WRAPS, Shape::Bytes)
        .cipher(|mechanism, key, encrypt| wrap::begin(Padding::None, mechanism.params, &key, encrypt))
        .unit(8),
    // The number without a clear meaning is what most have taken it for.
    entry(CKM_AES_KEY_WRAP_PAD, CIPHERS | WRAPS, Shape::Bytes)
        .cipher(|mechanism, key, encrypt| wrap::begin(Padding::Length, mechanism.params, &key, encrypt)),
    entry(CKM_AES_KEY_WRAP_KWP, CIPHERS | WRAPS, Shape::Bytes)
        .cipher(|mechanism, key, encrypt| wrap::begin(Padding::Length, mechanism.params, &key, encrypt)),
    entry(CKM_AES_KEY_WRAP_PKCS7, CIPHERS | WRAPS, Shape::Bytes)
        .cipher(|mechanism, key, encrypt| wrap::begin(Padding::Pkcs7, mechanism.params, &key, encrypt)),
    double(CKM_AES_XTS_KEY_GEN, CKF_GENERATE, Shape::Ignored).secret(|mechanism, template| {
        random_key(mechanism, template, CKK_AES_XTS, None, |size| matches!(size, 32 | 64))
    }),
    double(CKM_AES_XTS, CIPHERS, Shape::Bytes).cipher(xts::begin),
    entry(CKM_AES_ECB_ENCRYPT_DATA, CKF_DERIVE, Shape::Derive(Derive::AesEcb)),
    entry(CKM_AES_CBC_ENCRYPT_DATA, CKF_DERIVE, Shape::Derive(Derive::AesCbc)),
];
