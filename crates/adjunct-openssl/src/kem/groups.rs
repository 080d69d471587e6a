//! The TLS groups of ML-KEM and its hybrids, for an OpenSSL whose default provider lists none (before 3.5).
//!
//! libssl offers a group that a provider brings along only where a list of groups names it. The entries are those of OpenSSL 3.5, but for
//! the internal name, where it has an empty text: older versions would take an empty name for it.

use super::TYPES;
use crate::abi::param::Param;
use crate::fallback::ExportCallback;
use std::ffi::{CStr, c_int, c_uint, c_void};

/// A group: its name, its number (IANA's registry of TLS's supported groups), and the place of its keys' kind.
struct Group {
    name: &'static CStr,
    number: c_uint,
    bits: c_uint,
    kind: usize,
}

static GROUPS: [Group; 6] = [
    Group { name: c"X25519MLKEM768", number: 0x11EC, bits: 192, kind: 3 },
    Group { name: c"SecP256r1MLKEM768", number: 0x11EB, bits: 192, kind: 4 },
    Group { name: c"SecP384r1MLKEM1024", number: 0x11ED, bits: 256, kind: 5 },
    Group { name: c"MLKEM512", number: 0x0200, bits: 128, kind: 0 },
    Group { name: c"MLKEM768", number: 0x0201, bits: 192, kind: 1 },
    Group { name: c"MLKEM1024", number: 0x0202, bits: 256, kind: 2 },
];

/// Index of the kind whose keys have this name.
pub fn kind_of(name: &str) -> Option<usize> {
    TYPES.iter().position(|ours| ours.to_bytes().eq_ignore_ascii_case(name.as_bytes()))
}

/// Gives `callback` the groups of the kinds that are `wanted`.
///
/// # Safety
/// `callback` takes `argument` as its own.
pub unsafe fn list(callback: ExportCallback, argument: *mut c_void, wanted: impl Fn(usize) -> bool) -> c_int {
    /// TLS 1.3, and no DTLS: OpenSSL has none that is new enough.
    const TLS_1_3: c_int = 0x0304;
    for group in GROUPS.iter().filter(|group| wanted(group.kind)) {
        let (mut number, mut bits, mut kem) = (group.number, group.bits, 1);
        let (mut from, mut to, mut never) = (TLS_1_3, 0, -1);
        let (mut never_too, int) = (-1, |key, value: &mut c_int| Param {
            data: std::ptr::from_mut(value).cast(),
            ..Param::describe(key, crate::abi::param::INTEGER, size_of::<c_int>())
        });
        let entry = [
            Param::text(c"tls-group-name", group.name),
            Param::text(c"tls-group-name-internal", group.name),
            Param::text(c"tls-group-alg", TYPES[group.kind]),
            Param::number(c"tls-group-id", &raw mut number),
            Param::number(c"tls-group-sec-bits", &raw mut bits),
            Param::number(c"tls-group-is-kem", &raw mut kem),
            int(c"tls-min-tls", &mut from),
            int(c"tls-max-tls", &mut to),
            int(c"tls-min-dtls", &mut never),
            int(c"tls-max-dtls", &mut never_too),
            Param::END,
        ];
        // SAFETY: libssl's own callback and argument; the entry lives through the call.
        if unsafe { callback(entry.as_ptr(), argument) } != 1 {
            return 0;
        }
    }
    1
}
