//! Keys that sessions generate, wrap, unwrap, derive, encapsulate and decapsulate (PKCS #11 5.18): by which keys, and where the new ones go.

use crate::handle::Handle;
use crate::objects::{self, insert};
use crate::session::Session;
use crate::uses;
use adjunct::counters::Strength;
use adjunct_mechanisms::keys;
use adjunct_mechanisms::keys::derive::Deriving as Derives;
use adjunct_mechanisms::keys::encapsulate::{self, Encapsulating as Encapsulates};
use adjunct_mechanisms::keys::wrapping::{self, Leaving as Leaves};
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::derive::{Derivation, tls};
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::Defaults;
use adjunct_mechanisms::object::{Held, Object};
use adjunct_mechanisms::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

fn defaults(session: &Session) -> Defaults {
    session.slot().token.defaults
}

/// C_GenerateKey.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate(session: &Session, own: Handle, mechanism: Mechanism<'_>, template: Attributes) -> Result<Handle> {
    let object = keys::generate(defaults(session), mechanism, template)?;
    let strength = object.strength();
    let handle = insert(session, own, object)?;
    uses::count(session, mechanism.kind, strength);
    Ok(handle)
}

/// C_GenerateKeyPair: the public key's handle, and the private key's.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate_pair(
    session: &Session,
    own: Handle,
    mechanism: Mechanism<'_>,
    public: Attributes,
    private: Attributes,
) -> Result<(Handle, Handle)> {
    let pair = keys::generate_pair(defaults(session), mechanism, public, private)?;
    let strength = pair[1].strength();
    let handles = objects::insert_all(session, own, pair)?;
    uses::count(session, mechanism.kind, strength);
    match handles[..] {
        [public, private] => Ok((public, private)),
        _ => fail(CKR_FUNCTION_FAILED),
    }
}

/// A key that is about to be wrapped.
pub struct Leaving {
    leaves: Leaves,
    key: (CK_OBJECT_HANDLE, Arc<Object>),
    /// Strength of the wrapping key.
    strength: Strength,
    mechanism: CK_MECHANISM_TYPE,
}

/// Finds the key that wraps or unwraps, for a mechanism that does.
fn wrapping_key(session: &Session, mechanism: Mechanism<'_>, key: CK_OBJECT_HANDLE, wrap: bool) -> Result<Held> {
    let (usage, flag, handle) = if wrap {
        (CKA_WRAP, CKF_WRAP, CKR_WRAPPING_KEY_HANDLE_INVALID)
    } else {
        (CKA_UNWRAP, CKF_UNWRAP, CKR_UNWRAPPING_KEY_HANDLE_INVALID)
    };
    // Said before anything of the key.
    mechanism.is_for(flag)?;
    objects::key_at_once(session, key, usage, mechanism.kind).map_err(|error| match error {
        Rv(CKR_KEY_HANDLE_INVALID) => Rv(handle),
        error => error,
    })
}

/// C_WrapKey, C_WrapKeyAuthenticated: prepares the wrapping; the caller knows where the result goes.
///
/// # Errors
/// Those of the mechanism; `CKR_WRAPPING_KEY_HANDLE_INVALID` and its kin, `CKR_KEY_HANDLE_INVALID`, `CKR_KEY_UNEXTRACTABLE`,
/// `CKR_KEY_NOT_WRAPPABLE`.
pub fn wrap(
    session: &Session,
    mechanism: Mechanism<'_>,
    wrapping: CK_OBJECT_HANDLE,
    handle: CK_OBJECT_HANDLE,
) -> Result<Leaving> {
    let with = wrapping_key(session, mechanism, wrapping, true)?;
    let key = objects::get(session, handle.into()).map_err(|_| Rv(CKR_KEY_HANDLE_INVALID))?;
    let leaves = wrapping::wrap(mechanism, &with, &key)?;
    Ok(Leaving { leaves, key: (handle, key), strength: with.strength(), mechanism: mechanism.kind })
}

impl Leaving {
    /// How long the result is.
    pub fn length(&self) -> usize {
        self.leaves.length()
    }

    /// Writes the wrapped key; gives its length.
    ///
    /// # Errors
    /// Those of [`Leaves::wrap`]; `CKR_USER_NOT_LOGGED_IN` of a key that wants the PIN first: elsewhere it would be used without.
    pub fn wrap(self, session: &Session, out: &mut [u8]) -> Result<usize> {
        session.use_at_once(self.key.0, &self.key.1)?;
        let length = self.leaves.wrap(out)?;
        uses::count(session, self.mechanism, self.strength);
        Ok(length)
    }
}

/// C_UnwrapKey, C_UnwrapKeyAuthenticated.
///
/// # Errors
/// Those of [`wrapping::unwrap`]; `CKR_UNWRAPPING_KEY_HANDLE_INVALID`.
pub fn unwrap(
    session: &Session,
    own: Handle,
    mechanism: Mechanism<'_>,
    unwrapping: CK_OBJECT_HANDLE,
    wrapped: &[u8],
    template: Attributes,
) -> Result<Handle> {
    let with = wrapping_key(session, mechanism, unwrapping, false)?;
    let object = wrapping::unwrap(defaults(session), mechanism, &with, wrapped, template)?;
    let handle = insert(session, own, object)?;
    uses::count(session, mechanism.kind, with.strength());
    Ok(handle)
}

/// A derivation that runs: the session, and the keys it takes.
#[derive(Debug)]
pub struct Deriving<'a> {
    session: &'a Session,
    own: Handle,
    derives: Derives,
}

/// The parts of TLS's key block.
#[derive(Debug)]
pub struct KeyMaterial {
    /// The client's, then the server's; 0 where there are none.
    pub macs: [CK_OBJECT_HANDLE; 2],
    pub keys: [CK_OBJECT_HANDLE; 2],
    pub ivs: [Zeroizing<Vec<u8>>; 2],
}

impl<'a> Deriving<'a> {
    /// Finds the keys, which must all be there for derivations.
    ///
    /// # Errors
    /// `CKR_KEY_HANDLE_INVALID`, `CKR_KEY_FUNCTION_NOT_PERMITTED`, `CKR_MECHANISM_INVALID`.
    pub fn new(
        session: &'a Session,
        own: Handle,
        mechanism: CK_MECHANISM_TYPE,
        derivation: &Derivation<'_>,
        base: CK_OBJECT_HANDLE,
    ) -> Result<Deriving<'a>> {
        let key = |handle| objects::key_at_once(session, handle, CKA_DERIVE, mechanism);
        let base = key(base)?;
        let others = derivation.others().into_iter().map(key).collect::<Result<_>>()?;
        Ok(Deriving { session, own, derives: Derives::new(defaults(session), base, others) })
    }

    /// How strong the base key is.
    pub fn strength(&self) -> Strength {
        self.derives.strength()
    }

    /// The base key's value.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT` where it is no secret key.
    pub fn base_value(&self) -> Result<&[u8]> {
        self.derives.base_value()
    }

    fn insert(&self, object: Object) -> Result<Handle> {
        insert(self.session, self.own, object)
    }

    /// Puts all objects there, or none.
    fn insert_all(&self, objects: impl IntoIterator<Item = Object>) -> Result<Vec<Handle>> {
        let mut handles = Vec::new();
        for object in objects {
            match self.insert(object) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    let table = &self.session.slot().token.objects;
                    handles.into_iter().for_each(|handle| _ = table.remove(handle));
                    return Err(error);
                }
            }
        }
        Ok(handles)
    }

    /// Derives a key, or a data object where `data`.
    ///
    /// # Errors
    /// Those of the derivation and of templates.
    pub fn one(&self, derivation: &Derivation<'_>, template: Attributes, data: bool) -> Result<Handle> {
        self.insert(self.derives.one(derivation, template, data)?)
    }

    /// A key, and others besides. The place of the template that is wrong comes with the error.
    ///
    /// # Errors
    /// Those of the derivation and of templates.
    pub fn several(
        &self,
        derivation: &Derivation<'_>,
        template: Attributes,
    ) -> std::result::Result<Vec<Handle>, (Option<usize>, Rv)> {
        let objects = self.derives.several(derivation, template)?;
        self.insert_all(objects).map_err(|error| (None, error))
    }

    /// TLS's MAC keys, keys and IVs.
    ///
    /// # Errors
    /// Those of [`Derives::key_block`].
    pub fn key_block(&self, keys: &tls::Keys<'_>, template: Attributes) -> Result<KeyMaterial> {
        let block = self.derives.key_block(keys, template)?;
        let there = [block.macs.is_some(), block.keys.is_some()];
        let objects = block.macs.into_iter().flatten().chain(block.keys.into_iter().flatten());
        let mut handles = self.insert_all(objects)?.into_iter();
        let [macs, keys] =
            there.map(|there| [(); 2].map(|()| if there { handles.next().map_or(0, Handle::get) } else { 0 }));
        Ok(KeyMaterial { macs, keys, ivs: block.ivs })
    }
}

/// An encapsulation by a session's public key.
#[derive(Debug)]
pub struct Encapsulating(Encapsulates);

impl Encapsulating {
    /// Finds the key.
    ///
    /// # Errors
    /// Those of keys and mechanisms.
    pub fn new(session: &Session, mechanism: Mechanism<'_>, public: CK_OBJECT_HANDLE) -> Result<Encapsulating> {
        // Said before anything of the key.
        encapsulate::check(mechanism)?;
        let key = objects::key_at_once(session, public, CKA_ENCAPSULATE, mechanism.kind)?;
        Encapsulates::new(mechanism, key).map(Encapsulating)
    }

    /// The length of the ciphertext.
    ///
    /// # Errors
    /// None of a key that [`Encapsulating::new`] has found.
    pub fn length(&self) -> Result<usize> {
        self.0.length()
    }

    /// Makes a secret key, and its ciphertext in `out`, of [`Encapsulating::length`] bytes.
    ///
    /// # Errors
    /// Those of templates.
    pub fn run(self, session: &Session, own: Handle, template: Attributes, out: &mut [u8]) -> Result<Handle> {
        let object = self.0.run(defaults(session), template, out)?;
        let handle = insert(session, own, object)?;
        uses::count(session, CKM_ML_KEM, self.0.key().strength());
        Ok(handle)
    }
}

/// C_DecapsulateKey.
///
/// # Errors
/// Those of [`encapsulate::decapsulate`], and of keys.
pub fn decapsulate(
    session: &Session,
    own: Handle,
    mechanism: Mechanism<'_>,
    private: CK_OBJECT_HANDLE,
    template: Attributes,
    ciphertext: &[u8],
) -> Result<Handle> {
    // Said before anything of the key.
    encapsulate::check(mechanism)?;
    let key = objects::key_at_once(session, private, CKA_DECAPSULATE, mechanism.kind)?;
    let object = encapsulate::decapsulate(defaults(session), mechanism, &key, template, ciphertext)?;
    let handle = insert(session, own, object)?;
    uses::count(session, mechanism.kind, key.strength());
    Ok(handle)
}
