//! Runs a sequence of calls once with the default provider and once with ours, and compares everything a program can see:
//! return values, outputs, and after each call OpenSSL's whole error queue (library and reason; an error's data may differ).
//!
//! ```ignore
//! let mut comparison = Comparison::new();
//! comparison.run("AES-128-CBC, short", |r, query| {
//!     let cipher = EVP_CIPHER_fetch(library().0, c"AES-128-CBC".as_ptr(), query.as_ptr());
//!     let n = r.call("EVP_CipherUpdate", || EVP_CipherUpdate(...));
//!     r.bytes("out", &out);
//! });
//! comparison.finish();
//! ```

use super::{ADJUNCT, DEFAULT, ERR_clear_error, ERR_get_error};
use std::ffi::{CStr, c_char, c_int, c_ulong};
use std::fmt::{Debug, Display, Write as _};

unsafe extern "C" {
    fn ERR_lib_error_string(e: c_ulong) -> *const c_char;
    fn ERR_reason_error_string(e: c_ulong) -> *const c_char;
}

/// The record of a run of a sequence, a line for each call and each output.
#[derive(Debug, Default)]
pub struct Recorder {
    lines: Vec<String>,
}

/// The form in which a return value is recorded: a number as it is, a pointer by whether it is null.
pub trait Returned {
    fn text(&self) -> String;
}

macro_rules! returned {
    ($($number:ty)*) => {
        $(impl Returned for $number {
            fn text(&self) -> String {
                self.to_string()
            }
        })*
    };
}
returned!(c_int u32 usize bool);

impl<T> Returned for *mut T {
    fn text(&self) -> String {
        if self.is_null() { "null" } else { "a pointer" }.to_owned()
    }
}

impl<T> Returned for *const T {
    fn text(&self) -> String {
        self.cast_mut().text()
    }
}

impl Recorder {
    /// Makes a call with an empty error queue; records its value and the errors that it left, and empties the queue.
    pub fn call<R: Returned>(&mut self, name: impl Display, call: impl FnOnce() -> R) -> R {
        // SAFETY: libcrypto's calls about this thread's queue.
        unsafe { ERR_clear_error() };
        if tracing() {
            eprintln!("  {name}");
        }
        let value = call();
        self.lines.push(format!("{name} = {}{}", value.text(), queue()));
        value
    }

    /// Records an output.
    pub fn bytes(&mut self, name: impl Display, bytes: &[u8]) {
        let mut text = format!("{name}: {} bytes", bytes.len());
        for byte in bytes.iter().take(64) {
            let _ = write!(text, " {byte:02x}");
        }
        if bytes.len() > 64 {
            let sum = bytes.iter().fold(0u64, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
            let _ = write!(text, " ... ({sum:x})");
        }
        self.lines.push(text);
    }

    /// Records anything else that must be the same.
    pub fn value(&mut self, name: impl Display, value: impl Debug) {
        self.lines.push(format!("{name}: {value:?}"));
    }
}

/// What OpenSSL since 3.2 says of a parameter of the wrong type or size (`ERR_LIB_CRYPTO`) before its provider's error about the
/// same; some of its providers try two types, and leave one even where they succeed. Ours says the provider's alone.
const CONVERSIONS: [c_ulong; 7] = [116, 123, 124, 125, 126, 129, 258 | 3 << 18];

/// The error queue in words, oldest first, and empties it.
pub fn queue() -> String {
    let mut all = String::new();
    loop {
        // SAFETY: libcrypto's calls about this thread's queue; the strings are static or null.
        unsafe {
            let code = ERR_get_error();
            if code == 0 {
                return all;
            }
            let words = |text: *const c_char| {
                if text.is_null() { "?".into() } else { CStr::from_ptr(text).to_string_lossy() }
            };
            let (library, reason) = ((code >> 23) & 0xFF, code & 0x7F_FFFF);
            if library == 15 && CONVERSIONS.contains(&reason) {
                continue;
            }
            let _ = write!(
                all,
                " [{library}:{reason} {}: {}]",
                words(ERR_lib_error_string(code)),
                words(ERR_reason_error_string(code))
            );
        }
    }
}

/// Sequences and how they differed.
#[derive(Debug, Default)]
pub struct Comparison {
    sequences: usize,
    calls: usize,
    differences: Vec<String>,
}

impl Comparison {
    pub fn new() -> Comparison {
        Comparison::default()
    }

    /// Runs a sequence with the default provider and with ours; it gets the property query to fetch with.
    pub fn run(&mut self, name: impl Display, sequence: impl Fn(&mut Recorder, &'static CStr)) {
        let record = |query: &'static CStr| {
            if tracing() {
                eprintln!("{name}, {query:?}");
            }
            let mut recorder = Recorder::default();
            sequence(&mut recorder, query);
            recorder.lines
        };
        let (stock, ours) = (record(DEFAULT), record(ADJUNCT));
        self.sequences += 1;
        self.calls += stock.len();
        if stock == ours {
            return;
        }
        let mut text = format!("{name}:\n");
        for at in 0..stock.len().max(ours.len()) {
            let (s, o) = (stock.get(at), ours.get(at));
            let none = String::from("nothing");
            if s == o {
                let _ = writeln!(text, "    {}", s.unwrap_or(&none));
            } else {
                let _ = writeln!(text, "  - {}\n  + {}", s.unwrap_or(&none), o.unwrap_or(&none));
            }
        }
        self.differences.push(text);
    }

    /// Fails with what differed; `-` is the default provider's, `+` ours.
    pub fn finish(self) {
        eprintln!("{} sequences of {} calls compared", self.sequences, self.calls);
        let shown = std::env::var("ADJUNCT_DIFFERENCES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
        assert!(
            self.differences.is_empty(),
            "{} of {} sequences differ:\n{}",
            self.differences.len(),
            self.sequences,
            self.differences.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join("\n")
        );
    }
}

/// Whether to say what is called before it is: the last line names what crashed.
fn tracing() -> bool {
    std::env::var_os("ADJUNCT_TRACE").is_some()
}

/// Whether to run everything where otherwise a small part is run.
pub fn deep() -> bool {
    std::env::var_os("ADJUNCT_DEEP").is_some()
}
