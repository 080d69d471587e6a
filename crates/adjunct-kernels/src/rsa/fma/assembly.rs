//! The loops in which nearly all time passes: a few digits times many, onto columns.
//!
//! A *row* is a digit that stays in a register while the digits of the other factor come past; three or four rows go on side by side, and
//! with them as many columns of the sum, of which each step completes one and takes the next one in. So many steps are a *turn*, after which the
//! columns are in the same registers again. In assembly: from intrinsics the compiler kept columns in memory, and took 1.3 times as long.
//!
//! Functions of the System V convention, in which every vector register is the callee's. Arguments: `t` (rdi), the column of the first step
//! and row; `a` (rsi), the rows' digits; `b` (rdx), those that come past; `turns` (rcx); `start` (r8), what upper parts begin as. Names end with
//! the steps after the turns, for four rows and three: `_2_1` or `_1_0`; see [`super::modular`].

use super::{Column, Vector};
use std::arch::naked_asm;

/// Row $a, times the digit in register 11, onto the column in registers $h and $l.
macro_rules! add {
    ($a:expr, $h:literal $l:literal) => {
        concat!(
            "vmovapd ymm12, ymm",
            $h,
            "\n",
            "vfmadd231pd ymm",
            $h,
            ", ymm11, ",
            $a,
            "\n",
            "vsubpd ymm12, ymm12, ymm",
            $h,
            "\n",
            "vfmadd231pd ymm12, ymm11, ",
            $a,
            "\n",
            "vaddpd ymm",
            $l,
            ", ymm",
            $l,
            ", ymm12\n"
        )
    };
}

/// Takes column $at + $more in: an existing one, or a new one.
macro_rules! take {
    (old $at:literal $more:literal $h:literal $l:literal) => {
        concat!(
            "vmovapd ymm",
            $h,
            ", [rdi + 64*(",
            $at,
            " + ",
            $more,
            ")]\n",
            "vmovapd ymm",
            $l,
            ", [rdi + 64*(",
            $at,
            " + ",
            $more,
            ") + 32]\n"
        )
    };
    (new $at:literal $more:literal $h:literal $l:literal) => {
        concat!("vmovapd ymm", $h, ", [r8]\nvxorpd ymm", $l, ", ymm", $l, ", ymm", $l, "\n")
    };
}

/// Takes digit $at in.
macro_rules! digit {
    ($at:literal) => {
        concat!("vmovapd ymm11, [rdx + 32*", $at, "]\n")
    };
}

/// Writes column $at.
macro_rules! put {
    ($at:literal $h:literal $l:literal) => {
        concat!("vmovapd [rdi + 64*", $at, "], ymm", $h, "\nvmovapd [rdi + 64*", $at, " + 32], ymm", $l, "\n")
    };
}

/// Step $at of four rows, the fourth of which is $a3; $x and $y go on beside.
macro_rules! step_of_four {
    ($at:literal $age:ident $a3:expr, [$h0:literal $h1:literal $h2:literal $h3:literal]
     [$l0:literal $l1:literal $l2:literal $l3:literal] $x:expr, $y:expr) => {
        concat!(
            digit!($at),
            take!($age $at 3 $h3 $l3),
            add!("ymm0", $h0 $l0),
            put!($at $h0 $l0),
            $x,
            add!("ymm1", $h1 $l1),
            add!("ymm2", $h2 $l2),
            $y,
            add!($a3, $h3 $l3)
        )
    };
}

/// Step $at of four rows by the turn's phase, which says in which registers the columns are.
macro_rules! four {
    (0 $at:literal $age:ident $a3:expr, $x:expr, $y:expr) => {
        step_of_four!($at $age $a3, [3 4 5 6] [7 8 9 10] $x, $y)
    };
    (1 $at:literal $age:ident $a3:expr, $x:expr, $y:expr) => {
        step_of_four!($at $age $a3, [4 5 6 3] [8 9 10 7] $x, $y)
    };
    (2 $at:literal $age:ident $a3:expr, $x:expr, $y:expr) => {
        step_of_four!($at $age $a3, [5 6 3 4] [9 10 7 8] $x, $y)
    };
    (3 $at:literal $age:ident $a3:expr, $x:expr, $y:expr) => {
        step_of_four!($at $age $a3, [6 3 4 5] [10 7 8 9] $x, $y)
    };
}

/// A step of three rows, by its phase.
macro_rules! three {
    (0 $at:literal $age:ident $x:expr, $y:expr, $z:expr) => {
        three!(@ $at $age [3 4 5] [7 8 9] $x, $y, $z)
    };
    (1 $at:literal $age:ident $x:expr, $y:expr, $z:expr) => {
        three!(@ $at $age [4 5 3] [8 9 7] $x, $y, $z)
    };
    (2 $at:literal $age:ident $x:expr, $y:expr, $z:expr) => {
        three!(@ $at $age [5 3 4] [9 7 8] $x, $y, $z)
    };
    (@ $at:literal $age:ident [$h0:literal $h1:literal $h2:literal] [$l0:literal $l1:literal $l2:literal]
     $x:expr, $y:expr, $z:expr) => {
        concat!(
            digit!($at),
            take!($age $at 2 $h2 $l2),
            add!("ymm0", $h0 $l0),
            put!($at $h0 $l0),
            $x,
            add!("ymm1", $h1 $l1),
            $y,
            add!("ymm2", $h2 $l2),
            $z
        )
    };
}

/// A turn of four rows, with nothing beside.
macro_rules! turn_of_four {
    ($age:ident $a3:expr) => {
        concat!(
            four!(0 0 $age $a3, "", ""),
            four!(1 1 $age $a3, "", ""),
            four!(2 2 $age $a3, "", ""),
            four!(3 3 $age $a3, "", ""),
            "add rdi, 256\nadd rdx, 128\n"
        )
    };
}

macro_rules! turn_of_three {
    ($age:ident) => {
        concat!(
            three!(0 0 $age "", "", ""),
            three!(1 1 $age "", "", ""),
            three!(2 2 $age "", "", ""),
            "add rdi, 192\nadd rdx, 96\n"
        )
    };
}

/// The steps after the turns: $rest of them, then those with which columns begin, if any; and the columns that are left.
macro_rules! end_of_four {
    (2 on $age:ident $a3:expr) => {
        concat!(
            four!(0 0 $age $a3, "", ""),
            four!(1 1 $age $a3, "", ""),
            put!(2 5 9), put!(3 6 10), put!(4 3 7)
        )
    };
    (1 on $age:ident $a3:expr) => {
        concat!(four!(0 0 $age $a3, "", ""), put!(1 4 8), put!(2 5 9), put!(3 6 10))
    };
    (2 more $a3:expr) => {
        concat!(
            four!(0 0 old $a3, "", ""),
            four!(1 1 old $a3, "", ""),
            four!(2 2 new $a3, "", ""),
            four!(3 3 new $a3, "", ""),
            four!(0 4 new $a3, "", ""),
            four!(1 5 new $a3, "", ""),
            put!(6 5 9), put!(7 6 10), put!(8 3 7)
        )
    };
    (1 more $a3:expr) => {
        concat!(
            four!(0 0 old $a3, "", ""),
            four!(1 1 new $a3, "", ""),
            four!(2 2 new $a3, "", ""),
            four!(3 3 new $a3, "", ""),
            four!(0 4 new $a3, "", ""),
            put!(5 4 8), put!(6 5 9), put!(7 6 10)
        )
    };
}

macro_rules! end_of_three {
    (1 old) => {
        concat!(three!(0 0 old "", "", ""), put!(1 4 8), put!(2 5 9))
    };
    (0 old) => {
        concat!(put!(0 3 7), put!(1 4 8))
    };
    (1 more) => {
        concat!(
            three!(0 0 old "", "", ""),
            three!(1 1 new "", "", ""),
            three!(2 2 new "", "", ""),
            three!(0 3 new "", "", ""),
            put!(4 4 8), put!(5 5 9)
        )
    };
    (0 more) => {
        concat!(
            three!(0 0 new "", "", ""),
            three!(1 1 new "", "", ""),
            three!(2 2 new "", "", ""),
            put!(3 3 7), put!(4 4 8)
        )
    };
}

/// The rows' digits and first columns.
macro_rules! begin_of_four {
    ($age:ident) => {
        concat!(
            "vmovapd ymm0, [rsi]\nvmovapd ymm1, [rsi + 32]\nvmovapd ymm2, [rsi + 64]\nvmovapd ymm13, [rsi + 96]\n",
            take!($age 0 0 3 7), take!($age 0 1 4 8), take!($age 0 2 5 9)
        )
    };
}

macro_rules! begin_of_three {
    ($age:ident) => {
        concat!(
            "vmovapd ymm0, [rsi]\nvmovapd ymm1, [rsi + 32]\nvmovapd ymm2, [rsi + 64]\n",
            take!($age 0 0 3 7), take!($age 0 1 4 8)
        )
    };
}

/// Turns as many as rcx says, which may be none.
macro_rules! turns {
    ($turn:expr) => {
        concat!("test rcx, rcx\njz 3f\n.p2align 5\n2:\n", $turn, "dec rcx\njnz 2b\n3:\n")
    };
}

/// The first digits of a square, each with those before it, whose rows are doubled, and with itself.
macro_rules! corner_of_four {
    ($age:ident) => {
        concat!(
            digit!(0), take!($age 0 3 6 10), add!("ymm11", 3 7), put!(0 3 7),
            digit!(1), take!($age 1 3 3 7), add!("ymm0", 4 8), put!(1 4 8), add!("ymm11", 5 9),
            digit!(2), take!($age 2 3 4 8), add!("ymm0", 5 9), put!(2 5 9), add!("ymm1", 6 10), add!("ymm11", 3 7),
            digit!(3), take!($age 3 3 5 9), add!("ymm0", 6 10), put!(3 6 10), add!("ymm1", 3 7), add!("ymm2", 4 8),
            add!("ymm11", 5 9),
            "add rdi, 256\nadd rdx, 128\n"
        )
    };
}

macro_rules! corner_of_three {
    ($age:ident) => {
        concat!(
            digit!(0), take!($age 0 2 5 9), add!("ymm11", 3 7), put!(0 3 7),
            digit!(1), take!($age 1 2 3 7), add!("ymm0", 4 8), put!(1 4 8), add!("ymm11", 5 9),
            digit!(2), take!($age 2 2 4 8), add!("ymm0", 5 9), put!(2 5 9), add!("ymm1", 3 7), add!("ymm11", 4 8),
            "add rdi, 192\nadd rdx, 96\n"
        )
    };
}

/// Functions of rows.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident $($part:expr),+;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        pub unsafe extern "sysv64" fn $name(
            t: *mut Column,
            a: *const Vector,
            b: *const Vector,
            turns: usize,
            start: *const Vector,
        ) {
            naked_asm!(concat!($($part,)+ "vzeroupper\nret\n"))
        }
    )*};
}

rows! {
    /// Four rows by which all columns begin.
    first_2_1 begin_of_four!(new), turns!(turn_of_four!(new "ymm13")), end_of_four!(2 on new "ymm13");
    /// Four rows by which all columns begin.
    first_1_0 begin_of_four!(new), turns!(turn_of_four!(new "ymm13")), end_of_four!(1 on new "ymm13");
    /// Four rows by which four more columns begin.
    more_of_four_2_1 begin_of_four!(old), turns!(turn_of_four!(old "ymm13")), end_of_four!(2 more "ymm13");
    /// Four rows by which four more columns begin.
    more_of_four_1_0 begin_of_four!(old), turns!(turn_of_four!(old "ymm13")), end_of_four!(1 more "ymm13");
    /// Three rows by which three more columns begin.
    more_of_three_2_1 begin_of_three!(old), turns!(turn_of_three!(old)), end_of_three!(1 more);
    /// Three rows by which three more columns begin.
    more_of_three_1_0 begin_of_three!(old), turns!(turn_of_three!(old)), end_of_three!(0 more);
    /// Adds four rows to existing columns.
    onto_of_four_2_1 begin_of_four!(old), turns!(turn_of_four!(old "ymm13")), end_of_four!(2 on old "ymm13");
    /// Adds four rows to existing columns.
    onto_of_four_1_0 begin_of_four!(old), turns!(turn_of_four!(old "ymm13")), end_of_four!(1 on old "ymm13");
    /// Adds three rows to existing columns.
    onto_of_three_2_1 begin_of_three!(old), turns!(turn_of_three!(old)), end_of_three!(1 old);
    /// Adds three rows to existing columns.
    onto_of_three_1_0 begin_of_three!(old), turns!(turn_of_three!(old)), end_of_three!(0 old);
    /// The first four digits of a square, `b`, with each other and with those that follow; `a` are their doubles.
    square_first_2_1 begin_of_four!(new), corner_of_four!(new), turns!(turn_of_four!(new "ymm13")), turn_of_four!(new "ymm13"),
        end_of_four!(2 on new "ymm13");
    /// The first four digits of a square, `b`, with each other and with those that follow; `a` are their doubles.
    square_first_1_0 begin_of_four!(new), corner_of_four!(new), turns!(turn_of_four!(new "ymm13")), turn_of_four!(new "ymm13"),
        end_of_four!(1 on new "ymm13");
    /// Four digits of a square, with each other and with those that follow; the last four of these begin columns.
    square_of_four_2_1 begin_of_four!(old), corner_of_four!(old), turns!(turn_of_four!(old "ymm13")), end_of_four!(2 more "ymm13");
    /// Four digits of a square, with each other and with those that follow; the last four of these begin columns.
    square_of_four_1_0 begin_of_four!(old), corner_of_four!(old), turns!(turn_of_four!(old "ymm13")), end_of_four!(1 more "ymm13");
    /// Three digits of a square, with each other and with those that follow; the last three of these begin columns.
    square_of_three begin_of_three!(old), corner_of_three!(old), turns!(turn_of_three!(old)), end_of_three!(0 more);
    /// The last three digits of a square.
    square_last begin_of_three!(old), corner_of_three!(new), put!(0 3 7), put!(1 4 8);
}

/// The parts of a chain's link, which go on beside rows; see [`super::modular`]. The sum is in register 13, its columns at rcx, the factor goes to
/// r8, and r9 is the modulus.
macro_rules! link {
    (0 2) => {
        "vmovapd ymm14, [r9]\nvfmadd231pd ymm14, ymm13, [r9 + 96]\n"
    };
    (1 2) => {
        "vmovapd ymm15, ymm13\nvsubpd ymm14, ymm14, [r9]\n"
    };
    (2 2) => {
        "vfmsub132pd ymm15, ymm14, [r9 + 96]\nvmovapd [r8], ymm15\n"
    };
    // Twice as large, then brought back.
    (0 1) => {
        "vmovapd ymm14, [r9 + 64]\nvfmadd231pd ymm14, ymm13, [r9 + 96]\n"
    };
    (1 1) => {
        "vmovapd ymm15, ymm13\nvsubpd ymm14, ymm14, [r9 + 64]\nvfmsub132pd ymm15, ymm14, [r9 + 96]\n"
    };
    (2 1) => {
        "vaddpd ymm14, ymm15, [r9]\nvsubpd ymm14, ymm14, [r9]\nvsubpd ymm15, ymm15, ymm14\nvmovapd [r8], ymm15\n"
    };
    (3) => {
        "vfmadd231pd ymm13, ymm15, [r9 + 128]\nvmovapd ymm12, [rcx + 96]\nvfmadd132pd ymm13, ymm12, [r9 + 32]\n"
    };
    (4) => {
        "vmovapd ymm14, [rcx]\nvsubpd ymm14, ymm14, [r9]\nvfmadd231pd ymm13, ymm14, [r9 + 32]\n"
    };
    (5) => {
        concat!(
            "vmovapd ymm14, [rcx + 64]\nvmovapd ymm12, ymm14\nvfmadd231pd ymm14, ymm15, [r9 + 160]\n",
            "vmovapd [rcx + 64], ymm14\nvsubpd ymm12, ymm12, ymm14\nvfmadd231pd ymm12, ymm15, [r9 + 160]\n",
            "vaddpd ymm13, ymm13, ymm12\n"
        )
    };
    (digit $j:literal) => {
        concat!(
            "vmovapd ymm14, [rcx + 64*",
            $j,
            "]\nvmovapd ymm12, ymm14\nvfmadd231pd ymm14, ymm15, [r9 + 128 + 32*",
            $j,
            "]\n",
            "vmovapd [rcx + 64*",
            $j,
            "], ymm14\nvsubpd ymm12, ymm12, ymm14\n",
            "vfmadd231pd ymm12, ymm15, [r9 + 128 + 32*",
            $j,
            "]\n",
            "vaddpd ymm12, ymm12, [rcx + 64*",
            $j,
            " + 32]\nvmovapd [rcx + 64*",
            $j,
            " + 32], ymm12\n"
        )
    };
    (next) => {
        "add rcx, 64\nadd r8, 32\n"
    };
}

/// A turn of four rows beside a link of a chain of four or three.
macro_rules! turn_of_four_beside {
    ($rest:tt $third:expr) => {
        concat!(
            four!(0 0 old "[rsi + 96]", link!(0 $rest), link!(1 $rest)),
            four!(1 1 old "[rsi + 96]", link!(2 $rest), link!(3)),
            four!(2 2 old "[rsi + 96]", link!(4), link!(5)),
            four!(3 3 old "[rsi + 96]", link!(digit 2), $third),
            "add rdi, 256\nadd rdx, 128\n",
            link!(next)
        )
    };
}

/// A turn of three rows beside a link of a chain of three.
macro_rules! turn_of_three_beside {
    ($rest:tt) => {
        concat!(
            three!(0 0 old link!(0 $rest), link!(1 $rest), link!(2 $rest)),
            three!(1 1 old "", link!(3), link!(4)),
            three!(2 2 old "", link!(5), link!(digit 2)),
            "add rdi, 192\nadd rdx, 96\n",
            link!(next)
        )
    };
}

/// A function of rows beside a chain: `links` links, each with `more` turns after it that have no link, and `left` such turns at the end.
macro_rules! beside {
    ($links:literal $begin:expr, $beside:expr, $turn:expr, $end:expr) => {
        concat!(
            $begin,
            "vmovapd ymm13, [rcx + 32]\n",
            "mov eax, ",
            $links,
            "\n",
            ".p2align 5\n",
            "2:\n",
            $beside,
            "mov r10, [rsp + 8]\n",
            "test r10, r10\njz 4f\n",
            "3:\n",
            $turn,
            "dec r10\njnz 3b\n",
            "4:\n",
            "dec eax\njnz 2b\n",
            "vmovapd [rcx + 32], ymm13\n",
            "mov r10, [rsp + 16]\n",
            "test r10, r10\njz 6f\n",
            "5:\n",
            $turn,
            "dec r10\njnz 5b\n",
            "6:\n",
            $end,
            "vzeroupper\nret\n"
        )
    };
}

/// Functions of rows beside a chain: `q` (rsi) are the rows, `m` (rdx) what comes past, `chain` (rcx), `factors` (r8) and `modulus` (r9) the
/// chain's; `more` and `left` say how many turns go without a link.
macro_rules! rows_beside {
    ($($(#[$doc:meta])* $name:ident $body:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        pub unsafe extern "sysv64" fn $name(
            t: *mut Column,
            q: *const Vector,
            m: *const Vector,
            chain: *mut Column,
            factors: *mut Vector,
            modulus: *const Vector,
            more: usize,
            left: usize,
        ) {
            naked_asm!($body)
        }
    )*};
}

rows_beside! {
    /// Four rows beside four links.
    four_beside_four_2_1 beside!(4 begin_of_four!(old), turn_of_four_beside!(2 link!(digit 3)), turn_of_four!(old "[rsi + 96]"),
        end_of_four!(2 on old "[rsi + 96]"));
    /// Four rows beside four links.
    four_beside_four_1_0 beside!(4 begin_of_four!(old), turn_of_four_beside!(1 link!(digit 3)), turn_of_four!(old "[rsi + 96]"),
        end_of_four!(1 on old "[rsi + 96]"));
    /// Four rows beside three links.
    four_beside_three_2_1 beside!(3 begin_of_four!(old), turn_of_four_beside!(2 ""), turn_of_four!(old "[rsi + 96]"),
        end_of_four!(2 on old "[rsi + 96]"));
    /// Four rows beside three links.
    four_beside_three_1_0 beside!(3 begin_of_four!(old), turn_of_four_beside!(1 ""), turn_of_four!(old "[rsi + 96]"),
        end_of_four!(1 on old "[rsi + 96]"));
    /// Three rows beside three links.
    three_beside_three_2_1 beside!(3 begin_of_three!(old), turn_of_three_beside!(2), turn_of_three!(old), end_of_three!(1 old));
    /// Three rows beside three links.
    three_beside_three_1_0 beside!(3 begin_of_three!(old), turn_of_three_beside!(1), turn_of_three!(old), end_of_three!(0 old));
}

/// Functions of a chain alone.
macro_rules! chains {
    ($($(#[$doc:meta])* $name:ident $links:literal $rest:tt $third:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        pub unsafe extern "sysv64" fn $name(
            unused: usize,
            unused_too: usize,
            unused_three: usize,
            chain: *mut Column,
            factors: *mut Vector,
            modulus: *const Vector,
        ) {
            naked_asm!(concat!(
                "vmovapd ymm13, [rcx + 32]\n",
                "mov eax, ", $links, "\n",
                "2:\n",
                link!(0 $rest), link!(1 $rest), link!(2 $rest), link!(3), link!(4), link!(5), link!(digit 2), $third, link!(next),
                "dec eax\njnz 2b\n",
                "vmovapd [rcx + 32], ymm13\n",
                "vzeroupper\nret\n"
            ))
        }
    )*};
}

chains! {
    /// Four links.
    chain_of_four_2_1 4 2 link!(digit 3);
    /// Four links.
    chain_of_four_1_0 4 1 link!(digit 3);
    /// Three links.
    chain_of_three_2_1 3 2 "";
    /// Three links.
    chain_of_three_1_0 3 1 "";
}
