//! Keys made of keys: m_DeriveKey.

use crate::attributes::{self, Origin};
use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, ensure, fail};
use crate::generate::is_generic;
use crate::key::{Key, Material};
use crate::mechanisms::{Family, Wanted, flags};
use crate::{hierarchy, sessions};
use adjunct_ep11_wire::attributes::Template;
use adjunct_ep11_wire::blob::SESSION;
use adjunct_ep11_wire::codes::{attribute as a, control as c, flag, key as k, mechanism as m, rv};
use adjunct_ep11_wire::mechanism::Parameter;
use adjunct_mechanisms::mechanism::derive::agree::{Agree, Kdf};
use adjunct_mechanisms::mechanism::derive::bytes::hashed;
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::object::key::{Curve, ObjectKey as Core};
use zeroize::Zeroizing;

type Secret = Zeroizing<Vec<u8>>;

const INVALID: u32 = rv::MECHANISM_PARAM_INVALID;

/// m_DeriveKey.
pub(crate) fn derive(context: &Context<'_>) -> Result<Results> {
    context.allow(&[c::DERIVE])?;
    let mechanism = Wanted::read(context.argument(0), flags::DERIVE)?;
    if matches!(mechanism.entry.family, Family::Hierarchy | Family::Aggregate) {
        return hierarchy::derive(context, &mechanism);
    }
    context.allow(&[c::KEYGEN_SYMM])?;
    let template = attributes::read(context.argument(1))?;
    ensure(context.argument(3).is_empty(), rv::ARGUMENTS_BAD)?;
    let session = sessions::of_argument(context, context.argument(4))?;
    let base = context.key(context.argument(2))?;
    context.allow(mechanism.entry.points)?;
    // A key that is hashed is data: openCryptoki's token asks for that use alone.
    let is_data = matches!(mechanism.entry.family, Family::HashKey(_));
    if !is_data || base.permits(flag::USE_AS_DATA).is_err() {
        base.permits(flag::DERIVE)?;
    }
    let kind = template.number(a::KEY_TYPE).unwrap_or(k::GENERIC_SECRET);
    ensure(matches!(kind, k::AES | k::DES2 | k::DES3) || is_generic(kind), rv::TEMPLATE_INCONSISTENT)?;
    attributes::check(&template, k::SECRET, Some(kind))?;
    let other = match mechanism.parameter {
        Parameter::Kem { secret, .. } if !secret.is_empty() => Some(context.key(secret)?),
        _ => None,
    };
    // A public key, with which a KEM encapsulates, says nothing of what may be extracted.
    let origin = match &other {
        Some(other) => Origin::Derived(other.head.flags),
        None if base.material.class == k::PUBLIC => Origin::Unwrapped,
        None => Origin::Derived(base.head.flags),
    };
    let mut own = attributes::flags(context, &template, k::SECRET, kind, origin)?;
    if let Some(other) = &other {
        own = limited(own, other, &session)?;
    }
    // A peer's share, or a KEM's secret, is known to whoever made it: such a key is no part of what is bound to its attributes.
    ensure(own & flag::ATTRBOUND == 0 || is_data && base.has(flag::ATTRBOUND), rv::TEMPLATE_INCONSISTENT)?;
    let is_bound = base.has(flag::ATTRBOUND) || other.as_ref().is_some_and(|other| other.has(flag::ATTRBOUND));
    if is_bound && own & flag::ATTRBOUND == 0 {
        context.allow(&[c::DERIVE_NON_AB])?;
    }
    let wanted = length(&template, kind)?;
    let mut beside = Vec::new();
    let mut value = match mechanism.entry.family {
        Family::Agree(raw) => agree(&mechanism, raw, &base, wanted)?,
        Family::HashKey(hash) => first(hashed(hash, base.material.held.clear_value()?)?, wanted)?,
        Family::Kem => {
            let (secret, ciphertext) = kem(context, &mechanism, (&base, other.as_deref()), wanted)?;
            beside = ciphertext;
            secret
        }
        _ => return fail(rv::MECHANISM_INVALID),
    };
    if matches!(kind, k::DES2 | k::DES3) {
        odd_parity(&mut value);
    }
    let key = context.new_key(Material::secret(kind, value)?, own, session)?;
    let mut sum = key.material.sum();
    sum.append(&mut beside);
    Ok(vec![key.seal(context.domain.sealing()?)?, Bytes::new(sum)])
}

/// The boolean attributes of a key that has another secret key within it: no more may be done with it than with that one.
fn limited(own: u32, other: &Key, session: &[u8; SESSION]) -> Result<u32> {
    let leaves = flag::EXTRACTABLE | flag::PROTKEY_EXTRACTABLE;
    ensure(own & leaves & !other.head.flags == 0, rv::TEMPLATE_INCONSISTENT)?;
    let is_free = other.head.session == [0; SESSION];
    ensure(is_free || other.head.session == *session, rv::TEMPLATE_INCONSISTENT)?;
    Ok(own | other.head.flags & flag::WRAP_WITH_TRUSTED)
}

/// The length that a template asks for, or that its type of key has.
fn length(template: &Template<'_>, kind: u32) -> Result<Option<usize>> {
    let own = match kind {
        k::DES2 => Some(16),
        k::DES3 => Some(24),
        _ => None,
    };
    let given = template.number(a::VALUE_LEN).map(|length| length as usize);
    ensure(own.is_none() || given.is_none() || own == given, rv::TEMPLATE_INCONSISTENT)?;
    ensure(given.is_none_or(|length| (1..=4096).contains(&length)), rv::KEY_SIZE_RANGE)?;
    Ok(given.or(own))
}

/// The first bytes: what a template asks for.
fn first(mut all: Secret, wanted: Option<usize>) -> Result<Secret> {
    let length = wanted.unwrap_or(all.len());
    ensure(length <= all.len(), rv::KEY_SIZE_RANGE)?;
    all.truncate(length);
    Ok(all)
}

/// The lowest bit of each byte so that the byte has an odd number of ones, as keys of DES have.
fn odd_parity(key: &mut [u8]) {
    key.iter_mut().for_each(|byte| *byte = *byte & 0xfe | u8::from((*byte >> 1).count_ones().is_multiple_of(2)));
}

/// The secret that a private key shares with a peer.
fn agree(mechanism: &Wanted<'_>, raw: bool, base: &Key, wanted: Option<usize>) -> Result<Secret> {
    let private = base.material.class == k::PRIVATE;
    let curve = base.material.curve().filter(|_| private);
    let fits = match mechanism.entry.kind {
        m::IBM_EC_X25519 | m::IBM_EC_X25519_RAW => curve == Some(Curve::X25519),
        m::IBM_EC_X448 | m::IBM_EC_X448_RAW => curve == Some(Curve::X448),
        m::DH_PKCS_DERIVE | m::IBM_DH_PKCS_DERIVE_RAW => private && base.material.kind == k::DH,
        _ => curve.is_some() || private && base.material.kind == k::EC && base.material.own.is_some(),
    };
    ensure(fits, rv::KEY_TYPE_INCONSISTENT)?;
    let (kdf, shared, public) = match mechanism.parameter {
        Parameter::Ecdh { kdf, shared, public } => (Kdf::of(kdf.into())?, shared, public),
        Parameter::Bytes(public) => (Kdf::None, &[][..], public),
        _ => return fail(INVALID),
    };
    ensure(!raw || kdf == Kdf::None && shared.is_empty(), INVALID)?;
    // PKCS #3's secret has leading zeros, as many as the prime has room for.
    if let Some(own) = &base.material.own {
        return Ok(kdf.derive(&own.agree(public)?, shared, wanted)?);
    }
    let agree = Agree { cofactor: false, kdf, shared, public };
    Ok(agree.derive(&base.material.held, wanted)?)
}

/// How the secrets of a hybrid become one.
fn hybrid(kdf: u32) -> Result<(bool, Kdf)> {
    Ok(match kdf {
        1 => (false, Kdf::None),
        0x8000_0001 => (true, Kdf::None),
        0x8000_0002 => (true, Kdf::X963(Hash::Sha1)),
        0x8000_0003 => (true, Kdf::X963(Hash::Sha224)),
        0x8000_0004 => (true, Kdf::X963(Hash::Sha256)),
        0x8000_0005 => (true, Kdf::X963(Hash::Sha384)),
        0x8000_0006 => (true, Kdf::X963(Hash::Sha512)),
        _ => return fail(INVALID),
    })
}

/// A secret that is encapsulated, with its ciphertext, or decapsulated.
fn kem(
    context: &Context<'_>,
    mechanism: &Wanted<'_>,
    (base, other): (&Key, Option<&Key>),
    wanted: Option<usize>,
) -> Result<(Secret, Vec<u8>)> {
    let Parameter::Kem { mode, kdf, prepend, ciphertext, shared, .. } = mechanism.parameter else {
        return fail(INVALID);
    };
    let (is_hybrid, kdf) = hybrid(kdf)?;
    ensure(is_hybrid == other.is_some() && (is_hybrid || !prepend && shared.is_empty()), INVALID)?;
    let key = base.material.held.key()?;
    let Core::MlKem(key) = &*key else { return fail(rv::KEY_TYPE_INCONSISTENT) };
    context.allow(&[c::PQC, c::ML_KEM])?;
    let (own, made) = match mode {
        1 => {
            ensure(base.material.class == k::PUBLIC, rv::KEY_TYPE_INCONSISTENT)?;
            ensure(ciphertext.is_empty(), INVALID)?;
            let mut made = vec![0; key.set().ciphertext()];
            (key.encapsulate(&mut made)?, made)
        }
        2 => {
            ensure(base.material.class == k::PRIVATE, rv::KEY_TYPE_INCONSISTENT)?;
            ensure(ciphertext.len() == key.set().ciphertext(), INVALID)?;
            (key.decapsulate(ciphertext)?, Vec::new())
        }
        _ => return fail(INVALID),
    };
    let Some(other) = other else {
        return Ok((first(Zeroizing::new(own.to_vec()), wanted)?, made));
    };
    ensure(other.material.class == k::SECRET, rv::KEY_TYPE_INCONSISTENT)?;
    other.permits(flag::USE_AS_DATA)?;
    let other = other.material.held.clear_value()?;
    let parts = if prepend { [other, &own[..]] } else { [&own[..], other] };
    let both = Zeroizing::new(parts.concat());
    let value = match kdf {
        // A part of it would be a part of the other secret, which may be the whole of that or a byte.
        Kdf::None => {
            ensure(wanted.is_none_or(|wanted| wanted == both.len()), rv::KEY_SIZE_RANGE)?;
            both
        }
        kdf => kdf.derive(&both, shared, wanted).map_err(Rv::from)?,
    };
    Ok((value, made))
}
