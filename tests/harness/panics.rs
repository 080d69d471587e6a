//! adjunct-panics: a program that is linked with the unwinder that the modules have in themselves, and panics. Ends with 0 where all panics were
//! caught, in any thread and in a forked child, and all values were dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

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

/// Whether a panic `depth` calls down is caught, and drops a value of each.
fn caught(depth: u32) -> bool {
    let mut dropped = 0;
    let ended = catch_unwind(AssertUnwindSafe(|| deep(depth, &mut dropped)));
    ended.is_err() && dropped == depth + 1
}

/// Whether a panic in a forked child is caught.
fn caught_in_a_child() -> bool {
    // SAFETY: the child panics, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(if caught(7) { 0 } else { 1 });
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0) == child && status == 0
    }
}

fn main() -> ExitCode {
    // The core has its part of the unwinder. Without a use of it the linker would leave it out.
    adjunct::init();
    std::panic::set_hook(Box::new(|_| ()));
    let alone = [0, 1, 100].into_iter().all(caught);
    let threads: Vec<_> = (0..4).map(|n| std::thread::spawn(move || (0..100).all(|_| caught(n)))).collect();
    let together = threads.into_iter().all(|thread| thread.join().unwrap_or(false));
    if alone && together && caught_in_a_child() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
