//! Elliptic curves by CPACF: ECDSA by KDSA, scalar multiplication by PCC, on the NIST curves it has. `None`: there is no
//! function for it, or the function refused, and the library is to say what is wrong.

use super::group::{Group, Key, MAX_FIELD};
use super::random_alone;
use crate::adapter::cpu::awslc::ec::Curve;
use crate::adapter::cpu::cpacf;
use crate::adapter::cpu::nonce::{self, Nonces, Secret};
use adjunct_kernels::cpacf::{Instruction, Nist};
use adjunct_kernels::wipe;
use zeroize::Zeroizing;

const fn curve(group: Group) -> Option<(Nist, Curve)> {
    match group {
        Group::P256 => Some((Nist::P256, Curve::P256)),
        Group::P384 => Some((Nist::P384, Curve::P384)),
        Group::P521 => Some((Nist::P521, Curve::P521)),
        _ => None,
    }
}

/// A curve for which `instruction` has the function of that code.
fn served(group: Group, instruction: Instruction, code: fn(Nist) -> u8) -> Option<(Nist, Curve)> {
    curve(group).filter(|(nist, _)| cpacf::assist().functions().has(instruction, code(*nist)))
}

/// A private key and its point, x and y one after the other.
pub(super) fn generate(group: Group) -> Option<(Zeroizing<Vec<u8>>, Vec<u8>)> {
    let (nist, curve) = served(group, Instruction::Pcc, Nist::multiply_code)?;
    let length = nist.length();
    let mut private = Zeroizing::new(vec![0; length]);
    // FIPS 186-5, A.2.2: candidates of the order's size, until one is in range.
    loop {
        random_alone(&mut private);
        private[0] &= 0xff >> (8 * length - group.bits());
        if nonce::in_range(curve, &private) {
            break;
        }
    }
    let mut point = group.base()?;
    let (x, y) = point.split_at_mut(length);
    cpacf::assist().multiply(nist, &private, x, y).ok()?;
    Some((private, point))
}

/// r and s, one after the other, with a nonce that is given, or a hedged one.
pub(super) fn sign(key: &Key, digest: &[u8], nonce: Option<&[u8]>, out: &mut [u8]) -> Option<()> {
    let (nist, curve) = served(key.group(), Instruction::Kdsa, Nist::sign_code)?;
    let (length, private) = (nist.length(), key.scalar()?);
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

/// Whether a signature, r and s one after the other, fits.
pub(super) fn verify(key: &Key, digest: &[u8], signature: &[u8]) -> Option<bool> {
    let (nist, curve) = served(key.group(), Instruction::Kdsa, Nist::verify_code)?;
    let length = nist.length();
    let mut place = [0; 1 + 2 * MAX_FIELD];
    let (x, y) = key.coordinates(&mut place)?.split_at(length);
    let (r, s) = signature.split_at_checked(length).filter(|(_, s)| s.len() == length)?;
    if !nonce::in_range(curve, r) || !nonce::in_range(curve, s) {
        return Some(false);
    }
    let digest = nonce::truncate(curve, digest);
    cpacf::assist().ecdsa_verify(nist, [x, y], &digest[..length], [r, s]).ok()
}

/// The x coordinate of private * `peer`.
pub(super) fn shared_secret(key: &Key, peer: &Key, out: &mut [u8; MAX_FIELD]) -> Option<usize> {
    let (nist, _) = served(key.group(), Instruction::Pcc, Nist::multiply_code)?;
    let (length, private) = (nist.length(), key.scalar()?);
    if peer.group() != key.group() {
        return None;
    }
    let mut place = [0; 1 + 2 * MAX_FIELD];
    let point = peer.coordinates(&mut place)?;
    out[..length].copy_from_slice(&point[..length]);
    let mut y = Secret([0; MAX_FIELD]);
    y[..length].copy_from_slice(&point[length..]);
    cpacf::assist().multiply(nist, private, &mut out[..length], &mut y[..length]).ok()?;
    Some(length)
}
