//! The core of adjunct: which functions exist, what serves each of them on this machine, and who has used what.
//!
//! * [`catalogue`]: every countable function (a row of `icainfo` and `icastats`) and the instructions that make it
//!   hardware.
//! * [`cpu`]: what this CPU has, less what `ADJUNCT_CPU` takes away.
//! * `cpacf`: which functions of CPACF serve a function of the catalogue, on s390x.
//! * [`route`]: which of hardware and software serves a function here, resolved once.
//! * [`counters`]: calls and bytes per user and function, shared by all processes.
//! * [`awslc`]: safe wrappers of the CPU library; the one place that calls it.
//! * [`tls_record`]: padding and MAC of TLS records under CBC ciphers, taken off in constant time.
//! * [`aead`]: the IVs, tags and TLS records of ciphers that authenticate, as OpenSSL's interfaces have them.
//! * [`accelerator`]: public-key operations of several threads in one batch.
//! * [`curve448`]: X448 and Ed448, where CPACF has them.
//! * [`drbg`]: Hash_DRBG over SHA-512.
//! * [`memory`]: boxes and buffers that may not be had.
//! * [`nonce`]: ECDSA nonces for signatures in lanes.
//! * [`fork`]: which process along a line of forks this is.
//! * [`config`]: the `algorithms =` keywords.
//! * [`sandbox`]: whether a filter of system calls is in force.

pub mod accelerator;
pub mod aead;
pub mod awslc;
pub mod catalogue;
pub mod config;
pub mod counters;
#[cfg(any(target_arch = "s390x", test))]
mod cpacf;
pub mod cpu;
pub mod curve448;
pub mod diag;
pub mod drbg;
pub mod error;
pub mod fork;
pub mod memory;
pub mod nonce;
pub mod route;
pub mod sandbox;
pub mod tls_record;

pub use adjunct_kernels::{InOut, opaque_debug, wipe};
pub use error::Error;

/// The version of libica whose interface and tools are served.
pub const LIBICA_VERSION: [u32; 3] = [4, 4, 0];

/// Prepares the process: CPU library, CPU mask, random generator, counters. Cheap, idempotent, never fails: what cannot
/// be had (counters, an unreadable mask) costs one warning and the work goes on.
///
/// Called when a module is loaded, before any sandbox closes; after it, only memory is touched.
pub fn init() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        sandbox::prime();
        cpu::features();
        awslc::prime();
        counters::open();
        accelerator::prime();
    });
}
