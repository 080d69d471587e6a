//! Stacks large enough for what needs much of one: batches, and kernels in which all lanes share one operation.
//!
//! Fibers of a program have little: those of OpenSSL's asynchronous jobs 32 KB, without a guard page. A module that knows such fibers installs a
//! function that runs a closure on another stack.

pub mod own;

use std::sync::OnceLock;

/// The type of a function that runs its argument once, where there is room for a stack; false, without having run it, where there is none. What is
/// run does not leave the fiber in between.
pub type Run = fn(&mut dyn FnMut()) -> bool;

static RUN: OnceLock<Run> = OnceLock::new();

/// Installs the function that runs what needs room. The first one stays: a process has one interface with fibers.
pub fn install(run: Run) {
    let _ = RUN.set(run);
}

/// Runs `body` if there is enough stack for it; `None`, without having run it, if there is not.
pub fn with_room<T>(body: impl FnOnce() -> T) -> Option<T> {
    let Some(run) = RUN.get() else { return Some(body()) };
    let (mut body, mut done) = (Some(body), None);
    run(&mut || done = body.take().map(|body| body()));
    done
}

/// Runs `body`, which needs more stack than threads of some programs have left, on a stack of its own; on the caller's if there is no memory for one,
/// and on targets that cannot switch.
pub fn on_own<T>(body: impl FnOnce() -> T) -> Option<T> {
    /// Runs `body` in a frame of its own, so that the caller's frame does not have what `body` needs.
    #[inline(never)]
    fn here(body: &mut dyn FnMut()) {
        body();
    }
    let (mut body, mut done) = (Some(body), None);
    let mut call = || done = body.take().map(|body| body());
    if !own::SWITCHES || !own::run(&mut call) {
        here(&mut call);
    }
    done
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_needs_much_stack_has_it_in_a_small_thread() {
        if !super::own::SWITCHES {
            return;
        }
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(|| {
            let sum = |_| std::hint::black_box([1u8; 300_000]).iter().map(|byte| usize::from(*byte)).sum::<usize>();
            (0..3).filter_map(|round| super::on_own(|| sum(round))).collect::<Vec<_>>()
        });
        assert_eq!(thread.unwrap().join().unwrap(), vec![300_000; 3]);
    }
}
