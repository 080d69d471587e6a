//! The S-boxes as circuits of instructions that take any function of three bits, found by a search after Kwan's ("Reducing the gate
//! count of bitslice DES", 2000) with such functions as gates. 220 instructions in all.

use std::arch::x86_64::*;

/// The function of three bits whose truth table is T: bit `4 a + 2 b + c` of it.
///
/// # Safety
/// The CPU has AVX-512 (F).
#[inline(always)]
unsafe fn g<const T: i32>(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // SAFETY: upheld by the caller.
    unsafe { _mm512_ternarylogic_epi64::<T>(a, b, c) }
}

/// The outputs of S-box K for its inputs, from the first on.
///
/// # Safety
/// The CPU has AVX-512 (F).
#[rustfmt::skip]
#[inline(always)]
pub(super) unsafe fn sbox<const K: usize>([a, b, c, d, e, f]: [__m512i; 6]) -> [__m512i; 4] {
    // SAFETY: upheld by the caller.
    unsafe {
        match K {
            0 => {
                let x0 = g::<0x68>(f, a, b); let x1 = g::<0x29>(x0, d, e); let x2 = g::<0xa4>(e, x1, f); let x3 = g::<0x87>(x2, d, b);
                let x4 = g::<0xac>(a, x3, x1); let x5 = g::<0x5e>(a, f, e); let x6 = g::<0x1e>(x5, x4, x1); let x7 = g::<0xbc>(e, x0, x3);
                let x8 = g::<0xac>(b, x6, x7); let x9 = g::<0xac>(c, x8, x4); let x10 = g::<0x29>(x2, d, x8); let x11 = g::<0x72>(x3, x8, f);
                let x12 = g::<0xac>(a, x10, x11); let x13 = g::<0xbd>(d, x7, x4); let x14 = g::<0x91>(x8, x5, x11); let x15 = g::<0xa8>(f, x14, x13);
                let x16 = g::<0xac>(c, x15, x12); let x17 = g::<0x94>(x4, b, f); let x18 = g::<0xe5>(x17, x6, x10); let x19 = g::<0x61>(x6, x14, x10);
                let x20 = g::<0xac>(c, x18, x19); let x21 = g::<0x40>(x9, x0, x15); let x22 = g::<0x49>(x21, c, x18);
                let x23 = g::<0xac>(e, x20, x22); let x24 = g::<0xd8>(x11, x15, x18); let x25 = g::<0xb4>(x24, x5, f);
                let x26 = g::<0xb6>(x0, x17, x6); let x27 = g::<0xe9>(x14, x22, a); let x28 = g::<0xac>(d, x26, x27);
                let x29 = g::<0xac>(c, x28, x25);
                [x9, x29, x16, x23]
            }
            1 => {
                let x0 = g::<0x77>(e, b, f); let x1 = g::<0x86>(b, f, e); let x2 = g::<0xac>(c, x0, x1); let x3 = g::<0x52>(e, x0, c);
                let x4 = g::<0x0e>(x3, b, f); let x5 = g::<0xac>(a, x2, x4); let x6 = g::<0x4a>(f, a, x1); let x7 = g::<0x69>(x6, x5, e);
                let x8 = g::<0xac>(d, x5, x7); let x9 = g::<0x69>(e, d, a); let x10 = g::<0x68>(x2, x8, x9); let x11 = g::<0x6b>(x10, x4, x7);
                let x12 = g::<0xac>(b, x9, x11); let x13 = g::<0x9c>(d, x2, x4); let x14 = g::<0x9a>(x13, c, x9); let x15 = g::<0xac>(f, x12, x14);
                let x16 = g::<0x24>(x5, x15, x2); let x17 = g::<0x34>(x16, x3, f); let x18 = g::<0xad>(x14, x6, f); let x19 = g::<0xac>(d, x18, x17);
                let x20 = g::<0xe2>(x14, x4, x13); let x21 = g::<0x5a>(x20, d, x5); let x22 = g::<0xac>(b, x19, x21);
                let x23 = g::<0xe4>(x17, x8, x10); let x24 = g::<0xb5>(x23, x19, x2); let x25 = g::<0xca>(x7, x21, x10);
                let x26 = g::<0x16>(x25, x9, x2); let x27 = g::<0xac>(b, x24, x26);
                [x22, x15, x27, x8]
            }
            2 => {
                let x0 = g::<0x94>(b, e, d); let x1 = g::<0x52>(x0, a, c); let x2 = g::<0xea>(x1, b, d); let x3 = g::<0x6b>(x2, e, c);
                let x4 = g::<0xac>(f, x3, x1); let x5 = g::<0x8e>(x2, x1, f); let x6 = g::<0xc2>(x5, e, b); let x7 = g::<0x34>(e, f, x6);
                let x8 = g::<0xb4>(x7, x2, x0); let x9 = g::<0xac>(c, x6, x8); let x10 = g::<0xac>(a, x4, x9); let x11 = g::<0x1c>(c, x0, x6);
                let x12 = g::<0x2d>(x11, x7, x2); let x13 = g::<0xe4>(c, d, e); let x14 = g::<0x96>(x13, b, f); let x15 = g::<0xac>(a, x14, x12);
                let x16 = g::<0x96>(c, x0, f); let x17 = g::<0x8d>(x10, x0, x14); let x18 = g::<0xac>(b, x17, x16); let x19 = g::<0xb8>(x12, b, d);
                let x20 = g::<0x53>(x19, x11, x18); let x21 = g::<0xac>(a, x20, x18); let x22 = g::<0xb6>(x10, x6, x11);
                let x23 = g::<0x69>(x17, x16, x6); let x24 = g::<0xac>(a, x22, x23); let x25 = g::<0xe6>(x1, a, c); let x26 = g::<0x52>(x25, x2, x14);
                let x27 = g::<0xac>(d, x26, x24);
                [x21, x27, x10, x15]
            }
            3 => {
                let x0 = g::<0x3a>(b, d, c); let x1 = g::<0xb6>(d, x0, b); let x2 = g::<0xac>(e, x1, x0); let x3 = g::<0x42>(e, c, d);
                let x4 = g::<0x5b>(x3, x0, x1); let x5 = g::<0xac>(a, x2, x4); let x6 = g::<0x96>(b, c, a); let x7 = g::<0xda>(x6, x0, x1);
                let x8 = g::<0x63>(x7, x2, x4); let x9 = g::<0xac>(e, x8, x7); let x10 = g::<0xac>(f, x9, x5); let x11 = g::<0x8d>(x5, x9, f);
                let x12 = g::<0xa1>(a, x6, x0); let x13 = g::<0xda>(x9, x6, c); let x14 = g::<0x61>(x13, a, x3); let x15 = g::<0xac>(e, x12, x14);
                let x16 = g::<0xd6>(d, x9, e); let x17 = g::<0x1c>(x16, x6, x14); let x18 = g::<0xac>(f, x15, x17); let x19 = g::<0xb1>(x15, x17, f);
                [x19, x18, x10, x11]
            }
            4 => {
                let x0 = g::<0xd6>(a, e, c); let x1 = g::<0x69>(x0, b, f); let x2 = g::<0xc2>(f, c, e); let x3 = g::<0xd3>(x2, x1, a);
                let x4 = g::<0x26>(f, x2, a); let x5 = g::<0xb5>(x4, e, x3); let x6 = g::<0xac>(b, x3, x5); let x7 = g::<0xac>(d, x6, x1);
                let x8 = g::<0xd6>(c, x7, x5); let x9 = g::<0xe0>(x8, a, x6); let x10 = g::<0x62>(x8, x0, x2); let x11 = g::<0xac>(d, x10, x9);
                let x12 = g::<0x1a>(x0, e, d); let x13 = g::<0xb6>(x12, x10, x6); let x14 = g::<0x92>(f, x12, x4); let x15 = g::<0x2e>(x14, x7, e);
                let x16 = g::<0xac>(a, x13, x15); let x17 = g::<0xac>(b, x11, x16); let x18 = g::<0x65>(x5, x12, x15); let x19 = g::<0x2d>(x3, e, x9);
                let x20 = g::<0xac>(f, x19, x18); let x21 = g::<0x3e>(x11, x3, x17); let x22 = g::<0x1d>(x16, x10, x3);
                let x23 = g::<0xac>(c, x21, x22); let x24 = g::<0xac>(d, x20, x23); let x25 = g::<0xac>(x17, a, b); let x26 = g::<0x96>(x25, x7, x24);
                let x27 = g::<0x82>(x4, x3, x12); let x28 = g::<0xa9>(x27, x26, x17); let x29 = g::<0xac>(e, x28, x26);
                [x29, x7, x24, x17]
            }
            5 => {
                let x0 = g::<0x69>(d, e, a); let x1 = g::<0xd5>(d, b, x0); let x2 = g::<0x8e>(b, a, d); let x3 = g::<0xac>(e, x2, x1);
                let x4 = g::<0xac>(f, x0, x3); let x5 = g::<0x96>(f, b, x0); let x6 = g::<0x25>(x5, f, x4); let x7 = g::<0xac>(e, x6, x5);
                let x8 = g::<0xac>(c, x7, x4); let x9 = g::<0x93>(x5, x0, x2); let x10 = g::<0x2e>(x7, a, x1); let x11 = g::<0x78>(x10, x5, x4);
                let x12 = g::<0xac>(c, x9, x11); let x13 = g::<0x58>(c, e, x9); let x14 = g::<0x36>(c, x7, e); let x15 = g::<0xac>(a, x13, x14);
                let x16 = g::<0xac>(b, x15, x12); let x17 = g::<0x39>(f, x5, x3); let x18 = g::<0xd1>(x11, x9, x17); let x19 = g::<0xac>(c, x18, x17);
                let x20 = g::<0x56>(x15, x3, x14); let x21 = g::<0xe4>(x20, x19, x9); let x22 = g::<0xac>(a, x21, x19); let x23 = g::<0x7c>(x2, c, e);
                let x24 = g::<0x5b>(x23, x19, x5); let x25 = g::<0x48>(c, x16, x3); let x26 = g::<0x4b>(x25, x0, x13);
                let x27 = g::<0xac>(f, x26, x24);
                [x8, x22, x27, x16]
            }
            6 => {
                let x0 = g::<0xb8>(a, b, d); let x1 = g::<0x96>(x0, e, f); let x2 = g::<0xd8>(b, e, d); let x3 = g::<0x65>(x2, f, x1);
                let x4 = g::<0xac>(c, x1, x3); let x5 = g::<0xd6>(f, x2, c); let x6 = g::<0xd0>(x5, x1, x3); let x7 = g::<0xb5>(x6, c, b);
                let x8 = g::<0xac>(d, x6, x7); let x9 = g::<0xac>(a, x4, x8); let x10 = g::<0x65>(x5, x4, d); let x11 = g::<0x6e>(c, x9, d);
                let x12 = g::<0xa1>(x11, f, x5); let x13 = g::<0xac>(e, x10, x12); let x14 = g::<0x2a>(d, x13, f); let x15 = g::<0x39>(x14, x4, b);
                let x16 = g::<0xac>(a, x13, x15); let x17 = g::<0x90>(x7, x13, c); let x18 = g::<0x39>(x17, x15, d);
                let x19 = g::<0xdc>(x2, x13, x16); let x20 = g::<0x96>(x19, x1, a); let x21 = g::<0xac>(b, x18, x20); let x22 = g::<0x4e>(x13, x8, a);
                let x23 = g::<0x69>(x4, x11, x22); let x24 = g::<0xac>(e, x22, x23); let x25 = g::<0xa6>(x17, x14, x11);
                let x26 = g::<0x6e>(x25, x9, x5); let x27 = g::<0xac>(a, x25, x26); let x28 = g::<0xac>(b, x27, x24);
                [x9, x16, x28, x21]
            }
            _ => {
                let x0 = g::<0xa6>(e, c, b); let x1 = g::<0x2c>(x0, d, f); let x2 = g::<0x34>(b, c, d); let x3 = g::<0xb5>(x2, x0, e);
                let x4 = g::<0xac>(f, x3, x1); let x5 = g::<0x76>(b, e, d); let x6 = g::<0x6d>(x5, c, f); let x7 = g::<0x96>(f, x5, x0);
                let x8 = g::<0xac>(c, x6, x7); let x9 = g::<0xac>(a, x8, x4); let x10 = g::<0x14>(x9, b, d); let x11 = g::<0x96>(x10, a, x3);
                let x12 = g::<0x58>(x0, x5, d); let x13 = g::<0x8d>(x12, x8, a); let x14 = g::<0x96>(x12, a, c); let x15 = g::<0xac>(e, x13, x14);
                let x16 = g::<0xac>(f, x15, x11); let x17 = g::<0x69>(x2, x5, d); let x18 = g::<0x9c>(x5, x0, d); let x19 = g::<0xac>(a, x17, x18);
                let x20 = g::<0x65>(a, e, x15); let x21 = g::<0xac>(f, x19, x20); let x22 = g::<0x94>(e, d, x8); let x23 = g::<0xc6>(x22, x18, a);
                let x24 = g::<0x5c>(x13, x4, x3); let x25 = g::<0x96>(x24, a, x17); let x26 = g::<0xac>(b, x23, x25);
                [x21, x9, x26, x16]
            }
        }
    }
}
