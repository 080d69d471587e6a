//! Kinds whose jobs do what a test wants, and a log of what was run.

#![allow(dead_code, reason = "each test program uses its part")]

use adjunct::catalogue::Outcome;
use adjunct::catalogue::Queue;
use adjunct::slab::{Entry, Number, Slab};
use adjunct_lanes::{self as lanes, Asked, Kind};
use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Starts the engine as if there were `cpus` CPUs; threads always share batches.
pub fn start(cpus: usize) {
    lanes::configure("accelerator", "always");
    lanes::start_with(cpus);
}

/// A door that jobs wait at.
#[derive(Debug, Default)]
pub struct Door {
    open: AtomicBool,
    inside: AtomicUsize,
}

/// Jobs name their doors, as they do keys.
static DOORS: Slab<Door> = Slab::new();

impl Door {
    pub fn new() -> Entry<Door> {
        DOORS.insert(Door::default()).unwrap()
    }

    fn pass(&self) {
        self.inside.fetch_add(1, SeqCst);
        until(|| self.open.load(SeqCst));
    }

    pub fn open(&self) {
        self.open.store(true, SeqCst);
    }

    /// Waits until `count` jobs have come to the door.
    pub fn until_inside(&self, count: usize) {
        until(|| self.inside.load(SeqCst) >= count);
    }
}

/// Waits for something that must come; gives up after a while, so that a test fails instead of hanging.
pub fn until(what: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if what() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    eprintln!("what the test waits for does not come");
    std::process::abort();
}

/// Whether the engine can have its memory, which a child of fork must find empty. Older versions of qemu's user mode call
/// every advice a success and follow none.
pub fn memory_can_be_wiped() -> bool {
    // SAFETY: a page of our own, and no advice.
    let honest = unsafe {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let page = libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0);
        libc::madvise(page, 4096, -1) != 0 && libc::madvise(page, 4096, libc::MADV_WIPEONFORK) == 0
    };
    if !honest {
        println!("SKIPPED: no memory here that a child of fork finds empty");
    }
    honest
}

/// Waits until `count` jobs wait, and their owners sleep.
pub fn until_waiting(count: usize) {
    until(|| lanes::waiting() == count && others_sleep());
}

/// Whether every other thread of this process sleeps.
fn others_sleep() -> bool {
    let me = rustix::thread::gettid().as_raw_nonzero().to_string();
    let threads = std::fs::read_dir("/proc/self/task").expect("this process's threads");
    threads.map(|thread| thread.expect("a thread")).filter(|thread| thread.file_name() != *me).all(|thread| {
        // The state comes after the name, which is in parentheses. A thread that has ended meanwhile does not sleep.
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" S"))
    })
}

/// What a job does in its kernel, beside its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Nothing,
    /// The job's lane goes wrong.
    Corrupt,
    /// The kernel panics, in lanes.
    Panic,
    /// The leading thread forks; the child says by its exit code whether it went on well.
    Fork,
    /// The leading thread sends itself a signal.
    Signal,
    /// The kernel takes as long as a real one.
    Take,
}

/// Takes `microseconds` microseconds of CPU time, or a little more.
pub fn work(microseconds: u64) {
    let time = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is written.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
    };
    let begin = time();
    while time() - begin < microseconds {}
}

/// What happens to the leader of a batch of [`Long`], when its jobs are about to be done.
pub trait Leader: 'static {
    fn leads(_jobs: usize) {}
}

/// Nothing happens to the leader.
#[derive(Debug)]
pub struct Undisturbed;

impl Leader for Undisturbed {}

/// An operation of which a batch of eight takes as long as two.
#[derive(Debug)]
pub struct Long<L>(PhantomData<L>);

impl<L: Leader> Kind for Long<L> {
    const QUEUE: Queue = Queue::Ed25519Keygen;
    const BREAK_EVEN: usize = 3;
    type Job = u64;

    fn scalar(job: &mut u64) -> Outcome {
        work(400);
        *job *= *job;
        Outcome::Library
    }

    fn lanes(jobs: &mut [u64]) -> Option<u8> {
        BATCHES.lock().unwrap().push((Queue::Ed25519Keygen, jobs.len()));
        work(800);
        L::leads(jobs.len());
        jobs.iter_mut().for_each(|job| *job *= *job);
        Some(u8::MAX)
    }
}

/// Squares a number.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    pub input: u64,
    pub output: u64,
    pub deed: Deed,
    pub door: Option<Number>,
    // Makes the job as large as a real one, and shows where it was not moved whole.
    filler: [u64; 64],
}

impl Job {
    pub fn new(input: u64) -> Job {
        Job { input, output: 0, deed: Deed::Nothing, door: None, filler: [input; 64] }
    }

    pub fn with(mut self, deed: Deed) -> Job {
        self.deed = deed;
        self
    }

    pub fn at(mut self, door: &Entry<Door>) -> Job {
        self.door = Some(door.number());
        self
    }

    pub fn assert_done(&self) {
        assert_eq!(self.output, self.input * self.input);
        assert_eq!(self.filler, [self.input; 64]);
    }

    fn square(&mut self) {
        if let Some(door) = self.door.and_then(|door| DOORS.get(door)) {
            door.pass();
        }
        self.output = self.input * self.input;
    }
}

/// Sizes of the batches run in lanes, and the inputs of the jobs run alone, in their order, by queue.
pub static BATCHES: Mutex<Vec<(Queue, usize)>> = Mutex::new(Vec::new());
pub static ALONE: Mutex<Vec<(Queue, u64)>> = Mutex::new(Vec::new());
/// Children forked in kernels.
pub static CHILDREN: Mutex<Vec<i32>> = Mutex::new(Vec::new());

pub fn batches() -> Vec<usize> {
    BATCHES.lock().unwrap().iter().map(|b| b.1).collect()
}

fn misbehave(deed: Deed) {
    match deed {
        Deed::Panic => panic!("on purpose"),
        Deed::Fork => {
            // SAFETY: the child goes on in the engine, which is what is tested, and then ends.
            let child = unsafe { libc::fork() };
            if child > 0 {
                CHILDREN.lock().unwrap().push(child);
            }
        }
        Deed::Take => (0..20_000).for_each(|i| _ = std::hint::black_box(i)),
        // SAFETY: the test has a handler.
        Deed::Signal => unsafe { _ = libc::syscall(libc::SYS_tkill, libc::syscall(libc::SYS_gettid), libc::SIGUSR1) },
        _ => {}
    }
}

fn scalar(queue: Queue, job: &mut Job) -> Outcome {
    // Not while holding the log, which a deed may end in.
    ALONE.lock().unwrap().push((queue, job.input));
    if !matches!(job.deed, Deed::Panic | Deed::Corrupt) {
        misbehave(std::mem::replace(&mut job.deed, Deed::Nothing));
    }
    job.square();
    Outcome::Library
}

fn lanes(queue: Queue, jobs: &mut [Job]) -> Option<u8> {
    assert!((1..=8).contains(&jobs.len()));
    BATCHES.lock().unwrap().push((queue, jobs.len()));
    for job in jobs.iter_mut() {
        misbehave(job.deed);
    }
    let mut right = 0;
    for (i, job) in jobs.iter_mut().enumerate() {
        job.square();
        match job.deed {
            Deed::Corrupt => job.output = 0xbad,
            _ => right |= 1 << i,
        }
    }
    Some(right)
}

#[derive(Debug)]
pub struct A;

impl Kind for A {
    const QUEUE: Queue = Queue::P521Derive;
    const BREAK_EVEN: usize = 3;
    type Job = Job;

    fn scalar(job: &mut Job) -> Outcome {
        scalar(Self::QUEUE, job)
    }

    fn lanes(jobs: &mut [Job]) -> Option<u8> {
        lanes(Self::QUEUE, jobs)
    }
}

#[derive(Debug)]
pub struct B;

impl Kind for B {
    const QUEUE: Queue = Queue::Ed25519Keygen;
    const BREAK_EVEN: usize = 2;
    type Job = Job;

    fn scalar(job: &mut Job) -> Outcome {
        scalar(Self::QUEUE, job)
    }

    fn lanes(jobs: &mut [Job]) -> Option<u8> {
        lanes(Self::QUEUE, jobs)
    }
}

/// Has a job done with others, or does it.
pub fn ask<K: Kind>(job: &mut K::Job) -> Outcome {
    match lanes::ask::<K>(|| *job) {
        Asked::Done(done, outcome) => {
            *job = *done;
            outcome
        }
        Asked::Alone(alone) => alone.run(|| K::scalar(job)),
    }
}

/// Runs a job and checks it.
pub fn run<K: Kind<Job = Job>>(mut job: Job) -> Outcome {
    let outcome = ask::<K>(&mut job);
    job.assert_done();
    outcome
}

/// Keeps every CPU busy at a kind's gate: as many threads lead there, behind a door, so that every thread that comes waits, but for the eighth.
pub struct Busy {
    door: Entry<Door>,
    threads: Vec<std::thread::JoinHandle<Outcome>>,
}

impl Busy {
    pub fn new(cpus: usize) -> Busy {
        Busy::of::<A>(cpus)
    }

    pub fn of<K: Kind<Job = Job>>(cpus: usize) -> Busy {
        let door = Door::new();
        let mut threads = Vec::new();
        for i in 0..cpus {
            let job = Job::new(1000 + i as u64).at(&door);
            threads.push(std::thread::spawn(move || run::<K>(job)));
            door.until_inside(i + 1);
        }
        Busy { door, threads }
    }

    /// Lets the threads go on, and waits until they end.
    pub fn end(self) {
        self.door.open();
        for thread in self.threads {
            assert_eq!(thread.join().unwrap(), Outcome::Library);
        }
    }
}
