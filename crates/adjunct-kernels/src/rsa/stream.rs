//! Ten limbs times many: the arithmetic of every size, as streams that fit the 32 vector registers.
//!
//! Ten limbs of one factor stay in registers while the limbs of the other come past one by one, and ten columns of the sum
//! with them: a step multiplies one limb by ten, low halves first and then high, takes the column that is complete out and the
//! next one in. That is 20 multiplications for two loads and one store, and what a multiplication adds to was last touched ten
//! multiplications before, more than its latency. Written in assembly: a compiler that moves the loads has no register left to
//! move them to, and stores that come in bursts instead of one a step cost a third of the speed.
//!
//! With b blocks of ten limbs in the other factor: [`product`] 200b multiplications, [`square`] 110 + 200b, [`reduce`] and
//! [`reduce_last`] 200 each for their first block and for each that follows, the latter one more.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use crate::lanes::Vector;
use std::arch::asm;

/// Limbs of a block.
pub const BLOCK: usize = 10;

/// What columns that nothing was added to yet are read from.
#[repr(align(64))]
struct Zeros(#[allow(dead_code)] [u64; 8 * BLOCK]);
static ZEROS: Zeros = Zeros([0; 8 * BLOCK]);

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

/// Loads and stores of consecutive vectors.
macro_rules! load {
    ($p:literal: $($r:literal $at:literal),*) => { concat!($("vmovdqa64 zmm", $r, ", [{", $p, "} + 64*", $at, "]\n"),*) };
}
macro_rules! store {
    ($p:literal: $($r:literal $at:literal),*) => { concat!($("vmovdqa64 [{", $p, "} + 64*", $at, "], zmm", $r, "\n"),*) };
}

/// Step $s: limb $s of what comes past, through register $b, times the ten registers $q, onto the columns $w. `finish` works
/// on the column that is complete before it is stored; the column that follows takes its register.
macro_rules! step {
    ($s:literal $b:literal [$w0:literal $($w:literal)*] [$($q:literal)*] $finish:expr) => {
        concat!(
            load!("b": $b $s),
            zip!("vpmadd52luq": $b [$w0 $($w)*] [$($q)*]),
            $finish,
            store!("to": $w0 $s),
            load!("from": $w0 $s),
            zip!("vpmadd52huq": $b [$($w)* $w0] [$($q)*])
        )
    };
}

macro_rules! zip {
    ($op:literal: $b:literal [$($w:literal)*] [$($q:literal)*]) => {
        concat!($($op, " zmm", $w, ", zmm", $b, ", zmm", $q, "\n"),*)
    };
}

/// Ten steps; the columns are in the same registers afterwards.
macro_rules! block {
    ([$w0:literal $w1:literal $w2:literal $w3:literal $w4:literal $w5:literal $w6:literal $w7:literal $w8:literal $w9:literal]
     $q:tt [$($finish:expr),*]) => {
        block!(@ $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8 $w9 $q $($finish),*)
    };
    (@ $w0:literal $w1:literal $w2:literal $w3:literal $w4:literal $w5:literal $w6:literal $w7:literal $w8:literal $w9:literal
     $q:tt $f0:expr, $f1:expr, $f2:expr, $f3:expr, $f4:expr, $f5:expr, $f6:expr, $f7:expr, $f8:expr, $f9:expr) => {
        concat!(
            step!(0 30 [$w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8 $w9] $q $f0),
            step!(1 31 [$w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8 $w9 $w0] $q $f1),
            step!(2 30 [$w2 $w3 $w4 $w5 $w6 $w7 $w8 $w9 $w0 $w1] $q $f2),
            step!(3 31 [$w3 $w4 $w5 $w6 $w7 $w8 $w9 $w0 $w1 $w2] $q $f3),
            step!(4 30 [$w4 $w5 $w6 $w7 $w8 $w9 $w0 $w1 $w2 $w3] $q $f4),
            step!(5 31 [$w5 $w6 $w7 $w8 $w9 $w0 $w1 $w2 $w3 $w4] $q $f5),
            step!(6 30 [$w6 $w7 $w8 $w9 $w0 $w1 $w2 $w3 $w4 $w5] $q $f6),
            step!(7 31 [$w7 $w8 $w9 $w0 $w1 $w2 $w3 $w4 $w5 $w6] $q $f7),
            step!(8 30 [$w8 $w9 $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7] $q $f8),
            step!(9 31 [$w9 $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8] $q $f9)
        )
    };
}

/// A block in which no column needs finishing.
macro_rules! plain_block {
    ($w:tt $q:tt) => { block!($w $q ["", "", "", "", "", "", "", "", "", ""]) };
}

/// The columns of the last block come from `last`.
macro_rules! choose_last {
    () => {
        "cmp {count}, 1\ncmove {from}, {last}\n"
    };
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

/// `sum` (+)= `a` * `b`, onto the columns from the first one; with `fresh` nothing was there before, else nothing in the last
/// ten columns. Only the low 52 bits of a limb of a factor count, here and below.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn product(sum: &mut [Vector], a: &[Vector; BLOCK], b: &[Vector], fresh: bool) {
    let (blocks, rest) = b.as_chunks::<BLOCK>();
    assert!(!blocks.is_empty() && rest.is_empty() && sum.len() >= b.len() + BLOCK);
    let zeros = (&raw const ZEROS).cast::<u8>();
    let sum = sum.as_mut_ptr().cast::<u8>();
    let (first, step) = if fresh { (zeros, 0u64) } else { (sum.cast_const(), 640) };
    // SAFETY: reads the factors and reads or writes b.len() + 10 columns of the sum; all are aligned as vectors are.
    unsafe {
        vectors!([
            load!("a": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
            load!("from": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9),
            "2:\n",
            "add {from}, {step}\n",
            choose_last!(),
            plain_block!([0 1 2 3 4 5 6 7 8 9] [20 21 22 23 24 25 26 27 28 29]),
            "add {b}, 640\nadd {to}, 640\n",
            "dec {count}\njnz 2b\n",
            store!("to": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9),
        ]
        a = in(reg) a, b = inout(reg) b.as_ptr() => _, to = inout(reg) sum => _, from = inout(reg) first => _,
        step = in(reg) step, last = in(reg) zeros, count = inout(reg) blocks.len() => _,)
    }
}

/// A part of a square: `a` begins with a block of ten limbs, which this multiplies with itself and, doubled, with those that
/// follow. `sum` are the columns from that of the first limb's square on: with `fresh` nothing was there before, else nothing
/// in the last ten. The first 20 columns are complete afterwards, the others not doubled yet.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn square(sum: &mut [Vector], a: &[Vector], fresh: bool) {
    macro_rules! double {
        ($($r:literal)*) => { concat!($("vpaddq zmm", $r, ", zmm", $r, ", zmm", $r, "\n"),*) };
    }
    macro_rules! finish {
        ($op:literal $w:literal $a:literal) => {
            concat!(double!($w), $op, " zmm", $w, ", zmm", $a, ", zmm", $a, "\n")
        };
    }
    let (blocks, rest) = a.as_chunks::<BLOCK>();
    assert!(!blocks.is_empty() && rest.is_empty() && sum.len() >= a.len() + BLOCK);
    let zeros = (&raw const ZEROS).cast::<u8>();
    let sum = sum.as_mut_ptr().cast::<u8>();
    let (first, step) = if fresh { (zeros, 0u64) } else { (sum.cast_const(), 640) };
    // With one block the second ten columns are the last.
    let second = if blocks.len() == 1 { zeros } else { first.wrapping_add(step as usize) };
    // SAFETY: reads the factor and reads or writes a.len() + 10 columns of the sum; all are aligned as vectors are.
    unsafe {
        vectors!([
            load!("b": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
            load!("from": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9),
            load!("second": 10 0, 11 1, 12 2, 13 3, 14 4, 15 5, 16 6, 17 7, 18 8, 19 9),
            low!(20: 1 21, 2 22, 3 23, 4 24, 5 25, 6 26, 7 27, 8 28, 9 29),
            high!(20: 2 21, 3 22, 4 23, 5 24, 6 25, 7 26, 8 27, 9 28, 10 29),
            low!(21: 3 22, 4 23, 5 24, 6 25, 7 26, 8 27, 9 28, 10 29),
            high!(21: 4 22, 5 23, 6 24, 7 25, 8 26, 9 27, 10 28, 11 29),
            // The short rows from the other end between the long ones, to keep apart what adds to one column.
            double!(0 1 2 3),
            low!(28: 17 29), low!(27: 15 28, 16 29), low!(22: 5 23, 6 24, 7 25, 8 26, 9 27, 10 28, 11 29),
            low!(20: 0 20), low!(21: 2 21), high!(20: 1 20), high!(21: 3 21),
            high!(28: 18 29), high!(27: 16 28, 17 29), high!(22: 6 23, 7 24, 8 25, 9 26, 10 27, 11 28, 12 29),
            store!("to": 0 0, 1 1, 2 2, 3 3),
            double!(4 5 6),
            low!(26: 13 27, 14 28, 15 29), low!(23: 7 24, 8 25, 9 26, 10 27, 11 28, 12 29),
            low!(22: 4 22), high!(22: 5 22), low!(23: 6 23),
            high!(26: 14 27, 15 28, 16 29), high!(23: 8 24, 9 25, 10 26, 11 27, 12 28, 13 29),
            store!("to": 4 4, 5 5, 6 6),
            double!(7 8),
            low!(25: 11 26, 12 27, 13 28, 14 29), low!(24: 9 25, 10 26, 11 27, 12 28, 13 29),
            double!(9), high!(23: 7 23), low!(24: 8 24), high!(24: 9 24),
            high!(25: 12 26, 13 27, 14 28, 15 29), high!(24: 10 25, 11 26, 12 27, 13 28, 14 29),
            store!("to": 7 7, 8 8, 9 9),
            "add {b}, 640\nadd {to}, 640\nadd {from}, {step}\nadd {from}, {step}\n",
            "dec {count}\njz 4f\n",
            choose_last!(),
            block!([10 11 12 13 14 15 16 17 18 19] [20 21 22 23 24 25 26 27 28 29] [
                finish!("vpmadd52luq" 10 25), finish!("vpmadd52huq" 11 25),
                finish!("vpmadd52luq" 12 26), finish!("vpmadd52huq" 13 26),
                finish!("vpmadd52luq" 14 27), finish!("vpmadd52huq" 15 27),
                finish!("vpmadd52luq" 16 28), finish!("vpmadd52huq" 17 28),
                finish!("vpmadd52luq" 18 29), finish!("vpmadd52huq" 19 29)
            ]),
            "add {b}, 640\nadd {to}, 640\nadd {from}, {step}\n",
            "dec {count}\njz 3f\n",
            "2:\n",
            choose_last!(),
            plain_block!([10 11 12 13 14 15 16 17 18 19] [20 21 22 23 24 25 26 27 28 29]),
            "add {b}, 640\nadd {to}, 640\nadd {from}, {step}\n",
            "dec {count}\njnz 2b\n",
            "jmp 3f\n",
            "4:\n",
            double!(10 11 12 13 14 15 16 17 18 19),
            low!(25: 10 25), high!(25: 11 25), low!(26: 12 26), high!(26: 13 26), low!(27: 14 27), high!(27: 15 27),
            low!(28: 16 28), high!(28: 17 28), low!(29: 18 29), high!(29: 19 29),
            "3:\n",
            store!("to": 10 0, 11 1, 12 2, 13 3, 14 4, 15 5, 16 6, 17 7, 18 8, 19 9),
        ]
        b = inout(reg) a.as_ptr() => _, to = inout(reg) sum => _, from = inout(reg) first => _, second = in(reg) second,
        step = in(reg) step, last = in(reg) zeros, count = inout(reg) blocks.len() => _,)
    }
}

/// Limb $q of the sum is a multiplier: its excess goes up a limb, then registers 20 to 29 by it onto the columns $c.
macro_rules! fold_row {
    ($q:literal [$c0:literal $($c:literal)*] $last:literal) => {
        concat!(
            "vpsrlq zmm31, zmm", $q, ", 52\n",
            "vpaddq zmm", $c0, ", zmm", $c0, ", zmm31\n",
            zip!("vpmadd52luq": $q [$c0 $($c)*] [20 21 22 23 24 25 26 27 28 29]),
            zip!("vpmadd52huq": $q [$($c)* $last] [20 21 22 23 24 25 26 27 28 29])
        )
    };
}

/// The first nine limbs of a sum.
macro_rules! fold_nine {
    () => {
        concat!(
            load!("from": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9, 10 10),
            load!("b": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
            load!("from": 11 11, 12 12),
            fold_row!(0 [1 2 3 4 5 6 7 8 9 10] 11),
            load!("from": 13 13, 14 14),
            fold_row!(1 [2 3 4 5 6 7 8 9 10 11] 12),
            load!("from": 15 15, 16 16),
            fold_row!(2 [3 4 5 6 7 8 9 10 11 12] 13),
            load!("from": 17 17, 18 18),
            fold_row!(3 [4 5 6 7 8 9 10 11 12 13] 14),
            load!("from": 19 19),
            fold_row!(4 [5 6 7 8 9 10 11 12 13 14] 15),
            fold_row!(5 [6 7 8 9 10 11 12 13 14 15] 16),
            fold_row!(6 [7 8 9 10 11 12 13 14 15 16] 17),
            fold_row!(7 [8 9 10 11 12 13 14 15 16 17] 18),
            fold_row!(8 [9 10 11 12 13 14 15 16 17 18] 19)
        )
    };
}

/// Ten steps of Montgomery's reduction by a multiple of the modulus that is -1 modulo 2^52: `fold` is that multiple plus one,
/// divided by 2^52. A step takes the lowest limb q off the sum and adds q * `fold` to the rest; so q needs no multiplication,
/// and the next one waits for only one. The ten limbs taken off are not written back.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn reduce(sum: &mut [Vector], fold: &[Vector]) {
    let (blocks, rest) = fold.as_chunks::<BLOCK>();
    assert!(blocks.len() > 1 && rest.is_empty() && sum.len() > fold.len() + BLOCK);
    let sum = sum.as_mut_ptr();
    // SAFETY: reads `fold`, and reads or writes fold.len() + 11 columns of the sum; all are aligned as vectors are.
    unsafe {
        vectors!([
            fold_nine!(),
            load!("from": 30 20),
            fold_row!(9 [10 11 12 13 14 15 16 17 18 19] 30),
            store!("to": 10 10),
            "vmovdqa64 zmm10, zmm30\n",
            "add {to}, 704\nadd {from}, 1344\n",
            "2:\n",
            "add {b}, 640\n",
            plain_block!([11 12 13 14 15 16 17 18 19 10] [0 1 2 3 4 5 6 7 8 9]),
            "add {to}, 640\nadd {from}, 640\n",
            "dec {count}\njnz 2b\n",
            store!("to": 11 0, 12 1, 13 2, 14 3, 15 4, 16 5, 17 6, 18 7, 19 8, 10 9),
        ]
        b = inout(reg) fold.as_ptr() => _, to = inout(reg) sum => _, from = inout(reg) sum => _,
        count = inout(reg) blocks.len() - 1 => _,)
    }
}

/// Step $s of [`reduce_last`]: as `step`, nine of the multipliers with limb $s of `fold` and the last with that of `m`, a
/// column further. The column that is complete takes the carry in register 24 and leaves the next.
macro_rules! last_step {
    ($s:literal $b:literal $m:literal
     [$w0:literal $w1:literal $w2:literal $w3:literal $w4:literal $w5:literal $w6:literal $w7:literal $w8:literal $w9:literal]) => {
        concat!(
            load!("b": $b $s),
            load!("m": $m $s),
            zip!("vpmadd52luq": $b [$w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8] [0 1 2 3 4 5 6 7 8]),
            low!($m: $w8 9),
            carry_out!($w0 $s),
            load!("from": $w0 $s),
            zip!("vpmadd52huq": $b [$w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8 $w9] [0 1 2 3 4 5 6 7 8]),
            high!($m: $w9 9)
        )
    };
}

/// Column $w is limb $s of the result.
macro_rules! carry_out {
    ($($w:literal $s:literal),*) => {
        concat!($(
            "vpaddq zmm", $w, ", zmm", $w, ", zmm24\n",
            store!("out": $w $s),
            "vpsrlq zmm24, zmm", $w, ", 52\n"
        ),*)
    };
}

/// As [`reduce`], for the last ten steps of as many as the modulus has limbs: the very last is Montgomery's own, by the
/// modulus `m` and `k0`, -1/`m` modulo 2^52. Writes the result to `out`, every limb's excess over 52 bits added to the next but
/// still in place.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn reduce_last(out: &mut [Vector], sum: &[Vector], fold: &[Vector], m: &[Vector], k0: &Vector) {
    let (blocks, rest) = fold.as_chunks::<BLOCK>();
    assert!(blocks.len() > 1 && rest.is_empty() && sum.len() > fold.len() + BLOCK);
    assert!(m.len() == fold.len() && out.len() == fold.len());
    // SAFETY: reads fold.len() limbs of `fold` and `m` and fold.len() + 11 columns of the sum, and writes fold.len() limbs;
    // all are aligned as vectors are.
    unsafe {
        vectors!([
            fold_nine!(),
            "vpxorq zmm30, zmm30, zmm30\n",
            "vpmadd52luq zmm30, zmm9, [{k0}]\n",
            load!("m": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
            zip!("vpmadd52luq": 30 [9 10 11 12 13 14 15 16 17 18] [20 21 22 23 24 25 26 27 28 29]),
            zip!("vpmadd52huq": 30 [10 11 12 13 14 15 16 17 18 19] [20 21 22 23 24 25 26 27 28 29]),
            "vpsrlq zmm24, zmm9, 52\n",
            "vmovdqa64 zmm9, zmm30\n",
            carry_out!(10 0),
            "add {out}, 64\nadd {from}, 1344\n",
            "vmovdqa64 zmm10, [{from} - 64]\n",
            "2:\n",
            "add {b}, 640\nadd {m}, 640\n",
            last_step!(0 20 21 [11 12 13 14 15 16 17 18 19 10]),
            last_step!(1 22 23 [12 13 14 15 16 17 18 19 10 11]),
            last_step!(2 20 21 [13 14 15 16 17 18 19 10 11 12]),
            last_step!(3 22 23 [14 15 16 17 18 19 10 11 12 13]),
            last_step!(4 20 21 [15 16 17 18 19 10 11 12 13 14]),
            last_step!(5 22 23 [16 17 18 19 10 11 12 13 14 15]),
            last_step!(6 20 21 [17 18 19 10 11 12 13 14 15 16]),
            last_step!(7 22 23 [18 19 10 11 12 13 14 15 16 17]),
            last_step!(8 20 21 [19 10 11 12 13 14 15 16 17 18]),
            last_step!(9 22 23 [10 11 12 13 14 15 16 17 18 19]),
            "add {out}, 640\nadd {from}, 640\n",
            "dec {count}\njnz 2b\n",
            carry_out!(11 0, 12 1, 13 2, 14 3, 15 4, 16 5, 17 6, 18 7, 19 8),
        ]
        b = inout(reg) fold.as_ptr() => _, m = inout(reg) m.as_ptr() => _, from = inout(reg) sum.as_ptr() => _,
        out = inout(reg) out.as_mut_ptr() => _, k0 = in(reg) k0, count = inout(reg) blocks.len() - 1 => _,)
    }
}
