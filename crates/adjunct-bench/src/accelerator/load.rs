//! Load: a number of threads call one function at once, of one side and then of the next.

use crate::harness::figures::{Rates, median, percentile};
use crate::harness::turns::in_turns;
use crate::measure::Work;
use crate::{Error, clock};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Makes the work of one thread.
pub type Maker = Box<dyn Fn() -> Result<Work, Error> + Send + Sync>;

/// A side that is measured.
pub struct Side {
    /// Name of the side in messages.
    pub name: &'static str,
    /// Called once in each thread.
    pub maker: Maker,
}

/// The lengths and the number of slices of a load.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The least wall time of one slice of one side; longer where the threads would not get round.
    pub slice: Duration,
    /// Slices of each side.
    pub repeats: usize,
}

/// The rates and latencies of one side.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Operations per second of wall time, of all threads together.
    pub rate: Rates,
    /// Operations per second of CPU time: the median of the slices.
    pub cpu_rate: f64,
    /// The time of an operation that half of them took at most, in microseconds.
    pub p50: f64,
    /// Latency in nanoseconds that 99 of 100 operations took at most.
    pub p99: f64,
    /// The results of `between` for the side's slices, one after the other.
    pub extra: Vec<u64>,
}

const QUIT: usize = usize::MAX;
/// The slices are long enough for each thread to do this often what takes longest.
const ROUNDS: u64 = 4;
const LONGEST: Duration = Duration::from_secs(2);

struct Control {
    /// Lock held until all threads are ready; then whether they are.
    start: Mutex<bool>,
    barrier: Barrier,
    side: AtomicUsize,
    stop: AtomicBool,
    failed: Mutex<Option<Error>>,
    latencies: Mutex<Vec<u32>>,
}

struct Slice {
    operations: u64,
    wall: f64,
    cpu: f64,
    latencies: Vec<u32>,
}

/// Loads `sides` in turn with `threads` threads; `interrupted` ends it early, with what there is.
///
/// `meter` is called before and after each slice; the difference of its numbers goes into [`Measured::extra`].
///
/// # Errors
/// [`Error::Operation`] when a thread cannot be started, or an operation fails.
pub fn load(
    sides: &[Side],
    threads: usize,
    plan: Plan,
    interrupted: &AtomicBool,
    meter: &dyn Fn() -> Vec<u64>,
) -> Result<Vec<Measured>, Error> {
    let control = Control {
        start: Mutex::new(false),
        barrier: Barrier::new(threads + 1),
        side: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        failed: Mutex::new(None),
        latencies: Mutex::new(Vec::new()),
    };
    std::thread::scope(|scope| {
        let mut start = control.start.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..threads {
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, || worker(sides, &control)) {
                return Err(Error::Operation(format!("no {threads} threads: {}", crate::cause(&error))));
            }
        }
        *start = true;
        drop(start);
        let done = measure(sides, &control, threads, plan, interrupted, meter);
        control.side.store(QUIT, Ordering::Relaxed);
        control.barrier.wait();
        done
    })
}

fn worker(sides: &[Side], control: &Control) {
    if !*control.start.lock().unwrap_or_else(PoisonError::into_inner) {
        return;
    }
    let fail = |error| {
        control.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    };
    let made: Result<Vec<Work>, Error> = sides.iter().map(|side| (side.maker)()).collect();
    let mut works = made.map_err(&fail).unwrap_or_default();
    control.barrier.wait();
    let mut times = Vec::new();
    loop {
        control.barrier.wait();
        let which = control.side.load(Ordering::Relaxed);
        if which == QUIT {
            return;
        }
        times.clear();
        if let Some(work) = works.get_mut(which) {
            // At least once, even if the slice was over before this thread had a CPU.
            loop {
                let start = Instant::now();
                let done = work.once();
                times.push(start.elapsed().as_nanos().min(u32::MAX.into()) as u32);
                if !done {
                    fail(Error::Operation(format!("an operation failed under load ({})", sides[which].name)));
                    break;
                }
                if control.stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
        control.latencies.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&times);
        control.barrier.wait();
    }
}

fn measure(
    sides: &[Side],
    control: &Control,
    threads: usize,
    plan: Plan,
    interrupted: &AtomicBool,
    meter: &dyn Fn() -> Vec<u64>,
) -> Result<Vec<Measured>, Error> {
    // All have made their work.
    control.barrier.wait();
    failure(control)?;
    let mut all: Vec<Measured> = vec![Measured::default(); sides.len()];
    let mut length = plan.slice;
    for (which, _) in sides.iter().enumerate() {
        // A first slice that does not count: it warms up, and shows how long the threads need.
        let slice = slice(control, which, plan.slice)?;
        let needed = slice.wall / slice.operations.max(1) as f64 * threads as f64 * ROUNDS as f64;
        length = length.max(Duration::from_secs_f64(needed.min(LONGEST.as_secs_f64())));
    }
    let slices = in_turns(sides.len(), plan.repeats, |which| {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Operation("interrupted".to_owned()));
        }
        let before = meter();
        let slice = slice(control, which, length)?;
        let extra = &mut all[which].extra;
        extra.resize(before.len(), 0);
        for ((sum, before), after) in extra.iter_mut().zip(before).zip(meter()) {
            *sum += after.saturating_sub(before);
        }
        Ok(slice)
    })?;
    for (measured, slices) in all.iter_mut().zip(slices) {
        summarize(measured, slices);
    }
    Ok(all)
}

fn failure(control: &Control) -> Result<(), Error> {
    control.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
}

fn slice(control: &Control, which: usize, length: Duration) -> Result<Slice, Error> {
    control.side.store(which, Ordering::Relaxed);
    control.stop.store(false, Ordering::Relaxed);
    let (wall, cpu) = (Instant::now(), clock::of_process());
    control.barrier.wait();
    std::thread::sleep(length);
    control.stop.store(true, Ordering::Relaxed);
    control.barrier.wait();
    let (wall, cpu) = (wall.elapsed(), clock::of_process() - cpu);
    failure(control)?;
    let latencies = std::mem::take(&mut *control.latencies.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Slice { operations: latencies.len() as u64, wall: wall.as_secs_f64(), cpu: cpu.as_secs_f64(), latencies })
}

fn summarize(measured: &mut Measured, slices: Vec<Slice>) {
    measured.rate = Rates::of(slices.iter().map(|s| s.operations as f64 / s.wall));
    measured.cpu_rate = median(slices.iter().map(|s| s.operations as f64 / s.cpu));
    let mut times: Vec<u32> = slices.into_iter().flat_map(|s| s.latencies).collect();
    times.sort_unstable();
    // Nanoseconds.
    [measured.p50, measured.p99] = [50, 99].map(|percent| f64::from(percentile(&times, percent)) / 1e3);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &'static str, make: fn() -> Result<Work, Error>) -> Side {
        Side { name, maker: Box::new(make) }
    }

    fn sleeper() -> Result<Work, Error> {
        Ok(Work::new(Vec::new(), |_| {
            std::thread::sleep(Duration::from_millis(1));
            true
        }))
    }

    const PLAN: Plan = Plan { slice: Duration::from_millis(5), repeats: 2 };

    #[test]
    fn every_side_is_loaded_by_all_threads() {
        let calls = AtomicUsize::new(0);
        let meter = || vec![calls.fetch_add(1, Ordering::Relaxed) as u64];
        let sides = [side("a", sleeper), side("b", sleeper)];
        let measured = load(&sides, 3, PLAN, &AtomicBool::new(false), &meter).unwrap();
        assert_eq!(measured.len(), 2);
        for one in measured {
            assert!(one.rate.median > 0.0 && one.p50 >= 1000.0 && one.p99 >= one.p50, "{one:?}");
            assert!(one.rate.slowest <= 1.0 && one.rate.fastest >= 1.0, "{one:?}");
            // Once before and once after each of two slices.
            assert_eq!(one.extra, [2]);
        }
    }

    #[test]
    fn what_fails_ends_the_load_with_its_side() {
        let bad = || Ok(Work::new(Vec::new(), |_| false));
        let sides = [side("good", sleeper), side("bad", bad)];
        let error = load(&sides, 2, PLAN, &AtomicBool::new(false), &Vec::new).unwrap_err();
        assert!(error.to_string().contains("bad"), "{error}");
        let none = || Err(Error::Operation("nothing there".to_owned()));
        let error = load(&[side("none", none)], 2, PLAN, &AtomicBool::new(false), &Vec::new).unwrap_err();
        assert_eq!(error.to_string(), "nothing there");
        let error = load(&[side("a", sleeper)], 1, PLAN, &AtomicBool::new(true), &Vec::new).unwrap_err();
        assert_eq!(error.to_string(), "interrupted");
    }
}
