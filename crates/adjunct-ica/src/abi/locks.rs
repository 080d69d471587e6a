//! What `link` has AWS-LC call instead of the C library's locks, which a fork leaves held by threads that are not there.

use adjunct::awslc::locks;
use std::ffi::{c_int, c_void};

/// # Safety
/// An initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_rwlock_rdlock(lock: *mut c_void) -> c_int {
    // SAFETY: see above.
    unsafe { locks::at(lock) }.lock(false);
    0
}

/// # Safety
/// An initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_rwlock_wrlock(lock: *mut c_void) -> c_int {
    // SAFETY: see above.
    unsafe { locks::at(lock) }.lock(true);
    0
}

/// # Safety
/// A lock that this thread has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_rwlock_unlock(lock: *mut c_void) -> c_int {
    // SAFETY: see above.
    unsafe { locks::at(lock) }.unlock();
    0
}

/// # Safety
/// The one mutex that AWS-LC has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    // SAFETY: see above; nothing else in this library takes a mutex but by trylock.
    unsafe { locks::lock_mutex(mutex) }
}
