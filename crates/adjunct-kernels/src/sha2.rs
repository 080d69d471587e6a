//! The rounds of SHA-2 (FIPS 180-4, 6.2.2 and 6.4.2) in general registers, with BMI1's and BMI2's instructions; what a kernel makes of the
//! message schedule in vectors stands between them.
//!
//! A round is 24 instructions and 5 steps of dependence.

/// One round of SHA-512. The working variables are not moved but change their names: what was h is the new a, what was d the new e.
/// `$bc` carries b ^ c and leaves with a ^ b, the next round's.
macro_rules! round_64 {
    ($word:expr, $offset:expr, $a:ident $b:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident) => {{
        let ab: u64;
        // Compilers order the additions so that the new e comes later.
        // SAFETY: reads the word so many bytes behind `$word`.
        unsafe {
            std::arch::asm!(
                "add {h}, [{word} + {offset}]",
                "andn {t}, {e}, {g}",
                "rorx {u}, {e}, 14",
                "rorx {v}, {e}, 18",
                "add {h}, {t}",
                "mov {t}, {e}",
                "and {t}, {f}",
                "xor {u}, {v}",
                "rorx {v}, {e}, 41",
                "add {h}, {t}",
                "xor {u}, {v}",
                "mov {t}, {a}",
                "xor {t}, {b}",
                "add {h}, {u}",
                "rorx {u}, {a}, 28",
                "rorx {v}, {a}, 34",
                "add {d}, {h}",
                "and {bc}, {t}",
                "xor {u}, {v}",
                "rorx {v}, {a}, 39",
                "xor {bc}, {b}",
                "xor {u}, {v}",
                "add {h}, {bc}",
                "add {h}, {u}",
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

/// One round of SHA-256.
macro_rules! round_32 {
    ($word:expr, $offset:expr, $a:ident $b:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident) => {{
        let ab: u32;
        // Compilers order the additions so that the new e comes later.
        // SAFETY: reads the word so many bytes behind `$word`.
        unsafe {
            std::arch::asm!(
                "add {h:e}, [{word} + {offset}]",
                "andn {t:e}, {e:e}, {g:e}",
                "rorx {u:e}, {e:e}, 6",
                "rorx {v:e}, {e:e}, 11",
                "add {h:e}, {t:e}",
                "mov {t:e}, {e:e}",
                "and {t:e}, {f:e}",
                "xor {u:e}, {v:e}",
                "rorx {v:e}, {e:e}, 25",
                "add {h:e}, {t:e}",
                "xor {u:e}, {v:e}",
                "mov {t:e}, {a:e}",
                "xor {t:e}, {b:e}",
                "add {h:e}, {u:e}",
                "rorx {u:e}, {a:e}, 2",
                "rorx {v:e}, {a:e}, 13",
                "add {d:e}, {h:e}",
                "and {bc:e}, {t:e}",
                "xor {u:e}, {v:e}",
                "rorx {v:e}, {a:e}, 22",
                "xor {bc:e}, {b:e}",
                "xor {u:e}, {v:e}",
                "add {h:e}, {bc:e}",
                "add {h:e}, {u:e}",
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

/// Eight rounds, each by `$round`, and after each of them `$then`, which is told which it was, from `$first` on. As many words as 16 bytes
/// take lie side by side, the next at a distance of `$stride` bytes. Where there is a `$pin`, a vector of 256 bits, the compiler
/// keeps what `$then` has made of it between the round before and the one after. Then the names are what they were.
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

/// All `$all` eights of rounds of a block, whose words of `$bytes` bytes begin at `$words`, and what they add to the chaining value. After
/// each of the first `$sixteens` times sixteen comes `$then`, which is told the sixteen and the round within. The rounds that have nothing
/// between them are a loop of eight: between other programs' code the kernel's is fetched anew, and each copy of the rounds costs time.
/// Where `$also` is another block's words, made meanwhile, that block follows.
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

/// The same, which the compiler does not know to be the same: it reads the value again in the end, where it would keep a copy meanwhile.
#[inline(always)]
pub(crate) fn again<T>(value: &T) -> &T {
    let mut at = std::ptr::from_ref(value);
    // SAFETY: no instruction.
    unsafe {
        std::arch::asm!("/* {} */", inout(reg) at, options(pure, readonly, nostack, preserves_flags));
        &*at
    }
}

pub(crate) use {eight_rounds, round_32, round_64, rounds};
