//! Which of OpenSSH's operations reach adjunct, by version: the one table that every count of the matrix is held against.

use adjunct_e2e::counted::Counts;
use adjunct_e2e::lab::{Modules, has_hardware};
use adjunct_e2e::system::{System, Version};
use std::collections::BTreeMap;

/// What OpenSSH goes through for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `EVP_*`: the provider.
    Provider,
    /// Low-level functions: the engine.
    Engine,
    /// `EVP_*` on an object of low-level functions: the engine where there is one, else the provider.
    Either,
    /// OpenSSH's own code, or a function of OpenSSL that neither can take.
    Neither,
}

impl Way {
    /// Whether an operation that goes this way is counted where these modules are loaded.
    pub fn reaches(self, modules: Modules) -> bool {
        let provider = matches!(modules, Modules::Provider | Modules::Both);
        let engine = matches!(modules, Modules::Engine | Modules::Both);
        match self {
            Way::Provider => provider,
            Way::Engine => engine,
            Way::Either => provider || engine,
            Way::Neither => false,
        }
    }
}

/// An OpenSSH and its OpenSSL.
#[derive(Debug, Clone, Copy)]
pub struct Versions {
    /// OpenSSH's.
    pub ssh: Version,
    /// OpenSSL's.
    pub openssl: Version,
}

impl Versions {
    /// A system's.
    pub fn of(system: &System) -> Versions {
        let (ssh, openssl) = system.versions();
        Versions { ssh, openssl }
    }
}

use Way::{Either, Engine, Neither, Provider};

/// How OpenSSH's names begin; the OpenSSH in which they changed their way, and how they went before; how they go since.
type Row = (&'static str, Option<(Version, Way)>, Way);

const TABLE: &[Row] = &[
    // Key exchange. DH's library functions are OpenSSL's own; the others are C in OpenSSH.
    ("diffie-hellman-", None, Neither),
    ("ecdh-sha2-nistp", None, Engine),
    ("mlkem768nistp256-", None, Engine),
    ("mlkem768x25519-", None, Neither),
    ("curve25519-", None, Neither),
    ("sntrup761x25519-", None, Neither),
    // Signatures.
    ("rsa-sha2-", Some(((9, 9), Engine)), Either),
    ("ssh-rsa", Some(((9, 9), Engine)), Either),
    ("ecdsa-sha2-nistp", Some(((9, 9), Engine)), Either),
    ("ssh-ed25519", Some(((10, 3), Neither)), Provider),
    ("ssh-dss", None, Neither),
    // Ciphers. Poly1305 is OpenSSH's own.
    ("aes", None, Provider),
    ("3des-", None, Provider),
    ("chacha20-poly1305", None, Provider),
    // MACs: OpenSSH's HMAC over digests of the provider; UMAC on low-level AES.
    ("hmac-", None, Provider),
    ("umac-", None, Neither),
];

/// How the operation of this name goes.
pub fn way(name: &str, versions: Versions) -> Way {
    let row = TABLE.iter().find(|(start, _, _)| name.starts_with(start));
    match row.unwrap_or_else(|| panic!("{name} is not in the table of what reaches adjunct")) {
        (_, Some((since, before)), _) if versions.ssh < *since => *before,
        (_, _, way) => *way,
    }
}

/// The algorithms of a session.
#[derive(Debug, Clone, Default)]
pub struct Suite {
    /// Key exchange.
    pub kex: String,
    /// Host-key algorithm.
    pub host: String,
    /// The user key's signature algorithm.
    pub user: String,
    /// Cipher.
    pub cipher: String,
    /// MAC; empty where the cipher authenticates.
    pub mac: String,
}

/// What side of the session counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `ssh`.
    Client,
    /// `sshd`.
    Server,
}

/// The functions of public-key operations: (sign, verify) of a signature algorithm.
fn signature(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        n if n.contains("rsa") => Some(("RSA-CRT", "RSA-ME")),
        n if n.starts_with("ecdsa") => Some(("ECDSA Sign", "ECDSA Verify")),
        n if n.contains("ed25519") => Some(("Ed25519 Sign", "Ed25519 Verify")),
        _ => None,
    }
}

/// Every function of public-key work: those not expected must not be counted.
const PUBLIC_KEY: [&str; 11] = [
    "ECDH",
    "EC Keygen",
    "ECDSA Sign",
    "ECDSA Verify",
    "RSA-ME",
    "RSA-CRT",
    "Ed25519 Sign",
    "Ed25519 Verify",
    "Ed25519 Keygen",
    "X25519 Derive",
    "X25519 Keygen",
];

/// The counted function behind a cipher or MAC.
fn bulk(name: &str) -> Option<&'static str> {
    adjunct_e2e::ssh::functions(name).first().copied()
}

/// What a session did.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Key exchanges that this side finished.
    pub exchanges: u64,
    /// The fewest bytes that the connection carried, both directions together.
    pub bytes: u64,
}

/// Asserts what a side counted in a session.
pub fn check(counts: &Counts, versions: Versions, modules: Modules, role: Role, suite: &Suite, work: Work) {
    let Work { exchanges, bytes } = work;
    // Calls, and those of one exchange more: the session may have ended in the middle of one.
    let mut expected: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut expect = |name: &str, function: &'static str, calls: u64| {
        if way(name, versions).reaches(modules) {
            let (least, most) = expected.entry(function).or_default();
            *least += calls;
            *most += if calls > 1 { calls + 1 } else { calls };
        }
    };
    if suite.kex.contains("nistp") {
        expect(&suite.kex, "ECDH", exchanges);
        expect(&suite.kex, "EC Keygen", exchanges);
    }
    // The server signs each key exchange, the client the login.
    let (host, user) = (signature(&suite.host), signature(&suite.user));
    let (host, user) = match role {
        Role::Client => (host.map(|s| s.1), user.map(|s| s.0)),
        Role::Server => (host.map(|s| s.0), user.map(|s| s.1)),
    };
    host.inspect(|function| expect(&suite.host, function, exchanges));
    user.inspect(|function| expect(&suite.user, function, 1));
    let what = || format!("{versions:?} {modules:?} {role:?} {suite:?} {work:?}: {counts:#?}");
    let certified = suite.host.contains("-cert") || suite.user.contains("-cert");
    for function in PUBLIC_KEY {
        let counted = counts.get(function).map_or(0, |c| c.calls());
        let (least, most) = expected.get(function).copied().unwrap_or_default();
        // The authority's signature is verified as often as OpenSSH reads the certificate.
        if function == "Ed25519 Verify" && certified && way("ssh-ed25519", versions).reaches(modules) {
            assert!(counted > least, "{function}: {counted}, not more than {least}: {}", what());
        } else {
            assert!((least..=most).contains(&counted), "{function}: {counted}, not {least} to {most}: {}", what());
        }
    }
    for name in [&suite.cipher, &suite.mac] {
        let Some(function) = bulk(name) else { continue };
        // The generator of OpenSSL 3.5 before 3.5.8 or 3.5.9 leaves the default provider's AES-256-CTR in libcrypto's cache, where ssh
        // then finds it.
        if name == "aes256-ctr" && versions.openssl == (3, 5) {
            continue;
        }
        let counted = counts.get(function).copied().unwrap_or_default();
        if way(name, versions).reaches(modules) {
            assert!(counted.bytes >= bytes, "{function}: {} bytes of {bytes}: {}", counted.bytes, what());
            let other = if has_hardware(function) { counted.software } else { counted.hardware };
            assert_eq!(other, 0, "{function}: not on the path this machine has for it: {}", what());
        } else {
            assert!(counted.bytes < bytes / 2, "{function} reached adjunct: {}", what());
        }
    }
}
