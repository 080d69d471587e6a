//! The load: a process of this command, on processors of its own. A line of JSON asks, a line of JSON answers.

use crate::crew;
use crate::harness::worker::{self, Silence};
use crate::tls::{self, Loaded, Transaction};
use adjunct_survey::module;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::process::halves::Halves;
use adjunct_tool::process::tree;
use serde::{Deserialize, Serialize};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Time beyond the requested length after which a load is taken to hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A load that is not needed any more may end its slice for so long.
const GRACE: Duration = Duration::from_secs(2);

/// A request to the process of the load.
#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Makes one transaction and verifies everything in it.
    Check(Transaction),
    /// Many.
    Run { transaction: Transaction, clients: usize, lead_in: Duration, length: Duration, servers: Vec<u32> },
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Checked,
    Ran(Loaded),
    Failed(String),
}

/// The lengths of a load.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Time before the measured time, in which the load settles.
    pub lead_in: Duration,
    /// The time that counts.
    pub length: Duration,
}

/// The process.
#[derive(Debug)]
pub struct Load(worker::Worker);

impl Load {
    /// Starts the load, on these processors.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be started.
    pub fn start(on: Option<&str>) -> Result<Load, Failure> {
        let failed = |e: std::io::Error| Failure::new(format!("the load: {}", cause(&e)));
        let mut command = Command::new(module::program().map_err(failed)?);
        command.args(["bench", "tls", "--load"]);
        worker::Worker::start(&mut Halves::pinned(on, &command), GRACE).map(Load).map_err(failed)
    }

    fn ask(&mut self, ask: &Ask, limit: Duration) -> Result<Answer, Failure> {
        match self.0.ask(ask, limit) {
            Ok(Answer::Failed(words)) => Err(Failure::new(words)),
            Ok(answer) => Ok(answer),
            Err(Silence::Ended(_)) => Err(Failure::new("the load has ended by itself")),
            Err(Silence::Hung(_)) => Err(Failure::new("the load did not end in time")),
            Err(Silence::Interrupted) => Err(Failure::new("interrupted")),
        }
    }

    /// Does two transactions with all verified: the server's certificate, its signature, and whether the second session is resumed.
    ///
    /// # Errors
    /// [`Failure`] in the client's words.
    pub fn check(&mut self, transaction: &Transaction) -> Result<(), Failure> {
        self.ask(&Ask::Check(transaction.clone()), PATIENCE).map(|_| ())
    }

    /// Puts `clients` clients on a server whose processes, with all below them, are `servers`.
    ///
    /// # Errors
    /// [`Failure`] where there is no load. Transactions that fail are counted.
    pub fn run(
        &mut self,
        transaction: &Transaction,
        clients: usize,
        times: Times,
        servers: &[u32],
    ) -> Result<Loaded, Failure> {
        let Times { lead_in, length } = times;
        let servers = servers.to_vec();
        let ask = Ask::Run { transaction: transaction.clone(), clients, lead_in, length, servers };
        match self.ask(&ask, lead_in * 5 + length + PATIENCE)? {
            Answer::Ran(loaded) => Ok(loaded),
            _ => Err(Failure::new("the load answers what it was not asked")),
        }
    }
}

/// The process's side: answers until its input ends.
///
/// # Errors
/// [`Failure`] where the reader of the answers is gone.
pub fn serve() -> Result<ExitCode, Failure> {
    worker::serve(None, |ask| {
        let answer = match ask {
            Ask::Check(transaction) => tls::check(&transaction).map(|()| Answer::Checked),
            Ask::Run { transaction, clients, lead_in, length, servers } => {
                tls::run(&transaction, clients, lead_in, length, || cpu_time(&servers)).map(Answer::Ran)
            }
        };
        answer.unwrap_or_else(|error| Answer::Failed(error.to_string()))
    })
}

/// CPU time so far of the processes `roots` and all below them, with that of their children that have ended and were waited for.
fn cpu_time(roots: &[u32]) -> Duration {
    let (processes, ended) = tree::with_ended(roots);
    processes.iter().map(|&pid| crew::cpu_time(pid.cast_signed())).sum::<Duration>() + ended
}
