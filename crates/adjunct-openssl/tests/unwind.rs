//! The unwinder that the modules have in themselves, which this program is linked with as they are: panics are caught where there is
//! no shared one, in any thread and in a forked child.

use std::panic::{AssertUnwindSafe, catch_unwind};

// Without a use of the core the linker would leave out what it has of the unwinder.
const _: fn() = adjunct::init;

struct Counts<'a>(&'a mut u32);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        *self.0 += 1;
    }
}

#[inline(never)]
fn deep(left: u32, dropped: &mut u32) -> u32 {
    let counts = Counts(dropped);
    assert!(left > 0, "as deep as was asked for");
    // Not the last thing done: what is dropped comes after it.
    deep(left - 1, counts.0) + 1
}

/// Whether a panic so many calls down is caught, and drops a value of each.
fn caught(depth: u32) -> bool {
    let mut dropped = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| deep(depth, &mut dropped)));
    ended.is_err() && dropped == depth + 1
}

#[test]
fn nothing_needs_the_shared_unwinder() {
    adjunct::init();
    let test = std::env::current_exe().unwrap();
    let module = test.with_file_name("libadjunct_openssl.so");
    for file in [test, module] {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(14).any(|part| part == b"libgcc_s.so.1\0"), "{} needs libgcc_s", file.display());
    }
}

#[test]
fn a_panic_is_caught_and_drops_what_there_is() {
    std::panic::set_hook(Box::new(|_| ()));
    assert!([0, 1, 100].into_iter().all(caught));
    let threads: Vec<_> = (0..4).map(|n| std::thread::spawn(move || (0..100).all(|_| caught(n)))).collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    // SAFETY: the child panics, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(if caught(7) { 0 } else { 1 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
    }
    _ = std::panic::take_hook();
}
