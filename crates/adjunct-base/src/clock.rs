//! Clocks of the C library's: they open no file and take no memory, so that they can be read in any state of a process.

#![allow(unsafe_code)]

use std::time::Duration;

/// The time since some moment, of a clock that all programs of the machine share, and futexes with it.
pub fn monotonic() -> Duration {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of CPU time of this thread.
pub fn cpu_time() -> u64 {
    let time = read(libc::CLOCK_THREAD_CPUTIME_ID);
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
