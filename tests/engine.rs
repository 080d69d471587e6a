//! The engine beside the provider and alone, in real ssh and sshd: which of the two serves what, each operation is counted once, and every login
//! succeeds.

use adjunct_e2e::lab::{Counters, Lab, adjunct_conf, stock_conf};
use adjunct_e2e::random;
use adjunct_e2e::skipped;
use adjunct_e2e::ssh::{Ssh, functions};
use adjunct_e2e::system::{System, target};
use std::path::{Path, PathBuf};

/// The papers' lines, with the engine's own file; `more` are further lines of its section.
fn by_hand(lab: &Lab, algorithms: &str, more: &str) -> String {
    let module = lab.path("engine.so");
    let built = target().join("libadjunct_engine.so");
    std::fs::copy(&built, &module).unwrap_or_else(|e| panic!("{}: {e}; run ./check", built.display()));
    format!(
        "engines = engine_section\n[engine_section]\nadjunct_engine = engine_keys\n[engine_keys]\nengine_id = adjunct\n\
         dynamic_path = {}\n{more}\ndefault_algorithms = {algorithms}\ninit = 1\n",
        module.display()
    )
}

/// The engine alone, over OpenSSL's default provider.
fn alone(lab: &Lab, algorithms: &str, more: &str) -> PathBuf {
    lab.write("alone.cnf", stock_conf(&by_hand(lab, algorithms, more)))
}

/// Provider and engine, the engine from its own file.
fn both(lab: &Lab, algorithms: &str) -> PathBuf {
    lab.write("both.cnf", adjunct_conf(&lab.module(), "", &by_hand(lab, algorithms, "")))
}

/// Whether this OpenSSH signs and agrees by low-level calls (up to 9.8).
fn bypasses_providers(ssh: &Ssh) -> bool {
    let version = ssh.place.programs.versions().expect("ssh -V").0;
    let mut numbers = version.trim_start_matches("OpenSSH_").split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
    (next(), next()) <= (9, 8)
}

fn key(lab: &Lab, ssh: &Ssh, kind: &str, bits: &str) -> PathBuf {
    let path = ssh.place.path(&format!("{kind}_{bits}"));
    let mut keygen = lab.command(&System::here(), "ssh-keygen", lab.stock());
    let out = keygen.args(["-q", "-t", kind, "-b", bits, "-N", "", "-f"]).arg(&path).output().expect("keygen");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    path
}

/// What was counted since `before`, of public-key functions, whether in hardware or software.
fn public_key(lab: &Lab, before: &Counters) -> Vec<(String, u64)> {
    const NAMES: [&str; 6] = ["ECDH", "EC Keygen", "ECDSA Sign", "ECDSA Verify", "RSA-CRT", "RSA-ME"];
    let after = lab.counters();
    let calls = |counters: &Counters, name| counters.get(name).map_or(0, |(hw, sw)| hw + sw);
    let rows = NAMES.iter().map(|&name| (name.to_owned(), calls(&after, name) - calls(before, name)));
    rows.filter(|(_, calls)| *calls > 0).collect()
}

/// Host key, user key and key exchange of a login, one side on adjunct, the other on OpenSSL alone: exactly the operations
/// that side does are counted, each once, with the provider beside the engine and from either file.
#[test]
fn each_public_key_operation_of_a_login_is_counted_once() {
    let lab = Lab::new();
    let ssh = Ssh::new(&System::here(), &System::here());
    if !bypasses_providers(&ssh) {
        skipped("this OpenSSH asks providers; tests/ssh.rs has that");
        return;
    }
    let through_provider = lab.write("provider.cnf", adjunct_conf(&lab.module(), "engine = RSA,EC", ""));
    for conf in [both(&lab, "RSA,EC"), through_provider] {
        login_is_counted_once(&lab, &ssh, &conf);
    }
}

fn login_is_counted_once(lab: &Lab, ssh: &Ssh, conf: &Path) {
    let trust = ["StrictHostKeyChecking no".to_owned(), "UserKnownHostsFile /dev/null".to_owned()];
    let cases = [
        ("rsa", "3072", "rsa-sha2-512", "ecdh-sha2-nistp256", "RSA-CRT", "RSA-ME"),
        ("ecdsa", "256", "ecdsa-sha2-nistp256", "ecdh-sha2-nistp384", "ECDSA Sign", "ECDSA Verify"),
        ("ecdsa", "521", "ecdsa-sha2-nistp521", "ecdh-sha2-nistp521", "ECDSA Sign", "ECDSA Verify"),
    ];
    for (kind, bits, algorithm, kex, sign, verify) in cases {
        let path = ssh.place.path(&format!("{kind}_{bits}"));
        let key = if path.exists() { path } else { key(lab, ssh, kind, bits) };
        let public = key.with_extension("pub");
        let server = [format!("HostKey {}", key.display()), format!("AuthorizedKeysFile {}", public.display())];
        let mut client = trust.to_vec();
        client.push(format!("IdentityFile {}", key.display()));
        client
            .push(format!("HostKeyAlgorithms {algorithm}\nPubkeyAcceptedAlgorithms {algorithm}\nKexAlgorithms {kex}"));
        for (name, client_conf, server_conf) in [("client", conf, lab.stock()), ("server", lab.stock(), conf)] {
            let sshd = ssh.serve(lab, server_conf, &server);
            let before = lab.counters();
            let log = ssh.echo(lab, client_conf, &sshd, &client, b"hello");
            sshd.stop().expect("the session ends");
            assert!(log.contains(&format!("kex: algorithm: {kex}")) && log.contains(algorithm), "{log}");
            // Each side makes one key and agrees; the server signs with the host key, the client with the user's, and each
            // verifies the other's signature.
            let mut expected: Vec<_> = ["ECDH", "EC Keygen"].iter().map(|n| ((*n).to_owned(), 1)).collect();
            expected.extend([(sign.to_owned(), 1), (verify.to_owned(), 1)]);
            assert_eq!(public_key(lab, &before), expected, "{name}: {kind} {bits} {kex}");
        }
    }
}

/// With everything from the engine, as the papers configure it, no login fails that works without, and bulk data is counted.
#[test]
fn all_as_in_the_papers_keeps_nobody_out() {
    let lab = Lab::new();
    let ssh = Ssh::new(&System::here(), &System::here());
    let conf = alone(&lab, "ALL", "");
    let ciphers = ssh.known("cipher");
    let macs = ssh.known("mac");
    let everything = [format!("Ciphers {}\nMACs {}", ciphers.join(","), macs.join(","))];
    let sshd = ssh.serve(&lab, &conf, &everything);
    let data = random(300_000);
    let mut suites: Vec<_> = ciphers.iter().map(|c| (c.as_str(), "hmac-sha2-256-etm@openssh.com")).collect();
    suites.extend(macs.iter().map(|m| ("aes256-ctr", m.as_str())));
    for (cipher, mac) in suites {
        let before = lab.counters();
        let options = [format!("Ciphers {cipher}\nMACs {mac}\nRekeyLimit 100K\nKexAlgorithms curve25519-sha256")];
        ssh.echo(&lab, &conf, &sshd, &options, &data);
        // CBC and CTR are OpenSSL's own here: sshd cannot take their IVs back from an engine.
        let served =
            if cipher.contains("gcm") || cipher.contains("chacha20") { functions(cipher) } else { functions(mac) };
        lab.moved(&format!("{cipher} {mac}"), &before, served);
    }
    sshd.stop().expect("sessions end");
}

/// Provider and engine, both with everything: each byte is encrypted and decrypted by one of them, and counted once.
#[test]
fn nothing_is_counted_twice() {
    let lab = Lab::new();
    let ssh = Ssh::new(&System::here(), &System::here());
    let data = random(1_000_000);
    let asked = lab.write("asked.cnf", adjunct_conf(&lab.module(), "engine = ALL", ""));
    for conf in [both(&lab, "ALL"), both(&lab, "RSA,EC"), asked] {
        let sshd = ssh.serve(&lab, &conf, &[]);
        for (cipher, function) in [("aes128-gcm@openssh.com", "AES GCM"), ("aes128-ctr", "AES CTR")] {
            let before = lab.bytes(function);
            ssh.echo(&lab, &conf, &sshd, &[format!("Ciphers {cipher}")], &data);
            let counted = lab.bytes(function) - before;
            // There and back, encrypted and decrypted: four times, and some more for what goes with it.
            assert!((4_000_000..5_000_000).contains(&counted), "{}: {cipher}: {counted} bytes", conf.display());
        }
        sshd.stop().expect("sessions end");
    }
}

/// OpenSSL 3.5 and 3.6 have engines yet; OpenSSH 10 asks the provider, and the engine disturbs nothing.
#[test]
fn newer_ones_load_it_and_go_on() {
    for system in System::all().into_iter().skip(1) {
        let lab = Lab::new();
        let conf = both(&lab, "RSA,EC");
        let listed = lab.openssl(&system, &conf, &["engine", "-c"], b"");
        let listed = String::from_utf8_lossy(&listed);
        assert!(listed.contains("(adjunct)") && listed.contains("[RSA"), "{}: {listed}", system.name);
        let ssh = Ssh::new(&system, &system);
        let sshd = ssh.serve(&lab, &conf, &[]);
        let before = lab.counters();
        let options = ["Ciphers aes128-gcm@openssh.com\nKexAlgorithms ecdh-sha2-nistp384".to_owned()];
        ssh.echo(&lab, &conf, &sshd, &options, &random(100_000));
        sshd.stop().expect("the session ends");
        lab.moved(system.name, &before, &["AES GCM"]);
        assert_eq!(public_key(&lab, &before), [("ECDH".to_owned(), 2), ("EC Keygen".to_owned(), 2)], "{}", system.name);
    }
}

/// With an OpenSSL that has no engines the provider serves, and its key for the engine means nothing.
#[test]
fn without_engines_the_provider_serves_alone() {
    let Some(system) = System::without_engines() else { return };
    let lab = Lab::new();
    let conf =
        lab.write("asked.cnf", format!("config_diagnostics = 1\n{}", adjunct_conf(&lab.module(), "engine = ALL", "")));
    let before = lab.counters();
    let key = "00112233445566778899aabbccddeeff";
    let args = ["enc", "-aes-128-ctr", "-K", key, "-iv", key];
    let ours = lab.openssl(&system, &conf, &args, b"a message");
    assert_eq!(ours, lab.openssl(&system, lab.stock(), &args, b"a message"));
    lab.moved(system.name, &before, &["AES CTR"]);
    // What `engines =` does there, and why nothing of ours writes it: not even its version is told.
    let by_hand =
        lab.write("by_hand.cnf", format!("config_diagnostics = 1\n{}", stock_conf(&by_hand(&lab, "RSA,EC", ""))));
    assert!(!lab.try_openssl(&system, &by_hand, &["version"], b"").status.success(), "engines = is known again");
}
