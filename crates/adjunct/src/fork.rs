//! Memory that a child of fork finds empty.

#![allow(unsafe_code)]

/// Has the system empty these pages in every child of this process, whoever forks and by whatever call. False where it cannot:
/// Linux before 4.14, and emulators that know no advice at all but call every one a success.
///
/// # Safety
/// The pages are the caller's own, private and anonymous.
pub(crate) unsafe fn wipe_in_children(place: *mut libc::c_void, length: usize) -> bool {
    // SAFETY: -1 is no advice; the other changes what a child sees, for which the caller answers.
    unsafe { libc::madvise(place, length, -1) != 0 && libc::madvise(place, length, libc::MADV_WIPEONFORK) == 0 }
}
