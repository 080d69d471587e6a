//! Who has signed a command: SignerInfos under the keys of administrators' certificates.

use super::attributes::{self, permission};
use super::der::{self, SignerInfo, oid};
use super::reason::{Done, Reason, demand, refuse};
use crate::key::Material;
use crate::strength;
use adjunct::ops::digest::sha256;
use adjunct_coprocessor::unit::{Administrator, Ski, Unit};
use adjunct_ep11_wire::codes::key as k;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use cryptoki_sys::*;

/// The most SignerInfos of a command: the administrators of card and domain.
const MOST: usize = 16;

/// The identifier of a public key: SHA-256 of the contents of its BIT STRING.
pub(super) fn ski(spki: &[u8]) -> Option<Ski> {
    Some(sha256(&[der::key_bits(spki)?]))
}

/// The administrator of a certificate, whose key is of a kind that signs commands, and as strong as the unit asks.
pub(super) fn administrator(unit: &Unit, card: bool, certificate: &[u8]) -> Done<Administrator> {
    let invalid = Reason::Certificate;
    let spki = adjunct_mechanisms::der::certificate(certificate).ok_or(invalid)?.key;
    let key = Material::of_spki(spki).or(Err(invalid))?;
    let bits = match key.kind {
        k::RSA if key.bits >= 2048 => key.bits,
        k::EC if matches!(curve(&key), Some(256 | 384 | 521)) => key.bits,
        _ => return refuse(invalid),
    };
    demand(bits > 0 && strength::strength(&key) >= attributes::least_strength(unit, card), invalid)?;
    let ski = ski(spki).ok_or(invalid)?;
    Ok(Administrator::new(ski, certificate).ok_or(invalid)?)
}

/// Bits of the field of one of NIST's curves.
fn curve(key: &Material) -> Option<u32> {
    use adjunct::ops::ec::Group;
    use adjunct_mechanisms::object::key::Curve;
    match key.curve()? {
        Curve::Group(Group::P256) => Some(256),
        Curve::Group(Group::P384) => Some(384),
        Curve::Group(Group::P521) => Some(521),
        _ => None,
    }
}

/// Whether a signature is right.
fn is_right(certificate: &[u8], info: &SignerInfo<'_>, data: &[u8]) -> Option<bool> {
    let spki = adjunct_mechanisms::der::certificate(certificate)?.key;
    let key = Material::of_spki(spki).ok()?;
    let (mechanism, signature) = match (key.kind, info.algorithm, info.digest) {
        (k::RSA, oid::RSA_SHA256 | oid::RSA, oid::SHA256) => (CKM_SHA256_RSA_PKCS, info.signature.to_vec()),
        (k::RSA, oid::RSA_SHA512 | oid::RSA, oid::SHA512) => (CKM_SHA512_RSA_PKCS, info.signature.to_vec()),
        (k::EC, algorithm, digest) => {
            let (mechanism, of) = match (algorithm, digest) {
                (oid::ECDSA_SHA256, oid::SHA256) => (CKM_ECDSA_SHA256, 256),
                (oid::ECDSA_SHA384, oid::SHA384) => (CKM_ECDSA_SHA384, 384),
                (oid::ECDSA_SHA512, oid::SHA512) => (CKM_ECDSA_SHA512, 521),
                _ => return None,
            };
            let bits = curve(&key).filter(|bits| *bits == of)?;
            (mechanism, der::signature_pair(info.signature, bits.div_ceil(8) as usize)?)
        }
        _ => return None,
    };
    let mut verifier = Mechanism::new(mechanism, Params::None).verifier(key.held).ok()?;
    verifier.update(data).ok()?;
    Some(verifier.finish(&signature).is_ok())
}

/// Whose signatures count.
pub(super) struct Authority<'a> {
    /// The unit that is ruled.
    pub unit: &'a Unit,
    /// The card, where the unit is a domain whose commands the card's administrators sign too.
    pub above: Option<&'a Unit>,
}

impl<'a> Authority<'a> {
    /// The administrators of a domain, and those of the card unless the domain is not to be disturbed by them.
    pub fn of_domain(unit: &'a Unit, card: &'a Unit, always: bool) -> Authority<'a> {
        let permissions = attributes::get(unit, false, attributes::number::PERMS);
        let above = (always || permissions & permission::DO_NOT_DISTURB == 0).then_some(card);
        Authority { unit, above }
    }

    fn find(&self, ski: &Ski) -> Option<&Administrator> {
        self.unit.administrator(ski).or_else(|| self.above?.administrator(ski))
    }

    /// Checks that so many administrators have signed; each counts once. Who they are.
    ///
    /// # Errors
    /// [`Reason::Signature`] where one signature is wrong, or of nobody; [`Reason::TooFewSignatures`]; [`Reason::ManySigners`].
    pub fn check(&self, data: &[u8], signatures: &[u8], needed: u32) -> Done<Vec<Ski>> {
        if needed == 0 {
            return Ok(Vec::new());
        }
        demand(!signatures.is_empty(), Reason::TooFewSignatures)?;
        let many = der::sequences(signatures, usize::MAX).is_some_and(|all| all.len() > MOST);
        demand(!many, Reason::ManySigners)?;
        let infos = der::signer_infos(signatures, MOST).ok_or(Reason::Signature)?;
        let mut signers: Vec<Ski> = Vec::new();
        for info in &infos {
            let ski: &Ski = info.ski.try_into().or(Err(Reason::SkiFormat))?;
            let administrator = self.find(ski).ok_or(Reason::Signature)?;
            demand(is_right(administrator.certificate(), info, data) == Some(true), Reason::Signature)?;
            if !signers.contains(ski) {
                signers.push(*ski);
            }
        }
        demand(signers.len() >= needed as usize, Reason::TooFewSignatures)?;
        Ok(signers)
    }
}
