//! One private operation by the Chinese remainder theorem, which runs alone: both primes' powers are computed together, their digits side by side in
//! vectors ([`super::digits`]).
//!
//! Exponents are read in windows of five bits, each with five squares, a read of all 32 entries of the table, and a product. The result
//! is checked with the public exponent.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::check::CheckKey;
use super::digits::{Digits, Modulus, products};
use super::key::{Constants, PrivateKey, modulus_bits};
use super::plain;
use crate::lanes::LIMB;
use core::arch::x86_64::*;
use zeroize::Zeroize;

/// Bits of a window.
const WINDOW: usize = 5;
const ENTRIES: usize = 1 << WINDOW;

/// Words of the stack, for each vector of a number, that an operation writes to.
pub(super) const STACK: usize = 1024;

/// Two numbers, one for each prime.
type Pair<const V: usize> = [Digits<V>; 2];

/// The memory that an operation works in: it holds secrets and is overwritten when the operation ends.
struct Work<const V: usize> {
    moduli: [Modulus<V>; 2],
    /// R^2 modulo each.
    r2: Pair<V>,
    /// Powers of the input from the 0th on, in Montgomery's form.
    table: [Pair<V>; ENTRIES],
    power: Pair<V>,
    factor: Pair<V>,
}

impl<const V: usize> Drop for Work<V> {
    fn drop(&mut self) {
        for modulus in &mut self.moduli {
            modulus.zeroize();
        }
        let pairs = [&mut self.r2, &mut self.power, &mut self.factor].into_iter().chain(&mut self.table);
        pairs.flatten().for_each(|digits| crate::wipe(digits.0.as_flattened_mut()));
    }
}

/// The constants of a prime as digits.
fn modulus<const P: usize, const V: usize>(constants: &Constants<P>) -> Modulus<V> {
    let Constants { m, fold, k0, .. } = constants;
    Modulus { m: Digits::of_limbs(m), multiple: Digits::of_limbs(fold), inverse: *k0 }
}

fn each<const V: usize>(pair: &Pair<V>) -> [&Digits<V>; 2] {
    pair.each_ref()
}

/// `output` = `input`^d modulo n, both big-endian and as long as the modulus. False, and zeros, where the result raised to the public
/// exponent of `check` is not the input again: a fault, a key whose numbers do not belong together, an input not below the modulus, or
/// buffers of another length.
///
/// V and W are the vectors that take a prime and the modulus: 3 and 5, 4 and 8, 5 and 10.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn private_single<const P: usize, const M: usize, const V: usize, const W: usize>(
    key: &PrivateKey<P, M>,
    check: &CheckKey<M, W>,
    input: &[u8],
    output: &mut [u8],
) -> bool {
    let good = [input.len(), output.len()] == [modulus_bits(M) / 8; 2] && {
        power::<P, M, V>(key, input, output);
        let right = check.is_right(input, output);
        crate::wipe::burn::<STACK, V>();
        right
    };
    if !good {
        output.fill(0);
    }
    good
}

/// `output` = `input`^d modulo n, without the check that [`private_single`] makes of the result.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn power<const P: usize, const M: usize, const V: usize>(
    key: &PrivateKey<P, M>,
    input: &[u8],
    output: &mut [u8],
) {
    let mut work = Work::<V> {
        moduli: key.primes.each_ref().map(modulus),
        r2: key.primes.each_ref().map(|prime| Digits::of_limbs(&prime.r2)),
        table: [[Digits::ZERO; 2]; ENTRIES],
        power: [Digits::ZERO; 2],
        factor: [Digits::ZERO; 2],
    };
    enter::<P, M, V>(&mut work, input);
    raise::<P, V>(&mut work, &key.exponents);
    recombine::<P, M, V>(&mut work, key, output);
}

/// The input modulo each prime times R, as the table's first powers.
#[target_feature(enable = "avx512f,avx512ifma")]
fn enter<const P: usize, const M: usize, const V: usize>(work: &mut Work<V>, input: &[u8]) {
    let mut limbs = crate::lanes::limbs_from_be::<M>(input);
    let [mut low, mut high] = [&limbs[..P], &limbs[P..]].map(Digits::of_limbs);
    crate::wipe(&mut limbs);
    let Work { moduli, r2, table, power, factor } = work;
    table[0] = products::<2, P, V>(each(r2), [&Digits::ONE; 2], moduli);
    // high R + low: both below R, and what they are multiplied with below 3m, so that the products are below 5m, and the sum below 10m.
    *power = products::<2, P, V>(each(r2), each(r2), moduli);
    *factor = products::<2, P, V>([&high; 2], each(power), moduli);
    *power = products::<2, P, V>([&low; 2], each(r2), moduli);
    for (power, factor) in power.iter().zip(factor.iter_mut()) {
        *factor = power.plus(factor);
    }
    // Below 3m again.
    table[1] = products::<2, P, V>(each(factor), each(&table[0]), moduli);
    for entry in 2..ENTRIES {
        table[entry] = match entry % 2 {
            0 => products::<2, P, V>(each(&table[entry / 2]), each(&table[entry / 2]), moduli),
            _ => products::<2, P, V>(each(&table[entry - 1]), each(&table[1]), moduli),
        };
    }
    crate::wipe(low.0.as_flattened_mut());
    crate::wipe(high.0.as_flattened_mut());
}

/// `power` = the input to each prime's exponent, below the prime.
#[target_feature(enable = "avx512f,avx512ifma")]
fn raise<const P: usize, const V: usize>(work: &mut Work<V>, exponents: &[[u64; P]; 2]) {
    let Work { moduli, table, power, factor, .. } = work;
    let windows = (modulus_bits(P)).div_ceil(WINDOW);
    pick(power, table, exponents, windows - 1);
    for place in (0..windows - 1).rev() {
        for _ in 0..WINDOW {
            *power = products::<2, P, V>(each(power), each(power), moduli);
        }
        pick(factor, table, exponents, place);
        *power = products::<2, P, V>(each(power), each(factor), moduli);
    }
    *power = products::<2, P, V>(each(power), [&Digits::ONE; 2], moduli);
    for (power, modulus) in power.iter_mut().zip(moduli) {
        *power = power.reduced(&modulus.m);
    }
}

/// Picks the entries for the exponents' windows at `place`; reads all entries.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn pick<const P: usize, const V: usize>(
    out: &mut Pair<V>,
    table: &[Pair<V>; ENTRIES],
    exponents: &[[u64; P]; 2],
    place: usize,
) {
    let (at, shift) = (WINDOW * place / LIMB as usize, WINDOW * place % LIMB as usize);
    for (k, out) in out.iter_mut().enumerate() {
        let next = exponents[k].get(at + 1).copied().unwrap_or(0);
        let window = (exponents[k][at] >> shift | next << (LIMB as usize - shift)) & (ENTRIES as u64 - 1);
        let window = _mm512_set1_epi64(window.cast_signed());
        let mut picked = [_mm512_setzero_si512(); V];
        for (entry, powers) in table.iter().enumerate() {
            let chosen = _mm512_cmpeq_epi64_mask(window, _mm512_set1_epi64(entry as i64));
            for (picked, power) in picked.iter_mut().zip(powers[k].load()) {
                *picked = _mm512_mask_mov_epi64(*picked, chosen, power);
            }
        }
        out.store(picked);
    }
}

/// Garner's recombination (RFC 8017, 5.1.2): m2 + q ((m1 - m2) / q modulo p).
#[target_feature(enable = "avx512f,avx512ifma")]
fn recombine<const P: usize, const M: usize, const V: usize>(
    work: &mut Work<V>,
    key: &PrivateKey<P, M>,
    output: &mut [u8],
) {
    let Work { moduli, power: [m1, m2], factor: [factor, apart], .. } = work;
    let [p, q] = moduli;
    // q has as many bits as p, so m2 < 2p and the difference stays above 0.
    *apart = m1.plus(&p.m).plus(&p.m).minus(m2).0;
    *factor = Digits::of_limbs(&key.qinv);
    [*factor] = products::<1, P, V>([apart], [factor], std::array::from_ref(p));
    *factor = factor.reduced(&p.m);
    let mut limbs = [0u64; M];
    limbs[..P].copy_from_slice(m2.limbs::<P>());
    plain::add_product::<P, M>(&mut limbs, factor.limbs(), q.m.limbs());
    crate::lanes::limbs_to_be(&limbs, output);
    crate::wipe(&mut limbs);
}
