//! The fixed-base table of Ed25519, worked out by the compiler: no code runs for it and no file is checked in.
//!
//! Method: for each of 32 places the multiples 1 to 8 of 256^place * B, as (y + x, y - x, 2 d x y) of the affine point
//! (Bernstein, Duif, Lange, Schwabe and Yang, "High-speed high-security signatures", CHES 2011). The eight multiples of
//! one limb lie side by side in one vector's 64 bytes, so that a lookup loads all of them and picks within a register.
//! 32 * 15 * 64 = 30720 bytes.

use super::field::LIMBS;
use crate::lanes::{LANES, MASK};

/// Places of the table: bytes of a scalar.
pub(super) const PLACES: usize = 32;
/// Multiples of each place.
const MULTIPLES: usize = LANES;

/// A coordinate of the eight multiples of a place: limbs, then multiples.
pub(super) type Row = [[u64; MULTIPLES]; LIMBS];

/// The table: place, coordinate, limb, multiple.
#[repr(align(64))]
pub(super) struct Table(pub [[Row; 3]; PLACES]);

// About four million steps; the compiler asks to be told that they end.
#[allow(long_running_const_eval)]
pub(super) static TABLE: Table = build();

/// d of the curve -x^2 + y^2 = 1 + d x^2 y^2, in limbs of 52 bits.
pub(super) const D: [u64; LIMBS] = limbs(CURVE_D);

/// An element in five limbs of 51 bits, loosely carried.
type Element = [u64; 5];

const LIMB_51: u64 = (1 << 51) - 1;
/// d = -121665 / 121666 (RFC 8032, 5.1).
const CURVE_D: Element = element([0x75eb4dca135978a3, 0x00700a4d4141d8ab, 0x8cc740797779e898, 0x52036cee2b6ffe73]);
/// The base point (RFC 8032, 5.1).
const BASE_X: Element = element([0xc9562d608f25d51a, 0x692cc7609525a7b2, 0xc0a4e231fdd6dc5c, 0x216936d3cd6e53fe]);
const BASE_Y: Element = element([0x6666666666666658, 0x6666666666666666, 0x6666666666666666, 0x6666666666666666]);

/// Makes an element from four little-endian words.
const fn element(w: [u64; 4]) -> Element {
    [
        w[0] & LIMB_51,
        (w[0] >> 51 | w[1] << 13) & LIMB_51,
        (w[1] >> 38 | w[2] << 26) & LIMB_51,
        (w[2] >> 25 | w[3] << 39) & LIMB_51,
        w[3] >> 12,
    ]
}

/// Limbs of 52 bits of the representative below the prime.
const fn limbs(a: Element) -> [u64; LIMBS] {
    // Carried twice, the number is below 2^255 + 19; adding 19 tells whether it reaches the prime.
    let a = carry(wide(carry(wide(a))));
    let probe = ripple([a[0] + 19, a[1], a[2], a[3], a[4]]);
    let a = ripple([a[0] + 19 * (probe[4] >> 51), a[1], a[2], a[3], a[4]]);
    let a = [a[0], a[1], a[2], a[3], a[4] & LIMB_51];
    [
        (a[0] | a[1] << 51) & MASK,
        (a[1] >> 1 | a[2] << 50) & MASK,
        (a[2] >> 2 | a[3] << 49) & MASK,
        (a[3] >> 3 | a[4] << 48) & MASK,
        a[4] >> 4,
    ]
}

/// Carries upward, the last limb keeping its excess.
const fn ripple(mut a: Element) -> Element {
    let mut i = 0;
    while i < 4 {
        a[i + 1] += a[i] >> 51;
        a[i] &= LIMB_51;
        i += 1;
    }
    a
}

const fn wide(a: Element) -> [u128; 5] {
    [a[0] as u128, a[1] as u128, a[2] as u128, a[3] as u128, a[4] as u128]
}

const fn carry(mut a: [u128; 5]) -> Element {
    let mut i = 0;
    while i < 4 {
        a[i + 1] += a[i] >> 51;
        a[i] &= LIMB_51 as u128;
        i += 1;
    }
    let low = a[0] + 19 * (a[4] >> 51);
    a[1] += low >> 51;
    [low as u64 & LIMB_51, a[1] as u64, a[2] as u64, a[3] as u64, a[4] as u64 & LIMB_51]
}

const fn add(a: &Element, b: &Element) -> Element {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]]
}

const fn subtract(a: &Element, b: &Element) -> Element {
    // Four times the prime keeps the limbs above zero.
    let (low, more) = (4 * (LIMB_51 - 18), 4 * LIMB_51);
    let d = [a[0] + low - b[0], a[1] + more - b[1], a[2] + more - b[2], a[3] + more - b[3], a[4] + more - b[4]];
    carry(wide(d))
}

const fn multiply(a: &Element, b: &Element) -> Element {
    let mut columns = [0; 5];
    let mut i = 0;
    while i < 5 {
        let mut j = 0;
        while j < 5 {
            let fold = if i + j < 5 { 1 } else { 19 };
            columns[(i + j) % 5] += a[i] as u128 * b[j] as u128 * fold;
            j += 1;
        }
        i += 1;
    }
    carry(columns)
}

/// 1 / `a`: the power 2^255 - 21, whose bits are all ones but 2 and 4.
const fn invert(a: &Element) -> Element {
    let mut power = *a;
    let mut bit = 254;
    while bit > 0 {
        bit -= 1;
        power = multiply(&power, &power);
        if bit != 2 && bit != 4 {
            power = multiply(&power, a);
        }
    }
    power
}

/// A point in extended coordinates: X, Y, Z and T = XY/Z.
type Point = [Element; 4];

/// The sum of any two points (Hisil, Wong, Carter and Dawson, "Twisted Edwards curves revisited", ASIACRYPT 2008).
const fn sum(p: &Point, q: &Point) -> Point {
    let a = multiply(&subtract(&p[1], &p[0]), &subtract(&q[1], &q[0]));
    let b = multiply(&add(&p[1], &p[0]), &add(&q[1], &q[0]));
    let dt = multiply(&CURVE_D, &multiply(&p[3], &q[3]));
    let zz = multiply(&p[2], &q[2]);
    let (c, d) = (add(&dt, &dt), add(&zz, &zz));
    let (e, f, g, h) = (subtract(&b, &a), subtract(&d, &c), add(&d, &c), add(&b, &a));
    [multiply(&e, &f), multiply(&g, &h), multiply(&f, &g), multiply(&e, &h)]
}

/// The multiples of every place, places first.
const fn points() -> [Point; PLACES * MULTIPLES] {
    let one = element([1, 0, 0, 0]);
    let mut first = [BASE_X, BASE_Y, one, multiply(&BASE_X, &BASE_Y)];
    let mut points = [first; PLACES * MULTIPLES];
    let mut place = 0;
    while place < PLACES {
        let start = place * MULTIPLES;
        points[start] = first;
        let mut i = 1;
        while i < MULTIPLES {
            points[start + i] = sum(&points[start + i - 1], &first);
            i += 1;
        }
        // 256 = 8 * 2^5.
        first = points[start + MULTIPLES - 1];
        let mut doublings = 0;
        while doublings < 5 {
            first = sum(&first, &first);
            doublings += 1;
        }
        place += 1;
    }
    points
}

const fn build() -> Table {
    let points = points();
    // One inversion for all (Montgomery's trick): before[i] is the product of the Z of all points before i.
    let mut before = [element([1, 0, 0, 0]); PLACES * MULTIPLES];
    let mut i = 1;
    while i < points.len() {
        before[i] = multiply(&before[i - 1], &points[i - 1][2]);
        i += 1;
    }
    let mut inverse = invert(&multiply(&before[points.len() - 1], &points[points.len() - 1][2]));
    let mut table = [[[[0; MULTIPLES]; LIMBS]; 3]; PLACES];
    while i > 0 {
        i -= 1;
        let [x, y, z, _] = &points[i];
        let z_inverse = multiply(&inverse, &before[i]);
        inverse = multiply(&inverse, z);
        let (x, y) = (multiply(x, &z_inverse), multiply(y, &z_inverse));
        let dxy = multiply(&CURVE_D, &multiply(&x, &y));
        let coordinates = [limbs(add(&y, &x)), limbs(subtract(&y, &x)), limbs(add(&dxy, &dxy))];
        let mut c = 0;
        while c < 3 {
            let mut l = 0;
            while l < LIMBS {
                table[i / MULTIPLES][c][l][i % MULTIPLES] = coordinates[c][l];
                l += 1;
            }
            c += 1;
        }
    }
    Table(table)
}
