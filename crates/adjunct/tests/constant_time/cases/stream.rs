//! Stream ciphers, their MAC, and digests: keys, states and data are secret, lengths and counters are not.

use super::{Case, call};
use adjunct::InOut;
use adjunct::catalogue::Feature;
use adjunct_kernels::poly1305::Poly1305;
use adjunct_kernels::sha512::Kernel;
use adjunct_kernels::{chacha, keccak, sha256};

pub fn cases() -> Vec<Case> {
    let chacha = |seed| {
        call(seed, |key: &[u8; 32], _: &mut [u8; 1], data: &mut [u8; 2048]| unsafe {
            chacha::blocks(key, [1, 2, 3, 4], InOut::in_place(data))
        })
    };
    let ahead = |seed| {
        call(seed, |key: &[u8; 32], four: &mut [u8; 256], eight: &mut [u8; 512]| unsafe {
            chacha::four(key, [1, 2, 3, 4], four);
            chacha::eight(key, [1, 2, 3, 4], eight);
        })
    };
    let words = |seed| {
        call(seed, |key: &[u8; 32], tag: &mut [u8; 16], data: &mut [u8; 1000]| {
            let mut poly = Poly1305::new(key);
            poly.update(data);
            *tag = poly.finish();
        })
    };
    let lanes = |seed| {
        call(seed, |key: &[u8; 32], tag: &mut [u8; 16], data: &mut [u8; 2000]| unsafe {
            let mut poly = Poly1305::new(key);
            poly.update_wide(data);
            *tag = poly.finish();
        })
    };
    let avx2 = |seed| {
        call(seed, |key: &[u8; 32], tag: &mut [u8; 16], data: &mut [u8; 2000]| unsafe {
            let mut poly = Poly1305::new(key);
            poly.update_avx2(data);
            *tag = poly.finish();
        })
    };
    let sha512 = |kernel: Kernel| {
        move |seed| {
            call(seed, move |blocks: &[u8; 1000], state: &mut [u8; 64], _: &mut [u8; 1]| {
                let mut words: [u64; 8] = std::array::from_fn(|i| u64::from_be_bytes(state.as_chunks().0[i]));
                let (blocks, _) = blocks.as_chunks();
                unsafe {
                    kernel.compress(&mut words, blocks);
                    kernel.finish(&mut words, &blocks[0], 100, 8100);
                    kernel.finish(&mut words, &blocks[0], 120, 8260);
                }
                for (bytes, word) in state.as_chunks_mut().0.iter_mut().zip(words) {
                    *bytes = word.to_be_bytes();
                }
            })
        }
    };
    let sha256 = |seed| {
        call(seed, |blocks: &[u8; 1000], state: &mut [u8; 32], _: &mut [u8; 1]| {
            let mut words: [u32; 8] = std::array::from_fn(|i| u32::from_be_bytes(state.as_chunks().0[i]));
            let (blocks, _) = blocks.as_chunks();
            unsafe {
                sha256::compress(&mut words, blocks);
                sha256::finish(&mut words, &blocks[0], 40, 8100);
                sha256::finish(&mut words, &blocks[0], 60, 8260);
            }
            for (bytes, word) in state.as_chunks_mut().0.iter_mut().zip(words) {
                *bytes = word.to_be_bytes();
            }
        })
    };
    let keccak = |seed| {
        call(seed, |blocks: &[u8; 1000], state: &mut [u8; 200], _: &mut [u8; 1]| {
            let mut words: [u64; keccak::WORDS] = std::array::from_fn(|i| u64::from_le_bytes(state.as_chunks().0[i]));
            unsafe {
                keccak::absorb(&mut words, blocks, 136);
                keccak::permute(&mut words);
            }
            for (bytes, word) in state.as_chunks_mut().0.iter_mut().zip(words) {
                *bytes = word.to_le_bytes();
            }
        })
    };
    let wide = &[Feature::Avx512];
    let case = |name: &str, needs, memcheck, prepare| Case { name: name.into(), needs, memcheck, prepare };
    vec![
        case("ChaCha20", wide, false, Box::new(chacha)),
        case("ChaCha20, key stream", wide, false, Box::new(ahead)),
        case("Poly1305 in words", &[], true, Box::new(words)),
        case("Poly1305 in lanes", &[Feature::Ifma], false, Box::new(lanes)),
        case("Poly1305 in lanes, AVX2", &[Feature::Avx2], true, Box::new(avx2)),
        case("SHA-512, 7 blocks and the last", wide, false, Box::new(sha512(Kernel::Wide))),
        case("SHA-512, the same, AVX2", &[Feature::Avx2, Feature::Bmi2], true, Box::new(sha512(Kernel::Avx2))),
        case("SHA-512, the same, its instructions", &[Feature::Sha512], false, Box::new(sha512(Kernel::Instructions))),
        case("SHA-256, 15 blocks and the last, AVX2", &[Feature::Avx2, Feature::Bmi2], true, Box::new(sha256)),
        case("Keccak, 7 blocks and one more", wide, false, Box::new(keccak)),
    ]
}
