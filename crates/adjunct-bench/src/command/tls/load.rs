//! The load: a process of this command, on processors of its own. A line of JSON asks, a line of JSON answers.

use crate::crew;
use crate::tls::{self, Loaded, Transaction};
use adjunct_survey::module;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::process::halves::Halves;
use adjunct_tool::process::tree;
use adjunct_tool::process::{Running, readable};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

/// Time beyond the requested length after which a load is taken to hang.
const PATIENCE: Duration = Duration::from_secs(60);

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
pub struct Load {
    _running: Running,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Load {
    /// Starts the load, on these processors.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be started.
    pub fn start(on: Option<&str>) -> Result<Load, Failure> {
        let failed = |e: std::io::Error| Failure::new(format!("the load: {}", cause(&e)));
        let mut command = Command::new(module::program().map_err(failed)?);
        command.args(["bench", "tls", "--load"]);
        let mut command = Halves::pinned(on, &command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let running = Running::new(child);
        let (Some(input), Some(output)) = (input, output) else { return Err(Failure::new("no pipes to the load")) };
        Ok(Load { _running: running, input, answers: BufReader::new(output) })
    }

    fn ask(&mut self, ask: &Ask, limit: Duration) -> Result<Answer, Failure> {
        let gone = || Failure::new("the load has ended by itself");
        let line = serde_json::to_string(ask).map_err(|e| Failure::new(format!("JSON: {e}")))? + "\n";
        self.input.write_all(line.as_bytes()).map_err(|_| gone())?;
        if !readable(self.answers.get_ref(), limit)? {
            return Err(Failure::new("the load did not end in time"));
        }
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(|_| gone())?;
        match serde_json::from_str(&answer) {
            Ok(Answer::Failed(words)) => Err(Failure::new(words)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(gone()),
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
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line).is_ok_and(|length| length > 0) {
        let answer = match serde_json::from_str(&line) {
            Ok(Ask::Check(transaction)) => tls::check(&transaction).map(|()| Answer::Checked),
            Ok(Ask::Run { transaction, clients, lead_in, length, servers }) => {
                tls::run(&transaction, clients, lead_in, length, || cpu_time(&servers)).map(Answer::Ran)
            }
            Err(error) => Ok(Answer::Failed(error.to_string())),
        };
        let answer = answer.unwrap_or_else(|error| Answer::Failed(error.to_string()));
        let text = serde_json::to_string(&answer).map_err(|e| Failure::new(format!("JSON: {e}")))? + "\n";
        output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|e| Failure::new(cause(&e)))?;
        line.clear();
    }
    Ok(ExitCode::SUCCESS)
}

/// CPU time so far of the processes `roots` and all below them, with that of their children that have ended and were waited for.
fn cpu_time(roots: &[u32]) -> Duration {
    let (processes, ended) = tree::with_ended(roots);
    processes.iter().map(|&pid| crew::cpu_time(pid.cast_signed())).sum::<Duration>() + ended
}
