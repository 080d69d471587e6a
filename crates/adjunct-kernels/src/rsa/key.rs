//! Keys with everything ready that the lanes need of them.

use super::plain;
use crate::lanes::{LIMB, limbs_from_be, montgomery};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A modulus of N limbs and its constants.
#[derive(Clone, Zeroize)]
pub(super) struct Constants<const N: usize> {
    pub m: [u64; N],
    /// The constant of [`super::modular::Modulus::fold`], for one number.
    pub fold: [u64; N],
    /// R^2 modulo m.
    pub r2: [u64; N],
    pub k0: u64,
}

impl<const N: usize> Constants<N> {
    /// `None` unless `m` is odd and has exactly `bits` bits.
    fn new(m: &[u8], bits: usize) -> Option<Constants<N>> {
        let m = number(m)?;
        if plain::bits(&m) != bits || m[0] & 1 == 0 {
            return None;
        }
        Some(Constants { fold: plain::fold(&m), r2: plain::r_squared(&m, bits), k0: montgomery::k0(m[0]), m })
    }
}

/// A big-endian number; `None` if it does not fit.
fn number<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let zeros = bytes.iter().take_while(|&&b| b == 0).count();
    let bytes = &bytes[zeros..];
    (bytes.len() * 8 <= N * LIMB as usize).then(|| limbs_from_be(bytes))
}

/// A public key with a modulus of M limbs; see [`super::PublicKey2048`] and its neighbours.
#[derive(Clone, Zeroize)]
pub struct PublicKey<const M: usize> {
    pub(super) n: Constants<M>,
    pub(super) e: u64,
}

impl<const M: usize> PublicKey<M> {
    /// The size of the modulus, an input and an output in bytes.
    pub const BYTES: usize = modulus_bits(M) / 8;

    /// Makes a key of big-endian numbers; `None` unless `n` is odd and has exactly the bits of this size, and `e` is odd, at least 3 and at most 64
    /// bits long.
    pub fn new(n: &[u8], e: &[u8]) -> Option<PublicKey<M>> {
        let zeros = e.iter().take_while(|&&b| b == 0).count();
        let e = e[zeros..].iter().try_fold(0u64, |sum, &b| Some(sum.checked_mul(256)? | u64::from(b)))?;
        if e < 3 || e & 1 == 0 {
            return None;
        }
        Some(PublicKey { n: Constants::new(n, modulus_bits(M))?, e })
    }
}

/// A private key with two primes of P limbs each and a modulus of M = 2P; see [`super::PrivateKey2048`] and its neighbours.
/// Wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PrivateKey<const P: usize, const M: usize> {
    pub(super) public: PublicKey<M>,
    pub(super) primes: [Constants<P>; 2],
    /// d modulo each prime less one.
    pub(super) exponents: [[u64; P]; 2],
    /// 1/q modulo p, times R.
    pub(super) qinv: [u64; P],
}

impl<const P: usize, const M: usize> PrivateKey<P, M> {
    /// The size of the modulus, an input and an output in bytes.
    pub const BYTES: usize = PublicKey::<M>::BYTES;

    /// Makes a key of the big-endian numbers of RFC 8017, 3.2. `None` where [`PublicKey::new`] says so, unless both primes are odd and have exactly
    /// half the modulus's bits, their product is the modulus and the other numbers are below their moduli.
    pub fn new(n: &[u8], e: &[u8], p: &[u8], q: &[u8], dp: &[u8], dq: &[u8], qinv: &[u8]) -> Option<PrivateKey<P, M>> {
        const { assert!(M == 2 * P) };
        let mut key = PrivateKey {
            public: PublicKey::new(n, e)?,
            primes: [Constants::new(p, modulus_bits(M) / 2)?, Constants::new(q, modulus_bits(M) / 2)?],
            exponents: [number(dp)?, number(dq)?],
            qinv: number(qinv)?,
        };
        let [p, q] = &key.primes;
        let reduced = [(&key.exponents[0], p), (&key.exponents[1], q), (&key.qinv, p)];
        if !reduced.iter().all(|(a, m)| plain::less(a, &m.m)) || !plain::is_product(&p.m, &q.m, &key.public.n.m) {
            return None;
        }
        key.qinv = plain::multiply(&key.qinv, &p.r2, &p.m, p.k0);
        Some(key)
    }
}

impl<const P: usize, const M: usize> std::fmt::Debug for PrivateKey<P, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrivateKey").field("bits", &modulus_bits(M)).finish_non_exhaustive()
    }
}

impl<const M: usize> std::fmt::Debug for PublicKey<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublicKey").field("bits", &modulus_bits(M)).finish_non_exhaustive()
    }
}

/// The bits of a modulus of `limbs` limbs: 52 bits times 10 hold 512 and leave R room above the modulus.
pub(super) const fn modulus_bits(limbs: usize) -> usize {
    limbs / 10 * 512
}
