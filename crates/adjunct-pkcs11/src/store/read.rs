//! Reads a token's file, checks it, and puts its objects into the token's table.

use super::crypt::Keys;
use super::erase::Spent;
use super::file::{self, Seen};
use super::format::{
    self, Before, Behind, COUNTERS, Counters, FRAMES, Frames, HEADER, Header, RECORD_HEAD, Record, RecordKind, Slot,
    Uid, Version,
};
use super::role::Role;
use super::trouble::Trouble;
use super::{Holder, Initialized, Known, Login, State, Store, body, repair};
use crate::handle::Handle;
use crate::table::Table;
use crate::table::search;
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::object::attributes::Attributes;
use cryptoki_sys::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

type Result<T = ()> = std::result::Result<T, Trouble>;

/// The number of times that a file is read again while others change it.
const TRIES: u32 = 100;

/// The keys that records are read with, and whether private objects are read.
#[derive(Debug)]
pub struct Eyes {
    pub keys: Arc<Keys>,
    /// Private objects are seen.
    pub private: bool,
}

/// A record, and where its slot is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub record: Record<'a>,
    slot: u64,
}

impl Entry<'_> {
    fn known(&self) -> Known {
        let Record { version, kind, whole, .. } = self.record;
        Known { version, bytes: whole.len() as u64, slot: self.slot, sealed: kind.is_sealed() }
    }
}

/// The changes of objects: the last record of each.
pub(super) type Changes<'a> = BTreeMap<Uid, Entry<'a>>;

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The header and the roles.
    Head,
    /// The file's objects, too.
    Objects,
}

/// The identifier that objects have in the file.
pub fn uid_of(attributes: &Attributes) -> Option<Uid> {
    let text = std::str::from_utf8(attributes.bytes(CKA_UNIQUE_ID)?).ok().filter(|text| text.len() == 32)?;
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

/// The attributes in a record of an object, of its body in clear.
pub fn attributes(record: &Record<'_>, body: &[u8]) -> Result<Attributes> {
    let attributes = body::decode(body)?;
    let private = attributes.is(CKA_PRIVATE) == (record.kind == RecordKind::Private);
    let fits = uid_of(&attributes) == Some(record.uid) && attributes.is(CKA_TOKEN) && private;
    if fits { Ok(attributes) } else { Err(Trouble::Damaged) }
}

/// Finds the handle of the file's object in the table.
pub fn find(objects: &Table, uid: &Uid) -> Option<Handle> {
    let mut template = Attributes::default();
    template.set(CKA_UNIQUE_ID, format!("{:032x}", u128::from_be_bytes(*uid)).as_bytes()).ok()?;
    let found = search::all(objects, &template, true);
    found.into_iter().find(|handle| objects.get(*handle).is_ok_and(|place| place.session().is_none()))
}

/// Maps the identifiers of all objects of the file to their handles in the table.
fn places(objects: &Table) -> BTreeMap<Uid, Handle> {
    let mut places = BTreeMap::new();
    objects.each(|handle, place| {
        if place.session().is_none()
            && let Some(uid) = uid_of(&place.object().attributes)
        {
            places.insert(uid, handle);
        }
    });
    places
}

/// Takes the file's objects out of the table, less those that `stay`. The standard's own objects are in no file.
pub fn forget(objects: &Table, stay: impl Fn(&Uid) -> bool) {
    objects.remove_all(|place| {
        let object = place.object();
        let goes = || uid_of(&object.attributes).is_none_or(|uid| !stay(&uid));
        place.session().is_none() && object.class() != CKO_PROFILE && goes()
    });
}

impl Store {
    /// Brings what is known up to date.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(super) fn sync(&self, state: &mut State, objects: &Table, login: Option<&Login>, depth: Depth) -> Result {
        let mut tries = 0;
        loop {
            let Some(seen) = self.place.look()? else {
                if state.token.is_some() {
                    forget(objects, |_| false);
                }
                *state = State::default();
                self.note_current(state);
                self.initialized.store(false, Relaxed);
                return Ok(());
            };
            if state.seen == Some(seen) {
                if let Some(trouble) = state.trouble {
                    return Err(trouble);
                }
                let current = |token: &Initialized| token.end == seen.length && (token.loaded || depth == Depth::Head);
                if state.token.as_ref().is_some_and(current) {
                    self.note_current(state);
                    return Ok(());
                }
            }
            self.current.store(0, Relaxed);
            let read = self.read(state, objects, login, depth);
            if let Err(trouble @ (Trouble::Damaged | Trouble::Newer(_))) = read {
                // It may have been changed while it was read; it is damaged if it is so when nobody changes it.
                if trouble == Trouble::Damaged && tries < TRIES && self.place.look()? != Some(seen) {
                    tries += 1;
                    std::thread::sleep(Duration::from_micros(200));
                    continue;
                }
                (state.seen, state.trouble) = (Some(seen), Some(trouble));
            }
            self.note_current(state);
            return read;
        }
    }

    /// Notes whether all of the file, as it was seen, is in the table, and whether it can be written to.
    fn note_current(&self, state: &State) {
        self.read_only.store(state.token.as_ref().is_some_and(|token| !token.writable), Relaxed);
        let whole = |seen: &Seen| {
            state.trouble.is_none()
                && state.token.as_ref().is_some_and(|token| token.loaded && token.end == seen.length)
        };
        self.current.store(state.seen.filter(whole).map_or(0, |seen| seen.print()), Release);
    }

    fn read(&self, state: &mut State, objects: &Table, login: Option<&Login>, depth: Depth) -> Result {
        if self.read_on(state, objects, login, depth)? {
            return Ok(());
        }
        let Some(whole) = self.place.read_whole()? else { return Ok(()) };
        let (mut token, changes, eyes) = Initialized::read(&whole.bytes, login)?;
        (token.writable, token.loaded) = (whole.writable, depth == Depth::Objects);
        let before = state.token.take().filter(|before| before.loaded && before.header.id == token.header.id);
        if token.loaded {
            forget(objects, |uid| token.objects.contains_key(uid));
            // All at once: of thousands, most often none is there yet.
            let there = places(objects);
            let before = before.map(|before| before.objects).unwrap_or_default();
            token.show(objects, eyes.as_ref(), &before, &changes, |uid| there.get(uid).copied())?;
        }
        *state = State { seen: Some(whole.seen), trouble: None, token: Some(token) };
        self.initialized.store(true, Relaxed);
        Ok(())
    }

    /// Reads what has been added to the file that was read before; `false` where it is another, or not known to be the same.
    fn read_on(&self, state: &mut State, objects: &Table, login: Option<&Login>, depth: Depth) -> Result<bool> {
        let Some((file, seen, writable)) = self.place.open()? else { return Ok(false) };
        let same = state.seen.is_some_and(|before| before.same_file(&seen)) && state.trouble.is_none();
        let Some(token) = state
            .token
            .as_mut()
            .filter(|token| same && seen.length >= token.end && (token.loaded || depth == Depth::Head))
        else {
            return Ok(false);
        };
        // The number of a file that is gone may be another file's.
        let last = file::read(&file, token.end - token.last.len() as u64, token.last.len() as u64)?;
        let ended = Counters::decode(&file::read(&file, 0, FRAMES as u64)?)?.ended;
        let bytes = file::read(&file, token.end, seen.length - token.end)?;
        if last != token.last || ended != token.ended || !self.place.is_still(&seen)? {
            return Ok(false);
        }
        let read = format::frames(&bytes, token.before())?;
        let eyes = login.and_then(|login| login.eyes(&token.header, &token.roles));
        let changes = token.take(&bytes, token.end, &read, eyes.as_ref())?;
        if token.loaded {
            token.show(objects, eyes.as_ref(), &BTreeMap::new(), &changes, |uid| find(objects, uid))?;
        }
        token.writable = writable;
        state.seen = Some(seen);
        Ok(true)
    }
}

impl Initialized {
    /// Reads the contents of a whole file, and gives the keys that it was read with: a login to another token is none to this one. Without a login
    /// only the form is checked.
    pub(super) fn read<'a>(bytes: &'a [u8], login: Option<&Login>) -> Result<(Initialized, Changes<'a>, Option<Eyes>)> {
        let by_login = |header: &Header, roles: &[Option<Role>; 2]| {
            login.filter(|login| *login.keys().id() == header.id).and_then(|login| login.eyes(header, roles))
        };
        Initialized::read_by(bytes, by_login)
    }

    /// The contents of a whole file, and the [`Eyes`] that it was read with, which `eyes` makes of header and roles.
    pub(super) fn read_by<'a>(
        bytes: &'a [u8],
        eyes: impl FnOnce(&Header, &[Option<Role>; 2]) -> Option<Eyes>,
    ) -> Result<(Initialized, Changes<'a>, Option<Eyes>)> {
        let header = Header::decode(bytes)?;
        let ended = Counters::decode(&bytes[..FRAMES])?.ended;
        let (version, joint) = (header.version, format::joint(&bytes[..HEADER]));
        let read = format::frames(&bytes[FRAMES..], Before { version, number: 0, joint })?;
        let mut first = [0; HEADER];
        first.copy_from_slice(&bytes[..COUNTERS]);
        let mut roles = [None, None];
        let records = read.frames.iter().flat_map(|frame| &frame.records);
        for record in records.filter(|record| record.kind == RecordKind::Role) {
            put_role(&mut roles, record, version)?;
        }
        let eyes = eyes(&header, &roles);
        let mut token = Initialized {
            header,
            writable: false,
            end: FRAMES as u64,
            number: 0,
            last: Vec::new(),
            link: eyes.as_ref().map(|eyes| eyes.keys.first_link(&first)),
            roles: [None, None],
            objects: BTreeMap::new(),
            loaded: false,
            live: 0,
            joined: true,
            behind: Behind::Nothing,
            ended,
            spent: Vec::new(),
            leftovers: false,
        };
        let changes = token.take(&bytes[FRAMES..], FRAMES as u64, &read, eyes.as_ref())?;
        if token.roles[Holder::SecurityOfficer as usize].is_none() {
            return Err(Trouble::Damaged);
        }
        Ok((token, changes, eyes))
    }

    /// The state that the next frame follows.
    pub(super) fn before(&self) -> Before {
        let joint = if self.number == 0 { format::joint(&self.header.encode()) } else { format::joint(&self.last) };
        Before { version: self.header.version, number: self.number, joint }
    }

    /// Takes frames in, but for the objects' bodies. They were read of `bytes`, which are at `begin` in the file.
    fn take<'a>(&mut self, bytes: &[u8], begin: u64, read: &Frames<'a>, eyes: Option<&Eyes>) -> Result<Changes<'a>> {
        let (frames, version) = (&read.frames, self.header.version);
        let mut link = self.link.filter(|_| eyes.is_some());
        let mut entries = Vec::with_capacity(frames.iter().map(|frame| frame.records.len()).sum());
        let (mut roles, mut leftovers) = (self.roles.clone(), self.leftovers);
        for frame in frames {
            if let (Some(before), Some(eyes)) = (link, eyes) {
                let heads = frame.records.iter().map(|record| record.head);
                if eyes.keys.link(&before, frame.head, heads) != frame.link {
                    return Err(Trouble::Damaged);
                }
                link = Some(frame.link);
            }
            let mut at = begin + frame.at as u64;
            for record in &frame.records {
                if record.kind == RecordKind::Role {
                    if let Some(eyes) = eyes {
                        eyes.keys.unseal(record)?;
                    }
                    leftovers |= put_role(&mut roles, record, version)?;
                } else {
                    entries.push((record.uid, Entry { record: *record, slot: at + RECORD_HEAD as u64 }));
                }
                at += record.whole.len() as u64;
            }
        }
        let end = begin as usize + frames.iter().map(|frame| frame.length).sum::<usize>();
        if let Some(eyes) = eyes.filter(|_| read.behind == Behind::Foreign) {
            // A frame that was acknowledged and cannot be read is damage, whatever became of its head.
            let mut ours = false;
            repair::candidates(&bytes[end - begin as usize..], version, |record| {
                ours |= eyes.keys.unseal(record).is_ok();
                ours
            });
            if ours {
                return Err(Trouble::Damaged);
            }
        }
        // The last record of each counts. A map is made of many at once in less time than one by one.
        let changes: Changes<'a> = entries.iter().copied().collect();
        let several = changes.len() != entries.len() || entries.iter().any(|(_, entry)| entry.record.is_end());
        let spent = if several || !self.objects.is_empty() { superseded(&entries, &self.objects) } else { Vec::new() };
        if changes.values().any(|entry| entry.record.state() == Slot::Torn) {
            return Err(Trouble::Damaged);
        }
        (self.link, self.roles) = (link, roles);
        self.joined &= read.joined;
        self.behind = read.behind;
        match version {
            Version::One => self.leftovers = leftovers || spent.iter().any(|(_, sealed)| *sealed),
            Version::Two => self.spent.extend(spent.into_iter().map(|(spent, _)| spent)),
        }
        self.end = end as u64;
        if let Some(last) = frames.last() {
            self.number = last.number;
            self.last = last.tail.to_vec();
        }
        if self.objects.is_empty() {
            let there = changes.iter().filter(|(_, entry)| !entry.record.is_end());
            self.objects = there.map(|(uid, entry)| (*uid, entry.known())).collect();
            self.live = self.objects.values().map(|known| known.bytes).sum();
            return Ok(changes);
        }
        for (uid, entry) in &changes {
            self.know(*uid, (!entry.record.is_end()).then(|| entry.known()));
        }
        Ok(changes)
    }

    /// Notes an object's version and bytes, or that it is gone.
    pub(super) fn know(&mut self, uid: Uid, object: Option<Known>) {
        let old = match object {
            Some(known) => {
                self.live += known.bytes;
                self.objects.insert(uid, known)
            }
            None => self.objects.remove(&uid),
        };
        self.live -= old.map_or(0, |old| old.bytes);
    }

    /// Puts objects into the table, as far as they can be seen. Objects that are the same as `before` stay in place.
    fn show(
        &self,
        objects: &Table,
        eyes: Option<&Eyes>,
        before: &BTreeMap<Uid, Known>,
        changes: &Changes<'_>,
        place: impl Fn(&Uid) -> Option<Handle>,
    ) -> Result {
        for (uid, Entry { record, .. }) in changes {
            let there = place(uid);
            let seen = match record.kind {
                _ if record.is_end() => {
                    if let Some(eyes) = eyes.filter(|_| record.state() == Slot::Ended) {
                        eyes.keys.unseal(record)?;
                    }
                    there.map(|handle| objects.remove(handle));
                    continue;
                }
                RecordKind::Open => true,
                RecordKind::Sealed => eyes.is_some(),
                RecordKind::Private => eyes.is_some_and(|eyes| eyes.private),
                RecordKind::Gone | RecordKind::Role => continue,
            };
            let unchanged = there.is_some() && before.get(uid).is_some_and(|before| before.version == record.version);
            if !seen {
                // Of another version than was read, and not for whoever is logged in.
                there.filter(|_| !unchanged).map(|handle| objects.remove(handle));
                continue;
            }
            let opened = eyes.map(|eyes| eyes.keys.unseal(record)).transpose()?;
            if unchanged {
                continue;
            }
            let object = Object::new(attributes(record, opened.as_ref().map_or(record.body, |opened| opened))?);
            let shown = match there {
                Some(handle) => objects.replace(handle, object),
                None => objects.insert(object, None).map(drop),
            };
            shown.map_err(|_| Trouble::Memory)?;
        }
        Ok(())
    }
}

/// Takes a role's record; whether there was one of that holder before.
fn put_role(roles: &mut [Option<Role>; 2], record: &Record<'_>, version: Version) -> Result<bool> {
    let place = usize::from(record.uid[0]).checked_sub(1).and_then(|at| roles.get_mut(at)).ok_or(Trouble::Damaged)?;
    let before = place.replace(Role::decode(record.body, version)?);
    Ok(before.is_some())
}

/// Records that later ones replace, and whether they are sealed.
fn superseded(entries: &[(Uid, Entry<'_>)], known: &BTreeMap<Uid, Known>) -> Vec<(Spent, bool)> {
    let (mut spent, mut last) = (Vec::new(), BTreeMap::new());
    for (uid, entry) in entries {
        let before = match last.insert(*uid, entry) {
            Some(before) if before.record.is_end() => None,
            Some(before) => Some(before.known()),
            None => known.get(uid).copied(),
        };
        spent.extend(before.map(|before| (Spent::of(*uid, &before), before.sealed)));
    }
    spent
}
