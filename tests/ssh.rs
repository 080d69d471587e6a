//! Real ssh through real sshd, this machine's and newer ones, on the provider alone: versions that speak to each other,
//! privilege separation, the sandbox, and processes killed in mid-transfer. Every algorithm is in `matrix`.

use adjunct_cli::ssh::lab::Sshd;
use adjunct_e2e::lab::{Lab, spawn};
use adjunct_e2e::listener::until;
use adjunct_e2e::random;
use adjunct_e2e::skipped;
use adjunct_e2e::ssh::{Ssh, functions, tail};
use adjunct_e2e::system::{System, is_root};
use adjunct_tool::process::descendants;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

const MEGABYTE: usize = 1_000_000;

/// New keys every megabyte; by a quick key exchange, because there are many.
const REKEY: &str = "RekeyLimit 1M\nKexAlgorithms curve25519-sha256";

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

/// What `/proc/PID/status` says of a word.
fn status(pid: u32, word: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_default().trim().to_owned()
}

/// The process that talks to a client which has not logged in yet. In a container everything has a filter of system calls.
fn unauthenticated_child(sshd: &Sshd) -> Option<u32> {
    let filters = |pid: u32| ["Seccomp:", "Seccomp_filters:"].map(|word| status(pid, word));
    descendants(sshd.pid())
        .into_iter()
        .find(|&pid| status(pid, "Seccomp:") == "2" && filters(pid) != filters(sshd.pid()))
}

#[test]
fn the_sandboxed_child_has_the_module_and_no_rights() {
    if !is_root() {
        skipped("only root's sshd separates privileges by user");
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
        let mut found = None;
        until("a process is in the sandbox", || {
            found = unauthenticated_child(&sshd);
            found.is_some()
        });
        let pid = found.expect("waited for");
        let uid = status(pid, "Uid:");
        assert!(!uid.is_empty() && !uid.split_whitespace().any(|w| w == "0"), "{}: {uid}", system.name);
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
        assert!(maps.contains("adjunct.so"), "{}: the module is not mapped there", system.name);
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("task").count();
        assert_eq!(threads, 1, "{}: a thread was started", system.name);
    }
}

/// Reads `bytes` bytes of an endless copy.
fn endless(ssh: &Ssh, lab: &Lab, conf: &Path, sshd: &Sshd, cipher: &str, bytes: usize) -> std::process::Child {
    let mut command = ssh.client(lab, conf, sshd.port(), &[format!("Ciphers {cipher}")]);
    command.arg("cat /dev/zero").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = spawn(&mut command);
    let mut data = vec![1; bytes];
    client.stdout.as_mut().expect("stdout").read_exact(&mut data).expect("data");
    assert!(data.iter().all(|&b| b == 0), "the data differs");
    client
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
                let what = format!("{} {cipher}: the session of the killed {victim} ends", system.name);
                until(&what, || descendants(sshd.pid()).is_empty());
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
