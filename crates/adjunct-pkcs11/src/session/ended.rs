//! Operations whose message has ended: a session keeps one of each kind, for the next message under the same key by the same mechanism. That
//! takes neither memory nor another owner of the key.

use super::running::Run;
use super::{Active, Field, Session};
use adjunct::counters::Strength;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::object::{Object, address};
use adjunct_mechanisms::operation::{Again, Cipher, Digester, Follows, Signer, Verifier};
use adjunct_mechanisms::rv::{Result, ensure};
use cryptoki_sys::*;

/// Ended operations of a session, kept for reuse. Their keys are among those that the session keeps.
#[derive(Default)]
pub struct AllEnded {
    pub encrypt: Option<Run<dyn Cipher>>,
    pub decrypt: Option<Run<dyn Cipher>>,
    pub digest: Option<Run<dyn Digester>>,
    pub sign: Option<Run<dyn Signer>>,
    pub verify: Option<Run<dyn Verifier>>,
}

impl AllEnded {
    /// Drops ended operations with a key that the session no longer keeps.
    pub fn forget(&mut self, key: &Object) {
        fn forget<O: ?Sized>(place: &mut Option<Run<O>>, gone: usize) {
            let of_it = |run: &Run<O>| matches!(run.follows, Follows::While { key, .. } if key == gone);
            if place.as_ref().is_some_and(of_it) {
                *place = None;
            }
        }
        let key = address(key);
        forget(&mut self.encrypt, key);
        forget(&mut self.decrypt, key);
        forget(&mut self.sign, key);
        forget(&mut self.verify, key);
    }
}

/// The fields with the running operation of a kind, and with the one that waits for the next message.
pub struct Places<O: ?Sized> {
    pub running: Field<Run<O>>,
    pub ended: Field<Run<O>>,
}

impl<O: ?Sized> Clone for Places<O> {
    fn clone(&self) -> Places<O> {
        *self
    }
}

impl<O: ?Sized> Copy for Places<O> {}

impl Session {
    /// Begins another message by the operation that ended last, if it was of this mechanism and key (0: none); how strong that is. `None`:
    /// an operation is to be made.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` where one runs that does not give way.
    #[inline]
    pub fn begin_again<O: ?Sized + Again>(
        &self,
        places: Places<O>,
        mechanism: &Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<Option<Strength>> {
        self.hold(|active| {
            if self.gives_way {
                active.give_way();
            }
            ensure((places.running)(active).is_none(), CKR_OPERATION_ACTIVE)?;
            let Some(run) = (places.ended)(active) else { return Ok(None) };
            if run.mechanism != mechanism.kind {
                return Ok(None);
            }
            let strength = match run.follows {
                Follows::Never => return Ok(None),
                Follows::Always => Strength::None,
                // What it may be used for was asked when the operation was made, and is the same as long as it is this object; but not who
                // is logged in.
                Follows::While { key: own, private } => match active.kept(key) {
                    Some((kept, strength)) if kept == own && self.sees(private) => strength,
                    _ => return Ok(None),
                },
            };
            let place = (places.ended)(active);
            let operation = place.as_mut().and_then(|run| run.operation.as_mut());
            if !operation.is_some_and(|operation| operation.again(&mechanism.params)) {
                return Ok(None);
            }
            let again = place.take();
            *(places.running)(active) = again;
            Ok(Some(strength))
        })
    }

    /// Whether this session sees a key now that is private, or not.
    #[inline]
    fn sees(&self, private: bool) -> bool {
        !private || self.slot.token.sees_private()
    }
}

impl Active {
    /// Ends all operations but searches. Those of other kinds, too: a state that is saved would be theirs as well, or could not be had.
    fn give_way(&mut self) {
        (self.encrypt, self.decrypt, self.digest, self.signature) = (None, None, None, None);
        (self.sign, self.verify, self.sign_recover, self.verify_recover) = (None, None, None, None);
        (self.message_encrypt, self.message_decrypt) = (None, None);
        (self.message_sign, self.message_verify) = (None, None);
    }

    /// Puts an operation back, or, if its message has ended and another may follow, to where it waits for that; what is to be dropped.
    #[inline]
    pub(super) fn put<O: ?Sized + Again>(&mut self, places: Places<O>, mut run: Run<O>) -> Option<Run<O>> {
        if !run.over {
            return (places.running)(self).replace(run);
        }
        (run.parts, run.over) = (false, false);
        let keeps = match run.follows {
            Follows::Never => false,
            Follows::Always => true,
            Follows::While { key, .. } => self.keeps(key),
        };
        match &mut run.operation {
            Some(operation) if keeps => operation.rest(),
            _ => return Some(run),
        }
        (places.ended)(self).replace(run)
    }

    /// The object of a handle, if it is kept and has not changed, and how strong it is.
    #[inline]
    fn kept(&self, handle: CK_OBJECT_HANDLE) -> Option<(usize, Strength)> {
        let (found, owner) = self.kept.iter().find(|used| used.handle == handle)?.found.as_ref()?;
        let object: &Object = &owner.0;
        found.is_current().then(|| (address(object), object.strength()))
    }

    /// Whether an object is kept.
    #[inline]
    fn keeps(&self, key: usize) -> bool {
        self.kept.iter().any(|used| used.found.as_ref().is_some_and(|(_, owner)| address(&owner.0) == key))
    }
}
