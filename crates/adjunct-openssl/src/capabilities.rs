//! The TLS groups: libssl keeps a group only if the provider that lists it is the one whose keys serve it, so every group
//! of a key type we serve must be listed by us, too, or TLS loses it.
//!
//! What the default provider lists for our key types is passed on, so the groups are exactly those this OpenSSL was built
//! with; those on curves that are not ours are served by `fallback` like any other key on such a curve.

use crate::abi::guard;
use crate::abi::param::{self, Param};
use crate::fallback::{self, ExportCallback};
use crate::provider::provider;
use adjunct::config::Group;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

const TLS_GROUP: &CStr = c"TLS-GROUP";

/// A group as libssl reads it: names, number, security bits, first and last TLS and DTLS version (0: no last one).
struct TlsGroup {
    name: &'static CStr,
    curve: &'static CStr,
    keys: &'static CStr,
    number: c_uint,
    security: c_uint,
}

/// What is listed where the default provider cannot be asked: the groups that need nothing of it.
static OWN: [TlsGroup; 4] = [
    TlsGroup { name: c"secp256r1", curve: c"prime256v1", keys: c"EC", number: 0x17, security: 128 },
    TlsGroup { name: c"secp384r1", curve: c"secp384r1", keys: c"EC", number: 0x18, security: 192 },
    TlsGroup { name: c"secp521r1", curve: c"secp521r1", keys: c"EC", number: 0x19, security: 256 },
    TlsGroup { name: c"x25519", curve: c"X25519", keys: c"X25519", number: 0x1D, security: 128 },
];

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
        if !capability.to_bytes().eq_ignore_ascii_case(TLS_GROUP.to_bytes()) || !provider.groups.has(Group::Ec) {
            // What OpenSSL expects of a capability a provider does not have.
            return 0;
        }
        let mut next = Next { callback, argument };
        match fallback::library(&provider.core) {
            // SAFETY: `pass_on` takes a `Next`, which outlives the call.
            Some(library) => unsafe { fallback::capabilities(library, TLS_GROUP, pass_on, (&raw mut next).cast()) },
            None => list_own(&next),
        }
    })
}

/// Where the entries go.
struct Next {
    callback: ExportCallback,
    argument: *mut c_void,
}

/// Passes an entry of the default provider on if it is of a key type we serve.
unsafe extern "C" fn pass_on(params: *const Param, argument: *mut c_void) -> c_int {
    guard(0, || {
        // SAFETY: the argument is the `Next` given with this function; the array is OpenSSL's.
        let (next, mut entries) = unsafe { (&*argument.cast::<Next>(), param::iter(params)) };
        let keys = entries.find(|p| p.name() == c"tls-group-alg").and_then(Param::get_str);
        if !keys.is_some_and(|k| ["EC", "X25519"].iter().any(|ours| k.eq_ignore_ascii_case(ours))) {
            return 1;
        }
        // SAFETY: libssl's own callback and argument, with the array as it came.
        unsafe { (next.callback)(params, next.argument) }
    })
}

fn list_own(next: &Next) -> c_int {
    for group in &OWN {
        let text = |key: &'static CStr, value: &'static CStr| Param {
            key: key.as_ptr(),
            data_type: param::UTF8,
            data: value.as_ptr().cast_mut().cast(),
            data_size: value.to_bytes_with_nul().len(),
            return_size: param::UNMODIFIED,
        };
        let (mut tls, mut dtls, mut none) = (0x0301 as c_int, 0xFEFF as c_int, 0 as c_int);
        let (mut number_value, mut security, mut kem) = (group.number, group.security, 0 as c_uint);
        let number = |key: &'static CStr, data_type: c_uint, data: *mut c_void| Param {
            key: key.as_ptr(),
            data_type,
            data,
            data_size: size_of::<c_int>(),
            return_size: param::UNMODIFIED,
        };
        let entry = [
            text(c"tls-group-name", group.name),
            text(c"tls-group-name-internal", group.curve),
            text(c"tls-group-alg", group.keys),
            number(c"tls-group-id", param::UNSIGNED, (&raw mut number_value).cast()),
            number(c"tls-group-sec-bits", param::UNSIGNED, (&raw mut security).cast()),
            number(c"tls-group-is-kem", param::UNSIGNED, (&raw mut kem).cast()),
            number(c"tls-min-tls", param::INTEGER, (&raw mut tls).cast()),
            number(c"tls-max-tls", param::INTEGER, (&raw mut none).cast()),
            number(c"tls-min-dtls", param::INTEGER, (&raw mut dtls).cast()),
            number(c"tls-max-dtls", param::INTEGER, (&raw mut none).cast()),
            Param::END,
        ];
        // SAFETY: libssl's own callback and argument; it copies what it keeps.
        if unsafe { (next.callback)(entry.as_ptr(), next.argument) } != 1 {
            return 0;
        }
    }
    1
}
