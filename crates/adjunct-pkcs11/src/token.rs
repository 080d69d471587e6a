//! Tokens: what a slot holds, who is logged in, and its objects.

use crate::slot::Standing;
use crate::store::{Holder, Info, Store};
use crate::table::Table;
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::{self, Defaults};
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize};

/// The role that is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LoggedIn {
    Nobody = 0,
    User = 1,
    SecurityOfficer = 2,
}

/// Counters of sessions: a session counts in one of them, so that threads that open and close theirs do not meet.
const SHARDS: usize = 64;

/// Sessions in the lower half, and those of them that may write in the upper.
#[derive(Debug)]
#[repr(align(64))]
struct Shard(AtomicU64);

impl Shard {
    const fn one(read_write: bool) -> u64 {
        if read_write { 1 << 32 | 1 } else { 1 }
    }
}

/// A slot, with its token.
#[derive(Debug)]
pub struct Slot {
    pub id: CK_SLOT_ID,
    pub token: Token,
}

/// A token.
#[derive(Debug)]
pub struct Token {
    pub model: &'static str,
    pub defaults: Defaults,
    pub objects: Table,
    holding: Holding,
    user: AtomicU8,
    shards: [Shard; SHARDS],
}

/// The contents of a token: a store, or nothing.
#[derive(Debug)]
enum Holding {
    /// A store of objects that stay.
    Store(Box<Store>),
    /// The accelerator stores nothing, and needs no login. The function is called where a program wants more of it.
    Nothing(fn()),
}

/// The profiles that a token which keeps objects conforms to (PKCS #11 Profiles 3.2, 5). The profile of public certificates is not among them: their
/// owner may make certificates private, and give them other identifiers than their keys have.
const PROFILES: [CK_PROFILE_ID; 4] =
    [CKP_BASELINE_PROVIDER, CKP_EXTENDED_PROVIDER, CKP_AUTHENTICATION_TOKEN, CKP_HKDF_TLS_TOKEN];

impl Token {
    /// The accelerator token: no login, session objects, keys that may do all their type can. `refused` is called where a program wants it to
    /// keep objects, or to have PINs.
    pub fn accelerator(objects: Table, refused: fn()) -> Token {
        Token::new("ICA", Defaults { open: true }, objects, Holding::Nothing(refused))
    }

    /// A token with PINs and objects that stay.
    pub fn kept(objects: Table, store: Store) -> Token {
        Token::new("Store", Defaults { open: false }, objects, Holding::Store(Box::new(store)))
    }

    /// The token of a child of fork that initializes the module: the same one, with nothing that the parent has made of it.
    pub fn anew(&self) -> Token {
        let objects = self.objects.anew();
        match &self.holding {
            Holding::Store(store) => Token::kept(objects, store.anew()),
            Holding::Nothing(refused) => Token::accelerator(objects, *refused),
        }
    }

    fn new(model: &'static str, defaults: Defaults, objects: Table, holding: Holding) -> Token {
        let user = AtomicU8::new(LoggedIn::Nobody as u8);
        let token =
            Token { model, defaults, objects, holding, user, shards: [const { Shard(AtomicU64::new(0)) }; SHARDS] };
        for profile in PROFILES.iter().filter(|_| token.store().is_some()) {
            // Without it a program only knows less.
            let _ = profile_object(*profile).map(|profile| token.objects.insert(profile, None));
        }
        token
    }

    /// The store of the token's objects; `None` for the accelerator.
    fn store(&self) -> Option<&Store> {
        match &self.holding {
            Holding::Store(store) => Some(store),
            Holding::Nothing(_) => None,
        }
    }

    /// The token's store, for a program that wants objects to stay, or PINs. For the accelerator calls `refused`, and the result is `error`.
    fn wanted(&self, error: CK_RV) -> Result<&Store> {
        match &self.holding {
            Holding::Store(store) => Ok(store),
            Holding::Nothing(refused) => {
                refused();
                fail(error)
            }
        }
    }

    /// The token's standing in the list of slots. `again`: as it is now; else by what the last call found.
    pub fn standing(&self, again: bool) -> Standing {
        self.store().map_or(Standing::Accelerator, |store| store.standing(again))
    }

    /// The token's information (`C_GetTokenInfo`).
    ///
    /// # Errors
    /// Those of [`Store::refresh`].
    pub fn info(&self, slot: CK_SLOT_ID) -> Result<Info> {
        match self.store() {
            Some(store) => store.info(&self.objects, slot),
            None => {
                let mut label = [b' '; 32];
                label[..6].copy_from_slice(b"icatok");
                // Whoever logs in though nobody has to needs no PIN: OpenSSH asks its user for one, where a token has no keys, unless
                // the token says so.
                let flags =
                    CKF_RNG | CKF_TOKEN_INITIALIZED | CKF_DUAL_CRYPTO_OPERATIONS | CKF_PROTECTED_AUTHENTICATION_PATH;
                Ok(Info { label, serial: *b"0000000000000001", flags })
            }
        }
    }

    /// Sees what other processes have made of its objects.
    ///
    /// # Errors
    /// Those of [`Store::refresh`].
    pub fn refresh(&self) -> Result {
        if let Some(store) = self.store()
            && !store.refresh(&self.objects)?
        {
            self.ended();
        }
        Ok(())
    }

    /// Whether sessions can be opened.
    ///
    /// # Errors
    /// `CKR_TOKEN_NOT_INITIALIZED`, and those of [`Store::refresh`].
    pub fn must_be_initialized(&self) -> Result {
        self.store().map_or(Ok(()), |store| store.must_be_initialized(&self.objects))
    }

    /// The role that is logged in.
    pub fn user(&self) -> LoggedIn {
        match self.user.load(Acquire) {
            1 => LoggedIn::User,
            2 => LoggedIn::SecurityOfficer,
            _ => LoggedIn::Nobody,
        }
    }

    /// Whether private objects are seen.
    pub fn sees_private(&self) -> bool {
        self.store().is_none() || self.user() == LoggedIn::User
    }

    /// The store for objects that are made now.
    ///
    /// # Errors
    /// `CKR_TOKEN_WRITE_PROTECTED`, `CKR_USER_NOT_LOGGED_IN`.
    pub fn keeping(&self) -> Result<&Store> {
        let store = self.wanted(CKR_TOKEN_WRITE_PROTECTED)?;
        store.may_write().map(|()| store)
    }

    /// A token with PINs.
    fn with_pins(&self) -> Result<&Store> {
        self.wanted(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// Logs a user in.
    ///
    /// # Errors
    /// `CKR_USER_ALREADY_LOGGED_IN`, `CKR_USER_ANOTHER_ALREADY_LOGGED_IN`; `CKR_USER_TYPE_INVALID` for a type of user that the token does not have;
    /// those of [`Store::check_pin`].
    pub fn login(&self, user: CK_USER_TYPE, pin: &[u8]) -> Result {
        let (user, holder) = match user {
            CKU_USER => (LoggedIn::User, Holder::User),
            CKU_SO => (LoggedIn::SecurityOfficer, Holder::SecurityOfficer),
            _ => return fail(CKR_USER_TYPE_INVALID),
        };
        match self.user() {
            LoggedIn::Nobody => {}
            other if other == user => return fail(CKR_USER_ALREADY_LOGGED_IN),
            _ => return fail(CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
        }
        match self.store() {
            Some(store) => {
                // Another thread may log in meanwhile: it waits its turn, and finds that somebody is.
                let enter = || self.user.compare_exchange(LoggedIn::Nobody as u8, user as u8, AcqRel, Acquire);
                store.log_in(&self.objects, holder, pin, || enter().is_ok())?;
            }
            // Whoever logs in though nobody has to is let in: programs do, with any PIN. A security officer there is not.
            None if user == LoggedIn::User => self.user.store(LoggedIn::User as u8, Relaxed),
            None => return self.wanted(CKR_USER_TYPE_INVALID).map(drop),
        }
        Ok(())
    }

    /// Checks the user's PIN once more, for a key that wants that. Where it is locked by now, the user is logged out.
    ///
    /// # Errors
    /// Those of [`Store::check_pin`]; `CKR_USER_NOT_LOGGED_IN`; `CKR_PIN_LOCKED` also of the try that locks it.
    pub fn check_again(&self, pin: &[u8]) -> Result {
        let Some(store) = self.store() else { return Ok(()) };
        ensure(self.user() == LoggedIn::User, CKR_USER_NOT_LOGGED_IN)?;
        let checked = store.check_pin(&self.objects, Holder::User, pin);
        let wrong = matches!(checked, Err(Rv(CKR_PIN_INCORRECT | CKR_PIN_LOCKED)));
        if wrong && store.info(&self.objects, 0)?.flags & CKF_USER_PIN_LOCKED != 0 {
            let _ = self.logout();
            return fail(CKR_PIN_LOCKED);
        }
        checked
    }

    /// C_InitToken.
    ///
    /// # Errors
    /// `CKR_SESSION_EXISTS`, `CKR_FUNCTION_NOT_SUPPORTED` of a token that is what it is; those of [`Store::initialize`].
    pub fn initialize(&self, pin: &[u8], label: &[u8; 32]) -> Result {
        let store = self.with_pins()?;
        ensure(self.sessions().0 == 0, CKR_SESSION_EXISTS)?;
        store.initialize(&self.objects, pin, label, false)
    }

    /// C_InitPIN.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN` if the security officer is not, `CKR_FUNCTION_NOT_SUPPORTED`; those of [`Store::initialize_pin`].
    pub fn initialize_pin(&self, pin: &[u8]) -> Result {
        let store = self.with_pins()?;
        ensure(self.user() == LoggedIn::SecurityOfficer, CKR_USER_NOT_LOGGED_IN)?;
        store.initialize_pin(&self.objects, pin)
    }

    /// C_SetPIN: changes the PIN of the user who is logged in, else the user's.
    ///
    /// # Errors
    /// `CKR_FUNCTION_NOT_SUPPORTED`; those of [`Store::set_pin`].
    pub fn set_pin(&self, old: &[u8], new: &[u8]) -> Result {
        let store = self.with_pins()?;
        let holder = if self.user() == LoggedIn::SecurityOfficer { Holder::SecurityOfficer } else { Holder::User };
        store.set_pin(&self.objects, holder, old, new)
    }

    /// Logs out; private session objects end.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`.
    pub fn logout(&self) -> Result {
        if self.user.swap(LoggedIn::Nobody as u8, AcqRel) == LoggedIn::Nobody as u8 {
            return fail(CKR_USER_NOT_LOGGED_IN);
        }
        if let Some(store) = self.store() {
            store.log_out();
            self.ended();
        }
        Ok(())
    }

    /// Ends the login: private objects are removed from memory.
    fn ended(&self) {
        self.user.store(LoggedIn::Nobody as u8, Relaxed);
        self.objects.remove_all(|place| place.object().is_private());
    }

    /// Counts a session that opens; gives the index of its counter.
    pub fn opened(&self, read_write: bool) -> usize {
        let shard = shard();
        self.shards[shard].0.fetch_add(Shard::one(read_write), Relaxed);
        shard
    }

    /// Counts a session that closes. With the last one, the login ends.
    pub fn closed(&self, shard: usize, read_write: bool) {
        let last = self.shards[shard].0.fetch_sub(Shard::one(read_write), AcqRel) as u32 == 1;
        if last && self.user() != LoggedIn::Nobody && self.sessions().0 == 0 {
            let _ = self.logout();
        }
    }

    /// The sessions that are open, and those of them that may write.
    pub fn sessions(&self) -> (usize, usize) {
        let sum: u64 = self.shards.iter().map(|shard| shard.0.load(Acquire)).sum();
        (sum as u32 as usize, (sum >> 32) as usize)
    }
}

/// The object that says which profile of the standard a token keeps to.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
fn profile_object(profile: CK_PROFILE_ID) -> Result<Object> {
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, CKO_PROFILE)?;
    attributes.set_number(CKA_PROFILE_ID, profile)?;
    attributes.set_bool(CKA_TOKEN, true)?;
    for kind in [CKA_PRIVATE, CKA_MODIFIABLE, CKA_COPYABLE, CKA_DESTROYABLE] {
        attributes.set_bool(kind, false)?;
    }
    attributes.set(CKA_LABEL, b"")?;
    complete::new_unique_id(&mut attributes)?;
    Ok(Object::new(attributes))
}

/// Index of the counter where this thread's sessions count.
fn shard() -> usize {
    use std::cell::Cell;
    thread_local! {
        static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    SHARD.with(|shard| {
        if shard.get() == usize::MAX {
            shard.set(NEXT.fetch_add(1, Relaxed) % SHARDS);
        }
        shard.get()
    })
}
