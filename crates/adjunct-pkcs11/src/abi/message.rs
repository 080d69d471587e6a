//! Operations of many messages with one key (PKCS #11 5.9, 5.11, 5.14, 5.16).

use super::{calls, module};
use crate::rv::fail;
use cryptoki_sys::*;
use std::ffi::c_void;

calls! {
    /// PKCS #11, of the same name.
    fn C_MessageEncryptInit(hSession: CK_SESSION_HANDLE, _a1: *mut CK_MECHANISM, _a2: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_EncryptMessage(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: CK_ULONG, _a7: *mut CK_BYTE, _a8: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_EncryptMessageBegin(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_EncryptMessageNext(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: *mut CK_ULONG, _a7: CK_FLAGS) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_MessageEncryptFinal(hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_MessageDecryptInit(hSession: CK_SESSION_HANDLE, _a1: *mut CK_MECHANISM, _a2: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptMessage(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: CK_ULONG, _a7: *mut CK_BYTE, _a8: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptMessageBegin(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptMessageNext(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: *mut CK_ULONG, _a7: CK_FLAGS) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_MessageDecryptFinal(hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_MessageSignInit(hSession: CK_SESSION_HANDLE, _a1: *mut CK_MECHANISM, _a2: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_SignMessage(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_SignMessageBegin(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_SignMessageNext(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_MessageSignFinal(hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_MessageVerifyInit(hSession: CK_SESSION_HANDLE, _a1: *mut CK_MECHANISM, _a2: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_VerifyMessage(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_VerifyMessageBegin(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_VerifyMessageNext(hSession: CK_SESSION_HANDLE, _a1: *mut c_void, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: CK_ULONG, _a5: *mut CK_BYTE, _a6: CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_MessageVerifyFinal(hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }
}
