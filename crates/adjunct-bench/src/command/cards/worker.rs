//! A side's processes: this command once more, which loads the library with the side's provider and forks into as many as a row has.
//!
//! One line of text asks, one answers, words between tabs. `key HEX` brings the row's key: `ready PROOF`, in hexadecimal digits too.
//! `crew N` forks: `ready`. `slice LEAD_IN LENGTH PID,PID`, in nanoseconds, is a slice, with the processes besides whose CPU time is
//! asked for: `done` and what [`Slice::to_text`] gives. Any may be answered by `failed TEXT`.

use crate::Error;
use crate::accelerator::subject::Function;
use crate::crew::{Crew, Slice};
use crate::libcrypto::{Functions, Side};
use crate::measure::Work;
use adjunct_survey::module;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

/// A process that is asked, and those that it forks; they end when dropped.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

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
    pub fn start(start: &Start, function: Function, der: &[u8]) -> Result<(Worker, String), Error> {
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
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(Error::Io)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| Error::Operation("a process without output".to_owned()))?;
        let mut worker = Worker { child, input, answers: BufReader::new(output) };
        let proof = worker.ask(&format!("key\t{}", to_hex(der)), "ready")?;
        Ok((worker, proof))
    }

    fn ask(&mut self, line: &str, expected: &str) -> Result<String, Error> {
        let gone = || Error::Operation("a process that was measured has ended".to_owned());
        let sent = self.input.as_mut().map(|input| input.write_all(format!("{line}\n").as_bytes()));
        let mut answer = String::new();
        if !matches!(sent, Some(Ok(()))) || self.answers.read_line(&mut answer).map_err(Error::Io)? == 0 {
            return Err(gone());
        }
        match answer.trim_end_matches('\n').split_once('\t') {
            Some((word, rest)) if word == expected => Ok(rest.to_owned()),
            Some((_, words)) => Err(Error::Operation(words.to_owned())),
            None => Err(gone()),
        }
    }

    /// Has the worker fork into `processes` processes.
    ///
    /// # Errors
    /// [`Error::Operation`].
    pub fn fork(&mut self, processes: u16) -> Result<(), Error> {
        self.ask(&format!("crew\t{processes}"), "ready").map(|_| ())
    }

    /// Has all the worker's processes work.
    ///
    /// # Errors
    /// [`Error::Operation`].
    pub fn slice(&mut self, lead_in: Duration, length: Duration, others: &[u32]) -> Result<Slice, Error> {
        let others: Vec<String> = others.iter().map(u32::to_string).collect();
        let line = format!("slice\t{}\t{}\t{}", lead_in.as_nanos(), length.as_nanos(), others.join(","));
        let answer = self.ask(&line, "done")?;
        Slice::from_text(&answer).ok_or_else(|| Error::Operation("an answer that is none".to_owned()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends it, and its end those that it forked.
        self.input = None;
        let _ = self.child.wait();
    }
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
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line).is_ok_and(|length| length > 0) {
        let answered = match &mut served {
            Ok(served) => served.answer(line.trim_end_matches('\n')).map_err(|error| error.to_string()),
            Err(error) => Err(Error::to_string(error)),
        };
        let answer = answered.unwrap_or_else(|words| format!("failed\t{}", words.replace(['\n', '\t'], " "))) + "\n";
        output.write_all(answer.as_bytes()).and_then(|()| output.flush()).map_err(|e| Failure::new(cause(&e)))?;
        line.clear();
    }
    Ok(ExitCode::SUCCESS)
}

impl Served {
    fn answer(&mut self, line: &str) -> Result<String, Error> {
        let wrong = || Error::Operation("what?".to_owned());
        let words: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).ok_or_else(wrong);
        match words[0] {
            "key" => {
                let der = words.get(1).and_then(|word| from_hex(word)).ok_or_else(wrong)?;
                let row = self.function.evp();
                let missing =
                    || Error::Operation(format!("{} does not have {}", self.side.name, self.function.title()));
                let keys = row.keys_of(&der, self.side, self.stock)?.ok_or_else(missing)?;
                let work = row.work_with(self.side, self.stock, keys)?.ok_or_else(missing)?;
                let proof = to_hex(&self.work.insert(work).proof);
                Ok(format!("ready\t{proof}"))
            }
            "crew" => {
                self.crew = None;
                let count = usize::try_from(number(1)?).map_err(|_| wrong())?;
                self.crew = Some(Crew::fork(count, self.work.as_mut().ok_or_else(wrong)?)?);
                Ok("ready\t".to_owned())
            }
            "slice" => {
                let crew = self.crew.as_ref().ok_or_else(wrong)?;
                let others: Vec<u32> =
                    words.get(3).map_or("", |words| words).split(',').filter_map(|pid| pid.parse().ok()).collect();
                let slice = crew.slice(Duration::from_nanos(number(1)?), Duration::from_nanos(number(2)?), &others)?;
                Ok(format!("done\t{}", slice.to_text()))
            }
            _ => Err(wrong()),
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pair = |at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_as_they_were_written() {
        let bytes = [0, 1, 0x7f, 0xff];
        assert_eq!(to_hex(&bytes), "00017fff");
        assert_eq!(from_hex("00017fff").as_deref(), Some(&bytes[..]));
        assert_eq!(from_hex("0"), None);
    }
}
