//! Keys that come into being: generated here, unwrapped and wrapped (`wrapping`), derived (`derive`), encapsulated (`encapsulate`). Each is made as
//! an object of a template, and belongs to nobody yet.

pub mod derive;
pub mod encapsulate;
pub mod wrapping;

use crate::mechanism::Mechanism;
use crate::object::Object;
use crate::object::attributes::Attributes;
use crate::object::complete::{Defaults, Origin};
use crate::rv::{Result, ensure};
use cryptoki_sys::*;

/// Sets what a mechanism says of a key; a template may say the same.
fn say(template: &mut Attributes, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Result {
    let same = template.number(kind).is_none_or(|given| given == value);
    ensure(same, CKR_TEMPLATE_INCONSISTENT)?;
    template.set_number(kind, value)
}

/// Sets attributes that the key has whatever its template says; a template may say the same.
fn say_all(template: &mut Attributes, said: &Attributes) -> Result {
    for (kind, value) in said.iter() {
        let same = template.get(kind).is_none_or(|given| given == value);
        ensure(same, CKR_TEMPLATE_INCONSISTENT)?;
        template.insert(kind, value.clone());
    }
    Ok(())
}

/// Generates a secret key.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate(defaults: Defaults, mechanism: Mechanism<'_>, mut template: Attributes) -> Result<Object> {
    let (kind, value) = mechanism.secret(&template)?;
    say(&mut template, CKA_CLASS, CKO_SECRET_KEY)?;
    if kind != CKK_GENERIC_SECRET || !template.has(CKA_KEY_TYPE) {
        say(&mut template, CKA_KEY_TYPE, kind)?;
    }
    ensure(!template.has(CKA_VALUE), CKR_TEMPLATE_INCONSISTENT)?;
    template.set(CKA_VALUE, &value)?;
    defaults.object(template, Origin::Generated(mechanism.kind))
}

/// Generates a key pair: the public key and the private key.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate_pair(
    defaults: Defaults,
    mechanism: Mechanism<'_>,
    mut public: Attributes,
    mut private: Attributes,
) -> Result<[Object; 2]> {
    let pair = mechanism.pair(&public)?;
    let origin = Origin::Generated(mechanism.kind);
    // Of a key pair the size is asked for, and answered by the modulus.
    public.remove(CKA_MODULUS_BITS);
    for (template, class, own) in
        [(&mut public, CKO_PUBLIC_KEY, &pair.public), (&mut private, CKO_PRIVATE_KEY, &pair.private)]
    {
        say(template, CKA_CLASS, class)?;
        say(template, CKA_KEY_TYPE, pair.kind)?;
        say_all(template, own)?;
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
    Ok([public, private])
}
