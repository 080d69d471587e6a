//! One ssh session over a loopback socket with a server process of its own: no listener, so that many can run side by
//! side, each with its own configuration, environment and counters on either side.

use crate::counted::Counted;
use crate::keys::{HOST, Keys};
use crate::lab::{Lab, spawn};
use crate::ports;
use crate::system::System;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything takes on the slowest machine; what takes longer hangs.
pub const LIMIT: Duration = Duration::from_secs(300);

/// A client and a server and where their files go.
#[derive(Debug)]
pub struct Pair<'a> {
    /// Files and OpenSSL configurations.
    pub lab: &'a Lab,
    /// System whose `ssh` is used.
    pub client: &'a System,
    /// System whose `sshd` is used.
    pub server: &'a System,
}

/// A side of a session.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// The OpenSSL configuration.
    pub conf: PathBuf,
    /// Lines of `ssh_config` or `sshd_config`; they win over the usual ones.
    pub options: Vec<String>,
    /// Further environment.
    pub environment: Vec<(String, String)>,
    /// For a server: whether [`TESTER`](crate::system::TESTER) has an account.
    pub account: bool,
}

impl Side {
    /// A side with this configuration and nothing else.
    pub fn new(conf: &Path) -> Side {
        Side { conf: conf.to_owned(), ..Side::default() }
    }

    /// Adds a line of configuration.
    #[must_use]
    pub fn option(mut self, line: impl Into<String>) -> Side {
        self.options.push(line.into());
        self
    }

    /// Counts there.
    #[must_use]
    pub fn counted(mut self, counted: &Counted) -> Side {
        self.environment.push(counted.environment());
        self
    }

    /// Adds a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Side {
        self.environment.push((name.to_owned(), value.into()));
        self
    }
}

/// What came of a session.
#[derive(Debug)]
pub struct Ended {
    /// The client's.
    pub status: ExitStatus,
    /// The client's standard output.
    pub output: Vec<u8>,
    /// What the client said.
    pub client: String,
    /// What the server logged.
    pub server: String,
}

impl Ended {
    /// Logs of both sides, for a failed assertion.
    pub fn logs(&self) -> String {
        format!("{}\nclient:\n{}\nserver:\n{}", self.status, self.client, self.server)
    }
}

impl Pair<'_> {
    /// Logs in, runs `remote` with `input`, and waits for both sides to end.
    pub fn run(&self, client: &Side, server: &Side, remote: &str, input: &[u8]) -> Ended {
        self.run_program(server, input, |port, name| {
            let mut ssh = self.ssh(client, port, name);
            ssh.args(["-T", HOST, remote]);
            ssh
        })
    }

    /// Logs in with a client that is made for a port and a name for its files, and waits for both sides to end. The client must connect once.
    pub fn run_program(&self, server: &Side, input: &[u8], client: impl FnOnce(u16, &str) -> Command) -> Ended {
        let mut live = self.start(server, client);
        let stdin = live.ssh.stdin.take();
        let (mut output, mut said) = (Vec::new(), Vec::new());
        let mut stdout = live.ssh.stdout.take().expect("piped");
        let mut stderr = live.ssh.stderr.take().expect("piped");
        std::thread::scope(|scope| {
            // A program that ends early closes its end: not the writer's failure.
            scope.spawn(move || stdin.map(|mut s| s.write_all(input)));
            scope.spawn(|| stderr.read_to_end(&mut said));
            stdout.read_to_end(&mut output).expect("the client's output");
        });
        let (status, server) = live.wait();
        Ended { status, output, client: String::from_utf8_lossy(&said).into_owned(), server }
    }

    /// Starts both sides; the client's standard input, output and error are pipes.
    pub fn start(&self, server: &Side, client: impl FnOnce(u16, &str) -> Command) -> Live {
        let listener = ports::listener();
        let port = listener.local_addr().expect("an address").port();
        let name = next();
        let mut client = client(port, &name);
        let mut ssh = spawn(client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        let log = self.lab.path(&format!("log-{name}"));
        let sshd = accept(&listener, &mut ssh).map(|socket| {
            let mut sshd = self.sshd(server, &name, &["-i"]);
            let out = socket.try_clone().expect("a descriptor");
            sshd.stdin(socket).stdout(out).stderr(File::create(&log).expect("a log"));
            spawn(&mut sshd)
        });
        let files = ["log", "ssh", "sshd"].map(|file| self.lab.path(&format!("{file}-{name}")));
        Live { ssh, sshd, files }
    }

    /// `ssh` with its configuration at `port`; the words after it are the caller's.
    pub fn ssh(&self, side: &Side, port: u16, name: &str) -> Command {
        self.program("ssh", side, port, name)
    }

    /// A program of the client's that takes `-F` (`ssh`, `scp`, `sftp`), with its configuration at `port`; the words after it are the caller's. It
    /// is ended by force after [`LIMIT`].
    pub fn program(&self, program: &str, side: &Side, port: u16, name: &str) -> Command {
        let config = self.client_config(side, port, name);
        let mut command = limited(self.client, program);
        command.arg("-F").arg(config);
        environment(&mut command, side);
        command
    }

    /// Writes a client's configuration.
    pub fn client_config(&self, side: &Side, port: u16, name: &str) -> PathBuf {
        let keys = Keys::shared();
        // ssh takes the first value it reads.
        let text = format!(
            "Host {HOST}\n{}\nHostName 127.0.0.1\nHostKeyAlias {HOST}\nPort {port}\nUser root\n\
             IdentityFile {}\nIdentitiesOnly yes\nIdentityAgent none\nGlobalKnownHostsFile /dev/null\n\
             UserKnownHostsFile {}\nStrictHostKeyChecking yes\nBatchMode yes\nControlPath none\n\
             PreferredAuthentications publickey\nConnectTimeout 250\nLogLevel DEBUG1\n",
            side.options.join("\n"),
            keys.path("ed25519").display(),
            keys.path("known_hosts").display(),
        );
        self.lab.write(&format!("ssh-{name}"), text)
    }

    /// `sshd` with its configuration; the words after it are the caller's. sshd starts every command by the account's shell. Its startup files do not
    /// belong to a test and may take longer than all the rest (pyenv's wait for a lock of all shells): the session's environment keeps them out, as
    /// in the lab of `adjunct ssh`.
    pub fn sshd(&self, side: &Side, name: &str, words: &[&str]) -> Command {
        let (keys, home) = (Keys::shared(), self.lab.path("home"));
        let home = home.display();
        let text = format!(
            "{}\nHostKey {}\nAuthorizedKeysFile {}\nTrustedUserCAKeys {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             UseDNS no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
             PermitUserRC no\nPrintMotd no\nPrintLastLog no\nX11Forwarding no\nLoginGraceTime 250\nLogLevel DEBUG3\n\
             SetEnv HOME={home} ZDOTDIR={home} XDG_CONFIG_HOME={home} SHLVL=2 ENV=/dev/null BASH_ENV=/dev/null\n",
            side.options.join("\n"),
            keys.path("ed25519").display(),
            keys.path("ed25519.pub").display(),
            keys.path("ca.pub").display(),
        );
        let config = self.lab.write(&format!("sshd-{name}"), text);
        let mut command = self.server.server(side.account);
        command.args(words).arg("-e").arg("-f").arg(config);
        environment(&mut command, side);
        command
    }
}

/// A running session.
#[derive(Debug)]
pub struct Live {
    /// The client.
    pub ssh: Child,
    /// The server; `None` where the client never came.
    pub sshd: Option<Child>,
    files: [PathBuf; 3],
}

impl Live {
    /// Sends data to a remote `cat` and takes it back; it must be the same.
    pub fn echo(&mut self, data: &[u8]) {
        let mut stdin = self.ssh.stdin.take().expect("piped");
        let mut back = vec![0; data.len()];
        let stdout = self.ssh.stdout.as_mut().expect("piped");
        let (sent, got) = std::thread::scope(|scope| {
            let sender = scope.spawn(|| stdin.write_all(data));
            let got = stdout.read_exact(&mut back);
            (sender.join().expect("the sender"), got)
        });
        self.ssh.stdin = Some(stdin);
        assert!(sent.is_ok() && got.is_ok(), "the session broke: {sent:?} {got:?}\n{}", self.log());
        assert!(back == data, "the data differs");
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.files[0]).unwrap_or_default()
    }

    /// Closes the client's standard input, waits for both sides; the client's status and the server's log.
    pub fn wait(mut self) -> (ExitStatus, String) {
        drop(self.ssh.stdin.take());
        let status = self.ssh.wait().expect("wait");
        if let Some(sshd) = &mut self.sshd {
            sshd.wait().expect("wait");
        }
        let log = self.log();
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        (status, log)
    }
}

/// A name that no other session of this program has.
pub fn next() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed).to_string()
}

/// A program of `system` that is ended by force where it hangs.
pub fn limited(system: &System, program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", &LIMIT.as_secs().to_string()]).arg(system.program(program));
    command
}

fn environment(command: &mut Command, side: &Side) {
    command.env("OPENSSL_CONF", &side.conf).env_remove("SSH_AUTH_SOCK").env_remove("DISPLAY");
    command.envs(side.environment.iter().map(|(k, v)| (k, v))).stdin(Stdio::null());
}

/// The client's connection; `None` where it ended without one.
fn accept(listener: &TcpListener, client: &mut Child) -> Option<OwnedFd> {
    listener.set_nonblocking(true).expect("a listener");
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Ok((socket, _)) = listener.accept() {
            socket.set_nonblocking(false).expect("a socket");
            return Some(socket.into());
        }
        if let Ok(Some(_)) = client.try_wait() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}
