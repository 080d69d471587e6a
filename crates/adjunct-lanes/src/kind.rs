//! What can be run in lanes: the queues, and the trait that ties one to its scalar and its lane path.

use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::{LANES, Queue};

/// The largest job, in bytes.
pub(super) const MAX_JOB: usize = 2048;

/// A public-key operation that can be done one at a time or in lanes.
///
/// A job is the request and its reply as plain data: numbers and bytes by value, a key by its number ([`adjunct_base::slab`]). It lies in memory of the
/// engine while it waits, is copied and wiped there without its type being known, and is run by the thread that leads. A number whose key is gone is
/// a failure that the reply's fields tell, like any other. Neither path keeps locks, blocks, or calls back into the engine, and neither ends the
/// process where memory runs out: a batch contains jobs of other threads.
pub trait Kind: 'static {
    /// Queue of the kind's requests; each kind has its own.
    const QUEUE: Queue;
    /// The fewest jobs for which [`Kind::lanes`] takes less time than as many operations alone, as measured.
    const BREAK_EVEN: usize;
    /// Whether there are lanes for it here.
    fn available() -> bool {
        true
    }
    /// The lanes of a batch.
    fn width() -> usize {
        LANES
    }
    /// [`Kind::BREAK_EVEN`], in the lanes that are here.
    fn break_even() -> usize {
        Self::BREAK_EVEN
    }
    /// The operation's input and output.
    type Job: Copy + Send + 'static;

    /// Does a job for a thread that waits for it; gives what did it.
    fn scalar(job: &mut Self::Job) -> Outcome;

    /// Does 1 to [`Kind::width`] jobs at once. Bit `i` of the result says that job `i` is right; of the others nothing is used. `None`
    /// where there was no memory to do any: each is then done alone. Called only where [`Kind::available`].
    fn lanes(jobs: &mut [Self::Job]) -> Option<u8>;
}
