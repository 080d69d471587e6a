//! How far a run is, and how long the rest takes by what was measured so far.

use crate::harness::busy::Watch;
use adjunct_tool::progress::Progress;
use std::time::{Duration, Instant};

/// The remaining work, task by task.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    /// Seconds that each task still takes.
    left: Vec<f64>,
    progress: Option<Progress>,
    watch: Watch,
}

/// A part of the work, by its place.
#[derive(Debug, Clone, Copy)]
pub struct Task(usize);

impl Clock {
    /// Starts the clock.
    pub fn start() -> Clock {
        Clock { start: Instant::now(), left: Vec::new(), progress: None, watch: Watch::start() }
    }

    /// Adds a task of so many seconds.
    pub fn task(&mut self, seconds: f64) -> Task {
        self.left.push(seconds.max(0.0));
        Task(self.left.len() - 1)
    }

    /// Notes that a task still takes `seconds` seconds.
    pub fn left(&mut self, task: Task, seconds: f64) {
        self.left[task.0] = seconds.max(0.0);
    }

    /// The time since the beginning.
    pub fn spent(&self) -> Duration {
        self.start.elapsed()
    }

    /// Time of the whole run in seconds, with what has passed.
    pub fn total(&self) -> f64 {
        self.spent().as_secs_f64() + self.left.iter().sum::<f64>()
    }

    /// Shows the present trial, the `at`th of `all`, while the tasks are tried and their times are not known.
    pub fn trial(&mut self, at: usize, all: usize, what: &str) {
        let part = at as f64 / all.max(1) as f64;
        self.progress.get_or_insert_with(Progress::begin).set(part, &format!("trying {what}"));
    }

    /// Shows what is being measured.
    pub fn say(&mut self, what: &str) {
        self.watch.look();
        let left = self.left.iter().sum();
        self.progress.get_or_insert_with(Progress::begin).set_left(left, what);
    }

    /// A note where the machine was busy.
    pub fn busy(&self) -> Option<String> {
        self.watch.said()
    }

    /// Takes the bar away, so that something can be printed.
    pub fn hide(&mut self) {
        self.progress = None;
    }
}

/// Work that is done in rounds, and how long a round takes: as estimated, then as measured.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    left: usize,
    estimate: f64,
    spent: f64,
    done: usize,
}

impl Rounds {
    /// Begins `rounds` rounds that are estimated to take `estimate` seconds each.
    pub fn new(rounds: usize, estimate: f64) -> Rounds {
        Rounds { left: rounds, estimate, spent: 0.0, done: 0 }
    }

    /// Whether none is left.
    pub fn are_done(&self) -> bool {
        self.left == 0
    }

    /// Notes that a round is done, in this time.
    pub fn done(&mut self, took: Duration) {
        (self.left, self.done) = (self.left.saturating_sub(1), self.done + 1);
        self.spent += took.as_secs_f64();
    }

    /// Seconds that the rounds left to do take.
    pub fn seconds(&self) -> f64 {
        let round = if self.done == 0 { self.estimate } else { self.spent / self.done as f64 };
        round * self.left as f64
    }
}

/// A time for people: "about 5 minutes".
pub fn about(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("about {} seconds", (s / 5.0).round().max(1.0) * 5.0),
        s if s < 600.0 => format!("about {} minutes", (s / 30.0).round() / 2.0),
        s if s < 5400.0 => format!("about {} minutes", (s / 60.0).round()),
        s => format!("about {:.1} hours", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_corrects_the_estimate() {
        let mut rounds = Rounds::new(4, 10.0);
        assert_eq!(rounds.seconds(), 40.0);
        rounds.done(Duration::from_secs(6));
        assert_eq!(rounds.seconds(), 18.0);
        rounds.done(Duration::from_secs(8));
        assert_eq!(rounds.seconds(), 14.0);
        (0..2).for_each(|_| rounds.done(Duration::ZERO));
        assert!(rounds.are_done() && rounds.seconds() == 0.0);
        let mut clock = Clock::start();
        let (one, _) = (clock.task(100.0), clock.task(50.0));
        clock.left(one, 20.0);
        assert!((70.0..71.0).contains(&clock.total()));
    }

    #[test]
    fn times_for_people() {
        assert_eq!(about(0.0), "about 5 seconds");
        assert_eq!(about(61.0), "about 60 seconds");
        assert_eq!(about(147.0), "about 2.5 minutes");
        assert_eq!(about(1211.0), "about 20 minutes");
        assert_eq!(about(9000.0), "about 2.5 hours");
    }
}
