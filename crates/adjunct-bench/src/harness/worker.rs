//! A process of this program that works for another one of it: a line of JSON asks, a line of JSON answers.

use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::process::readable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The process has ended, by this signal or otherwise.
    Ended(Option<i32>),
    /// It did not answer for so long.
    Hung(Duration),
    /// Somebody ends the run.
    Interrupted,
}

/// The process. Dropped, it ends.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    grace: Duration,
}

impl Worker {
    /// Starts it. When it is dropped, the end of its input ends it; where that takes longer than `grace`, it is killed.
    ///
    /// # Errors
    /// Where it does not start.
    pub fn start(command: &mut Command, grace: Duration) -> io::Result<Worker> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| io::Error::other("a process without output"))?;
        Ok(Worker { child, input, answers: BufReader::new(output), grace })
    }

    /// Asks it, and waits for its answer.
    ///
    /// # Errors
    /// [`Silence`].
    pub fn ask<A: DeserializeOwned>(&mut self, ask: &impl Serialize, patience: Duration) -> Result<A, Silence> {
        let sent = self.input.as_mut().and_then(|input| {
            let line = serde_json::to_string(ask).ok()? + "\n";
            input.write_all(line.as_bytes()).and_then(|()| input.flush()).ok()
        });
        match sent {
            Some(()) => self.answer(patience),
            None => Err(self.ended()),
        }
    }

    /// Waits for an answer: to what it was asked, or the first line, which comes unasked.
    ///
    /// # Errors
    /// [`Silence`].
    pub fn answer<A: DeserializeOwned>(&mut self, patience: Duration) -> Result<A, Silence> {
        match readable(self.answers.get_ref(), patience) {
            Ok(true) => {}
            Ok(false) => return Err(Silence::Hung(patience)),
            Err(_) => return Err(Silence::Interrupted),
        }
        let mut line = String::new();
        // What is no answer is the end of a process that writes something else.
        let read = self.answers.read_line(&mut line).ok().filter(|length| *length > 0);
        read.and_then(|_| serde_json::from_str(&line).ok()).ok_or_else(|| self.ended())
    }

    fn ended(&mut self) -> Silence {
        self.input = None;
        Silence::Ended(self.waited().and_then(|status| status.signal()))
    }

    /// Waits for its end, and brings it about where it does not come.
    fn waited(&mut self) -> Option<std::process::ExitStatus> {
        let start = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            if start.elapsed() >= self.grace {
                let _ = self.child.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.child.wait().ok()
    }

    /// The first line that it said on standard error, if that was piped; it is ended.
    pub fn complaint(&mut self) -> Option<String> {
        self.input = None;
        let _ = self.child.kill();
        let mut text = String::new();
        self.child.stderr.take()?.read_to_string(&mut text).ok()?;
        text.lines().next().map(str::to_owned)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.waited();
    }
}

/// The worker's side: says `first`, if anything, unasked, and answers until its input ends.
///
/// # Errors
/// [`Failure`] where nobody reads the answers, or asks what cannot be asked.
pub fn serve<Q: DeserializeOwned, A: Serialize>(
    first: Option<&A>,
    mut answer: impl FnMut(Q) -> A,
) -> Result<ExitCode, Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let json = |error: serde_json::Error| Failure::new(format!("JSON: {error}"));
    let mut say = |answer: &A| {
        let line = serde_json::to_string(answer).map_err(json)? + "\n";
        output.write_all(line.as_bytes()).and_then(|()| output.flush()).map_err(|e| Failure::new(cause(&e)))
    };
    first.map_or(Ok(()), &mut say)?;
    let mut line = String::new();
    while input.read_line(&mut line).is_ok_and(|length| length > 0) {
        let asked = serde_json::from_str(&line).map_err(json)?;
        say(&answer(asked))?;
        line.clear();
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    fn shell(script: &str) -> Worker {
        Worker::start(Command::new("sh").args(["-c", script]), SHORT).unwrap()
    }

    #[test]
    fn a_line_asks_and_a_line_answers() {
        let mut worker = shell("echo 1; while read line; do echo \"[$line]\"; done");
        assert_eq!(worker.answer(Duration::from_secs(60)), Ok(1));
        assert_eq!(worker.ask(&"two", Duration::from_secs(60)), Ok(vec!["two".to_owned()]));
    }

    #[test]
    fn the_end_and_a_hang_are_told_apart() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("exit 3").answer::<u32>(long), Err(Silence::Ended(None)));
        assert_eq!(shell("kill -9 $$").answer::<u32>(long), Err(Silence::Ended(Some(9))));
        assert_eq!(shell("echo something else").answer::<u32>(long), Err(Silence::Ended(None)));
        let mut hung = shell("exec sleep 60");
        assert_eq!(hung.answer::<u32>(SHORT), Err(Silence::Hung(SHORT)));
        let start = Instant::now();
        drop(hung);
        assert!(start.elapsed() < long);
    }
}
