//! The system calls of the counters and the memory they give: the only unsafe code here beside [`super::thread`].

use super::layout::Segment;
use std::ffi::c_int;
use std::io;
use std::ops::Deref;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64};

const SIZE: usize = size_of::<Segment>();
const MODE: u32 = 0o600;
// Missing in the libc crate; <bits/shm.h> and <linux/shm.h>.
const SHM_STAT: c_int = 13;
const SHM_INFO: c_int = 14;
const SHM_STAT_ANY: c_int = 15;

/// What the system says of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stat {
    pub(super) id: c_int,
    pub(super) key: i32,
    pub(super) uid: u32,
    pub(super) creator: u32,
    pub(super) mode: u32,
    pub(super) size: usize,
    pub(super) attached: u64,
}

impl Stat {
    fn new(id: c_int, ds: &libc::shmid_ds) -> Stat {
        let perm = &ds.shm_perm;
        #[allow(clippy::unnecessary_cast, reason = "the widths differ between architectures")]
        Stat {
            id,
            key: perm.__key,
            uid: perm.uid,
            creator: perm.cuid,
            mode: perm.mode as u32 & 0o777,
            size: ds.shm_segsz as usize,
            attached: ds.shm_nattch as u64,
        }
    }

    /// What keeps this from being the counters of `uid`, if anything.
    pub(super) fn wrong(&self, uid: u32) -> Option<Wrong> {
        if self.uid != uid || self.creator != uid {
            Some(Wrong::Owner)
        } else if self.mode != MODE {
            Some(Wrong::Mode)
        } else if self.size != SIZE {
            Some(Wrong::Size)
        } else {
            None
        }
    }
}

/// Why a segment is not mapped.
#[derive(Debug)]
pub(super) enum Wrong {
    /// It belongs to, or was made by, somebody else.
    Owner,
    /// Others than its owner may use it, or its owner may not.
    Mode,
    /// Not the size of this layout.
    Size,
    /// Its first word is not ours.
    Content(u64),
    /// The system says no.
    System(&'static str, io::Error),
}

fn failed(call: &'static str) -> Wrong {
    Wrong::System(call, io::Error::last_os_error())
}

fn stat(id: c_int) -> Result<Stat, Wrong> {
    let mut ds = std::mem::MaybeUninit::<libc::shmid_ds>::zeroed();
    // SAFETY: the buffer has the size IPC_STAT writes; all zeros is a valid value of it.
    unsafe {
        if libc::shmctl(id, libc::IPC_STAT, ds.as_mut_ptr()) < 0 {
            return Err(failed("shmctl"));
        }
        Ok(Stat::new(id, &ds.assume_init()))
    }
}

/// All shared memory segments of this IPC namespace.
pub(super) fn segments() -> io::Result<Vec<Stat>> {
    // SHM_INFO wants a struct shm_info, which is smaller.
    let mut ds = std::mem::MaybeUninit::<libc::shmid_ds>::zeroed();
    // SAFETY: the buffer is larger than what SHM_INFO writes and as large as what SHM_STAT writes; all zeros is valid.
    unsafe {
        let highest = libc::shmctl(0, SHM_INFO, ds.as_mut_ptr());
        if highest < 0 {
            return Err(io::Error::last_os_error());
        }
        let stat = |index| {
            // SHM_STAT_ANY, since Linux 4.17, needs no right to read the segment.
            let id = match libc::shmctl(index, SHM_STAT_ANY, ds.as_mut_ptr()) {
                -1 => libc::shmctl(index, SHM_STAT, ds.as_mut_ptr()),
                id => id,
            };
            (id >= 0).then(|| Stat::new(id, ds.assume_init_ref()))
        };
        Ok((0..=highest).filter_map(stat).collect())
    }
}

/// A segment mapped here.
#[derive(Debug)]
pub(super) struct Mapped {
    place: &'static Segment,
    /// Its number, as `ipcs -m` lists it.
    pub(super) id: c_int,
}

impl Mapped {
    /// Keeps it mapped until the process ends.
    pub(super) fn keep(self) -> &'static Segment {
        let place = self.place;
        std::mem::forget(self);
        place
    }
}

impl Deref for Mapped {
    type Target = Segment;

    fn deref(&self) -> &Segment {
        self.place
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: `place` came from shmat, and every reference to it was borrowed from this value.
        unsafe { libc::shmdt(std::ptr::from_ref(self.place).cast()) };
    }
}

/// How a segment is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Only to read; `None` where there is none.
    Read,
    /// To read and write; `None` where there is none.
    Write,
    /// To read and write; made where there is none.
    Create,
}

/// Maps the segment of `uid` under `key`. Makes the calls shmget, shmctl, shmat, in this order, and no other; a refused
/// one ends it.
///
/// # Errors
/// [`Wrong`], with what the system says of the segment where it got that far.
pub(super) fn map(key: i32, uid: u32, access: Access) -> Result<Option<Mapped>, Wrong> {
    // A segment cannot be truncated, unlike a file: checked once, its size holds.
    // SAFETY: no memory is involved.
    let id = unsafe {
        match access {
            Access::Create => libc::shmget(key, SIZE, libc::IPC_CREAT | MODE as c_int),
            _ => libc::shmget(key, 0, 0),
        }
    };
    if id < 0 {
        let error = io::Error::last_os_error();
        let none = access != Access::Create && error.raw_os_error() == Some(libc::ENOENT);
        return if none { Ok(None) } else { Err(Wrong::System("shmget", error)) };
    }
    if let Some(wrong) = stat(id)?.wrong(uid) {
        return Err(wrong);
    }
    let flags = if access == Access::Read { libc::SHM_RDONLY } else { 0 };
    // SAFETY: the kernel chooses the place.
    let place = unsafe { libc::shmat(id, null(), flags) };
    if place as isize == -1 || place.is_null() {
        return Err(failed("shmat"));
    }
    // SAFETY: shmat gave SIZE bytes on a page boundary, mapped until Mapped is dropped; a Segment is made of atomic words,
    // which may hold anything and which others may change. Mapped read-only, it is only loaded from: `Access::Read` is
    // used with `identify(false)` and `read` alone.
    let mapped = Mapped { place: unsafe { &*place.cast::<Segment>() }, id };
    match mapped.identify(access == Access::Create) {
        Ok(()) => Ok(Some(mapped)),
        Err(found) => Err(Wrong::Content(found)),
    }
}

/// Whether this process's mapping is the only one. It is, only if every process that had the segment mapped is gone.
pub(super) fn alone(mapped: &Mapped) -> bool {
    stat(mapped.id).is_ok_and(|s| s.attached == 1)
}

/// Removes a segment; it lives on, nameless, until the last process that has it mapped ends.
pub(super) fn remove(id: c_int) -> io::Result<()> {
    // SAFETY: IPC_RMID takes no buffer.
    if unsafe { libc::shmctl(id, libc::IPC_RMID, null_mut()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The segments this process counts in, by user. Only grows: threads may hold any of them.
#[derive(Debug)]
pub(super) struct Mapping {
    /// The user; valid once the entry is within the table's length.
    pub(super) uid: AtomicU64,
    /// Failed tries to map it.
    pub(super) tries: AtomicU64,
    segment: AtomicPtr<Segment>,
}

impl Mapping {
    pub(super) const fn new() -> Mapping {
        Mapping { uid: AtomicU64::new(0), tries: AtomicU64::new(0), segment: AtomicPtr::new(null_mut()) }
    }

    pub(super) fn segment(&self) -> Option<&'static Segment> {
        // SAFETY: only `set_segment` writes it, with a reference that never ends.
        unsafe { self.segment.load(Acquire).as_ref() }
    }

    pub(super) fn set_segment(&self, segment: &'static Segment) {
        self.segment.store(std::ptr::from_ref(segment).cast_mut(), Release);
    }
}

static DORMANT: AtomicU64 = AtomicU64::new(0);
static EPOCH: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const DORMANT).cast_mut());

/// The epoch: a number that is another one in each process that ever counts, along a line of forks. 0 just after a fork,
/// and before [`start_epochs`].
#[inline(always)]
pub(super) fn epoch() -> &'static AtomicU64 {
    // SAFETY: it points to a static, or to a page that is never unmapped.
    unsafe { &*EPOCH.load(Relaxed) }
}

/// Puts the epoch where a fork resets it to 0, whoever forks and by whatever call. False if no memory is to be had.
pub(super) fn start_epochs() -> bool {
    extern "C" fn forked() {
        epoch().store(0, Relaxed);
    }
    // SAFETY: a new page; on success it is never unmapped, and zero bytes are a valid AtomicU64. The handler only stores.
    unsafe {
        let length = libc::sysconf(libc::_SC_PAGESIZE).max(4096) as usize;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let page = libc::mmap(null_mut(), length, protection, flags, -1, 0);
        if page == libc::MAP_FAILED {
            return false;
        }
        // Linux before 4.14 and some sandboxed kernels do not have it; then fork() at least is seen.
        if !crate::fork::wipe_in_children(page, length) && libc::pthread_atfork(None, None, Some(forked)) != 0 {
            libc::munmap(page, length);
            return false;
        }
        EPOCH.store(page.cast(), Release);
    }
    true
}

/// Whether no process has this pid in our pid namespace. A zombie still has it.
pub(super) fn is_gone(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: signal 0 is not sent, only its target is looked for.
    pid > 0 && unsafe { libc::kill(pid, 0) } < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// 8 bits that differ, mostly, between program images: a process that has called exec is a new one to us.
pub(super) fn image() -> u8 {
    use std::hash::{DefaultHasher, Hasher};
    // SAFETY: the kernel gives 16 random bytes there, new with each exec, unchanged by fork.
    let random = unsafe { (libc::getauxval(libc::AT_RANDOM) as *const [u8; 16]).as_ref() };
    // The C library makes its stack canary of these bytes: of them all, hashed, 8 bits say nothing.
    let mut hasher = DefaultHasher::new();
    hasher.write(random.unwrap_or(&[0; 16]));
    hasher.finish() as u8
}

/// The effective user.
pub(super) fn effective_user() -> u32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { libc::geteuid() }
}
