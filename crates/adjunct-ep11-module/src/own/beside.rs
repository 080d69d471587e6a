//! Schnorr's signatures by keys of the core: on P-256 and brainpoolP256r1, beside what the core does with them.

use super::schnorr::{self, Curve256};
use super::{Own, Scheme, Secret, Shared};
use crate::der::{EcPrivate, Pkcs8, Spki};
use crate::error::{Result, Rv, fail};
use crate::key::Material;
use adjunct::ops::ec::Group;
use adjunct_ep11_wire::codes::{key as k, rv};
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::key::Curve;
use k256::elliptic_curve::group::Curve as _;
use k256::elliptic_curve::{AffinePoint, Group as _, ProjectivePoint, Scalar};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A key for these signatures alone.
struct Key<C: Curve256> {
    private: Option<Zeroizing<Scalar<C>>>,
    public: AffinePoint<C>,
}

impl<C: Curve256> fmt::Debug for Key<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a curve of 256 bits")
    }
}

/// What signs with a key of the core by a scheme that the core does not have; `None` where nothing does.
pub(crate) fn of(material: &Material) -> Option<Shared> {
    match material.curve()? {
        Curve::Group(Group::P256) => key::<p256::NistP256>(material),
        Curve::Group(Group::BrainpoolP256r1) => key::<bp256::BrainpoolP256r1>(material),
        _ => None,
    }
}

fn key<C: Curve256>(material: &Material) -> Option<Shared> {
    if material.class == k::PUBLIC {
        let public = C::point(Spki::of(&material.value)?.key)?;
        return Some(Arc::new(Key::<C> { private: None, public }));
    }
    let info = Pkcs8::of(&material.value)?;
    let private = Zeroizing::new(C::number(EcPrivate::of(info.key, &[])?.value)?);
    let public = ProjectivePoint::<C>::mul_by_generator(&private).to_affine();
    Some(Arc::new(Key::<C> { private: Some(private), public }))
}

impl<C: Curve256> Own for Key<C> {
    fn kind(&self) -> u32 {
        k::EC
    }

    fn bits(&self) -> u32 {
        256
    }

    fn strength(&self) -> u32 {
        128
    }

    fn points(&self) -> &'static [u8] {
        &[]
    }

    fn describe(&self, _: &mut Attributes) -> Result {
        fail(rv::KEY_TYPE_INCONSISTENT)
    }

    fn is_private(&self) -> bool {
        self.private.is_some()
    }

    fn pkcs8(&self) -> Option<Secret> {
        None
    }

    fn spki(&self) -> Vec<u8> {
        Vec::new()
    }

    fn signature(&self, scheme: Scheme) -> Option<usize> {
        matches!(scheme, Scheme::Ecsdsa | Scheme::EcsdsaMulti).then_some(schnorr::SIGNATURE)
    }

    fn sign(&self, scheme: Scheme, data: &[u8]) -> Result<Vec<u8>> {
        let private = self.private.as_deref().ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
        schnorr::sign::<C>(private, &self.public, scheme == Scheme::EcsdsaMulti, data)
    }

    fn verify(&self, scheme: Scheme, data: &[u8], signature: &[u8]) -> bool {
        schnorr::verify::<C>(&self.public, scheme == Scheme::EcsdsaMulti, data, signature)
    }

    fn tested(&self) -> Option<Scheme> {
        None
    }
}
