//! Operations of sessions on objects: whether they are allowed, and in which table an object is kept.

use crate::handle::Handle;
use crate::session::{Active, Field, Session};
use crate::store::Change;
use crate::token::LoggedIn;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::{self, Origin};
use adjunct_mechanisms::object::{Held, Object, schema};
use adjunct_mechanisms::rv::{Result, Rv, ensure};
use cryptoki_sys::*;
use std::sync::Arc;

/// Finds an object that this session sees.
///
/// # Errors
/// `CKR_OBJECT_HANDLE_INVALID`.
pub fn get(session: &Session, handle: Handle) -> Result<Arc<Object>> {
    let token = &session.slot().token;
    let object = token.objects.get(handle)?.object();
    ensure(!object.is_private() || token.sees_private(), CKR_OBJECT_HANDLE_INVALID)?;
    Ok(object)
}

/// A key for an operation that begins now, whose [`crate::session::authentication::Pin`] is made of it: as [`get`], with the errors of keys.
///
/// # Errors
/// `CKR_KEY_HANDLE_INVALID`; `CKR_KEY_FUNCTION_NOT_PERMITTED`, `CKR_MECHANISM_INVALID` where it may not be used so.
pub fn key(
    session: &Session,
    handle: CK_OBJECT_HANDLE,
    usage: CK_ATTRIBUTE_TYPE,
    mechanism: CK_MECHANISM_TYPE,
) -> Result<Held> {
    key_unless(session, |_| false, handle, usage, mechanism)
}

/// Finds a key that is used by the call at hand alone.
///
/// # Errors
/// Those of [`key`]; `CKR_USER_NOT_LOGGED_IN` of a key that wants the PIN first.
pub fn key_at_once(
    session: &Session,
    handle: CK_OBJECT_HANDLE,
    usage: CK_ATTRIBUTE_TYPE,
    mechanism: CK_MECHANISM_TYPE,
) -> Result<Held> {
    let key = key(session, handle, usage, mechanism)?;
    session.use_at_once(handle, &key)?;
    Ok(key)
}

/// A key for an operation that goes into a place of the session, which has to be empty.
///
/// # Errors
/// `CKR_OPERATION_ACTIVE`, and those of [`key`].
pub fn key_for<O>(
    session: &Session,
    field: Field<O>,
    handle: CK_OBJECT_HANDLE,
    usage: CK_ATTRIBUTE_TYPE,
    mechanism: CK_MECHANISM_TYPE,
) -> Result<Held> {
    key_unless(session, |active| field(active).is_some(), handle, usage, mechanism)
}

fn key_unless(
    session: &Session,
    busy: impl FnOnce(&mut Active) -> bool,
    handle: CK_OBJECT_HANDLE,
    usage: CK_ATTRIBUTE_TYPE,
    mechanism: CK_MECHANISM_TYPE,
) -> Result<Held> {
    let token = &session.slot().token;
    let object = session.keeps(handle.into(), busy, || token.objects.find_one(handle.into()));
    let object = object.map_err(|error| match error.0 {
        CKR_OPERATION_ACTIVE => error,
        _ => Rv(CKR_KEY_HANDLE_INVALID),
    })?;
    ensure(!object.is_private() || token.sees_private(), CKR_KEY_HANDLE_INVALID)?;
    ensure(object.key_type().is_some(), CKR_KEY_HANDLE_INVALID)?;
    object.permits(usage, mechanism)?;
    Ok(object)
}

/// Puts a new object where its attributes say; its handle.
///
/// # Errors
/// Those of [`insert_all`].
pub fn insert(session: &Session, own: Handle, object: Object) -> Result<Handle> {
    let handles = insert_all(session, own, [object])?;
    handles.first().copied().ok_or(Rv(CKR_FUNCTION_FAILED))
}

/// Puts new objects where their attributes say, all or none; their handles.
///
/// # Errors
/// `CKR_SESSION_READ_ONLY`, `CKR_USER_NOT_LOGGED_IN`, `CKR_TOKEN_WRITE_PROTECTED` where the token keeps no objects; `CKR_HOST_MEMORY`;
/// `CKR_ATTRIBUTE_READ_ONLY` for `CKA_TRUSTED`, but of the security officer; those of [`crate::store::Store::change`].
pub fn insert_all<const N: usize>(session: &Session, own: Handle, objects: [Object; N]) -> Result<Vec<Handle>> {
    for object in &objects {
        may_trust(session, &object.attributes)?;
    }
    place(session, own, objects)
}

/// Whether an object may become trusted.
fn may_trust(session: &Session, attributes: &Attributes) -> Result {
    let officer = session.slot().token.user() == LoggedIn::SecurityOfficer;
    ensure(officer || !attributes.is(CKA_TRUSTED), CKR_ATTRIBUTE_READ_ONLY)
}

fn place<const N: usize>(session: &Session, own: Handle, objects: [Object; N]) -> Result<Vec<Handle>> {
    let token = &session.slot().token;
    for object in &objects {
        ensure(!object.is_private() || token.sees_private(), CKR_USER_NOT_LOGGED_IN)?;
        if object.is_token() {
            ensure(session.is_read_write(), CKR_SESSION_READ_ONLY)?;
            token.keeping()?;
        }
    }
    let (keep, mut lose): (Vec<_>, Vec<_>) = objects.into_iter().enumerate().partition(|(_, object)| object.is_token());
    let mut handles = [Handle::from(0); N];
    let mut made = Vec::new();
    if !lose.is_empty() {
        session.will_own();
    }
    // What can be taken back comes first.
    let result = lose.drain(..).try_for_each(|(at, object)| {
        handles[at] = token.objects.insert(object, Some(own))?;
        made.push(handles[at]);
        Ok(())
    });
    let result = result.and_then(|()| {
        if keep.is_empty() {
            return Ok(());
        }
        let places: Vec<usize> = keep.iter().map(|(at, _)| *at).collect();
        let changes = keep.into_iter().map(|(_, object)| Change::New(object)).collect();
        let kept = token.keeping()?.change(&token.objects, changes)?;
        places.into_iter().zip(kept).for_each(|(at, handle)| handles[at] = handle);
        Ok(())
    });
    if result.is_err() {
        made.into_iter().for_each(|handle| _ = token.objects.remove(handle));
    }
    result.map(|()| handles.to_vec())
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
    complete::check_privacy(&attributes)?;
    complete::new_unique_id(&mut attributes)?;
    // What is trusted stays so.
    may_trust(session, &template)?;
    let handles = place(session, own, [Object::new(attributes)])?;
    handles.first().copied().ok_or(Rv(CKR_FUNCTION_FAILED))
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
    let token = &session.slot().token;
    if object.is_token() {
        return token.keeping()?.change(&token.objects, vec![Change::Removed(object)]).map(drop);
    }
    token.objects.remove(handle)
}

/// C_SetAttributeValue.
///
/// # Errors
/// `CKR_OBJECT_HANDLE_INVALID`, `CKR_SESSION_READ_ONLY`, `CKR_ACTION_PROHIBITED`, and those of templates.
pub fn change(session: &Session, handle: Handle, changes: Attributes) -> Result {
    let object = get(session, handle)?;
    may_change(session, &object, CKA_MODIFIABLE)?;
    schema::check_change(&object.attributes, &changes, false)?;
    may_trust(session, &changes)?;
    let mut attributes = object.attributes.clone();
    for (kind, value) in changes.iter() {
        attributes.insert(kind, value.clone());
    }
    let (token, changed) = (&session.slot().token, Object::new(attributes));
    if changed.is_token() {
        return token.keeping()?.change(&token.objects, vec![Change::Replaced(changed)]).map(drop);
    }
    token.objects.replace(handle, changed)
}
