//! Elliptic curves by CPACF: ECDSA by KDSA, scalar multiplication by PCC, on the NIST curves it has. `None`: there is no
//! function for it, or the function refused, and the library is to say what is wrong. Points are x and y, signatures r and s, one
//! after the other; numbers are big-endian, of the curve's length.

use super::random_alone;
use crate::adapter::cpu::cpacf;
use crate::adapter::cpu::curve::{Curve, MAX_FIELD};
use crate::adapter::cpu::nonce::{self, Nonces};
use crate::adapter::cpu::secret::Secret;
use adjunct_kernels::cpacf::{Instruction, Nist};
use adjunct_kernels::wipe;
use zeroize::Zeroizing;

/// A curve for which `instruction` has the function of that code.
fn served(curve: Curve, instruction: Instruction, code: fn(Nist) -> u8) -> Option<Nist> {
    let nist = match curve {
        Curve::P256 => Nist::P256,
        Curve::P384 => Nist::P384,
        Curve::P521 => Nist::P521,
    };
    cpacf::assist().functions().has(instruction, code(nist)).then_some(nist)
}

/// A private key and its point, which is a multiple of `base`.
pub(super) fn generate(curve: Curve, base: impl FnOnce() -> Option<Vec<u8>>) -> Option<(Zeroizing<Vec<u8>>, Vec<u8>)> {
    let nist = served(curve, Instruction::Pcc, Nist::multiply_code)?;
    let length = nist.length();
    let mut private = Zeroizing::new(vec![0; length]);
    // FIPS 186-5, A.2.2: candidates of the order's size, until one is in range.
    loop {
        random_alone(&mut private);
        private[0] &= 0xff >> (8 * length - curve.bits());
        if nonce::in_range(curve, &private) {
            break;
        }
    }
    let mut point = base()?;
    let (x, y) = point.split_at_mut(length);
    cpacf::assist().multiply(nist, &private, x, y).ok()?;
    Some((private, point))
}

/// Signs with a nonce that is given, or a hedged one.
pub(super) fn sign(curve: Curve, private: &[u8], digest: &[u8], nonce: Option<&[u8]>, out: &mut [u8]) -> Option<()> {
    let nist = served(curve, Instruction::Kdsa, Nist::sign_code)?;
    let length = nist.length();
    let digest = nonce::truncate(curve, digest);
    let mut own = Secret([0; MAX_FIELD]);
    let nonce = match nonce {
        Some(nonce) if nonce.len() == length => nonce,
        Some(_) => return None,
        None => {
            let mut added = [0; nonce::ADDED];
            random_alone(&mut added);
            Nonces::new(curve, private)?.nonce(&digest, &added, &mut own);
            wipe(&mut added);
            &own[..length]
        }
    };
    let (r, s) = out.get_mut(..2 * length)?.split_at_mut(length);
    cpacf::assist().ecdsa_sign(nist, private, &digest[..length], nonce, r, s).ok()
}

/// Whether a signature fits.
pub(super) fn verify(curve: Curve, point: &[u8], digest: &[u8], signature: &[u8]) -> Option<bool> {
    let nist = served(curve, Instruction::Kdsa, Nist::verify_code)?;
    let length = nist.length();
    let (x, y) = point.split_at(length);
    let (r, s) = signature.split_at_checked(length).filter(|(_, s)| s.len() == length)?;
    if !nonce::in_range(curve, r) || !nonce::in_range(curve, s) {
        return Some(false);
    }
    let digest = nonce::truncate(curve, digest);
    cpacf::assist().ecdsa_verify(nist, [x, y], &digest[..length], [r, s]).ok()
}

/// The x coordinate of private * `peer`, and its length.
pub(super) fn shared_secret(curve: Curve, private: &[u8], peer: &[u8], out: &mut [u8; MAX_FIELD]) -> Option<usize> {
    let nist = served(curve, Instruction::Pcc, Nist::multiply_code)?;
    let length = nist.length();
    out[..length].copy_from_slice(&peer[..length]);
    let mut y = Secret([0; MAX_FIELD]);
    y[..length].copy_from_slice(&peer[length..]);
    cpacf::assist().multiply(nist, private, &mut out[..length], &mut y[..length]).ok()?;
    Some(length)
}
