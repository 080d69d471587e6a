//! Safe wrappers of AWS-LC, the CPU library: the one place that calls it.

#![allow(unsafe_code)]

pub mod caps;
pub mod cipher;
pub mod cipher_gcm;
pub mod digest;
pub mod ec;
pub mod ecx;
pub mod mac;
pub mod rsa;
pub mod rsa_padding;

/// Seeds the library's random generator and its fork detection, so that nothing is opened or mapped later.
pub(crate) fn prime() {
    let mut byte = [0u8; 1];
    random(&mut byte);
}

/// Fills `out` from the library's generator (CTR-DRBG seeded by the operating system; fork-safe).
pub fn random(out: &mut [u8]) {
    // SAFETY: the pointer and length describe `out`.
    unsafe { aws_lc_sys::RAND_bytes(out.as_mut_ptr(), out.len()) };
}
