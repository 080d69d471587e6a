//! Whether threads that ask for the same function at the same time share batches: decided for each function by what was measured while it
//! ran.
//!
//! Every so often a thread counts those that are inside the function, and inside any (a *survey*, by [`super::presence`]). If there are no
//! more than CPUs, each works alone. Else two rates are compared, of the CPUs that are this function's share:
//! * alone, each does one operation in the time measured for that;
//! * in batches of `k`, each of those that `k` threads can keep busy does one in a `k`th of the measured time of a batch, and the
//!   time of handing it over: the CPU time of a thread's operation without that of the batch it may have led.
//!
//! The faster way is chosen. When sharing begins, batches are given time to fill, for threads come to the gate one time slice after the other. After
//! that `k` is what leaders have found. Where sharing turns out to be slower than alone, it is tried again after more and more surveys.
//!
//! Short operations are never shared ([`LONG`]): their 99th percentile would become worse.

use adjunct_base::catalogue::Queue;
use adjunct_base::clock;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

/// Nanoseconds that handing a job over is expected to take until it is measured.
const EXPECTED_HANDING: u32 = 8000;
/// Milliseconds that a thread keeps a CPU while others wait for it.
const SLICE: f32 = 4.0;
/// Length of operations in nanoseconds of which one in a hundred loses its CPU in the middle, where threads wait for CPUs. Shorter ones are mostly
/// over before, and would come late more often by waiting for others.
const LONG: f32 = SLICE * 1e6 / 100.0;
/// The fractions of a number that averages are kept in.
const PARTS: u32 = 256;
/// Batches before their time is believed; also the full ones for each batch that is done in lanes only to be measured.
const WARM: u32 = 4;
const REMEASURED: u32 = 64;
/// Number of leaders below which their average tells too little.
const FEW: u32 = 32;
/// The longest wait of a thread for its job to be taken and done: this many times the recent wait, between [`LEAST_PATIENCE`] and [`MOST_PATIENCE`].
const PATIENCE: u32 = 8;
const LEAST_PATIENCE: Duration = Duration::from_millis(10 * SLICE as u64);
const MOST_PATIENCE: Duration = Duration::from_secs(1);
/// Surveys before batches that were not faster are tried again, at first and at most.
const FIRST_PAUSE: u32 = 16;
const LAST_PAUSE: u32 = 4096;

/// What is known of a function. It holds in forked children, too.
#[derive(Debug)]
pub(super) struct Function {
    /// Whether threads share batches.
    pub(super) shares: AtomicBool,
    /// Nanoseconds of an operation alone, of a batch, and of handing a job over; 0 while not measured, and for the last
    /// what is expected.
    pub(super) alone: AtomicU32,
    batch: AtomicU32,
    handing: AtomicU32,
    /// Nanoseconds that a job waited until it was done: a moving average.
    waited: AtomicU32,
    /// Batches done in lanes, and full ones that were not.
    done: AtomicU32,
    /// The recent work of leaders at gates, in [`PARTS`]th for each: jobs, batches in lanes, and jobs one by one.
    jobs: AtomicU32,
    batches: AtomicU32,
    singly: AtomicU32,
    /// Leaders since batches began, and milliseconds of [`now`] until which they are given time to fill.
    leaders: AtomicU32,
    trial: AtomicU32,
    /// Milliseconds of [`now`] at which sharing began the last time.
    began: AtomicU32,
    /// Threads inside, in [`PARTS`]th: averages of surveys.
    present: AtomicU32,
    all_present: AtomicU32,
    /// Surveys to come before batches are tried again, and how many those were the last time.
    pause: AtomicU32,
    last_pause: AtomicU32,
}

static FUNCTIONS: [Function; Queue::ALL.len()] = [const { Function::new() }; Queue::ALL.len()];

/// The function of a queue.
pub(super) fn function(queue: Queue) -> &'static Function {
    &FUNCTIONS[queue as usize]
}

fn nanoseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX).max(1)
}

/// An average of the last few, and of the first.
fn average(place: &AtomicU32, sample: u32, weight: u32) {
    let before = place.load(Relaxed);
    let next = if before == 0 { sample } else { (before - before / weight).saturating_add(sample / weight) };
    place.store(next, Relaxed);
}

/// The shortest of late: what another program or an interrupt adds is not the operation's.
fn shortest(place: &AtomicU32, sample: u32) {
    let before = place.load(Relaxed);
    let next = if before == 0 { sample } else { sample.min(before.saturating_add(before / 64 + 1)) };
    place.store(next, Relaxed);
}

impl Function {
    const fn new() -> Function {
        Function {
            shares: AtomicBool::new(false),
            alone: AtomicU32::new(0),
            batch: AtomicU32::new(0),
            handing: AtomicU32::new(EXPECTED_HANDING),
            waited: AtomicU32::new(0),
            done: AtomicU32::new(0),
            jobs: AtomicU32::new(0),
            batches: AtomicU32::new(0),
            singly: AtomicU32::new(0),
            leaders: AtomicU32::new(0),
            trial: AtomicU32::new(0),
            began: AtomicU32::new(0),
            present: AtomicU32::new(0),
            all_present: AtomicU32::new(0),
            pause: AtomicU32::new(0),
            last_pause: AtomicU32::new(0),
        }
    }

    /// Whether `count` jobs take less time in lanes than one after the other: where nothing is measured, `break_even` jobs do. A full
    /// batch is done in lanes from time to time whatever was measured, so that it is measured again.
    pub(super) fn pays(&self, count: usize, width: usize, break_even: usize, measures: bool) -> bool {
        let (alone, batch) = (self.alone.load(Relaxed), self.batch());
        let (true, Some(batch), 1..) = (measures, batch, alone) else { return count >= break_even.max(2) };
        let again = || count == width && self.done.fetch_add(1, Relaxed).is_multiple_of(REMEASURED);
        count >= 2 && count as u64 * u64::from(alone) > u64::from(batch) || again()
    }

    /// The time of a batch, where enough were measured: a first one makes the tables of its function, and forms of keys.
    fn batch(&self) -> Option<u32> {
        (self.done.load(Relaxed) > WARM).then(|| self.batch.load(Relaxed))
    }

    /// The jobs with which a batch of up to `width` begins where a CPU is idle and none of those that are on their way waits for this one: all
    /// but one, or of eight six where a batch is over about as soon as one that waits for another CPU could be here.
    pub(super) fn enough(&self, width: usize) -> usize {
        let handing = self.handing.load(Relaxed).saturating_mul(2 * width as u32);
        if self.batch().is_some_and(|batch| batch > handing) { width - 1 } else { width * 3 / 4 }
    }

    /// Threads that were inside lately.
    pub(super) fn inside(&self) -> usize {
        (self.present.load(Relaxed) / PARTS) as usize
    }

    /// Notes that `count` jobs took that much CPU time, in lanes or one after the other.
    pub(super) fn took(&self, count: usize, lanes: bool, time: Duration) {
        match lanes {
            // The very first is not the shortest of anything.
            true if self.done.fetch_add(1, Relaxed) == 0 => {}
            true => shortest(&self.batch, nanoseconds(time)),
            false => shortest(&self.alone, nanoseconds(time / count.max(1) as u32)),
        }
    }

    /// Notes that handing a job over took this CPU time.
    pub(super) fn handed(&self, time: Duration) {
        average(&self.handing, nanoseconds(time), 16);
    }

    /// A job of this thread waited so long until it was done.
    pub(super) fn waited(&self, time: Duration) {
        average(&self.waited, nanoseconds(time), 16);
    }

    /// How long a job waits before its owner checks whether to lead or to run it alone.
    pub(super) fn patience(&self) -> Duration {
        let waited = Duration::from_nanos(self.waited.load(Relaxed).into());
        (LEAST_PATIENCE + PATIENCE * waited).min(MOST_PATIENCE)
    }

    /// Notes that a job was given up after it had waited so long, for its leader took too long: threads share no batches for some time. All jobs of a
    /// batch are given up for one leader: jobs that came before sharing began the last time tell of a leader that is known.
    pub(super) fn failed(&self, waited: Duration) {
        let shared = now().wrapping_sub(self.began.load(Relaxed));
        let news = waited < Duration::from_millis(shared.into());
        if news && self.shares.swap(false, Relaxed) {
            self.rest();
        }
    }

    /// Has batches be tried again after twice as many surveys as the last time.
    fn rest(&self) {
        let pause = (2 * self.last_pause.load(Relaxed)).clamp(FIRST_PAUSE, LAST_PAUSE);
        self.last_pause.store(pause, Relaxed);
        self.pause.store(pause, Relaxed);
    }

    /// Notes that a leader at a gate has done `count` jobs, in lanes or one after the other.
    pub(super) fn led(&self, count: usize, lanes: bool) {
        self.leaders.fetch_add(1, Relaxed);
        let jobs = PARTS * count as u32;
        let (batches, singly) = if lanes { (PARTS, 0) } else { (0, jobs) };
        for (place, sample) in [(&self.jobs, jobs), (&self.batches, batches), (&self.singly, singly)] {
            average(place, sample.max(1), 16);
        }
    }

    /// Decides anew by the threads inside the function and inside any, for a process that has `cpus` CPUs; batches have up to `width` jobs.
    pub(super) fn survey(&self, here: u32, all: u32, cpus: usize, width: usize, break_even: usize) {
        average(&self.present, PARTS * here, 4);
        average(&self.all_present, PARTS * all, 4);
        let of_late = |place: &AtomicU32| place.load(Relaxed) as f32 / PARTS as f32;
        let alone = self.alone.load(Relaxed) as f32;
        if alone == 0.0 {
            return;
        }
        let (here, all) = (of_late(&self.present), of_late(&self.all_present));
        // The CPUs that are this function's.
        let own = (cpus as f32 * here / all.max(1.0)).min(here);
        // What sharing does to the rate, where each leader has so many jobs that take so long together.
        let handing = self.handing.load(Relaxed) as f32;
        let gain = |jobs: f32, time: f32| {
            let busy = own.min(here / jobs);
            busy * alone / (own * (time / jobs + handing))
        };
        let crowded = all > cpus as f32;
        let jobs = here.clamp(1.0, width as f32);
        let batch = self.batch().map_or(alone * break_even as f32, |measured| measured as f32);
        let expected = gain(jobs, batch);
        if !self.shares.load(Relaxed) {
            let pause = self.pause.load(Relaxed);
            if pause > 0 {
                self.pause.store(pause - 1, Relaxed);
            } else if crowded && alone > LONG && expected > 1.1 {
                // Threads that wait for a CPU come to the gate when they get one, each after a time slice of those before it.
                let slices = here / cpus as f32 + 2.0;
                let now = now();
                self.began.store(now, Relaxed);
                self.trial.store(now.wrapping_add((slices * SLICE) as u32), Relaxed);
                for place in [&self.leaders, &self.jobs, &self.batches, &self.singly] {
                    place.store(0, Relaxed);
                }
                self.shares.store(true, Relaxed);
            }
            return;
        }
        let time_left = self.trial.load(Relaxed).wrapping_sub(now()) as i32;
        let on_trial = time_left > 0 || self.leaders.load(Relaxed) < FEW;
        let found = gain(of_late(&self.jobs).max(1.0), of_late(&self.batches) * batch + of_late(&self.singly) * alone);
        if crowded && (on_trial || found > 1.0) {
            if !on_trial {
                self.last_pause.store(0, Relaxed);
            }
            return;
        }
        self.shares.store(false, Relaxed);
        // Not as good as expected of so many threads.
        if crowded && expected > 1.1 {
            self.rest();
        }
    }
}

/// Milliseconds since the engine was started, which is the first caller, so that later ones wait for no other thread.
pub(super) fn now() -> u32 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_millis() as u32
}

thread_local! {
    /// Nanoseconds of CPU time of the batches that this thread has led, ever.
    static LED: Cell<u64> = const { Cell::new(0) };
}

/// Runs a batch; says how much CPU time it took.
pub(super) fn timed<T>(batch: impl FnOnce() -> T) -> (T, Duration) {
    let begin = clock::cpu_time();
    let done = batch();
    let time = clock::cpu_time().saturating_sub(begin);
    LED.set(LED.get() + time);
    (done, Duration::from_nanos(time))
}

/// Nanoseconds of CPU time of this thread without those of batches that it has led.
pub(super) fn time_outside_batches() -> u64 {
    clock::cpu_time().saturating_sub(LED.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_base::catalogue::LANES;

    /// Makes a function whose operation takes so many nanoseconds alone, in a batch, and to hand over.
    fn measured(alone: u32, batch: u32, handing: u32) -> Function {
        let function = Function::new();
        function.alone.store(alone, Relaxed);
        function.batch.store(batch, Relaxed);
        function.handing.store(handing, Relaxed);
        function.done.store(WARM + 1, Relaxed);
        function
    }

    /// Whether `here` threads share after some surveys, on `cpus` CPUs.
    fn shares(function: &Function, here: u32, all: u32, cpus: usize) -> bool {
        (0..32).for_each(|_| function.survey(here, all, cpus, LANES, 3));
        function.shares.load(Relaxed)
    }

    /// RSA-2048 on a Zen 4: 230 microseconds, a batch 1010.
    const RSA: [u32; 3] = [230_000, 1_010_000, 8000];

    fn rsa() -> Function {
        measured(RSA[0], RSA[1], RSA[2])
    }

    #[test]
    fn only_where_threads_outnumber_cpus_and_batches_fill() {
        for (here, cpus, expected) in [
            (1, 1, false),
            (2, 2, false),
            (4, 2, false),
            (8, 2, false),
            (12, 2, true),
            (16, 2, true),
            (64, 2, true),
            (64, 64, false),
        ] {
            assert_eq!(shares(&rsa(), here, here, cpus), expected, "{here} threads, {cpus} CPUs");
        }
        // With one CPU any batch that is faster than its jobs alone; not with three of eight lanes filled.
        assert!(shares(&rsa(), 8, 8, 1) && shares(&rsa(), 6, 6, 1) && !shares(&rsa(), 3, 3, 1));
        // The others' threads take CPUs too: eight batches cannot be kept busy, one can.
        assert!(shares(&rsa(), 8, 64, 2));
    }

    #[test]
    fn slow_wakes_and_short_operations_are_not_worth_it() {
        assert!(!shares(&measured(RSA[0], RSA[1], 150_000), 16, 16, 2));
        assert!(shares(&measured(45_000, 84_000, 8000), 16, 16, 2));
        // Faster by far, but mostly over within a time slice.
        assert!(!shares(&measured(24_000, 43_000, 1000), 16, 16, 2));
        assert!(!shares(&Function::new(), 16, 16, 2));
    }

    #[test]
    fn batches_that_do_not_fill_end_it_and_are_tried_ever_more_rarely() {
        let function = rsa();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let mut surveys = 0;
            while !function.shares.load(Relaxed) {
                function.survey(16, 16, 2, LANES, 3);
                surveys += 1;
            }
            pauses.push(surveys);
            // Long enough, and each leader with its own job alone.
            function.trial.store(now().wrapping_sub(1), Relaxed);
            (0..FEW).for_each(|_| function.led(1, false));
            function.survey(16, 16, 2, LANES, 3);
            assert!(!function.shares.load(Relaxed));
        }
        assert!(pauses[..3] == [1, FIRST_PAUSE + 1, 2 * FIRST_PAUSE + 1] && pauses[11] == LAST_PAUSE + 1, "{pauses:?}");
    }

    /// A leader that gets no CPU for long counts once, though seven others give up, one after the other.
    #[test]
    fn one_late_leader_counts_once() {
        let function = rsa();
        let rested = || function.last_pause.load(Relaxed);
        let milliseconds = Duration::from_millis;
        assert!(shares(&function, 16, 16, 2));
        function.began.store(now().wrapping_sub(50), Relaxed);
        (0..7).for_each(|_| function.failed(milliseconds(40)));
        assert!(!function.shares.load(Relaxed) && rested() == FIRST_PAUSE);
        // Sharing has begun again when the last of them gives up.
        function.pause.store(0, Relaxed);
        assert!(shares(&function, 16, 16, 2));
        function.failed(milliseconds(60_000));
        assert!(function.shares.load(Relaxed));
        function.began.store(now().wrapping_sub(50), Relaxed);
        function.failed(milliseconds(40));
        assert!(!function.shares.load(Relaxed) && rested() == 2 * FIRST_PAUSE);
    }

    /// A first batch that makes its tables does not decide the average.
    #[test]
    fn a_slow_first_batch_is_forgotten() {
        let function = Function::new();
        function.took(1, false, Duration::from_micros(8));
        for microseconds in [1400, 40, 30, 30, 30, 30] {
            assert!(function.pays(LANES, LANES, 3, true));
            function.took(LANES, true, Duration::from_micros(microseconds));
        }
        assert!(
            function.pays(5, LANES, 3, true) && !function.pays(3, LANES, 3, true) && function.batch() == Some(30_000)
        );
        // What is slow is tried again, but rarely.
        function.batch.store(1_000_000, Relaxed);
        let tried = (0..10 * REMEASURED).filter(|_| function.pays(LANES, LANES, 3, true)).count();
        assert_eq!(tried, 10);
    }

    #[test]
    fn threads_that_go_end_it_at_once_and_may_come_back() {
        let function = rsa();
        assert!(shares(&function, 16, 16, 2));
        function.trial.store(now().wrapping_sub(1), Relaxed);
        (0..FEW).for_each(|_| function.led(8, true));
        assert!(shares(&function, 16, 16, 2) && !shares(&function, 2, 2, 2) && shares(&function, 16, 16, 2));
    }
}
