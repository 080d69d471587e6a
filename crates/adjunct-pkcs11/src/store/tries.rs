//! Wrong PINs of a store that cannot be written to, counted where all processes of this user see them.
//!
//! Such a store is configured as read-only, belongs to another user, or lies where nothing can be written. Logins are not refused there: a program
//! that signs with a key it may only read is what such stores are for. Tries are counted in a file of this user's in memory (`/dev/shm`, where there
//! is none `/tmp`), from the start of the machine on or, for users whose last session ends (systemd-logind, `RemoveIPC=`), from the next one. A user
//! who may delete that file may read the token's file too, and can try PINs on a copy as often as the derivation lets them; the count keeps programs
//! from guessing through the module. Where no file can be had each process counts for itself.
//!
//! The count belongs to a PIN: where the security officer has given a new one, it begins anew.

use super::format::Uid;
use super::role::Role;
use super::{file, format};
use adjunct::file_lock::FileLock;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, fstat, open, unlink};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::time::Duration;

const FOLDERS: [&str; 2] = ["/dev/shm", "/tmp"];
/// File names that are tried: others may have made files of the first ones.
const NAMES: usize = 4;

/// The tries of a role of a token, held until this is dropped: no other thread or process of this user tries meanwhile.
#[derive(Debug)]
pub struct Aside {
    lock: FileLock,
    name: String,
    place: usize,
    print: [u8; 16],
}

/// The files where this user's tries at a token may be counted, those first that are taken first.
fn names(id: &Uid) -> impl Iterator<Item = String> {
    let (me, id) = (geteuid().as_raw(), u128::from_be_bytes(*id));
    let names = FOLDERS.iter().flat_map(|folder| (0..NAMES).map(move |number| (folder, number)));
    names.map(move |(folder, number)| format!("{folder}/adjunct-pin-tries-{me}-{id:032x}-{number}"))
}

/// Whether a file was made by this user and is only this user's, though others could have made one of that name.
fn is_own(file: &OwnedFd) -> bool {
    let own = |stat: rustix::fs::Stat| {
        let file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        file && stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o077 == 0 && stat.st_nlink == 1
    };
    fstat(file).is_ok_and(own)
}

const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn file_of(id: &Uid) -> Option<(String, OwnedFd)> {
    let flags = OFlags::RDWR | OFlags::CREATE | FLAGS;
    let opened = |name: String| open(&name[..], flags, Mode::RUSR | Mode::WUSR).ok().map(|file| (name, file));
    names(id).filter_map(opened).find(|(_, file)| is_own(file))
}

/// Fingerprint of a role's record: 16 bytes of its salt, which is new with each PIN.
fn print_of(role: &Role) -> [u8; 16] {
    format::number(&role.salt, 0)
}

/// Bytes for each role: whose count it is (16), and the count as in a token's file.
const BYTES: u64 = 32;

impl Aside {
    /// Opens the count of a role (0 the user's, 1 the security officer's). Waits while another thread or process tries.
    pub fn of(id: &Uid, place: usize, role: &Role) -> Option<Aside> {
        let (mut name, mut file) = file_of(id)?;
        for _ in 0..10_000 {
            match FileLock::try_lock(file).ok()? {
                // Whoever had it may have taken the file away.
                Ok(lock) if fstat(lock.file()).ok()?.st_nlink == 0 => (name, file) = file_of(id)?,
                Ok(lock) => return Some(Aside { lock, name, place, print: print_of(role) }),
                Err(open) => file = open,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    fn at(&self) -> u64 {
        self.place as u64 * BYTES
    }

    /// Wrong tries since the last right one.
    pub fn tries(&self) -> u8 {
        read(self.lock.file(), self.at(), &self.print)
    }

    /// Counts anew.
    ///
    /// # Errors
    /// What the system says.
    pub fn set(&self, tries: u8) -> Result<(), Errno> {
        let mut bytes = [0; BYTES as usize];
        bytes[..16].copy_from_slice(&self.print);
        bytes[16] = tries;
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        file::write(self.lock.file(), self.at(), &bytes).map_err(|_| Errno::NOSPC)?;
        let none = tries == 0
            && file::read(self.lock.file(), 0, 2 * BYTES).is_ok_and(|bytes| {
                (0..2).all(|place| bytes.get(place * BYTES as usize + 16).is_none_or(|tries| *tries == 0))
            });
        if none { unlink(&self.name[..]) } else { Ok(()) }
    }
}

fn read(file: &OwnedFd, at: u64, print: &[u8; 16]) -> u8 {
    let bytes = file::read(file, at, BYTES).unwrap_or_default();
    let whole = bytes.len() == BYTES as usize && crc32fast::hash(&bytes[..28]) == format::u32_at(&bytes, 28);
    if whole && bytes[..16] == *print { bytes[16] } else { 0 }
}

/// Reads the tries that are counted for the roles of a token, without waiting.
pub fn counted(id: &Uid, roles: &[Option<Role>; 2]) -> [u8; 2] {
    let mut tries = [0; 2];
    let opened = names(id).filter_map(|name| open(name, OFlags::RDONLY | FLAGS, Mode::empty()).ok());
    for file in opened.filter(is_own) {
        for (place, role) in roles.iter().enumerate() {
            if let Some(role) = role {
                tries[place] = read(&file, place as u64 * BYTES, &print_of(role)).max(tries[place]);
            }
        }
    }
    tries
}
