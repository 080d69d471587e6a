//! Between limbs of 52 bits and signed digits as doubles. In time that depends on sizes only.

use super::{LANES, Vector};
use crate::lanes::{LIMB, MASK};
use std::arch::x86_64::__m256i;

/// 1.5 * 2^52: added to a double that is an integer below 2^51, it has the integer in its lowest bits.
const INTEGER: f64 = 6_755_399_441_055_744.0;

/// A small integer as a double.
fn double(integer: i64) -> f64 {
    f64::from_bits(INTEGER.to_bits().wrapping_add_signed(integer)) - INTEGER
}

/// A double that is a small integer.
fn integer(double: f64) -> i64 {
    (double + INTEGER).to_bits().wrapping_sub(INTEGER.to_bits()).cast_signed()
}

/// The part of a number of `bits` bits from 0 to 2^bits - 1 that is from -2^(bits - 1) on, as a double; for an inverse.
pub fn centred(value: u64, bits: u32) -> f64 {
    let half = 1 << (bits - 1);
    double((value ^ half).cast_signed() - half.cast_signed())
}

/// Splits a number into digits of `bits` bits, of which the highest has the remainder.
// Not inlined, where these loops would be unrolled for each size.
#[inline(never)]
pub fn digits_of(limbs: &[u64], digits: &mut [f64], bits: u32) {
    let limb = |i: usize| limbs.get(i).copied().unwrap_or(0);
    let (mut over, last) = (0, digits.len() - 1);
    for (i, digit) in digits.iter_mut().enumerate() {
        let bit = i * bits as usize;
        let (at, shift) = (bit / LIMB as usize, bit as u32 % LIMB);
        let value = ((limb(at) >> shift | limb(at + 1) << (LIMB - shift)) & ((1 << bits) - 1)) + over;
        // One above where the rest would be half or more.
        over = if i == last { 0 } else { (value + (1 << (bits - 1))) >> bits };
        *digit = double(value.cast_signed() - (over << bits).cast_signed());
    }
}

/// The limbs of a number whose digits are one lane of four; -1 where it is negative (then the limbs are those of a number 2^(52N) larger), else 0.
#[inline(never)]
pub fn limbs_of(digits: &[Vector], lane: usize, bits: u32, limbs: &mut [u64]) -> i64 {
    let (mut sum, mut have, mut limbs) = (0i128, 0, limbs.iter_mut());
    for digit in digits {
        // SAFETY: four doubles.
        let digit = unsafe { std::mem::transmute::<Vector, [f64; LANES]>(*digit)[lane] };
        sum += i128::from(integer(digit)) << have;
        have += bits;
        if have >= LIMB {
            if let Some(limb) = limbs.next() {
                *limb = sum as u64 & MASK;
            }
            sum >>= LIMB;
            have -= LIMB;
        }
    }
    for limb in limbs {
        *limb = sum as u64 & MASK;
        sum >>= LIMB;
    }
    (sum >> 63) as i64
}

/// Adds `m` to `a` where `negative` is -1, not 0; a carry out of the highest limb is lost.
#[inline(never)]
pub fn add_where(a: &mut [u64], m: &[u64], negative: i64) {
    let (mask, mut over) = (std::hint::black_box(negative.cast_unsigned()), 0);
    for (a, m) in a.iter_mut().zip(m) {
        let sum = *a + (m & mask) + over;
        *a = sum & MASK;
        over = sum >> LIMB;
    }
}

/// Writes a number into one lane.
#[inline(never)]
pub fn set_lane(number: &mut [Vector], lane: usize, digits: &[f64]) {
    for (all, digit) in number.iter_mut().zip(digits) {
        // SAFETY: four doubles.
        unsafe { (*(&raw mut *all).cast::<[f64; LANES]>())[lane] = *digit };
    }
}

/// Writes limbs into one lane.
#[inline(never)]
pub fn set_lane_of_limbs(number: &mut [__m256i], lane: usize, limbs: &[u64]) {
    for (all, limb) in number.iter_mut().zip(limbs) {
        // SAFETY: four integers.
        unsafe { (*(&raw mut *all).cast::<[u64; LANES]>())[lane] = *limb };
    }
}
