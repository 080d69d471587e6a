//! A bar for who waits: only on a terminal, and only after two seconds.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How far the work has come.
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
}

impl Progress {
    /// For so many files.
    pub fn new(files: usize) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("reading programs [{bar:40}] {pos}/{len}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress { bar, start: Instant::now() }
    }

    /// One more file is done.
    pub fn step(&self) {
        if self.bar.is_hidden() && self.start.elapsed() > Duration::from_secs(2) && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
