//! Constants of Montgomery's arithmetic for a modulus, computed once for a key in plain integers. The time depends on sizes only.

use crate::lanes::{LIMB, MASK, montgomery};

/// The bits of a number; where the highest one is, is no secret of an RSA key.
pub fn bits<const N: usize>(a: &[u64; N]) -> usize {
    let top = a.iter().rposition(|&l| l != 0);
    top.map_or(0, |i| i * LIMB as usize + (u64::BITS - a[i].leading_zeros()) as usize)
}

/// `a` - `b`, and whether that is negative (then 2^(52N) too much).
pub fn subtract<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], bool) {
    let (mut out, mut borrow) = ([0; N], 0);
    for (o, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
        let difference = a.wrapping_sub(*b).wrapping_sub(borrow);
        borrow = difference >> 63;
        *o = difference & MASK;
    }
    (out, borrow != 0)
}

/// Whether `a` < `b`.
pub fn less<const N: usize>(a: &[u64; N], b: &[u64; N]) -> bool {
    subtract(a, b).1
}

/// `a` - `m` where that is not negative, else `a`.
pub fn subtract_once<const N: usize>(a: &[u64; N], m: &[u64; N]) -> [u64; N] {
    let (mut out, negative) = subtract(a, m);
    let keep = std::hint::black_box(u64::from(negative).wrapping_neg());
    for (o, a) in out.iter_mut().zip(a) {
        *o ^= (*o ^ a) & keep;
    }
    out
}

/// 2 `a` modulo `m`, for `a` < `m` < 2^(52N - 1).
fn double<const N: usize>(a: &[u64; N], m: &[u64; N]) -> [u64; N] {
    let (mut out, mut over) = ([0; N], 0);
    for (o, a) in out.iter_mut().zip(a) {
        *o = (a << 1 | over) & MASK;
        over = a >> (LIMB - 1);
    }
    subtract_once(&out, m)
}

/// `a` * `b` / 2^(52N) modulo `m`.
pub fn multiply<const N: usize>(a: &[u64; N], b: &[u64; N], m: &[u64; N], k0: u64) -> [u64; N] {
    let mut sum = [0; N];
    for b in b {
        let wide = |x: u64, y: u64| u128::from(x) * u128::from(y);
        let first = u128::from(sum[0]) + wide(a[0], *b);
        let q = (first as u64).wrapping_mul(k0) & MASK;
        let mut over = (first + wide(q, m[0])) >> LIMB;
        for i in 1..N {
            let limb = u128::from(sum[i]) + wide(a[i], *b) + wide(q, m[i]) + over;
            sum[i - 1] = limb as u64 & MASK;
            over = limb >> LIMB;
        }
        sum[N - 1] = over as u64;
    }
    subtract_once(&sum, m)
}

/// 2^`power` modulo `m`, which is odd, has `bits` bits, not more than `power`, and is below 2^(52N - 1).
pub fn power_of_two<const N: usize>(power: usize, m: &[u64; N], bits: usize) -> [u64; N] {
    let mut value = [0; N];
    value[bits / LIMB as usize] = 1 << (bits % LIMB as usize);
    value = subtract(&value, m).0;
    for _ in bits..power {
        value = double(&value, m);
    }
    value
}

/// R^2 modulo `m` for R = 2^(52N), where `m` is odd and has `bits` bits.
pub fn r_squared<const N: usize>(m: &[u64; N], bits: usize) -> [u64; N] {
    // From 2^bits - m by doubling to 2^(52N) and on to 2^t R, which is 2^t to Montgomery; its squares are R R at last, for
    // 52N = t 2^squares.
    let r = N * LIMB as usize;
    let squares = r.trailing_zeros();
    let mut power = power_of_two(r + (r >> squares), m, bits);
    let k0 = montgomery::k0(m[0]);
    for _ in 0..squares {
        power = multiply(&power, &power, m, k0);
    }
    power
}

/// `a` times 2^`bits` modulo `m`, of any sign; `m` is odd, below 2^(52N - 1).
pub fn shifted<const N: usize>(a: &[u64; N], bits: i32, m: &[u64; N]) -> [u64; N] {
    let mut a = *a;
    for _ in 0..bits.unsigned_abs() {
        a = if bits > 0 { double(&a, m) } else { half(&a, m) };
    }
    a
}

/// `a` / 2 modulo `m`, for `a` < `m` < 2^(52N - 1).
fn half<const N: usize>(a: &[u64; N], m: &[u64; N]) -> [u64; N] {
    let odd = std::hint::black_box((a[0] & 1).wrapping_neg());
    let (mut sum, mut over) = ([0; N], 0);
    for (sum, (a, m)) in sum.iter_mut().zip(a.iter().zip(m)) {
        let limb = a + (m & odd) + over;
        over = limb >> LIMB;
        *sum = limb & MASK;
    }
    std::array::from_fn(|i| sum[i] >> 1 | sum.get(i + 1).map_or(0, |next| next << (LIMB - 1) & MASK))
}

/// (M + 1) / 2^52 for M = `m` times -1/`m` modulo 2^52, the multiple that is -1 modulo 2^52.
pub fn fold<const N: usize>(m: &[u64; N]) -> [u64; N] {
    let k0 = u128::from(montgomery::k0(m[0]));
    let mut over = (k0 * u128::from(m[0]) + 1) >> LIMB;
    let mut out = [0; N];
    for i in 1..N {
        let limb = k0 * u128::from(m[i]) + over;
        out[i - 1] = limb as u64 & MASK;
        over = limb >> LIMB;
    }
    out[N - 1] = over as u64;
    out
}

/// Adds `a` * `b` to `sum`, of which the upper half is 0.
pub fn add_product<const P: usize, const M: usize>(sum: &mut [u64; M], a: &[u64; P], b: &[u64; P]) {
    for (i, a) in a.iter().enumerate() {
        let mut over = 0;
        for (s, b) in sum[i..].iter_mut().zip(b) {
            let limb = u128::from(*s) + u128::from(*a) * u128::from(*b) + over;
            *s = limb as u64 & MASK;
            over = limb >> LIMB;
        }
        sum[i + P] = over as u64;
    }
}

/// Whether `a` * `b` is `n`, a number of twice the limbs.
pub fn is_product<const P: usize, const M: usize>(a: &[u64; P], b: &[u64; P], n: &[u64; M]) -> bool {
    let mut sum = [0u64; M];
    add_product(&mut sum, a, b);
    sum == *n
}
