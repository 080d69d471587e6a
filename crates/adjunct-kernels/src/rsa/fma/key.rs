//! Keys with everything ready that four lanes need of them.

use super::convert::{centred, digits_of};
use super::digit_bits;
use crate::lanes::{LIMB, montgomery};
use crate::rsa::key::{Constants as Limbs, PrivateKey as OfLimbs};
use crate::rsa::plain;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A modulus of D digits and its constants.
#[derive(Clone, Zeroize)]
pub(super) struct Constants<const D: usize> {
    pub m: [f64; D],
    /// R^2 modulo m.
    pub r2: [f64; D],
    /// -1/m modulo 2^B.
    pub inverse: f64,
}

/// The bits by which R of D digits is longer than R of N limbs.
const fn more(digits: usize, limbs: usize) -> i32 {
    (digits as u32 * digit_bits(digits)) as i32 - limbs as i32 * LIMB as i32
}

fn digits<const D: usize, const N: usize>(limbs: &[u64; N]) -> [f64; D] {
    let mut digits = [0.0; D];
    digits_of(limbs, &mut digits, digit_bits(D));
    digits
}

impl<const D: usize> Constants<D> {
    fn new<const N: usize>(of: &Limbs<N>) -> Constants<D> {
        let mut r2 = plain::shifted(&of.r2, 2 * more(D, N), &of.m);
        let constants = Constants { r2: digits(&r2), ..Constants::of_modulus(&of.m) };
        r2.zeroize();
        constants
    }

    /// Makes a modulus's constants without R^2.
    pub(super) fn of_modulus<const N: usize>(m: &[u64; N]) -> Constants<D> {
        let bits = digit_bits(D);
        let inverse = centred(montgomery::k0(m[0]) & ((1 << bits) - 1), bits);
        Constants { m: digits(m), r2: [0.0; D], inverse }
    }
}

/// A private key: two primes of P limbs or D digits each, a modulus of M limbs or E digits; see [`super::PrivateKey2048`] and its neighbours.
/// Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PrivateKey<const P: usize, const M: usize, const D: usize, const E: usize> {
    pub(super) primes: [Constants<D>; 2],
    /// d modulo each prime less one.
    pub(super) exponents: [[u64; P]; 2],
    /// 1/q modulo p, times R.
    pub(super) qinv: [f64; D],
    pub(super) n: Constants<E>,
    /// The modulus.
    pub(super) limbs: [u64; M],
    pub(super) e: u64,
}

impl<const P: usize, const M: usize, const D: usize, const E: usize> PrivateKey<P, M, D, E> {
    /// The size of the modulus, an input and an output in bytes.
    pub const BYTES: usize = OfLimbs::<P, M>::BYTES;

    /// Makes a key of big-endian numbers; `None` where [`crate::rsa::PrivateKey::new`] says so.
    pub fn new(n: &[u8], e: &[u8], p: &[u8], q: &[u8], dp: &[u8], dq: &[u8], qinv: &[u8]) -> Option<Self> {
        let key = OfLimbs::<P, M>::new(n, e, p, q, dp, dq, qinv)?;
        let prime = &key.primes[0];
        // From one R to the other.
        let mut qinv = plain::shifted(&key.qinv, more(D, P), &prime.m);
        let made = PrivateKey {
            primes: key.primes.each_ref().map(Constants::new),
            exponents: key.exponents,
            qinv: digits(&qinv),
            n: Constants::new(&key.public.n),
            limbs: key.public.n.m,
            e: key.public.e,
        };
        qinv.zeroize();
        Some(made)
    }
}

impl<const P: usize, const M: usize, const D: usize, const E: usize> std::fmt::Debug for PrivateKey<P, M, D, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrivateKey").field("bits", &(8 * Self::BYTES)).finish_non_exhaustive()
    }
}
