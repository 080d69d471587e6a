//! The one progress bar of all subcommands: on standard error, only where that is a terminal, and only once it has taken two seconds. It shows how
//! much is done, an estimate of the remaining time, and the current step; where the extent is not known, the elapsed time. It is redrawn during a
//! step too, so that one that takes minutes does not look stuck.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time before which no bar is shown.
const SOON: Duration = Duration::from_secs(2);
/// How often the time is drawn anew.
const TICK: Duration = Duration::from_secs(1);
/// The bar's length in steps.
const LENGTH: u64 = 1000;
/// Less is shown as none.
const NEARLY: Duration = Duration::from_millis(500);
/// Less than this part says too little of how long the rest will take.
const TELLS: f64 = 0.03;

/// How much of work that takes longer than was thought is shown as done.
const LATE: f64 = 0.9;

/// The moment at which it will be done, by what is known.
#[derive(Debug, Default, Clone)]
struct End(Arc<Mutex<Option<Instant>>>);

impl End {
    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time that is shown: the remaining time, else the time since `start`.
    fn text(&self, start: Instant) -> String {
        match *self.lock() {
            // What takes longer than was thought says how long it has taken, not that nothing is left.
            Some(end) if end > Instant::now() + NEARLY => {
                format!("{} left", clock(end.saturating_duration_since(Instant::now()).as_secs_f64()))
            }
            _ => format!("for {}", clock(start.elapsed().as_secs_f64())),
        }
    }
}

/// Shows the bar when it is time, and draws it again and again.
#[derive(Debug)]
struct Shower {
    /// A channel on which nothing is sent: when it is dropped, the thread ends.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shower {
    fn of(bar: &ProgressBar) -> Option<Shower> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let (bar, (stop, stopped)) = (bar.clone(), channel::<()>());
        let show = move || {
            if !matches!(stopped.recv_timeout(SOON), Err(RecvTimeoutError::Timeout)) {
                return;
            }
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
            bar.tick();
            while matches!(stopped.recv_timeout(TICK), Err(RecvTimeoutError::Timeout)) {
                bar.tick();
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(show).ok()?;
        Some(Shower { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Shower {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How far something is. The bar goes when this is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    end: End,
    shower: Option<Shower>,
}

impl Progress {
    /// Begins a bar for work whose extent is known.
    pub fn begin() -> Progress {
        Progress::with("[{bar:30}] {percent:>3} % {time:>12}  {wide_msg}")
    }

    /// Begins a bar for work whose extent is not known.
    pub fn waiting(what: &str) -> Progress {
        let progress = Progress::with("{spinner} {wide_msg}  {time:>10}");
        progress.now(what);
        progress
    }

    fn with(template: &str) -> Progress {
        let (start, end) = (Instant::now(), End::default());
        let bar = ProgressBar::with_draw_target(Some(LENGTH), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            let end = end.clone();
            let time = move |_: &ProgressState, out: &mut dyn Write| _ = out.write_str(&end.text(start));
            bar.set_style(style.progress_chars("=> ").with_key("time", time));
        }
        let shower = Shower::of(&bar);
        Progress { bar, start, end, shower }
    }

    /// Sets what is being done, of [`Progress::waiting`].
    pub fn now(&self, what: &str) {
        self.bar.set_message(crate::escape::shown(what));
    }

    /// Sets how much is done, from 0 to 1, and what comes now.
    pub fn set(&self, part: f64, what: &str) {
        let part = part.clamp(0.0, 1.0);
        let spent = self.start.elapsed();
        self.show(part, what, (part >= TELLS).then(|| spent.as_secs_f64() * (1.0 - part) / part));
    }

    /// Sets the bar where it is known how long the rest will take, in seconds.
    pub fn set_left(&self, left: f64, what: &str) {
        let spent = self.start.elapsed().as_secs_f64();
        self.show(spent / (spent + left.max(0.0)).max(1e-9), what, Some(left));
    }

    /// Sets the bar of work that was thought to take so long, in seconds, and of which no more is known. What takes longer is not shown as nearly done:
    /// the bar stays where it is, and beside it is the time that it has taken.
    pub fn set_expected(&self, expected: f64, what: &str) {
        let spent = self.start.elapsed().as_secs_f64();
        let part = spent / expected.max(1e-9);
        self.show(part.min(LATE), what, (part < LATE).then_some(expected - spent));
    }

    fn show(&self, part: f64, what: &str, left: Option<f64>) {
        let left = left.and_then(|left| Duration::try_from_secs_f64(left.clamp(0.0, LONGEST)).ok());
        *self.end.lock() = left.and_then(|left| Instant::now().checked_add(left));
        self.bar.set_position((part * LENGTH as f64) as u64);
        self.bar.set_message(crate::escape::shown(what));
    }

    /// Prints, with the bar out of the way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // First who would draw it again.
        self.shower = None;
        self.bar.finish_and_clear();
    }
}

/// Rows that take about the same time each.
#[derive(Debug)]
pub struct Rows {
    progress: Progress,
    done: usize,
    all: usize,
}

impl Rows {
    /// Begins so many rows.
    pub fn new(all: usize) -> Rows {
        Rows { progress: Progress::begin(), done: 0, all }
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

/// More than this is shown as this, in seconds.
const LONGEST: f64 = 359_999.0;

/// A time: "1:05".
fn clock(seconds: f64) -> String {
    let seconds = seconds.clamp(0.0, LONGEST).round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!([0.4, 65.0, 3599.6, 1e9, -1.0].map(clock), ["0:00", "1:05", "1:00:00", "99:59:59", "0:00"]);
    }

    #[test]
    fn rows_move_the_bar() {
        let mut rows = Rows::new(4);
        for at in 0..4u64 {
            rows.begin("row");
            assert_eq!(rows.progress.bar.position(), at * LENGTH / 4);
            rows.end();
        }
        let progress = Progress::begin();
        assert_eq!(progress.end.text(progress.start), "for 0:00");
        progress.set_left(1e6, "long");
        assert!(progress.bar.position() < 2 && progress.end.text(progress.start).ends_with(" left"));
        progress.set_left(60.2, "shorter");
        assert_eq!(progress.end.text(progress.start), "1:00 left");
        progress.set_left(0.2, "overdue");
        assert_eq!(progress.end.text(progress.start), "for 0:00", "nothing is said to be left of what goes on");
        progress.set_expected(1e6, "as expected");
        assert!(progress.bar.position() < 2 && progress.end.text(progress.start).ends_with(" left"));
        progress.set_expected(0.0, "late");
        assert_eq!(progress.bar.position(), (LATE * LENGTH as f64) as u64);
        assert_eq!(progress.end.text(progress.start), "for 0:00");
        assert_eq!(progress.aside(|| 7), 7);
    }
}
