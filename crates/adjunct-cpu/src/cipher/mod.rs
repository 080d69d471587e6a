//! Ciphers: which of the kernels, CPACF and AWS-LC runs is chosen when the key is set.

#![allow(unsafe_code)]

pub mod aes;
pub mod ccm;
pub mod chacha;
pub mod des;
mod feedback;
pub mod gcm;
pub mod gcm_part;
pub(crate) mod poly1305;
pub(crate) mod stream;
pub mod xts;
