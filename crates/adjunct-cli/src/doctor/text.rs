//! The reports for people.

use super::machine::{Entry, Outdated};
use super::program::Judged;
use super::running::Ran;
use super::verdict::{State, Verdict};
use crate::openssl::standing::Standing;
use crate::openssl::users::Cause;
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use std::fmt::Write;

/// The most processes of one entry that are named.
const NAMED: usize = 4;

/// The number of the advice, behind a sentence: docs/advice.md has a page for each.
fn number(verdict: &Verdict) -> String {
    verdict.cause.map(|cause| format!(" [{}]", cause.id())).unwrap_or_default()
}

fn sentence(whom: &str, verdict: &Verdict, style: Style) -> String {
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

/// Text about processes; those of which the same is to be said share a line.
pub fn processes(all: &[Ran], style: Style) -> String {
    let mut text = String::new();
    let mut told: Vec<(&Verdict, Vec<&Ran>)> = Vec::new();
    for ran in all {
        match told.iter_mut().find(|(verdict, _)| **verdict == ran.verdict) {
            Some((_, list)) => list.push(ran),
            None => told.push((&ran.verdict, vec![ran])),
        }
    }
    told.sort_by_key(|(verdict, _)| (verdict.state, verdict.cause));
    for (verdict, list) in told {
        let pids: Vec<u32> = list.iter().map(|ran| ran.process.pid).collect();
        let names: std::collections::BTreeSet<&str> = list.iter().map(|ran| ran.process.name.as_str()).collect();
        let whom = format!("{} ({})", names.into_iter().collect::<Vec<_>>().join(", "), numbers(&pids));
        text += &(sentence(&whom, verdict, style) + &number(verdict) + "\n");
    }
    text
}

/// `process 12`, `processes 12, 13 and 4 more`.
fn numbers(pids: &[u32]) -> String {
    let shown: Vec<String> = pids.iter().take(NAMED).map(u32::to_string).collect();
    let word = if pids.len() == 1 { "process" } else { "processes" };
    match pids.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{word} {} and {more} more", shown.join(", ")),
        _ => format!("{word} {}", shown.join(", ")),
    }
}

/// The whole machine, worst first, in groups of one cause.
pub fn machine(entries: &[Entry], standing: &Standing, style: Style) -> String {
    let mut text = String::new();
    let config = shown(&standing.reach.config);
    let state = match (standing.enabled, standing.working, standing.reach.own.is_empty()) {
        (true, true, _) => style.good(&format!("enabled and in force in {config}")),
        (true, false, _) => style.bad(&format!("enabled, not in force in {config}")),
        (false, _, false) => style.notice("enabled for single programs, not for all"),
        (false, ..) => style.notice("not enabled"),
    };
    let _ = writeln!(text, "adjunct: {state}");
    if standing.enabled && !standing.working {
        standing.problems.iter().for_each(|problem| text += &format!("problem: {}\n", shown(problem)));
    }
    let mut before = None;
    for entry in entries {
        let group = (entry.verdict.state, entry.verdict.cause);
        if before != Some(group) {
            let told = |cause: Cause| format!(", {} [{}]", cause.word(), cause.id());
            let word = entry.verdict.cause.map(told).unwrap_or_default();
            let head = match entry.verdict.state {
                State::NotServed => "not served",
                State::Unknown => "cannot be said",
                State::ServedThroughPlugin => "served through a plugin or another program",
                State::Served => "served",
            };
            let _ = writeln!(text, "\n{}", style.strong(&format!("{head}{word}")));
            before = Some(group);
        }
        let whom = match entry.processes.as_slice() {
            [] => entry.name.clone(),
            pids => format!("{} ({})", entry.name, numbers(pids)),
        };
        let _ = writeln!(text, "  {}", sentence(&whom, &entry.verdict, style));
        for note in &entry.notes {
            let _ = writeln!(text, "    {}", shown(note));
        }
    }
    text
}

/// Text about the processes that may not be looked at.
pub fn hidden(count: usize) -> String {
    let root = nix::unistd::geteuid().is_root();
    let processes = if count == 1 { "process" } else { "processes" };
    match (count, root) {
        (0, _) => String::new(),
        (_, true) => format!("not seen: {count} {processes} that root may not look at either, from here\n"),
        (_, false) => format!("not seen: {count} {processes} of other users; root sees more: sudo adjunct doctor\n"),
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
