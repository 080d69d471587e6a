//! Another system's OpenSSL as a side: a process of this command under that root's loader and libraries, over two pipes.
//!
//! One line of text asks, one answers, words between tabs: `row SIDE TITLE SIZE` gives `proof HEX` or `none`, `run SIDE N` does
//! that side's row N times and gives `time NANOSECONDS` of CPU time, `error TEXT` answers either. SIDE is `stock` or
//! `adjunct`. The first line comes unasked: `ready VERSION`.

use crate::Error;
use crate::bulk::root::Root;
use crate::bulk::subject::Subject;
use crate::command;
use crate::harness::worker::{self, Silence};
use crate::libcrypto::Side;
use crate::measure::Work;
use adjunct_survey::module::{self, Choice};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::Duration;

/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// A side of the worker's.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Which {
    /// OpenSSL's default provider.
    Stock,
    /// adjunct's.
    Adjunct,
}

#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// A row's work, by its title.
    Row { side: Which, title: String, size: usize },
    /// That work so many times.
    Run { side: Which, count: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// Unasked, the version of its OpenSSL.
    Ready(String),
    /// The work is there; its first result.
    Proof(Vec<u8>),
    /// The side does not have it.
    None,
    /// The CPU time that it took.
    Time(Duration),
    Failed(String),
}

/// A process that measures for the command; ends when dropped.
#[derive(Debug)]
pub struct Worker {
    process: worker::Worker,
    /// The version of its OpenSSL.
    pub version: String,
}

impl Worker {
    /// Starts the worker, with the provider `module`; `choice` says what root trusts.
    ///
    /// # Errors
    /// [`Failure`] where it does not start, with its own words, and where root must not run what lies in `folder`.
    pub fn start(folder: &Path, module: &Path, choice: Choice<'_>) -> Result<Worker, Failure> {
        let root = Root::find(folder).map_err(Failure::because)?;
        for path in root.loadable() {
            module::check_library(&path, choice.trusted)?;
        }
        let wrong = |cause: String| Failure::because(Error::Root(folder.to_owned(), cause));
        let own = module::program().map_err(|e| wrong(cause(&e)))?;
        let libraries = std::env::join_paths(&root.libraries).map_err(|e| wrong(e.to_string()))?;
        let mut command = Command::new(&root.loader);
        command.arg("--library-path").arg(libraries).arg(own);
        command.args(["bench", "bulk", "--worker", "--libcrypto"]).arg(&root.libcrypto);
        // It was looked at here.
        command.args(["--trust-module", "--module"]).arg(module).stderr(Stdio::piped());
        let mut process = worker::Worker::start(&mut command, PATIENCE)
            .map_err(|e| wrong(format!("its loader does not start: {}", cause(&e))))?;
        match process.answer(PATIENCE) {
            Ok(Answer::Ready(version)) => Ok(Worker { process, version }),
            _ => {
                let words = process.complaint().unwrap_or_else(|| "it said nothing".to_owned());
                Err(wrong(format!("the command does not run under its libraries: {words}")))
            }
        }
    }

    /// The row's work, done there by a side; `None` where that side does not have it.
    ///
    /// # Errors
    /// [`Error::Operation`] with the worker's words.
    pub fn work(
        worker: &Rc<RefCell<Worker>>,
        side: Which,
        subject: Subject,
        size: usize,
    ) -> Result<Option<Work>, Error> {
        let gone = |_: Silence| Error::Operation("the newest OpenSSL's process has ended".to_owned());
        let ask = Ask::Row { side, title: subject.title(), size };
        match worker.borrow_mut().process.ask(&ask, PATIENCE).map_err(gone)? {
            Answer::Proof(proof) => {
                let worker = worker.clone();
                Ok(Some(Work::elsewhere(proof, move |count| {
                    match worker.borrow_mut().process.ask(&Ask::Run { side, count }, PATIENCE) {
                        Ok(Answer::Time(time)) => Some(time),
                        _ => None,
                    }
                })))
            }
            Answer::Failed(text) => Err(Error::Operation(text)),
            _ => Ok(None),
        }
    }
}

/// The worker's side: answers until its input ends.
///
/// # Errors
/// [`Failure`] where there is no libcrypto, or it does not load the module.
pub fn serve(libcrypto: Option<&Path>, module: Choice<'_>) -> Result<ExitCode, Failure> {
    let library = command::library(libcrypto, module)?;
    let stock = Side::stock(library).map_err(Failure::because)?;
    let adjunct = Side::adjunct(library, &command::module(library, module)?).map_err(Failure::because)?;
    let sides = [stock, adjunct];
    let mut works: [Option<Work>; 2] = [None, None];
    worker::serve(Some(&Answer::Ready(library.version())), |ask| match ask {
        Ask::Row { side, title, size } => match prepare(&title, size, sides[side as usize]) {
            Ok(Some(work)) => Answer::Proof(works[side as usize].insert(work).proof.clone()),
            Ok(None) => Answer::None,
            Err(error) => Answer::Failed(error.to_string()),
        },
        Ask::Run { side, count } => {
            let time = works[side as usize].as_mut().and_then(|work| work.timed(count));
            time.map_or_else(|| Answer::Failed("it failed".to_owned()), Answer::Time)
        }
    })
}

fn prepare(title: &str, size: usize, side: Side) -> Result<Option<Work>, Error> {
    let subject = Subject::all().into_iter().find(|subject| subject.title() == title);
    subject.map_or(Ok(None), |subject| subject.evp(side, size))
}
