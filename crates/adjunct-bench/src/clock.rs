//! CPU time.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CPU time of the calling thread.
pub(crate) fn of_thread() -> Duration {
    of(ClockId::ThreadCPUTime)
}

/// CPU time of this process, all threads together.
pub(crate) fn of_process() -> Duration {
    of(ClockId::ProcessCPUTime)
}

fn of(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
