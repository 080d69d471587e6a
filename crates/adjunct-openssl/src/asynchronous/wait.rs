//! How a paused job's event loop learns that it may come back: by the callback it gave, else by a descriptor.
//!
//! The loop is told before the job pauses. It then starts whatever else is ready and comes back to the job after that, when there is nothing left to
//! wait for. The descriptor stays with the wait context until that is freed, as loops expect (HAProxy forgets it only when it closes the connection).
//! A wait context that is freed while its job is paused tells us that the job will never be resumed.

use adjunct::memory::boxed;
use adjunct::ops::batches::Held;
use adjunct_ossl::Opaque;
use adjunct_ossl::jobs::{Callback, Jobs, STATUS_OK};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A static whose address is the key of adjunct's descriptor in a wait context.
static KEY: u8 = 0;

fn key() -> *const c_void {
    (&raw const KEY).cast()
}

/// The data that adjunct keeps with a wait context.
struct Wait {
    fd: c_int,
    /// Process that made the descriptor: a child of fork(2) shares it with its parent and must not take its wake-ups away.
    process: u32,
    /// What a paused job leaves behind should it never be resumed, in its place on the job's stack; null while none is paused by
    /// us.
    held: AtomicPtr<Held>,
}

/// A job's way to be woken.
pub(super) enum Waker {
    /// Wakes by what is kept with the job's wait context, which lives as long as the job.
    Descriptor(*const c_void),
    /// Wakes by its event loop's own function.
    Callback(Callback, *mut c_void),
}

impl Waker {
    /// Finds or makes a job's waker; `None` where nothing would wake it, so that it must not pause.
    ///
    /// # Safety
    /// `job` is the job this thread is in, of the library of `functions`.
    pub unsafe fn of(functions: &Jobs, job: Opaque) -> Option<Waker> {
        // SAFETY: `job` is by the caller's word the job this thread is in, of the library of `functions`; the out pointers are to locals,
        // and the data of our key is a `Wait` of `attach`.
        unsafe {
            let context = (functions.wait_ctx)(job);
            if context.is_null() {
                return None;
            }
            let (mut callback, mut argument) = (None, std::ptr::null_mut());
            if (functions.get_callback)(context, &raw mut callback, &raw mut argument) == 1
                && let Some(callback) = callback
            {
                (functions.set_status)(context, STATUS_OK);
                return Some(Waker::Callback(callback, argument));
            }
            let (mut fd, mut data) = (-1, std::ptr::null_mut());
            if (functions.get_fd)(context, key(), &raw mut fd, &raw mut data) != 1 {
                data = attach(functions, context)?;
            }
            (*data.cast::<Wait>()).is_ours().then_some(Waker::Descriptor(data))
        }
    }

    /// Runs `pause` with the means to wake the job installed, and removes them when it returns. Meanwhile the wait context owns `held`.
    ///
    /// # Safety
    /// The job is still the one this thread is in.
    pub unsafe fn around(&self, held: &mut Held, pause: impl FnOnce() -> c_int) {
        match *self {
            Waker::Callback(wake, argument) => {
                // SAFETY: the event loop's function with its argument.
                unsafe { wake(argument) };
                pause();
            }
            Waker::Descriptor(data) => {
                // SAFETY: a `Wait`, alive while its job is.
                let wait = unsafe { &*data.cast::<Wait>() };
                // A job that is paused keeps its stack, for ever if it is never resumed.
                wait.held.store(held, Ordering::Release);
                // Neither call can fail: the counter is 0 before the one and 1 before the other.
                let mut count = 1u64;
                // SAFETY: our descriptor, and eight bytes of a local.
                unsafe { libc::write(wait.fd, (&raw const count).cast(), 8) };
                pause();
                // A job that goes on in a child is also to go on in the parent, who needs the wake-up.
                if wait.is_ours() {
                    // SAFETY: the job goes on, so its wait context, which keeps the descriptor open, is alive; `count` is a local of eight bytes.
                    unsafe { libc::read(wait.fd, (&raw mut count).cast(), 8) };
                }
                wait.held.store(std::ptr::null_mut(), Ordering::Release);
            }
        }
    }
}

impl Wait {
    /// Whether this process made the descriptor.
    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Takes what a job that will never go on has left.
    fn take(&self) -> Option<Held> {
        let held = self.held.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: stored by `around`, whose caller is paused for ever, with its stack; nobody else looks at the place. The box that
        // is left there has no size, and so no memory.
        (!held.is_null()).then(|| std::mem::replace(unsafe { &mut *held }, Box::new(())))
    }
}

/// Gives a wait context a descriptor of adjunct's. `None` where none can be had, or where it would leave the program short of them: adjunct takes no
/// more than the lower half of what the program may open.
///
/// # Safety
/// `context` is a wait context of the library of `functions`.
unsafe fn attach(functions: &Jobs, context: Opaque) -> Option<*mut c_void> {
    // SAFETY: a new descriptor; the limit goes to a local.
    let fd = unsafe {
        let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if fd < 0 || libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 || fd as u64 >= limit.rlim_cur / 2 {
            close(fd);
            return None;
        }
        fd
    };
    let wait = Wait { fd, process: std::process::id(), held: AtomicPtr::new(std::ptr::null_mut()) };
    let Ok(data) = boxed(wait) else {
        close(fd);
        return None;
    };
    let data = Box::into_raw(data).cast::<c_void>();
    // SAFETY: the context keeps both until it calls `cleanup` with them, once.
    unsafe {
        if (functions.set_fd)(context, key(), fd, data, Some(cleanup)) != 1 {
            cleanup(context, key(), fd, data);
            return None;
        }
    }
    Some(data)
}

fn close(fd: c_int) {
    if fd >= 0 {
        // SAFETY: a descriptor of ours, not used again.
        unsafe { libc::close(fd) };
    }
}

/// A wait context ends, perhaps in another thread than its job's, and perhaps while the job is paused and is never resumed.
///
/// # Safety
/// OpenSSL passes `data` that `attach` gave to the wait context with this function, once.
unsafe extern "C" fn cleanup(_context: Opaque, _key: *const c_void, fd: c_int, data: *mut c_void) {
    crate::abi::guard((), || {
        close(fd);
        // SAFETY: the data of `attach`, given back once. A job that is still paused cannot be resumed any more, as it would
        // use this wait context.
        drop(unsafe { Box::from_raw(data.cast::<Wait>()) }.take());
    });
}
