//! The system calls of the counters and the memory that they give: beside [`super::thread`] the only unsafe code of the counters.

use super::layout::Head;
use super::segment::Segment;
use super::switched::Switched;
use super::table::Uses;
use std::ffi::c_int;
use std::io;
use std::ops::Deref;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

const MODE: u32 = 0o600;
/// Bit in the mode of a segment that was removed and is gone once no process has it mapped. Linux has then released its key.
const REMOVED: u32 = 0o1000;
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

    /// The reason why this is no segment of `uid` and of `size`, if there is one.
    pub(super) fn wrong(&self, uid: u32, size: usize) -> Option<Wrong> {
        if self.uid != uid || self.creator != uid {
            Some(Wrong::Owner)
        } else if self.mode != MODE {
            Some(Wrong::Mode)
        } else if self.size != size {
            Some(Wrong::Size)
        } else {
            None
        }
    }
}

/// Why a segment is not mapped.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The segment belongs to, or was made by, another user.
    Owner,
    /// Other users than the owner may use the segment, or its owner may not.
    Mode,
    /// The segment's size is not that of this layout.
    Size,
    /// The segment's first word is not that of our segments.
    Content(u64),
    /// The system says no.
    System(&'static str, io::Error),
}

impl Wrong {
    /// Whether only this key is unusable: another user's segment has it, or a damaged one, or one that was removed just now.
    pub(super) fn is_of_this_key(&self) -> bool {
        match self {
            Wrong::System("shmget", error) => matches!(error.raw_os_error(), Some(libc::EACCES | libc::EINVAL)),
            Wrong::System(_, error) => matches!(error.raw_os_error(), Some(libc::EACCES | libc::EINVAL | libc::EIDRM)),
            _ => true,
        }
    }
}

/// A kind of segment.
///
/// # Safety
/// It is made of atomic words, for which any bytes are valid and which others may change, and is no larger than it says.
pub(super) unsafe trait Kind: Sized + 'static {
    const SIZE: usize = size_of::<Self>();

    fn head(&self) -> &Head;
}

// SAFETY: its fields are atomic words and arrays of them.
unsafe impl Kind for Segment {
    fn head(&self) -> &Head {
        self.head()
    }
}

// SAFETY: its fields are atomic words and arrays of them.
unsafe impl Kind for Switched {
    fn head(&self) -> &Head {
        self.head()
    }
}

// SAFETY: its fields are atomic words and arrays of them.
unsafe impl Kind for Uses {
    fn head(&self) -> &Head {
        self.head()
    }
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

/// All shared memory segments of this IPC namespace, without those removed.
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
            #[allow(clippy::unnecessary_cast, reason = "the widths differ between architectures")]
            let here = id >= 0 && ds.assume_init_ref().shm_perm.mode as u32 & REMOVED == 0;
            here.then(|| Stat::new(id, ds.assume_init_ref()))
        };
        Ok((0..=highest).filter_map(stat).collect())
    }
}

/// A segment mapped here.
#[derive(Debug)]
pub(super) struct Mapped<T: Kind> {
    place: &'static T,
    /// Number of the segment, as `ipcs -m` lists it.
    pub(super) id: c_int,
}

impl<T: Kind> Mapped<T> {
    /// Keeps the segment mapped until the process ends.
    pub(super) fn keep(self) -> &'static T {
        let place = self.place;
        std::mem::forget(self);
        place
    }
}

impl<T: Kind> Deref for Mapped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.place
    }
}

impl<T: Kind> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: `place` came from shmat, and every reference to it was borrowed from this value.
        unsafe { libc::shmdt(std::ptr::from_ref(self.place).cast()) };
    }
}

/// How a segment is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read alone.
    Read,
    /// Read and write.
    Write,
}

/// A key that no other segment can have taken: the system gives the new segment none.
pub(super) const NO_KEY: i32 = libc::IPC_PRIVATE;

/// Maps the segment under `key`, made if it does not exist, which has to be one of `uid` and with this identity. Makes the calls shmget, shmctl,
/// shmat, in this order, and no other; a refused one ends it.
///
/// # Errors
/// [`Wrong`], with what the system says of the segment where it got that far.
pub(super) fn create<T: Kind>(key: i32, uid: u32, identity: u64) -> Result<Mapped<T>, Wrong> {
    // SAFETY: no memory is involved.
    let id = unsafe { libc::shmget(key, T::SIZE, libc::IPC_CREAT | MODE as c_int) };
    if id < 0 {
        return Err(failed("shmget"));
    }
    let mapped = map::<T>(id, uid, Access::Write)?;
    mapped.head().identify(identity, true).map_err(Wrong::Content)?;
    Ok(mapped)
}

/// Maps a segment that was found, if it is one of `uid` and has this identity.
///
/// # Errors
/// [`Wrong`], as of [`create`].
pub(super) fn attach<T: Kind>(id: c_int, uid: u32, identity: u64, access: Access) -> Result<Mapped<T>, Wrong> {
    let mapped = map::<T>(id, uid, access)?;
    mapped.head().identify(identity, false).map_err(Wrong::Content)?;
    Ok(mapped)
}

fn map<T: Kind>(id: c_int, uid: u32, access: Access) -> Result<Mapped<T>, Wrong> {
    // A segment cannot be truncated, unlike a file: checked once, its size holds.
    if let Some(wrong) = stat(id)?.wrong(uid, T::SIZE) {
        return Err(wrong);
    }
    let flags = if access == Access::Read { libc::SHM_RDONLY } else { 0 };
    // SAFETY: the kernel chooses the place.
    let place = unsafe { libc::shmat(id, null(), flags) };
    if place as isize == -1 || place.is_null() {
        return Err(failed("shmat"));
    }
    // SAFETY: shmat gave SIZE bytes on a page boundary, mapped until Mapped is dropped, and `Kind` says that any bytes there
    // are a T. Mapped read-only, it is only loaded from: `Access::Read` is used with `identify(_, false)` and `read` alone.
    Ok(Mapped { place: unsafe { &*place.cast::<T>() }, id })
}

/// Whether the system would make a segment now: one without a name, removed at once.
///
/// # Errors
/// [`Wrong`] with what it says against it.
pub(super) fn probe<T: Kind>() -> Result<(), Wrong> {
    // SAFETY: no memory is involved.
    let id = unsafe { libc::shmget(NO_KEY, T::SIZE, libc::IPC_CREAT | MODE as c_int) };
    if id < 0 {
        return Err(failed("shmget"));
    }
    remove(id).map_err(|e| Wrong::System("shmctl", e))
}

/// Whether this process's `mappings` of it are the only ones: then every other process that had the segment mapped is gone.
pub(super) fn alone<T: Kind>(mapped: &Mapped<T>, mappings: u64) -> bool {
    stat(mapped.id).is_ok_and(|s| s.attached == mappings)
}

/// Removes a segment; it lives on, nameless, until the last process that has it mapped ends.
pub(super) fn remove(id: c_int) -> io::Result<()> {
    // SAFETY: IPC_RMID takes no buffer.
    if unsafe { libc::shmctl(id, libc::IPC_RMID, null_mut()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A segment this process counts in, for as long as it lives.
#[derive(Debug)]
pub(super) struct Kept<T>(AtomicPtr<T>);

impl<T: Kind> Kept<T> {
    pub(super) const fn none() -> Kept<T> {
        Kept(AtomicPtr::new(null_mut()))
    }

    pub(super) fn get(&self) -> Option<&'static T> {
        // SAFETY: only `set` writes it, with a reference that never ends.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Ends counting in the segment. Threads that have read its address may still use it.
    pub(super) fn clear(&self) {
        self.0.store(null_mut(), Release);
    }

    pub(super) fn set(&self, segment: Mapped<T>) {
        self.0.store(std::ptr::from_ref(segment.keep()).cast_mut(), Release);
    }
}

/// Whether no process has this pid in our pid namespace. A zombie still has it.
pub(super) fn is_gone(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: signal 0 is not sent, only its target is looked for.
    pid > 0 && unsafe { libc::kill(pid, 0) } < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// 8 bits that mostly differ between program images: a process that has called exec counts as a new one.
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
