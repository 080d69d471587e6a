//! The batch engine: operations that threads ask for at the same time are done together, in lanes.
//!
//! Self-clocking: whoever finds the engine idle works at once, alone, on the scalar path; requests that come meanwhile form
//! the next batch. No thread of its own, no timer, no sleep. How it goes is told in [`engine`], what lies where in
//! [`board`], and what the system does for it in [`memory`].
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
pub mod rsa;
mod ticket;
mod work;

pub use kind::{Kind, LANES, MAX_JOB, Outcome, Queue};
pub use ticket::Ticket;

use crate::cpu::{self, Feature};
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

/// Whether this CPU has lanes: AVX-512 and its IFMA extension. Where it has not, [`run`] is [`Kind::scalar`].
pub fn available() -> bool {
    let features = cpu::features();
    features.has(Feature::Avx512) && features.has(Feature::Ifma)
}

/// Maps the engine's memory where there are lanes; the only system calls of a process that never has two requests at a time.
pub(crate) fn prime() {
    if available() {
        start();
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

/// Has every operation from now on done alone.
pub fn switch_off() {
    OFF.store(true, Relaxed);
}

#[inline]
fn running() -> Option<&'static Engine> {
    let engine = ENGINE.get()?.as_ref()?;
    (!OFF.load(Relaxed)).then_some(engine)
}

/// Does `job`: at once and alone where the engine is idle, together with the others' where it is not.
#[inline]
pub fn run<K: Kind>(job: &mut K::Job) -> Outcome {
    let Some(engine) = running() else {
        K::scalar(job);
        return Outcome::Scalar;
    };
    match engine.board.enter_alone() {
        Some(_alone) => {
            K::scalar(job);
            Outcome::Scalar
        }
        None => ticket::together::<K>(engine, job),
    }
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
