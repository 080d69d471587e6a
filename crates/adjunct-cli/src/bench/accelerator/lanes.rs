//! Counters of the run's own, and what they say of the lanes.

use adjunct::counters;

/// Counters that only this process counts into, apart from the user's; gone when dropped.
#[derive(Debug)]
pub struct Meter {
    uid: u32,
}

impl Meter {
    /// Sends what is counted from here on, by the provider too, to counters of this process's own; `always` has threads share
    /// batches. Call it before the counters are opened and before there is another thread.
    pub fn start(always: bool) -> Meter {
        let word = format!("bench{:x}", std::process::id());
        // SAFETY: no other thread reads or changes the environment.
        unsafe {
            std::env::set_var("ADJUNCT_STATS_KEY", word);
            if always {
                std::env::set_var("ADJUNCT_ACCELERATOR", "always");
            }
        }
        Meter { uid: rustix::process::geteuid().as_raw() }
    }
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

/// The mean of a histogram of batches with 1, 2, ... lanes filled; `None` of no batch.
pub fn mean(histogram: &[u64]) -> Option<f64> {
    let batches: u64 = histogram.iter().sum();
    let jobs: u64 = histogram.iter().zip(1..).map(|(count, lanes)| count * lanes).sum();
    (batches > 0).then(|| jobs as f64 / batches as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_batches() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[0; 8]), None);
        assert_eq!(mean(&[1, 0, 0, 0, 0, 0, 0, 3]), Some(6.25));
    }
}
