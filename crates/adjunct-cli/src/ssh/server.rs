//! A private sshd on a loopback port: started, watched, stopped, with the processor time it took.

use super::measure::orphans;
use super::place::{Place, last_line};
use super::{runtime, session};
use crate::Failure;
pub use crate::interrupt::{catch_interrupts, interrupted};
use crate::openssl::programs::run;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What takes longer hangs: on the busiest of machines sshd starts, and a session ends, within seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// How to start the server.
#[derive(Debug, Default, Clone)]
pub struct Settings {
    /// The port; `None` takes a free one.
    pub port: Option<u16>,
    /// Further lines of `sshd_config`; they win over those of [`Sshd::start`].
    pub options: Vec<String>,
    /// The OpenSSL configuration; `None` leaves the system's.
    pub openssl_conf: Option<PathBuf>,
    /// Further environment variables.
    pub environment: Vec<(String, String)>,
}

/// A running server. Dropping it ends it and its sessions.
#[derive(Debug)]
pub struct Sshd {
    child: Child,
    log: PathBuf,
    port: u16,
}

impl Sshd {
    /// Starts sshd on loopback for the user of `place` and waits until it listens.
    ///
    /// # Errors
    /// [`Failure`] with sshd's own words: the port is taken, an option is wrong, ...
    pub fn start(place: &Place, settings: &Settings) -> Result<Sshd, Failure> {
        // Between looking for a free port and binding it, another program may take it.
        for _ in 0..5 {
            let port = match settings.port {
                Some(port) => port,
                None => free_port()?,
            };
            match start_at(place, settings, port) {
                Err(Start::Taken) if settings.port.is_none() => {}
                Err(Start::Taken) => return Err(Failure::new(format!("port {port} is taken; give another by --port"))),
                Err(Start::Other(failure)) => return Err(failure),
                Ok(server) => return Ok(server),
            }
        }
        Err(Failure::new("no free port found on loopback"))
    }

    /// The port it listens at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until its sessions have ended and ends it; its processor time is then among [`children_seconds`].
    ///
    /// # Errors
    /// [`Failure`] where a session does not end within a minute, or before an interrupt; it is killed then.
    pub fn stop(mut self) -> Result<(), Failure> {
        let clean = self.sessions_end(LIMIT);
        self.end();
        interrupted()?;
        if clean { Ok(()) } else { Err(Failure::new("a session of the private sshd did not end and was killed")) }
    }

    fn sessions_end(&self, limit: Duration) -> bool {
        let start = Instant::now();
        while !descendants(self.child.id()).is_empty() {
            if start.elapsed() > limit || interrupted().is_err() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        true
    }

    fn end(&mut self) {
        // The listener first, so that no session starts; then what is left of the sessions, found before they lose
        // their parent.
        let left = descendants(self.child.id());
        kill(self.child.id(), Signal::TERM);
        for pid in left {
            kill(pid, Signal::TERM);
        }
        let start = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if start.elapsed() > Duration::from_secs(3) {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        orphans::forget(&self.child);
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // A client that is gone ends its session within milliseconds; only what hangs is killed.
            self.sessions_end(Duration::from_millis(500));
        }
        self.end();
    }
}

enum Start {
    Taken,
    Other(Failure),
}

impl From<Failure> for Start {
    fn from(failure: Failure) -> Start {
        Start::Other(failure)
    }
}

fn start_at(place: &Place, settings: &Settings, port: u16) -> Result<Sshd, Start> {
    let config = place.write("sshd_config", &config(place, settings, port))?;
    let mut command = command(place, settings, &config)?;
    let log = place.write("sshd_log", "")?;
    let stderr = fs::File::create(&log).map_err(|e| super::place::cannot_write(&log, &e))?;
    command.args(["-D", "-e", "-f"]).arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    // What its sessions leave behind comes to this process, and can be found.
    orphans::adopt();
    let child = command.spawn().map_err(|e| Failure::new(format!("{}: {e}", place.programs.sshd.display())))?;
    orphans::note(&child);
    let mut server = Sshd { child, log, port };
    let start = Instant::now();
    loop {
        let said = server.log();
        if said.contains("Server listening on") {
            return Ok(server);
        }
        let ended = !matches!(server.child.try_wait(), Ok(None));
        if ended || start.elapsed() > LIMIT {
            let said = server.log();
            if said.contains("Address already in use") {
                return Err(Start::Taken);
            }
            return Err(Failure::new(format!("sshd does not start: {}", last_line(&said))).into());
        }
        interrupted()?;
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn config(place: &Place, settings: &Settings, port: u16) -> String {
    let dir = place.dir().display();
    let mut text = String::new();
    // sshd takes the first value it reads.
    for option in &settings.options {
        text += option;
        text.push('\n');
    }
    // StrictModes would refuse keys below /tmp, which everybody may write; the folder itself is 0700. Without PAM
    // nothing of the system records the login.
    text + &format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {dir}/host_key\nAuthorizedKeysFile {dir}/user_key.pub\nPidFile none\n\
         StrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PubkeyAuthentication yes\nPermitRootLogin prohibit-password\nAllowUsers {}\nPermitUserRC no\nPrintMotd no\n\
         PrintLastLog no\nX11Forwarding no\nAllowTcpForwarding no\nPermitUserEnvironment no\n{}LogLevel VERBOSE\n",
        place.user,
        session::without_startup_files(place)
    )
}

/// sshd, run so that it dies with us, and with the folder that privilege separation needs where the system has none:
/// in a mount namespace of its own, or, where that is not allowed, made.
fn command(place: &Place, settings: &Settings, config: &Path) -> Result<Command, Failure> {
    let sshd = &place.programs.sshd;
    let environment = |command: &mut Command| {
        if let Some(conf) = &settings.openssl_conf {
            command.env("OPENSSL_CONF", conf);
        }
        command.envs(settings.environment.iter().map(|(k, v)| (k, v)));
    };
    let mut test = Command::new(sshd);
    environment(&mut test);
    let tested = run(test.args(["-t", "-f"]).arg(config).stdin(Stdio::null())).map_err(Failure::new)?;
    let said = tested.stderr.as_str();
    let mut words: Vec<String> = Vec::new();
    if !tested.success {
        let Some(dir) = runtime::missing(said) else {
            return Err(Failure::new(format!("sshd refuses its configuration: {}", last_line(said))));
        };
        let script = "mount -t tmpfs -o mode=755 adjunct \"${0%/*}\" && mkdir -m 755 \"$0\" && exec \"$@\"";
        if runs("unshare", &["--mount", "sh", "-c", script, dir, "true"]) {
            words.extend(["unshare", "--mount", "sh", "-c", script, dir].map(str::to_owned));
        } else {
            runtime::make(Path::new(dir))?;
        }
    }
    if runs("setpriv", &["--pdeathsig", "TERM", "true"]) {
        words.extend(["setpriv", "--pdeathsig", "TERM"].map(str::to_owned));
    }
    words.push(sshd.display().to_string());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    environment(&mut command);
    Ok(command)
}

fn runs(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    run(command.args(args).stdin(Stdio::null())).is_ok_and(|outcome| outcome.success)
}

fn free_port() -> Result<u16, Failure> {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr()).map(|a| a.port());
    port.map_err(|e| Failure::new(format!("no port to be had on loopback: {e}")))
}

/// Sends a signal, where there is such a process.
pub(crate) fn kill(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Kills a process and all below it.
pub(crate) fn kill_tree(root: u32) {
    // First it alone: what it would start meanwhile does not start.
    kill(root, Signal::STOP);
    for pid in descendants(root) {
        kill(pid, Signal::KILL);
    }
    kill(root, Signal::KILL);
}

/// The processes below `root`, nearest first.
pub fn descendants(root: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let parents: Vec<(u32, u32)> = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let above = found[next];
        found.extend(parents.iter().filter(|(_, p)| *p == above).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// The parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may itself contain anything.
    String::from_utf8_lossy(&stat).rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Processor seconds, user and system, of all children this process has waited for, and of theirs.
pub fn children_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0.0, |usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        micros as f64 / 1e6
    })
}
