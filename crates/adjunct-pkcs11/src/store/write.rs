//! Changes of a store: each is in the file for good before anybody sees it, and whole or not at all.

use super::batch::{Change, Taken};
use super::crypt::Keys;
use super::file;
use super::format::{self, Counters, FRAMES, Header, Kind, Record, Role, Uid};
use super::read::{self, Depth};
use super::trouble::Trouble;
use super::{Holder, Initialized, Known, Login, State, Store, body};
use crate::handle::Handle;
use crate::object::Object;
use crate::object::table::Table;
use crate::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use file::Held;
use std::sync::atomic::Ordering::Relaxed;

/// From this length on, a file is written anew when half of it no longer counts.
const COMPACT: u64 = 64 << 10;
/// Bytes of a frame's records, about, in a file written anew: what a damaged one costs.
const PART: usize = 64 << 10;

/// How an object is written.
fn kind(object: &Object) -> Kind {
    match (object.is_private(), object.class()) {
        (true, _) => Kind::Private,
        (false, CKO_PRIVATE_KEY | CKO_SECRET_KEY) => Kind::Sealed,
        (false, _) => Kind::Open,
    }
}

/// The record of a role.
fn seal_role(
    login: &Keys,
    to: &mut Vec<u8>,
    which: Holder,
    role: &Role,
    number: u64,
) -> std::result::Result<(), Trouble> {
    let mut uid = [0; 16];
    uid[0] = which.number();
    login.seal(to, Kind::Role, &uid, number, &role.encode())
}

/// The bytes of a new file with no objects: header and counters, and the first frame.
pub(super) fn new_file(
    header: &Header,
    keys: &Keys,
    roles: &[(Holder, Role)],
) -> std::result::Result<[Vec<u8>; 2], Trouble> {
    let mut head = header.encode().to_vec();
    head.resize(FRAMES, 0);
    let (counters, at) = Counters::default().next([0; 2]);
    head[at..at + format::COUNTER].copy_from_slice(&counters.encode());
    head[format::AGAIN..].copy_from_slice(&header.encode_again());
    let mut records = Vec::new();
    for (which, role) in roles {
        seal_role(keys, &mut records, *which, role, 1)?;
    }
    let first = keys.first_link(&header.encode());
    let (frame, _) = format::frame(1, &records, |head| link(keys, &first, head, &records))?;
    Ok([head, frame])
}

/// The link of a frame of these records, which are whole.
fn link(keys: &Keys, before: &format::Link, head: &[u8], records: &[u8]) -> format::Link {
    let records = format::records(records).unwrap_or_default();
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
                        self.commit(state, objects, batch);
                    }
                    // It saves room; where there is none for it, that is for later.
                    let _ = self.compact(held, state, &login);
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
    fn commit(&self, state: &mut State, objects: &Table, batch: Vec<Taken>) {
        let Err((failed, rv)) = self.commit_at_once(state, objects, batch) else { return };
        let alone = failed.len() == 1;
        for request in failed {
            if alone {
                request.finish(Err(rv));
            } else {
                self.commit(state, objects, vec![request]);
            }
        }
    }

    /// The same, for all or none of the requests: those that have no outcome then, and why.
    fn commit_at_once(
        &self,
        state: &mut State,
        objects: &Table,
        batch: Vec<Taken>,
    ) -> std::result::Result<(), (Vec<Taken>, Rv)> {
        let Some(login) = batch.first().map(|request| request.login().clone()) else { return Ok(()) };
        if let Err(trouble) = self.sync(state, objects, Some(&login), Depth::Objects) {
            return Err((batch, trouble.into()));
        }
        let Some(token) = state.token.as_ref().filter(|token| token.header.id == *login.keys.id()) else {
            return Err((batch, Rv(CKR_USER_NOT_LOGGED_IN)));
        };
        let mut records = Vec::new();
        let mut sealed = Vec::new();
        for request in batch {
            let before = records.len();
            match token.seal(&login, &request, &mut records) {
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
        let token = match self.append(state, &login, &records) {
            Ok(token) => token,
            Err(trouble) => return Err((sealed.into_iter().map(|(request, _)| request).collect(), trouble.into())),
        };
        for (mut request, known) in sealed {
            let shown = token.show_changes(objects, std::mem::take(&mut request.changes), known);
            request.finish(shown);
        }
        Ok(())
    }

    /// Adds a frame of records to the file of a token that was just read.
    pub(super) fn append<'a>(
        &self,
        state: &'a mut State,
        login: &Login,
        records: &[u8],
    ) -> std::result::Result<&'a mut Initialized, Trouble> {
        let gone = Trouble::System(rustix::io::Errno::NOENT);
        let token = state.token.as_mut().ok_or(gone)?;
        let Some((file, _, true)) = self.place.open()? else { return Err(Trouble::System(rustix::io::Errno::ROFS)) };
        let before = token.link.ok_or(Trouble::Damaged)?;
        let number = token.number + 1;
        let (frame, link) = format::frame(number, records, |head| link(&login.keys, &before, head, records))?;
        self.current.store(0, Relaxed);
        file::append(&file, token.end, &frame)?;
        token.end += frame.len() as u64;
        (token.number, token.link) = (number, Some(link));
        token.last = format::tail(&frame).to_vec();
        state.seen = Some(file::seen(&file)?);
        Ok(token)
    }

    /// Adds a role's record.
    ///
    /// # Errors
    /// Those of [`Store::change`].
    pub(super) fn set_role(&self, _: &Held, objects: &Table, login: &Login, which: Holder, role: Role) -> Result {
        self.with_state(|state| {
            // All links are checked by whoever adds one.
            if state.token.as_ref().is_some_and(|token| token.link.is_none()) {
                state.seen = None;
            }
            self.sync(state, objects, Some(login), Depth::Head)?;
            let number = state.token.as_ref().map_or(0, |token| token.number) + 1;
            let mut records = Vec::new();
            seal_role(&login.keys, &mut records, which, &role, number)?;
            let token = self.append(state, login, &records)?;
            token.roles[which as usize] = Some(role);
            Ok(())
        })
    }

    /// Writes the file anew without what no longer counts, where that is most of it.
    fn compact(&self, held: &Held, state: &mut State, login: &Login) -> std::result::Result<(), Trouble> {
        let Some(token) = state.token.as_mut().filter(|token| token.end > COMPACT && token.live * 2 < token.end) else {
            return Ok(());
        };
        let Some((file, _, true)) = self.place.open()? else { return Ok(()) };
        let bytes = file::read(&file, 0, token.end)?;
        let frames = format::frames(&bytes[FRAMES..], 0)?;
        let counts = |record: &&Record<'_>| {
            let known = token.objects.get(&record.uid).is_some_and(|known| known.version == record.version);
            known && matches!(record.kind, Kind::Open | Kind::Private | Kind::Sealed)
        };
        let records = frames.iter().flat_map(|frame| &frame.records).filter(counts).map(|record| record.whole);
        let (parts, last, link) =
            anew(&bytes[..FRAMES], &token.header, &login.keys, token.number, &token.roles, records)?;
        let slices: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
        let seen = self.place.replace(held, &slices)?;
        token.end = parts.iter().map(|part| part.len() as u64).sum();
        (token.number, token.link) = (last, Some(link));
        token.last = format::tail(parts.last().map_or(&[], |part| part)).to_vec();
        state.seen = Some(seen);
        Ok(())
    }
}

impl Initialized {
    /// Adds the records of a request's changes: what is then known of the objects.
    fn seal(&self, login: &Login, request: &Taken, records: &mut Vec<u8>) -> Result<Vec<(Uid, Option<Known>)>> {
        let (number, mut known) = (self.number + 1, Vec::new());
        for (change, uid) in request.named() {
            if !matches!(change, Change::New(_)) && !self.objects.contains_key(&uid) {
                return fail(CKR_OBJECT_HANDLE_INVALID);
            }
            let at = records.len();
            if let Change::Removed(_) = change {
                login.keys.seal(records, Kind::Gone, &uid, number, &[])?;
                known.push((uid, None));
            } else {
                let object = change.object();
                let body = body::encode(&object.attributes)?;
                login.keys.seal(records, kind(object), &uid, number, &body)?;
                known.push((uid, Some(Known { version: number, bytes: (records.len() - at) as u64 })));
            }
        }
        Ok(known)
    }

    /// Puts changes that were written into the table: the handles of the new and replaced objects.
    fn show_changes(
        &mut self,
        objects: &Table,
        changes: Vec<Change>,
        known: Vec<(Uid, Option<Known>)>,
    ) -> Result<Vec<Handle>> {
        let mut handles = Vec::new();
        for (change, (uid, object)) in changes.into_iter().zip(known) {
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
    let (mut parts, mut records) = (vec![first.to_vec()], Vec::new());
    let (mut before, of_roles) = (keys.first_link(&header.encode()), number + 1);
    let mut close = |records: &mut Vec<u8>| {
        number += 1;
        let (frame, next) = format::frame(number, records, |head| link(keys, &before, head, records))?;
        before = next;
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
