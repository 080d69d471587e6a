//! Calls, a line each, in the file that `ADJUNCT_PKCS11_TRACE` names: arguments and return values, and of the data that arguments point to the names
//! of mechanisms and attributes alone. No key, PIN or data is ever written.

use adjunct_mechanisms::names;
use cryptoki_sys::*;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(false);
static FILE: OnceLock<Option<File>> = OnceLock::new();

/// Whether calls are traced.
#[inline]
pub fn on() -> bool {
    ON.load(Relaxed)
}

/// Opens the file that the environment names, once; not in a program that runs with another user's rights.
pub fn start() {
    FILE.get_or_init(|| {
        let path = adjunct::environment::secure_env("ADJUNCT_PKCS11_TRACE")?;
        let opened = File::options().create(true).append(true).open(&path);
        match opened {
            Ok(file) => {
                ON.store(true, Relaxed);
                Some(file)
            }
            Err(error) => {
                adjunct::diag::warn(&format!("ADJUNCT_PKCS11_TRACE: {path}: {error}; calls are not traced"));
                None
            }
        }
    });
}

/// An argument in the trace.
pub trait Shown {
    /// Writes the argument.
    fn show(&self, out: &mut String);
}

impl Shown for CK_ULONG {
    fn show(&self, out: &mut String) {
        let _ = write!(out, "{:#x}", self);
    }
}

impl Shown for CK_BBOOL {
    fn show(&self, out: &mut String) {
        let _ = write!(out, "{}", self);
    }
}

impl Shown for CK_NOTIFY {
    fn show(&self, out: &mut String) {
        out.push_str(if self.is_some() { "given" } else { "null" });
    }
}

macro_rules! pointers {
    ($($type:ty)*) => { $(
        impl Shown for *mut $type {
            fn show(&self, out: &mut String) {
                out.push_str(if self.is_null() { "null" } else { "given" });
            }
        }
    )* };
}

pointers! {
    std::ffi::c_void u8 CK_INFO CK_SLOT_INFO CK_TOKEN_INFO CK_MECHANISM_INFO CK_SESSION_INFO CK_VERSION CK_INTERFACE CK_ATTRIBUTE
    CK_ASYNC_DATA *mut CK_FUNCTION_LIST *mut CK_INTERFACE
}

impl Shown for *mut CK_ULONG {
    fn show(&self, out: &mut String) {
        if self.is_null() || !self.is_aligned() {
            return out.push_str(if self.is_null() { "null" } else { "misaligned" });
        }
        // SAFETY: the caller's number, which the call has just used.
        let _ = write!(out, "[{:#x}]", unsafe { **self });
    }
}

impl Shown for *mut CK_MECHANISM {
    fn show(&self, out: &mut String) {
        if self.is_null() || !self.is_aligned() {
            return out.push_str(if self.is_null() { "null" } else { "misaligned" });
        }
        // SAFETY: the caller's mechanism, which the call has just used.
        let mechanism = unsafe { &**self };
        let length = mechanism.ulParameterLen;
        let _ = match names::mechanism(mechanism.mechanism) {
            Some(name) => write!(out, "{name} ({length} bytes of parameters)"),
            None => write!(out, "{:#x} ({length} bytes of parameters)", mechanism.mechanism),
        };
    }
}

/// Writes the line of a call.
#[cold]
pub fn call(name: &str, rv: CK_RV, arguments: &[(&str, &dyn Shown)]) {
    let Some(Some(file)) = FILE.get() else { return };
    let mut line = format!("{} {} ", std::process::id(), rustix::thread::gettid().as_raw_nonzero());
    line.push_str(name);
    line.push('(');
    for (at, (name, argument)) in arguments.iter().enumerate() {
        if at > 0 {
            line.push_str(", ");
        }
        line.push_str(name);
        line.push('=');
        argument.show(&mut line);
    }
    let _ = match names::return_value(rv) {
        Some(name) => writeln!(line, ") = {name}"),
        None => writeln!(line, ") = {rv:#x}"),
    };
    // One write a line: those of other threads and processes do not mix. A disk that is full costs the line.
    let _ = (&*file).write_all(line.as_bytes());
}
