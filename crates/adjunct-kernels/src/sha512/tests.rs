//! Every kernel against the standard's text, word by word.

use super::instructions::modelled;
use super::{BLOCK, K, Kernel, avx2, instructions, wide};

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

type Compress = unsafe fn(&mut [u64; 8], &[[u8; BLOCK]]);
type Finish = unsafe fn(&mut [u64; 8], &[u8; BLOCK], usize, u128);

/// Blocks of all counts, and ends of all lengths, on one state after the other.
fn agrees_with_the_standard(compress: Compress, finish: Finish) {
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut byte = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    let mut expected = [0x6a09_e667_f3bc_c908, 1, 2, 3, 4, 5, 6, u64::MAX];
    let mut state = expected;
    for _ in 0..20 {
        let blocks: [[u8; BLOCK]; 9] = std::array::from_fn(|_| std::array::from_fn(|_| byte()));
        for count in 0..=blocks.len() {
            blocks[..count].iter().for_each(|block| compress_one_plainly(&mut expected, block));
            // SAFETY: the caller asked the CPU for the instructions.
            unsafe { compress(&mut state, &blocks[..count]) };
            assert_eq!(state, expected, "{count} blocks");
        }
        for used in 0..BLOCK {
            let mut end = [[0; BLOCK]; 2];
            end[0][..used].copy_from_slice(&blocks[0][..used]);
            end[0][used] = 0x80;
            let bits = u128::from(u64::MAX) * 3;
            let last = usize::from(used >= 112);
            end[last][112..].copy_from_slice(&bits.to_be_bytes());
            end[..=last].iter().for_each(|block| compress_one_plainly(&mut expected, block));
            // SAFETY: the caller has asked the CPU for the instructions of `finish`.
            unsafe { finish(&mut state, &blocks[0], used, bits) };
            assert_eq!(state, expected, "{used}");
        }
    }
}

/// Says why a test is skipped.
fn skipped(lacking: &str) {
    println!("SKIPPED: this CPU has no {lacking}");
}

#[test]
fn avx512_gives_what_the_standard_says() {
    let wide = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512dq");
    if !(wide && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("bmi2")) {
        return skipped("AVX-512");
    }
    agrees_with_the_standard(wide::compress, wide::finish);
}

#[test]
fn avx2_gives_what_the_standard_says() {
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")) {
        return skipped("AVX2 and BMI2");
    }
    agrees_with_the_standard(avx2::compress, avx2::finish);
    agrees_with_the_standard(
        // SAFETY: AVX2, BMI1 and BMI2 have just been found.
        |state, blocks| unsafe { Kernel::Avx2.compress(state, blocks) },
        // SAFETY: AVX2, BMI1 and BMI2 have just been found.
        |state, block, used, bits| unsafe { Kernel::Avx2.finish(state, block, used, bits) },
    );
}

#[test]
fn the_instructions_kernel_on_a_model_of_them_gives_what_the_standard_says() {
    if !is_x86_feature_detected!("avx2") {
        return skipped("AVX2");
    }
    agrees_with_the_standard(modelled::compress, modelled::finish);
}

#[test]
fn the_instructions_give_what_the_standard_says() {
    if !(is_x86_feature_detected!("sha512") && is_x86_feature_detected!("avx2")) {
        return skipped("instructions for SHA-512");
    }
    agrees_with_the_standard(instructions::compress, instructions::finish);
}
