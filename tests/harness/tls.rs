//! Certificates, TLS servers on loopback, and clients that fetch a file from them.

use crate::lab::{Lab, feed, spawn};
use crate::ports;
use crate::session::LIMIT;
use crate::system::System;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The kinds of key the certificates have: a name, and what makes it.
pub const KINDS: [(&str, &[&str]); 4] = [
    ("rsa", &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
    ("ecdsa", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]),
    ("p384", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"]),
    ("ed25519", &["-algorithm", "ED25519"]),
];

/// A certificate authority in a lab, and a certificate of each kind for `localhost`: `NAME.pem` and `NAME.key`.
pub fn certificates(lab: &Lab) {
    let here = System::here();
    lab.write("req.cnf", "[req]\ndistinguished_name = dn\n[dn]\n[ca]\nbasicConstraints = critical,CA:true\n");
    let path = |name: &str| lab.path(name).display().to_string();
    for (name, kind) in [("ca", KINDS[0].1)].into_iter().chain(KINDS) {
        let (key, pem, config) = (path(&format!("{name}.key")), path(&format!("{name}.pem")), path("req.cnf"));
        lab.openssl(&here, lab.stock(), &[&["genpkey", "-out", &key], kind].concat(), b"");
        let subject = if name == "ca" { "/CN=e2e authority" } else { "/CN=localhost" };
        let base = ["req", "-x509", "-config", &config, "-subj", subject, "-key", &key, "-out", &pem, "-days", "3"];
        let (ca, ca_key) = (path("ca.pem"), path("ca.key"));
        let more: &[&str] = if name == "ca" {
            &["-extensions", "ca"]
        } else {
            &["-CA", &ca, "-CAkey", &ca_key, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        };
        lab.openssl(&here, lab.stock(), &[&base, more].concat(), b"");
    }
}

/// A server, killed when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Port where the server listens on loopback.
    pub port: u16,
    log: PathBuf,
}

impl Server {
    /// Starts what `command` makes of a free port, and waits until it listens.
    pub fn start(lab: &Lab, command: impl FnOnce(u16) -> Command) -> Server {
        let port = ports::free();
        let log = lab.path(&format!("server-{port}.log"));
        let file = std::fs::File::create(&log).expect("the server's log");
        let mut command = command(port);
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("the log")).stderr(file);
        let mut server = Server { child: spawn(&mut command), port, log };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.child.try_wait().expect("wait");
            assert!(ended.is_none() && start.elapsed() < LIMIT, "{ended:?}: {}", server.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    /// `openssl s_server` that serves files by their paths, with an RSA and an ECDSA certificate unless `args` have others.
    pub fn s_server(lab: &Lab, system: &System, conf: &Path, args: &[&str]) -> Server {
        Server::start(lab, |port| {
            let mut command = lab.command(system, "openssl", conf);
            command.current_dir("/").args(["s_server", "-WWW", "-accept", &format!("127.0.0.1:{port}")]);
            let path = |name: &str| lab.path(name);
            if !args.contains(&"-cert") {
                command.arg("-cert").arg(path("rsa.pem")).arg("-key").arg(path("rsa.key"));
                command.arg("-dcert").arg(path("ecdsa.pem")).arg("-dkey").arg(path("ecdsa.key"));
            }
            command.arg("-CAfile").arg(path("ca.pem")).args(args);
            command
        })
    }

    /// Output of the server.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Number of the server's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGTERM first: nginx ends its workers then.
        // SAFETY: a signal to our own child, which has not been waited for.
        unsafe { libc::kill(self.child.id().cast_signed(), libc::SIGTERM) };
        let start = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if start.elapsed() > Duration::from_secs(3) {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Fetches the lab's file `data` by `openssl s_client` and compares it; what the client said of the connection.
pub fn fetch(lab: &Lab, system: &System, conf: &Path, server: &Server, args: &[&str], data: &[u8]) -> String {
    let mut command = lab.command(system, "openssl", conf);
    command.args(["s_client", "-connect", &format!("127.0.0.1:{}", server.port), "-ign_eof", "-verify_return_error"]);
    command.arg("-CAfile").arg(lab.path("ca.pem")).args(args);
    let out = feed(&mut command, format!("GET {} HTTP/1.0\r\n\r\n", lab.path("data").display()).as_bytes());
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let what = || {
        let log = crate::ssh::tail(&server.log());
        let head = String::from_utf8_lossy(&out.stdout[..out.stdout.len().min(3000)]).into_owned();
        format!("{} {args:?} {}\n{said}\n{head}\nserver: {}", system.name, conf.display(), log)
    };
    assert!(out.status.success(), "{}", what());
    assert!(find(&out.stdout, data).is_some(), "the data differs: {}", what());
    said + &String::from_utf8_lossy(&out.stdout[..find(&out.stdout, data).unwrap_or(0)])
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    // The data follows s_client's own report; its first bytes are random.
    let head = &needle[..needle.len().min(16)];
    let places = haystack.windows(head.len()).enumerate().filter(|(_, w)| *w == head);
    places.map(|(i, _)| i).find(|&i| haystack[i..].starts_with(needle))
}
