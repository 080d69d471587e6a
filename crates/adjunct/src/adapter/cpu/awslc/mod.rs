//! Safe wrappers of AWS-LC, the CPU library: the one place that calls it.

#![allow(unsafe_code)]

mod blinding;
mod bn;
pub mod caps;
pub mod cipher;
pub mod cipher_ccm;
pub mod cipher_chacha;
pub mod cipher_des;
mod cipher_feedback;
pub mod cipher_gcm;
pub mod cipher_gcm_part;
pub(crate) mod cipher_stream;
pub mod cipher_xts;
pub mod cmac;
pub mod digest;
mod digest_keccak;
mod digest_once;
pub mod ec;
pub mod ecx;
mod group;
pub mod locks;
pub mod mac;
mod memory;
pub mod mldsa;
pub mod mlkem;
mod objects;
mod poly1305;
mod private;
#[cfg(test)]
mod private_tests;
pub mod rsa;
pub mod rsa_any;
pub mod rsa_crt;
mod seed;
mod threads;

/// Seeds the library's random generator and its fork detection, so that nothing is opened or mapped later, and makes what the library makes at first
/// use and servers need, so that not each process that a server forks for a connection makes it anew.
pub(crate) fn prime() {
    let mut byte = [0u8; 1];
    random(&mut byte);
    // SAFETY: no arguments; keys are allocated or null, which may be freed.
    unsafe {
        aws_lc_sys::EC_group_p256();
        aws_lc_sys::EC_group_p384();
        aws_lc_sys::EC_KEY_free(aws_lc_sys::EC_KEY_new());
        aws_lc_sys::RSA_free(aws_lc_sys::RSA_new());
    }
}

/// Fills `out` with random bytes, with `additional` mixed in, and bytes fresh from the operating system where `fresh` asks for prediction resistance
/// (NIST SP 800-90A, 8.8). Says whether there were any.
#[must_use]
pub fn random_with(out: &mut [u8], additional: &[u8], fresh: bool) -> bool {
    let (mut seed, mut mixed) = ([0u8; 32], [0u8; 32]);
    if fresh && rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty()) != Ok(seed.len()) {
        return false;
    }
    let mut digest = digest::Digest::new(&digest::SHA256);
    digest.update(&seed);
    #[cfg(target_arch = "s390x")]
    if crate::adapter::cpu::cpacf::assist().entropy(&mut seed).is_ok() {
        digest.update(&seed);
    }
    digest.update(additional);
    digest.finish(&mut mixed);
    zeroize::Zeroize::zeroize(&mut seed);
    let done = random_mixed(out, &mixed);
    zeroize::Zeroize::zeroize(&mut mixed);
    done
}

/// Fills `out` from the library's generator, with bytes mixed into it that it need not rely on.
fn random_mixed(out: &mut [u8], mixed: &[u8; 32]) -> bool {
    let (data, length) = (out.as_mut_ptr(), out.len());
    // SAFETY: the pointer and length describe `out`; the third argument is of the 32 bytes the library takes.
    unsafe { aws_lc_sys::RAND_bytes_with_user_prediction_resistance(data, length, mixed.as_ptr()) == 1 }
}

/// Fills `out` from the library's generator (CTR-DRBG, fork-safe; `seed.rs` says what seeds it). On s390x bytes of the true random number generator
/// are mixed in each time, if there is one: they are never used alone.
pub fn random(out: &mut [u8]) {
    #[cfg(target_arch = "s390x")]
    {
        let mut entropy = [0; 32];
        let done = crate::adapter::cpu::cpacf::assist().entropy(&mut entropy).is_ok() && random_mixed(out, &entropy);
        zeroize::Zeroize::zeroize(&mut entropy);
        if done {
            return;
        }
    }
    random_alone(out);
}

/// Fills `out` from the library's generator, with nothing mixed in: for what is drawn within another operation.
pub(crate) fn random_alone(out: &mut [u8]) {
    // SAFETY: the pointer and length describe `out`.
    unsafe { aws_lc_sys::RAND_bytes(out.as_mut_ptr(), out.len()) };
}
