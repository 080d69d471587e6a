//! Real ssh through real sshd, this machine's and newer ones: every cipher and MAC, both directions, either side on
//! adjunct, with rekeying, privilege separation, the sandbox, and processes killed in mid-transfer.

use adjunct_cli::ssh::server::{Sshd, descendants};
use adjunct_e2e::lab::{Lab, spawn};
use adjunct_e2e::random;
use adjunct_e2e::ssh::{Ssh, functions, tail};
use adjunct_e2e::system::{System, is_root};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const MEGABYTE: usize = 1_000_000;

/// New keys every megabyte; by a quick key exchange, because there are many (each one has its own test below).
const REKEY: &str = "RekeyLimit 1M\nKexAlgorithms curve25519-sha256";

/// Every name the client knows, and what goes with it.
fn suites(ssh: &Ssh) -> Vec<(String, String)> {
    let mut suites = Vec::new();
    for cipher in ssh.known("cipher") {
        suites.push((cipher, "hmac-sha2-256-etm@openssh.com".to_owned()));
    }
    for mac in ssh.known("mac") {
        suites.push(("aes128-ctr".to_owned(), mac.clone()));
        // Not encrypt-then-MAC: a CBC cipher decrypts the length first, another way through the cipher.
        if mac == "hmac-sha2-512" || mac == "umac-64@openssh.com" {
            suites.push(("aes256-cbc".to_owned(), mac));
        }
    }
    suites
}

fn all_suites(client: &System, server: &System) {
    let lab = Lab::new();
    let ssh = Ssh::new(client, server);
    let data = random(3 * MEGABYTE);
    let everything =
        [format!("Ciphers {}", ssh.known("cipher").join(",")), format!("MACs {}", ssh.known("mac").join(","))];
    for (client_conf, server_conf) in [(lab.adjunct(), lab.stock()), (lab.stock(), lab.adjunct())] {
        let mut options = everything.to_vec();
        options.push(REKEY.to_owned());
        let sshd = ssh.serve(&lab, server_conf, &options);
        for (cipher, mac) in suites(&ssh) {
            let before = lab.counters();
            let options = [format!("Ciphers {cipher}"), format!("MACs {mac}"), REKEY.to_owned()];
            let log = ssh.echo(&lab, client_conf, &sshd, &options, &data);
            assert!(log.contains(&format!("cipher: {cipher} MAC: ")), "not the suite asked for: {log}");
            let rekeyed = log.matches("SSH2_MSG_NEWKEYS sent").count();
            assert!(rekeyed >= 3, "{cipher} {mac}: rekeyed {rekeyed} times only\n{log}");
            // The generator of OpenSSL 3.5 leaves the default provider's AES-256-CTR in libcrypto's cache, where ssh then finds
            // it: served, but neither by adjunct nor counted. 3.0 and 3.6 do not.
            if server.name == "trixie" && cipher == "aes256-ctr" {
                continue;
            }
            lab.moved(&format!("{} {cipher} {mac}", server.name), &before, functions(&cipher));
            if !cipher.contains("gcm") && !cipher.contains("poly1305") {
                lab.moved(&format!("{} {cipher} {mac}", server.name), &before, functions(&mac));
            }
        }
        sshd.stop().expect("sessions end");
    }
}

#[test]
fn every_cipher_and_mac_here() {
    all_suites(&System::here(), &System::here());
}

#[test]
fn every_cipher_and_mac_trixie() {
    if let Some(system) = System::suite("trixie") {
        all_suites(&system, &system);
    }
}

#[test]
fn every_cipher_and_mac_sid() {
    if let Some(system) = System::suite("sid") {
        all_suites(&system, &system);
    }
}

/// Key types of ssh-keygen, with the signature algorithms each serves.
const KEYS: [(&str, &str, &[&str]); 5] = [
    ("ed25519", "256", &["ssh-ed25519"]),
    ("ecdsa", "256", &["ecdsa-sha2-nistp256"]),
    ("ecdsa", "384", &["ecdsa-sha2-nistp384"]),
    ("ecdsa", "521", &["ecdsa-sha2-nistp521"]),
    ("rsa", "3072", &["rsa-sha2-256", "rsa-sha2-512"]),
];

/// Every host key and user key type and every key exchange, client on adjunct and server on stock, then the reverse.
fn all_keys(client: &System, server: &System) {
    let lab = Lab::new();
    let ssh = Ssh::new(client, server);
    let mut server_options = vec![format!("KexAlgorithms {}", ssh.known("kex").join(","))];
    let mut authorized = std::fs::read_to_string(ssh.place.path("user_key.pub")).expect("the public key");
    for (kind, bits, _) in KEYS {
        for whose in ["host", "user"] {
            let path = ssh.place.path(&format!("{whose}_{kind}_{bits}"));
            let mut keygen = lab.command(server, "ssh-keygen", lab.adjunct());
            let out = keygen.args(["-q", "-t", kind, "-b", bits, "-N", "", "-f"]).arg(&path).output().expect("keygen");
            assert!(out.status.success(), "{kind} {bits}: {}", String::from_utf8_lossy(&out.stderr));
            if whose == "host" {
                server_options.push(format!("HostKey {}", path.display()));
            } else {
                authorized += &std::fs::read_to_string(path.with_extension("pub")).expect("the public key");
            }
        }
    }
    let authorized = ssh.place.write("authorized", &authorized).expect("authorized keys");
    server_options.push(format!("AuthorizedKeysFile {}", authorized.display()));
    let trusting = ["StrictHostKeyChecking no".to_owned(), "UserKnownHostsFile /dev/null".to_owned()];
    for (client_conf, server_conf) in [(lab.adjunct(), lab.stock()), (lab.stock(), lab.adjunct())] {
        let sshd = ssh.serve(&lab, server_conf, &server_options);
        for (kind, bits, algorithms) in KEYS {
            for algorithm in algorithms {
                let key = ssh.place.path(&format!("user_{kind}_{bits}"));
                let mut options = trusting.to_vec();
                options.push(format!("HostKeyAlgorithms {algorithm}"));
                options.push(format!("PubkeyAcceptedAlgorithms {algorithm}"));
                options.push(format!("IdentityFile {}", key.display()));
                let log = ssh.echo(&lab, client_conf, &sshd, &options, b"hello");
                assert!(log.contains(&format!("host key algorithm: {algorithm}")), "{log}");
            }
        }
        for kex in ssh.known("kex").iter().filter(|k| !k.starts_with("gss-")) {
            let mut options = trusting.to_vec();
            options.push(format!("KexAlgorithms {kex}"));
            let log = ssh.echo(&lab, client_conf, &sshd, &options, b"hello");
            assert!(log.contains(&format!("kex: algorithm: {kex}")), "{log}");
        }
    }
}

#[test]
fn every_key_type_and_key_exchange() {
    for system in System::all() {
        all_keys(&system, &system);
    }
}

#[test]
fn old_and_new_speak_to_each_other() {
    let here = System::here();
    for newer in System::all().into_iter().skip(1) {
        for (client, server) in [(&here, &newer), (&newer, &here)] {
            let lab = Lab::new();
            let ssh = Ssh::new(client, server);
            let sshd = ssh.serve(&lab, lab.adjunct(), &[REKEY.to_owned()]);
            let before = lab.counters();
            for cipher in ["aes128-gcm@openssh.com", "aes256-ctr", "chacha20-poly1305@openssh.com"] {
                let options = [format!("Ciphers {cipher}"), REKEY.to_owned()];
                ssh.echo(&lab, lab.adjunct(), &sshd, &options, &random(2 * MEGABYTE));
            }
            lab.moved(newer.name, &before, &["AES GCM", "AES CTR"]);
        }
    }
}

/// The process that talks to a client which has not logged in yet.
fn unauthenticated_child(sshd: &Sshd) -> Option<u32> {
    let sandboxed = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|l| l.split_whitespace().eq(["Seccomp:", "2"]))
    };
    descendants(sshd.pid()).into_iter().find(sandboxed)
}

#[test]
fn the_sandboxed_child_has_the_module_and_no_rights() {
    if !is_root() {
        eprintln!("SKIPPED: only root's sshd separates privileges by user");
        return;
    }
    for system in System::all() {
        let lab = Lab::new();
        let ssh = Ssh::new(&system, &system);
        let sshd = ssh.serve(&lab, lab.adjunct(), &[]);
        let mut connection = std::net::TcpStream::connect(("127.0.0.1", sshd.port())).expect("connect");
        let mut banner = [0; 8];
        connection.read_exact(&mut banner).expect("sshd's banner");
        assert_eq!(&banner, b"SSH-2.0-");
        // The sandbox closes once both sides have said who they are.
        connection.write_all(b"SSH-2.0-e2e\r\n").expect("our banner");
        let start = Instant::now();
        let pid = loop {
            if let Some(pid) = unauthenticated_child(&sshd) {
                break pid;
            }
            assert!(start.elapsed() < Duration::from_secs(10), "{}: no process in the sandbox", system.name);
            std::thread::sleep(Duration::from_millis(10));
        };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
        let uid = status.lines().find(|l| l.starts_with("Uid:")).expect("Uid line");
        assert!(!uid.split_whitespace().any(|w| w == "0"), "{}: {uid}", system.name);
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
        assert!(maps.contains("adjunct.so"), "{}: the module is not mapped there", system.name);
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("task").count();
        assert_eq!(threads, 1, "{}: a thread was started", system.name);
    }
}

/// Reads `bytes` bytes of an endless copy.
fn endless(ssh: &Ssh, lab: &Lab, conf: &Path, sshd: &Sshd, cipher: &str, bytes: usize) -> std::process::Child {
    let mut command = ssh.place.client(sshd.port(), &[format!("Ciphers {cipher}")], conf).expect("configuration");
    command.envs(lab.environment()).arg("cat /dev/zero").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = spawn(&mut command);
    let mut data = vec![1; bytes];
    client.stdout.as_mut().expect("stdout").read_exact(&mut data).expect("data");
    assert!(data.iter().all(|&b| b == 0), "the data differs");
    client
}

fn gone(sshd: &Sshd) -> bool {
    let start = Instant::now();
    while !descendants(sshd.pid()).is_empty() {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
fn a_kill_in_mid_transfer_loses_neither_service_nor_counts() {
    for system in System::all() {
        let lab = Lab::new();
        let ssh = Ssh::new(&system, &system);
        let sshd = ssh.serve(&lab, lab.adjunct(), &[]);
        for cipher in ["aes128-gcm@openssh.com", "aes128-ctr"] {
            // The client dies; then the session's process.
            for victim in ["client", "server"] {
                let before = lab.counters();
                let mut client = endless(&ssh, &lab, lab.adjunct(), &sshd, cipher, 20 * MEGABYTE);
                if victim == "client" {
                    client.kill().expect("kill");
                } else {
                    for pid in descendants(sshd.pid()) {
                        // SAFETY: a signal to a process below our own server.
                        unsafe { libc::kill(i32::try_from(pid).expect("pid"), libc::SIGKILL) };
                    }
                }
                drop(client.stdout.take());
                client.wait().expect("wait");
                assert!(gone(&sshd), "{} {cipher}: sessions outlive the killed {victim}", system.name);
                // 20 MB in calls of at most 256 KB, on both sides.
                lab.moved(&format!("{} {cipher}", system.name), &before, functions(cipher));
                let calls = lab.counters()[functions(cipher)[0]];
                assert!(calls.0 + calls.1 >= 2 * 80, "{} {cipher}: {calls:?}", system.name);
            }
            ssh.echo(&lab, lab.adjunct(), &sshd, &[format!("Ciphers {cipher}")], &random(MEGABYTE));
        }
        assert!(!tail(&sshd.log()).contains("panic"), "{}", sshd.log());
    }
}

#[test]
fn the_module_starts_no_thread_in_a_session() {
    let system = System::here();
    let lab = Lab::new();
    let ssh = Ssh::new(&system, &system);
    let sshd = ssh.serve(&lab, lab.adjunct(), &[]);
    let mut client = endless(&ssh, &lab, lab.adjunct(), &sshd, "aes128-gcm@openssh.com", MEGABYTE);
    for pid in descendants(sshd.pid()).into_iter().chain([sshd.pid(), client.id()]) {
        if let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) {
            assert_eq!(tasks.count(), 1, "process {pid}");
        }
    }
    client.kill().expect("kill");
    client.wait().expect("wait");
}
