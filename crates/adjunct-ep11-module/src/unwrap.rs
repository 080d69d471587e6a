//! Keys that come in: m_UnwrapKey.

use crate::attributes::{self, Origin};
use crate::blob::Head;
use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, ensure, fail};
use crate::generate::{is_generic, same_kind};
use crate::key::{Key, Material};
use crate::mechanisms::{Family, Wanted, flags};
use crate::strength::strength;
use crate::wrap::allow;
use crate::{bound, cipher, generate, sessions, spki};
use adjunct_ep11_wire::attributes::Template;
use adjunct_ep11_wire::codes::{attribute as a, control as c, flag, key as k, rv};

/// Booleans that a key takes with it when it is wrapped with its attributes; all others are set anew.
const CARRIED: u32 = !(flag::LOCAL | flag::NEVER_EXTRACTABLE | flag::PROTKEY_NEVER_EXTRACTABLE);

/// m_UnwrapKey.
pub(crate) fn unwrap(context: &Context<'_>) -> Result<Results> {
    let mechanism = Wanted::read(context.argument(4), flags::UNWRAP)?;
    let template = attributes::read(context.argument(5))?;
    let session = sessions::of_argument(context, context.argument(3))?;
    let wrapped = context.argument(0);
    if mechanism.entry.family == Family::Transport {
        return transport(context, &mechanism, wrapped, &template, session);
    }
    let with = context.key(context.argument(1))?;
    context.allow(match with.material.class {
        k::SECRET => &[c::UNWRAP_SYMM],
        k::PRIVATE => &[c::UNWRAP_ASYMM],
        _ => return fail(rv::UNWRAPPING_KEY_TYPE_INCONSISTENT),
    })?;
    allow(context, &mechanism, &with, None)?;
    with.permits(flag::UNWRAP)?;
    let (material, flags) = if mechanism.entry.family == Family::Bound {
        let authenticating = context.key(context.argument(2))?;
        let (material, carried) = bound::unwrap(&mechanism, wrapped, &with, &authenticating)?;
        attributes::check(&template, material.class, Some(material.kind))?;
        // The template may say what the key is already, and nothing else.
        ensure((carried ^ template.flags) & template.mask == 0, rv::TEMPLATE_INCONSISTENT)?;
        (material, carried & CARRIED)
    } else {
        ensure(context.argument(2).is_empty(), rv::ARGUMENTS_BAD)?;
        let material = unwrapped(&mechanism, wrapped, &with, &template)?;
        let flags = attributes::flags(context, &template, material.class, material.kind, Origin::Unwrapped)?;
        ensure(flags & flag::ATTRBOUND == 0, rv::TEMPLATE_INCONSISTENT)?;
        (material, flags)
    };
    if material.class == k::SECRET {
        context.allow(&[c::KEYGEN_SYMM])?;
    }
    allow(context, &mechanism, &with, Some(strength(&material)))?;
    let key = context.new_key(material, flags, session)?;
    let beside = if key.material.class == k::SECRET { key.material.sum() } else { key.material.spki()? };
    if key.material.class == k::PRIVATE {
        generate::test(context, &key.material, &beside).map_err(|_| Rv(rv::WRAPPED_KEY_INVALID))?;
    }
    Ok(vec![key.seal(context.domain.sealing()?)?, Bytes::new(beside)])
}

/// A public key of its SubjectPublicKeyInfo, with attributes that are vouched for from now on.
fn transport(
    context: &Context<'_>,
    mechanism: &Wanted<'_>,
    info: &[u8],
    template: &Template<'_>,
    session: sessions::Id,
) -> Result<Results> {
    mechanism.has_no_parameter()?;
    ensure(context.argument(1).is_empty() && context.argument(2).is_empty(), rv::ARGUMENTS_BAD)?;
    let invalid = |error: Rv| if error.0 == rv::IBM_BLOB_ERROR { Rv(rv::WRAPPED_KEY_INVALID) } else { error };
    let material = Material::of_spki(info).map_err(invalid)?;
    let given = template.number(a::KEY_TYPE).is_none_or(|given| same_kind(given, material.kind));
    ensure(given, rv::TEMPLATE_INCONSISTENT)?;
    attributes::check(template, k::PUBLIC, None)?;
    let flags = attributes::flags(context, template, k::PUBLIC, material.kind, Origin::Unwrapped)?;
    let head = Head { session, flags, mode: context.mode() };
    Ok(vec![spki::seal(context.domain.sealing()?, &head, info)?, Bytes::default()])
}

/// What a key that is wrapped without its attributes is made of.
fn unwrapped(mechanism: &Wanted<'_>, wrapped: &[u8], with: &Key, template: &Template<'_>) -> Result<Material> {
    let kind = template.number(a::KEY_TYPE).ok_or(Rv(rv::TEMPLATE_INCOMPLETE))?;
    let secret = matches!(kind, k::AES | k::DES2 | k::DES3) || is_generic(kind);
    let class = if secret { k::SECRET } else { k::PRIVATE };
    attributes::check(template, class, Some(kind))?;
    let core = mechanism.core()?;
    let mut decrypt = core.cipher(with.material.held.clone(), false).map_err(|error| match Rv::from(error) {
        Rv(rv::KEY_TYPE_INCONSISTENT) => Rv(rv::UNWRAPPING_KEY_TYPE_INCONSISTENT),
        Rv(rv::KEY_SIZE_RANGE) => Rv(rv::UNWRAPPING_KEY_SIZE_RANGE),
        error => error,
    })?;
    let mut plain = cipher::once(&mut *decrypt, wrapped).map_err(|error| match error {
        Rv(rv::ENCRYPTED_DATA_INVALID) => Rv(rv::WRAPPED_KEY_INVALID),
        Rv(rv::ENCRYPTED_DATA_LEN_RANGE) => Rv(rv::WRAPPED_KEY_LEN_RANGE),
        error => error,
    })?;
    if secret {
        // What was filled up with zeros to whole blocks.
        let own = match kind {
            k::DES2 => Some(16),
            k::DES3 => Some(24),
            // A program that does not know the length may say 0.
            _ => template.number(a::VALUE_LEN).filter(|length| *length > 0).map(|length| length as usize),
        };
        if let Some(length) = own {
            let fits = length.checked_next_multiple_of(core.entry.unit) == Some(plain.len());
            ensure(fits, rv::WRAPPED_KEY_LEN_RANGE)?;
            plain.truncate(length);
        }
        return Material::secret(kind, plain).map_err(|error| match error {
            Rv(rv::KEY_SIZE_RANGE) => Rv(rv::WRAPPED_KEY_LEN_RANGE),
            error => error,
        });
    }
    let material = Material::of_foreign_pkcs8(&plain).map_err(|error| match error {
        Rv(rv::ATTRIBUTE_VALUE_INVALID | rv::TEMPLATE_INCOMPLETE) => Rv(rv::WRAPPED_KEY_INVALID),
        error => error,
    })?;
    ensure(same_kind(kind, material.kind), rv::TEMPLATE_INCONSISTENT)?;
    Ok(material)
}
