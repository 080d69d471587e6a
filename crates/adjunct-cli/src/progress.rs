//! The one progress bar of all subcommands: on standard error, only where that is a terminal, and only once it has taken two
//! seconds. It shows how much is done, how long the rest will take by what was done so far, and what is being done.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Sooner nobody needs a bar.
const SOON: Duration = Duration::from_secs(2);
/// The bar's length in steps.
const LENGTH: u64 = 1000;
/// Less than this part says too little of how long the rest will take.
const TELLS: f64 = 0.03;

/// How far something is. The bar goes when this is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
}

impl Progress {
    /// At the beginning.
    pub fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(Some(LENGTH), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent:>3} % {prefix:>12}  {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress { bar, start: Instant::now() }
    }

    /// Sets how much is done, from 0 to 1, and what comes now.
    pub fn set(&self, part: f64, what: &str) {
        let part = part.clamp(0.0, 1.0);
        let spent = self.start.elapsed();
        self.show(part, what, (part >= TELLS).then(|| spent.as_secs_f64() * (1.0 - part) / part));
    }

    /// Sets it where it is known how long the rest will take, in seconds.
    pub fn set_left(&self, left: f64, what: &str) {
        let spent = self.start.elapsed().as_secs_f64();
        self.show(spent / (spent + left.max(0.0)).max(1e-9), what, Some(left));
    }

    fn show(&self, part: f64, what: &str, left: Option<f64>) {
        if self.bar.is_hidden() && self.start.elapsed() > SOON && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
        self.bar.set_position((part * LENGTH as f64) as u64);
        self.bar.set_prefix(left.map_or_else(String::new, clock));
        self.bar.set_message(what.to_owned());
    }

    /// Prints, with the bar out of the way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Rows that take about the same time each.
#[derive(Debug)]
pub(crate) struct Rows {
    progress: Progress,
    done: usize,
    all: usize,
}

impl Rows {
    /// Before the first of so many.
    pub fn new(all: usize) -> Rows {
        Rows { progress: Progress::new(), done: 0, all }
    }

    /// Says which row comes now.
    pub fn begin(&self, what: &str) {
        self.progress.set(self.done as f64 / self.all.max(1) as f64, what);
    }

    /// A row is done.
    pub fn end(&mut self) {
        self.done += 1;
    }

    /// Prints, with the bar out of the way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.progress.aside(print)
    }
}

/// A time that is left: "1:05 left".
fn clock(seconds: f64) -> String {
    let seconds = seconds.clamp(0.0, 359_999.0).round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02} left"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02} left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_left() {
        assert_eq!(
            [0.4, 65.0, 3599.6, 1e9, -1.0].map(clock),
            ["0:00 left", "1:05 left", "1:00:00 left", "99:59:59 left", "0:00 left"]
        );
    }

    #[test]
    fn rows_move_the_bar() {
        let mut rows = Rows::new(4);
        for at in 0..4u64 {
            rows.begin("row");
            assert_eq!(rows.progress.bar.position(), at * LENGTH / 4);
            rows.end();
        }
        let progress = Progress::new();
        progress.set_left(1e6, "long");
        assert!(progress.bar.position() < 2 && progress.bar.prefix().ends_with(" left"));
        assert_eq!(progress.aside(|| 7), 7);
    }
}
