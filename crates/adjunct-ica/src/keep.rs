//! Prepared keys, kept for the next call because preparing one takes long: the interface passes a key's bare numbers every time.
//!
//! A key is found again by SHA-256 of its numbers behind a random prefix, compared in constant time: the hash that is kept says nothing about a key.
//! At most [`Kept::MOST`] keys are kept; a key that has to make room is wiped when its last user is done.
//!
//! No thread waits long: one that does not get the lock prepares a key of its own, and one that wants all keys wiped leaves a note, which the thread
//! inside reads when it leaves. A child of a fork starts without keys: it wipes what it inherits, but for an entry that another thread was changing,
//! which it does not look at, and a key that another thread was using.

use crate::error::Errno;
use adjunct::lock::{Lock, Taken};
use adjunct::memory::Shared;
use adjunct::ops::digest::{Part, SHA256};
use adjunct::ops::random::random;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

type Tag = Zeroizing<[u8; 32]>;

/// Keys of one kind.
#[derive(Debug)]
pub struct Kept<T> {
    state: Lock<State<T>>,
    /// How often all keys were to be wiped. The holder of the lock wipes them, and checks again after it has released the lock.
    wishes: AtomicU32,
}

#[derive(Debug)]
struct State<T> {
    /// The process's; 0 at first.
    generation: u32,
    /// How many of the requests to wipe are fulfilled.
    wiped: u32,
    prefix: [u8; 32],
    keys: Keys<T>,
}

/// Kept keys, the least recently used first.
type Keys<T> = Vec<(Tag, Shared<T>)>;

impl<T> Kept<T> {
    /// The most keys kept.
    pub const MOST: usize = 16;
    /// How often the lock is tried for, which is held for less than a microsecond.
    const TRIES: usize = 64;

    /// Makes an empty set.
    pub const fn new() -> Kept<T> {
        let state = State { generation: 0, wiped: 0, prefix: [0; 32], keys: Vec::new() };
        Kept { state: Lock::new(state), wishes: AtomicU32::new(0) }
    }

    /// Runs `body` on the state, which no other thread has meanwhile; `None` where another thread has it for too long.
    fn hold<R>(&self, body: impl FnOnce(&mut State<T>) -> R) -> Option<R> {
        let (result, mut wiped) = self.settled(Self::TRIES, body)?;
        // Who wished after the look inside may have found the lock taken. Where it is taken again, that one looks.
        while self.wishes.load(SeqCst) != wiped {
            let Some(((), now)) = self.settled(1, |_| ()) else { break };
            wiped = now;
        }
        Some(result)
    }

    /// Runs `body` on a state of this process, after all requests to wipe up to now were carried out; also returns their number.
    fn settled<R>(&self, tries: usize, body: impl FnOnce(&mut State<T>) -> R) -> Option<(R, u32)> {
        let (result, wiped, gone) = self.state.try_hold(tries, |state, taken| {
            let gone = self.settle(state, taken);
            (body(state), state.wiped, gone)
        })?;
        // To wipe them takes longer than others should wait.
        drop(gone);
        Some((result, wiped))
    }

    /// Makes the state this process's, and gives the keys that have to go.
    fn settle(&self, state: &mut State<T>, taken: Taken) -> Keys<T> {
        let wishes = self.wishes.load(SeqCst);
        if state.generation != taken.generation {
            let mut prefix = [0; 32];
            random(&mut prefix);
            let own = State { generation: taken.generation, wiped: wishes, prefix, keys: Vec::new() };
            let inherited = std::mem::replace(state, own);
            if taken.abandoned {
                // What a parent's thread was changing is not looked at, not even to drop it.
                std::mem::forget(inherited);
                return Vec::new();
            }
            return inherited.keys;
        }
        if state.wiped == wishes {
            return Vec::new();
        }
        state.wiped = wishes;
        std::mem::take(&mut state.keys)
    }

    /// Finds the key of these numbers, or makes it.
    ///
    /// # Errors
    /// Those of `make`; [`Errno::NO_MEMORY`].
    pub fn get(&self, numbers: &[&[u8]], make: impl FnOnce() -> Result<T, Errno>) -> Result<Shared<T>, Errno> {
        let make = || Ok(Shared::new(make()?)?);
        let Some((prefix, wiped)) = self.hold(|state| (state.prefix, state.wiped)) else {
            return make();
        };
        let tag = tag(&prefix, numbers);
        let find = |state: &mut State<T>| {
            let place = state.keys.iter().position(|(other, _)| bool::from(other[..].ct_eq(&tag[..])))?;
            state.keys[place..].rotate_left(1);
            Some(state.keys.last()?.1.clone())
        };
        if let Some(key) = self.hold(find).flatten() {
            return Ok(key);
        }
        let key = make()?;
        let also = key.clone();
        let mut room = Vec::new();
        if room.try_reserve_exact(Self::MOST).is_err() {
            return Ok(key);
        }
        // What has to go is dropped outside.
        drop(self.hold(|state| {
            // What was begun before all were wiped is not kept after.
            if state.wiped != wiped || find(state).is_some() {
                return None;
            }
            if state.keys.capacity() < Self::MOST {
                state.keys = room;
            }
            let first = (state.keys.len() == Self::MOST).then(|| state.keys.remove(0));
            state.keys.push((tag.clone(), also));
            first
        }));
        Ok(key)
    }

    /// Wipes all keys: at once, or where another thread is inside, when that leaves.
    pub fn clear(&self) {
        self.wishes.fetch_add(1, SeqCst);
        self.hold(|_| ());
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept::new()
    }
}

fn tag(prefix: &[u8; 32], numbers: &[&[u8]]) -> Tag {
    let mut digest = Part::new(&SHA256);
    digest.update(prefix);
    for number in numbers {
        digest.update(&number.len().to_be_bytes());
        digest.update(number);
    }
    let mut tag = Zeroizing::new([0; 32]);
    digest.finish(&mut tag[..]);
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct::fork::generation;

    fn get(kept: &Kept<u8>, number: u8) -> (Shared<u8>, bool) {
        let mut made = false;
        let make = || {
            made = true;
            Ok(number)
        };
        let key = kept.get(&[&[number], &[]], make).unwrap();
        (key, made)
    }

    #[test]
    fn the_last_ones_are_found_again() {
        let kept = Kept::new();
        for i in 0..16 {
            let (key, made) = get(&kept, i);
            assert_eq!((*key, made), (i, true));
        }
        assert!((0..16).all(|i| !get(&kept, i).1));
        // 0 is used again, so 1 makes room.
        assert!(!get(&kept, 0).1 && get(&kept, 16).1 && !get(&kept, 0).1 && !get(&kept, 2).1 && get(&kept, 1).1);
        kept.clear();
        assert!(get(&kept, 2).1);
    }

    #[test]
    fn the_boundary_of_numbers_matters_and_errors_are_not_kept() {
        let kept = Kept::<u8>::new();
        assert_eq!(*kept.get(&[b"ab", b"c"], || Ok(1)).unwrap(), 1);
        assert_eq!(*kept.get(&[b"a", b"bc"], || Ok(2)).unwrap(), 2);
        assert_eq!(kept.get(&[b"d"], || Err(Errno::IO)).map(drop), Err(Errno::IO));
        assert_eq!(*kept.get(&[b"d"], || Ok(3)).unwrap(), 3);
    }

    /// A key that counts how many are wiped.
    struct Counting<'a>(&'a AtomicU32);

    impl Drop for Counting<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// Has these keys prepared; gives the number of them that were not there.
    fn prepare<'a>(kept: &Kept<Counting<'a>>, wiped: &'a AtomicU32, numbers: std::ops::Range<u8>) -> usize {
        let mut made = 0;
        for number in numbers {
            let make = || {
                made += 1;
                Ok(Counting(wiped))
            };
            kept.get(&[&[number]], make).map(drop).unwrap();
        }
        made
    }

    #[test]
    fn a_lock_that_is_held_stops_nobody() {
        let kept = Kept::new();
        assert!(get(&kept, 1).1 && !get(&kept, 1).1);
        kept.state.pretend(generation());
        assert!(get(&kept, 1).1 && get(&kept, 1).1);
        kept.state.pretend(0);
        assert!(!get(&kept, 1).1);
    }

    #[test]
    fn who_is_inside_wipes_what_another_wanted_wiped() {
        let (wiped, kept) = (AtomicU32::new(0), Kept::new());
        prepare(&kept, &wiped, 0..5);
        kept.hold(|_| {
            std::thread::scope(|scope| scope.spawn(|| kept.clear()).join().unwrap());
            assert_eq!(wiped.load(SeqCst), 0);
        });
        assert_eq!(wiped.load(SeqCst), 5);
        assert_eq!(prepare(&kept, &wiped, 0..5), 5);
    }

    #[test]
    fn a_wish_is_seen_by_the_next_before_he_looks_for_a_key() {
        let (wiped, kept) = (AtomicU32::new(0), Kept::new());
        prepare(&kept, &wiped, 0..3);
        kept.state.pretend(generation());
        kept.clear();
        assert_eq!(wiped.load(SeqCst), 0);
        // As if the one inside had gone without a look.
        kept.state.pretend(0);
        assert_eq!(kept.hold(|state| state.keys.len()), Some(0));
        assert_eq!(wiped.load(SeqCst), 3);
    }

    #[test]
    fn a_key_that_was_begun_before_all_were_wiped_is_not_kept() {
        let (wiped, kept) = (AtomicU32::new(0), Kept::new());
        let make = || {
            kept.clear();
            Ok(Counting(&wiped))
        };
        kept.get(&[&[0]], make).map(drop).unwrap();
        assert_eq!((wiped.load(SeqCst), prepare(&kept, &wiped, 0..1)), (1, 1));
    }

    /// Puts the state into that of a child of fork: it belongs to another process.
    fn inherited<T>(kept: &Kept<T>, inside: bool) {
        kept.hold(|state| state.generation += 1);
        kept.state.pretend(if inside { generation() + 1 } else { 0 });
    }

    #[test]
    fn a_child_wipes_what_it_inherits() {
        let (wiped, kept) = (AtomicU32::new(0), Kept::new());
        prepare(&kept, &wiped, 0..5);
        let before = kept.hold(|state| state.prefix);
        inherited(&kept, false);
        assert_eq!((prepare(&kept, &wiped, 0..5), wiped.load(SeqCst)), (5, 5));
        assert!(kept.hold(|state| state.prefix) != before && prepare(&kept, &wiped, 0..5) == 0);
        // Also by a wish alone.
        inherited(&kept, false);
        kept.clear();
        assert_eq!((wiped.load(SeqCst), prepare(&kept, &wiped, 0..5)), (10, 5));
    }

    #[test]
    fn a_child_does_not_look_at_what_may_be_half_changed() {
        let (wiped, kept) = (AtomicU32::new(0), Kept::new());
        prepare(&kept, &wiped, 0..5);
        inherited(&kept, true);
        assert_eq!((prepare(&kept, &wiped, 0..5), wiped.load(SeqCst)), (5, 0));
        assert_eq!(prepare(&kept, &wiped, 0..5), 0);
    }

    #[test]
    fn wishes_and_uses_cross() {
        let (wiped, kept) = (&AtomicU32::new(0), &Kept::new());
        let made = std::thread::scope(|scope| {
            let users = [0, 7, 14, 21].map(|from| {
                scope.spawn(move || (0..500).map(|_| prepare(kept, wiped, from..from + 11)).sum::<usize>())
            });
            scope.spawn(|| (0..2000).for_each(|_| kept.clear()));
            users.map(|user| user.join().unwrap()).iter().sum::<usize>()
        });
        kept.clear();
        assert_eq!((wiped.load(SeqCst) as usize, kept.hold(|state| state.keys.len())), (made, Some(0)));
        assert_eq!(kept.hold(|state| state.wiped), Some(kept.wishes.load(SeqCst)));
    }

    #[test]
    fn threads_share_it() {
        let kept = &Kept::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..2000).for_each(|i| assert_eq!(*get(kept, (i % 23) as u8).0, (i % 23) as u8)));
            }
        });
    }
}
