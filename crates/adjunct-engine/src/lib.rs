//! adjunct's OpenSSL engine: for programs whose public-key work never reaches a provider because they call the low-level
//! RSA and EC functions, above all OpenSSH up to 9.8 (engine(3), OpenSSL 3; OpenSSL 4 has no engines).
//!
//! [`rsa`] and [`ec`] are method tables laid over OpenSSL's own: a key, padding or curve that the core does not take goes to the function that was
//! there before. [`cipher`], [`digest`] and [`rand`] serve where `default_algorithms` names them, as in the papers; otherwise they stay idle, because
//! OpenSSL asks an engine before any provider. DH stays with OpenSSL: no library here is faster at it.

pub mod bulk;
pub mod cipher;
pub mod control;
pub mod digest;
pub mod ec;
pub mod libcrypto;
pub mod rand;
pub mod register;
pub mod rsa;
pub mod tables;
mod theirs;

use adjunct_ossl::guard;
use libcrypto::{Functions, Opaque};
use std::ffi::{c_char, c_int, c_ulong, c_void};

/// `OSSL_DYNAMIC_VERSION` and the oldest that is compatible, of engine.h.
const VERSION: c_ulong = 0x0003_0000;

/// The part of `dynamic_fns` that is used.
#[repr(C)]
#[derive(Debug)]
pub struct DynamicFunctions {
    /// An address within the libcrypto that loads the engine.
    static_state: *const c_void,
}

/// Whether this engine suits a libcrypto of version `version` of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn v_check(version: c_ulong) -> c_ulong {
    if version >= VERSION { VERSION } else { 0 }
}

/// The engine's entry point (`IMPLEMENT_DYNAMIC_BIND_FN` of engine.h).
///
/// The memory functions passed along are not taken over: what OpenSSL is to free is allocated by its own `CRYPTO_malloc`.
///
/// # Safety
/// Called by OpenSSL's dynamic engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bind_engine(engine: Opaque, id: *const c_char, given: *const DynamicFunctions) -> c_int {
    guard(0, || {
        // SAFETY: the strings and the structure are OpenSSL's.
        unsafe {
            if !id.is_null() && std::ffi::CStr::from_ptr(id) != c"adjunct" {
                return 0;
            }
            let Some(functions) = libcrypto::open((*given).static_state) else {
                adjunct::diag::warn("the engine found no libcrypto around its caller; it is not loaded");
                return 0;
            };
            adjunct::init();
            bind(functions, engine).unwrap_or(0)
        }
    })
}

/// `ENGINE_FLAGS_MANUAL_CMD_CTRL`: our control function answers all commands. `ENGINE_FLAGS_NO_REGISTER_ALL`: a program that registers all engines
/// for everything (OpenSSH does) gets of this engine only what the configuration asks for.
const FLAGS: c_int = 2 | 8;

unsafe extern "C" fn started(_: Opaque) -> c_int {
    1
}

/// Registers everything; `None` where memory runs out.
///
/// # Safety
/// `engine` is the ENGINE that the libcrypto of `functions` gave to be set up.
pub(crate) unsafe fn bind(functions: &'static Functions, engine: Opaque) -> Option<c_int> {
    // SAFETY: libcrypto's functions on the engine it gave.
    let bound = unsafe {
        (functions.engine_set_id)(engine, c"adjunct".as_ptr()) == 1
            && (functions.engine_set_name)(engine, c"adjunct: hardware crypto with statistics".as_ptr()) == 1
            && (functions.engine_set_init)(engine, started) == 1
            && (functions.engine_set_control)(engine, control::control) == 1
            && (functions.engine_set_flags)(engine, FLAGS) == 1
            && (functions.engine_set_rsa)(engine, rsa::method(functions)?) == 1
            && (functions.engine_set_ec)(engine, ec::method(functions)?) == 1
            && bulk::find().is_none_or(|bulk| {
                (bulk.engine_set_ciphers)(engine, cipher::selector) == 1
                    && (bulk.engine_set_digests)(engine, digest::selector) == 1
                    && (bulk.engine_set_rand)(engine, (&raw const rand::METHOD).cast()) == 1
            })
    };
    Some(c_int::from(bound))
}
