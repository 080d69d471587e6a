//! The lists of functions, and how programs get them.

use super::calls;
use super::tables as t;
use super::{cipher as c, digest as d, general as g, keys as k, message as m, objects as o, sessions as s, sign as n};
use crate::abi::args::{slice_mut, value};
use adjunct_mechanisms::rv::{Result, ensure, fail};
use cryptoki_sys::*;
use std::ffi::{CStr, c_void};
use std::ptr::{from_ref, null_mut};

macro_rules! list {
    ($type:ident, $major:literal, $minor:literal, $safe:literal, $($path:ident: $($name:ident)*;)*) => {
        $type { version: CK_VERSION { major: $major, minor: $minor }, $($($name: Some($path::$name::<$safe>),)*)* }
    };
}

macro_rules! list_2_40 {
    ($type:ident, $major:literal, $minor:literal, $safe:literal, $($more:tt)*) => {
        list! {
            $type, $major, $minor, $safe,
            t: C_GetFunctionList;
            g: C_Initialize C_Finalize C_GetInfo C_GetSlotList C_GetSlotInfo C_GetTokenInfo C_GetMechanismList
                C_GetMechanismInfo C_WaitForSlotEvent C_GetFunctionStatus C_CancelFunction;
            s: C_InitToken C_InitPIN C_SetPIN C_OpenSession C_CloseSession C_CloseAllSessions C_GetSessionInfo C_GetOperationState
                C_SetOperationState C_Login C_Logout;
            o: C_CreateObject C_CopyObject C_DestroyObject C_GetObjectSize C_GetAttributeValue C_SetAttributeValue C_FindObjectsInit
                C_FindObjects C_FindObjectsFinal;
            c: C_EncryptInit C_Encrypt C_EncryptUpdate C_EncryptFinal C_DecryptInit C_Decrypt C_DecryptUpdate C_DecryptFinal
                C_DigestEncryptUpdate C_DecryptDigestUpdate C_SignEncryptUpdate C_DecryptVerifyUpdate;
            d: C_DigestInit C_Digest C_DigestUpdate C_DigestKey C_DigestFinal C_SeedRandom C_GenerateRandom;
            n: C_SignInit C_Sign C_SignUpdate C_SignFinal C_SignRecoverInit C_SignRecover C_VerifyInit C_Verify C_VerifyUpdate
                C_VerifyFinal C_VerifyRecoverInit C_VerifyRecover;
            k: C_GenerateKey C_GenerateKeyPair C_WrapKey C_UnwrapKey C_DeriveKey;
            $($more)*
        }
    };
}

macro_rules! list_3_0 {
    ($type:ident, $minor:literal, $safe:literal, $($more:tt)*) => {
        list_2_40! {
            $type, 3, $minor, $safe,
            t: C_GetInterfaceList C_GetInterface;
            s: C_LoginUser C_SessionCancel;
            m: C_MessageEncryptInit C_EncryptMessage C_EncryptMessageBegin C_EncryptMessageNext C_MessageEncryptFinal
                C_MessageDecryptInit C_DecryptMessage C_DecryptMessageBegin C_DecryptMessageNext C_MessageDecryptFinal
                C_MessageSignInit C_SignMessage C_SignMessageBegin C_SignMessageNext C_MessageSignFinal C_MessageVerifyInit
                C_VerifyMessage C_VerifyMessageBegin C_VerifyMessageNext C_MessageVerifyFinal;
            $($more)*
        }
    };
}

macro_rules! list_3_2 {
    ($safe:literal) => {
        list_3_0! {
            CK_FUNCTION_LIST_3_2, 2, $safe,
            k: C_EncapsulateKey C_DecapsulateKey C_WrapKeyAuthenticated C_UnwrapKeyAuthenticated;
            n: C_VerifySignatureInit C_VerifySignature C_VerifySignatureUpdate C_VerifySignatureFinal;
            s: C_GetSessionValidationFlags;
            g: C_AsyncComplete C_AsyncGetID C_AsyncJoin;
        }
    };
}

static STRICT_2_40: CK_FUNCTION_LIST = list_2_40! { CK_FUNCTION_LIST, 2, 40, false, };
static STRICT_3_0: CK_FUNCTION_LIST_3_0 = list_3_0! { CK_FUNCTION_LIST_3_0, 0, false, };
static STRICT_3_2: CK_FUNCTION_LIST_3_2 = list_3_2! { false };
static SAFE_2_40: CK_FUNCTION_LIST = list_2_40! { CK_FUNCTION_LIST, 2, 40, true, };
static SAFE_3_0: CK_FUNCTION_LIST_3_0 = list_3_0! { CK_FUNCTION_LIST_3_0, 0, true, };
static SAFE_3_2: CK_FUNCTION_LIST_3_2 = list_3_2! { true };

const NAME: &CStr = c"PKCS 11";

struct Interfaces([CK_INTERFACE; 6]);

// SAFETY: pointers to what never changes.
unsafe impl Sync for Interfaces {}

const fn interface<T>(list: &'static T, flags: CK_FLAGS) -> CK_INTERFACE {
    CK_INTERFACE {
        pInterfaceName: NAME.as_ptr().cast_mut().cast(),
        pFunctionList: from_ref(list).cast_mut().cast::<c_void>(),
        flags,
    }
}

/// The default first: the newest.
static INTERFACES: Interfaces = Interfaces([
    interface(&STRICT_3_2, 0),
    interface(&STRICT_3_0, 0),
    interface(&STRICT_2_40, 0),
    interface(&SAFE_3_2, CKF_INTERFACE_FORK_SAFE),
    interface(&SAFE_3_0, CKF_INTERFACE_FORK_SAFE),
    interface(&SAFE_2_40, CKF_INTERFACE_FORK_SAFE),
]);

/// Every interface, into `list` of `count` places; null only asks how many.
///
/// # Safety
/// As PKCS #11 has it.
unsafe fn interfaces(list: *mut CK_INTERFACE, count: *mut CK_ULONG) -> Result {
    // SAFETY: the program that calls C_GetInterfaceList guarantees that `count` is null or leads to a number, and that `list` is null or has
    // room for as many interfaces as that number says.
    unsafe {
        let count = value(count)?;
        let (given, all) = (*count, &INTERFACES.0);
        *count = all.len() as CK_ULONG;
        if !list.is_null() {
            ensure(given >= *count, CKR_BUFFER_TOO_SMALL)?;
            slice_mut(list, *count)?.copy_from_slice(all);
        }
    }
    Ok(())
}

/// The interface of a name, a version and flags; null stands for any.
///
/// # Safety
/// As PKCS #11 has it.
unsafe fn get(
    name: *mut CK_UTF8CHAR,
    version: *mut CK_VERSION,
    place: *mut *mut CK_INTERFACE,
    flags: CK_FLAGS,
) -> Result {
    // SAFETY: the program that calls C_GetInterface guarantees that `name` is null or a terminated string, `version` null or a version, and
    // `place` null or the address of a pointer.
    unsafe {
        let place = value(place)?;
        *place = null_mut();
        let named = name.is_null() || CStr::from_ptr(name.cast()) == NAME;
        let fits = |interface: &&CK_INTERFACE| {
            // SAFETY: every list begins with its version.
            let own = &*interface.pFunctionList.cast::<CK_VERSION>();
            let versioned = version.is_null() || (*version).major == own.major && (*version).minor == own.minor;
            named && versioned && interface.flags & flags == flags
        };
        match INTERFACES.0.iter().find(fits) {
            Some(interface) => *place = from_ref(interface).cast_mut(),
            None => return fail(CKR_FUNCTION_FAILED),
        }
    }
    Ok(())
}

calls! {
    /// PKCS #11 5.4.4.
    fn C_GetFunctionList(ppFunctionList: *mut *mut CK_FUNCTION_LIST) {
        *value(ppFunctionList)? = from_ref(&STRICT_2_40).cast_mut();
        Ok(())
    }

    /// PKCS #11 5.4.5.
    fn C_GetInterfaceList(pInterfacesList: *mut CK_INTERFACE, pulCount: *mut CK_ULONG) {
        interfaces(pInterfacesList, pulCount)
    }

    /// PKCS #11 5.4.6.
    fn C_GetInterface(
        pInterfaceName: *mut CK_UTF8CHAR,
        pVersion: *mut CK_VERSION,
        ppInterface: *mut *mut CK_INTERFACE,
        flags: CK_FLAGS,
    ) {
        get(pInterfaceName, pVersion, ppInterface, flags)
    }
}
