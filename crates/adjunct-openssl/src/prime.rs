//! When the core is made ready: its counters mapped, its random generator seeded, the memory of batches allocated.
//!
//! Many programs load OpenSSL's configuration and never compute anything (`openssl version`, `curl --version`), so the core is made ready at the
//! first search for an algorithm. That makes system calls, for which a filter may kill that the program has installed by then, and opens files, which
//! are gone after a chroot. So in a program that can do such a thing the core is made ready while the module loads: in one that has libseccomp, that
//! itself refers to one of the functions in [`CHANGES`], or whose references cannot be read.

use crate::abi::core::Core;
use crate::asynchronous;
use adjunct::sandbox;
use adjunct_ossl::imports;
use std::sync::Once;

/// Functions by which a program changes what system calls, files and descriptors it has. There is no function for the system call seccomp.
const CHANGES: &[&str] = &[
    "prctl",
    "syscall",
    "chroot",
    "unshare",
    "setns",
    "pivot_root",
    "clone",
    "setrlimit",
    "setrlimit64",
    "prlimit",
    "prlimit64",
];

/// Makes the core ready, unless that can wait for the first search.
pub fn at_load(core: &Core) {
    let can_change = || imports::of_program([CHANGES]).is_none_or(|[refers]| refers);
    if sandbox::expected() || can_change() {
        now(core);
    }
}

/// Makes the core ready, if it is not.
#[inline]
pub fn now(core: &Core) {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        adjunct::init();
        asynchronous::prepare(core);
    });
}
