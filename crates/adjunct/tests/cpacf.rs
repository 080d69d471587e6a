//! CPACF in earnest: what the processor, or qemu in its place, says it has is run and compared with what it must give.

#![cfg(target_arch = "s390x")]

use adjunct::catalogue::Feature;
use adjunct::catalogue::Function;
use adjunct::catalogue::Path;
use adjunct::cpu;
use adjunct::ops::choice::path;
use adjunct_cpu::digest::{self, Digest};

/// The digest in parts of `part` bytes.
fn in_parts(method: &'static digest::Method, message: &[u8], part: usize) -> Vec<u8> {
    let mut digest = Digest::new(method);
    message.chunks(part).for_each(|part| digest.update(part));
    let mut out = vec![0; method.size];
    digest.finish(&mut out);
    out
}

/// The digest by the library alone, which knows nothing of CPACF.
fn by_library(method: &'static digest::Method, message: &[u8]) -> Vec<u8> {
    use aws_lc_sys as lc;
    let mut out = vec![0; method.size];
    let (data, length, to) = (message.as_ptr(), message.len(), out.as_mut_ptr());
    // SAFETY: message and result have these lengths.
    unsafe {
        match method.function {
            Function::Sha384 => lc::SHA384(data, length, to),
            Function::Sha512 => lc::SHA512(data, length, to),
            Function::Sha512_224 => lc::SHA512_224(data, length, to),
            _ => lc::SHA512_256(data, length, to),
        };
    }
    out
}

#[test]
fn sha_512_runs_in_hardware_whatever_the_parts() {
    if !cpu::features().has(Feature::Kimd) {
        eprintln!("SKIPPED: this machine has no KIMD");
        return;
    }
    // Long enough for the instruction to be interrupted: qemu does so every 64 blocks.
    let message: Vec<u8> = (0..40_000u32).map(|i| ((i * i) >> 3) as u8).collect();
    for method in [&digest::SHA384, &digest::SHA512, &digest::SHA512_224, &digest::SHA512_256] {
        assert_eq!(path(method.function, 0), Path::Hardware, "{method:?}");
        for length in [0, 1, 111, 112, 127, 128, 129, 239, 240, 256, 9999, 40_000] {
            let message = &message[..length];
            let expected = by_library(method, message);
            for part in [1, 100, 128, 1000, 40_000] {
                assert_eq!(in_parts(method, message, part), expected, "{method:?} {length} in parts of {part}");
            }
        }
    }
}

#[test]
fn random_bytes_have_those_of_the_machine_in_them() {
    let hardware = path(Function::Prng, 0) == Path::Hardware;
    assert_eq!(hardware, cpu::features().has(Feature::Prno));
    let mut seen = std::collections::HashSet::new();
    for length in [16, 33, 1000, 20_000] {
        let (mut a, mut b) = (vec![0; length], vec![0; length]);
        adjunct_cpu::random(&mut a);
        assert!(adjunct_cpu::random_with(&mut b, b"additional", true));
        assert!(seen.insert(a) && seen.insert(b));
    }
}

#[test]
fn there_is_no_instruction_without_a_level() {
    let level = cpu::msa_level();
    assert!(level <= 13);
    assert!(level > 0 || cpu::features().iter().next().is_none());
    eprintln!("level {level}, instructions {:?}", cpu::features().iter().map(Feature::name).collect::<Vec<_>>());
}
