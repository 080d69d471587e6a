//! Another system's OpenSSL as a side: a process of this command under that root's loader and libraries, over two pipes.
//!
//! One line of text asks, one answers, words between tabs: `row SIDE TITLE SIZE` gives `proof HEX` or `none`, `run SIDE N` does
//! that side's row N times and gives `time NANOSECONDS` of CPU time, `error TEXT` answers either. SIDE is `stock` or
//! `adjunct`. The first line comes unasked: `ready VERSION`.

use crate::Error;
use crate::bulk::root::Root;
use crate::bulk::subject::Subject;
use crate::command;
use crate::libcrypto::Side;
use crate::measure::Work;
use adjunct_survey::module::{self, Choice};
use adjunct_tool::Failure;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::Duration;

/// A process that measures for the command; ends when dropped.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
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
        let own = module::program().map_err(|e| wrong(adjunct_tool::failure::cause(&e)))?;
        let libraries = std::env::join_paths(&root.libraries).map_err(|e| wrong(e.to_string()))?;
        let mut child = Command::new(&root.loader)
            .arg("--library-path")
            .arg(libraries)
            .arg(own)
            .args(["bench", "bulk", "--worker", "--libcrypto"])
            .arg(&root.libcrypto)
            // It was looked at here.
            .args(["--trust-module", "--module"])
            .arg(module)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| wrong(format!("its loader does not start: {}", adjunct_tool::failure::cause(&e))))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or_else(|| wrong("no pipe".to_owned()))?);
        let mut worker = Worker { child, input, output, version: String::new() };
        match worker.answer() {
            Some(line) if line.starts_with("ready\t") => worker.version = line["ready\t".len()..].to_owned(),
            _ => return Err(wrong(format!("the command does not run under its libraries: {}", worker.complaint()))),
        }
        Ok(worker)
    }

    fn ask(&mut self, line: &str) -> Option<String> {
        let input = self.input.as_mut()?;
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).ok()?;
        self.answer()
    }

    fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).ok()?;
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// Ends the worker; what it said on standard error.
    fn complaint(&mut self) -> String {
        self.input = None;
        let _ = self.child.kill();
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        text.lines().next().unwrap_or("it said nothing").to_owned()
    }

    /// The row's work, done there by `side`; `None` where that side does not have it.
    ///
    /// # Errors
    /// [`Error::Operation`] with the worker's words.
    pub fn work(
        worker: &Rc<RefCell<Worker>>,
        side: &'static str,
        subject: Subject,
        size: usize,
    ) -> Result<Option<Work>, Error> {
        let answer = worker.borrow_mut().ask(&format!("row\t{side}\t{}\t{size}\n", subject.title()));
        let answer = answer.ok_or_else(|| Error::Operation("the newest OpenSSL's process has ended".to_owned()))?;
        match answer.split_once('\t') {
            Some(("proof", hex)) => {
                let proof = from_hex(hex).ok_or_else(|| Error::Operation("a damaged answer".to_owned()))?;
                let worker = worker.clone();
                Ok(Some(Work::elsewhere(proof, move |n| {
                    let answer = worker.borrow_mut().ask(&format!("run\t{side}\t{n}\n"))?;
                    answer.strip_prefix("time\t")?.parse().ok().map(Duration::from_nanos)
                })))
            }
            Some(("error", text)) => Err(Error::Operation(text.to_owned())),
            _ => Ok(None),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.input = None;
        let _ = self.child.wait();
    }
}

/// The worker's side: answers until its input ends.
///
/// # Errors
/// [`Failure`] where there is no libcrypto, or it does not load the module.
pub fn serve(libcrypto: Option<&Path>, module: Choice<'_>) -> Result<ExitCode, Failure> {
    let library = command::library(libcrypto, module)?;
    let mut sides = [
        Slot { name: "stock", side: Side::stock(library).map_err(Failure::because)?, work: None },
        Slot {
            name: "adjunct",
            side: Side::adjunct(library, &command::module(library, module)?).map_err(Failure::because)?,
            work: None,
        },
    ];
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut say = |line: String| {
        let written = output.write_all(line.as_bytes()).and_then(|()| output.flush());
        written.map_err(|e| Failure::new(adjunct_tool::failure::cause(&e)))
    };
    say(format!("ready\t{}\n", library.version()))?;
    loop {
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return Ok(ExitCode::SUCCESS),
            Ok(_) => say(answer(&mut sides, &line))?,
        }
    }
}

struct Slot {
    name: &'static str,
    side: Side,
    work: Option<Work>,
}

fn answer(sides: &mut [Slot], line: &str) -> String {
    let words: Vec<&str> = line.trim_end().split('\t').collect();
    let Some(slot) = sides.iter_mut().find(|slot| words.get(1) == Some(&slot.name)) else {
        return "error\tno such side\n".to_owned();
    };
    match words[..] {
        ["row", _, title, size] => match prepare(title, size, slot.side) {
            Ok(Some(work)) => {
                let line = format!("proof\t{}\n", to_hex(&work.proof));
                slot.work = Some(work);
                line
            }
            Ok(None) => "none\n".to_owned(),
            Err(error) => format!("error\t{error}\n"),
        },
        ["run", _, count] => {
            let time = count.parse().ok().and_then(|count| slot.work.as_mut()?.timed(count));
            time.map_or("error\tit failed\n".to_owned(), |time| format!("time\t{}\n", time.as_nanos()))
        }
        _ => "error\twhat?\n".to_owned(),
    }
}

fn prepare(title: &str, size: &str, side: Side) -> Result<Option<Work>, Error> {
    let subject = Subject::all().into_iter().find(|s| s.title() == title);
    match (subject, size.parse()) {
        (Some(subject), Ok(size)) => subject.evp(side, size),
        _ => Ok(None),
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_there_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!((from_hex("0"), from_hex("0g"), from_hex("")), (None, None, Some(Vec::new())));
    }
}
