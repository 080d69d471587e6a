//! Commands of the engine's section in openssl.cnf, and of `openssl engine -pre`.
//!
//! libcrypto rejects the whole configuration at a command that an engine does not know, and a program may then refuse to start: OpenSSH from 10.3 on
//! does, so that logins fail. So every name is accepted; an unknown one only causes a line of output.

use crate::libcrypto::Opaque;
use adjunct_ossl::guard;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// `ENGINE_CTRL_*`.
mod command {
    use std::ffi::c_int;
    pub const HAS_CONTROL: c_int = 10;
    pub const FIRST: c_int = 11;
    pub const NEXT: c_int = 12;
    pub const FROM_NAME: c_int = 13;
    pub const NAME_LENGTH: c_int = 14;
    pub const NAME: c_int = 15;
    pub const DESCRIPTION_LENGTH: c_int = 16;
    pub const DESCRIPTION: c_int = 17;
    pub const FLAGS: c_int = 18;
}

/// `ENGINE_CMD_FLAG_STRING`.
const STRING: c_int = 2;
/// `ENGINE_CMD_BASE`, the number of our first command.
const BASE: c_int = 200;
/// The commands, with their descriptions.
const COMMANDS: [(&CStr, &CStr); 2] = [
    (c"accelerator", c"on (default), always or off: always does operations of several threads in one batch"),
    (c"ciphers", c"safe (default) or all: all adds CBC, CTR, CFB, OFB and 3DES, which OpenSSH cannot use of an engine"),
];
/// The number of every name that means nothing here.
const UNKNOWN: c_int = BASE + COMMANDS.len() as c_int;

fn described(number: c_long) -> Option<(&'static CStr, &'static CStr)> {
    COMMANDS.get(usize::try_from(number - c_long::from(BASE)).ok()?).copied()
}

/// The engine's control function (`ENGINE_FLAGS_MANUAL_CMD_CTRL`).
///
/// # Safety
/// Called by libcrypto.
pub unsafe extern "C" fn control(
    _engine: Opaque,
    command: c_int,
    number: c_long,
    pointer: *mut c_void,
    _function: *const c_void,
) -> c_int {
    guard(-1, || {
        let text = |out: &CStr| {
            if pointer.is_null() {
                return -1;
            }
            // SAFETY: by the rule of these commands there is room for as much as the length told, and its end.
            unsafe { std::ptr::copy_nonoverlapping(out.as_ptr(), pointer.cast::<c_char>(), out.count_bytes() + 1) };
            out.count_bytes() as c_int
        };
        let length = |text: Option<&CStr>| text.map_or(-1, |text| text.count_bytes() as c_int);
        let (name, description) = described(number).unzip();
        match command {
            command::HAS_CONTROL => 1,
            command::FIRST => BASE,
            command::NEXT => described(number + 1).map_or(0, |_| number as c_int + 1),
            // SAFETY: a string of the caller's, or null.
            command::FROM_NAME => unsafe { from_name(pointer.cast()) },
            command::NAME_LENGTH => length(name),
            command::NAME => name.map_or(-1, text),
            command::DESCRIPTION_LENGTH => length(description),
            command::DESCRIPTION => description.map_or(-1, text),
            command::FLAGS if name.is_some() || number == c_long::from(UNKNOWN) => STRING,
            UNKNOWN => 1,
            _ if pointer.is_null() => -1,
            // SAFETY: a string of the caller's.
            _ => run(command, &unsafe { CStr::from_ptr(pointer.cast()) }.to_string_lossy()),
        }
    })
}

/// Does what a line of the section says; a wrong value costs a line, as a wrong name does.
fn run(command: c_int, value: &str) -> c_int {
    let Some((name, _)) = described(command.into()) else { return -1 };
    if name == c"accelerator" {
        adjunct::ops::batches::configure_for_all("openssl.cnf: accelerator", value);
    } else if !crate::cipher::offer(value) {
        let shown: String = value.chars().take(64).collect();
        adjunct::diag::warn(&format!(
            "openssl.cnf: ciphers: unknown word '{shown}'; known: safe all; safe is in force"
        ));
    }
    1
}

unsafe fn from_name(name: *const c_char) -> c_int {
    if name.is_null() {
        return -1;
    }
    // SAFETY: `name` is not null; libcrypto passes a C string with this command.
    let name = unsafe { CStr::from_ptr(name) };
    if let Some(index) = COMMANDS.iter().position(|(known, _)| *known == name) {
        return BASE + index as c_int;
    }
    let shown: String = name.to_string_lossy().chars().take(64).collect();
    let known = COMMANDS.map(|(known, _)| known.to_string_lossy()).join(" ");
    adjunct::diag::warn(&format!(
        "openssl.cnf: the engine has no command '{shown}' and goes on without it; it has: {known}"
    ));
    UNKNOWN
}
