//! Keys: made, wrapped, unwrapped, derived, encapsulated.

use super::args::{Out, template, value};
use super::params::mechanism;
use super::{calls, module};
use crate::keys;
use crate::rv::fail;
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
        _hWrappingKey: CK_OBJECT_HANDLE,
        _hKey: CK_OBJECT_HANDLE,
        pWrappedKey: *mut CK_BYTE,
        pulWrappedKeyLen: *mut CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        let (_out, _) = (Out::new(pWrappedKey, pulWrappedKeyLen)?, mechanism(pMechanism)?);
        fail(CKR_MECHANISM_INVALID)
    }

    /// PKCS #11 5.18.4.
    fn C_UnwrapKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        _hUnwrappingKey: CK_OBJECT_HANDLE,
        _pWrappedKey: *mut CK_BYTE,
        _ulWrappedKeyLen: CK_ULONG,
        _pTemplate: *mut CK_ATTRIBUTE,
        _ulAttributeCount: CK_ULONG,
        _phKey: *mut CK_OBJECT_HANDLE,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        mechanism(pMechanism)?;
        fail(CKR_MECHANISM_INVALID)
    }

    /// PKCS #11 5.18.5.
    fn C_DeriveKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        _hBaseKey: CK_OBJECT_HANDLE,
        _pTemplate: *mut CK_ATTRIBUTE,
        _ulAttributeCount: CK_ULONG,
        _phKey: *mut CK_OBJECT_HANDLE,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        mechanism(pMechanism)?;
        fail(CKR_MECHANISM_INVALID)
    }

    /// PKCS #11 5.18.8.
    fn C_EncapsulateKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        _hPublicKey: CK_OBJECT_HANDLE,
        _pTemplate: *mut CK_ATTRIBUTE,
        _ulAttributeCount: CK_ULONG,
        _pCiphertext: *mut CK_BYTE,
        _pulCiphertextLen: *mut CK_ULONG,
        _phKey: *mut CK_OBJECT_HANDLE,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        mechanism(pMechanism)?;
        fail(CKR_MECHANISM_INVALID)
    }

    /// PKCS #11 5.18.9.
    fn C_DecapsulateKey(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        _hPrivateKey: CK_OBJECT_HANDLE,
        _pTemplate: *mut CK_ATTRIBUTE,
        _ulAttributeCount: CK_ULONG,
        _pCiphertext: *mut CK_BYTE,
        _ulCiphertextLen: CK_ULONG,
        _phKey: *mut CK_OBJECT_HANDLE,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        mechanism(pMechanism)?;
        fail(CKR_MECHANISM_INVALID)
    }

    /// PKCS #11 5.18.6.
    fn C_WrapKeyAuthenticated(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        _hWrappingKey: CK_OBJECT_HANDLE,
        _hKey: CK_OBJECT_HANDLE,
        _pAssociatedData: *mut CK_BYTE,
        _ulAssociatedDataLen: CK_ULONG,
        _pWrappedKey: *mut CK_BYTE,
        _pulWrappedKeyLen: *mut CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        mechanism(pMechanism)?;
        fail(CKR_MECHANISM_INVALID)
    }

    /// PKCS #11 5.18.7.
    fn C_UnwrapKeyAuthenticated(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        _hUnwrappingKey: CK_OBJECT_HANDLE,
        _pWrappedKey: *mut CK_BYTE,
        _ulWrappedKeyLen: CK_ULONG,
        _pTemplate: *mut CK_ATTRIBUTE,
        _ulAttributeCount: CK_ULONG,
        _pAssociatedData: *mut CK_BYTE,
        _ulAssociatedDataLen: CK_ULONG,
        _phKey: *mut CK_OBJECT_HANDLE,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        mechanism(pMechanism)?;
        fail(CKR_MECHANISM_INVALID)
    }
}
