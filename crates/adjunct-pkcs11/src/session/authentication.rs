//! The PIN for each use of a key (CKA_ALWAYS_AUTHENTICATE): which uses still need it, and for which it was given.
//!
//! Every use of a key is one of two. An operation that a C_*Init begins has a [`Pin`] with it, made of its key, which is asked before the operation
//! works; C_Login with CKU_CONTEXT_SPECIFIC gives it. A call that begins and ends by itself (C_UnwrapKey, C_DeriveKey, C_DecapsulateKey, C_WrapKey of
//! such a key) asks [`Session::use_at_once`]: the standard has no moment for a login there, so the first call fails, the login refers to that call,
//! and the next call may use the same key once. One login is for one use: that which began last.

use super::{Active, Session};
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::rv::{Result, ensure};
use cryptoki_sys::*;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Whether an operation waits for the PIN. Those that do have a number each; 0 waits for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pin(u64);

impl Pin {
    /// The mark of an operation without a key, or of one that was restored from a saved state: it waits for no PIN.
    pub const NOT_WANTED: Pin = Pin(0);

    /// The mark of an operation that begins with `key`.
    #[inline]
    pub fn of(key: &Object) -> Pin {
        if key.wants_the_pin() { Pin(NEXT.fetch_add(1, Relaxed)) } else { Pin::NOT_WANTED }
    }

    /// Whether the operation still waits.
    #[inline]
    pub fn is_wanted(self) -> bool {
        self.0 != 0
    }

    /// Checks that the operation may work: its PIN was given, or it wants none.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`.
    #[inline]
    pub fn was_given(self) -> Result {
        ensure(!self.is_wanted(), CKR_USER_NOT_LOGGED_IN)
    }
}

/// The use of a key by a single call: it failed because the PIN was not given, or it may be made now.
#[derive(Debug, Default)]
pub(super) struct AtOnce {
    key: CK_OBJECT_HANDLE,
    pin: Pin,
}

impl Active {
    /// Calls `body` for each operation of the session that may wait for the PIN.
    fn each_pin(&mut self, mut body: impl FnMut(&mut Pin)) {
        macro_rules! each {
            ($($field:ident)*) => { $(
                if let Some(running) = &mut self.$field {
                    body(&mut running.pin);
                }
            )* };
        }
        each!(encrypt decrypt sign verify sign_recover verify_recover);
        each!(message_encrypt message_decrypt message_sign message_verify);
        body(&mut self.at_once.pin);
    }
}

impl Session {
    /// Checks that a call which begins and ends with this key may use it.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`: once the PIN is given, the next call may.
    pub fn use_at_once(&self, handle: CK_OBJECT_HANDLE, key: &Object) -> Result {
        if !key.wants_the_pin() {
            return Ok(());
        }
        self.hold(|active| {
            let before = std::mem::take(&mut active.at_once);
            if before.key != handle || before.pin.is_wanted() {
                active.at_once = AtOnce { key: handle, pin: Pin::of(key) };
            }
            active.at_once.pin.was_given()
        })
    }

    /// Gives the PIN, which `check` checks, to the use that began last of those that wait for it.
    ///
    /// # Errors
    /// `CKR_OPERATION_NOT_INITIALIZED` where none waits, and those of `check`.
    pub fn give_pin(&self, check: impl FnOnce() -> Result) -> Result {
        let mut last = Pin::NOT_WANTED;
        self.hold(|active| active.each_pin(|pin| last.0 = last.0.max(pin.0)));
        ensure(last.is_wanted(), CKR_OPERATION_NOT_INITIALIZED)?;
        // Nothing is held meanwhile: that takes a while.
        check()?;
        let mut found = false;
        self.hold(|active| {
            active.each_pin(|pin| {
                if *pin == last {
                    (*pin, found) = (Pin::NOT_WANTED, true);
                }
            });
        });
        ensure(found, CKR_OPERATION_NOT_INITIALIZED)
    }
}
