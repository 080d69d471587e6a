//! Signatures and MACs at once: m_SignSingle and m_VerifySingle, and what operations of several calls begin with.

use crate::context::{Bytes, Context, Results, filled};
use crate::error::{Result, Rv, ensure};
use crate::key::Key;
use crate::mechanisms::{Family, Wanted, flags};
use crate::{empty, hierarchy, own, x931};
use adjunct_ep11_wire::codes::{control as c, flag, key as k, mechanism as m, rv};
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::object::key::Curve;
use adjunct_mechanisms::operation::{Signer, Verifier};
use cryptoki_sys::CKM_DES3_CMAC;

/// Checks that a key may sign or verify by a mechanism.
fn check(context: &Context<'_>, mechanism: &Wanted<'_>, key: &Key, sign: bool) -> Result {
    let class = key.material.class;
    context.allow(match (class, sign) {
        (k::SECRET, true) => &[c::SIGN_SYMM],
        (k::SECRET, false) => &[c::SIGVERIFY_SYMM],
        (_, true) => &[c::SIGN_ASYMM],
        _ => &[],
    })?;
    if sign {
        context.allow(mechanism.entry.points)?;
    }
    key.permits(if sign { flag::SIGN } else { flag::VERIFY })?;
    let wanted = mechanism.entry.kind;
    let fits = match mechanism.entry.family {
        Family::Mac(_) => class == k::SECRET,
        Family::Aggregate => false,
        _ => class == if sign { k::PRIVATE } else { k::PUBLIC },
    };
    let curve = match wanted {
        m::IBM_ED25519_SHA512 => key.material.curve() == Some(Curve::Ed25519),
        m::IBM_ED448_SHA3 => key.material.curve() == Some(Curve::Ed448),
        _ => true,
    };
    ensure(fits && curve, rv::KEY_TYPE_INCONSISTENT)?;
    if let Family::Mac(size @ 1..) = mechanism.entry.family
        && key.material.bits < 4 * size
    {
        // Shorter than half of the hash.
        context.allow(&[c::HMAC_ANY])?;
    }
    Ok(())
}

/// Whether a mechanism of ANSI X9.31 hashes; `None` of others.
fn x931(mechanism: &Wanted<'_>) -> Result<Option<bool>> {
    let hashes = match mechanism.entry.kind {
        m::RSA_X9_31 => false,
        m::SHA1_RSA_X9_31 => true,
        _ => return Ok(None),
    };
    mechanism.has_no_parameter()?;
    Ok(Some(hashes))
}

/// What does a mechanism with a key that the core does not have, or that the core does not do with its keys.
fn own(mechanism: &Wanted<'_>, key: &Key) -> Result<Option<own::Shared>> {
    if let Some(own) = &key.material.own {
        return Ok(Some(own.clone()));
    }
    let inconsistent = Rv(rv::KEY_TYPE_INCONSISTENT);
    match mechanism.entry.kind {
        m::IBM_ECDSA_OTHER => own::beside(&key.material).map(Some).ok_or(inconsistent),
        m::DSA | m::DSA_SHA1 | m::IBM_DILITHIUM => Err(inconsistent),
        _ => Ok(None),
    }
}

/// The mechanism as PKCS #11 has it.
fn core<'a>(mechanism: &Wanted<'a>, kind: u32) -> Result<Mechanism<'a>> {
    match mechanism.entry.kind {
        m::IBM_CMAC if kind != k::AES => mechanism.core_for(CKM_DES3_CMAC),
        _ => mechanism.core(),
    }
}

/// Begins a signature with a key that may be used so.
///
/// # Errors
/// `CKR_KEY_FUNCTION_NOT_PERMITTED`, `CKR_FUNCTION_CANCELED`; those of mechanisms.
pub(crate) fn signer(context: &Context<'_>, mechanism: &Wanted<'_>, key: &Key) -> Result<Box<dyn Signer>> {
    check(context, mechanism, key, true)?;
    if let Some(own) = own(mechanism, key)? {
        return own::signer(&own, own::Scheme::of(mechanism)?);
    }
    if let Some(hashes) = x931(mechanism)? {
        return x931::signer(key, hashes);
    }
    Ok(core(mechanism, key.material.kind)?.signer(key.material.held.clone())?)
}

/// Begins the check of a signature with a key that may be used so.
///
/// # Errors
/// As [`signer`].
pub(crate) fn verifier(context: &Context<'_>, mechanism: &Wanted<'_>, key: &Key) -> Result<Box<dyn Verifier>> {
    check(context, mechanism, key, false)?;
    if let Some(own) = own(mechanism, key)? {
        return own::verifier(&own, own::Scheme::of(mechanism)?);
    }
    if let Some(hashes) = x931(mechanism)? {
        return x931::verifier(key, hashes);
    }
    let verifier = core(mechanism, key.material.kind)?.verifier(key.material.held.clone())?;
    if mechanism.entry.kind == m::RSA_PKCS { empty::verifier(verifier, key) } else { Ok(verifier) }
}

/// The signature of a whole message.
///
/// # Errors
/// Those of mechanisms.
pub(crate) fn once(signer: &mut dyn Signer, data: &[u8]) -> Result<Bytes> {
    filled(signer.length(), |out| signer.once(data, out))
}

/// m_SignSingle.
pub(crate) fn single(context: &Context<'_>) -> Result<Results> {
    let mechanism = Wanted::read(context.argument(1), flags::SIGN)?;
    if mechanism.entry.family == Family::Aggregate {
        return hierarchy::signatures(context, &mechanism);
    }
    let key = context.key(context.argument(0))?;
    let mut signer = signer(context, &mechanism, &key)?;
    Ok(vec![once(&mut *signer, context.argument(2))?])
}

/// m_VerifySingle.
pub(crate) fn verify_single(context: &Context<'_>) -> Result<Results> {
    let mechanism = Wanted::read(context.argument(1), flags::VERIFY)?;
    let key = context.key(context.argument(0))?;
    let mut verifier = verifier(context, &mechanism, &key)?;
    verifier.update(context.argument(2))?;
    verifier.finish(context.argument(3))?;
    Ok(Vec::new())
}
