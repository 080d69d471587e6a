//! libcrypto's side of asynchronous jobs (ASYNC_start_job(3), ASYNC_WAIT_CTX_new(3)): functions found at run time.

use crate::abi::core::Core;
use adjunct::foreign::Object;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// `ASYNC_JOB *` or `ASYNC_WAIT_CTX *`.
pub(super) type Opaque = *mut c_void;

/// `ASYNC_callback_fn`: tells the event loop that a job may go on.
pub(super) type Callback = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What a wait context calls for a descriptor when it is freed: itself, the key, the descriptor, our data.
pub(super) type Cleanup = unsafe extern "C" fn(Opaque, *const c_void, c_int, *mut c_void);

/// `ASYNC_STATUS_OK`: the callback is going to be called.
pub(super) const STATUS_OK: c_int = 2;

adjunct::functions! {
    /// What is used of libcrypto; all exist since OpenSSL 3.0.
    pub(super) Functions:
    current_job c"ASYNC_get_current_job" () -> Opaque;
    pause_job c"ASYNC_pause_job" () -> c_int;
    wait_ctx c"ASYNC_get_wait_ctx" (Opaque) -> Opaque;
    get_fd c"ASYNC_WAIT_CTX_get_fd" (Opaque, *const c_void, *mut c_int, *mut *mut c_void) -> c_int;
    set_fd c"ASYNC_WAIT_CTX_set_wait_fd" (Opaque, *const c_void, c_int, *mut c_void, Option<Cleanup>) -> c_int;
    get_callback c"ASYNC_WAIT_CTX_get_callback" (Opaque, *mut Option<Callback>, *mut *mut c_void) -> c_int;
    set_status c"ASYNC_WAIT_CTX_set_status" (Opaque, c_int) -> c_int;
}

/// A libcrypto that has loaded us.
struct Library {
    functions: Functions,
    base: usize,
    next: *const Library,
}

/// The libcryptos that have loaded us: one, save in a process that holds several. Entries are never changed or freed.
static KNOWN: AtomicPtr<Library> = AtomicPtr::new(std::ptr::null_mut());

fn known() -> impl Iterator<Item = &'static Library> {
    // SAFETY: published entries live for ever.
    let entry = |pointer: *const Library| unsafe { pointer.as_ref() };
    std::iter::successors(entry(KNOWN.load(Ordering::Acquire)), move |library| entry(library.next))
}

/// Finds the functions of the libcrypto behind `core`; to be called when the module is loaded. Where they cannot be found
/// (libcrypto is part of the program and exports nothing) no operation ever pauses.
pub(super) fn find(core: &Core) {
    let Some(handle) = Object::around(core.address(), c"OSSL_LIB_CTX_new") else { return };
    if known().any(|library| library.base == handle.base()) {
        return;
    }
    let Some(functions) = Functions::find(handle) else { return };
    let raw = Box::into_raw(Box::new(Library { functions, base: handle.base(), next: std::ptr::null() }));
    let mut head = KNOWN.load(Ordering::Acquire);
    loop {
        // SAFETY: not published yet. A library that two threads load us into at once is listed twice, which does no harm.
        unsafe { (*raw).next = head };
        match KNOWN.compare_exchange(head, raw, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

/// The job this thread is in, with the functions of its library.
#[inline]
pub(super) fn current() -> Option<(&'static Functions, Opaque)> {
    known().find_map(|library| {
        // SAFETY: takes no argument and may be called at any time.
        let job = unsafe { (library.functions.current_job)() };
        (!job.is_null()).then_some((&library.functions, job))
    })
}
