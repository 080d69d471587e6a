//! What the loops in [`super::assembly`] do, by the number of digits.

use super::{Column, Modulus, Vector, assembly};
use std::arch::x86_64::*;

/// A function of rows; see [`assembly`].
type Rows = unsafe extern "sysv64" fn(*mut Column, *const Vector, *const Vector, usize, *const Vector);
type Beside = unsafe extern "sysv64" fn(
    *mut Column,
    *const Vector,
    *const Vector,
    *mut Column,
    *mut Vector,
    *const Vector,
    usize,
    usize,
);
type ChainOf = unsafe extern "sysv64" fn(usize, usize, usize, *mut Column, *mut Vector, *const Vector);

/// The functions for a number of digits, by its remainders modulo four and three.
pub struct Streams {
    pub first: Rows,
    pub more_of_four: Rows,
    pub more_of_three: Rows,
    pub onto_of_four: Rows,
    pub onto_of_three: Rows,
    pub square_first: Rows,
    pub square_of_four: Rows,
    pub square_of_three: Rows,
    pub square_last: Rows,
    pub four_beside_four: Beside,
    pub four_beside_three: Beside,
    pub three_beside_three: Beside,
    pub chain_of_four: ChainOf,
    pub chain_of_three: ChainOf,
}

static OF_2_1: Streams = Streams {
    first: assembly::first_2_1,
    more_of_four: assembly::more_of_four_2_1,
    more_of_three: assembly::more_of_three_2_1,
    onto_of_four: assembly::onto_of_four_2_1,
    onto_of_three: assembly::onto_of_three_2_1,
    square_first: assembly::square_first_2_1,
    square_of_four: assembly::square_of_four_2_1,
    square_of_three: assembly::square_of_three,
    square_last: assembly::square_last,
    four_beside_four: assembly::four_beside_four_2_1,
    four_beside_three: assembly::four_beside_three_2_1,
    three_beside_three: assembly::three_beside_three_2_1,
    chain_of_four: assembly::chain_of_four_2_1,
    chain_of_three: assembly::chain_of_three_2_1,
};

static OF_1_0: Streams = Streams {
    first: assembly::first_1_0,
    more_of_four: assembly::more_of_four_1_0,
    more_of_three: assembly::more_of_three_1_0,
    onto_of_four: assembly::onto_of_four_1_0,
    onto_of_three: assembly::onto_of_three_1_0,
    square_first: assembly::square_first_1_0,
    square_of_four: assembly::square_of_four_1_0,
    square_of_three: assembly::square_of_three,
    square_last: assembly::square_last,
    four_beside_four: assembly::four_beside_four_1_0,
    four_beside_three: assembly::four_beside_three_1_0,
    three_beside_three: assembly::three_beside_three_1_0,
    chain_of_four: assembly::chain_of_four_1_0,
    chain_of_three: assembly::chain_of_three_1_0,
};

/// Streams for numbers of `digits` digits.
pub const fn streams(digits: usize) -> &'static Streams {
    match (digits % 4, digits % 3) {
        (2, 1) => &OF_2_1,
        (1, 0) => &OF_1_0,
        _ => panic!("no such size"),
    }
}

/// The first digit of the rows that go by three.
pub const fn first_of_threes(digits: usize) -> usize {
    digits - 3 * (4 - digits % 4) % 12
}

/// 1.5 * 2^(52 + B), of which a column's upper part begins: what is added to it is rounded to multiples of 2^B.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn start(bits: u32) -> Vector {
    _mm256_set1_pd(f64::from_bits(u64::from(1023 + 52 + bits) << 52 | 1 << 51))
}

/// 2^-B.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn down(bits: u32) -> Vector {
    _mm256_set1_pd(f64::from_bits(u64::from(1023 - bits) << 52))
}

/// A sum in reduction: its columns from the next one to be reduced on, and where its factors go.
#[derive(Clone, Copy)]
pub struct Chain<const D: usize> {
    pub t: *mut Column,
    pub q: *mut Vector,
    pub m: *const Modulus<D>,
}

impl<const D: usize> Chain<D> {
    const S: &'static Streams = streams(D);

    /// The chain from `k` columns further on.
    ///
    /// # Safety
    /// The columns from `t` on reach at least to `k`.
    pub unsafe fn at(self, k: usize) -> Self {
        // SAFETY: the caller has these columns.
        unsafe { Chain { t: self.t.add(k), ..self } }
    }

    /// Number of turns behind a block of four or three columns. By constants, so that nothing is divided.
    const fn turns(count: usize) -> usize {
        if count == 4 { (D - 4) / 4 } else { (D - 3) / 3 }
    }

    /// Finds the factors of a block of four or three columns, and adds their products to the block itself.
    ///
    /// # Safety
    /// `t` leads to the columns that a block touches, `q` to room for four factors, and `m` to the modulus; no other code uses columns and factors.
    /// The CPU has AVX2 and FMA.
    pub unsafe fn links(self, count: usize) {
        let of = if count == 4 { Self::S.chain_of_four } else { Self::S.chain_of_three };
        // SAFETY: the caller has the columns from `t` on that a block touches, room for four factors at `q`, and the modulus at `m`; and
        // the CPU has AVX2 and FMA.
        unsafe { of(0, 0, 0, self.t, self.q, self.m.cast()) };
    }

    /// Adds the products of the factors of a block of `count` columns to the columns behind it.
    ///
    /// # Safety
    /// `t` leads to the columns that a block and its factors touch, `q` to the factors, and `m` to the modulus; no other code uses the columns. The
    /// CPU has AVX2 and FMA.
    pub unsafe fn rest(self, count: usize) {
        let of = if count == 4 { Self::S.onto_of_four } else { Self::S.onto_of_three };
        // SAFETY: the caller has the columns from `t` on that a block and its factors touch, the factors at `q`, and the modulus at `m`;
        // and the CPU has AVX2 and FMA.
        unsafe {
            let m = &*self.m;
            of(self.t.add(count), self.q, m.m.as_ptr().add(count), Self::turns(count), &raw const m.start);
        }
    }

    /// Runs [`Chain::rest`] and, beside it, [`Chain::links`] of another chain.
    ///
    /// # Safety
    /// The conditions of [`Chain::rest`] hold for `self` and those of [`Chain::links`] for `other`; columns and factors of the two are apart. The CPU
    /// has AVX2 and FMA.
    pub unsafe fn rest_beside(self, count: usize, other: Chain<D>, links: usize) {
        let of = match (count, links) {
            (4, 4) => Self::S.four_beside_four,
            (4, _) => Self::S.four_beside_three,
            _ => Self::S.three_beside_three,
        };
        let turns = Self::turns(count);
        let (more, left) = if links == 4 { (turns / 4 - 1, turns % 4) } else { (turns / 3 - 1, turns % 3) };
        // SAFETY: the caller has for both chains the columns, the factors and the modulus that the pointers lead to, the columns and
        // factors of one apart from those of the other; and the CPU has AVX2 and FMA.
        unsafe {
            let (t, m) = (self.t.add(count), (*self.m).m.as_ptr().add(count));
            of(t, self.q, m, other.t, other.q, other.m.cast(), more, left);
        }
    }
}
