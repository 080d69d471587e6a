//! The engine's memory and its system calls.

use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// How the system schedules this thread: its policy and its niceness, 0 where it does not say.
pub(super) fn scheduling() -> u64 {
    // struct sched_attr of <linux/sched/types.h>: size, policy, flags, niceness, and more.
    let mut attributes = [0u32; 14];
    let length = size_of_val(&attributes);
    // SAFETY: the buffer is as long as is said.
    if unsafe { libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), length, 0) } != 0 {
        return 0;
    }
    u64::from(attributes[1]) << 32 | u64::from(attributes[4])
}

/// The CPU that this thread runs on, which it may have left when this returns; 0 where the system does not say.
pub(super) fn cpu() -> usize {
    // SAFETY: no argument.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// Sleeps until woken through one of `bits`; not at all where `word` is not `seen` any more. May wake for no reason. False where it was
/// not woken by this time of [`adjunct_base::clock::monotonic`].
pub(super) fn sleep(word: &AtomicU32, seen: u32, bits: u32, until: Option<Duration>) -> bool {
    let wait = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let until =
        until.map(|until| libc::timespec { tv_sec: until.as_secs() as _, tv_nsec: until.subsec_nanos().into() });
    let time = until.as_ref().map_or(null(), std::ptr::from_ref);
    // SAFETY: the word lives as long as the process, the time as long as the call.
    let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), wait, seen, time, null::<u8>(), bits) };
    woken == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

/// Wakes all who sleep at `word` with one of `bits`.
pub(super) fn wake(word: &AtomicU32, bits: u32) {
    let wake = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives as long as the process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), wake, i32::MAX, null::<u8>(), null::<u8>(), bits) };
}

/// All signals of this thread put off while it lives, those of the C library's own too (pthread_cancel uses one), so that
/// no handler leaves the engine by longjmp, exit or cancellation while others wait for this thread. Signals that an
/// instruction causes stay: a handler of those cannot be put off.
pub(super) struct Quiet {
    before: u64,
}

impl Quiet {
    const CAUSED: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

    pub(super) fn new() -> Quiet {
        let mask = Quiet::CAUSED.iter().fold(u64::MAX, |mask, signal| mask & !(1 << (signal - 1)));
        let mut before = 0;
        Quiet::change(libc::SIG_BLOCK, &mask, &raw mut before);
        Quiet { before }
    }

    // Not pthread_sigmask, which leaves the C library's own signals alone.
    fn change(how: i32, mask: &u64, before: *mut u64) {
        let mask = &raw const *mask;
        // SAFETY: both words have the size that is given.
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, mask, before, size_of::<u64>()) };
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        Quiet::change(libc::SIG_SETMASK, &self.before, null_mut());
    }
}
