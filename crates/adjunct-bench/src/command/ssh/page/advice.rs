//! Advice that follows from the measurements.

use crate::command::ssh::opening::{Opening, Suite};
use crate::command::ssh::report::{Column, Row, SshReport, Verdict, number};
use maud::{Markup, html};

/// The last section.
pub fn section(report: &SshReport, opening: Option<&Opening<'_>>) -> Markup {
    html! {
        section id="advice" aria-labelledby="advice-title" {
            h2 id="advice-title" { "What to do" }
            ol {
                @if let Some(opening) = opening { (bulk(opening)) }
                @if let Some(keys) = logins(report) { li { (keys) } }
                li { "See before you change anything: " code { "adjunct setup --dry-run" } " shows every change and what it buys." }
                li {
                    "Do it: " code { "sudo adjunct setup" } " lets OpenSSL use adjunct and puts the fastest ciphers first, with real \
                     logins as the test; " code { "sudo adjunct setup --undo" } " takes it back."
                }
                li { "See that it holds: " code { "adjunct ssh verify" } ", and " code { "adjunct stats" } " from then on." }
                @if report.header.busy.is_some() {
                    li { "The machine was busy: repeat this when it is quiet, before you decide by small differences." }
                }
            }
        }
    }
}

fn bulk(opening: &Opening<'_>) -> Markup {
    let first: Vec<String> = opening.order.iter().take(3).map(cost).collect();
    html! {
        @if opening.tuned.cipher() == opening.default.cipher() {
            li { "Leave the order of ciphers as it is: " (opening.tuned.cipher()) " costs least here." }
        } @else if opening.verdict() == Verdict::Same {
            li {
                "No order of ciphers is surely better than OpenSSH's own by this run. Those that cost least with adjunct: "
                (first.join(", ")) "."
            }
        } @else {
            li { "Put the ciphers first that cost least here with adjunct: " (first.join(", ")) "." }
        }
    }
}

fn cost(suite: &Suite<'_>) -> String {
    format!("{} ({} CPU s for a GB)", suite.cipher(), number(suite.times()[1].median, 2))
}

/// The type of key that costs least.
fn logins(report: &SshReport) -> Option<String> {
    let section = report.sections.iter().find(|section| section.id == "small")?;
    let cpu = |row: &Row| Some(row.figures.get("cpu_ms")?.side(Column::Adjunct)?.median);
    let mut rows: Vec<(f64, &str)> = section.rows().filter_map(|row| Some((cpu(row)?, row.name.as_str()))).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, name), (most, other)) = (rows.first()?, rows.last()?);
    Some(format!(
        "For many short logins the key matters more than the cipher: with {name} keys a login takes {} CPU ms, with {other} keys {}.",
        number(*least, 1),
        number(*most, 1)
    ))
}
