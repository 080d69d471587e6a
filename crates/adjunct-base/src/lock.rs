//! A lock for a module's data that a program's threads share, and that a child of fork may inherit in the middle of a change.
//!
//! Its word says in which process it was taken, by the number that tells one from another along a line of forks. So a child finds it open, though the
//! thread that held it in the parent does not exist in the child, and is told that the value may be half changed. A body that panics leaves it open
//! too. Hold it for microseconds only: a waiting thread yields, and may instead give up.

#![allow(unsafe_code)]

use crate::fork::generation;
use crate::thread::is_alone;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, compiler_fence};

/// A value that one thread has at a time.
#[derive(Debug)]
pub struct Lock<T> {
    /// The generation of the process whose thread is inside, or 0. One that is not this process's is of a thread that a fork has not
    /// taken along.
    ///
    /// In sequential order with what is noted beside the lock: who notes something, and then finds the lock taken, can rely on
    /// its holder's finding the note after the release.
    holder: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value, by `hold` and `try_hold`.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The circumstances under which a lock was taken.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// Generation of this process.
    pub generation: u32,
    /// A thread of the parent held the lock when this process was forked: the value may be half changed.
    pub abandoned: bool,
}

impl<T> Lock<T> {
    /// Makes an open lock.
    pub const fn new(value: T) -> Lock<T> {
        Lock { holder: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Runs `body` on the value, which no other thread has meanwhile.
    pub fn hold<R>(&self, body: impl FnOnce(&mut T, Taken) -> R) -> R {
        let generation = generation();
        loop {
            if let Some(taken) = self.take(generation) {
                return self.run::<true, R>(taken, body);
            }
            std::thread::yield_now();
        }
    }

    /// Runs `body` on the value, as [`Lock::hold`], for a lock on which [`Lock::try_hold`] is never called and beside which nothing is noted: leaving
    /// the lock is then a plain store, and so is taking it in a process of one thread.
    #[inline]
    pub fn hold_unnoted<R>(&self, body: impl FnOnce(&mut T, Taken) -> R) -> R {
        let generation = generation();
        loop {
            let taken = if is_alone() { self.take_alone(generation) } else { self.take(generation) };
            if let Some(taken) = taken {
                return self.run::<false, R>(taken, body);
            }
            std::thread::yield_now();
        }
    }

    /// Runs `body` on the value, as [`Lock::hold`]; `None` where another thread held the lock at each of `tries` tries.
    pub fn try_hold<R>(&self, tries: usize, body: impl FnOnce(&mut T, Taken) -> R) -> Option<R> {
        let generation = generation();
        for i in 0..tries {
            if i > 0 {
                std::thread::yield_now();
            }
            if let Some(taken) = self.take(generation) {
                return Some(self.run::<true, R>(taken, body));
            }
        }
        None
    }

    /// The value, which no other thread shares any more, and whether a thread was inside when this process was forked: then it may be half changed.
    pub fn get_mut(&mut self) -> (&mut T, bool) {
        (self.value.get_mut(), *self.holder.get_mut() != 0)
    }

    /// Takes the lock while there is no other thread. A signal's handler that comes between the look and the store, and takes the lock as well, has
    /// left it before the store.
    #[inline]
    fn take_alone(&self, generation: u32) -> Option<Taken> {
        let holder = self.holder.load(Relaxed);
        if holder == generation {
            return None;
        }
        self.holder.store(generation, Relaxed);
        // A handler that interrupts the body sees the lock taken, and so does a child that it forks.
        compiler_fence(SeqCst);
        Some(Taken { generation, abandoned: holder != 0 })
    }

    #[inline]
    fn take(&self, generation: u32) -> Option<Taken> {
        let holder = self.holder.load(SeqCst);
        let free = holder != generation;
        let taken = free && self.holder.compare_exchange(holder, generation, SeqCst, Relaxed).is_ok();
        taken.then_some(Taken { generation, abandoned: holder != 0 })
    }

    #[inline]
    fn run<const NOTED: bool, R>(&self, taken: Taken, body: impl FnOnce(&mut T, Taken) -> R) -> R {
        struct Leave<'a, const NOTED: bool>(&'a AtomicU32);
        impl<const NOTED: bool> Drop for Leave<'_, NOTED> {
            fn drop(&mut self) {
                self.0.store(0, if NOTED { SeqCst } else { Release });
            }
        }
        let _leave = Leave::<NOTED>(&self.holder);
        // SAFETY: `holder` says that this thread has it.
        body(unsafe { &mut *self.value.get() }, taken)
    }

    /// Marks the lock as held by a thread of the process with this generation; 0 marks it as free. For tests.
    #[doc(hidden)]
    pub fn pretend(&self, generation: u32) {
        self.holder.store(generation, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_it() {
        let lock = &Lock::new(0u64);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..1000).for_each(|_| lock.hold(|value, _| *value += 1)));
                scope.spawn(|| (0..1000).for_each(|_| lock.hold_unnoted(|value, _| *value += 1)));
            }
        });
        assert_eq!(lock.hold(|value, taken| (*value, taken.abandoned)), (16000, false));
    }

    #[test]
    fn who_gives_up_has_not_had_it() {
        let lock = Lock::new(1);
        lock.hold(|_, _| assert_eq!(lock.try_hold(3, |value, _| *value = 2), None));
        assert_eq!(lock.try_hold(1, |value, _| *value), Some(1));
    }

    #[test]
    fn a_lock_of_another_process_is_open_and_says_so() {
        let lock = Lock::new(1);
        lock.pretend(generation() + 1);
        assert_eq!(lock.hold(|_, taken| (taken.generation, taken.abandoned)), (generation(), true));
        assert!(!lock.hold(|_, taken| taken.abandoned));
    }

    #[test]
    fn a_panic_leaves_it_open() {
        let lock = Lock::new(1);
        let panics = std::panic::AssertUnwindSafe(|| lock.hold(|_, _| std::panic::resume_unwind(Box::new(()))));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(lock.try_hold(1, |value, taken| (*value, taken.abandoned)), Some((1, false)));
    }
}
