//! Keys on BLS12-381 by the crate blst: signatures of draft-irtf-cfrg-bls-signature-05 with public keys in the smaller group and with proofs of
//! possession, as Ethereum has them; EIP-2333.
//!
//! A public key is its point uncompressed, with 4 before it; a signature is a point of the larger group, compressed: 96 bytes. The long form of 192 bytes is
//! verified and aggregated too.

use super::{Curve, Own, Scheme, Secret, Shared};
use crate::der::{self, Pkcs8, Spki};
use crate::error::{Result, Rv};
use adjunct::ops::random::random;
use adjunct_ep11_wire::codes::{control as c, key as k, rv};
use adjunct_mechanisms::object::attributes::Attributes;
use blst::BLST_ERROR;
use blst::min_pk::{AggregatePublicKey, AggregateSignature, PublicKey, SecretKey, Signature};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The name of the ciphersuite, which is hashed with each message (draft-irtf-cfrg-bls-signature-05, 4.2.3).
const SUITE: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";
/// Bytes of a private key.
const FIELD: usize = 32;
/// Bytes of a compressed signature.
const SIGNATURE: usize = 96;
/// What stands before an uncompressed point.
const UNCOMPRESSED: u8 = 4;

/// A key.
pub(super) struct Key {
    private: Option<SecretKey>,
    public: PublicKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BLS12-381")
    }
}

fn of_private(private: SecretKey) -> Shared {
    let public = private.sk_to_pk();
    Arc::new(Key { private: Some(private), public })
}

impl Key {
    pub(super) fn generate() -> Result<Shared> {
        let mut seed = Zeroizing::new([0; FIELD]);
        random(&mut seed[..]);
        Ok(of_private(SecretKey::key_gen(&seed[..], &[]).map_err(|_| Rv(rv::FUNCTION_FAILED))?))
    }

    /// The key of a number without or with leading zeros.
    pub(super) fn private(value: &[u8]) -> Option<Shared> {
        let zeros = value.iter().take_while(|byte| **byte == 0).count();
        let value = &value[zeros..];
        let first = FIELD.checked_sub(value.len())?;
        let mut padded = Zeroizing::new([0; FIELD]);
        padded[first..].copy_from_slice(value);
        SecretKey::from_bytes(&padded[..]).ok().map(of_private)
    }

    pub(super) fn public(point: &[u8]) -> Option<Shared> {
        let point = match point {
            [UNCOMPRESSED, point @ ..] if point.len() == 96 => point,
            point if point.len() == 48 => point,
            _ => return None,
        };
        let public = PublicKey::key_validate(point).ok()?;
        Some(Arc::new(Key { private: None, public }))
    }

    fn point(&self) -> Vec<u8> {
        [&[UNCOMPRESSED], &self.public.serialize()[..]].concat()
    }
}

impl Own for Key {
    fn kind(&self) -> u32 {
        k::EC
    }

    fn bits(&self) -> u32 {
        381
    }

    fn strength(&self) -> u32 {
        128
    }

    fn points(&self) -> &'static [u8] {
        &[c::EC, c::PAIRING, c::NFIPS2009]
    }

    fn describe(&self, attributes: &mut Attributes) -> Result {
        super::describe(Curve::Bls12381, &self.point(), attributes)
    }

    fn pkcs8(&self) -> Option<Secret> {
        let bytes = Zeroizing::new(self.private.as_ref()?.to_bytes());
        Some(Pkcs8::put_ec(Curve::Bls12381.oid(), &bytes[..], &self.point()))
    }

    fn spki(&self) -> Vec<u8> {
        Spki::put(der::oid::EC, &Curve::Bls12381.params(), &self.point())
    }

    fn signature(&self, scheme: Scheme) -> Option<usize> {
        (scheme == Scheme::Bls).then_some(SIGNATURE)
    }

    fn sign(&self, _: Scheme, data: &[u8]) -> Result<Vec<u8>> {
        let private = self.private.as_ref().ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
        Ok(private.sign(data, SUITE, &[]).compress().to_vec())
    }

    fn verify(&self, _: Scheme, data: &[u8], signature: &[u8]) -> bool {
        // The public key was checked when it came.
        let checked = Signature::sig_validate(signature, true);
        checked.is_ok_and(|it| it.verify(false, data, SUITE, &[], &self.public, false) == BLST_ERROR::BLST_SUCCESS)
    }

    fn tested(&self) -> Option<Scheme> {
        Some(Scheme::Bls)
    }
}

/// A master key of a seed (EIP-2333, derive_master_SK), with further input of the key.
///
/// # Errors
/// `CKR_KEY_SIZE_RANGE` for a seed below 32 bytes.
pub(crate) fn master(seed: &[u8], key_info: &[u8]) -> Result<Shared> {
    SecretKey::key_gen(seed, key_info).map(of_private).map_err(|_| Rv(rv::KEY_SIZE_RANGE))
}

/// A child of a private key (EIP-2333, derive_child_SK); `None` for what is none.
pub(crate) fn child(parent: &[u8], number: u32) -> Option<Shared> {
    let parent = SecretKey::from_bytes(parent).ok()?;
    Some(of_private(parent.derive_child_eip2333(number)))
}

/// The sum of signatures, compressed.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID` where one is none.
pub(crate) fn aggregate_signatures(all: &[&[u8]]) -> Result<Vec<u8>> {
    let invalid = |_| Rv(rv::MECHANISM_PARAM_INVALID);
    let sum = AggregateSignature::aggregate_serialized(all, true).map_err(invalid)?;
    Ok(sum.to_signature().compress().to_vec())
}

/// The sum of public keys.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID` where one is none, or the sum is not one.
pub(crate) fn aggregate_keys(points: &[&[u8]]) -> Result<Shared> {
    let invalid = Rv(rv::MECHANISM_PARAM_INVALID);
    let points: Option<Vec<&[u8]>> = points.iter().map(|point| point.strip_prefix(&[UNCOMPRESSED])).collect();
    let sum = AggregatePublicKey::aggregate_serialized(&points.ok_or(invalid)?, true).map_err(|_| invalid)?;
    let public = sum.to_public_key();
    public.validate().map_err(|_| invalid)?;
    Ok(Arc::new(Key { private: None, public }))
}
