//! The arithmetic of BIP-32 and SLIP-10: roots, private and public children.
//!
//! What takes secret numbers takes the same time whatever they are, but for results that are no key, of which there is one in 2^127.

use crate::error::{Result, Rv, ensure, fail};
use crate::own::Secret;
use adjunct::ops::digest::SHA512;
use adjunct::ops::mac::hmac_within;
use adjunct_ep11_wire::codes::rv;
use k256::elliptic_curve::group::Curve as _;
use k256::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use k256::elliptic_curve::{
    AffinePoint, CurveArithmetic, Field, FieldBytes, FieldBytesSize, Group, PrimeField, ProjectivePoint, Scalar,
    sec1::Sec1Point,
};
use zeroize::Zeroizing;

/// The least number of a child that only a private key has.
pub(crate) const HARDENED: u32 = 1 << 31;
/// Bytes of a number and of a chain code.
const HALF: usize = 32;

/// The curves of hierarchies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    /// That of BIP-32.
    Secp256k1,
    /// NIST's.
    P256,
    /// Of which all children are hardened.
    Ed25519,
}

/// A private key with its chain code.
pub(crate) struct Node {
    /// The number, or the bytes of a key of EdDSA.
    pub(crate) key: Secret,
    pub(crate) chain_code: [u8; HALF],
}

type Halves = Zeroizing<[u8; 2 * HALF]>;

fn hmac(key: &[u8], parts: &[&[u8]]) -> Result<Halves> {
    let mut sum = Zeroizing::new([0; 2 * HALF]);
    hmac_within(&SHA512, key, parts, &mut sum[..])?;
    Ok(sum)
}

fn right(halves: &Halves) -> [u8; HALF] {
    let (_, right) = halves.split_at(HALF);
    right.try_into().unwrap_or([0; HALF])
}

/// The root of a seed; `slip` says that one which gives no key is hashed again (SLIP-10), where BIP-32 refuses it.
pub(crate) fn root(curve: Curve, slip: bool, seed: &[u8]) -> Result<Node> {
    let label: &[u8] = match curve {
        Curve::Secp256k1 => b"Bitcoin seed",
        Curve::P256 => b"Nist256p1 seed",
        Curve::Ed25519 => b"ed25519 seed",
    };
    let mut halves = hmac(label, &[seed])?;
    loop {
        let zero = [0; HALF];
        let key = match curve {
            Curve::Secp256k1 => sum::<k256::Secp256k1>(&halves[..HALF], &zero),
            Curve::P256 => sum::<p256::NistP256>(&halves[..HALF], &zero),
            Curve::Ed25519 => Some(Secret::new(halves[..HALF].to_vec())),
        };
        if let Some(key) = key {
            return Ok(Node { key, chain_code: right(&halves) });
        }
        ensure(slip, rv::FUNCTION_FAILED)?;
        halves = hmac(label, &[&halves[..]])?;
    }
}

/// A child of a private key, of which the point is given.
pub(crate) fn child(curve: Curve, slip: bool, parent: &Node, point: &[u8], number: u32) -> Result<Node> {
    let mut padded = Zeroizing::new([0; HALF]);
    let first = HALF.checked_sub(parent.key.len()).ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
    padded[first..].copy_from_slice(&parent.key);
    let tail = number.to_be_bytes();
    let mut halves = if number >= HARDENED {
        hmac(&parent.chain_code, &[&[0], &padded[..], &tail])?
    } else {
        hmac(&parent.chain_code, &[&compressed(point)?, &tail])?
    };
    loop {
        let key = match curve {
            Curve::Secp256k1 => sum::<k256::Secp256k1>(&halves[..HALF], &padded[..]),
            Curve::P256 => sum::<p256::NistP256>(&halves[..HALF], &padded[..]),
            Curve::Ed25519 => Some(Secret::new(halves[..HALF].to_vec())),
        };
        if let Some(key) = key {
            return Ok(Node { key, chain_code: right(&halves) });
        }
        ensure(slip, rv::FUNCTION_FAILED)?;
        halves = hmac(&parent.chain_code, &[&[1], &right(&halves), &tail])?;
    }
}

/// A child of a public key: its point, uncompressed, and its chain code.
pub(crate) fn public_child(
    curve: Curve,
    slip: bool,
    point: &[u8],
    chain_code: [u8; HALF],
    number: u32,
) -> Result<(Vec<u8>, [u8; HALF])> {
    let tail = number.to_be_bytes();
    let mut halves = hmac(&chain_code, &[&compressed(point)?, &tail])?;
    loop {
        let child = match curve {
            Curve::Secp256k1 => moved::<k256::Secp256k1>(&halves[..HALF], point),
            Curve::P256 => moved::<p256::NistP256>(&halves[..HALF], point),
            Curve::Ed25519 => return fail(rv::MECHANISM_PARAM_INVALID),
        };
        if let Some(child) = child {
            return Ok((child, right(&halves)));
        }
        ensure(slip, rv::FUNCTION_FAILED)?;
        halves = hmac(&chain_code, &[&[1], &right(&halves), &tail])?;
    }
}

/// An uncompressed point, compressed.
fn compressed(point: &[u8]) -> Result<[u8; HALF + 1]> {
    let mut out = [0; HALF + 1];
    match point {
        [4, both @ ..] if both.len() == 2 * HALF => {
            out[0] = 2 | (both[2 * HALF - 1] & 1);
            out[1..].copy_from_slice(&both[..HALF]);
            Ok(out)
        }
        _ => fail(rv::KEY_TYPE_INCONSISTENT),
    }
}

/// A number of its bytes, below the order.
fn scalar<C: CurveArithmetic>(bytes: &[u8]) -> Option<Scalar<C>> {
    let mut field = FieldBytes::<C>::default();
    (field.len() == bytes.len()).then(|| field.copy_from_slice(bytes))?;
    Scalar::<C>::from_repr(field).into_option()
}

/// The sum of two numbers, of which the first is below the order; `None` where it is not, or the sum is 0.
fn sum<C: CurveArithmetic>(tweak: &[u8], number: &[u8]) -> Option<Secret> {
    let sum = scalar::<C>(tweak)? + scalar::<C>(number)?;
    (!bool::from(sum.is_zero())).then(|| Secret::new(sum.to_repr().as_slice().to_vec()))
}

/// A point, with a number of times the generator added; `None` where the number is not below the order, or the sum is infinite.
fn moved<C>(tweak: &[u8], point: &[u8]) -> Option<Vec<u8>>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    let point = Sec1Point::<C>::from_bytes(point).ok()?;
    let point = AffinePoint::<C>::from_sec1_point(&point).into_option()?;
    let sum = ProjectivePoint::<C>::mul_by_generator(&scalar::<C>(tweak)?) + ProjectivePoint::<C>::from(point);
    (!bool::from(sum.is_identity())).then(|| sum.to_affine().to_sec1_point(false).as_bytes().to_vec())
}
