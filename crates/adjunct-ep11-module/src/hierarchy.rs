//! Asymmetric keys that are derived: hierarchies of BIP-32, SLIP-10 and EIP-2333, and sums of BLS's public keys. Part of m_DeriveKey.
//!
//! A chain code is no secret here: it comes as a parameter, and the child's is answered in place of the check value. With it, and a parent's public key,
//! a child's private key that is not hardened gives the parent's away (BIP-32, "Security"): so no child may leave that its parent may not.

use crate::attributes::{self, Origin};
use crate::blob::Head;
use crate::context::{Bytes, Context, Results};
use crate::der::{EcPrivate, OCTETS, Pkcs8, Reader, Spki};
use crate::error::{Result, Rv, ensure, fail};
use crate::key::{Key, Material};
use crate::mechanisms::Wanted;
use crate::own::{self, Secret};
use crate::{point, sessions, spki, tree};
use adjunct_ep11_wire::attributes::Template;
use adjunct_ep11_wire::codes::{attribute as a, control as c, flag, key as k, rv};
use adjunct_ep11_wire::mechanism::Parameter;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::key::Curve as Core;
use cryptoki_sys::*;
use tree::{Curve, Node};

const INVALID: u32 = rv::MECHANISM_PARAM_INVALID;
const TYPE: u32 = rv::KEY_TYPE_INCONSISTENT;

/// What is derived from what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A secret key gives the root, private.
    Root,
    /// A private key gives a private one.
    Private,
    /// A private key gives a public one.
    Half,
    /// A public key gives a public one.
    Public,
}

/// m_DeriveKey with a mechanism of these.
pub(crate) fn derive(context: &Context<'_>, mechanism: &Wanted<'_>) -> Result<Results> {
    let template = attributes::read(context.argument(1))?;
    ensure(context.argument(3).is_empty(), rv::ARGUMENTS_BAD)?;
    let session = sessions::of_argument(context, context.argument(4))?;
    context.allow(mechanism.entry.points)?;
    match mechanism.parameter {
        Parameter::Btc { kind, child, chain_code } => {
            let slip = match kind {
                1..=4 => false,
                5..=8 => true,
                _ => return fail(INVALID),
            };
            let step = [Step::Private, Step::Half, Step::Public, Step::Root][(kind as usize - 1) % 4];
            let base = base(context, step)?;
            let (made, chain_code) = bitcoin(slip, step, (child, chain_code), &base, &template)?;
            answer(context, &template, session, step, (&base, made), chain_code)
        }
        Parameter::Eth { signature, kind, child, key_info } => {
            ensure(signature == 4, INVALID)?;
            let step = match kind {
                1 => Step::Private,
                2 => Step::Half,
                3 => Step::Root,
                _ => return fail(INVALID),
            };
            let base = base(context, step)?;
            let made = ethereum(step, child, key_info, &base)?;
            answer(context, &template, session, step, (&base, made), Vec::new())
        }
        Parameter::Aggregate { mode: 2, size, elements } => {
            ensure(context.argument(2).is_empty(), rv::ARGUMENTS_BAD)?;
            let made = sum(context, size, elements)?;
            public(context, &template, session, made, Vec::new())
        }
        _ => fail(INVALID),
    }
}

/// The key that another is derived of, which may be used so.
fn base(context: &Context<'_>, step: Step) -> Result<Key> {
    let base = context.key(context.argument(2))?;
    let class = match step {
        Step::Root => k::SECRET,
        Step::Private | Step::Half => k::PRIVATE,
        Step::Public => k::PUBLIC,
    };
    ensure(base.material.class == class, TYPE)?;
    // A seed is data.
    if step != Step::Root || base.permits(flag::USE_AS_DATA).is_err() {
        base.permits(flag::DERIVE)?;
    }
    Ok(Key::clone(&base))
}

/// The private number, or the bytes, of a key on a curve.
fn number(base: &Key) -> Result<Secret> {
    let info = Pkcs8::of(&base.material.value).ok_or(Rv(TYPE))?;
    let inner = match EcPrivate::of(info.key, &[]) {
        Some(key) => Some(key.value),
        None => Reader(info.key).take(OCTETS),
    };
    Ok(Secret::new(inner.ok_or(Rv(TYPE))?.to_vec()))
}

/// The curve of a key, or of a template's parameters.
fn curve(params: &[u8]) -> Result<Curve> {
    let curve = match own::Curve::of(params) {
        Some(own::Curve::Secp256k1) => Some(Curve::Secp256k1),
        Some(own::Curve::Bls12381) => None,
        None => match Core::of(params)? {
            Core::Ed25519 => Some(Curve::Ed25519),
            Core::Group(adjunct::ops::ec::Group::P256) => Some(Curve::P256),
            _ => None,
        },
    };
    curve.ok_or(Rv(rv::CURVE_NOT_SUPPORTED))
}

fn bitcoin(
    slip: bool,
    step: Step,
    (child, chain_code): (u32, &[u8]),
    base: &Key,
    template: &Template<'_>,
) -> Result<(Material, Vec<u8>)> {
    let own = base.material.held.attributes.bytes(CKA_EC_PARAMS);
    let wanted = template.bytes(a::EC_PARAMS).map(curve).transpose()?;
    let curve = match (step, own) {
        (Step::Root, _) => wanted.ok_or(Rv(rv::TEMPLATE_INCOMPLETE))?,
        (_, own) => curve(own.ok_or(Rv(TYPE))?)?,
    };
    ensure(wanted.is_none_or(|wanted| wanted == curve), rv::TEMPLATE_INCONSISTENT)?;
    ensure(slip || curve == Curve::Secp256k1, rv::CURVE_NOT_SUPPORTED)?;
    if step == Step::Root {
        let seed = base.material.held.clear_value()?;
        // BIP-32: from 128 to 512 bits.
        ensure((16..=64).contains(&seed.len()), rv::KEY_SIZE_RANGE)?;
        let node = tree::root(curve, slip, seed)?;
        return Ok((private(curve, &node.key)?, node.chain_code.to_vec()));
    }
    let chain_code = chain_code.try_into().map_err(|_| Rv(INVALID))?;
    if step == Step::Public {
        ensure(child < tree::HARDENED && curve != Curve::Ed25519, INVALID)?;
        let info = Spki::of(&base.material.value).ok_or(Rv(TYPE))?;
        let (point, chain_code) = tree::public_child(curve, slip, info.key, chain_code, child)?;
        return Ok((half(curve, &point)?, chain_code.to_vec()));
    }
    ensure(child >= tree::HARDENED || curve != Curve::Ed25519, INVALID)?;
    let spki = base.material.spki()?;
    let point = Spki::of(&spki).ok_or(Rv(TYPE))?.key;
    let parent = Node { key: number(base)?, chain_code };
    let node = tree::child(curve, slip, &parent, point, child)?;
    let material = private(curve, &node.key)?;
    if step == Step::Half {
        return Ok((Material::of_spki(&material.spki()?)?, node.chain_code.to_vec()));
    }
    Ok((material, node.chain_code.to_vec()))
}

/// A private key of its number, or its bytes.
fn private(curve: Curve, value: &[u8]) -> Result<Material> {
    let core = match curve {
        Curve::Secp256k1 => {
            let key = own::Curve::Secp256k1.private(value).ok_or(Rv(rv::FUNCTION_FAILED))?;
            return Material::of_own(key, true);
        }
        Curve::P256 => Core::Group(adjunct::ops::ec::Group::P256),
        Curve::Ed25519 => Core::Ed25519,
    };
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, CKO_PRIVATE_KEY)?;
    attributes.set_number(CKA_KEY_TYPE, core.key_type())?;
    attributes.set(CKA_EC_PARAMS, &core.params())?;
    attributes.set(CKA_VALUE, value)?;
    point::complete(&mut attributes)?;
    Material::private(attributes, None)
}

/// A public key of its point.
fn half(curve: Curve, point: &[u8]) -> Result<Material> {
    if curve == Curve::Secp256k1 {
        let key = own::Curve::Secp256k1.public(point).ok_or(Rv(rv::FUNCTION_FAILED))?;
        return Material::of_own(key, false);
    }
    ensure(curve == Curve::P256, INVALID)?;
    let core = Core::Group(adjunct::ops::ec::Group::P256);
    Material::of_spki(&Spki::put(crate::der::oid::EC, &core.params(), point))
}

fn ethereum(step: Step, child: u32, key_info: &[u8], base: &Key) -> Result<Material> {
    let key = if step == Step::Root {
        own::master(base.material.held.clear_value()?, key_info)?
    } else {
        // EIP-2333 has no such input of a child.
        ensure(key_info.iter().all(|byte| *byte == 0), INVALID)?;
        let params = base.material.held.attributes.bytes(CKA_EC_PARAMS).and_then(own::Curve::of);
        ensure(params == Some(own::Curve::Bls12381), TYPE)?;
        own::child(&number(base)?, child).ok_or(Rv(TYPE))?
    };
    if step == Step::Half { Material::of_spki(&key.spki()) } else { Material::of_own(key, true) }
}

/// The sum of public keys that are elements of equal length.
fn sum(context: &Context<'_>, size: u32, elements: &[u8]) -> Result<Material> {
    let mut infos = Vec::new();
    for element in parts(size, elements)? {
        let key = context.key(element)?;
        let params = key.material.held.attributes.bytes(CKA_EC_PARAMS).and_then(own::Curve::of);
        ensure(key.material.class == k::PUBLIC && params == Some(own::Curve::Bls12381), TYPE)?;
        infos.push(key.material.spki()?);
    }
    let points: Option<Vec<&[u8]>> = infos.iter().map(|info| Some(Spki::of(info)?.key)).collect();
    Material::of_own(own::aggregate_keys(&points.ok_or(Rv(TYPE))?)?, false)
}

/// Elements of equal length.
fn parts(size: u32, elements: &[u8]) -> Result<impl Iterator<Item = &[u8]>> {
    let size = size as usize;
    ensure(size > 0 && !elements.is_empty() && elements.len().is_multiple_of(size), INVALID)?;
    Ok(elements.chunks(size))
}

/// m_SignSingle with a mechanism that sums signatures up: no key takes part.
pub(crate) fn signatures(context: &Context<'_>, mechanism: &Wanted<'_>) -> Result<Results> {
    context.allow(mechanism.entry.points)?;
    ensure(context.argument(0).is_empty(), rv::ARGUMENTS_BAD)?;
    let Parameter::Aggregate { mode: 1, size, elements } = mechanism.parameter else { return fail(INVALID) };
    let all: Vec<&[u8]> = parts(size, elements)?.collect();
    Ok(vec![Bytes::new(own::aggregate_signatures(&all)?)])
}

fn answer(
    context: &Context<'_>,
    template: &Template<'_>,
    session: sessions::Id,
    step: Step,
    (base, made): (&Key, Material),
    beside: Vec<u8>,
) -> Result<Results> {
    if matches!(step, Step::Half | Step::Public) {
        return public(context, template, session, made, beside);
    }
    check(template, k::PRIVATE, &made)?;
    // All of these may have children, which PKCS #11 does not know of keys of EdDSA.
    let origin = Origin::Derived(base.head.flags);
    let mut own = attributes::flags(context, template, k::PRIVATE, k::EC, origin)?;
    let leaves = flag::EXTRACTABLE | flag::PROTKEY_EXTRACTABLE;
    ensure(own & leaves & !base.head.flags == 0, rv::TEMPLATE_INCONSISTENT)?;
    own |= base.head.flags & flag::WRAP_WITH_TRUSTED;
    ensure(own & flag::ATTRBOUND == 0 || base.has(flag::ATTRBOUND), rv::TEMPLATE_INCONSISTENT)?;
    if base.has(flag::ATTRBOUND) && own & flag::ATTRBOUND == 0 {
        context.allow(&[c::DERIVE_NON_AB])?;
    }
    let key = context.new_key(made, own, session)?;
    Ok(vec![key.seal(context.domain.sealing()?)?, Bytes::new(beside)])
}

/// A template is of the key that is made.
fn check(template: &Template<'_>, class: u32, made: &Material) -> Result {
    attributes::check(template, class, None)?;
    let given = template.number(a::KEY_TYPE);
    let same = given.is_none_or(|given| crate::generate::same_kind(given, made.kind));
    ensure(same, rv::TEMPLATE_INCONSISTENT)
}

fn public(
    context: &Context<'_>,
    template: &Template<'_>,
    session: sessions::Id,
    made: Material,
    beside: Vec<u8>,
) -> Result<Results> {
    check(template, k::PUBLIC, &made)?;
    let flags = attributes::flags(context, template, k::PUBLIC, k::EC, Origin::Unwrapped)?;
    let head = Head { session, flags, mode: context.mode() };
    Ok(vec![spki::seal(context.domain.sealing()?, &head, &made.value)?, Bytes::new(beside)])
}
