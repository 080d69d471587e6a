//! How often mechanisms of PKCS #11 were used, by user, slot and strength of the key.
//!
//! A segment per user, found and trusted as those of the counters are ([`super::find`]), made by who initializes the PKCS #11 module. It is a table
//! whose rows are claimed, each for a slot and a mechanism, and [`STRIPES`] copies of its numbers: a thread adds to one of them, atomically, so that
//! threads seldom share a cache line. No part of it has an owner: a process that is killed leaves nothing to be taken back, a child of fork goes on
//! in its parent's stripe, and a reset takes each number in one instruction, so that every use is in one answer or still there. Nothing read from the
//! segment is used as an index, a length or a pointer.
//!
//! Uses count for the effective user at C_Initialize, which is where the segment is mapped; in a process under a filter of system calls
//! nothing is counted, unless that is asked for.
#![forbid(unsafe_code)]

use super::counting;
use super::find::Sought;
use super::memory::{self, Access, Kept, Mapped};
use super::reader;
use super::settings::{self, Settings};
use super::table::{STRIPES, Strength, Use, Uses};
use super::thread::{self, Thread};
use crate::error::Error;
use crate::sandbox;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// The segment of the user who initialized the module last.
static CURRENT: Kept<Uses> = Kept::none();
/// Owner of [`CURRENT`]: the uid plus 1.
static WHOSE: AtomicU64 = AtomicU64::new(0);

/// Maps the segment of the effective user, where uses are counted and none is mapped. Never fails and says nothing.
pub(super) fn open() {
    let uid = memory::effective_user();
    if WHOSE.swap(u64::from(uid) + 1, AcqRel) == u64::from(uid) + 1 {
        return;
    }
    CURRENT.clear();
    let Settings::On { prefix, even_filtered } = settings::settings() else { return };
    if sandbox::filtered() && !even_filtered {
        return;
    }
    if let Ok(segment) = Sought::uses(prefix, uid).open() {
        CURRENT.set(segment);
    }
}

/// See [`super::count_use`].
#[inline]
pub(super) fn count(slot: u32, mechanism: u32, strength: Strength) {
    let Some(segment) = CURRENT.get().filter(|_| counting()) else { return };
    // What comes once is apart, so that it costs the rest no registers.
    let stripe = thread::with(|thread| thread.stripe.get());
    match usize::from(stripe).checked_sub(1) {
        Some(stripe) if segment.add_again(stripe, slot, mechanism, strength) => {}
        _ => add_first(segment, slot, mechanism, strength),
    }
}

/// Counts a use by a thread that has no stripe yet, or the first one of a mechanism.
#[cold]
#[inline(never)]
fn add_first(segment: &Uses, slot: u32, mechanism: u32, strength: Strength) {
    let stripe = thread::with(|thread| match thread.stripe.get() {
        0 => first(thread),
        stripe => stripe,
    });
    segment.add(usize::from(stripe) - 1, slot, mechanism, strength);
}

/// The stripe of a thread that has none yet, plus 1.
#[cold]
fn first(thread: &Thread) -> u8 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Processes begin at different ones, each thread of a process has another.
    let start = u64::from(std::process::id());
    let stripe = ((start + NEXT.fetch_add(1, Relaxed)) % STRIPES as u64) as u8 + 1;
    thread.stripe.set(stripe);
    stripe
}

fn segments(prefix: u32, uid: u32, access: Access) -> Result<Vec<Mapped<Uses>>, Error> {
    match access {
        Access::Read => reader::readable(uid)?,
        Access::Write => reader::permitted(uid, "see or change")?,
    }
    Ok(Sought::uses(prefix, uid).all(&reader::listed(uid)?, access))
}

fn merged(all: impl Iterator<Item = Vec<Use>>) -> Option<Vec<Use>> {
    all.reduce(|mut sum, more| {
        for one in more {
            match sum.iter_mut().find(|known| (known.slot, known.mechanism) == (one.slot, one.mechanism)) {
                Some(known) => {
                    let pairs = known.by_strength.iter_mut().zip(one.by_strength);
                    pairs.for_each(|(sum, more)| *sum = sum.saturating_add(more));
                }
                None => sum.push(one),
            }
        }
        sum
    })
}

/// See [`super::uses`].
pub(super) fn read(prefix: u32, uid: u32) -> Result<Option<Vec<Use>>, Error> {
    let segments = segments(prefix, uid, Access::Read)?;
    Ok(merged(segments.iter().map(|segment| segment.sum(|_| true, |word| word.load(Relaxed)))))
}

/// See [`super::reset_uses`].
pub(super) fn reset(prefix: u32, uid: u32, slot: Option<u32>) -> Result<bool, Error> {
    let segments = segments(prefix, uid, Access::Write)?;
    for segment in &segments {
        let _ = segment.sum(|found| slot.is_none_or(|slot| slot == found), |word| word.swap(0, Relaxed));
    }
    Ok(!segments.is_empty())
}

/// See [`super::delete_uses`].
pub(super) fn delete(prefix: u32, uid: u32) -> Result<bool, Error> {
    reader::permitted(uid, "remove")?;
    let own = Sought::uses(prefix, uid).own(&reader::listed(uid)?);
    own.iter().try_for_each(|found| reader::remove(uid, found.id))?;
    Ok(!own.is_empty())
}

/// See [`super::users_of_uses`].
pub(super) fn users(prefix: u32) -> Result<Vec<u32>, Error> {
    let (me, all) = (memory::effective_user(), reader::reads_all());
    let listed = reader::listed(me)?;
    let mut users: Vec<u32> = listed.iter().map(|s| s.uid).filter(|&uid| all || me == uid).collect();
    users.sort_unstable();
    users.dedup();
    users.retain(|&uid| Sought::uses(prefix, uid).is_in(&listed));
    Ok(users)
}

#[cfg(test)]
mod tests {
    use super::super::table::ROWS;
    use super::*;

    struct Scratch(Mapped<Uses>);

    impl Scratch {
        fn new(name: u32) -> Scratch {
            let prefix = 0x7e58_0000 ^ std::process::id() << 4 ^ name;
            Scratch(Sought::uses(prefix, memory::effective_user()).open().unwrap())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            memory::remove(self.0.id).unwrap();
        }
    }

    #[test]
    fn uses_are_told_apart_by_slot_mechanism_and_strength() {
        let scratch = Scratch::new(1);
        let read = || scratch.0.sum(|_| true, |word| word.load(Relaxed));
        assert_eq!(read(), []);
        for (stripe, slot, mechanism, strength) in [
            (0, 1, 0x250, Strength::None),
            (63, 1, 0x250, Strength::None),
            (64, 1, 0x1082, Strength::Bits256),
            (1, 3, 0x1082, Strength::Bits128),
            (2, u32::MAX, u32::MAX - 1, Strength::Bits112),
        ] {
            scratch.0.add(stripe, slot, mechanism, strength);
        }
        let mut found = read();
        found.sort_unstable_by_key(|one| (one.slot, one.mechanism));
        let expected = [
            (1, 0x250, [2, 0, 0, 0, 0]),
            (1, 0x1082, [0, 0, 0, 0, 1]),
            (3, 0x1082, [0, 0, 1, 0, 0]),
            (u32::MAX, u32::MAX - 1, [0, 1, 0, 0, 0]),
        ];
        let expected = expected.map(|(slot, mechanism, by_strength)| Use { slot, mechanism, by_strength });
        assert_eq!(found, expected);
        assert_eq!(scratch.0.sum(|slot| slot == 1, |word| word.swap(0, Relaxed)).len(), 2);
        assert_eq!(read().len(), 2, "the other slots' stay");
    }

    #[test]
    fn nothing_is_lost_among_threads_and_a_full_table_counts_no_more() {
        let scratch = Scratch::new(2);
        std::thread::scope(|scope| {
            for stripe in 0..8 {
                let segment = &scratch.0;
                scope.spawn(move || (0..10_000).for_each(|i| segment.add(stripe, 1, i % 4, Strength::Bits192)));
            }
        });
        let sum = |uses: Vec<Use>| uses.iter().map(|one| one.by_strength[3]).sum::<u64>();
        assert_eq!(sum(scratch.0.sum(|_| true, |word| word.load(Relaxed))), 80_000);
        (0..4 * ROWS as u32).for_each(|mechanism| scratch.0.add(0, 2, mechanism, Strength::None));
        assert_eq!(scratch.0.rows.iter().filter(|row| row.load(Relaxed) == 0).count(), 0);
        assert_eq!(scratch.0.row(9, 9), None);
    }

    #[test]
    fn sums_of_segments_stay_at_the_largest_number() {
        let one = |mechanism, count| Use { slot: 1, mechanism, by_strength: [count; 5] };
        let sum = merged([vec![one(1, u64::MAX), one(2, 1)], vec![one(1, 5), one(3, 2)]].into_iter());
        assert_eq!(sum, Some(vec![one(1, u64::MAX), one(2, 1), one(3, 2)]));
        assert_eq!(merged(std::iter::empty()), None);
    }
}
