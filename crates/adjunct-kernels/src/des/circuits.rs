//! The S-boxes as circuits of AND, OR, XOR and AND-NOT, found by a search after Kwan's ("Reducing the gate count of bitslice
//! DES", 2000). 466 instructions in all.

use std::arch::x86_64::*;

/// Which outputs are complements: of each S-box the lowest bit for the first.
pub(super) const COMPLEMENTS: [u8; 8] = [2, 13, 1, 8, 3, 2, 12, 12];

#[inline(always)]
unsafe fn and(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: upheld by the caller.
    unsafe { _mm256_and_si256(a, b) }
}

#[inline(always)]
unsafe fn or(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: upheld by the caller.
    unsafe { _mm256_or_si256(a, b) }
}

#[inline(always)]
unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: upheld by the caller.
    unsafe { _mm256_xor_si256(a, b) }
}

/// a and not b.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn but(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: upheld by the caller.
    unsafe { _mm256_andnot_si256(b, a) }
}

#[inline(always)]
unsafe fn not(a: __m256i) -> __m256i {
    // SAFETY: upheld by the caller.
    unsafe { _mm256_xor_si256(a, _mm256_set1_epi8(-1)) }
}

/// The outputs of S-box K for its inputs, from the first on, with COMPLEMENTS.
///
/// # Safety
/// The CPU has AVX2.
#[rustfmt::skip]
#[inline(always)]
pub(super) unsafe fn sbox<const K: usize>([a, b, c, d, e, f]: [__m256i; 6]) -> [__m256i; 4] {
    // SAFETY: upheld by the caller.
    unsafe {
        match K {
            0 => {
                let x0 = xor(f, e); let x1 = or(f, x0); let x2 = and(x1, d); let x3 = xor(x2, x0); let x4 = xor(a, x2); let x5 = and(e, x3);
                let x6 = but(x4, x5); let x7 = but(x6, c); let x8 = xor(x7, x3); let x9 = xor(d, c); let x10 = or(x9, e); let x11 = xor(x10, x7);
                let x12 = not(x9); let x13 = or(x12, d); let x14 = xor(x13, x11); let x15 = but(x14, a); let x16 = xor(x15, x11);
                let x17 = but(x16, b); let x18 = xor(x17, x8); let x19 = or(x0, b); let x20 = but(x18, x7); let x21 = but(x19, x20);
                let x22 = and(b, x8); let x23 = xor(x1, d); let x24 = xor(x22, x23); let x25 = but(x24, a); let x26 = xor(x25, x21);
                let x27 = but(x4, x24); let x28 = but(x1, x27); let x29 = xor(x28, x17); let x30 = xor(f, x9); let x31 = and(x29, x30);
                let x32 = but(x31, b); let x33 = xor(x32, x28); let x34 = and(x33, c); let x35 = xor(x34, x26); let x36 = xor(x9, a);
                let x37 = but(x18, x34); let x38 = xor(x36, x37); let x39 = xor(x38, x26); let x40 = or(x39, x17); let x41 = and(x40, f);
                let x42 = xor(x41, x38); let x43 = xor(b, x8); let x44 = but(x41, x34); let x45 = xor(x43, x44); let x46 = xor(x33, x37);
                let x47 = but(x46, x24); let x48 = but(x47, a); let x49 = xor(x48, x45); let x50 = but(x49, e); let x51 = xor(x50, x42);
                let x52 = xor(x17, x34); let x53 = xor(x52, x39); let x54 = but(x52, x20); let x55 = but(x54, f); let x56 = xor(x55, x53);
                let x57 = or(x50, x25); let x58 = xor(x42, x40); let x59 = but(x57, x58); let x60 = but(x59, d); let x61 = xor(x60, x56);
                [x18, x51, x61, x35]
            }
            1 => {
                let x0 = but(e, d); let x1 = xor(c, f); let x2 = xor(x0, x1); let x3 = but(d, e); let x4 = or(f, x1); let x5 = xor(x3, x4);
                let x6 = and(x5, b); let x7 = xor(x6, x2); let x8 = but(f, x7); let x9 = xor(x8, d); let x10 = and(x9, e); let x11 = xor(x10, a);
                let x12 = xor(x2, e); let x13 = or(x12, f); let x14 = and(x13, b); let x15 = xor(x14, x11); let x16 = and(x15, a);
                let x17 = xor(x16, x7); let x18 = xor(x13, b); let x19 = not(x18); let x20 = but(d, x6); let x21 = or(x20, e);
                let x22 = xor(x21, x19); let x23 = but(x18, e); let x24 = xor(x21, x8); let x25 = or(x23, x24); let x26 = and(x25, c);
                let x27 = xor(x26, x22); let x28 = but(x14, f); let x29 = and(x28, e); let x30 = or(x29, a); let x31 = xor(x30, x27);
                let x32 = and(f, x30); let x33 = xor(x32, x15); let x34 = but(x32, x17); let x35 = xor(x34, f); let x36 = but(x35, b);
                let x37 = xor(x36, x33); let x38 = xor(x22, x35); let x39 = or(x17, x19); let x40 = but(x39, f); let x41 = xor(x40, x38);
                let x42 = but(x41, e); let x43 = xor(x42, x37); let x44 = or(x2, x41); let x45 = xor(x44, x18); let x46 = or(x34, x37);
                let x47 = xor(x46, x26); let x48 = and(x47, a); let x49 = xor(x48, x45); let x50 = or(b, x46); let x51 = xor(x50, x17);
                let x52 = xor(c, x31); let x53 = but(x52, x42); let x54 = but(x53, a); let x55 = xor(x54, x51); let x56 = and(x55, d);
                let x57 = xor(x56, x49);
                [x17, x31, x57, x43]
            }
            2 => {
                let x0 = xor(a, b); let x1 = xor(f, c); let x2 = xor(x0, x1); let x3 = and(c, b); let x4 = but(f, x3); let x5 = or(x4, a);
                let x6 = xor(x5, x4); let x7 = but(x6, d); let x8 = xor(x7, x2); let x9 = xor(c, d); let x10 = or(x0, x1); let x11 = xor(x10, x9);
                let x12 = and(x11, a); let x13 = xor(x12, x9); let x14 = but(x13, e); let x15 = xor(x14, x8); let x16 = xor(a, e);
                let x17 = xor(x16, x4); let x18 = or(x13, x15); let x19 = but(x14, x16); let x20 = but(x18, x19); let x21 = but(x20, d);
                let x22 = xor(x21, x17); let x23 = or(x2, x14); let x24 = xor(x23, b); let x25 = but(d, b); let x26 = or(x25, a);
                let x27 = xor(x26, x24); let x28 = but(x27, f); let x29 = xor(x28, x22); let x30 = xor(x12, f); let x31 = but(x15, x29);
                let x32 = xor(x30, x31); let x33 = xor(x27, x1); let x34 = not(x10); let x35 = or(x34, c); let x36 = xor(x35, x33);
                let x37 = but(x36, a); let x38 = xor(x37, x32); let x39 = or(x9, x17); let x40 = xor(x39, f); let x41 = and(f, x25);
                let x42 = or(x41, x1); let x43 = but(x42, b); let x44 = xor(x43, x40); let x45 = and(x44, e); let x46 = xor(x45, x38);
                let x47 = xor(x17, x44); let x48 = xor(x22, x46); let x49 = not(x48); let x50 = or(x49, c); let x51 = xor(x50, x47);
                let x52 = or(e, x51); let x53 = xor(x52, x23); let x54 = and(x23, x20); let x55 = xor(x54, x44); let x56 = but(x55, b);
                let x57 = xor(x56, x53); let x58 = and(x57, d); let x59 = xor(x58, x51);
                [x29, x59, x46, x15]
            }
            3 => {
                let x0 = xor(e, d); let x1 = not(x0); let x2 = and(x0, d); let x3 = xor(x2, c); let x4 = or(x3, b); let x5 = xor(x4, x1);
                let x6 = but(e, x3); let x7 = not(x6); let x8 = and(x3, d); let x9 = and(x8, b); let x10 = xor(x9, x7); let x11 = but(x10, a);
                let x12 = xor(x11, x5); let x13 = xor(e, x9); let x14 = xor(c, b); let x15 = xor(x14, x10); let x16 = or(x15, d);
                let x17 = xor(x16, x13); let x18 = or(x11, x12); let x19 = but(x18, x8); let x20 = or(x19, a); let x21 = xor(x20, x17);
                let x22 = or(x21, f); let x23 = xor(x22, x12); let x24 = xor(x16, x19); let x25 = xor(a, f); let x26 = xor(x24, x25);
                let x27 = xor(x12, x24); let x28 = xor(x27, x10); let x29 = and(x28, b); let x30 = xor(x29, x26); let x31 = or(x2, x11);
                let x32 = xor(x31, x15); let x33 = but(x3, x13); let x34 = xor(x33, x18); let x35 = or(x34, b); let x36 = xor(x35, x32);
                let x37 = or(x36, f); let x38 = xor(x37, x30); let x39 = xor(f, x38); let x40 = xor(x39, x36); let x41 = not(x12);
                let x42 = and(x21, f); let x43 = xor(x42, x41);
                [x23, x43, x38, x40]
            }
            4 => {
                let x0 = xor(b, a); let x1 = xor(x0, e); let x2 = and(a, e); let x3 = or(x2, c); let x4 = xor(x3, x1); let x5 = xor(f, x4);
                let x6 = xor(x3, b); let x7 = xor(f, c); let x8 = but(x6, x7); let x9 = and(x1, x8); let x10 = not(x9); let x11 = or(x1, x5);
                let x12 = and(x11, b); let x13 = xor(x12, x10); let x14 = or(x13, a); let x15 = xor(x14, x8); let x16 = but(x15, d);
                let x17 = xor(x16, x5); let x18 = and(x13, x15); let x19 = or(x5, x16); let x20 = xor(x18, x19); let x21 = xor(e, d);
                let x22 = but(x17, x21); let x23 = but(x22, b); let x24 = xor(x23, x6); let x25 = or(x24, c); let x26 = xor(x25, x20);
                let x27 = and(x20, d); let x28 = or(x21, x12); let x29 = xor(x27, x28); let x30 = but(x1, d); let x31 = or(x30, x8);
                let x32 = but(x31, c); let x33 = xor(x32, x29); let x34 = or(x33, a); let x35 = xor(x34, x26); let x36 = xor(x1, c);
                let x37 = but(x3, x36); let x38 = but(b, e); let x39 = or(x38, f); let x40 = but(x39, d); let x41 = xor(x40, x37);
                let x42 = or(x0, x35); let x43 = and(x14, x1); let x44 = xor(x43, x28); let x45 = but(x44, f); let x46 = xor(x45, x42);
                let x47 = but(x46, a); let x48 = xor(x47, x41); let x49 = but(x44, x47); let x50 = xor(x49, e); let x51 = and(x20, x33);
                let x52 = or(x51, x6); let x53 = and(x52, b); let x54 = xor(x53, x50); let x55 = or(x19, x28); let x56 = xor(x55, x40);
                let x57 = or(b, x48); let x58 = but(x57, c); let x59 = xor(x58, x56); let x60 = but(x59, f); let x61 = xor(x60, x54);
                [x35, x17, x48, x61]
            }
            5 => {
                let x0 = xor(a, f); let x1 = xor(e, b); let x2 = xor(x0, x1); let x3 = not(e); let x4 = and(x2, x0); let x5 = or(x4, e);
                let x6 = and(x5, a); let x7 = xor(x6, x3); let x8 = and(x7, c); let x9 = xor(x8, x2); let x10 = xor(x7, x0); let x11 = but(b, x8);
                let x12 = but(x10, x11); let x13 = or(x5, x12); let x14 = xor(c, x9); let x15 = and(x13, x14); let x16 = but(x15, a);
                let x17 = xor(x16, x12); let x18 = and(x17, d); let x19 = xor(x18, x9); let x20 = xor(x7, x17); let x21 = but(x4, d);
                let x22 = xor(x20, x21); let x23 = but(d, x15); let x24 = xor(x23, x19); let x25 = but(x24, b); let x26 = xor(x25, x22);
                let x27 = xor(d, x8); let x28 = xor(x27, x5); let x29 = or(x22, x14); let x30 = xor(x29, a); let x31 = but(x30, f);
                let x32 = xor(x31, x28); let x33 = but(x32, e); let x34 = xor(x33, x26); let x35 = or(x33, x11); let x36 = xor(x35, x0);
                let x37 = and(x35, x30); let x38 = xor(x37, x3); let x39 = but(x38, f); let x40 = xor(x39, x36); let x41 = but(x38, x16);
                let x42 = xor(x17, x36); let x43 = or(x42, x4); let x44 = but(x43, e); let x45 = xor(x44, x41); let x46 = or(x45, d);
                let x47 = xor(x46, x40); let x48 = but(x6, x32); let x49 = xor(x48, x14); let x50 = xor(x18, x23); let x51 = xor(x50, x47);
                let x52 = or(x51, a); let x53 = xor(x52, x49); let x54 = or(x51, f); let x55 = or(b, x32); let x56 = xor(x55, x27);
                let x57 = but(x56, a); let x58 = xor(x57, x54); let x59 = but(x58, c); let x60 = xor(x59, x53);
                [x47, x19, x34, x60]
            }
            6 => {
                let x0 = xor(a, d); let x1 = not(x0); let x2 = xor(f, a); let x3 = xor(x1, c); let x4 = or(x2, x3); let x5 = and(x4, f);
                let x6 = xor(x5, x1); let x7 = xor(x3, x6); let x8 = xor(x7, f); let x9 = or(x8, b); let x10 = xor(x9, x6); let x11 = or(x0, x2);
                let x12 = and(x11, d); let x13 = and(x0, f); let x14 = and(x13, b); let x15 = xor(x14, x12); let x16 = and(x12, c);
                let x17 = xor(x16, x15); let x18 = or(x17, e); let x19 = xor(x18, x10); let x20 = xor(x9, e); let x21 = and(x15, x19);
                let x22 = xor(x20, x21); let x23 = but(x19, x1); let x24 = but(x7, x23); let x25 = but(x24, a); let x26 = xor(x25, x22);
                let x27 = or(x9, x11); let x28 = xor(x4, x13); let x29 = xor(x27, x28); let x30 = or(x29, b); let x31 = xor(x30, x26);
                let x32 = and(x3, x2); let x33 = xor(x32, x15); let x34 = and(x28, x23); let x35 = or(x34, e); let x36 = xor(x35, x33);
                let x37 = or(x8, x28); let x38 = xor(x17, x31); let x39 = but(x37, x38); let x40 = xor(x39, x27); let x41 = xor(x40, x5);
                let x42 = or(x41, a); let x43 = xor(x42, x39); let x44 = but(x43, b); let x45 = xor(x44, x36); let x46 = xor(x19, x44);
                let x47 = xor(x46, x40); let x48 = xor(x33, x13); let x49 = or(x48, x23); let x50 = but(x49, d); let x51 = xor(x50, x47);
                let x52 = but(c, x31); let x53 = or(x52, x32); let x54 = or(x11, x53); let x55 = but(x49, x51); let x56 = but(x54, x55);
                let x57 = but(x56, b); let x58 = xor(x57, x53); let x59 = or(x58, e); let x60 = xor(x59, x51);
                [x45, x31, x60, x19]
            }
            _ => {
                let x0 = xor(e, a); let x1 = but(b, c); let x2 = xor(x0, x1); let x3 = or(e, x1); let x4 = xor(x3, c); let x5 = but(x4, x2);
                let x6 = or(x5, b); let x7 = xor(x6, x3); let x8 = but(x7, d); let x9 = xor(x8, x2); let x10 = xor(c, x8); let x11 = xor(c, d);
                let x12 = and(x11, b); let x13 = xor(x12, x10); let x14 = or(x9, d); let x15 = and(x11, x9); let x16 = or(x15, b);
                let x17 = xor(x16, x14); let x18 = but(x17, e); let x19 = xor(x18, x13); let x20 = but(x19, f); let x21 = xor(x20, x9);
                let x22 = xor(x21, x19); let x23 = xor(x15, x2); let x24 = not(x23); let x25 = and(x23, c); let x26 = xor(x25, x24);
                let x27 = and(x9, x4); let x28 = xor(x25, x17); let x29 = xor(x27, x28); let x30 = and(x29, a); let x31 = xor(x30, x26);
                let x32 = but(x31, f); let x33 = xor(x32, x22); let x34 = or(x29, x11); let x35 = xor(x34, x24); let x36 = and(x13, x31);
                let x37 = xor(x36, x27); let x38 = but(x37, c); let x39 = xor(x38, x35); let x40 = but(x31, x17); let x41 = and(x40, a);
                let x42 = or(x41, f); let x43 = xor(x42, x39); let x44 = but(x5, x41); let x45 = or(x30, x38); let x46 = xor(x44, x45);
                let x47 = xor(x39, x46); let x48 = xor(x47, x0); let x49 = but(x48, f); let x50 = xor(x49, x46); let x51 = xor(x22, x48);
                let x52 = but(x43, x16); let x53 = xor(x52, x29); let x54 = but(x53, f); let x55 = xor(x54, x51); let x56 = but(x55, b);
                let x57 = xor(x56, x50);
                [x33, x43, x57, x21]
            }
        }
    }
}
