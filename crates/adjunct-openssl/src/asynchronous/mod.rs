//! Callers inside of an OpenSSL asynchronous job (`ASYNC_JOB`): servers with an event loop.
//!
//! Such a server has one thread for many connections, so that its operations could never meet in a batch. In a job they
//! do: the operation queues its request and pauses the job, the loop goes on to the next connection, whose operation does
//! the same, and the batch runs when eight wait or when the loop has come round without anything new. What decides when is
//! [`adjunct::accelerator::pause`]; here is how: `libcrypto` finds OpenSSL's functions, `wait` wakes the loop, and `stack`
//! has room for a batch, which the fiber of a job has not.

mod libcrypto;
mod stack;
mod wait;

use crate::abi::core::Core;
use adjunct::accelerator::pause::{self, Held, Pause};

/// Prepares for jobs of the libcrypto behind `core`; to be called when the module is loaded.
pub fn prepare(core: &Core) {
    if stack::SWITCHES {
        libcrypto::find(core);
        if !adjunct::sandbox::filtered() {
            // Libcrypto readies its jobs when it is first asked, with a system call.
            libcrypto::current();
        }
        pause::install(&Jobs);
    }
}

/// The jobs of all libcryptos in the process.
struct Jobs;

impl Pause for Jobs {
    #[inline]
    fn possible(&self) -> bool {
        libcrypto::current().is_some()
    }

    fn pause(&self, held: &mut Held) -> bool {
        let Some((functions, job)) = libcrypto::current() else { return false };
        // SAFETY: the job is the one this thread is in.
        let Some(waker) = (unsafe { wait::Waker::of(functions, job) }) else { return false };
        // SAFETY: as above; the function comes back at once where the job must not pause (ASYNC_block_pause(3)).
        unsafe { waker.around(held, || (functions.pause_job)()) };
        true
    }

    fn with_room(&self, body: &mut dyn FnMut()) -> bool {
        stack::run(body)
    }
}
