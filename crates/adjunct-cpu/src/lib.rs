//! One operation on this CPU: its instructions where it has them, else software. It knows no lanes and no operation of the core's.
//!
//! * [`choice`]: which of both serves a function here.
//! * `features`: what this CPU has, less what `ADJUNCT_CPU` takes away.
//! * `awslc`: AWS-LC, the CPU library; the one place that calls it.
//! * `cpacf`: CPACF, on s390x.
//! * [`cipher`], [`digest`], [`mac`], [`cmac`], [`rsa`], [`rsa_crt`], [`rsa_any`], [`ec`], [`ecx`]: what runs each of these, a kernel, CPACF
//!   or AWS-LC; chosen when a key is set or a message begins.
//! * [`curve`]: the elliptic curves, as plain data.
//! * [`curve448`]: X448 and Ed448, where CPACF has them.
//! * `forms`: RSA private keys as the kernels take them, and operations that come alone.
//! * [`der`]: a signature's two numbers in DER.
//! * [`drbg`]: Hash_DRBG over SHA-512.
//! * [`nonce`]: ECDSA nonces for signatures in lanes and by CPACF.
//! * `random`: random numbers.
//! * `primes`: primes of RSA keys, found in lanes.

mod awslc;
mod blinding;
pub mod choice;
pub mod cipher;
pub mod cmac;
mod cpacf;
pub mod curve;
pub mod curve448;
pub mod der;
pub mod digest;
pub mod drbg;
pub mod ec;
pub mod ecx;
mod features;
#[cfg(target_arch = "x86_64")]
pub mod forms;
pub mod mac;
pub mod nonce;
#[cfg(target_arch = "x86_64")]
mod primes;
mod random;
pub mod rsa;
pub mod rsa_any;
pub mod rsa_crt;
pub mod secret;

pub use awslc::{mldsa, mlkem};
pub use features::{
    Features, RsaLanes, batches_only, features, lanes, mask_all_but_batches, model_name, msa_level, parse_mask,
    rsa_lanes,
};
pub use random::{random, random_with};

#[cfg(target_arch = "aarch64")]
pub use awslc::caps::neoverse;

/// Makes the CPU's library ready: its generator is seeded and what it makes at first use is made, so that no later call opens or maps
/// anything, nor has to make it in each process that a server forks.
pub fn prime() {
    random(&mut [0]);
    awslc::prime();
}
