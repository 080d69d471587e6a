//! RSA as C programs see it: compared with OpenSSL, counted, from many threads at once; and Wycheproof's vectors.

#![cfg(target_os = "linux")]

mod common;

use adjunct::catalogue::Function;
use adjunct::catalogue::Queue;
use adjunct::counters::Snapshot;
use common::{PLAIN, emulated, program, run};

/// Runs the program on a processor without the instructions of `mask`; on an emulated one with small keys only.
fn agrees(mask: &str) {
    let mut program = program("interface/rsa");
    if emulated() {
        program.arg("small");
    }
    assert_eq!(run(program.env("ADJUNCT_CPU", mask)), "good\n");
}

#[test]
fn rsa_agrees_with_openssl() {
    agrees("");
}

#[test]
fn rsa_without_instructions_agrees_with_openssl() {
    // No emulator has instructions of RSA's that could be taken away.
    if !PLAIN.is_empty() && !emulated() {
        agrees(PLAIN);
    }
}

/// The counts of a run of the program; `None` where there is no shared memory.
fn counted(argument: &str) -> Option<Snapshot> {
    // Threads share batches only where that is asked for.
    let mut program = program("interface/rsa");
    program.arg(argument).env("ADJUNCT_ACCELERATOR", "always");
    common::counted(&format!("rsa-{argument}"), |run| _ = run(&mut program)).ok()?
}

#[test]
fn every_operation_is_counted_by_its_size() {
    let Some(counts) = counted("count") else { return println!("SKIPPED: no shared memory for counters here") };
    let calls = |function: Function, bits| {
        let counts = counts.row(function.row(bits));
        counts.hardware_calls() + counts.software_calls()
    };
    // Making large keys takes an emulator minutes.
    let sizes = if emulated() { 3 } else { 6 };
    for (i, bits) in [512, 1024, 1031, 2048, 3072, 4096].into_iter().take(sizes).enumerate() {
        let i = i as u64 + 1;
        assert_eq!(calls(Function::RsaCrt, bits), i, "{bits}");
        assert_eq!(calls(Function::RsaMe, bits), 10 * i, "{bits}");
        assert_eq!(calls(Function::RsaKeygenCrt, bits), u64::from(bits <= 1031), "{bits}");
        assert_eq!(calls(Function::RsaKeygenMe, bits), u64::from(bits <= 1024), "{bits}");
    }
}

#[test]
fn threads_get_right_results_and_fill_batches() {
    let Some(counts) = counted("threads") else { return println!("SKIPPED: no shared memory for counters here") };
    let (bits, times) = if emulated() { (1024, 4) } else { (2048, 40) };
    let row = counts.row(Function::RsaCrt.row(bits));
    assert_eq!(row.hardware_calls() + row.software_calls(), 16 * times);
    if adjunct::ops::batches::for_curves() {
        assert_eq!(row.software_calls(), 0);
    }
    if adjunct::ops::batches::available() && bits == 2048 {
        assert!(counts.lanes(Queue::Rsa2048).in_lanes > 0);
    } else {
        println!("SKIPPED: batches: this CPU has no AVX-512 IFMA, or it is masked");
    }
}
