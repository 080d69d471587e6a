//! New files put in a token's place, in one step and on the disk.
//!
//! Whoever may write the directory may take names away or give them to other files at any moment, and a writer whose lock's file was taken away is not
//! the only one. So a new file is locked before it gets the token's name, until its writer ends: the next writer waits for it. A file is overwritten by
//! its descriptor, never by a name, and only where no other name leads to it; a file that came in between keeps its bytes.

use super::file::{FLAGS, Held, OURS, Place, Seen, seen, write};
use super::trouble::Trouble;
use adjunct::file_lock::{self, FileLock};
use rustix::fd::OwnedFd;
use rustix::fs::{self, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::path::Path;

type Result<T> = std::result::Result<T, Trouble>;

/// Ending of the name of a new file, and of the old one while it is overwritten.
const NEW: &str = ".new";
/// Ending of the name of a file that somebody else put in the way.
const STRANGE: &str = ".aside";

/// Whether the old file is wiped or kept when it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old<'a> {
    /// The old file's bytes are overwritten, and it is removed.
    Wiped,
    /// The old file stays under another name.
    Kept(&'a Path),
}

/// Whether a name leads to this file.
fn leads_to(path: &Path, file: &Seen) -> bool {
    fs::lstat(path).is_ok_and(|stat| Seen::of(&stat).same_file(file))
}

/// Takes a name away, unless it leads to another file by now.
fn unlink_own(path: &Path, file: &OwnedFd) -> Result<()> {
    if leads_to(path, &seen(file)?) { Ok(fs::unlink(path)?) } else { Ok(()) }
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

/// Overwrites a file, unless a name besides `path` leads to it, and takes that name away.
fn wipe_open(file: &OwnedFd, path: &Path) -> Result<()> {
    let stat = fs::fstat(file)?;
    let alone = stat.st_nlink == 0 || (stat.st_nlink == 1 && leads_to(path, &Seen::of(&stat)));
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && alone {
        overwrite(file, 0)?;
    }
    unlink_own(path, file)
}

impl Place {
    /// Overwrites a file beside the token's, and removes its name. A file with another name besides is left as it is.
    ///
    /// # Errors
    /// [`Trouble::Busy`] where a writer has it locked; what the system says.
    pub fn wipe(&self, path: &Path) -> Result<()> {
        let file = match fs::open(path, FLAGS | OFlags::RDWR, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(()),
            // A link, or nothing that can be written to.
            Err(_) => return Ok(fs::unlink(path)?),
        };
        match FileLock::try_lock(file)? {
            Ok(lock) => wipe_open(lock.file(), path),
            Err(file) if file_lock::is_kept_by_readers(&file) => wipe_open(&file, path),
            Err(_) => Err(Trouble::Busy(None)),
        }
    }

    /// Removes what a writer that was killed has left beside the file: a new file that was not put in its place, or the one that was there before. A
    /// file whose writer lives is locked, and stays.
    ///
    /// # Errors
    /// As [`Place::wipe`].
    pub(super) fn clear(&self) -> Result<()> {
        let new = self.beside(NEW);
        match fs::lstat(&new) {
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
            Ok(_) => {
                // The name of what was put in its place is there for good before what was there is overwritten.
                self.settle()?;
                self.wipe(&new)
            }
        }
    }

    /// Writes a new file beside it, locked, with the group and the rights to read that the file has.
    fn write_new(&self, parts: &[&[u8]]) -> Result<FileLock> {
        let new = self.beside(NEW);
        let file = match fs::open(&new, FLAGS | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, OURS) {
            Err(Errno::EXIST) => {
                let other = fs::open(&new, FLAGS | OFlags::RDONLY, Mode::empty());
                let locked = other.is_ok_and(|other| matches!(file_lock::holder(&other), Ok(Some(_))));
                return Err(if locked { Trouble::Busy(None) } else { Errno::EXIST.into() });
            }
            file => file?,
        };
        // Nobody else may have it open but one who takes it for a killed writer's.
        let Ok(file) = FileLock::try_lock(file)? else { return Err(Trouble::Busy(None)) };
        let written = (|| {
            super::rights::keep(file.file(), &self.path)?;
            let mut at = 0;
            for part in parts {
                write(file.file(), at, part)?;
                at += part.len() as u64;
            }
            Ok(fs::fsync(file.file())?)
        })();
        match written {
            Ok(()) => Ok(file),
            Err(trouble) => {
                let _ = unlink_own(&new, file.file());
                Err(trouble)
            }
        }
    }

    /// Makes what was renamed last for good.
    pub(super) fn settle(&self) -> Result<()> {
        let directory = fs::open(self.directory(), OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty())?;
        Ok(fs::fsync(&directory)?)
    }

    /// Puts a new file of these bytes in place of the token's, in one step and on the disk. The old file is overwritten, unless it has another name
    /// besides.
    ///
    /// # Errors
    /// What the system says; [`Trouble::Busy`] where another writer came in between. All is as before then. Where not even that can be had, the
    /// new one is there, but perhaps not for good.
    pub fn replace(&self, held: &Held, parts: &[&[u8]], old: Old<'_>) -> Result<Seen> {
        let there = self.look().ok().flatten();
        let before = fs::open(&self.path, FLAGS | OFlags::RDWR, Mode::empty()).ok();
        let before =
            before.filter(|file| seen(file).is_ok_and(|seen| there.is_some_and(|there| there.same_file(&seen))));
        let (file, new) = (self.write_new(parts)?, self.beside(NEW));
        let own = seen(file.file())?;
        // One that stays has its name before another takes its place: who is killed in between loses none.
        let named = match old {
            Old::Kept(aside) => (fs::link(&self.path, aside).is_ok() || self.is_alias(aside)).then_some(aside),
            Old::Wiped => None,
        };
        let failed = |trouble: Trouble| {
            let _ = unlink_own(&new, file.file());
            let _ = named.map(fs::unlink);
            trouble
        };
        if !leads_to(&new, &own) || !self.is_held(held, there.as_ref()) {
            return Err(failed(Trouble::Busy(None)));
        }
        // Exchanged, the old one has a name until it is overwritten: who is killed before leaves it to the next writer.
        match fs::renameat_with(CWD, &new, CWD, &self.path, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => {
                fs::rename(&new, &self.path).map_err(|errno| failed(errno.into()))?;
                self.settle().inspect_err(|_| _ = unlink_own(&self.path, file.file()))?;
                held.token.replace(Some(file));
                return Ok(own);
            }
            // A file system that cannot exchange.
            Err(_) => {
                if let Old::Kept(aside) = old
                    && named.is_none()
                {
                    fs::link(&self.path, aside).map_err(|errno| failed(errno.into()))?;
                }
                fs::rename(&new, &self.path).map_err(|errno| failed(errno.into()))?;
                self.settle()?;
                if let Some(before) = before.filter(|_| old == Old::Wiped) {
                    let _ = wipe_open(&before, &new);
                }
                held.token.replace(Some(file));
                return Ok(own);
            }
        }
        let own = seen(file.file())?;
        let is_old = || there.is_some_and(|there| leads_to(&new, &there));
        if let Err(trouble) = self.settle() {
            // What is said not to be done is not done.
            if is_old()
                && leads_to(&self.path, &own)
                && fs::renameat_with(CWD, &new, CWD, &self.path, RenameFlags::EXCHANGE).is_ok()
            {
                let _ = unlink_own(&new, file.file());
                let _ = named.map(fs::unlink);
            }
            return Err(trouble);
        }
        match old {
            // Not the file that was there, and nobody's to overwrite: it stays.
            _ if !is_old() && fs::lstat(&new).is_ok() => _ = fs::rename(&new, self.name_aside(STRANGE)?),
            Old::Kept(_) if named.is_some() => _ = fs::unlink(&new),
            Old::Kept(aside) => {
                fs::rename(&new, aside)?;
                self.settle()?;
            }
            // Where that cannot be done now the next writer does it.
            Old::Wiped => match &before {
                Some(before) => _ = wipe_open(before, &new),
                None => _ = fs::unlink(&new),
            },
        }
        held.token.replace(Some(file));
        Ok(own)
    }

    /// Whether this writer is still the only one: the token's file is the one that it has locked, or, where it has none locked, the lock's file
    /// has its name.
    fn is_held(&self, held: &Held, there: Option<&Seen>) -> bool {
        match &*held.token.borrow() {
            Some(token) => seen(token.file()).is_ok_and(|token| there.is_some_and(|there| there.same_file(&token))),
            None => self.has_lock(held),
        }
    }

    /// Makes the file of these bytes, in one step and on the disk, if it does not exist.
    ///
    /// # Errors
    /// [`Trouble::Exists`]; what the system says: nothing is there then.
    pub fn create(&self, held: &Held, parts: &[&[u8]]) -> Result<()> {
        let (file, new) = (self.write_new(parts)?, self.beside(NEW));
        if !leads_to(&new, &seen(file.file())?) {
            return Err(Trouble::Busy(None));
        }
        let made = match fs::renameat_with(CWD, &new, CWD, &self.path, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                let linked = fs::link(&new, &self.path);
                let _ = unlink_own(&new, file.file());
                linked
            }
            made => made,
        };
        match made {
            Ok(()) => {
                self.settle().inspect_err(|_| _ = unlink_own(&self.path, file.file()))?;
                held.token.replace(Some(file));
                Ok(())
            }
            Err(errno) => {
                let _ = unlink_own(&new, file.file());
                Err(if errno == Errno::EXIST { Trouble::Exists } else { errno.into() })
            }
        }
    }
}

#[cfg(test)]
mod tests;
