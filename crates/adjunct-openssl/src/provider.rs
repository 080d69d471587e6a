//! The provider itself: what OpenSSL asks of it as a whole.

use crate::abi::core::Core;
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, OsslAlgorithm, guard, id};
use crate::ec::encoder::Encoders;
use crate::{asynchronous, capabilities, cipher, digest, ec, ecx, fallback, mac, rand, rsa};
use adjunct::config::{Group, Groups};
use adjunct_ossl::engines::Engines;
use adjunct_ossl::random;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// One loaded instance; every context holds a pointer to it, and OpenSSL keeps it alive as long as they live.
#[derive(Debug)]
pub struct Provider {
    /// OpenSSL as this instance sees it.
    pub core: Core,
    /// The version of libcrypto, major and minor: some defaults changed between them.
    pub version: (u32, u32),
    /// What `algorithms =` switched on.
    pub groups: Groups,
    /// Whether PKCS#1 v1.5 decryption rejects implicitly where this OpenSSL itself does not (`implicit-rejection = yes`).
    implicit_rejection: bool,
    /// The engines of this libcrypto.
    pub engines: Engines,
    library: fallback::Cache,
    tables: Vec<(c_int, Vec<OsslAlgorithm>)>,
    /// Made when they are first asked for; null until then.
    encoders: AtomicPtr<Encoders>,
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
    // SAFETY: see above.
    unsafe { &*provctx.cast::<Provider>() }
}

impl Provider {
    /// OpenSSL's default provider, to hand an operation to; where there is none, the reason is raised.
    pub fn fallback(&self) -> Option<&'static fallback::Library> {
        let library = self.library.get(&self.core);
        if library.is_none() {
            self.core.raise(prov::FETCH_FAILED.with(c"no shared libcrypto whose default provider could be asked"));
        }
        library
    }

    /// The encoders for EC keys, with the library they are of; `None` where keys are not served, or there is no library. No lock
    /// is taken: made by two threads at once, they are made twice and one is dropped.
    pub fn encoders(&self) -> Option<(&'static fallback::Library, &Encoders)> {
        if !self.groups.has(Group::Ec) {
            return None;
        }
        let library = self.library.get(&self.core)?;
        let null = std::ptr::null_mut();
        let mut made = self.encoders.load(Ordering::Acquire);
        if made.is_null() {
            let fresh = abi::give(Encoders::of(library)?).cast::<Encoders>();
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
        // SAFETY: see above.
        for p in unsafe { param::iter(params) } {
            if matches!(p.name().to_bytes(), b"digest" | b"mgf1-digest") {
                p.get_str().filter(foreign).into_iter().for_each(adopt);
            }
        }
    }

    /// Whether a wrong PKCS#1 v1.5 padding can give a message all the same: as OpenSSL does from 3.2 on, and older ones with
    /// a distribution's patch, or where the configuration asks for it.
    pub fn rejects_implicitly(&self) -> bool {
        self.implicit_rejection || self.library.get(&self.core).is_some_and(fallback::Library::rejects_implicitly)
    }
}

/// The version of libcrypto as it tells it; where it does not, the oldest that has providers.
fn version(core: &Core) -> (u32, u32) {
    let text = core.config("openssl-version").unwrap_or_default();
    let mut numbers = text.split('.').map_while(|n| n.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor),
        _ => (3, 0),
    }
}

/// Reads a switch of the configuration.
fn switched_on(value: &str) -> bool {
    match value.trim() {
        v if ["yes", "on", "true", "1"].iter().any(|word| v.eq_ignore_ascii_case(word)) => true,
        v if ["no", "off", "false", "0", ""].iter().any(|word| v.eq_ignore_ascii_case(word)) => false,
        _ => {
            adjunct::diag::warn("openssl.cnf: implicit-rejection is neither yes nor no; it is off");
            false
        }
    }
}

fn tables(version: (u32, u32), groups: Groups) -> Vec<(c_int, Vec<OsslAlgorithm>)> {
    let mut tables: Vec<(c_int, Vec<OsslAlgorithm>)> = Vec::new();
    let mut offer = |operation: c_int, algorithms: &[Algorithm]| {
        let entries = algorithms.iter().map(|a| a.to_ossl());
        match tables.iter_mut().find(|(op, _)| *op == operation) {
            Some((_, list)) => list.extend(entries),
            None => tables.push((operation, entries.collect())),
        }
    };
    if groups.has(Group::Digests) {
        offer(id::OP_DIGEST, digest::ALGORITHMS);
    }
    if groups.has(Group::Ciphers) {
        offer(id::OP_CIPHER, cipher::ALGORITHMS);
    }
    if groups.has(Group::Ecb) {
        offer(id::OP_CIPHER, cipher::ECB_ALGORITHMS);
    }
    if groups.has(Group::Macs) {
        offer(id::OP_MAC, mac::ALGORITHMS);
    }
    if groups.has(Group::Rand) {
        offer(id::OP_RAND, rand::ALGORITHMS);
    }
    if groups.has(Group::Rsa) {
        offer(id::OP_KEYMGMT, rsa::keymgmt::ALGORITHMS);
        offer(id::OP_SIGNATURE, rsa::signature::ALGORITHMS);
        offer(id::OP_ASYM_CIPHER, rsa::encryption::ALGORITHMS);
    }
    if groups.has(Group::Ec) {
        offer(id::OP_KEYMGMT, ec::keymgmt::ALGORITHMS);
        offer(id::OP_SIGNATURE, ec::signature::ALGORITHMS);
        offer(id::OP_KEYEXCH, ec::exchange::ALGORITHMS);
        offer(id::OP_KEYMGMT, ecx::keymgmt::ALGORITHMS);
        offer(id::OP_SIGNATURE, ecx::signature::algorithms(version));
        offer(id::OP_KEYEXCH, ecx::exchange::algorithms(version));
    }
    for (_, list) in &mut tables {
        list.push(OsslAlgorithm::END);
    }
    tables
}

/// The module's entry point.
///
/// # Safety
/// Called by OpenSSL with its handle and dispatch table (`OSSL_provider_init` in provider(7)).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const c_void,
    table: *const Dispatch,
    out: *mut *const Dispatch,
    provctx: *mut *mut c_void,
) -> c_int {
    guard(0, || {
        adjunct::init();
        // SAFETY: the pointers are OpenSSL's.
        let core = unsafe { Core::new(handle, table) };
        let mut groups = match core.config("algorithms") {
            None => Groups::default(),
            Some(value) => {
                let (groups, errors) = Groups::parse(&value);
                for error in errors {
                    adjunct::diag::warn(&format!("openssl.cnf: {error}; the other words are in force"));
                }
                groups
            }
        };
        // Names that cover what only OpenSSL's default provider can do (another curve, three primes, HMAC over RIPEMD-160) are
        // left to it where it cannot be handed over: with libcrypto linked statically into a program that exports nothing.
        if !core.libcrypto().is_some_and(fallback::reachable) {
            for group in [Group::Rsa, Group::Ec, Group::Macs] {
                groups.remove(group);
            }
        }
        let implicit_rejection = core.config("implicit-rejection").is_some_and(|value| switched_on(&value));
        if let Some(value) = core.config("accelerator") {
            adjunct::adapter::lanes::configure("openssl.cnf: accelerator", &value);
        }
        if let Some(value) = core.config("engine") {
            adjunct_engine::register::register(core.address(), &value);
        }
        if !groups.has(Group::Rand) {
            random::build_generator_of(c"provider!=adjunct", &core);
        }
        asynchronous::prepare(&core);
        digest::follow_version(&core.config("openssl-version").unwrap_or_default());
        let version = version(&core);
        let engines = Engines::of(core.libcrypto());
        let library = fallback::Cache::default();
        let tables = tables(version, groups);
        let encoders = AtomicPtr::default();
        let provider =
            Box::new(Provider { core, version, groups, implicit_rejection, engines, library, tables, encoders });
        // SAFETY: the out pointers are OpenSSL's.
        unsafe {
            *out = FUNCTIONS.as_ptr();
            *provctx = abi::into_raw(provider);
        }
        1
    })
}

static FUNCTIONS: [Dispatch; 6] = [
    entry!(id::PROVIDER_TEARDOWN, teardown),
    entry!(id::PROVIDER_GETTABLE_PARAMS, gettable_params),
    entry!(id::PROVIDER_GET_PARAMS, get_params),
    entry!(id::PROVIDER_QUERY_OPERATION, query_operation),
    entry!(id::PROVIDER_GET_CAPABILITIES, capabilities::get_capabilities),
    Dispatch::END,
];

use crate::entry;

unsafe extern "C" fn teardown(provctx: *mut c_void) {
    // SAFETY: OpenSSL tears a provider down once, after its last context.
    guard((), || unsafe { abi::free::<Provider>(provctx) });
}

unsafe extern "C" fn query_operation(
    provctx: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const OsslAlgorithm {
    guard(std::ptr::null(), || {
        // SAFETY: pointers from OpenSSL.
        let provider = unsafe {
            if !no_cache.is_null() {
                *no_cache = 0;
            }
            provider(provctx)
        };
        if operation == id::OP_ENCODER {
            return provider.encoders().map_or(std::ptr::null(), |(_, encoders)| encoders.list());
        }
        let found = provider.tables.iter().find(|(op, _)| *op == operation);
        found.map_or(std::ptr::null(), |(_, list)| list.as_ptr())
    })
}

static PARAMS: [Param; 5] = [
    Param::describe(c"name", param::UTF8_PTR, 0),
    Param::describe(c"version", param::UTF8_PTR, 0),
    Param::describe(c"buildinfo", param::UTF8_PTR, 0),
    Param::describe(c"status", param::INTEGER, 4),
    Param::END,
];

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    PARAMS.as_ptr()
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

unsafe extern "C" fn get_params(_provctx: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: the array is OpenSSL's.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"name" => p.set_str(c"adjunct provider"),
                b"version" | b"buildinfo" => p.set_str(VERSION),
                b"status" => p.set_u64(1),
                _ => true,
            };
            if !done {
                return 0;
            }
        }
        1
    })
}
