//! What can be run in lanes: the queues, and the trait that ties one to its scalar and its lane path.

use crate::adapter::Outcome;
use crate::catalogue::Queue;

/// The largest job, in bytes.
pub(super) const MAX_JOB: usize = 2048;

/// An operation that can be done one at a time or in lanes.
///
/// A job is copied into memory of the engine and may be worked on by another thread, so it owns all it needs: numbers by
/// value, keys by `Arc`; and it wipes its secrets when it is dropped (the engine wipes the places it moved a job from).
/// The results are fields of the job, a failure among them. Neither path keeps locks, blocks, or calls back into the engine, and
/// neither ends the process where memory runs out: the jobs of others are among those it does.
pub trait Kind: 'static {
    /// Where its requests wait; one kind per queue.
    const QUEUE: Queue;
    /// The fewest jobs for which [`Kind::lanes`] takes less time than as many calls of [`Kind::scalar`], as measured.
    const BREAK_EVEN: usize;
    /// The operation's input and output.
    type Job: Clone + Send + 'static;

    /// Does one job: the low-latency path, and what is done again where a lane went wrong. Says what did it.
    fn scalar(job: &mut Self::Job) -> Outcome;

    /// Does 1 to [`LANES`](crate::catalogue::LANES) jobs at once. Bit `i` of the result says that job `i` is right; of the others nothing is used. `None`
    /// where there was no memory to do any: each is then done alone. Called only where [`super::available`].
    fn lanes(jobs: &mut [Self::Job]) -> Option<u8>;
}
