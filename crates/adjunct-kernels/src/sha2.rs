//! The rounds of SHA-2 (FIPS 180-4, 6.2.2 and 6.4.2) in general registers, with BMI1's and BMI2's instructions; a kernel's vector instructions for
//! the message schedule are placed between them.
//!
//! A round is 24 instructions and 5 steps of dependence.

/// A round. The working variables are not moved but renamed: the old h becomes a, the old d becomes e. `$bc` carries b ^ c and leaves with a ^ b, the
/// next round's. `$size` names registers of the words' size in assembly; the numbers are those of the rotations in Sigma 1 and Sigma 0.
macro_rules! round {
    ($word_type:ty, $size:literal, [$e1:literal $e2:literal $e3:literal], [$a1:literal $a2:literal $a3:literal],
        $word:expr, $offset:expr, $a:ident $b:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident) => {{
        let ab: $word_type;
        // Compilers order the additions so that the new e comes later.
        // SAFETY: reads the word so many bytes behind `$word`.
        unsafe {
            std::arch::asm!(
                concat!("add {h", $size, "}, [{word} + {offset}]"),
                concat!("andn {t", $size, "}, {e", $size, "}, {g", $size, "}"),
                concat!("rorx {u", $size, "}, {e", $size, "}, ", $e1),
                concat!("rorx {v", $size, "}, {e", $size, "}, ", $e2),
                concat!("add {h", $size, "}, {t", $size, "}"),
                concat!("mov {t", $size, "}, {e", $size, "}"),
                concat!("and {t", $size, "}, {f", $size, "}"),
                concat!("xor {u", $size, "}, {v", $size, "}"),
                concat!("rorx {v", $size, "}, {e", $size, "}, ", $e3),
                concat!("add {h", $size, "}, {t", $size, "}"),
                concat!("xor {u", $size, "}, {v", $size, "}"),
                concat!("mov {t", $size, "}, {a", $size, "}"),
                concat!("xor {t", $size, "}, {b", $size, "}"),
                concat!("add {h", $size, "}, {u", $size, "}"),
                concat!("rorx {u", $size, "}, {a", $size, "}, ", $a1),
                concat!("rorx {v", $size, "}, {a", $size, "}, ", $a2),
                concat!("add {d", $size, "}, {h", $size, "}"),
                concat!("and {bc", $size, "}, {t", $size, "}"),
                concat!("xor {u", $size, "}, {v", $size, "}"),
                concat!("rorx {v", $size, "}, {a", $size, "}, ", $a3),
                concat!("xor {bc", $size, "}, {b", $size, "}"),
                concat!("xor {u", $size, "}, {v", $size, "}"),
                concat!("add {h", $size, "}, {bc", $size, "}"),
                concat!("add {h", $size, "}, {u", $size, "}"),
                word = in(reg) $word,
                offset = const $offset,
                a = in(reg) $a,
                b = in(reg) $b,
                d = inout(reg) $d,
                e = in(reg) $e,
                f = in(reg) $f,
                g = in(reg) $g,
                h = inout(reg) $h,
                bc = inout(reg) $bc => _,
                t = out(reg) ab,
                u = out(reg) _,
                v = out(reg) _,
                options(pure, readonly, nostack),
            );
        }
        $bc = ab;
    }};
}

/// A round of SHA-512.
macro_rules! round_64 {
    ($($round:tt)*) => { crate::sha2::round!(u64, "", [14 18 41], [28 34 39], $($round)*) };
}

/// A round of SHA-256.
macro_rules! round_32 {
    ($($round:tt)*) => { crate::sha2::round!(u32, ":e", [6 11 25], [2 13 22], $($round)*) };
}

/// Eight rounds, each by `$round`, and after each of them `$then`, which gets the number of the round, from `$first` on. As many words as 16 bytes
/// hold lie side by side, the next at a distance of `$stride` bytes. With a `$pin`, a vector of 256 bits, the compiler keeps the results of `$then`
/// between the round before and the one after. At the end the variables have their names again.
macro_rules! eight_rounds {
    ($do:ident $word:expr, $bytes:literal, $stride:literal, $first:literal,
        [$a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident], |$round:ident| $then:expr, $($pin:ident)?) => {{
        eight_rounds!(@two $do $word, $bytes, $stride, $first, $a $b $c $d $e $f $g $h $bc, $round $then, $($pin)?);
        eight_rounds!(@two $do $word, $bytes, $stride, $first + 2, $g $h $a $b $c $d $e $f $bc, $round $then, $($pin)?);
        eight_rounds!(@two $do $word, $bytes, $stride, $first + 4, $e $f $g $h $a $b $c $d $bc, $round $then, $($pin)?);
        eight_rounds!(@two $do $word, $bytes, $stride, $first + 6, $c $d $e $f $g $h $a $b $bc, $round $then, $($pin)?);
    }};
    (@two $do:ident $word:expr, $bytes:literal, $stride:literal, $at:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident
        $h:ident $bc:ident, $round:ident $then:expr, $($pin:ident)?) => {{
        $do!($word, ($at) * $bytes / 16 * $stride + ($at) * $bytes % 16, $a $b $d $e $f $g $h $bc);
        eight_rounds!(@then $round, $at, $then, $h $($pin)?);
        $do!($word, ($at) * $bytes / 16 * $stride + ($at) * $bytes % 16 + $bytes, $h $a $c $d $e $f $g $bc);
        eight_rounds!(@then $round, $at + 1, $then, $g $($pin)?);
    }};
    (@then $round:ident, $at:expr, $then:expr, $value:ident) => {
        let $round: usize = $at;
        let () = $then;
    };
    (@then $round:ident, $at:expr, $then:expr, $value:ident $pin:ident) => {
        let $round: usize = $at;
        let () = $then;
        // SAFETY: no instruction; the round before has made the value, and the round after takes it.
        unsafe {
            std::arch::asm!("/* {0:r} {1} */", inout(reg) $value, inout(ymm_reg) $pin, options(pure, nomem, nostack, preserves_flags));
        }
    };
}

/// All `$all` eights of rounds of a block, whose words of `$bytes` bytes begin at `$words`, and the additions to the chaining value. After each of
/// the first `$sixteens` times sixteen comes `$then`, which gets the sixteen and the round within. The rounds with nothing between them are a loop of
/// eight: between other programs' code the kernel's is fetched anew, and each copy of the rounds costs time. Where `$also` names another block's
/// words, made meanwhile, that block follows.
macro_rules! rounds {
    ($do:ident $all:literal, $state:ident, $words:expr, $also:expr, $bytes:literal, $stride:literal, $sixteens:literal,
        |$sixteen:ident, $round:ident| $then:expr $(, $pin:ident)?) => {{
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *$crate::sha2::again($state);
        let mut bc = b ^ c;
        let mut words: *const u8 = $words;
        let mut also: Option<*const u8> = $also;
        let mut $sixteen = 0;
        while $sixteen != $sixteens {
            eight_rounds!($do words, $bytes, $stride, 0, [a b c d e f g h bc], |$round| $then, $($pin)?);
            eight_rounds!($do words, $bytes, $stride, 8, [a b c d e f g h bc], |$round| $then, $($pin)?);
            words = words.wrapping_add($bytes * $stride);
            $sixteen += 1;
        }
        // So that the compiler does not unroll the loop.
        let mut left = std::hint::black_box($all - 2 * $sixteens);
        loop {
            while left > 0 {
                eight_rounds!($do words, $bytes, $stride, 0, [a b c d e f g h bc], |_round| (),);
                words = words.wrapping_add($bytes * $stride / 2);
                left -= 1;
            }
            for (sum, value) in $state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                let sum = std::ptr::from_mut(sum);
                // SAFETY: the reference of the line before. Volatile, so that the compiler does not gather the values in vectors first.
                unsafe { sum.write_volatile((*sum).wrapping_add(value)) };
            }
            let Some(next) = also.take() else { break };
            (words, left) = (next, $all);
            [a, b, c, d, e, f, g, h] = *$crate::sha2::again($state);
            bc = b ^ c;
        }
        // The last round leaves what no round reads.
        let _unread = bc;
    }};
}

/// `value` as a reference of which the compiler does not know that it is the same one: so the compiler reads the value again in the end
/// instead of keeping a copy meanwhile.
#[inline(always)]
pub(crate) fn again<T>(value: &T) -> &T {
    let mut at = std::ptr::from_ref(value);
    // SAFETY: no instruction.
    unsafe {
        std::arch::asm!("/* {} */", inout(reg) at, options(pure, readonly, nostack, preserves_flags));
        &*at
    }
}

pub(crate) use {eight_rounds, round, round_32, round_64, rounds};
