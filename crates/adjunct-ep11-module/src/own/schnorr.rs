//! Schnorr's signatures on curves of 256 bits with SHA-256, whose message is not hashed before:
//!
//! * ECSDSA (ISO/IEC 14888-3; BSI TR-03111): with `Q = k G`, `r = H(x of Q | y of Q | M)` and `s = k + r d mod n`; a verifier has
//!   `Q = s G - r P`.
//! * The form that hashes compressed points, and the signer's too, as several signers of one signature need (it is Zilliqa's): `r = H(Q | P | M) mod n`
//!   and `s = k - r d mod n`; a verifier has `Q = s G + r P`.
//!
//! A signature is r and s, 32 bytes each. The crates of the curves take the same time whatever the secret numbers are.

use crate::error::{Result, Rv};
use adjunct::ops::digest::sha256;
use adjunct::ops::random::random;
use adjunct_ep11_wire::codes::rv;
use k256::elliptic_curve::group::Curve as _;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::sec1::{FromSec1Point, ModulusSize, Sec1Point, ToSec1Point};
use k256::elliptic_curve::{
    AffinePoint, CurveArithmetic, Field, FieldBytes, FieldBytesSize, Group, PrimeField, ProjectivePoint, Scalar,
};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bytes of a number.
pub(super) const FIELD: usize = 32;
/// Bytes of a signature.
pub(super) const SIGNATURE: usize = 2 * FIELD;

/// The curves: of prime order, with numbers of 32 bytes.
pub(super) trait Curve256: CurveArithmetic {
    /// A number below the order.
    fn number(bytes: &[u8]) -> Option<Scalar<Self>>;
    /// A hash as a number.
    fn reduced(hash: &[u8; FIELD]) -> Scalar<Self>;
    /// The bytes of a number.
    fn bytes(number: &Scalar<Self>) -> [u8; FIELD];
    /// A point that is not infinite, compressed or not.
    fn point(point: &[u8]) -> Option<AffinePoint<Self>>;
    /// The bytes of a point; one byte at infinity.
    fn encoded(point: &AffinePoint<Self>, compressed: bool) -> Vec<u8>;
}

impl<C> Curve256 for C
where
    C: CurveArithmetic,
    Scalar<C>: Reduce<FieldBytes<C>>,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    fn number(bytes: &[u8]) -> Option<Scalar<C>> {
        let mut field = FieldBytes::<C>::default();
        (field.len() == bytes.len()).then(|| field.copy_from_slice(bytes))?;
        Scalar::<C>::from_repr(field).into_option()
    }

    fn reduced(hash: &[u8; FIELD]) -> Scalar<C> {
        let mut field = FieldBytes::<C>::default();
        field.copy_from_slice(hash);
        <Scalar<C> as Reduce<FieldBytes<C>>>::reduce(&field)
    }

    fn bytes(number: &Scalar<C>) -> [u8; FIELD] {
        number.to_repr().as_slice().try_into().unwrap_or([0; FIELD])
    }

    fn point(point: &[u8]) -> Option<AffinePoint<C>> {
        let point = Sec1Point::<C>::from_bytes(point).ok().filter(|point| !point.is_identity())?;
        AffinePoint::<C>::from_sec1_point(&point).into_option()
    }

    fn encoded(point: &AffinePoint<C>, compressed: bool) -> Vec<u8> {
        point.to_sec1_point(compressed).as_bytes().to_vec()
    }
}

/// A random number from 1 to the order less 1.
pub(super) fn random_number<C: Curve256>() -> Scalar<C> {
    let mut bytes = Zeroizing::new([0; FIELD]);
    loop {
        random(&mut bytes[..]);
        if let Some(number) = C::number(&bytes[..]).filter(|number| !bool::from(number.is_zero())) {
            return number;
        }
    }
}

/// The hash of a commitment and a message; `multi` is the signer's point where that is hashed too. `None` for the point at infinity.
fn hash<C: Curve256>(
    commitment: &ProjectivePoint<C>,
    multi: Option<&AffinePoint<C>>,
    data: &[u8],
) -> Option<[u8; FIELD]> {
    if bool::from(commitment.is_identity()) {
        return None;
    }
    let point = C::encoded(&commitment.to_affine(), multi.is_some());
    Some(match multi {
        Some(signer) => C::bytes(&C::reduced(&sha256(&[&point, &C::encoded(signer, true), data]))),
        None => sha256(&[&point[1..], data]),
    })
}

/// Signs.
///
/// # Errors
/// `CKR_FUNCTION_FAILED`.
pub(super) fn sign<C: Curve256>(
    private: &Scalar<C>,
    public: &AffinePoint<C>,
    multi: bool,
    data: &[u8],
) -> Result<Vec<u8>> {
    let multi = multi.then_some(public);
    for _ in 0..64 {
        let nonce = Zeroizing::new(random_number::<C>());
        let commitment = ProjectivePoint::<C>::mul_by_generator(&nonce);
        let Some(r) = hash::<C>(&commitment, multi, data) else { continue };
        let product = Zeroizing::new(C::reduced(&r) * private);
        let s = if multi.is_some() { *nonce - *product } else { *nonce + *product };
        if !bool::from(C::reduced(&r).is_zero() | s.is_zero()) {
            return Ok([r, C::bytes(&s)].concat());
        }
    }
    Err(Rv(rv::FUNCTION_FAILED))
}

/// Whether a signature is one of the data.
pub(super) fn verify<C: Curve256>(public: &AffinePoint<C>, multi: bool, data: &[u8], signature: &[u8]) -> bool {
    let Some((r, s)) = signature.split_first_chunk::<FIELD>() else { return false };
    let (Some(s), number) = (C::number(s), C::reduced(r)) else { return false };
    // In the form of several signers r is a number below the order.
    if bool::from(s.is_zero() | number.is_zero()) || multi && C::number(r).is_none() {
        return false;
    }
    let point = ProjectivePoint::<C>::from(*public) * number;
    let generator = ProjectivePoint::<C>::mul_by_generator(&s);
    let commitment = if multi { generator + point } else { generator - point };
    hash::<C>(&commitment, multi.then_some(public), data).is_some_and(|other| bool::from(other.ct_eq(r)))
}
