//! Keys that are made here: m_GenerateKey and m_GenerateKeyPair.

use crate::attributes::{self, Origin};
use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, ensure, fail};
use crate::key::Material;
use crate::mechanisms::{Wanted, flags};
use crate::{own, sessions, spki};
use adjunct_ep11_wire::attributes::Template;
use adjunct_ep11_wire::codes::{attribute as a, control as c, key as k, mechanism as m, rv};
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::key::Curve;
use cryptoki_sys::*;

/// Types of keys that are bytes of any length: generic secrets, and those of one HMAC (SHA-1, SHA-256, SHA-384, SHA-512, SHA-224).
pub(crate) fn is_generic(kind: u32) -> bool {
    matches!(kind, k::GENERIC_SECRET | k::SHA_1_HMAC | 0x2b..=0x2e)
}

/// m_GenerateKey.
pub(crate) fn secret(context: &Context<'_>) -> Result<Results> {
    context.allow(&[c::KEYGEN_SYMM])?;
    let mechanism = Wanted::read(context.argument(0), flags::GENERATE)?;
    let template = attributes::read(context.argument(1))?;
    let session = sessions::of_argument(context, context.argument(2))?;
    let kind = match mechanism.entry.kind {
        m::AES_KEY_GEN => k::AES,
        m::DES2_KEY_GEN => k::DES2,
        m::DES3_KEY_GEN => k::DES3,
        _ => template.number(a::KEY_TYPE).unwrap_or(k::GENERIC_SECRET),
    };
    let generic = mechanism.entry.kind == m::GENERIC_SECRET_KEY_GEN;
    ensure(!generic || is_generic(kind), rv::TEMPLATE_INCONSISTENT)?;
    attributes::check(&template, k::SECRET, Some(kind))?;
    let own = attributes::flags(context, &template, k::SECRET, kind, Origin::Generated)?;
    let mut wanted = Attributes::default();
    if let Some(length) = template.number(a::VALUE_LEN) {
        wanted.set_number(CKA_VALUE_LEN, length.into())?;
    }
    let (_, value) = Mechanism::new(mechanism.entry.core, Params::None).secret(&wanted)?;
    let key = context.new_key(Material::secret(kind, value)?, own, session)?;
    Ok(vec![key.seal(context.domain.sealing()?)?, Bytes::new(key.material.sum())])
}

/// The parameter set of a lattice's keys, which a template names by number or by the object identifier.
fn parameter_set(template: &Template<'_>) -> Result<CK_ULONG> {
    let number = template.number(a::IBM_PARAMETER_SET).or_else(|| template.number(a::PARAMETER_SET));
    if let Some(number) = number {
        return Ok(number.into());
    }
    // RFC 9881, 2; RFC 9935, 3: the last byte of NIST's identifiers.
    match template.bytes(a::IBM_PQC_PARAMS) {
        Some([6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, last @ 17..=19]) => Ok(CK_ULONG::from(last - 16)),
        Some([6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 4, last @ 1..=3]) => Ok(CK_ULONG::from(*last)),
        Some(_) => fail(rv::IBM_PQC_PARAMS_NOT_SUPPORTED),
        None => fail(rv::TEMPLATE_INCOMPLETE),
    }
}

/// PKCS #11's mechanism that makes the pair, with what it is to be.
fn pair_of(
    mechanism: &Wanted<'_>,
    public: &Template<'_>,
    private: &Template<'_>,
) -> Result<(CK_MECHANISM_TYPE, Attributes)> {
    let mut wanted = Attributes::default();
    let mut core = mechanism.entry.core;
    match mechanism.entry.kind {
        m::RSA_PKCS_KEY_PAIR_GEN | m::RSA_X9_31_KEY_PAIR_GEN => {
            let bits = public.number(a::MODULUS_BITS).ok_or(Rv(rv::TEMPLATE_INCOMPLETE))?;
            ensure((mechanism.entry.least..=mechanism.entry.most).contains(&bits), rv::KEY_SIZE_RANGE)?;
            wanted.set_number(CKA_MODULUS_BITS, bits.into())?;
            if let Some(exponent) = public.bytes(a::PUBLIC_EXPONENT) {
                wanted.set(CKA_PUBLIC_EXPONENT, exponent)?;
            }
        }
        m::IBM_ML_DSA_KEY_PAIR_GEN | m::IBM_ML_KEM_KEY_PAIR_GEN => {
            let set = parameter_set(public).or_else(|_| parameter_set(private))?;
            ensure((1..=3).contains(&set), rv::IBM_PQC_PARAMS_NOT_SUPPORTED)?;
            wanted.set_number(CKA_PARAMETER_SET, set)?;
        }
        _ => {
            let params = public.bytes(a::EC_PARAMS).or_else(|| private.bytes(a::EC_PARAMS));
            let curve = Curve::of(params.ok_or(Rv(rv::TEMPLATE_INCOMPLETE))?)?;
            let own = match curve {
                Curve::Group(_) => CKM_EC_KEY_PAIR_GEN,
                Curve::Ed25519 | Curve::Ed448 => CKM_EC_EDWARDS_KEY_PAIR_GEN,
                Curve::X25519 | Curve::X448 => CKM_EC_MONTGOMERY_KEY_PAIR_GEN,
            };
            // The cards of Z have one mechanism for all curves.
            ensure(core == own || core == CKM_EC_KEY_PAIR_GEN, rv::CURVE_NOT_SUPPORTED)?;
            core = own;
            wanted.set(CKA_EC_PARAMS, &curve.params())?;
        }
    }
    Ok((core, wanted))
}

/// A pair that the core does not make.
fn own_pair(mechanism: &Wanted<'_>, public: &Template<'_>, private: &Template<'_>) -> Result<Option<own::Shared>> {
    if mechanism.entry.kind == m::IBM_DILITHIUM {
        let params = public.bytes(a::IBM_PQC_PARAMS).or_else(|| private.bytes(a::IBM_PQC_PARAMS));
        return match params.ok_or(Rv(rv::TEMPLATE_INCOMPLETE))? {
            [6, length, oid @ ..] if usize::from(*length) == oid.len() => {
                let set = own::dilithium::Set::of_oid(oid).ok_or(Rv(rv::IBM_PQC_PARAMS_NOT_SUPPORTED))?;
                Ok(Some(own::dilithium::generate(set)))
            }
            _ => fail(rv::IBM_PQC_PARAMS_NOT_SUPPORTED),
        };
    }
    let finite = match mechanism.entry.kind {
        m::DH_PKCS_KEY_PAIR_GEN => Some(own::Use::Agreement),
        m::DSA_KEY_PAIR_GEN => Some(own::Use::Signatures),
        _ => None,
    };
    if let Some(kind) = finite {
        let params = public.bytes(a::IBM_STRUCT_PARAMS).or_else(|| private.bytes(a::IBM_STRUCT_PARAMS));
        let params = params.ok_or(Rv(rv::TEMPLATE_INCOMPLETE))?;
        let domain = own::Domain::of_struct(kind, params).ok_or(Rv(rv::TEMPLATE_INCONSISTENT))?;
        return domain.generate(kind).map(Some);
    }
    let params = public.bytes(a::EC_PARAMS).or_else(|| private.bytes(a::EC_PARAMS));
    match params.and_then(own::Curve::of) {
        Some(curve) if mechanism.entry.kind == m::EC_KEY_PAIR_GEN => curve.generate().map(Some),
        _ => Ok(None),
    }
}

/// A pair of the core.
fn core_pair((core, wanted): (CK_MECHANISM_TYPE, Attributes)) -> Result<Material> {
    let made = Mechanism::new(core, Params::None).pair(&wanted)?;
    let mut attributes = made.private;
    attributes.set_number(CKA_CLASS, CKO_PRIVATE_KEY)?;
    attributes.set_number(CKA_KEY_TYPE, made.kind)?;
    Material::private(attributes, Some(made.key))
}

/// m_GenerateKeyPair.
pub(crate) fn pair(context: &Context<'_>) -> Result<Results> {
    context.allow(&[c::KEYGEN_ASYMM])?;
    let mechanism = Wanted::read(context.argument(0), flags::GENERATE_PAIR)?;
    let (public, private) = (attributes::read(context.argument(1))?, attributes::read(context.argument(2))?);
    let session = sessions::of_argument(context, context.argument(3))?;
    attributes::check(&public, k::PUBLIC, None)?;
    attributes::check(&private, k::PRIVATE, None)?;
    let material = match own_pair(&mechanism, &public, &private)? {
        Some(own) => Material::of_own(own, true)?,
        None => core_pair(pair_of(&mechanism, &public, &private)?)?,
    };
    for template in [&public, &private] {
        let given = template.number(a::KEY_TYPE);
        ensure(given.is_none_or(|given| same_kind(given, material.kind)), rv::TEMPLATE_INCONSISTENT)?;
    }
    let info = material.spki()?;
    test(context, &material, &info)?;
    let public_flags = attributes::flags(context, &public, k::PUBLIC, material.kind, Origin::Generated)?;
    let private_flags = attributes::flags(context, &private, k::PRIVATE, material.kind, Origin::Generated)?;
    let key = context.new_key(material, private_flags, session)?;
    let with = context.domain.sealing()?;
    let head = crate::blob::Head { flags: public_flags, ..key.head };
    Ok(vec![key.seal(with)?, spki::seal(with, &head, &info)?])
}

/// Checks that what a new private key signs, its public key verifies, unless control points let that be skipped. Keys that do not sign are not tested.
///
/// # Errors
/// `CKR_DEVICE_ERROR`.
pub(crate) fn test(context: &Context<'_>, private: &Material, info: &[u8]) -> Result {
    if context.domain.points.has(c::SKIP_KEYTESTS) {
        return Ok(());
    }
    let (data, wrong) = ([0x5a; 20], Rv(rv::DEVICE_ERROR));
    if let Some(own) = &private.own {
        let Some(scheme) = own.tested() else { return Ok(()) };
        let signature = own.sign(scheme, &data)?;
        let public = Material::of_spki(info)?;
        let good = public.own.is_some_and(|public| public.verify(scheme, &data, &signature));
        return ensure(good, wrong.0);
    }
    let kind = match private.kind {
        k::RSA => CKM_RSA_PKCS,
        k::EC => CKM_ECDSA,
        k::EC_EDWARDS => CKM_EDDSA,
        k::IBM_ML_DSA => CKM_ML_DSA,
        _ => return Ok(()),
    };
    let mechanism = Mechanism::new(kind, Params::None);
    let mut signer = mechanism.signer(private.held.clone())?;
    let mut signature = adjunct::memory::zeros(signer.length())?;
    let length = signer.once(&data, &mut signature).map_err(|_| wrong)?;
    let mut verifier = mechanism.verifier(Material::of_spki(info)?.held)?;
    verifier.update(&data)?;
    verifier.finish(&signature[..length]).map_err(|_| wrong)
}

/// Whether a template may call a type of key so: programs call all keys on curves EC.
pub(crate) fn same_kind(given: u32, kind: u32) -> bool {
    given == kind || given == k::EC && matches!(kind, k::EC_EDWARDS | k::EC_MONTGOMERY)
}
