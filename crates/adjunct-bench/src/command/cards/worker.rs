//! A side's processes: this command once more, which loads the library with the side's provider and forks into as many as a row has.

use crate::Error;
use crate::accelerator::subject::Function;
use crate::crew::{Crew, Slice};
use crate::harness::worker::{self, Silence};
use crate::libcrypto::{Functions, Side};
use crate::measure::Work;
use adjunct_survey::module;
use adjunct_tool::Failure;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// The row's key, as DER.
    Key(Vec<u8>),
    /// Fork into so many.
    Crew(usize),
    /// Have them all work for so long. The CPU time of other processes is asked for, too.
    Slice { lead_in: Duration, length: Duration, others: Vec<u32> },
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// The first result, with the key.
    Proof(Vec<u8>),
    Forked,
    Slice(Slice),
    Failed(String),
}

/// A process that is asked, and those that it forks; they end when dropped.
#[derive(Debug)]
pub struct Worker(worker::Worker);

/// The libcrypto, module and environment that a worker is started with.
#[derive(Debug, Clone)]
pub struct Start {
    /// The libcrypto; `None` for the system's.
    pub libcrypto: Option<PathBuf>,
    /// The provider; `None` for stock.
    pub module: Option<PathBuf>,
    /// Further variables of the environment.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Worker {
    /// Starts a worker for a function, with its key; the proof of its work comes beside.
    ///
    /// # Errors
    /// [`Error::Operation`] in the worker's words.
    pub fn start(start: &Start, function: Function, der: &[u8]) -> Result<(Worker, Vec<u8>), Error> {
        let mut command = Command::new(module::program().map_err(Error::Io)?);
        command.args(["bench", "cards", "--worker", &function.title()]);
        if let Some(path) = &start.libcrypto {
            command.arg("--libcrypto").arg(path);
        }
        if let Some(path) = &start.module {
            command.arg("--module").arg(path);
        }
        command.env_remove("ADJUNCT_CARDS").env_remove("ADJUNCT_CARDS_DIR");
        command.envs(start.environment.iter().map(|(name, value)| (name, value)));
        let mut worker = Worker(worker::Worker::start(&mut command, PATIENCE).map_err(Error::Io)?);
        match worker.ask(&Ask::Key(der.to_vec()))? {
            Answer::Proof(proof) => Ok((worker, proof)),
            _ => Err(gone()),
        }
    }

    fn ask(&mut self, ask: &Ask) -> Result<Answer, Error> {
        match self.0.ask(ask, PATIENCE) {
            Ok(Answer::Failed(words)) => Err(Error::Operation(words)),
            Ok(answer) => Ok(answer),
            Err(Silence::Interrupted) => Err(Error::Operation("interrupted".to_owned())),
            Err(Silence::Ended(_) | Silence::Hung(_)) => Err(gone()),
        }
    }

    /// Has the worker fork into `processes` processes.
    ///
    /// # Errors
    /// [`Error::Operation`].
    pub fn fork(&mut self, processes: u16) -> Result<(), Error> {
        self.ask(&Ask::Crew(processes.into())).map(|_| ())
    }

    /// Has all the worker's processes work.
    ///
    /// # Errors
    /// [`Error::Operation`].
    pub fn slice(&mut self, lead_in: Duration, length: Duration, others: &[u32]) -> Result<Slice, Error> {
        match self.ask(&Ask::Slice { lead_in, length, others: others.to_vec() })? {
            Answer::Slice(slice) => Ok(slice),
            _ => Err(gone()),
        }
    }
}

fn gone() -> Error {
    Error::Operation("a process that was measured has ended".to_owned())
}

/// The worker's side.
struct Served {
    function: Function,
    side: Side,
    stock: Side,
    // Before the work: its processes end first.
    crew: Option<Crew>,
    work: Option<Work>,
}

/// Answers as a worker until standard input ends.
///
/// # Errors
/// [`Failure`] where the reader of the answers is gone.
pub fn serve(title: &str, libcrypto: Option<&Path>, module: Option<&Path>) -> Result<ExitCode, Failure> {
    let opened = || {
        let named = |function: &&Function| function.title() == title;
        let function = Function::ALL.iter().find(named).ok_or_else(|| Error::Operation(format!("no row {title}")))?;
        let library = Functions::load(libcrypto)?;
        let stock = Side::stock(library)?;
        let side = module.map_or(Ok(stock), |module| Side::adjunct(library, module))?;
        Ok(Served { function: *function, side, stock, crew: None, work: None })
    };
    let mut served = opened();
    worker::serve(None, |ask| {
        let answered = match &mut served {
            Ok(served) => served.answer(ask).map_err(|error| error.to_string()),
            Err(error) => Err(Error::to_string(error)),
        };
        answered.unwrap_or_else(Answer::Failed)
    })
}

impl Served {
    fn answer(&mut self, ask: Ask) -> Result<Answer, Error> {
        let wrong = || Error::Operation("what?".to_owned());
        match ask {
            Ask::Key(der) => {
                let row = self.function.evp();
                let missing =
                    || Error::Operation(format!("{} does not have {}", self.side.name, self.function.title()));
                let keys = row.keys_of(&der, self.side, self.stock)?.ok_or_else(missing)?;
                let work = row.work_with(self.side, self.stock, keys)?.ok_or_else(missing)?;
                Ok(Answer::Proof(self.work.insert(work).proof.clone()))
            }
            Ask::Crew(count) => {
                self.crew = None;
                self.crew = Some(Crew::fork(count, self.work.as_mut().ok_or_else(wrong)?)?);
                Ok(Answer::Forked)
            }
            Ask::Slice { lead_in, length, others } => {
                let crew = self.crew.as_ref().ok_or_else(wrong)?;
                Ok(Answer::Slice(crew.slice(lead_in, length, &others)?))
            }
        }
    }
}
