//! Sessions: those who are logged in, and their PIN blobs.
//!
//! A session's identifier is an HMAC of the PIN and the nonce under a key derived of the wrapping key: cards with the same wrapping key give the same. The
//! PIN blob has 80 bytes: the identifier (32), the wrapping key's identifier (16), an HMAC of both (32). Who has it may make keys that are bound to the
//! session, and end the session; the PIN is not in it.

use crate::admin::login as extended;
use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, ensure};
use crate::keys::{Domain, Purpose, hmac};
use adjunct_ep11_wire::blob::{SESSION, WKID_LENGTH};
use adjunct_ep11_wire::codes::{control, rv};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bytes of a PIN blob.
pub const PIN_BLOB: usize = SESSION + WKID_LENGTH + 32;
/// Lengths of a PIN.
const PIN: std::ops::RangeInclusive<usize> = 8..=16;
/// The longest nonce.
const NONCE: usize = 64;

/// The identifier of a session.
pub type Id = [u8; SESSION];

/// The sessions that are logged in.
pub struct Sessions {
    list: Mutex<BTreeSet<(u8, Id)>>,
    /// The most of a domain.
    most: usize,
}

impl Sessions {
    pub(crate) fn new(most: usize) -> Sessions {
        Sessions { list: Mutex::default(), most }
    }

    fn list(&self) -> MutexGuard<'_, BTreeSet<(u8, Id)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most sessions of a domain.
    pub fn most(&self) -> usize {
        self.most
    }

    /// How many sessions a domain has.
    pub fn count(&self, domain: u8) -> usize {
        self.of(domain).len()
    }

    /// The sessions of a domain.
    pub fn of(&self, domain: u8) -> Vec<Id> {
        self.list().range((domain, [0; SESSION])..=(domain, [0xff; SESSION])).map(|(_, id)| *id).collect()
    }

    /// Checks that a session is logged in.
    ///
    /// # Errors
    /// `CKR_SESSION_CLOSED`.
    pub fn check(&self, domain: u8, id: &Id) -> Result {
        ensure(self.list().contains(&(domain, *id)), rv::SESSION_CLOSED)
    }

    /// Ends a session; whether there was one.
    pub fn remove(&self, domain: u8, id: &Id) -> bool {
        self.list().remove(&(domain, *id))
    }

    /// Ends all sessions of a domain.
    pub fn remove_all(&self, domain: u8) {
        self.list().retain(|(other, _)| *other != domain);
    }

    /// Begins a session, which may be logged in already.
    ///
    /// # Errors
    /// `CKR_DEVICE_MEMORY` where the domain has as many as it may have.
    pub fn add(&self, domain: u8, id: Id) -> Result {
        let mut list = self.list();
        let count = list.range((domain, [0; SESSION])..=(domain, [0xff; SESSION])).count();
        ensure(count < self.most || list.contains(&(domain, id)), rv::DEVICE_MEMORY)?;
        list.insert((domain, id));
        Ok(())
    }
}

fn identifier(domain: &Domain, pin: &[u8], nonce: &[u8]) -> Result<Id> {
    let mut id = [0; SESSION];
    let key = domain.sealing()?.encrypting(Purpose::Session);
    hmac(key, &[&[pin.len() as u8], pin, nonce], &mut id)?;
    // A blob that begins with it is never taken for DER, and never for one without a session.
    id[0] = id[0] & 0x7f | 0x80;
    Ok(id)
}

/// m_Login.
pub(crate) fn login(context: &Context<'_>) -> Result<Results> {
    let (pin, nonce) = (context.argument(0), context.argument(1));
    context.allow(&[control::LOGIN_PRE_F2021])?;
    ensure(PIN.contains(&pin.len()), rv::PIN_LEN_RANGE)?;
    ensure(nonce.len() <= NONCE, rv::ARGUMENTS_BAD)?;
    let key = context.domain.sealing()?;
    let id = identifier(&context.domain, pin, nonce)?;
    let mut blob = Zeroizing::new(Vec::with_capacity(PIN_BLOB));
    blob.extend_from_slice(&id);
    blob.extend_from_slice(key.id());
    let mut mac = [0; 32];
    hmac(key.authenticating(Purpose::Session), &[&blob], &mut mac)?;
    blob.extend_from_slice(&mac);
    context.module.sessions.add(context.number, id)?;
    Ok(vec![blob])
}

/// The identifier of the session of a PIN blob.
fn open(context: &Context<'_>, blob: &[u8]) -> Result<Id> {
    if blob.len() == extended::PIN_BLOB {
        return extended::open(context, blob);
    }
    let whole: &[u8; PIN_BLOB] = blob.try_into().map_err(|_| Rv(rv::PIN_INCORRECT))?;
    let (head, mac) = whole.split_at(SESSION + WKID_LENGTH);
    let mut id = [0; SESSION];
    id.copy_from_slice(&head[..SESSION]);
    let wkid = head[SESSION..].first_chunk().ok_or(Rv(rv::PIN_INCORRECT))?;
    let key = context.domain.opening(wkid)?;
    let mut sum = [0; 32];
    hmac(key.authenticating(Purpose::Session), &[head], &mut sum)?;
    ensure(bool::from(sum.ct_eq(mac)), rv::PIN_INCORRECT)?;
    Ok(id)
}

/// The session that a new key is bound to, by the PIN blob of a request; zeros where that is empty.
///
/// # Errors
/// `CKR_PIN_INCORRECT` for what is no PIN blob; `CKR_SESSION_CLOSED`; `CKR_FUNCTION_CANCELED` where only keys of sessions are allowed.
pub fn of_argument(context: &Context<'_>, blob: &[u8]) -> Result<Id> {
    let id = if blob.is_empty() { [0; SESSION] } else { open(context, blob)? };
    context.session(&id)?;
    Ok(id)
}

/// m_Logout.
pub(crate) fn logout(context: &Context<'_>) -> Result<Results> {
    let id = open(context, context.argument(0))?;
    ensure(context.module.sessions.remove(context.number, &id), rv::SESSION_CLOSED)?;
    Ok(Vec::<Bytes>::new())
}
