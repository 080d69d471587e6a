//! The report as one self-contained page. It loads nothing from elsewhere and runs no script.

use super::report::{Ep11Report, Line};
use crate::ep11::row::Group;
use crate::harness::page::facts;
use adjunct_tool::page::page;
use maud::{Markup, html};

const TITLE: &str = "EP11 coprocessors by libep11's calls";
const GROUPS: [(Group, &str); 2] = [
    (Group::Small, "Small requests, beside the goals"),
    (Group::Express, "Rows of IBM's tables, beside a Crypto Express7S card"),
];

/// The page.
pub(super) fn text(report: &Ep11Report) -> String {
    let facts = facts([
        ("CPU", format!("{}, {}", report.cpu, report.features.join(" "))),
        ("Method", report.method()),
        ("Cards", report.cards.to_string()),
        ("Beside", "CEX7P: one Crypto Express7S card of an IBM z15 as EP11 coprocessor, in IBM's figures".to_owned()),
        ("adjunct", format!("{}, {}", report.adjunct, report.date)),
    ]);
    let main = html! {
        header { h1 { (TITLE) } p.muted { (report.cpu) } p.lead { (report.sentence()) } }
        @for (group, title) in GROUPS { (section(report, group, title)) }
        section {
            h2 { "How it was measured" }
            (facts)
            @if !report.reasons.is_empty() {
                ul { @for (letter, reason) in ('a'..='z').zip(&report.reasons) { li { "(" (letter) ") " (reason) "." } } }
            }
            @if let Some(busy) = report.watch.said() { p.muted { (busy) } }
        }
    };
    page(TITLE, &report.cpu, "", &main)
}

fn section(report: &Ep11Report, group: Group, title: &str) -> Markup {
    let rows: Vec<&Line> = report.rows.iter().filter(|line| line.group == group).collect();
    let name =
        |line: &Line| line.size.map_or_else(|| line.function.clone(), |size| format!("{} {size}", line.function));
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (title) }
                div.scroll {
                    table {
                        (report.rows.page_head("row"))
                        tbody { @for line in rows { (report.rows.page_line(&name(line), None, line)) } }
                    }
                }
            }
        }
    }
}
