//! The state of a card as its threads read and change it.
//!
//! Who reads takes no lock that is held while a disk is waited for: the state is behind a pointer, which is exchanged when a change is on disk. A change works on
//! a copy; then the vault is written, the pointer exchanged, the TPM's counter counted, and the audit log written. A crash in between leaves the state of before
//! or of after; a record that is missing then shows in the vault's number.

use crate::audit::{Chain, Detail, Event, Log};
use crate::crypt::boxed;
use crate::registers::{KeyId, Kind, MasterKey, Place};
use crate::roles::Caller;
use crate::seal::{Method, Opener};
use crate::state::{Anchor, Mode, State};
use crate::vault::{self, Vault};
use adjunct::ops::random::random;
use adjunct_tpm::{Connection, Counter, Fault};
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Why a state cannot be had from a vault.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The vault.
    #[error("{0}")]
    Vault(#[from] vault::Error),
    /// The contents are of a version that this adjunct does not read.
    #[error("its contents are of another version: update adjunct")]
    Contents,
    /// It is of a card of another mode.
    #[error("it is the vault of a card of another mode")]
    Mode,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum Change<E> {
    /// The change itself was refused.
    #[error("{0}")]
    Refused(E),
    /// The vault was not written.
    #[error("the vault: {0}")]
    Vault(vault::Error),
    /// There is no room for the record, or an earlier record could not be written: nothing was done.
    #[error("the audit log: {0}")]
    Log(io::Error),
    /// The TPM's counter, by which an older vault would show: nothing was done.
    #[error("the TPM's counter: {0}")]
    Counter(Fault),
    /// It was made, and is not in the audit log. No other change is made until its record can be written.
    #[error("done, but not in the audit log: {0}")]
    Unlogged(io::Error),
}

/// What is wrong with vault and audit log beside each other, and beside the TPM's counter. The card serves all the same; an administrator is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// The vault is an older copy, by the TPM's counter: so many changes are lost.
    #[error("the vault is an older copy: {0} changes are missing, by the TPM's counter")]
    RolledBack(u64),
    /// The TPM's counter is below what the vault expects.
    #[error("the TPM's counter is another than the vault's")]
    OtherCounter,
    /// The TPM cannot be asked.
    #[error("whether the vault is an older copy is not known: {0}")]
    NoCounter(Fault),
    /// The vault has a counter, and no TPM was given.
    #[error("whether the vault is an older copy is not known: no TPM was given")]
    NoTpm,
    /// The vault is an older copy, by the audit log: its number, and the one in the log.
    #[error("the vault is an older copy: its contents have number {0}, and the audit log knows number {1}")]
    OlderThanLog(u64, u64),
    /// The log ends before the line that the vault knows.
    #[error("the audit log was cut off, or taken away: it ends with line {0}, and line {1} was written")]
    LogCut(u64, u64),
    /// A write to the vault failed: what is on disk is the state of before or after it, and no change is made until the card starts again.
    #[error("a write to the vault failed: no change is made until the card is started again")]
    Unsure,
    /// So many records could not be written.
    #[error("{0} records could not be written to the audit log")]
    Lost(u64),
}

/// What a change has left to be written.
struct Left {
    event: String,
    uid: u32,
    domain: Option<u8>,
    result: String,
    detail: Detail,
}

/// What only one thread has at a time: whoever changes the state.
struct Writer {
    vault: Option<Vault>,
    log: Option<Log>,
    tpm: Option<Arc<Connection>>,
    /// The counter, while it stands where the vault says.
    anchor: Option<Arc<Anchor>>,
    /// How often it is to be counted until it stands there.
    behind: u64,
    /// The number in the log that the vault is behind of, until an administrator has looked into it.
    above: Option<u64>,
    /// Why it could not be counted.
    uncounted: Option<Fault>,
    left: Option<Left>,
    lost: u64,
    findings: Vec<Finding>,
}

/// The state, its vault and its audit log.
pub struct Keeper {
    current: RwLock<Arc<State>>,
    writer: Mutex<Writer>,
    method: Mutex<Method>,
}

adjunct::opaque_debug!(Keeper);

impl Keeper {
    /// A state that is in memory alone.
    #[must_use]
    pub fn volatile(state: State, log: Option<Log>) -> Keeper {
        Keeper::with(Writer::new(None, log, None), state, Method::Volatile)
    }

    /// The state of a vault; an empty file becomes a vault with the state `new`. The audit log goes on after the line that the vault knows. With a TPM, a counter
    /// of it counts the changes from now on. What is wrong and does not keep the card from serving is in [`Keeper::findings`].
    ///
    /// # Errors
    /// Why there is no state.
    pub fn open(
        file: File,
        opener: &Opener<'_>,
        log: Option<Log>,
        tpm: Option<Arc<Connection>>,
        new: State,
    ) -> Result<Keeper, Error> {
        let mode: Mode = new.mode();
        let (vault, contents) = Vault::open_or_create(file, opener, vault::ROOM, || new.encode())?;
        drop(new);
        let state = State::parse(&contents).ok_or(Error::Contents)?;
        drop(contents);
        if state.mode() != mode {
            return Err(Error::Mode);
        }
        let method = vault.method();
        let mut writer = Writer::new(Some(vault), log, tpm);
        let state = writer.begin(state)?;
        Ok(Keeper::with(writer, state, method))
    }

    fn with(writer: Writer, state: State, method: Method) -> Keeper {
        Keeper { current: RwLock::new(Arc::new(state)), writer: Mutex::new(writer), method: Mutex::new(method) }
    }

    fn exchange(&self, state: State) {
        let before =
            std::mem::replace(&mut *self.current.write().unwrap_or_else(PoisonError::into_inner), Arc::new(state));
        drop(before);
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        // A change that panicked has left nothing: it worked on a copy.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state as it is now. It stays as it is while others change it.
    #[must_use]
    pub fn state(&self) -> Arc<State> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the state.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state())
    }

    /// The master key of a kind with an id, in a domain, and the register that it is in.
    #[must_use]
    pub fn find(&self, domain: u8, kind: Kind, id: &KeyId) -> Option<(Place, Arc<MasterKey>)> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.find(domain, kind, id).map(|(place, key)| (place, key.clone()))
    }

    /// What opens the vault; [`Method::Volatile`] where there is none.
    #[must_use]
    pub fn method(&self) -> Method {
        *self.method.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the vault's contents, where there is one. Waits for a change that is being made.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.writer().sequence()
    }

    /// Number and chain value of the audit log's last line, where there is one. Waits for a change that is being made.
    #[must_use]
    pub fn last_audited(&self) -> Option<(u64, Chain)> {
        self.writer().log.as_ref().map(Log::last)
    }

    /// What is wrong, for status. Waits for a change that is being made.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let writer = self.writer();
        let now = [
            writer.vault.as_ref().is_some_and(Vault::is_unsure).then_some(Finding::Unsure),
            writer.uncounted.map(Finding::NoCounter),
            (writer.lost > 0).then_some(Finding::Lost(writer.lost)),
        ];
        writer.findings.iter().copied().chain(now.into_iter().flatten()).collect()
    }

    /// Changes the state: `change` works on a copy. When this returns, the change is on disk, is what readers see, and is in the audit log, as is the refusal of one.
    ///
    /// # Errors
    /// Why not; the state is as before, but for [`Change::Unlogged`].
    pub fn change<T, E: Display>(
        &self,
        caller: &Caller,
        domain: Option<u8>,
        event: &str,
        change: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, Change<E>> {
        self.change_with(caller, domain, event, |state, _| change(state))
    }

    /// Changes the state as [`Keeper::change`] does; `change` may say more for the audit log.
    ///
    /// # Errors
    /// As [`Keeper::change`].
    pub fn change_with<T, E: Display>(
        &self,
        caller: &Caller,
        domain: Option<u8>,
        event: &str,
        change: impl FnOnce(&mut State, &mut Detail) -> Result<T, E>,
    ) -> Result<T, Change<E>> {
        let mut writer = self.writer();
        writer.settle().map_err(Change::Log)?;
        let mut state = State::clone(&self.state());
        let mut detail = Detail::new();
        let left = |result: String, detail| Left { event: event.to_owned(), uid: caller.uid, domain, result, detail };
        let value = match change(&mut state, &mut detail) {
            Ok(value) => value,
            Err(error) => {
                writer.failed(&left(error.to_string(), detail));
                return Err(Change::Refused(error));
            }
        };
        if let Err(error) = writer.commit(&mut state) {
            writer.failed(&left(error.to_string(), detail));
            return Err(error.into());
        }
        self.exchange(state);
        writer.count();
        writer.left = Some(left("done".to_owned(), detail));
        writer.settle().map_err(Change::Unlogged)?;
        Ok(value)
    }

    /// Writes a record of what changes nothing: a failure, a start, what a program was refused. `durable`: it is on disk when this returns.
    ///
    /// # Errors
    /// What the system says; [`Finding::Lost`] counts it.
    pub fn note(
        &self,
        caller: &Caller,
        domain: Option<u8>,
        event: &str,
        result: &str,
        detail: Detail,
        durable: bool,
    ) -> io::Result<()> {
        let mut writer = self.writer();
        let left = Left { event: event.to_owned(), uid: caller.uid, domain, result: result.to_owned(), detail };
        // What was left comes first, and counts as lost no more.
        let written = writer.settle().and_then(|()| writer.log(&left, durable));
        if written.is_err() {
            writer.lost += 1;
        }
        written
    }

    /// Writes the vault with the audit log's last line, so that the log's end cannot be cut off unseen: for an orderly end of the card.
    ///
    /// # Errors
    /// Why not.
    pub fn checkpoint(&self) -> Result<(), Change<String>> {
        let mut writer = self.writer();
        let mut state = State::clone(&self.state());
        if writer.log.as_ref().is_none_or(|log| log.last() == state.audit) {
            return Ok(());
        }
        writer.commit(&mut state)?;
        self.exchange(state);
        writer.count();
        Ok(())
    }

    /// Seals the vault by something else: what opened it before opens it no more. Nothing is done where there is no vault.
    ///
    /// # Errors
    /// Why not.
    pub fn reseal(&self, caller: &Caller, opener: &Opener<'_>) -> Result<(), Change<String>> {
        let mut writer = self.writer();
        writer.settle().map_err(Change::Log)?;
        let mut state = State::clone(&self.state());
        writer.prepare(&mut state)?;
        let contents = state.encode().ok_or(Change::Vault(vault::Error::Memory))?;
        let Some(vault) = &mut writer.vault else { return Ok(()) };
        vault.reseal(opener, &contents).map_err(Change::Vault)?;
        self.exchange(state);
        *self.method.lock().unwrap_or_else(PoisonError::into_inner) = opener.method();
        // It was written twice.
        writer.behind += 1;
        writer.count();
        let (event, uid) = ("vault-sealed".to_owned(), caller.uid);
        let detail = Detail::from_iter([("by".to_owned(), opener.method().word().into())]);
        writer.left = Some(Left { event, uid, domain: None, result: "done".to_owned(), detail });
        writer.settle().map_err(Change::Unlogged)
    }

    /// Takes the vault as it is for the newest, where it was found to be an older copy or to have another counter: an administrator has looked into it. A TPM's
    /// counter begins anew beside it.
    ///
    /// # Errors
    /// Why not.
    pub fn accept(&self, caller: &Caller) -> Result<(), Change<String>> {
        let mut writer = self.writer();
        let found: Vec<_> = writer.findings.iter().map(ToString::to_string).collect();
        (writer.anchor, writer.behind) = (None, 0);
        let mut state = State::clone(&self.state());
        writer.anchor(&mut state).map_err(Change::Counter)?;
        writer.commit(&mut state)?;
        writer.anchor = state.anchor.clone();
        self.exchange(state);
        writer.count();
        writer.findings.clear();
        writer.above = None;
        let detail = Detail::from_iter([("findings".to_owned(), found.into())]);
        let (event, uid) = ("vault-accepted".to_owned(), caller.uid);
        writer.left = Some(Left { event, uid, domain: None, result: "done".to_owned(), detail });
        writer.settle().map_err(Change::Unlogged)
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
enum Unwritten {
    #[error("the vault: {0}")]
    Vault(vault::Error),
    #[error("the audit log: {0}")]
    Log(io::Error),
    #[error("the TPM's counter: {0}")]
    Counter(Fault),
}

impl<E> From<Unwritten> for Change<E> {
    fn from(why: Unwritten) -> Change<E> {
        match why {
            Unwritten::Vault(error) => Change::Vault(error),
            Unwritten::Log(error) => Change::Log(error),
            Unwritten::Counter(fault) => Change::Counter(fault),
        }
    }
}

/// The value of a counter.
fn value(tpm: &Connection, anchor: &Anchor) -> Result<u64, Fault> {
    tpm.read(Counter::with_number(anchor.counter).ok_or(Fault::Other)?, &anchor.auth)
}

/// The most characters of a result in a record whose line would be too long.
const LONGEST_RESULT: usize = 1000;

/// The most writes that a crash can leave uncounted: two, where a vault was sealed anew.
const UNCOUNTED: u64 = 2;

impl Writer {
    fn new(vault: Option<Vault>, log: Option<Log>, tpm: Option<Arc<Connection>>) -> Writer {
        Writer {
            vault,
            log,
            tpm,
            anchor: None,
            behind: 0,
            above: None,
            uncounted: None,
            left: None,
            lost: 0,
            findings: Vec::new(),
        }
    }

    fn sequence(&self) -> Option<u64> {
        self.vault.as_ref().map(Vault::sequence)
    }

    /// Holds vault, log and counter against each other; the state, which has a counter from now on where there is a TPM.
    fn begin(&mut self, mut state: State) -> Result<State, Error> {
        let (known, sequence) = (state.audit, self.sequence().unwrap_or(0));
        if let Some(log) = &mut self.log {
            let (number, _) = log.last();
            if number < known.0 {
                self.findings.push(Finding::LogCut(number, known.0));
                log.go_on(known);
            }
            if let Some(in_log) = log.vault().filter(|in_log| *in_log > sequence) {
                self.findings.push(Finding::OlderThanLog(sequence, in_log));
                self.above = Some(in_log);
            }
        }
        match (self.tpm.clone(), state.anchor.clone()) {
            (None, None) => {}
            (None, Some(_)) => self.findings.push(Finding::NoTpm),
            (Some(_), None) => match self.anchor(&mut state) {
                Ok(()) => match self.commit(&mut state) {
                    Ok(()) => {
                        self.anchor = state.anchor.clone();
                        self.count();
                    }
                    Err(Unwritten::Vault(error)) => return Err(error.into()),
                    Err(Unwritten::Log(error)) => return Err(vault::Error::Io(error).into()),
                    Err(Unwritten::Counter(fault)) => self.findings.push(Finding::NoCounter(fault)),
                },
                Err(fault) => self.findings.push(Finding::NoCounter(fault)),
            },
            (Some(tpm), Some(anchor)) => {
                let expected = anchor.base.wrapping_add(sequence);
                let value = value(&tpm, &anchor);
                self.anchor = Some(anchor);
                match value {
                    // The card may have ended between the vault and the counter.
                    Ok(value) if expected.wrapping_sub(value) <= UNCOUNTED => {
                        self.behind = expected.wrapping_sub(value);
                        let _ = self.catch_up();
                    }
                    Ok(value) if value > expected => self.findings.push(Finding::RolledBack(value - expected)),
                    Ok(_) | Err(Fault::Other) => {
                        self.anchor = None;
                        self.findings.push(Finding::OtherCounter);
                    }
                    Err(fault) => self.findings.push(Finding::NoCounter(fault)),
                }
            }
        }
        let found: Vec<_> = self.findings.iter().map(ToString::to_string).collect();
        for result in found {
            let (event, detail) = ("vault-check".to_owned(), Detail::new());
            self.failed(&Left { event, uid: 0, domain: None, result, detail });
        }
        Ok(state)
    }

    /// Makes a counter beside the vault, or goes on with the one that there is, where there is a TPM.
    fn anchor(&self, state: &mut State) -> Result<(), Fault> {
        let Some(tpm) = &self.tpm else { return Ok(()) };
        let there = state.anchor.as_ref().and_then(|anchor| Some((anchor, value(tpm, anchor).ok()?)));
        let (counter, auth, now) = match there {
            Some((anchor, now)) => (anchor.counter, boxed(&anchor.auth[..]), now),
            None => {
                let mut auth = boxed(&[]);
                random(&mut auth[..]);
                let counter = tpm.make_counter(&auth)?;
                let now = tpm.read(counter, &auth)?;
                (counter.number(), auth, now)
            }
        };
        let base = now.wrapping_sub(self.sequence().unwrap_or(0));
        state.anchor = Some(Arc::new(Anchor { counter, base, auth }));
        Ok(())
    }

    /// Counts as often as is owed.
    fn catch_up(&mut self) -> Result<(), Fault> {
        let (Some(tpm), Some(anchor)) = (&self.tpm, &self.anchor) else { return Ok(()) };
        while self.behind > 0 {
            let counter = Counter::with_number(anchor.counter).ok_or(Fault::Other);
            if let Err(fault) = counter.and_then(|counter| tpm.increment(counter, &anchor.auth)) {
                self.uncounted = Some(fault);
                return Err(fault);
            }
            self.behind -= 1;
        }
        self.uncounted = None;
        Ok(())
    }

    /// Counts a write. Where that fails it is owed, and no other change is made before.
    fn count(&mut self) {
        if self.anchor.is_some() && self.tpm.is_some() {
            self.behind += 1;
            let _ = self.catch_up();
        }
    }

    /// Makes ready to write: the counter is where it should be, the log has room, and the state knows the log's end.
    fn prepare(&mut self, state: &mut State) -> Result<(), Unwritten> {
        self.catch_up().map_err(Unwritten::Counter)?;
        if let Some(log) = &self.log {
            log.reserve().map_err(Unwritten::Log)?;
            state.audit = log.last();
        }
        Ok(())
    }

    /// Writes the vault.
    fn commit(&mut self, state: &mut State) -> Result<(), Unwritten> {
        self.prepare(state)?;
        let Some(vault) = &mut self.vault else { return Ok(()) };
        let contents = state.encode().ok_or(Unwritten::Vault(vault::Error::Memory))?;
        vault.write(&contents).map_err(Unwritten::Vault)
    }

    fn log(&mut self, left: &Left, durable: bool) -> io::Result<()> {
        // As long as the vault counts as an older copy, it is below each record.
        let above = |number: u64| self.above.map_or(number, |above| above.max(number + 1));
        let vault = self.sequence().map(above);
        let Some(log) = &mut self.log else { return Ok(()) };
        let Left { event, uid, domain, result, detail } = left;
        let event = Event { event, uid: *uid, domain: *domain, result, vault, detail: detail.clone() };
        match log.write(&event, durable) {
            // Longer than a line may be: what happened is there all the same.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let detail = Detail::from_iter([("left-out".to_owned(), true.into())]);
                let short = result.char_indices().nth(LONGEST_RESULT).map_or(&result[..], |(at, _)| &result[..at]);
                log.write(&Event { result: short, detail, ..event }, durable)
            }
            written => written,
        }
    }

    /// Writes the record of what failed, or counts it as lost.
    fn failed(&mut self, left: &Left) {
        if self.log(left, true).is_err() {
            self.lost += 1;
        }
    }

    /// Writes what was left to be written.
    fn settle(&mut self) -> io::Result<()> {
        if let Some(left) = self.left.take()
            && let Err(error) = self.log(&left, true)
        {
            self.left = Some(left);
            return Err(error);
        }
        if self.lost > 0 {
            let detail = Detail::from_iter([("records".to_owned(), self.lost.into())]);
            let (event, result) = ("records-lost".to_owned(), "done".to_owned());
            self.log(&Left { event, uid: 0, domain: None, result, detail }, true)?;
            self.lost = 0;
        }
        Ok(())
    }
}
