//! SHA-512's compression function (FIPS 180-4, 6.4).
//!
//! The rounds of a message cannot run beside each other, but the message schedules of its blocks can: four at a time fill
//! 512-bit vectors. The schedule is interleaved with the first block's rounds, which leave the vector units idle; the
//! other three blocks' rounds then find theirs in memory. What is left of a message takes one block at a time, four words
//! in a vector. AVX-512 brings the 64-bit rotation and the three-way XOR (after Gueron and Krasnov, "Simultaneous hashing
//! of multiple messages", Journal of Information Security 3, 2012, and "Parallelizing message schedules to accelerate the
//! computations of hash functions", Journal of Cryptographic Engineering 2, 2012).
//!
//! A round is 24 instructions and 5 steps of dependence; of a schedule four blocks together take 15 instructions for two
//! words of each, one block alone 22 for four.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Length of a block in bytes.
pub const BLOCK: usize = 128;

/// The constants of FIPS 180-4, 4.2.3.
pub(crate) static K: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];

/// Takes blocks into the chaining value: four at a time, and the one to three that are left one at a time, for which making the schedules
/// of four would take as many vector instructions as their own do.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
pub fn compress(state: &mut [u64; 8], blocks: &[[u8; BLOCK]]) {
    let (fours, rest) = blocks.as_chunks();
    fours.iter().for_each(|four| compress_four(state, four));
    rest.iter().for_each(|block| compress_one(state, block));
}

/// One round. The working variables are not moved but change their names: what was h is the new a, what was d the new e.
/// `$bc` carries b ^ c and leaves with a ^ b, the next round's.
macro_rules! round {
    ($word:expr, $offset:expr, $a:ident $b:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident) => {{
        let ab: u64;
        // Compilers order the additions so that the new e comes later.
        // SAFETY: reads the word so many bytes behind `$word`.
        unsafe {
            asm!(
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

/// Eight rounds, and after each two of them `$then`, which is told which they were, from `$first` on. A pair of words follows the last at
/// a distance of `$stride` bytes. Then the names are what they were.
macro_rules! eight_rounds {
    ($word:expr, $stride:literal, $first:literal, [$a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident],
        |$two:ident| $then:expr) => {{
        eight_rounds!(@two $word, $stride, $first, $a $b $c $d $e $f $g $h $bc, $two $then);
        eight_rounds!(@two $word, $stride, $first + 1, $g $h $a $b $c $d $e $f $bc, $two $then);
        eight_rounds!(@two $word, $stride, $first + 2, $e $f $g $h $a $b $c $d $bc, $two $then);
        eight_rounds!(@two $word, $stride, $first + 3, $c $d $e $f $g $h $a $b $bc, $two $then);
    }};
    (@two $word:expr, $stride:literal, $at:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident
        $bc:ident, $two:ident $then:expr) => {{
        round!($word, ($at) * $stride, $a $b $d $e $f $g $h $bc);
        round!($word, ($at) * $stride + 8, $h $a $c $d $e $f $g $bc);
        let $two = $at;
        $then
    }};
}

/// All rounds of a block, whose words begin at `$words`, and what they add to the chaining value. After each two of the first
/// `$sixteens` times sixteen comes `$then`, which is told the sixteen and the two within. The rounds that have nothing between
/// them are a loop of eight: between other programs' code the kernel's is fetched anew, and each copy of the rounds costs time.
macro_rules! rounds {
    ($state:ident, $words:expr, $stride:literal, $sixteens:literal, |$sixteen:ident, $two:ident| $then:expr) => {{
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *$state;
        let mut bc = b ^ c;
        let mut words: *const u8 = $words;
        let mut $sixteen = 0;
        while $sixteen != $sixteens {
            eight_rounds!(words, $stride, 0, [a b c d e f g h bc], |$two| $then);
            eight_rounds!(words, $stride, 4, [a b c d e f g h bc], |$two| $then);
            words = words.wrapping_add(8 * $stride);
            $sixteen += 1;
        }
        // So that the compiler does not unroll the loop.
        let mut left = std::hint::black_box(10 - 2 * $sixteens);
        while left > 0 {
            eight_rounds!(words, $stride, 0, [a b c d e f g h bc], |_two| ());
            words = words.wrapping_add(4 * $stride);
            left -= 1;
        }
        // The last round leaves what no round reads.
        let _unread = bc;
        for (sum, value) in $state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(value);
        }
    }};
}

/// Takes four blocks into the chaining value.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn compress_four(state: &mut [u64; 8], blocks: &[[u8; BLOCK]; 4]) {
    // Words 2i and 2i+1 of each block in turn, with their constants added.
    let mut words = MaybeUninit::<[__m512i; 40]>::uninit();
    let at = words.as_mut_ptr().cast::<__m512i>();
    let mut x = [_mm512_setzero_si512(); 8];
    let swap = _mm512_broadcast_i32x4(SWAP);
    for (i, x) in x.iter_mut().enumerate() {
        // SAFETY: 16 bytes from a multiple of 16 below 128; a place below 40.
        unsafe {
            let two = |block: usize| _mm_loadu_si128(blocks[block].as_ptr().add(16 * i).cast());
            let low = _mm512_inserti32x4(_mm512_castsi128_si512(two(0)), two(1), 1);
            *x = _mm512_shuffle_epi8(_mm512_inserti32x4(_mm512_inserti32x4(low, two(2), 2), two(3), 3), swap);
            *at.add(i) = with_constants(*x, i);
        }
    }
    rounds!(state, at.cast(), 64, 4, |sixteen, i| {
        let w1 = _mm512_alignr_epi8(x[(i + 1) & 7], x[i], 8);
        let w9 = _mm512_alignr_epi8(x[(i + 5) & 7], x[(i + 4) & 7], 8);
        let w14 = x[(i + 7) & 7];
        let (r1, r8, s7) = (_mm512_ror_epi64(w1, 1), _mm512_ror_epi64(w1, 8), _mm512_srli_epi64(w1, 7));
        let (r19, r61, s6) = (_mm512_ror_epi64(w14, 19), _mm512_ror_epi64(w14, 61), _mm512_srli_epi64(w14, 6));
        let sigma0 = _mm512_ternarylogic_epi64(r1, r8, s7, XOR);
        let sigma1 = _mm512_ternarylogic_epi64(r19, r61, s6, XOR);
        x[i] = _mm512_add_epi64(_mm512_add_epi64(x[i], sigma0), _mm512_add_epi64(w9, sigma1));
        let place = 8 * sixteen + 8 + i;
        // SAFETY: below 40.
        unsafe { *at.add(place) = with_constants(x[i], place) };
    });
    for block in 1..4 {
        // SAFETY: the words of this block, one of four.
        rounds!(state, unsafe { at.cast::<u8>().add(16 * block) }, 64, 0, |_sixteen, _two| ());
    }
}

/// Takes one block into the chaining value.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
pub fn compress_one(state: &mut [u64; 8], block: &[u8; BLOCK]) {
    // SAFETY: 32 bytes from a multiple of 32 below 128.
    compress_words(
        state,
        std::array::from_fn(|i| unsafe { swapped(_mm256_loadu_si256(block.as_ptr().add(32 * i).cast())) }),
    );
}

/// Takes the end of a message of `bits` bits into the chaining value: the first `used` bytes of `block`, fewer than it
/// has, and the padding (FIPS 180-4, 5.1.2).
///
/// # Panics
/// If `used` is not below 128.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
pub fn finish(state: &mut [u64; 8], block: &[u8; BLOCK], used: usize, bits: u128) {
    assert!(used < BLOCK);
    // In registers: a block written byte by byte and read at once as vectors would wait for its stores.
    let end = 1u128 << used;
    let mut x: [__m256i; 4] = std::array::from_fn(|i| {
        let (data, end) = (((end - 1) >> (32 * i)) as u32, (end >> (32 * i)) as u32);
        // SAFETY: 32 bytes from a multiple of 32 below 128.
        let bytes = unsafe { _mm256_maskz_loadu_epi8(data, block.as_ptr().add(32 * i).cast()) };
        swapped(_mm256_mask_mov_epi8(bytes, end, _mm256_set1_epi8(-128)))
    });
    let length = _mm256_set_epi64x(bits as i64, (bits >> 64) as i64, 0, 0);
    if used >= BLOCK - 16 {
        compress_words(state, x);
        x = [_mm256_setzero_si256(); 4];
    }
    x[3] = _mm256_or_si256(x[3], length);
    compress_words(state, x);
}

/// Four words from their bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn swapped(bytes: __m256i) -> __m256i {
    _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(SWAP))
}

/// Takes a block, as words, into the chaining value.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn compress_words(state: &mut [u64; 8], mut x: [__m256i; 4]) {
    let mut words = MaybeUninit::<[__m256i; 20]>::uninit();
    let at = words.as_mut_ptr().cast::<__m256i>();
    for (i, &x) in x.iter().enumerate() {
        // SAFETY: below 20.
        unsafe { *at.add(i) = with_four_constants(x, i) };
    }
    rounds!(state, at.cast(), 16, 4, |sixteen, two| {
        // A step makes four words, the lower two after one pair of rounds and from them the upper two after the next.
        let i = two / 2;
        let last = x[(i + 3) & 3];
        if two % 2 == 0 {
            let w1 = _mm256_alignr_epi64(x[(i + 1) & 3], x[i], 1);
            let w9 = _mm256_alignr_epi64(last, x[(i + 2) & 3], 1);
            let (r1, r8, s7) = (_mm256_ror_epi64(w1, 1), _mm256_ror_epi64(w1, 8), _mm256_srli_epi64(w1, 7));
            x[i] = _mm256_add_epi64(_mm256_add_epi64(x[i], w9), _mm256_ternarylogic_epi64(r1, r8, s7, XOR));
            x[i] = _mm256_mask_add_epi64(x[i], 0b0011, x[i], sigma1(_mm256_permute4x64_epi64(last, 0xEE)));
        } else {
            x[i] = _mm256_mask_add_epi64(x[i], 0b1100, x[i], sigma1(_mm256_permute4x64_epi64(x[i], 0x44)));
            let place = 4 * sixteen + 4 + i;
            // SAFETY: below 20.
            unsafe { *at.add(place) = with_four_constants(x[i], place) };
        }
    });
}

/// Truth table of a three-way XOR.
const XOR: i32 = 0x96;

/// Turns the bytes of both words.
const SWAP: __m128i = {
    // SAFETY: 16 bytes are a vector.
    unsafe { std::mem::transmute::<[u8; 16], __m128i>([7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]) }
};

/// The lower-case sigma 1 of FIPS 180-4, 4.1.3.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn sigma1(w: __m256i) -> __m256i {
    _mm256_ternarylogic_epi64(_mm256_ror_epi64(w, 19), _mm256_ror_epi64(w, 61), _mm256_srli_epi64(w, 6), XOR)
}

/// Words 4i to 4i+3 with their constants added.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn with_four_constants(words: __m256i, i: usize) -> __m256i {
    let constants = &K[4 * i..4 * i + 4];
    // SAFETY: four constants are a vector.
    _mm256_add_epi64(words, unsafe { _mm256_loadu_si256(constants.as_ptr().cast()) })
}

/// Words 2i and 2i+1 of four blocks with their constants added.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn with_constants(words: __m512i, i: usize) -> __m512i {
    let constants = &K[2 * i..2 * i + 2];
    // SAFETY: two constants are a vector.
    _mm512_add_epi64(words, _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(constants.as_ptr().cast()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, 6.4.2, word by word.
    fn compress_one_plainly(state: &mut [u64; 8], block: &[u8; BLOCK]) {
        let mut w = [0u64; 80];
        for (word, bytes) in w.iter_mut().zip(block.as_chunks::<8>().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        for t in 16..80 {
            let s0 = w[t - 15].rotate_right(1) ^ w[t - 15].rotate_right(8) ^ (w[t - 15] >> 7);
            let s1 = w[t - 2].rotate_right(19) ^ w[t - 2].rotate_right(61) ^ (w[t - 2] >> 6);
            w[t] = w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1);
        }
        let mut v = *state;
        for t in 0..80 {
            let [a, b, c, d, e, f, g, h] = v;
            let s1 = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
            let s0 = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
            let t1 = h.wrapping_add(s1).wrapping_add((e & f) ^ (!e & g)).wrapping_add(K[t]).wrapping_add(w[t]);
            let t2 = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            v = [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g];
        }
        for (sum, value) in state.iter_mut().zip(v) {
            *sum = sum.wrapping_add(value);
        }
    }

    #[test]
    fn four_at_once_are_four_in_turn() {
        let wide = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512dq");
        if !(wide && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("bmi2")) {
            return;
        }
        let mut seed = 0x9E37_79B9_7F4A_7C15u64;
        let mut byte = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        let mut expected = [0x6a09_e667_f3bc_c908, 1, 2, 3, 4, 5, 6, u64::MAX];
        let mut state = expected;
        for _ in 0..50 {
            let blocks: [[u8; BLOCK]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| byte()));
            blocks.iter().for_each(|block| compress_one_plainly(&mut expected, block));
            // SAFETY: the CPU has the instructions.
            unsafe { compress(&mut state, &blocks) };
            assert_eq!(state, expected);
            let more: [[u8; BLOCK]; 7] = std::array::from_fn(|_| std::array::from_fn(|_| byte()));
            for count in 0..=more.len() {
                more[..count].iter().for_each(|block| compress_one_plainly(&mut expected, block));
                // SAFETY: the CPU has the instructions.
                unsafe { compress(&mut state, &more[..count]) };
                assert_eq!(state, expected, "{count} blocks");
            }
            for used in [0, 1, 8, 31, 32, 33, 64, 100, 110, 111, 112, 113, 120, 126, 127] {
                let mut end = [[0; BLOCK]; 2];
                end[0][..used].copy_from_slice(&more[0][..used]);
                end[0][used] = 0x80;
                let bits = u128::from(u64::MAX) * 3;
                let last = usize::from(used >= 112);
                end[last][112..].copy_from_slice(&bits.to_be_bytes());
                end[..=last].iter().for_each(|block| compress_one_plainly(&mut expected, block));
                // SAFETY: the CPU has the instructions.
                unsafe { finish(&mut state, &more[0], used, bits) };
                assert_eq!(state, expected, "{used}");
            }
        }
    }
}
