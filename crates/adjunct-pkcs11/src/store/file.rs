//! A store's file in the file system: finding, reading, writing and replacing it. No descriptor is kept between calls, because programs close
//! descriptors that they did not open, and children inherit descriptors.

use super::format::{Counters, FRAMES};
use super::trouble::Trouble;
use adjunct::file_lock::{self, FileLock};
use adjunct::lock::Lock;
use rustix::fd::OwnedFd;
use rustix::fs::{self, Access, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit};
use std::cell::RefCell;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Trouble>;

/// How long a writer waits for others.
const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const OURS: Mode = Mode::RUSR.union(Mode::WUSR);
pub(super) const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The files of a store.
#[derive(Debug, Clone)]
pub struct Place {
    pub path: PathBuf,
    /// Never written to, by word of the administrator.
    pub read_only: bool,
}

/// Identity and length of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    device: u64,
    inode: u64,
    /// Time at which the file was last written to or renamed: the numbers of files that are gone are given again.
    changed: (i64, u64),
    pub length: u64,
}

impl Seen {
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    pub(super) fn of(stat: &Stat) -> Seen {
        let changed = (stat.st_ctime as i64, stat.st_ctime_nsec as u64);
        Seen { device: stat.st_dev as u64, inode: stat.st_ino as u64, changed, length: stat.st_size as u64 }
    }

    /// A number that identifies the file and its state: it differs for another file and for this one at another time, and is never 0.
    pub fn print(&self) -> u64 {
        let parts = [self.device, self.inode, self.changed.0 as u64, self.changed.1, self.length];
        // Steps that lose nothing: two that differ in one part alone differ.
        let mix = |mixed: u64, part: u64| (mixed.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        parts.into_iter().fold(1, mix).max(1)
    }

    /// Whether both are looks at the same file, of whatever length.
    pub fn same_file(&self, other: &Seen) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// The right to write the token's file, which no other thread or process has meanwhile.
#[derive(Debug)]
pub struct Held {
    lock: FileLock,
    /// The token's file, locked too; from when another takes its place, that one. `None` where there is none, or where readers keep it locked.
    pub(super) token: RefCell<Option<FileLock>>,
}

impl Held {
    /// The file beside the token's that is locked, which holds what [`super::mark`] says.
    pub fn file(&self) -> &OwnedFd {
        self.lock.file()
    }
}

/// A file that was read as a whole.
#[derive(Debug)]
pub struct Whole {
    pub bytes: Vec<u8>,
    pub seen: Seen,
    pub writable: bool,
}

/// Whether a file or directory belongs to this user or root, and no other user may write to it.
fn is_safe(stat: &Stat, kind: FileType) -> bool {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let owned = stat.st_uid == 0 || stat.st_uid == geteuid().as_raw();
    FileType::from_raw_mode(stat.st_mode) == kind && owned && !mode.intersects(Mode::WGRP | Mode::WOTH)
}

impl Place {
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Path of another file beside the token's.
    pub fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    /// Looks at the file; `None` where there is none.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn look(&self) -> Result<Option<Seen>> {
        match fs::lstat(&self.path) {
            Ok(stat) => Ok(Some(Seen::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno @ (Errno::ACCESS | Errno::PERM)) => Err(Trouble::Unreadable(errno)),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens the file, for writing if that is possible, and says so; `None` where there is no file.
    ///
    /// # Errors
    /// [`Trouble::Unsafe`], [`Trouble::Unreadable`], and what the system says.
    pub fn open(&self) -> Result<Option<(OwnedFd, Seen, bool)>> {
        let open = |flags| fs::open(&self.path, FLAGS | flags, Mode::empty());
        let opened = match if self.read_only { Err(Errno::ROFS) } else { open(OFlags::RDWR) } {
            Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => open(OFlags::RDONLY).map(|file| (file, false)),
            opened => opened.map(|file| (file, true)),
        };
        let (file, writable) = match opened {
            Ok(opened) => opened,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno @ (Errno::ACCESS | Errno::PERM)) => return Err(Trouble::Unreadable(errno)),
            Err(errno) => return Err(errno.into()),
        };
        let stat = fs::fstat(&file)?;
        let directory = fs::stat(self.directory())?;
        if !is_safe(&stat, FileType::RegularFile) || !is_safe(&directory, FileType::Directory) {
            return Err(Trouble::Unsafe);
        }
        // Who writes locks, and makes the lock where there is none.
        let writable = writable
            && match fs::access(self.beside(".lock"), Access::WRITE_OK) {
                Err(Errno::NOENT) => fs::access(self.directory(), Access::WRITE_OK).is_ok(),
                may => may.is_ok(),
            };
        Ok(Some((file, Seen::of(&stat), writable)))
    }

    /// Reads the whole file; `None` where there is none. A file that was replaced while it was read is read again: its bytes may have been
    /// overwritten by then.
    ///
    /// # Errors
    /// [`Trouble::Unsafe`], [`Trouble::Memory`], and what the system says.
    pub fn read_whole(&self) -> Result<Option<Whole>> {
        loop {
            let Some((file, seen, writable)) = self.open()? else { return Ok(None) };
            let bytes = read(&file, 0, seen.length)?;
            if self.is_still(&seen)? {
                return Ok(Some(Whole { bytes, seen, writable }));
            }
        }
    }

    /// Reads the counters of the PINs' tries; `None` where there is no file.
    ///
    /// # Errors
    /// [`Trouble::Damaged`], [`Trouble::Unsafe`], and what the system says.
    pub fn counters(&self) -> Result<Option<Counters>> {
        loop {
            let Some((file, seen, _)) = self.open()? else { return Ok(None) };
            let read = read(&file, 0, FRAMES as u64).and_then(|bytes| Counters::decode(&bytes));
            if read.is_ok() || self.is_still(&seen)? {
                return read.map(Some);
            }
        }
    }

    /// Whether the file that was opened still has its name.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn is_still(&self, opened: &Seen) -> Result<bool> {
        Ok(self.look()?.is_some_and(|now| now.same_file(opened)))
    }

    /// Finds a file name beside the token's that is not taken.
    ///
    /// # Errors
    /// What the system says.
    fn free_name(&self, ending: &str) -> Result<PathBuf> {
        for number in 1.. {
            let aside = self.beside(&if number == 1 { ending.to_owned() } else { format!("{ending}-{number}") });
            match fs::lstat(&aside) {
                Ok(_) => {}
                Err(Errno::NOENT) => return Ok(aside),
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Whether `name` is a second link to this file, made by a writer to keep the file when it is replaced; the writer was killed before it removed
    /// the link.
    pub(super) fn is_alias(&self, name: &Path) -> bool {
        let seen = |path: &Path| fs::lstat(path).map(|stat| Seen::of(&stat));
        seen(name).is_ok_and(|named| seen(&self.path).is_ok_and(|own| own.same_file(&named)))
    }

    /// Finds a file name beside the token's under which a replaced file may stay.
    ///
    /// # Errors
    /// What the system says.
    pub fn name_aside(&self, ending: &str) -> Result<PathBuf> {
        let given = self.names(ending)?.into_iter().find(|name| self.is_alias(name));
        given.map_or_else(|| self.free_name(ending), Ok)
    }

    /// The names of the files beside it that [`Place::free_name`] has given for this ending.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self, ending: &str) -> Result<Vec<PathBuf>> {
        let (mut names, start) = (Vec::new(), self.beside(ending));
        let Some(start) = start.file_name().map(std::ffi::OsStr::as_encoded_bytes) else { return Ok(names) };
        let entries = std::fs::read_dir(self.directory());
        let entries = entries.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.as_encoded_bytes().strip_prefix(start);
            if number.is_some_and(|number| number.is_empty() || number.starts_with(b"-")) {
                names.push(entry.path());
            }
        }
        Ok(names)
    }

    /// Process that holds the writers' lock, the inner `None` where that cannot be found out; the outer `None` where the lock is free.
    ///
    /// # Errors
    /// What the system says.
    pub fn writer(&self) -> Result<Option<Option<u32>>> {
        // Who has lost the lock's file has the token's.
        for path in [&self.beside(".lock"), &self.path] {
            let file = match fs::open(path, FLAGS | OFlags::RDONLY, Mode::empty()) {
                Err(Errno::NOENT) => continue,
                file => file?,
            };
            if let Some(process) = file_lock::holder(&file)? {
                let seen = seen(&file)?;
                return Ok(Some(process.or_else(|| holder_of(&seen))));
            }
        }
        Ok(None)
    }

    /// The error of who has waited in vain.
    pub(super) fn busy(&self) -> Trouble {
        Trouble::Busy(self.writer().ok().flatten().flatten())
    }

    /// Names the holder of the lock that was waited for in vain.
    fn told<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|trouble| if trouble == Trouble::Busy(None) { self.busy() } else { trouble })
    }

    /// Modes of the file and its directory, and whether they belong to root or this user.
    ///
    /// # Errors
    /// What the system says.
    pub fn rights(&self) -> Result<[(u32, bool); 2]> {
        let of = |stat: Stat| (stat.st_mode & 0o7777, stat.st_uid == 0 || stat.st_uid == geteuid().as_raw());
        Ok([of(fs::lstat(&self.path)?), of(fs::stat(self.directory())?)])
    }

    /// Whether the file could be written to.
    pub fn is_writable(&self) -> bool {
        let exists = |path: &&Path| fs::access(*path, Access::EXISTS).is_ok();
        let there = std::iter::once(&*self.path).chain(self.directory().ancestors()).find(exists);
        !self.read_only && there.is_some_and(|there| fs::access(there, Access::WRITE_OK).is_ok())
    }

    /// Runs `body` while no other thread or process writes, here or to any other store. The directory is made if it does not exist.
    ///
    /// The lock is one among all that open its file, other copies of this module in the same process too ([`FileLock`]).
    ///
    /// # Errors
    /// [`Trouble::Busy`], and what the system says.
    pub fn exclusively<R>(&self, body: impl FnOnce(&Held) -> R) -> Result<R> {
        let sleep = |pause| {
            std::thread::sleep(pause);
            false
        };
        self.exclusively_unless(sleep, body)?.ok_or(Trouble::Busy(None))
    }

    /// Runs `body` while no other thread or process writes, here or to any other store, unless that is needless by then; `None` in that case. While
    /// another writes, `is_needless` is asked again and again, each time after a pause, which it makes: of the given length, or until it knows
    /// better. The directory is made if it does not exist.
    ///
    /// # Errors
    /// [`Trouble::Busy`], and what the system says.
    pub fn exclusively_unless<R>(
        &self,
        is_needless: impl Fn(Duration) -> bool,
        body: impl FnOnce(&Held) -> R,
    ) -> Result<Option<R>> {
        static WRITER: Lock<()> = Lock::new(());
        let (begin, mut body) = (Instant::now(), Some(body));
        loop {
            let done = WRITER.try_hold(1, |(), _| body.take().map(|body| self.locked(begin, body)));
            if let Some(Some(done)) = done {
                return self.told(done.map(Some));
            }
            if is_needless(self.told(pause_after(begin))?) {
                return Ok(None);
            }
        }
    }

    fn locked<R>(&self, begin: Instant, body: impl FnOnce(&Held) -> R) -> Result<R> {
        if self.read_only {
            return Err(Errno::ROFS.into());
        }
        let directory = self.directory();
        if fs::access(directory, Access::EXISTS) == Err(Errno::NOENT) {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
            made.map_err(|error| match Errno::from_io_error(&error) {
                // As in /proc: nothing can be made there.
                Some(Errno::NOENT) => Errno::ROFS,
                errno => errno.unwrap_or(Errno::IO),
            })?;
        }
        if !is_safe(&fs::stat(directory)?, FileType::Directory) {
            return Err(Trouble::Unsafe);
        }
        let path = self.beside(".lock");
        let open = || fs::open(&path, FLAGS | OFlags::RDWR | OFlags::CREATE, OURS);
        // A lock that somebody has taken away since keeps out nobody who comes later.
        let is_there = |lock: &OwnedFd| {
            let locked = Seen::of(&fs::fstat(lock)?);
            Ok::<_, Errno>(fs::lstat(&path).is_ok_and(|stat| Seen::of(&stat).same_file(&locked)))
        };
        let mut lock = open()?;
        loop {
            match FileLock::try_lock(lock)? {
                Ok(lock) if is_there(lock.file())? => {
                    let held = Held { lock, token: RefCell::new(self.lock_token(begin)?) };
                    // What cannot go now goes the next time.
                    let _ = self.clear();
                    return Ok(body(&held));
                }
                Ok(_) => lock = open()?,
                Err(file) if !is_there(&file)? => lock = open()?,
                Err(file) if file_lock::is_kept_by_readers(&file) => {
                    self.renew_lock(&file)?;
                    lock = open()?;
                }
                Err(file) => lock = file,
            }
            std::thread::sleep(pause_after(begin)?);
        }
    }

    /// Puts a new file of the writers' lock in place of one that readers have locked: somebody has let others read it, which nobody has to. It is this
    /// user's alone. A writer that gets the old one at this moment has the token's file locked, too.
    fn renew_lock(&self, old: &OwnedFd) -> Result<()> {
        let (path, new) = (self.beside(".lock"), self.beside(".lock-new"));
        let _ = fs::unlink(&new);
        let file = fs::open(&new, FLAGS | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, OURS)?;
        write(&file, 0, &read(old, 0, FRAMES as u64)?)?;
        Ok(fs::rename(&new, &path)?)
    }

    /// Whether the writers' lock that is held still has its name.
    pub(super) fn has_lock(&self, held: &Held) -> bool {
        let named = fs::lstat(self.beside(".lock")).map(|stat| Seen::of(&stat));
        named.is_ok_and(|named| seen(held.lock.file()).is_ok_and(|own| own.same_file(&named)))
    }

    /// Locks the token's file itself, if it exists and may be written to: another writer may hold a lock's file that was taken away since. A lock for
    /// reading, which whoever may read the file can hold for as long as it likes, is not waited for: no writer has one.
    fn lock_token(&self, begin: Instant) -> Result<Option<FileLock>> {
        loop {
            // What is wrong with the file is told by whoever reads it.
            let Ok(Some((file, seen, true))) = self.open() else { return Ok(None) };
            match FileLock::try_lock(file)? {
                Ok(lock) if self.is_still(&seen)? => return Ok(Some(lock)),
                Err(file) if file_lock::is_kept_by_readers(&file) && self.is_still(&seen)? => return Ok(None),
                _ => {}
            }
            std::thread::sleep(pause_after(begin)?);
        }
    }
}

/// The process that has a file open and locked, among those that this user may look at.
fn holder_of(file: &Seen) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    for process in processes.filter(|process| process.file_name().as_encoded_bytes()[0].is_ascii_digit()) {
        let open = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        for descriptor in open {
            let same = fs::stat(descriptor.path()).is_ok_and(|stat| Seen::of(&stat).same_file(file));
            let locked = same && {
                let told = process.path().join("fdinfo").join(descriptor.file_name());
                let writes = |line: &str| line.starts_with("lock:") && line.contains(" WRITE ");
                std::fs::read_to_string(told).is_ok_and(|told| told.lines().any(writes))
            };
            if locked {
                return process.file_name().to_str()?.parse().ok();
            }
        }
    }
    None
}

/// How long to sleep before the next try.
fn pause_after(begin: Instant) -> Result<Duration> {
    let spent = begin.elapsed();
    if spent > PATIENCE {
        return Err(Trouble::Busy(None));
    }
    // Short: whoever makes one change after the other leaves it open for moments only.
    Ok((spent / 16).clamp(Duration::from_micros(20), Duration::from_micros(300)))
}

/// Reads `count` bytes; fewer at the end of the file.
///
/// # Errors
/// [`Trouble::Memory`], and what the system says.
pub fn read(file: &OwnedFd, mut at: u64, count: u64) -> Result<Vec<u8>> {
    let count = usize::try_from(count).map_err(|_| Trouble::Memory)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(count)?;
    bytes.resize(count, 0);
    let mut read = 0;
    while read < count {
        match rustix::io::pread(file, &mut bytes[read..], at) {
            Ok(0) => break,
            Ok(more) => (read, at) = (read + more, at + more as u64),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Writes all bytes. A file may not become longer than the process's limit: the signal for that would end the program.
///
/// # Errors
/// What the system says; some of it may be written then.
pub fn write(file: &OwnedFd, mut at: u64, mut bytes: &[u8]) -> Result<()> {
    if getrlimit(Resource::Fsize).current.is_some_and(|most| at + bytes.len() as u64 > most) {
        return Err(Errno::FBIG.into());
    }
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at) {
            Ok(written) => (bytes, at) = (&bytes[written..], at + written as u64),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Looks at the file as it is now.
///
/// # Errors
/// What the system says.
pub fn seen(file: &OwnedFd) -> Result<Seen> {
    Ok(Seen::of(&fs::fstat(file)?))
}

/// Adds bytes at `end`, the end of the frames, on the disk. Bytes behind it, which belong to no frame, are cut off.
///
/// # Errors
/// What the system says; as far as that can be, nothing has changed then.
pub fn append(file: &OwnedFd, end: u64, bytes: &[u8]) -> Result<()> {
    if fs::fstat(file)?.st_size as u64 != end {
        fs::ftruncate(file, end)?;
    }
    let written = write(file, end, bytes).and_then(|()| fs::fdatasync(file).map_err(Trouble::from));
    if written.is_err() {
        let _ = fs::ftruncate(file, end);
    }
    written
}
