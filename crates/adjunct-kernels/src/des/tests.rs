//! Known answers, and random messages beside DES as FIPS 46-3 says it, bit by bit.

use super::tables::{input, key_bit, output, place, substitute};
use super::{BLOCK, Kernel, Rounds, Schedule, Stream, encrypt_streams};
use crate::InOut;

/// The kernels that run here; says what is skipped.
fn kernels() -> Vec<Kernel> {
    let wide = is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let bytes = is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("gfni");
    let all = [
        (Kernel::Avx2, is_x86_feature_detected!("avx2"), "AVX2"),
        (Kernel::Wide, wide, "AVX-512"),
        (Kernel::Lookup, wide && bytes, "AVX-512 with VBMI, BITALG and GFNI"),
    ];
    all.into_iter()
        .filter_map(|(kernel, here, needs)| {
            if !here {
                println!("SKIPPED: {kernel:?}: this CPU lacks {needs}");
            }
            here.then_some(kernel)
        })
        .collect()
}

/// Whether the kernel for streams runs here; says so where it does not.
fn has_streams() -> bool {
    kernels().contains(&Kernel::Lookup)
}

const PC1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36, 63, 55,
    47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];

const PC2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52, 31, 37, 47, 55, 30,
    40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];

/// A key schedule by FIPS 46-3, in the libraries' form.
fn schedule(key: u64) -> Schedule {
    let mut bits: Vec<u64> = PC1.iter().map(|&bit| key >> (64 - bit) & 1).collect();
    let mut schedule = [0; 32];
    for (round, words) in schedule.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let shift = if matches!(round, 0 | 1 | 8 | 15) { 1 } else { 2 };
        let (left, right) = bits.split_at_mut(28);
        left.rotate_left(shift);
        right.rotate_left(shift);
        for (at, &from) in PC2.iter().enumerate() {
            let place = key_bit(at / 6, at % 6);
            words[place / 32] |= (bits[usize::from(from) - 1] as u32) << (place % 32);
        }
    }
    schedule
}

/// One block through the rounds.
fn block(rounds: &Rounds, block: [u8; BLOCK]) -> [u8; BLOCK] {
    let mut word = u64::from_le_bytes(block);
    for des in rounds.words().chunks(16) {
        let half = |side| (0..32).map(|bit| word >> place(side, bit) & 1 == 1).collect::<Vec<_>>();
        let (mut left, mut right) = (half(0), half(1));
        for key in des {
            let mut next = left.clone();
            for k in 0..8 {
                let index = (0..6)
                    .fold(0, |index, m| index << 1 | usize::from(right[input(k, m)] ^ (key >> key_bit(k, m) & 1 == 1)));
                for o in 0..4 {
                    next[output(k, o)] ^= substitute(k, index) >> (3 - o) & 1 == 1;
                }
            }
            (left, right) = (right, next);
        }
        word = (0..32)
            .fold(0, |word, bit| word | u64::from(right[bit]) << place(0, bit) | u64::from(left[bit]) << place(1, bit));
    }
    word.to_le_bytes()
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| (self.next() >> 23) as u8).collect()
    }

    fn rounds(&mut self, triple: bool, encrypt: bool) -> Rounds {
        let schedules = [(); 3].map(|()| schedule(self.next()));
        if triple { Rounds::triple(&schedules, encrypt) } else { Rounds::single(&schedules[0], encrypt) }
    }
}

/// Of several blocks, more than a vector has: the one given at `at`, others random.
fn through(kernel: Kernel, rounds: &Rounds, text: [u8; BLOCK], at: usize) -> [u8; BLOCK] {
    let mut random = Random(at as u64 + 1);
    let mut all = random.bytes(520 * BLOCK);
    all[at * BLOCK..][..BLOCK].copy_from_slice(&text);
    // SAFETY: the kernel is one that runs here.
    unsafe { kernel.ecb(rounds, InOut::in_place(&mut all)) };
    all[at * BLOCK..][..BLOCK].try_into().expect("a block")
}

/// Tables 1 to 5 of NIST SP 800-17, some of each: key, plaintext, ciphertext.
const KNOWN: [[u64; 3]; 11] = [
    [0x0101_0101_0101_0101, 0x8000_0000_0000_0000, 0x95F8_A5E5_DD31_D900],
    [0x0101_0101_0101_0101, 0x4000_0000_0000_0000, 0xDD7F_121C_A501_5619],
    [0x0101_0101_0101_0101, 0x2000_0000_0000_0000, 0x2E86_5310_4F38_34EA],
    [0x0101_0101_0101_0101, 0x1000_0000_0000_0000, 0x4BD3_88FF_6CD8_1D4F],
    [0x0101_0101_0101_0101, 0x95F8_A5E5_DD31_D900, 0x8000_0000_0000_0000],
    [0x8001_0101_0101_0101, 0, 0x95A8_D728_13DA_A94D],
    [0x4001_0101_0101_0101, 0, 0x0EEC_1487_DD8C_26D5],
    [0x7CA1_1045_4A1A_6E57, 0x01A1_D6D0_3977_6742, 0x690F_5B0D_9A26_939B],
    [0x0131_D961_9DC1_376E, 0x5CD5_4CA8_3DEF_57DA, 0x7A38_9D10_354B_D271],
    [0x07A1_133E_4A0B_2686, 0x0248_D438_06F6_7172, 0x868E_BB51_CAB4_599A],
    [0x0123_4567_89AB_CDEF, 0x4E6F_7720_6973_2074, 0x3FA4_0E8A_984D_4815],
];

#[test]
fn known_answers_of_one_key() {
    for [key, plain, cipher] in KNOWN {
        let schedule = schedule(key);
        let (plain, cipher) = (plain.to_be_bytes(), cipher.to_be_bytes());
        let [encrypt, decrypt] = [true, false].map(|encrypt| Rounds::single(&schedule, encrypt));
        assert_eq!(block(&encrypt, plain), cipher, "the test's own DES");
        for kernel in kernels() {
            for at in [0, 9, 300, 511, 513] {
                assert_eq!(through(kernel, &encrypt, plain, at), cipher, "{kernel:?} {key:x} at {at}");
                assert_eq!(through(kernel, &decrypt, cipher, at), plain, "{kernel:?} {key:x} at {at}");
            }
        }
    }
}

#[test]
fn known_answers_of_three_keys() {
    // The example of NIST SP 800-67, appendix B.
    let schedules = [0x0123_4567_89AB_CDEF, 0x2345_6789_ABCD_EF01, 0x4567_89AB_CDEF_0123].map(schedule);
    let [encrypt, decrypt] = [true, false].map(|encrypt| Rounds::triple(&schedules, encrypt));
    for (plain, cipher) in [
        (0x5468_6520_7175_6663u64, 0xA826_FD8C_E53B_855Fu64),
        (0x6B20_6272_6F77_6E20, 0xCCE2_1C81_1225_6FE6),
        (0x666F_7820_6A75_6D70, 0x68D5_C05D_D9B6_B900),
    ] {
        let (plain, cipher) = (plain.to_be_bytes(), cipher.to_be_bytes());
        assert_eq!(block(&encrypt, plain), cipher, "the test's own DES");
        for kernel in kernels() {
            assert_eq!(through(kernel, &encrypt, plain, 200), cipher, "{kernel:?}");
            assert_eq!(through(kernel, &decrypt, cipher, 200), plain, "{kernel:?}");
        }
    }
}

#[test]
fn every_length_in_place_and_apart() {
    let mut random = Random(46);
    for kernel in kernels() {
        for blocks in (1..=20).chain([63, 64, 103, 104, 105, 111, 112, 255, 256, 257, 511, 512, 513, 700, 1025, 1100]) {
            for (triple, encrypt) in [(true, true), (true, false), (false, true), (false, false)] {
                let rounds = random.rounds(triple, encrypt);
                let text = random.bytes(blocks * BLOCK);
                let expected: Vec<u8> = text.as_chunks().0.iter().flat_map(|text| block(&rounds, *text)).collect();
                let mut here = text.clone();
                let mut there = vec![0; text.len()];
                // SAFETY: the kernel is one that runs here.
                unsafe {
                    kernel.ecb(&rounds, InOut::in_place(&mut here));
                    kernel.ecb(&rounds, InOut::apart(&text, &mut there));
                }
                assert!(here == expected && there == expected, "{kernel:?}, {blocks} blocks, {triple} {encrypt}");
                let mut ivs = [[7; BLOCK], [7; BLOCK]];
                let before = [&ivs[0][..], &text].concat();
                let expected: Vec<u8> = expected.iter().zip(&before).map(|(a, b)| a ^ b).collect();
                here.copy_from_slice(&text);
                // SAFETY: the kernel is one that runs here.
                unsafe {
                    kernel.cbc_decrypt(&rounds, &mut ivs[0], InOut::in_place(&mut here));
                    kernel.cbc_decrypt(&rounds, &mut ivs[1], InOut::apart(&text, &mut there));
                }
                assert!(here == expected && there == expected, "{kernel:?}, CBC of {blocks} blocks");
                assert!(ivs.iter().all(|iv| text.ends_with(iv)));
            }
        }
    }
}

#[test]
fn streams_of_any_number_and_lengths() {
    if !has_streams() {
        return;
    }
    let mut random = Random(67);
    for count in 0..=40 {
        for triple in [true, false] {
            let schedules: Vec<Vec<Schedule>> = (0..count)
                .map(|_| (0..if triple { 3 } else { 1 }).map(|_| schedule(random.next())).collect())
                .collect();
            let texts: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let blocks = random.below(30);
                    random.bytes(blocks * BLOCK)
                })
                .collect();
            let ivs: Vec<[u8; BLOCK]> = (0..count).map(|_| random.next().to_le_bytes()).collect();
            let (mut outputs, mut expected_ivs) = (Vec::new(), ivs.clone());
            for ((text, schedules), iv) in texts.iter().zip(&schedules).zip(&mut expected_ivs) {
                let (rounds, mut output) = (Rounds::new(schedules, true), Vec::new());
                for text in text.as_chunks::<BLOCK>().0 {
                    *iv = block(&rounds, std::array::from_fn(|at| text[at] ^ iv[at]));
                    output.extend(*iv);
                }
                outputs.push(output);
            }
            let (mut here, mut there) = (texts.clone(), texts.clone());
            let mut chains = [ivs.clone(), ivs.clone(), ivs];
            let [in_place, apart, macs] = &mut chains;
            let streams = (here.iter_mut().zip(in_place).zip(&schedules))
                .map(|((text, iv), schedules)| Stream::cbc(schedules, iv, InOut::in_place(text)));
            // SAFETY: the kernel runs here.
            unsafe { encrypt_streams(streams) };
            // Blocks are taken into a MAC by some, among messages that are encrypted.
            let streams = (texts.iter().zip(&mut there).zip(apart.iter_mut().zip(macs)).zip(&schedules)).flat_map(
                |(((text, output), (iv, mac)), schedules)| {
                    let message = Stream::cbc(schedules, iv, InOut::apart(text, output));
                    [message, Stream::mac(schedules, mac, text.as_chunks().0)]
                },
            );
            // SAFETY: the kernel runs here.
            unsafe { encrypt_streams(streams) };
            assert!(here == outputs && there == outputs, "{count} streams");
            assert!(chains.iter().all(|chains| *chains == expected_ivs), "{count} streams");
        }
    }
}

#[test]
fn what_a_kernel_takes_is_at_the_front() {
    for kernel in [Kernel::Lookup, Kernel::Wide, Kernel::Avx2] {
        for blocks in 0..1200 {
            let taken = kernel.takes(blocks);
            assert!(taken <= blocks && (taken == blocks || blocks - taken < 24), "{kernel:?} {blocks}");
        }
        assert_eq!((kernel.takes(2), kernel.takes(24)), (0, 24));
    }
}
