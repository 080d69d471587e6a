//! The library itself as C programs see it: its modes, by function and by environment, its generators, and what it counts.

#![cfg(target_os = "linux")]

mod common;

use adjunct::catalogue::Function;
use common::{PLAIN, emulated, is_good, program, run};

#[test]
fn the_generator_refuses_what_it_must_and_repeats_nothing() {
    is_good("interface/drbg", "");
}

#[test]
fn the_library_does_what_its_header_says() {
    is_good("interface/library", "");
    is_good("interface/library", PLAIN);
    if emulated() {
        println!("SKIPPED: the longest request for random bytes, 4 GiB, takes minutes in an emulator");
    } else {
        assert_eq!(run(program("interface/library").arg("most")), "good\n");
    }
    if !PLAIN.is_empty() {
        assert_eq!(run(program("interface/library").arg("plain").env("ADJUNCT_CPU", PLAIN)), "good\n");
    }
}

/// Numbers set a mode; anything else leaves it as it is by default.
#[test]
fn the_environment_sets_the_modes() {
    let refused = format!("{}\n", libc::ENODEV);
    let says = |name: &str, value: &str| run(program("interface/library").arg("software").env(name, value));
    for (value, on) in [
        ("0", false),
        (" 0 ", false),
        ("00", false),
        ("1", true),
        ("-1", true),
        ("2147483648", true),
        ("", true),
        ("off", true),
        ("0x", true),
        ("99999999999999999999999999", true),
        ("\u{2070}", true),
    ] {
        assert_eq!(says("LIBICA_FALLBACK_MODE", value) == refused, !on, "{value:?}");
        assert_eq!(says("LIBICA_OFFLOAD_MODE", value), "0\n", "{value:?}");
        assert_eq!(says("LIBICA_STATS_MODE", value), "0\n", "{value:?}");
    }
    // ICAPATH chooses for elliptic curves only, and only 1 takes software away.
    for (value, curve) in [("0", "0\n"), ("1", refused.as_str()), ("2", "0\n"), ("3", "0\n"), ("junk", "0\n")] {
        assert_eq!(says("ICAPATH", value), "0\n");
        assert_eq!(run(program("interface/library").arg("curve").env("ICAPATH", value)), curve, "{value:?}");
    }
}

/// How often AES-ECB and the generator were counted for a program run with `what`.
fn counted(what: &str, statistics: Option<&str>) -> Option<(u64, u64)> {
    let counts = common::counted(&format!("{what}-{statistics:?}"), |run| {
        let mut program = program("interface/library");
        if let Some(mode) = statistics {
            program.env("LIBICA_STATS_MODE", mode);
        }
        assert_eq!(run(program.arg(what)), "good\n");
    });
    let counts = counts.ok()?;
    let calls = |function| {
        counts.as_ref().map_or(0, |counts| {
            let counts = counts.function(function);
            counts.hardware_calls() + counts.software_calls()
        })
    };
    Some((calls(Function::AesEcb), calls(Function::Prng)))
}

#[test]
fn statistics_stop_where_the_program_stops_them() {
    let Some(all) = counted("aes", None) else { return println!("SKIPPED: no shared memory for counters here") };
    assert_eq!(all, (1, 0));
    assert_eq!(counted("aes", Some("0")), Some((0, 0)));
    assert_eq!(counted("aes", Some("junk")), Some((1, 0)));
    assert_eq!(counted("counted", None), Some((2, 0)));
}
