//! Threads that do something again and again, all for the same time.

use crate::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Why a row is not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// What is measured does not have it.
    Missing(String),
    /// A call failed.
    Failed(String),
}

/// The results of a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// Operations of all threads.
    pub operations: u64,
    /// Wall time.
    pub wall: Duration,
    /// CPU time of the threads.
    pub cpu: Duration,
}

/// The state that a thread makes for its share of the load.
pub trait Thread {
    /// Does the operation that is measured, once.
    ///
    /// # Errors
    /// [`Why`] it cannot go on.
    fn operation(&mut self) -> Result<(), Why>;

    /// Ends the thread's work, after the time that counts.
    ///
    /// # Errors
    /// [`Why`] it cannot be ended.
    fn end(self) -> Result<(), Why>;
}

/// Runs `threads` threads for `length`; `make` gives each, by its number, what it works with.
///
/// # Errors
/// [`Why`] one of them could not go on.
pub fn load<T: Thread>(
    threads: usize,
    length: Duration,
    make: impl Fn(usize) -> Result<T, Why> + Sync,
) -> Result<Done, Why> {
    let (barrier, stop, failed) = (&Barrier::new(threads + 1), &AtomicBool::new(false), &Mutex::new(None::<Why>));
    let (sums, make) = (&Sums::default(), &make);
    // Held until all threads are there; then whether they are.
    let begin = &Mutex::new(false);
    std::thread::scope(|scope| {
        let mut start = begin.lock().unwrap_or_else(PoisonError::into_inner);
        for number in 0..threads {
            let body = move || {
                if !*begin.lock().unwrap_or_else(PoisonError::into_inner) {
                    return;
                }
                if let Err(why) = one(|| make(number), barrier, stop, sums) {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                }
            };
            let made = std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, body);
            made.map_err(|e| Why::Failed(format!("no {threads} threads: {}", crate::cause(&e))))?;
        }
        *start = true;
        drop(start);
        // All have what they work with.
        barrier.wait();
        std::thread::sleep(length);
        stop.store(true, Ordering::Relaxed);
        barrier.wait();
        Ok(())
    })?;
    if let Some(why) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(why);
    }
    let of = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
    let wall = Duration::from_nanos(of(&sums.last).saturating_sub(of(&sums.first)));
    Ok(Done { operations: of(&sums.operations), wall, cpu: Duration::from_nanos(of(&sums.cpu)) })
}

/// Sums over the threads of a slice. The time is from when the first begins to when the last ends: the thread that waits for them may get a CPU long
/// after either.
struct Sums {
    epoch: Instant,
    operations: AtomicU64,
    cpu: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            epoch: Instant::now(),
            operations: AtomicU64::new(0),
            cpu: AtomicU64::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
        }
    }
}

/// Runs a thread's share of the load. It meets the other threads twice, whatever happens.
fn one<T: Thread>(
    make: impl FnOnce() -> Result<T, Why>,
    barrier: &Barrier,
    stop: &AtomicBool,
    sums: &Sums,
) -> Result<(), Why> {
    let ready = make().and_then(|mut thread| {
        // Once before it counts.
        thread.operation()?;
        Ok(thread)
    });
    barrier.wait();
    let result = ready.and_then(|mut thread| {
        let now = || sums.epoch.elapsed().as_nanos() as u64;
        sums.first.fetch_min(now(), Ordering::Relaxed);
        let (start, mut count) = (clock::of_thread(), 0);
        let mut result = Ok(());
        while result.is_ok() && !stop.load(Ordering::Relaxed) {
            result = thread.operation();
            count += 1;
        }
        sums.cpu.fetch_add((clock::of_thread() - start).as_nanos() as u64, Ordering::Relaxed);
        sums.operations.fetch_add(count, Ordering::Relaxed);
        sums.last.fetch_max(now(), Ordering::Relaxed);
        result.map(|()| thread)
    });
    barrier.wait();
    result.and_then(T::end)
}
