//! Locks for AWS-LC that are open in a child of fork.
//!
//! AWS-LC guards its random generator and its keys with the C library's read-write locks. A child that is forked while another thread holds one, be
//! it for reading, finds it held for good, because that thread does not exist there: its first request for random bytes takes the lock that notes the
//! fork, for writing, and never returns. With eight threads that draw random bytes, one fork in a few has such a child.
//!
//! Here a lock's word says in which process it was taken. In a child it is open. Every module takes these instead of the C
//! library's by the linker's `--wrap` (`link/module.args`). They live in the memory of a `pthread_rwlock_t`, zeros at first as that
//! is; initialising and destroying one the C library's way suits them.

use adjunct_base::fork::generation;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A read-write lock in the memory of a `pthread_rwlock_t`.
#[derive(Debug)]
#[repr(transparent)]
pub struct Lock {
    /// The generation in the upper half, and in the lower half the holders of the lock in that generation.
    word: AtomicU64,
}

const WRITER: u32 = 1 << 31;
/// Bit that says that a thread sleeps until the lock is open.
const WAITERS: u32 = 1 << 30;
/// Looks at a taken lock before its thread sleeps: most are held for some hundred instructions.
const LOOKS: u32 = 100;

const fn pack(generation: u32, state: u32) -> u64 {
    (generation as u64) << 32 | state as u64
}

impl Lock {
    /// Makes an open lock.
    pub(super) const fn new() -> Lock {
        Lock { word: AtomicU64::new(0) }
    }

    /// Takes the lock, to read or, alone, to write.
    pub fn lock(&self, write: bool) {
        let generation = generation();
        let mut looks = 0;
        loop {
            let word = self.word.load(Relaxed);
            let state = if (word >> 32) as u32 == generation { word as u32 } else { 0 };
            let open = if write { state & !WAITERS == 0 } else { state & WRITER == 0 };
            if open {
                let next = if write { state | WRITER } else { state + 1 };
                if self.word.compare_exchange_weak(word, pack(generation, next), Acquire, Relaxed).is_ok() {
                    return;
                }
                continue;
            }
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
                continue;
            }
            let waiting = pack(generation, state | WAITERS);
            if word == waiting || self.word.compare_exchange(word, waiting, Relaxed, Relaxed).is_ok() {
                self.sleep(waiting as u32);
            }
        }
    }

    /// Releases the lock.
    pub fn unlock(&self) {
        let generation = generation();
        let mut word = self.word.load(Relaxed);
        loop {
            let state = word as u32;
            // Taken before a fork that this thread made meanwhile: it is open already.
            if (word >> 32) as u32 != generation {
                return;
            }
            let readers = state & !(WRITER | WAITERS);
            let next = if state & WRITER != 0 || readers <= 1 { 0 } else { state - 1 };
            match self.word.compare_exchange_weak(word, pack(generation, next), Release, Relaxed) {
                Ok(_) => {
                    if next == 0 && state & WAITERS != 0 {
                        self.wake();
                    }
                    return;
                }
                Err(other) => word = other,
            }
        }
    }

    /// The half of the word that says who has the lock.
    fn half(&self) -> *const u32 {
        let halves = self.word.as_ptr().cast::<u32>();
        halves.wrapping_add(usize::from(cfg!(target_endian = "big")))
    }

    fn sleep(&self, state: u32) {
        // Not for ever: whoever would wake us may be ended by a signal's handler.
        let limit = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word and the limit outlive the call; no other value ends the sleep at once.
        unsafe { libc::syscall(libc::SYS_futex, self.half(), wait, state, &raw const limit) };
    }

    fn wake(&self) {
        let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: only the address of the word is used.
        unsafe { libc::syscall(libc::SYS_futex, self.half(), wake, i32::MAX) };
    }
}

/// Runs `initialise` unless it has been run with this word. (The C library's function makes a system call to wake waiters after each run, even if no
/// thread waits.) A child of fork runs it again if another thread of its parent was running it.
fn once(word: &AtomicU32, initialise: impl FnOnce()) {
    const DONE: u32 = 2;
    // Odd, so neither 0 nor DONE.
    let running = generation() << 1 | 1;
    let mut seen = word.load(Acquire);
    while seen != DONE {
        if seen == running {
            nap();
            seen = word.load(Acquire);
            continue;
        }
        match word.compare_exchange(seen, running, Acquire, Acquire) {
            Ok(_) => {
                initialise();
                word.store(DONE, Release);
                return;
            }
            Err(other) => seen = other,
        }
    }
}

/// Sleeps a little by the one call that threads who wait for each other make anyway: a filter of system calls that is closed
/// by now may kill for another, as sched_yield.
#[cold]
fn nap() {
    let word = AtomicU32::new(0);
    let limit = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a word of this function's own, which nobody changes: the limit ends it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), wait, 0, &raw const limit) };
}

/// What AWS-LC calls in our modules instead of the C library's functions (`link/module.args`). The linker names them so.
mod wrap {
    use super::{Lock, once};
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::AtomicU32;

    // No module shows them to its program.
    std::arch::global_asm!(
        ".hidden __wrap_pthread_rwlock_rdlock",
        ".hidden __wrap_pthread_rwlock_wrlock",
        ".hidden __wrap_pthread_rwlock_unlock",
        ".hidden __wrap_pthread_once",
    );

    /// The lock at `place`.
    ///
    /// # Safety
    /// The memory of a `pthread_rwlock_t`, initialised as that, which only these functions use.
    unsafe fn at<'a>(place: *mut c_void) -> &'a Lock {
        const { assert!(size_of::<Lock>() <= size_of::<libc::pthread_rwlock_t>()) };
        // SAFETY: the caller gives memory of an initialised `pthread_rwlock_t` that only these functions use: it is large enough, and zeros
        // are an open lock.
        unsafe { &*place.cast::<Lock>() }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_pthread_rwlock_rdlock(lock: *mut c_void) -> c_int {
        // SAFETY: an initialised lock.
        unsafe { at(lock) }.lock(false);
        0
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_pthread_rwlock_wrlock(lock: *mut c_void) -> c_int {
        // SAFETY: an initialised lock.
        unsafe { at(lock) }.lock(true);
        0
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_pthread_rwlock_unlock(lock: *mut c_void) -> c_int {
        // SAFETY: a lock that this thread has.
        unsafe { at(lock) }.unlock();
        0
    }

    /// Runs `initialise` once, of all threads that ask with the same `control`.
    ///
    /// # Safety
    /// `control` leads to a `pthread_once_t` that only this function uses.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn __wrap_pthread_once(control: *mut c_void, initialise: extern "C" fn()) -> c_int {
        const { assert!(size_of::<AtomicU32>() == size_of::<libc::c_int>()) };
        // SAFETY: a `pthread_once_t`, which is an int that begins as 0, and which only this function uses.
        once(unsafe { AtomicU32::from_ptr(control.cast()) }, || initialise());
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::AcqRel;

    #[test]
    fn what_is_done_once_is_done_before_any_goes_on() {
        let (word, runs) = (AtomicU32::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    once(&word, || {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        runs.fetch_add(1, AcqRel);
                    });
                    assert_eq!(runs.load(Acquire), 1);
                });
            }
        });
        // Begun by a parent's thread that the child does not have.
        let left = AtomicU32::new(generation().wrapping_sub(1) << 1 | 1);
        once(&left, || _ = runs.fetch_add(1, AcqRel));
        assert_eq!(runs.load(Acquire), 2);
    }

    #[test]
    fn one_writes_or_many_read() {
        let lock = Lock::new();
        let (readers, writers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (lock, readers, writers) = (&lock, &readers, &writers);
                scope.spawn(move || {
                    for round in 0..2000 {
                        let write = (round + thread) % 5 == 0;
                        lock.lock(write);
                        let own = if write { writers } else { readers };
                        own.fetch_add(1, AcqRel);
                        assert!(writers.load(Acquire) == usize::from(write));
                        assert!(!write || readers.load(Acquire) == 0);
                        own.fetch_sub(1, AcqRel);
                        lock.unlock();
                    }
                });
            }
        });
        assert_eq!(lock.word.load(Relaxed) as u32, 0);
    }

    #[test]
    fn a_lock_of_another_process_is_open() {
        let lock = Lock { word: AtomicU64::new(pack(generation() + 1, WRITER | WAITERS)) };
        lock.lock(true);
        assert_eq!(lock.word.load(Relaxed), pack(generation(), WRITER));
        lock.unlock();
        lock.unlock();
        assert_eq!(lock.word.load(Relaxed), pack(generation(), 0));
    }
}
