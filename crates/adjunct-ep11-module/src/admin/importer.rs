//! Keys that parts of wrapping keys are encrypted for: a domain's importer, and holders of key parts.

use super::der::{self, Recipient, oid};
use super::reason::{Done, Reason, demand, refuse};
use super::signers::ski;
use crate::error::Rv;
use crate::key::Material;
use adjunct::ops::digest::{Method, Part, SHA1, SHA256, SHA512};
use adjunct::ops::ec::{self, Form, MAX_FIELD, MAX_POINT};
use adjunct::ops::random::random;
use adjunct_coprocessor::unit::{OwnKey, Ski, Unit};
use adjunct_ep11_wire::codes::{key as k, rv};
use adjunct_mechanisms::keys::generate_pair;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::Defaults;
use adjunct_mechanisms::object::key::ObjectKey;
use adjunct_mechanisms::object::{Held, pkcs8};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// Where a unit keeps its importer.
const IMPORTER: u32 = 0xe11_0001;
/// Bytes of random user key material.
const MATERIAL: usize = 40;

const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const P521: &[u8] = &[6, 5, 0x2b, 0x81, 4, 0, 0x23];

/// What comes out of a RecipientInfo.
type Secret = Zeroizing<Vec<u8>>;

/// A pair of keys of this curve: the private one.
pub(super) fn curve_pair(params: &[u8]) -> Done<Material> {
    let mut public = Attributes::default();
    public.set(CKA_EC_PARAMS, params).map_err(Rv::from)?;
    pair(CKM_EC_KEY_PAIR_GEN, public)
}

/// A pair of keys on P-256 or P-521.
pub(super) fn nist_pair(p521: bool) -> Done<Material> {
    curve_pair(if p521 { P521 } else { P256 })
}

fn pair(mechanism: CK_MECHANISM_TYPE, public: Attributes) -> Done<Material> {
    let mut private = Attributes::default();
    private.set_bool(CKA_EXTRACTABLE, true).map_err(Rv::from)?;
    let defaults = Defaults { open: true };
    let [_, private] =
        generate_pair(defaults, Mechanism::new(mechanism, Params::None), public, private).map_err(Rv::from)?;
    Ok(Material::of_pkcs8(&pkcs8::to_der(&private).map_err(Rv::from)?)?)
}

/// An importer key of a domain.
pub(super) struct Importer {
    key: Material,
    /// Its public half.
    pub spki: Vec<u8>,
    ski: Ski,
}

impl Importer {
    fn of(key: Material) -> Done<Importer> {
        let spki = key.spki()?;
        let ski = ski(&spki).ok_or(Reason::NoImporter)?;
        Ok(Importer { key, spki, ski })
    }

    /// Makes a key of an importer's type, and keeps it in the unit.
    pub fn generate(unit: &mut Unit, kind: u32) -> Done<Importer> {
        let key = match kind {
            0 | 1 | 7 => {
                let bits = match kind {
                    0 => 2048,
                    1 => 4096,
                    _ => 3072,
                };
                let mut public = Attributes::default();
                public.set_number(CKA_MODULUS_BITS, bits).map_err(Rv::from)?;
                public.set(CKA_PUBLIC_EXPONENT, &[1, 0, 1]).map_err(Rv::from)?;
                pair(CKM_RSA_PKCS_KEY_PAIR_GEN, public)?
            }
            2 => nist_pair(false)?,
            3 | 8 => nist_pair(true)?,
            _ => return refuse(Reason::ImporterType),
        };
        let own = OwnKey::new(Zeroizing::new(key.value.to_vec()));
        unit.set_key(IMPORTER, Some(own)).or(Err(Reason::ImportFailed))?;
        Importer::of(key)
    }

    /// The importer of a unit.
    pub fn load(unit: &Unit) -> Done<Importer> {
        let own = unit.key(IMPORTER).ok_or(Reason::NoImporter)?;
        Importer::of(Material::of_pkcs8(own.secret())?)
    }

    /// What a RecipientInfo holds for this key.
    pub fn open(&self, info: &[u8]) -> Done<Secret> {
        match der::recipient(info).ok_or(Reason::RecipientFormat)? {
            Recipient::Rsa { ski, encrypted } => {
                demand(ski == self.ski && self.key.kind == k::RSA, Reason::RecipientFormat)?;
                demand(encrypted.len() * 8 == self.key.bits as usize, Reason::RecipientSize)?;
                Ok(crypt(CKM_RSA_PKCS, self.key.held.clone(), false, encrypted)?)
            }
            Recipient::Ec { ski, scheme, point, material, wrapped } => {
                demand(ski == self.ski && self.key.kind == k::EC, Reason::RecipientFormat)?;
                let shared = agree(&self.key, point)?;
                let with = kek(scheme, &shared, material)?;
                crypt(CKM_AES_KEY_WRAP, with.held, false, wrapped).or(refuse(Reason::RecipientSize))
            }
        }
    }
}

/// A message through a cipher.
pub(super) fn crypt(mechanism: CK_MECHANISM_TYPE, key: Held, encrypt: bool, input: &[u8]) -> Result<Secret, Rv> {
    let mut cipher = Mechanism::new(mechanism, Params::None).cipher(key, encrypt)?;
    let mut out = Zeroizing::new(vec![0; cipher.once_length(input.len())]);
    let length = cipher.once(input, &mut out)?;
    out.truncate(length);
    Ok(out)
}

/// The first coordinate that ECDH gives, of the field's length.
pub(super) fn agree(private: &Material, point: &[u8]) -> Done<Secret> {
    let key = private.held.key().map_err(Rv::from)?;
    let ObjectKey::Ec(own) = &*key else { return refuse(Reason::RecipientPoint) };
    let peer = ec::EcKey::new(own.group(), Some(point), None).or(Err(Reason::RecipientPoint))?;
    let mut out = Zeroizing::new([0; MAX_FIELD]);
    let shared = own.shared_secret(&peer, &mut out).or(Err(Reason::RecipientPoint))?;
    Ok(Zeroizing::new(shared.to_vec()))
}

/// A key's public point, uncompressed.
fn point(key: &ec::EcKey) -> Done<Vec<u8>> {
    let mut out = [0; MAX_POINT];
    Ok(key.public(Form::Uncompressed, &mut out).ok_or(Reason::RecipientPoint)?.to_vec())
}

/// The key that wraps, by ANSI X9.63's derivation.
fn kek(scheme: &[u8], shared: &[u8], material: Option<&[u8]>) -> Done<Material> {
    let method: &'static Method = match scheme {
        oid::ECDH_SHA1 => &SHA1,
        oid::ECDH_SHA256 => &SHA256,
        oid::ECDH_SHA512 => &SHA512,
        _ => return refuse(Reason::RecipientFormat),
    };
    let (info, mut key) = (der::shared_info(material), Zeroizing::new(Vec::with_capacity(64)));
    for counter in 1..=32_u32.div_ceil(method.size as u32) {
        let (mut digest, mut out) = (Part::new(method), Zeroizing::new([0; 64]));
        digest.update(shared);
        digest.update(&counter.to_be_bytes());
        digest.update(&info);
        digest.finish(&mut out[..method.size]);
        let most = method.size.min(32 - key.len());
        key.extend_from_slice(&out[..most]);
    }
    Ok(Material::secret(k::AES, key)?)
}

/// A RecipientInfo of a secret for a public key.
pub(super) fn seal_for(spki: &[u8], secret: &[u8]) -> Done<Vec<u8>> {
    let invalid = Reason::ExportCertificate;
    let ski = ski(spki).ok_or(invalid)?;
    let key = Material::of_spki(spki).or(Err(invalid))?;
    match (key.kind, &*key.held.key().map_err(Rv::from)?) {
        (k::RSA, _) if key.bits >= 2048 => {
            let encrypted = crypt(CKM_RSA_PKCS, key.held.clone(), true, secret)?;
            Ok(Recipient::Rsa { ski: &ski, encrypted: &encrypted }.to_bytes())
        }
        (k::EC, ObjectKey::Ec(public)) if key.bits >= 256 => {
            let params = key.held.attributes.bytes(CKA_EC_PARAMS).ok_or(invalid)?;
            let own = curve_pair(params)?;
            let shared = agree(&own, &point(public)?)?;
            let mut material = [0; MATERIAL];
            random(&mut material);
            let with = kek(oid::ECDH_SHA256, &shared, Some(&material))?;
            let wrapped = crypt(CKM_AES_KEY_WRAP, with.held, true, secret)?;
            let made = own.held.key().map_err(Rv::from)?;
            let ObjectKey::Ec(made) = &*made else { return Err(Rv(rv::FUNCTION_FAILED).into()) };
            let point = point(made)?;
            let scheme = oid::ECDH_SHA256;
            Ok(Recipient::Ec { ski: &ski, scheme, point: &point, material: Some(&material), wrapped: &wrapped }
                .to_bytes())
        }
        _ => refuse(invalid),
    }
}
