//! The inverse modulo one odd number of any size, in time that depends on the numbers: for what is public, or was multiplied by a
//! secret random number before and is divided by it afterwards, as an RSA blinding factor is.
//!
//! Bernstein and Yang, "Fast constant-time gcd computation and modular inversion", CHES 2019, in the variable-time form of
//! libsecp256k1 (doc/safegcd_implementation.md, 7 and 8): 62 division steps are done on single words, which gives a matrix, and then
//! once on the whole numbers: f and g, which shrink to the greatest common divisor and 0, and d and e, which follow them modulo m. A
//! 2048-bit inverse takes some 70 rounds; AWS-LC's, which halves and subtracts whole numbers, some 4000 passes over them.

use zeroize::Zeroize;

/// Bits of a limb. Numbers are in two's complement: the highest limb has the sign, the others are from 0 to 2^62 - 1.
const LIMB: u32 = 62;
const MASK: i64 = (1 << LIMB) - 1;

/// The longest modulus, in bytes.
pub const MAX: usize = 2048;

/// Limbs of the longest modulus, with two bits more: d and e are above -2m.
const MOST: usize = (MAX * 8 + 2).div_ceil(LIMB as usize);

/// Limbs of 4096 bits: shorter numbers are not to take the stack of the longest.
const USUAL: usize = (512 * 8 + 2usize).div_ceil(LIMB as usize);

/// The matrix of 62 division steps on f and g, times 2^62.
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

/// Writes the inverse of `a` modulo `m` to `out`, all big-endian, `out` as long as `m` or longer. False, and nothing written, if there is no inverse,
/// or where `m` is even, below 3 or longer than [`MAX`], or `a` is not below `m`.
#[must_use]
pub fn invert(a: &[u8], m: &[u8], out: &mut [u8]) -> bool {
    let (a, m) = (trim(a), trim(m));
    let odd = m.last().is_some_and(|last| last & 1 == 1) && m != [1];
    let below = a.len() < m.len() || (a.len() == m.len() && a < m);
    if !odd || !below || m.len() > MAX || out.len() < m.len() {
        return false;
    }
    let limbs = (m.len() * 8 + 2).div_ceil(LIMB as usize);
    if limbs <= USUAL { of::<USUAL>(a, m, limbs, out) } else { of::<MOST>(a, m, limbs, out) }
}

/// Inverts `a` modulo `m` in `limbs` limbs, at most `N`: numbers that [`invert`] has checked, without leading zeros.
#[inline(never)]
fn of<const N: usize>(a: &[u8], m: &[u8], limbs: usize, out: &mut [u8]) -> bool {
    let mut numbers = [[0; N]; 5];
    let [modulus, f, g, d, e] = &mut numbers;
    read(m, modulus);
    read(a, g);
    *f = *modulus;
    e[0] = 1;
    let found = run(&modulus[..limbs], f, g, d, e);
    if found {
        write(&d[..limbs], out);
    }
    numbers.zeroize();
    found
}

/// Leaves the inverse in `d`; false if there is none.
fn run(m: &[i64], f: &mut [i64], g: &mut [i64], d: &mut [i64], e: &mut [i64]) -> bool {
    let limbs = m.len();
    let k0 = inverse_of_word(m[0] as u64) & MASK as u64;
    let (mut length, mut eta) = (limbs, -1);
    loop {
        let matrix = steps(&mut eta, f[0] as u64, g[0] as u64);
        follow(&matrix, &mut d[..limbs], &mut e[..limbs], m, k0);
        shrink(&matrix, &mut f[..length], &mut g[..length]);
        if g[..length].iter().all(|&limb| limb == 0) {
            break;
        }
        // Where the highest limbs of both are nothing but the sign, the limbs below take it.
        let (top_f, top_g) = (f[length - 1], g[length - 1]);
        if length > 1 && [top_f, top_g].iter().all(|&top| top == 0 || top == -1) {
            f[length - 2] |= top_f << LIMB;
            g[length - 2] |= top_g << LIMB;
            length -= 1;
        }
    }
    let minus = f[length - 1] < 0;
    let (lowest, rest) = (f[0], &f[1..length]);
    let unit = match (length, minus) {
        (1, _) => lowest == 1 || lowest == -1,
        (_, false) => lowest == 1 && rest.iter().all(|&limb| limb == 0),
        (_, true) => lowest == MASK && rest[..rest.len() - 1].iter().all(|&limb| limb == MASK) && f[length - 1] == -1,
    };
    if unit {
        normalise(&mut d[..limbs], minus, m);
    }
    unit
}

/// 62 division steps on the lowest 64 bits of f and g.
fn steps(eta: &mut i64, mut f: u64, mut g: u64) -> Matrix {
    let (mut u, mut v, mut q, mut r) = (1u64, 0u64, 0u64, 1u64);
    let mut left = LIMB;
    loop {
        // As many halvings at once as g has zeros, but no more than steps are left.
        let zeros = (g | u64::MAX << left).trailing_zeros();
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        *eta -= i64::from(zeros);
        left -= zeros;
        if left == 0 {
            break;
        }
        if *eta < 0 {
            *eta = -*eta;
            (f, g) = (g, f.wrapping_neg());
            (u, q) = (q, u.wrapping_neg());
            (v, r) = (r, v.wrapping_neg());
        }
        // A multiple of f that makes the lowest bits of g zeros, at most six: those before f and g change places again.
        let limit = u32::min((*eta).min(64) as u32 + 1, left).min(6);
        let mask = (1u64 << limit) - 1;
        let factor = f.wrapping_mul(g).wrapping_mul(f.wrapping_mul(f).wrapping_sub(2)) & mask;
        g = g.wrapping_add(f.wrapping_mul(factor));
        q = q.wrapping_add(u.wrapping_mul(factor));
        r = r.wrapping_add(v.wrapping_mul(factor));
    }
    Matrix { u: u as i64, v: v as i64, q: q as i64, r: r as i64 }
}

/// (u f + v g) / 2^62 and (q f + r g) / 2^62, which are whole.
fn shrink(matrix: &Matrix, f: &mut [i64], g: &mut [i64]) {
    let Matrix { u, v, q, r } = matrix;
    let (mut sum_f, mut sum_g) = (0i128, 0i128);
    let length = f.len();
    for i in 0..length {
        sum_f += wide(*u, f[i]) + wide(*v, g[i]);
        sum_g += wide(*q, f[i]) + wide(*r, g[i]);
        if i > 0 {
            (f[i - 1], g[i - 1]) = (sum_f as i64 & MASK, sum_g as i64 & MASK);
        }
        (sum_f, sum_g) = (sum_f >> LIMB, sum_g >> LIMB);
    }
    (f[length - 1], g[length - 1]) = (sum_f as i64, sum_g as i64);
}

/// (u d + v e) / 2^62 and (q d + r e) / 2^62 modulo m, above -2m and below m as d and e are. `k0` is 1 / m modulo 2^62.
fn follow(matrix: &Matrix, d: &mut [i64], e: &mut [i64], m: &[i64], k0: u64) {
    let Matrix { u, v, q, r } = matrix;
    let limbs = m.len();
    // Of one below 0, m is added first.
    let (sign_d, sign_e) = (d[limbs - 1] >> 63, e[limbs - 1] >> 63);
    let mut times_d = (u & sign_d) + (v & sign_e);
    let mut times_e = (q & sign_d) + (r & sign_e);
    let low = |sum: i128, times: i64| ((sum as u64).wrapping_mul(k0).wrapping_add(times as u64) & MASK as u64) as i64;
    times_d -= low(wide(*u, d[0]) + wide(*v, e[0]), times_d);
    times_e -= low(wide(*q, d[0]) + wide(*r, e[0]), times_e);
    let (mut sum_d, mut sum_e) = (0i128, 0i128);
    for (i, &m) in m.iter().enumerate() {
        sum_d += wide(*u, d[i]) + wide(*v, e[i]) + wide(times_d, m);
        sum_e += wide(*q, d[i]) + wide(*r, e[i]) + wide(times_e, m);
        if i > 0 {
            (d[i - 1], e[i - 1]) = (sum_d as i64 & MASK, sum_e as i64 & MASK);
        }
        (sum_d, sum_e) = (sum_d >> LIMB, sum_e >> LIMB);
    }
    (d[limbs - 1], e[limbs - 1]) = (sum_d as i64, sum_e as i64);
}

/// The number modulo `m`, from 0 on, negated with `minus`.
fn normalise(d: &mut [i64], minus: bool, m: &[i64]) {
    add_where_below_zero(d, m);
    if minus {
        let mut over = 0;
        for limb in &mut *d {
            let sum = over - *limb;
            (*limb, over) = (sum & MASK, sum >> LIMB);
        }
        if let Some(top) = d.last_mut() {
            *top |= over << LIMB;
        }
    }
    add_where_below_zero(d, m);
}

fn add_where_below_zero(d: &mut [i64], m: &[i64]) {
    let last = d.len() - 1;
    if d[last] >= 0 {
        return;
    }
    let mut over = 0;
    for (limb, m) in d[..last].iter_mut().zip(m) {
        let sum = *limb + *m + over;
        (*limb, over) = (sum & MASK, sum >> LIMB);
    }
    d[last] += m[last] + over;
}

fn wide(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

/// The inverse of an odd word modulo 2^64, by Newton's iteration: each doubles the bits that are right, of which there are five at first.
fn inverse_of_word(m: u64) -> u64 {
    let mut inverse = m.wrapping_mul(3) ^ 2;
    for _ in 0..4 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(inverse)));
    }
    inverse
}

/// A big-endian number without the zeros in front.
fn trim(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|&&byte| byte == 0).count()..]
}

fn read(bytes: &[u8], number: &mut [i64]) {
    for (i, byte) in bytes.iter().rev().enumerate() {
        let (limb, shift) = (8 * i / LIMB as usize, (8 * i % LIMB as usize) as u32);
        let wide = u128::from(*byte) << shift;
        number[limb] |= wide as i64 & MASK;
        if shift > LIMB - 8 {
            number[limb + 1] |= (wide >> LIMB) as i64;
        }
    }
}

fn write(number: &[i64], out: &mut [u8]) {
    for (i, byte) in out.iter_mut().rev().enumerate() {
        let (limb, shift) = (8 * i / LIMB as usize, (8 * i % LIMB as usize) as u32);
        let at = |limb: usize| number.get(limb).map_or(0, |&limb| limb as u128);
        *byte = ((at(limb) | at(limb + 1) << LIMB) >> shift) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift64*: numbers that are the same in each run.
    fn next(state: &mut u64) -> u64 {
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// `a` * `b` modulo `m`, by doubling and adding.
    fn product(a: &[u8], b: &[u8], m: &[u8]) -> Vec<u8> {
        let length = m.len() + 1;
        let wide = |number: &[u8]| [vec![0; length - number.len()], number.to_vec()].concat();
        let (a, m) = (wide(a), wide(m));
        let add = |x: &mut Vec<u8>, y: &[u8]| {
            let mut over = 0;
            for (x, y) in x.iter_mut().rev().zip(y.iter().rev()) {
                let sum = u16::from(*x) + u16::from(*y) + over;
                (*x, over) = (sum as u8, sum >> 8);
            }
            if *x >= m {
                let mut borrow = 0;
                for (x, m) in x.iter_mut().rev().zip(m.iter().rev()) {
                    let difference = i16::from(*x) - i16::from(*m) - borrow;
                    (*x, borrow) = (difference as u8, i16::from(difference < 0));
                }
            }
        };
        let mut sum = vec![0; length];
        for byte in b {
            for bit in (0..8).rev() {
                let double = sum.clone();
                add(&mut sum, &double);
                if byte >> bit & 1 == 1 {
                    add(&mut sum, &a);
                }
            }
        }
        sum[1..].to_vec()
    }

    #[test]
    fn a_number_times_its_inverse_is_one() {
        let mut state = 0x9E37_79B9_7F4A_7C15;
        let lengths = [1, 2, 7, 8, 9, 15, 16, 31, 32, 62, 63, 64, 128, 256, 257];
        for length in lengths.into_iter().flat_map(|length| [length; 12]) {
            let mut bytes = || (0..length).map(|_| next(&mut state) as u8).collect::<Vec<u8>>();
            let (mut m, mut a) = (bytes(), bytes());
            m[length - 1] |= 1;
            m[0] |= 0x80;
            a[0] &= 0x7f;
            let mut out = vec![0xAA; length + 3];
            if invert(&a, &m, &mut out) {
                assert!(out[..3] == [0; 3] && out[3..] < m[..]);
                let mut one = vec![0; length];
                one[length - 1] = 1;
                assert_eq!(product(&out[3..], &a, &m), one, "{m:x?} {a:x?}");
            } else {
                // Of long numbers, one pair in five has a small odd factor in common: small ones are looked for.
                let remainder = |n: &[u8], d: u32| n.iter().fold(0, |r, &b| (r << 8 | u32::from(b)) % d);
                let shared = (3..1 << 16).step_by(2).any(|d| remainder(&m, d) == 0 && remainder(&a, d) == 0);
                assert!(shared, "{m:x?} {a:x?}");
                assert!(out.iter().all(|&byte| byte == 0xAA));
            }
        }
    }

    #[test]
    fn every_number_below_a_small_modulus() {
        for m in (3u16..400).step_by(2) {
            for a in 0..m {
                let expected = (1..m).find(|x| u32::from(*x) * u32::from(a) % u32::from(m) == 1);
                let mut out = [0; 2];
                let found = invert(&a.to_be_bytes(), &m.to_be_bytes(), &mut out);
                assert_eq!(found.then(|| u16::from_be_bytes(out)), expected, "{a} modulo {m}");
            }
        }
    }

    #[test]
    fn ends_of_the_longest_modulus() {
        let m = vec![0xFF; MAX];
        let mut minus_one = m.clone();
        minus_one[MAX - 1] = 0xFE;
        let mut out = vec![0; MAX];
        assert!(invert(&minus_one, &m, &mut out));
        assert_eq!(out, minus_one);
        assert!(invert(&[1], &m, &mut out));
        assert_eq!((out[MAX - 1], out[..MAX - 1].iter().all(|&byte| byte == 0)), (1, true));
        // 1/2 is (m + 1) / 2.
        assert!(invert(&[2], &m, &mut out));
        assert_eq!((out[0], out[1..].iter().all(|&byte| byte == 0)), (0x80, true));
    }

    #[test]
    fn what_has_no_inverse_is_refused() {
        let mut out = [0; 4];
        for (a, m) in [(0u32, 7u32), (3, 9), (7, 7), (8, 7), (3, 8), (0, 1), (1, 0), (5, 0)] {
            assert!(!invert(&a.to_be_bytes(), &m.to_be_bytes(), &mut out), "{a} modulo {m}");
        }
        assert!(!invert(&[3], &[1, 0, 1], &mut [0; 2]));
        assert!(!invert(&[3], &[0xFF; MAX + 1], &mut [0; MAX + 1]));
    }
}
