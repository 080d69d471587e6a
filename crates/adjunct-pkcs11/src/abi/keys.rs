//! Keys: made, wrapped, unwrapped, derived, encapsulated.

use super::args::{Out, Room, slice, slice_mut, template, value};
use super::params::{mechanism, read};
use super::{calls, derive, module};
use crate::key_management::{self as keys, Encapsulating, Leaving, decapsulate};
use crate::session::Session;
use adjunct_mechanisms::keys::wrapping::with_aad;
use adjunct_mechanisms::mechanism::iv::Generator;
use adjunct_mechanisms::rv::{Result, ensure};
use cryptoki_sys::*;

calls! {
    /// PKCS #11 5.18.1.
    fn C_GenerateKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        pTemplate: *mut CK_ATTRIBUTE,
        ulCount: CK_ULONG,
        phKey: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let place = value(phKey)?;
        let template = template(pTemplate, ulCount)?;
        *place = keys::generate(&session, hSession.into(), mechanism(pMechanism)?, template)?.get();
        Ok(())
    }

    /// PKCS #11 5.18.2.
    fn C_GenerateKeyPair(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        pPublicKeyTemplate: *mut CK_ATTRIBUTE,
        ulPublicKeyAttributeCount: CK_ULONG,
        pPrivateKeyTemplate: *mut CK_ATTRIBUTE,
        ulPrivateKeyAttributeCount: CK_ULONG,
        phPublicKey: *mut CK_OBJECT_HANDLE,
        phPrivateKey: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let (public, private) = (value(phPublicKey)?, value(phPrivateKey)?);
        let public_template = template(pPublicKeyTemplate, ulPublicKeyAttributeCount)?;
        let private_template = template(pPrivateKeyTemplate, ulPrivateKeyAttributeCount)?;
        let mechanism = mechanism(pMechanism)?;
        let made = keys::generate_pair(&session, hSession.into(), mechanism, public_template, private_template)?;
        (*public, *private) = (made.0.get(), made.1.get());
        Ok(())
    }

    /// PKCS #11 5.18.3.
    fn C_WrapKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hWrappingKey: CK_OBJECT_HANDLE,
        hKey: CK_OBJECT_HANDLE,
        pWrappedKey: *mut CK_BYTE,
        pulWrappedKeyLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let out = Out::new(pWrappedKey, pulWrappedKeyLen)?;
        fill_iv(pMechanism)?;
        wrap(&session, keys::wrap(&session, mechanism(pMechanism)?, hWrappingKey, hKey)?, out)
    }

    /// PKCS #11 5.18.4.
    fn C_UnwrapKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hUnwrappingKey: CK_OBJECT_HANDLE,
        pWrappedKey: *mut CK_BYTE,
        ulWrappedKeyLen: CK_ULONG,
        pTemplate: *mut CK_ATTRIBUTE,
        ulAttributeCount: CK_ULONG,
        phKey: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let (place, template) = (value(phKey)?, template(pTemplate, ulAttributeCount)?);
        let (mechanism, wrapped) = (mechanism(pMechanism)?, slice(pWrappedKey, ulWrappedKeyLen)?);
        *place = keys::unwrap(&session, hSession.into(), mechanism, hUnwrappingKey, wrapped, template)?.get();
        Ok(())
    }

    /// PKCS #11 5.18.5.
    fn C_DeriveKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hBaseKey: CK_OBJECT_HANDLE,
        pTemplate: *mut CK_ATTRIBUTE,
        ulAttributeCount: CK_ULONG,
        phKey: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let template = template(pTemplate, ulAttributeCount)?;
        derive::derive(&session, hSession.into(), pMechanism, hBaseKey, template, phKey)
    }

    /// PKCS #11 5.18.8.
    fn C_EncapsulateKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hPublicKey: CK_OBJECT_HANDLE,
        pTemplate: *mut CK_ATTRIBUTE,
        ulAttributeCount: CK_ULONG,
        pCiphertext: *mut CK_BYTE,
        pulCiphertextLen: *mut CK_ULONG,
        phKey: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pCiphertext, pulCiphertextLen)?;
        let encapsulating = Encapsulating::new(&session, mechanism(pMechanism)?, hPublicKey)?;
        if let Room::Here(room) = out.room(encapsulating.length()?)? {
            let (place, template) = (value(phKey)?, template(pTemplate, ulAttributeCount)?);
            *place = encapsulating.run(&session, hSession.into(), template, room)?.get();
        }
        Ok(())
    }

    /// PKCS #11 5.18.9.
    fn C_DecapsulateKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hPrivateKey: CK_OBJECT_HANDLE,
        pTemplate: *mut CK_ATTRIBUTE,
        ulAttributeCount: CK_ULONG,
        pCiphertext: *mut CK_BYTE,
        ulCiphertextLen: CK_ULONG,
        phKey: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let (place, mechanism) = (value(phKey)?, mechanism(pMechanism)?);
        let (template, ciphertext) = (template(pTemplate, ulAttributeCount)?, slice(pCiphertext, ulCiphertextLen)?);
        *place = decapsulate(&session, hSession.into(), mechanism, hPrivateKey, template, ciphertext)?.get();
        Ok(())
    }

    /// PKCS #11 5.18.6. The tag stands behind the key.
    fn C_WrapKeyAuthenticated(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hWrappingKey: CK_OBJECT_HANDLE,
        hKey: CK_OBJECT_HANDLE,
        pAssociatedData: *mut CK_BYTE,
        ulAssociatedDataLen: CK_ULONG,
        pWrappedKey: *mut CK_BYTE,
        pulWrappedKeyLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let out = Out::new(pWrappedKey, pulWrappedKeyLen)?;
        fill_iv(pMechanism)?;
        let aad = slice(pAssociatedData, ulAssociatedDataLen)?;
        let mechanism = with_aad(mechanism(pMechanism)?, aad)?;
        wrap(&session, keys::wrap(&session, mechanism, hWrappingKey, hKey)?, out)
    }

    /// PKCS #11 5.18.7.
    fn C_UnwrapKeyAuthenticated(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hUnwrappingKey: CK_OBJECT_HANDLE,
        pWrappedKey: *mut CK_BYTE,
        ulWrappedKeyLen: CK_ULONG,
        pTemplate: *mut CK_ATTRIBUTE,
        ulAttributeCount: CK_ULONG,
        pAssociatedData: *mut CK_BYTE,
        ulAssociatedDataLen: CK_ULONG,
        phKey: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let (place, template) = (value(phKey)?, template(pTemplate, ulAttributeCount)?);
        let (aad, wrapped) = (slice(pAssociatedData, ulAssociatedDataLen)?, slice(pWrappedKey, ulWrappedKeyLen)?);
        let mechanism = with_aad(mechanism(pMechanism)?, aad)?;
        *place = keys::unwrap(&session, hSession.into(), mechanism, hUnwrappingKey, wrapped, template)?.get();
        Ok(())
    }
}

/// Writes a wrapped key, or its length.
fn wrap(session: &Session, leaving: Leaving, mut out: Out<'_>) -> Result {
    if let Room::Here(room) = out.room(leaving.length())? {
        let length = leaving.wrap(session, room)?;
        out.wrote(length);
    }
    Ok(())
}

/// Makes the IV of a key that is wrapped, where its parameter asks for that. One key is wrapped by one call, so that there is nothing to count: the
/// IV is random, whichever generator was asked for.
///
/// # Safety
/// `mechanism` is null or leads to a mechanism with the structure of parameters that has the stated length; no other code uses the IV that the
/// structure points to.
unsafe fn fill_iv(mechanism: *const CK_MECHANISM) -> Result {
    ensure(!mechanism.is_null() && mechanism.is_aligned(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: not null and aligned, both checked above; the program that wraps a key guarantees that a mechanism stands there, with the
    // structure of parameters that has the stated length, and that nobody else uses the IV that the structure points to.
    unsafe {
        let size = (*mechanism).ulParameterLen as usize;
        let (iv, fixed, generator) = match (*mechanism).mechanism {
            CKM_AES_GCM if size == size_of::<CK_GCM_WRAP_PARAMS>() => {
                let given: CK_GCM_WRAP_PARAMS = read(&*mechanism)?;
                (slice_mut(given.pIv, given.ulIvLen)?, given.ulIvFixedBits, given.ivGenerator)
            }
            CKM_AES_CCM if size == size_of::<CK_CCM_WRAP_PARAMS>() => {
                let given: CK_CCM_WRAP_PARAMS = read(&*mechanism)?;
                (slice_mut(given.pNonce, given.ulNonceLen)?, given.ulNonceFixedBits, given.nonceGenerator)
            }
            _ => return Ok(()),
        };
        if generator == CKG_NO_GENERATE { Ok(()) } else { Generator::random(iv, fixed) }
    }
}
