//! How long a program waits for a card's answer: after that it does the operation itself, and a later answer is dropped.
//!
//! A card serves users in turns, so that an answer takes the batch that runs and the one that the request is in, whatever others ask for;
//! more where one user has more operations under way than fit into a batch of each CPU, or where other tasks want the CPUs too. Twice that and
//! some slack for the system's scheduling is waited, but where the machine is not crowded no longer than [`LIMIT`], unless a card in good
//! order needs more.
//!
//! A program that gives up closes the connection, and the card then does not begin a request that it has not begun. So at most one batch is done in
//! vain, and a program never takes longer than the deadline and an operation of its own.
#![forbid(unsafe_code)]

use super::crowd::Page;
use super::wire::Kind;
use adjunct_kernels::floats::in_default_mode;

/// Milliseconds that the scheduling of both sides may take.
const SLACK: f32 = 10.0;
/// Milliseconds to wait for an answer where the machine is not crowded.
const LIMIT: f32 = 20.0;
/// The most milliseconds to wait for an answer.
const LONGEST: f32 = 500.0;

/// Milliseconds to wait for the answer to a request made now.
pub(super) fn patience(page: &Page, kind: Kind, now: u64) -> u64 {
    in_default_mode(|| patience_by_measure(page, kind, now))
}

fn patience_by_measure(page: &Page, kind: Kind, now: u64) -> u64 {
    let [alone, batch, handing] = page.times(kind).map(|nanoseconds| nanoseconds as f32 / 1e6);
    let all: f32 = Kind::ALL.iter().map(|&kind| page.under_way(kind, now)).sum();
    // Without lanes requests are done one by one.
    let turn = if 4.0 * batch < 3.0 * page.width() * alone { batch } else { alone };
    let answer = handing + 2.0 * turn;
    let rounds = (all / (page.width() * page.cpus() as f32)).max(1.0);
    let wanted = (SLACK + 2.0 * answer).min(LIMIT).max(SLACK / 2.0 + answer) * rounds * page.stretch(kind);
    // What others have written there may be anything.
    if wanted.is_finite() { wanted.clamp(SLACK, LONGEST) as u64 } else { LONGEST as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(alone: u64, batch: u64) -> Page {
        let page = Page::default();
        page.set_cards(1, 2);
        page.set_times(Kind::Rsa4096, alone, batch);
        page
    }

    #[test]
    fn it_is_short_where_nothing_is_under_way() {
        for (alone, batch, expected) in [
            // A batch that takes less than a millisecond; one of 4; one of 12, which a card in good order needs; and no lanes.
            (200_000, 450_000, 11..=12),
            (700_000, 4_000_000, 20..=20),
            (2_500_000, 12_000_000, 25..=30),
            (2_000_000, 16_000_000, 18..=18),
            (0, 0, 10..=10),
        ] {
            let found = patience(&page(alone, batch), Kind::Rsa4096, 1 << 20);
            assert!(expected.contains(&found), "{alone} {batch}: {found}");
        }
    }

    #[test]
    fn it_grows_with_what_is_under_way_to_a_limit() {
        let page = page(700_000, 4_000_000);
        let mut before = 0;
        for (programs, begin) in [(16u64, 1 << 20), (64, 2 << 20), (500, 3 << 20), (100_000, 4 << 20)] {
            (begin..begin + 64).for_each(|now| page.ended(Kind::Rsa4096, now, programs * 1000));
            let found = patience(&page, Kind::Rsa4096, begin + 63);
            // Twice what all of them take in full batches on two CPUs, or the limit.
            assert!(found > before && found >= (programs / 16 * 8).min(500) && found <= 500, "{programs}: {found}");
            before = found.min(499);
        }
    }

    #[test]
    fn it_grows_where_other_tasks_want_the_cpus() {
        let page = page(700_000, 4_000_000);
        page.took(Kind::Rsa4096, 12_000_000, 4_000_000);
        assert_eq!(patience(&page, Kind::Rsa4096, 1 << 20), 60);
        (0..1000).for_each(|_| page.took(Kind::Rsa4096, 4_000_000, 4_000_000));
        assert_eq!(patience(&page, Kind::Rsa4096, 1 << 20), 20);
        page.took(Kind::Rsa4096, u64::MAX, 0);
        assert_eq!(patience(&page, Kind::Rsa4096, 1 << 20), 500);
    }
}
