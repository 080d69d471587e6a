//! A store's file in the file system: found, read, written, put in its place. No descriptor is kept between calls: programs close what they
//! do not know, and children inherit what they do not want.

use super::trouble::Trouble;
use adjunct::lock::Lock;
use rustix::fd::OwnedFd;
use rustix::fs::{self, Access, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, Pid, Resource, fcntl_getlk, geteuid, getrlimit};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Trouble>;

/// How long a writer waits for others.
const PATIENCE: Duration = Duration::from_secs(60);
const OURS: Mode = Mode::RUSR.union(Mode::WUSR);
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Where a store is.
#[derive(Debug, Clone)]
pub struct Place {
    pub path: PathBuf,
    /// Never written to, by word of the administrator.
    pub read_only: bool,
}

/// Which file it is, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    device: u64,
    inode: u64,
    /// When it was last written to or renamed: numbers of files that are gone are given again.
    changed: (i64, u64),
    pub length: u64,
}

impl Seen {
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    fn of(stat: &Stat) -> Seen {
        let changed = (stat.st_ctime as i64, stat.st_ctime_nsec as u64);
        Seen { device: stat.st_dev as u64, inode: stat.st_ino as u64, changed, length: stat.st_size as u64 }
    }

    /// A number that is another for another file, or the same one at another time; never 0.
    pub fn print(&self) -> u64 {
        let parts = [self.device, self.inode, self.changed.0 as u64, self.changed.1, self.length];
        // Steps that lose nothing: two that differ in one part alone differ.
        let mix = |mixed: u64, part: u64| (mixed.rotate_left(23) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        parts.into_iter().fold(1, mix).max(1)
    }

    /// Whether it is the same file, of whatever length.
    pub fn same_file(&self, other: &Seen) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// That this thread may write, and nobody else.
#[derive(Debug)]
pub struct Held(());

/// Whether a file or directory is ours or root's, and nobody else may write to it.
fn is_safe(stat: &Stat, kind: FileType) -> bool {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let owned = stat.st_uid == 0 || stat.st_uid == geteuid().as_raw();
    FileType::from_raw_mode(stat.st_mode) == kind && owned && !mode.intersects(Mode::WGRP | Mode::WOTH)
}

impl Place {
    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Another file beside it.
    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    /// What is there; `None` where nothing is.
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

    /// Opens it, and says whether for writing; `None` where nothing is there.
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
        // Who writes makes the lock.
        let lock = writable && fs::access(self.beside(".lock"), Access::WRITE_OK).is_err();
        let writable = writable && (!lock || fs::access(self.directory(), Access::WRITE_OK).is_ok());
        Ok(Some((file, Seen::of(&stat), writable)))
    }

    /// Keeps the file that is there under another name, too: that name.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep_aside(&self, _: &Held, ending: &str) -> Result<PathBuf> {
        for number in 1.. {
            let aside = self.beside(&if number == 1 { ending.to_owned() } else { format!("{ending}-{number}") });
            match fs::link(&self.path, &aside) {
                Err(Errno::EXIST) => {}
                linked => return Ok(linked.map(|()| aside)?),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// The process that holds the lock of writers, if one does.
    ///
    /// # Errors
    /// What the system says.
    pub fn writer(&self) -> Result<Option<Pid>> {
        let lock = match fs::open(self.beside(".lock"), FLAGS | OFlags::RDONLY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            lock => lock?,
        };
        let asked = Flock::from(FlockType::WriteLock);
        Ok(fcntl_getlk(&lock, &asked)?.and_then(|held| held.pid))
    }

    /// Who may do what with the file and its directory: their modes, and whether they belong to root or this user.
    ///
    /// # Errors
    /// What the system says.
    pub fn rights(&self) -> Result<[(u32, bool); 2]> {
        let of = |stat: Stat| (stat.st_mode & 0o7777, stat.st_uid == 0 || stat.st_uid == geteuid().as_raw());
        Ok([of(fs::lstat(&self.path)?), of(fs::stat(self.directory())?)])
    }

    /// Whether it could be written to.
    pub fn is_writable(&self) -> bool {
        let exists = |path: &&Path| fs::access(*path, Access::EXISTS).is_ok();
        let there = std::iter::once(&*self.path).chain(self.directory().ancestors()).find(exists);
        !self.read_only && there.is_some_and(|there| fs::access(there, Access::WRITE_OK).is_ok())
    }

    /// Runs `body` while no other thread or process writes, here or to any other store. The directory is made where there is none.
    ///
    /// The lock is the kind that children do not inherit and that ends with the process. It would end, too, if any of our threads closed a
    /// descriptor of the same file, so that is one that nobody opens but here, by one thread at a time.
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

    /// The same, unless it is needless by then; `None` in that case. While somebody else writes, `is_needless` is asked again and again,
    /// each time after a pause, which it makes: of so long, or until it knows better.
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
        let lock = fs::open(self.beside(".lock"), FLAGS | OFlags::RDWR | OFlags::CREATE, OURS)?;
        loop {
            match fs::fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(body(&Held(()))),
                Err(Errno::AGAIN | Errno::ACCESS | Errno::INTR) => std::thread::sleep(pause_after(begin)?),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Puts a new file of these bytes in its place, at once and for good.
    ///
    /// # Errors
    /// What the system says; all is as before then, unless the new one is there, but perhaps not for good.
    pub fn replace(&self, _: &Held, parts: &[&[u8]]) -> Result<Seen> {
        let new = self.beside(".new");
        match fs::unlink(&new) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let written = (|| {
            let file = fs::open(&new, FLAGS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, OURS)?;
            super::rights::keep(&file, &self.path)?;
            let mut at = 0;
            for part in parts {
                write(&file, at, part)?;
                at += part.len() as u64;
            }
            fs::fsync(&file)?;
            fs::rename(&new, &self.path)?;
            seen(&file)
        })();
        match written {
            Ok(seen) => {
                // It is there, but a power cut could still take it back.
                let directory = fs::open(self.directory(), OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty())?;
                fs::fsync(&directory)?;
                Ok(seen)
            }
            Err(error) => {
                let _ = fs::unlink(&new);
                Err(error)
            }
        }
    }
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

/// Reads so many bytes; fewer if there are no more.
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

/// Writes all of it. A file may not become longer than the process's limit: the signal for that would end the program.
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

/// As it is now.
///
/// # Errors
/// What the system says.
pub fn seen(file: &OwnedFd) -> Result<Seen> {
    Ok(Seen::of(&fs::fstat(file)?))
}

/// Adds bytes at the end, which is at `end`, for good. What is behind it is nobody's.
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
