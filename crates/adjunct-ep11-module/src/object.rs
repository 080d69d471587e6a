//! m_GetAttributeValue and m_SetAttributeValue.

use crate::attributes;
use crate::blob::Head;
use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, ensure, fail};
use crate::key::Key;
use crate::{spki, strength};
use adjunct_ep11_wire::attributes::{BOOLEANS, Template, Value, is_number};
use adjunct_ep11_wire::codes::{attribute as a, control as c, flag, key as k, rv};
use cryptoki_sys::*;

/// m_GetAttributeValue.
pub(crate) fn get(context: &Context<'_>) -> Result<Results> {
    let (with, key) = context.key_with(context.argument(0))?;
    let question = attributes::read(context.argument(1))?;
    let known = BOOLEANS.iter().fold(0, |all, (_, bit)| all | bit);
    ensure(question.mask & !known == 0, rv::ATTRIBUTE_TYPE_INVALID)?;
    // As the cards of Z have it.
    ensure(question.mask & flag::NEVER_MODIFIABLE == 0, rv::ARGUMENTS_BAD)?;
    let mut held = Vec::with_capacity(question.values.len());
    for (kind, _) in &question.values {
        held.push(match (*kind, is_number(*kind)) {
            (kind, true) => (kind, Owned::Number(number(&key, kind)?)),
            (a::IBM_LOGIN_SESSION, _) => (*kind, Owned::Bytes(key.head.session.to_vec())),
            (a::IBM_MACED_PUBLIC_KEY_INFO, _) => {
                let with = with.ok_or(Rv(rv::ATTRIBUTE_TYPE_INVALID))?;
                (*kind, Owned::Bytes(spki::seal(with, &public_head(&key), &key.material.spki()?)?.to_vec()))
            }
            (kind, false) => (kind, Owned::Bytes(bytes(&key, kind)?)),
        });
    }
    let values = held.iter().map(|(kind, value)| match value {
        Owned::Number(number) => (*kind, Value::Number(*number)),
        Owned::Bytes(bytes) => (*kind, Value::Bytes(bytes)),
    });
    let answer = Template { mask: question.mask, flags: key.head.flags & question.mask, values: values.collect() };
    Ok(vec![Bytes::new(answer.to_bytes())])
}

/// What stands before a public key: its own head, or of a private key what its public half may do.
fn public_head(key: &Key) -> Head {
    let mut head = key.head;
    if key.material.class != k::PUBLIC {
        let uses = strength::uses(k::PUBLIC, key.material.kind) & !(flag::WRAP | flag::DERIVE);
        head.flags = flag::MODIFIABLE | uses;
    }
    head
}

enum Owned {
    Number(u32),
    Bytes(Vec<u8>),
}

fn number(key: &Key, kind: u32) -> Result<u32> {
    let material = &key.material;
    let attributes = &material.held.attributes;
    let other = Rv(rv::ATTRIBUTE_TYPE_INVALID);
    Ok(match kind {
        a::CLASS => material.class,
        a::KEY_TYPE | a::IBM_KEYTYPE => material.kind,
        a::IBM_STD_COMPLIANCE1 => u32::try_from(key.head.mode).map_err(|_| other)?,
        a::VALUE_LEN if material.class == k::SECRET => material.value.len() as u32,
        a::MODULUS_BITS if material.kind == k::RSA => material.bits,
        a::PARAMETER_SET | a::IBM_PARAMETER_SET => {
            let set = attributes.number(CKA_PARAMETER_SET).ok_or(other)?;
            u32::try_from(set).map_err(|_| other)?
        }
        _ => return Err(other),
    })
}

fn bytes(key: &Key, kind: u32) -> Result<Vec<u8>> {
    let material = &key.material;
    let attributes = &material.held.attributes;
    let asymmetric = material.class != k::SECRET;
    let found = match kind {
        a::PUBLIC_KEY_INFO if asymmetric => return material.spki(),
        a::MODULUS => attributes.bytes(CKA_MODULUS),
        a::PUBLIC_EXPONENT => attributes.bytes(CKA_PUBLIC_EXPONENT),
        a::EC_PARAMS => attributes.bytes(CKA_EC_PARAMS),
        a::PRIME => attributes.bytes(CKA_PRIME),
        a::SUBPRIME => attributes.bytes(CKA_SUBPRIME),
        a::BASE => attributes.bytes(CKA_BASE),
        a::EC_POINT => attributes.bytes(CKA_EC_POINT),
        a::VALUE if material.class == k::PUBLIC => attributes.bytes(CKA_VALUE),
        a::VALUE => return fail(rv::ATTRIBUTE_SENSITIVE),
        _ => None,
    };
    found.map(<[u8]>::to_vec).ok_or(Rv(rv::ATTRIBUTE_TYPE_INVALID))
}

/// The boolean attributes after a change.
///
/// # Errors
/// `CKR_ATTRIBUTE_READ_ONLY`, `CKR_TEMPLATE_INCONSISTENT`, `CKR_FUNCTION_CANCELED`.
fn changed(context: &Context<'_>, key: &Key, wanted: &Template<'_>) -> Result<u32> {
    let (before, class) = (key.head.flags, key.material.class);
    let change = (before ^ wanted.flags) & wanted.mask;
    let (up, down) = (change & wanted.flags, change & before);
    ensure(
        change & !(flag::DOWNWARD | flag::CHANGEABLE | flag::RESTRICTABLE | flag::ATTRBOUND) == 0,
        rv::ATTRIBUTE_READ_ONLY,
    )?;
    let modifiable = key.has(flag::MODIFIABLE) || key.has(flag::RESTRICTABLE) && up == 0;
    ensure(change == 0 || modifiable, rv::ATTRIBUTE_READ_ONLY)?;
    ensure(up & (flag::DOWNWARD & !flag::TRUSTED | flag::RESTRICTABLE) == 0, rv::ATTRIBUTE_READ_ONLY)?;
    if up & flag::TRUSTED != 0 {
        // Who may make a trusted key may make one of a key that is there: openCryptoki's security officer does.
        ensure(class != k::PRIVATE, rv::TEMPLATE_INCONSISTENT)?;
        context.allow(&[c::USER_SET_TRUSTED])?;
    }
    if change & flag::ATTRBOUND != 0 {
        ensure(class == k::PUBLIC && down & flag::ATTRBOUND == 0, rv::ATTRIBUTE_READ_ONLY)?;
        context.allow(&[c::USER_SET_ATTRBOUND])?;
    }
    let uses = strength::CRYPT | strength::SIGN | strength::WRAP | flag::DERIVE;
    ensure(up & uses & !strength::uses(class, key.material.kind) == 0, rv::TEMPLATE_INCONSISTENT)?;
    ensure(class != k::PUBLIC || up & flag::WRAP_WITH_TRUSTED == 0, rv::TEMPLATE_INCONSISTENT)?;
    let after = before & !down | up;
    if class != k::PUBLIC {
        strength::allow_uses(context.domain.points, after)?;
        strength::allow_new_uses(context.domain.points, up)?;
    }
    Ok(after)
}

/// m_SetAttributeValue.
pub(crate) fn set(context: &Context<'_>) -> Result<Results> {
    context.allow(&[c::MODIFY_OBJECTS])?;
    let (with, key) = context.key_with(context.argument(0))?;
    let wanted = attributes::read(context.argument(1))?;
    ensure(wanted.values.is_empty(), rv::ATTRIBUTE_READ_ONLY)?;
    // What nobody vouches for has no attributes to change.
    let with = with.ok_or(Rv(rv::ATTRIBUTE_READ_ONLY))?;
    let mut new = Key::clone(&key);
    new.head.flags = changed(context, &key, &wanted)?;
    let sealed = if key.material.class == k::PUBLIC {
        spki::seal(with, &new.head, &key.material.value)?
    } else {
        new.seal(with)?
    };
    Ok(vec![sealed])
}
