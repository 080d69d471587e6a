//! Sessions that outlive the configuration and module they were started with, sessions of another user, and data in other forms: forwarded ports,
//! compression.

use crate::table::Versions;
use crate::{each_system, side_by_side};
use adjunct_e2e::counted::{Counted, Counts};
use adjunct_e2e::keys::{HOST, Keys};
use adjunct_e2e::lab::{Lab, Modules, spawn};
use adjunct_e2e::listener::{Holding, Listener, eventually, until};
use adjunct_e2e::ports;
use adjunct_e2e::random;
use adjunct_e2e::session::{Live, Pair, Side};
use adjunct_e2e::system::{TESTER, TESTER_ID};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

const GCM: &str = "Ciphers aes128-gcm@openssh.com";

fn bytes(counts: &Counts, function: &str) -> u64 {
    counts.get(function).map_or(0, |c| c.bytes)
}

/// A session with a remote `cat` on either side.
fn open(pair: &Pair, client: &Side, server: &Side) -> Live {
    pair.start(server, |port, name| {
        let mut ssh = pair.ssh(&client.clone().option("LogLevel ERROR"), port, name);
        ssh.args(["-T", HOST, "cat"]);
        ssh
    })
}

fn close(live: Live) {
    let log = live.log();
    let (status, _) = live.wait();
    assert!(status.success(), "{status}: {log}");
}

/// The module, its configuration and both at once change under a running session: by rename, as packages are upgraded and as `adjunct openssl
/// disable` writes. The session goes on as it began, with new keys on the way; the next one is as configured.
#[test]
fn sessions_outlive_disabling_and_upgrades() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let (near, far) = (Counted::new(), Counted::new());
        let conf = lab.conf(Modules::Both);
        let enabled = std::fs::read(&conf).expect("the configuration");
        let replace = |path: &Path, data: &[u8]| {
            let new = lab.write("new", data);
            std::fs::rename(new, path).expect("rename");
        };
        let kex = "KexAlgorithms ecdh-sha2-nistp256";
        let side = |counted: &Counted| Side::new(&conf).counted(counted).option(GCM).option(kex);
        let (client, server) = (side(&near).option("RekeyLimit 800K"), side(&far));
        // Apart, because the sessions with adjunct go on counting by themselves: windows, new keys.
        let nothing = Counted::new();
        let apart = side(&nothing);
        let data = random(1_000_000);
        let counts = || (bytes(&near.read(), "AES GCM"), bytes(&far.read(), "AES GCM"));
        let mut old = open(&pair, &client, &server);
        old.echo(&data);
        // Disabled: new sessions are stock, the old one is counted as before.
        replace(&conf, &std::fs::read(lab.stock()).expect("the stock configuration"));
        let before = counts();
        let mut stock = open(&pair, &apart, &apart);
        stock.echo(&data);
        assert!(nothing.read().is_empty(), "{}: a session after `disable` is counted", system.name);
        old.echo(&data);
        let after = counts();
        assert!(
            after.0 > before.0 + 2_000_000 && after.1 > before.1 + 2_000_000,
            "{}: {before:?} {after:?}",
            system.name
        );
        // Enabled again with another module in place of the first, then without one at all.
        let module = std::fs::read(lab.module()).expect("the module");
        replace(&lab.module(), &module);
        replace(&conf, &enabled);
        let mut new = open(&pair, &client, &server);
        new.echo(&data);
        std::fs::remove_file(lab.module()).expect("the module is removed");
        for live in [&mut old, &mut stock, &mut new] {
            live.echo(&data);
        }
        let mut without = open(&pair, &apart, &apart);
        without.echo(&data);
        assert!(nothing.read().is_empty(), "{}: a session without a module is counted", system.name);
        [old, stock, new, without].into_iter().for_each(close);
        let ecdh = near.read().get("ECDH").map_or(0, |c| c.calls());
        assert!(ecdh >= 4, "{}: the old sessions renewed their keys {ecdh} times through the engine", system.name);
    });
}

/// sshd becomes the user who logs in: the data is counted to that user, the host key's signatures to root.
#[test]
fn bulk_data_counts_for_the_user_who_logs_in() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let keys = Keys::shared();
        let data = random(2_000_000);
        for cipher in ["aes128-gcm@openssh.com", "aes128-ctr", "chacha20-poly1305@openssh.com"] {
            let counted = Counted::new();
            let client = Side::new(lab.stock())
                .option(format!("User {TESTER}"))
                .option(format!("Ciphers {cipher}"))
                .option("MACs hmac-sha2-256")
                .option("KexAlgorithms ecdh-sha2-nistp256")
                .option("RekeyLimit 1500K");
            let server = Side { account: true, ..Side::new(&lab.conf(Modules::Both)) }
                .counted(&counted)
                .option(format!("HostKey {}", keys.path("ecdsa256").display()))
                .option("HostKeyAlgorithms ecdsa-sha2-nistp256");
            let ended = pair.run(&client, &server, "id -u >&2; cat", &data);
            let what = || format!("{} {cipher}: {}", system.name, ended.logs());
            assert!(ended.status.success() && ended.output == data, "{}", what());
            assert!(ended.client.lines().any(|l| l == TESTER_ID.to_string()), "{}", what());
            let users = counted.users();
            let of = |uid: u32| users.get(&Some(uid.into())).cloned().unwrap_or_default();
            let (root, tester) = (of(0), of(TESTER_ID));
            let function = adjunct_e2e::ssh::functions(cipher)[0];
            assert!(bytes(&tester, function) >= 4_000_000, "{function}: {users:#?}\n{}", what());
            assert!(bytes(&root, function) < 100_000, "{function}: {users:#?}\n{}", what());
            let signed = root.get("ECDSA Sign").map_or(0, |c| c.calls());
            assert!(signed >= 2 && !tester.contains_key("ECDSA Sign"), "{users:#?}\n{}", what());
            // The new keys are the session's own work, the first are that of the user before the login: root, or sshd's own.
            let agreed = tester.get("ECDH").map_or(0, |c| c.calls());
            let before = users.iter().any(|(uid, c)| *uid != Some(TESTER_ID.into()) && c.contains_key("ECDH"));
            assert!(agreed >= 1 && before, "{users:#?}\n{}", what());
        }
    });
}

/// Sends back what comes, once.
fn echoing() -> u16 {
    let listener = ports::listener();
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let mut back = stream.try_clone().expect("a descriptor");
                let _ = std::io::copy(&mut stream, &mut back);
                let _ = back.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    port
}

/// Sends data to a port and expects it back.
fn through(port: u16, data: &[u8]) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the forwarded port");
    let mut sender = stream.try_clone().expect("a descriptor");
    let mut back = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            sender.write_all(data).expect("data is taken");
            sender.shutdown(std::net::Shutdown::Write).expect("shutdown");
        });
        stream.read_to_end(&mut back).expect("data comes back");
    });
    assert!(back == data, "{} bytes of {} came back, or others", back.len(), data.len());
}

/// Ports forwarded either way carry data of several connections at once, compressed or not.
#[test]
fn forwarded_ports_carry_bulk_data() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let target = echoing();
        let data = random(1_500_000);
        for (words, cipher) in
            [(&["-L"][..], "aes128-gcm@openssh.com"), (&["-C", "-R"], "chacha20-poly1305@openssh.com")]
        {
            let (near, far) = (Counted::new(), Counted::new());
            let side = |counted: &Counted| {
                Side::new(&lab.conf(Modules::Both)).counted(counted).option(format!("Ciphers {cipher}"))
            };
            let (client, server) = (side(&near), side(&far).option("AllowTcpForwarding yes"));
            let entry = ports::free();
            let live = pair.start(&server, |port, name| {
                let mut ssh = pair.ssh(&client.option("ExitOnForwardFailure yes").option("LogLevel ERROR"), port, name);
                ssh.args(words).arg(format!("127.0.0.1:{entry}:127.0.0.1:{target}")).args(["-T", HOST, "cat"]);
                ssh
            });
            until("the port is open", || TcpStream::connect(("127.0.0.1", entry)).is_ok());
            side_by_side(&[(); 3], |()| through(entry, &data));
            let (status, log) = live.wait();
            assert!(status.success(), "{} {words:?}: {status} {log}", system.name);
            let function = adjunct_e2e::ssh::functions(cipher)[0];
            for counted in [near, far] {
                let counts = counted.read();
                // Compression finds the same data in several connections.
                let least = if words.contains(&"-C") { 3_000_000 } else { 9_000_000 };
                assert!(bytes(&counts, function) >= least, "{} {words:?}: {counts:#?}", system.name);
            }
        }
    });
}

/// A session with its standard streams tied to a port: `ssh -W`, as a jump host has it.
#[test]
fn a_jump_host_passes_a_login_on() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let side = Side::new(&lab.conf(Modules::Both)).option("AllowTcpForwarding yes");
        let listener = pair.listen(&side, None);
        let client = Side::new(&lab.conf(Modules::Both));
        let outer = pair.client_config(&client, listener.port, "outer");
        let jump = format!("ProxyCommand /usr/bin/ssh -q -F {} -W 127.0.0.1:{} {HOST}", outer.display(), listener.port);
        let data = random(1_000_000);
        let mut ssh = pair.ssh(&client.option(jump).option("ProxyUseFdpass no"), listener.port, "inner");
        let out = adjunct_e2e::lab::feed(ssh.args(["-T", HOST, "cat"]), &data);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && out.stdout == data, "{}: {said}\n{}", system.name, listener.log());
    });
}

/// A session that goes on, and what its processes hold.
struct Held {
    listener: Listener,
    ssh: Child,
    /// Number of descriptors that the session's command was given, in words.
    given: String,
}

impl Held {
    fn new(pair: &Pair, modules: Modules) -> Held {
        let side = Side::new(&pair.lab.conf(modules)).option(GCM);
        let listener = pair.listen(&side, None);
        let mut ssh = pair.ssh(&side.option("LogLevel ERROR"), listener.port, &format!("held-{modules:?}"));
        ssh.args(["-T", HOST, "ls /proc/self/fd | wc -l; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut ssh = spawn(&mut ssh);
        let mut given = String::new();
        let mut stdout = BufReader::new(ssh.stdout.as_mut().expect("piped"));
        stdout.read_line(&mut given).expect("the session answers");
        Held { listener, ssh, given }
    }

    /// The names of OpenSSH's processes on both sides, with their threads and descriptors. What the session runs comes and goes.
    fn processes(&self) -> Vec<(String, usize, usize)> {
        let sides = [self.listener.pid(), self.ssh.id()];
        let all = sides.into_iter().flat_map(|pid| [vec![pid], adjunct_tool::process::descendants(pid)].concat());
        let mut held: Vec<_> = all
            .filter_map(|pid| {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned();
                let Holding { threads, descriptors, .. } = Holding::of(pid);
                name.starts_with("ssh").then_some((name, threads, descriptors))
            })
            .collect();
        held.sort();
        held
    }

    fn end(mut self) {
        drop(self.ssh.stdin.take());
        assert!(self.ssh.wait().expect("wait").success());
        self.listener.idle();
    }
}

/// Processes of a session have one thread, and no descriptor beyond those of stock OpenSSH.
#[test]
fn a_session_has_no_thread_and_no_descriptor_of_ours() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let (stock, ours) = (Held::new(&pair, Modules::Stock), Held::new(&pair, Modules::Both));
        assert_eq!(stock.given, ours.given, "{}: descriptors of what a session runs", system.name);
        // What each of them has yet to close after the login, the one does earlier than the other.
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let alike = eventually(|| {
            (expected, found) = (stock.processes(), ours.processes());
            expected == found && found.len() >= 3
        });
        assert!(alike, "{} {:?}: stock {expected:?}, ours {found:?}", system.name, Versions::of(system));
        assert!(found.iter().all(|(_, threads, _)| *threads == 1), "{}: threads: {found:?}", system.name);
        stock.end();
        ours.end();
    });
}
