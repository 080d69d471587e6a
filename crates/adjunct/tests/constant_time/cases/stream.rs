//! Stream ciphers and digests: keys, states and data are secret, lengths and counters are not.

use super::{Case, call};
use adjunct::InOut;
use adjunct::cpu::Feature;
use adjunct_kernels::{chacha, sha512};

pub fn cases() -> Vec<Case> {
    let chacha = |seed| {
        call(seed, |key: &[u8; 32], _: &mut [u8; 1], data: &mut [u8; 2048]| unsafe {
            chacha::blocks(key, [1, 2, 3, 4], InOut::in_place(data))
        })
    };
    let sha512 = |seed| {
        call(seed, |blocks: &[u8; 512], state: &mut [u8; 64], _: &mut [u8; 1]| {
            let mut words: [u64; 8] = std::array::from_fn(|i| u64::from_be_bytes(state.as_chunks().0[i]));
            let (blocks, _) = blocks.as_chunks::<128>();
            let blocks = blocks.try_into().expect("four");
            unsafe { sha512::compress_four(&mut words, blocks) }
        })
    };
    let wide = &[Feature::Avx512];
    vec![
        Case { name: "ChaCha20".into(), needs: wide, memcheck: false, prepare: Box::new(chacha) },
        Case { name: "SHA-512, four blocks".into(), needs: wide, memcheck: false, prepare: Box::new(sha512) },
    ]
}
