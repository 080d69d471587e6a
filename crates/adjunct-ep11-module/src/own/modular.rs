//! Numbers of any length modulo an odd one, by the crate crypto-bigint, whose time does not depend on the values where its functions are not called
//! "vartime". Numbers are big-endian bytes.

use super::Secret;
use adjunct::ops::random::random;
use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, NonZero, Odd};
use zeroize::Zeroizing;

/// A modulus: odd, above 2.
pub(super) struct Modulus {
    params: BoxedMontyParams,
    /// Its bytes, without leading zeros.
    pub(super) bytes: Vec<u8>,
}

/// Bytes without leading zeros.
pub(super) fn trimmed(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

impl Modulus {
    pub(super) fn new(number: &[u8]) -> Option<Modulus> {
        let bytes = trimmed(number);
        (bytes.len() > 1 || bytes.first().is_some_and(|byte| *byte > 2)).then_some(())?;
        let precision = u32::try_from(8 * bytes.len()).ok()?;
        let odd = Odd::new(BoxedUint::from_be_slice(bytes, precision).ok()?).into_option()?;
        Some(Modulus { params: BoxedMontyParams::new_vartime(odd), bytes: bytes.to_vec() })
    }

    pub(super) fn bits(&self) -> u32 {
        8 * self.bytes.len() as u32 - self.bytes[0].leading_zeros()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn uint(&self, number: &[u8]) -> BoxedUint {
        BoxedUint::from_be_slice_truncated(number, self.params.bits_precision())
    }

    /// A number's remainder.
    pub(super) fn reduced(&self, number: &[u8]) -> Secret {
        let longest = number.len().max(self.bytes.len());
        let mut all = BoxedUint::from_be_slice_truncated(number, 8 * longest as u32);
        let modulus = NonZero::new(self.uint(&self.bytes)).into_option();
        let out = modulus.map(|modulus| self.out(Zeroizing::new(all.rem(&modulus))));
        zeroize::Zeroize::zeroize(&mut all);
        out.unwrap_or_default()
    }

    /// The bytes of a number below the modulus, as many as the modulus has.
    fn out(&self, number: Zeroizing<BoxedUint>) -> Secret {
        let bytes = Zeroizing::new(number.to_be_bytes().to_vec());
        let mut out = Secret::new(vec![0; self.bytes.len()]);
        let (zeros, tail) =
            (self.bytes.len().saturating_sub(bytes.len()), bytes.len().saturating_sub(self.bytes.len()));
        out[zeros..].copy_from_slice(&bytes[tail..]);
        out
    }

    /// In Montgomery's form, of a number below the modulus.
    fn form(&self, number: &[u8]) -> Zeroizing<BoxedMontyForm> {
        Zeroizing::new(BoxedMontyForm::new(self.uint(&self.reduced(number)), &self.params))
    }

    /// The power of a number. The time depends on the exponent's length in bytes alone.
    pub(super) fn power(&self, base: &[u8], exponent: &[u8]) -> Secret {
        let bits = 8 * exponent.len() as u32;
        let exponent = Zeroizing::new(BoxedUint::from_be_slice_truncated(exponent, bits.max(8)));
        let power = Zeroizing::new(self.form(base).pow_bounded_exp(&exponent, bits.max(8)));
        self.out(Zeroizing::new(power.retrieve()))
    }

    pub(super) fn product(&self, one: &[u8], other: &[u8]) -> Secret {
        let product = Zeroizing::new(self.form(one).mul(&self.form(other)));
        self.out(Zeroizing::new(product.retrieve()))
    }

    pub(super) fn sum(&self, one: &[u8], other: &[u8]) -> Secret {
        let sum = Zeroizing::new(self.form(one).add(&self.form(other)));
        self.out(Zeroizing::new(sum.retrieve()))
    }

    /// The inverse modulo a prime: Fermat's.
    pub(super) fn inverse(&self, number: &[u8]) -> Secret {
        self.power(number, &self.less(2))
    }

    /// The modulus less a small number.
    pub(super) fn less(&self, number: u8) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let mut borrow = number;
        for byte in bytes.iter_mut().rev() {
            let (less, under) = byte.overflowing_sub(borrow);
            *byte = less;
            borrow = u8::from(under);
        }
        bytes
    }

    /// A random number from 1 to the modulus less 1, by 64 bits more than it has (FIPS 186-5, A.3.1).
    pub(super) fn random(&self) -> Secret {
        let mut room = Secret::new(vec![0; self.bytes.len() + 8]);
        loop {
            random(&mut room);
            let number = self.reduced(&room);
            if number.iter().any(|byte| *byte != 0) {
                return number;
            }
        }
    }

    /// Whether a number is from 2 to the modulus less 2.
    pub(super) fn has_within(&self, number: &[u8]) -> bool {
        let number = trimmed(number);
        let most = self.less(1);
        let below = number.len() < most.len() || number.len() == most.len() && number < &most[..];
        below && (number.len() > 1 || number.first().is_some_and(|byte| *byte > 1))
    }

    /// Whether the modulus is a prime: the test of Miller and Rabin with random bases (FIPS 186-5, B.3.1); a composite number passes once in 2^40.
    pub(super) fn is_prime(&self) -> bool {
        let minus_one = self.less(1);
        let twos = minus_one.iter().rev().take_while(|byte| **byte == 0).count() * 8
            + minus_one.iter().rev().find(|byte| **byte != 0).map_or(0, |byte| byte.trailing_zeros() as usize);
        let odd = shifted(&minus_one, twos);
        let one = {
            let mut one = vec![0; self.bytes.len()];
            one[self.bytes.len() - 1] = 1;
            one
        };
        (0..20).all(|_| {
            let mut power = self.power(&self.random(), &odd);
            if power[..] == one[..] || power[..] == minus_one[..] {
                return true;
            }
            for _ in 1..twos {
                power = self.product(&power, &power);
                if power[..] == minus_one[..] {
                    return true;
                }
            }
            false
        })
    }
}

/// A number shifted to the right.
fn shifted(number: &[u8], bits: usize) -> Vec<u8> {
    let (whole, part) = (bits / 8, bits % 8);
    let kept = &number[..number.len() - whole.min(number.len())];
    let mut before = 0;
    let shift = |byte: &u8| {
        let both = u16::from(before) << 8 | u16::from(*byte);
        before = *byte;
        (both >> part) as u8
    };
    kept.iter().map(shift).collect()
}
