//! How doubles are rounded, and which exceptions of theirs are masked: as in a process that has just begun, whatever a program has set.

use std::arch::asm;

/// Rounds to nearest, masks every exception, leaves denormal values as they are: what a process begins with.
static DEFAULT: u32 = 0x1F80;

/// A scope in which MXCSR is as when a process begins. Dropping it restores MXCSR, with no exception flag added.
#[derive(Debug)]
pub struct Mode(u32);

impl Mode {
    /// Sets the mode. The compiler must not move anything that computes with doubles across this call or the end of the scope: put it into a function
    /// that is not inlined.
    #[inline]
    pub fn set_default() -> Mode {
        let mut before = 0u32;
        // SAFETY: stores and loads MXCSR; no bit of the value is a reserved one.
        unsafe {
            asm!("stmxcsr [{before}]", "ldmxcsr [{default}]", before = in(reg) &raw mut before,
                default = in(reg) &raw const DEFAULT, options(nostack, preserves_flags));
        }
        Mode(before)
    }
}

impl Drop for Mode {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: loads what was there before.
        unsafe { asm!("ldmxcsr [{0}]", in(reg) &raw const self.0, options(nostack, readonly, preserves_flags)) };
    }
}
