//! The least cost of threads that do each other's operations: for each operation a thread sleeps and is woken once.

use crate::clock;
use rustix::thread::futex::{Flags, wait, wake};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

/// Threads of a group: all but the last sleep until that one comes, as in a batch.
const TOGETHER: u32 = 8;
/// Places to sleep at, in turn: more than there can be groups under way.
const PLACES: usize = 256;
/// Threads, as many as keep a few groups under way.
const THREADS: usize = 64;
/// Every thread that sleeps at a place.
const ALL: u32 = i32::MAX as u32;

/// Nanoseconds of CPU time that an operation costs which does nothing but have seven of eight threads sleep until the eighth comes,
/// who wakes them: what a batch of operations costs beside them in any scheme in which threads wait for each other. Takes `time`.
pub fn handing_over(time: Duration) -> f64 {
    let (arrivals, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let places = [const { AtomicU32::new(0) }; PLACES];
    // The last thing that a thread does, after its last change of a place: who sleeps there, or will, goes on.
    let end = || {
        for place in &places {
            place.store(u32::MAX, SeqCst);
            let _ = wake(place, Flags::PRIVATE, ALL);
        }
    };
    let turn = || {
        let group = arrivals.fetch_add(1, SeqCst);
        let (last, group) = (group % TOGETHER == TOGETHER - 1, group / TOGETHER);
        let (place, round) = (&places[group as usize % PLACES], group / PLACES as u32);
        if last {
            place.store(round + 1, SeqCst);
            let _ = wake(place, Flags::PRIVATE, ALL);
        }
        while !last && place.load(SeqCst) == round {
            let _ = wait(place, Flags::PRIVATE, round, None);
        }
    };
    let begin = clock::of_process();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !over.load(SeqCst) {
                    turn();
                }
                end();
            });
        }
        std::thread::sleep(time);
        over.store(true, SeqCst);
        end();
    });
    let cpu = clock::of_process().saturating_sub(begin);
    cpu.as_nanos() as f64 / f64::from(arrivals.into_inner().max(1))
}

#[cfg(test)]
mod tests {
    #[test]
    fn threads_that_wait_for_each_other_all_end() {
        for _ in 0..20 {
            assert!(super::handing_over(std::time::Duration::from_millis(5)) > 0.0);
        }
    }
}
