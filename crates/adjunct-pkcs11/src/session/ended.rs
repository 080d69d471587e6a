//! Operations whose message has ended: a session keeps one of each kind, for the next message under the same key by the same mechanism. That
//! takes neither memory nor another owner of the key.

use super::running::Run;
use super::{Active, Field, Session};
use crate::mechanism::Mechanism;
use crate::object::{Held, Object};
use crate::operation::{Again, Cipher, Signer, Verifier};
use crate::rv::{Result, ensure};
use adjunct::counters::Strength;
use cryptoki_sys::*;

/// An operation between two messages.
pub struct Ended<O: ?Sized> {
    /// The address of its key: the operation is an owner of it, so that no other object is there.
    key: usize,
    run: Run<O>,
}

/// Those of a session. Their keys are among those that the session keeps.
#[derive(Default)]
pub struct AllEnded {
    pub encrypt: Option<Ended<dyn Cipher>>,
    pub decrypt: Option<Ended<dyn Cipher>>,
    pub sign: Option<Ended<dyn Signer>>,
    pub verify: Option<Ended<dyn Verifier>>,
}

impl AllEnded {
    /// Takes away those with a key that the session keeps no more.
    pub fn forget(&mut self, key: &Object) {
        fn forget<O: ?Sized>(place: &mut Option<Ended<O>>, key: usize) {
            if place.as_ref().is_some_and(|ended| ended.key == key) {
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

fn address(object: &Object) -> usize {
    std::ptr::from_ref(object).addr()
}

/// Where operations of a kind run, and where one waits for the next message.
pub struct Places<O: ?Sized> {
    pub running: Field<Run<O>>,
    pub ended: Field<Ended<O>>,
}

impl<O: ?Sized> Clone for Places<O> {
    fn clone(&self) -> Places<O> {
        *self
    }
}

impl<O: ?Sized> Copy for Places<O> {}

impl Session {
    /// Begins another message by the operation that ended last, if it was of this mechanism and key; how strong that is. `None`: an
    /// operation is to be made.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` where one runs.
    #[inline]
    pub fn begin_again<O: ?Sized + Again>(
        &self,
        places: Places<O>,
        mechanism: &Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<Option<Strength>> {
        self.hold(|active| {
            ensure((places.running)(active).is_none(), CKR_OPERATION_ACTIVE)?;
            let Some((object, strength)) = active.kept(key) else { return Ok(None) };
            // What it may be used for was asked when the operation was made, and is the same as long as it is this object; but not who is
            // logged in.
            let place = (places.ended)(active);
            let Some(ended) = place else { return Ok(None) };
            let Some(operation) = &mut ended.run.operation else { return Ok(None) };
            let same = ended.run.mechanism == mechanism.kind && ended.key == object;
            if !same || !self.sees(&**operation) || !operation.again(&mechanism.params) {
                return Ok(None);
            }
            let again = place.take().map(|ended| ended.run);
            *(places.running)(active) = again;
            Ok(Some(strength))
        })
    }

    /// Whether the key of an operation is one that this session sees now.
    #[inline]
    fn sees<O: ?Sized + Again>(&self, operation: &O) -> bool {
        operation.key().is_some_and(|key| !key.is_private() || self.slot.token.sees_private())
    }

    /// Keeps an operation whose message has ended, if another may follow and the session keeps its key.
    #[inline]
    pub(super) fn keep_ended<O: ?Sized + Again>(&self, place: Field<Ended<O>>, mut run: Run<O>) {
        (run.parts, run.over) = (false, false);
        let Some(operation) = &mut run.operation else { return };
        operation.rest();
        let Some(Held::Kept(owner)) = operation.key() else { return };
        // Of such a key each operation waits for the PIN.
        if owner.0.wants_the_pin() {
            return;
        }
        let key = address(&owner.0);
        let old = self.hold(|active| {
            let ended = Ended { key, run };
            if active.keeps(key) { place(active).replace(ended) } else { Some(ended) }
        });
        drop(old);
    }
}

impl Active {
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
