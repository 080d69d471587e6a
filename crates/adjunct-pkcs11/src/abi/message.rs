//! Operations of many messages with one key (PKCS #11 5.9, 5.11, 5.14, 5.16).

use super::args::{Out, Room, slice, slice_mut, value};
use super::params::mechanism;
use super::{calls, module};
use crate::messages::{Ciphering, Parameter, Signing, copied};
use crate::objects;
use crate::session::{Active, Field, Session};
use crate::uses;
use adjunct_mechanisms::mechanism::aead::AeadKind;
use adjunct_mechanisms::operation::{Signer, Verifier};
use adjunct_mechanisms::rv::{Result, Rv, ensure};
use cryptoki_sys::*;
use std::ffi::c_void;

fn encrypts(active: &mut Active) -> &mut Option<Box<Ciphering>> {
    &mut active.message_encrypt
}

fn decrypts(active: &mut Active) -> &mut Option<Box<Ciphering>> {
    &mut active.message_decrypt
}

fn signs(active: &mut Active) -> &mut Option<Box<Signing<dyn Signer>>> {
    &mut active.message_sign
}

fn verifies(active: &mut Active) -> &mut Option<Box<Signing<dyn Verifier>>> {
    &mut active.message_verify
}

/// Works on messages, which go on whatever becomes of one.
fn work<M, R>(session: &Session, field: Field<Box<M>>, body: impl FnOnce(&mut M) -> Result<R>) -> Result<R> {
    let mut messages = session.take(field)?;
    let result = body(&mut messages);
    session.put(field, messages);
    result
}

/// Ends messages, unless one of them is begun.
fn end<M>(session: &Session, field: Field<Box<M>>, is_between: impl FnOnce(&M) -> bool) -> Result {
    work(session, field, |messages| ensure(is_between(messages), CKR_OPERATION_ACTIVE))?;
    session.cancel(field);
    Ok(())
}

unsafe fn structure<T: Copy>(pointer: *mut c_void, length: CK_ULONG) -> Result<T> {
    let fits = length as usize == size_of::<T>() && !pointer.is_null();
    ensure(fits, CKR_MECHANISM_PARAM_INVALID)?;
    // SAFETY: not null, and as long as a `T`, both checked here; the caller of `parameter` guarantees that the mechanism's structure stands
    // where that length is given. The read needs no alignment.
    Ok(unsafe { pointer.cast::<T>().read_unaligned() })
}

/// The parameter of a message.
///
/// # Safety
/// Unless it is null, what the mechanism wants stands there where the length is that of its structure, and lives with all that it points to, which
/// is nobody else's, for as long as the result is used.
unsafe fn parameter<'a>(kind: AeadKind, pointer: *mut c_void, length: CK_ULONG) -> Result<Parameter<'a>> {
    let invalid = |_| Rv(CKR_MECHANISM_PARAM_INVALID);
    // SAFETY: the caller guarantees that the mechanism's structure stands at `pointer` where `length` is that of the structure, and that the
    // nonce and the tag that it points to live, in the lengths that it states, and are nobody else's as long as the result is used.
    unsafe {
        let (nonce, fixed, generator, tag) = match kind {
            AeadKind::Gcm => {
                let given: CK_GCM_MESSAGE_PARAMS = structure(pointer, length)?;
                ensure(given.ulTagBits.is_multiple_of(8), CKR_MECHANISM_PARAM_INVALID)?;
                let (nonce, tag) = ((given.pIv, given.ulIvLen), (given.pTag, given.ulTagBits / 8));
                (nonce, given.ulIvFixedBits, given.ivGenerator, tag)
            }
            AeadKind::Ccm => {
                let given: CK_CCM_MESSAGE_PARAMS = structure(pointer, length)?;
                let (nonce, tag) = ((given.pNonce, given.ulNonceLen), (given.pMAC, given.ulMACLen));
                (nonce, given.ulNonceFixedBits, given.nonceGenerator, tag)
            }
            AeadKind::ChaChaPoly => {
                let given: CK_SALSA20_CHACHA20_POLY1305_MSG_PARAMS = structure(pointer, length)?;
                ((given.pNonce, given.ulNonceLen), 0, CKG_NO_GENERATE, (given.pTag, 16))
            }
        };
        let nonce = slice_mut(nonce.0, nonce.1).map_err(invalid)?;
        let tag = slice_mut(tag.0, tag.1).map_err(invalid)?;
        Ok(Parameter { nonce, fixed, generator, tag })
    }
}

/// Begins messages with a key. A mechanism that is null ends those that run.
///
/// # Safety
/// `pointer` is null or leads to a mechanism with the parameter that its type wants and in the length that it states; both stay as they are during
/// the call.
unsafe fn begin_ciphers(session: &Session, pointer: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE, encrypt: bool) -> Result {
    let (field, usage): (Field<Box<Ciphering>>, _) =
        if encrypt { (encrypts, CKA_ENCRYPT) } else { (decrypts, CKA_DECRYPT) };
    if pointer.is_null() {
        return session.end_running(field);
    }
    ensure(!session.runs(field), CKR_OPERATION_ACTIVE)?;
    // Whatever parameter is there, each message brings its own.
    // SAFETY: not null (checked above); the program that calls C_MessageEncryptInit or C_MessageDecryptInit guarantees a mechanism there.
    let kind = unsafe { value(pointer)? }.mechanism;
    let object = objects::key(session, key, usage, kind)?;
    let strength = object.strength();
    session.begin(field, Box::new(Ciphering::new(kind, object, encrypt)?))?;
    uses::count(session, kind, strength);
    Ok(())
}

/// A call's arguments: where the parameter of a message stands.
type Given = (*mut c_void, CK_ULONG);

unsafe fn message(
    session: &Session,
    field: Field<Box<Ciphering>>,
    given: Given,
    aad: &[u8],
    text: &[u8],
    mut out: Out<'_>,
) -> Result {
    work(session, field, |messages| {
        let overlap = out.overlaps(text, text.len());
        let Room::Here(room) = out.room(text.len())? else { return Ok(()) };
        // SAFETY: the program that calls C_EncryptMessage or C_DecryptMessage guarantees that `given` is null or its mechanism's parameter,
        // which nobody else uses during the call.
        let parameter = unsafe { parameter(messages.kind(), given.0, given.1)? };
        if overlap {
            return messages.message(parameter, aad, &copied(text)?, room);
        }
        messages.message(parameter, aad, text, room)
    })
}

unsafe fn begin_message(session: &Session, field: Field<Box<Ciphering>>, given: Given, aad: &[u8]) -> Result {
    work(session, field, |messages| {
        // SAFETY: the program that calls C_EncryptMessageBegin or C_DecryptMessageBegin guarantees that `given` is null or its mechanism's
        // parameter, which nobody else uses during the call.
        messages.begin(unsafe { parameter(messages.kind(), given.0, given.1)? }, aad)
    })
}

unsafe fn next(
    session: &Session,
    field: Field<Box<Ciphering>>,
    given: Given,
    part: &[u8],
    mut out: Out<'_>,
    flags: CK_FLAGS,
) -> Result {
    work(session, field, |messages| {
        let end = flags & CKF_END_OF_MESSAGE != 0;
        let needed = messages.part_length(part.len(), end)?;
        let overlap = out.overlaps(part, needed);
        // What is kept comes out with the last part.
        let asked = if needed == 0 && !end { part.len() } else { needed.max(1) };
        let Room::Here(room) = out.room_or(needed, asked)? else { return Ok(()) };
        // SAFETY: the program that calls C_EncryptMessageNext or C_DecryptMessageNext guarantees that `given` is null or its mechanism's
        // parameter, which nobody else uses during the call.
        let parameter = if end { Some(unsafe { parameter(messages.kind(), given.0, given.1)? }) } else { None };
        let length = if overlap {
            messages.part(&copied(part)?, parameter, room)?
        } else {
            messages.part(part, parameter, room)?
        };
        out.wrote(length);
        Ok(())
    })
}

/// Refuses a parameter of a message that is signed: it has none of its own.
fn no_parameter(given: Given) -> Result {
    ensure(given.0.is_null() || given.1 == 0, CKR_MECHANISM_PARAM_INVALID)
}

/// Ends a signature of `data` more into `out`; what signs, where it only was asked for the length or there was too little room. `works` is called
/// before the key is used.
fn sign(
    mut signer: Box<dyn Signer>,
    data: &[u8],
    out: &mut Out<'_>,
    works: impl FnOnce(),
) -> (Option<Box<dyn Signer>>, Result) {
    let result = match out.room(signer.length()) {
        Ok(Room::Asked) => return (Some(signer), Ok(())),
        Err(error) => return (Some(signer), Err(error)),
        Ok(Room::Here(room)) => {
            works();
            signer.update(data).and_then(|()| signer.finish(room))
        }
    };
    (None, result.map(|length| out.wrote(length)))
}

calls! {
    /// PKCS #11 5.9.1.
    fn C_MessageEncryptInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        begin_ciphers(&session, pMechanism, hKey, true)
    }

    /// PKCS #11 5.9.2.
    fn C_EncryptMessage(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pAssociatedData: *mut CK_BYTE,
        ulAssociatedDataLen: CK_ULONG,
        pPlaintext: *mut CK_BYTE,
        ulPlaintextLen: CK_ULONG,
        pCiphertext: *mut CK_BYTE,
        pulCiphertextLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let (aad, text) = (slice(pAssociatedData, ulAssociatedDataLen)?, slice(pPlaintext, ulPlaintextLen)?);
        let out = Out::new(pCiphertext, pulCiphertextLen)?;
        message(&session, encrypts, (pParameter, ulParameterLen), aad, text, out)
    }

    /// PKCS #11 5.9.3.
    fn C_EncryptMessageBegin(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pAssociatedData: *mut CK_BYTE,
        ulAssociatedDataLen: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let aad = slice(pAssociatedData, ulAssociatedDataLen)?;
        begin_message(&session, encrypts, (pParameter, ulParameterLen), aad)
    }

    /// PKCS #11 5.9.4.
    fn C_EncryptMessageNext(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pPlaintextPart: *mut CK_BYTE,
        ulPlaintextPartLen: CK_ULONG,
        pCiphertextPart: *mut CK_BYTE,
        pulCiphertextPartLen: *mut CK_ULONG,
        flags: CK_FLAGS,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let part = slice(pPlaintextPart, ulPlaintextPartLen)?;
        let out = Out::new(pCiphertextPart, pulCiphertextPartLen)?;
        next(&session, encrypts, (pParameter, ulParameterLen), part, out, flags)
    }

    /// PKCS #11 5.9.5.
    fn C_MessageEncryptFinal(hSession: CK_SESSION_HANDLE) {
        end(&*module::<FORK_SAFE>()?.session(hSession)?, encrypts, Ciphering::is_between)
    }

    /// PKCS #11 5.11.1.
    fn C_MessageDecryptInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        begin_ciphers(&session, pMechanism, hKey, false)
    }

    /// PKCS #11 5.11.2.
    fn C_DecryptMessage(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pAssociatedData: *mut CK_BYTE,
        ulAssociatedDataLen: CK_ULONG,
        pCiphertext: *mut CK_BYTE,
        ulCiphertextLen: CK_ULONG,
        pPlaintext: *mut CK_BYTE,
        pulPlaintextLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let (aad, text) = (slice(pAssociatedData, ulAssociatedDataLen)?, slice(pCiphertext, ulCiphertextLen)?);
        let out = Out::new(pPlaintext, pulPlaintextLen)?;
        message(&session, decrypts, (pParameter, ulParameterLen), aad, text, out)
    }

    /// PKCS #11 5.11.3.
    fn C_DecryptMessageBegin(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pAssociatedData: *mut CK_BYTE,
        ulAssociatedDataLen: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let aad = slice(pAssociatedData, ulAssociatedDataLen)?;
        begin_message(&session, decrypts, (pParameter, ulParameterLen), aad)
    }

    /// PKCS #11 5.11.4. The text is given out with the last part, once the tag was found right.
    fn C_DecryptMessageNext(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pCiphertextPart: *mut CK_BYTE,
        ulCiphertextPartLen: CK_ULONG,
        pPlaintextPart: *mut CK_BYTE,
        pulPlaintextPartLen: *mut CK_ULONG,
        flags: CK_FLAGS,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let part = slice(pCiphertextPart, ulCiphertextPartLen)?;
        let out = Out::new(pPlaintextPart, pulPlaintextPartLen)?;
        next(&session, decrypts, (pParameter, ulParameterLen), part, out, flags)
    }

    /// PKCS #11 5.11.5.
    fn C_MessageDecryptFinal(hSession: CK_SESSION_HANDLE) {
        end(&*module::<FORK_SAFE>()?.session(hSession)?, decrypts, Ciphering::is_between)
    }

    /// PKCS #11 5.14.1.
    fn C_MessageSignInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        if pMechanism.is_null() {
            return session.end_running(signs);
        }
        ensure(!session.runs(signs), CKR_OPERATION_ACTIVE)?;
        let mechanism = mechanism(pMechanism)?;
        let object = objects::key(&session, hKey, CKA_SIGN, mechanism.kind)?;
        let strength = object.strength();
        session.begin(signs, Box::new(Signing::signs(mechanism, object)?))?;
        uses::count(&session, mechanism.kind, strength);
        Ok(())
    }

    /// PKCS #11 5.14.2.
    fn C_SignMessage(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pData: *mut CK_BYTE,
        ulDataLen: CK_ULONG,
        pSignature: *mut CK_BYTE,
        pulSignatureLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        no_parameter((pParameter, ulParameterLen))?;
        let (data, mut out) = (slice(pData, ulDataLen)?, Out::new(pSignature, pulSignatureLen)?);
        work(&session, signs, |messages| {
            let signer = messages.once()?;
            sign(signer, data, &mut out, || messages.spend()).1
        })
    }

    /// PKCS #11 5.14.3.
    fn C_SignMessageBegin(hSession: CK_SESSION_HANDLE, pParameter: *mut c_void, ulParameterLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        no_parameter((pParameter, ulParameterLen))?;
        work(&session, signs, Signing::begin)
    }

    /// PKCS #11 5.14.4. The last part is the one with a place for the signature's length.
    fn C_SignMessageNext(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pDataPart: *mut CK_BYTE,
        ulDataPartLen: CK_ULONG,
        pSignature: *mut CK_BYTE,
        pulSignatureLen: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        no_parameter((pParameter, ulParameterLen))?;
        let part = slice(pDataPart, ulDataPartLen)?;
        let out = if pulSignatureLen.is_null() { None } else { Some(Out::new(pSignature, pulSignatureLen)?) };
        work(&session, signs, |messages| {
            let mut signer = messages.begun().ok_or(Rv(CKR_OPERATION_NOT_INITIALIZED))?;
            let (back, result) = match out {
                None => {
                    signer.update(part)?;
                    (Some(signer), Ok(()))
                }
                // The PIN for this message was given before it began.
                Some(mut out) => sign(signer, part, &mut out, || ()),
            };
            if let Some(back) = back {
                messages.go_on(back);
            }
            result
        })
    }

    /// PKCS #11 5.14.5.
    fn C_MessageSignFinal(hSession: CK_SESSION_HANDLE) {
        end(&*module::<FORK_SAFE>()?.session(hSession)?, signs, Signing::is_between)
    }

    /// PKCS #11 5.16.1.
    fn C_MessageVerifyInit(hSession: CK_SESSION_HANDLE, pMechanism: *mut CK_MECHANISM, hKey: CK_OBJECT_HANDLE) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        if pMechanism.is_null() {
            return session.end_running(verifies);
        }
        ensure(!session.runs(verifies), CKR_OPERATION_ACTIVE)?;
        let mechanism = mechanism(pMechanism)?;
        let object = objects::key(&session, hKey, CKA_VERIFY, mechanism.kind)?;
        let strength = object.strength();
        session.begin(verifies, Box::new(Signing::verifies(mechanism, object)?))?;
        uses::count(&session, mechanism.kind, strength);
        Ok(())
    }

    /// PKCS #11 5.16.2.
    fn C_VerifyMessage(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pData: *mut CK_BYTE,
        ulDataLen: CK_ULONG,
        pSignature: *mut CK_BYTE,
        ulSignatureLen: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        no_parameter((pParameter, ulParameterLen))?;
        let (data, signature) = (slice(pData, ulDataLen)?, slice(pSignature, ulSignatureLen)?);
        work(&session, verifies, |messages| {
            let mut verifier = messages.once()?;
            messages.spend();
            verifier.update(data)?;
            verifier.finish(signature)
        })
    }

    /// PKCS #11 5.16.3.
    fn C_VerifyMessageBegin(hSession: CK_SESSION_HANDLE, pParameter: *mut c_void, ulParameterLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        no_parameter((pParameter, ulParameterLen))?;
        work(&session, verifies, Signing::begin)
    }

    /// PKCS #11 5.16.4. The last part is the one with the signature.
    fn C_VerifyMessageNext(
        hSession: CK_SESSION_HANDLE,
        pParameter: *mut c_void,
        ulParameterLen: CK_ULONG,
        pDataPart: *mut CK_BYTE,
        ulDataPartLen: CK_ULONG,
        pSignature: *mut CK_BYTE,
        ulSignatureLen: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        no_parameter((pParameter, ulParameterLen))?;
        let (part, signature) = (slice(pDataPart, ulDataPartLen)?, slice(pSignature, ulSignatureLen)?);
        work(&session, verifies, |messages| {
            let mut verifier = messages.begun().ok_or(Rv(CKR_OPERATION_NOT_INITIALIZED))?;
            verifier.update(part)?;
            if pSignature.is_null() {
                messages.go_on(verifier);
                return Ok(());
            }
            verifier.finish(signature)
        })
    }

    /// PKCS #11 5.16.5.
    fn C_MessageVerifyFinal(hSession: CK_SESSION_HANDLE) {
        end(&*module::<FORK_SAFE>()?.session(hSession)?, verifies, Signing::is_between)
    }
}
