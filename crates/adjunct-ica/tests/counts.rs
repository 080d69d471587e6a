//! Every function of the interface counts in its own row, in its direction, and as what ran: hardware or software.

#![cfg(target_os = "linux")]

mod common;

use adjunct::catalogue::Path;
use adjunct::catalogue::{CounterSplit, Function, Row};
use adjunct::counters::{Apart, Snapshot};
use adjunct::ops::choice as route;
use common::{PLAIN, emulated, program_of};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// The instructions that the program is left with.
#[derive(Clone, Copy, PartialEq)]
enum Machine {
    /// All.
    Whole,
    /// No dedicated instructions.
    Plain,
    /// Dedicated instructions in batches alone (libica-cex).
    Batches,
}

/// A counter: its row, the column (hardware) and the direction.
#[derive(Debug, PartialEq, Eq)]
struct Counter {
    row: Row,
    hardware: bool,
    direction: usize,
}

/// What was counted between two moments, and how often.
fn counted(before: &Snapshot, after: &Snapshot) -> Vec<(Counter, u64)> {
    let all = Function::ALL.iter().flat_map(|function| function.rows());
    let mut found = Vec::new();
    for (_, row) in all {
        let (before, after) = (before.row(row), after.row(row));
        for direction in 0..2 {
            for (hardware, before, after) in
                [(true, before.hardware, after.hardware), (false, before.software, after.software)]
            {
                let calls = after[direction].calls - before[direction].calls;
                if calls > 0 {
                    found.push((Counter { row, hardware, direction }, calls));
                }
            }
        }
    }
    found
}

/// What a call of `symbol|row|bits|direction` must count.
fn expected(row: &str, bits: usize, direction: &str, machine: Machine) -> Vec<(Counter, u64)> {
    if row.is_empty() {
        return Vec::new();
    }
    let function = Function::from_name(row).unwrap_or_else(|| panic!("the catalogue has no {row}"));
    assert_eq!(function.info().kind == CounterSplit::Cipher, !["crypt", "software"].contains(&direction), "{row}");
    let of_curves = matches!(function, Function::EcKeygen | Function::EcdsaSign);
    let of_keys = matches!(function, Function::RsaKeygenMe | Function::RsaKeygenCrt);
    // P-192 and three of Brainpool's curves, whose operations the lanes share where they share those on P-256.
    let shared = of_curves
        && matches!((direction, bits), ("crypt", 192) | ("software", 256 | 384 | 512))
        && !function.batch_instructions(256).is_empty()
        && cfg!(target_arch = "x86_64")
        && route::path(function, 256) == Path::Hardware;
    let here = shared || direction != "software" && route::path(function, bits) == Path::Hardware;
    let hardware = match machine {
        Machine::Whole => here,
        Machine::Plain => false,
        // The candidates of an RSA key are a batch by themselves.
        Machine::Batches => here && (shared || of_keys || !function.batch_instructions(bits).is_empty()),
    };
    vec![(Counter { row: function.row(bits), hardware, direction: usize::from(direction == "dec") }, 1)]
}

/// Runs the program, looks at the counters around each of its calls, and gives the names of the functions it called.
fn follow(library: &str, mask: &str, machine: Machine) -> BTreeSet<String> {
    let key = format!("counts-{}-{library}-{mask}", std::process::id());
    let apart = Apart::of(&key);
    // SAFETY: no requirements.
    let uid = unsafe { libc::geteuid() };
    let mut program = program_of("counts/counts", library);
    program.env_remove("ADJUNCT_STATS").env("ADJUNCT_STATS_KEY", &key).env("ADJUNCT_CPU", mask);
    program.env_remove("LIBICA_STATS_MODE").env_remove("LIBICA_FALLBACK_MODE").env_remove("ICAPATH");
    if emulated() {
        program.arg("small");
    }
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let (mut input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut lines = BufReader::new(output).lines().map(|line| line.expect("text"));
    let mut names = BTreeSet::new();
    let (mut skipped, mut wrong) = (false, Vec::new());
    while let Some(line) = lines.next() {
        let fields: Vec<_> = line.split('|').collect();
        let [symbol, row, bits, direction] = fields[..] else { panic!("{line}") };
        let read = || apart.read(uid).ok().flatten();
        let before = read();
        input.write_all(b"\n").expect("it listens");
        let result = lines.next().unwrap_or_else(|| panic!("{line}: the program ended"));
        assert_eq!(result, "0", "{line} on {library}, {mask}");
        let (Some(before), Some(after)) = (before, read()) else {
            skipped = true;
            continue;
        };
        // What counts nothing does not count in a queue of the accelerator either.
        if row.is_empty() && after.all_lanes() != before.all_lanes() {
            wrong.push(format!("{line}: counted {:?}", after.since(&before).all_lanes()));
        }
        let (counted, expected) =
            (counted(&before, &after), expected(row, bits.parse().expect("a number"), direction, machine));
        if counted != expected {
            wrong.push(format!("{line}: counted {counted:?}, not {expected:?}"));
        }
        names.insert(symbol.to_owned());
    }
    _ = apart.delete(uid);
    assert!(child.wait().expect("it ran").success());
    assert!(wrong.is_empty(), "{library}, mask '{mask}':\n{}", wrong.join("\n"));
    if skipped {
        println!("SKIPPED: no shared memory for counters here");
        names.clear();
    }
    names
}

#[test]
fn every_function_counts_what_ran() {
    let called = follow("ica", "", Machine::Whole);
    if called.is_empty() {
        return;
    }
    let of_list = include_str!("../symbols.txt").lines().filter_map(|line| line.strip_prefix("T ")?.split('@').next());
    let forgotten: Vec<_> = of_list.filter(|name| !called.contains(*name)).collect();
    assert!(forgotten.is_empty(), "no call of {forgotten:?}");
}

#[test]
fn without_instructions_all_is_software() {
    let machine = if PLAIN.is_empty() { Machine::Whole } else { Machine::Plain };
    follow("ica", PLAIN, machine);
}

#[test]
fn libica_cex_counts_no_instructions_but_the_batches() {
    follow("ica-cex", "", Machine::Batches);
}
