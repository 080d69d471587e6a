//! No login may fail that stock OpenSSH accepts, and none succeed that it refuses: odd keys, certificates, revocations
//! and lies, tried with stock on both sides and with adjunct on either, must end alike.

use crate::{each_system, side_by_side};
use adjunct_e2e::either;
use adjunct_e2e::keys::{HOST, Keys, keygen};
use adjunct_e2e::lab::{Lab, Modules};
use adjunct_e2e::session::{Ended, Pair, Side};
use adjunct_e2e::system::System;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A login to be tried: configuration lines of both sides, in addition to the keys that all cases use.
#[derive(Debug, Clone, Default)]
struct Case {
    name: String,
    client: Vec<String>,
    server: Vec<String>,
    /// What both must end in; `None` where the version decides.
    succeeds: Option<bool>,
}

impl Case {
    fn new(name: &str, succeeds: Option<bool>) -> Case {
        Case { name: name.to_owned(), succeeds, ..Case::default() }
    }

    fn client(mut self, line: impl Into<String>) -> Case {
        self.client.push(line.into());
        self
    }

    fn server(mut self, line: impl Into<String>) -> Case {
        self.server.push(line.into());
        self
    }

    /// Uses this user key, which the server knows.
    fn user(self, key: &Path) -> Case {
        let public = PathBuf::from(format!("{}.pub", key.display()));
        self.client(format!("IdentityFile {}", key.display()))
            .server(format!("AuthorizedKeysFile {}", public.display()))
    }

    /// Uses this host key, which the client knows.
    fn host(self, lab: &Lab, key: &Path) -> Case {
        let public = std::fs::read_to_string(format!("{}.pub", key.display())).expect("a public key");
        let name = key.file_name().expect("a name").to_string_lossy();
        let known = lab.write(&format!("known-{name}"), format!("{HOST} {public}"));
        self.client(format!("UserKnownHostsFile {}", known.display())).server(format!("HostKey {}", key.display()))
    }
}

fn try_case(pair: &Pair, case: &Case, client: Modules, server: Modules) -> Ended {
    let side = |modules, options: &[String]| Side { options: options.to_vec(), ..Side::new(&pair.lab.conf(modules)) };
    pair.run(&side(client, &case.client), &side(server, &case.server), "cat", b"hello")
}

/// What a login came to, in the words that a person would see.
fn outcome(ended: &Ended) -> (Option<i32>, bool, Option<String>) {
    let words =
        ["Permission denied", "Host key verification failed", "Unable to negotiate", "Connection closed", "Bad "];
    let said = ended.client.lines().find(|l| words.iter().any(|w| l.contains(w)));
    // Ports and folders differ from run to run.
    let said = said.map(|l| words.iter().find(|w| l.contains(**w)).expect("found above").to_string());
    (ended.status.code(), ended.output == b"hello", said)
}

fn alike(pair: &Pair, cases: &[Case]) {
    side_by_side(cases, |case| {
        let stock = try_case(pair, case, Modules::Stock, Modules::Stock);
        let expected = outcome(&stock);
        let what = |ended: &Ended| format!("{} {}: stock {expected:?}, {}", pair.client.name, case.name, ended.logs());
        if let Some(succeeds) = case.succeeds {
            assert_eq!(expected.1, succeeds, "not what was meant: {}", what(&stock));
        }
        let either_side = [(Modules::Both, Modules::Stock), (Modules::Stock, Modules::Both)];
        for (client, server) in either(&either_side[..], &[]).iter().chain(&[(Modules::Both, Modules::Both)]).copied() {
            let ended = try_case(pair, case, client, server);
            assert_eq!(outcome(&ended), expected, "client {client:?}, server {server:?}: {}", what(&ended));
            assert!(!ended.client.contains("panicked") && !ended.server.contains("panicked"), "{}", what(&ended));
        }
    });
}

/// A key made by this machine's openssl: what ssh-keygen would not make.
fn openssl_key(lab: &Lab, name: &str, words: &[&str]) -> PathBuf {
    let path = lab.path(name);
    let out = [&["genpkey", "-out", path.to_str().expect("a path")], words].concat();
    lab.openssl(&System::here(), lab.stock(), &out, b"");
    readable(&path)
}

/// The public half beside a private key, which only its owner may read.
fn readable(path: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("mode of a key");
    let mut keygen = Command::new("ssh-keygen");
    let out = keygen.arg("-y").arg("-f").arg(path).env("OPENSSL_CONF", "/dev/null").output().expect("ssh-keygen");
    assert!(out.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&out.stderr));
    std::fs::write(format!("{}.pub", path.display()), out.stdout).expect("the public key");
    path.to_owned()
}

fn keygen_key(lab: &Lab, system: &System, name: &str, words: &[&str]) -> Option<PathBuf> {
    let path = lab.path(name);
    let file = ["-q", "-N", "", "-f", path.to_str().expect("a path")];
    keygen(system, &[words, &file].concat()).then_some(path)
}

/// RSA keys at and beyond the ends of what is usual, as user and as host keys.
fn rsa(lab: &Lab) -> Vec<Case> {
    let small = ["-algorithm", "RSA", "-pkeyopt"];
    let keys = [
        ("rsa1024", openssl_key(lab, "rsa1024", &[&small[..], &["rsa_keygen_bits:1024"]].concat()), None),
        ("rsa2047", openssl_key(lab, "rsa2047", &[&small[..], &["rsa_keygen_bits:2047"]].concat()), None),
        (
            "e=3",
            openssl_key(
                lab,
                "rsa-e3",
                &[&small[..], &["rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_pubexp:3"]].concat(),
            ),
            Some(true),
        ),
        (
            "e of 33 bits",
            openssl_key(
                lab,
                "rsa-e33",
                &[&small[..], &["rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_pubexp:8589934583"]].concat(),
            ),
            None,
        ),
        (
            "e of 80 bits",
            openssl_key(
                lab,
                "rsa-e80",
                &[&small[..], &["rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_pubexp:1208925819614629174706189"]]
                    .concat(),
            ),
            None,
        ),
        ("rsa16384", fixed(lab, "rsa16384", include_str!("rsa16384.pem")), None),
    ];
    let mut cases = Vec::new();
    for (name, key, succeeds) in keys {
        cases.push(Case::new(&format!("user {name}"), succeeds).user(&key));
        cases.push(
            Case::new(&format!("host {name}"), succeeds).host(lab, &key).client("HostKeyAlgorithms rsa-sha2-256"),
        );
    }
    // A client that lies: its private key is not that of its public one.
    cases.push(Case::new("wrong signature", Some(false)).user(&fixed(lab, "wrong", include_str!("wrong.pem"))));
    // Refused by one side's own limit.
    let key = Keys::shared().path("rsa2048");
    cases.push(Case::new("rsa2048 under 3072", Some(false)).user(&key).server("RequiredRSASize 3072"));
    cases
}

/// A key that would take minutes to make. Its primes are published ones (RFC 3526, RFC 7919): it has no secret to keep.
fn fixed(lab: &Lab, name: &str, pem: &str) -> PathBuf {
    readable(&lab.write(name, pem))
}

/// Cases with certificates that are not for this host, user or day, by nobody's authority, or revoked.
fn certificates(lab: &Lab) -> Vec<Case> {
    let keys = Keys::shared();
    let certified = |name: &str, succeeds: bool, key: &str, words: &[&str]| {
        let path = lab.path(&format!("cert-{}", name.replace(' ', "-")));
        std::fs::copy(keys.path(key), &path).expect("a copy of a key");
        let public = PathBuf::from(format!("{}.pub", path.display()));
        std::fs::write(&public, keys.public(key)).expect("a copy of a key");
        let signed = [&["-q"][..], words, &[public.to_str().expect("a path")]].concat();
        assert!(keygen(&System::here(), &signed), "{name}: no certificate");
        let case = Case::new(name, Some(succeeds)).server("AuthorizedKeysFile /dev/null");
        case.client(format!("IdentityFile {}", path.display()))
    };
    let ca = keys.path("ca");
    let ca = ca.to_str().expect("a path");
    let other = keys.path("ecdsa384");
    let other = other.to_str().expect("a path");
    let revoked = lab.path("krl");
    let public = keys.path("rsa2048.pub");
    let list = ["-q", "-k", "-f", revoked.to_str().expect("a path"), public.to_str().expect("a path")];
    assert!(keygen(&System::here(), &list), "no list of revoked keys");
    vec![
        certified("good certificate", true, "ecdsa256", &["-s", ca, "-I", "a", "-n", "root"]),
        certified("certificate of another user", false, "ecdsa256", &["-s", ca, "-I", "b", "-n", "nobody"]),
        certified(
            "expired certificate",
            false,
            "rsa3072",
            &["-s", ca, "-I", "c", "-n", "root", "-V", "20200101:20200102"],
        ),
        certified("certificate of a stranger", false, "ecdsa521", &["-s", other, "-I", "d", "-n", "root"]),
        certified("certificate of an ECDSA authority", true, "rsa2048", &["-s", other, "-I", "e", "-n", "root"])
            .server(format!("TrustedUserCAKeys {other}.pub")),
        Case::new("revoked key", Some(false))
            .user(&keys.path("rsa2048"))
            .server(format!("RevokedKeys {}", revoked.display())),
        Case::new("revoked host key", Some(false))
            .host(lab, &keys.path("rsa2048"))
            .client("HostKeyAlgorithms rsa-sha2-256")
            .client(format!("RevokedHostKeys {}", revoked.display())),
        Case::new("key unknown to the server", Some(false))
            .client(format!("IdentityFile {other}"))
            .server("AuthorizedKeysFile /dev/null"),
        Case::new("host key of another", Some(false))
            .client("HostKeyAlgorithms ecdsa-sha2-nistp384")
            .server(format!("HostKey {}", keys.path("ecdsa384").display()))
            .client(format!(
                "UserKnownHostsFile {}",
                lab.write("others", format!("{HOST} {}", keys.public("ecdsa256"))).display()
            )),
    ]
}

/// Cases with key types that only some versions know, and with settings that have no effect.
fn others(lab: &Lab, system: &System) -> Vec<Case> {
    let mut cases = vec![
        Case::new("GSSAPI without Kerberos", None)
            .client("GSSAPIAuthentication yes\nGSSAPIKeyExchange yes")
            .server("GSSAPIAuthentication yes\nGSSAPIKeyExchange yes"),
        Case::new("nothing in common", Some(false))
            .client("KexAlgorithms ecdh-sha2-nistp256")
            .server("KexAlgorithms curve25519-sha256"),
        Case::new("compression", Some(true)).client("Compression yes"),
    ];
    for (kind, algorithm) in [("dsa", "ssh-dss"), ("mldsa44-ed25519", "ssh-mldsa44-ed25519")] {
        if let Some(key) = keygen_key(lab, system, kind, &["-t", kind]) {
            let asked = format!("PubkeyAcceptedAlgorithms +{algorithm}");
            cases.push(Case::new(kind, Some(true)).user(&key).client(&asked).server(&asked));
            let asked = format!("HostKeyAlgorithms {algorithm}");
            cases.push(Case::new(&format!("host {kind}"), Some(true)).host(lab, &key).client(&asked).server(&asked));
        }
    }
    cases
}

#[test]
fn odd_keys_end_as_with_stock() {
    let lab = Lab::new();
    let cases = [rsa(&lab), certificates(&lab)].concat();
    each_system(|system| {
        let pair = Pair { lab: &lab, client: system, server: system };
        let others_of = Lab::new();
        alike(&pair, &cases);
        alike(&pair, &others(&others_of, system));
    });
}
