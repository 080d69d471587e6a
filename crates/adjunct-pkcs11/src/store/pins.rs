//! PINs: tried, set, counted. Each try is written down before the derivation begins, so that a process that is killed during it has tried. Of two
//! processes that try at once, one waits.

use super::crypt::Keys;
use super::file::{self, Held};
use super::format::{Counters, Version};
use super::read::{self, Depth};
use super::replace::Old;
use super::role::Role;
use super::tries::{self, Aside};
use super::trouble::Trouble;
use super::{FRAMES, Header, Holder, Login, PIN_LENGTHS, State, Store, TRIES, write};
use crate::table::Table;
use adjunct::ops::random::random;
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use rustix::fd::OwnedFd;
use rustix::fs::fdatasync;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// Checks that a PIN's length is allowed.
fn check_length(pin: &[u8]) -> Result {
    ensure((PIN_LENGTHS[0]..=PIN_LENGTHS[1]).contains(&pin.len()), CKR_PIN_LEN_RANGE)
}

/// Checks a PIN that is tried: none of another length was ever set, so that no try is counted for it. C_Login has no error of its own for the
/// length.
fn check_tried(pin: &[u8], tries: u8) -> Result {
    ensure(tries < TRIES, CKR_PIN_LOCKED)?;
    ensure(check_length(pin).is_ok(), CKR_PIN_INCORRECT)
}

/// Writes tries down, for good.
pub(super) fn count(file: &OwnedFd, which: Holder, tries: u8) -> std::result::Result<(), Trouble> {
    let counters = Counters::decode(&file::read(file, 0, FRAMES as u64)?)?;
    let mut all = counters.tries;
    all[which as usize] = tries;
    let (next, at) = counters.next(all, counters.ended);
    file::write(file, at as u64, &next.encode())?;
    Ok(fdatasync(file)?)
}

/// The place where a failed try was counted.
#[derive(Debug)]
enum Counted {
    Here(OwnedFd),
    /// In the file of the roles' tries; with the tries before.
    Aside(Aside, u8),
    InMemory,
}

impl Store {
    /// Wrong tries since the last right one, of the user and of the security officer.
    pub(super) fn tries(&self) -> std::result::Result<[u8; 2], Trouble> {
        let mut tries = self.place.counters()?.map_or([0; 2], |counters| counters.tries);
        for (tries, unwritten) in tries.iter_mut().zip(&self.unwritten) {
            *tries = tries.saturating_add(unwritten.load(Relaxed));
        }
        Ok(tries)
    }

    /// Wrong tries since the last right one, of the user and of the security officer, with those that this user's processes have counted outside
    /// the file, where that cannot be written to.
    pub(super) fn all_tries(&self) -> std::result::Result<[u8; 2], Trouble> {
        let mut tries = self.tries()?;
        let counted = self.with_state(|state| {
            let token = state.token.as_ref().filter(|token| !token.writable);
            token.map_or([0; 2], |token| tries::counted(&token.header.id, &token.roles))
        });
        tries.iter_mut().zip(counted).for_each(|(tries, counted)| *tries = tries.saturating_add(counted));
        Ok(tries)
    }

    /// Opens the keys with a PIN. `held`: in a store that can be written to.
    fn open(&self, held: Option<&Held>, objects: &Table, which: Holder, pin: &[u8]) -> Result<Keys> {
        let place = which as usize;
        let (header, role) = self.with_state(|state| {
            self.sync(state, objects, self.login().as_deref(), Depth::Head)?;
            let token = state.token.as_ref().ok_or(Rv(CKR_TOKEN_NOT_INITIALIZED))?;
            let role = token.roles[place].clone().ok_or(Rv(CKR_USER_PIN_NOT_INITIALIZED))?;
            Ok::<_, Rv>((token.header.clone(), role))
        })?;
        let tries = self.tries()?[place];
        check_tried(pin, tries)?;
        let counted = match held {
            Some(_) => {
                let Some((file, _, true)) = self.place.open()? else { return fail(CKR_TOKEN_WRITE_PROTECTED) };
                count(&file, which, tries + 1)?;
                Counted::Here(file)
            }
            None => self.count_elsewhere(&header, which, &role, tries)?,
        };
        let opened = Keys::open(&header, which.number(), &role, pin, &self.tpm);
        let left = match &opened {
            Ok(Some(_)) => Some(0),
            // Of a try that no TPM answered nothing was learnt. One that refuses has its own counter.
            Err(Trouble::Tpm(_)) => None,
            _ => return opened?.ok_or(Rv(CKR_PIN_INCORRECT)),
        };
        // If it cannot be written now, whoever comes next has a try less.
        match counted {
            Counted::Here(file) => _ = count(&file, which, left.unwrap_or(tries)),
            Counted::Aside(aside, before) => _ = aside.set(left.unwrap_or(before)),
            Counted::InMemory => {
                let unwritten = &self.unwritten[place];
                _ = unwritten.fetch_update(AcqRel, Relaxed, |tries| Some(left.unwrap_or(tries.saturating_sub(1))));
            }
        }
        opened?.ok_or(Rv(CKR_PIN_INCORRECT))
    }

    /// Counts a try of a store that cannot be written to, whose file has `tries` tries.
    fn count_elsewhere(&self, header: &Header, which: Holder, role: &Role, tries: u8) -> Result<Counted> {
        if let Some(aside) = Aside::of(&header.id, which as usize, role) {
            let before = aside.tries();
            ensure(tries.saturating_add(before) < TRIES, CKR_PIN_LOCKED)?;
            if aside.set(before + 1).is_ok() {
                return Ok(Counted::Aside(aside, before));
            }
        }
        // Nothing stays, but this process at least has no more tries than others.
        let unwritten = &self.unwritten[which as usize];
        let before = unwritten.fetch_add(1, AcqRel);
        if tries - before.min(tries) + before >= TRIES {
            unwritten.fetch_sub(1, AcqRel);
            return fail(CKR_PIN_LOCKED);
        }
        Ok(Counted::InMemory)
    }

    /// Opens the keys with a PIN. A store that can be written to is locked against other writers meanwhile.
    fn open_alone(&self, objects: &Table, which: Holder, pin: &[u8]) -> Result<Keys> {
        let writable = self.with_state(|state| {
            self.sync(state, objects, self.login().as_deref(), Depth::Head)?;
            Ok::<_, Trouble>(state.token.as_ref().map(|token| token.writable))
        })?;
        match writable {
            None => fail(CKR_TOKEN_NOT_INITIALIZED),
            Some(false) => self.open(None, objects, which, pin),
            Some(true) => self.place.exclusively(|held| self.open(Some(held), objects, which, pin))?,
        }
    }

    /// Checks a PIN.
    ///
    /// # Errors
    /// `CKR_PIN_INCORRECT`, `CKR_PIN_LOCKED`, `CKR_USER_PIN_NOT_INITIALIZED`, `CKR_TOKEN_NOT_INITIALIZED`, those of [`Store::refresh`], and those
    /// of a disk that does not take the try down.
    pub fn check_pin(&self, objects: &Table, which: Holder, pin: &[u8]) -> Result {
        self.open_alone(objects, which, pin).map(drop)
    }

    /// Opens the store by a PIN, and puts the objects into the table that its holder sees. Where `enter` says that another login has come first,
    /// nothing changes.
    ///
    /// # Errors
    /// `CKR_USER_ALREADY_LOGGED_IN`; those of [`Store::check_pin`]; `CKR_DEVICE_ERROR` where what the file holds is not what was written there.
    pub fn log_in(&self, objects: &Table, which: Holder, pin: &[u8], enter: impl FnOnce() -> bool) -> Result {
        let login = Arc::new(Login::new(self.open_alone(objects, which, pin)?, which));
        let unfinished = self.with_state(|state| {
            // All is read once more, now that it can be checked.
            state.seen = None;
            self.sync(state, objects, Some(&login), Depth::Objects)?;
            ensure(enter(), CKR_USER_ALREADY_LOGGED_IN)?;
            self.set_login(Some(login.clone()));
            Ok::<_, Rv>(state.token.as_ref().is_some_and(|token| token.writable && !token.spent.is_empty()))
        })?;
        if unfinished {
            // A writer was killed before records that no longer count could not be opened any more.
            let _ = self.place.exclusively(|_| {
                self.with_state(|state| {
                    self.sync(state, objects, Some(&login), Depth::Objects)?;
                    self.erase(state, &login.keys())
                })
            });
        }
        Ok(())
    }

    /// Logs out. The caller takes private objects out of the table.
    pub fn log_out(&self) {
        self.set_login(None);
    }

    /// C_InitToken: makes a new token, without objects and without a user's PIN. `pin` is the security officer's, or becomes it if there is no token
    /// yet. It is sealed by the TPM where the configuration or `seal` says so.
    ///
    /// # Errors
    /// Those of [`Store::check_pin`]; `CKR_PIN_LEN_RANGE`; `CKR_FUNCTION_FAILED` where another process has made a token since this call began,
    /// of which no PIN is tried then; those of writing.
    pub fn initialize(&self, objects: &Table, pin: &[u8], label: &[u8; 32], seal: bool) -> Result {
        let replace = self.place.look()?.is_some();
        self.initialize_whole(objects, (pin, None), label, seal, replace)
    }

    /// C_InitToken, also with the user's PIN if one is given: all of it, or nothing. An existing token goes only where `replace`.
    ///
    /// # Errors
    /// Those of [`Store::initialize`].
    pub fn initialize_whole(
        &self,
        objects: &Table,
        (pin, user): (&[u8], Option<&[u8]>),
        label: &[u8; 32],
        seal: bool,
        replace: bool,
    ) -> Result {
        user.map_or(Ok(()), check_length)?;
        self.place.exclusively(|held| {
            let there = self.place.look()?.is_some();
            ensure(replace || !there, Rv::from(Trouble::Exists).0)?;
            if there {
                self.open(Some(held), objects, Holder::SecurityOfficer, pin)?;
            } else {
                check_length(pin)?;
            }
            let mut header =
                Header { version: Version::Two, id: [0; 16], key: [0; 16], serial: [0; 16], label: *label };
            random(&mut header.id);
            random(&mut header.key);
            random(&mut header.serial);
            header.serial = header.serial.map(|byte| b"0123456789abcdef"[usize::from(byte & 15)]);
            let (keys, tpm) = (Keys::new(&header), Some(&self.tpm).filter(|_| seal || self.seals));
            let role = |which: Holder, pin| keys.role(&header, which.number(), pin, tpm).map(|(role, _)| role);
            let user = user.map(|pin| role(Holder::User, pin)).transpose()?;
            let parts = write::new_file(&header, &keys, &[user, Some(role(Holder::SecurityOfficer, pin)?)])?;
            let slices: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
            if there {
                self.place.replace(held, &slices, Old::Wiped)?;
                self.place.wipe_copies();
            } else {
                self.place.create(held, &slices)?;
            }
            self.place.note(held, &header, 1, true);
            self.set_login(None);
            self.with_state(|state| {
                *state = State::default();
                read::forget(objects, |_| false);
            });
            Ok(())
        })?
    }

    /// C_InitPIN: the user's PIN, by the security officer.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`, `CKR_PIN_LEN_RANGE`, those of writing.
    pub fn initialize_pin(&self, objects: &Table, pin: &[u8]) -> Result {
        let login = self.login().filter(|login| login.holder == Holder::SecurityOfficer);
        let login = login.ok_or(Rv(CKR_USER_NOT_LOGGED_IN))?;
        check_length(pin)?;
        self.place.exclusively(|held| self.set_role(held, objects, &login, Holder::User, pin))?
    }

    /// C_SetPIN.
    ///
    /// # Errors
    /// Those of [`Store::check_pin`]; `CKR_PIN_LEN_RANGE`; those of writing.
    pub fn set_pin(&self, objects: &Table, which: Holder, old: &[u8], new: &[u8]) -> Result {
        check_length(new)?;
        self.place.exclusively(|held| {
            let login = Login::new(self.open(Some(held), objects, which, old)?, which);
            self.set_role(held, objects, &login, which, new)
        })?
    }

    /// Writes all anew, for a new PIN.
    fn set_role(&self, held: &Held, objects: &Table, login: &Login, which: Holder, pin: &[u8]) -> Result {
        // What a TPM has sealed stays so.
        let (sealed, fits) = self.with_state(|state| {
            self.sync(state, objects, Some(login), Depth::Head)?;
            let token = state.token.as_ref().ok_or(Rv(CKR_TOKEN_NOT_INITIALIZED))?;
            let sealed = token.roles.iter().flatten().any(|role| role.tpm.is_some());
            Ok::<_, Rv>((sealed, login.keys().fit(&token.header)))
        })?;
        // Somebody else has changed the PIN that this login was by.
        ensure(fits, CKR_USER_NOT_LOGGED_IN)?;
        let tpm = Some(&self.tpm).filter(|_| sealed || self.seals);
        Ok(self.renew(held, objects, login, (which, pin, tpm))?)
    }
}
