//! Store tokens: objects that stay, in a file of their own ([`format`]).
//!
//! In memory there is a copy of what the file holds, in the token's table, with keys made once; an operation touches no storage. A call that searches
//! for objects or asks for the token's state first checks by one system call whether the file is the one that was read last and has the same length,
//! and reads what is new: other processes' changes are seen at once. Private objects are there while their user is logged in.
//!
//! Why a file of our own and no database: SQLite, tried for this, opens neither a store in WAL mode nor one whose writer was killed in the
//! middle of a change (a journal to be rolled back) where the reader may not write; of a file with one damaged page in 500 it gave 0
//! to 3 of 2000 rows; and a connection must not be carried over a fork, nor may descriptors of the file be closed by the program, neither of which a
//! module in foreign processes can keep from happening. What it is good at, finding rows on disk, is not wanted: objects are sealed, and found in memory.

pub mod admin;
mod batch;
mod body;
pub mod config;
mod crypt;
mod erase;
mod file;
mod format;
mod mark;
mod pins;
mod read;
mod renew;
mod repair;
mod replace;
mod rights;
mod role;
mod secret;
mod standing;
#[cfg(test)]
mod tests;
mod tries;
mod trouble;
mod write;

use crate::table::Table;
use adjunct::lock::Lock;
use adjunct_mechanisms::rv::{Result, ensure};
use adjunct_tpm::Tpm;
pub use batch::Change;
use batch::Queue;
use crypt::Keys;
use cryptoki_sys::*;
use erase::Spent;
use file::{Place, Seen};
use format::{Behind, FRAMES, Header, Link, Uid};
use read::{Depth, Eyes};
use role::Role;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::time::Duration;
use trouble::Trouble;

/// A role that has a PIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    User = 0,
    SecurityOfficer = 1,
}

impl Holder {
    /// Identifier of the holder's role.
    const fn number(self) -> u8 {
        self as u8 + 1
    }
}

/// The shortest and the longest PIN, in bytes.
pub const PIN_LENGTHS: [usize; 2] = [4, 255];
/// Wrong PINs in a row that lock one.
const TRIES: u8 = 3;

/// A store, in this process.
#[derive(Debug)]
pub struct Store {
    place: Place,
    state: Lock<State>,
    login: Lock<Option<Arc<Login>>>,
    /// Changes that wait for a writer.
    queue: Queue,
    /// [`Seen::print`] of the file when all of it was in the table; 0 while some of it may be missing. A reader that finds it unchanged needs no
    /// lock.
    current: AtomicU64,
    /// Whether there is a token, as far as was seen.
    initialized: AtomicBool,
    /// Whether the file cannot be written to, as far as was seen.
    read_only: AtomicBool,
    /// The TPM that seals PINs, and (`seals`) whether the configuration has new ones sealed.
    tpm: Tpm,
    seals: bool,
    /// Wrong PINs that could not be written down, of the user and of the security officer.
    unwritten: [AtomicU8; 2],
    standing: standing::Noted,
}

/// A login: who is logged in, and the keys that the PIN opened.
#[derive(Debug)]
struct Login {
    keys: Lock<Arc<Keys>>,
    holder: Holder,
}

impl Login {
    fn new(keys: Keys, holder: Holder) -> Login {
        Login { keys: Lock::new(Arc::new(keys)), holder }
    }

    fn keys(&self) -> Arc<Keys> {
        // Abandoned or not: the pointer is one word.
        self.keys.hold(|keys, _| keys.clone())
    }

    fn set_keys(&self, keys: Keys) {
        let old = self.keys.hold(|place, _| std::mem::replace(place, Arc::new(keys)));
        drop(old);
    }

    /// The keys with which the login reads a file, also one that was written anew under another key since the login. `None` where its PIN has been
    /// changed: objects that were read before stay in use then, and the file's present contents need the new PIN.
    fn eyes(&self, header: &Header, roles: &[Option<Role>; 2]) -> Option<Eyes> {
        let mut keys = self.keys();
        if !keys.fit(header) {
            self.set_keys(keys.follow(header, roles)?);
            keys = self.keys();
        }
        Some(Eyes { keys, private: self.holder == Holder::User })
    }
}

/// The known state of the file.
#[derive(Debug, Default)]
struct State {
    /// The file as it was when it was read last; `None` before.
    seen: Option<Seen>,
    trouble: Option<Trouble>,
    token: Option<Initialized>,
}

/// The known state of a file with a token in it.
#[derive(Debug)]
struct Initialized {
    header: Header,
    writable: bool,
    /// Offset where the whole frames end, and (`number`) the number of the last frame.
    end: u64,
    number: u64,
    /// The last bytes of the last whole frame.
    last: Vec<u8>,
    /// The link of the last frame, where all were checked.
    link: Option<Link>,
    roles: [Option<Role>; 2],
    objects: BTreeMap<Uid, Known>,
    /// Whether objects were read at all.
    loaded: bool,
    /// Bytes of the records that count.
    live: u64,
    /// Whether each frame says which it follows.
    joined: bool,
    /// The bytes after the last whole frame.
    behind: Behind,
    /// [`format::Counters::ended`].
    ended: u32,
    /// Records that no longer count, and can still be opened.
    spent: Vec<Spent>,
    /// Whether the file is of version 1, where earlier PINs, and sealed objects that were destroyed or changed, can still be opened.
    leftovers: bool,
}

/// The known state of an object in the file.
#[derive(Debug, Clone, Copy)]
struct Known {
    version: u64,
    bytes: u64,
    /// Offset of the object's slot.
    slot: u64,
    sealed: bool,
}

/// The information that a token gives about itself.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    pub label: [u8; 32],
    pub serial: [u8; 16],
    pub flags: CK_FLAGS,
}

impl Store {
    /// Makes the store of a file, which need not exist. `tpm`: path of the TPM that seals new PINs.
    pub fn new(path: PathBuf, read_only: bool, tpm: Option<PathBuf>) -> Store {
        Store::of(Place { path, read_only }, tpm.is_some(), Tpm::new(tpm))
    }

    fn of(place: Place, seals: bool, tpm: Tpm) -> Store {
        Store {
            seals,
            tpm,
            place,
            state: Lock::new(State::default()),
            login: Lock::new(None),
            queue: Queue::new(),
            current: AtomicU64::new(0),
            initialized: AtomicBool::new(false),
            read_only: AtomicBool::new(false),
            unwritten: [AtomicU8::new(0), AtomicU8::new(0)],
            standing: standing::Noted::default(),
        }
    }

    /// Makes the store for a child of fork that initializes the module: nothing of the file has been read, and no user is logged in. Says in a line
    /// where the child may not read what its parent could, as a worker that is no longer root.
    pub fn anew(&self) -> Store {
        if self.initialized.load(Relaxed)
            && let Err(trouble @ Trouble::Unreadable(_)) = self.place.open()
        {
            adjunct::diag::warn(&trouble.line(&self.place.path));
        }
        Store::of(self.place.clone(), self.seals, self.tpm.clone())
    }

    /// Looks at the file while the module loads; gives what is wrong with it, in a line. A file that does not exist is not wrong, nor is
    /// what `is_fine`.
    pub fn check(&self, is_fine: impl FnOnce(Trouble) -> bool) -> Option<String> {
        const SMALL: u64 = 256 << 10;
        let checked = self.place.open().and_then(|opened| {
            let Some((file, seen, _)) = opened else { return Ok(None) };
            if seen.length > SMALL {
                let bytes = file::read(&file, 0, FRAMES as u64)?;
                let read = Header::decode(&bytes).and_then(|_| format::Counters::decode(&bytes));
                return if self.place.is_still(&seen)? { read.map(|_| None) } else { Ok(None) };
            }
            let mark = self.place.mark();
            let Some(whole) = self.place.read_whole()? else { return Ok(None) };
            let (token, ..) = Initialized::read(&whole.bytes, None)?;
            Ok(token.remark(mark.as_ref(), whole.bytes.len() as u64))
        });
        match checked {
            Err(trouble) if is_fine(trouble) => None,
            Err(trouble) => Some(trouble.line(&self.place.path)),
            Ok(remark) => remark.map(|remark| format!("token store {}: {remark}", self.place.path.display())),
        }
    }

    /// Runs `body` with what is known of the file. It may take a while: other threads sleep meanwhile.
    fn with_state<R>(&self, body: impl FnOnce(&mut State) -> R) -> R {
        let mut body = Some(body);
        loop {
            let done = self.state.try_hold(16, |state, taken| {
                if taken.abandoned {
                    // What a fork has caught half changed is not safe to drop; all is read again.
                    std::mem::forget(std::mem::take(state));
                }
                body.take().map(|body| body(state))
            });
            match done {
                Some(Some(done)) => return done,
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    /// The login, if a user is logged in.
    fn login(&self) -> Option<Arc<Login>> {
        // Abandoned or not: the pointer is one word.
        self.login.hold(|login, _| login.clone())
    }

    fn set_login(&self, login: Option<Arc<Login>>) {
        let old = self.login.hold(|place, _| std::mem::replace(place, login));
        drop(old);
    }

    /// Reads what others have written; `Ok(false)` where the token of the login no longer exists: then no user is logged in.
    ///
    /// # Errors
    /// What is wrong with the file: `CKR_TOKEN_NOT_RECOGNIZED`, `CKR_DEVICE_ERROR`, `CKR_HOST_MEMORY`.
    pub fn refresh(&self, objects: &Table) -> Result<bool> {
        let current = self.current.load(Acquire);
        if current != 0 && self.place.look()?.is_some_and(|seen| seen.print() == current) {
            return Ok(true);
        }
        let login = self.login();
        let token = self.with_state(|state| {
            self.sync(state, objects, login.as_deref(), Depth::Objects)?;
            Ok::<_, Trouble>(state.token.as_ref().map(|token| token.header.id))
        })?;
        let gone = login.is_some_and(|login| token != Some(*login.keys().id()));
        if gone {
            self.set_login(None);
        }
        Ok(!gone)
    }

    /// Checks that there is a token to open a session with. Once there was one, that costs nothing.
    ///
    /// # Errors
    /// `CKR_TOKEN_NOT_INITIALIZED`, and those of [`Store::refresh`].
    pub fn must_be_initialized(&self, objects: &Table) -> Result {
        if !self.initialized.load(Relaxed) {
            self.with_state(|state| self.sync(state, objects, None, Depth::Head))?;
        }
        ensure(self.initialized.load(Relaxed), CKR_TOKEN_NOT_INITIALIZED)
    }

    /// What the token says of itself; `slot` makes the serial number of one that has none yet.
    ///
    /// # Errors
    /// Those of [`Store::refresh`].
    pub fn info(&self, objects: &Table, slot: CK_SLOT_ID) -> Result<Info> {
        let login = self.login();
        let (header, roles, writable) = self.with_state(|state| {
            self.sync(state, objects, login.as_deref(), Depth::Head)?;
            let token = state.token.as_ref();
            let roles = token.map_or([false; 2], |token| token.roles.each_ref().map(Option::is_some));
            Ok::<_, Trouble>((
                token.map(|token| token.header.clone()),
                roles,
                token.is_some_and(|token| token.writable),
            ))
        })?;
        let mut flags = CKF_RNG | CKF_LOGIN_REQUIRED | CKF_DUAL_CRYPTO_OPERATIONS;
        let Some(header) = header else {
            flags |= if self.place.is_writable() { 0 } else { CKF_WRITE_PROTECTED };
            let mut serial = [b'0'; 16];
            let digits = format!("{slot:016}");
            serial.copy_from_slice(&digits.as_bytes()[digits.len() - 16..]);
            return Ok(Info { label: [b' '; 32], serial, flags });
        };
        flags |= CKF_TOKEN_INITIALIZED;
        flags |= if writable { 0 } else { CKF_WRITE_PROTECTED };
        flags |= if roles[Holder::User as usize] { CKF_USER_PIN_INITIALIZED } else { 0 };
        let low = [
            [CKF_USER_PIN_COUNT_LOW, CKF_USER_PIN_FINAL_TRY, CKF_USER_PIN_LOCKED],
            [CKF_SO_PIN_COUNT_LOW, CKF_SO_PIN_FINAL_TRY, CKF_SO_PIN_LOCKED],
        ];
        for (tries, low) in self.all_tries()?.into_iter().zip(low) {
            flags |= match tries {
                0 => 0,
                tries if tries >= TRIES => low[2],
                tries if tries + 1 == TRIES => low[1],
                _ => low[0],
            };
        }
        Ok(Info { label: header.label, serial: header.serial, flags })
    }

    /// Checks that objects can be made here, with a login.
    ///
    /// # Errors
    /// `CKR_TOKEN_WRITE_PROTECTED`, `CKR_USER_NOT_LOGGED_IN`.
    pub fn may_write(&self) -> Result {
        // Not by the state: a writer has that until its change is on the disk. Where nothing is known (a child of fork, which reads all
        // again) the change itself will tell.
        ensure(!self.read_only.load(Relaxed), CKR_TOKEN_WRITE_PROTECTED)?;
        ensure(self.login().is_some(), CKR_USER_NOT_LOGGED_IN)
    }
}
