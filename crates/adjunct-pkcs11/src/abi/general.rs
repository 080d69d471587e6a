//! The module itself, its slots, tokens and mechanisms.

use super::args::{slice_mut, value};
use super::{calls, module, trace};
use crate::module::Module;
use crate::store::PIN_LENGTHS;
use crate::token::Slot;
use adjunct_mechanisms::mechanism::registry::{self, MECHANISMS};
use adjunct_mechanisms::rv::{Rv, ensure, fail};
use cryptoki_sys::*;
use std::ffi::c_void;

/// `text` in a field of N bytes, with blanks behind.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    let length = text.len().min(N);
    field[..length].copy_from_slice(&text.as_bytes()[..length]);
    field
}

const MANUFACTURER: &str = "adjunct";
const VERSION: CK_VERSION = CK_VERSION { major: 0, minor: 1 };

/// Checks CK_C_INITIALIZE_ARGS. The module has locks of its own and uses none of the caller's.
///
/// # Safety
/// `arguments` is null or leads to a CK_C_INITIALIZE_ARGS, which no other code uses during the call.
unsafe fn check_arguments(arguments: *mut c_void) -> adjunct_mechanisms::rv::Result {
    if arguments.is_null() {
        return Ok(());
    }
    // SAFETY: not null (checked above); the program that calls C_Initialize guarantees that a CK_C_INITIALIZE_ARGS stands there, which no other code
    // uses during the call.
    let arguments = unsafe { value(arguments.cast::<CK_C_INITIALIZE_ARGS>())? };
    let callbacks = [
        arguments.CreateMutex.is_some(),
        arguments.DestroyMutex.is_some(),
        arguments.LockMutex.is_some(),
        arguments.UnlockMutex.is_some(),
    ];
    let (all, none) = (callbacks.iter().all(|there| *there), callbacks.iter().all(|there| !there));
    ensure(all || none, CKR_ARGUMENTS_BAD)?;
    ensure(arguments.pReserved.is_null(), CKR_ARGUMENTS_BAD)?;
    // Nothing but their functions may lock: ours are atomic instructions, which need the threads of the system.
    ensure(none || arguments.flags & CKF_OS_LOCKING_OK != 0, CKR_CANT_LOCK)
}

fn slot_info(slot: &Slot) -> CK_SLOT_INFO {
    CK_SLOT_INFO {
        slotDescription: padded(&format!("adjunct {}", slot.token.model)),
        manufacturerID: padded(MANUFACTURER),
        flags: CKF_TOKEN_PRESENT,
        hardwareVersion: CK_VERSION { major: 0, minor: 0 },
        firmwareVersion: VERSION,
    }
}

fn token_info(slot: &Slot) -> adjunct_mechanisms::rv::Result<CK_TOKEN_INFO> {
    let token = &slot.token;
    let info = token.info(slot.id)?;
    let (sessions, read_write) = token.sessions();
    Ok(CK_TOKEN_INFO {
        label: info.label,
        manufacturerID: padded(MANUFACTURER),
        model: padded(token.model),
        serialNumber: info.serial,
        flags: info.flags,
        ulMaxSessionCount: CK_EFFECTIVELY_INFINITE,
        ulSessionCount: sessions as CK_ULONG,
        ulMaxRwSessionCount: CK_EFFECTIVELY_INFINITE,
        ulRwSessionCount: read_write as CK_ULONG,
        ulMaxPinLen: PIN_LENGTHS[1] as CK_ULONG,
        ulMinPinLen: PIN_LENGTHS[0] as CK_ULONG,
        ulTotalPublicMemory: CK_UNAVAILABLE_INFORMATION,
        ulFreePublicMemory: CK_UNAVAILABLE_INFORMATION,
        ulTotalPrivateMemory: CK_UNAVAILABLE_INFORMATION,
        ulFreePrivateMemory: CK_UNAVAILABLE_INFORMATION,
        hardwareVersion: CK_VERSION { major: 0, minor: 0 },
        firmwareVersion: VERSION,
        utcTime: [b' '; 16],
    })
}

/// Writes a list, or how long it is.
///
/// # Safety
/// `count` is null or leads to a number, and `place` is null or has room for as many items as that number says; nobody else uses them during the
/// call.
unsafe fn list<T: Copy>(items: &[T], place: *mut T, count: *mut CK_ULONG) -> adjunct_mechanisms::rv::Result {
    // SAFETY: the program that asks for the list guarantees that `count` is null or leads to a number, and that `place` is null or has room
    // for as many items as that number says.
    unsafe {
        let count = value(count)?;
        let given = std::mem::replace(count, items.len() as CK_ULONG);
        if !place.is_null() {
            ensure(given >= *count, CKR_BUFFER_TOO_SMALL)?;
            slice_mut(place, *count)?.copy_from_slice(items);
        }
    }
    Ok(())
}

calls! {
    /// PKCS #11 5.4.1.
    fn C_Initialize(pInitArgs: *mut c_void) {
        trace::start();
        check_arguments(pInitArgs)?;
        Module::initialize(FORK_SAFE)
    }

    /// PKCS #11 5.4.2.
    fn C_Finalize(pReserved: *mut c_void) {
        ensure(pReserved.is_null(), CKR_ARGUMENTS_BAD)?;
        module::<FORK_SAFE>()?.finalize()
    }

    /// PKCS #11 5.4.3.
    fn C_GetInfo(pInfo: *mut CK_INFO) {
        module::<FORK_SAFE>()?;
        *value(pInfo)? = CK_INFO {
            cryptokiVersion: CK_VERSION { major: 3, minor: 2 },
            manufacturerID: padded(MANUFACTURER),
            flags: 0,
            libraryDescription: padded("adjunct PKCS #11 module"),
            libraryVersion: VERSION,
        };
        Ok(())
    }

    /// PKCS #11 5.5.1: what has changed shows once the call is made without a place for the list.
    fn C_GetSlotList(_tokenPresent: CK_BBOOL, pSlotList: *mut CK_SLOT_ID, pulCount: *mut CK_ULONG) {
        list(&module::<FORK_SAFE>()?.slots(pSlotList.is_null()), pSlotList, pulCount)
    }

    /// PKCS #11 5.5.2.
    fn C_GetSlotInfo(slotID: CK_SLOT_ID, pInfo: *mut CK_SLOT_INFO) {
        let slot = module::<FORK_SAFE>()?.slot(slotID)?;
        *value(pInfo)? = slot_info(slot);
        Ok(())
    }

    /// PKCS #11 5.5.3.
    fn C_GetTokenInfo(slotID: CK_SLOT_ID, pInfo: *mut CK_TOKEN_INFO) {
        let slot = module::<FORK_SAFE>()?.slot(slotID)?;
        *value(pInfo)? = token_info(slot)?;
        Ok(())
    }

    /// PKCS #11 5.5.4. Slots never change, so that no event comes.
    fn C_WaitForSlotEvent(flags: CK_FLAGS, _pSlot: *mut CK_SLOT_ID, pReserved: *mut c_void) {
        module::<FORK_SAFE>()?;
        ensure(pReserved.is_null(), CKR_ARGUMENTS_BAD)?;
        fail(if flags & CKF_DONT_BLOCK != 0 { CKR_NO_EVENT } else { CKR_FUNCTION_NOT_SUPPORTED })
    }

    /// PKCS #11 5.5.5.
    fn C_GetMechanismList(slotID: CK_SLOT_ID, pMechanismList: *mut CK_MECHANISM_TYPE, pulCount: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.slot(slotID)?;
        let kinds: Vec<CK_MECHANISM_TYPE> = MECHANISMS.iter().map(|entry| entry.kind).collect();
        list(&kinds, pMechanismList, pulCount)
    }

    /// PKCS #11 5.5.6.
    fn C_GetMechanismInfo(slotID: CK_SLOT_ID, kind: CK_MECHANISM_TYPE, pInfo: *mut CK_MECHANISM_INFO) {
        module::<FORK_SAFE>()?.slot(slotID)?;
        let entry = registry::find(kind).ok_or(Rv(CKR_MECHANISM_INVALID))?;
        *value(pInfo)? =
            CK_MECHANISM_INFO { ulMinKeySize: entry.least, ulMaxKeySize: entry.most_here(), flags: entry.flags };
        Ok(())
    }

    /// PKCS #11 5.20.1: of an interface that no module has any more. It simply returns this, whatever the session.
    fn C_GetFunctionStatus(_hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?;
        fail(CKR_FUNCTION_NOT_PARALLEL)
    }

    /// PKCS #11 5.20.2: of an interface that no module has any more. It simply returns this, whatever the session.
    fn C_CancelFunction(_hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?;
        fail(CKR_FUNCTION_NOT_PARALLEL)
    }

    /// PKCS #11 5.22: there are no asynchronous sessions.
    fn C_AsyncComplete(hSession: CK_SESSION_HANDLE, _pFunctionName: *mut CK_UTF8CHAR, _pResult: *mut CK_ASYNC_DATA) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11 5.22: there are no asynchronous sessions.
    fn C_AsyncGetID(hSession: CK_SESSION_HANDLE, _pFunctionName: *mut CK_UTF8CHAR, _pulID: *mut CK_ULONG) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }

    /// PKCS #11 5.22: there are no asynchronous sessions.
    fn C_AsyncJoin(
        hSession: CK_SESSION_HANDLE,
        _pFunctionName: *mut CK_UTF8CHAR,
        _ulID: CK_ULONG,
        _pData: *mut CK_BYTE,
        _ulData: CK_ULONG,
    ) {
        module::<FORK_SAFE>()?.session(hSession)?;
        fail(CKR_FUNCTION_NOT_SUPPORTED)
    }
}
