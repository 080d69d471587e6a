//! The SHA-512 family against the CPU library's own functions and the examples of FIPS 180-4: every length, any chunking,
//! and again with instructions masked.

#[cfg(target_arch = "x86_64")]
mod runner;

use adjunct_cpu::digest::{Digest, Method, SHA384, SHA512, SHA512_224, SHA512_256};
use aws_lc_sys as lc;

fn digest(method: &'static Method, parts: &[&[u8]]) -> Vec<u8> {
    let mut digest = Digest::new(method);
    parts.iter().for_each(|part| digest.update(part));
    let mut out = vec![0; method.size];
    digest.finish(&mut out);
    out
}

fn library(method: &'static Method, data: &[u8]) -> Vec<u8> {
    let mut out = vec![0; method.size];
    let function = match (method.size, method.name) {
        (48, _) => lc::SHA384,
        (64, _) => lc::SHA512,
        (28, _) => lc::SHA512_224,
        _ => lc::SHA512_256,
    };
    // SAFETY: the result is as long as the method says.
    unsafe { function(data.as_ptr(), data.len(), out.as_mut_ptr()) };
    out
}

const FAMILY: [&Method; 4] = [&SHA384, &SHA512, &SHA512_224, &SHA512_256];

#[test]
fn examples_of_fips_180_4() {
    adjunct::init();
    let hex = |bytes: Vec<u8>| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let two_blocks =
        b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst\
        nopqrstu";
    for (method, message, expected) in [
        (
            &SHA512,
            &b"abc"[..],
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            &SHA512,
            two_blocks,
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018\
             501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
        ),
        (
            &SHA384,
            b"abc",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            &SHA384,
            two_blocks,
            "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712fcc7c71a557e2db966c3e9fa91746039",
        ),
    ] {
        assert_eq!(hex(digest(method, &[message])), expected, "{method:?}");
    }
}

#[test]
fn every_length_in_any_chunking() {
    adjunct::init();
    let message: Vec<u8> = (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut seed = 7u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    for length in (0..=1200).chain((1200..20_000).step_by(397)) {
        let method = FAMILY[length % 4];
        let message = &message[..length];
        let expected = library(method, message);
        assert_eq!(digest(method, &[message]), expected, "{method:?}, {length} bytes");
        let limit = [10, 130, 300, 1500][below(4)];
        let (mut parts, mut rest) = (Vec::new(), message);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(below(limit).min(rest.len()));
            parts.push(now);
            rest = later;
        }
        assert_eq!(digest(method, &parts), expected, "{method:?}, {length} bytes in pieces");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_same_holds_on_lesser_cpus() {
    if std::env::var_os("ADJUNCT_CPU").is_some() {
        return;
    }
    for mask in ["-bmi2", "-avx512", "-avx2", "-avx"] {
        let output = runner::itself().env("ADJUNCT_CPU", mask).output().expect("this program runs");
        assert!(output.status.success(), "under {mask}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
