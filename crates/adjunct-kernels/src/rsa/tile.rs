//! Ten limbs by ten: the arithmetic of every size, in tiles that fit the 32 vector registers.
//!
//! A tile keeps 20 columns of sums, ten limbs of one factor and one of the other in registers, so that 200 multiplications
//! cost 40 loads and 20 stores and no spill. It goes row by row, first the low halves, then the high ones: what a
//! multiplication adds to was last touched ten multiplications before, which is more than its latency. Written in assembly,
//! because a compiler that moves the loads has no register left to move them to.
//!
//! Multiplications: [`add_product`] 200, [`finish_square`] 110, [`fold`] 200, [`fold_last`] 201, [`add_last`] 200.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use crate::lanes::Vector;
use std::arch::asm;

/// Limbs a tile is wide and high.
pub const TILE: usize = 10;

/// `vpmadd52luq` of register $x with the registers $y, onto the registers $d.
macro_rules! low {
    ($x:literal: $($d:literal $y:literal),*) => {
        concat!($("vpmadd52luq zmm", $d, ", zmm", $x, ", zmm", $y, "\n"),*)
    };
}

/// `vpmadd52huq` of register $x with the registers $y, onto the registers $d.
macro_rules! high {
    ($x:literal: $($d:literal $y:literal),*) => {
        concat!($("vpmadd52huq zmm", $d, ", zmm", $x, ", zmm", $y, "\n"),*)
    };
}

/// One row: register $x times registers 20 to 29, onto the columns.
macro_rules! row {
    ($x:literal: $c0:literal $c1:literal $c2:literal $c3:literal $c4:literal $c5:literal $c6:literal $c7:literal $c8:literal
     $c9:literal $c10:literal) => {
        concat!(
            low!($x: $c0 20, $c1 21, $c2 22, $c3 23, $c4 24, $c5 25, $c6 26, $c7 27, $c8 28, $c9 29),
            high!($x: $c1 20, $c2 21, $c3 22, $c4 23, $c5 24, $c6 25, $c7 26, $c8 27, $c9 28, $c10 29)
        )
    };
}

/// A row by a limb in memory, through one register or another.
macro_rules! row_of {
    ($at:literal $x:literal: $($c:literal)*) => {
        concat!("vmovdqa64 zmm", $x, ", [{a} + 64*", $at, "]\n", row!($x: $($c)*))
    };
}

/// Limb $q of the sum is a multiplier: its excess goes up a limb, its row to the columns after it.
macro_rules! fold_row {
    ($q:literal: $next:literal $($c:literal)*) => {
        concat!(
            "vpsrlq zmm31, zmm", $q, ", 52\n",
            "vpaddq zmm", $next, ", zmm", $next, ", zmm31\n",
            row!($q: $next $($c)*)
        )
    };
}

/// A load or store of consecutive vectors.
macro_rules! load {
    ($p:literal: $($r:literal $at:literal),*) => { concat!($("vmovdqa64 zmm", $r, ", [{", $p, "} + 64*", $at, "]\n"),*) };
}
macro_rules! store {
    ($p:literal: $($r:literal $at:literal),*) => { concat!($("vmovdqa64 [{", $p, "} + 64*", $at, "], zmm", $r, "\n"),*) };
}

macro_rules! load_columns {
    () => {
        load!("sum": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9, 10 10, 11 11, 12 12, 13 13, 14 14, 15 15, 16 16,
            17 17, 18 18)
    };
}

macro_rules! store_columns {
    () => {
        store!("sum": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9, 10 10, 11 11, 12 12, 13 13, 14 14, 15 15, 16 16,
            17 17, 18 18)
    };
}

macro_rules! load_factor {
    ($p:literal) => { load!($p: 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9) };
}

/// An `asm!` that uses every vector register.
macro_rules! vectors {
    ([$($text:expr),* $(,)?] $($operands:tt)*) => {
        asm!(
            concat!($($text),*),
            $($operands)*
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _, out("zmm6") _,
            out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _, out("zmm12") _, out("zmm13") _,
            out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _, out("zmm25") _,
            out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
            options(nostack)
        )
    };
}

/// `sum` += `a` * `b`. Only the low 52 bits of a limb of a factor count, here and below.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn add_product(sum: &mut [Vector; 20], a: &[Vector; 10], b: &[Vector; 10]) {
    // SAFETY: reads and writes the three arrays, which are aligned as vectors are.
    unsafe {
        vectors!([
            load_columns!(), load!("sum": 19 19), load_factor!("b"),
            row_of!(0 30: 0 1 2 3 4 5 6 7 8 9 10),
            row_of!(1 31: 1 2 3 4 5 6 7 8 9 10 11),
            row_of!(2 30: 2 3 4 5 6 7 8 9 10 11 12),
            row_of!(3 31: 3 4 5 6 7 8 9 10 11 12 13),
            row_of!(4 30: 4 5 6 7 8 9 10 11 12 13 14),
            row_of!(5 31: 5 6 7 8 9 10 11 12 13 14 15),
            row_of!(6 30: 6 7 8 9 10 11 12 13 14 15 16),
            row_of!(7 31: 7 8 9 10 11 12 13 14 15 16 17),
            row_of!(8 30: 8 9 10 11 12 13 14 15 16 17 18),
            row_of!(9 31: 9 10 11 12 13 14 15 16 17 18 19),
            store_columns!(), store!("sum": 19 19),
        ]
        sum = in(reg) sum, a = in(reg) a, b = in(reg) b,)
    }
}

/// `sum` = 2 (`sum` + the products of each two limbs of `a`) + the squares of its limbs: the last tile over these columns of
/// a square, whose other tiles took each two blocks once.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn finish_square(sum: &mut [Vector; 20], a: &[Vector; 10]) {
    macro_rules! double {
        ($($r:literal)*) => { concat!($("vpaddq zmm", $r, ", zmm", $r, ", zmm", $r, "\n"),*) };
    }
    // SAFETY: reads and writes the two arrays, which are aligned as vectors are.
    unsafe {
        vectors!([
            load_columns!(), load!("sum": 19 19), load_factor!("a"),
            low!(20: 1 21, 2 22, 3 23, 4 24, 5 25, 6 26, 7 27, 8 28, 9 29),
            high!(20: 2 21, 3 22, 4 23, 5 24, 6 25, 7 26, 8 27, 9 28, 10 29),
            low!(21: 3 22, 4 23, 5 24, 6 25, 7 26, 8 27, 9 28, 10 29),
            high!(21: 4 22, 5 23, 6 24, 7 25, 8 26, 9 27, 10 28, 11 29),
            // The short rows from the other end between the long ones, to keep apart what adds to one column.
            low!(28: 17 29), low!(27: 15 28, 16 29), low!(22: 5 23, 6 24, 7 25, 8 26, 9 27, 10 28, 11 29),
            high!(28: 18 29), high!(27: 16 28, 17 29), high!(22: 6 23, 7 24, 8 25, 9 26, 10 27, 11 28, 12 29),
            double!(0 1 2 3 4),
            low!(26: 13 27, 14 28, 15 29), low!(23: 7 24, 8 25, 9 26, 10 27, 11 28, 12 29),
            high!(26: 14 27, 15 28, 16 29), high!(23: 8 24, 9 25, 10 26, 11 27, 12 28, 13 29),
            low!(20: 0 20), low!(21: 2 21), low!(22: 4 22), high!(20: 1 20), high!(21: 3 21),
            double!(5 6 7 17 18 19),
            low!(25: 11 26, 12 27, 13 28, 14 29), low!(24: 9 25, 10 26, 11 27, 12 28, 13 29),
            high!(25: 12 26, 13 27, 14 28, 15 29), high!(24: 10 25, 11 26, 12 27, 13 28, 14 29),
            high!(22: 5 22), low!(23: 6 23), high!(23: 7 23), high!(28: 17 28), low!(29: 18 29), high!(29: 19 29),
            double!(8 9 10 16 15 14 13 12 11),
            low!(24: 8 24), high!(24: 9 24), low!(25: 10 25), low!(28: 16 28), high!(27: 15 27), low!(27: 14 27),
            high!(26: 13 26), low!(26: 12 26), high!(25: 11 25),
            store_columns!(), store!("sum": 19 19),
        ]
        sum = in(reg) sum, a = in(reg) a,)
    }
}

/// The first tile of ten steps of Montgomery's reduction by a multiple of the modulus that is -1 modulo 2^52: `fold` is the
/// lowest ten limbs of that multiple plus one, divided by 2^52. A step takes the lowest limb q off the sum and adds q * `fold`
/// to the rest; so q needs no multiplication, and the next one waits for only one. The limbs taken stay in `sum`, for the
/// tiles beside this one.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn fold(sum: &mut [Vector; 21], fold: &[Vector; 10]) {
    // The column that is beyond the first row's reach comes in where register 30 takes it over.
    // SAFETY: reads and writes the two arrays, which are aligned as vectors are.
    unsafe {
        vectors!([
            load_columns!(), load!("sum": 19 19, 30 20), load_factor!("b"),
            fold_row!(0: 1 2 3 4 5 6 7 8 9 10 11),
            fold_row!(1: 2 3 4 5 6 7 8 9 10 11 12),
            fold_row!(2: 3 4 5 6 7 8 9 10 11 12 13),
            fold_row!(3: 4 5 6 7 8 9 10 11 12 13 14),
            fold_row!(4: 5 6 7 8 9 10 11 12 13 14 15),
            fold_row!(5: 6 7 8 9 10 11 12 13 14 15 16),
            fold_row!(6: 7 8 9 10 11 12 13 14 15 16 17),
            fold_row!(7: 8 9 10 11 12 13 14 15 16 17 18),
            fold_row!(8: 9 10 11 12 13 14 15 16 17 18 19),
            fold_row!(9: 10 11 12 13 14 15 16 17 18 19 30),
            store_columns!(), store!("sum": 19 19, 30 20),
        ]
        sum = in(reg) sum, b = in(reg) fold,)
    }
}

/// A row of the modulus itself, from memory.
macro_rules! row_of_modulus {
    () => {
        concat!(
            load_factor!("m"),
            row!(30: 9 10 11 12 13 14 15 16 17 18 19)
        )
    };
}

/// As [`fold`], for the last ten steps: the very last is Montgomery's own, by the modulus `m` and `k0`, -1/`m` modulo 2^52,
/// and brings the result below about twice the modulus.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn fold_last(sum: &mut [Vector; 20], fold: &[Vector; 10], m: &[Vector; 10], k0: &Vector) {
    // SAFETY: reads and writes the arrays, which are aligned as vectors are.
    unsafe {
        vectors!([
            load_columns!(), load!("sum": 19 19), load_factor!("b"),
            fold_row!(0: 1 2 3 4 5 6 7 8 9 10 11),
            fold_row!(1: 2 3 4 5 6 7 8 9 10 11 12),
            fold_row!(2: 3 4 5 6 7 8 9 10 11 12 13),
            fold_row!(3: 4 5 6 7 8 9 10 11 12 13 14),
            fold_row!(4: 5 6 7 8 9 10 11 12 13 14 15),
            fold_row!(5: 6 7 8 9 10 11 12 13 14 15 16),
            fold_row!(6: 7 8 9 10 11 12 13 14 15 16 17),
            fold_row!(7: 8 9 10 11 12 13 14 15 16 17 18),
            fold_row!(8: 9 10 11 12 13 14 15 16 17 18 19),
            "vpxorq zmm30, zmm30, zmm30\n",
            "vpmadd52luq zmm30, zmm9, [{k0}]\n",
            row_of_modulus!(),
            "vpsrlq zmm9, zmm9, 52\n",
            "vpaddq zmm10, zmm10, zmm9\n",
            "vmovdqa64 zmm9, zmm30\n",
            store_columns!(), store!("sum": 19 19),
        ]
        sum = in(reg) sum, b = in(reg) fold, m = in(reg) m, k0 = in(reg) k0,)
    }
}

/// The tiles beside [`fold_last`]: adds nine rows of `fold` by the first limbs of `q`, and one of `m` by the last.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn add_last(sum: &mut [Vector; 19], q: &[Vector; 10], fold: &[Vector; 10], m: &[Vector; 10]) {
    // SAFETY: reads and writes the arrays, which are aligned as vectors are.
    unsafe {
        vectors!([
            load_columns!(), load_factor!("b"),
            row_of!(0 30: 0 1 2 3 4 5 6 7 8 9 10),
            row_of!(1 31: 1 2 3 4 5 6 7 8 9 10 11),
            row_of!(2 30: 2 3 4 5 6 7 8 9 10 11 12),
            row_of!(3 31: 3 4 5 6 7 8 9 10 11 12 13),
            row_of!(4 30: 4 5 6 7 8 9 10 11 12 13 14),
            row_of!(5 31: 5 6 7 8 9 10 11 12 13 14 15),
            row_of!(6 30: 6 7 8 9 10 11 12 13 14 15 16),
            row_of!(7 31: 7 8 9 10 11 12 13 14 15 16 17),
            row_of!(8 30: 8 9 10 11 12 13 14 15 16 17 18),
            load_factor!("m"),
            row_of!(9 31: 8 9 10 11 12 13 14 15 16 17 18),
            store_columns!(),
        ]
        sum = in(reg) sum, a = in(reg) q, b = in(reg) fold, m = in(reg) m,)
    }
}

/// The windows a lane's digit is compared with.
static DIGITS: [u64; 32] = {
    let mut digits = [0; 32];
    let mut i = 0;
    while i < 32 {
        digits[i] = i as u64;
        i += 1;
    }
    digits
};

/// Ten limbs of the 32 entries of a table that begin at `start` and are `stride` vectors apart: each lane gets those of the
/// entry its `digit` names. Every entry is loaded whole into registers; only then the masks choose.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn choose(out: &mut [Vector; 10], table: &[Vector], start: usize, stride: usize, digit: Vector) {
    assert!(start + 31 * stride + 10 <= table.len());
    // SAFETY: reads 32 times ten vectors of the table, as just checked, and writes ten; all aligned as vectors are.
    unsafe {
        asm!(
            "2:",
            "vpcmpeqq {k}, {digit}, qword ptr [{digits}]{{1to8}}",
            load!("entry": 10 0, 11 1, 12 2, 13 3, 14 4, 15 5, 16 6, 17 7, 18 8, 19 9),
            "vmovdqa64 zmm0 {{{k}}}, zmm10",
            "vmovdqa64 zmm1 {{{k}}}, zmm11",
            "vmovdqa64 zmm2 {{{k}}}, zmm12",
            "vmovdqa64 zmm3 {{{k}}}, zmm13",
            "vmovdqa64 zmm4 {{{k}}}, zmm14",
            "vmovdqa64 zmm5 {{{k}}}, zmm15",
            "vmovdqa64 zmm6 {{{k}}}, zmm16",
            "vmovdqa64 zmm7 {{{k}}}, zmm17",
            "vmovdqa64 zmm8 {{{k}}}, zmm18",
            "vmovdqa64 zmm9 {{{k}}}, zmm19",
            "add {digits}, 8",
            "add {entry}, {stride}",
            "dec {count}",
            "jnz 2b",
            store!("out": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9),
            k = out(kreg) _,
            digits = inout(reg) DIGITS.as_ptr() => _,
            entry = inout(reg) table.as_ptr().add(start) => _,
            stride = in(reg) stride * size_of::<Vector>(),
            count = inout(reg) 32u64 => _,
            out = in(reg) out,
            digit = in(zmm_reg) digit,
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _,
            out("zmm5") _, out("zmm6") _, out("zmm7") _, out("zmm8") _, out("zmm9") _,
            out("zmm10") _, out("zmm11") _, out("zmm12") _, out("zmm13") _, out("zmm14") _,
            out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            options(nostack)
        )
    }
}
