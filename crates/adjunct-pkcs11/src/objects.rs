//! What sessions do with objects: whether they may, and where they go.

use crate::handle::Handle;
use crate::object::attributes::Attributes;
use crate::object::complete::{self, Origin};
use crate::object::{Object, schema};
use crate::rv::{Result, ensure};
use crate::session::Session;
use cryptoki_sys::*;
use std::sync::Arc;

/// An object that this session sees.
///
/// # Errors
/// `CKR_OBJECT_HANDLE_INVALID`.
pub fn get(session: &Session, handle: Handle) -> Result<Arc<Object>> {
    let token = &session.slot().token;
    let object = token.objects.get(handle)?.object();
    ensure(!object.is_private() || token.sees_private(), CKR_OBJECT_HANDLE_INVALID)?;
    Ok(object)
}

/// A key for an operation: as [`get`], with the errors of keys.
///
/// # Errors
/// `CKR_KEY_HANDLE_INVALID`; `CKR_KEY_FUNCTION_NOT_PERMITTED`, `CKR_MECHANISM_INVALID` where it may not be used so.
pub fn key(
    session: &Session,
    handle: CK_OBJECT_HANDLE,
    usage: CK_ATTRIBUTE_TYPE,
    mechanism: CK_MECHANISM_TYPE,
) -> Result<Arc<Object>> {
    let object = get(session, handle.into()).map_err(|_| crate::rv::Rv(CKR_KEY_HANDLE_INVALID))?;
    ensure(object.key_type().is_some(), CKR_KEY_HANDLE_INVALID)?;
    object.permits(usage, mechanism)?;
    Ok(object)
}

/// Puts a new object where its attributes say; its handle.
///
/// # Errors
/// `CKR_SESSION_READ_ONLY`, `CKR_USER_NOT_LOGGED_IN`, `CKR_TOKEN_WRITE_PROTECTED` where the token keeps no objects; `CKR_HOST_MEMORY`.
pub fn insert(session: &Session, own: Handle, object: Object) -> Result<Handle> {
    let token = &session.slot().token;
    ensure(!object.is_private() || token.sees_private(), CKR_USER_NOT_LOGGED_IN)?;
    if object.is_token() {
        ensure(session.is_read_write(), CKR_SESSION_READ_ONLY)?;
        ensure(token.keeps_objects(), CKR_TOKEN_WRITE_PROTECTED)?;
        return token.objects.insert(object, None);
    }
    token.objects.insert(object, Some(own))
}

/// C_CreateObject.
///
/// # Errors
/// Those of [`insert`], and of templates.
pub fn create(session: &Session, own: Handle, template: Attributes) -> Result<Handle> {
    let object = session.slot().token.defaults.object(template, Origin::Created)?;
    insert(session, own, object)
}

/// C_CopyObject.
///
/// # Errors
/// Those of [`insert`], and of templates; `CKR_ACTION_PROHIBITED`.
pub fn copy(session: &Session, own: Handle, handle: Handle, template: Attributes) -> Result<Handle> {
    let object = get(session, handle)?;
    ensure(object.attributes.is(CKA_COPYABLE), CKR_ACTION_PROHIBITED)?;
    schema::check_change(&object.attributes, &template, true)?;
    let mut attributes = object.attributes.clone();
    for (kind, value) in template.iter() {
        attributes.insert(kind, value.clone());
    }
    complete::new_unique_id(&mut attributes)?;
    insert(session, own, Object::new(attributes))
}

/// Whether the session may change or destroy an object.
fn may_change(session: &Session, object: &Object, permission: CK_ATTRIBUTE_TYPE) -> Result {
    ensure(!object.is_token() || session.is_read_write(), CKR_SESSION_READ_ONLY)?;
    ensure(object.attributes.is(permission), CKR_ACTION_PROHIBITED)
}

/// C_DestroyObject.
///
/// # Errors
/// `CKR_OBJECT_HANDLE_INVALID`, `CKR_SESSION_READ_ONLY`, `CKR_ACTION_PROHIBITED`.
pub fn destroy(session: &Session, handle: Handle) -> Result {
    let object = get(session, handle)?;
    may_change(session, &object, CKA_DESTROYABLE)?;
    session.slot().token.objects.remove(handle)
}

/// C_SetAttributeValue.
///
/// # Errors
/// `CKR_OBJECT_HANDLE_INVALID`, `CKR_SESSION_READ_ONLY`, `CKR_ACTION_PROHIBITED`, and those of templates.
pub fn change(session: &Session, handle: Handle, changes: Attributes) -> Result {
    let object = get(session, handle)?;
    may_change(session, &object, CKA_MODIFIABLE)?;
    schema::check_change(&object.attributes, &changes, false)?;
    let mut attributes = object.attributes.clone();
    for (kind, value) in changes.iter() {
        attributes.insert(kind, value.clone());
    }
    session.slot().token.objects.replace(handle, Object::new(attributes))
}
