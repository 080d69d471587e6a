//! Real copies by scp to a private sshd, one after another or several at once, with the time they took and the processor
//! seconds of both sides.

use super::counted::Counted;
use crate::Failure;
use crate::ssh::measure::rig::{Running, Session};
use crate::ssh::measure::{Rig, Side};
use crate::ssh::place::HOST;
use crate::ssh::server::{interrupted, kill_tree};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What is copied, and how.
#[derive(Debug, Clone)]
pub struct Job {
    /// Lines that both configurations get: the algorithms.
    pub both: Vec<String>,
    /// The algorithm of the host key, and of the user's.
    pub key: String,
    /// The length of RSA keys.
    pub rsa_bits: u32,
    /// The file.
    pub file: PathBuf,
    /// How many copies.
    pub copies: usize,
    /// How many at once.
    pub at_once: usize,
    /// How long a copy may take before it counts as stalled.
    pub limit: Duration,
}

/// What the copies of a job took together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Taken {
    /// From the first client's start to the last one's end, in seconds.
    pub seconds: f64,
    /// Processor seconds that scp and its ssh spent in user mode.
    pub user: f64,
    /// All their processor seconds.
    pub client: f64,
    /// All processor seconds of sshd.
    pub server: f64,
}

/// Runs scp with the keys and configurations of a rig.
#[derive(Debug)]
pub struct Copier {
    rig: Rig,
    scp: PathBuf,
    counted: Counted,
}

impl Copier {
    /// With this scp; what adjunct serves is counted by `counted`.
    pub fn new(rig: Rig, scp: PathBuf, counted: Counted) -> Copier {
        Copier { rig, scp, counted }
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        self.rig.place().dir()
    }

    /// The counters of what it runs.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// Does a job on a side.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words, or where a copy stalls.
    pub fn run(&mut self, side: &Side, job: &Job) -> Result<Taken, Failure> {
        let key = self.rig.key(&job.key, job.rsa_bits)?.display().to_string();
        let lines = |line: &str, more: &[&str]| {
            let key_line = format!("{line} {key}");
            job.both.iter().cloned().chain([key_line]).chain(more.iter().map(|l| (*l).to_owned())).collect::<Vec<_>>()
        };
        let client = lines("IdentityFile", &[]);
        let server = lines("HostKey", &["Subsystem sftp internal-sftp", "MaxStartups 1000"]);
        let mut pairs: Vec<Pair<'_>> = Vec::new();
        let mut taken = Taken::default();
        let (mut started, mut done) = (0, 0);
        let start = Instant::now();
        while done < job.copies || !pairs.is_empty() {
            interrupted()?;
            let running = pairs.iter().filter(|p| p.client.is_some()).count();
            if started < job.copies && running < job.at_once.max(1) {
                pairs.push(self.start(side, job, &client)?);
                started += 1;
                continue;
            }
            let mut moved = false;
            for pair in &mut pairs {
                moved |= pair.step(side, &server, &mut taken, job.limit)?;
                if pair.client.is_none() && !pair.counted {
                    pair.counted = true;
                    done += 1;
                    taken.seconds = start.elapsed().as_secs_f64();
                }
            }
            pairs.retain(|pair| pair.client.is_some() || pair.server.is_some());
            if !moved {
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        Ok(taken)
    }

    fn start(&self, side: &Side, job: &Job, lines: &[String]) -> Result<Pair<'_>, Failure> {
        let session = self.rig.open();
        let failed = |e: std::io::Error| Failure::new(format!("no port to be had on loopback: {e}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let config = session.client_config(lines, listener.local_addr().map_err(failed)?.port())?;
        let mut command = Command::new(&self.scp);
        command.arg("-q").arg("-F").arg(config).arg("-S").arg(&self.rig.place().programs.ssh);
        command.arg(&job.file).arg(format!("{HOST}:/dev/null"));
        side.client.apply(&mut command);
        command.env_remove("SSH_AUTH_SOCK").stdin(Stdio::null()).stdout(Stdio::null()).stderr(session.log("ssh_log")?);
        let child = command.spawn().map_err(|e| Failure::new(format!("{}: {e}", self.scp.display())))?;
        let client = Some(Scp(child));
        Ok(Pair { client, server: None, listener: Some(listener), session, counted: false, start: Instant::now() })
    }
}

/// Both ends of one copy. The client is dropped first: a server whose client is gone ends itself with its session.
struct Pair<'a> {
    client: Option<Scp>,
    server: Option<Running>,
    listener: Option<TcpListener>,
    session: Session<'a>,
    counted: bool,
    start: Instant,
}

impl Pair<'_> {
    /// Does what can be done without waiting; whether there was anything.
    fn step(&mut self, side: &Side, lines: &[String], taken: &mut Taken, limit: Duration) -> Result<bool, Failure> {
        if let Some(Ok((socket, _))) = self.listener.as_ref().map(TcpListener::accept) {
            self.listener = None;
            self.server = Some(self.session.server(side, lines, socket)?);
            return Ok(true);
        }
        let mut moved = false;
        if let Some(Scp(child)) = &mut self.client
            && let Some(ended) = reap(child)?
        {
            (taken.user, taken.client) = (taken.user + ended.user, taken.client + ended.user + ended.system);
            self.client = None;
            moved = true;
            if !ended.success {
                return Err(Failure::new(self.session.explain()));
            }
        }
        if let Some(Running(child)) = &mut self.server
            && let Some(ended) = reap(child)?
        {
            taken.server += ended.user + ended.system;
            self.server = None;
            moved = true;
        }
        if !moved && self.start.elapsed() > limit {
            return Err(Failure::new(format!("a copy took more than {} s and was given up", limit.as_secs())));
        }
        Ok(moved)
    }
}

/// scp, which ends its ssh when it is told to end.
struct Scp(Child);

impl Drop for Scp {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
            let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
            if !matches!(crate::ssh::measure::rig::wait(&mut self.0, Duration::from_secs(2)), Ok(Some(_))) {
                kill_tree(self.0.id());
                let _ = self.0.wait();
            }
        }
    }
}

/// How a child ended and what it spent, with its own children.
struct Ended {
    success: bool,
    user: f64,
    system: f64,
}

/// Takes an ended child's account; `None` while it runs. The kernel adds what a child spent to this process's children the
/// moment it is waited for, so that the difference is that child's to the microsecond.
fn reap(child: &mut Child) -> Result<Option<Ended>, Failure> {
    let before = children();
    let Some(status) = child.try_wait().map_err(|e| Failure::new(format!("waiting for a program: {e}")))? else {
        return Ok(None);
    };
    let after = children();
    Ok(Some(Ended { success: status.success(), user: after.0 - before.0, system: after.1 - before.1 }))
}

/// User and system seconds of all children waited for.
fn children() -> (f64, f64) {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or((0.0, 0.0), |usage| {
        let seconds = |t: nix::sys::time::TimeVal| t.num_microseconds() as f64 / 1e6;
        (seconds(usage.user_time()), seconds(usage.system_time()))
    })
}
