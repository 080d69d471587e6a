//! The steps that change something, one after the other, with one progress bar over all of them.

use super::step::{self, Ran};
use adjunct_tool::Failure;
use adjunct_tool::progress::Progress;
use serde_json::Value;
use std::time::Duration;

/// A step: what is shown while it runs, and about how many seconds it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    what: &'static str,
    seconds: f64,
}

pub(super) const ENABLE: Step = Step { what: "enabling adjunct, checked with real logins", seconds: 5.0 };
pub(super) const TUNE: Step = Step { what: "ssh's algorithms, tried with real logins", seconds: 3.0 };
pub(super) const VERIFY: Step = Step { what: "a session, and who encrypts it", seconds: 3.0 };
pub(super) const UNTUNE: Step = Step { what: "taking back ssh's algorithms", seconds: 2.0 };
pub(super) const DISABLE: Step = Step { what: "disabling adjunct, checked with real logins", seconds: 4.0 };

/// All steps of a run, and how many seconds of them are done.
#[derive(Debug)]
pub(super) struct Way {
    progress: Progress,
    done: f64,
    all: f64,
}

impl Way {
    /// Makes a way whose first step has not begun.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Way {
        let all = steps.into_iter().map(|step| step.seconds).sum();
        Way { progress: Progress::begin(), done: 0.0, all }
    }

    /// Runs a step.
    ///
    /// # Errors
    /// As for [`step::run`].
    pub fn run(&mut self, step: Step, words: &[&str]) -> Result<Ran, Failure> {
        let ran = step::run(words, |spent| self.progress.set(self.part(step, spent), step.what));
        self.done += step.seconds;
        ran
    }

    /// Runs a step that has to succeed; gives its report.
    ///
    /// # Errors
    /// As for [`step::run`], and where it fails.
    pub fn succeeded(&mut self, step: Step, words: &[&str]) -> Result<Value, Failure> {
        self.run(step, words)?.succeeded()
    }

    /// How much of all is done where a step has run for a while: it comes ever nearer to its end and does not reach it before it is there.
    fn part(&self, step: Step, spent: Duration) -> f64 {
        let times = spent.as_secs_f64() / step.seconds;
        (self.done + step.seconds * times / (times + 0.5)) / self.all.max(step.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_takes_long_does_not_go_into_the_next() {
        let mut way = Way::new([ENABLE, TUNE]);
        let part = |way: &Way, step, seconds| way.part(step, Duration::from_secs(seconds));
        assert_eq!(part(&way, ENABLE, 0), 0.0);
        let late = part(&way, ENABLE, 1000);
        assert!(late > part(&way, ENABLE, 2));
        way.done += ENABLE.seconds;
        assert!(late < part(&way, TUNE, 0) && part(&way, TUNE, 1000) < 1.0);
    }
}
