//! The process that has loaded libep11 and knows the run's daemon by its environment.

use crate::ep11::Subject;
use crate::ep11::row::Row;
use crate::harness::worker::{self, Silence};
use crate::load::{Done, Why};
use adjunct_survey::module;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Time without an answer after which a card counts as hung: an RSA key of 4096 bits may take that long on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Make what row number N of [`Row::all`] needs.
    Prepare(usize),
    /// Do the row's call by so many threads at so many cards for so long.
    Run(usize, usize, u8, Duration),
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Ready,
    Done(Done),
    Missing(String),
    Failed(String),
}

/// The process; ends when dropped.
#[derive(Debug)]
pub struct Worker(worker::Worker);

impl Worker {
    /// Starts it, with a daemon's folder.
    ///
    /// # Errors
    /// [`Why`], in the library's words where it has any.
    pub fn start(library: &Path, folder: &Path, cards: u8) -> Result<Worker, Why> {
        let failed = |error: std::io::Error| Why::Failed(cause(&error));
        let mut command = Command::new(module::program().map_err(failed)?);
        command.args(["bench", "ep11", "--worker", "--cards", &cards.to_string(), "--library"]).arg(library);
        command.env("ADJUNCT_CARDS_DIR", folder).env_remove("ADJUNCT_CARDS");
        let mut worker = Worker(worker::Worker::start(&mut command, GRACE).map_err(failed)?);
        told(worker.0.answer(PATIENCE)).map(|_| worker)
    }

    /// Makes what a row needs.
    ///
    /// # Errors
    /// [`Why`].
    pub fn prepare(&mut self, row: usize) -> Result<(), Why> {
        told(self.0.ask(&Ask::Prepare(row), PATIENCE)).map(|_| ())
    }

    /// Has the row's call done.
    ///
    /// # Errors
    /// [`Why`].
    pub fn run(&mut self, row: usize, threads: usize, cards: u8, length: Duration) -> Result<Done, Why> {
        match told(self.0.ask(&Ask::Run(row, threads, cards, length), PATIENCE + length))? {
            Answer::Done(done) => Ok(done),
            _ => Err(Why::Failed("an answer that is none".to_owned())),
        }
    }
}

fn told(answer: Result<Answer, Silence>) -> Result<Answer, Why> {
    match answer {
        Ok(Answer::Missing(words)) => Err(Why::Missing(words)),
        Ok(Answer::Failed(words)) => Err(Why::Failed(words)),
        Ok(answer) => Ok(answer),
        Err(Silence::Ended(Some(signal))) => Err(Why::Failed(format!("libep11 ended its process by signal {signal}"))),
        Err(Silence::Ended(None)) => Err(Why::Failed("libep11 ended its process".to_owned())),
        Err(Silence::Hung(patience)) => Err(Why::Failed(format!("no answer for {} s", patience.as_secs()))),
        Err(Silence::Interrupted) => Err(Why::Failed("interrupted".to_owned())),
    }
}

/// The worker's side: answers until its input ends.
///
/// # Errors
/// [`Failure`] where the reader of the answers is gone.
pub fn serve(library: &Path, cards: u8) -> Result<ExitCode, Failure> {
    let rows = Row::all();
    let mut subject = match Subject::open(library, cards) {
        Ok(subject) => subject,
        Err(error) => {
            worker::serve(Some(&Answer::Failed(error.to_string())), |_: Ask| Answer::Failed(String::new()))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    worker::serve(Some(&Answer::Ready), |ask| {
        let done = match ask {
            Ask::Prepare(at) => rows.get(at).map(|row| subject.prepare(row).map(|()| Answer::Ready)),
            Ask::Run(at, threads, cards, length) => {
                rows.get(at).map(|row| subject.run(row, threads, cards, length).map(Answer::Done))
            }
        };
        match done {
            Some(Ok(answer)) => answer,
            Some(Err(Why::Missing(words))) => Answer::Missing(words),
            Some(Err(Why::Failed(words))) => Answer::Failed(words),
            None => Answer::Failed("no such row".to_owned()),
        }
    })
}
