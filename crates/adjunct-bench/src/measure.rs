//! Timing: slices of all sides in turn, medians, ratios.

use crate::harness::figures::median;
use crate::harness::turns::in_turns;
use crate::{Error, clock};
use std::time::Duration;

/// Something to repeat.
pub struct Work {
    /// What the first repetition gave: the same on all sides, or one of them is wrong. Empty where it is random.
    pub proof: Vec<u8>,
    run: Run,
}

enum Run {
    /// Work done here: `run(n)` does it n times and says whether all succeeded.
    Here(Box<dyn FnMut(u64) -> bool>),
    /// Done by another process, which says how much CPU time it took.
    Elsewhere(Box<dyn FnMut(u64) -> Option<Duration>>),
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").finish_non_exhaustive()
    }
}

impl Work {
    /// Work with its proof.
    pub fn new(proof: Vec<u8>, run: impl FnMut(u64) -> bool + 'static) -> Work {
        Work { proof, run: Run::Here(Box::new(run)) }
    }

    /// Work that another process does and times.
    pub fn elsewhere(proof: Vec<u8>, run: impl FnMut(u64) -> Option<Duration> + 'static) -> Work {
        Work { proof, run: Run::Elsewhere(Box::new(run)) }
    }

    /// Does the work once, untimed; whether that succeeded.
    pub fn once(&mut self) -> bool {
        match &mut self.run {
            Run::Here(run) => run(1),
            Run::Elsewhere(run) => run(1).is_some(),
        }
    }

    /// Does the work `count` times; the CPU time that took, or `None` if an operation failed.
    ///
    /// The clock is the thread's CPU time: another program that takes the processor away between two operations is not
    /// counted. It is read twice a call, so what it costs vanishes in a slice.
    pub fn timed(&mut self, count: u64) -> Option<Duration> {
        match &mut self.run {
            Run::Here(run) => {
                let start = clock::of_thread();
                let done = run(count);
                let time = clock::of_thread() - start;
                done.then_some(time)
            }
            Run::Elsewhere(run) => run(count),
        }
    }
}

/// The lengths and the number of slices of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// CPU time of a slice of a side.
    pub slice: Duration,
    /// Slices of each side.
    pub repeats: usize,
}

/// Repetitions per second of both sides.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Median of the slices of the default provider.
    pub stock: f64,
    /// Median of adjunct's.
    pub adjunct: f64,
}

impl Rates {
    /// adjunct over stock.
    pub fn ratio(self) -> f64 {
        self.adjunct / self.stock
    }
}

/// Measures named sides in alternating slices; the median of each one's repetitions per second.
///
/// # Errors
/// [`Error::Operation`] when an operation fails.
pub fn interleave(sides: &mut [(&str, &mut Work)], plan: Plan) -> Result<Vec<f64>, Error> {
    let mut counts = Vec::new();
    for (name, work) in sides.iter_mut() {
        counts.push(calibrate(work, name, plan.slice)?);
    }
    let rates = in_turns(sides.len(), plan.repeats, |which| {
        let (name, work) = &mut sides[which];
        Ok(counts[which] as f64 / timed(work, name, counts[which])?.as_secs_f64())
    })?;
    Ok(rates.into_iter().map(median).collect())
}

/// Measures both sides in alternating slices.
///
/// # Errors
/// [`Error::Operation`] when an operation fails.
pub fn compare(stock: &mut Work, adjunct: &mut Work, plan: Plan) -> Result<Rates, Error> {
    let rates = interleave(&mut [("stock", stock), ("adjunct", adjunct)], plan)?;
    Ok(Rates { stock: rates[0], adjunct: rates[1] })
}

/// Measures work of very uneven length (prime search): the mean over all the time, not the median of slices. It ends early once
/// `stop` says so.
///
/// # Errors
/// As for [`compare`].
pub fn compare_means(
    stock: &mut Work,
    adjunct: &mut Work,
    total: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<Rates, Error> {
    let mut sides = [(stock, "stock"), (adjunct, "adjunct")];
    let (mut time, mut count) = ([Duration::ZERO; 2], [0u32; 2]);
    while count.contains(&0) || (time.iter().any(|&t| t < total) && count.iter().all(|&n| n < 10_000) && !stop()) {
        // Whoever has had less time: a side that is many times slower would else take as many times longer.
        let next = usize::from(time[1] < time[0]);
        let (work, name) = &mut sides[next];
        time[next] += timed(work, name, 1)?;
        count[next] += 1;
    }
    let rate = |side: usize| f64::from(count[side]) / time[side].as_secs_f64();
    Ok(Rates { stock: rate(0), adjunct: rate(1) })
}

/// How many repetitions fill a slice.
fn calibrate(work: &mut Work, name: &str, slice: Duration) -> Result<u64, Error> {
    let mut count = 1;
    loop {
        let time = timed(work, name, count)?;
        if time * 4 >= slice || count >= 1 << 40 {
            let scale = slice.as_secs_f64() / time.as_secs_f64().max(1e-9);
            return Ok(((count as f64 * scale) as u64).max(1));
        }
        count *= 4;
    }
}

fn timed(work: &mut Work, name: &str, count: u64) -> Result<Duration, Error> {
    let failed = || Error::Operation(format!("an operation failed while it was measured ({name})"));
    work.timed(count).ok_or_else(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin(turns: u64) -> Work {
        Work::new(Vec::new(), move |n| {
            for i in 0..n * turns {
                std::hint::black_box(i);
            }
            true
        })
    }

    #[test]
    fn work_elsewhere_brings_its_own_time() {
        let plan = Plan { slice: Duration::from_millis(1), repeats: 3 };
        let mut far = Work::elsewhere(Vec::new(), |n| Some(Duration::from_micros(10) * n as u32));
        let rates = interleave(&mut [("far", &mut far), ("near", &mut spin(10))], plan).unwrap();
        assert!((rates[0] - 1e5).abs() < 1.0 && rates[1] > 0.0, "{rates:?}");
    }

    #[test]
    fn both_sides_are_measured() {
        let plan = Plan { slice: Duration::from_millis(1), repeats: 3 };
        for rates in [
            compare(&mut spin(1000), &mut spin(1000), plan).unwrap(),
            compare_means(&mut spin(1000), &mut spin(1000), plan.slice, &|| false).unwrap(),
        ] {
            assert!(rates.stock > 0.0 && rates.adjunct > 0.0 && rates.ratio().is_finite(), "{rates:?}");
        }
    }

    #[test]
    fn a_failing_operation_is_an_error_not_a_rate() {
        let plan = Plan { slice: Duration::from_millis(1), repeats: 1 };
        let mut bad = Work::new(Vec::new(), |_| false);
        assert!(compare(&mut spin(10), &mut bad, plan).unwrap_err().to_string().contains("adjunct"));
    }
}
