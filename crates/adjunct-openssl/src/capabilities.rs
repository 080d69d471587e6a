//! The TLS groups: libssl keeps a group only if the provider that lists it is the one whose keys serve it, so every group
//! of a key type we serve must be listed by us, too, or TLS loses it.
//!
//! What the default provider lists for our key types is passed on, so the groups are exactly those this OpenSSL was built with; groups on curves that
//! adjunct does not compute are served by `fallback`, like any other key on such a curve. The groups of ML-KEM, which OpenSSL lacks before 3.5, are
//! listed besides.

use crate::abi::guard;
use crate::abi::param::{self, Param};
use crate::fallback::{self, ExportCallback};
use crate::kem::groups;
use crate::provider::provider;
use adjunct::config::{Group, Groups};
use std::ffi::{CStr, c_char, c_int, c_void};

const TLS_GROUP: &CStr = c"TLS-GROUP";

/// `OSSL_FUNC_provider_get_capabilities`.
///
/// # Safety
/// Called by OpenSSL.
pub unsafe extern "C" fn get_capabilities(
    provctx: *mut c_void,
    capability: *const c_char,
    callback: Option<ExportCallback>,
    argument: *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: the pointers are OpenSSL's.
        let (provider, capability) = unsafe { (provider(provctx), CStr::from_ptr(capability)) };
        let Some(callback) = callback else { return 0 };
        let offered = provider.groups;
        if !capability.to_bytes().eq_ignore_ascii_case(TLS_GROUP.to_bytes())
            || !offered.has(Group::Ec) && !offered.has(Group::Kem)
            || provider.steps_back()
        {
            // An empty list. As a failure it would end every SSL_CTX_new: libssl asks all providers, and wants success of each.
            return 1;
        }
        let mut next = Next { callback, argument, offered, listed: 0 };
        let Some(library) = provider.core.libcrypto().and_then(fallback::library) else { return 0 };
        // SAFETY: `pass_on` takes a `Next`, which outlives the call.
        if unsafe { library.capabilities(TLS_GROUP, pass_on, (&raw mut next).cast()) } != 1 {
            return 0;
        }
        let missing = |kind: usize| offered.has(Group::Kem) && next.listed & 1 << kind == 0;
        // SAFETY: libssl's own callback and argument.
        unsafe { groups::list(callback, argument, missing) }
    })
}

/// The places where the next entries go.
struct Next {
    callback: ExportCallback,
    argument: *mut c_void,
    offered: Groups,
    /// The kinds of ML-KEM's keys that the default provider has groups of, a bit each.
    listed: u8,
}

/// Passes an entry of the default provider on if it is of a key type we serve.
///
/// # Safety
/// `argument` is the [`Next`] given with this function, and `params` OpenSSL's parameter array, which ends.
unsafe extern "C" fn pass_on(params: *const Param, argument: *mut c_void) -> c_int {
    guard(0, || {
        // SAFETY: the argument is the `Next` given with this function; the array is OpenSSL's.
        let (next, mut entries) = unsafe { (&mut *argument.cast::<Next>(), param::iter(params)) };
        let keys = entries.find(|p| p.name() == c"tls-group-alg").and_then(Param::get_str).unwrap_or_default();
        let kem = groups::kind_of(keys);
        next.listed |= kem.map_or(0, |kind| 1 << kind);
        let ec = ["EC", "X25519"].iter().any(|ours| keys.eq_ignore_ascii_case(ours));
        if !(ec && next.offered.has(Group::Ec) || kem.is_some() && next.offered.has(Group::Kem)) {
            return 1;
        }
        // SAFETY: libssl's own callback and argument, with the array as it came.
        unsafe { (next.callback)(params, next.argument) }
    })
}
