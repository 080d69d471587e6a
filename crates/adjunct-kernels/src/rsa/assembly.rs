//! The loops of [`super::stream`], in assembly: see there for what they do and why.
//!
//! Functions of the System V convention, in which every vector register is the callee's. Arguments, where a loop has them: `to`
//! (rdi), where columns go; `b` (rsi), the limbs that come past; `from` (rdx), where columns come from; `step` (rcx), the bytes
//! by which `from` goes on a block; `count` (r8), the blocks of `b`. Naked, because inlined they would be copied for each size
//! and turn of a loop, and rustc 1.95 forgets `inline(never)` on functions that enable features.

use crate::lanes::Vector;
use std::arch::naked_asm;

/// Zeros to read from in place of columns that nothing was added to yet.
#[repr(align(64))]
pub struct Zeros(#[allow(dead_code)] [u64; 80]);
pub static ZEROS: Zeros = Zeros([0; 80]);

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
    ($p:literal: $($r:literal $at:literal),*) => { concat!($("vmovdqa64 zmm", $r, ", [", $p, " + 64*", $at, "]\n"),*) };
}
macro_rules! store {
    ($p:literal: $($r:literal $at:literal),*) => { concat!($("vmovdqa64 [", $p, " + 64*", $at, "], zmm", $r, "\n"),*) };
}

/// Step $s: multiplies limb $s of the factor in memory, through register $b, by the ten registers $q, onto the columns $w. `finish` works on the
/// complete column before it is stored; the next column takes its register.
macro_rules! step {
    ($s:literal $b:literal [$w0:literal $($w:literal)*] [$($q:literal)*] $finish:expr) => {
        concat!(
            load!("rsi": $b $s),
            zip!("vpmadd52luq": $b [$w0 $($w)*] [$($q)*]),
            $finish,
            store!("rdi": $w0 $s),
            load!("rdx": $w0 $s),
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
        "cmp r8, 1\ncmove rdx, rax\n"
    };
}

/// Doubles columns.
macro_rules! double {
    ($($r:literal)*) => { concat!($("vpaddq zmm", $r, ", zmm", $r, ", zmm", $r, "\n"),*) };
}

/// Doubles a column and adds half of the square of a limb.
macro_rules! finish {
    ($op:literal $w:literal $a:literal) => {
        concat!(double!($w), $op, " zmm", $w, ", zmm", $a, ", zmm", $a, "\n")
    };
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
            load!("rdx": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9, 10 10),
            load!("rsi": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
            load!("rdx": 11 11, 12 12),
            fold_row!(0 [1 2 3 4 5 6 7 8 9 10] 11),
            load!("rdx": 13 13, 14 14),
            fold_row!(1 [2 3 4 5 6 7 8 9 10 11] 12),
            load!("rdx": 15 15, 16 16),
            fold_row!(2 [3 4 5 6 7 8 9 10 11 12] 13),
            load!("rdx": 17 17, 18 18),
            fold_row!(3 [4 5 6 7 8 9 10 11 12 13] 14),
            load!("rdx": 19 19),
            fold_row!(4 [5 6 7 8 9 10 11 12 13 14] 15),
            fold_row!(5 [6 7 8 9 10 11 12 13 14 15] 16),
            fold_row!(6 [7 8 9 10 11 12 13 14 15 16] 17),
            fold_row!(7 [8 9 10 11 12 13 14 15 16 17] 18),
            fold_row!(8 [9 10 11 12 13 14 15 16 17 18] 19)
        )
    };
}

/// Step $s of [`reduce_last`]: as `step`, nine of the multipliers with limb $s of `fold` and the last with that of `m`, a
/// column further. The column that is complete takes the carry in register 24 and leaves the next.
macro_rules! last_step {
    ($s:literal $b:literal $m:literal
     [$w0:literal $w1:literal $w2:literal $w3:literal $w4:literal $w5:literal $w6:literal $w7:literal $w8:literal $w9:literal]) => {
        concat!(
            load!("rsi": $b $s),
            load!("rcx": $m $s),
            zip!("vpmadd52luq": $b [$w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8] [0 1 2 3 4 5 6 7 8]),
            low!($m: $w8 9),
            carry_out!($w0 $s),
            load!("rdx": $w0 $s),
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
            store!("rdi": $w $s),
            "vpsrlq zmm24, zmm", $w, ", 52\n"
        ),*)
    };
}

/// [`super::stream::product`]; `from` is `to` or, with a `step` of 0, zeros.
///
/// # Safety
/// `a` has 10 limbs and `b` 10 * `count`; `to` has 10 * `count` + 10 columns that no other code uses, and `from` leads to what is read in place of
/// them; all aligned as vectors are. The CPU has AVX-512F and IFMA.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn product(
    to: *mut Vector,
    b: *const Vector,
    from: *const Vector,
    step: usize,
    count: usize,
    a: *const Vector,
) {
    naked_asm!(
        concat!(
            "lea rax, [rip + {zeros}]\n",
        load!("r9": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
        load!("rdx": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9),
        "2:\n",
        "add rdx, rcx\n",
        choose_last!(),
        plain_block!([0 1 2 3 4 5 6 7 8 9] [20 21 22 23 24 25 26 27 28 29]),
        "add rsi, 640\nadd rdi, 640\n",
        "dec r8\njnz 2b\n",
        store!("rdi": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9),
            "ret\n"
        ), zeros = sym ZEROS
    )
}

/// [`super::stream::square`]; `from` and `step` as in [`product`], `second` the second ten columns.
///
/// # Safety
/// `b` has 10 * `count` limbs; `to` has 10 * `count` + 10 columns that no other code uses, `from` leads to what is read in place of them, and
/// `second` to ten columns; all aligned as vectors are. The CPU has AVX-512F and IFMA.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn square(
    to: *mut Vector,
    b: *const Vector,
    from: *const Vector,
    step: usize,
    count: usize,
    second: *const Vector,
) {
    naked_asm!(
        concat!(
            "lea rax, [rip + {zeros}]\n",
        load!("rsi": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
        load!("rdx": 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, 8 8, 9 9),
        load!("r9": 10 0, 11 1, 12 2, 13 3, 14 4, 15 5, 16 6, 17 7, 18 8, 19 9),
        low!(20: 1 21, 2 22, 3 23, 4 24, 5 25, 6 26, 7 27, 8 28, 9 29),
        high!(20: 2 21, 3 22, 4 23, 5 24, 6 25, 7 26, 8 27, 9 28, 10 29),
        low!(21: 3 22, 4 23, 5 24, 6 25, 7 26, 8 27, 9 28, 10 29),
        high!(21: 4 22, 5 23, 6 24, 7 25, 8 26, 9 27, 10 28, 11 29),
        // The short rows from the other end between the long ones, to keep apart what adds to one column.
        double!(0 1 2 3),
        low!(28: 17 29), low!(27: 15 28, 16 29), low!(22: 5 23, 6 24, 7 25, 8 26, 9 27, 10 28, 11 29),
        low!(20: 0 20), low!(21: 2 21), high!(20: 1 20), high!(21: 3 21),
        high!(28: 18 29), high!(27: 16 28, 17 29), high!(22: 6 23, 7 24, 8 25, 9 26, 10 27, 11 28, 12 29),
        store!("rdi": 0 0, 1 1, 2 2, 3 3),
        double!(4 5 6),
        low!(26: 13 27, 14 28, 15 29), low!(23: 7 24, 8 25, 9 26, 10 27, 11 28, 12 29),
        low!(22: 4 22), high!(22: 5 22), low!(23: 6 23),
        high!(26: 14 27, 15 28, 16 29), high!(23: 8 24, 9 25, 10 26, 11 27, 12 28, 13 29),
        store!("rdi": 4 4, 5 5, 6 6),
        double!(7 8),
        low!(25: 11 26, 12 27, 13 28, 14 29), low!(24: 9 25, 10 26, 11 27, 12 28, 13 29),
        double!(9), high!(23: 7 23), low!(24: 8 24), high!(24: 9 24),
        high!(25: 12 26, 13 27, 14 28, 15 29), high!(24: 10 25, 11 26, 12 27, 13 28, 14 29),
        store!("rdi": 7 7, 8 8, 9 9),
        "add rsi, 640\nadd rdi, 640\nadd rdx, rcx\nadd rdx, rcx\n",
        "dec r8\njz 4f\n",
        choose_last!(),
        block!([10 11 12 13 14 15 16 17 18 19] [20 21 22 23 24 25 26 27 28 29] [
            finish!("vpmadd52luq" 10 25), finish!("vpmadd52huq" 11 25),
            finish!("vpmadd52luq" 12 26), finish!("vpmadd52huq" 13 26),
            finish!("vpmadd52luq" 14 27), finish!("vpmadd52huq" 15 27),
            finish!("vpmadd52luq" 16 28), finish!("vpmadd52huq" 17 28),
            finish!("vpmadd52luq" 18 29), finish!("vpmadd52huq" 19 29)
        ]),
        "add rsi, 640\nadd rdi, 640\nadd rdx, rcx\n",
        "dec r8\njz 3f\n",
        "2:\n",
        choose_last!(),
        plain_block!([10 11 12 13 14 15 16 17 18 19] [20 21 22 23 24 25 26 27 28 29]),
        "add rsi, 640\nadd rdi, 640\nadd rdx, rcx\n",
        "dec r8\njnz 2b\n",
        "jmp 3f\n",
        "4:\n",
        double!(10 11 12 13 14 15 16 17 18 19),
        low!(25: 10 25), high!(25: 11 25), low!(26: 12 26), high!(26: 13 26), low!(27: 14 27), high!(27: 15 27),
        low!(28: 16 28), high!(28: 17 28), low!(29: 18 29), high!(29: 19 29),
        "3:\n",
        store!("rdi": 10 0, 11 1, 12 2, 13 3, 14 4, 15 5, 16 6, 17 7, 18 8, 19 9),
            "ret\n"
        ), zeros = sym ZEROS
    )
}

/// [`super::stream::reduce`]; `from` is `to`.
///
/// # Safety
/// `b` has 10 * `count` + 10 limbs, and `to` 10 * `count` + 21 columns that no other code uses; all aligned as vectors are. The CPU has AVX-512F and
/// IFMA.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn reduce(to: *mut Vector, b: *const Vector, from: *const Vector, count: usize) {
    naked_asm!(concat!(
        fold_nine!(),
        load!("rdx": 30 20),
        fold_row!(9 [10 11 12 13 14 15 16 17 18 19] 30),
        store!("rdi": 10 10),
        "vmovdqa64 zmm10, zmm30\n",
        "add rdi, 704\nadd rdx, 1344\n",
        "2:\n",
        "add rsi, 640\n",
        plain_block!([11 12 13 14 15 16 17 18 19 10] [0 1 2 3 4 5 6 7 8 9]),
        "add rdi, 640\nadd rdx, 640\n",
        "dec rcx\njnz 2b\n",
        store!("rdi": 11 0, 12 1, 13 2, 14 3, 15 4, 16 5, 17 6, 18 7, 19 8, 10 9),
        "ret\n"
    ))
}

/// [`super::stream::reduce_last`]; `to` is the result.
///
/// # Safety
/// `b`, `m` and `to` have 10 * `count` + 10 limbs, of which no other code uses those at `to`, `from` has 10 * `count` + 21 columns, and `k0` is a
/// vector; all aligned as vectors are. The CPU has AVX-512F and IFMA.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn reduce_last(
    to: *mut Vector,
    b: *const Vector,
    from: *const Vector,
    m: *const Vector,
    count: usize,
    k0: *const Vector,
) {
    naked_asm!(concat!(
        fold_nine!(),
        "vpxorq zmm30, zmm30, zmm30\n",
        "vpmadd52luq zmm30, zmm9, [r9]\n",
        load!("rcx": 20 0, 21 1, 22 2, 23 3, 24 4, 25 5, 26 6, 27 7, 28 8, 29 9),
        zip!("vpmadd52luq": 30 [9 10 11 12 13 14 15 16 17 18] [20 21 22 23 24 25 26 27 28 29]),
        zip!("vpmadd52huq": 30 [10 11 12 13 14 15 16 17 18 19] [20 21 22 23 24 25 26 27 28 29]),
        "vpsrlq zmm24, zmm9, 52\n",
        "vmovdqa64 zmm9, zmm30\n",
        carry_out!(10 0),
        "add rdi, 64\nadd rdx, 1344\n",
        "vmovdqa64 zmm10, [rdx - 64]\n",
        "2:\n",
        "add rsi, 640\nadd rcx, 640\n",
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
        "add rdi, 640\nadd rdx, 640\n",
        "dec r8\njnz 2b\n",
        carry_out!(11 0, 12 1, 13 2, 14 3, 15 4, 16 5, 17 6, 18 7, 19 8),
        "ret\n"
    ))
}

/// Permutation $t of each group of eight entries: those of two lanes, under mask $k; register $g has the lanes' choices and
/// gets the entries chosen.
macro_rules! permute {
    ($limb:literal $k:literal: $($g:literal $at:literal $a:literal $b:literal),*) => {
        concat!($(
            "vmovdqa64 zmm", $at, ", [", $limb, " + 64*", $a, "]\n",
            "vpermi2q zmm", $g, " {{k", $k, "}}, zmm", $at, ", [", $limb, " + 64*", $b, "]\n"
        ),*)
    };
}

macro_rules! pick_16 {
    ($out:literal $limb:literal $digits:literal) => {
        concat!(
            "kmovb k5, [", $digits, " + 64]\n",
            "vmovdqa64 zmm0, [", $digits, "]\n",
            "vmovdqa64 zmm1, zmm0\n",
            permute!($limb 1: 0 4 0 1, 1 5 8 9),
            permute!($limb 2: 0 6 2 3, 1 7 10 11),
            permute!($limb 3: 0 4 4 5, 1 5 12 13),
            permute!($limb 4: 0 6 6 7, 1 7 14 15),
            "vmovdqa64 zmm0 {{k5}}, zmm1\n",
            "vmovdqa64 [", $out, "], zmm0\n"
        )
    };
}

macro_rules! pick_32 {
    ($out:literal $limb:literal $digits:literal) => {
        concat!(
            "kmovb k5, [", $digits, " + 64]\n",
            "kmovb k6, [", $digits, " + 65]\n",
            "vmovdqa64 zmm0, [", $digits, "]\n",
            "vmovdqa64 zmm1, zmm0\nvmovdqa64 zmm2, zmm0\nvmovdqa64 zmm3, zmm0\n",
            permute!($limb 1: 0 4 0 1, 1 5 8 9, 2 6 16 17, 3 7 24 25),
            permute!($limb 2: 0 8 2 3, 1 9 10 11, 2 10 18 19, 3 11 26 27),
            permute!($limb 3: 0 4 4 5, 1 5 12 13, 2 6 20 21, 3 7 28 29),
            permute!($limb 4: 0 8 6 7, 1 9 14 15, 2 10 22 23, 3 11 30 31),
            "vmovdqa64 zmm0 {{k5}}, zmm1\n",
            "vmovdqa64 zmm2 {{k5}}, zmm3\n",
            "vmovdqa64 zmm0 {{k6}}, zmm2\n",
            "vmovdqa64 [", $out, "], zmm0\n"
        )
    };
}

/// A function that picks from two tables.
macro_rules! pick {
    ($name:ident $each:ident $doc:literal) => {
        #[doc = $doc]
        #[unsafe(naked)]
        pub unsafe extern "sysv64" fn $name(
            out: *mut Vector,
            limb: *const Vector,
            digits: *const Digits,
            out_too: *mut Vector,
            limb_too: *const Vector,
            digits_too: *const Digits,
        ) {
            naked_asm!(concat!(
                "mov eax, 3\nkmovd k1, eax\n",
                "mov eax, 12\nkmovd k2, eax\n",
                "mov eax, 48\nkmovd k3, eax\n",
                "mov eax, 192\nkmovd k4, eax\n",
                $each!("rdi" "rsi" "rdx"),
                $each!("rcx" "r8" "r9"),
                "ret\n"
            ))
        }
    };
}

/// The entry of a table that each lane picks.
#[repr(C, align(64))]
pub struct Digits {
    /// Index of an entry among eight; 8 more in odd lanes, whose entries are in the second vector of two.
    pub index: Vector,
    /// The lanes that pick from the second eight of sixteen.
    pub eights: u8,
    /// The lanes that pick from the second sixteen.
    pub sixteens: u8,
}

pick!(pick_16 pick_16 "Picks a limb of one of 16 entries for each lane, from two tables.");
pick!(pick_32 pick_32 "Picks a limb of one of 32 entries for each lane, from two tables.");
