//! Whether a filter of system calls is in force, and what a module can find out without a system call once it is loaded: a filter that a program
//! installs later may kill the process for a call that stock OpenSSL does not make.

#![allow(unsafe_code)]

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Whether a filter of system calls (seccomp) was in force when this was first asked, or none can be ruled out. Ask it first
/// while the module loads. It makes no call but openat, read and close, which the dynamic loader needs too: prctl would tell,
/// but a filter may kill for it.
pub fn filtered() -> bool {
    static FILTERED: OnceLock<bool> = OnceLock::new();
    *FILTERED.get_or_init(|| status().is_none_or(|status| has_filter(&status)))
}

/// Whether this program has libseccomp, by which programs close a filter of their own: one is to be expected then, though none is in
/// force. As of when this was first asked, which is to be while the module loads.
pub fn expected() -> bool {
    static EXPECTED: OnceLock<bool> = OnceLock::new();
    *EXPECTED.get_or_init(has_libseccomp)
}

fn has_libseccomp() -> bool {
    unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader's description of an object, whose name is a string or null.
        let name = unsafe {
            let name = (*object).dlpi_name;
            if name.is_null() { c"" } else { CStr::from_ptr(name) }
        };
        let file = name.to_bytes().rsplit(|&b| b == b'/').next().unwrap_or_default();
        if file.starts_with(b"libseccomp.so") {
            // SAFETY: the caller of dl_iterate_phdr gave a pointer to its flag, which lives as long as the call.
            unsafe { *found.cast::<bool>() = true };
        }
        0
    }
    let mut found = false;
    // SAFETY: the function is called with the flag, while it lives.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

fn status() -> Option<Vec<u8>> {
    /// The most bytes that are read: the file has a page or so, more where a process is in thousands of groups.
    const MOST: usize = 1 << 20;
    let file = openat(CWD, "/proc/self/status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    while text.len() < MOST {
        match rustix::io::read(&file, &mut part) {
            Ok(0) => return Some(text),
            Ok(count) => text.extend_from_slice(part.get(..count)?),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Whether /proc/self/status tells of a filter. A kernel without filters has no such line.
fn has_filter(status: &[u8]) -> bool {
    let mode = status.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"Seccomp:"));
    mode.is_some_and(|mode| mode.trim_ascii() != b"0")
}

static NOTED: AtomicBool = AtomicBool::new(false);

/// Finds out whether there is a filter, and, where there is none, whether `thread_id` can tell.
pub fn prime() {
    if !filtered() {
        compare();
    }
}

/// Finds out whether `thread_id` can tell. Makes a system call: only while the module loads.
pub(crate) fn compare() {
    let told = noted_thread_id();
    NOTED.store(told == u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).ok(), Relaxed);
}

/// Id of this thread, without a system call: in a forked child its first thread's, so the child's. `None` where the C library does not tell. (In a
/// child made by a bare clone, without the C library, it is still the parent's.)
pub(crate) fn thread_id() -> Option<u32> {
    if NOTED.load(Relaxed) { noted_thread_id() } else { None }
}

/// The C library knows its threads' ids, and notes them as the owners of mutexes that check who unlocks them.
#[cfg(target_env = "gnu")]
fn noted_thread_id() -> Option<u32> {
    /// The words of glibc's mutex before its owner: the lock and the count, on all architectures of 64 bits.
    const OWNER: usize = 2;
    const { assert!(size_of::<libc::pthread_mutex_t>() > 4 * OWNER) };
    let mut mutex = libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    let place = &raw mut mutex;
    // SAFETY: the mutex is this function's own and initialised; the word read lies within it, and `prime` has compared what
    // stands there with what the system says.
    let owner = unsafe {
        if libc::pthread_mutex_trylock(place) != 0 {
            return None;
        }
        let owner = place.cast::<u32>().add(OWNER).read();
        libc::pthread_mutex_unlock(place);
        owner
    };
    (owner != 0).then_some(owner)
}

#[cfg(not(target_env = "gnu"))]
fn noted_thread_id() -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_told_from_none() {
        assert!(!has_filter(b"Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n"));
        assert!(!has_filter(b"Name:\tSeccomp:\t2\n"));
        assert!(has_filter(b"NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(has_filter(b"Seccomp:\t1\n"));
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn a_thread_knows_its_id_without_asking() {
        let asked = || rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        assert_eq!(noted_thread_id(), Some(asked()));
        std::thread::spawn(move || assert_eq!(noted_thread_id(), Some(asked()))).join().unwrap();
    }
}
