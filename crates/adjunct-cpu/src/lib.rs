//! One operation on this CPU: its instructions where it has them, else software. It knows no lanes and no operation of the core's.
//!
//! * [`choice`]: which of both serves a function here.
//! * `features`: what this CPU has, less what `ADJUNCT_CPU` takes away.
//! * [`awslc`]: safe wrappers of the CPU library; the one place that calls it.
//! * `cpacf`: CPACF, on s390x; `awslc` asks it first.
//! * [`curve`]: the elliptic curves, as plain data.
//! * [`curve448`]: X448 and Ed448, where CPACF has them.
//! * `forms`: RSA private keys as the kernels take them, and operations that come alone.
//! * [`der`]: a signature's two numbers in DER.
//! * [`drbg`]: Hash_DRBG over SHA-512.
//! * [`nonce`]: ECDSA nonces for signatures in lanes and by CPACF.
//! * `primes`: primes of RSA keys, found in lanes.

pub mod awslc;
pub mod choice;
mod cpacf;
pub mod curve;
pub mod curve448;
pub mod der;
pub mod drbg;
mod features;
#[cfg(target_arch = "x86_64")]
pub mod forms;
pub mod nonce;
#[cfg(target_arch = "x86_64")]
mod primes;
pub mod secret;

pub use features::{
    Features, RsaLanes, batches_only, features, lanes, mask_all_but_batches, model_name, msa_level, parse_mask,
    rsa_lanes,
};
