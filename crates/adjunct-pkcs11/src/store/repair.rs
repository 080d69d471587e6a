//! Files as a whole: checked, and what can be read of a damaged one.
//!
//! Each record is sealed or authenticated for itself. So of a damaged file every record that is whole is found, wherever it lies, whatever
//! happened to the frames, by looking for one at every byte; of several of an object the newest counts. What was removed by a
//! record that cannot be read is there again. A file that somebody changed on purpose is repaired to what its records say, older ones too.

use super::crypt::Keys;
use super::format::{self, Counters, FRAMES, Header, Kind, Record, Role, Uid};
use super::trouble::Trouble;
use super::{Holder, Initialized, Login, read, write};
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, Trouble>;

/// What a whole file holds.
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
/// [`Trouble::Damaged`], [`Trouble::Newer`], [`Trouble::Memory`].
pub fn check(bytes: &[u8], login: &Login) -> Result<Contents> {
    let (token, changes, login) = Initialized::read(bytes, Some(login))?;
    let login = login.ok_or(Trouble::Damaged)?;
    for record in changes.values().filter(|record| is_object(record.kind)) {
        read::attributes(record, &login.keys.unseal(record)?)?;
    }
    Ok(Contents { objects: token.objects.len(), changes: token.number })
}

fn is_object(kind: Kind) -> bool {
    matches!(kind, Kind::Open | Kind::Private | Kind::Sealed)
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

/// Whatever may be a record, anywhere.
fn candidates<'a>(bytes: &'a [u8], mut is_one: impl FnMut(&Record<'a>) -> bool) {
    let mut at = FRAMES;
    while at < bytes.len() {
        let found = format::record(&bytes[at..]).filter(Record::is_plausible);
        at += found.filter(|record| is_one(record)).map_or(1, |record| record.whole.len());
    }
}

/// The newest roles that can be read. They are not checked: whether a PIN opens one will tell.
pub fn roles(bytes: &[u8]) -> [Option<Role>; 2] {
    let mut found: [Option<(u64, Role)>; 2] = [None, None];
    candidates(bytes, |record| {
        let place = usize::from(record.uid[0]).checked_sub(1).and_then(|at| found.get_mut(at));
        let (Kind::Role, Some(place), Ok(role)) = (record.kind, place, Role::decode(record.body)) else { return false };
        if place.as_ref().is_none_or(|(version, _)| *version <= record.version) {
            *place = Some((record.version, role));
        }
        true
    });
    found.map(|found| found.map(|(_, role)| role))
}

/// What was made of a damaged file.
#[derive(Debug)]
pub struct Repaired {
    /// The new file.
    pub parts: Vec<Vec<u8>>,
    /// Objects in it.
    pub objects: usize,
    /// Objects that can be seen to have been there, and not be read.
    pub lost: usize,
    /// Whose PIN was lost.
    pub without: Option<Holder>,
}

/// Makes a whole file of what can be read of a damaged one. `officer` makes the security officer's role where that cannot be read, for
/// there is no token without one.
///
/// # Errors
/// [`Trouble::Memory`], [`Trouble::TooLong`].
pub fn salvage(
    bytes: &[u8],
    header: &Header,
    keys: &Keys,
    officer: impl FnOnce(&Keys) -> Result<Role>,
) -> Result<Repaired> {
    let mut newest: BTreeMap<Uid, Record<'_>> = BTreeMap::new();
    let mut found: [Option<(u64, Role)>; 2] = [None, None];
    let (mut number, mut memory) = (0, None);
    candidates(bytes, |record| {
        let body = match keys.unseal(record) {
            Ok(body) => body,
            Err(trouble) => {
                memory = memory.or(Some(trouble).filter(|trouble| *trouble != Trouble::Damaged));
                return false;
            }
        };
        number = number.max(record.version);
        if record.kind == Kind::Role {
            let place = usize::from(record.uid[0]).checked_sub(1).and_then(|at| found.get_mut(at));
            if let (Some(place), Ok(role)) = (place, Role::decode(&body))
                && place.as_ref().is_none_or(|(version, _)| *version <= record.version)
            {
                *place = Some((record.version, role));
            }
        } else if record.kind == Kind::Gone || read::attributes(record, &body).is_ok() {
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
    for (last, uids) in heads(bytes) {
        number = number.max(last);
        lost.extend(uids.into_iter().filter(|uid| !newest.contains_key(uid)));
    }
    let mut roles = found.map(|found| found.map(|(_, role)| role));
    let mut without = roles[Holder::User as usize].is_none().then_some(Holder::User);
    if roles[Holder::SecurityOfficer as usize].is_none() {
        roles[Holder::SecurityOfficer as usize] = Some(officer(keys)?);
        without = Some(Holder::SecurityOfficer);
    }
    let mut first = header.encode().to_vec();
    first.resize(FRAMES, 0);
    // Whoever repairs has the PIN; of the other the tries are kept where they can be read.
    let tries = bytes.get(..FRAMES).and_then(|bytes| Counters::decode(bytes).ok()).map_or([0; 2], |read| read.tries);
    let (counters, at) = Counters::default().next(tries);
    first[at..at + format::COUNTER].copy_from_slice(&counters.encode());
    first[format::AGAIN..].copy_from_slice(&header.encode_again());
    let records: Vec<&[u8]> =
        newest.values().filter(|record| is_object(record.kind)).map(|record| record.whole).collect();
    let objects = records.len();
    let (parts, ..) = write::anew(&first, header, keys, number, &roles, records.into_iter())?;
    Ok(Repaired { parts, objects, lost: lost.len(), without })
}

/// The numbers of frames, and the identifiers of the objects in them, as far as heads can be read.
fn heads(bytes: &[u8]) -> Vec<(u64, Vec<Uid>)> {
    let mut heads = Vec::new();
    for at in FRAMES..bytes.len() {
        if let Some((number, records)) = format::frame_head(&bytes[at..]) {
            let (mut uids, mut rest) = (Vec::new(), records);
            while let Some(record) = format::record(rest).filter(Record::is_plausible) {
                if is_object(record.kind) {
                    uids.push(record.uid);
                }
                rest = &rest[record.whole.len()..];
            }
            heads.push((number, uids));
        }
    }
    heads
}
