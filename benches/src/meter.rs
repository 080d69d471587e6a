//! Counters of the run's own: a benchmark leaves the user's alone.

use adjunct::counters;

/// Counters that only this process counts into, apart from the user's; gone when dropped.
#[derive(Debug)]
pub struct Meter {
    uid: u32,
}

impl Meter {
    /// Sends what is counted from here on, by the provider too, to counters of this process's own. Call it before the
    /// counters are opened and before there is another thread.
    pub fn start() -> Meter {
        let word = format!("bench{:x}", std::process::id());
        // SAFETY: no other thread reads or changes the environment.
        unsafe {
            std::env::set_var("ADJUNCT_STATS_KEY", word);
            // Counting is part of what is measured, in a container too.
            std::env::set_var("ADJUNCT_STATS", "on");
        }
        Meter { uid: rustix::process::geteuid().as_raw() }
    }
}

/// Has the threads of this process share batches, as `accelerator = always` does. Call it before the core is set up and before
/// there is another thread.
pub fn have_threads_share_batches() {
    // SAFETY: no other thread reads or changes the environment.
    unsafe { std::env::set_var("ADJUNCT_ACCELERATOR", "always") };
}

impl Drop for Meter {
    fn drop(&mut self) {
        let _ = counters::delete(self.uid);
    }
}

impl Meter {
    /// Batches with 1, 2, ... lanes filled so far.
    pub fn histogram(&self) -> Vec<u64> {
        counters::read(self.uid).ok().flatten().map_or(Vec::new(), |counted| counted.all_lanes().batches.to_vec())
    }
}
