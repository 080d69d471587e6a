//! Registration of the engine by the provider, while that is loaded; openssl.cnf needs no section for the engine.
//!
//! A line `engines =` in openssl.cnf names a configuration module. An OpenSSL without engines (4.0, or built so) does not know it, and neither does
//! one whose engine file is gone or whose configuration is loaded twice: where the file also says `config_diagnostics = 1`, as Debian's does, each of
//! these keeps programs from starting, sshd from OpenSSH 10.3 on among them. A key in the provider's own section is ignored by every OpenSSL that
//! does not know it.

use crate::libcrypto::{self, Opaque};
use crate::{ec, rand, rsa};
use adjunct::config::engine_methods::{AUTO, DH, EC, EC_CALLS, RAND, RSA, RSA_CALLS};
use adjunct_ossl::errors::Errors;
use adjunct_ossl::imports;
use adjunct_ossl::object::Object;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

adjunct_ossl::functions! {
    /// The functions that register an engine; an OpenSSL without engines has none of them.
    Registry { errors: Errors }:
    new c"ENGINE_new" () -> Opaque;
    free c"ENGINE_free" (Opaque) -> c_int;
    finish c"ENGINE_finish" (Opaque) -> c_int;
    add c"ENGINE_add" (Opaque) -> c_int;
    first c"ENGINE_get_first" () -> Opaque;
    next c"ENGINE_get_next" (Opaque) -> Opaque;
    id c"ENGINE_get_id" (Opaque) -> *const c_char;
    default_rsa c"ENGINE_get_default_RSA" () -> Opaque;
    default_ec c"ENGINE_get_default_EC" () -> Opaque;
    default_dh c"ENGINE_get_default_DH" () -> Opaque;
    default_rand c"ENGINE_get_default_RAND" () -> Opaque;
    random c"RAND_get_rand_method" () -> Opaque;
    own_random c"RAND_OpenSSL" () -> Opaque;
    set_random c"RAND_set_rand_method" (*const c_void) -> c_int;
}

/// Lays the engine's methods under the low-level functions of the libcrypto around the address `inside`, for `groups`
/// (the words of `default_algorithms`, or `auto`; see [`adjunct::config::engine`]). Says whether it did.
///
/// The engine is in libcrypto's list, to be seen and asked for, and the default of nothing: [`crate::tables`] says why, and
/// where its methods are instead.
///
/// Nothing is done, and nothing said, where that libcrypto has no engines, where an engine named adjunct is there already,
/// and for a second libcrypto of the process. An engine that is some group's default already stays so.
pub fn register(inside: *const c_void, groups: &str) -> bool {
    let (mut methods, errors) = adjunct::config::engine(groups);
    for error in errors {
        adjunct::diag::warn(&format!("openssl.cnf: {error}; the other words are in force"));
    }
    if methods & AUTO != 0 {
        let [rsa, ec] = imports::of_program([RSA_CALLS, EC_CALLS]).unwrap_or_default();
        methods &= !AUTO;
        methods |= if rsa { RSA } else { 0 } | if ec { EC } else { 0 };
    }
    if methods == 0 {
        return false;
    }
    let Some(object) = Object::around(inside, c"ENGINE_set_id") else { return false };
    let (Some(registry), Some(functions)) = (Registry::find(object), libcrypto::open(inside)) else { return false };
    // Once in a process: what the methods keep with a key has one index.
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::AcqRel) {
        return false;
    }
    registry.errors.quietly(|| {
        // SAFETY: libcrypto's functions, on engines it gave.
        unsafe {
            methods &= !registry.taken(methods);
            let done = methods != 0 && !registry.is_there() && registry.add_engine(functions);
            if done {
                registry.install(functions, methods);
            }
            done
        }
    })
}

impl Registry {
    /// Whether an engine of our name is in the list, configured as one.
    ///
    /// # Safety
    /// The functions of `self` are those of a loaded libcrypto.
    unsafe fn is_there(&self) -> bool {
        let mut found = false;
        // SAFETY: each step takes the reference of the engine it came from.
        unsafe {
            let mut engine = (self.first)();
            while !engine.is_null() {
                let id = (self.id)(engine);
                found |= !id.is_null() && CStr::from_ptr(id) == c"adjunct";
                engine = (self.next)(engine);
            }
        }
        found
    }

    /// The `methods` that another engine serves by default; these are left to it, because they were configured so.
    ///
    /// # Safety
    /// The functions of `self` are those of a loaded libcrypto.
    unsafe fn taken(&self, methods: c_uint) -> c_uint {
        let defaults =
            [(RSA, self.default_rsa), (EC, self.default_ec), (DH, self.default_dh), (RAND, self.default_rand)];
        let mut taken = 0;
        for (method, default) in defaults.into_iter().filter(|(method, _)| methods & method != 0) {
            // SAFETY: gives a reference, or null.
            unsafe {
                let engine = default();
                if !engine.is_null() {
                    taken |= method;
                    (self.finish)(engine);
                }
            }
        }
        // SAFETY: libcrypto's functions; the tables are only compared.
        if methods & RAND != 0 && unsafe { (self.random)() != (self.own_random)() } {
            taken |= RAND;
        }
        taken
    }

    /// Makes the engine serve `methods`. (For DH it serves nothing: OpenSSL's own code does.) Where a table cannot be written to, OpenSSL serves.
    ///
    /// # Safety
    /// `functions`, and those of `self`, are those of one loaded libcrypto.
    unsafe fn install(&self, functions: &'static libcrypto::Functions, methods: c_uint) {
        // SAFETY: libcrypto's functions; the table of random bytes is a static of ours.
        unsafe {
            if methods & RSA != 0 {
                rsa::install(functions);
            }
            if methods & EC != 0 {
                ec::install(functions);
            }
            if methods & RAND != 0 {
                (self.set_random)((&raw const rand::METHOD).cast());
            }
        }
    }

    unsafe fn add_engine(&self, functions: &'static libcrypto::Functions) -> bool {
        // SAFETY: the engine is new, and its one reference of ours is given back.
        unsafe {
            let engine = (self.new)();
            if engine.is_null() {
                return false;
            }
            let added = crate::bind(functions, engine) == Some(1) && (self.add)(engine) == 1;
            (self.free)(engine);
            added
        }
    }
}
