//! Many logins: at once, one after the other, while sshd is told to start again; and what they leave behind.

use crate::logins::Agent;
use crate::table::{Versions, way};
use crate::{each_system, side_by_side};
use adjunct_e2e::counted::{Counted, Counts};
use adjunct_e2e::keys::{HOST, Keys};
use adjunct_e2e::lab::{Lab, Modules, feed, spawn};
use adjunct_e2e::listener::{Holding, Listener, until};
use adjunct_e2e::session::{Pair, Side, limited, next};
use adjunct_e2e::system::{self, System};
use adjunct_e2e::{either, random};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A key exchange and a host key that reach adjunct in every version.
fn suite(side: Side) -> Side {
    side.option("KexAlgorithms ecdh-sha2-nistp256").option("Ciphers aes128-gcm@openssh.com")
}

fn server(lab: &Lab, counted: &Counted) -> Side {
    let keys = Keys::shared();
    let all: String = ["ecdsa256", "ecdsa384", "rsa2048", "ed25519"].map(|name| keys.public(name)).concat();
    let authorized = lab.write("authorized", all);
    suite(Side::new(&lab.conf(Modules::Both)).counted(counted))
        .option(format!("HostKey {}", keys.path("ecdsa256").display()))
        .option(format!("AuthorizedKeysFile {}", authorized.display()))
        .option("HostKeyAlgorithms ecdsa-sha2-nistp256")
        .option("MaxStartups 2000:100:2000")
        .option("LogLevel INFO")
}

fn without_penalties(side: Side, system: &System) -> Side {
    system::without_penalties(system).into_iter().fold(side, Side::option)
}

fn client(lab: &Lab, modules: Modules, key: &str) -> Side {
    suite(Side::new(&lab.conf(modules)))
        .option(format!("IdentityFile {}", Keys::shared().path(key).display()))
        .option("LogLevel ERROR")
        .option("ConnectionAttempts 3")
}

fn calls(counts: &Counts, function: &str) -> u64 {
    counts.get(function).map_or(0, |c| c.calls())
}

/// Logs in and has `data` sent back.
fn login(pair: &Pair, side: &Side, port: u16, data: &[u8]) -> Result<(), String> {
    let name = next();
    let out = feed(pair.ssh(side, port, &name).args(["-T", HOST, "cat"]), data);
    let _ = std::fs::remove_file(pair.lab.path(&format!("ssh-{name}")));
    if out.status.success() && out.stdout == data {
        return Ok(());
    }
    Err(format!("{}, {} bytes: {}", out.status, out.stdout.len(), String::from_utf8_lossy(&out.stderr)))
}

/// Checks the server's counts after `logins` logins: neither one lost nor one too many.
fn exact(system: &str, versions: Versions, counted: &Counted, logins: u64) {
    let counts = counted.read();
    if way("ecdh-sha2-nistp256", versions).reaches(Modules::Both) {
        assert_eq!(calls(&counts, "ECDH"), logins, "{system}: {counts:#?}");
    }
    if way("ecdsa-sha2-nistp256", versions).reaches(Modules::Both) {
        assert_eq!(calls(&counts, "ECDSA Sign"), logins, "{system}: {counts:#?}");
    }
}

#[test]
fn many_logins_at_once_lose_none() {
    let logins = either(200, 40);
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let counted = Counted::new();
        let listener = pair.listen(&without_penalties(server(&lab, &counted), system), None);
        let idle = Holding::of(listener.pid());
        let data = random(20_000);
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for n in 0..logins {
                let (pair, data, done, listener, lab) = (&pair, &data, &done, &listener, &lab);
                scope.spawn(move || {
                    let key = ["ecdsa256", "rsa2048", "ecdsa384", "ed25519"][n % 4];
                    let modules = if n % 3 == 0 { Modules::Stock } else { Modules::Both };
                    let result = login(pair, &client(lab, modules, key), listener.port, data);
                    result.unwrap_or_else(|e| panic!("{} login {n} {key}: {e}\n{}", system.name, listener.log()));
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), logins);
        listener.idle();
        let log = listener.log();
        for word in ["drop connection", "panicked", "adjunct:", "fatal", "error:"] {
            assert!(!log.contains(word), "{}: {word}: {log}", system.name);
        }
        let after = Holding::of(listener.pid());
        assert_eq!((after.descriptors, after.threads), (idle.descriptors, idle.threads), "{}", system.name);
        exact(system.name, Versions::of(system), &counted, logins as u64);
    });
}

/// Many logins in a row leave nothing behind: more of them than there are slots for counters, where everything is tried.
#[test]
fn many_logins_in_a_row_leave_nothing() {
    each_system(many_in_a_row);
}

fn many_in_a_row(system: &System) {
    let logins = either(1000, 75);
    let name = system.name;
    let lab = Lab::new();
    let pair = Pair { lab: &lab, client: system, server: system };
    let counted = Counted::new();
    let listener = pair.listen(&without_penalties(server(&lab, &counted), system), None);
    let side = client(&lab, Modules::Both, "ecdsa256");
    let config = pair.client_config(&side, listener.port, "row");
    let one = || {
        let mut ssh = limited(system, "ssh");
        ssh.arg("-F").arg(&config).args(["-T", HOST, "echo here"]).env("OPENSSL_CONF", &side.conf);
        let out = ssh.stdin(Stdio::null()).output().expect("ssh");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success() && out.stdout == b"here\n", "{name}: {said}\n{}", listener.log());
    };
    // The first logins may load what all the others then use.
    (0..25).for_each(|_| one());
    listener.idle();
    let early = Holding::of(listener.pid());
    (25..logins).for_each(|_| one());
    listener.idle();
    let late = Holding::of(listener.pid());
    assert_eq!(late.descriptors, early.descriptors, "{name}: descriptors of the listener");
    assert_eq!((late.threads, late.segments), (1, early.segments), "{name}: {early:?} {late:?}");
    assert!(late.kilobytes <= early.kilobytes + 256, "{name}: memory of the listener: {early:?} {late:?}");
    exact(name, Versions::of(system), &counted, logins as u64);
}

#[test]
fn a_busy_agent_holds_no_more() {
    each_system(|system| {
        let lab = Lab::new();
        let agent = Agent::start(&lab, system);
        let message = lab.write("message", "to be signed");
        let sign = |key: &str, n: usize| {
            let mut command = limited(system, "ssh-keygen");
            command.args(["-q", "-Y", "sign", "-n", "e2e", "-f"]).arg(Keys::shared().path(&format!("{key}.pub")));
            // To standard output: no file is in the next one's way.
            let input = std::fs::read(&message).expect("the message");
            let out = feed(command.env("SSH_AUTH_SOCK", &agent.socket).env("OPENSSL_CONF", lab.stock()), &input);
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(
                out.status.success() && out.stdout.starts_with(b"-----BEGIN SSH"),
                "{} {key} {n}: {said}",
                system.name
            );
        };
        let kinds = ["rsa2048", "ecdsa256", "ecdsa521", "ed25519"];
        let (first, all) = either((40, 300), (20, 40));
        (0..first).for_each(|n| sign(kinds[n % 4], n));
        let early = Holding::of(agent.pid());
        (first..all).for_each(|n| sign(kinds[n % 4], n));
        // A client is gone before the agent has closed its end.
        until("the agent is as before", || Holding::of(agent.pid()).descriptors <= early.descriptors);
        let late = Holding::of(agent.pid());
        assert_eq!((late.threads, late.segments), (early.threads, early.segments), "{}", system.name);
        assert!(late.kilobytes <= early.kilobytes + 256, "{}: {early:?} {late:?}", system.name);
        let counts = agent.counted.read();
        if way("ecdsa-sha2-nistp256", Versions::of(system)).reaches(Modules::Both) {
            assert_eq!(calls(&counts, "ECDSA Sign"), all as u64 / 2, "{}: {counts:#?}", system.name);
        }
    });
}

/// A connection with many sessions: the master's process and the server's hold no more after all of them than after a few.
#[test]
fn a_shared_connection_serves_many_sessions() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let (near, far) = (Counted::new(), Counted::new());
        let listener = pair.listen(&without_penalties(server(&lab, &far), system).option("MaxSessions 100"), None);
        let socket = lab.path("master");
        let side = client(&lab, Modules::Both, "ecdsa256")
            .counted(&near)
            .option(format!("ControlPath {}", socket.display()))
            .option("ControlPersist no");
        let mut master = pair.ssh(&side.clone().option("ControlMaster yes"), listener.port, "master");
        master.args(["-N", HOST]).stdout(Stdio::null());
        let mut master = spawn(&mut master);
        until("the master listens", || socket.exists());
        let config = pair.client_config(&side, 1, "mux");
        let data = random(100_000);
        let session = |_: &usize| {
            let mut ssh = limited(system, "ssh");
            ssh.arg("-F").arg(&config).args(["-T", HOST, "cat"]).env("OPENSSL_CONF", lab.stock());
            let out = feed(&mut ssh, &data);
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success() && out.stdout == data, "{}: {said}", system.name);
        };
        let client = *adjunct_tool::process::descendants(master.id()).last().expect("the master runs");
        let sessions = |range: std::ops::Range<usize>| side_by_side(&range.collect::<Vec<_>>(), session);
        let (first, all) = either((30, 200), (10, 25));
        sessions(0..first);
        let early = Holding::of(client);
        sessions(first..all);
        until("the master is as before", || Holding::of(client).descriptors <= early.descriptors);
        let late = Holding::of(client);
        assert_eq!((late.threads, late.segments), (early.threads, early.segments), "{}", system.name);
        assert!(late.kilobytes <= early.kilobytes + 512, "{}: {early:?} {late:?}", system.name);
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(master.id() as i32, libc::SIGTERM) };
        master.wait().expect("wait");
        listener.idle();
        for counted in [near, far] {
            let bytes = counted.read().get("AES GCM").map_or(0, |c| c.bytes);
            assert!(bytes >= all as u64 * 2 * 100_000, "{}: {bytes} bytes counted", system.name);
        }
    });
}

/// Logs in until told to stop; refused connections are tried again, as while sshd starts they must be.
fn keep_logging_in(pair: &Pair, port: u16, stop: &AtomicBool, done: &AtomicUsize) {
    let data = random(20_000);
    let side = client(pair.lab, Modules::Both, "ecdsa256").option("LogLevel DEBUG1");
    while !stop.load(Ordering::Relaxed) {
        match login(pair, &side, port, &data) {
            Ok(()) => {
                done.fetch_add(1, Ordering::Relaxed);
            }
            // A connection that sshd has not taken up yet falls with its listening socket, stock or not.
            Err(said) => assert!(!said.contains("SSH2_MSG_KEXINIT received"), "{}: {said}", pair.client.name),
        }
    }
}

#[test]
fn sshd_starts_again_under_load() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let counted = Counted::new();
        let side = without_penalties(server(&lab, &counted), system);
        let listener = pair.listen(&side, None);
        let port = listener.port;
        let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
        // A session that outlives all of it.
        let mut long = pair.ssh(&client(&lab, Modules::Both, "rsa2048"), port, "long");
        let mut long = spawn(long.args(["-T", HOST, "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()));
        let data = random(1_000_000);
        let mut echo = || {
            use std::io::{Read, Write};
            let (stdin, stdout) = (long.stdin.as_mut().expect("piped"), long.stdout.as_mut().expect("piped"));
            let mut back = vec![0; data.len()];
            std::thread::scope(|scope| {
                scope.spawn(|| stdin.write_all(&data).expect("the long session takes data"));
                stdout.read_exact(&mut back).expect("the long session gives data");
            });
            assert!(back == data, "{}: the data differs", system.name);
        };
        echo();
        let progress = |more: usize| {
            let start = done.load(Ordering::Relaxed);
            until("logins go on", || done.load(Ordering::Relaxed) >= start + more);
        };
        let listener = std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| keep_logging_in(&pair, port, &stop, &done));
            }
            let _stopped = Stopping(&stop);
            for _ in 0..4 {
                progress(4);
                listener.signal(libc::SIGHUP);
                echo();
            }
            progress(4);
            let before = counted.read();
            listener.end();
            let listener: Listener = pair.listen(&side, Some(port));
            progress(6);
            echo();
            let after = counted.read();
            assert!(calls(&after, "ECDH") > calls(&before, "ECDH"), "{}: not counted after a restart", system.name);
            listener
        });
        drop(long.stdin.take());
        assert!(long.wait().expect("wait").success(), "{}: the long session", system.name);
        listener.idle();
        let log = listener.log();
        assert!(!log.contains("panicked") && !log.contains("adjunct:"), "{}: {log}", system.name);
    });
}

/// Tells the others to stop, also where a test fails: they would go on for ever.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
