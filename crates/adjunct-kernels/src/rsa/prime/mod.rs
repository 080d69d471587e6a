//! Searching the primes of RSA keys: candidates without small factors ([`sieve`]), tested in lanes, each with a modulus of its own.
//!
//! A test is Miller and Rabin's (FIPS 186-5, B.3.1) with a base a candidate. A candidate is w, w - 1 is 2^a k with k odd. For i from 52
//! down to 1 the base's power by (w - 1) >> i is made, whatever a is: the first by fixed windows, each other of the one before by a square
//! and a product. What w passes by is looked for after each (`Trial`), and counts where the bits of w - 1 below i are zeros. The one
//! candidate in 2^51 of which a is above 51 fails.
//!
//! A base is a random number below R, the constant of Montgomery's method, reduced: R is 2^10 times the candidate or more, so that none
//! of the residues is more probable than 1 + 2^-10 times another.
//!
//! Nothing branches or indexes memory by a candidate or a base; which candidates passed is the result. Trial divisions end at the first
//! factor: of a candidate that is prime they tell that it has none.

pub mod sieve;
#[cfg(test)]
mod tests;
mod trial;

pub(super) use trial::Trial;

use super::in_use::InUse;
use super::key::modulus_bits;
use super::modular::{multiply, reduce, square};
use super::plain;
use super::power::{Secret, powers};
use crate::lanes::*;
use std::array::from_fn;
use std::mem::MaybeUninit;

/// Candidates tested at once: two a lane.
pub const CANDIDATES: usize = 2 * LANES;
/// Bits, a limb of them, by which exponents are shorter than w - 1 at first.
pub(super) const LAST: u32 = LIMB;

/// Working memory of [`test()`]: too much for a small stack, so the caller keeps it. Wiped when the call ends.
#[repr(C)]
pub struct Scratch<const P: usize> {
    secret: Secret<P>,
    one: [Number<P>; 2],
    trials: [Trial<P>; CANDIDATES],
}

/// Tests up to 16 candidates, each with the base in the same place; a bit for each that passes. A candidate is odd and has the two highest
/// bits of its size, 1024, 1536 or 2048 bits; a base is any number of P limbs.
///
/// # Panics
/// With no candidate or more than 16, or another number of bases.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn test<const P: usize>(candidates: &[[u64; P]], bases: &[[u64; P]], scratch: &mut MaybeUninit<Scratch<P>>) -> u32 {
    let count = candidates.len();
    assert!((1..=CANDIDATES).contains(&count) && bases.len() == count, "one to sixteen candidates");
    // SAFETY: integers and vectors of integers.
    let scratch = unsafe { InUse::new(scratch) };
    let Scratch { secret, one, trials } = &mut *scratch.0;
    // A place without a candidate repeats the first.
    let of = |place: usize| if place < count { place } else { 0 };
    for (place, trial) in trials.iter_mut().enumerate() {
        *trial = Trial::new(&candidates[of(place)], P * LIMB as usize);
    }
    for w in 0..2 {
        let all = |number: &dyn Fn(usize) -> [u64; P]| {
            let mut numbers: [[u64; P]; LANES] = from_fn(|lane| number(w * LANES + lane));
            let gathered = gather(&numbers);
            crate::wipe(numbers.as_flattened_mut());
            gathered
        };
        secret.modulus[w].m = all(&|place| trials[place].m);
        secret.modulus[w].fold = all(&|place| plain::fold(&trials[place].m));
        let [k0] = gather(&from_fn(|lane| [trials[w * LANES + lane].k0()]));
        secret.modulus[w].k0 = k0;
        secret.exponent[w] = all(&|place| trials[place].first_exponent());
        secret.sum[w].low = all(&|place| bases[of(place)]);
        secret.sum[w].high = [zero(); P];
        one[w] = all(&|place| trials[place].one);
    }
    reduce(&mut secret.other, &secret.modulus, &mut secret.sum, |_| {});
    secret.power = *one;
    powers(secret, modulus_bits(P) - LAST as usize);
    look(secret, trials, LAST);
    for bit in (1..LAST).rev() {
        let Secret { modulus, sum, factor, other, power, .. } = &mut *secret;
        square(power, modulus, sum, |_| {});
        for w in 0..2 {
            let set = (0..LANES).fold(0, |set, lane| set | trials[w * LANES + lane].bit(bit) << lane);
            factor[w] = select(set as u8, &one[w], &other[w]);
        }
        multiply(power, factor, modulus, sum);
        look(secret, trials, bit);
    }
    let passed = trials.iter().enumerate().fold(0, |set, (place, trial)| set | trial.passed() << place);
    passed & ((1 << count) - 1)
}

/// Has each candidate's trial see the power.
#[target_feature(enable = "avx512f,avx512ifma")]
fn look<const P: usize>(secret: &Secret<P>, trials: &mut [Trial<P>; CANDIDATES], bit: u32) {
    for (power, trials) in secret.power.iter().zip(trials.chunks_mut(LANES)) {
        let mut powers = scatter(power);
        for (power, trial) in powers.iter_mut().zip(trials) {
            for limb in power.iter_mut() {
                *limb &= MASK;
            }
            // Below 3w.
            *power = plain::subtract_once(power, &trial.m);
            *power = plain::subtract_once(power, &trial.m);
            trial.see(power, bit);
        }
        crate::wipe(powers.as_flattened_mut());
    }
}
