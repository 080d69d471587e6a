//! The batch engine: operations that are asked for at the same time are done together, in lanes.
//!
//! *Whose.* Those of a thread's asynchronous jobs ([`pause`], `jobs`), and those of several threads, where that is faster than each
//! alone, as measured while they run (`function`, by what `presence` counts). There is no thread of its own, no timer and no polling:
//! threads meet at a gate, where whoever comes at the right time does a batch for the others, which sleep meanwhile. `gate` has the
//! decisions about who does, with the argument that nobody is forgotten; `board` carries them out; `memory` is what the system does for it.
//!
//! # Environment
//! `ADJUNCT_ACCELERATOR`, or `accelerator =` in the module's section of openssl.cnf: `always` has threads share batches whether that is
//! faster or not, `off` is for nobody. The first is ignored in programs that run with another's rights.
//!
//! # Limits
//! * A handler of a signal that an instruction caused (SIGSEGV and the like) inside a kernel, which leaves it by a jump, leaves those
//!   whose jobs it led waiting. Kernels touch nothing that can cause one.
//! * The same where a filter of system calls ends single threads for the calls of a batch (futex, rt_sigprocmask).

mod board;
pub mod curve;
mod function;
mod gate;
mod jobs;
mod kind;
mod memory;
pub mod nist;
pub mod pause;
mod presence;
pub mod rsa;
mod work;

pub use jobs::Ticket;
pub use kind::Kind;

use crate::adapter::{Outcome, cpu};
use crate::catalogue::Feature;
use crate::config::{self, Accelerator};
use crate::counters::{self, Event};
use crate::{diag, sandbox};
use board::{Board, Result};
use memory::Quiet;
use presence::{Operation, Way};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8};
use work::Work;

/// What stays the same in the life of a process.
pub(crate) struct Engine {
    board: &'static Board,
    /// The CPUs of this process.
    cpus: usize,
    /// How the thread that loaded the module was scheduled.
    scheduling: u64,
}

impl Engine {
    /// Whether what was measured decides if threads share batches; else they always do.
    fn measures(&self) -> bool {
        !is(Accelerator::Always)
    }
}

static ENGINE: OnceLock<Option<Engine>> = OnceLock::new();
/// The greatest [`Accelerator`] asked for.
static ASKED: AtomicU8 = AtomicU8::new(Accelerator::On as u8);
/// Somebody has asked for it by name: then it is on under a filter of system calls too.
static BY_NAME: AtomicBool = AtomicBool::new(false);

/// Whether this CPU has lanes: AVX-512 and its IFMA extension. Where it has not, [`run`] is [`Kind::scalar`].
pub fn available() -> bool {
    let features = cpu::features();
    features.has(Feature::Avx512) && features.has(Feature::Ifma)
}

/// Whether operations that come at the same time are done in lanes here, those of asynchronous jobs at least: this CPU has them,
/// and nobody has switched them off.
pub fn on() -> bool {
    available() && !is(Accelerator::Off) && (BY_NAME.load(Relaxed) || !sandbox::filtered())
}

/// Whether those of plain threads are, too.
pub fn of_threads() -> bool {
    available() && is(Accelerator::Always)
}

#[inline]
fn is(asked: Accelerator) -> bool {
    ASKED.load(Relaxed) == asked as u8
}

/// Takes `ADJUNCT_ACCELERATOR` into account.
pub(crate) fn from_environment() {
    if let Some(value) = cpu::secure_env("ADJUNCT_ACCELERATOR") {
        configure("ADJUNCT_ACCELERATOR", &value);
    }
}

/// Maps the engine's memory where there are lanes; the only system calls of a process that never has two requests at a time.
/// Not where a filter of system calls is in force: it may kill for those of a batch, though the program has threads.
pub(crate) fn prime() {
    from_environment();
    if on() {
        start();
    }
}

/// Takes the value of a setting, `on`, `always` or `off`; any other costs one warning and counts for nothing. What was switched
/// off in one place stays off; else what one place asks for all threads holds. Call it while a module loads.
pub fn configure(place: &'static str, value: &str) {
    match config::accelerator(place, value) {
        Ok(asked) => {
            BY_NAME.store(true, Relaxed);
            ask(asked);
            if sandbox::filtered() && on() {
                start();
            }
        }
        Err(error) => diag::warn(&format!("{error}; the value is ignored")),
    }
}

fn ask(asked: Accelerator) {
    ASKED.fetch_max(asked as u8, Relaxed);
}

fn start() {
    start_with(memory::cpus());
}

/// Starts the engine on any CPU, as if there were so many: for tests with kinds of their own.
#[doc(hidden)]
pub fn start_with(cpus: usize) {
    let start = || Board::map().map(|board| Engine { board, cpus: cpus.max(1), scheduling: memory::scheduling() });
    ENGINE.get_or_init(start);
}

/// Jobs that wait to be taken: of all threads that sleep for theirs, and those that this one has put down.
pub fn waiting() -> usize {
    running().map_or(0, |engine| engine.board.waiting() + jobs::waiting())
}

/// Has every operation from now on done alone.
pub fn switch_off() {
    ask(Accelerator::Off);
}

#[inline]
fn running() -> Option<&'static Engine> {
    let engine = ENGINE.get()?.as_ref()?;
    (!is(Accelerator::Off)).then_some(engine)
}

/// Does `job`: of a caller who can pause ([`pause`]), together with others of its thread; else alone, or with those of other threads
/// where that is faster.
#[inline]
pub fn run<K: Kind>(job: &mut K::Job) -> Outcome {
    let Some(engine) = running() else { return alone::<K>(job) };
    if let Some(pauser) = pause::caller() {
        return pause::run::<K>(job, pauser);
    }
    match Operation::begin(engine, Work::of::<K>()) {
        Some((operation, Way::Together)) => operation.handing(|| together::<K>(engine, job)),
        Some((operation, Way::Measured)) => operation.measure(|| alone::<K>(job)),
        // A operation lasts while the job is done: others see it.
        Some((_operation, Way::Alone)) => alone::<K>(job),
        None => alone::<K>(job),
    }
}

/// Does `job` at a gate, with the others that are there.
#[cold]
#[inline(never)]
fn together<K: Kind>(engine: &Engine, job: &mut K::Job) -> Outcome {
    let copy = job.clone();
    let quiet = Quiet::new();
    let served = engine.board.serve::<K>(engine, copy);
    let (done, result) = served.unwrap_or((None, Result::Alone));
    let outcome = match (done, result.outcome()) {
        (Some(done), Some(outcome)) => {
            *job = done;
            outcome
        }
        _ => again::<K>(job, result),
    };
    counters::note(K::QUEUE, self::done(outcome));
    // Last: a signal that was put off may end the thread here.
    drop(quiet);
    outcome
}

/// Does a job again that went wrong with others, or was not done.
fn again<K: Kind>(job: &mut K::Job, result: Result) -> Outcome {
    if result == Result::Wrong {
        counters::note(K::QUEUE, Event::Corrupted);
    }
    K::scalar(job)
}

/// Does `job` here.
#[inline]
fn alone<K: Kind>(job: &mut K::Job) -> Outcome {
    let outcome = K::scalar(job);
    counters::note(K::QUEUE, done(outcome));
    outcome
}

/// What an operation that was done counts as.
fn done(outcome: Outcome) -> Event {
    if outcome == Outcome::Lanes { Event::InLanes } else { Event::Alone }
}

/// Puts `job` down, to be done with others of this thread: by [`Ticket::finish`] of one of them. Gives it back where that cannot be: the
/// caller then uses [`run`].
///
/// # Errors
/// The job, where the engine is off, this CPU has no lanes, or there is no memory.
pub fn enqueue<K: Kind>(job: K::Job) -> std::result::Result<Ticket<K>, K::Job> {
    match running() {
        Some(_) => Ticket::new(job),
        None => Err(job),
    }
}
