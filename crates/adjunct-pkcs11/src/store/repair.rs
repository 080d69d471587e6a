//! Checks whole files, and recovers what can be read of a damaged one.
//!
//! Each record is sealed or authenticated for itself. So of a damaged file every record that is whole is found, wherever it lies, whatever happened
//! to the frames, by looking for one at every byte; of several of an object the newest counts. What was removed by a record that cannot be read is
//! there again, in version 1 of the format: in version 2 its record cannot be opened any more. A file that was changed on purpose is repaired to what
//! its records say, even if they are old; but an old PIN, from before a change of the PIN, does not open it ([`is_of_before`]).

use super::crypt::Keys;
use super::format::{self, Behind, Counters, FRAMES, Header, Record, RecordKind, Slot, Uid, Version};
use super::read::Eyes;
use super::role::Role;
use super::trouble::Trouble;
use super::{Holder, Initialized, read, write};
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, Trouble>;

/// The numbers of objects and changes in a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Objects.
    pub objects: usize,
    /// The last frame: how many changes there have been.
    pub changes: u64,
}

/// Checks every link and every record of a file.
///
/// # Errors
/// [`Trouble::Damaged`], also where there is something behind its frames that none began with; [`Trouble::Newer`], [`Trouble::Memory`].
pub fn check(bytes: &[u8], eyes: Eyes) -> Result<Contents> {
    let (token, changes, eyes) =
        Initialized::read_by(bytes, |header, _| Some(eyes).filter(|eyes| eyes.keys.fit(header)))?;
    let keys = eyes.ok_or(Trouble::Damaged)?.keys;
    for entry in changes.values().filter(|entry| entry.record.kind.is_object()) {
        let body = keys.unseal(&entry.record)?;
        if !entry.record.is_end() {
            read::attributes(&entry.record, &body)?;
        }
    }
    if token.behind == Behind::Foreign {
        Err(Trouble::Damaged)
    } else {
        Ok(Contents { objects: token.objects.len(), changes: token.number })
    }
}

/// The header of a damaged file.
///
/// # Errors
/// [`Trouble::Newer`]; [`Trouble::Damaged`] where nothing can be read of it: then no key fits.
pub fn header(bytes: &[u8]) -> Result<Header> {
    match Header::decode(bytes) {
        Err(Trouble::Damaged) => Header::decode_again(bytes).ok_or(Trouble::Damaged),
        read => read,
    }
}

/// Whatever may be a record, anywhere in some bytes.
pub fn candidates<'a>(bytes: &'a [u8], version: Version, mut is_one: impl FnMut(&Record<'a>) -> bool) {
    let mut at = 0;
    while at < bytes.len() {
        let found = format::record(&bytes[at..], version).filter(Record::is_plausible);
        at += found.filter(|record| is_one(record)).map_or(1, |record| record.whole.len());
    }
}

fn frames_of(bytes: &[u8]) -> &[u8] {
    bytes.get(FRAMES..).unwrap_or_default()
}

/// Index of the role that a record is for.
fn place_of(record: &Record<'_>) -> Option<usize> {
    usize::from(record.uid[0]).checked_sub(1).filter(|place| *place < 2 && record.kind == RecordKind::Role)
}

/// Reads the newest roles that can be read. They are not checked: whether a PIN opens one will tell.
pub fn roles(bytes: &[u8], version: Version) -> [Option<Role>; 2] {
    let mut found: [Option<(u64, Role)>; 2] = [None, None];
    candidates(frames_of(bytes), version, |record| {
        let (Some(place), Ok(role)) = (place_of(record), Role::decode(record.body, version)) else { return false };
        if found[place].as_ref().is_none_or(|(version, _)| *version <= record.version) {
            found[place] = Some((record.version, role));
        }
        true
    });
    found.map(|found| found.map(|(_, role)| role))
}

/// Whether it is certain that a PIN which does not open `role` is wrong: the role is as it was written, and the last of that holder's. Where damage
/// may have hit it, or (in version 1) a newer one, the PIN may be right.
pub fn is_certain(bytes: &[u8], version: Version, which: Holder, role: &Role) -> bool {
    if Initialized::read(bytes, None).is_ok() {
        return true;
    }
    let frames = frames_of(bytes);
    let is_it = |record: &Record<'_>| {
        place_of(record) == Some(which as usize) && Role::decode(record.body, version).as_ref() == Ok(role)
    };
    version == Version::Two
        && (0..frames.len())
            .any(|at| format::whole_frame(&frames[at..], version).is_some_and(|records| records.iter().any(is_it)))
}

/// Whether a PIN that opens `role` in a damaged file may have been changed since: there is a newer role of that holder's, or behind it what is left
/// of one. In version 1 a file holds the roles of PINs that were changed, too, which open it as well as the last one.
pub fn is_of_before(bytes: &[u8], keys: &Keys, version: Version, which: Holder, role: &Role) -> bool {
    let bytes = frames_of(bytes);
    let (mut used, mut newest, mut whole) = (None, 0, BTreeSet::new());
    candidates(bytes, version, |record| {
        if record.kind != RecordKind::Role || keys.unseal(record).is_err() {
            return false;
        }
        let at = record.whole.as_ptr() as usize - bytes.as_ptr() as usize;
        whole.insert(at);
        if place_of(record) == Some(which as usize) {
            newest = newest.max(record.version);
            if Role::decode(record.body, version).as_ref() == Ok(role) {
                used = Some((at, record.version));
            }
        }
        true
    });
    let Some((at, number)) = used else { return true };
    if newest > number || version == Version::Two {
        return newest > number;
    }
    // What is the same in the head of each role's record of this holder's, of which one byte may be wrong; but none that says it is the other's.
    let known = |head: &[u8]| {
        let expected = |place: usize| match place {
            0 => Some(RecordKind::Role as u8),
            8 => Some(which.number()),
            1..4 | 9..24 | 60.. => Some(0),
            _ => None,
        };
        let wrong = (0..64).filter(|place| expected(*place).is_some_and(|byte| byte != head[*place])).count();
        wrong <= 1 && head[8] != 3 - which.number()
    };
    bytes.windows(64).enumerate().skip(at + 1).any(|(at, head)| !whole.contains(&at) && known(head))
}

/// The parts of the file that repair makes of a damaged one.
#[derive(Debug)]
pub struct Repaired {
    /// The new file.
    pub parts: Vec<Vec<u8>>,
    /// Number of the last frame.
    pub number: u64,
    /// Objects in the repaired file.
    pub objects: usize,
    /// Objects that can be seen to have been there, and cannot be read.
    pub lost: usize,
    /// The role whose PIN was lost.
    pub without: Option<Holder>,
}

/// Makes a whole file of what can be read of a damaged one. `officer` makes the security officer's role where that cannot be read, for there is no
/// token without one.
///
/// # Errors
/// [`Trouble::Memory`], [`Trouble::TooLong`].
pub fn salvage(
    bytes: &[u8],
    header: &Header,
    keys: &Keys,
    officer: impl FnOnce(&Keys) -> Result<Role>,
) -> Result<Repaired> {
    let version = header.version;
    let mut newest: BTreeMap<Uid, Record<'_>> = BTreeMap::new();
    let mut found: [Option<(u64, Role)>; 2] = [None, None];
    let (mut number, mut memory) = (0, None);
    candidates(frames_of(bytes), version, |record| {
        let body = match keys.unseal(record) {
            Ok(body) => body,
            Err(trouble) => {
                memory = memory.or(Some(trouble).filter(|trouble| *trouble != Trouble::Damaged));
                return false;
            }
        };
        number = number.max(record.version);
        if record.kind == RecordKind::Role {
            if let (Some(place), Ok(role)) = (place_of(record), Role::decode(&body, version))
                && found[place].as_ref().is_none_or(|(version, _)| *version <= record.version)
            {
                found[place] = Some((record.version, role));
            }
        } else if record.is_end() || read::attributes(record, &body).is_ok() {
            // In one change an object is made once, so of two of a number both say the same.
            let newer = newest.get(&record.uid).is_none_or(|before| before.version <= record.version);
            if newer {
                newest.insert(record.uid, *record);
            }
        }
        true
    });
    if let Some(trouble) = memory {
        return Err(trouble);
    }
    // What can still be seen to have been there.
    let mut lost = BTreeSet::new();
    for (last, uids) in heads(bytes, version) {
        // Of heads that nobody can vouch for.
        number = if last < format::MOST_FRAMES / 2 { number.max(last) } else { number };
        lost.extend(uids.into_iter().filter(|uid| !newest.contains_key(uid)));
    }
    let mut roles = found.map(|found| found.map(|(_, role)| role));
    let mut without = roles[Holder::User as usize].is_none().then_some(Holder::User);
    if roles[Holder::SecurityOfficer as usize].is_none() {
        roles[Holder::SecurityOfficer as usize] = Some(officer(keys)?);
        without = Some(Holder::SecurityOfficer);
    }
    // Whoever repairs has the PIN; of the other the tries are kept where they can be read.
    let tries = bytes.get(..FRAMES).and_then(|bytes| Counters::decode(bytes).ok()).map_or([0; 2], |read| read.tries);
    let first = format::first_bytes(header, tries);
    let records: Vec<&[u8]> = newest
        .values()
        .filter(|record| record.kind.is_object() && record.state() != Slot::Ended)
        .map(|record| record.whole)
        .collect();
    let objects = records.len();
    let (parts, number, _) = write::anew(&first, header, keys, number, &roles, records.into_iter())?;
    Ok(Repaired { parts, number, objects, lost: lost.len(), without })
}

/// The numbers of frames, and the identifiers of the objects in them, as far as heads can be read.
fn heads(bytes: &[u8], version: Version) -> Vec<(u64, Vec<Uid>)> {
    let mut heads = Vec::new();
    for at in FRAMES.min(bytes.len())..bytes.len() {
        if let Some((number, records)) = format::frame_head(&bytes[at..]) {
            let (mut uids, mut rest) = (Vec::new(), records);
            while let Some(record) = format::record(rest, version).filter(Record::is_plausible) {
                if record.kind.is_object() {
                    uids.push(record.uid);
                }
                rest = &rest[record.whole.len()..];
            }
            heads.push((number, uids));
        }
    }
    heads
}
