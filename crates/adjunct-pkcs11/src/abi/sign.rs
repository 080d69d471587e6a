//! Signatures and MACs, made and checked.

use super::args::{Out, slice};
use super::params;
use super::{calls, module};
use crate::objects;
use crate::session::authentication::Pin;
use crate::session::ended::Places;
use crate::session::running::{Left, Run};
use crate::session::{Active, Session};
use crate::uses;
use adjunct_mechanisms::mechanism::{self, Mechanism};
use adjunct_mechanisms::operation::{Cipher, Signer, Verifier};
use adjunct_mechanisms::rv::{Result, ensure, fail};
use cryptoki_sys::*;

type Signing = Run<dyn Signer>;
type Verifying = Run<dyn Verifier>;
type Opening = Run<dyn Cipher>;

const SIGNS: Places<dyn Signer> = Places { running: signs, ended: |active| &mut active.ended.sign };
const VERIFIES: Places<dyn Verifier> = Places { running: verifies, ended: |active| &mut active.ended.verify };

fn signs(active: &mut Active) -> &mut Option<Signing> {
    &mut active.sign
}

fn verifies(active: &mut Active) -> &mut Option<Verifying> {
    &mut active.verify
}

fn sign_recovers(active: &mut Active) -> &mut Option<Signing> {
    &mut active.sign_recover
}

fn verify_recovers(active: &mut Active) -> &mut Option<Opening> {
    &mut active.verify_recover
}

/// Begins a signature with a key.
fn begin_sign(session: &Session, mechanism: &Mechanism<'_>, key: CK_OBJECT_HANDLE) -> Result {
    if let Some(strength) = session.begin_again(SIGNS, mechanism, key)? {
        uses::count(session, mechanism.kind, strength);
        return Ok(());
    }
    let object = objects::key_for(session, signs, key, CKA_SIGN, mechanism.kind)?;
    let (pin, strength) = (Pin::of(&object), object.strength());
    let signer = mechanism.signer(object)?;
    session.begin_running(signs, mechanism.kind, pin, signer)?;
    uses::count(session, mechanism.kind, strength);
    Ok(())
}

/// Begins the check of a signature with a key.
fn begin_verify(session: &Session, mechanism: &Mechanism<'_>, key: CK_OBJECT_HANDLE) -> Result {
    if let Some(strength) = session.begin_again(VERIFIES, mechanism, key)? {
        uses::count(session, mechanism.kind, strength);
        return Ok(());
    }
    let object = objects::key_for(session, verifies, key, CKA_VERIFY, mechanism.kind)?;
    let (pin, strength) = (Pin::of(&object), object.strength());
    let verifier = mechanism.verifier(object)?;
    session.begin_running(verifies, mechanism.kind, pin, verifier)?;
    uses::count(session, mechanism.kind, strength);
    Ok(())
}

/// Ends a signature into `out`, of `data` more.
fn end_sign(session: &Session, data: Option<&[u8]>, out: &mut Out<'_>) -> Result {
    session.work_again(SIGNS, data.map_or(0, <[u8]>::len), |running: Signing| end(running, data, out))
}

#[inline(always)]
fn end(mut running: Signing, data: Option<&[u8]>, out: &mut Out<'_>) -> Left<dyn Signer> {
    if data.is_some() && running.parts {
        return (Some(running), fail(CKR_OPERATION_ACTIVE));
    }
    let Some(operation) = running.operation.as_mut() else { return (None, fail(CKR_FUNCTION_FAILED)) };
    let length = operation.length();
    running.end(
        out,
        length,
        |_| true,
        |operation, room| match data {
            Some(data) => operation.once(data, room),
            None => operation.finish(room),
        },
    )
}

/// Takes a part of the data that is signed.
pub fn update_sign(session: &Session, part: &[u8]) -> Result {
    session.work_again(SIGNS, part.len(), |mut running: Signing| {
        running.parts = true;
        match running.operation().and_then(|operation| operation.update(part)) {
            Ok(()) => (Some(running), Ok(())),
            Err(error) => (None, Err(error)),
        }
    })
}

/// Takes a part of the data that was signed.
pub fn update_verify(session: &Session, part: &[u8]) -> Result {
    session.work_again(VERIFIES, part.len(), |mut running: Verifying| {
        running.parts = true;
        match running.operation().and_then(|operation| operation.update(part)) {
            Ok(()) => (Some(running), Ok(())),
            Err(error) => (None, Err(error)),
        }
    })
}

/// Ends the check of a signature, of `data` more.
fn end_verify(session: &Session, data: Option<&[u8]>, signature: &[u8]) -> Result {
    session.work_again(VERIFIES, data.map_or(0, <[u8]>::len), |mut running: Verifying| {
        if data.is_some() && running.parts {
            return (Some(running), fail(CKR_OPERATION_ACTIVE));
        }
        let operation = match running.operation() {
            Ok(operation) => operation,
            Err(error) => return (None, Err(error)),
        };
        let result = operation.update(data.unwrap_or_default()).and_then(|()| operation.finish(signature));
        running.over = true;
        (Some(running), result)
    })
}

/// Opens a signature into `out`.
fn open(session: &Session, signature: &[u8], out: &mut Out<'_>) -> Result {
    session.work(verify_recovers, |running: Opening| {
        let needed = running.operation.as_ref().map_or(0, |operation| operation.once_length(signature.len()));
        // The data may lie where the signature does.
        let signature = signature.to_vec();
        running.end(out, needed, |_| false, |operation, room| operation.once(&signature, room))
    })
}

/// The signature that C_VerifySignatureInit was given.
fn signature(session: &Session) -> Result<Vec<u8>> {
    session.take(|active| &mut active.signature)
}

calls! {
    /// PKCS #11 5.13.1. A mechanism that is null ends the signature that runs.
    fn C_SignInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            if pMechanism.is_null() {
                return session.end_running(signs);
            }
            begin_sign(session, params::mechanism(pMechanism).as_ref().map_err(|error| *error)?, hKey)
        })
    }

    /// PKCS #11 5.13.2.
    fn C_Sign(
        hSession: CK_SESSION_HANDLE,
        pData: *mut CK_BYTE,
        ulDataLen: CK_ULONG,
        pSignature: *mut CK_BYTE,
        pulSignatureLen: *mut CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            let mut out = Out::new(pSignature, pulSignatureLen).inspect_err(|_| session.cancel(signs))?;
            let data = slice(pData, ulDataLen).inspect_err(|_| session.cancel(signs))?;
            end_sign(session, Some(data), &mut out)
        })
    }

    /// PKCS #11 5.13.3.
    fn C_SignUpdate(hSession: CK_SESSION_HANDLE, pPart: *mut CK_BYTE, ulPartLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        update_sign(&session, slice(pPart, ulPartLen).inspect_err(|_| session.cancel(signs))?)
    }

    /// PKCS #11 5.13.4.
    fn C_SignFinal(hSession: CK_SESSION_HANDLE, pSignature: *mut CK_BYTE, pulSignatureLen: *mut CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pSignature, pulSignatureLen).inspect_err(|_| session.cancel(signs))?;
        end_sign(&session, None, &mut out)
    }

    /// PKCS #11 5.13.5. A mechanism that is null ends the signature that runs.
    fn C_SignRecoverInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        if pMechanism.is_null() {
            return session.end_running(sign_recovers);
        }
        ensure(!session.runs(sign_recovers), CKR_OPERATION_ACTIVE)?;
        let mechanism = params::mechanism(pMechanism)?;
        let object = objects::key(&session, hKey, CKA_SIGN_RECOVER, mechanism.kind)?;
        let (pin, strength) = (Pin::of(&object), object.strength());
        let signer = mechanism::recover::signer(mechanism, object)?;
        session.begin_running(sign_recovers, mechanism.kind, pin, signer)?;
        uses::count(&session, mechanism.kind, strength);
        Ok(())
    }

    /// PKCS #11 5.13.6.
    fn C_SignRecover(
        hSession: CK_SESSION_HANDLE,
        pData: *mut CK_BYTE,
        ulDataLen: CK_ULONG,
        pSignature: *mut CK_BYTE,
        pulSignatureLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pSignature, pulSignatureLen).inspect_err(|_| session.cancel(sign_recovers))?;
        let data = slice(pData, ulDataLen).inspect_err(|_| session.cancel(sign_recovers))?;
        session.work(sign_recovers, |running| end(running, Some(data), &mut out))
    }

    /// PKCS #11 5.15.1. A mechanism that is null ends the check that runs.
    fn C_VerifyInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            if pMechanism.is_null() {
                return session.end_running(verifies);
            }
            begin_verify(session, params::mechanism(pMechanism).as_ref().map_err(|error| *error)?, hKey)
        })
    }

    /// PKCS #11 5.15.2.
    fn C_Verify(
        hSession: CK_SESSION_HANDLE,
        pData: *mut CK_BYTE,
        ulDataLen: CK_ULONG,
        pSignature: *mut CK_BYTE,
        ulSignatureLen: CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            let data = slice(pData, ulDataLen).inspect_err(|_| session.cancel(verifies))?;
            let signature = slice(pSignature, ulSignatureLen).inspect_err(|_| session.cancel(verifies))?;
            end_verify(session, Some(data), signature)
        })
    }

    /// PKCS #11 5.15.3.
    fn C_VerifyUpdate(hSession: CK_SESSION_HANDLE, pPart: *mut CK_BYTE, ulPartLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        update_verify(&session, slice(pPart, ulPartLen).inspect_err(|_| session.cancel(verifies))?)
    }

    /// PKCS #11 5.15.4.
    fn C_VerifyFinal(hSession: CK_SESSION_HANDLE, pSignature: *mut CK_BYTE, ulSignatureLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        end_verify(&session, None, slice(pSignature, ulSignatureLen).inspect_err(|_| session.cancel(verifies))?)
    }

    /// PKCS #11 5.15.5. A mechanism that is null ends the one that runs.
    fn C_VerifyRecoverInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        if pMechanism.is_null() {
            return session.end_running(verify_recovers);
        }
        ensure(!session.runs(verify_recovers), CKR_OPERATION_ACTIVE)?;
        let mechanism = params::mechanism(pMechanism)?;
        let object = objects::key(&session, hKey, CKA_VERIFY_RECOVER, mechanism.kind)?;
        let opener = mechanism::recover::opener(mechanism, object.key()?)?;
        session.begin_running(verify_recovers, mechanism.kind, Pin::of(&object), opener)?;
        uses::count(&session, mechanism.kind, object.strength());
        Ok(())
    }

    /// PKCS #11 5.15.6.
    fn C_VerifyRecover(
        hSession: CK_SESSION_HANDLE,
        pSignature: *mut CK_BYTE,
        ulSignatureLen: CK_ULONG,
        pData: *mut CK_BYTE,
        pulDataLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pData, pulDataLen).inspect_err(|_| session.cancel(verify_recovers))?;
        let signature = slice(pSignature, ulSignatureLen).inspect_err(|_| session.cancel(verify_recovers))?;
        open(&session, signature, &mut out)
    }

    /// PKCS #11 5.15.7: the signature comes before the data.
    fn C_VerifySignatureInit(
        hSession: CK_SESSION_HANDLE,
        pMechanism: *mut CK_MECHANISM,
        hKey: CK_OBJECT_HANDLE,
        pSignature: *mut CK_BYTE,
        ulSignatureLen: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        if pMechanism.is_null() {
            session.cancel(|active| &mut active.signature);
            return session.end_running(verifies);
        }
        let signature = slice(pSignature, ulSignatureLen)?.to_vec();
        begin_verify(&session, params::mechanism(pMechanism).as_ref().map_err(|error| *error)?, hKey)?;
        session.put(|active| &mut active.signature, signature);
        Ok(())
    }

    /// PKCS #11 5.15.8.
    fn C_VerifySignature(hSession: CK_SESSION_HANDLE, pData: *mut CK_BYTE, ulDataLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let data = slice(pData, ulDataLen)?;
        end_verify(&session, Some(data), &signature(&session)?)
    }

    /// PKCS #11 5.15.9.
    fn C_VerifySignatureUpdate(hSession: CK_SESSION_HANDLE, pPart: *mut CK_BYTE, ulPartLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(session.runs(|active| &mut active.signature), CKR_OPERATION_NOT_INITIALIZED)?;
        update_verify(&session, slice(pPart, ulPartLen)?)
    }

    /// PKCS #11 5.15.10.
    fn C_VerifySignatureFinal(hSession: CK_SESSION_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let signature = signature(&session)?;
        end_verify(&session, None, &signature)
    }
}
