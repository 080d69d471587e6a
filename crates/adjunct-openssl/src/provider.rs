//! The provider as its operations see it: OpenSSL for errors, the configuration, the engines, the default provider. The list of
//! operations stands above them, in [`crate::init`].

use crate::abi::core::Core;
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::abi::{self, OsslAlgorithm};
use crate::encoders::Encoders;
use crate::fallback;
use crate::neighbours::Watch;
use adjunct::config::Groups;
use adjunct::error::{Error, Fault};
use adjunct_ossl::engines::Engines;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A loaded instance of the provider; every context holds a pointer to it, and OpenSSL keeps it alive as long as they live.
#[derive(Debug)]
pub struct Provider {
    /// OpenSSL as this instance sees it.
    pub core: Core,
    /// The version of libcrypto, major and minor: some defaults changed between them.
    pub version: (u32, u32),
    /// The groups of algorithms that `algorithms =` enables.
    pub groups: Groups,
    /// Whether PKCS#1 v1.5 decryption rejects implicitly where this OpenSSL itself does not (`implicit-rejection = yes`).
    pub(crate) implicit_rejection: bool,
    /// The engines of this libcrypto.
    pub engines: Engines,
    /// The watch for a program's own provider (`yield = yes`).
    pub(crate) watch: Option<Watch>,
    pub(crate) library: fallback::Cache,
    /// The algorithms that the provider offers, by operation.
    pub(crate) tables: Vec<(c_int, Vec<OsslAlgorithm>)>,
    /// The encoders, made when they are first asked for; null until then.
    pub(crate) encoders: AtomicPtr<Encoders>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        // SAFETY: what was published by `encoders`, if anything; nobody has the provider any more.
        unsafe { abi::free::<Encoders>(self.encoders.get_mut().cast()) };
    }
}

/// The provider behind the `provctx` OpenSSL passes to every `newctx`.
///
/// # Safety
/// `provctx` is the one `OSSL_provider_init` gave, and the provider has not been torn down.
pub unsafe fn provider<'a>(provctx: *mut c_void) -> &'a Provider {
    // SAFETY: the caller passes what `OSSL_provider_init` gave, and the provider has not been torn down.
    unsafe { &*provctx.cast::<Provider>() }
}

impl Provider {
    /// Whether nothing is to be offered, because the program has brought a provider of its own.
    #[inline]
    pub fn steps_back(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.steps_back(&self.core))
    }

    /// Whether an error of the core is the end: where nothing else may do the operation over, as with a card's key. Then it raises the error, with the core's
    /// words.
    pub fn is_final(&self, error: &Error) -> bool {
        if error.may_fall_back() {
            return false;
        }
        let reason = match error.fault() {
            Fault::Key => prov::INVALID_KEY,
            Fault::Caller => prov::PASSED_INVALID_ARGUMENT,
            Fault::Device | Fault::Here => prov::OPERATION_FAIL,
        };
        self.core.raise_words(reason, error);
        true
    }

    /// Notes that the program looks at this provider.
    pub fn looked_at(&self) {
        if let Some(watch) = &self.watch {
            watch.looked_at();
        }
    }

    /// OpenSSL's default provider, for operations that are handed over; raises the reason where there is none.
    pub fn fallback(&self) -> Option<&'static fallback::Library> {
        let library = self.library.get(&self.core);
        if library.is_none() {
            self.core.raise(prov::FETCH_FAILED.with(c"no shared libcrypto whose default provider could be asked"));
        }
        library
    }

    /// The encoders, which `make` makes at the first call, with the library that they belong to; `None` where there are none. No lock is taken: made
    /// by two threads at once, they are made twice and one is dropped.
    pub fn encoders(
        &self,
        make: impl FnOnce(&fallback::Library) -> Option<Encoders>,
    ) -> Option<(&'static fallback::Library, &Encoders)> {
        let library = self.library.get(&self.core)?;
        let null = std::ptr::null_mut();
        let mut made = self.encoders.load(Ordering::Acquire);
        if made.is_null() {
            let fresh = abi::give(make(library)?).cast::<Encoders>();
            made = match self.encoders.compare_exchange(null, fresh, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => fresh,
                Err(theirs) => {
                    // SAFETY: made just now, and not published.
                    unsafe { abi::free::<Encoders>(fresh.cast()) };
                    theirs
                }
            };
        }
        // SAFETY: once published it is not changed, and freed with the provider.
        unsafe { made.as_ref() }.map(|encoders| (library, encoders))
    }

    /// Makes those digests known to [`Provider::fallback`] that only the program has: `digest`, and what `params` name.
    ///
    /// # Safety
    /// `params` is a parameter array, or null.
    pub unsafe fn adopt_digests(&self, digest: Option<&CStr>, params: *const Param) {
        let Some(library) = self.library.get(&self.core) else { return };
        let foreign = |name: &&str| adjunct::ops::digest::Method::from_name(name).is_none();
        let adopt = |name: &str| {
            // OpenSSL takes no name that is longer.
            let mut terminated = [0; 50];
            if name.len() < terminated.len() {
                terminated[..name.len()].copy_from_slice(name.as_bytes());
                library.adopt_digest(&self.core, CStr::from_bytes_until_nul(&terminated).unwrap_or(c""));
            }
        };
        digest.and_then(|name| name.to_str().ok()).filter(foreign).into_iter().for_each(adopt);
        // SAFETY: the caller passes null or a parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            if matches!(p.name().to_bytes(), b"digest" | b"mgf1-digest") {
                p.get_str().filter(foreign).into_iter().for_each(adopt);
            }
        }
    }

    /// Whether OpenSSL's own ChaCha20 tells its counter (`updated-iv`), and counts a block when it is begun: 3.6 and later. A new key
    /// without an IV then passes over a begun block, which comes again with older versions.
    pub fn tells_chacha20_counter(&self) -> bool {
        let library = self.library.get(&self.core);
        library.map_or(self.version >= (3, 6), fallback::Library::tells_chacha20_counter)
    }

    /// Whether a wrong PKCS#1 v1.5 padding can give a random message instead of an error: where OpenSSL does so (from 3.2 on, and older ones with a
    /// distribution's patch), or where the configuration asks for it.
    pub fn rejects_implicitly(&self) -> bool {
        self.implicit_rejection || self.library.get(&self.core).is_some_and(fallback::Library::rejects_implicitly)
    }
}
