//! Records that no longer count are made unreadable, also for an attacker who has the token key and the PINs.
//!
//! An object that is destroyed or changed leaves its record in the file. Writing the file anew for each would cost as much as the token is big: so
//! the record's slot, a part of its key, is overwritten in place (32 bytes and one `fdatasync`, for all changes of a batch together), and the record
//! goes when the file is next written anew. The frame that says that the object is gone is on the disk before: a writer that is killed in between has
//! destroyed the object, and the next writer, or the next login that may write, overwrites the slot.

use super::crypt::Keys;
use super::file::{self, Place, Seen};
use super::format::{self, Counters, FRAMES, RECORD_HEAD, Uid, Version};
use super::trouble::Trouble;
use super::{Initialized, Known, State, Store};
use rustix::fs::{Mode, OFlags, fdatasync, open};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

type Result<T = ()> = std::result::Result<T, Trouble>;

/// Ending of the name of a damaged copy that repair puts aside.
pub const DAMAGED: &str = ".damaged";

/// A record that no longer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub uid: Uid,
    pub version: u64,
    /// Offset of the record's slot.
    pub slot: u64,
}

impl Spent {
    pub fn of(uid: Uid, known: &Known) -> Spent {
        Spent { uid, version: known.version, slot: known.slot }
    }
}

fn overwrite(file: &rustix::fd::OwnedFd, keys: &Keys, spent: &[Spent]) -> Result {
    for spent in spent {
        file::write(file, spent.slot, &keys.ended(&spent.uid, spent.version))?;
    }
    Ok(fdatasync(file)?)
}

impl Store {
    /// Makes records unreadable that no longer count, for good. A record that cannot be erased now is erased later.
    pub(super) fn erase(&self, state: &mut State, keys: &Keys) -> Result {
        let Some(token) = state.token.as_mut().filter(|token| !token.spent.is_empty() && keys.fit(&token.header))
        else {
            return Ok(());
        };
        let Some((file, _, true)) = self.place.open()? else { return Err(rustix::io::Errno::ROFS.into()) };
        self.current.store(0, Relaxed);
        overwrite(&file, keys, &token.spent)?;
        token.spent.clear();
        state.seen = Some(file::seen(&file)?);
        Ok(())
    }

    /// Destroys objects without a frame that says so, if there is no room for one. Other processes find out by a number among the tries of PINs.
    pub(super) fn end_in_place(&self, state: &mut State, keys: &Keys, uids: &[Uid]) -> Result {
        let none = Trouble::System(rustix::io::Errno::NOSPC);
        let token = state.token.as_mut().filter(|token| keys.fit(&token.header)).ok_or(none)?;
        if token.header.version == Version::One {
            return Err(none);
        }
        let Some((file, before, true)) = self.place.open()? else { return Err(rustix::io::Errno::ROFS.into()) };
        let spent = uids.iter().map(|uid| token.objects.get(uid).map(|known| Spent::of(*uid, known)).ok_or(none));
        let spent = spent.collect::<Result<Vec<Spent>>>()?;
        self.current.store(0, Relaxed);
        overwrite(&file, keys, &spent)?;
        token.spent.retain(|other| !spent.contains(other));
        let counters = Counters::decode(&file::read(&file, 0, FRAMES as u64)?)?;
        let (next, at) = counters.next(counters.tries, counters.ended.wrapping_add(1));
        // The file is as long as before: its time alone says that it changed, and goes on in steps.
        let mut seen = before;
        while seen == before {
            file::write(&file, at as u64, &next.encode())?;
            fdatasync(&file)?;
            seen = file::seen(&file)?;
            if seen == before {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        token.ended = next.ended;
        state.seen = Some(seen);
        Ok(())
    }

    /// Makes what is left of objects in damaged copies of the file unreadable.
    pub(super) fn erase_copies(&self, uids: &[Uid]) {
        let Ok(Some(token)) = self.place.look() else { return };
        for copy in self.place.names(DAMAGED).unwrap_or_default() {
            // What cannot be written to is none of ours.
            let _ = erase_in(&copy, uids, &token);
        }
    }
}

impl Place {
    /// Removes the damaged copies, after their contents were overwritten.
    pub fn wipe_copies(&self) {
        for copy in self.names(DAMAGED).unwrap_or_default() {
            let _ = self.wipe(&copy);
        }
    }
}

fn erase_in(copy: &std::path::Path, uids: &[Uid], token: &Seen) -> Result {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(copy, flags, Mode::empty())?;
    let seen = file::seen(&file)?;
    if seen.same_file(token) {
        // A repair was killed before it put another in the token's place.
        return Ok(());
    }
    let bytes = file::read(&file, 0, seen.length)?;
    let version = super::repair::header(&bytes).map_or(Version::Two, |header| header.version);
    let mut found = false;
    for at in FRAMES..bytes.len().saturating_sub(16) {
        if !uids.iter().any(|uid| bytes[at..at + 16] == *uid) {
            continue;
        }
        // The head's nonce and tag, the slot, and the body up to whatever follows.
        let begin = at.saturating_sub(8);
        let record = format::record(&bytes[begin..], version).filter(format::Record::is_plausible);
        let next = || (at + 16..bytes.len()).find(|at| format::frame_head(&bytes[*at..]).is_some());
        let end = record.map_or_else(|| next().unwrap_or(bytes.len()), |record| begin + record.whole.len());
        let from = (at + 24).min(end);
        file::write(&file, from as u64, &vec![0; end - from])?;
        found = true;
    }
    if found { Ok(fdatasync(&file)?) } else { Ok(()) }
}

impl Initialized {
    /// Offset of the slot of a record that begins at `record` among the records of the next frame.
    pub(super) fn slot_of_next(&self, record: usize) -> u64 {
        self.end + (format::FRAME_HEAD + record + RECORD_HEAD) as u64
    }
}
