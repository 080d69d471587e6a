//! Working memory of a kernel, which is wiped when the kernel is done with it.

use std::arch::asm;
use std::mem::MaybeUninit;

/// A scratch in use, all zeros at first; wiped at the end.
pub struct InUse<'a, T>(pub &'a mut T);

impl<'a, T> InUse<'a, T> {
    /// # Safety
    /// All zeros is a value of T.
    pub unsafe fn new(scratch: &'a mut MaybeUninit<T>) -> Self {
        // SAFETY: all bytes are written before the value is assumed to be there, and all zeros is a value of T: the caller knows.
        unsafe {
            scratch.as_mut_ptr().write_bytes(0, 1);
            InUse(scratch.assume_init_mut())
        }
    }
}

impl<T> Drop for InUse<'_, T> {
    fn drop(&mut self) {
        let scratch = std::ptr::from_mut(self.0);
        // SAFETY: all zeros is a value of it, as [`InUse::new`] asked; an empty piece of assembly that may read the memory
        // keeps the zeros from being optimized away.
        unsafe {
            std::ptr::write_bytes(scratch, 0, 1);
            asm!("/* {0} */", in(reg) scratch, options(nostack, preserves_flags));
        }
    }
}
