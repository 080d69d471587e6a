//! Candidates for primes, tested as [`crate::rsa::prime`] says, two a lane.

use super::convert::{add_where, digits_of, limbs_of, set_lane, set_lane_of_limbs};
use super::key::Constants;
use super::modular::{multiply, reduce, square};
use super::power::{Secret, powers};
use super::stream::{down, start};
use super::{LANES, Number, digit_bits};
use crate::mxcsr::Mode;
use crate::rsa::in_use::InUse;
use crate::rsa::key::modulus_bits;
use crate::rsa::prime::{LAST, Trial};
use std::arch::x86_64::*;
use std::array::{from_mut, from_ref};
use std::mem::MaybeUninit;

/// Candidates tested at once.
pub const CANDIDATES: usize = 2 * LANES;

/// Working memory of [`test()`]: too much for a small stack, so the caller keeps it. Wiped when the call ends.
#[repr(C)]
pub struct Scratch<const P: usize, const D: usize> {
    secret: Secret<P, D>,
    one: [Number<D>; 2],
    /// The digits of one lane.
    digits: [[f64; D]; 2],
    limbs: [u64; P],
    trials: [Trial<P>; CANDIDATES],
}

/// Tests up to eight candidates, each with the base in the same place; a bit for each that passes. A candidate is odd and has the two
/// highest bits of its size, 1024, 1536 or 2048 bits; a base is any number of P limbs. Rounds as [`super::private`] does.
///
/// # Safety
/// The CPU has AVX2 and FMA.
///
/// # Panics
/// With no candidate or more than eight, or another number of bases.
pub unsafe fn test<const P: usize, const D: usize>(
    candidates: &[[u64; P]],
    bases: &[[u64; P]],
    scratch: &mut MaybeUninit<Scratch<P, D>>,
) -> u32 {
    let mode = Mode::set_default();
    // SAFETY: the caller has found AVX2 and FMA on this CPU. All that computes with doubles is between the two changes of the mode.
    let passed = unsafe { run(candidates, bases, scratch) };
    drop(mode);
    passed
}

#[target_feature(enable = "avx2,fma")]
fn run<const P: usize, const D: usize>(
    candidates: &[[u64; P]],
    bases: &[[u64; P]],
    scratch: &mut MaybeUninit<Scratch<P, D>>,
) -> u32 {
    let count = candidates.len();
    assert!((1..=CANDIDATES).contains(&count) && bases.len() == count, "one to eight candidates");
    // SAFETY: integers, doubles, and vectors of these.
    let scratch = unsafe { InUse::new(scratch) };
    let Scratch { secret, one, digits, limbs, trials } = &mut *scratch.0;
    let bits = digit_bits(D);
    for modulus in &mut secret.modulus {
        (modulus.start, modulus.down, modulus.large) = (start(bits), down(bits), start(bits + 1));
    }
    for (place, trial) in trials.iter_mut().enumerate() {
        let (of, w, lane) = (if place < count { place } else { 0 }, place / LANES, place % LANES);
        *trial = Trial::new(&candidates[of], D * bits as usize);
        let constants = Constants::<D>::of_modulus(&trial.m);
        set_lane(&mut secret.modulus[w].m, lane, &constants.m);
        set_lane(from_mut(&mut secret.modulus[w].inverse), lane, from_ref(&constants.inverse));
        let mut constants = constants;
        zeroize::Zeroize::zeroize(&mut constants);
        set_lane_of_limbs(&mut secret.exponent[w], lane, &trial.first_exponent());
        digits_of(&trial.one, &mut digits[0], bits);
        set_lane(&mut one[w], lane, &digits[0]);
        digits_of(&bases[of], digits.as_flattened_mut(), bits);
        let sum = &mut secret.work.sum[w];
        for (columns, digits) in [&mut sum.low, &mut sum.high].into_iter().zip(&*digits) {
            for (column, digit) in columns.iter_mut().zip(digits) {
                column.h = start(bits);
                set_lane(from_mut(&mut column.l), lane, from_ref(digit));
            }
        }
    }
    reduce(&mut secret.other, &secret.modulus, &mut secret.work);
    secret.power = *one;
    powers(secret, modulus_bits(P) - LAST as usize);
    look(secret, trials, limbs, LAST);
    for bit in (1..LAST).rev() {
        let Secret { modulus, work, factor, other, power, .. } = &mut *secret;
        square(power, modulus, work);
        for w in 0..2 {
            let [a, b, c, d] =
                std::array::from_fn(|lane| trials[w * LANES + lane].bit(bit).wrapping_neg().cast_signed());
            let mask = _mm256_castsi256_pd(_mm256_set_epi64x(d, c, b, a));
            for (factor, (one, other)) in factor[w].iter_mut().zip(one[w].iter().zip(&other[w])) {
                *factor = _mm256_blendv_pd(*one, *other, mask);
            }
        }
        multiply(power, factor, modulus, work);
        look(secret, trials, limbs, bit);
    }
    let passed = trials.iter().enumerate().fold(0, |set, (place, trial)| set | trial.passed() << place);
    passed & ((1 << count) - 1)
}

/// Has each candidate's trial see the power.
fn look<const P: usize, const D: usize>(
    secret: &Secret<P, D>,
    trials: &mut [Trial<P>; CANDIDATES],
    limbs: &mut [u64; P],
    bit: u32,
) {
    for (place, trial) in trials.iter_mut().enumerate() {
        let negative = limbs_of(&secret.power[place / LANES], place % LANES, digit_bits(D), limbs);
        add_where(limbs, &trial.m, negative);
        trial.see(limbs, bit);
    }
}
