//! A file written anew under a new token key: after a change of a PIN, and where records of a large file of version 1 have
//! to become unreadable.
//!
//! The new file holds no earlier role, no record that no longer counts, and nothing that the earlier token key opens. It replaces the old one in one
//! step, whose bytes are then overwritten. So an old PIN opens nothing: neither the file, nor what a killed writer left ([`super::file`] overwrites
//! that), nor a damaged copy that repair has kept, which is removed too.
//!
//! Logins go on, by the secret of their role, unless that role's PIN was changed ([`super::role`]). A process that was logged in by the changed PIN
//! uses the objects that it has read, and learns which of them are gone; to read more it has to log in again.

use super::crypt::{Keys, Own};
use super::file::Held;
use super::format::{self, Counters, Version};
use super::read::Depth;
use super::replace::Old;
use super::role::Role;
use super::trouble::Trouble;
use super::{FRAMES, Header, Holder, Login, State, Store, write};
use crate::table::Table;
use adjunct::ops::random::random;
use adjunct_tpm::Tpm;

type Result<T = ()> = std::result::Result<T, Trouble>;

/// The next header and keys of a token.
#[derive(Debug)]
pub(super) struct Next {
    pub header: Header,
    pub keys: Keys,
}

impl Next {
    pub fn of(header: &Header) -> Next {
        let mut header = Header { version: Version::Two, ..header.clone() };
        random(&mut header.key);
        let keys = Keys::new(&header);
        Next { header, keys }
    }
}

/// A role with a new PIN.
#[derive(Debug)]
pub(super) struct Changed {
    next: Next,
    which: Holder,
    role: Role,
    own: Own,
}

impl Store {
    /// Writes the file anew where `pin` opens the role of `which`.
    ///
    /// # Errors
    /// Those of [`Store::refresh`]; what the system says.
    pub(super) fn renew(
        &self,
        held: &Held,
        objects: &Table,
        login: &Login,
        (which, pin, tpm): (Holder, &[u8], Option<&Tpm>),
    ) -> Result {
        let gone = Trouble::System(rustix::io::Errno::NOENT);
        let header = self.with_state(|state| state.token.as_ref().map(|token| token.header.clone())).ok_or(gone)?;
        // Nobody else writes meanwhile, and others of this process read while the PIN's key is derived.
        let next = Next::of(&header);
        let (role, own) = next.keys.role(&next.header, which.number(), pin, tpm)?;
        let changed = Changed { next, which, role, own };
        self.with_state(|state| self.rewrite(held, state, objects, login, Some(changed)))?;
        self.place.wipe_copies();
        Ok(())
    }

    /// Writes the file anew, with all that counts.
    ///
    /// # Errors
    /// What the system says: the file is as before then.
    pub(super) fn rewrite(
        &self,
        held: &Held,
        state: &mut State,
        objects: &Table,
        login: &Login,
        changed: Option<Changed>,
    ) -> Result {
        // Every link is checked before.
        if state.token.as_ref().is_some_and(|token| token.link.is_none()) {
            state.seen = None;
        }
        self.sync(state, objects, Some(login), Depth::Head)?;
        let old = login.keys();
        let token = state.token.as_mut().filter(|token| old.fit(&token.header)).ok_or(Trouble::Damaged)?;
        let Some(whole) = self.place.read_whole()? else { return Err(rustix::io::Errno::NOENT.into()) };
        let bytes = whole.bytes.get(..token.end as usize).ok_or(Trouble::Damaged)?;
        let (next, changed) = match changed {
            Some(Changed { next, which, role, own }) => (next, Some((which, role, own))),
            None => (Next::of(&token.header), None),
        };
        let mut tries = Counters::decode(&bytes[..FRAMES])?.tries;
        let mut roles = [None, None];
        for which in [Holder::User, Holder::SecurityOfficer] {
            let place = which as usize;
            roles[place] = match (&changed, &token.roles[place]) {
                (Some((changed, role, _)), _) if *changed == which => {
                    tries[place] = 0;
                    Some(role.clone())
                }
                (_, None) => None,
                (_, Some(role)) => {
                    Some(old.hand_over(&token.header, which.number(), role, &next.header, &next.keys)?)
                }
            };
        }
        let mut records = Vec::new();
        for record in token.counting(bytes)? {
            let (body, mut sealed) = (old.unseal(&record)?, Vec::new());
            // Of the same version: what others have read of it stays what it is.
            next.keys.seal(&mut sealed, record.kind, &record.uid, record.version, &body)?;
            records.push(sealed);
        }
        let first = format::first_bytes(&next.header, tries);
        let records = records.iter().map(|record| &record[..]);
        let (parts, number, _) = write::anew(&first, &next.header, &next.keys, token.number, &roles, records)?;
        let slices: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
        self.place.replace(held, &slices, Old::Wiped)?;
        self.place.note(held, &next.header, number, false);
        let here = self.login();
        if let Some((which, _, own)) = changed
            && let Some(login) =
                here.as_ref().filter(|login| login.holder == which && *login.keys().id() == next.header.id)
        {
            login.set_keys(next.keys.owned(own));
        }
        state.seen = None;
        self.sync(state, objects, here.as_deref(), Depth::Objects)
    }
}
