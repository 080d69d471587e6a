//! Sessions, logins and PINs.

use super::args::{Out, slice, value};
use super::{calls, module};
use crate::rv::{Result, ensure, fail};
use crate::session::{self, Session};
use crate::token::User;
use cryptoki_sys::*;
use std::ffi::c_void;

fn state(session: &Session) -> CK_STATE {
    match (session.slot().token.user(), session.is_read_write()) {
        (User::Nobody, false) => CKS_RO_PUBLIC_SESSION,
        (User::Nobody, true) => CKS_RW_PUBLIC_SESSION,
        (User::User, false) => CKS_RO_USER_FUNCTIONS,
        (User::User, true) => CKS_RW_USER_FUNCTIONS,
        (User::SecurityOfficer, _) => CKS_RW_SO_FUNCTIONS,
    }
}

/// Gives the PIN once more, for an operation with a key that wants that.
fn context_specific(session: &Session) -> Result {
    let mut found = false;
    macro_rules! unlock {
        ($($field:ident)*) => { $(
            if let Ok(mut running) = session.take(|active| &mut active.$field) {
                found |= running.locked;
                running.locked = false;
                session.put(|active| &mut active.$field, running);
            }
        )* };
    }
    unlock!(sign decrypt);
    ensure(found, CKR_OPERATION_NOT_INITIALIZED)
}

unsafe fn login(session: &Session, user: CK_USER_TYPE, pin: *const u8, length: CK_ULONG) -> Result {
    // SAFETY: as the caller says.
    let pin = unsafe { slice(pin, length)? };
    let token = &session.slot().token;
    if user == CKU_CONTEXT_SPECIFIC {
        return context_specific(session);
    }
    let read_only = token.sessions().0 != token.sessions().1;
    ensure(user != CKU_SO || !read_only, CKR_SESSION_READ_ONLY_EXISTS)?;
    token.login(user, Some(pin))
}

calls! {
    /// PKCS #11 5.5.7.
    fn C_InitToken(slotID: CK_SLOT_ID, _pPin: *mut CK_UTF8CHAR, _ulPinLen: CK_ULONG, _pLabel: *mut CK_UTF8CHAR) {
        module::<FORK_SAFE>()?.slot(slotID)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11 5.5.8.
    fn C_InitPIN(hSession: CK_SESSION_HANDLE, _pPin: *mut CK_UTF8CHAR, _ulPinLen: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11 5.5.9.
    fn C_SetPIN(
        hSession: CK_SESSION_HANDLE,
        _pOldPin: *mut CK_UTF8CHAR,
        _ulOldLen: CK_ULONG,
        _pNewPin: *mut CK_UTF8CHAR,
        _ulNewLen: CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
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
        ensure(read_write || slot.token.user() != User::SecurityOfficer, CKR_SESSION_READ_WRITE_SO_EXISTS)?;
        *place = session::open(module, slot, read_write)?.get();
        Ok(())
    }

    /// PKCS #11 5.6.2.
    fn C_CloseSession(hSession: CK_SESSION_HANDLE) {
        session::close(module::<FORK_SAFE>()?, hSession.into())
    }

    /// PKCS #11 5.6.3.
    fn C_CloseAllSessions(slotID: CK_SLOT_ID) {
        let module = module::<FORK_SAFE>()?;
        session::close_all(module, Some(module.slot(slotID)?));
        Ok(())
    }

    /// PKCS #11 5.6.4.
    fn C_GetSessionInfo(hSession: CK_SESSION_HANDLE, pInfo: *mut CK_SESSION_INFO) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let writes = if session.is_read_write() { CKF_RW_SESSION } else { 0 };
        *value(pInfo)? = CK_SESSION_INFO {
            slotID: session.slot().id,
            state: state(&session),
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
        cancel!(CKF_ENCRYPT encrypt CKF_DECRYPT decrypt CKF_DIGEST digest CKF_SIGN sign CKF_VERIFY verify CKF_FIND_OBJECTS find);
        Ok(())
    }

    /// PKCS #11 5.6.6.
    fn C_GetOperationState(hSession: CK_SESSION_HANDLE, pOperationState: *mut CK_BYTE, pulLength: *mut CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let _out = Out::new(pOperationState, pulLength)?;
        ensure(session.runs(|active| &mut active.digest), CKR_OPERATION_NOT_INITIALIZED)?;
        fail(CKR_STATE_UNSAVEABLE)
    }

    /// PKCS #11 5.6.7.
    fn C_SetOperationState(
        hSession: CK_SESSION_HANDLE,
        _pOperationState: *mut CK_BYTE,
        _ulLength: CK_ULONG,
        _hEncryptionKey: CK_OBJECT_HANDLE,
        _hAuthenticationKey: CK_OBJECT_HANDLE,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_SAVED_STATE_INVALID)
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

    /// PKCS #11 5.6.11: nothing here was validated by anybody.
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
