//! Encryption and decryption, also together with hashes and signatures.

use super::args::{Out, Room, slice};
use super::params::mechanism;
use super::{calls, digest, module, sign};
use crate::messages::copied;
use crate::objects;
use crate::session::authentication::Pin;
use crate::session::ended::Places;
use crate::session::running::Run;
use crate::session::{Active, Session};
use crate::uses;
use adjunct_mechanisms::operation::Cipher;
use adjunct_mechanisms::rv::{Result, ensure, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

type Ciphering = Run<dyn Cipher>;

const ENCRYPTS: Places<dyn Cipher> = Places { running: encrypts, ended: |active| &mut active.ended.encrypt };
const DECRYPTS: Places<dyn Cipher> = Places { running: decrypts, ended: |active| &mut active.ended.decrypt };

fn encrypts(active: &mut Active) -> &mut Option<Ciphering> {
    &mut active.encrypt
}

fn decrypts(active: &mut Active) -> &mut Option<Ciphering> {
    &mut active.decrypt
}

/// Begins an operation with a key. A mechanism that is null ends the one that runs.
///
/// # Safety
/// `pointer` is null or leads to a mechanism with the parameter that its type wants and in the length that it states; both stay as they are during
/// the call.
unsafe fn begin<const ENCRYPT: bool>(session: &Session, pointer: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) -> Result {
    let (places, usage) = if ENCRYPT { (ENCRYPTS, CKA_ENCRYPT) } else { (DECRYPTS, CKA_DECRYPT) };
    let field = places.running;
    if pointer.is_null() {
        return session.end_running(field);
    }
    // SAFETY: the program that calls C_EncryptInit or C_DecryptInit guarantees that a mechanism stands there, with the parameter that its
    // type wants and in the length that it states, and that both stay as they are during the call.
    let mechanism = unsafe { mechanism(pointer) };
    // Where it is: what was written a moment ago is not to be moved.
    let mechanism = mechanism.as_ref().map_err(|error| *error)?;
    if let Some(strength) = session.begin_again(places, mechanism, key)? {
        uses::count(session, mechanism.kind, strength);
        return Ok(());
    }
    let object = objects::key_for(session, field, key, usage, mechanism.kind)?;
    let (pin, strength) = (Pin::of(&object), object.strength());
    let operation = mechanism.cipher(object, ENCRYPT)?;
    session.begin_running(field, mechanism.kind, pin, operation)?;
    uses::count(session, mechanism.kind, strength);
    Ok(())
}

/// Ends a message into `out`, of `data` more.
fn end<const ENCRYPT: bool>(session: &Session, data: Option<&[u8]>, out: &mut Out<'_>) -> Result {
    let places = if ENCRYPT { ENCRYPTS } else { DECRYPTS };
    // What has come in parts may be long.
    session.work_again(places, data.map_or(usize::MAX, <[u8]>::len), |mut running: Ciphering| {
        if data.is_some() && running.parts {
            return (Some(running), fail(CKR_OPERATION_ACTIVE));
        }
        // Where there is none the result is there.
        let needed = running.operation.as_deref_mut().map_or(0, |operation| match data {
            None => operation.final_length(),
            Some(data) => operation.once_length(data.len()),
        });
        let overlap = data.is_some_and(|data| out.overlaps(data, needed));
        running.end(
            out,
            needed,
            |operation| operation.exact(),
            |operation, room| match data {
                None => operation.finish(room),
                Some(data) if overlap => operation.once(&copied(data)?, room),
                Some(data) => operation.once(data, room),
            },
        )
    })
}

/// Takes a part of a message.
fn update<const ENCRYPT: bool>(session: &Session, part: &[u8], out: &mut Out<'_>) -> Result {
    update_with::<ENCRYPT>(session, part.len(), part, out, nothing, nothing)
}

/// Takes a part of a message. `before` sees it, and `after` the result, once there is room for that. If they use the session, `bytes` is the largest
/// part: the session is not held then.
fn update_with<const ENCRYPT: bool>(
    session: &Session,
    bytes: usize,
    part: &[u8],
    out: &mut Out<'_>,
    before: impl FnOnce(&[u8]) -> Result,
    after: impl FnOnce(&[u8]) -> Result,
) -> Result {
    let places = if ENCRYPT { ENCRYPTS } else { DECRYPTS };
    session.work_again(places, bytes, |mut running: Ciphering| {
        let Some(operation) = running.operation.as_deref_mut() else { return (None, fail(CKR_OPERATION_ACTIVE)) };
        let needed = operation.update_length(part.len());
        let overlap = out.overlaps(part, needed);
        // What is kept until the end comes out then: whoever asks once, and has room for all of that, has enough. A part without bytes is
        // nothing to come back for.
        let asked = if needed == 0 { part.len() } else { needed };
        let result = match out.room_or(needed, asked) {
            Ok(Room::Asked) => return (Some(running), Ok(())),
            Err(error) => return (Some(running), Err(error)),
            Ok(Room::Here(room)) => {
                let copy = if overlap { copied(part) } else { Ok(Zeroizing::new(Vec::new())) };
                copy.and_then(|copy| {
                    let part = if overlap { &copy } else { part };
                    let operation = running.operation()?;
                    before(part)?;
                    let length = operation.update(part, room)?;
                    after(&room[..length])?;
                    Ok(length)
                })
            }
        };
        match result {
            Ok(length) => {
                out.wrote(length);
                running.parts = true;
                (Some(running), Ok(()))
            }
            Err(error) => (None, Err(error)),
        }
    })
}

/// Takes a part that nothing else is done with.
fn nothing(_: &[u8]) -> Result {
    Ok(())
}

calls! {
    /// PKCS #11 5.8.1. A mechanism that is null ends the encryption that runs.
    fn C_EncryptInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            begin::<true>(session, pMechanism, hKey)
        })
    }

    /// PKCS #11 5.8.2.
    fn C_Encrypt(
        hSession: CK_SESSION_HANDLE,
        pData: *mut CK_BYTE,
        ulDataLen: CK_ULONG,
        pEncryptedData: *mut CK_BYTE,
        pulEncryptedDataLen: *mut CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            let mut out = Out::new(pEncryptedData, pulEncryptedDataLen).inspect_err(|_| session.cancel(encrypts))?;
            let data = slice(pData, ulDataLen).inspect_err(|_| session.cancel(encrypts))?;
            end::<true>(session, Some(data), &mut out)
        })
    }

    /// PKCS #11 5.8.3.
    fn C_EncryptUpdate(
        hSession: CK_SESSION_HANDLE,
        pPart: *mut CK_BYTE,
        ulPartLen: CK_ULONG,
        pEncryptedPart: *mut CK_BYTE,
        pulEncryptedPartLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pEncryptedPart, pulEncryptedPartLen).inspect_err(|_| session.cancel(encrypts))?;
        let part = slice(pPart, ulPartLen).inspect_err(|_| session.cancel(encrypts))?;
        update::<true>(&session, part, &mut out)
    }

    /// PKCS #11 5.8.4.
    fn C_EncryptFinal(
        hSession: CK_SESSION_HANDLE,
        pLastEncryptedPart: *mut CK_BYTE,
        pulLastEncryptedPartLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let out = Out::new(pLastEncryptedPart, pulLastEncryptedPartLen);
        end::<true>(&session, None, &mut out.inspect_err(|_| session.cancel(encrypts))?)
    }

    /// PKCS #11 5.10.1. A mechanism that is null ends the decryption that runs.
    fn C_DecryptInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            begin::<false>(session, pMechanism, hKey)
        })
    }

    /// PKCS #11 5.10.2.
    fn C_Decrypt(
        hSession: CK_SESSION_HANDLE,
        pEncryptedData: *mut CK_BYTE,
        ulEncryptedDataLen: CK_ULONG,
        pData: *mut CK_BYTE,
        pulDataLen: *mut CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.in_session(hSession, |session| {
            let mut out = Out::new(pData, pulDataLen).inspect_err(|_| session.cancel(decrypts))?;
            let data = slice(pEncryptedData, ulEncryptedDataLen).inspect_err(|_| session.cancel(decrypts))?;
            end::<false>(session, Some(data), &mut out)
        })
    }

    /// PKCS #11 5.10.3. Mechanisms that authenticate give nothing before the end.
    fn C_DecryptUpdate(
        hSession: CK_SESSION_HANDLE,
        pEncryptedPart: *mut CK_BYTE,
        ulEncryptedPartLen: CK_ULONG,
        pPart: *mut CK_BYTE,
        pulPartLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let mut out = Out::new(pPart, pulPartLen).inspect_err(|_| session.cancel(decrypts))?;
        let part = slice(pEncryptedPart, ulEncryptedPartLen).inspect_err(|_| session.cancel(decrypts))?;
        update::<false>(&session, part, &mut out)
    }

    /// PKCS #11 5.10.4.
    fn C_DecryptFinal(hSession: CK_SESSION_HANDLE, pLastPart: *mut CK_BYTE, pulLastPartLen: *mut CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let out = Out::new(pLastPart, pulLastPartLen);
        end::<false>(&session, None, &mut out.inspect_err(|_| session.cancel(decrypts))?)
    }

    /// PKCS #11 5.17.1.
    fn C_DigestEncryptUpdate(
        hSession: CK_SESSION_HANDLE,
        pPart: *mut CK_BYTE,
        ulPartLen: CK_ULONG,
        pEncryptedPart: *mut CK_BYTE,
        pulEncryptedPartLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(session.runs(|active| &mut active.digest), CKR_OPERATION_NOT_INITIALIZED)?;
        let (mut out, part) = (Out::new(pEncryptedPart, pulEncryptedPartLen)?, slice(pPart, ulPartLen)?);
        update_with::<true>(&session, usize::MAX, part, &mut out, |part| digest::update(&session, part), nothing)
    }

    /// PKCS #11 5.17.2.
    fn C_DecryptDigestUpdate(
        hSession: CK_SESSION_HANDLE,
        pEncryptedPart: *mut CK_BYTE,
        ulEncryptedPartLen: CK_ULONG,
        pPart: *mut CK_BYTE,
        pulPartLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(session.runs(|active| &mut active.digest), CKR_OPERATION_NOT_INITIALIZED)?;
        let (mut out, part) = (Out::new(pPart, pulPartLen)?, slice(pEncryptedPart, ulEncryptedPartLen)?);
        update_with::<false>(&session, usize::MAX, part, &mut out, nothing, |part| digest::update(&session, part))
    }

    /// PKCS #11 5.17.3.
    fn C_SignEncryptUpdate(
        hSession: CK_SESSION_HANDLE,
        pPart: *mut CK_BYTE,
        ulPartLen: CK_ULONG,
        pEncryptedPart: *mut CK_BYTE,
        pulEncryptedPartLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(session.runs(|active| &mut active.sign), CKR_OPERATION_NOT_INITIALIZED)?;
        let (mut out, part) = (Out::new(pEncryptedPart, pulEncryptedPartLen)?, slice(pPart, ulPartLen)?);
        update_with::<true>(&session, usize::MAX, part, &mut out, |part| sign::update_sign(&session, part), nothing)
    }

    /// PKCS #11 5.17.4.
    fn C_DecryptVerifyUpdate(
        hSession: CK_SESSION_HANDLE,
        pEncryptedPart: *mut CK_BYTE,
        ulEncryptedPartLen: CK_ULONG,
        pPart: *mut CK_BYTE,
        pulPartLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(session.runs(|active| &mut active.verify), CKR_OPERATION_NOT_INITIALIZED)?;
        let (mut out, part) = (Out::new(pPart, pulPartLen)?, slice(pEncryptedPart, ulEncryptedPartLen)?);
        update_with::<false>(&session, usize::MAX, part, &mut out, nothing, |part| sign::update_verify(&session, part))
    }
}
