//! Questions to the user of `pkcsconf`: on standard output, answered on standard input, without echo where that is a terminal.

use adjunct_tool::{Failure, output};
use rustix::io::{read, retry_on_intr};
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::sync::{Mutex, Once, PoisonError};
use zeroize::Zeroizing;

/// A line that was typed.
pub type Line = Zeroizing<Vec<u8>>;

/// More than this is no answer.
const LONGEST: usize = 4096;

/// Asks for a PIN. `None` where standard input ends.
///
/// # Errors
/// [`Failure`] where standard input or output fails.
pub fn pin(question: &str) -> Result<Option<Line>, Failure> {
    output::print(question)?;
    let hidden = Hidden::new();
    let line = line();
    drop(hidden);
    output::print("\n")?;
    let Some(mut line) = line? else { return Ok(None) };
    if let Some(end) = line.iter().position(|&byte| byte == b'\r') {
        line.truncate(end);
    }
    Ok(Some(line))
}

/// Asks for a new PIN twice. `None` where the answers differ, are empty or miss.
///
/// # Errors
/// As [`pin`].
pub fn new_pin(question: &str, again: &str) -> Result<Option<Line>, Failure> {
    let Some(first) = pin(question)? else { return Ok(None) };
    let second = pin(again)?;
    Ok(Some(first).filter(|first| !first.is_empty() && second.is_some_and(|second| *second == **first)))
}

/// Asks for a token's label. `None` where standard input ends.
///
/// # Errors
/// As [`pin`].
pub fn label() -> Result<Option<[u8; 32]>, Failure> {
    output::print("Enter a unique token label: ")?;
    let line = line()?;
    if line.is_none() {
        output::print("\n")?;
    }
    Ok(line.map(|line| padded(&line)))
}

/// The part of a line that fits a token's label, in whole characters, padded with blanks.
fn padded(line: &[u8]) -> [u8; 32] {
    let length = match line.get(32) {
        // The first byte that does not fit goes on with a character: it goes as a whole.
        Some(byte) if byte & 0xc0 == 0x80 => line[..32].iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(0),
        _ => line.len().min(32),
    };
    std::array::from_fn(|i| line[..length].get(i).copied().unwrap_or(b' '))
}

/// Reads a line, without its end, byte by byte: what follows is the next question's, and no buffer keeps a PIN.
///
/// # Errors
/// As [`pin`].
pub fn line() -> Result<Option<Line>, Failure> {
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut byte = Zeroizing::new([0]);
    loop {
        let count = retry_on_intr(|| read(stdin(), &mut *byte))
            .map_err(|e| Failure::new(format!("standard input: {}", adjunct_tool::failure::cause(&e.into()))))?;
        match (count, byte[0]) {
            (0, _) if line.is_empty() => return Ok(None),
            (0, _) | (_, b'\n') => return Ok(Some(line)),
            _ if line.len() == LONGEST => return Err(Failure::new("standard input: a line is too long")),
            (_, byte) => line.push(byte),
        }
    }
}

/// Reads a line without echo, of whatever was asked. `None` where standard input ends.
///
/// # Errors
/// As [`pin`].
pub fn hidden_line() -> Result<Option<Line>, Failure> {
    let _hidden = Hidden::new();
    line()
}

/// How the terminal was before its echo was switched off.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// A terminal whose echo is off as long as this value lives. A signal that ends the program switches the echo on again first.
struct Hidden(());

impl Hidden {
    fn new() -> Hidden {
        static WATCH: Once = Once::new();
        // No terminal: a pipe, a file.
        let Ok(before) = tcgetattr(stdin()) else { return Hidden(()) };
        WATCH.call_once(|| {
            let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]) else { return };
            let watch = move || {
                for signal in signals.forever() {
                    show_again();
                    let _ = emulate_default_handler(signal);
                }
            };
            let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
        });
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &hidden);
        Hidden(())
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        show_again();
    }
}

fn show_again() {
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_between_characters() {
        let label = |text: &str| String::from_utf8(padded(text.as_bytes()).to_vec()).unwrap();
        assert_eq!(label("icatok"), format!("{:<32}", "icatok"));
        assert_eq!(label(&"x".repeat(40)), "x".repeat(32));
        assert_eq!(label(&("x".repeat(31) + "\u{e9}")), "x".repeat(31) + " ");
        assert_eq!(label(&("x".repeat(30) + "\u{e9}y")), "x".repeat(30) + "\u{e9}");
        assert_eq!(padded(&[0x80; 40]), [b' '; 32]);
    }
}
