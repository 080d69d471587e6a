//! What all cards did so far, out of the file of the state, for benchmarks.
#![forbid(unsafe_code)]

use crate::state::{Bus, CARD, Card, Error, HEAD, MAGIC, MAX_CARDS, MAX_COUNTERS, QUEUE, Queue, WORDS};
use std::path::Path;

/// Totals of all cards so far, for benchmarks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures {
    /// Operations done.
    pub operations: u64,
    /// The batches they were in.
    pub batches: u64,
    /// The cards' processes that run.
    pub processes: Vec<u32>,
}

/// Reads what cards did so far.
///
/// # Errors
/// [`Error::Version`] for a file of another layout, [`Error::Io`].
pub fn figures(path: &Path) -> Result<Figures, Error> {
    let name = || path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| Error::Io(name(), error))?;
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())).collect();
    if words.len() != WORDS || words[Bus::Magic as usize] != MAGIC {
        return Err(Error::Version(name()));
    }
    let (cards, queues) = words[HEAD..].split_at(MAX_CARDS * CARD);
    let mut figures = Figures::default();
    for queue in queues.chunks_exact(QUEUE) {
        figures.batches += queue[Queue::Batches as usize];
        let counters = &queue[Queue::Counters as usize..][..2 * MAX_COUNTERS];
        figures.operations += counters.iter().step_by(2).sum::<u64>();
    }
    let process = |card: &[u64]| u32::try_from(card[Card::Pid as usize]).ok().filter(|&pid| pid != 0);
    figures.processes = cards.chunks_exact(CARD).filter_map(process).collect();
    Ok(figures)
}
