//! Constants and comparisons of one candidate's test, in plain integers. The time depends on sizes only.

use super::LAST;
use crate::lanes::{MASK, montgomery};
use crate::rsa::key::modulus_bits;
use crate::rsa::plain;
use std::hint::black_box;

/// The test of a candidate. All zeros is a value of it.
#[derive(Clone, Copy)]
pub struct Trial<const P: usize> {
    /// The candidate.
    pub m: [u64; P],
    /// R modulo the candidate: 1 in Montgomery's form.
    pub one: [u64; P],
    /// The candidate minus [`Trial::one`]: -1.
    minus: [u64; P],
    /// All ones once the candidate has passed.
    passed: u64,
}

/// All ones where a word is zero, else zero.
fn is_zero(word: u64) -> u64 {
    black_box(((word | word.wrapping_neg()) >> 63).wrapping_sub(1))
}

impl<const P: usize> Trial<P> {
    /// Begins the trial of a candidate, with R = 2^`power`.
    pub fn new(candidate: &[u64; P], power: usize) -> Trial<P> {
        let one = plain::power_of_two(power, candidate, modulus_bits(P));
        Trial { m: *candidate, one, minus: plain::subtract(candidate, &one).0, passed: 0 }
    }

    /// The candidate minus 1, without its lowest limb.
    pub fn first_exponent(&self) -> [u64; P] {
        std::array::from_fn(|i| self.m.get(i + 1).copied().unwrap_or(0))
    }

    /// -1 by the candidate modulo 2^52.
    // Not inlined, where the loads of several would become a gather.
    #[inline(never)]
    pub fn k0(&self) -> u64 {
        montgomery::k0(self.m[0])
    }

    /// A bit of the candidate less one, above the lowest; as 0 or 1.
    pub fn bit(&self, bit: u32) -> u64 {
        self.m[0] >> bit & 1
    }

    /// Looks at the base's power by (w - 1) >> `bit`, in Montgomery's form and below w.
    pub fn see(&mut self, power: &[u64; P], bit: u32) {
        let differ = |from: &[u64; P]| power.iter().zip(from).fold(0, |differ, (a, b)| differ | (a ^ b));
        let (is_one, is_minus) = (is_zero(differ(&self.one)), is_zero(differ(&self.minus)));
        // The bits below are zeros: a is `bit` or more. The lowest one that is set is `bit`: a is `bit`, and the exponent odd.
        let counts = is_zero((self.m[0] - 1) & MASK & ((1 << bit) - 1));
        let odd = if bit < LAST { self.bit(bit).wrapping_neg() } else { 0 };
        // Of a above 51 nothing counts, since the first exponent is not the odd one.
        let known = if bit < LAST { u64::MAX } else { 0 };
        self.passed |= counts & known & (is_minus | (is_one & odd));
    }

    /// Whether the candidate has passed: 0 or 1.
    pub fn passed(&self) -> u32 {
        (self.passed & 1) as u32
    }
}
