//! AWS-LC, the CPU library: the one place that calls it, and no more than its calls. What else could serve is not known here: that is decided
//! by those who call ([`crate::cipher`], [`crate::digest`] and their like).

#![allow(unsafe_code)]

pub(crate) mod aes;
pub(crate) mod bn;
pub mod caps;
pub(crate) mod chacha;
pub(crate) mod curve25519;
pub(crate) mod des;
pub(crate) mod ec;
pub(crate) mod gcm;
pub(crate) mod group;
pub mod locks;
mod memory;
pub mod mldsa;
pub mod mlkem;
mod objects;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) mod poly1305;
mod private;
#[cfg(test)]
mod private_tests;
pub(crate) mod rsa;
mod seed;
pub(crate) mod sha;
mod threads;
pub(crate) mod tls_record;

/// Seeds the library's random generator and its fork detection, so that nothing is opened or mapped later, and makes what the library makes at first
/// use and servers need, so that not each process that a server forks for a connection makes it anew.
pub(crate) fn prime() {
    random_alone(&mut [0]);
    // SAFETY: no arguments; keys are allocated or null, which may be freed.
    unsafe {
        aws_lc_sys::EC_group_p256();
        aws_lc_sys::EC_group_p384();
        aws_lc_sys::EC_KEY_free(aws_lc_sys::EC_KEY_new());
        aws_lc_sys::RSA_free(aws_lc_sys::RSA_new());
    }
}

/// Fills `out` from the library's generator, with bytes mixed into it that it need not rely on.
pub(crate) fn random_mixed(out: &mut [u8], mixed: &[u8; 32]) -> bool {
    let (data, length) = (out.as_mut_ptr(), out.len());
    // SAFETY: the pointer and length describe `out`; the third argument is of the 32 bytes the library takes.
    unsafe { aws_lc_sys::RAND_bytes_with_user_prediction_resistance(data, length, mixed.as_ptr()) == 1 }
}

/// Fills `out` from the library's generator, with nothing mixed in: for what is drawn within another operation.
pub(crate) fn random_alone(out: &mut [u8]) {
    // SAFETY: the pointer and length describe `out`.
    unsafe { aws_lc_sys::RAND_bytes(out.as_mut_ptr(), out.len()) };
}
