//! A module, or the provider, as a side: a process of this command that loads it, so that a crash or a hang becomes a row that says so.
//!
//! One line of text asks, one answers, words between tabs. `prepare N` makes what row N of [`Row::all`] needs: `ready`, or `missing TEXT`,
//! `failed TEXT`. `run N MILLISECONDS` gives `done OPERATIONS WALL CPU`, both in nanoseconds, or as before. The first line comes unasked:
//! `ready NAME`, or `failed TEXT`.

use crate::pkcs11::provider::Provider;
use crate::pkcs11::row::{Row, What};
use crate::pkcs11::{Done, Subject, Why};
use adjunct_cli::bench::pkcs11::Wanted;
use adjunct_survey::module;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time without an answer after which a module counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time without an answer after which a module counts as hung while it makes a row's objects.
const TO_PREPARE: Duration = crate::pkcs11::PATIENCE.saturating_add(PATIENCE);
/// The longest time a module's process may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// Why there is no figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The module does not have it.
    Missing(String),
    /// A call failed.
    Failed(String),
    /// The process ended by this signal, or otherwise.
    Crashed(Option<i32>),
    /// The module gave no answer for so long.
    Hung(Duration),
}

impl Trouble {
    /// The trouble in a word or two.
    pub fn short(&self) -> &'static str {
        match self {
            Trouble::Missing(_) => "-",
            Trouble::Failed(_) => "failed",
            Trouble::Crashed(_) => "crashed",
            Trouble::Hung(_) => "hung",
        }
    }

    /// The message.
    pub fn words(&self) -> String {
        match self {
            Trouble::Missing(text) | Trouble::Failed(text) => text.clone(),
            Trouble::Crashed(Some(signal)) => format!("the module ended its process by signal {signal}"),
            Trouble::Crashed(None) => "the module ended its process".to_owned(),
            Trouble::Hung(patience) => format!("no answer for {} s", patience.as_secs()),
        }
    }
}

/// The module or provider that a worker loads.
#[derive(Debug, Clone)]
pub enum Target {
    /// A module of PKCS #11, and its token.
    Module(Wanted),
    /// adjunct's provider, under the system's libcrypto.
    Provider(PathBuf),
}

impl Target {
    /// Path of the module.
    pub fn path(&self) -> &Path {
        match self {
            Target::Module(wanted) => &wanted.path,
            Target::Provider(path) => path,
        }
    }

    /// The target as arguments of the command line of a worker.
    fn arguments(&self) -> [OsString; 2] {
        match self {
            Target::Module(wanted) => ["--module".into(), text(wanted)],
            Target::Provider(path) => ["--provider".into(), path.clone().into_os_string()],
        }
    }
}

/// The process that has loaded a module; ends when dropped.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
    /// The module's own description and version.
    pub name: String,
}

impl Worker {
    /// Starts the worker, with this environment besides and these arguments, which say what the rows are.
    ///
    /// # Errors
    /// [`Trouble`], in the module's words where it has any.
    pub fn start(
        target: &Target,
        environment: &[(&'static str, PathBuf)],
        arguments: &[String],
    ) -> Result<Worker, Trouble> {
        let failed = |e: std::io::Error| Trouble::Failed(cause(&e));
        let mut command = Command::new(module::program().map_err(failed)?);
        command.args(["bench", "pkcs11", "--worker"]).args(arguments).args(target.arguments());
        if matches!(target, Target::Module(wanted) if wanted.slot.is_none()) {
            command.env_remove("ADJUNCT_PKCS11_CONF").envs(environment.iter().map(|(name, path)| (name, path)));
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, answers) = channel();
        if let Some(output) = output {
            // Ends with the process.
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let mut worker = Worker { child, input, answers, name: String::new() };
        match worker.answer(PATIENCE)?.split_once('\t') {
            Some(("ready", name)) => worker.name = name.to_owned(),
            Some((_, words)) => return Err(Trouble::Failed(words.to_owned())),
            None => return Err(Trouble::Failed("an answer that is none".to_owned())),
        }
        Ok(worker)
    }

    fn ask(&mut self, line: &str, patience: Duration) -> Result<String, Trouble> {
        let sent = self.input.as_mut().map(|input| input.write_all(line.as_bytes()).and_then(|()| input.flush()));
        match sent {
            Some(Ok(())) => self.answer(patience),
            _ => Err(self.crashed()),
        }
    }

    fn answer(&mut self, patience: Duration) -> Result<String, Trouble> {
        match self.answers.recv_timeout(patience) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(Trouble::Hung(patience)),
            Err(RecvTimeoutError::Disconnected) => Err(self.crashed()),
        }
    }

    fn crashed(&mut self) -> Trouble {
        self.input = None;
        Trouble::Crashed(self.child.wait().ok().and_then(|status| status.signal()))
    }

    /// Makes what a row needs.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn prepare(&mut self, row: usize) -> Result<(), Trouble> {
        let line = self.ask(&format!("prepare\t{row}\n"), TO_PREPARE)?;
        if line == "ready" { Ok(()) } else { Err(trouble(&line)) }
    }

    /// Loads the module for so long.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn run(&mut self, row: usize, length: Duration) -> Result<Done, Trouble> {
        let line = self.ask(&format!("run\t{row}\t{}\n", length.as_millis()), PATIENCE)?;
        line.strip_prefix("done\t").and_then(done).ok_or_else(|| trouble(&line))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends it, unless the module hangs.
        self.input = None;
        let start = Instant::now();
        while start.elapsed() < GRACE {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn trouble(line: &str) -> Trouble {
    match line.split_once('\t') {
        Some(("missing", words)) => Trouble::Missing(words.to_owned()),
        Some((_, words)) => Trouble::Failed(words.to_owned()),
        None => Trouble::Failed(line.to_owned()),
    }
}

/// The line with the figures of a slice, for [`done`].
fn numbers(done: &Done) -> String {
    format!("{}\t{}\t{}", done.operations, done.wall.as_nanos(), done.cpu.as_nanos())
}

/// Reads what [`numbers`] wrote of a slice.
fn done(numbers: &str) -> Option<Done> {
    let numbers: Result<Vec<u64>, _> = numbers.split('\t').map(str::parse).collect();
    let [operations, wall, cpu] = numbers.ok()?[..] else { return None };
    Some(Done { operations, wall: Duration::from_nanos(wall), cpu: Duration::from_nanos(cpu) })
}

/// A module as the command line has it.
fn text(wanted: &Wanted) -> OsString {
    let mut text = wanted.path.clone().into_os_string();
    if let Some(slot) = wanted.slot {
        text.push(format!(",slot={slot}"));
    }
    if let Some(pin) = &wanted.pin {
        text.push(format!(",pin={pin}"));
    }
    text
}

/// The worker's side: answers until its input ends.
///
/// # Errors
/// [`Failure`] where the reader of the answers is gone.
pub fn serve(target: &Target, rows: &[Row]) -> Result<ExitCode, Failure> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut say = |line: String| {
        let line = line.replace('\n', " ") + "\n";
        let written = output.write_all(line.as_bytes()).and_then(|()| output.flush());
        written.map_err(|e| Failure::new(cause(&e)))
    };
    let loaded = match target {
        Target::Module(wanted) => Subject::open(wanted).map(Box::new).map(Loaded::Module),
        Target::Provider(path) => Provider::open(path).map(Loaded::Provider),
    };
    let mut subject = match loaded {
        Ok(subject) => subject,
        Err(error) => {
            say(format!("failed\t{error}"))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    say(format!("ready\t{}", subject.name()))?;
    loop {
        let mut line = String::new();
        match input.read_line(&mut line) {
            // Without what the module does at the end of a process: it may hang there.
            Ok(0) | Err(_) => return Ok(ExitCode::SUCCESS),
            Ok(_) => say(answer(&mut subject, rows, line.trim_end()))?,
        }
    }
}

/// The module or provider that this process has loaded.
enum Loaded {
    Module(Box<Subject>),
    Provider(Provider),
}

impl Loaded {
    fn name(&self) -> String {
        match self {
            Loaded::Module(subject) => subject.name(),
            Loaded::Provider(provider) => provider.name(),
        }
    }

    fn prepare(&mut self, row: &Row) -> Result<(), Why> {
        match self {
            Loaded::Module(subject) => subject.prepare(row),
            Loaded::Provider(provider) => provider.prepare(row),
        }
    }

    fn run(&mut self, row: &Row, length: Duration) -> Result<Done, Why> {
        match self {
            Loaded::Module(subject) if row.what == What::Start => starts(subject, row, length),
            Loaded::Module(subject) => subject.run(row, length),
            Loaded::Provider(provider) => provider.run(row, length),
        }
    }
}

fn answer(subject: &mut Loaded, rows: &[Row], line: &str) -> String {
    let words: Vec<&str> = line.split('\t').collect();
    let row = words.get(1).and_then(|word| word.parse::<usize>().ok()).and_then(|at| rows.get(at));
    let why = |why| match why {
        Why::Missing(text) => format!("missing\t{text}"),
        Why::Failed(text) => format!("failed\t{text}"),
    };
    match (words[0], row, words.get(2).and_then(|word| word.parse().ok())) {
        ("prepare", Some(row), None) => subject.prepare(row).map_or_else(why, |()| "ready".to_owned()),
        ("run", Some(row), Some(length)) => {
            let done = subject.run(row, Duration::from_millis(length));
            done.map_or_else(why, |done| format!("done\t{}", numbers(&done)))
        }
        _ => "failed\twhat?".to_owned(),
    }
}

/// Loads a module in process after process, for so long.
fn starts(subject: &Subject, row: &Row, length: Duration) -> Result<Done, Why> {
    let failed = |e: std::io::Error| Why::Failed(cause(&e));
    let (start, mut sum) = (Instant::now(), Done::default());
    while sum.operations == 0 || start.elapsed() < length {
        let mut command = Command::new(module::program().map_err(failed)?);
        command.args(["bench", "pkcs11", "--worker", "--first-find", &row.beside.to_string(), "--module"]);
        let module = Wanted { path: subject.path().to_owned(), slot: Some(subject.slot()), pin: None };
        let output = command.arg(text(&module)).stdin(Stdio::null()).output().map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let one = done(said.trim_end()).ok_or_else(|| {
            let line = String::from_utf8_lossy(&output.stderr);
            Why::Failed(line.lines().next_back().unwrap_or("a process said nothing").to_owned())
        })?;
        sum.operations += one.operations;
        sum.wall += one.wall;
        sum.cpu += one.cpu;
    }
    Ok(sum)
}

/// Runs as a process that has not used the module, which measures [`start`](adjunct_bench::pkcs11::start).
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn first_find(wanted: &Wanted, objects: usize) -> Result<ExitCode, Failure> {
    let slot = wanted.slot.ok_or_else(|| Failure::new("no slot"))?;
    match crate::pkcs11::start(&wanted.path, slot, objects) {
        Ok(done) => {
            adjunct_tool::output::print(&(numbers(&done) + "\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(Why::Missing(text) | Why::Failed(text)) => Err(Failure::new(text)),
    }
}
