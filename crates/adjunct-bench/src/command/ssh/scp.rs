//! Real copies by scp to a private sshd, one after another or several at once, with the time they took and the processor
//! seconds of both sides.

use adjunct_cli::counted::Counted;
use adjunct_cli::ssh::lab::{HOST, Login, Setup};
use adjunct_cli::ssh::measure::{Rig, Side};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The suite, key and files of copies.
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

/// The time that the copies of a job took together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Taken {
    /// Time from the first client's start to the last one's end, in seconds.
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
    /// Makes a copier that runs this scp; `counted` counts what adjunct serves.
    pub fn new(rig: Rig, scp: PathBuf, counted: Counted) -> Copier {
        Copier { rig, scp, counted }
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        self.rig.place().dir()
    }

    /// The counters of the programs that the copier runs.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// Does a job on a side.
    ///
    /// # Errors
    /// [`Failure`] with OpenSSH's own words, or where a copy stalls.
    pub fn run(&mut self, side: &Side, job: &Job) -> Result<Taken, Failure> {
        let key = self.rig.place().key_for(&job.key, job.rsa_bits)?.display().to_string();
        let lines = |line: &str, more: &[&str]| {
            let key_line = format!("{line} {key}");
            job.both.iter().cloned().chain([key_line]).chain(more.iter().map(|l| (*l).to_owned())).collect::<Vec<_>>()
        };
        let client = Setup::new(lines("IdentityFile", &[]), &side.client);
        let server = lines("HostKey", &["Subsystem sftp internal-sftp", "MaxStartups 1000"]);
        let server = Setup::new(server, &side.server);
        let mut copies: Vec<OneCopy<'_>> = Vec::new();
        let mut taken = Taken::default();
        let (mut started, mut done) = (0, 0);
        let start = Instant::now();
        while done < job.copies || !copies.is_empty() {
            interrupted()?;
            let running = copies.iter().filter(|copy| copy.login.runs()[0]).count();
            if started < job.copies && running < job.at_once.max(1) {
                copies.push(self.start(&client, job)?);
                started += 1;
                continue;
            }
            let mut moved = false;
            for copy in &mut copies {
                moved |= copy.step(&server, &mut taken, job.limit)?;
                if !copy.login.runs()[0] && !copy.counted {
                    copy.counted = true;
                    done += 1;
                    taken.seconds = start.elapsed().as_secs_f64();
                }
            }
            copies.retain(|copy| copy.login.runs() != [false, false]);
            if !moved {
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        Ok(taken)
    }

    fn start(&self, setup: &Setup, job: &Job) -> Result<OneCopy<'_>, Failure> {
        let place = self.rig.place();
        let mut login = Login::alone(place, setup, |config| {
            let mut command = Command::new(&self.scp);
            command.arg("-q").arg("-F").arg(config).arg("-S").arg(&place.programs.ssh);
            command.arg(&job.file).arg(format!("{HOST}:/dev/null")).stdout(Stdio::null());
            command
        })?;
        // scp ends its ssh when it is told to end.
        login.ask_first(Duration::from_secs(2));
        Ok(OneCopy { login, counted: false })
    }
}

/// A single copy.
struct OneCopy<'a> {
    login: Login<'a>,
    counted: bool,
}

impl OneCopy<'_> {
    /// Does what can be done without waiting; whether there was anything.
    fn step(&mut self, server: &Setup, taken: &mut Taken, limit: Duration) -> Result<bool, Failure> {
        if self.login.answered(server)? {
            return Ok(true);
        }
        let [client, server] = self.login.ended()?;
        let moved = client.is_some() || server.is_some();
        taken.server += server.map_or(0.0, |(_, spent)| spent.all());
        if let Some((status, spent)) = client {
            (taken.user, taken.client) = (taken.user + spent.user, taken.client + spent.all());
            if !status.success() {
                return Err(self.login.explain(None));
            }
        }
        if !moved && self.login.start.elapsed() > limit {
            return Err(Failure::new(format!("a copy took more than {} s and was given up", limit.as_secs())));
        }
        Ok(moved)
    }
}
