//! The engine's memory and its system calls: the only unsafe code here beside [`super::work`].
//!
//! What a leader holds is a robust mutex of the C library (pthread_mutexattr_setrobust(3)): when a thread ends without
//! giving it back, however it ends, the kernel marks the mutex and wakes one who waits for its word. We wait for that word
//! ourselves, with a bit mask, to wake exactly those who have something to do; the kernel fixes the word's meaning
//! (`FUTEX_TID_MASK`, `FUTEX_WAITERS`, `FUTEX_OWNER_DIED` in <linux/futex.h>), and [`Lock::is_as_expected`] checks its place.

use super::board::Board;
use std::cell::UnsafeCell;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

/// Maps a board: zeros, in a child of fork again, and in no core dump. `None` where the system cannot do that (Linux
/// before 4.14).
pub(super) fn map() -> Option<&'static Board> {
    let length = size_of::<Board>();
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, never unmapped where it is kept; a board is made of atomic words, mutexes that are set up before
    // use, and bytes, all of which may be zero.
    unsafe {
        let place = libc::mmap(null_mut(), length, protection, flags, -1, 0);
        if place == libc::MAP_FAILED {
            return None;
        }
        if !crate::fork::wipe_in_children(place, length) {
            libc::munmap(place, length);
            return None;
        }
        libc::madvise(place, length, libc::MADV_DONTDUMP);
        Some(&*place.cast::<Board>())
    }
}

/// The CPUs this process may use, by affinity and by its control group's quota. Opens files: only while the module loads.
pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// This thread's id; a system call where the C library does not tell.
pub(super) fn thread_id() -> u32 {
    crate::sandbox::thread_id().unwrap_or_else(|| rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned())
}

/// Whether a thread of this process has ended.
pub(super) fn has_ended(thread: u32) -> bool {
    // SAFETY: signal 0 is not sent, only its target is looked for.
    let found = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) };
    found != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// A robust mutex, and its word.
#[repr(C, align(128))]
pub(super) struct Lock(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is for all threads.
unsafe impl Sync for Lock {}

/// What came of a try to take a lock.
pub(super) enum Taken {
    /// Taken.
    Free,
    /// Taken, and the thread that had it ended with it. The caller puts things right, then calls [`Lock::mend`].
    FromTheDead,
    /// Another has it.
    No,
}

impl Lock {
    const TID: u32 = 0x3fff_ffff;
    const WAITERS: u32 = 0x8000_0000;

    /// Sets a zeroed lock up. No other thread uses it yet.
    pub(super) fn set_up(&self) -> bool {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before use; nobody else has the mutex.
        unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr()) == 0
                && libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST) == 0
                && libc::pthread_mutex_init(self.0.get(), attributes.as_ptr()) == 0
        }
    }

    /// Whether the word stands where we look for it. Call it on a free lock that nobody else uses yet.
    pub(super) fn is_as_expected(&self) -> bool {
        let free = self.word().load(SeqCst) == 0;
        let taken = matches!(self.take(), Taken::Free) && self.word().load(SeqCst) == thread_id();
        self.give();
        free && taken && self.word().load(SeqCst) == 0
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the C library's mutex starts with its futex word, which all access atomically.
        unsafe { AtomicU32::from_ptr(self.0.get().cast()) }
    }

    /// Who has it; `None` for nobody, or somebody dead.
    pub(super) fn holder(&self) -> Option<u32> {
        let holder = self.word().load(SeqCst) & Lock::TID;
        (holder != 0).then_some(holder)
    }

    /// Whether its holder has ended with it.
    pub(super) fn is_orphan(&self) -> bool {
        let word = self.word().load(SeqCst);
        word != 0 && word & Lock::TID == 0
    }

    /// Takes it if it is free, or its holder dead.
    pub(super) fn take(&self) -> Taken {
        // SAFETY: set up.
        match unsafe { libc::pthread_mutex_trylock(self.0.get()) } {
            0 => Taken::Free,
            libc::EOWNERDEAD => Taken::FromTheDead,
            _ => Taken::No,
        }
    }

    /// Makes a lock taken from the dead a usual one again.
    pub(super) fn mend(&self) {
        // SAFETY: this thread holds it.
        unsafe { libc::pthread_mutex_consistent(self.0.get()) };
    }

    /// Gives it back, and wakes nobody: that is for [`Lock::wake`], which says whom it found.
    pub(super) fn give(&self) {
        self.word().fetch_and(!Lock::WAITERS, SeqCst);
        // SAFETY: this thread holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }

    /// Has the kernel wake one who waits when the holder, this thread, ends with it.
    pub(super) fn watch(&self) {
        self.word().fetch_or(Lock::WAITERS, SeqCst);
    }

    /// Sleeps until woken through one of `bits`, or the holder's end; not at all if nobody living holds it. May wake for
    /// no reason.
    pub(super) fn sleep(&self, bits: u32) {
        let word = self.word().load(SeqCst);
        if word & Lock::TID == 0 {
            return;
        }
        let watched = word | Lock::WAITERS;
        if word != watched && self.word().compare_exchange(word, watched, SeqCst, SeqCst).is_err() {
            return;
        }
        // Not FUTEX_PRIVATE_FLAG: the kernel wakes who waits for the dead without it.
        // SAFETY: the word lives as long as the process.
        unsafe {
            let place = self.0.get().cast::<u32>();
            libc::syscall(libc::SYS_futex, place, libc::FUTEX_WAIT_BITSET, watched, null::<u8>(), null::<u8>(), bits);
        }
    }

    /// Wakes all who sleep here with one of `bits`, and says how many did.
    pub(super) fn wake(&self, bits: u32) -> usize {
        if bits == 0 {
            return 0;
        }
        // SAFETY: the word lives as long as the process.
        let woken = unsafe {
            let place = self.0.get().cast::<u32>();
            libc::syscall(libc::SYS_futex, place, libc::FUTEX_WAKE_BITSET, i32::MAX, null::<u8>(), null::<u8>(), bits)
        };
        usize::try_from(woken).unwrap_or(0)
    }
}

/// Where one thread sleeps until another wakes it.
pub(super) struct Bell(AtomicU32);

impl Bell {
    /// From here on a ring is heard.
    pub(super) fn set(&self) {
        self.0.store(1, SeqCst);
    }

    /// Sleeps unless it has rung. May wake for no reason.
    pub(super) fn sleep(&self) {
        let flags = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word lives as long as the process.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), flags, 1, null::<u8>()) };
    }

    pub(super) fn clear(&self) {
        self.0.store(0, SeqCst);
    }

    /// Rings; false if nobody listens.
    pub(super) fn ring(&self) -> bool {
        if self.0.swap(0, SeqCst) == 0 {
            return false;
        }
        let flags = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word lives as long as the process.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), flags, 1) };
        true
    }
}

/// All signals of this thread put off while it lives, those of the C library's own too (pthread_cancel uses one), so that
/// no handler leaves the engine by longjmp, exit or cancellation while others wait for this thread. Signals that an
/// instruction causes stay: a handler of those cannot be put off.
pub(super) struct Quiet {
    before: u64,
}

impl Quiet {
    const CAUSED: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

    pub(super) fn new() -> Quiet {
        let mask = Quiet::CAUSED.iter().fold(u64::MAX, |mask, signal| mask & !(1 << (signal - 1)));
        let mut before = 0;
        Quiet::change(libc::SIG_BLOCK, &mask, &raw mut before);
        Quiet { before }
    }

    // Not pthread_sigmask, which leaves the C library's own signals alone.
    fn change(how: i32, mask: &u64, before: *mut u64) {
        let mask = &raw const *mask;
        // SAFETY: both words have the size that is given.
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, mask, before, size_of::<u64>()) };
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        Quiet::change(libc::SIG_SETMASK, &self.before, null_mut());
    }
}
