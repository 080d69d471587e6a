//! Objects: made, copied, changed, read, found.

use super::args::{slice_mut, template, value};
use super::{calls, module};
use crate::objects;
use crate::table::search::Search;
use adjunct_mechanisms::object::attributes::{Attributes, Value};
use adjunct_mechanisms::object::{check, schema};
use adjunct_mechanisms::rv::{Result, ensure};
use cryptoki_sys::*;

/// Writes a value, or its length; gives the return value for it, `CKR_OK` or one that does not end the call.
///
/// # Safety
/// `pValue` is null or has room for `ulValueLen` bytes that no other code uses; in a template within, each attribute states the room that its
/// `pValue` has.
unsafe fn answer(place: &mut CK_ATTRIBUTE, of: &Attributes) -> CK_RV {
    let given = std::mem::replace(&mut place.ulValueLen, CK_UNAVAILABLE_INFORMATION);
    if schema::is_secret(of, place.type_) {
        return CKR_ATTRIBUTE_SENSITIVE;
    }
    let computed = match place.type_ {
        CKA_CHECK_VALUE => check::value(of),
        _ => Ok(None),
    };
    let computed = match computed {
        Ok(computed) => computed,
        Err(error) => return error.0,
    };
    let Some(value) = of.get(place.type_).or(computed.as_ref()) else {
        if !schema::is_empty_unless_said(of, place.type_) {
            return CKR_ATTRIBUTE_TYPE_INVALID;
        }
        place.ulValueLen = 0;
        return CKR_OK;
    };
    let needed = match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Template(nested) => nested.len() * size_of::<CK_ATTRIBUTE>(),
    } as CK_ULONG;
    if place.pValue.is_null() {
        place.ulValueLen = needed;
        return CKR_OK;
    }
    if given < needed {
        return CKR_BUFFER_TOO_SMALL;
    }
    place.ulValueLen = needed;
    match value {
        // SAFETY: the caller of `read` guarantees room for `given` bytes at `pValue`, and `given` is no less than the value's length
        // (checked above). The value is the module's own, so that it lies apart from that room.
        Value::Bytes(bytes) => unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.pValue.cast(), bytes.len());
            CKR_OK
        },
        Value::Template(nested) => {
            // SAFETY: the caller of `read` guarantees room for `given` bytes at `pValue`, which hold all attributes of `nested` (checked above), and
            // that no other code uses the room.
            let Ok(places) = (unsafe { slice_mut(place.pValue.cast::<CK_ATTRIBUTE>(), nested.len() as CK_ULONG) })
            else {
                return CKR_ATTRIBUTE_VALUE_INVALID;
            };
            let mut rv = CKR_OK;
            for (place, (kind, _)) in places.iter_mut().zip(nested.iter()) {
                place.type_ = kind;
                // SAFETY: the caller of `read` guarantees that each attribute within a template states the room that its `pValue` has.
                let one = unsafe { answer(place, nested) };
                rv = if one == CKR_OK { rv } else { one };
            }
            rv
        }
    }
}

/// Writes all values that are asked for, also after one of them failed.
///
/// # Safety
/// Each `pValue` is null or has room for `ulValueLen` bytes that nobody else uses; in a template within, each attribute states the room that its
/// `pValue` has.
unsafe fn read(places: &mut [CK_ATTRIBUTE], of: &Attributes) -> Result {
    let mut rv = CKR_OK;
    for place in places {
        // SAFETY: the caller guarantees that each `pValue` is null or has room for `ulValueLen` bytes, which nobody else uses.
        let one = unsafe { answer(place, of) };
        rv = if one == CKR_OK { rv } else { one };
    }
    ensure(rv == CKR_OK, rv)
}

calls! {
    /// PKCS #11 5.7.1.
    fn C_CreateObject(
        hSession: CK_SESSION_HANDLE,
        pTemplate: *mut CK_ATTRIBUTE,
        ulCount: CK_ULONG,
        phObject: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let place = value(phObject)?;
        *place = objects::create(&session, hSession.into(), template(pTemplate, ulCount)?)?.get();
        Ok(())
    }

    /// PKCS #11 5.7.2.
    fn C_CopyObject(
        hSession: CK_SESSION_HANDLE,
        hObject: CK_OBJECT_HANDLE,
        pTemplate: *mut CK_ATTRIBUTE,
        ulCount: CK_ULONG,
        phNewObject: *mut CK_OBJECT_HANDLE,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let place = value(phNewObject)?;
        *place = objects::copy(&session, hSession.into(), hObject.into(), template(pTemplate, ulCount)?)?.get();
        Ok(())
    }

    /// PKCS #11 5.7.3.
    fn C_DestroyObject(hSession: CK_SESSION_HANDLE, hObject: CK_OBJECT_HANDLE) {
        objects::destroy(&*module::<FORK_SAFE>()?.session(hSession)?, hObject.into())
    }

    /// PKCS #11 5.7.4.
    fn C_GetObjectSize(hSession: CK_SESSION_HANDLE, hObject: CK_OBJECT_HANDLE, pulSize: *mut CK_ULONG) {
        let object = objects::get(&*module::<FORK_SAFE>()?.session(hSession)?, hObject.into())?;
        let sizes = object.attributes.iter().map(|(_, value)| value.as_bytes().map_or(0, <[u8]>::len));
        *value(pulSize)? = sizes.sum::<usize>() as CK_ULONG;
        Ok(())
    }

    /// PKCS #11 5.7.5.
    fn C_GetAttributeValue(
        hSession: CK_SESSION_HANDLE,
        hObject: CK_OBJECT_HANDLE,
        pTemplate: *mut CK_ATTRIBUTE,
        ulCount: CK_ULONG,
    ) {
        let object = objects::get(&*module::<FORK_SAFE>()?.session(hSession)?, hObject.into())?;
        ensure(ulCount == 0 || !pTemplate.is_null(), CKR_ARGUMENTS_BAD)?;
        read(slice_mut(pTemplate, ulCount)?, &object.attributes)
    }

    /// PKCS #11 5.7.6.
    fn C_SetAttributeValue(
        hSession: CK_SESSION_HANDLE,
        hObject: CK_OBJECT_HANDLE,
        pTemplate: *mut CK_ATTRIBUTE,
        ulCount: CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        objects::change(&session, hObject.into(), template(pTemplate, ulCount)?)
    }

    /// PKCS #11 5.7.7.
    fn C_FindObjectsInit(hSession: CK_SESSION_HANDLE, pTemplate: *mut CK_ATTRIBUTE, ulCount: CK_ULONG) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        ensure(!session.runs(|active| &mut active.find), CKR_OPERATION_ACTIVE)?;
        let token = &session.slot().token;
        let template = template(pTemplate, ulCount)?;
        token.refresh()?;
        session.begin(|active| &mut active.find, adjunct::memory::boxed(Search::new(&token.objects, template))?)
    }

    /// PKCS #11 5.7.8.
    fn C_FindObjects(
        hSession: CK_SESSION_HANDLE,
        phObject: *mut CK_OBJECT_HANDLE,
        ulMaxObjectCount: CK_ULONG,
        pulObjectCount: *mut CK_ULONG,
    ) {
        let session = module::<FORK_SAFE>()?.session(hSession)?;
        let count = value(pulObjectCount)?;
        slice_mut(phObject, ulMaxObjectCount.min(1))?;
        let mut search = session.take(|active| &mut active.find)?;
        let token = &session.slot().token;
        let found = search.next(&token.objects, token.sees_private(), ulMaxObjectCount as usize);
        session.put(|active| &mut active.find, search);
        slice_mut(phObject, found.len() as CK_ULONG)?.iter_mut().zip(&found).for_each(|(place, it)| *place = it.get());
        *count = found.len() as CK_ULONG;
        Ok(())
    }

    /// PKCS #11 5.7.9.
    fn C_FindObjectsFinal(hSession: CK_SESSION_HANDLE) {
        module::<FORK_SAFE>()?.session(hSession)?.take(|active| &mut active.find).map(drop)
    }
}
