//! JMeter: one program for each way to connect, which stays from row to row, so that its own warming up is in no row.

use super::fetch::Fetched;
use super::server::temporary;
use adjunct_cli::java::jdk::Jdk;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::Running;
use adjunct_tool::process::halves::Halves;
use adjunct_tool::{Failure, process};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("Load.java");

/// The users of a load: their number, and how often they connect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Users {
    pub threads: u32,
    pub users: u32,
    pub think_ms: u32,
}

/// The results of the load.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub requests: f64,
    pub seconds: f64,
    pub average_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub most_ms: f64,
    pub connections: f64,
    pub errors: f64,
    pub error: String,
}

impl Seen {
    fn parse(line: &str) -> Option<Seen> {
        let mut words = line.splitn(9, ' ');
        let mut number = || words.next()?.parse::<f64>().ok();
        Some(Seen {
            requests: number()?,
            seconds: number()?,
            average_ms: number()?,
            p50_ms: number()?,
            p99_ms: number()?,
            most_ms: number()?,
            connections: number()?,
            errors: number()?,
            error: words.next().unwrap_or_default().trim().to_owned(),
        })
    }
}

/// The program.
#[derive(Debug)]
pub(super) struct Load {
    running: Running,
    stdin: ChildStdin,
    lines: mpsc::Receiver<String>,
}

impl Load {
    /// Compiles the load generator.
    ///
    /// # Errors
    /// [`Failure`] with the compiler's words.
    pub fn compile(jdk: &Jdk, fetched: &Fetched, folder: &Path) -> Result<(), Failure> {
        let source = folder.join("Load.java");
        fs::write(&source, SOURCE).map_err(|e| cannot_write(&source, &e))?;
        let mut javac = jdk.program("javac");
        javac.args(["-nowarn", "-proc:none", "-cp", &fetched.classes, "-d"]).arg(folder).arg(&source);
        let done = process::run_within(Duration::from_secs(120), javac.stdin(Stdio::null())).map_err(Failure::new)?;
        if done.success { Ok(()) } else { Err(Failure::new(format!("javac: {}", done.why()))) }
    }

    /// Starts the load; `fresh`: each request has a connection and a TLS session of its own.
    ///
    /// # Errors
    /// [`Failure`]: Java cannot be run.
    pub fn start(
        jdk: &Jdk,
        (fetched, halves): (&Fetched, Option<&Halves>),
        folder: &Path,
        (users, fresh, protocol): (Users, bool, &str),
    ) -> Result<Load, Failure> {
        let mut java = jdk.java();
        java.args(["-Xms768m", "-Xmx768m"]);
        // Nothing is computed for what is not used: key shares of TLS 1.3 where TLS 1.2 is spoken would take most of its time.
        java.arg(format!("-Djdk.tls.client.protocols={protocol}"));
        java.arg(format!(
            "-Djdk.tls.namedGroups={}",
            if protocol == "TLSv1.3" { "x25519" } else { "x25519,secp256r1" }
        ));
        java.arg(format!("-Duser.home={}", folder.display())).arg(temporary(folder));
        java.args(["-cp", &format!("{}:{}", folder.display(), fetched.classes), "Load"]);
        let Users { threads, users, think_ms } = users;
        java.args([threads.to_string(), users.to_string(), think_ms.to_string()]);
        java.arg(if fresh { "new" } else { "kept" });
        let log = folder.join(if fresh { "load-new.log" } else { "load-kept.log" });
        let errors = fs::File::create(&log).map_err(|e| cannot_write(&log, &e))?;
        let mut command = Halves::pinned(halves.map(|h| h.load.as_str()), &java);
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(|e| Failure::new(format!("cannot run Java: {}", cause(&e))))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let running = Running::new(child);
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(Failure::new("no pipes to JMeter")) };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix("@ ")
                    && sender.send(line.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        Ok(Load { running, stdin, lines })
    }

    /// Drives the load; `started` and `ended` are called at the beginning and the end of the measured time.
    ///
    /// # Errors
    /// [`Failure`]: JMeter fails, or says nothing for too long.
    pub fn row(
        &mut self,
        url: &str,
        (warm, seconds): (f64, f64),
        mut started: impl FnMut() -> Result<(), Failure>,
        mut ended: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Seen, Failure> {
        let failed = |e: &std::io::Error| Failure::new(format!("JMeter takes no more: {}", cause(e)));
        writeln!(self.stdin, "{url} {warm} {seconds}").map_err(|e| failed(&e))?;
        self.stdin.flush().map_err(|e| failed(&e))?;
        let (begun, limit) = (Instant::now(), Duration::from_secs_f64(warm + seconds + 120.0));
        let mut seen = None;
        loop {
            interrupted()?;
            match self.lines.recv_timeout(Duration::from_millis(50)) {
                Ok(line) if line == "start" => started()?,
                Ok(line) if line == "done" => return seen.ok_or_else(|| Failure::new("JMeter measured nothing")),
                Ok(line) => {
                    if let Some(found) = line.strip_prefix("end ").and_then(Seen::parse) {
                        ended()?;
                        seen = Some(found);
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) if begun.elapsed() < limit => {}
                Err(_) if self.running.runs() => return Err(Failure::new("JMeter did not end in time")),
                Err(_) => return Err(Failure::new("JMeter ended by itself")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_load_says_is_read() {
        let seen = Seen::parse("4944 15.0 146.5 140 295 498 4944 2 Non HTTP response code").unwrap();
        assert_eq!((seen.requests, seen.most_ms, seen.errors), (4944.0, 498.0, 2.0));
        assert_eq!(seen.error, "Non HTTP response code");
        assert!(Seen::parse("1 2 3").is_none());
        assert_eq!(Seen::parse("0 1.0 0.0 0 0 0 0 0 ").unwrap().error, "");
    }
}
