//! A store's file in the file system: finding, reading, writing and replacing it. No descriptor is kept between calls, because programs close
//! descriptors that they did not open, and children inherit descriptors.

use super::format::{Counters, FRAMES};
use super::trouble::Trouble;
use adjunct::file_lock::{self, FileLock};
use adjunct::lock::Lock;
use rustix::fd::OwnedFd;
use rustix::fs::{self, Access, CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Trouble>;

/// How long a writer waits for others.
const PATIENCE: Duration = Duration::from_secs(60);
const OURS: Mode = Mode::RUSR.union(Mode::WUSR);
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

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
    fn of(stat: &Stat) -> Seen {
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
    /// The token's file, locked too, where there is one.
    _token: Option<FileLock>,
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

/// Whether the old file is wiped or kept when it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old<'a> {
    /// The old file's bytes are overwritten, and it is removed.
    Wiped,
    /// The old file stays under another name.
    Kept(&'a Path),
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
    fn is_alias(&self, name: &Path) -> bool {
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
        let lock = match fs::open(self.beside(".lock"), FLAGS | OFlags::RDONLY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            lock => lock?,
        };
        let Some(process) = file_lock::holder(&lock)? else { return Ok(None) };
        let seen = seen(&lock)?;
        Ok(Some(process.or_else(|| holder_of(&seen))))
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
        self.exclusively_unless(sleep, body)?.ok_or(Trouble::Busy)
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
                return done.map(Some);
            }
            if is_needless(pause_after(begin)?) {
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
                    let held = Held { lock, _token: self.lock_token(begin)? };
                    // What cannot go now goes the next time.
                    let _ = self.clear();
                    return Ok(body(&held));
                }
                Ok(_) => lock = open()?,
                Err(file) => lock = if is_there(&file)? { file } else { open()? },
            }
            std::thread::sleep(pause_after(begin)?);
        }
    }

    /// Locks the token's file itself, if it exists and may be written to: another writer may hold a lock's file that was taken away since.
    fn lock_token(&self, begin: Instant) -> Result<Option<FileLock>> {
        loop {
            // What is wrong with the file is told by whoever reads it.
            let Ok(Some((file, seen, true))) = self.open() else { return Ok(None) };
            if let Ok(lock) = FileLock::try_lock(file)?
                && self.is_still(&seen)?
            {
                return Ok(Some(lock));
            }
            std::thread::sleep(pause_after(begin)?);
        }
    }

    /// Removes what a writer that was killed has left beside the file: a new file that was not put in its place, or the one that was there before.
    fn clear(&self) -> Result<()> {
        match fs::lstat(self.beside(".new")) {
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
            Ok(_) => {
                // The name of what was put in its place is there for good before what was there is overwritten.
                self.settle()?;
                wipe(&self.beside(".new"))
            }
        }
    }

    /// Writes a new file beside it, with the group and the rights to read that the file has.
    fn write_new(&self, parts: &[&[u8]]) -> Result<OwnedFd> {
        let new = self.beside(".new");
        let file = fs::open(&new, FLAGS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, OURS)?;
        let written = (|| {
            super::rights::keep(&file, &self.path)?;
            let mut at = 0;
            for part in parts {
                write(&file, at, part)?;
                at += part.len() as u64;
            }
            Ok(fs::fsync(&file)?)
        })();
        match written {
            Ok(()) => Ok(file),
            Err(trouble) => {
                let _ = fs::unlink(&new);
                Err(trouble)
            }
        }
    }

    /// Makes what was renamed last for good.
    fn settle(&self) -> Result<()> {
        let directory = fs::open(self.directory(), OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty())?;
        Ok(fs::fsync(&directory)?)
    }

    /// Puts a new file of these bytes in place of the token's, in one step and on the disk. The old file is overwritten, unless it has another name
    /// besides.
    ///
    /// # Errors
    /// What the system says; all is as before then. Where not even that can be had, the new one is there, but perhaps not for good.
    pub fn replace(&self, _: &Held, parts: &[&[u8]], old: Old<'_>) -> Result<Seen> {
        let (file, new) = (self.write_new(parts)?, self.beside(".new"));
        // One that stays has its name before another takes its place: who is killed in between loses none.
        let named = match old {
            Old::Kept(aside) => (fs::link(&self.path, aside).is_ok() || self.is_alias(aside)).then_some(aside),
            Old::Wiped => None,
        };
        let failed = |errno: Errno| {
            let _ = fs::unlink(&new);
            let _ = named.map(fs::unlink);
            Trouble::from(errno)
        };
        // Exchanged, the old one has a name until it is overwritten: who is killed before leaves it to the next writer.
        match fs::renameat_with(CWD, &new, CWD, &self.path, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => {
                fs::rename(&new, &self.path).map_err(failed)?;
                self.settle().inspect_err(|_| _ = fs::unlink(&self.path))?;
                return seen(&file);
            }
            // A file system that cannot exchange.
            Err(_) => {
                let before = fs::open(&self.path, FLAGS | OFlags::RDWR, Mode::empty()).ok();
                if let Old::Kept(aside) = old
                    && named.is_none()
                {
                    fs::link(&self.path, aside).map_err(failed)?;
                }
                fs::rename(&new, &self.path).map_err(failed)?;
                self.settle()?;
                if let Some(before) = before.filter(|_| old == Old::Wiped) {
                    let _ = overwrite(&before, 0);
                }
                return seen(&file);
            }
        }
        let seen = seen(&file)?;
        if let Err(trouble) = self.settle() {
            // What is said not to be done is not done.
            if fs::renameat_with(CWD, &new, CWD, &self.path, RenameFlags::EXCHANGE).is_ok() {
                let _ = fs::unlink(&new);
                let _ = named.map(fs::unlink);
            }
            return Err(trouble);
        }
        match old {
            Old::Kept(_) if named.is_some() => _ = fs::unlink(&new),
            Old::Kept(aside) => {
                fs::rename(&new, aside)?;
                self.settle()?;
            }
            // Where that cannot be done now the next writer does it.
            Old::Wiped => _ = wipe(&new),
        }
        Ok(seen)
    }

    /// Makes the file of these bytes, in one step and on the disk, if it does not exist.
    ///
    /// # Errors
    /// [`Trouble::Exists`]; what the system says: nothing is there then.
    pub fn create(&self, _: &Held, parts: &[&[u8]]) -> Result<()> {
        let (_, new) = (self.write_new(parts)?, self.beside(".new"));
        let made = match fs::renameat_with(CWD, &new, CWD, &self.path, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                let linked = fs::link(&new, &self.path);
                let _ = fs::unlink(&new);
                linked
            }
            made => made,
        };
        match made {
            Ok(()) => self.settle().inspect_err(|_| _ = fs::unlink(&self.path)),
            Err(errno) => {
                let _ = fs::unlink(&new);
                Err(if errno == Errno::EXIST { Trouble::Exists } else { errno.into() })
            }
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
                std::fs::read_to_string(told).is_ok_and(|told| told.contains("\nlock:"))
            };
            if locked {
                return process.file_name().to_str()?.parse().ok();
            }
        }
    }
    None
}

/// Overwrites what a file holds from a place on, for good.
///
/// # Errors
/// What the system says.
pub fn overwrite(file: &OwnedFd, from: u64) -> Result<()> {
    static ZEROS: [u8; 16 << 10] = [0; 16 << 10];
    let (end, mut at) = (fs::fstat(file)?.st_size as u64, from);
    while at < end {
        let part = (end - at).min(ZEROS.len() as u64);
        write(file, at, &ZEROS[..part as usize])?;
        at += part;
    }
    Ok(fs::fdatasync(file)?)
}

/// Overwrites a file and removes its name. A file with another name besides is left as it is.
///
/// # Errors
/// What the system says.
pub fn wipe(path: &Path) -> Result<()> {
    match fs::open(path, FLAGS | OFlags::WRONLY, Mode::empty()) {
        Ok(file) => {
            let stat = fs::fstat(&file)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1 {
                overwrite(&file, 0)?;
            }
        }
        Err(Errno::NOENT) => return Ok(()),
        // A link, or nothing that can be written to.
        Err(_) => {}
    }
    Ok(fs::unlink(path)?)
}

/// How long to sleep before the next try.
fn pause_after(begin: Instant) -> Result<Duration> {
    let spent = begin.elapsed();
    if spent > PATIENCE {
        return Err(Trouble::Busy);
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
