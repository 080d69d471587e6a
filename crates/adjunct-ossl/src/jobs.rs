//! Asynchronous jobs, in which a thread pauses (ASYNC_start_job(3), ASYNC_WAIT_CTX_new(3)).

use crate::Opaque;
use crate::known::Known;
use crate::object::Object;
use std::ffi::{c_int, c_void};

/// `ASYNC_callback_fn`: tells the event loop that a job may go on.
pub type Callback = unsafe extern "C" fn(*mut c_void) -> c_int;

/// The function that a wait context calls for a descriptor when it is freed: with itself, the key, the descriptor and our data.
pub type Cleanup = unsafe extern "C" fn(Opaque, *const c_void, c_int, *mut c_void);

/// `ASYNC_STATUS_OK`: the callback is going to be called.
pub const STATUS_OK: c_int = 2;

crate::functions! {
    /// What is used of libcrypto; all exist since OpenSSL 3.0.
    #[derive(Debug)]
    pub Jobs:
    current_job c"ASYNC_get_current_job" () -> Opaque;
    pause_job c"ASYNC_pause_job" () -> c_int;
    wait_ctx c"ASYNC_get_wait_ctx" (Opaque) -> Opaque;
    get_fd c"ASYNC_WAIT_CTX_get_fd" (Opaque, *const c_void, *mut c_int, *mut *mut c_void) -> c_int;
    set_fd c"ASYNC_WAIT_CTX_set_wait_fd" (Opaque, *const c_void, c_int, *mut c_void, Option<Cleanup>) -> c_int;
    get_callback c"ASYNC_WAIT_CTX_get_callback" (Opaque, *mut Option<Callback>, *mut *mut c_void) -> c_int;
    set_status c"ASYNC_WAIT_CTX_set_status" (Opaque, c_int) -> c_int;
}

/// The job functions of the libcryptos that have loaded the module.
static KNOWN: Known<Jobs> = Known::new();

/// Finds the functions of a libcrypto; to be called when the module is loaded. Where they cannot be found no job is ever seen.
pub fn find(libcrypto: Object) {
    if KNOWN.of(libcrypto).is_none()
        && let Some(functions) = Jobs::find(libcrypto)
    {
        KNOWN.give(libcrypto, functions);
    }
}

/// The job this thread is in, with the functions of its library.
#[inline]
pub fn current() -> Option<(&'static Jobs, Opaque)> {
    KNOWN.iter().find_map(|functions| {
        // SAFETY: takes no argument and may be called at any time.
        let job = unsafe { (functions.current_job)() };
        (!job.is_null()).then_some((functions, job))
    })
}
