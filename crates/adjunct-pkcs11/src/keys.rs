//! Keys that are generated in a session. Other modules unwrap, derive and encapsulate keys.

use crate::handle::Handle;
use crate::mechanism::Mechanism;
use crate::object::attributes::Attributes;
use crate::object::complete::Origin;
use crate::objects::{insert, insert_all};
use crate::rv::{Result, ensure, fail};
use crate::session::Session;
use crate::uses;
use cryptoki_sys::*;

/// Sets what a mechanism says of a key; a template may say the same.
fn say(template: &mut Attributes, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Result {
    let same = template.number(kind).is_none_or(|given| given == value);
    ensure(same, CKR_TEMPLATE_INCONSISTENT)?;
    template.set_number(kind, value)
}

/// C_GenerateKey.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate(session: &Session, own: Handle, mechanism: Mechanism<'_>, mut template: Attributes) -> Result<Handle> {
    let (kind, value) = mechanism.secret(&template)?;
    say(&mut template, CKA_CLASS, CKO_SECRET_KEY)?;
    if kind != CKK_GENERIC_SECRET || !template.has(CKA_KEY_TYPE) {
        say(&mut template, CKA_KEY_TYPE, kind)?;
    }
    ensure(!template.has(CKA_VALUE), CKR_TEMPLATE_INCONSISTENT)?;
    template.set(CKA_VALUE, &value)?;
    let object = session.slot().token.defaults.object(template, Origin::Generated(mechanism.kind))?;
    let strength = object.strength();
    let handle = insert(session, own, object)?;
    uses::count(session, mechanism.kind, strength);
    Ok(handle)
}

/// C_GenerateKeyPair.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate_pair(
    session: &Session,
    own: Handle,
    mechanism: Mechanism<'_>,
    mut public: Attributes,
    mut private: Attributes,
) -> Result<(Handle, Handle)> {
    let pair = mechanism.pair(&public)?;
    let (defaults, origin) = (session.slot().token.defaults, Origin::Generated(mechanism.kind));
    // Of a key pair the size is asked for, and answered by the modulus.
    public.remove(CKA_MODULUS_BITS);
    for (template, class, own) in
        [(&mut public, CKO_PUBLIC_KEY, &pair.public), (&mut private, CKO_PRIVATE_KEY, &pair.private)]
    {
        say(template, CKA_CLASS, class)?;
        say(template, CKA_KEY_TYPE, pair.kind)?;
        for (kind, value) in own.iter() {
            let same = template.get(kind).is_none_or(|given| given == value);
            ensure(same, CKR_TEMPLATE_INCONSISTENT)?;
            template.insert(kind, value.clone());
        }
    }
    let said = public.has(CKA_PUBLIC_KEY_INFO);
    let public = defaults.object_of(public, origin, Some(pair.key.clone()))?;
    // What was worked out for one half is the other's too.
    if let Some(info) = public.attributes.get(CKA_PUBLIC_KEY_INFO)
        && !said
        && !private.has(CKA_PUBLIC_KEY_INFO)
    {
        private.insert(CKA_PUBLIC_KEY_INFO, info.clone());
    }
    let private = defaults.object_of(private, origin, Some(pair.key))?;
    let strength = private.strength();
    let handles = insert_all(session, own, [public, private])?;
    uses::count(session, mechanism.kind, strength);
    match handles[..] {
        [public, private] => Ok((public, private)),
        _ => fail(CKR_FUNCTION_FAILED),
    }
}
