//! Computing with floating point in threads of the program, which may have set another rounding mode or unmasked exceptions.

/// Calls `body` with MXCSR as it is when a process begins, and restores it afterwards, flags included.
#[inline]
pub fn in_default_mode<T>(body: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    let _mode = crate::mxcsr::Mode::set_default();
    apart(body)
}

/// Calls `body` and is not inlined, so that the compiler moves no computation out of the mode.
#[inline(never)]
fn apart<T>(body: impl FnOnce() -> T) -> T {
    body()
}
