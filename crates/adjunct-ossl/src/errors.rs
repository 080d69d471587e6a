//! libcrypto's queue of errors, of which each thread has its own, for modules that are no provider (a provider has [`crate::core::Core::raise`]).

use crate::reason::{Reason, Words};
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Display;

crate::functions! {
    /// The functions of the queue used here; all exist since OpenSSL 3.0.
    pub Errors:
    new c"ERR_new" ();
    set c"ERR_set_error" (c_int, c_int, *const c_char);
    mark c"ERR_set_mark" () -> c_int;
    pop_to_mark c"ERR_pop_to_mark" () -> c_int;
    clear_last_mark c"ERR_clear_last_mark" () -> c_int;
}

impl Errors {
    /// Puts an error on the queue.
    pub fn raise(&self, reason: Reason) {
        self.raise_with(reason, None);
    }

    /// Puts an error with words on the queue. A `%` and a zero in them are left out, and what is longer than 255 bytes is cut.
    #[cold]
    pub fn raise_words(&self, reason: Reason, words: impl Display) {
        self.raise_with(reason, Some(Words::new(words).text()));
    }

    fn raise_with(&self, reason: Reason, data: Option<&CStr>) {
        let (library, number) = reason.parts();
        // SAFETY: the functions of this libcrypto; the text, which lives through the call, is a format without arguments.
        unsafe {
            (self.new)();
            (self.set)(library, number, data.map_or(std::ptr::null(), CStr::as_ptr));
        }
    }

    /// Runs `body` and removes the errors that it put on the queue: for questions whose answer may be no.
    pub fn quietly<T>(&self, body: impl FnOnce() -> T) -> T {
        self.marked(true, body)
    }

    /// Runs `body`, which raises errors, and removes them again where they are `unwanted`. `body` runs in both cases, so that the time does not tell
    /// an attacker which it was.
    pub fn raise_unless(&self, unwanted: bool, body: impl FnOnce()) {
        self.marked(unwanted, body);
    }

    fn marked<T>(&self, take_back: bool, body: impl FnOnce() -> T) -> T {
        // SAFETY: the marks are of this thread's queue.
        unsafe { (self.mark)() };
        let result = body();
        let end = if take_back { self.pop_to_mark } else { self.clear_last_mark };
        // SAFETY: the function of this libcrypto ends the mark that this call has set in this thread's queue.
        unsafe { end() };
        result
    }
}
