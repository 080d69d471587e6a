//! The default provider's own dispatch tables.
//!
//! Where one algorithm name covers what a provider serves and what it does not (every curve is an `EC` key), a key or context that
//! it does not serve *is* the default provider's: OpenSSL's calls are passed on one to one, so nothing can differ. Whatever the
//! installed libcrypto knows beyond that (a newer parameter, another curve) works the same way.

use crate::Opaque;
use crate::dispatch::{AnyFunction, Dispatch};
use std::ffi::{c_int, c_void};

/// An algorithm of the default provider.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    context: Opaque,
    functions: *const Dispatch,
}

// SAFETY: the tables are immutable statics of libcrypto; the provider context is locked by libcrypto itself.
unsafe impl Send for Algorithm {}
// SAFETY: the tables are immutable statics of libcrypto; libcrypto itself locks the provider context.
unsafe impl Sync for Algorithm {}

impl Algorithm {
    /// A table of functions, with the context of a provider that has it.
    pub(super) fn of(context: Opaque, functions: *const Dispatch) -> Algorithm {
        Algorithm { context, functions }
    }

    /// The `provctx` that the algorithm's constructors take.
    pub fn provider_context(self) -> *mut c_void {
        self.context
    }

    /// The function of an `OSSL_FUNC_*` number; `None` where this libcrypto has none.
    ///
    /// # Safety
    /// `F` is the function pointer type core_dispatch.h gives the number.
    pub unsafe fn function<F: Copy>(self, id: c_int) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<AnyFunction>()) };
        let mut entry = self.functions;
        // SAFETY: the table ends with number 0; a function pointer is a function pointer, the caller answers for its type.
        unsafe {
            while (*entry).id != 0 {
                if (*entry).id == id {
                    return (*entry).function.map(|f| std::mem::transmute_copy::<AnyFunction, F>(&f));
                }
                entry = entry.add(1);
            }
        }
        None
    }
}

/// An object of the default provider (a key, an operation's context), freed on every way out.
#[derive(Debug)]
pub struct AlgorithmContext {
    algorithm: Algorithm,
    raw: *mut c_void,
    free: c_int,
}

// SAFETY: whoever shares it shares it as OpenSSL would: keys read by many threads, contexts used by one at a time.
unsafe impl Send for AlgorithmContext {}
// SAFETY: a shared object is used as OpenSSL would use it: several threads may read a key, and its owner has one thread at a time use a context.
unsafe impl Sync for AlgorithmContext {}

impl Drop for AlgorithmContext {
    fn drop(&mut self) {
        // SAFETY: the function of this number takes the object and nothing else.
        unsafe {
            if let Some(free) = self.algorithm.function::<unsafe extern "C" fn(*mut c_void)>(self.free) {
                free(self.raw);
            }
        }
    }
}

impl AlgorithmContext {
    /// Takes over an object the algorithm made; `free` is the `OSSL_FUNC_*` number that frees it. Null is `None`.
    ///
    /// # Safety
    /// `raw` came from this algorithm, and no other code frees it.
    pub unsafe fn own(algorithm: Algorithm, raw: *mut c_void, free: c_int) -> Option<AlgorithmContext> {
        // Not made before it is looked at: it would be freed, and not every provider frees null.
        (!raw.is_null()).then(|| AlgorithmContext { algorithm, raw, free })
    }

    /// The algorithm that the context belongs to.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The object, to pass to the algorithm's functions.
    pub fn raw(&self) -> *mut c_void {
        self.raw
    }
}

/// Calls the default provider's function of a number, and is `$failure` where this libcrypto has none:
/// `forward!(algorithm, id::KEYMGMT_HAS, fn(*const c_void, c_int) -> c_int, 0, (raw, selection))`. To be used where the
/// arguments are those OpenSSL gave, so that their validity is OpenSSL's.
#[macro_export]
macro_rules! forward {
    ($algorithm:expr, $id:expr, fn($($type:ty),*) -> $result:ty, $failure:expr, ($($argument:expr),*)) => {{
        let algorithm: $crate::default_provider::Algorithm = $algorithm;
        // SAFETY: the type is that of the number, the arguments are OpenSSL's or the object the algorithm made.
        #[allow(clippy::macro_metavars_in_unsafe, reason = "the head says what they must be")]
        unsafe {
            match algorithm.function::<unsafe extern "C" fn($($type),*) -> $result>($id) {
                Some(function) => function($($argument),*),
                None => $failure,
            }
        }
    }};
}
