//! Elliptic curves by CPACF: ECDSA by KDSA, scalar multiplication by PCC, on the NIST curves it has. `None`: there is no function for it, or the
//! function refused, and the CPU library has to find out what is wrong. Points are x and y, signatures r and s, one after the other; numbers are
//! big-endian, of the curve's length.

use super::{Here, here};
use crate::curve::{Curve, MAX_FIELD};
use crate::secret::Secret;
use adjunct_kernels::cpacf::{Instruction, Nist};
use zeroize::Zeroizing;

/// A curve for which `instruction` has the function of that code.
fn served(curve: Curve, instruction: Instruction, code: fn(Nist) -> u8) -> Option<(Here, Nist)> {
    let (here, nist) = (
        here()?,
        match curve {
            Curve::P256 => Nist::P256,
            Curve::P384 => Nist::P384,
            Curve::P521 => Nist::P521,
        },
    );
    here.functions().has(instruction, code(nist)).then_some((here, nist))
}

/// A private key of bytes that `random` gives, and its point, which is a multiple of `base`.
pub(crate) fn generate(
    curve: Curve,
    random: impl Fn(&mut [u8]),
    base: impl FnOnce() -> Option<Vec<u8>>,
) -> Option<(Zeroizing<Vec<u8>>, Vec<u8>)> {
    let (here, nist) = served(curve, Instruction::Pcc, Nist::multiply_code)?;
    let length = nist.length();
    let mut private = Zeroizing::new(vec![0; length]);
    curve.draw(random, &mut private);
    let mut point = base()?;
    let (x, y) = point.split_at_mut(length);
    here.multiply(nist, &private, x, y).ok()?;
    Some((private, point))
}

/// Signs with the nonce that `nonce` gives for the digest as [`Curve::truncate`] made it.
pub(crate) fn sign(
    curve: Curve,
    private: &[u8],
    digest: &[u8],
    nonce: impl FnOnce(&[u8; MAX_FIELD]) -> Option<Secret<MAX_FIELD>>,
    out: &mut [u8],
) -> Option<()> {
    let (here, nist) = served(curve, Instruction::Kdsa, Nist::sign_code)?;
    let length = nist.length();
    let digest = curve.truncate(digest);
    let nonce = nonce(&digest)?;
    let (r, s) = out.get_mut(..2 * length)?.split_at_mut(length);
    here.ecdsa_sign(nist, private, &digest[..length], &nonce[..length], r, s).ok()
}

/// Whether a signature fits.
pub(crate) fn verify(curve: Curve, point: &[u8], digest: &[u8], signature: &[u8]) -> Option<bool> {
    let (here, nist) = served(curve, Instruction::Kdsa, Nist::verify_code)?;
    let length = nist.length();
    let (x, y) = point.split_at(length);
    let (r, s) = signature.split_at_checked(length).filter(|(_, s)| s.len() == length)?;
    if !curve.in_range(r) || !curve.in_range(s) {
        return Some(false);
    }
    let digest = curve.truncate(digest);
    here.ecdsa_verify(nist, [x, y], &digest[..length], [r, s]).ok()
}

/// The x coordinate of private * `peer`, and its length.
pub(crate) fn shared_secret(curve: Curve, private: &[u8], peer: &[u8], out: &mut [u8; MAX_FIELD]) -> Option<usize> {
    let (here, nist) = served(curve, Instruction::Pcc, Nist::multiply_code)?;
    let length = nist.length();
    out[..length].copy_from_slice(&peer[..length]);
    let mut y = Secret([0; MAX_FIELD]);
    y[..length].copy_from_slice(&peer[length..]);
    here.multiply(nist, private, &mut out[..length], &mut y[..length]).ok()?;
    Some(length)
}
