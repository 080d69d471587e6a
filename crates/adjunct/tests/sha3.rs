//! SHA-3 and SHAKE against the CPU library's own functions: every length about a block, any chunking of input and output, and again
//! with instructions masked.

#[cfg(target_arch = "x86_64")]
mod runner;

use adjunct_cpu::digest::{Digest, Method, SHA3_224, SHA3_256, SHA3_384, SHA3_512, SHAKE128, SHAKE256};
use aws_lc_sys as lc;

const FIXED: [&Method; 4] = [&SHA3_224, &SHA3_256, &SHA3_384, &SHA3_512];
const XOF: [&Method; 2] = [&SHAKE128, &SHAKE256];

/// What the library's EVP makes of it.
fn library(method: &'static Method, data: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    // SAFETY: the context is the library's, freed once; the pointers and lengths describe the slices.
    unsafe {
        let evp = match (method.xof, method.block) {
            (true, 168) => lc::EVP_shake128(),
            (true, _) => lc::EVP_shake256(),
            (false, 144) => lc::EVP_sha3_224(),
            (false, 136) => lc::EVP_sha3_256(),
            (false, 104) => lc::EVP_sha3_384(),
            (false, _) => lc::EVP_sha3_512(),
        };
        let context = lc::EVP_MD_CTX_new();
        let done = lc::EVP_DigestInit_ex(context, evp, std::ptr::null_mut()) == 1
            && lc::EVP_DigestUpdate(context, data.as_ptr().cast(), data.len()) == 1
            && match method.xof {
                true => lc::EVP_DigestFinalXOF(context, out.as_mut_ptr(), length) == 1,
                false => lc::EVP_DigestFinal_ex(context, out.as_mut_ptr(), std::ptr::null_mut()) == 1,
            };
        lc::EVP_MD_CTX_free(context);
        assert!(done);
    }
    out
}

/// Numbers below a limit, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn every_length_in_any_chunking() {
    adjunct::init();
    let message: Vec<u8> = (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut numbers = Numbers(3);
    for length in (0..=700).chain((700..20_000).step_by(397)) {
        let mut method = FIXED[length % 4];
        let mut size = method.size;
        if length % 3 == 0 {
            (method, size) = (XOF[length % 2], 1 + numbers.below(700));
        }
        let message = &message[..length];
        let expected = library(method, message, size);
        let limit = [10, 140, 300, 1500][numbers.below(4)];
        for pieces in [false, true] {
            let mut digest = Digest::new(method);
            let mut rest = message;
            while !rest.is_empty() {
                let now = if pieces { numbers.below(limit).min(rest.len()) } else { rest.len() };
                digest.update(&rest[..now]);
                rest = &rest[now..];
            }
            let mut digest = digest.clone();
            let mut out = vec![0; size];
            if method.xof && pieces {
                let mut rest = &mut out[..];
                while !rest.is_empty() {
                    let (now, later) = rest.split_at_mut(numbers.below(limit).min(rest.len()));
                    digest.squeeze(now);
                    rest = later;
                }
            } else {
                digest.finish(&mut out);
            }
            assert_eq!(out, expected, "{method:?}, {length} bytes, pieces: {pieces}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_same_holds_on_lesser_cpus() {
    if std::env::var_os("ADJUNCT_CPU").is_some() {
        return;
    }
    for mask in ["-avx512", "-avx"] {
        let output = runner::itself().env("ADJUNCT_CPU", mask).output().expect("this program runs");
        assert!(output.status.success(), "under {mask}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
