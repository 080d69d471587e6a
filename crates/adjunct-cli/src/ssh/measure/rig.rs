//! One real connection, measured.

use super::data::Data;
use super::keys::{Keys, Type};
use super::orphans;
use super::side::Side;
use crate::Failure;
use crate::ssh::place::{HOST, Place, Programs, cannot_write, last_line};
use crate::ssh::runtime::provide;
use crate::ssh::server::{children_seconds, interrupted, kill_tree};
use crate::ssh::session;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The algorithms of a connection, by OpenSSH's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// The cipher.
    pub cipher: String,
    /// The MAC; without effect beside a cipher that authenticates by itself, and may be empty there.
    pub mac: String,
    /// The key exchange.
    pub kex: String,
    /// The algorithm of the host key.
    pub host_key: String,
    /// The algorithm of the user's key.
    pub user_key: String,
    /// The length of RSA keys.
    pub rsa_bits: u32,
}

impl Default for Suite {
    fn default() -> Suite {
        Suite {
            cipher: "aes128-ctr".to_owned(),
            mac: "hmac-sha2-256-etm@openssh.com".to_owned(),
            kex: "curve25519-sha256".to_owned(),
            host_key: "ssh-ed25519".to_owned(),
            user_key: "ssh-ed25519".to_owned(),
            rsa_bits: 3072,
        }
    }
}

/// What a connection took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// From the client's start to its end, in seconds.
    pub seconds: f64,
    /// From the client's start to the first byte of data, or to the end where there was none: the login.
    pub first: f64,
    /// Processor seconds of the client.
    pub client: f64,
    /// Processor seconds of the server: sshd from its start on, with the remote command.
    pub server: f64,
}

/// Keys and configurations of measured connections, in a private folder that is gone when this is dropped.
#[derive(Debug)]
pub struct Rig {
    place: Place,
    keys: Keys,
    sessions: Cell<u32>,
}

/// Data that should come, and whom to tell of each piece's length.
type Expected<'a> = Option<(&'a Data, &'a mut dyn FnMut(u64))>;

impl Rig {
    /// Makes the folder and the first keys, and sees to it that sshd starts.
    ///
    /// # Errors
    /// [`Failure`] with the one line: the folder cannot be made, or sshd does not start.
    pub fn new(programs: Programs) -> Result<Rig, Failure> {
        let place = Place::new(programs)?;
        let mut keys = Keys::default();
        let key = keys.get(&place, Type::Ed25519)?;
        let config = place.write("measure_sshd", &format!("HostKey {}\n", key.display()))?;
        orphans::adopt();
        provide(&place.programs.sshd, &config)?;
        Ok(Rig { place, keys, sessions: Cell::new(0) })
    }

    /// The folder with the keys.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Logs in, runs a command that does nothing, and logs out.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words.
    pub fn login(&mut self, side: &Side, suite: &Suite) -> Result<Cost, Failure> {
        self.connect(side, suite, "exit 0", None)
    }

    /// Logs in and has `data` sent, which is compared byte for byte. `progress` is told of each piece's length in bytes.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words, or where the data differs.
    pub fn transfer(
        &mut self,
        side: &Side,
        suite: &Suite,
        data: &Data,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Cost, Failure> {
        self.connect(side, suite, &data.command(), Some((data, progress)))
    }

    /// Logs in where each side is told its algorithms by lines of its own configuration (none: OpenSSH's defaults), and
    /// logs out: whether two configurations understand each other. The keys are Ed25519, ECDSA and RSA ones.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words.
    pub fn login_with(&mut self, side: &Side, client: &[String], server: &[String]) -> Result<Cost, Failure> {
        let kinds = [Type::Ed25519, Type::Ecdsa(256), Type::Rsa(3072)];
        let keys = kinds.map(|kind| self.keys.get(&self.place, kind));
        let (mut client, mut server) = (client.to_vec(), server.to_vec());
        for key in keys {
            let key = key?;
            client.push(format!("IdentityFile {}", key.display()));
            server.push(format!("HostKey {}", key.display()));
        }
        self.open().run(side, &client, &server, "exit 0", None)
    }

    /// The private key for a signature algorithm, made where there is none yet; the same for host and user.
    ///
    /// # Errors
    /// [`Failure`] where no key of ours can stand for it (certificates, tokens), or none can be made.
    pub fn key(&mut self, algorithm: &str, rsa_bits: u32) -> Result<PathBuf, Failure> {
        let kind = Type::of(algorithm, rsa_bits);
        let kind = kind.ok_or_else(|| Failure::new(format!("no key can be made for '{algorithm}'")))?;
        self.keys.get(&self.place, kind)
    }

    /// A session of its own, with files that no other shares.
    pub(in crate::ssh) fn open(&self) -> Session<'_> {
        let number = self.sessions.get();
        self.sessions.set(number.wrapping_add(1));
        Session { place: &self.place, number }
    }

    fn connect(&mut self, side: &Side, suite: &Suite, command: &str, expect: Expected<'_>) -> Result<Cost, Failure> {
        let host = self.key(&suite.host_key, suite.rsa_bits)?;
        let user = self.key(&suite.user_key, suite.rsa_bits)?;
        let both = [
            ("Ciphers", &suite.cipher),
            ("MACs", &suite.mac),
            ("KexAlgorithms", &suite.kex),
            ("HostKeyAlgorithms", &suite.host_key),
            ("PubkeyAcceptedKeyTypes", &suite.user_key),
        ];
        let both = both.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name} {value}"));
        let with = |line: String| both.clone().chain([line]).collect::<Vec<_>>();
        let client = with(format!("IdentityFile {}", user.display()));
        let server = with(format!("HostKey {}", host.display()));
        self.open().run(side, &client, &server, command, expect)
    }
}

/// One connection's configurations and logs; removed when this is dropped.
#[derive(Debug)]
pub(in crate::ssh) struct Session<'a> {
    place: &'a Place,
    number: u32,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for name in ["ssh_config", "sshd_config", "ssh_log", "sshd_log"] {
            let _ = fs::remove_file(self.path(name));
        }
    }
}

impl Session<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.place.path(&format!("{name}.{}", self.number))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        self.place.write(&format!("{name}.{}", self.number), text)
    }

    fn run(
        &self,
        side: &Side,
        client_lines: &[String],
        server_lines: &[String],
        remote: &str,
        expect: Expected<'_>,
    ) -> Result<Cost, Failure> {
        interrupted()?;
        let cannot_listen = |e: std::io::Error| Failure::new(format!("no port to be had on loopback: {e}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(cannot_listen)?;
        listener.set_nonblocking(true).map_err(cannot_listen)?;
        let port = listener.local_addr().map_err(cannot_listen)?.port();
        let idle = children_seconds();
        let start = Instant::now();
        let mut pair = Pair::default();
        let (mut stdout, client) = pair.client.insert(self.client(side, client_lines, port, remote)?).parts()?;
        let socket = accept(&listener, client, start)?;
        drop(listener);
        if let Some(socket) = socket {
            pair.server = Some(self.server(side, server_lines, socket)?);
        }
        let got = read(&mut stdout, expect, start);
        let status = pair.end_client(got.is_err())?;
        let seconds = start.elapsed().as_secs_f64();
        let after_client = children_seconds();
        pair.end_server()?;
        orphans::reap(Duration::from_secs(10));
        interrupted()?;
        // The client's own words say more than the data that did not come.
        if !status.success() && (got.is_ok() || status.code() == Some(255)) {
            return Err(Failure::new(self.explain()));
        }
        let first = got?.unwrap_or(seconds);
        Ok(Cost { seconds, first, client: after_client - idle, server: children_seconds() - after_client })
    }

    /// The client's configuration for the server at `port`; `lines` win over those written here.
    pub(in crate::ssh) fn client_config(&self, lines: &[String], port: u16) -> Result<PathBuf, Failure> {
        let dir = self.place.dir().display();
        // ssh takes the first value it reads: the caller's win.
        let config = format!(
            "Host {HOST}\n{}\nHostName 127.0.0.1\nHostKeyAlias {HOST}\nPort {port}\nUser {}\nIdentitiesOnly yes\n\
             IdentityAgent none\nUserKnownHostsFile {dir}/measure_known_hosts\nGlobalKnownHostsFile /dev/null\n\
             StrictHostKeyChecking yes\nCheckHostIP no\nUpdateHostKeys no\nBatchMode yes\n\
             PreferredAuthentications publickey\nControlMaster no\nControlPath none\nCompression no\nForwardAgent no\n\
             ForwardX11 no\nConnectTimeout 30\n",
            lines.join("\n"),
            self.place.user
        );
        self.write("ssh_config", &config)
    }

    fn client(&self, side: &Side, lines: &[String], port: u16, remote: &str) -> Result<Running, Failure> {
        let config = self.client_config(lines, port)?;
        let ssh = &self.place.programs.ssh;
        let mut command = Command::new(ssh);
        command.arg("-F").arg(config).arg("-T").arg(HOST).arg(remote);
        side.client.apply(&mut command);
        command.env_remove("SSH_AUTH_SOCK").stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(self.log("ssh_log")?);
        command.spawn().map(Running::new).map_err(|e| Failure::new(format!("{}: {e}", ssh.display())))
    }

    /// sshd for the connection `socket`; `lines` win over those written here.
    pub(in crate::ssh) fn server(&self, side: &Side, lines: &[String], socket: TcpStream) -> Result<Running, Failure> {
        let authorized = self.place.path("measure_authorized");
        // StrictModes would refuse keys below /tmp, which everybody may write; the folder itself is 0700. Without PAM
        // nothing of the system records the login.
        let config = format!(
            "{}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPubkeyAuthentication yes\nPermitRootLogin prohibit-password\n\
             AllowUsers {}\nPermitUserRC no\nPrintMotd no\nPrintLastLog no\nX11Forwarding no\nAllowTcpForwarding no\n\
             PermitUserEnvironment no\n{}LogLevel VERBOSE\n",
            lines.join("\n"),
            authorized.display(),
            self.place.user,
            session::without_startup_files(self.place)
        );
        let config = self.write("sshd_config", &config)?;
        let sshd = &self.place.programs.sshd;
        let mut command = Command::new(sshd);
        command.args(["-i", "-e", "-f"]).arg(config);
        side.server.apply(&mut command);
        let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", sshd.display()));
        socket.set_nonblocking(false).map_err(failed)?;
        let input = OwnedFd::from(socket);
        command.stdout(input.try_clone().map_err(failed)?).stdin(input).stderr(self.log("sshd_log")?);
        command.spawn().map(Running::new).map_err(failed)
    }

    /// A log that the client (`ssh_log`) or the server writes, which [`Session::explain`] reads.
    pub(in crate::ssh) fn log(&self, name: &str) -> Result<File, Failure> {
        let path = self.path(name);
        File::create(&path).map_err(|e| cannot_write(&path, &e))
    }

    /// What went wrong, from what both sides wrote.
    pub(in crate::ssh) fn explain(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        let (client, server) = (read("ssh_log"), read("sshd_log"));
        let telling = ["not allowed because", "Unable to negotiate", "no matching", "fatal:", "error:", "refused:"];
        // Its last words on a bad configuration only count what came before.
        let telling_lines: Vec<&str> = client.lines().filter(|l| !l.contains("terminating,")).collect();
        let said = last_line(&telling_lines.join("\n")).to_owned();
        match server.lines().rfind(|line| telling.iter().any(|t| line.contains(t))) {
            Some(cause) if cause.contains("locked") => {
                format!("sshd does not let this account log in: {}; use another user or unlock it", cause.trim())
            }
            Some(cause) => format!("ssh: {said} (sshd: {})", cause.trim()),
            None => format!("ssh: {said}"),
        }
    }
}

/// A program that is ended when this is dropped.
#[derive(Debug)]
pub(in crate::ssh) struct Running(pub(in crate::ssh) Child);

impl Running {
    /// Of a child of this process.
    pub(in crate::ssh) fn new(child: Child) -> Running {
        orphans::note(&child);
        Running(child)
    }

    fn parts(&mut self) -> Result<(ChildStdout, &mut Child), Failure> {
        let stdout = self.0.stdout.take().ok_or_else(|| Failure::new("no pipe to the client"))?;
        Ok((stdout, &mut self.0))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            kill_tree(self.0.id());
            let _ = self.0.wait();
        }
        orphans::forget(&self.0);
    }
}

/// Both ends. The client is dropped first: a server whose client is gone ends itself with its session.
#[derive(Default)]
struct Pair {
    client: Option<Running>,
    server: Option<Running>,
}

impl Pair {
    fn end_client(&mut self, failed: bool) -> Result<ExitStatus, Failure> {
        let gone = || Failure::new("the client is gone");
        let mut client = self.client.take().ok_or_else(gone)?;
        if failed {
            // Its output went wrong: it would wait for its reader, but may have its reason to tell.
            let _ = wait(&mut client.0, Duration::from_millis(200));
            kill_tree(client.0.id());
        }
        wait(&mut client.0, Duration::from_secs(30))?
            .ok_or_else(|| Failure::new("the client does not end; it was killed"))
    }

    fn end_server(&mut self) -> Result<(), Failure> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        match wait(&mut server.0, Duration::from_secs(30))? {
            Some(_) => Ok(()),
            None => Err(Failure::new("sshd does not end though its client is gone; it was killed")),
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        drop(self.client.take());
        if let Some(server) = &mut self.server {
            let _ = wait(&mut server.0, Duration::from_secs(2));
        }
    }
}

/// Waits for the end of a process; `None` after `limit`.
pub(in crate::ssh) fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>, Failure> {
    let mut status = Ok(None);
    wait_for(limit, || {
        status = child.try_wait().map_err(|e| Failure::new(format!("waiting for a program: {e}")));
        !matches!(status, Ok(None))
    });
    status
}

/// Asks `done` again and again, at most for `limit`; whether it was.
pub(in crate::ssh) fn wait_for(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    true
}

/// The client's connection; `None` where the client ended before it made one.
pub(in crate::ssh) fn accept(
    listener: &TcpListener,
    client: &mut Child,
    start: Instant,
) -> Result<Option<TcpStream>, Failure> {
    loop {
        let mut fds = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 }));
        interrupted()?;
        if let Ok((socket, _)) = listener.accept() {
            return Ok(Some(socket));
        }
        if !matches!(client.try_wait(), Ok(None)) {
            return Ok(None);
        }
        if start.elapsed() > Duration::from_secs(60) {
            return Err(Failure::new("the client does not connect; it was killed"));
        }
    }
}

/// Reads all of `stdout` and compares it with what is expected; when the first byte came.
fn read(stdout: &mut ChildStdout, mut expect: Expected<'_>, start: Instant) -> Result<Option<f64>, Failure> {
    const STALLED: Duration = Duration::from_secs(60);
    let _ = rustix::pipe::fcntl_setpipe_size(&*stdout, 1 << 20);
    let mut buffer = vec![0; 1 << 18];
    let (mut place, mut first, mut last) = (0u64, None, Instant::now());
    loop {
        interrupted()?;
        let mut fds = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)];
        if matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 100_000_000 })), Ok(0) | Err(_)) {
            if last.elapsed() > STALLED {
                return Err(Failure::new("the connection stalled: nothing for a minute"));
            }
            continue;
        }
        let n = stdout.read(&mut buffer).map_err(|e| Failure::new(format!("the client's data: {e}")))?;
        if n == 0 {
            break;
        }
        last = Instant::now();
        first = first.or_else(|| Some(start.elapsed().as_secs_f64()));
        let same = expect.as_ref().is_some_and(|(data, _)| data.same(place, &buffer[..n]));
        if !same {
            let hint = if place == 0 { "; does the login shell print something by itself?" } else { "" };
            return Err(Failure::new(format!("the data differs within {n} bytes after byte {place}{hint}")));
        }
        place += n as u64;
        if let Some((_, progress)) = &mut expect {
            progress(n as u64);
        }
    }
    let expected = expect.as_ref().map_or(0, |(data, _)| data.bytes());
    if place < expected {
        return Err(Failure::new(format!("the data ends after {place} of {expected} bytes")));
    }
    Ok(first)
}
