//! Arithmetic that AWS-LC lacks or has slower: pure functions over slices and lanes, without allocation, I/O or policy.

#[cfg(target_arch = "x86_64")]
pub mod aes;
#[cfg(target_arch = "x86_64")]
pub mod chacha;
pub mod cpacf;
#[cfg(target_arch = "x86_64")]
pub mod curve25519;
#[cfg(target_arch = "x86_64")]
pub mod des;
#[cfg(all(target_arch = "x86_64", feature = "fault"))]
#[doc(hidden)]
pub mod fault;
pub mod floats;
pub mod inout;
pub mod inverse;
#[cfg(target_arch = "x86_64")]
pub mod keccak;
#[cfg(target_arch = "x86_64")]
pub mod lanes;
#[cfg(target_arch = "x86_64")]
pub mod mxcsr;
#[cfg(target_arch = "x86_64")]
pub mod nist;
pub mod opaque;
#[cfg(target_arch = "x86_64")]
pub mod poly1305;
#[cfg(target_arch = "x86_64")]
pub mod rsa;
#[cfg(target_arch = "x86_64")]
mod sha2;
#[cfg(target_arch = "x86_64")]
pub mod sha256;
#[cfg(target_arch = "x86_64")]
pub mod sha512;
pub mod short;
pub mod wipe;

pub use inout::InOut;
pub use wipe::wipe;
