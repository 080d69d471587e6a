//! Calls that leave no secrets on the stack.

/// How much of the stack a call may leave secrets on, in bytes: the deepest multiplication on a curve uses some 13,000.
const STACK: usize = 16 * 1024;

/// Runs `body`, then overwrites the stack below it: moves, and variables of the CPU library, leave copies of keys there that are not wiped otherwise.
#[inline]
pub(super) fn traceless<T>(body: impl FnOnce() -> T) -> T {
    traceless_within::<STACK, T>(body)
}

/// Runs `body`, then overwrites `BYTES` bytes of the stack below it, where it is known that `body` uses at most so many: a thread may have little
/// stack.
#[inline]
pub(super) fn traceless_within<const BYTES: usize, T>(body: impl FnOnce() -> T) -> T {
    traceless_where::<BYTES, T>(|_| true, body)
}

/// Runs `body`, then overwrites `BYTES` bytes of the stack below it where `secret` holds for the result: for functions that have something
/// to keep from their caller after a failure only.
#[inline]
pub(super) fn traceless_where<const BYTES: usize, T>(secret: impl FnOnce(&T) -> bool, body: impl FnOnce() -> T) -> T {
    // Frames of their own, from the same place downwards.
    #[inline(never)]
    fn run<T>(body: impl FnOnce() -> T) -> T {
        body()
    }
    #[inline(never)]
    fn wipe<const BYTES: usize>() {
        std::hint::black_box(&mut [0u8; BYTES]);
    }
    let result = run(body);
    if secret(&result) {
        wipe::<BYTES>();
    }
    result
}
