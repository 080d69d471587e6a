//! X25519 (RFC 7748) in eight lanes: the Montgomery ladder.
//!
//! Method: x-only differential addition and doubling (Montgomery, "Speeding the Pollard and elliptic curve methods of
//! factorization", 1987), 5 products, 4 squares and one product by 121665 a bit. The sum of the ladder's two points is
//! symmetric in them and so needs no swap; only the point to be doubled is chosen, by mask. A point is carried as the sum
//! and the difference of its coordinates, which is all the next step multiplies.
//!
//! Faults: the two points a ladder ends with differ by the peer's point. Their three x coordinates then satisfy a
//! quadratic equation (the addition laws' biquadratic relation), which a fault in one step breaks; a lane that fails
//! the check gives no secret. The inversion is checked by a product. 10 products and 4 squares.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::field::{
    CARRY, Factor, INVERT, MULTIPLY, SQUARE, Sum, carry_all, invert, multiply, multiply_all, multiply_small, product,
    square, square_all,
};
use crate::lanes::{Vector, same};
use std::arch::x86_64::*;
use zeroize::Zeroize;

/// (A - 2) / 4 of the curve y^2 = x^3 + A x^2 + x.
const A24: u64 = 121665;

/// IFMA instructions of one step.
const STEP: u64 = 5 * MULTIPLY + 4 * SQUARE + 11 + 11 * CARRY;
/// IFMA instructions of [`check`].
const CHECK: u64 = 8 * MULTIPLY + 4 * SQUARE + 3 * 11 + 14 * CARRY + 1;
/// IFMA instructions of [`ladder`].
pub(super) const LADDER: u64 = 2 * CARRY + 255 * STEP + 4 * CARRY + CHECK + INVERT + 2 * MULTIPLY + 3 * CARRY + 3;

/// Two points as the ladder carries them: X + Z and X - Z of each.
struct Points {
    plus: [Factor; 2],
    minus: [Factor; 2],
}

/// A ladder step for one bit: (P, Q) becomes (2P, P + Q), or (2Q, P + Q) where `other` has the lane's bit. `x` is that of P - Q.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn step(points: &mut Points, other: __mmask8, x: &Factor) {
    let Points { plus: [a, c], minus: [b, d] } = points;
    // In the order that keeps the units busiest, as measured: neighbours do not wait for one another.
    let near = [&Factor::select(other, a, c), &Factor::select(other, b, d)];
    let [aa, bb] = square_all::<9, _>([true, false], near);
    let [da, cb] = multiply_all::<10, _>([Sum::bias(), Sum::zero()], [d, c], [a, b]);
    let [e, aa_factor, bb] = carry_all([aa.minus(&bb), aa, bb]);
    let [sum, difference] = carry_all([da.plus(&cb), da.minus(&cb)]);
    let f = multiply_small(aa, &e, A24).carry();
    let [x3, z3] = square_all::<11, _>([true, false], [&sum, &difference]);
    let x2 = multiply(Sum::bias(), &aa_factor, &bb);
    let z3 = z3.carry();
    let [z2, z3] = multiply_all::<12, _>([Sum::zero(), Sum::zero()], [&e, x], [&f, &z3]);
    let [a, b] = carry_all([x2.plus(&z2), x2.minus(&z2)]);
    let [c, d] = carry_all([x3.plus(&z3), x3.minus(&z3)]);
    *points = Points { plus: [a, c], minus: [b, d] };
}

/// The lanes in which (x2 : z2) and (x3 : z3) can be the coordinates of points that differ by one of coordinate x1.
///
/// With q = x2/z2, x3/z3 is a root of (x1 - q)^2 X^2 - 2 ((x1 + q)(x1 q + 1) + 2 A x1 q) X + (x1 q - 1)^2.
#[target_feature(enable = "avx512f,avx512ifma")]
fn check(x1: &Factor, [x2, z2]: &[Factor; 2], [x3, z3]: &[Factor; 2]) -> __mmask8 {
    let xz = multiply(Sum::bias(), x1, z2);
    let xx = multiply(Sum::bias(), x1, x2);
    let (z2_sum, x2_sum) = (z2.sum(), x2.sum());
    let outer = square::<false>(&xz.minus(&x2_sum).carry()).carry();
    let last = square::<false>(&xx.minus(&z2_sum).carry()).carry();
    let (sum, one) = (xz.plus(&x2_sum).carry(), xx.plus(&z2_sum).carry());
    let middle = multiply(Sum::zero(), &sum, &one);
    // 2 A = 8 * 121665 + 4; the factor must stay below 2^17.
    let a = multiply(Sum::zero(), &xx.carry(), z2).carry();
    let eighth = multiply_small(Sum::zero(), &a, A24).carry();
    let middle = multiply_small(multiply_small(middle, &eighth, 8), &a, 4).carry();
    let (x3x3, z3z3) = (square::<false>(x3).carry(), square::<false>(z3).carry());
    let x3z3 = product(x3, z3);
    let middle = multiply(Sum::zero(), &middle, &x3z3);
    let ends = multiply(multiply(Sum::bias().plus(&Sum::bias()), &outer, &x3x3), &last, &z3z3);
    ends.minus(&middle).minus(&middle).carry().is_zero()
}

/// The shared secrets of eight scalars and eight peers' u coordinates, each four words (RFC 7748, section 5), and the
/// lanes that are right: those not all zero (a peer of small order, section 6.1) that pass the check for faults.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn ladder(scalars: &[Vector; 4], peers: &[Vector; 4]) -> ([Vector; 4], __mmask8) {
    let x = Factor::from_words(peers);
    // A clamped scalar's bits are swaps where a bit differs from the one above it.
    let mut swaps = [same(0); 4];
    for (i, swap) in swaps.iter_mut().enumerate() {
        let above = scalars.get(i + 1).copied().unwrap_or(same(0));
        let shifted = _mm512_or_si512(_mm512_srli_epi64::<1>(scalars[i]), _mm512_slli_epi64::<63>(above));
        *swap = _mm512_xor_si512(scalars[i], shifted);
    }
    let one = Sum::small(1);
    let mut points = Points {
        plus: [Factor(one.0), x.sum().plus(&one).carry()],
        minus: [Factor(one.0), x.sum().plus(&Sum::bias()).minus(&one).carry()],
    };
    for bit in (0..255).rev() {
        let other = _mm512_test_epi64_mask(swaps[bit / 64], same(1 << (bit % 64)));
        step(&mut points, other, &x);
        super::fault::inject(super::fault::LADDER, bit, &mut points.plus[0].0[0]);
    }
    swaps.zeroize();
    // The scalar's last bit is 0: the first point is the one asked for. All coordinates are twice what they were.
    let point = |i: usize| {
        let (plus, minus) = (points.plus[i].sum(), points.minus[i].sum());
        [plus.plus(&minus).carry(), Sum::bias().plus(&plus).minus(&minus).carry()]
    };
    let (near, far) = (point(0), point(1));
    let mut right = check(&x, &near, &far);
    let [x2, z2] = near;
    let inverse = invert::<false>(&z2);
    let mut secret = product(&x2, &inverse);
    let unit = product(&z2, &inverse).sum().plus(&Sum::bias()).minus(&one).carry();
    right &= unit.is_zero() & !secret.is_zero();
    let words = secret.to_words();
    for points in [&mut points.plus, &mut points.minus] {
        points.iter_mut().for_each(|p| p.0.zeroize());
    }
    secret.0.zeroize();
    (words, right)
}
