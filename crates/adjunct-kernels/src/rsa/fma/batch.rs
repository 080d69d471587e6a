//! A batch: the jobs' keys and numbers into lanes, the operation, the results out.

use super::convert::{add_where, digits_of, limbs_of, set_lane, set_lane_of_limbs};
use super::key::{Constants, PrivateKey};
use super::modular::{carry, multiply, product, settle};
use super::power::{Public, Secret, raise, raise_public};
use super::stream::{down, start};
use super::{Column, LANES, Modulus, Number, digit_bits};
use crate::lanes::{limbs_from_be, limbs_to_be};
use crate::mxcsr::Mode;
use crate::rsa::in_use::InUse;
use std::arch::x86_64::*;
use std::array::{from_fn, from_mut, from_ref};
use std::mem::MaybeUninit;

/// A private operation: `output` = `input`^d modulo n, both big-endian and as long as the modulus, `input` below it.
pub struct PrivateJob<'a, const P: usize, const M: usize, const D: usize, const E: usize> {
    /// The key.
    pub key: &'a PrivateKey<P, M, D, E>,
    /// The number to raise.
    pub input: &'a [u8],
    /// Buffer for the result.
    pub output: &'a mut [u8],
}

/// Working memory of [`private`]: too much for a small stack, so the caller keeps it. Wiped when the call ends.
#[repr(C)]
pub struct Scratch<const P: usize, const M: usize, const D: usize, const E: usize> {
    secret: Secret<P, D>,
    /// The digits of one lane.
    digits: [[f64; D]; 2],
    wide: [f64; E],
    /// The inputs; the results.
    input: [[u64; M]; LANES],
    output: [[u64; M]; LANES],
    public: Public<E>,
}

/// Runs one to four private operations; a bit for each whose result, raised to the public exponent, is its input again. The output of the
/// others is zeros: a fault, a key whose numbers do not belong together, an input not below the modulus, or buffers of another length.
///
/// Where results are not `checked`, each job with buffers of the right length has its bit: for those whose results are checked by the code that asked
/// for them, as a result made wrong by a fault may give the key away.
///
/// Rounds and masks exceptions as a process does that has just begun, whatever the caller does, and leaves the caller's way as it was.
///
/// # Safety
/// The CPU has AVX2 and FMA.
///
/// # Panics
/// With no job or more than four.
pub unsafe fn private<const P: usize, const M: usize, const D: usize, const E: usize>(
    jobs: &mut [PrivateJob<'_, P, M, D, E>],
    scratch: &mut MaybeUninit<Scratch<P, M, D, E>>,
    checked: bool,
) -> u8 {
    let mode = Mode::set_default();
    // SAFETY: the caller has found AVX2 and FMA on this CPU. A function with features is not inlined in one without: all that computes with
    // doubles is between the two changes of the mode.
    let done = unsafe { run(jobs, scratch, checked) };
    drop(mode);
    done
}

#[target_feature(enable = "avx2,fma")]
fn run<const P: usize, const M: usize, const D: usize, const E: usize>(
    jobs: &mut [PrivateJob<'_, P, M, D, E>],
    scratch: &mut MaybeUninit<Scratch<P, M, D, E>>,
    checked: bool,
) -> u8 {
    let count = jobs.len();
    assert!((1..=LANES).contains(&count), "one to four jobs");
    let of = |lane: usize| if lane < count { lane } else { 0 };
    // SAFETY: integers, doubles, and vectors of doubles.
    let scratch = unsafe { InUse::new(scratch) };
    let Scratch { secret, digits, wide, input, output, public } = &mut *scratch.0;

    for w in 0..2 {
        load_modulus(&mut secret.modulus[w], &mut secret.factor[w], |lane| &jobs[of(lane)].key.primes[w]);
        for lane in 0..LANES {
            set_lane_of_limbs(&mut secret.exponent[w], lane, &jobs[of(lane)].key.exponents[w]);
        }
    }
    for (lane, input) in input.iter_mut().enumerate() {
        *input = limbs_from_be(jobs[of(lane)].input);
    }
    enter(secret, input, digits);
    raise(secret, 8 * PrivateKey::<P, M, D, E>::BYTES / 2);
    load(&mut secret.factor[0], |lane| &jobs[of(lane)].key.qinv);
    recombine(secret);
    let bits = digit_bits(D);
    for (lane, output) in output.iter_mut().enumerate() {
        let negative = limbs_of(secret.power.as_flattened(), lane, bits, output);
        add_where(output, &jobs[of(lane)].key.limbs, negative);
    }

    let mut right = u8::MAX;
    if checked {
        load_modulus(&mut public.modulus[0], &mut public.factor[0], |lane| &jobs[of(lane)].key.n);
        for (lane, output) in output.iter().enumerate() {
            digits_of(output, wide, digit_bits(E));
            set_lane(&mut public.base[0], lane, wide);
        }
        raise_public(public, &from_fn(|lane| jobs[of(lane)].key.e));
        right = 0;
        for (lane, input) in input.iter().enumerate() {
            let mut again = [0; M];
            let negative = limbs_of(&public.power[0], lane, digit_bits(E), &mut again);
            add_where(&mut again, &jobs[of(lane)].key.limbs, negative);
            let differ = again.iter().zip(input).fold(0, |differ, (a, b)| differ | (a ^ b));
            right |= u8::from(differ == 0) << lane;
        }
    }
    let mut done = 0;
    for (lane, job) in jobs.iter_mut().enumerate() {
        let fits = [job.input.len(), job.output.len()] == [PrivateKey::<P, M, D, E>::BYTES; 2];
        if fits && right >> lane & 1 == 1 {
            limbs_to_be(&output[lane], job.output);
            done |= 1 << lane;
        } else {
            job.output.fill(0);
        }
    }
    done
}

/// Numbers in lanes.
fn load<'a, const D: usize>(out: &mut Number<D>, number: impl Fn(usize) -> &'a [f64; D]) {
    (0..LANES).for_each(|lane| set_lane(out, lane, number(lane)));
}

/// Loads the moduli of a batch with their constants into lanes.
#[target_feature(enable = "avx2,fma")]
fn load_modulus<'a, const D: usize>(
    out: &mut Modulus<D>,
    r2: &mut Number<D>,
    constants: impl Fn(usize) -> &'a Constants<D>,
) {
    let bits = digit_bits(D);
    (out.start, out.down, out.large) = (start(bits), down(bits), start(bits + 1));
    load(&mut out.m, |lane| &constants(lane).m);
    load(r2, |lane| &constants(lane).r2);
    let mut inverse = [out.inverse];
    load(&mut inverse, |lane| from_ref(&constants(lane).inverse));
    out.inverse = inverse[0];
}

/// The inputs as sums.
#[target_feature(enable = "avx2,fma")]
fn enter<const P: usize, const M: usize, const D: usize>(
    secret: &mut Secret<P, D>,
    input: &[[u64; M]; LANES],
    digits: &mut [[f64; D]; 2],
) {
    let start = start(digit_bits(D));
    let [x, y] = &mut secret.work.sum;
    for (lane, input) in input.iter().enumerate() {
        digits_of(input, digits.as_flattened_mut(), digit_bits(D));
        for (columns, digits) in [&mut x.low, &mut x.high].into_iter().zip(&*digits) {
            for (column, digit) in columns.iter_mut().zip(digits) {
                column.h = start;
                set_lane(from_mut(&mut column.l), lane, from_ref(digit));
            }
        }
    }
    let copy = |to: &mut [Column; D], from: &[Column; D]| *to = *from;
    copy(&mut y.low, &x.low);
    copy(&mut y.high, &x.high);
}

/// Garner's recombination (RFC 8017, 5.1.2): m2 + q ((m1 - m2) / q modulo p), between -n and n, its lower and higher digits in `power`.
/// `factor`'s first is 1/q.
#[target_feature(enable = "avx2,fma")]
fn recombine<const P: usize, const D: usize>(secret: &mut Secret<P, D>) {
    let Secret { modulus, work, power, factor, .. } = secret;
    factor[1] = power[1];
    for (m1, m2) in power[0].iter_mut().zip(&factor[1]) {
        *m1 = _mm256_sub_pd(*m1, *m2);
    }
    settle(&mut power[0]);
    // The second of these counts for nothing.
    multiply(power, factor, modulus, work);
    let sum = &mut work.sum[0];
    product(sum, &power[0], &modulus[1].m);
    for (column, m2) in sum.low.iter_mut().zip(&factor[1]) {
        column.l = _mm256_add_pd(column.l, *m2);
    }
    let (start, down) = (start(digit_bits(D)), down(digit_bits(D)));
    let [low, high] = power;
    carry(low, &sum.low);
    // What the highest of these is too much for a digit, and its column's upper part, go on.
    let top = &mut low[D - 1];
    let over = _mm256_sub_pd(_mm256_add_pd(*top, start), start);
    *top = _mm256_sub_pd(*top, over);
    let upper = _mm256_sub_pd(sum.low[D - 1].h, start);
    let next = &mut sum.high[0].l;
    *next = _mm256_fmadd_pd(over, down, _mm256_fmadd_pd(upper, down, *next));
    carry(high, &sum.high);
}
