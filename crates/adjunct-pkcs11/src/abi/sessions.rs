//! Sessions, logins and PINs.

use super::args::{Out, slice, value};
use super::{calls, module};
use crate::session::{self, Opening, Session};
use crate::slot::GIVING_WAY;
use crate::state;
use crate::token::LoggedIn;
use adjunct_mechanisms::rv::{Result, ensure};
use cryptoki_sys::*;
use std::ffi::c_void;

fn session_state(session: &Session) -> CK_STATE {
    match (session.slot().token.user(), session.is_read_write()) {
        (LoggedIn::Nobody, false) => CKS_RO_PUBLIC_SESSION,
        (LoggedIn::Nobody, true) => CKS_RW_PUBLIC_SESSION,
        (LoggedIn::User, false) => CKS_RO_USER_FUNCTIONS,
        (LoggedIn::User, true) => CKS_RW_USER_FUNCTIONS,
        (LoggedIn::SecurityOfficer, _) => CKS_RW_SO_FUNCTIONS,
    }
}

unsafe fn login(session: &Session, user: CK_USER_TYPE, pin: *const u8, length: CK_ULONG) -> Result {
    // SAFETY: the program that calls C_Login or C_LoginUser guarantees a PIN of `length` bytes at `pin`, unless that is null.
    let pin = unsafe { slice(pin, length)? };
    let token = &session.slot().token;
    if user == CKU_CONTEXT_SPECIFIC {
        return session.give_pin(|| token.check_again(pin));
    }
    let read_only = token.sessions().0 != token.sessions().1;
    ensure(user != CKU_SO || !read_only, CKR_SESSION_READ_ONLY_EXISTS)?;
    token.login(user, pin)
}

calls! {
    /// PKCS #11 5.5.7.
    fn C_InitToken(slotID: CK_SLOT_ID, pPin: *mut CK_UTF8CHAR, ulPinLen: CK_ULONG, pLabel: *mut CK_UTF8CHAR) {
        let slot = module::<FORK_SAFE>()?.slot(slotID)?;
        ensure(!pPin.is_null() && !pLabel.is_null(), CKR_ARGUMENTS_BAD)?;
        let mut label = [0; 32];
        label.copy_from_slice(slice(pLabel, 32)?);
        slot.token.initialize(slice(pPin, ulPinLen)?, &label)
    }

    /// PKCS #11 5.5.8.
    fn C_InitPIN(hSession: CK_SESSION_HANDLE, pPin: *mut CK_UTF8CHAR, ulPinLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        session.slot().token.initialize_pin(slice(pPin, ulPinLen)?)
    }

    /// PKCS #11 5.5.9.
    fn C_SetPIN(
        hSession: CK_SESSION_HANDLE,
        pOldPin: *mut CK_UTF8CHAR,
        ulOldLen: CK_ULONG,
        pNewPin: *mut CK_UTF8CHAR,
        ulNewLen: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(session.is_read_write(), CKR_SESSION_READ_ONLY)?;
        session.slot().token.set_pin(slice(pOldPin, ulOldLen)?, slice(pNewPin, ulNewLen)?)
    }

    /// PKCS #11 5.6.1.
    fn C_OpenSession(
        slotID: CK_SLOT_ID,
        flags: CK_FLAGS,
        _pApplication: *mut c_void,
        _Notify: CK_NOTIFY,
        phSession: *mut CK_SESSION_HANDLE,
    ) {
        let module = module::<FORK_SAFE>()?;
        let slot = module.slot(slotID)?;
        let place = value(phSession)?;
        ensure(flags & CKF_SERIAL_SESSION != 0, CKR_SESSION_PARALLEL_NOT_SUPPORTED)?;
        ensure(flags & CKF_ASYNC_SESSION == 0, CKR_SESSION_ASYNC_NOT_SUPPORTED)?;
        let read_write = flags & CKF_RW_SESSION != 0;
        slot.token.must_be_initialized()?;
        ensure(read_write || slot.token.user() != LoggedIn::SecurityOfficer, CKR_SESSION_READ_WRITE_SO_EXISTS)?;
        let opening = Opening { read_write, gives_way: slotID == GIVING_WAY };
        *place = session::open(&module.state, slot, opening)?.get();
        Ok(())
    }

    /// PKCS #11 5.6.2.
    fn C_CloseSession(hSession: CK_SESSION_HANDLE) {
        session::close(&module::<FORK_SAFE>()?.state, hSession.into())
    }

    /// PKCS #11 5.6.3.
    fn C_CloseAllSessions(slotID: CK_SLOT_ID) {
        let module = module::<FORK_SAFE>()?;
        session::close_all(&module.state, Some(module.slot(slotID)?));
        Ok(())
    }

    /// PKCS #11 5.6.4.
    fn C_GetSessionInfo(hSession: CK_SESSION_HANDLE, pInfo: *mut CK_SESSION_INFO) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let writes = if session.is_read_write() { CKF_RW_SESSION } else { 0 };
        *value(pInfo)? = CK_SESSION_INFO {
            slotID: session.slot().id,
            state: session_state(&session),
            flags: CKF_SERIAL_SESSION | writes,
            ulDeviceError: 0,
        };
        Ok(())
    }

    /// PKCS #11 5.6.5.
    fn C_SessionCancel(hSession: CK_SESSION_HANDLE, flags: CK_FLAGS) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        macro_rules! cancel {
            ($($flag:ident $field:ident)*) => { $(
                if flags & $flag != 0 {
                    session.cancel(|active| &mut active.$field);
                }
            )* };
        }
        cancel! {
            CKF_ENCRYPT encrypt CKF_DECRYPT decrypt CKF_DIGEST digest CKF_SIGN sign CKF_VERIFY verify CKF_VERIFY signature
            CKF_FIND_OBJECTS find CKF_MESSAGE_ENCRYPT message_encrypt CKF_MESSAGE_DECRYPT message_decrypt
            CKF_MESSAGE_SIGN message_sign CKF_MESSAGE_VERIFY message_verify CKF_SIGN_RECOVER sign_recover
            CKF_VERIFY_RECOVER verify_recover
        }
        Ok(())
    }

    /// PKCS #11 5.6.6.
    fn C_GetOperationState(hSession: CK_SESSION_HANDLE, pOperationState: *mut CK_BYTE, pulLength: *mut CK_ULONG) {
        let module = module::<FORK_SAFE>()?;
        let session = module.session(hSession)?;
        let mut out = Out::new(pOperationState, pulLength)?;
        out.put(&state::save(&module.state_keys, &session)?)
    }

    /// PKCS #11 5.6.7.
    fn C_SetOperationState(
        hSession: CK_SESSION_HANDLE,
        pOperationState: *mut CK_BYTE,
        ulLength: CK_ULONG,
        hEncryptionKey: CK_OBJECT_HANDLE,
        hAuthenticationKey: CK_OBJECT_HANDLE,
    ) {
        let module = module::<FORK_SAFE>()?;
        let session = module.session(hSession)?;
        let saved = slice(pOperationState, ulLength)?;
        state::restore(&module.state_keys, &session, saved, hEncryptionKey, hAuthenticationKey)
    }

    /// PKCS #11 5.6.8.
    fn C_Login(hSession: CK_SESSION_HANDLE, userType: CK_USER_TYPE, pPin: *mut CK_UTF8CHAR, ulPinLen: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        login(&session, userType, pPin, ulPinLen)
    }

    /// PKCS #11 5.6.9: users have no names here.
    fn C_LoginUser(
        hSession: CK_SESSION_HANDLE,
        userType: CK_USER_TYPE,
        pPin: *mut CK_UTF8CHAR,
        ulPinLen: CK_ULONG,
        _pUsername: *mut CK_UTF8CHAR,
        ulUsernameLen: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(ulUsernameLen == 0, CKR_ARGUMENTS_BAD)?;
        login(&session, userType, pPin, ulPinLen)
    }

    /// PKCS #11 5.6.10.
    fn C_Logout(hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?.slot().token.logout()
    }

    /// PKCS #11 5.6.11: no validation was made of this module.
    fn C_GetSessionValidationFlags(
        hSession: CK_SESSION_HANDLE,
        _type: CK_SESSION_VALIDATION_FLAGS_TYPE,
        pFlags: *mut CK_FLAGS,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        *value(pFlags)? = 0;
        Ok(())
    }
}
