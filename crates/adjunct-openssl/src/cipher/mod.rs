//! Symmetric ciphers. Each has the names, parameters and quirks it has in OpenSSL's default provider.

mod aes;
mod gcm;
mod simple;
mod state;
mod tls_cbc;

use crate::abi::{Algorithm, Dispatch};
use std::ffi::CStr;

const fn offer(names: &'static CStr, dispatch: &'static [Dispatch], description: &'static CStr) -> Algorithm {
    Algorithm { names, dispatch, description }
}

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[
    offer(c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", &aes::CBC256, c"AES-256 in CBC mode"),
    offer(c"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22", &aes::CBC192, c"AES-192 in CBC mode"),
    offer(c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", &aes::CBC128, c"AES-128 in CBC mode"),
    offer(c"AES-256-CTR", &aes::CTR256, c"AES-256 in CTR mode"),
    offer(c"AES-192-CTR", &aes::CTR192, c"AES-192 in CTR mode"),
    offer(c"AES-128-CTR", &aes::CTR128, c"AES-128 in CTR mode"),
    offer(c"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", &gcm::GCM256, c"AES-256 in GCM mode"),
    offer(c"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26", &gcm::GCM192, c"AES-192 in GCM mode"),
    offer(c"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", &gcm::GCM128, c"AES-128 in GCM mode"),
];

/// What this module offers on request only: OpenSSL's own generator would use it.
pub static ECB_ALGORITHMS: &[Algorithm] = &[
    offer(c"AES-256-ECB:2.16.840.1.101.3.4.1.41", &aes::ECB256, c"AES-256 in ECB mode"),
    offer(c"AES-192-ECB:2.16.840.1.101.3.4.1.21", &aes::ECB192, c"AES-192 in ECB mode"),
    offer(c"AES-128-ECB:2.16.840.1.101.3.4.1.1", &aes::ECB128, c"AES-128 in ECB mode"),
];
