//! A module, or the provider, as a side: a process of this command that loads it, so that a crash or a hang becomes a row that says so.
//!
//! One line of text asks, one answers, words between tabs. `prepare N` makes what row N of [`Row::all`] needs: `ready`, or `missing TEXT`,
//! `failed TEXT`. `run N MILLISECONDS` gives `done OPERATIONS WALL CPU`, both in nanoseconds, or as before. The first line comes unasked:
//! `ready NAME`, or `failed TEXT`.

use crate::harness::worker::{self, Silence};
use crate::pkcs11::provider::Provider;
use crate::pkcs11::row::{Row, What};
use crate::pkcs11::{Done, Subject, Why};
use adjunct_cli::bench::pkcs11::Wanted;
use adjunct_survey::module;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
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

#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Make what row number N of [`Row::all`] needs.
    Prepare(usize),
    /// Do the row's operation for so long.
    Run(usize, Duration),
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// Unasked, what the module calls itself.
    Ready(String),
    Prepared,
    Done(Done),
    Missing(String),
    Failed(String),
}

impl Answer {
    fn of(why: Why) -> Answer {
        match why {
            Why::Missing(text) => Answer::Missing(text),
            Why::Failed(text) => Answer::Failed(text),
        }
    }
}

/// The process that has loaded a module; ends when dropped.
#[derive(Debug)]
pub struct Worker {
    process: worker::Worker,
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
        let mut process = worker::Worker::start(command.stderr(Stdio::null()), GRACE).map_err(failed)?;
        match told(process.answer(PATIENCE))? {
            Answer::Ready(name) => Ok(Worker { process, name }),
            _ => Err(Trouble::Failed("an answer that is none".to_owned())),
        }
    }

    /// Makes what a row needs.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn prepare(&mut self, row: usize) -> Result<(), Trouble> {
        told(self.process.ask(&Ask::Prepare(row), TO_PREPARE)).map(|_| ())
    }

    /// Loads the module for so long.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn run(&mut self, row: usize, length: Duration) -> Result<Done, Trouble> {
        match told(self.process.ask(&Ask::Run(row, length), PATIENCE))? {
            Answer::Done(done) => Ok(done),
            _ => Err(Trouble::Failed("an answer that is none".to_owned())),
        }
    }
}

/// What the worker answered, or why there is nothing of it.
fn told(answer: Result<Answer, Silence>) -> Result<Answer, Trouble> {
    match answer {
        Ok(Answer::Missing(words)) => Err(Trouble::Missing(words)),
        Ok(Answer::Failed(words)) => Err(Trouble::Failed(words)),
        Ok(answer) => Ok(answer),
        Err(Silence::Ended(signal)) => Err(Trouble::Crashed(signal)),
        Err(Silence::Hung(patience)) => Err(Trouble::Hung(patience)),
        Err(Silence::Interrupted) => Err(Trouble::Failed("interrupted".to_owned())),
    }
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
    let loaded = match target {
        Target::Module(wanted) => Subject::open(wanted).map(Box::new).map(Loaded::Module),
        Target::Provider(path) => Provider::open(path).map(Loaded::Provider),
    };
    let mut subject = match loaded {
        Ok(subject) => subject,
        Err(error) => {
            // Nothing is asked after that.
            worker::serve(Some(&Answer::Failed(error.to_string())), |_: Ask| Answer::Failed(String::new()))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    worker::serve(Some(&Answer::Ready(subject.name())), |ask| {
        let done = match ask {
            Ask::Prepare(at) => rows.get(at).map(|row| subject.prepare(row).map(|()| Answer::Prepared)),
            Ask::Run(at, length) => rows.get(at).map(|row| subject.run(row, length).map(Answer::Done)),
        };
        done.map_or_else(|| Answer::Failed("no such row".to_owned()), |done| done.unwrap_or_else(Answer::of))
    })
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

/// Loads a module in process after process, for so long.
fn starts(subject: &Subject, row: &Row, length: Duration) -> Result<Done, Why> {
    let failed = |e: std::io::Error| Why::Failed(cause(&e));
    let (start, mut sum) = (Instant::now(), Done::default());
    while sum.operations == 0 || start.elapsed() < length {
        let mut command = Command::new(module::program().map_err(failed)?);
        command.args(["bench", "pkcs11", "--worker", "--first-find", &row.beside.to_string(), "--module"]);
        let module = Wanted { path: subject.path().to_owned(), slot: Some(subject.slot()), pin: None };
        let output = command.arg(text(&module)).stdin(Stdio::null()).output().map_err(failed)?;
        let one: Done = serde_json::from_slice(&output.stdout).map_err(|_| {
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
            let line = serde_json::to_string(&done).map_err(|e| Failure::new(format!("JSON: {e}")))?;
            adjunct_tool::output::print(&(line + "\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(Why::Missing(text) | Why::Failed(text)) => Err(Failure::new(text)),
    }
}
