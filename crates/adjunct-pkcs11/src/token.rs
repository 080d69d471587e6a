//! Tokens: what a slot holds, who is logged in, and its objects.

use crate::handle::Handle;
use crate::object::complete::Defaults;
use crate::object::table::Table;
use crate::rv::{Result, fail};
use cryptoki_sys::*;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicUsize};

/// Who is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum User {
    Nobody = 0,
    User = 1,
    SecurityOfficer = 2,
}

/// Counters of sessions: a session counts in one of them, so that threads that open and close theirs do not meet.
const SHARDS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard {
    sessions: AtomicUsize,
    read_write: AtomicUsize,
}

/// A token.
#[derive(Debug)]
pub struct Token {
    pub label: &'static str,
    pub model: &'static str,
    pub serial: &'static str,
    /// `CKF_` of C_GetTokenInfo, less what depends on the state.
    pub flags: CK_FLAGS,
    pub defaults: Defaults,
    pub objects: Table,
    user: AtomicU8,
    shards: [Shard; SHARDS],
}

impl Token {
    /// The accelerator token: no login, session objects, keys that may do all their type can.
    pub fn accelerator() -> Token {
        Token {
            label: "icatok",
            model: "ICA",
            serial: "0000000000000001",
            flags: CKF_RNG | CKF_TOKEN_INITIALIZED | CKF_DUAL_CRYPTO_OPERATIONS,
            defaults: Defaults { open: true },
            objects: Table::new(),
            user: AtomicU8::new(User::Nobody as u8),
            shards: Default::default(),
        }
    }

    /// Who is logged in.
    pub fn user(&self) -> User {
        match self.user.load(Acquire) {
            1 => User::User,
            2 => User::SecurityOfficer,
            _ => User::Nobody,
        }
    }

    /// Whether private objects are seen.
    pub fn sees_private(&self) -> bool {
        self.user() == User::User || self.flags & CKF_LOGIN_REQUIRED == 0
    }

    /// Whether objects that stay can be made here.
    pub fn keeps_objects(&self) -> bool {
        false
    }

    /// Logs a user in.
    ///
    /// # Errors
    /// `CKR_USER_ALREADY_LOGGED_IN`, `CKR_USER_ANOTHER_ALREADY_LOGGED_IN`; `CKR_USER_TYPE_INVALID` for one that the token has not.
    pub fn login(&self, user: CK_USER_TYPE, _pin: Option<&[u8]>) -> Result {
        match (user, self.user()) {
            (CKU_USER, User::User) | (CKU_SO, User::SecurityOfficer) => fail(CKR_USER_ALREADY_LOGGED_IN),
            (CKU_USER | CKU_SO, User::User | User::SecurityOfficer) => fail(CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
            (CKU_CONTEXT_SPECIFIC, _) => fail(CKR_OPERATION_NOT_INITIALIZED),
            // Whoever logs in though nobody has to is let in: programs do, with any PIN.
            (CKU_USER, User::Nobody) => {
                self.user.store(User::User as u8, Relaxed);
                Ok(())
            }
            _ => fail(CKR_USER_TYPE_INVALID),
        }
    }

    /// Logs out; private session objects end.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`.
    pub fn logout(&self) -> Result {
        if self.user.swap(User::Nobody as u8, AcqRel) == User::Nobody as u8 {
            return fail(CKR_USER_NOT_LOGGED_IN);
        }
        if self.flags & CKF_LOGIN_REQUIRED != 0 {
            self.objects.remove_all(|place| place.session().is_some() && place.object().is_private());
        }
        Ok(())
    }

    /// Counts a session that opens; where it counts.
    pub fn opened(&self, read_write: bool) -> usize {
        let shard = shard();
        self.shards[shard].sessions.fetch_add(1, Relaxed);
        if read_write {
            self.shards[shard].read_write.fetch_add(1, Relaxed);
        }
        shard
    }

    /// Counts one that closes. With the last, the login ends.
    pub fn closed(&self, session: Handle, shard: usize, read_write: bool) {
        self.objects.end_session(session);
        let counts = &self.shards[shard];
        if read_write {
            counts.read_write.fetch_sub(1, Relaxed);
        }
        let last = counts.sessions.fetch_sub(1, AcqRel) == 1;
        if last && self.user() != User::Nobody && self.sessions().0 == 0 {
            let _ = self.logout();
        }
    }

    /// The sessions that are open, and those of them that may write.
    pub fn sessions(&self) -> (usize, usize) {
        let sum = |which: fn(&Shard) -> &AtomicUsize| self.shards.iter().map(|shard| which(shard).load(Acquire)).sum();
        (sum(|shard| &shard.sessions), sum(|shard| &shard.read_write))
    }
}

/// Where this thread's sessions count.
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
