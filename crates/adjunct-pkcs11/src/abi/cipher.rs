//! Encryption and decryption.

use super::{calls, module};
use crate::rv::fail;
use cryptoki_sys::*;

calls! {
    /// PKCS #11, of the same name.
    fn C_EncryptInit(hSession: CK_SESSION_HANDLE, _a1: *mut CK_MECHANISM, _a2: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_Encrypt(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_EncryptUpdate(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_EncryptFinal(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptInit(hSession: CK_SESSION_HANDLE, _a1: *mut CK_MECHANISM, _a2: CK_OBJECT_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_Decrypt(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptUpdate(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptFinal(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DigestEncryptUpdate(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptDigestUpdate(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_SignEncryptUpdate(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11, of the same name.
    fn C_DecryptVerifyUpdate(hSession: CK_SESSION_HANDLE, _a1: *mut CK_BYTE, _a2: CK_ULONG, _a3: *mut CK_BYTE, _a4: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }
}
