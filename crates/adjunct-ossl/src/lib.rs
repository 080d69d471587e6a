//! OpenSSL's foreign interface as Rust, for every module that OpenSSL loads or that calls it. Nothing of adjunct's own is known here.
//!
//! * [`object`]: shared objects of the process, libcrypto among them, and [`functions!`], which looks up a structure of symbols.
//! * [`param`], [`build`]: `OSSL_PARAM`, read, answered and made.
//! * [`dispatch`], [`id`], [`reason`]: what providers consist of, with the numbers of core_dispatch.h and of the errors.
//! * [`core`]: what OpenSSL gives a provider. [`errors`]: the queue of errors, for those that are no provider.
//! * [`default_provider`]: OpenSSL's own implementations, by their dispatch tables.
//! * [`engines`], [`random`], [`jobs`], [`properties`]: what else is asked of the libcrypto that loaded a provider.
//! * [`neighbours`]: the other providers of a library context. [`imports`]: what the objects of the process call.

pub mod build;
pub mod core;
pub mod default_provider;
pub mod dispatch;
pub mod engines;
pub mod errors;
pub mod id;
pub mod imports;
pub mod jobs;
mod known;
pub mod neighbours;
pub mod object;
pub mod param;
pub mod properties;
pub mod random;
pub mod reason;

use std::ffi::c_void;

/// A pointer to one of OpenSSL's opaque objects.
pub type Opaque = *mut c_void;

/// Runs `body` and lets no panic out of it: a panic becomes `failure`.
// Always, and what many calls run by `move`: what a body captures goes through memory, by reference twice.
#[inline(always)]
pub fn guard<T>(failure: T, body: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(failure)
}
