//! Symmetric ciphers. Each has the names, parameters and quirks it has in OpenSSL's default provider.

mod aead;
mod aes;
mod ccm;
mod chacha;
mod chacha_poly;
mod des;
mod gcm;
mod simple;
mod state;
mod tls_cbc;
mod xts;

use crate::abi::{Algorithm, Dispatch};
use std::ffi::CStr;

const fn offer(names: &'static CStr, dispatch: &'static [Dispatch], description: &'static CStr) -> Algorithm {
    Algorithm { names, dispatch, description }
}

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[
    offer(c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", &aes::CBC256, c"AES-256 in CBC mode"),
    offer(c"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22", &aes::CBC192, c"AES-192 in CBC mode"),
    offer(c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", &aes::CBC128, c"AES-128 in CBC mode"),
    offer(c"AES-256-CFB:2.16.840.1.101.3.4.1.44", &aes::CFB256, c"AES-256 in CFB mode"),
    offer(c"AES-192-CFB:2.16.840.1.101.3.4.1.24", &aes::CFB192, c"AES-192 in CFB mode"),
    offer(c"AES-128-CFB:2.16.840.1.101.3.4.1.4", &aes::CFB128, c"AES-128 in CFB mode"),
    offer(c"AES-256-CFB8", &aes::CFB8_256, c"AES-256 in CFB mode, 8-bit segments"),
    offer(c"AES-192-CFB8", &aes::CFB8_192, c"AES-192 in CFB mode, 8-bit segments"),
    offer(c"AES-128-CFB8", &aes::CFB8_128, c"AES-128 in CFB mode, 8-bit segments"),
    offer(c"AES-256-CFB1", &aes::CFB1_256, c"AES-256 in CFB mode, 1-bit segments"),
    offer(c"AES-192-CFB1", &aes::CFB1_192, c"AES-192 in CFB mode, 1-bit segments"),
    offer(c"AES-128-CFB1", &aes::CFB1_128, c"AES-128 in CFB mode, 1-bit segments"),
    offer(c"AES-256-OFB:2.16.840.1.101.3.4.1.43", &aes::OFB256, c"AES-256 in OFB mode"),
    offer(c"AES-192-OFB:2.16.840.1.101.3.4.1.23", &aes::OFB192, c"AES-192 in OFB mode"),
    offer(c"AES-128-OFB:2.16.840.1.101.3.4.1.3", &aes::OFB128, c"AES-128 in OFB mode"),
    offer(c"AES-256-CTR", &aes::CTR256, c"AES-256 in CTR mode"),
    offer(c"AES-192-CTR", &aes::CTR192, c"AES-192 in CTR mode"),
    offer(c"AES-128-CTR", &aes::CTR128, c"AES-128 in CTR mode"),
    offer(c"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", &gcm::GCM256, c"AES-256 in GCM mode"),
    offer(c"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26", &gcm::GCM192, c"AES-192 in GCM mode"),
    offer(c"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", &gcm::GCM128, c"AES-128 in GCM mode"),
    offer(c"AES-256-CCM:id-aes256-CCM:2.16.840.1.101.3.4.1.47", &ccm::CCM256, c"AES-256 in CCM mode"),
    offer(c"AES-192-CCM:id-aes192-CCM:2.16.840.1.101.3.4.1.27", &ccm::CCM192, c"AES-192 in CCM mode"),
    offer(c"AES-128-CCM:id-aes128-CCM:2.16.840.1.101.3.4.1.7", &ccm::CCM128, c"AES-128 in CCM mode"),
    offer(c"AES-256-XTS:1.3.111.2.1619.0.1.2", &xts::XTS256, c"AES-256 in XTS mode"),
    offer(c"AES-128-XTS:1.3.111.2.1619.0.1.1", &xts::XTS128, c"AES-128 in XTS mode"),
    offer(c"DES-EDE3-CBC:DES3:1.2.840.113549.3.7", &des::CBC, c"Triple DES in CBC mode"),
    offer(c"ChaCha20", &chacha::CHACHA20, c"ChaCha20"),
    offer(c"ChaCha20-Poly1305", &chacha_poly::CHACHA20_POLY1305, c"ChaCha20-Poly1305"),
];

/// What this module offers on request only: OpenSSL's own generator would use it.
pub static ECB_ALGORITHMS: &[Algorithm] = &[
    offer(c"AES-256-ECB:2.16.840.1.101.3.4.1.41", &aes::ECB256, c"AES-256 in ECB mode"),
    offer(c"AES-192-ECB:2.16.840.1.101.3.4.1.21", &aes::ECB192, c"AES-192 in ECB mode"),
    offer(c"AES-128-ECB:2.16.840.1.101.3.4.1.1", &aes::ECB128, c"AES-128 in ECB mode"),
];
