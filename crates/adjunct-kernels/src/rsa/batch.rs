//! A batch: the jobs' keys and numbers into lanes, the operation, the results out.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::in_use::InUse;
use super::key::{Constants, modulus_bits};
use super::modular::{Modulus, carry_wide, product};
use super::power::{Public, Secret, raise, raise_public};
use super::{PrivateJob, PublicJob};
use crate::lanes::*;
use std::arch::x86_64::*;
use std::array::{from_fn, from_mut, from_ref};
use std::mem::MaybeUninit;

/// Working memory of [`super::private`]: too much for a small stack, so the caller keeps it. Wiped when the call ends.
#[repr(C)]
pub struct Scratch<const P: usize, const M: usize> {
    secret: Secret<P>,
    qinv: [Number<P>; 1],
    public: Public<M>,
    input: Number<M>,
}

/// Working memory of [`super::public`]. Wiped when the call ends.
#[repr(C)]
pub struct PublicScratch<const M: usize> {
    public: Public<M>,
}

/// The numbers of a big-endian batch in lanes; idle lanes repeat the first.
#[target_feature(enable = "avx512f,avx512ifma")]
fn load<'a, const N: usize>(out: &mut Number<N>, jobs: usize, number: impl Fn(usize) -> &'a [u64; N]) {
    let lanes: [&[u64; N]; LANES] = from_fn(|lane| number(if lane < jobs { lane } else { 0 }));
    for (i, v) in out.iter_mut().enumerate() {
        let n = |lane: usize| lanes[lane][i] as i64;
        *v = _mm512_set_epi64(n(7), n(6), n(5), n(4), n(3), n(2), n(1), n(0));
    }
}

/// Loads the moduli of a batch with their constants into lanes; idle lanes repeat the first.
#[target_feature(enable = "avx512f,avx512ifma")]
fn load_modulus<'a, const N: usize>(
    out: &mut Modulus<N>,
    r2: &mut Number<N>,
    jobs: usize,
    constants: impl Fn(usize) -> &'a Constants<N>,
) {
    load(&mut out.m, jobs, |lane| &constants(lane).m);
    load(&mut out.fold, jobs, |lane| &constants(lane).fold);
    load(r2, jobs, |lane| &constants(lane).r2);
    let mut k0 = [[out.k0]];
    load(&mut k0[0], jobs, |lane| from_ref(&constants(lane).k0));
    out.k0 = k0[0][0];
}

/// Big-endian numbers in lanes.
#[target_feature(enable = "avx512f,avx512ifma")]
fn load_bytes<'a, const N: usize>(out: &mut Number<N>, jobs: usize, bytes: impl Fn(usize) -> &'a [u8]) {
    let limbs: [[u64; N]; LANES] = from_fn(|lane| limbs_from_be(bytes(if lane < jobs { lane } else { 0 })));
    load(out, LANES, |lane| &limbs[lane]);
}

/// The lanes in which two numbers are the same.
#[target_feature(enable = "avx512f,avx512ifma")]
fn equal<const N: usize>(a: &Number<N>, b: &Number<N>) -> u8 {
    let mut differ = zero();
    for (a, b) in a.iter().zip(b) {
        differ = _mm512_or_si512(differ, _mm512_xor_si512(*a, *b));
    }
    _mm512_testn_epi64_mask(differ, differ)
}

/// See [`super::private`] and [`super::private_unchecked`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn private<const P: usize, const M: usize>(
    jobs: &mut [PrivateJob<'_, P, M>],
    scratch: &mut MaybeUninit<Scratch<P, M>>,
    checked: bool,
) -> u8 {
    let count = jobs.len();
    assert!((1..=LANES).contains(&count), "one to eight jobs");
    // SAFETY: integers and vectors of integers.
    let scratch = unsafe { InUse::new(scratch) };
    let Scratch { secret, qinv, public, input } = &mut *scratch.0;

    for w in 0..2 {
        load_modulus(&mut secret.modulus[w], &mut secret.factor[w], count, |lane| &jobs[lane].key.primes[w]);
        load(&mut secret.exponent[w], count, |lane| &jobs[lane].key.exponents[w]);
    }
    load(&mut qinv[0], count, |lane| &jobs[lane].key.qinv);
    load_bytes(input, count, |lane| jobs[lane].input);
    for sum in &mut secret.sum {
        sum.low.copy_from_slice(&input[..P]);
        sum.high.copy_from_slice(&input[P..]);
    }
    raise(secret, modulus_bits(M) / 2);
    recombine(secret, qinv, &mut public.base[0]);

    let mut right = u8::MAX;
    if checked {
        load_modulus(&mut public.modulus[0], &mut public.factor[0], count, |lane| &jobs[lane].key.public.n);
        raise_public(public, &from_fn(|lane| jobs[if lane < count { lane } else { 0 }].key.public.e));
        right = equal(&public.power[0], input);
    }
    store(&public.base[0], jobs.iter_mut().map(|job| (job.input, &mut *job.output)), right)
}

/// Garner's recombination (RFC 8017, 5.1.2): m2 + q ((m1 - m2) / q modulo p).
#[target_feature(enable = "avx512f,avx512ifma")]
fn recombine<const P: usize, const M: usize>(secret: &mut Secret<P>, qinv: &mut [Number<P>; 1], out: &mut Number<M>) {
    let Secret { modulus: [p, q], sum: [sum, _], power: [m1, m2], .. } = secret;
    // q has as many bits as p, so m2 < 2p and the difference stays above 0.
    for ((m1, m2), p) in m1.iter_mut().zip(m2.iter()).zip(&p.m) {
        *m1 = _mm512_add_epi64(_mm512_sub_epi64(*m1, *m2), _mm512_add_epi64(*p, *p));
    }
    carry_signed(m1);
    let (m1, sum) = (from_mut(m1), from_mut(sum));
    super::modular::multiply(m1, qinv, from_ref(p), sum);
    super::modular::canonical(&mut m1[0], &p.m);
    product(sum, m1, from_ref(&q.m));
    for (s, m2) in sum[0].low.iter_mut().zip(m2) {
        *s = _mm512_add_epi64(*s, *m2);
    }
    carry_wide(&mut sum[0]);
    out[..P].copy_from_slice(&sum[0].low);
    out[P..].copy_from_slice(&sum[0].high);
}

/// See [`super::public`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn public<const M: usize>(jobs: &mut [PublicJob<'_, M>], scratch: &mut MaybeUninit<PublicScratch<M>>) -> u8 {
    let count = jobs.len();
    assert!((1..=LANES).contains(&count), "one to eight jobs");
    // SAFETY: integers and vectors of integers.
    let scratch = unsafe { InUse::new(scratch) };
    let PublicScratch { public } = &mut *scratch.0;
    load_modulus(&mut public.modulus[0], &mut public.factor[0], count, |lane| &jobs[lane].key.n);
    load_bytes(&mut public.base[0], count, |lane| jobs[lane].input);
    let mut less = public.base[0];
    for (l, m) in less.iter_mut().zip(&public.modulus[0].m) {
        *l = _mm512_sub_epi64(*l, *m);
    }
    carry_signed(&mut less);
    let right = _mm512_cmplt_epi64_mask(less[M - 1], zero());
    raise_public(public, &from_fn(|lane| jobs[if lane < count { lane } else { 0 }].key.e));
    store(&public.power[0], jobs.iter_mut().map(|job| (job.input, &mut *job.output)), right)
}

/// Writes the results that are `right`, and zeros for the others; gives the bits of the jobs with a result. A job whose buffers are not as long as
/// the modulus has none.
#[target_feature(enable = "avx512f,avx512ifma")]
fn store<'a, const M: usize>(
    number: &Number<M>,
    jobs: impl Iterator<Item = (&'a [u8], &'a mut [u8])>,
    right: u8,
) -> u8 {
    let mut limbs = scatter(number);
    let mut done = 0;
    for (lane, (input, output)) in jobs.enumerate() {
        let fits = [input.len(), output.len()] == [modulus_bits(M) / 8; 2];
        if fits && right >> lane & 1 == 1 {
            limbs_to_be(&limbs[lane], output);
            done |= 1 << lane;
        } else {
            output.fill(0);
        }
    }
    zeroize::Zeroize::zeroize(limbs.as_flattened_mut());
    done
}
