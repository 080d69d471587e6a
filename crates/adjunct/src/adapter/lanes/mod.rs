//! The batch engine: operations that threads ask for at the same time are done together, in lanes.
//!
//! *Who shares batches.* Operations in OpenSSL's asynchronous jobs ([`pause`]); those of plain threads only where the
//! configuration asks for it, for no function is as fast by it as alone at every number of threads (docs/accelerator.md). A
//! plain thread's operation is done at once, alone: it waits for nobody and touches no memory of the engine's.
//!
//! Self-clocking: whoever finds the engine idle works at once, alone, on the scalar path; requests that come meanwhile form
//! the next batch. No thread of its own, no timer, no sleep. How it goes is told in `engine`, what lies where in
//! `board`, and what the system does for it in `memory`.
//!
//! # Environment
//! `ADJUNCT_ACCELERATOR`, or `accelerator =` in the module's section of openssl.cnf: `always` for plain threads too, `off` for
//! nobody. The first is ignored in programs that run with another's rights.
//!
//! # Limits
//! * A handler of a signal that an instruction caused (SIGSEGV and the like) inside a kernel, which leaves it by a jump,
//!   keeps its place for ever: those whose jobs it led wait. Kernels touch nothing that can cause one.
//! * A thread that has put a job down with [`enqueue`] and ends leaves its slot taken until slots get scarce.

mod board;
pub mod curve;
mod engine;
mod kind;
mod memory;
pub mod nist;
pub mod pause;
pub mod rsa;
mod ticket;
mod work;

pub use kind::Kind;
pub use ticket::Ticket;

use crate::adapter::{Outcome, cpu};
use crate::catalogue::{Feature, Queue};
use crate::config::{self, Accelerator};
use crate::counters::{self, Event};
use crate::{diag, sandbox};
use board::Board;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8};

/// What stays the same in the life of a process.
pub(crate) struct Engine {
    board: &'static Board,
    /// Leaders at the same time.
    places: usize,
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

/// Starts the engine on any CPU, with so many leaders: for tests with kinds of their own.
#[doc(hidden)]
pub fn start_with(leaders: usize) {
    ENGINE.get_or_init(|| {
        let places = leaders.clamp(1, board::PLACES);
        memory::map().map(|board| Engine { board, places })
    });
}

/// Jobs that wait to be taken.
pub fn waiting() -> usize {
    running().map_or(0, |engine| engine.board.waiting())
}

/// Those of one queue.
fn waiting_in(queue: Queue) -> usize {
    running().map_or(0, |engine| engine.board.waiting_in(queue))
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

/// Does `job`. A caller who can pause ([`pause`]) waits for others; a plain thread's job is done at once, alone, or, where the
/// configuration asks for batches of threads, so where the engine is idle and together with the others' where it is not.
#[inline]
pub fn run<K: Kind>(job: &mut K::Job) -> Outcome {
    let Some(engine) = running() else { return alone::<K>(job) };
    if let Some(pauser) = pause::caller() {
        return pause::run::<K>(job, pauser);
    }
    if !is(Accelerator::Always) {
        return alone::<K>(job);
    }
    match engine.board.enter_alone() {
        // Held while the job is done: others see that they are not alone.
        Some(_alone) => alone::<K>(job),
        None => ticket::together::<K>(engine, job),
    }
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

/// Puts `job` down to be taken along by whoever leads next; never waits. Gives it back where that cannot be: the caller then
/// uses [`run`]. [`Ticket::finish`] forces the batch when the caller has nothing else to do.
///
/// # Errors
/// The job, where the engine is off or full, or this CPU has no lanes.
pub fn enqueue<K: Kind>(job: K::Job) -> Result<Ticket<K>, K::Job> {
    match running() {
        Some(engine) => Ticket::new(engine, job),
        None => Err(job),
    }
}
