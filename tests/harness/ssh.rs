//! Connections through a private sshd, with chosen programs and configurations on either side.

use crate::lab::{Lab, feed};
use crate::system::System;
use adjunct_cli::ssh::lab::keys::Type;
use adjunct_cli::ssh::lab::{Environment, Place, Programs, Setup, Sshd};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A client and a server, each of a system.
#[derive(Debug)]
pub struct Ssh {
    /// Keys and configurations.
    pub place: Place,
    /// Lines of the configuration of every server.
    always: Vec<String>,
}

impl Ssh {
    /// The `client` system's ssh and the `server` system's sshd.
    pub fn new(client: &System, server: &System) -> Ssh {
        let programs =
            Programs { ssh: client.program("ssh"), sshd: server.program("sshd"), keygen: server.program("ssh-keygen") };
        let always = crate::system::without_penalties(server).into_iter().collect();
        Ssh { place: Place::new(programs).expect("a place for a private sshd"), always }
    }

    /// Starts the server with an OpenSSL configuration.
    pub fn serve(&self, lab: &Lab, conf: &Path, options: &[String]) -> Sshd {
        let setup = setup(lab, conf, &[options, &self.always].concat());
        Sshd::start(&self.place, None, &setup).expect("sshd starts")
    }

    /// Logs in and runs `remote` with `input`; the client logs at DEBUG1.
    pub fn run(&self, lab: &Lab, conf: &Path, port: u16, options: &[String], remote: &str, input: &[u8]) -> Output {
        feed(self.client(lab, conf, port, &[options, &["LogLevel DEBUG1".to_owned()]].concat()).arg(remote), input)
    }

    /// The client, without its remote command.
    pub fn client(&self, lab: &Lab, conf: &Path, port: u16, options: &[String]) -> Command {
        self.place.client(port, &setup(lab, conf, options)).expect("the client's configuration")
    }

    /// The private key that host and user have.
    pub fn key(&self) -> PathBuf {
        self.place.key(Type::Ed25519).expect("a key")
    }

    /// Sends `data` to a remote `cat` and gets it back: both directions at once. It must come back unchanged.
    pub fn echo(&self, lab: &Lab, conf: &Path, server: &Sshd, options: &[String], data: &[u8]) -> String {
        let out = self.run(lab, conf, server.port(), options, "cat", data);
        let log = String::from_utf8_lossy(&out.stderr).into_owned();
        let what = || format!("{options:?}\nclient:\n{log}\nserver:\n{}", tail(&server.log()));
        assert!(out.status.success(), "{}: {}", out.status, what());
        assert_eq!(out.stdout.len(), data.len(), "length of the data: {}", what());
        assert!(out.stdout == data, "the data differs: {}", what());
        log
    }

    /// The names the client knows.
    pub fn known(&self, query: &str) -> Vec<String> {
        let known = self.place.programs.known(query).expect("ssh -Q");
        assert!(!known.is_empty(), "ssh -Q {query} gives nothing");
        known
    }
}

/// Lines of configuration, an OpenSSL configuration, and where is counted.
fn setup(lab: &Lab, conf: &Path, lines: &[String]) -> Setup {
    let mut environment = Environment::with_conf(conf);
    environment.set.extend(lab.environment().into_iter().map(|(name, value)| (name, value.into())));
    Setup::new(lines, &environment)
}

/// The end of a log.
pub fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(25)..].join("\n")
}

/// The counted functions behind a cipher or MAC of OpenSSH; empty for what OpenSSH computes itself.
pub fn functions(name: &str) -> &'static [&'static str] {
    match name {
        n if n.contains("gcm") => &["AES GCM"],
        n if n.starts_with("aes") && n.ends_with("ctr") => &["AES CTR"],
        n if n.starts_with("aes") && n.ends_with("cbc") => &["AES CBC"],
        "3des-cbc" => &["3DES CBC"],
        n if n.starts_with("chacha20") => &["ChaCha20"],
        n if n.starts_with("hmac-sha1") => &["SHA-1"],
        n if n.starts_with("hmac-sha2-256") => &["SHA-256"],
        n if n.starts_with("hmac-sha2-512") => &["SHA-512"],
        n if n.starts_with("hmac-md5") => &["MD5"],
        _ => &[],
    }
}
