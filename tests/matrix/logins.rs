//! Logins through ssh-agent, and the programs that run on ssh: sftp and scp.

use crate::table::{Role, Suite, Versions, Work, check, way};
use crate::{each_system, side_by_side};
use adjunct_e2e::counted::Counted;
use adjunct_e2e::keys::{HOST, KINDS, Keys};
use adjunct_e2e::lab::{Lab, Modules, copy_program, spawn};
use adjunct_e2e::session::{LIMIT, Pair, Side, limited};
use adjunct_e2e::{random, system::System};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running ssh-agent, on adjunct, with every key and certificate; it ends when this is dropped.
pub struct Agent {
    child: Child,
    /// Path of the agent's socket.
    pub socket: PathBuf,
    /// Operations that the agent counted.
    pub counted: Counted,
}

impl Agent {
    /// Starts the agent. This machine's own is set-group-id and therefore ignores the environment: a copy of it does not.
    pub fn start(lab: &Lab, system: &System) -> Agent {
        let (socket, counted) = (lab.path("agent"), Counted::new());
        let mut program = system.program("ssh-agent");
        if system.name == "here" {
            let copy = lab.path("ssh-agent");
            copy_program(&program, &copy);
            program = copy;
        }
        let mut command = Command::new("timeout");
        command.args(["--foreground", "1800"]).arg(program).arg("-D").arg("-a").arg(&socket);
        command.env("OPENSSL_CONF", lab.conf(Modules::Both)).envs([counted.environment()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = spawn(&mut command);
        let agent = Agent { child, socket, counted };
        let start = Instant::now();
        while !agent.socket.exists() {
            assert!(start.elapsed() < LIMIT, "ssh-agent makes no socket");
            std::thread::sleep(Duration::from_millis(5));
        }
        let keys = Keys::shared();
        for (name, _) in KINDS {
            // The certificates have names of their own, which ssh-add does not look for: ssh is told of them.
            let mut add = limited(system, "ssh-add");
            let out = add.arg("-q").arg(keys.path(name)).env("SSH_AUTH_SOCK", &agent.socket).output().expect("ssh-add");
            assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
        }
        agent
    }

    /// The agent itself.
    pub fn pid(&self) -> u32 {
        let below = adjunct_tool::process::descendants(self.child.id());
        below.last().copied().expect("the agent runs")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // timeout passes it on.
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let _ = self.child.wait();
    }
}

#[test]
fn every_key_logs_in_through_the_agent() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let (keys, versions) = (Keys::shared(), Versions::of(system));
        let agent = Agent::start(&lab, system);
        let mut expected = std::collections::BTreeMap::new();
        for (name, _) in KINDS {
            for certified in [false, true] {
                // The private key is the agent's alone: the client has the public one.
                let public = lab.write(&format!("{name}.pub"), keys.public(name));
                let mut client = Side::new(&lab.conf(Modules::Both))
                    .option(format!("IdentityAgent {}", agent.socket.display()))
                    .option(format!("IdentityFile {}", public.display()))
                    .option("KexAlgorithms curve25519-sha256");
                let mut server = Side::new(&lab.conf(Modules::Both));
                if certified {
                    client = client.option(format!("CertificateFile {}", keys.certificate(name, "user").display()));
                    server = server.option("AuthorizedKeysFile /dev/null");
                } else {
                    server = server.option(format!("AuthorizedKeysFile {}", public.display()));
                }
                let (ssh, sshd) = (Counted::new(), Counted::new());
                let ended = pair.run(&client.counted(&ssh), &server.counted(&sshd), "cat", b"through the agent");
                let what = || format!("{} {name} {certified}: {}", system.name, ended.logs());
                assert!(ended.status.success() && ended.output == b"through the agent", "{}", what());
                assert_eq!(ended.server.contains("Accepted certificate ID"), certified, "{}", what());
                let algorithm = match name {
                    n if n.starts_with("rsa") => "rsa-sha2-512".to_owned(),
                    n if n.starts_with("ecdsa") => n.replace("ecdsa", "ecdsa-sha2-nistp"),
                    _ => "ssh-ed25519".to_owned(),
                };
                let user = if certified { format!("{algorithm}-cert-v01@openssh.com") } else { algorithm.clone() };
                let suite =
                    Suite { kex: "curve25519-sha256".into(), host: "ssh-ed25519".into(), user, ..Suite::default() };
                // The client signs nothing itself.
                let own = Suite { user: String::new(), ..suite.clone() };
                check(&sshd.read(), versions, Modules::Both, Role::Server, &suite, Work { exchanges: 1, bytes: 0 });
                if !certified {
                    check(&ssh.read(), versions, Modules::Both, Role::Client, &own, Work { exchanges: 1, bytes: 0 });
                }
                if way(&algorithm, versions).reaches(Modules::Both) {
                    *expected.entry(algorithm.split('-').next().expect("a word").to_owned()).or_insert(0) += 1;
                }
            }
        }
        let counts = agent.counted.read();
        for (kind, function) in [("rsa", "RSA-CRT"), ("ecdsa", "ECDSA Sign"), ("ssh", "Ed25519 Sign")] {
            let signed = counts.get(function).map_or(0, |c| c.calls());
            assert_eq!(signed, expected.get(kind).copied().unwrap_or(0), "{}: {function}: {counts:#?}", system.name);
        }
    });
}

/// What a file transfer is by: the program and its words.
const TRANSFERS: [(&str, &[&str], &str); 5] = [
    ("scp", &["-q", "-O"], "aes128-gcm@openssh.com"),
    ("scp", &["-q", "-s"], "chacha20-poly1305@openssh.com"),
    ("scp", &["-q", "-O", "-C"], "aes256-ctr"),
    ("sftp", &["-q"], "aes128-cbc"),
    ("sftp", &["-q", "-C", "-B", "261120"], "aes256-gcm@openssh.com"),
];

#[test]
fn files_come_and_go_unchanged() {
    each_system(|system| {
        let lab = Lab::new();
        let pair = Pair { lab: &lab, client: system, server: system };
        let mut data = random(2_000_000);
        // Half of it can be compressed.
        data.extend(b"compressible ".repeat(150_000));
        let local = lab.write("local", &data);
        let mut jobs = Vec::new();
        for (n, transfer) in TRANSFERS.into_iter().enumerate() {
            for role in [Role::Client, Role::Server] {
                for get in [false, true] {
                    jobs.push((n, transfer, role, get));
                }
            }
        }
        side_by_side(&jobs, |&(n, (program, words, cipher), role, get)| {
            let (ours, stock) = (lab.conf(Modules::Both), lab.conf(Modules::Stock));
            let (client, server) = if role == Role::Client { (ours, stock) } else { (stock, ours) };
            let counted = Counted::new();
            let client =
                Side::new(&client).counted(&counted).option(format!("Ciphers {cipher}")).option("LogLevel INFO");
            let subsystem = if n % 2 == 0 { "internal-sftp" } else { "/usr/lib/openssh/sftp-server" };
            let server = Side::new(&server)
                .counted(&counted)
                .option(format!("Subsystem sftp {subsystem}"))
                .option(format!("Ciphers {cipher}"));
            let copy = lab.path(&format!("copy-{n}-{role:?}-{get}"));
            let ended = pair.run_program(&server, b"", |port, name| {
                let mut command = pair.program(program, &client, port, name);
                command.args(words);
                let (from, to) = (local.display(), copy.display());
                if program == "sftp" {
                    let action = if get { "get" } else { "put" };
                    let batch = lab.write(&format!("batch-{name}"), format!("{action} {from} {to}\nls -l {to}\n"));
                    command.arg("-b").arg(batch).arg(HOST);
                } else if get {
                    command.arg(format!("{HOST}:{from}")).arg(&copy);
                } else {
                    command.arg(&local).arg(format!("{HOST}:{to}"));
                }
                command
            });
            let what = || format!("{} {program} {words:?} {role:?} get {get}: {}", system.name, ended.logs());
            assert!(ended.status.success(), "{}", what());
            assert!(std::fs::read(&copy).is_ok_and(|copied| copied == data), "the copy differs: {}", what());
            let counts = counted.read();
            let function = adjunct_e2e::ssh::functions(cipher)[0];
            if way(cipher, Versions::of(system)).reaches(Modules::Both) {
                let bytes = counts.get(function).map_or(0, |c| c.bytes);
                // Random data stays as long where the rest is compressed.
                assert!(bytes >= 2_000_000, "{function}: {bytes} bytes: {}", what());
            }
        });
    });
}
