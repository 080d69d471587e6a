//! PINs: tried, set, counted. A try is written down before the derivation begins, whoever tries, and wherever: one that is killed while
//! it tries has tried. Who would try in two processes at once waits.

use super::crypt::Keys;
use super::file::{self, Held};
use super::format::{Counters, FRAMES, Header};
use super::read::{self, Depth};
use super::trouble::Trouble;
use super::{Holder, Login, PIN_LENGTHS, State, Store, TRIES, write};
use crate::object::table::Table;
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::random::random;
use cryptoki_sys::*;
use rustix::fd::OwnedFd;
use rustix::fs::fdatasync;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

/// Whether it may be a PIN.
fn check_length(pin: &[u8]) -> Result {
    ensure((PIN_LENGTHS[0]..=PIN_LENGTHS[1]).contains(&pin.len()), CKR_PIN_LEN_RANGE)
}

/// Writes tries down, for good.
pub(super) fn count(file: &OwnedFd, which: Holder, tries: u8) -> std::result::Result<(), Trouble> {
    let counters = Counters::decode(&file::read(file, 0, FRAMES as u64)?)?;
    let mut all = counters.tries;
    all[which as usize] = tries;
    let (next, at) = counters.next(all);
    file::write(file, at as u64, &next.encode())?;
    Ok(fdatasync(file)?)
}

impl Store {
    /// Wrong tries since the last right one, of the user and of the security officer.
    pub(super) fn tries(&self) -> std::result::Result<[u8; 2], Trouble> {
        let mut tries = match self.place.open()? {
            Some((file, ..)) => Counters::decode(&file::read(&file, 0, FRAMES as u64)?)?.tries,
            None => [0; 2],
        };
        for (tries, unwritten) in tries.iter_mut().zip(&self.unwritten) {
            *tries = tries.saturating_add(unwritten.load(Relaxed));
        }
        Ok(tries)
    }

    /// The keys that a PIN opens. `held`: in a store that can be written to.
    fn open(&self, held: Option<&Held>, objects: &Table, which: Holder, pin: &[u8]) -> Result<Keys> {
        let (id, role) = self.with_state(|state| {
            self.sync(state, objects, self.login().as_deref(), Depth::Head)?;
            let token = state.token.as_ref().ok_or(Rv(CKR_TOKEN_NOT_INITIALIZED))?;
            let role = token.roles[which as usize].clone().ok_or(Rv(CKR_USER_PIN_NOT_INITIALIZED))?;
            Ok::<_, Rv>((token.header.id, role))
        })?;
        let tries = self.tries()?[which as usize];
        ensure(tries < TRIES, CKR_PIN_LOCKED)?;
        let file = match held {
            Some(_) => {
                let Some((file, _, true)) = self.place.open()? else { return fail(CKR_TOKEN_WRITE_PROTECTED) };
                count(&file, which, tries + 1)?;
                Some(file)
            }
            // Nothing stays, but this process at least has no more tries than others.
            None => {
                let before = self.unwritten[which as usize].fetch_add(1, AcqRel);
                if tries - before.min(tries) + before >= TRIES {
                    self.unwritten[which as usize].fetch_sub(1, AcqRel);
                    return fail(CKR_PIN_LOCKED);
                }
                None
            }
        };
        let opened = Keys::open(id, which.number(), &role, pin, &self.tpm);
        let left = match &opened {
            Ok(Some(_)) => 0,
            // Of a try that no TPM answered nothing was learnt. One that refuses has its own counter.
            Err(Trouble::Tpm(_)) => tries,
            _ => tries + 1,
        };
        match file {
            // If it cannot be written now, whoever comes next has a try less.
            Some(file) if left <= tries => _ = count(&file, which, left),
            None if left == 0 => self.unwritten[which as usize].store(0, Relaxed),
            None if left == tries => _ = self.unwritten[which as usize].fetch_sub(1, AcqRel),
            _ => {}
        }
        opened?.ok_or(Rv(CKR_PIN_INCORRECT))
    }

    /// The same, in a store that others may write to, or nobody.
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

    /// Opens the store by a PIN, and puts the objects into the table that its holder sees. Where `enter` says that somebody else is in by now,
    /// nothing changes.
    ///
    /// # Errors
    /// `CKR_USER_ALREADY_LOGGED_IN`; those of [`Store::check_pin`]; `CKR_DEVICE_ERROR` where what the file holds is not what was written there.
    pub fn log_in(&self, objects: &Table, which: Holder, pin: &[u8], enter: impl FnOnce() -> bool) -> Result {
        let login = Arc::new(Login { keys: self.open_alone(objects, which, pin)?, holder: which });
        self.with_state(|state| {
            // All is read once more, now that it can be checked.
            state.seen = None;
            self.sync(state, objects, Some(&login), Depth::Objects)?;
            ensure(enter(), CKR_USER_ALREADY_LOGGED_IN)?;
            self.set_login(Some(login));
            Ok(())
        })
    }

    /// Closes it. Private objects are for the caller to take out of the table.
    pub fn log_out(&self) {
        self.set_login(None);
    }

    /// C_InitToken: a new token, without objects and without a user's PIN. `pin` is that of the security officer, or becomes it where
    /// there is no token yet. It is sealed by the TPM where the configuration or `seal` says so.
    ///
    /// # Errors
    /// Those of [`Store::check_pin`]; `CKR_PIN_LEN_RANGE`; those of writing.
    pub fn initialize(&self, objects: &Table, pin: &[u8], label: &[u8; 32], seal: bool) -> Result {
        self.place.exclusively(|held| {
            let there = self.with_state(|state| {
                self.sync(state, objects, None, Depth::Head)?;
                Ok::<_, Trouble>(state.token.is_some())
            })?;
            if there {
                self.open(Some(held), objects, Holder::SecurityOfficer, pin)?;
            } else {
                check_length(pin)?;
            }
            let mut header = Header { id: [0; 16], serial: [0; 16], label: *label };
            random(&mut header.id);
            random(&mut header.serial);
            header.serial = header.serial.map(|byte| b"0123456789abcdef"[usize::from(byte & 15)]);
            let keys = Keys::new(header.id);
            let which = Holder::SecurityOfficer;
            let tpm = Some(&self.tpm).filter(|_| seal || self.seals);
            let role = keys.role(which.number(), pin, tpm)?;
            let [head, frame] = write::new_file(&header, &keys, &[(which, role)])?;
            self.set_login(None);
            self.place.replace(held, &[&head, &frame])?;
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
        self.place.exclusively(|held| self.renew(held, objects, &login, Holder::User, pin))?
    }

    /// C_SetPIN.
    ///
    /// # Errors
    /// Those of [`Store::check_pin`]; `CKR_PIN_LEN_RANGE`; those of writing.
    pub fn set_pin(&self, objects: &Table, which: Holder, old: &[u8], new: &[u8]) -> Result {
        check_length(new)?;
        self.place.exclusively(|held| {
            let login = Login { keys: self.open(Some(held), objects, which, old)?, holder: which };
            self.renew(held, objects, &login, which, new)
        })?
    }

    /// Writes a PIN's role anew.
    fn renew(&self, held: &Held, objects: &Table, login: &Login, which: Holder, pin: &[u8]) -> Result {
        // What a TPM has sealed stays so.
        let sealed = self.with_state(|state| {
            let mut roles = state.token.iter().flat_map(|token| token.roles.iter().flatten());
            roles.any(|role| role.tpm.is_some())
        });
        let tpm = Some(&self.tpm).filter(|_| sealed || self.seals);
        let role = login.keys.role(which.number(), pin, tpm)?;
        self.set_role(held, objects, login, which, role)?;
        if let Some((file, _, true)) = self.place.open()? {
            count(&file, which, 0)?;
        }
        Ok(())
    }
}
