//! CPU time.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// That of this thread.
pub(crate) fn of_thread() -> Duration {
    of(ClockId::ThreadCPUTime)
}

/// That of this process.
pub(crate) fn of_process() -> Duration {
    of(ClockId::ProcessCPUTime)
}

fn of(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
