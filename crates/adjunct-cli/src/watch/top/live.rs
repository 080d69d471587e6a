//! The terminal while `adjunct top` runs: in raw mode, on the alternate screen, and restored however the command ends.

use super::app::{App, Then};
use super::draw::{Title, draw};
use super::views::Watch;
use adjunct::counters;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_ztools::stats::host_facts;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use std::io;
use std::time::{Duration, Instant};

/// How long a signal may go unseen.
const SLICE: Duration = Duration::from_millis(200);

/// Gives the terminal back when it goes. A panic does so too, by the hook that ratatui sets.
struct Screen(DefaultTerminal);

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Runs until the user quits.
///
/// # Errors
/// [`Failure`] where the terminal fails, nothing can be read, or a signal ends it.
pub(super) fn run(mut app: App, interval: Duration) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format!("the terminal: {}", cause(&error)));
    let mut watch = Watch::default();
    // What cannot be read is said before the screen is taken.
    let mut title = title(interval);
    app.take(watch.next()?);
    catch_interrupts();
    let mut screen = Screen(ratatui::try_init().map_err(failed)?);
    // The first period is short, so that there is something to see.
    let mut due = Instant::now() + interval.min(Duration::from_millis(500));
    loop {
        screen.0.draw(|frame| draw(frame, &mut app, &title)).map_err(failed)?;
        interrupted()?;
        let left = due.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            if pressed(left.min(SLICE)).map_err(failed)?.is_some_and(|key| app.key(key) == Then::Quit) {
                return Ok(());
            }
            continue;
        }
        app.take(watch.next()?);
        title.time = time();
        due = (due + interval).max(Instant::now());
    }
}

/// Waits for a key. Of other events only a new size matters, and drawing sees that.
fn pressed(within: Duration) -> io::Result<Option<KeyEvent>> {
    // A signal ends the wait: whoever caught it is asked.
    let ready = event::poll(within).or_else(|error| match error.kind() {
        io::ErrorKind::Interrupted => Ok(false),
        _ => Err(error),
    })?;
    if !ready {
        return Ok(None);
    }
    Ok(match event::read()? {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(key),
        _ => None,
    })
}

fn title(interval: Duration) -> Title {
    Title {
        host: adjunct_tool::escape::shown(&host_facts().nodename),
        time: time(),
        interval: interval.as_secs_f64(),
        all_users: counters::reads_all(),
        plain: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
    }
}

fn time() -> String {
    jiff::Zoned::now().strftime("%H:%M:%S").to_string()
}
