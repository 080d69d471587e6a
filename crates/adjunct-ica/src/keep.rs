//! Keys that are dear to prepare, kept for the next call: the interface passes a key's bare numbers every time.
//!
//! A key is found again by SHA-256 of its numbers behind a random prefix, compared in constant time: what is kept to compare
//! says nothing about a key. At most [`Kept::MOST`] keys; one that has to make room is wiped when its last user is done.
//!
//! Nobody waits long: who does not get the lock prepares a key of his own. A child of a fork starts with nothing, since another
//! thread may have been using or changing what it would inherit.

use adjunct::awslc::digest::{Digest, SHA256};
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

type Tag = Zeroizing<[u8; 32]>;

/// Keys of one kind.
#[derive(Debug)]
pub struct Kept<T> {
    /// The process that is in it, or 0. A number that is not this process's is of a thread that a fork has not taken along.
    holder: AtomicI32,
    state: UnsafeCell<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    process: i32,
    prefix: [u8; 32],
    /// The one used last stands last.
    keys: Vec<(Tag, Arc<T>)>,
}

// SAFETY: the state is reached only through `hold`.
unsafe impl<T: Send + Sync> Sync for Kept<T> {}

impl<T> Kept<T> {
    /// The most keys kept.
    pub const MOST: usize = 16;
    /// How often the lock is tried for, which is held for less than a microsecond.
    const TRIES: usize = 64;

    /// Without any.
    pub const fn new() -> Kept<T> {
        let state = State { process: 0, prefix: [0; 32], keys: Vec::new() };
        Kept { holder: AtomicI32::new(0), state: UnsafeCell::new(state) }
    }

    /// Runs `body` on the state, which nobody else has meanwhile; `None` where somebody has it for too long.
    fn hold<R>(&self, body: impl FnOnce(&mut State<T>) -> R) -> Option<R> {
        // SAFETY: getpid only returns a number.
        let own = unsafe { libc::getpid() };
        let taken = (0..Self::TRIES).any(|_| {
            let holder = self.holder.load(Ordering::Relaxed);
            let free = holder != own;
            let taken = free && self.holder.compare_exchange(holder, own, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if !taken {
                std::thread::yield_now();
            }
            taken
        });
        if !taken {
            return None;
        }
        // SAFETY: `holder` says that this thread has it.
        let state = unsafe { &mut *self.state.get() };
        if state.process != own {
            let mut prefix = [0; 32];
            adjunct::awslc::random(&mut prefix);
            // What a parent's thread was changing is not looked at, not even to drop it.
            std::mem::forget(std::mem::replace(state, State { process: own, prefix, keys: Vec::new() }));
        }
        let result = body(state);
        self.holder.store(0, Ordering::Release);
        Some(result)
    }

    /// The key of these numbers, made if it is not there.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get<E>(&self, numbers: &[&[u8]], make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let Some(prefix) = self.hold(|state| state.prefix) else { return make().map(Arc::new) };
        let tag = tag(&prefix, numbers);
        let find = |state: &mut State<T>| {
            let place = state.keys.iter().position(|(other, _)| bool::from(other[..].ct_eq(&tag[..])))?;
            state.keys[place..].rotate_left(1);
            Some(state.keys.last()?.1.clone())
        };
        if let Some(key) = self.hold(find).flatten() {
            return Ok(key);
        }
        let key = Arc::new(make()?);
        let also = key.clone();
        // What has to go is dropped outside.
        let room = Vec::with_capacity(Self::MOST);
        drop(self.hold(|state| {
            if find(state).is_some() {
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

    /// Wipes them all.
    pub fn clear(&self) {
        drop(self.hold(|state| std::mem::take(&mut state.keys)));
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept::new()
    }
}

fn tag(prefix: &[u8; 32], numbers: &[&[u8]]) -> Tag {
    let mut digest = Digest::new(&SHA256);
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

    fn get(kept: &Kept<u8>, number: u8) -> (Arc<u8>, bool) {
        let mut made = false;
        let make = || {
            made = true;
            Ok::<_, ()>(number)
        };
        let key = kept.get(&[&[number], &[]], make).unwrap();
        (key, made)
    }

    #[test]
    fn the_last_ones_are_found_again() {
        let kept = Kept::new();
        for i in 0..16 {
            assert_eq!(get(&kept, i), (Arc::new(i), true));
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
        assert_eq!(*kept.get(&[b"ab", b"c"], || Ok::<_, ()>(1)).unwrap(), 1);
        assert_eq!(*kept.get(&[b"a", b"bc"], || Ok::<_, ()>(2)).unwrap(), 2);
        assert_eq!(kept.get(&[b"d"], || Err(())), Err(()));
        assert_eq!(*kept.get(&[b"d"], || Ok::<_, ()>(3)).unwrap(), 3);
    }

    #[test]
    fn a_lock_that_is_held_stops_nobody_and_another_processs_is_void() {
        let kept = Kept::new();
        assert!(get(&kept, 1).1 && !get(&kept, 1).1);
        // SAFETY: getpid only returns a number.
        kept.holder.store(unsafe { libc::getpid() }, Ordering::Relaxed);
        assert!(get(&kept, 1).1 && get(&kept, 1).1);
        // As in a child: the lock and the keys are of another process.
        kept.holder.store(1, Ordering::Relaxed);
        // SAFETY: no other thread is here.
        unsafe { (*kept.state.get()).process = 1 };
        assert!(get(&kept, 1).1 && !get(&kept, 1).1);
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
