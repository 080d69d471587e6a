//! Digests and ciphers that an ENGINE of the program replaces.
//!
//! The default provider's MACs and signatures digest and encipher through EVP, which asks for the engine that is registered for a
//! digest or cipher first. A provider that computes them itself would pass such an engine over.

use crate::Opaque;
use crate::object::Object;
use std::ffi::c_int;

crate::functions! {
    /// The functions of libcrypto used here; all exist until OpenSSL 3.6, unless it was built without engines.
    Functions:
    digest_engine c"ENGINE_get_digest_engine" (c_int) -> Opaque;
    cipher_engine c"ENGINE_get_cipher_engine" (c_int) -> Opaque;
    finish c"ENGINE_finish" (Opaque) -> c_int;
}

/// The engines of the libcrypto behind a provider, where it has engines and can be found.
pub struct Engines(Option<Functions>);

impl std::fmt::Debug for Engines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Engines").field(&self.0.is_some()).finish()
    }
}

impl Engines {
    /// Finds the engine functions of a libcrypto; empty where it was not found.
    pub fn of(libcrypto: Option<Object>) -> Engines {
        Engines(libcrypto.and_then(Functions::find))
    }

    /// Whether an engine is registered for the digest of this number (`NID_*`).
    pub fn replace_digest(&self, number: c_int) -> bool {
        self.0.as_ref().is_some_and(|functions| functions.has(functions.digest_engine, number))
    }

    /// Whether an engine is registered for the cipher of this number (`NID_*`).
    pub fn replace_cipher(&self, number: c_int) -> bool {
        self.0.as_ref().is_some_and(|functions| functions.has(functions.cipher_engine, number))
    }
}

impl Functions {
    /// Takes no lock in libcrypto where no engine is registered for any digest or cipher.
    fn has(&self, get: unsafe extern "C" fn(c_int) -> Opaque, number: c_int) -> bool {
        // SAFETY: libcrypto's functions, called as documented.
        unsafe {
            let engine = get(number);
            !engine.is_null() && {
                (self.finish)(engine);
                true
            }
        }
    }
}
