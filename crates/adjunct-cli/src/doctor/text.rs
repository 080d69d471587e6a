//! The reports for people.

use super::machine::Entry;
use super::running::Ran;
use crate::cards::serving::Serving;
use adjunct_survey::Cause;
use adjunct_survey::served::text::{number, numbers, sentence};
use adjunct_survey::served::{Standing, State, Verdict};
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use std::fmt::Write;

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

/// A line for each domain of a coprocessor, after an empty one; nothing where there is none.
pub fn coprocessors(all: &[Serving], style: Style) -> String {
    let line = |one: &Serving| match one.cause {
        Some(_) => style.bad(&one.line()),
        None => one.line(),
    };
    let lines: String = all.iter().map(|one| line(one) + "\n").collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
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
