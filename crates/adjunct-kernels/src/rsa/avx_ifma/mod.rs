//! RSA with IFMA on vectors of 256 bits, in four lanes, for CPUs that have it so (AVX-IFMA) but no AVX-512: the private operation by the Chinese
//! remainder theorem, checked with the public exponent before it leaves, for moduli of 2048, 3072 and 4096 bits.
//!
//! A number is limbs of 52 bits, one of four numbers a lane, and keys are those of eight lanes. Products are summed whole, four rows at a
//! time: 16 vector registers hold four limbs of a factor, four columns of the sum and what comes past. A square takes each two different limbs
//! once, doubles the sum, and adds the limbs' squares. The reduction is Montgomery's by the modulus itself, with R = 2^(52 N): a result is below
//! a b / R + m, so below 1.01 m for factors below 1.01 m, as 2^16 m < R or more. A column has at most 4 N halves below 2^52 and carries: below 2^61.
//!
//! Instructions on 256 bits are encoded in two ways, that of AVX-512 (VL) and that of AVX-IFMA. The code is there twice, [`vex`] and
//! [`evex`], of one text: what runs on newer CPUs is tested on older ones.
//!
//! Nothing branches or indexes memory by a secret: primes, exponents, inputs and outputs.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

#[cfg(test)]
mod tests;

use super::in_use::InUse;
use super::key::{Constants, PrivateKey, modulus_bits};
use super::prime::{LAST, Trial};
use super::{PrivateJob, plain};
use crate::lanes::{LIMB, MASK, limbs_from_be, limbs_to_be, montgomery};
use std::arch::x86_64::*;
use std::array::from_fn;
use std::mem::MaybeUninit;

/// Numbers worked on at once.
pub const LANES: usize = 4;
/// Rows of a turn. Two limbs of 30 are left over, which go one by one.
const ROWS: usize = 4;
/// Bits of a window of a secret exponent, of which none is part of two limbs.
const WINDOW: usize = 4;
const ENTRIES: usize = 1 << WINDOW;

/// Working memory for private keys of 2048 bits.
pub type Scratch2048 = Scratch<20, 40>;
/// Working memory for private keys of 3072 bits.
pub type Scratch3072 = Scratch<30, 60>;
/// Working memory for private keys of 4096 bits.
pub type Scratch4096 = Scratch<40, 80>;

/// A limb of each of four numbers.
type Vector = __m256i;
/// Four numbers of N limbs, the lowest limb first.
type Number<const N: usize> = [Vector; N];

/// The columns of a product.
#[repr(C)]
struct Wide<const N: usize> {
    low: Number<N>,
    high: Number<N>,
    /// Columns beyond the number, which a chain's last products touch.
    beyond: [Vector; ROWS],
}

/// The moduli of four lanes.
#[repr(C)]
struct Modulus<const N: usize> {
    m: Number<N>,
    /// -1/m modulo 2^52.
    k0: Vector,
}

/// Two numbers a lane and what raising them takes.
#[repr(C)]
struct Secret<const P: usize> {
    table: [[Number<P>; ENTRIES]; 2],
    modulus: [Modulus<P>; 2],
    exponent: [Number<P>; 2],
    /// The base as any sum below R m that is it; any sum.
    sum: [Wide<P>; 2],
    /// R^2; then a table entry.
    factor: [Number<P>; 2],
    other: [Number<P>; 2],
    power: [Number<P>; 2],
}

/// A number and what raising it to a public exponent takes.
#[repr(C)]
struct Public<const M: usize> {
    modulus: [Modulus<M>; 1],
    sum: [Wide<M>; 1],
    base: [Number<M>; 1],
    /// R^2; then a factor.
    factor: [Number<M>; 1],
    form: [Number<M>; 1],
    one: [Number<M>; 1],
    power: [Number<M>; 1],
}

/// Working memory of a batch: too much for a small stack, so the caller keeps it. Wiped when the call ends.
#[repr(C)]
pub struct Scratch<const P: usize, const M: usize> {
    secret: Secret<P>,
    /// The inputs; the results.
    input: [[u64; M]; LANES],
    output: [[u64; M]; LANES],
    public: Public<M>,
}

/// Candidates for primes tested at once: two a lane.
pub const CANDIDATES: usize = 2 * LANES;

/// Working memory of a test of candidates. Wiped when the call ends.
#[repr(C)]
pub struct PrimeScratch<const P: usize> {
    secret: Secret<P>,
    one: [Number<P>; 2],
    trials: [Trial<P>; CANDIDATES],
}

/// The limbs of one lane, below its modulus.
fn canonical<const N: usize>(number: &Number<N>, lane: usize, m: &[u64; N]) -> [u64; N] {
    let mut limbs = [0; N];
    get_lane(number, lane, &mut limbs);
    plain::subtract_once(&limbs, m)
}

/// The limbs of one lane, without what is above 52 bits.
// Not inlined, where these loops would be unrolled for each size.
#[inline(never)]
fn get_lane(number: &[Vector], lane: usize, limbs: &mut [u64]) {
    for (limb, all) in limbs.iter_mut().zip(number) {
        // SAFETY: four integers.
        *limb = unsafe { std::mem::transmute::<Vector, [u64; LANES]>(*all)[lane] & MASK };
    }
}

/// Writes a number into one lane.
#[inline(never)]
fn set_lane(number: &mut [Vector], lane: usize, limbs: &[u64]) {
    for (all, limb) in number.iter_mut().zip(limbs) {
        // SAFETY: four integers.
        unsafe { (*(&raw mut *all).cast::<[u64; LANES]>())[lane] = *limb };
    }
}

/// Loads a modulus of each lane.
fn load_modulus<'a, const N: usize>(
    out: &mut Modulus<N>,
    r2: &mut Number<N>,
    constants: impl Fn(usize) -> &'a Constants<N>,
) {
    for lane in 0..LANES {
        let constants = constants(lane);
        set_lane(&mut out.m, lane, &constants.m);
        set_lane(r2, lane, &constants.r2);
        set_lane(std::array::from_mut(&mut out.k0), lane, &[constants.k0]);
    }
}

/// The difference m1 - m2 modulo p, plus a multiple of p, for m1 below p and m2 below q, which has as many bits.
fn difference<const N: usize>(m1: &[u64; N], m2: &[u64; N], p: &[u64; N]) -> [u64; N] {
    let mut over = 0i64;
    from_fn(|i| {
        let limb = (m1[i] + 2 * p[i]).cast_signed() - m2[i].cast_signed() + over;
        over = limb >> LIMB;
        limb.cast_unsigned() & MASK
    })
}

/// The code, of instructions in one encoding.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident $features:literal $low:ident $high:ident) => {
        $(#[$doc])*
        pub mod $name {
            use super::*;

            /// `t` += four limbs of `a` * `count` limbs of `b`, a multiple of four: `count` + 4 columns.
            ///
            /// # Safety
            /// `t` has `count` + 4 columns that no other code uses, `a` four limbs and `b` `count` limbs.
            #[target_feature(enable = $features)]
            unsafe fn rows(t: *mut Vector, a: *const Vector, b: *const Vector, count: usize) {
                // SAFETY: the caller has all that is read and written.
                unsafe {
                    let a: [Vector; ROWS] = [*a, *a.add(1), *a.add(2), *a.add(3)];
                    let mut c: [Vector; ROWS] = [*t, *t.add(1), *t.add(2), *t.add(3)];
                    let mut at = 0;
                    while at < count {
                        for s in 0..ROWS {
                            let (x, column) = (*b.add(at + s), t.add(at + s));
                            for i in 0..ROWS {
                                c[(i + s) % ROWS] = $low(c[(i + s) % ROWS], a[i], x);
                            }
                            *column = c[s];
                            c[s] = *column.add(ROWS);
                            for i in 0..ROWS {
                                c[(i + 1 + s) % ROWS] = $high(c[(i + 1 + s) % ROWS], a[i], x);
                            }
                        }
                        at += ROWS;
                    }
                    for (i, c) in c.into_iter().enumerate() {
                        *t.add(count + i) = c;
                    }
                }
            }

            /// `t` += two numbers' limb, at the column of the first.
            ///
            /// # Safety
            /// `t` has two columns that no other code uses.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn add(t: *mut Vector, a: Vector, b: Vector) {
                // SAFETY: the caller has both columns.
                unsafe {
                    *t = $low(*t, a, b);
                    *t.add(1) = $high(*t.add(1), a, b);
                }
            }

            /// How many limbs are in whole turns.
            const fn whole(limbs: usize) -> usize {
                limbs - limbs % ROWS
            }

            /// `sum` = `a` * `b`.
            #[target_feature(enable = $features)]
            fn product<const N: usize>(sum: &mut Wide<N>, a: &Number<N>, b: &Number<N>) {
                clear(sum);
                let (t, whole) = ((&raw mut *sum).cast::<Vector>(), whole(N));
                // SAFETY: 2N columns and four more.
                unsafe {
                    for k in (0..whole).step_by(ROWS) {
                        rows(t.add(k), a.as_ptr().add(k), b.as_ptr(), whole);
                    }
                    // The limbs that are left, of either.
                    for k in whole..N {
                        for i in 0..N {
                            add(t.add(k + i), a[k], b[i]);
                        }
                        for i in 0..whole {
                            add(t.add(k + i), a[i], b[k]);
                        }
                    }
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn clear<const N: usize>(sum: &mut Wide<N>) {
                let zero = _mm256_setzero_si256();
                *sum = Wide { low: [zero; N], high: [zero; N], beyond: [zero; ROWS] };
            }

            /// `sum` = `a`^2.
            #[target_feature(enable = $features)]
            fn square_whole<const N: usize>(sum: &mut Wide<N>, a: &Number<N>) {
                clear(sum);
                let (t, whole) = ((&raw mut *sum).cast::<Vector>(), whole(N));
                // SAFETY: 2N columns and four more.
                unsafe {
                    for k in (0..whole).step_by(ROWS) {
                        for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                            add(t.add(2 * k + i + j), a[k + i], a[k + j]);
                        }
                        rows(t.add(2 * k + ROWS), a.as_ptr().add(k), a.as_ptr().add(k + ROWS), whole - k - ROWS);
                    }
                    for k in whole..N {
                        for i in 0..k {
                            add(t.add(k + i), a[i], a[k]);
                        }
                    }
                    for (i, &a) in a.iter().enumerate() {
                        let (low, high) = (t.add(2 * i), t.add(2 * i + 1));
                        *low = $low(_mm256_add_epi64(*low, *low), a, a);
                        *high = $high(_mm256_add_epi64(*high, *high), a, a);
                    }
                }
            }

            /// Finds the factors of the modulus that make `count` columns from `t` on multiples of 2^52, up to four; adds the products to these
            /// columns, and each column's excess to the next.
            ///
            /// # Safety
            /// `t` has nine columns that no other code uses.
            #[target_feature(enable = $features)]
            unsafe fn chain<const N: usize>(t: *mut Vector, m: &Modulus<N>, count: usize) -> [Vector; ROWS] {
                let mut factors = [_mm256_setzero_si256(); ROWS];
                // SAFETY: the caller has nine columns.
                unsafe {
                    let mut x = *t;
                    for i in 0..count {
                        let q = $low(_mm256_setzero_si256(), x, m.k0);
                        factors[i] = q;
                        let t = t.add(i);
                        let over = _mm256_srli_epi64::<{ LIMB as i32 }>($low(x, q, m.m[0]));
                        let next = $high(_mm256_add_epi64(*t.add(1), over), q, m.m[0]);
                        x = $low(next, q, m.m[1]);
                        *t.add(2) = $high(*t.add(2), q, m.m[1]);
                        for j in 2..ROWS {
                            add(t.add(j), q, m.m[j]);
                        }
                    }
                    *t.add(count) = x;
                }
                factors
            }

            /// `out` = `sum` / R modulo `m`, each limb's excess added to the next but still in place.
            #[target_feature(enable = $features)]
            fn reduce<const N: usize, const W: usize>(
                out: &mut [Number<N>; W],
                m: &[Modulus<N>; W],
                sum: &mut [Wide<N>; W],
            ) {
                let whole = whole(N);
                for k in (0..whole).step_by(ROWS) {
                    // SAFETY: 2N columns and four more.
                    unsafe {
                        let columns = |w: usize, sum: &mut [Wide<N>; W]| (&raw mut sum[w]).cast::<Vector>().add(k);
                        let factors: [_; W] = from_fn(|w| chain(columns(w, sum), &m[w], ROWS));
                        for w in 0..W {
                            let (t, q) = (columns(w, sum).add(ROWS), &factors[w]);
                            rows(t, q.as_ptr(), m[w].m.as_ptr().add(ROWS), whole - ROWS);
                            for at in whole..N {
                                for (i, &q) in q.iter().enumerate() {
                                    add(t.add(at - ROWS + i), q, m[w].m[at]);
                                }
                            }
                        }
                    }
                }
                for (sum, m) in sum.iter_mut().zip(m) {
                    let t = (&raw mut *sum).cast::<Vector>();
                    for k in whole..N {
                        // SAFETY: `sum` has 2N columns and ROWS more. `k` and `at` are below N: `add` ends within the 2N columns, and
                        // `chain`, of one factor, touches columns `k` to `k` + 4.
                        unsafe {
                            let [q, ..] = chain(t.add(k), m, 1);
                            for at in ROWS..N {
                                add(t.add(k + at), q, m.m[at]);
                            }
                        }
                    }
                }
                for (out, sum) in out.iter_mut().zip(&*sum) {
                    let mut over = _mm256_setzero_si256();
                    for (out, limb) in out.iter_mut().zip(&sum.high) {
                        *out = _mm256_add_epi64(*limb, over);
                        over = _mm256_srli_epi64::<{ LIMB as i32 }>(*out);
                    }
                }
                crate::rsa::fault::strike_four_limbs(out);
            }

            #[target_feature(enable = $features)]
            fn multiply<const N: usize, const W: usize>(
                a: &mut [Number<N>; W],
                b: &[Number<N>; W],
                m: &[Modulus<N>; W],
                sum: &mut [Wide<N>; W],
            ) {
                for w in 0..W {
                    product(&mut sum[w], &a[w], &b[w]);
                }
                reduce(a, m, sum);
            }

            #[target_feature(enable = $features)]
            fn square<const N: usize, const W: usize>(
                a: &mut [Number<N>; W],
                m: &[Modulus<N>; W],
                sum: &mut [Wide<N>; W],
            ) {
                for w in 0..W {
                    square_whole(&mut sum[w], &a[w]);
                }
                reduce(a, m, sum);
            }

            #[target_feature(enable = $features)]
            fn set_one<const N: usize, const W: usize>(numbers: &mut [Number<N>; W]) {
                for number in numbers {
                    *number = [_mm256_setzero_si256(); N];
                    number[0] = _mm256_set1_epi64x(1);
                }
            }

            /// Raises what is in `sum` to `exponent`, of which the lowest `bits` bits count.
            #[target_feature(enable = $features)]
            fn raise<const P: usize>(secret: &mut Secret<P>, bits: usize) {
                let Secret { modulus, sum, factor, other, power, .. } = secret;
                // The sum / R, the sum, the sum R: the base in Montgomery's form.
                reduce(other, modulus, sum);
                multiply(other, factor, modulus, sum);
                multiply(other, factor, modulus, sum);
                // R^2 / R: one.
                set_one(power);
                multiply(power, factor, modulus, sum);
                powers(secret, bits);
                let Secret { modulus, sum, factor, power, .. } = secret;
                set_one(factor);
                multiply(power, factor, modulus, sum);
            }

            /// Raises what is in `other` to `exponent`, of which the lowest `bits` bits count; `power` is one at first, and the result at
            /// last, all in Montgomery's form.
            #[target_feature(enable = $features)]
            fn powers<const P: usize>(secret: &mut Secret<P>, bits: usize) {
                let Secret { table, modulus, exponent, sum, factor, other, power } = secret;
                let put = |table: &mut [[Number<P>; ENTRIES]; 2], entry: usize, number: &[Number<P>; 2]| {
                    table.iter_mut().zip(number).for_each(|(table, number)| table[entry] = *number);
                };
                put(table, 0, power);
                put(table, 1, other);
                for entry in (2..ENTRIES).step_by(2) {
                    power.iter_mut().zip(&*table).for_each(|(power, table)| *power = table[entry / 2]);
                    square(power, modulus, sum);
                    put(table, entry, power);
                    multiply(power, other, modulus, sum);
                    put(table, entry + 1, power);
                }
                let windows = bits.div_ceil(WINDOW);
                for w in 0..2 {
                    pick(&mut power[w], &table[w], &exponent[w], windows - 1);
                }
                for place in (0..windows - 1).rev() {
                    for _ in 0..WINDOW {
                        square(power, modulus, sum);
                    }
                    for w in 0..2 {
                        pick(&mut factor[w], &table[w], &exponent[w], place);
                    }
                    multiply(power, factor, modulus, sum);
                }
            }

            /// Tests up to eight candidates for primes as [`crate::rsa::prime`] says, each with the base in the same place; a bit for each
            /// that passes. A candidate is odd and has the two highest bits of its size, 1024, 1536 or 2048 bits; a base is any number of P
            /// limbs.
            ///
            /// # Panics
            /// With no candidate or more than eight, or another number of bases.
            #[target_feature(enable = $features)]
            pub fn test<const P: usize>(
                candidates: &[[u64; P]],
                bases: &[[u64; P]],
                scratch: &mut MaybeUninit<PrimeScratch<P>>,
            ) -> u32 {
                let count = candidates.len();
                assert!((1..=CANDIDATES).contains(&count) && bases.len() == count, "one to eight candidates");
                // SAFETY: integers and vectors of integers.
                let scratch = unsafe { InUse::new(scratch) };
                let PrimeScratch { secret, one, trials } = &mut *scratch.0;
                for (place, trial) in trials.iter_mut().enumerate() {
                    let (of, w, lane) = (if place < count { place } else { 0 }, place / LANES, place % LANES);
                    *trial = Trial::new(&candidates[of], P * LIMB as usize);
                    set_lane(&mut secret.modulus[w].m, lane, &trial.m);
                    let k0 = montgomery::k0(trial.m[0]);
                    set_lane(std::array::from_mut(&mut secret.modulus[w].k0), lane, &[k0]);
                    set_lane(&mut secret.exponent[w], lane, &trial.first_exponent());
                    set_lane(&mut one[w], lane, &trial.one);
                    set_lane(&mut secret.sum[w].low, lane, &bases[of]);
                }
                let mut look = |secret: &Secret<P>, bit: u32| {
                    for (place, trial) in trials.iter_mut().enumerate() {
                        let power = &secret.power[place / LANES];
                        trial.see(&canonical(power, place % LANES, &trial.m), bit);
                    }
                };
                reduce(&mut secret.other, &secret.modulus, &mut secret.sum);
                secret.power = *one;
                powers(secret, modulus_bits(P) - LAST as usize);
                look(secret, LAST);
                for bit in (1..LAST).rev() {
                    let Secret { modulus, sum, factor, other, power, .. } = &mut *secret;
                    square(power, modulus, sum);
                    for w in 0..2 {
                        // Above its lowest bit a candidate less one is the candidate.
                        let set = _mm256_and_si256(_mm256_set1_epi64x(1 << bit), modulus[w].m[0]);
                        let clear = _mm256_cmpeq_epi64(set, _mm256_setzero_si256());
                        for (factor, (one, other)) in factor[w].iter_mut().zip(one[w].iter().zip(&other[w])) {
                            *factor = _mm256_blendv_epi8(*other, *one, clear);
                        }
                    }
                    multiply(power, factor, modulus, sum);
                    look(secret, bit);
                }
                let passed = trials.iter().enumerate().fold(0, |set, (place, trial)| set | trial.passed() << place);
                passed & ((1 << count) - 1)
            }

            /// Picks the entries for the lanes' exponents in the window at a place; reads all entries.
            #[target_feature(enable = $features)]
            fn pick<const P: usize>(
                out: &mut Number<P>,
                table: &[Number<P>; ENTRIES],
                exponents: &Number<P>,
                place: usize,
            ) {
                let bit = place * WINDOW;
                let (at, shift) = (bit / LIMB as usize, bit as u32 % LIMB);
                let windows = _mm256_srl_epi64(exponents[at], _mm_cvtsi32_si128(shift as i32));
                let windows = _mm256_and_si256(windows, _mm256_set1_epi64x(ENTRIES as i64 - 1));
                *out = [_mm256_setzero_si256(); P];
                for (entry, number) in table.iter().enumerate() {
                    let chosen = _mm256_cmpeq_epi64(windows, _mm256_set1_epi64x(entry as i64));
                    for (out, limb) in out.iter_mut().zip(number) {
                        *out = _mm256_or_si256(*out, _mm256_and_si256(chosen, *limb));
                    }
                }
            }

            /// Raises `base` to odd exponents of two bits or more; in time that depends on the exponents.
            #[target_feature(enable = $features)]
            fn raise_public<const M: usize>(public: &mut Public<M>, exponents: &[u64; LANES]) {
                let Public { modulus, sum, base, factor, form, one, power } = public;
                let choose = |out: &mut [Number<M>; 1], bit: u32, one: &[Number<M>; 1], form: &[Number<M>; 1]| {
                    let [a, b, c, d] = exponents.map(|e| -((e >> bit & 1).cast_signed()));
                    let mask = _mm256_set_epi64x(d, c, b, a);
                    for (out, (one, form)) in out[0].iter_mut().zip(one[0].iter().zip(&form[0])) {
                        *out = _mm256_blendv_epi8(*one, *form, mask);
                    }
                };
                *form = *base;
                multiply(form, factor, modulus, sum);
                set_one(one);
                multiply(one, factor, modulus, sum);
                let top = exponents.iter().fold(0, |all, e| all | e).ilog2();
                choose(power, top, one, form);
                for bit in (1..top).rev() {
                    square(power, modulus, sum);
                    if exponents.iter().any(|e| e >> bit & 1 != 0) {
                        choose(factor, bit, one, form);
                        multiply(power, factor, modulus, sum);
                    }
                }
                square(power, modulus, sum);
                // Odd exponents all have the lowest bit; the base as it is leaves Montgomery's form on the way.
                multiply(power, base, modulus, sum);
            }

            /// Runs one to four private operations; a bit for each whose result, raised to the public exponent, is its input again. The output of the
            /// others is zeros: a fault, a key whose numbers do not belong together, an input not below the modulus, or buffers of another length.
            /// Where results are not `checked`, each job with buffers of the right length has its bit.
            ///
            /// # Panics
            /// With no job or more than four.
            #[target_feature(enable = $features)]
            pub fn private<const P: usize, const M: usize>(
                jobs: &mut [PrivateJob<'_, P, M>],
                scratch: &mut MaybeUninit<Scratch<P, M>>,
                checked: bool,
            ) -> u8 {
                let count = jobs.len();
                assert!((1..=LANES).contains(&count), "one to four jobs");
                let of = |lane: usize| if lane < count { lane } else { 0 };
                // SAFETY: integers and vectors of integers.
                let scratch = unsafe { InUse::new(scratch) };
                let Scratch { secret, input, output, public } = &mut *scratch.0;
                for w in 0..2 {
                    load_modulus(&mut secret.modulus[w], &mut secret.factor[w], |lane| &jobs[of(lane)].key.primes[w]);
                    for lane in 0..LANES {
                        set_lane(&mut secret.exponent[w], lane, &jobs[of(lane)].key.exponents[w]);
                    }
                }
                for (lane, input) in input.iter_mut().enumerate() {
                    *input = limbs_from_be(jobs[of(lane)].input);
                    for sum in &mut secret.sum {
                        set_lane(&mut sum.low, lane, &input[..P]);
                        set_lane(&mut sum.high, lane, &input[P..]);
                    }
                }
                raise(secret, modulus_bits(M) / 2);
                recombine(secret, output, |lane| jobs[of(lane)].key);
                let mut right = u8::MAX;
                if checked {
                    load_modulus(&mut public.modulus[0], &mut public.factor[0], |lane| &jobs[of(lane)].key.public.n);
                    for (lane, output) in output.iter().enumerate() {
                        set_lane(&mut public.base[0], lane, output);
                    }
                    raise_public(public, &from_fn(|lane| jobs[of(lane)].key.public.e));
                    right = 0;
                    for (lane, input) in input.iter().enumerate() {
                        let again = canonical(&public.power[0], lane, &jobs[of(lane)].key.public.n.m);
                        let differ = again.iter().zip(input).fold(0, |differ, (a, b)| differ | (a ^ b));
                        right |= u8::from(differ == 0) << lane;
                    }
                }
                let mut done = 0;
                for (lane, job) in jobs.iter_mut().enumerate() {
                    let fits = [job.input.len(), job.output.len()] == [PrivateKey::<P, M>::BYTES; 2];
                    if fits && right >> lane & 1 == 1 {
                        limbs_to_be(&output[lane], job.output);
                        done |= 1 << lane;
                    } else {
                        job.output.fill(0);
                    }
                }
                done
            }

            /// Garner's recombination (RFC 8017, 5.1.2): m2 + q ((m1 - m2) / q modulo p).
            #[target_feature(enable = $features)]
            fn recombine<'a, const P: usize, const M: usize>(
                secret: &mut Secret<P>,
                output: &mut [[u64; M]; LANES],
                key: impl Fn(usize) -> &'a PrivateKey<P, M>,
            ) {
                let Secret { modulus, sum, power, factor, .. } = secret;
                for (lane, output) in output.iter_mut().enumerate() {
                    let [p, q] = key(lane).primes.each_ref().map(|prime| &prime.m);
                    let [m1, m2] = [canonical(&power[0], lane, p), canonical(&power[1], lane, q)];
                    output[..P].copy_from_slice(&m2);
                    set_lane(&mut power[0], lane, &difference(&m1, &m2, p));
                    set_lane(&mut factor[0], lane, &key(lane).qinv);
                }
                // The second of these counts for nothing.
                multiply(power, factor, modulus, sum);
                for (lane, output) in output.iter_mut().enumerate() {
                    let [p, q] = key(lane).primes.each_ref().map(|prime| &prime.m);
                    plain::add_product::<P, M>(output, &canonical(&power[0], lane, p), q);
                }
            }
        }
    };
}

kernel! {
    /// The kernel in the encoding of AVX-IFMA.
    vex "avx2,avxifma" _mm256_madd52lo_avx_epu64 _mm256_madd52hi_avx_epu64
}
kernel! {
    /// The kernel in the encoding of AVX-512, on vectors of 256 bits.
    evex "avx2,avx512ifma,avx512vl" _mm256_madd52lo_epu64 _mm256_madd52hi_epu64
}
