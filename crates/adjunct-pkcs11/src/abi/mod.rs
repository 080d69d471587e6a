//! The foreign layer: functions as PKCS #11 has them. Pointers become references, results return values; no panic leaves.
//!
//! Each function exists twice, by a constant: as the standard wants it, where a child of fork has to call C_Initialize first; and for the interface
//! with CKF_INTERFACE_FORK_SAFE, where the child goes on with a copy of all that its parent had.

#![allow(unsafe_code, non_snake_case)]

pub mod args;
pub mod cipher;
pub mod derive;
pub mod digest;
pub mod general;
pub mod keys;
pub mod message;
pub mod objects;
pub mod params;
pub mod sessions;
pub mod sign;
pub mod tables;
pub mod trace;

use crate::module::Module;
use adjunct_mechanisms::rv::Result;
use cryptoki_sys::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a call's body; its return value.
#[inline]
fn run(body: impl FnOnce() -> Result) -> CK_RV {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => CKR_OK,
        Ok(Err(rv)) => rv.0,
        Err(_) => CKR_GENERAL_ERROR,
    }
}

/// The module, for a call through one or the other interface.
#[inline]
fn module<const FORK_SAFE: bool>() -> Result<&'static Module> {
    Module::get(FORK_SAFE)
}

/// Functions of the interface: each is traced, and ends with a return value whatever happens.
macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As PKCS #11 has it: pointers are null, or to what the standard says, in the length that goes with them.
            pub unsafe extern "C" fn $name<const FORK_SAFE: bool>($($argument: $type),*) -> CK_RV {
                #[allow(unused_unsafe)]
                // SAFETY: each pointer is null or leads to what PKCS #11 says, in the length that goes with it; the program that calls the
                // function guarantees it.
                let rv = $crate::abi::run(move || unsafe { $body });
                if $crate::abi::trace::on() {
                    // Copies, so that what is not traced needs no memory for them.
                    $(let $argument = $argument;)*
                    $crate::abi::trace::call(stringify!($name), rv, &[$((stringify!($argument), &$argument)),*]);
                }
                rv
            }
        )*
    };
}
use calls;
