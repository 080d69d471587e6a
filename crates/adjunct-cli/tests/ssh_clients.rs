//! Real SSH clients beside the table of clients that `adjunct ssh tune` has: what each offers is what the table says, and each connects to
//! a private sshd with the lists that are written exactly where the table says so.
//!
//! Of the clients those of the distribution are tried. `ADJUNCT_TEST_SSH_CLIENTS` names a file of further ones (`./check deep ssh-clients`
//! makes it), one a line: name, version, `login` or `kexinit` (what cannot log in here for reasons of its own), and a program, with tabs
//! between. The program is run as `PROGRAM PORT USER KEY FILE` and prints what FILE has on the server.

mod script;
mod tune_figures;

use adjunct_cli::ssh::lab::keys::Type;
use adjunct_cli::ssh::lab::{Environment, Place, Programs, Setup, Sshd};
use adjunct_cli::ssh::tune::algorithms::AlgorithmKind;
use adjunct_cli::ssh::tune::config::Program;
use adjunct_cli::ssh::tune::order::Lists;
use adjunct_cli::ssh::tune::peers::negotiation::negotiate;
use adjunct_cli::ssh::tune::peers::{Peer, known};
use script::script;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a client prints that got in.
const SECRET: &str = "read by a real client\n";
/// Time after which a client counts as hung.
const LIMIT: Duration = Duration::from_secs(60);

/// A real client.
struct Client {
    name: String,
    version: String,
    logs_in: bool,
    program: PathBuf,
}

impl Client {
    /// The client's row of the table; `None`, with a message, where the table has none.
    fn row<'a>(&self, table: &'a [Peer]) -> Option<&'a Peer> {
        let found = table.iter().find(|p| p.name == self.name && p.meets(Program::Sshd) && p.covers(&self.version));
        if found.is_none() {
            eprintln!("SKIPPED: the table has no {} {}", self.name, self.version);
        }
        found
    }

    fn run(&self, place: &Place, port: u16) -> Output {
        let mut command = Command::new("timeout");
        command.args([&LIMIT.as_secs().to_string(), "setsid"]).arg(&self.program);
        command.arg(port.to_string()).arg(&place.user).arg(place.path("user")).arg(place.path("secret"));
        // Nothing of the user's own is read or written.
        command.env("HOME", place.path("home_of_client")).env_remove("SSH_AUTH_SOCK").stdin(Stdio::null());
        command.output().unwrap()
    }
}

/// A place with keys and the distribution's clients; `None` where there is no sshd.
fn stage() -> Option<(Place, Vec<Client>)> {
    let Ok(programs) = Programs::find(None, None) else {
        eprintln!("SKIPPED: no sshd");
        return None;
    };
    let place = Place::new(programs).unwrap();
    fs::create_dir(place.path("home_of_client")).unwrap();
    place.write("secret", SECRET).unwrap();
    // In a form that every client reads.
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ecdsa", "-b", "256", "-m", "PEM", "-N", "", "-C", "test", "-f"])
        .arg(place.path("user"))
        .status();
    assert!(made.unwrap().success());
    let mut clients = Vec::new();
    clients.extend(curl(&place));
    clients.extend(ssh(&place));
    clients.extend(plink(&place));
    clients.extend(dbclient(&place));
    if let Some(list) = std::env::var_os("ADJUNCT_TEST_SSH_CLIENTS") {
        let text = fs::read_to_string(&list).unwrap_or_else(|e| panic!("{}: {e}", list.display()));
        for line in text.lines().filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split('\t').collect();
            let [name, version, how, program] = words[..] else { panic!("{line}") };
            let logs_in = how == "login";
            clients.push(Client { name: name.into(), version: version.into(), logs_in, program: program.into() });
        }
    }
    Some((place, clients))
}

/// The version after `word` in what a program says of itself.
fn version(program: &str, argument: &str, word: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let rest = said.split_once(word)?.1;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

fn client(place: &Place, name: &str, version: String, text: &str) -> Client {
    let program = place.path(&format!("run_{}", name.to_lowercase()));
    script(&program, &format!("#!/bin/sh\n# PORT USER KEY FILE\n{text}\n"));
    Client { name: name.to_owned(), version, logs_in: true, program }
}

fn curl(place: &Place) -> Option<Client> {
    let library = ["libssh2", "libssh"].into_iter().find_map(|l| Some((l, version("curl", "-V", &format!(" {l}/"))?)));
    let (name, version) = library?;
    let text = "exec curl -sS --insecure --user \"$2:\" --key \"$3\" --pubkey \"$3.pub\" \"sftp://127.0.0.1:$1$4\"";
    Some(client(place, name, version, text))
}

fn ssh(place: &Place) -> Option<Client> {
    let version = version("ssh", "-V", "OpenSSH_")?;
    let text = "exec ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
                -o IdentitiesOnly=yes -i \"$3\" -p \"$1\" \"$2@127.0.0.1\" cat \"$4\"";
    Some(client(place, "OpenSSH", version, text))
}

fn plink(place: &Place) -> Option<Client> {
    let version = version("plink", "-V", "Release ")?;
    let ppk = Command::new("puttygen").arg(place.path("user")).arg("-o").arg(place.path("user.ppk")).status();
    ppk.ok()?.success().then_some(())?;
    let mut keys = String::new();
    for kind in [Type::Ed25519, Type::Ecdsa(256), Type::Rsa(3072)] {
        let told = Command::new("ssh-keygen").arg("-lf").arg(place.key(kind).unwrap()).output().unwrap();
        keys += &format!(" -hostkey {}", String::from_utf8(told.stdout).unwrap().split(' ').nth(1).unwrap());
    }
    let text = format!("exec plink -ssh -batch -noagent{keys} -P \"$1\" -i \"$3.ppk\" \"$2@127.0.0.1\" cat \"$4\"");
    Some(client(place, "PuTTY", version, &text))
}

fn dbclient(place: &Place) -> Option<Client> {
    let version = version("dbclient", "-V", "Dropbear v")?;
    let converted = Command::new("dropbearconvert")
        .args(["openssh", "dropbear"])
        .args([place.path("user"), place.path("user.dropbear")])
        .stderr(Stdio::null())
        .status();
    converted.ok()?.success().then_some(())?;
    let text = "exec dbclient -y -y -i \"$3.dropbear\" -p \"$1\" \"$2@127.0.0.1\" cat \"$4\" 2>&1";
    Some(client(place, "Dropbear", version, text))
}

/// Reads the KEXINIT of a client that connects (RFC 4253, 4.2, 6 and 7.1).
fn kexinit(listener: &TcpListener, whose: &str) -> Lists {
    listener.set_nonblocking(true).unwrap();
    let start = Instant::now();
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) => assert!(start.elapsed() < LIMIT, "{whose} does not connect"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap();
    let mut line = Vec::new();
    while !(line.starts_with(b"SSH-") && line.ends_with(b"\n")) {
        if line.ends_with(b"\n") {
            line.clear();
        }
        line.extend(read(&mut stream, 1));
        assert!(line.len() < 1000, "no identification");
    }
    // Some wait for ours first.
    let own = Lists {
        lists: ["aes128-ctr", "hmac-sha2-256", "ecdh-sha2-nistp256", "ssh-ed25519"].map(|n| vec![n.to_owned()]),
    };
    stream.write_all(&packet(&own)).unwrap();
    loop {
        let length = u32::from_be_bytes(read(&mut stream, 4).try_into().unwrap());
        assert!((5..100_000).contains(&length), "a packet of {length} bytes");
        let packet = read(&mut stream, length as usize);
        if packet[1] == 20 {
            let all = name_lists(&packet[18..]);
            assert_eq!((&all[2], &all[4]), (&all[3], &all[5]), "both ways are alike");
            return Lists { lists: [2, 4, 0, 1].map(|at: usize| all[at].clone()) };
        }
    }
}

fn read(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    stream.read_exact(&mut data).expect("the client sends its KEXINIT");
    data
}

fn name_lists(mut data: &[u8]) -> Vec<Vec<String>> {
    let mut next = || {
        let (length, rest) = data.split_at(4);
        let (list, rest) = rest.split_at(u32::from_be_bytes(length.try_into().unwrap()) as usize);
        data = rest;
        String::from_utf8(list.to_vec()).unwrap().split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect()
    };
    (0..10).map(|_| next()).collect()
}

fn packet(lists: &Lists) -> Vec<u8> {
    let mut body = vec![20];
    body.extend([0; 16]);
    let of = |kind| lists.get(kind).join(",");
    let (ciphers, macs) = (of(AlgorithmKind::Ciphers), of(AlgorithmKind::Macs));
    let none = || "none".to_owned();
    let all = [
        of(AlgorithmKind::Kex),
        of(AlgorithmKind::HostKeys),
        ciphers.clone(),
        ciphers,
        macs.clone(),
        macs,
        none(),
        none(),
    ];
    for list in all.iter().map(String::as_str).chain(["", ""]) {
        body.extend((list.len() as u32).to_be_bytes());
        body.extend(list.as_bytes());
    }
    body.extend([0; 5]);
    let padding = 8 - (body.len() + 5) % 8 + 8;
    let mut packet = ((body.len() + padding + 1) as u32).to_be_bytes().to_vec();
    packet.push(padding as u8);
    packet.extend(body);
    packet.extend(vec![0; padding]);
    packet
}

/// A list without what the table leaves out: certificates, and markers that are no algorithms.
fn plain(list: &[String]) -> Vec<&str> {
    let marker = |name: &str| ["ext-info-", "kex-strict-", "kexguess"].iter().any(|m| name.starts_with(m));
    list.iter().map(String::as_str).filter(|name| !name.contains("-cert-") && !marker(name)).collect()
}

#[test]
fn what_clients_offer_is_what_the_table_says() {
    let Some((place, clients)) = stage() else { return };
    let table = known().unwrap();
    for client in &clients {
        let Some(row) = client.row(&table) else { continue };
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let offered = std::thread::scope(|scope| {
            let running = scope.spawn(|| client.run(&place, port));
            let offered = kexinit(&listener, &client.name);
            // Its connection is gone: it ends.
            drop(running.join());
            offered
        });
        for kind in AlgorithmKind::ALL {
            let (mut real, table) = (plain(offered.get(kind)), plain(row.offers.get(kind)));
            if client.name == "OpenSSH" {
                // Distributions add names of their own; what the table has must be there, in its order.
                real.retain(|name| table.contains(name));
            }
            assert_eq!(real, table, "{} {}: {}", client.name, client.version, kind.keyword());
        }
        println!("{} {} offers what the table says", client.name, client.version);
    }
}

/// sshd's lists as `adjunct ssh tune` with these words would have them.
fn lists(place: &Place, words: &[&str]) -> Lists {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("ssh_config", "Include /etc/ssh/ssh_config.d/*.conf\n"),
        ("sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\n"),
    ] {
        fs::create_dir_all(root.path().join(format!("etc/ssh/{name}.d"))).unwrap();
        fs::write(root.path().join("etc/ssh").join(name), text).unwrap();
    }
    let figures = place.write("figures.json", &tune_figures::figures_sure_to(0.01).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.args(["ssh", "tune", "--json", "--root"]).arg(root.path()).arg("--from").arg(figures).args(words);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let then = &report["plans"][1]["then_in_force"];
    Lists { lists: AlgorithmKind::ALL.map(|kind| serde_json::from_value(then[kind.keyword()].clone()).unwrap()) }
}

/// A private sshd with these lists, and a host key of each usual type.
fn server(place: &Place, lists: &Lists) -> Sshd {
    let mut lines: Vec<String> = AlgorithmKind::ALL
        .into_iter()
        .map(|kind| format!("{} {}", kind.keyword(), lists.get(kind).join(",")))
        .collect();
    for kind in [Type::Ed25519, Type::Ecdsa(256), Type::Rsa(3072)] {
        lines.push(format!("HostKey {}", place.key(kind).unwrap().display()));
    }
    lines.push(format!("AuthorizedKeysFile {}", place.path("user.pub").display()));
    lines.push("Subsystem sftp internal-sftp".to_owned());
    Sshd::start(place, None, &Setup::new(lines, &Environment::default())).unwrap()
}

/// For each policy: a client gets in exactly where the table says that it does. Without a policy, and with `modern`, that is every one
/// that OpenSSH's own lists let in.
#[test]
fn clients_get_in_where_the_table_says_so() {
    let Some((place, clients)) = stage() else { return };
    let table = known().unwrap();
    let stock = lists(&place, &["--policy", "compat"]);
    let gets_in = |row: &Peer, lists: &Lists| negotiate(&row.offers, lists, |_| true).is_ok();
    for words in [&[][..], &["--policy", "modern"], &["--policy", "strict"], &["--policy", "fips"]] {
        let lists = lists(&place, words);
        let sshd = server(&place, &lists);
        for client in clients.iter().filter(|client| client.logs_in) {
            let Some(row) = client.row(&table) else { continue };
            let output = client.run(&place, sshd.port());
            let read = String::from_utf8_lossy(&output.stdout).ends_with(SECRET) && output.status.success();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let what = format!("{} {} with {words:?}", client.name, client.version);
            assert_eq!(read, gets_in(row, &lists), "{what}: {said}\n{}", sshd.log());
            if !words.contains(&"strict") && !words.contains(&"fips") {
                assert_eq!(read, gets_in(row, &stock), "{what} is refused: {said}");
            }
            println!("{what}: {}", if read { "gets in" } else { "is refused, as the table says" });
        }
        sshd.stop().unwrap();
    }
    // What this is about: the curl of Debian 12 needs a MAC that is no encrypt-then-MAC.
    if let Some(curl) = table.iter().find(|row| row.short() == "libssh2 1.10") {
        assert!(
            gets_in(curl, &lists(&place, &["--policy", "modern"]))
                && !gets_in(curl, &lists(&place, &["--policy", "strict"]))
        );
    }
}

#[test]
fn this_reader_of_packets_reads_its_own() {
    let lists = Lists { lists: ["c1,c2", "m", "k", "h"].map(|names| names.split(',').map(str::to_owned).collect()) };
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let read = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"hello\r\nSSH-2.0-test\r\n").unwrap();
            stream.write_all(&packet(&lists)).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        kexinit(&listener, "this test")
    });
    assert_eq!(read, lists);
}
