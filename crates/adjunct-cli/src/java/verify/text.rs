//! The report of `adjunct java verify` for people.

use super::{Count, Handshake, Part, Service, VerifyReport, is_pkcs11};
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use std::fmt::Write as _;

/// The module's counters for a part, as text.
fn work(counted: &[Count], part: Part) -> String {
    let each = counted.iter().filter(|c| c.part == part).map(|c| match (c.hardware, c.software) {
        (hardware, 0) => format!("hardware: {} {hardware}", c.function),
        (0, software) => format!("software: {} {software}", c.function),
        (hardware, software) => format!("{} hardware {hardware}, software {software}", c.function),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A line of the table: what one provider served of a part.
struct Line {
    part: Part,
    services: Vec<String>,
    served: String,
    asked: String,
    elsewhere: bool,
}

/// The lines of a handshake; the services of a line have one name where Java has the same name for a key pair and what is done with it.
fn lines(services: &[Service]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for one in services {
        let name = one.service.split_once('.').map_or(one.service.as_str(), |(_, name)| name).to_owned();
        let elsewhere = one.went_elsewhere();
        let same = |l: &&mut Line| {
            (l.part, l.elsewhere) == (one.part, elsewhere) && (&l.served, &l.asked) == (&one.served, &one.asked)
        };
        match lines.iter_mut().find(same) {
            // A cipher's name alone is looked for beside that with its mode.
            Some(line) if line.services.iter().any(|s| *s == name || s.starts_with(&format!("{name}/"))) => {}
            Some(line) if line.services.iter().any(|s| name.starts_with(&format!("{s}/"))) => {
                line.services.retain(|s| !name.starts_with(&format!("{s}/")));
                line.services.push(name);
            }
            Some(line) => line.services.push(name),
            None => {
                let (served, asked) = (one.served.clone(), one.asked.clone());
                lines.push(Line { part: one.part, services: vec![name], served, asked, elsewhere });
            }
        }
    }
    lines
}

/// The report of a run that was ended early.
pub(super) fn partly(report: &VerifyReport, style: Style) -> String {
    let mut text = heading(report, style);
    for handshake in &report.handshakes {
        headline(&mut text, handshake, style);
        let parts = Part::ALL.into_iter().map(|part| (part.text(), work(&handshake.counted, part)));
        for (part, by) in parts.filter(|(_, by)| !by.is_empty()) {
            let _ = writeln!(text, "  {part:<14}{}", shown(&by));
        }
    }
    let _ = writeln!(
        text,
        "\n{} it was ended early: these are the module's counters alone; whom Java asked is known only at the end of a run",
        style.notice("note")
    );
    text
}

/// The Java, the configuration and its providers.
fn heading(report: &VerifyReport, style: Style) -> String {
    let mut text = format!("{}\n", style.strong(&format!("Java    {}", shown(&report.java))));
    let _ = writeln!(text, "{}", style.strong(&format!("config  {}", shown(&report.config))));
    let _ =
        writeln!(text, "        {}; random numbers by {}", shown(&report.providers.join(", ")), shown(&report.random));
    text
}

/// A handshake's name and suite, and why it failed; whether it did not.
fn headline(text: &mut String, handshake: &Handshake, style: Style) -> bool {
    let head = if handshake.suite.is_empty() { "failed" } else { &handshake.suite };
    let _ = writeln!(text, "\n{}", style.strong(&format!("{}, {}", handshake.name, shown(head))));
    if let Some(error) = &handshake.error {
        let _ = writeln!(text, "  {}", style.bad(&shown(error)));
    }
    handshake.error.is_none()
}

/// The whole report.
pub(super) fn whole(report: &VerifyReport, style: Style) -> String {
    let mut text = heading(report, style);
    let all: Vec<Vec<Line>> = report.handshakes.iter().map(|h| lines(&h.services)).collect();
    let width = all.iter().flatten().map(|l| l.services.join(" ").len() + 2).max().unwrap_or(0).max(12);
    for (handshake, lines) in report.handshakes.iter().zip(&all) {
        if !headline(&mut text, handshake, style) {
            continue;
        }
        let _ = writeln!(text, "  {:<14}{:<width$}{:<22}what did it", "part", "asked for", "served by");
        let mut before: Option<Part> = None;
        for line in lines {
            let part = if before == Some(line.part) { "" } else { line.part.text() };
            before = Some(line.part);
            let by = match work(&handshake.counted, line.part) {
                _ if line.elsewhere => format!("the JVM; asked was {}", line.asked),
                _ if !is_pkcs11(&line.served) => "the JVM".to_owned(),
                counted if counted.is_empty() => "the module, uncounted".to_owned(),
                counted => counted,
            };
            let row = format!(
                "  {part:<14}{:<width$}{:<22}{}",
                shown(&line.services.join(" ")),
                shown(&line.served),
                shown(&by)
            );
            let row = match (line.elsewhere, is_pkcs11(&line.served)) {
                (true, _) => style.bad(&row),
                (false, true) => style.good(&row),
                (false, false) => row,
            };
            let _ = writeln!(text, "{row}");
        }
    }
    text.push('\n');
    for note in &report.notes {
        let _ = writeln!(text, "{} {}", style.notice("note"), shown(note));
    }
    for wrong in &report.wrong {
        let _ = writeln!(text, "{} {}", style.bad("wrong"), shown(wrong));
    }
    if report.wrong.is_empty() {
        let _ = writeln!(text, "{}", style.good("all that the configuration enables for TLS is served by it"));
    }
    text
}
