//! Cards under real servers that have a process for each connection: sshd, Apache's prefork and PostgreSQL. No login and no handshake is lost,
//! whatever happens to cards and their daemon.

use adjunct_e2e::cards::{Asked, Daemon, can_be};
use adjunct_e2e::counted::Counted;
use adjunct_e2e::keys::{HOST, Keys};
use adjunct_e2e::lab::{Lab, Modules, feed};
use adjunct_e2e::load::Load;
use adjunct_e2e::prefork::{Postgres, apache, fetch};
use adjunct_e2e::session::{Pair, Side, next};
use adjunct_e2e::ssh::tail;
use adjunct_e2e::system::{self, System};
use adjunct_e2e::tls::certificates;
use adjunct_e2e::{either, random};
use std::time::Instant;

/// Clients at a time, clients at least, and how often all cards go away in every way.
fn size() -> (usize, usize, usize) {
    either((200, 600, 2), (20, 60, 1))
}

/// When programs ask cards. Where not everything is tried it is for each operation: twenty clients do not crowd the machine.
fn asked() -> &'static [Asked] {
    either(&[Asked::Always, Asked::WhenCrowded], &[Asked::Always])
}

/// Puts a load on a server while cards come and go.
fn under_failures(daemon: &mut Daemon, client: impl Fn(usize) -> Result<(), String> + Sync) {
    let (at_once, least, rounds) = size();
    let rounds = if daemon.asked == Asked::Always { rounds } else { 1 };
    let start = Instant::now();
    let clients = Load::run(at_once, least, client, |load| (0..rounds).for_each(|_| daemon.fail(load)));
    println!("{clients} clients, {at_once} at a time, in {:.0} s, none lost", start.elapsed().as_secs_f64());
    daemon.rests();
}

/// Prints the number of operations that cards did and did not do, and why; where cards are always asked, they must have done some.
fn some_on_cards(what: &str, asked: Asked, counted: &Counted) {
    let ((on, not_on), why) = (counted.on_cards(), counted.refused());
    println!("{what}, cards asked {asked:?}: {on} operations on cards, {not_on} that no card did: {why:?}");
    assert!(on > 0 || asked == Asked::WhenCrowded, "{what}: nothing on cards");
}

/// sshd and ssh with RSA keys of 3072 bits on both sides, and a key exchange that no card takes.
struct Logins<'a> {
    pair: Pair<'a>,
    server: Side,
    client: Side,
}

impl<'a> Logins<'a> {
    fn new(lab: &'a Lab, here: &'a System, daemon: &Daemon, counted: [&Counted; 2]) -> Logins<'a> {
        let keys = Keys::shared();
        let authorized = lab.write("authorized", keys.public("rsa3072"));
        let side = |counted: &Counted| {
            let side = Side::new(&lab.conf(Modules::Both)).counted(counted).option("KexAlgorithms ecdh-sha2-nistp256");
            let side = side.option("HostKeyAlgorithms rsa-sha2-512");
            daemon.environment().into_iter().fold(side, |side, (name, value)| side.env(&name, value))
        };
        let server = side(counted[0])
            .option(format!("HostKey {}", keys.path("rsa3072").display()))
            .option(format!("AuthorizedKeysFile {}", authorized.display()))
            .option("MaxStartups 2000:100:2000")
            .option("LogLevel INFO");
        let server = system::without_penalties(here).into_iter().fold(server, Side::option);
        let client = side(counted[1])
            .option(format!("IdentityFile {}", keys.path("rsa3072").display()))
            .option("PubkeyAcceptedAlgorithms rsa-sha2-512")
            .option("LogLevel ERROR");
        Logins { pair: Pair { lab, client: here, server: here }, server, client }
    }

    fn one(&self, port: u16, data: &[u8]) -> Result<(), String> {
        let name = next();
        let out = feed(self.pair.ssh(&self.client, port, &name).args(["-T", HOST, "cat"]), data);
        let _ = std::fs::remove_file(self.pair.lab.path(&format!("ssh-{name}")));
        if out.status.success() && out.stdout == data {
            return Ok(());
        }
        Err(format!("ssh: {}, {} bytes: {}", out.status, out.stdout.len(), String::from_utf8_lossy(&out.stderr)))
    }
}

#[test]
fn sshd_loses_no_login() {
    if !can_be() {
        return;
    }
    let (lab, here, data) = (Lab::new(), System::here(), random(20_000));
    for &asked in asked() {
        let (near, far) = (Counted::new(), Counted::new());
        let mut daemon = Daemon::start(&lab, asked);
        let logins = Logins::new(&lab, &here, &daemon, [&far, &near]);
        let listener = logins.pair.listen(&logins.server, None);
        let login = |_| logins.one(listener.port, &data).map_err(|why| format!("{why}\n{}", tail(&listener.log())));
        under_failures(&mut daemon, login);
        some_on_cards("sshd", asked, &far);
        some_on_cards("ssh", asked, &near);
        listener.idle();
        let log = listener.log();
        for word in ["panicked", "adjunct:", "fatal", "error:"] {
            assert!(!log.contains(word), "{word}: {log}");
        }
    }
}

/// The monitor's signature is all that a login asks of a card. The child in the sandbox, which does the key exchange, would be killed for a
/// socket.
#[test]
fn the_sandboxed_child_asks_no_card() {
    if !can_be() {
        return;
    }
    let (lab, here, data) = (Lab::new(), System::here(), random(1000));
    let (near, far) = (Counted::new(), Counted::new());
    let daemon = Daemon::start(&lab, Asked::Always);
    let logins = Logins::new(&lab, &here, &daemon, [&far, &near]);
    let listener = logins.pair.listen(&logins.server, None);
    const LOGINS: u64 = 5;
    (0..LOGINS)
        .for_each(|_| logins.one(listener.port, &data).unwrap_or_else(|why| panic!("{why}\n{}", listener.log())));
    listener.idle();
    for (side, (on, not_on)) in [("sshd", far.on_cards()), ("ssh", near.on_cards())] {
        // A machine that is busy otherwise may keep one from being done in time.
        assert!(on > 0 && on + not_on == LOGINS, "{side}: {on} on cards, {not_on} not, of {LOGINS} logins");
    }
    assert_eq!(far.read().get("ECDH").map(|count| count.calls()), Some(LOGINS), "the module serves in the sandbox");
}

#[test]
fn apache_loses_no_handshake() {
    if !can_be() {
        return;
    }
    for asked in [Asked::Always, Asked::WhenCrowded] {
        let (lab, data) = (Lab::new(), random(2048));
        certificates(&lab);
        lab.write("data", &data);
        let mut daemon = Daemon::start(&lab, asked);
        let server = apache(&lab, lab.adjunct(), daemon.environment());
        let handshake = |_| fetch(&lab, &server, &data).map_err(|why| format!("{why}\n{}", tail(&server.log())));
        under_failures(&mut daemon, handshake);
        some_on_cards("Apache", asked, lab.counted());
        let log = server.log();
        for word in ["panicked", "adjunct:", "exit signal", ":error]"] {
            assert!(!log.contains(word), "{word}: {log}");
        }
    }
}

#[test]
fn postgresql_loses_no_handshake() {
    if !can_be() {
        return;
    }
    for &asked in asked() {
        let lab = Lab::new();
        certificates(&lab);
        let mut daemon = Daemon::start(&lab, asked);
        let server = Postgres::start(&lab, lab.adjunct(), daemon.environment());
        let handshake = |number| server.ask(&lab, number).map_err(|why| format!("{why}\n{}", tail(&server.log())));
        under_failures(&mut daemon, handshake);
        some_on_cards("PostgreSQL", asked, lab.counted());
        let log = server.log();
        for word in ["panicked", "adjunct:", "terminated by signal", "could not accept SSL"] {
            assert!(!log.contains(word), "{word}: {log}");
        }
    }
}
