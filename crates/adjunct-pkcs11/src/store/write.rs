//! Changes of a store: each is on the disk before any program sees it, and whole or not at all.

use super::batch::{Change, Taken};
use super::crypt::Keys;
use super::erase::Spent;
use super::file::{self, Held};
use super::format::{self, Before, Record, RecordKind, Uid, Version};
use super::read::{self, Depth};
use super::replace::Old;
use super::role::Role;
use super::trouble::Trouble;
use super::{FRAMES, Header, Holder, Initialized, Known, State, Store, body};
use crate::handle::Handle;
use crate::table::Table;
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use std::sync::atomic::Ordering::Relaxed;

/// Length in bytes from which a file is written anew when half of it no longer counts.
const COMPACT: u64 = 64 << 10;
/// Bytes of a frame's records, about, in a file written anew: what a damaged one costs.
const PART: usize = 64 << 10;

/// How an object is written.
fn kind(object: &Object) -> RecordKind {
    match (object.is_private(), object.class()) {
        (true, _) => RecordKind::Private,
        (false, CKO_PRIVATE_KEY | CKO_SECRET_KEY) => RecordKind::Sealed,
        (false, _) => RecordKind::Open,
    }
}

/// The record of a role.
fn seal_role(
    keys: &Keys,
    to: &mut Vec<u8>,
    which: Holder,
    role: &Role,
    number: u64,
) -> std::result::Result<(), Trouble> {
    let mut uid = [0; 16];
    uid[0] = which.number();
    keys.seal(to, RecordKind::Role, &uid, number, &role.encode())
}

/// The parts of a new file with no objects.
pub(super) fn new_file(
    header: &Header,
    keys: &Keys,
    roles: &[Option<Role>; 2],
) -> std::result::Result<Vec<Vec<u8>>, Trouble> {
    let first = format::first_bytes(header, [0; 2]);
    Ok(anew(&first, header, keys, 0, roles, std::iter::empty())?.0)
}

/// The link of a frame of these records, which are whole.
fn link(keys: &Keys, before: &format::Link, head: &[u8], records: &[u8], version: Version) -> format::Link {
    let records = format::records(records, version).unwrap_or_default();
    keys.link(before, head, records.iter().map(|record| record.head))
}

impl Store {
    /// Makes changes, all or none; the handles of the new and replaced objects. Changes of several threads are written together ([`batch`]).
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`, `CKR_TOKEN_WRITE_PROTECTED`, `CKR_DEVICE_MEMORY` where the disk is full; `CKR_OBJECT_HANDLE_INVALID` where
    /// another process has just destroyed what is to be changed; those of [`Store::refresh`].
    pub fn change(&self, objects: &Table, changes: Vec<Change>) -> Result<Vec<Handle>> {
        let login = self.login().ok_or(Rv(CKR_USER_NOT_LOGGED_IN))?;
        let request = self.queue.add(login.clone(), changes)?;
        let written = self.place.exclusively_unless(
            |_| request.is_done_after_sleep(),
            |held| {
                self.with_state(|state| {
                    while !request.is_done() {
                        let batch = self.queue.next();
                        if batch.is_empty() {
                            // This process is another than the one whose thread it was added by.
                            request.finish(fail(CKR_FUNCTION_FAILED));
                        }
                        self.commit(held, state, objects, batch);
                    }
                    // It saves room; where there is none for it, that is for later.
                    let _ = self.compact(held, state, &login.keys());
                    if let Some(token) = &state.token {
                        self.place.note(held, &token.header, token.number, false);
                    }
                });
            },
        );
        self.queue.wake_next();
        match written {
            Err(trouble) if self.queue.withdraw(&request) => Err(trouble.into()),
            _ => request.wait(),
        }
    }

    /// Writes what waits, in one frame; where that cannot be done, one after the other.
    fn commit(&self, held: &Held, state: &mut State, objects: &Table, batch: Vec<Taken>) {
        let Err((failed, rv)) = self.commit_at_once(held, state, objects, batch) else { return };
        let alone = failed.len() == 1;
        for request in failed {
            if !alone {
                self.commit(held, state, objects, vec![request]);
            } else if rv == Rv(CKR_DEVICE_MEMORY) && request.destroys() {
                // A disk that is full keeps nobody from destroying a key.
                self.destroy_in_place(state, objects, request);
            } else {
                request.finish(Err(rv));
            }
        }
    }

    fn destroy_in_place(&self, state: &mut State, objects: &Table, request: Taken) {
        let uids: Vec<Uid> = request.named().map(|(_, uid)| uid).collect();
        let done = self.end_in_place(state, &request.login().keys(), &uids);
        if let (Ok(()), Some(token)) = (done, state.token.as_mut()) {
            for uid in &uids {
                token.know(*uid, None);
                read::find(objects, uid).map(|handle| objects.remove(handle));
            }
            self.erase_copies(&uids);
        }
        request.finish(done.map(|()| Vec::new()).map_err(Rv::from));
    }

    /// Writes what waits in one frame, all of the requests or none. The error has the requests that have no outcome then, and why.
    fn commit_at_once(
        &self,
        held: &Held,
        state: &mut State,
        objects: &Table,
        batch: Vec<Taken>,
    ) -> std::result::Result<(), (Vec<Taken>, Rv)> {
        let Some(login) = batch.first().map(|request| request.login().clone()) else { return Ok(()) };
        if let Err(trouble) = self.sync(state, objects, Some(&login), Depth::Objects) {
            return Err((batch, trouble.into()));
        }
        let keys = login.keys();
        let Some(token) = state.token.as_ref().filter(|token| keys.fit(&token.header)) else {
            return Err((batch, Rv(CKR_USER_NOT_LOGGED_IN)));
        };
        let mut records = Vec::new();
        let mut sealed = Vec::new();
        for request in batch {
            let before = records.len();
            match token.seal(&keys, &request, &mut records) {
                Ok(known) => sealed.push((request, known)),
                Err(rv) => {
                    records.truncate(before);
                    request.finish(Err(rv));
                }
            }
        }
        if sealed.is_empty() {
            return Ok(());
        }
        let token = match self.append(state, &keys, &records) {
            Ok(token) => token,
            Err(trouble) => return Err((sealed.into_iter().map(|(request, _)| request).collect(), trouble.into())),
        };
        let (mut outcomes, mut destroyed) = (Vec::with_capacity(sealed.len()), Vec::new());
        for (mut request, known) in sealed {
            let changes = std::mem::take(&mut request.changes);
            let gone = known.iter().filter(|(_, object)| object.is_none()).map(|(uid, _)| *uid);
            let sealed = |uid: &Uid| token.objects.get(uid).is_some_and(|known| known.sealed);
            destroyed.extend(gone.filter(sealed));
            let shown = token.show_changes(objects, changes, known);
            outcomes.push((request, shown));
        }
        if !destroyed.is_empty() {
            self.erase_copies(&destroyed);
            if token.header.version == Version::One {
                // No record of this version can be made unreadable: the file is written anew. A small one stays of this version, for programs
                // that still run a module of before; of a large one that would take too long each time.
                token.leftovers = true;
                let _ = if token.end <= COMPACT {
                    self.write_anew(held, state, &keys)
                } else {
                    self.rewrite(held, state, objects, &login, None)
                };
            }
        }
        let _ = self.erase(state, &login.keys());
        for (request, shown) in outcomes {
            request.finish(shown);
        }
        Ok(())
    }

    /// Adds a frame of records to the file of a token that was just read.
    fn append<'a>(
        &self,
        state: &'a mut State,
        keys: &Keys,
        records: &[u8],
    ) -> std::result::Result<&'a mut Initialized, Trouble> {
        let gone = Trouble::System(rustix::io::Errno::NOENT);
        let token = state.token.as_mut().ok_or(gone)?;
        let Some((file, _, true)) = self.place.open()? else { return Err(Trouble::System(rustix::io::Errno::ROFS)) };
        let (before, version) = (token.link.ok_or(Trouble::Damaged)?, token.header.version);
        let (frame, link) = format::frame(token.before(), records, |head| link(keys, &before, head, records, version))?;
        self.current.store(0, Relaxed);
        file::append(&file, token.end, &frame)?;
        token.end += frame.len() as u64;
        (token.number, token.link) = (token.number + 1, Some(link));
        token.last = format::tail(&frame).to_vec();
        token.behind = format::Behind::Nothing;
        state.seen = Some(file::seen(&file)?);
        Ok(token)
    }

    /// Writes the file anew without what no longer counts, where that is most of it.
    fn compact(&self, held: &Held, state: &mut State, keys: &Keys) -> std::result::Result<(), Trouble> {
        let dead = |token: &Initialized| token.end > COMPACT && token.live * 2 < token.end;
        if state.token.as_ref().is_some_and(dead) { self.write_anew(held, state, keys) } else { Ok(()) }
    }

    /// Writes the file anew without what no longer counts, under the same keys.
    fn write_anew(&self, held: &Held, state: &mut State, keys: &Keys) -> std::result::Result<(), Trouble> {
        let Some(token) = state.token.as_mut().filter(|token| keys.fit(&token.header)) else { return Ok(()) };
        let Some((file, _, true)) = self.place.open()? else { return Ok(()) };
        let bytes = file::read(&file, 0, token.end)?;
        let (parts, last, link) = {
            let records = token.counting(&bytes)?;
            let records = records.iter().map(|record| record.whole);
            anew(&bytes[..FRAMES], &token.header, keys, token.number, &token.roles, records)?
        };
        let slices: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
        self.place.replace(held, &slices, Old::Wiped)?;
        (token.number, token.link) = (last, Some(link));
        // Where its records are by now is read anew; they are what they were.
        token.spent.clear();
        state.seen = None;
        Ok(())
    }
}

impl Initialized {
    /// The records of objects that count, of a file's bytes.
    ///
    /// # Errors
    /// [`Trouble::Damaged`].
    pub(super) fn counting<'a>(&self, bytes: &'a [u8]) -> std::result::Result<Vec<Record<'a>>, Trouble> {
        let version = self.header.version;
        let joint = format::joint(&self.header.encode());
        let read = format::frames(&bytes[FRAMES..], Before { version, number: 0, joint })?;
        let counts = |record: &Record<'_>| {
            let known = self.objects.get(&record.uid).is_some_and(|known| known.version == record.version);
            known && record.kind.is_object() && !record.is_end()
        };
        Ok(read.frames.into_iter().flat_map(|frame| frame.records).filter(counts).collect())
    }
}

impl Initialized {
    /// Adds the records of a request's changes: what is then known of the objects.
    fn seal(&self, keys: &Keys, request: &Taken, records: &mut Vec<u8>) -> Result<Vec<(Uid, Option<Known>)>> {
        let (number, mut known) = (self.number + 1, Vec::new());
        for (change, uid) in request.named() {
            if !matches!(change, Change::New(_)) && !self.objects.contains_key(&uid) {
                return fail(CKR_OBJECT_HANDLE_INVALID);
            }
            let at = records.len();
            if let Change::Removed(_) = change {
                keys.seal(records, RecordKind::Gone, &uid, number, &[])?;
                known.push((uid, None));
            } else {
                let object = change.object();
                let body = body::encode(&object.attributes)?;
                keys.seal(records, kind(object), &uid, number, &body)?;
                let (bytes, sealed) = ((records.len() - at) as u64, kind(object).is_sealed());
                let object = Known { version: number, bytes, slot: self.slot_of_next(at), sealed };
                known.push((uid, Some(object)));
            }
        }
        Ok(known)
    }

    /// Puts changes that were written into the table; gives the handles of the new and replaced objects.
    fn show_changes(
        &mut self,
        objects: &Table,
        changes: Vec<Change>,
        known: Vec<(Uid, Option<Known>)>,
    ) -> Result<Vec<Handle>> {
        let mut handles = Vec::new();
        for (change, (uid, object)) in changes.into_iter().zip(known) {
            let before = self.objects.get(&uid).filter(|_| self.header.version == Version::Two);
            self.spent.extend(before.map(|before| Spent::of(uid, before)));
            self.know(uid, object);
            // One that is new is nowhere yet.
            let new = matches!(change, Change::New(_));
            let there = if new { None } else { read::find(objects, &uid) };
            match change {
                Change::New(object) | Change::Replaced(object) => {
                    let shown = match there {
                        Some(handle) => objects.replace(handle, object).map(|()| handle),
                        None => objects.insert(object, None),
                    };
                    handles.push(shown.inspect_err(|_| self.loaded = false)?);
                }
                Change::Removed(_) => _ = there.map(|handle| objects.remove(handle)),
            }
        }
        Ok(handles)
    }
}

/// The parts of a file written anew behind its first bytes, of roles and records of objects, in frames of the numbers after `number`; the
/// last frame's number and link.
pub(super) fn anew<'a>(
    first: &[u8],
    header: &Header,
    keys: &Keys,
    mut number: u64,
    roles: &[Option<Role>; 2],
    objects: impl Iterator<Item = &'a [u8]>,
) -> std::result::Result<(Vec<Vec<u8>>, u64, format::Link), Trouble> {
    let (mut parts, mut records, version) = (vec![first.to_vec()], Vec::new(), header.version);
    let (first, of_roles) = (header.encode(), number + 1);
    let (mut before, mut joint) = (keys.first_link(&first), format::joint(&first));
    let mut close = |records: &mut Vec<u8>| {
        let follows = Before { version, number, joint };
        let (frame, next) = format::frame(follows, records, |head| link(keys, &before, head, records, version))?;
        (before, joint) = (next, format::joint(format::tail(&frame)));
        number += 1;
        records.clear();
        parts.push(frame);
        Ok::<(), Trouble>(())
    };
    for (which, role) in [Holder::User, Holder::SecurityOfficer].into_iter().zip(roles) {
        if let Some(role) = role {
            seal_role(keys, &mut records, which, role, of_roles)?;
        }
    }
    for record in objects {
        records.extend_from_slice(record);
        if records.len() >= PART {
            close(&mut records)?;
        }
    }
    close(&mut records)?;
    Ok((parts, number, before))
}
