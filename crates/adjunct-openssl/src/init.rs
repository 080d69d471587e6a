//! The module's entry point, the operations it offers, and what OpenSSL asks of the provider as a whole.

use crate::abi::core::Core;
use crate::abi::param::{self, Param};
use crate::abi::{self, Algorithm, Dispatch, OsslAlgorithm, guard, id};
use crate::entry;
use crate::neighbours::Watch;
use crate::provider::{Provider, provider};
use crate::{capabilities, cipher, digest, ec, ecx, fallback, kem, mac, prime, rand, rsa};
use adjunct::config::{Group, Groups, Setting};
use adjunct_ossl::engines::Engines;
use adjunct_ossl::random;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::AtomicPtr;

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
fn switched_on(name: &str, value: &str) -> bool {
    match value.trim() {
        v if ["yes", "on", "true", "1"].iter().any(|word| v.eq_ignore_ascii_case(word)) => true,
        v if ["no", "off", "false", "0", ""].iter().any(|word| v.eq_ignore_ascii_case(word)) => false,
        _ => {
            adjunct::diag::warn(&format!("openssl.cnf: {name} is neither yes nor no; it is off"));
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
    if groups.has(Group::Kem) {
        for (operation, algorithms) in kem::OPERATIONS {
            offer(operation, algorithms);
        }
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
        // SAFETY: the pointers are OpenSSL's.
        let core = unsafe { Core::new(handle, table) };
        let setting = |setting: Setting| core.config(setting.name());
        let mut groups = match setting(Setting::Algorithms) {
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
            for group in [Group::Rsa, Group::Ec, Group::Macs, Group::Kem] {
                groups.remove(group);
            }
        }
        let switch = |switch: Setting| setting(switch).is_some_and(|value| switched_on(switch.name(), &value));
        let implicit_rejection = switch(Setting::ImplicitRejection);
        let yields = switch(Setting::Yield);
        if let Some(value) = setting(Setting::Accelerator) {
            adjunct::ops::batches::configure_for_all("openssl.cnf: accelerator", &value);
        }
        if let Some(value) = setting(Setting::Engine) {
            adjunct_engine::register::register(core.address(), &value);
        }
        if !groups.has(Group::Rand) {
            random::build_generator_of(c"adjunct.own!=yes", &core);
        }
        prime::at_load(&core);
        digest::follow_version(&core.config("openssl-version").unwrap_or_default());
        let version = version(&core);
        let engines = Engines::of(core.libcrypto());
        let watch = yields.then(|| Watch::new(&core)).flatten();
        let library = fallback::Cache::default();
        let tables = tables(version, groups);
        let encoders = AtomicPtr::default();
        let provider =
            Box::new(Provider { core, version, groups, implicit_rejection, engines, watch, library, tables, encoders });
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
        prime::now(&provider.core);
        if provider.steps_back() {
            return std::ptr::null();
        }
        if operation == id::OP_ENCODER {
            return ec::encoder::list(provider);
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

unsafe extern "C" fn get_params(provctx: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: the pointer is OpenSSL's.
        unsafe { provider(provctx) }.looked_at();
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
