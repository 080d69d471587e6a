//! The batch engine: operations that are asked for at the same time are done together, in lanes.
//!
//! *Which operations.* Those of a thread's asynchronous jobs ([`pause`], `jobs`); and those of several threads, where a batch is faster than each
//! operation alone, as measured while they run (`function`, with the counts of `presence`). There is no thread of its own, no timer and no polling:
//! threads meet at a gate, where one of them, the leader, does a batch for the others, which sleep meanwhile, for a limited time. `gate` decides
//! which thread leads, with the argument that no job is forgotten; `board` carries the decisions out; `memory` has the system calls.
//!
//! # Environment
//! `ADJUNCT_ACCELERATOR`, or `accelerator =` in the module's section of openssl.cnf: `always` has threads share batches whether that is
//! faster or not; `off` switches all batches off, those of asynchronous jobs too. The variable is ignored in programs that run with
//! another's rights.
//!
//! # Limits
//! * A handler of a signal that an instruction caused (SIGSEGV and the like) inside a kernel, which leaves it by a jump, makes the threads whose jobs
//!   it led wait until they give them up, a second at most. Kernels touch nothing that can cause one.
//! * Threads wait as long where a filter of system calls ends single threads for the calls of a batch (futex, rt_sigprocmask).
//! * With `always`, nothing is measured, and such threads wait without end.

mod board;
pub mod curve;
mod function;
mod gate;
mod jobs;
mod kind;
mod memory;
pub mod nist;
mod own;
pub mod pause;
mod presence;
mod quota;
pub mod rsa;
pub mod tdes;
mod work;

pub use jobs::Ticket;
pub use kind::Kind;
pub use own::Own;

use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::Queue;
use adjunct_base::config::{self, Accelerator};
use adjunct_base::counters::{self, Event};
use adjunct_base::registry::{self, Adapter};
use adjunct_base::{diag, sandbox};
use adjunct_cpu as cpu;
use board::{Board, Result};
use memory::Quiet;
use presence::{Operation, Way};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8};
use work::Work;

/// Settings that do not change in the life of a process.
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
/// Whether a setting of this program's own, unlike openssl.cnf, names a mode of batches: they are then on even where a filter of system calls is in
/// force or expected.
static BY_NAME: AtomicBool = AtomicBool::new(false);

/// Whether this CPU has lanes, for RSA's private operations at least. Where it has none, callers run all operations themselves.
pub fn available() -> bool {
    cpu::rsa_lanes().is_some()
}

/// Whether this CPU has lanes for curves, too: AVX-512 and its IFMA extension.
pub fn for_curves() -> bool {
    cpu::lanes()
}

/// Whether operations that come at the same time are done in lanes here, those of asynchronous jobs at least: this CPU has lanes, and the
/// configuration has not switched them off.
pub fn on() -> bool {
    available() && !is(Accelerator::Off) && (BY_NAME.load(Relaxed) || !sandboxed())
}

/// Whether a filter of system calls is in force, or to be expected: it may kill for those of a batch.
fn sandboxed() -> bool {
    sandbox::filtered() || sandbox::expected()
}

/// Whether operations of plain threads are done in lanes, too.
pub fn of_threads() -> bool {
    available() && is(Accelerator::Always)
}

#[inline]
fn is(asked: Accelerator) -> bool {
    ASKED.load(Relaxed) == asked as u8
}

/// Takes `ADJUNCT_ACCELERATOR` into account.
pub fn from_environment() {
    if let Some(value) = adjunct_base::environment::secure_env("ADJUNCT_ACCELERATOR") {
        configure("ADJUNCT_ACCELERATOR", &value);
    }
}

/// Maps the engine's memory where there are lanes; the only system calls of a process that never has two requests at a time.
/// Not where a filter of system calls is in force or to be expected: it may kill for those of a batch, though the program has threads.
pub fn prime() {
    from_environment();
    if on() {
        start();
    }
}

/// Takes the value of a setting of this program's own, `on`, `always` or `off`; any other costs one warning and counts for nothing. What
/// was switched off in one place stays off; else what one place asks for all threads holds. Call it while a module loads.
pub fn configure(place: &'static str, value: &str) {
    if let Some(asked) = parsed(place, value) {
        BY_NAME.store(true, Relaxed);
        raise(asked);
        if sandboxed() && on() {
            start();
        }
    }
}

/// Takes the value of a setting in a file that many programs read, `on`, `always` or `off`; any other costs one warning and counts for
/// nothing. It switches nothing on in programs that have a filter of system calls.
pub fn configure_for_all(place: &'static str, value: &str) {
    parsed(place, value).into_iter().for_each(raise);
}

fn parsed(place: &'static str, value: &str) -> Option<Accelerator> {
    config::accelerator(place, value).map_err(|error| diag::warn(&format!("{error}; the value is ignored"))).ok()
}

/// Takes a setting into account: the greatest holds.
fn raise(asked: Accelerator) {
    ASKED.fetch_max(asked as u8, SeqCst);
    if is(Accelerator::Off) {
        registry::set_online(Adapter::Lanes, false);
    }
}

fn start() {
    start_with(quota::cpus());
}

/// Starts the engine on any CPU, as if there were `cpus` of them: for tests with kinds of their own.
#[doc(hidden)]
pub fn start_with(cpus: usize) {
    let start = || Board::map().map(|board| Engine { board, cpus: cpus.max(1), scheduling: memory::scheduling() });
    function::now();
    let there = ENGINE.get_or_init(start).is_some();
    registry::set_online(Adapter::Lanes, there);
    // Switched off before, or just now by another thread.
    if is(Accelerator::Off) {
        registry::set_online(Adapter::Lanes, false);
    }
}

/// Jobs that wait to be taken: of all threads that sleep for theirs, and those that this one has put down.
pub fn waiting() -> usize {
    running().map_or(0, |engine| engine.board.waiting() + jobs::waiting())
}

#[inline]
fn running() -> Option<&'static Engine> {
    if !registry::online(Adapter::Lanes) {
        return None;
    }
    ENGINE.get()?.as_ref()
}

/// The outcome of a request.
#[derive(Debug)]
pub enum Asked<J: Copy> {
    /// The operation was done, with others or for this thread by another.
    Done(Own<J>, Outcome),
    /// The caller is to do it.
    Alone(Alone),
}

/// An operation that its caller does.
#[must_use]
pub struct Alone {
    /// Queue in which the operation counts; `None` while the engine is off.
    queue: Option<Queue>,
    /// The operation as other threads see it while it lasts.
    operation: Option<Operation<'static>>,
    measured: bool,
}

adjunct_kernels::opaque_debug!(Alone);

impl Alone {
    /// Whether a card may do the operation in place of the caller: not where the engine is off, nor for a signal's handler within another operation.
    /// Where the CPU has no lanes, and so no engine, it may.
    pub fn may_leave(&self) -> bool {
        self.operation.is_some() || !available()
    }

    /// Does the operation, and counts it.
    #[inline]
    pub fn run<T>(self, operation: impl FnOnce() -> T) -> T {
        let done = match &self.operation {
            Some(ours) if self.measured => ours.measure(operation),
            _ => operation(),
        };
        if let Some(queue) = self.queue {
            counters::note(queue, Event::Alone);
        }
        done
    }
}

/// Asks for an operation: if the caller can pause ([`pause`]), together with others of its thread; with operations of other threads where that is
/// faster; else the caller has to do it. `job` is made only where another thread or a batch may do it.
#[inline]
pub fn ask<K: Kind>(job: impl FnOnce() -> K::Job) -> Asked<K::Job> {
    let Some(engine) = running().filter(|_| K::available()) else {
        return Asked::Alone(Alone { queue: None, operation: None, measured: false });
    };
    let alone = |operation, measured| Asked::Alone(Alone { queue: Some(K::QUEUE), operation, measured });
    if let Some(pauser) = pause::caller() {
        let done = pause::run::<K>(job, pauser);
        return done.map_or_else(|| alone(None, false), |(job, outcome)| Asked::Done(job, outcome));
    }
    match Operation::begin(engine, Work::of::<K>()) {
        Some((operation, Way::Together)) => match operation.handing(|| together::<K>(engine, Own::new(job()))) {
            Some((job, outcome)) => Asked::Done(job, outcome),
            None => alone(Some(operation), false),
        },
        // An operation lasts while the caller does it: others see it.
        Some((operation, way)) => alone(Some(operation), way == Way::Measured),
        None => alone(None, false),
    }
}

/// Has `job` done at a gate, with the other jobs there; `None` where it was not done, or went wrong.
#[cold]
#[inline(never)]
fn together<K: Kind>(engine: &Engine, job: Own<K::Job>) -> Option<(Own<K::Job>, Outcome)> {
    let quiet = Quiet::new();
    let (job, result) = engine.board.serve::<K>(engine, job).unwrap_or((None, Result::Not));
    let done = note_done::<K>(result).and_then(|outcome| Some((job?, outcome)));
    // Last: a signal that was put off may end the thread here.
    drop(quiet);
    done
}

/// Counts what came of a request; `None` where it is to be done again, by its owner.
fn note_done<K: Kind>(result: Result) -> Option<Outcome> {
    if result == Result::Wrong {
        counters::note(K::QUEUE, Event::Corrupted);
    }
    let outcome = result.outcome()?;
    counters::note(K::QUEUE, if outcome == Outcome::Lanes { Event::InLanes } else { Event::Alone });
    Some(outcome)
}

/// Queues a job, to be done with others of this thread by [`Ticket::finish`] of one of them. `None` where that cannot be: the engine is off, this CPU
/// has no lanes, or there is no memory. The caller then uses [`ask`].
pub fn enqueue<K: Kind>(job: K::Job) -> Option<Ticket<K>> {
    running().filter(|_| K::available())?;
    Ticket::new(job)
}

/// Does jobs of one kind in lanes where that takes less time than one after the other, as far as this process has measured both; `None` where it is
/// not done. For a card, to which operations come as batches.
pub fn do_now<K: Kind>(jobs: &mut [K::Job]) -> Option<u8> {
    let work = Work::of::<K>();
    if !K::available() || !work.pays(jobs.len(), true) {
        return None;
    }
    let (done, time) = function::timed(|| K::lanes(jobs));
    if done.is_some() {
        work.function().took(jobs.len(), true, time);
    }
    done
}

#[cfg(test)]
mod tests {
    /// Whether there are lanes for curves here; where there are none, says that a test is skipped.
    pub(super) fn here() -> bool {
        or_skipped(super::for_curves(), "this CPU has no AVX-512 IFMA, or it is masked")
    }

    /// Whether there are lanes for RSA here; where there are none, says that a test is skipped.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn for_rsa() -> bool {
        or_skipped(super::available(), "this CPU has neither AVX-512 IFMA nor AVX2 and FMA, or they are masked")
    }

    fn or_skipped(here: bool, why: &str) -> bool {
        if !here {
            println!("SKIPPED: {why}");
        }
        here
    }
}
