//! The CPU: its instructions where it has them, else software.
//!
//! * `features`: what this CPU has, less what `ADJUNCT_CPU` takes away.
//! * [`awslc`]: safe wrappers of the CPU library; the one place that calls it.
//! * `cpacf`: CPACF, on s390x; `awslc` asks it first.
//! * [`curve`]: the elliptic curves, as plain data.
//! * [`curve448`]: X448 and Ed448, where CPACF has them.
//! * `forms`: RSA private keys as the kernels take them, and operations that come alone.
//! * [`nonce`]: ECDSA nonces for signatures in lanes and by CPACF.
//! * `primes`: primes of RSA keys, found in lanes.

pub mod awslc;
pub(crate) mod cpacf;
pub mod curve;
pub mod curve448;
mod features;
#[cfg(target_arch = "x86_64")]
pub(crate) mod forms;
pub mod nonce;
#[cfg(target_arch = "x86_64")]
mod primes;
pub(crate) mod secret;

pub(crate) use crate::environment::secure_env;
pub(crate) use features::lanes;
pub use features::{
    Features, RsaLanes, batches_only, features, mask_all_but_batches, model_name, msa_level, parse_mask, rsa_lanes,
};
