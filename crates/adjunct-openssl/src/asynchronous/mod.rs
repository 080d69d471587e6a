//! Operations inside an asynchronous job of OpenSSL (`ASYNC_JOB`), as servers with an event loop have them.
//!
//! Such a server has one thread for many connections, so that its operations would never share a batch. In jobs they do: the operation queues its
//! request and pauses the job, the loop goes on to the next connection, whose operation does the same, and the batch runs when eight wait or when the
//! loop has come round without anything new. [`adjunct::ops::batches`] decides when a batch runs. Here `wait` wakes the loop, and the batch
//! runs on a stack of the core's own, because the fiber of a job has no room for it.

mod wait;

use crate::abi::core::Core;
use adjunct::ops::batches::{self, Held, Pause};
use adjunct::stack::own;
use adjunct_ossl::jobs;

/// Prepares for jobs of the libcrypto behind `core`; to be called when the module is loaded.
pub fn prepare(core: &Core) {
    if own::SWITCHES {
        if let Some(libcrypto) = core.libcrypto() {
            jobs::find(libcrypto);
        }
        if !adjunct::sandbox::filtered() {
            // Libcrypto readies its jobs when it is first asked, with a system call.
            jobs::current();
        }
        batches::install(&Jobs);
        adjunct::stack::install(with_room);
    }
}

/// The jobs of all libcryptos in the process.
struct Jobs;

impl Pause for Jobs {
    #[inline]
    fn possible(&self) -> bool {
        jobs::current().is_some()
    }

    fn pause(&self, held: &mut Held) -> bool {
        let Some((functions, job)) = jobs::current() else { return false };
        // SAFETY: the job is the one this thread is in.
        let Some(waker) = (unsafe { wait::Waker::of(functions, job) }) else { return false };
        // SAFETY: the job is still the one this thread is in; the function comes back at once where the job must not pause
        // (ASYNC_block_pause(3)).
        unsafe { waker.around(held, || (functions.pause_job)()) };
        true
    }
}

/// Runs `body` on this stack, or, in a job's fiber, on a larger one; see [`adjunct::stack`].
fn with_room(body: &mut dyn FnMut()) -> bool {
    if jobs::current().is_some() {
        return own::run(body);
    }
    body();
    true
}
