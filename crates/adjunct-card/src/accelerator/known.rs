//! Known-answer tests that a card must pass before it serves programs: a key of each kind, in lanes and alone. They also measure how long both take,
//! for the decision whether operations go to cards.
//!
//! `known.bin` has for each kind the key as the wire brings it, an input and the output: keys of OpenSSL's, made for this alone, and the
//! outputs as Python's `pow` has them.

use adjunct::card::work::{Job, RequestedKey, batch, width};
use adjunct_card_protocol::crowd::{Page, cpu_time};
use adjunct_card_protocol::wire::{Kind, Request};
use zeroize::Zeroizing;

static KNOWN: &[u8] = include_bytes!("known.bin");
/// Runs of which the shortest counts; the first of all makes the forms of the key.
const RUNS: usize = 4;

/// A request with a known answer, which brings its key or uses the one in place 0: for measuring cards.
pub fn known_request(kind: Kind, with_key: bool) -> Option<Request> {
    let before = Kind::ALL.iter().take_while(|&&other| other != kind);
    let from: usize = before.map(|kind| kind.key() + 2 * kind.size()).sum();
    let (key, rest) = KNOWN.get(from..)?.split_at_checked(kind.key())?;
    Request::new(kind, 0, with_key.then_some(key), rest.get(..kind.size())?)
}

/// Whether lanes, where there are any, and the CPU find them all.
pub fn answers_are_found(page: &Page) -> bool {
    let mut rest = KNOWN;
    Kind::ALL.into_iter().all(|kind| {
        let Some((known, after)) = rest.split_at_checked(kind.key() + 2 * kind.size()) else { return false };
        rest = after;
        let (key, known) = known.split_at(kind.key());
        let (input, output) = known.split_at(kind.size());
        let Ok(key) = RequestedKey::new(kind, key) else { return false };
        let mut times = [u64::MAX; 2];
        for _ in 0..RUNS {
            for (jobs, time) in [1, width()].into_iter().zip(&mut times) {
                let job = || Job { key: key.clone(), block: Zeroizing::new(input.to_vec()), done: false };
                let mut jobs: Vec<Job> = (0..jobs).map(|_| job()).collect();
                let begin = cpu_time();
                let done = batch(kind, &mut jobs, true);
                *time = (*time).min(cpu_time().saturating_sub(begin));
                let right = jobs.iter().all(|job| job.done && job.block[..] == *output);
                if !right || done.wrong > 0 || done.in_lanes != (jobs.len() > 1) {
                    return false;
                }
            }
        }
        page.set_times(kind, times[0], times[1]);
        page.set_width(width());
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_finds_them() {
        adjunct::init();
        adjunct::card::work::do_without_lanes();
        assert!(answers_are_found(&Page::default()));
        assert_eq!(KNOWN.len(), Kind::ALL.into_iter().map(|kind| kind.key() + 2 * kind.size()).sum::<usize>());
    }
}
