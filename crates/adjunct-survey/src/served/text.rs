//! What is to be said of programs, in sentences for people.

use super::{Judged, Outdated, State, Verdict};
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use std::fmt::Write;

/// The most processes of one entry that are named.
const NAMED: usize = 4;

/// The number of the advice, behind a sentence: docs/advice.md has a page for each.
pub fn number(verdict: &Verdict) -> String {
    verdict.cause.map(|cause| format!(" [{}]", cause.id())).unwrap_or_default()
}

/// Whom it is about, and the sentence.
pub fn sentence(whom: &str, verdict: &Verdict, style: Style) -> String {
    let text = shown(&verdict.sentence());
    let painted = match verdict.state {
        State::Served | State::ServedThroughPlugin if verdict.cause.is_none() => style.good(&text),
        State::NotServed => style.bad(&text),
        _ => style.notice(&text),
    };
    format!("{}: {painted}", shown(whom))
}

/// Text about a program: its sentence, and what else to know of it.
pub fn program(judged: &Judged, style: Style) -> String {
    let whom = judged.path.to_string_lossy();
    let mut text = sentence(&whom, &judged.verdict, style) + &number(&judged.verdict) + "\n";
    for note in &judged.notes {
        let _ = writeln!(text, "  note: {}", shown(note));
    }
    text
}

/// `process 12`, `processes 12, 13 and 4 more`.
pub fn numbers(pids: &[u32]) -> String {
    let shown: Vec<String> = pids.iter().take(NAMED).map(u32::to_string).collect();
    let word = if pids.len() == 1 { "process" } else { "processes" };
    match pids.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{word} {} and {more} more", shown.join(", ")),
        _ => format!("{word} {}", shown.join(", ")),
    }
}

/// The processes and services to restart, one line each.
pub fn outdated(all: &[Outdated]) -> String {
    all.iter().fold(String::new(), |mut text, one| {
        let whom = format!("{} ({})", shown(&one.name), numbers(&one.processes));
        let what = match one.replaced.as_slice() {
            [] => "was started before adjunct was enabled".to_owned(),
            replaced => format!("still runs the code of {} from before the upgrade", replaced.join(" and ")),
        };
        let _ = writeln!(text, "{whom} {what}: {}", shown(&one.advice));
        text
    })
}
