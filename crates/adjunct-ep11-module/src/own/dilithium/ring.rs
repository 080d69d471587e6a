//! The ring of Dilithium: polynomials of 256 coefficients modulo q, their number theoretic transform, and bits that they are packed in.
//!
//! Coefficients are signed and not always reduced, as in the submission's reference implementation. Nothing here branches on a coefficient, or looks one up.

use zeroize::Zeroize;

/// Coefficients.
pub(super) const N: usize = 256;
/// The modulus.
pub(super) const Q: i32 = 8_380_417;
/// The inverse of the modulus modulo 2^32.
const INVERSE: i32 = 58_728_449;
/// A root of unity of order 512.
const ROOT: i64 = 1753;
/// 2^64 / 256 mod q: what an inverse transform multiplies by, in Montgomery's form.
const SCALE: i64 = 41_978;

/// Powers of the root in the order of the transform, in Montgomery's form.
static ZETAS: [i32; N] = zetas();

const fn zetas() -> [i32; N] {
    let mut all = [0; N];
    let mut at = 0;
    while at < N {
        let (mut power, mut left) = ((1_i64 << 32) % Q as i64, (at as u8).reverse_bits());
        while left > 0 {
            power = power * ROOT % Q as i64;
            left -= 1;
        }
        all[at] = power as i32;
        at += 1;
    }
    all
}

/// `product / 2^32 mod q`, between -q and q.
fn montgomery(product: i64) -> i32 {
    let low = (product as i32).wrapping_mul(INVERSE);
    ((product - i64::from(low) * i64::from(Q)) >> 32) as i32
}

/// A polynomial.
#[derive(Clone, Copy)]
pub(super) struct Poly(pub(super) [i32; N]);

impl Zeroize for Poly {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Default for Poly {
    fn default() -> Poly {
        Poly([0; N])
    }
}

impl Poly {
    fn map(mut self, each: impl Fn(i32) -> i32) -> Poly {
        self.0.iter_mut().for_each(|one| *one = each(*one));
        self
    }

    /// Coefficients of less than 2^31 - 2^22 brought between -6283009 and 6283007.
    pub(super) fn reduced(self) -> Poly {
        self.map(|one| one - ((one + (1 << 22)) >> 23) * Q)
    }

    /// Reduced coefficients from 0 to q - 1.
    pub(super) fn standard(self) -> Poly {
        self.reduced().map(|one| one + ((one >> 31) & Q))
    }

    pub(super) fn plus(mut self, other: &Poly) -> Poly {
        self.0.iter_mut().zip(other.0).for_each(|(one, other)| *one += other);
        self
    }

    pub(super) fn minus(mut self, other: &Poly) -> Poly {
        self.0.iter_mut().zip(other.0).for_each(|(one, other)| *one -= other);
        self
    }

    /// Multiplied by a power of two; small coefficients alone.
    pub(super) fn shifted(self, bits: u32) -> Poly {
        self.map(|one| one << bits)
    }

    /// The transform.
    pub(super) fn transformed(mut self) -> Poly {
        let (mut at, mut length) = (0, N / 2);
        while length > 0 {
            for start in (0..N).step_by(2 * length) {
                at += 1;
                let zeta = i64::from(ZETAS[at]);
                let (low, high) = self.0[start..start + 2 * length].split_at_mut(length);
                for (low, high) in low.iter_mut().zip(high) {
                    let product = montgomery(zeta * i64::from(*high));
                    (*low, *high) = (*low + product, *low - product);
                }
            }
            length /= 2;
        }
        self
    }

    /// The inverse transform of a product ([`Poly::times`]).
    pub(super) fn back(mut self) -> Poly {
        let (mut at, mut length) = (N, 1);
        while length < N {
            for start in (0..N).step_by(2 * length) {
                at -= 1;
                let zeta = -i64::from(ZETAS[at]);
                let (low, high) = self.0[start..start + 2 * length].split_at_mut(length);
                for (low, high) in low.iter_mut().zip(high) {
                    let (sum, difference) = (*low + *high, *low - *high);
                    (*low, *high) = (sum, montgomery(zeta * i64::from(difference)));
                }
            }
            length *= 2;
        }
        self.map(|one| montgomery(SCALE * i64::from(one)))
    }

    /// The product of two transformed polynomials.
    pub(super) fn times(mut self, other: &Poly) -> Poly {
        self.0.iter_mut().zip(other.0).for_each(|(one, other)| *one = montgomery(i64::from(*one) * i64::from(other)));
        self
    }

    /// Whether each reduced coefficient is below a bound, by its absolute value. All are looked at.
    pub(super) fn is_below(&self, bound: i32) -> bool {
        let over = self.0.iter().fold(0, |over, one| {
            let absolute = one - ((one >> 31) & (2 * one));
            over | (bound - 1 - absolute)
        });
        over >= 0
    }

    /// Packs coefficients that `form` makes numbers of `bits` bits, the lowest bit first.
    pub(super) fn pack(&self, bits: u32, out: &mut Vec<u8>, form: impl Fn(i32) -> i32) {
        let (mut held, mut count) = (0_u64, 0);
        for one in &self.0 {
            held |= u64::from(form(*one) as u32) << count;
            count += bits;
            while count >= 8 {
                out.push(held as u8);
                held >>= 8;
                count -= 8;
            }
        }
    }

    /// Coefficients that `form` makes of numbers of `bits` bits; none where the bytes are too few, or `form` gives none.
    pub(super) fn unpack(bytes: &[u8], bits: u32, form: impl Fn(i32) -> Option<i32>) -> Option<Poly> {
        let mut poly = Poly::default();
        let (mut held, mut count, mut bytes) = (0_u64, 0, bytes.iter());
        for one in &mut poly.0 {
            while count < bits {
                held |= u64::from(*bytes.next()?) << count;
                count += 8;
            }
            *one = form((held & ((1 << bits) - 1)) as i32)?;
            held >>= bits;
            count -= bits;
        }
        Some(poly)
    }
}
