//! Stacks large enough for what needs much of one: batches, and kernels in which all lanes share one operation.
//!
//! Fibers of a program have little: those of OpenSSL's asynchronous jobs 32 KB, without a guard page. Whoever knows of such fibers installs
//! a function that runs what it is given elsewhere.

use std::sync::OnceLock;

/// Runs its argument once, where there is room; false, without having run it, where there is none. What is run does not leave the fiber
/// in between.
pub type Run = fn(&mut dyn FnMut()) -> bool;

static RUN: OnceLock<Run> = OnceLock::new();

/// Has that run what needs room. The first one stays: a process has one interface with fibers.
pub fn install(run: Run) {
    let _ = RUN.set(run);
}

/// Runs `body` where there is stack for it; `None`, without having run it, where there is not.
pub(crate) fn with_room<T>(body: impl FnOnce() -> T) -> Option<T> {
    let Some(run) = RUN.get() else { return Some(body()) };
    let (mut body, mut done) = (Some(body), None);
    run(&mut || done = body.take().map(|body| body()));
    done
}
