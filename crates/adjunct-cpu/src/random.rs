//! Random numbers: AWS-LC's generator, and what is mixed into it.

use crate::awslc::{random_alone, random_mixed};
use crate::digest::{Digest, SHA256};

/// Fills `out` from the library's generator (CTR-DRBG, fork-safe; `awslc/seed.rs` says what seeds it). On s390x with bytes of the
/// true random number generator mixed in, each time, where there is one: never those alone.
pub fn random(out: &mut [u8]) {
    #[cfg(target_arch = "s390x")]
    {
        let mut entropy = [0; 32];
        let done = crate::cpacf::assist().entropy(&mut entropy).is_ok() && random_mixed(out, &entropy);
        zeroize::Zeroize::zeroize(&mut entropy);
        if done {
            return;
        }
    }
    random_alone(out);
}

/// Fills `out` with random bytes, with `additional` mixed in, and bytes fresh from the operating system where `fresh` asks for prediction resistance
/// (NIST SP 800-90A, 8.8). Says whether there were any.
#[must_use]
pub fn random_with(out: &mut [u8], additional: &[u8], fresh: bool) -> bool {
    let (mut seed, mut mixed) = ([0u8; 32], [0u8; 32]);
    if fresh && rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty()) != Ok(seed.len()) {
        return false;
    }
    let mut digest = Digest::new(&SHA256);
    digest.update(&seed);
    #[cfg(target_arch = "s390x")]
    if crate::cpacf::assist().entropy(&mut seed).is_ok() {
        digest.update(&seed);
    }
    digest.update(additional);
    digest.finish(&mut mixed);
    zeroize::Zeroize::zeroize(&mut seed);
    let done = random_mixed(out, &mixed);
    zeroize::Zeroize::zeroize(&mut mixed);
    done
}
