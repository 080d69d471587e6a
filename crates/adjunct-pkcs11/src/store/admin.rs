//! Operations on the files of tokens for which PKCS #11 has no function: inspect one in any state, repair, backup, restore, seal a new token by a
//! TPM. An error is one line.

pub use super::PIN_LENGTHS;
pub use super::config::Configured;
use super::crypt::Keys;
use super::erase::DAMAGED;
use super::file::{self, Held, Place};
use super::format::{Behind, Counters, FRAMES};
use super::mark;
use super::read::Eyes;
pub use super::repair::Contents;
use super::replace::Old;
use super::role::Role;
use super::trouble::Trouble;
use super::{Holder, Initialized, Store, TRIES, config, format, pins, repair, tries};
use crate::table::Table;
use adjunct::ops::digest::{Part, SHA256};
use adjunct_mechanisms::rv::Rv;
use adjunct_tpm::Tpm;
use cryptoki_sys::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why an order was not carried out, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

type Result<T> = std::result::Result<T, Error>;

/// The tokens that are configured.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// The tokens in the order of their slots.
    pub tokens: Vec<Configured>,
    /// The configuration's file, where there is one.
    pub configuration: Option<PathBuf>,
    /// What is wrong with it, in a line.
    pub wrong: Option<String>,
}

/// The tokens that are configured.
pub fn tokens() -> Tokens {
    let (tokens, configuration, wrong) = config::configured();
    Tokens { tokens, configuration, wrong }
}

/// A user of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct User {
    /// Whether the user has a PIN.
    pub has_pin: bool,
    /// The PIN is sealed by a TPM.
    pub sealed: bool,
    /// Tries of the PIN that are left; `None` where that cannot be read.
    pub tries_left: Option<u8>,
}

/// A token's file as it is found. Nothing is tried, and nothing written.
#[derive(Debug, Clone, Default)]
pub struct Examined {
    /// Whether there is a file.
    pub exists: bool,
    /// Bytes of the file.
    pub bytes: u64,
    /// What is wrong with it, in a line.
    pub trouble: Option<String>,
    /// Whether the machine's configuration names it and it is another user's, whom alone it is for: programs of this user go without it.
    pub others: bool,
    /// Whether the file was found to be damaged.
    pub damaged: bool,
    /// Whether the file was written by a newer version.
    pub newer: bool,
    /// Whether the file's frames fit together, as far as that shows without a PIN: each says which one it follows. A frame of an older version does
    /// not say that.
    pub checked: bool,
    /// Whether the file is of an older version of the format, and PINs that were changed or objects that were destroyed can still be read in it.
    pub leftovers: bool,
    /// A note on a usable file that ends with bytes which adjunct did not write.
    pub foreign: Option<String>,
    /// An older copy was put in its place: what is said of that, in a line.
    pub older: Option<String>,
    /// Whether other users could change the file or its directory; the module does not use it then.
    pub unsafe_rights: bool,
    /// Label of the token.
    pub label: Option<String>,
    /// The token's serial number.
    pub serial: Option<String>,
    /// The user, and the security officer.
    pub users: [User; 2],
    /// Objects, of which nothing was checked.
    pub objects: Option<usize>,
    /// Whether this user could write to the file.
    pub writable: bool,
    /// Every user could read it.
    pub readable_by_others: bool,
    /// Whether the file's group could read it: a server's workers, where the owner has let them.
    pub readable_by_group: bool,
    /// The process that writes to the file just now, where that can be found out; the outer `None`: no process writes.
    pub writer: Option<Option<u32>>,
}

fn place(token: &Configured) -> Place {
    Place { path: token.path.clone(), read_only: token.read_only }
}

fn line(token: &Configured) -> impl Fn(Trouble) -> Error + '_ {
    move |trouble| Error(trouble.line(&token.path))
}

/// Looks at a token's file.
pub fn examine(token: &Configured) -> Examined {
    let place = place(token);
    let mut seen = Examined { writable: place.is_writable(), ..Examined::default() };
    seen.exists = !matches!(place.look(), Ok(None));
    seen.writer = place.writer().ok().flatten();
    if let Ok(rights) = place.rights() {
        seen.readable_by_others = rights.iter().all(|(mode, _)| mode & 0o005 != 0);
        seen.readable_by_group = !seen.readable_by_others && rights.iter().all(|(mode, _)| mode & 0o055 != 0);
        seen.unsafe_rights = rights.iter().any(|(mode, ours)| mode & 0o022 != 0 || !ours);
    }
    // Before the file: a change in between is no older copy.
    let mark = place.mark();
    let bytes = match place.read_whole() {
        Ok(Some(whole)) => {
            (seen.bytes, seen.writable) = (whole.seen.length, whole.writable);
            whole.bytes
        }
        Ok(None) => return seen,
        Err(trouble) => {
            seen.unsafe_rights |= trouble == Trouble::Unsafe;
            seen.others = token.is_others(trouble);
            seen.trouble = Some(trouble.line(&token.path));
            return seen;
        }
    };
    match Initialized::read(&bytes, None) {
        Ok((known, ..)) => {
            seen.objects = Some(known.objects.len());
            (seen.checked, seen.leftovers) = (known.joined, known.leftovers);
            seen.older = known.behind_by(mark.as_ref()).map(mark::older);
            seen.foreign = (known.behind == Behind::Foreign).then(|| mark::foreign(seen.bytes - known.end));
        }
        Err(trouble) => {
            (seen.damaged, seen.newer) = (trouble == Trouble::Damaged, matches!(trouble, Trouble::Newer(_)));
            seen.trouble = Some(trouble.line(&token.path));
        }
    }
    if let Ok(header) = repair::header(&bytes) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        (seen.label, seen.serial) = (Some(text(&header.label)), Some(text(&header.serial)));
        let tries = bytes.get(..FRAMES).and_then(|bytes| Counters::decode(bytes).ok()).map(|counters| counters.tries);
        let roles = repair::roles(&bytes, header.version);
        let elsewhere = if seen.writable { [0; 2] } else { tries::counted(&header.id, &roles) };
        for (which, role) in roles.iter().enumerate() {
            seen.users[which] = User {
                has_pin: role.is_some(),
                sealed: role.as_ref().is_some_and(|role| role.tpm.is_some()),
                tries_left: tries.map(|tries| TRIES.saturating_sub(tries[which].saturating_add(elsewhere[which]))),
            };
        }
    }
    seen
}

/// The line that says which process keeps others from writing to a token just now, if one does.
pub fn busy(token: &Configured) -> Option<Error> {
    let holder = place(token).writer().ok().flatten()?;
    Some(line(token)(Trouble::Busy(holder)))
}

/// The TPM that seals a token's PINs, or is configured to: its path, and what is wrong with it, for instance that another TPM has sealed them.
pub fn tpm(token: &Configured) -> (PathBuf, Option<String>) {
    let tpm = Tpm::new(token.tpm.clone());
    let sealed_by = place(token).read_whole().ok().flatten().and_then(|whole| {
        let header = repair::header(&whole.bytes).ok()?;
        let [user, officer] = repair::roles(&whole.bytes, header.version);
        user.and_then(|role| role.tpm).or(officer.and_then(|role| role.tpm)).map(|sealed| sealed.parent)
    });
    let wrong = match tpm.identity() {
        Ok(here) if sealed_by.is_none_or(|sealed| sealed == here) => None,
        Ok(_) => Some(adjunct_tpm::Fault::Other.to_string()),
        Err(fault) => Some(fault.to_string()),
    };
    (tpm.path().to_owned(), wrong)
}

/// How a token is initialized.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// The security officer's PIN: the new one, or that of the token that goes.
    pub so_pin: &'a [u8],
    /// The user's PIN.
    pub user_pin: &'a [u8],
    /// The label, blanks behind.
    pub label: &'a [u8; 32],
    /// Whether the TPM seals both PINs, also where the configuration names none.
    pub seal: bool,
    /// Whether an existing token goes, with all its objects.
    pub replace: bool,
}

/// Makes a token with both PINs, whole and in one step, or nothing.
///
/// # Errors
/// In words: where there is a token already and it is not to be replaced, or the PIN that it has is another.
pub fn initialize(token: &Configured, new: &New<'_>) -> Result<()> {
    let store = Store::new(token.path.clone(), token.read_only, token.tpm.clone());
    let pins = (new.so_pin, Some(new.user_pin));
    store.initialize_whole(&Table::new(), pins, new.label, new.seal, new.replace).map_err(|Rv(rv)| {
        let seen = examine(token);
        let path = token.path.display();
        match rv {
            // Also where another process, which has come too late as well, has the lock for a moment.
            CKR_FUNCTION_FAILED if seen.exists && !new.replace => already(token, &seen),
            CKR_PIN_INCORRECT => {
                let left = seen.users[Holder::SecurityOfficer as usize].tries_left.map(|left| match left {
                    0 => "; it is locked now".to_owned(),
                    1 => "; one try is left".to_owned(),
                    left => format!("; {left} tries are left"),
                });
                Error(format!("wrong PIN of the security officer{}", left.unwrap_or_default()))
            }
            CKR_PIN_LOCKED => Error("the security officer's PIN is locked".to_owned()),
            CKR_PIN_LEN_RANGE => Error("a PIN has 4 to 255 bytes; nothing was made".to_owned()),
            CKR_TOKEN_WRITE_PROTECTED => Error(format!("{path}: no token can be made there by this user")),
            CKR_DEVICE_MEMORY => Error(format!("{path}: the disk is full; nothing was made")),
            rv => {
                if rv == CKR_FUNCTION_FAILED
                    && let Some(busy) = busy(token)
                {
                    return busy;
                }
                let name = adjunct_mechanisms::names::return_value(rv).unwrap_or("unknown");
                let tpm = || tpm(token).1.filter(|_| new.seal || token.tpm.is_some());
                let tpm = || tpm().map(|wrong| format!("{}: {wrong}", self::tpm(token).0.display()));
                Error(seen.trouble.or_else(tpm).unwrap_or_else(|| format!("{path}: {name}")))
            }
        }
    })
}

/// The error for a token that exists where a new one was to be made.
pub fn already(token: &Configured, seen: &Examined) -> Error {
    let label = seen.label.as_deref().unwrap_or_default();
    let path = token.path.display();
    Error(format!("{path}: there is a token already, {label:?}; --replace removes it with all its objects"))
}

const HOLDERS: [Holder; 2] = [Holder::User, Holder::SecurityOfficer];

fn whose(holder: Holder) -> &'static str {
    match holder {
        Holder::User => "user",
        Holder::SecurityOfficer => "security officer",
    }
}

fn other(holder: Holder) -> Holder {
    match holder {
        Holder::User => Holder::SecurityOfficer,
        Holder::SecurityOfficer => Holder::User,
    }
}

/// Refuses a PIN that nobody can have set, before a try is counted.
fn possible(pin: &[u8]) -> Result<()> {
    let [shortest, longest] = PIN_LENGTHS;
    let fits = (shortest..=longest).contains(&pin.len());
    if fits { Ok(()) } else { Err(Error(format!("a PIN has {shortest} to {longest} bytes; no try was counted"))) }
}

/// The keys that a PIN opens, as for the user, who sees all objects.
fn open(
    header: &format::Header,
    roles: &[Option<Role>; 2],
    holder: Holder,
    pin: &[u8],
    tpm: &Tpm,
) -> Result<Option<Arc<Keys>>> {
    let Some(role) = &roles[holder as usize] else {
        return Err(Error(format!("the {}'s PIN cannot be read, or there is none", whose(holder))));
    };
    let keys = Keys::open(header, holder.number(), role, pin, tpm);
    let keys = keys.map_err(|trouble| match trouble {
        Trouble::Tpm(fault) => Error(format!("{}: {fault}", tpm.path().display())),
        Trouble::Memory => Error("out of memory".to_owned()),
        _ => Error(format!("the {}'s PIN cannot be read", whose(holder))),
    })?;
    Ok(keys.map(Arc::new))
}

fn eyes(keys: &Arc<Keys>) -> Eyes {
    Eyes { keys: keys.clone(), private: true }
}

/// The outcome of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repaired {
    /// The file was undamaged; with its contents.
    Whole(Contents),
    /// The file was made anew.
    Anew {
        /// Objects that were kept.
        kept: usize,
        /// Objects that can be seen to have been there, and cannot be read.
        lost: usize,
        /// The user's PIN is lost.
        without_user: bool,
        /// The security officer's PIN was lost, and is now the PIN that was given.
        officer_as_given: bool,
        /// The damaged file's name now.
        aside: PathBuf,
    },
}

/// Repairs a token's file: keeps all that can be read, with the PIN of the user or of the `officer`. The damaged file stays, under another name.
///
/// # Errors
/// Where that PIN is wrong, or cannot be read; where nothing can be written.
pub fn repair(token: &Configured, officer: bool, pin: &[u8]) -> Result<Repaired> {
    possible(pin)?;
    let (place, holder) = (place(token), HOLDERS[usize::from(officer)]);
    let done = place.exclusively(|held| repair_alone(token, &place, held, holder, pin));
    done.map_err(line(token))?
}

fn repair_alone(token: &Configured, place: &Place, held: &Held, holder: Holder, pin: &[u8]) -> Result<Repaired> {
    let line = line(token);
    let Some((file, seen, writable)) = place.open().map_err(&line)? else {
        return Err(Error(format!("{}: there is no token", token.path.display())));
    };
    if !writable {
        return Err(line(Trouble::System(rustix::io::Errno::ACCESS)));
    }
    let bytes = file::read(&file, 0, seen.length).map_err(&line)?;
    let header = repair::header(&bytes).map_err(|trouble| match trouble {
        Trouble::Damaged => {
            Error(format!("{}: its first bytes cannot be read, and no key fits without them", token.path.display()))
        }
        trouble => line(trouble),
    })?;
    // A try counts here as everywhere, as long as there is where to count it.
    let tries =
        bytes.get(..FRAMES).and_then(|bytes| Counters::decode(bytes).ok()).map(|read| read.tries[holder as usize]);
    if tries.is_some_and(|tries| tries >= TRIES) {
        return Err(Error(format!("the {}'s PIN is locked", whose(holder))));
    }
    if let Some(tries) = tries {
        pins::count(&file, holder, tries + 1).map_err(&line)?;
    }
    let (tpm, roles) = (Tpm::new(token.tpm.clone()), repair::roles(&bytes, header.version));
    let opened = open(&header, &roles, holder, pin, &tpm);
    let role = roles[holder as usize].as_ref();
    let is_certain = role.is_some_and(|role| repair::is_certain(&bytes, header.version, holder, role));
    let undecided = || {
        // Nothing was learnt of the PIN.
        let _ = tries.map(|tries| pins::count(&file, holder, tries));
        Err(Error(format!(
            "this PIN does not open the token, and may be right all the same: the record that checks the {}'s PIN is damaged; no try was counted; repair with the PIN of the {}, or restore a backup",
            whose(holder),
            whose(other(holder))
        )))
    };
    let keys = match opened {
        Ok(Some(keys)) => keys,
        Ok(None) if !is_certain => return undecided(),
        Ok(None) => {
            let left = tries.map_or_else(String::new, |tries| format!("; {} left", words::tries(TRIES - tries - 1)));
            return Err(Error(format!("wrong PIN of the {}{left}", whose(holder))));
        }
        Err(error) => {
            let _ = tries.map(|tries| pins::count(&file, holder, tries));
            return Err(error);
        }
    };
    if let Some(role) = &roles[holder as usize]
        && repair::is_of_before(&bytes, &keys, header.version, holder, role)
    {
        if header.version == format::Version::Two && !is_certain {
            return undecided();
        }
        // It counts as a wrong one.
        let other = whose(other(holder));
        return Err(Error(format!(
            "the {}'s PIN was changed after this one, and what tells of that cannot be read; repair with the PIN of the {other}, or restore a backup",
            whose(holder)
        )));
    }
    if tries.is_some() {
        pins::count(&file, holder, 0).map_err(&line)?;
    }
    let bytes = file::read(&file, 0, seen.length).map_err(&line)?;
    if let Ok(contents) = repair::check(&bytes, eyes(&keys)) {
        // Also where an older copy was put back: whoever repairs it takes it as it is.
        place.note(held, &header, contents.changes, true);
        return Ok(Repaired::Whole(contents));
    }
    let sealed = roles.iter().flatten().any(|role| role.tpm.is_some());
    let officer = |keys: &Keys| {
        let tpm = Some(&tpm).filter(|_| sealed);
        keys.role(&header, Holder::SecurityOfficer.number(), pin, tpm).map(|(role, _)| role)
    };
    let repaired = repair::salvage(&bytes, &header, &keys, officer).map_err(&line)?;
    let parts: Vec<&[u8]> = repaired.parts.iter().map(|part| &part[..]).collect();
    // Nothing is replaced by what is not whole itself.
    repair::check(&parts.concat(), eyes(&keys)).map_err(&line)?;
    let aside = place.name_aside(DAMAGED).map_err(&line)?;
    place.replace(held, &parts, Old::Kept(&aside)).map_err(&line)?;
    place.note(held, &header, repaired.number, true);
    Ok(Repaired::Anew {
        kept: repaired.objects,
        lost: repaired.lost,
        without_user: repaired.without == Some(Holder::User),
        officer_as_given: repaired.without == Some(Holder::SecurityOfficer),
        aside,
    })
}

mod words {
    pub fn tries(count: u8) -> String {
        if count == 1 { "one try".to_owned() } else { format!("{count} tries") }
    }
}

const BACKUP_MAGIC: &[u8; 16] = b"adjunct-backup\r\n";
const BACKUP_VERSION: u32 = 1;
/// Magic, version, time, length.
const BACKUP_HEAD: usize = 36;
const SUM: usize = 32;

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    let mut part = Part::new(&SHA256);
    part.update(bytes);
    part.finish(&mut sum);
    sum
}

/// Writes a token into one file: magic (16), version (4), seconds since 1970 (8), length (8), the token's file as far as its frames are whole,
/// SHA-256 of all that. It needs no PIN; what it holds is sealed as in the token's file.
///
/// # Errors
/// Where there is no token, or it cannot be read or is damaged.
pub fn backup(token: &Configured, seconds: u64) -> Result<Vec<u8>> {
    let line = line(token);
    let Some(read) = place(token).read_whole().map_err(&line)? else {
        return Err(Error(format!("{}: there is no token", token.path.display())));
    };
    let (known, ..) = Initialized::read(&read.bytes, None).map_err(&line)?;
    let end = usize::try_from(known.end).ok();
    let whole = end.and_then(|end| read.bytes.get(..end)).ok_or_else(|| line(Trouble::Damaged))?;
    let mut out = BACKUP_MAGIC.to_vec();
    out.extend(BACKUP_VERSION.to_le_bytes());
    out.extend(seconds.to_le_bytes());
    out.extend((whole.len() as u64).to_le_bytes());
    out.extend_from_slice(whole);
    let sum = sum(&out);
    out.extend(sum);
    Ok(out)
}

/// The token's file in a backup, and its time.
///
/// # Errors
/// Where it is none, or not whole.
fn content(backup: &[u8]) -> std::result::Result<(&[u8], u64), &'static str> {
    let (all, stored) = backup.split_at_checked(backup.len().saturating_sub(SUM)).unwrap_or((backup, &[]));
    if backup.get(..16) != Some(BACKUP_MAGIC) {
        return Err("is no backup of a token");
    }
    let number = |at: usize, count: usize| {
        all.get(at..at + count).map(|bytes| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    match number(16, 4) {
        Some(version) if version > BACKUP_VERSION.into() => return Err("was made by a newer adjunct"),
        _ => {}
    }
    let (Some(time), Some(length)) = (number(20, 8), number(28, 8)) else { return Err("is not whole") };
    let fits = all.len() as u64 == length.saturating_add(BACKUP_HEAD as u64) && sum(all) == stored;
    if fits { Ok((&all[BACKUP_HEAD..], time)) } else { Err("is not whole, or was changed") }
}

/// Checks without a PIN that a file is a whole backup, and that it may take its place: that no token is there, or that it is to be replaced.
///
/// # Errors
/// As [`restore`].
pub fn restorable(token: &Configured, backup: &[u8], replace: bool) -> Result<()> {
    let (bytes, _) = content(backup).map_err(|why| Error(format!("the file {why}")))?;
    Initialized::read(bytes, None).map_err(|_| Error("the file is damaged".to_owned()))?;
    if !replace && place(token).look().map_err(line(token))?.is_some() {
        return Err(Error(format!("{}: there is a token already", token.path.display())));
    }
    Ok(())
}

/// The contents of a backup, with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The number of objects and changes.
    pub contents: Contents,
    /// Time at which it was made, in seconds since 1970.
    pub seconds: u64,
    /// Number of changes that the existing token, if it is the same, or the replaced one had after this backup.
    pub newer: Option<u64>,
}

/// Puts the token of a backup in its place. The whole backup is checked first, by its sum and with the PIN of the user or of the `officer`; then it
/// takes the place in one step. An existing token goes only where `replace`.
///
/// # Errors
/// Where the backup is not whole, or the PIN wrong; where there is a token, or nothing can be written.
pub fn restore(token: &Configured, backup: &[u8], officer: bool, pin: &[u8], replace: bool) -> Result<Restored> {
    let (place, holder) = (place(token), HOLDERS[usize::from(officer)]);
    let (bytes, seconds) = content(backup).map_err(|why| Error(format!("the file {why}")))?;
    let (known, ..) = Initialized::read(bytes, None).map_err(|_| Error("the file is damaged".to_owned()))?;
    possible(pin)?;
    let done = place.exclusively(|held| {
        // Whatever is there, readable or not: the same token's tries go on counting.
        let there = place.look().map_err(line(token))?;
        let present = place.read_whole().ok().flatten().map(|whole| whole.bytes);
        if there.is_some() && !replace {
            return Err(Error(format!("{}: there is a token already", token.path.display())));
        }
        let present = present.as_deref().and_then(|present| {
            let (here, ..) = Initialized::read(present, None).ok()?;
            (here.header.id == known.header.id).then_some(here.number)
        });
        let opened = open(&known.header, &known.roles, holder, pin, &Tpm::new(token.tpm.clone()))?;
        let keys = opened.ok_or_else(|| Error(format!("wrong PIN of the {}", whose(holder))))?;
        let contents = repair::check(bytes, eyes(&keys))
            .map_err(|_| Error("the file was changed by somebody without the PIN".to_owned()))?;
        place.replace(held, &[bytes], Old::Wiped).map_err(line(token))?;
        place.note(held, &known.header, known.number, true);
        Ok(Restored {
            contents,
            seconds,
            newer: present.and_then(|number| number.checked_sub(known.number)).filter(|more| *more > 0),
        })
    });
    done.map_err(line(token))?
}

/// The directory of a token's file.
pub fn directory(token: &Configured) -> &Path {
    token.path.parent().unwrap_or(Path::new("/"))
}

/// The identifier of tokens that fuzzing and its seeds are made with.
pub(super) const FIXED_ID: format::Uid = [7; 16];

/// Takes bytes for a token's file, a backup, and a TPM's response. For fuzzing; it must never panic.
pub fn fuzz(bytes: &[u8]) {
    let _ = content(bytes);
    adjunct_tpm::fuzz(bytes);
    let _ = Initialized::read(bytes, None);
    if let Ok(header) = repair::header(bytes)
        && header.id == FIXED_ID
    {
        let keys = Arc::new(Keys::fixed(&header));
        let _ = repair::check(bytes, eyes(&keys));
        let officer = |_: &Keys| Err(Trouble::Damaged);
        let repaired = repair::salvage(bytes, &header, &keys, officer);
        // What was made of it is whole. Nothing is said of what a writer left behind a whole file that had not ended.
        if let Ok(repaired) = repaired {
            let again = repair::check(&repaired.parts.concat(), eyes(&keys)).expect("a repaired file is whole");
            assert_eq!(again.objects, repaired.objects);
        }
        for (which, role) in HOLDERS.into_iter().zip(repair::roles(bytes, header.version)) {
            let _ = role.map(|role| repair::is_of_before(bytes, &keys, header.version, which, &role));
        }
    }
    if let Ok(attributes) = super::body::decode(bytes) {
        let again = super::body::encode(&attributes).expect("attributes as bytes");
        assert_eq!(super::body::decode(&again).as_ref(), Ok(&attributes));
    }
}

#[cfg(test)]
mod tests;
