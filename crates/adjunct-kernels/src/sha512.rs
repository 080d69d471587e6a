//! SHA-512's compression of four consecutive blocks of one message (FIPS 180-4, 6.4).
//!
//! The rounds of a message cannot run beside each other, but the message schedules of its blocks can: four at a time fill
//! 512-bit vectors. The schedule is interleaved with the first block's rounds, which leave the vector units idle; the
//! other three blocks' rounds then find theirs in memory. AVX-512 brings the 64-bit rotation and the three-way XOR.

use std::arch::x86_64::*;

/// Length of a block in bytes.
pub const BLOCK: usize = 128;

/// The constants of FIPS 180-4, 4.2.3.
static K: [u64; 80] = [
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

/// Takes four blocks into the chaining value.
///
/// # Safety
/// The CPU, and the operating system, have AVX-512 F, BW, DQ and VL, and BMI1 and BMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
pub fn compress_four(state: &mut [u64; 8], blocks: &[[u8; BLOCK]; 4]) {
    // Words 2i and 2i+1 of each block in turn, with their constants added.
    let mut words = [[0u64; 8]; 40];
    let mut x = [_mm512_setzero_si512(); 8];
    let swap = _mm512_broadcast_i32x4(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    for i in 0..8 {
        // SAFETY: 16 bytes from a multiple of 16 below 128.
        let two = |block: usize| unsafe { _mm_loadu_si128(blocks[block].as_ptr().add(16 * i).cast()) };
        let low = _mm512_inserti32x4(_mm512_castsi128_si512(two(0)), two(1), 1);
        x[i] = _mm512_shuffle_epi8(_mm512_inserti32x4(_mm512_inserti32x4(low, two(2), 2), two(3), 3), swap);
        words[i] = with_constants(x[i], i);
    }
    macro_rules! schedule {
        ($sixteen:expr, $i:expr) => {{
            let w1 = _mm512_alignr_epi8(x[($i + 1) & 7], x[$i], 8);
            let w9 = _mm512_alignr_epi8(x[($i + 5) & 7], x[($i + 4) & 7], 8);
            let w14 = x[($i + 7) & 7];
            let (r1, r8, s7) = (_mm512_ror_epi64(w1, 1), _mm512_ror_epi64(w1, 8), _mm512_srli_epi64(w1, 7));
            let (r19, r61, s6) = (_mm512_ror_epi64(w14, 19), _mm512_ror_epi64(w14, 61), _mm512_srli_epi64(w14, 6));
            let sigma0 = _mm512_ternarylogic_epi64(r1, r8, s7, 0x96);
            let sigma1 = _mm512_ternarylogic_epi64(r19, r61, s6, 0x96);
            x[$i] = _mm512_add_epi64(_mm512_add_epi64(x[$i], sigma0), _mm512_add_epi64(w9, sigma1));
            let place = 8 * $sixteen + 8 + $i;
            words[place] = with_constants(x[$i], place);
        }};
    }
    // Two rounds, which trade the names of the working variables; `bc` carries b ^ c, the last round's a ^ b.
    macro_rules! two_rounds {
        ($block:expr, $at:expr, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident) => {{
            two_rounds!(@one words[$at][2 * $block], $a $b $d $e $f $g $h $bc);
            two_rounds!(@one words[$at][2 * $block + 1], $h $a $c $d $e $f $g $bc);
        }};
        (@one $word:expr, $a:ident $b:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident) => {{
            let sigma1 = $e.rotate_right(14) ^ $e.rotate_right(18) ^ $e.rotate_right(41);
            let choice = ($e & $f) ^ (!$e & $g);
            let t = $h.wrapping_add($word).wrapping_add(choice).wrapping_add(sigma1);
            let sigma0 = $a.rotate_right(28) ^ $a.rotate_right(34) ^ $a.rotate_right(39);
            let ab = $a ^ $b;
            let majority = $b ^ (ab & $bc);
            $bc = ab;
            $d = $d.wrapping_add(t);
            $h = t.wrapping_add(sigma0).wrapping_add(majority);
        }};
    }
    macro_rules! sixteen_rounds {
        ($block:expr, $sixteen:expr, [$a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $bc:ident]
            $(, $then:ident)?) => {{
            let at = 8 * $sixteen;
            two_rounds!($block, at, $a $b $c $d $e $f $g $h $bc);
            $($then!($sixteen, 0);)?
            two_rounds!($block, at + 1, $g $h $a $b $c $d $e $f $bc);
            $($then!($sixteen, 1);)?
            two_rounds!($block, at + 2, $e $f $g $h $a $b $c $d $bc);
            $($then!($sixteen, 2);)?
            two_rounds!($block, at + 3, $c $d $e $f $g $h $a $b $bc);
            $($then!($sixteen, 3);)?
            two_rounds!($block, at + 4, $a $b $c $d $e $f $g $h $bc);
            $($then!($sixteen, 4);)?
            two_rounds!($block, at + 5, $g $h $a $b $c $d $e $f $bc);
            $($then!($sixteen, 5);)?
            two_rounds!($block, at + 6, $e $f $g $h $a $b $c $d $bc);
            $($then!($sixteen, 6);)?
            two_rounds!($block, at + 7, $c $d $e $f $g $h $a $b $bc);
            $($then!($sixteen, 7);)?
        }};
    }
    for block in 0..4 {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        let mut bc = b ^ c;
        if block == 0 {
            for sixteen in 0..4 {
                sixteen_rounds!(0, sixteen, [a b c d e f g h bc], schedule);
            }
            sixteen_rounds!(0, 4, [a b c d e f g h bc]);
        } else {
            for sixteen in 0..5 {
                sixteen_rounds!(block, sixteen, [a b c d e f g h bc]);
            }
        }
        // The last round leaves what no round reads.
        let _unread = bc;
        for (sum, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(value);
        }
    }
}

/// Words 2i and 2i+1 of four blocks with their constants added.
#[target_feature(enable = "avx512f")]
fn with_constants(words: __m512i, i: usize) -> [u64; 8] {
    // SAFETY: i is below 40; the result has the size of a vector.
    unsafe {
        let constants = _mm512_broadcast_i32x4(_mm_loadu_si128(K[2 * i..2 * i + 2].as_ptr().cast()));
        std::mem::transmute::<__m512i, [u64; 8]>(_mm512_add_epi64(words, constants))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, 6.4.2, word by word.
    fn compress_one(state: &mut [u64; 8], block: &[u8; BLOCK]) {
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
            blocks.iter().for_each(|block| compress_one(&mut expected, block));
            // SAFETY: the CPU has the instructions.
            unsafe { compress_four(&mut state, &blocks) };
            assert_eq!(state, expected);
        }
    }
}
