//! The interface as C programs see it: built with `cc -lica`, compared with OpenSSL.

#![cfg(target_os = "linux")]

mod common;

use adjunct::catalogue::Function;
use adjunct::catalogue::{Path, Reason};
use adjunct::ops::choice::path;
use common::{PLAIN, counted, emulated, is_good, program, program_of, run};

#[test]
fn ciphers_agree_with_openssl() {
    is_good("interface/ciphers", "");
    is_good("interface/ciphers", PLAIN);
}

#[test]
fn hashes_agree_with_openssl() {
    is_good("interface/hashes", "");
    is_good("interface/hashes", PLAIN);
}

#[test]
fn curves_agree_with_openssl() {
    is_good("interface/curves", "");
    // No emulator has instructions of curves that could be taken away.
    if !PLAIN.is_empty() && !emulated() {
        is_good("interface/curves", PLAIN);
    }
}

#[test]
fn curves_count_under_their_own_sizes() {
    let counts = counted("curves", |run| _ = run(program("interface/curves").arg("count")));
    let Ok(counts) = counts else { return println!("SKIPPED: no shared memory for counters here") };
    let counts = counts.expect("of this user");
    let curves = [(160, 1), (192, 2), (224, 2), (256, 2), (320, 1), (384, 2), (512, 1), (521, 1)];
    for (function, times) in
        [(Function::EcKeygen, 2), (Function::Ecdh, 1), (Function::EcdsaSign, 2), (Function::EcdsaVerify, 2)]
    {
        for (bits, curves) in curves {
            let row = counts.row(function.row(bits));
            // One thread alone: nothing was a batch. CPACF takes the NIST curve of a size, and not Brainpool's; the lanes, P-192 and three
            // of these besides.
            let hardware = match (path(function, 256) == Path::Hardware && cfg!(target_arch = "x86_64"), bits) {
                (true, 256 | 384) => 2 * times,
                (true, 192 | 512 | 521) => times,
                (false, _) if path(function, bits) == Path::Hardware => times,
                _ => 0,
            };
            let expected = (times * curves - hardware, hardware);
            assert_eq!((row.software_calls(), row.hardware_calls()), expected, "{function:?} {bits}");
        }
    }
    // Of the signatures on the three curves that have lanes, those with a nonce that is given never run there.
    let alone = if path(Function::EcdsaSign, 256) == Path::Software(Reason::Alone) { 3 } else { 0 };
    assert_eq!(counts.fallbacks(Function::EcdsaSign, Reason::Alone).calls, alone);
}

#[test]
fn no_private_key_stays_on_the_stack() {
    if cfg!(not(target_arch = "x86_64")) {
        // The C code that AWS-LC has in place of assembly leaves what the compiler spills.
        return println!("SKIPPED: only x86-64's code is known to leave nothing");
    }
    is_good("interface/traces", "");
    if !PLAIN.is_empty() {
        is_good("interface/traces", PLAIN);
    }
}

/// The library finds out what the processor has before it decides, and says what ran.
#[test]
fn what_hardware_serves_counts_as_hardware() {
    let counts = counted("hardware", |run| {
        run(&mut program("interface/hashes"));
        run(&mut program("interface/ciphers"));
    });
    let Ok(Some(counts)) = counts else { return println!("SKIPPED: no shared memory for counters here") };
    for (function, bits) in [(Function::AesCbc, 128), (Function::AesGcm, 256), (Function::Sha256, 0)] {
        let counts = counts.function(function);
        let hardware = path(function, bits) == Path::Hardware;
        assert_eq!(hardware, counts.hardware_calls() > 0, "{function:?}");
        assert_eq!(hardware, counts.software_calls() == 0, "{function:?}");
    }
}

#[test]
fn the_function_list_is_true() {
    let good = |library: &str, mask: &str, machine: &str| {
        for batches in [false, true] {
            let mut program = program_of("interface/list", library);
            if batches {
                program.env("ADJUNCT_ACCELERATOR", "always");
            }
            assert_eq!(run(program.env("ADJUNCT_CPU", mask).arg(machine)), "good\n", "{library} {machine} {batches}");
        }
    };
    good("ica", "", "");
    good("ica-cex", "", "cex");
    if !PLAIN.is_empty() {
        good("ica", PLAIN, "plain");
    }
}

#[test]
fn curves_25519_and_448_agree_with_openssl() {
    is_good("interface/ecx", "");
    is_good("interface/ecx", PLAIN);
}

#[test]
fn curves_25519_and_448_count_what_ran() {
    use Function::*;
    let counts = counted("ecx", |run| _ = run(program("interface/ecx").arg("count")));
    let Ok(Some(counts)) = counts else { return println!("SKIPPED: no shared memory for counters here") };
    for (function, times) in [
        (X25519Keygen, 2),
        (X25519Derive, 1),
        (X448Keygen, 2),
        (X448Derive, 1),
        (Ed25519Keygen, 2),
        (Ed25519Sign, 2),
        (Ed25519Verify, 1),
        (Ed448Keygen, 2),
        (Ed448Sign, 1),
        (Ed448Verify, 1),
    ] {
        let row = counts.function(function);
        // One thread alone: nothing was a batch.
        let expected = if path(function, 0) == Path::Hardware { (0, times) } else { (times, 0) };
        assert_eq!((row.software_calls(), row.hardware_calls()), expected, "{function:?}");
        let delegated = matches!(function, X448Keygen | X448Derive | Ed448Keygen | Ed448Sign | Ed448Verify);
        assert_eq!(
            counts.fallbacks(function, Reason::Delegated).calls,
            if delegated { times } else { 0 },
            "{function:?}"
        );
    }
    // Of the two messages the long one is never signed in lanes.
    let alone = u64::from(path(Ed25519Sign, 0) == Path::Software(Reason::Alone));
    assert_eq!(counts.fallbacks(Ed25519Sign, Reason::Alone).calls, alone);
}
