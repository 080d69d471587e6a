//! What is in the file, seen: read, checked, and put into the token's table.

use super::file::{self, Seen};
use super::format::{self, COUNTERS, FRAMES, Frame, HEADER, Header, Kind, Record, Role, Uid};
use super::trouble::Trouble;
use super::{Holder, Initialized, Known, Login, State, Store, body};
use crate::handle::Handle;
use crate::object::Object;
use crate::object::attributes::Attributes;
use crate::object::search;
use crate::object::table::Table;
use cryptoki_sys::*;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, Release};

type Result<T = ()> = std::result::Result<T, Trouble>;

/// What becomes of objects: the last record of each.
pub(super) type Changes<'a> = BTreeMap<Uid, Record<'a>>;

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Whether there is a token, and its roles.
    Head,
    /// Its objects, too.
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
    let private = attributes.is(CKA_PRIVATE) == (record.kind == Kind::Private);
    let fits = uid_of(&attributes) == Some(record.uid) && attributes.is(CKA_TOKEN) && private;
    if fits { Ok(attributes) } else { Err(Trouble::Damaged) }
}

/// Where the table has an object of the file.
pub fn find(objects: &Table, uid: &Uid) -> Option<Handle> {
    let mut template = Attributes::default();
    template.set(CKA_UNIQUE_ID, format!("{:032x}", u128::from_be_bytes(*uid)).as_bytes()).ok()?;
    let found = search::all(objects, &template, true);
    found.into_iter().find(|handle| objects.get(*handle).is_ok_and(|place| place.session().is_none()))
}

/// Where the table has objects of the file: all of them.
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
            (state.seen, state.trouble) = (Some(seen), Some(trouble));
        }
        self.note_current(state);
        read
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
        let Some((file, seen, writable)) = self.place.open()? else { return Ok(()) };
        let same = state.seen.is_some_and(|before| before.same_file(&seen)) && state.trouble.is_none();
        if same
            && let Some(token) = state.token.as_mut()
            && seen.length >= token.end
            && (token.loaded || depth == Depth::Head)
            // The number of a file that is gone may be another file's.
            && file::read(&file, token.end - token.last.len() as u64, token.last.len() as u64)? == token.last
        {
            let bytes = file::read(&file, token.end, seen.length - token.end)?;
            let frames = format::frames(&bytes, token.number)?;
            let changes = token.take(&frames, login)?;
            if token.loaded {
                token.show(objects, login, &BTreeMap::new(), &changes, |uid| find(objects, uid))?;
            }
            token.writable = writable;
            state.seen = Some(seen);
            return Ok(());
        }
        let bytes = file::read(&file, 0, seen.length)?;
        let (mut token, changes, login) = Initialized::read(&bytes, login)?;
        (token.writable, token.loaded) = (writable, depth == Depth::Objects);
        let before = state.token.take().filter(|before| before.loaded && before.header == token.header);
        if token.loaded {
            forget(objects, |uid| token.objects.contains_key(uid));
            // All at once: of thousands, most often none is there yet.
            let there = places(objects);
            let before = before.map(|before| before.objects).unwrap_or_default();
            token.show(objects, login, &before, &changes, |uid| there.get(uid).copied())?;
        }
        *state = State { seen: Some(seen), trouble: None, token: Some(token) };
        self.initialized.store(true, Relaxed);
        Ok(())
    }
}

impl Initialized {
    /// What a whole file holds, and who of it is logged in: one who is so to another token is not to this. Without a login
    /// nothing is checked but that it is whole.
    pub(super) fn read<'a, 'b>(
        bytes: &'a [u8],
        login: Option<&'b Login>,
    ) -> Result<(Initialized, Changes<'a>, Option<&'b Login>)> {
        let header = Header::decode(bytes)?;
        format::Counters::decode(bytes)?;
        let frames = format::frames(&bytes[FRAMES..], 0)?;
        let mut first = [0; HEADER];
        first.copy_from_slice(&bytes[..COUNTERS]);
        let login = login.filter(|login| *login.keys.id() == header.id);
        let mut token = Initialized {
            header,
            writable: false,
            end: FRAMES as u64,
            number: 0,
            last: Vec::new(),
            link: login.map(|login| login.keys.first_link(&first)),
            roles: [None, None],
            objects: BTreeMap::new(),
            loaded: false,
            live: 0,
        };
        let changes = token.take(&frames, login)?;
        if token.roles[Holder::SecurityOfficer as usize].is_none() {
            return Err(Trouble::Damaged);
        }
        Ok((token, changes, login))
    }

    /// Takes frames in, but for the objects' bodies.
    fn take<'a>(&mut self, frames: &[Frame<'a>], login: Option<&Login>) -> Result<Changes<'a>> {
        let mut link = self.link.filter(|_| login.is_some());
        let mut records = Vec::with_capacity(frames.iter().map(|frame| frame.records.len()).sum());
        let mut roles = self.roles.clone();
        for frame in frames {
            if let (Some(before), Some(login)) = (link, login) {
                let heads = frame.records.iter().map(|record| record.head);
                if login.keys.link(&before, frame.head, heads) != frame.link {
                    return Err(Trouble::Damaged);
                }
                link = Some(frame.link);
            }
            for record in &frame.records {
                if record.kind != Kind::Role {
                    records.push((record.uid, *record));
                    continue;
                }
                if let Some(login) = login {
                    login.keys.unseal(record)?;
                }
                let place = usize::from(record.uid[0]).checked_sub(1).and_then(|at| roles.get_mut(at));
                *place.ok_or(Trouble::Damaged)? = Some(Role::decode(record.body)?);
            }
        }
        (self.link, self.roles) = (link, roles);
        for frame in frames {
            self.end += frame.length as u64;
            self.number = frame.number;
        }
        if let Some(last) = frames.last() {
            self.last = last.tail.to_vec();
        }
        // The last record of each counts. A map is made of many at once in less time than one by one.
        let changes: Changes<'a> = records.into_iter().collect();
        let known = |record: &Record<'_>| Known { version: record.version, bytes: record.whole.len() as u64 };
        if self.objects.is_empty() {
            let there = changes.iter().filter(|(_, record)| record.kind != Kind::Gone);
            self.objects = there.map(|(uid, record)| (*uid, known(record))).collect();
            self.live = self.objects.values().map(|known| known.bytes).sum();
            return Ok(changes);
        }
        for (uid, record) in &changes {
            self.know(*uid, (record.kind != Kind::Gone).then(|| known(record)));
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

    /// Puts objects into the table, as far as whoever is logged in sees them. Those that are there as they were `before` stay what they are.
    fn show(
        &self,
        objects: &Table,
        login: Option<&Login>,
        before: &BTreeMap<Uid, Known>,
        changes: &Changes<'_>,
        place: impl Fn(&Uid) -> Option<Handle>,
    ) -> Result {
        for (uid, record) in changes {
            let there = place(uid);
            let seen = match record.kind {
                Kind::Open => true,
                Kind::Sealed => login.is_some(),
                Kind::Private => login.is_some_and(Login::sees_private),
                Kind::Gone | Kind::Role => {
                    there.map(|handle| objects.remove(handle));
                    continue;
                }
            };
            if !seen {
                continue;
            }
            let opened = login.map(|login| login.keys.unseal(record)).transpose()?;
            if there.is_some() && before.get(uid).is_some_and(|before| before.version == record.version) {
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
