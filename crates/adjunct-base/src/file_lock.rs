//! A lock on a file among all who open it: processes, and several copies of this code in one process (a module that was upgraded beneath a
//! running program, or is loaded by two paths), which do not know of each other.
//!
//! The lock belongs to the open file description (`F_OFD_SETLK`). A POSIX record lock belongs to the process instead: a second copy would get it too,
//! and closing any descriptor of the file would end it. The two kinds exclude each other, so that this code and older versions of it, which take
//! POSIX locks, wait for each other.
//!
//! A child of fork has a copy of the descriptor, and the description is locked until the last copy is closed or one who has it unlocks it. So
//! the lock is ended by unlocking, and a child closes its copy in a handler of pthread_atfork(3): else a holder that is killed while
//! a child lives would leave the file locked for as long. A child by a bare clone keeps its copy until it ends or calls exec.
//!
//! Where the system has no such locks (EINVAL), `flock` and a POSIX lock are taken together: copies in one process are kept apart by the
//! first, older versions by the second.

#![allow(unsafe_code)]

use crate::fork::generation;
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::fs::{FlockOperation, fcntl_lock, flock, fstat};
use rustix::io::{Errno, Result};
use std::sync::Once;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// A locked file; unlocked and closed when dropped.
#[derive(Debug)]
pub struct FileLock {
    file: OwnedFd,
    place: Option<&'static Place>,
    /// Whether the lock is `flock` and a POSIX lock.
    old: bool,
}

/// A descriptor that a child of fork closes.
#[derive(Debug)]
struct Place {
    /// The descriptor + 1, and above it the generation of its process; 0: free.
    file: AtomicU64,
    /// Identity of the file, so that a child closes nothing else that has got its number.
    device: AtomicU64,
    inode: AtomicU64,
}

/// More than threads hold at a time. Who finds none free goes without.
static PLACES: [Place; 8] =
    [const { Place { file: AtomicU64::new(0), device: AtomicU64::new(0), inode: AtomicU64::new(0) } }; 8];

fn word(file: RawFd, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(file.cast_unsigned() + 1)
}

impl Place {
    fn take(file: &OwnedFd) -> Option<&'static Place> {
        let generation = generation();
        let stat = fstat(file).ok()?;
        let free = |word: u64| (word == 0 || (word >> 32) as u32 != generation).then_some(u64::from(generation) << 32);
        let place = PLACES.iter().find(|place| place.file.fetch_update(AcqRel, Relaxed, free).is_ok())?;
        #[allow(clippy::unnecessary_cast, reason = "narrower elsewhere")]
        place.device.store(stat.st_dev as u64, Relaxed);
        #[allow(clippy::unnecessary_cast, reason = "narrower elsewhere")]
        place.inode.store(stat.st_ino as u64, Relaxed);
        place.file.store(word(file.as_raw_fd(), generation), Release);
        Some(place)
    }
}

/// Closes, in a child of fork, what its parent's threads have locked.
extern "C" fn forked() {
    for place in &PLACES {
        // Written to only where there is something: a page that a child writes to is copied for it.
        let Some(file) = (place.file.load(Acquire) as u32).checked_sub(1) else { continue };
        place.file.store(0, Relaxed);
        // SAFETY: numbers alone, which the call writes.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` lives; a number that is no descriptor is refused.
        let known = unsafe { libc::fstat(file.cast_signed(), &raw mut stat) } == 0;
        #[allow(clippy::unnecessary_cast, reason = "narrower elsewhere")]
        let file_of = (stat.st_dev as u64, stat.st_ino as u64);
        if known && file_of == (place.device.load(Relaxed), place.inode.load(Relaxed)) {
            // SAFETY: the child's copy of a descriptor that the thread of a `FileLock` owns; that thread is not in the child.
            unsafe { libc::close(file.cast_signed()) };
        }
    }
}

fn lock_of(kind: libc::c_int) -> libc::flock {
    // SAFETY: numbers alone: all zeros is valid, and means the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock
}

fn set(file: &OwnedFd, kind: libc::c_int) -> Result<()> {
    let wanted = lock_of(kind);
    // SAFETY: the descriptor is open, and the lock lives and is only read.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const wanted) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn set_old(file: &OwnedFd) -> Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)?;
    let locked = fcntl_lock(file, FlockOperation::NonBlockingLockExclusive);
    if locked.is_err() {
        let _ = flock(file, FlockOperation::Unlock);
    }
    locked
}

impl FileLock {
    /// Locks the whole of a file that is open for writing; gives it back if another has locked it.
    ///
    /// # Errors
    /// What the system says: file systems without locks have ENOLCK.
    pub fn try_lock(file: OwnedFd) -> Result<std::result::Result<FileLock, OwnedFd>> {
        static HANDLER: Once = Once::new();
        // SAFETY: a function of this module, which is never unmapped; it calls what may be called between fork and exec.
        HANDLER.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(forked)) });
        // Noted first: a child forked in between closes what is locked.
        let mut lock = FileLock { place: Place::take(&file), file, old: false };
        let done = match set(&lock.file, libc::F_WRLCK) {
            Err(Errno::INVAL) => {
                lock.old = true;
                set_old(&lock.file)
            }
            done => done,
        };
        match done {
            Ok(()) => Ok(Ok(lock)),
            Err(errno) => {
                let file = lock.forget();
                match errno {
                    Errno::AGAIN | Errno::ACCESS | Errno::INTR => Ok(Err(file)),
                    errno => Err(errno),
                }
            }
        }
    }

    /// The file, no longer noted.
    fn forget(self) -> OwnedFd {
        let lock = std::mem::ManuallyDrop::new(self);
        lock.leave();
        // SAFETY: read once, and not dropped where it was.
        unsafe { std::ptr::read(&raw const lock.file) }
    }

    fn leave(&self) {
        if let Some(place) = self.place {
            let own = word(self.file.as_raw_fd(), generation());
            let _ = place.file.compare_exchange(own, 0, AcqRel, Relaxed);
        }
    }

    /// The locked file.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // For all copies of the descriptor; closing this one would leave a child's.
        if self.old {
            let _ = fcntl_lock(&self.file, FlockOperation::Unlock);
            let _ = flock(&self.file, FlockOperation::Unlock);
        } else {
            let _ = set(&self.file, libc::F_UNLCK);
        }
        self.leave();
    }
}

/// A lock of another's that keeps out one of this `kind`, as far as the system tells.
fn in_the_way_of(file: &OwnedFd, kind: libc::c_int) -> Result<Option<libc::flock>> {
    let mut lock = lock_of(kind);
    // SAFETY: the descriptor is open, and the lock lives.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if asked != 0 {
        return Err(last_error());
    }
    Ok(Some(lock).filter(|lock| libc::c_int::from(lock.l_type) != libc::F_UNLCK))
}

/// Whether another has locked a file for writing, by either kind of lock, as far as the system tells; and its process, which the system knows for a
/// POSIX lock. A lock for reading does not count: whoever may read the file can take one, and no holder of a [`FileLock`] does.
///
/// # Errors
/// What the system says.
pub fn holder(file: &OwnedFd) -> Result<Option<Option<u32>>> {
    // Others' locks for reading do not keep out one for reading.
    let lock = in_the_way_of(file, libc::F_RDLCK)?;
    Ok(lock.map(|lock| u32::try_from(lock.l_pid).ok().filter(|pid| *pid != 0)))
}

/// Whether locks for reading, and none for writing, keep a file from being locked: their holders may read the file, and are none of a [`FileLock`].
/// `false` where the system does not say.
pub fn is_kept_by_readers(file: &OwnedFd) -> bool {
    let none = |kind| in_the_way_of(file, kind).map(|lock| lock.is_none());
    none(libc::F_WRLCK) == Ok(false) && none(libc::F_RDLCK) == Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, open, unlink};

    fn file() -> (String, impl Fn() -> OwnedFd) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("adjunct-file-lock-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name).display().to_string();
        let name = path.clone();
        (path, move || open(&name, OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).unwrap())
    }

    /// One process holds a file's lock once, though two copies of the module in it know nothing of each other.
    #[test]
    fn one_process_has_it_once() {
        let (path, open) = file();
        let first = FileLock::try_lock(open()).unwrap().unwrap();
        let second = FileLock::try_lock(open()).unwrap().unwrap_err();
        assert_eq!(holder(&second), Ok(Some(None)));
        // To close another descriptor of the file ends nothing.
        drop(second);
        assert!(FileLock::try_lock(open()).unwrap().is_err());
        drop(first);
        assert_eq!(holder(&open()), Ok(None));
        assert!(FileLock::try_lock(open()).unwrap().is_ok());
        unlink(&path).unwrap();
    }

    #[test]
    fn older_versions_are_waited_for_and_wait() {
        let (path, open) = file();
        let old = open();
        fcntl_lock(&old, FlockOperation::NonBlockingLockExclusive).unwrap();
        let new = FileLock::try_lock(open()).unwrap().unwrap_err();
        assert_eq!(holder(&new), Ok(Some(Some(std::process::id()))));
        fcntl_lock(&old, FlockOperation::Unlock).unwrap();
        let new = FileLock::try_lock(new).unwrap().unwrap();
        let refused = fcntl_lock(&old, FlockOperation::NonBlockingLockExclusive);
        assert!(matches!(refused, Err(Errno::AGAIN | Errno::ACCESS)), "{refused:?}");
        drop(new);
        fcntl_lock(&old, FlockOperation::NonBlockingLockExclusive).unwrap();
        unlink(&path).unwrap();
    }

    /// A lock for reading, which needs no right to write, is none of a holder's.
    #[test]
    fn a_lock_for_reading_is_no_holder() {
        let (path, file) = file();
        drop(file());
        let reader = open(&path[..], OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        set(&reader, libc::F_RDLCK).unwrap();
        let refused = FileLock::try_lock(file()).unwrap().unwrap_err();
        assert_eq!((holder(&refused), is_kept_by_readers(&refused)), (Ok(None), true));
        drop(reader);
        assert!(!is_kept_by_readers(&refused));
        let held = FileLock::try_lock(refused).unwrap().unwrap();
        assert_eq!((holder(&file()), is_kept_by_readers(&file())), (Ok(Some(None)), false));
        drop(held);
        unlink(&path).unwrap();
    }

    #[test]
    fn a_child_keeps_nothing_locked() {
        let (path, open) = file();
        for unlock in [true, false] {
            let held = FileLock::try_lock(open()).unwrap().unwrap();
            let number = held.file().as_raw_fd();
            // SAFETY: the child sleeps, and ends.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: the child calls functions that are safe after a fork (fcntl, sleep, _exit), and ends; fcntl tells whether the
                // descriptor is open.
                unsafe {
                    let closed = libc::fcntl(number, libc::F_GETFD) < 0;
                    libc::sleep(if closed { 30 } else { 0 });
                    libc::_exit(1);
                }
            }
            assert!(FileLock::try_lock(open()).unwrap().is_err());
            if unlock {
                drop(held);
            } else {
                // As if this process had been killed: its descriptors are closed, and nothing is unlocked.
                let held = std::mem::ManuallyDrop::new(held);
                held.leave();
                // SAFETY: not closed again.
                unsafe { libc::close(number) };
            }
            // The child's handler may not have run yet.
            let free = || FileLock::try_lock(open()).unwrap().is_ok();
            assert!((0..3000).any(|_| free() || (std::thread::sleep(std::time::Duration::from_millis(10)), false).1));
            // SAFETY: a child of this process.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
        unlink(&path).unwrap();
    }

    #[test]
    fn the_old_way_excludes_as_well() {
        let (path, open) = file();
        let (first, second) = (open(), open());
        set_old(&first).unwrap();
        assert!(matches!(set_old(&second), Err(Errno::AGAIN)));
        unlink(&path).unwrap();
    }
}
