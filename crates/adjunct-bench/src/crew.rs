//! Processes in a closed loop: forks of one process that has made its work, as the workers of a server that forks are.
//!
//! They wait in memory that they share with the process that forked them. A slice has a lead-in, whose operations are not counted, and then a time in
//! which every operation that ends is counted: so the settled load is measured.

use crate::Error;
use crate::measure::Work;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::thread::futex;
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// Parts of a doubling by which times are told apart: 1.6 %.
const PARTS: u64 = 64;
const BUCKETS: usize = 36 * PARTS as usize;
/// Time in which a process has to end its operation; a process that does not hangs.
const PATIENCE: Duration = Duration::from_secs(60);

const LEAD_IN: u32 = 0;
const COUNTED: u32 = 1;
const OVER: u32 = 2;

/// The memory that the processes of a crew share.
struct Shared {
    /// Raised for each slice.
    slice: AtomicU32,
    phase: AtomicU32,
    /// Processes that wait for the next slice.
    waiting: AtomicU32,
    failed: AtomicU32,
    /// All operations of the slice, with those of the lead-in.
    all: AtomicU64,
    times: [AtomicU64; BUCKETS],
}

/// How many operations took how long: by bucket, those that are not 0.
pub type Times = Vec<(u16, u64)>;

/// The results of a slice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Slice {
    /// Operations that ended in the time that counts, after the lead-in.
    pub operations: u64,
    /// Length of the time in which [`Slice::operations`] were counted.
    pub wall: Duration,
    /// CPU time of the crew in [`Slice::wall`].
    pub cpu: Duration,
    /// CPU time of the other processes that were named.
    pub others: Duration,
    /// Operations, those of the lead-in included.
    pub all: u64,
    /// Latencies of the operations.
    pub times: Times,
}

impl Slice {
    /// Makes a slice of operations that took `nanoseconds` each; `all` counts the operations of the lead-in, too.
    pub fn of_times(nanoseconds: &[u64], all: u64) -> Slice {
        let mut counts = vec![0; BUCKETS];
        nanoseconds.iter().for_each(|&time| counts[bucket(time)] += 1);
        let times = (0..).zip(counts).filter(|(_, count)| *count > 0).collect();
        Slice { operations: nanoseconds.len() as u64, all, times, ..Slice::default() }
    }
}

/// The bucket that counts a time in nanoseconds.
fn bucket(nanoseconds: u64) -> usize {
    let power = u64::from(nanoseconds.max(1).ilog2());
    let at = match power.checked_sub(PARTS.ilog2().into()) {
        None => nanoseconds,
        Some(shift) => (shift + 1) * PARTS + (nanoseconds >> shift) - PARTS,
    };
    (at as usize).min(BUCKETS - 1)
}

/// The middle of the times that are counted there, in nanoseconds.
fn middle(bucket: u16) -> f64 {
    let (shift, part) = (u64::from(bucket) / PARTS, u64::from(bucket) % PARTS);
    match shift.checked_sub(1) {
        None => part as f64,
        Some(shift) => ((PARTS + part) << shift) as f64 + (1u64 << shift) as f64 / 2.0,
    }
}

/// The time in microseconds that `percent` of the operations of some slices took at most.
pub fn percentile<'a>(slices: impl IntoIterator<Item = &'a Slice>, percent: u64) -> f64 {
    let mut sums = vec![0; BUCKETS];
    for (bucket, count) in slices.into_iter().flat_map(|slice| &slice.times) {
        if let Some(sum) = sums.get_mut(usize::from(*bucket)) {
            *sum += count;
        }
    }
    let rank = (sums.iter().sum::<u64>() * percent).div_ceil(100).max(1);
    let mut before = 0;
    let found = sums.iter().position(|count| {
        before += count;
        before >= rank
    });
    found.map_or(0.0, |at| middle(at as u16) / 1e3)
}

/// Processes that have the same work each; they end when this value is dropped, and when the process that forked them ends.
#[derive(Debug)]
pub struct Crew {
    shared: &'static Shared,
    processes: Vec<Pid>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Crew {
    /// Forks `count` processes. The calling process must have one thread.
    ///
    /// # Errors
    /// [`Error::Io`] where there cannot be so many.
    pub fn fork(count: usize, work: &mut Work) -> Result<Crew, Error> {
        let size = size_of::<Shared>();
        // SAFETY: a new mapping, which is never unmapped, of zeros, which are values of atomic numbers.
        let shared = unsafe {
            mmap_anonymous(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)
                .map(|place| &*place.cast::<Shared>())
        };
        let shared = shared.map_err(|error| Error::Io(error.into()))?;
        let mut crew = Crew { shared, processes: Vec::new() };
        for _ in 0..count {
            // SAFETY: the child runs in a copy of a process of one thread.
            match unsafe { libc::fork() } {
                0 => {
                    let _ = catch_unwind(AssertUnwindSafe(|| member(shared, count as u32, work)));
                    // SAFETY: nothing of the process that forked is to be done at the end of this one.
                    unsafe { libc::_exit(1) }
                }
                pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
                    Some(pid) => crew.processes.push(pid),
                    None => return Err(Error::Io(std::io::Error::last_os_error())),
                },
            }
        }
        Ok(crew)
    }

    /// Has all work, for `lead_in` and then for `length`, which counts. `others` are processes whose CPU time is asked for too.
    ///
    /// # Errors
    /// [`Error::Operation`] where an operation failed, or a process does not answer.
    pub fn slice(&self, lead_in: Duration, length: Duration, others: &[u32]) -> Result<Slice, Error> {
        let shared = self.shared;
        self.all_wait()?;
        shared.times.iter().for_each(|count| count.store(0, Relaxed));
        shared.all.store(0, Relaxed);
        shared.waiting.store(0, Relaxed);
        shared.phase.store(LEAD_IN, Relaxed);
        shared.slice.fetch_add(1, Release);
        let _ = futex::wake(&shared.slice, futex::Flags::empty(), i32::MAX.cast_unsigned());
        std::thread::sleep(lead_in);
        let of = |processes: &[Pid]| processes.iter().map(|pid| cpu_time(pid.as_raw_nonzero().get())).sum::<Duration>();
        let of_others = || others.iter().map(|&pid| cpu_time(pid.cast_signed())).sum::<Duration>();
        let (cpu, other, begin) = (of(&self.processes), of_others(), Instant::now());
        shared.phase.store(COUNTED, Relaxed);
        std::thread::sleep(length);
        shared.phase.store(OVER, Relaxed);
        let wall = begin.elapsed();
        let (cpu, others) = (of(&self.processes).saturating_sub(cpu), of_others().saturating_sub(other));
        self.all_wait()?;
        if shared.failed.load(Relaxed) != 0 {
            return Err(Error::Operation("an operation failed under load".to_owned()));
        }
        let counts = shared.times.iter().zip(0..).map(|(count, bucket)| (bucket, count.load(Relaxed)));
        let times: Times = counts.filter(|(_, count)| *count > 0).collect();
        let operations = times.iter().map(|(_, count)| count).sum();
        Ok(Slice { operations, wall, cpu, others, all: shared.all.load(Relaxed), times })
    }

    fn all_wait(&self) -> Result<(), Error> {
        let (begin, all) = (Instant::now(), self.processes.len() as u32);
        loop {
            let waiting = self.shared.waiting.load(Acquire);
            if waiting >= all {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return Err(Error::Operation(format!("{} of {all} processes hang", all - waiting)));
            }
            if let Some(pid) = self.processes.iter().find(|pid| ended(**pid)) {
                return Err(Error::Operation(format!("process {pid} has ended under load")));
            }
            let limit = futex::Timespec { tv_sec: 1, tv_nsec: 0 };
            let _ = futex::wait(&self.shared.waiting, futex::Flags::empty(), waiting, Some(&limit));
        }
    }
}

fn ended(pid: Pid) -> bool {
    matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)) | Err(Errno::CHILD))
}

impl Drop for Crew {
    fn drop(&mut self) {
        for pid in &self.processes {
            let _ = kill_process(*pid, Signal::KILL);
        }
        for pid in &self.processes {
            while matches!(waitpid(Some(*pid), WaitOptions::empty()), Err(Errno::INTR)) {}
        }
    }
}

/// The loop of a crew's process, which runs until it is killed.
fn member(shared: &Shared, all: u32, work: &mut Work) -> ! {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let mut slice = 0;
    loop {
        if shared.waiting.fetch_add(1, Release) + 1 >= all {
            let _ = futex::wake(&shared.waiting, futex::Flags::empty(), 1);
        }
        while shared.slice.load(Acquire) == slice {
            let _ = futex::wait(&shared.slice, futex::Flags::empty(), slice, None);
        }
        slice = shared.slice.load(Acquire);
        while shared.phase.load(Relaxed) != OVER {
            let begin = Instant::now();
            let done = work.once();
            let time = begin.elapsed();
            if !done {
                shared.failed.store(1, Relaxed);
                break;
            }
            shared.all.fetch_add(1, Relaxed);
            if shared.phase.load(Relaxed) == COUNTED {
                shared.times[bucket(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))].fetch_add(1, Relaxed);
            }
        }
    }
}

/// Has the program that `command` starts end by a signal when the thread that starts it ends.
pub fn ends_with_us(command: &mut Command) -> &mut Command {
    // SAFETY: one system call.
    unsafe { command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?)) }
}

/// Has the program that `command` starts run with this niceness, where the system allows it.
pub fn nice(command: &mut Command, niceness: i32) -> &mut Command {
    // SAFETY: two system calls.
    unsafe {
        command.pre_exec(move || {
            let _ = rustix::process::setpriority_process(None, niceness);
            Ok(())
        })
    }
}

/// CPU time of a process so far; none where it has ended.
pub fn cpu_time(pid: i32) -> Duration {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both places are written by calls that succeed, and have values if they do not.
    let read = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    if read { Duration::new(time.tv_sec as u64, time.tv_nsec as u32) } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_again() {
        for time in [1, 63, 64, 65, 127, 128, 1000, 54_321, 1_000_000_007, 40_000_000_000] {
            let found = middle(bucket(time) as u16);
            assert!((found / time as f64 - 1.0).abs() < 1.0 / PARTS as f64, "{time}: {found}");
        }
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn percentiles_are_of_all_slices() {
        let of = |times: &[u64]| Slice::of_times(times, 0);
        let slices = [of(&[1000, 2000]), of(&[3000, 50_000])];
        assert!((percentile(&slices, 50) - 2.0).abs() < 0.1 && (percentile(&slices, 99) - 50.0).abs() < 1.0);
        assert_eq!(percentile(&[], 50), 0.0);
    }
}
