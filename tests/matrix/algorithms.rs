//! Every key exchange, host key, user key, cipher and MAC of a version, as client and as server, against the stock other
//! side: the data comes back unchanged, keys are renewed on the way, the sandbox is on, and the counters say exactly what
//! the table says.

use crate::table::{Role, Suite, Versions, Work, check};
use crate::{each_system, side_by_side};
use adjunct_e2e::counted::Counted;
use adjunct_e2e::keys::Keys;
use adjunct_e2e::lab::{Lab, Modules};
use adjunct_e2e::session::{Pair, Side};
use adjunct_e2e::{deep, random, system::System};
use std::collections::BTreeSet;

/// Enough to tell a MAC's bytes from those of everything else that is hashed.
const DATA: usize = 1_000_000;

/// Keys are renewed on the way, but with groups of DH that take long.
fn renews(kex: &str) -> bool {
    !kex.starts_with("diffie-hellman-") || kex.starts_with("diffie-hellman-group14")
}

/// The key behind a signature algorithm; `None` for one that needs hardware (`sk-`, `webauthn-`), for certificates of a
/// type we make none of, and for DSA, which newer versions do not know: `odd` has those.
fn key(algorithm: &str, turn: usize) -> Option<&'static str> {
    let plain = algorithm.replace("-cert-v01@openssh.com", "");
    Some(match plain.as_str() {
        "ssh-ed25519" => "ed25519",
        "ecdsa-sha2-nistp256" => "ecdsa256",
        "ecdsa-sha2-nistp384" => "ecdsa384",
        "ecdsa-sha2-nistp521" => "ecdsa521",
        "ssh-rsa" | "rsa-sha2-256" | "rsa-sha2-512" => ["rsa2048", "rsa3072", "rsa4096"][turn % 3],
        _ => return None,
    })
}

fn known(system: &System, query: &str) -> Vec<String> {
    let mut command = std::process::Command::new(system.program("ssh"));
    let out = command.args(["-Q", query]).stdin(std::process::Stdio::null()).output().expect("ssh -Q");
    let names: Vec<String> = String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect();
    assert!(!names.is_empty(), "{}: ssh -Q {query} gives nothing", system.name);
    names
}

/// What a version offers.
struct Offer {
    versions: Versions,
    kex: Vec<String>,
    signatures: Vec<String>,
    ciphers: Vec<String>,
    macs: Vec<String>,
}

impl Offer {
    fn of(system: &System) -> Offer {
        let mut signatures = known(system, "key-sig");
        signatures.retain(|name| key(name, 0).is_some());
        Offer {
            versions: Versions::of(system),
            kex: known(system, "kex"),
            signatures,
            ciphers: known(system, "cipher"),
            macs: known(system, "mac"),
        }
    }
}

/// A session to be opened.
struct Row {
    turn: usize,
    role: Role,
    suite: Suite,
}

fn authenticates(cipher: &str) -> bool {
    cipher.contains("gcm") || cipher.contains("poly1305")
}

/// Every pair of key exchange and host key, and of cipher and MAC, in as few sessions; each algorithm in each role. Where not
/// everything is tried, the latter alone.
fn rows(offer: &Offer) -> Vec<Row> {
    // Ciphers that authenticate first, so that both roles reach them.
    let (alone, with_mac): (Vec<_>, Vec<_>) = offer.ciphers.iter().partition(|c| authenticates(c));
    let mut bulk: Vec<(&str, &str)> = alone.into_iter().map(|cipher| (cipher.as_str(), "")).collect();
    let mut rows = Vec::new();
    if !deep() {
        for n in 0..with_mac.len().max(offer.macs.len()) {
            bulk.push((with_mac[n % with_mac.len()].as_str(), offer.macs[n % offer.macs.len()].as_str()));
        }
        // Through all lists at once, as often as the longest needs; the roles begin at different places.
        for n in 0..bulk.len().max(offer.kex.len()).max(offer.signatures.len()) {
            for (role, start) in [(Role::Client, 0), (Role::Server, 1)] {
                let of = |list: &[String], n: usize| list[n % list.len()].clone();
                let (cipher, mac) = bulk[n % bulk.len()];
                let [cipher, mac] = [cipher, mac].map(str::to_owned);
                let (kex, host) = (of(&offer.kex, n + start), of(&offer.signatures, n + start));
                let user = of(&offer.signatures, n + start + 1);
                rows.push(Row { turn: rows.len(), role, suite: Suite { kex, host, user, cipher, mac } });
            }
        }
        all_covered(offer, &rows);
        return rows;
    }
    // Diagonally, so that every stretch of them has all ciphers and many MACs.
    for round in 0..offer.macs.len() {
        for (n, cipher) in with_mac.iter().enumerate() {
            bulk.push((cipher.as_str(), offer.macs[(round + n) % offer.macs.len()].as_str()));
        }
    }
    // The roles go through them from different places.
    let mut turns = [0, bulk.len() / 2];
    for (second, host) in offer.signatures.iter().enumerate() {
        for (first, kex) in offer.kex.iter().enumerate() {
            let which = (first + second) % 2;
            let (cipher, mac) = bulk[turns[which] % bulk.len()];
            turns[which] += 1;
            let user = &offer.signatures[(first / 2 + second) % offer.signatures.len()];
            let [kex, host, user, cipher, mac] = [kex, host, user, cipher, mac].map(|name: &str| name.to_owned());
            let suite = Suite { kex, host, user, cipher, mac };
            rows.push(Row { turn: rows.len(), role: [Role::Client, Role::Server][which], suite });
        }
    }
    all_covered(offer, &rows);
    rows
}

/// Each algorithm in each role.
fn all_covered(offer: &Offer, rows: &[Row]) {
    for role in [Role::Client, Role::Server] {
        let covered = |part: fn(&Suite) -> &String| -> usize {
            rows.iter().filter(|r| r.role == role).map(|r| part(&r.suite)).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(covered(|s| &s.kex), offer.kex.len(), "key exchanges in the role {role:?}");
        assert_eq!(covered(|s| &s.host), offer.signatures.len(), "host keys in the role {role:?}");
        assert_eq!(covered(|s| &s.user), offer.signatures.len(), "user keys in the role {role:?}");
        assert_eq!(covered(|s| &s.cipher), offer.ciphers.len(), "ciphers in the role {role:?}");
        assert_eq!(covered(|s| &s.mac), offer.macs.len() + 1, "MACs in the role {role:?}");
    }
}

/// Configurations of both sides for a suite: the client offers it alone, the server everything.
fn sides(offer: &Offer, row: &Row) -> (Side, Side) {
    let keys = Keys::shared();
    let suite = &row.suite;
    let (host, user) = (key(&suite.host, row.turn).expect("a key"), key(&suite.user, row.turn + 1).expect("a key"));
    let mut client = Side::default()
        .option(format!("KexAlgorithms {}", suite.kex))
        .option(format!("HostKeyAlgorithms {}", suite.host))
        // A certificate's key is only loaded where it would itself be accepted.
        .option(format!("PubkeyAcceptedAlgorithms {},{}", suite.user, suite.user.replace("-cert-v01@openssh.com", "")))
        .option(format!("Ciphers {}", suite.cipher))
        .option(format!("IdentityFile {}", keys.path(user).display()))
        .option(if renews(&suite.kex) { "RekeyLimit 800K" } else { "RekeyLimit default none" });
    if !suite.mac.is_empty() {
        client = client.option(format!("MACs {}", suite.mac));
    }
    if suite.user.contains("-cert") {
        client = client.option(format!("CertificateFile {}", keys.certificate(user, "user").display()));
    }
    let mut server = Side::default()
        .option(format!("KexAlgorithms {}", offer.kex.join(",")))
        .option(format!("HostKeyAlgorithms {}", suite.host))
        .option(format!("PubkeyAcceptedAlgorithms {}", suite.user))
        .option(format!("Ciphers {}", offer.ciphers.join(",")))
        .option(format!("MACs {}", offer.macs.join(",")))
        .option(format!("HostKey {}", keys.path(host).display()));
    if suite.host.contains("-cert") {
        server = server.option(format!("HostCertificate {}", keys.certificate(host, "host").display()));
    }
    // A certificate is accepted for its authority, a key for itself.
    let accepted = if suite.user.contains("-cert") { "/dev/null".into() } else { keys.path(&format!("{user}.pub")) };
    (client, server.option(format!("AuthorizedKeysFile {}", accepted.display())))
}

fn session(pair: &Pair, offer: &Offer, modules: Modules, row: &Row, data: &[u8]) {
    let (client, server) = sides(offer, row);
    let (ours, theirs) = (pair.lab.conf(modules), pair.lab.conf(Modules::Stock));
    let counted = [Counted::new(), Counted::new()];
    let conf = |side: Side, role: Role, counted: &Counted| {
        Side { conf: if row.role == role { ours.clone() } else { theirs.clone() }, ..side }.counted(counted)
    };
    let (client, server) = (conf(client, Role::Client, &counted[0]), conf(server, Role::Server, &counted[1]));
    let ended = pair.run(&client, &server, "cat", data);
    let suite = &row.suite;
    let what = || format!("{} {modules:?} {:?} {suite:?}: {}", pair.client.name, row.role, ended.logs());
    assert!(ended.status.success() && ended.output == data, "{}", what());
    let said = |line: String| assert!(ended.client.contains(&line), "not said: {line}\n{}", what());
    said(format!("kex: algorithm: {}", suite.kex));
    said(format!("kex: host key algorithm: {}", suite.host));
    let mac = if suite.mac.is_empty() { "<implicit>" } else { &suite.mac };
    for direction in ["server->client", "client->server"] {
        said(format!("kex: {direction} cipher: {} MAC: {mac} compression: none", suite.cipher));
    }
    assert_eq!(suite.user.contains("-cert"), ended.server.contains("Accepted certificate ID"), "{}", what());
    assert!(ended.server.contains("attaching seccomp filter program"), "no sandbox: {}", what());
    for log in [&ended.client, &ended.server] {
        assert!(!log.contains("adjunct:") && !log.contains("panicked"), "adjunct complains: {}", what());
    }
    let log = if row.role == Role::Client { &ended.client } else { &ended.server };
    let exchanges = log.matches("SSH2_MSG_NEWKEYS sent").count() as u64;
    assert_eq!(exchanges > 1, renews(&suite.kex), "{exchanges} key exchanges: {}", what());
    let [ssh, sshd] = counted.map(|c| c.read());
    let (counts, other) = if row.role == Role::Client { (ssh, sshd) } else { (sshd, ssh) };
    assert!(other.is_empty(), "the stock side counted: {other:?}\n{}", what());
    check(&counts, offer.versions, modules, row.role, suite, Work { exchanges, bytes: 2 * data.len() as u64 });
}

#[test]
fn every_algorithm_in_each_role() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let data = random(DATA);
        let offer = Offer::of(system);
        side_by_side(&rows(&offer), |row| session(&pair, &offer, Modules::Both, row, &data));
    });
}

/// What the provider counts without the engine, and the engine without the provider: which operation goes which way.
#[test]
fn each_module_alone_counts_its_part() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let data = random(DATA);
        // Each key type and key exchange once: in each role, or where not everything is tried in either.
        let mut seen = BTreeSet::new();
        let offer = Offer::of(system);
        let rows: Vec<Row> = rows(&offer)
            .into_iter()
            .filter(|r| {
                let client = deep() && r.role == Role::Client;
                [&r.suite.kex, &r.suite.host].map(|n| seen.insert((n.clone(), client))).contains(&true)
            })
            .collect();
        for modules in [Modules::Provider, Modules::Engine] {
            side_by_side(&rows, |row| session(&pair, &offer, modules, row, &data));
        }
    });
}
