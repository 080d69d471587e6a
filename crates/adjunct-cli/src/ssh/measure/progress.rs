//! A progress bar on standard error: only where that is a terminal, and only once it has taken two seconds.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How far a measurement is, in thousandths.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

impl Progress {
    /// At the beginning.
    pub fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent:>3} % {elapsed_precise} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress { bar, start: Instant::now() }
    }

    /// Sets how much is done, from 0 to 1, and what is being measured.
    pub fn set(&self, part: f64, what: &str) {
        if self.bar.is_hidden() && self.start.elapsed() > Duration::from_secs(2) && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
        self.bar.set_position((part.clamp(0.0, 1.0) * 1000.0) as u64);
        self.bar.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
