//! Jobs on this thread's own stack, and the wiping of jobs' memory.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering, compiler_fence};

/// A job that is this thread's, wiped when it goes.
pub struct Own<J: Copy>(J);

impl<J: Copy> std::fmt::Debug for Own<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Own").finish_non_exhaustive()
    }
}

impl<J: Copy> Own<J> {
    pub(super) fn new(job: J) -> Own<J> {
        Own(job)
    }
}

impl<J: Copy> Deref for Own<J> {
    type Target = J;

    fn deref(&self) -> &J {
        &self.0
    }
}

impl<J: Copy> DerefMut for Own<J> {
    fn deref_mut(&mut self) -> &mut J {
        &mut self.0
    }
}

impl<J: Copy> Drop for Own<J> {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Writes zeros over plain data.
pub(super) fn wipe<J: Copy>(job: &mut J) {
    // SAFETY: plain data need no drop, and nobody reads them as a job any more: callers wipe what goes.
    unsafe { zero((&raw mut *job).cast(), size_of::<J>()) };
}

/// Writes zeros where a job was.
///
/// # Safety
/// `size` bytes at `place` are the caller's to write, and are not read as a job again.
pub(super) unsafe fn zero(place: *mut u8, size: usize) {
    let words = if place.addr().is_multiple_of(8) { size / 8 } else { 0 };
    for at in 0..words {
        // SAFETY: within the place, aligned. Volatile, so that it is done though nobody reads it.
        unsafe { place.cast::<u64>().add(at).write_volatile(0) };
    }
    for at in words * 8..size {
        // SAFETY: within the place.
        unsafe { place.add(at).write_volatile(0) };
    }
    compiler_fence(Ordering::SeqCst);
}
