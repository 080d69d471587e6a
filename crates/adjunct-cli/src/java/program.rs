//! Our Java programs: run from their source by a JDK, they say what happened, line by line.

use super::choose;
use super::jdk::Jdk;
use crate::counted::Counted;
use adjunct_tool::failure::cause;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::Running;
use adjunct_tool::{Failure, scratch};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A program in one file of source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    name: &'static str,
    text: &'static str,
}

/// Makes calls with a provider and without.
const JCA: Source = Source { name: "Jca.java", text: include_str!("Jca.java") };
/// Makes TLS handshakes.
pub(super) const VERIFY: Source = Source { name: "Verify.java", text: include_str!("Verify.java") };

/// The longest wait for a line of the program.
const SILENCE: Duration = Duration::from_secs(120);

/// A line that it wrote: its fields.
pub(super) type Fields = Vec<String>;

/// Runs the program that makes calls, as [`run_source`].
///
/// # Errors
/// As there.
pub(super) fn run(jdk: &Jdk, words: &[OsString], mut line: impl FnMut(&Fields)) -> Result<Vec<String>, Failure> {
    // Neither a file of security properties nor counters of the user's decide what is run here.
    let options = |command: &mut Command| {
        command.arg("-XX:TieredStopAtLevel=4");
    };
    run_source(jdk, JCA, options, words, |fields| {
        line(fields);
        Ok(())
    })
}

/// Runs a program by `java` with the options that `options` adds; `line` gets the program's lines for us, in order. Behind a line `pause` the program
/// waits until `line` has returned. Returns what SunPKCS11 prints (`showInfo`).
///
/// # Errors
/// [`Failure`]: it cannot be run, or ended in another way than by itself; `line`'s own.
pub(super) fn run_source(
    jdk: &Jdk,
    program: Source,
    options: impl FnOnce(&mut Command),
    words: &[OsString],
    mut line: impl FnMut(&Fields) -> Result<(), Failure>,
) -> Result<Vec<String>, Failure> {
    if let Some(why) = jdk.cannot_compile() {
        return Err(Failure::new(format!("{}: {why}", jdk.home.display())));
    }
    let folder = scratch::folder()?;
    let source = folder.path().join(program.name);
    std::fs::write(&source, program.text).map_err(|e| adjunct_tool::failure::cannot_write(&source, &e))?;
    let mut command = jdk.java();
    // What a call is measured by is not in the user's statistics; who reads the counters sets them itself.
    let counted = Counted::apart("java");
    counted.environment().apply(&mut command);
    options(&mut command);
    command.arg(format!("-Djava.io.tmpdir={}", folder.path().display()));
    command.arg(&source).args(words).current_dir(folder.path());
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child
        .map_err(|e| Failure::new(format!("cannot run {}: {}", jdk.home.join("bin/java").display(), cause(&e))))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut running = Running::new(child);
    let (sender, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let Some(stdout) = stdout else { return };
        for text in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&text).into_owned()).is_err() {
                return;
            }
        }
    });
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(1 << 20).read_to_end(&mut text);
            // What is more than anybody reads is drained: the program must not wait for us.
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let (mut others, mut last, mut fatal) = (Vec::new(), Instant::now(), None);
    loop {
        interrupted()?;
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(text) => {
                last = Instant::now();
                match text.strip_prefix("@\t") {
                    Some(fields) => {
                        let fields: Fields = fields.split('\t').map(str::to_owned).collect();
                        if fields[0] == "fatal" {
                            fatal = fields.get(1).cloned();
                            continue;
                        }
                        line(&fields)?;
                        if fields[0] == "pause"
                            && let Some(mut stdin) = stdin.as_ref()
                        {
                            // A program that has ended is told of below.
                            let _ = stdin.write_all(b"\n");
                        }
                    }
                    None => others.push(text),
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) if last.elapsed() > SILENCE => {
                let seconds = SILENCE.as_secs();
                return Err(Failure::new(format!("Java did nothing for {seconds} seconds, and was ended")));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
    let status = running.wait(Duration::from_secs(30))?;
    let _ = reader.join();
    let said = errors.join().unwrap_or_default();
    // A terminal's interrupt ends Java, too.
    interrupted()?;
    if let Some(why) = fatal {
        return Err(Failure::new(format!("Java cannot use the module: {why}")));
    }
    if status.is_none_or(|s| !s.success()) {
        let how = status.map_or_else(|| "it did not end".to_owned(), |s| s.to_string());
        let why = said.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or(&how);
        return Err(Failure::new(format!("Java failed: {why}")));
    }
    Ok(others)
}

/// The properties of a module, as SunPKCS11 shows them.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The names of its mechanisms, as SunPKCS11 gives them; numbers where it knows none.
    pub mechanisms: Vec<String>,
    /// Its token wants a login.
    pub login: bool,
    /// The token's label.
    pub label: String,
}

impl Shown {
    /// Reads what `showInfo = true` prints.
    pub fn parse(lines: &[String]) -> Shown {
        let mut shown = Shown::default();
        let mut token = false;
        for line in lines {
            if let Some(name) = line.strip_prefix("Mechanism ").and_then(|l| l.strip_suffix(':')) {
                shown.mechanisms.push(name.to_owned());
                token = false;
            }
            token |= line.starts_with("Token info");
            if token && let Some(flags) = line.trim().strip_prefix("flags:") {
                shown.login = flags.contains("CKF_LOGIN_REQUIRED");
            }
            if token && let Some(label) = line.trim().strip_prefix("label:") {
                shown.label = label.trim().to_owned();
            }
        }
        shown
    }

    /// Whether the module has this mechanism.
    pub fn has(&self, name: &str) -> bool {
        self.mechanisms.iter().any(|m| m == name)
    }
}

/// A call that [`probe`] made with the provider first in the list.
#[derive(Debug, Clone)]
pub(super) struct Served {
    /// Its row.
    pub row: String,
    /// `TYPE.ALGORITHM`.
    pub service: String,
    /// Whether the provider offers it.
    pub offered: bool,
    /// The provider that did it; empty where it failed.
    pub by: String,
    /// Why the provider did not.
    pub error: String,
}

/// Makes every call once with the configuration's provider at the first place; `on` is told how much of that is done, from 0 to 1, and what
/// comes.
///
/// # Errors
/// As [`run`].
pub(super) fn probe(jdk: &Jdk, config: &Path, mut on: impl FnMut(f64, &str)) -> Result<(Vec<Served>, Shown), Failure> {
    /// Part of all the time that Java takes until it makes the first call.
    const START: f64 = 0.6;
    let mut all = Vec::new();
    let calls = choose::rows().count().max(1) as f64;
    on(0.0, "Java starts");
    let others = run(jdk, &["probe".into(), config.into()], |fields| {
        if let [kind, row, service, offered, by, error] = fields.as_slice()
            && kind == "served"
        {
            let (row, service, by, error) = (row.clone(), service.clone(), by.clone(), error.clone());
            on(START + (1.0 - START) * (all.len() as f64 / calls).min(1.0), &service);
            all.push(Served { row, service, offered: offered == "true", by, error });
        }
    })?;
    Ok((all, Shown::parse(&others)))
}
