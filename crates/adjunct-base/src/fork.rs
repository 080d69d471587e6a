//! The generation of this process: a number that differs in each process of a line of forks, kept in a page that Linux empties in every child
//! (MADV_WIPEONFORK).
//!
//! Reading it takes no system call, and it detects a fork by any system call: pthread_atfork(3) does not see a bare clone, and a pid does not
//! identify a process, for the first processes of two pid namespaces have the same pid.

#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

/// Values that differ in each process of a line of forks.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Process {
    /// The number of this process; 0 just after a fork, and before the first call of [`generation`].
    generation: AtomicU32,
    /// The process that the module was loaded in; 0 in all others, and before it is stored here.
    pub(crate) pid: AtomicU32,
}

impl Process {
    const fn new() -> Process {
        Process { generation: AtomicU32::new(0), pid: AtomicU32::new(0) }
    }

    /// Number of the process; 0 as long as [`generation`] has not been called in it.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.generation.load(Relaxed).into()
    }
}

/// The process before there is a page.
static UNKNOWN: Process = Process::new();
/// The process where no page can be had. A bare clone goes unseen then.
static NO_PAGE: Process = Process::new();
static PROCESS: AtomicPtr<Process> = AtomicPtr::new((&raw const UNKNOWN).cast_mut());
/// The last number given. From 0 on: what a child writes lies in the pages that it writes anyway (`link/module.ld`).
static LAST: AtomicU32 = AtomicU32::new(0);
/// Whether every fork is seen, also a bare clone.
static ALL_SEEN: AtomicBool = AtomicBool::new(false);

/// The state of this process.
#[inline(always)]
pub(crate) fn this_process() -> &'static Process {
    // Relaxed: the page holds nothing that was written before its address was.
    // SAFETY: it points to a static, or to a page that is never unmapped.
    unsafe { &*PROCESS.load(Relaxed) }
}

/// A number that differs in each process along a line of forks, and is never 0.
#[inline]
pub fn generation() -> u32 {
    match this_process().generation.load(Relaxed) {
        0 => renew(),
        generation => generation,
    }
}

/// Offset in the page of the room for other data: beyond what the number's readers have in their caches.
const ROOM: usize = 1024;

/// Some 3 KB of the page, zeros at first and in every child, for what a child writes as soon as it asks for its number: a page that it is
/// given once serves both. `None` where the page is not emptied in every child.
pub fn room() -> Option<*mut libc::c_void> {
    (prime() && ALL_SEEN.load(Relaxed)).then(|| PROCESS.load(Acquire).wrapping_byte_add(ROOM).cast())
}

/// The number of [`generation`], greater in each child than in its parent; 0 where a fork by a bare clone would go unseen.
pub fn generation_of_every_fork() -> u64 {
    let generation = generation();
    if ALL_SEEN.load(Relaxed) { generation.into() } else { 0 }
}

#[cold]
fn renew() -> u32 {
    prime();
    let word = &this_process().generation;
    let fresh = LAST.fetch_add(1, Relaxed).wrapping_add(1).max(1);
    word.compare_exchange(0, fresh, AcqRel, Acquire).map_or_else(|other| other, |_| fresh)
}

/// Maps the page, if that has not been done. False where the system has none.
pub fn prime() -> bool {
    extern "C" fn forked() {
        let child = this_process();
        child.pid.store(0, Relaxed);
        child.generation.store(0, Relaxed);
    }
    let unknown = (&raw const UNKNOWN).cast_mut();
    let no_page = (&raw const NO_PAGE).cast_mut();
    if PROCESS.load(Acquire) == unknown {
        // SAFETY: a new page, unmapped only if nobody has seen it; zero bytes are a valid Process. The handler only stores.
        unsafe {
            let length = page_size();
            let page = new_memory(length);
            let mapped = page != libc::MAP_FAILED;
            let process = if mapped { page.cast() } else { no_page };
            // Linux before 4.14 and some sandboxed kernels do not empty it; then fork() at least is seen.
            let seen = mapped && wipe_in_children(page, length);
            if seen {
                // For what lies in the room.
                libc::madvise(page, length, libc::MADV_DONTDUMP);
            }
            if PROCESS.compare_exchange(unknown, process, AcqRel, Acquire).is_ok() {
                ALL_SEEN.store(seen, Relaxed);
                if !seen {
                    libc::pthread_atfork(None, None, Some(forked));
                }
            } else if mapped {
                libc::munmap(page, length);
            }
        }
    }
    PROCESS.load(Acquire) != no_page
}

/// Bytes of a page.
fn page_size() -> usize {
    // SAFETY: no requirements.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize
}

/// `length` bytes of new memory, or MAP_FAILED.
fn new_memory(length: usize) -> *mut libc::c_void {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: new memory, where nothing is yet.
    unsafe { libc::mmap(null_mut(), length, protection, flags, -1, 0) }
}

/// New memory of `length` bytes, zeros, that is never unmapped, in no core dump, and zeros again in every child, by whatever call it is forked.
/// `None` where the system cannot do that: Linux before 4.14.
pub fn memory_wiped_in_children(length: usize) -> Option<*mut libc::c_void> {
    let place = new_memory(length);
    // SAFETY: the memory is new, and unmapped only where nobody has seen it.
    unsafe {
        if place == libc::MAP_FAILED {
            return None;
        }
        if !wipe_in_children(place, length) {
            libc::munmap(place, length);
            return None;
        }
        libc::madvise(place, length, libc::MADV_DONTDUMP);
    }
    Some(place)
}

/// Has the system empty these pages in every child of this process, by whatever call it is forked. False where it cannot: Linux before 4.14, and
/// emulators that know no advice at all but call every one a success.
///
/// # Safety
/// The pages are the caller's own, private and anonymous.
unsafe fn wipe_in_children(place: *mut libc::c_void, length: usize) -> bool {
    // SAFETY: -1 is no advice; the other changes what a child sees, for which the caller answers.
    unsafe { libc::madvise(place, length, -1) != 0 && libc::madvise(place, length, libc::MADV_WIPEONFORK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_another_number_and_no_pid() {
        let mine = generation();
        assert_eq!((generation(), this_process().number()), (mine, u64::from(mine)));
        this_process().pid.store(std::process::id(), Relaxed);
        // SAFETY: the child only looks at memory, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let fresh = this_process().number() == 0 && this_process().pid.load(Relaxed) == 0;
            let other = generation() != mine && generation() != 0;
            // SAFETY: nothing of the parent's is flushed or freed.
            unsafe { libc::_exit(if fresh && other { 0 } else { 1 }) };
        }
        let mut status = -1;
        // SAFETY: a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!((status, generation()), (0, mine));
    }
}
