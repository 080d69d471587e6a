//! The cost of the module for a process: load time, private memory, threads, descriptors; and for a forked child, pages.

use adjunct_e2e::lab::Lab;
use adjunct_e2e::system::System;
use std::path::Path;
use std::process::{Command, Stdio};

/// A run of the probe.
#[derive(Debug, Clone, Copy)]
struct Probe {
    nanoseconds: u64,
    kilobytes: u64,
    threads: u64,
    descriptors: u64,
}

fn probe(lab: &Lab, conf: &Path, module: bool) -> Probe {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-probe"));
    let out =
        command.env("OPENSSL_CONF", conf).envs(lab.environment()).stdin(Stdio::null()).output().expect("the probe");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words.len(), 7, "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(words[0], "1", "OPENSSL_init_crypto failed");
    assert_eq!(words[5], module.to_string(), "the module is loaded");
    assert_eq!(words[6], "true", "algorithms are found");
    let number = |i: usize| words[i].parse().expect("a number");
    Probe { nanoseconds: number(1), kilobytes: number(2), threads: number(3), descriptors: number(4) }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn the_module_costs_little() {
    let lab = Lab::new();
    let (mut stock, mut adjunct) = (Vec::new(), Vec::new());
    for _ in 0..41 {
        stock.push(probe(&lab, lab.stock(), false));
        adjunct.push(probe(&lab, lab.adjunct(), true));
    }
    let time = |probes: &[Probe]| median(probes.iter().map(|p| p.nanoseconds).collect()) / 1000;
    let memory = |probes: &[Probe]| median(probes.iter().map(|p| p.kilobytes).collect());
    let (time, base_time) = (time(&adjunct), time(&stock));
    let (memory, base_memory) = (memory(&adjunct), memory(&stock));
    println!("configuration load: {base_time} us stock, {time} us with adjunct (medians of 41 processes)");
    println!("private memory:     {base_memory} KB stock, {memory} KB with adjunct");
    assert!(memory < base_memory + 4096, "more than 4 MB of private memory");
    for (with, without) in adjunct.iter().zip(&stock) {
        assert_eq!(with.threads, 1, "a thread was started");
        assert_eq!(with.descriptors, without.descriptors, "a descriptor was kept");
    }
}

/// Pages that a child is given in a handshake, forked by a server as PostgreSQL is: the median.
fn faults(lab: &Lab, conf: &Path, version: &str) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-forked"));
    command.arg(lab.path("server.pem")).arg(lab.path("server.key")).arg(version).arg("41");
    let out = command.env("OPENSSL_CONF", conf).envs(lab.environment()).stdin(Stdio::null()).output().expect("forked");
    let text = String::from_utf8_lossy(&out.stdout);
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&out.stderr)))
}

/// Each page costs a child some two microseconds: with a hundred pages more than OpenSSL a handshake would be slower in spite of the hardware. The
/// order of the module's code (`link/hot.ld`) and of the data that children write keeps the number low.
#[test]
fn a_forked_child_is_given_few_pages_more() {
    // The list is of x86-64's functions; elsewhere code lies as it comes. The same build is given up to six pages more on one machine than on another.
    const MORE: u64 = if cfg!(target_arch = "x86_64") { 72 } else { 100 };
    let (lab, here) = (Lab::new(), System::here());
    let (key, certificate) = (lab.path("server.key"), lab.path("server.pem"));
    let (key, certificate) = (key.to_str().expect("a path"), certificate.to_str().expect("a path"));
    for (kind, option, versions) in
        [("rsa:2048", "rsa_keygen_pubexp:65537", &["1.2", "1.3"][..]), ("ec", "ec_paramgen_curve:P-256", &["1.3"][..])]
    {
        let words = ["req", "-x509", "-nodes", "-subj", "/CN=localhost", "-newkey", kind, "-pkeyopt", option];
        let files = ["-keyout", key, "-out", certificate];
        lab.openssl(&here, lab.stock(), &[&words[..], &files[..]].concat(), b"");
        for version in versions {
            let (stock, adjunct) = (faults(&lab, lab.stock(), version), faults(&lab, lab.adjunct(), version));
            println!("{kind}, TLS {version}: {stock} pages stock, {adjunct} with adjunct (medians of 41 children)");
            assert!(adjunct <= stock + MORE, "{kind}, TLS {version}: {adjunct} pages, {stock} stock");
        }
    }
}
