//! The batch engine: operations that threads ask for at the same time are done together, in lanes.
//!
//! Self-clocking: whoever finds the engine idle works at once, alone, on the scalar path; requests that come meanwhile form
//! the next batch. No thread of its own, no timer, no sleep. How it goes is told in `engine`, what lies where in
//! `board`, and what the system does for it in `memory`.
//!
//! # Environment
//! `ADJUNCT_ACCELERATOR=off`, or `accelerator = off` in the module's section of openssl.cnf: every operation is done alone.
//! The first is ignored in programs that run with another's rights.
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
mod nist;
pub mod pause;
pub mod rsa;
mod ticket;
mod work;

pub use kind::{Kind, LANES, MAX_JOB, Outcome, Queue};
#[cfg(target_arch = "s390x")]
pub(crate) use nist::der;
pub use ticket::Ticket;

use crate::counters::{self, Event};
use crate::cpu::{self, Feature};
use crate::{config, diag, sandbox};
use board::Board;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// What stays the same in the life of a process.
pub(crate) struct Engine {
    board: &'static Board,
    /// Leaders at the same time.
    places: usize,
}

static ENGINE: OnceLock<Option<Engine>> = OnceLock::new();
static OFF: AtomicBool = AtomicBool::new(false);
/// Somebody has asked for it by name: then it is on under a filter of system calls too.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether this CPU has lanes: AVX-512 and its IFMA extension. Where it has not, [`run`] is [`Kind::scalar`].
pub fn available() -> bool {
    let features = cpu::features();
    features.has(Feature::Avx512) && features.has(Feature::Ifma)
}

/// Whether operations that threads ask for at the same time are done in lanes here: this CPU has them, and nobody has switched
/// them off.
pub fn on() -> bool {
    available() && !OFF.load(Relaxed) && (ASKED.load(Relaxed) || !sandbox::filtered())
}

/// Takes `ADJUNCT_ACCELERATOR` into account.
pub fn from_environment() {
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

/// Takes the value of a setting, `on` or `off`; any other costs one warning and counts for nothing. What was switched off in
/// one place stays off. Call it while a module loads.
pub fn configure(place: &'static str, value: &str) {
    match config::accelerator(place, value) {
        Ok(true) => {
            ASKED.store(true, Relaxed);
            if sandbox::filtered() && on() {
                start();
            }
        }
        Ok(false) => switch_off(),
        Err(error) => diag::warn(&format!("{error}; the value is ignored")),
    }
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
    OFF.store(true, Relaxed);
}

#[inline]
fn running() -> Option<&'static Engine> {
    let engine = ENGINE.get()?.as_ref()?;
    (!OFF.load(Relaxed)).then_some(engine)
}

/// Does `job`: at once and alone where the engine is idle, together with the others' where it is not. A caller who can pause
/// ([`pause`]) always waits for others.
#[inline]
pub fn run<K: Kind>(job: &mut K::Job) -> Outcome {
    let Some(engine) = running() else { return alone::<K>(job) };
    if let Some(pauser) = pause::caller() {
        return pause::run::<K>(job, pauser);
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
    counters::note(K::QUEUE, Event::Done(outcome));
    outcome
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
