//! Keys that leave: m_WrapKey.

use crate::context::{Context, Results, filled};
use crate::error::{Result, Rv, ensure, fail};
use crate::key::Key;
use crate::mechanisms::{Family, Wanted, flags};
use crate::strength::strength;
use crate::{bound, cipher};
use adjunct_ep11_wire::codes::{control as c, flag, key as k, mechanism as m, rv};
use adjunct_mechanisms::keys::wrapping;

/// Checks that a key may leave under another.
fn check(key: &Key, with: &Key, bound: bool) -> Result {
    ensure(key.material.class != k::PUBLIC, rv::KEY_NOT_WRAPPABLE)?;
    ensure(key.has(flag::EXTRACTABLE), rv::KEY_UNEXTRACTABLE)?;
    let trusted = with.has(flag::TRUSTED) && with.vouched;
    ensure(!key.has(flag::WRAP_WITH_TRUSTED) || trusted, rv::KEY_NOT_WRAPPABLE)?;
    // A key that is bound to its attributes leaves with them alone, and only such a key does.
    ensure(key.has(flag::ATTRBOUND) == bound, rv::KEY_NOT_WRAPPABLE)
}

/// Checks the control points of a key that wraps or unwraps another, of which the strength is known.
///
/// # Errors
/// `CKR_FUNCTION_CANCELED`.
pub(crate) fn allow(context: &Context<'_>, mechanism: &Wanted<'_>, with: &Key, other: Option<u32>) -> Result {
    if mechanism.entry.family != Family::Bound {
        context.allow(&[c::NON_ATTRBOUND])?;
    }
    context.allow(mechanism.entry.points)?;
    if mechanism.entry.kind == m::RSA_PKCS {
        context.allow(&[c::NFIPS2021])?;
    }
    if other.is_some_and(|other| other > strength(&with.material)) {
        context.allow(&[c::WRAP_STRONGER])?;
    }
    Ok(())
}

/// m_WrapKey.
pub(crate) fn wrap(context: &Context<'_>) -> Result<Results> {
    let mechanism = Wanted::read(context.argument(3), flags::WRAP)?;
    let key = context.key(context.argument(0))?;
    let with = context.key(context.argument(1))?;
    let authenticating = context.argument(2);
    match with.material.class {
        k::SECRET => context.allow(&[c::WRAP_SYMM])?,
        k::PUBLIC => {
            context.allow(&[c::WRAP_ASYMM, c::RSA])?;
            if !with.vouched {
                context.allow(&[c::WRAP_RAW_SPKI])?;
            }
        }
        _ => return fail(rv::WRAPPING_KEY_TYPE_INCONSISTENT),
    }
    let bound = mechanism.entry.family == Family::Bound;
    allow(context, &mechanism, &with, Some(strength(&key.material)))?;
    with.permits(flag::WRAP)?;
    check(&key, &with, bound)?;
    if bound {
        let authenticating = context.key(authenticating)?;
        return Ok(vec![bound::wrap(&mechanism, &key, &with, &authenticating)?]);
    }
    ensure(authenticating.is_empty(), rv::ARGUMENTS_BAD)?;
    if key.material.own.is_some() {
        // What fills it up with zeros cannot tell them from DER.
        let core = mechanism.core()?;
        ensure(core.entry.unit == 1, rv::KEY_NOT_WRAPPABLE)?;
        let mut cipher = core.cipher(with.material.held.clone(), true).map_err(|error| match Rv::from(error) {
            Rv(rv::KEY_TYPE_INCONSISTENT) => Rv(rv::WRAPPING_KEY_TYPE_INCONSISTENT),
            Rv(rv::KEY_SIZE_RANGE) => Rv(rv::WRAPPING_KEY_SIZE_RANGE),
            error => error,
        })?;
        let wrapped = cipher::once(&mut *cipher, &key.material.value).map_err(|error| match error {
            Rv(rv::DATA_LEN_RANGE) => Rv(rv::KEY_SIZE_RANGE),
            error => error,
        })?;
        return Ok(vec![wrapped]);
    }
    let leaving = wrapping::wrap(mechanism.core()?, &with.material.held, &key.material.held)?;
    Ok(vec![filled(leaving.length(), |out| leaving.wrap(out))?])
}
