//! Inverses modulo any odd number in eight lanes, in constant time: one code for the primes and the orders of all curves.
//!
//! Bernstein and Yang, "Fast constant-time gcd computation and modular inversion", CHES 2019, with the divstep that begins
//! at 1/2 (Wuille, libsecp256k1): (9437 * bits + 1) / 4096 steps are always enough, 590 for 256 and 885 for 384 bits. A step
//! looks at the lowest bits of two numbers only, so `STEPS` of them are done on single words, which gives a matrix, and
//! then once on the whole numbers: f and g, which shrink to 1 and 0, and d and e, which follow them modulo m.
//!
//! f and g are of 52N bits in two's complement. d and e are divided by 2^52 where f and g are by 2^STEPS, that is, reduced
//! by one of Montgomery's steps; what this makes of the inverse is one factor in the end. With |u| + |v| <= 2^50 in a row of
//! the matrix and m added, d and e stay between m/3 and 8m/3.
//!
//! IFMA instructions: 20N + 6 a round of `STEPS`, of about 1100 instructions in all for N = 5; the power by m - 2
//! takes 17 times as many IFMAs for 256 bits, one product after the other.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::montgomery::{self, power_of_two};
use super::{LIMB, MASK, Number, Vector, carry_signed, constant, high, low, same, select, zero};
use std::arch::x86_64::*;
use zeroize::Zeroize;

/// Steps of a round: the matrix's numbers are below 2^52, with room for the sign.
const STEPS: usize = 50;

/// Rounds for a modulus of `bits` bits.
const fn rounds(bits: usize) -> usize {
    (9437 * bits + 1).div_ceil(4096).div_ceil(STEPS)
}

/// IFMA instructions of [`invert`].
pub const fn ifma<const N: usize>(bits: usize) -> u64 {
    rounds(bits) as u64 * (20 * N as u64 + 6)
}

/// The factor that turns [`invert`]'s result for x into 1 / x.
pub const fn correction<const N: usize>(m: &[u64; N], bits: usize) -> [u64; N] {
    power_of_two(rounds(bits) * (LIMB as usize - STEPS), m)
}

/// The factor that turns [`invert`]'s result for x * R into R^3 / (x * R), so that a product by Montgomery's method gives R / x.
pub const fn factor<const N: usize>(m: &[u64; N], bits: usize) -> [u64; N] {
    power_of_two(rounds(bits) * (LIMB as usize - STEPS) + 3 * LIMB as usize * N, m)
}

/// 2^-2r / `a` modulo `m`, r being the rounds, below 3m and carried; 0 of 0. `a` is below `m`, which is of `bits` bits.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn invert<const N: usize>(a: &Number<N>, m: &[u64; N], bits: usize) -> Number<N> {
    let (m, k0) = (constant(m), same(montgomery::k0(m[0])));
    let (mut f, mut g) = (m, *a);
    let (mut d, mut e) = ([zero(); N], [zero(); N]);
    e[0] = same(1);
    // -(delta + 1/2)
    let mut zeta = same(u64::MAX);
    for _ in 0..rounds(bits) {
        let rows = steps(&mut zeta, f[0], g[0]);
        (f, g) = (shrink(&rows[0], &f, &g), shrink(&rows[1], &f, &g));
        (d, e) = (follow(&rows[0], &d, &e, &m, k0), follow(&rows[1], &d, &e, &m, k0));
    }
    // f is 1 or -1 now.
    let mut minus = [zero(); N];
    for i in 0..N {
        let three = _mm512_add_epi64(m[i], _mm512_add_epi64(m[i], m[i]));
        minus[i] = _mm512_sub_epi64(three, d[i]);
    }
    carry_signed(&mut minus);
    select(negative(&f), &d, &minus)
}

/// A row of the matrix: u and v, modulo 2^52 as IFMA takes them, and the lanes where they are below 0.
struct Row {
    u: Vector,
    v: Vector,
    minus: [__mmask8; 2],
}

impl Row {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn new(u: Vector, v: Vector) -> Row {
        Row { u, v, minus: [u, v].map(|x| _mm512_cmplt_epi64_mask(x, zero())) }
    }
}

/// The steps of a round on the lowest limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn steps(zeta: &mut Vector, mut f: Vector, mut g: Vector) -> [Row; 2] {
    let (zero, one) = (zero(), same(1));
    let (mut u, mut v, mut q, mut r) = (one, zero, zero, one);
    for _ in 0..STEPS {
        let odd = _mm512_test_epi64_mask(g, one);
        let turn = _mm512_cmplt_epi64_mask(*zeta, zero);
        // To an odd g comes f, or -f where the two change places; f then becomes what g was, as the sum with the new g.
        let signed = |x: Vector| _mm512_mask_sub_epi64(x, turn, zero, x);
        (g, q, r) = (
            _mm512_mask_add_epi64(g, odd, g, signed(f)),
            _mm512_mask_add_epi64(q, odd, q, signed(u)),
            _mm512_mask_add_epi64(r, odd, r, signed(v)),
        );
        let turn = turn & odd;
        *zeta = _mm512_sub_epi64(_mm512_mask_sub_epi64(*zeta, turn, same(u64::MAX), *zeta), one);
        f = _mm512_mask_add_epi64(f, turn, f, g);
        u = _mm512_mask_add_epi64(u, turn, u, q);
        v = _mm512_mask_add_epi64(v, turn, v, r);
        g = _mm512_srli_epi64::<1>(g);
        (u, v) = (_mm512_add_epi64(u, u), _mm512_add_epi64(v, v));
    }
    [Row::new(u, v), Row::new(q, r)]
}

/// The lanes where a number in two's complement is below 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn negative<const N: usize>(a: &Number<N>) -> __mmask8 {
    _mm512_test_epi64_mask(a[N - 1], same(1 << (LIMB - 1)))
}

/// (u * `f` + v * `g`) / 2^STEPS, which is whole, in two's complement.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn shrink<const N: usize>(row: &Row, f: &Number<N>, g: &Number<N>) -> Number<N> {
    let (mut columns, mut top) = ([zero(); N], zero());
    for (factor, minus, number) in [(row.u, row.minus[0], f), (row.v, row.minus[1], g)] {
        for i in 0..N {
            columns[i] = low(columns[i], factor, number[i]);
            let next = if i + 1 < N { &mut columns[i + 1] } else { &mut top };
            // A factor below 0 is 2^52 too large.
            *next = high(_mm512_mask_sub_epi64(*next, minus, *next, number[i]), factor, number[i]);
        }
        // The number's sign, one limb on.
        top = low(top, factor, _mm512_maskz_mov_epi64(negative(number), same(MASK)));
    }
    let (mut out, mask, mut over) = ([zero(); N], same(MASK), zero());
    for c in &mut columns {
        let sum = _mm512_add_epi64(*c, over);
        over = _mm512_srai_epi64::<LIMB>(sum);
        *c = _mm512_and_si512(sum, mask);
    }
    top = _mm512_add_epi64(top, over);
    for i in 0..N {
        let next = if i + 1 < N { columns[i + 1] } else { top };
        let (part, next) =
            (_mm512_srli_epi64::<{ STEPS as u32 }>(columns[i]), _mm512_slli_epi64::<{ LIMB - STEPS as u32 }>(next));
        out[i] = _mm512_and_si512(_mm512_or_si512(part, next), mask);
    }
    out
}

/// (u * `d` + v * `e`) / 2^52 modulo `m`, below 8m/3 and carried, as the factors are.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn follow<const N: usize>(row: &Row, d: &Number<N>, e: &Number<N>, m: &Number<N>, k0: Vector) -> Number<N> {
    let mut lowest = zero();
    // Column i + 1 is limb i of the result. m keeps it above 0.
    let mut out = *m;
    for (factor, minus, number) in [(row.u, row.minus[0], d), (row.v, row.minus[1], e)] {
        lowest = low(lowest, factor, number[0]);
        for i in 0..N {
            // A factor below 0 is 2^52 too large.
            out[i] = high(_mm512_mask_sub_epi64(out[i], minus, out[i], number[i]), factor, number[i]);
            if i + 1 < N {
                out[i] = low(out[i], factor, number[i + 1]);
            }
        }
    }
    let q = low(zero(), lowest, k0);
    lowest = low(lowest, q, m[0]);
    out[0] = _mm512_add_epi64(out[0], _mm512_srli_epi64::<LIMB>(lowest));
    for i in 0..N {
        out[i] = high(out[i], q, m[i]);
        if i + 1 < N {
            out[i] = low(out[i], q, m[i + 1]);
        }
    }
    carry_signed(&mut out);
    out
}

/// Inverts numbers that are the same in all lanes, each with a modulus of its own, in general registers: for one number that takes less than a third
/// of the time of vectors. Several numbers are interleaved, because each step of one waits for the step before.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn invert_same<const K: usize, const N: usize>(
    numbers: [(&Number<N>, &[u64; N]); K],
    bits: usize,
) -> [Number<N>; K] {
    let mut all = numbers.map(|(a, m)| One::new(super::scatter(a)[0], m));
    for _ in 0..rounds(bits) {
        let rows = steps_of_each(&mut all);
        all.iter_mut().zip(rows).for_each(|(one, rows)| one.follow(rows));
    }
    let mut out = all.each_ref().map(One::result);
    let vectors = out.each_ref().map(|out| constant(out));
    all.iter_mut().for_each(One::wipe);
    out.zeroize();
    vectors
}

/// What [`invert`] keeps of a number, in limbs that have a sign; the lower ones are carried.
struct One<'a, const N: usize> {
    m: &'a [u64; N],
    k0: u64,
    f: [i64; N],
    g: [i64; N],
    d: [i64; N],
    e: [i64; N],
    zeta: i64,
}

impl<const N: usize> One<'_, N> {
    #[inline]
    fn new(a: [u64; N], m: &[u64; N]) -> One<'_, N> {
        let mut e = [0; N];
        e[0] = 1;
        let signed = |a: [u64; N]| a.map(|limb| limb as i64);
        // -(delta + 1/2)
        let zeta = -1;
        One { m, k0: montgomery::k0(m[0]), f: signed(*m), g: signed(a), d: [0; N], e, zeta }
    }

    /// Has the whole numbers follow the steps.
    #[inline]
    fn follow(&mut self, rows: [[i64; 2]; 2]) {
        let One { m, k0, f, g, d, e, .. } = self;
        (*f, *g) = (shrink_one(rows[0], f, g), shrink_one(rows[1], f, g));
        (*d, *e) = (follow_one(rows[0], d, e, m, *k0), follow_one(rows[1], d, e, m, *k0));
    }

    #[inline]
    fn result(&self) -> [u64; N] {
        // f is 1 or -1 now. The compiler shall not make a branch of it.
        let minus = std::hint::black_box(self.f[N - 1] >> 63);
        let (mut out, mut over) = ([0; N], 0);
        for (i, out) in out.iter_mut().enumerate() {
            let less = 3 * self.m[i] as i64 - self.d[i] + over;
            over = less >> LIMB;
            let limb = if i + 1 < N { less & MASK as i64 } else { less };
            *out = (limb & minus | self.d[i] & !minus) as u64;
        }
        out
    }

    fn wipe(&mut self) {
        for part in [&mut self.f, &mut self.g, &mut self.d, &mut self.e] {
            part.zeroize();
        }
    }
}

/// The division steps of [`steps`] for each number; the matrices by their rows.
#[inline]
fn steps_of_each<const K: usize, const N: usize>(all: &mut [One<'_, N>; K]) -> [[[i64; 2]; 2]; K] {
    let mut zeta = all.each_ref().map(|one| one.zeta);
    let rows = steps_of_words(&mut zeta, all.each_ref().map(|one| [one.f[0], one.g[0]]));
    all.iter_mut().zip(zeta).for_each(|(one, zeta)| one.zeta = zeta);
    rows
}

/// The division steps of [`steps`] on the lowest limbs of f and g of several numbers; the matrices by their rows.
#[inline]
fn steps_of_words<const K: usize>(zeta: &mut [i64; K], words: [[i64; 2]; K]) -> [[[i64; 2]; 2]; K] {
    const { assert!(2 * PACKED + LAST == STEPS as u32) };
    let one = packed_steps::<PACKED, K>(zeta, &words);
    let words = ahead(&one, &words);
    let two = packed_steps::<PACKED, K>(zeta, &words);
    let words = ahead(&two, &words);
    let three = packed_steps::<LAST, K>(zeta, &words);
    std::array::from_fn(|k| times(&three[k], &times(&two[k], &one[k])))
}

/// Division steps that one word has room for, and ([`LAST`]) those of a round that are left after twice as many.
const PACKED: u32 = 20;
const LAST: u32 = 10;

/// The low bits of (u * f + v * g) / 2^PACKED by each row of each matrix: as many fewer are right.
#[inline]
fn ahead<const K: usize>(matrices: &[[[i64; 2]; 2]; K], words: &[[i64; 2]; K]) -> [[i64; 2]; K] {
    std::array::from_fn(|k| {
        let [f, g] = words[k];
        matrices[k].map(|[u, v]| u.wrapping_mul(f).wrapping_add(v.wrapping_mul(g)) >> PACKED)
    })
}

/// The product of two matrices.
#[inline]
fn times(a: &[[i64; 2]; 2], b: &[[i64; 2]; 2]) -> [[i64; 2]; 2] {
    a.map(|[u, v]| [u * b[0][0] + v * b[1][0], u * b[0][1] + v * b[1][1]])
}

/// Does up to 20 division steps on words that hold a number's lowest bits together with its row of the matrix: f - u * 2^21 - v * 2^42, both rows
/// halved where g is, so that a step is one addition and one shift for all three (as Harrison does it in s2n-bignum).
///
/// It begins with f - 2^(21 + COUNT) and g - 2^(42 + COUNT), f and g below 2^20, and is exact: with rows in units of their first, |u| + |v| <= 1
/// before a halving, and two rows are never the same, so that the words stay below 2^63 in size. In the end |f| < 2^20, and u and v
/// are of [-2^COUNT + 1, 2^COUNT]: only the first rows have an entry of full size.
#[inline]
fn packed_steps<const COUNT: u32, const K: usize>(zeta: &mut [i64; K], words: &[[i64; 2]; K]) -> [[[i64; 2]; 2]; K] {
    const { assert!(COUNT <= 20) };
    let low = (1 << 20) - 1;
    let mut f = words.map(|[f, _]| (f & low) - (1 << (21 + COUNT)));
    // What is still to be halved: its second bit tells whether the half is odd, one instruction sooner.
    let mut double = words.map(|[_, g]| ((g & low) - (1 << (42 + COUNT))) << 1);
    for _ in 0..COUNT {
        for k in 0..K {
            // All ones or zeros, as the masks in `steps`.
            let (turn, odd, g) = (zeta[k] >> 63, double[k] << 62 >> 63, double[k] >> 1);
            double[k] = g + (((f[k] ^ turn) - turn) & odd);
            let turn = turn & odd;
            zeta[k] = (zeta[k] ^ turn) - 1;
            f[k] ^= (f[k] ^ g) & turn;
        }
    }
    std::array::from_fn(|k| {
        [f[k], double[k] >> 1].map(|word| {
            let word = word + (1 << 20);
            [-(word << 22 >> 43), -((word + (1 << 41)) >> 42)]
        })
    })
}

/// Applies a matrix's row to f and g as [`shrink`] does, of one number, whose highest limb has the sign.
#[inline]
fn shrink_one<const N: usize>([u, v]: [i64; 2], f: &[i64; N], g: &[i64; N]) -> [i64; N] {
    let (mut out, mut over) = ([0; N], 0i128);
    for i in 0..N {
        over += i128::from(u) * i128::from(f[i]) + i128::from(v) * i128::from(g[i]);
        let limb = over as i64 & MASK as i64;
        over >>= LIMB;
        out[i] = limb >> STEPS;
        if i > 0 {
            out[i - 1] |= limb << (LIMB as usize - STEPS) & MASK as i64;
        }
    }
    out[N - 1] |= (over as i64) << (LIMB as usize - STEPS);
    out
}

/// Applies a matrix's row to d and e modulo m as [`follow`] does, of one number.
#[inline]
fn follow_one<const N: usize>([u, v]: [i64; 2], d: &[i64; N], e: &[i64; N], m: &[u64; N], k0: u64) -> [i64; N] {
    let column = |i: usize| i128::from(u) * i128::from(d[i]) + i128::from(v) * i128::from(e[i]);
    let mut over = column(0);
    let q = (over as u64).wrapping_mul(k0) & MASK;
    let reduction = |i: usize| (u128::from(q) * u128::from(m[i])) as i128;
    over = (over + reduction(0)) >> LIMB;
    let mut out = [0; N];
    for i in 1..N {
        // m keeps it above 0.
        over += column(i) + reduction(i) + i128::from(m[i - 1]);
        out[i - 1] = over as i64 & MASK as i64;
        over >>= LIMB;
    }
    out[N - 1] = over as i64 + m[N - 1] as i64;
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a round as they are defined, one after the other.
    fn plainly(zeta: &mut i64, mut f: i128, mut g: i128) -> [[i64; 2]; 2] {
        let (mut u, mut v, mut q, mut r) = (1, 0, 0, 1);
        for _ in 0..STEPS {
            let odd = g & 1 == 1;
            if odd && *zeta < 0 {
                *zeta = -*zeta - 2;
                ((f, g), (u, v, q, r)) = ((g, (g - f) >> 1), (2 * q, 2 * r, q - u, r - v));
            } else {
                *zeta -= 1;
                g = (g + if odd { f } else { 0 }) >> 1;
                (q, r) = if odd { (q + u, r + v) } else { (q, r) };
                (u, v) = (2 * u, 2 * v);
            }
        }
        [[u, v], [q, r]]
    }

    #[test]
    fn steps_in_packed_words_are_the_steps_as_they_are_defined() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 12) as i64
        };
        let mask = MASK as i64;
        let edges = [0, 1, 2, 3, mask, mask - 1, 1 << 20, (1 << 20) - 1, 1 << 40, 1 << 51, 0x5_5555_5555_5555];
        let pairs = edges.iter().flat_map(|f| edges.map(|g| (f | 1, g)));
        let random: Vec<_> = (0..20_000).map(|_| (next() | 1, next())).collect();
        for (f, g) in pairs.chain(random) {
            for start in [-1, 0, 1, -2, 17, -17, 700, -700] {
                let (mut zeta, mut wanted) = ([start; 2], start);
                let [rows, others] = steps_of_words(&mut zeta, [[f, g], [5, 9]]);
                assert_eq!(rows, plainly(&mut wanted, f.into(), g.into()), "{f:#x} {g:#x} from {start}");
                assert_eq!(zeta[0], wanted, "{f:#x} {g:#x} from {start}");
                let mut other = start;
                assert_eq!((others, zeta[1]), (plainly(&mut other, 5, 9), other), "from {start}");
            }
        }
    }
}
