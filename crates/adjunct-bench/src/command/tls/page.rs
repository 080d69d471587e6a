//! The report as one self-contained page: the result in a sentence, ratios to stock as charts, all figures as tables, the papers' table, the machine.
//! It loads nothing from elsewhere and runs no script.

use super::plan::{CertificateKey, Side};
use super::report::{Row, Server, TlsReport};
use crate::harness::figures::Verdict;
use crate::harness::page::{facts, svg_open};
use adjunct_tool::page::page;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write as _;

/// Style for the colours of the charts' parts, beside the common style.
const MORE: &str = "svg.chart text { fill: var(--ink); font-size: 13px; } svg.chart .muted { fill: var(--muted); font-size: 12px; } \
    svg.chart .better { fill: var(--adjunct); } svg.chart .same { fill: var(--software); } svg.chart .worse { fill: var(--bad); } \
    svg.chart text.name { font-weight: 600; } svg.chart .name, svg.chart .over { paint-order: stroke; stroke: var(--card); stroke-width: 5px; } svg.chart .one { stroke: var(--stock); stroke-width: 1.5; } svg.chart .grid { stroke: var(--line); } \
    svg.chart .cpu { fill: var(--whisker); } i.worse { background: var(--bad); } \
    i.tick { background: var(--whisker); width: 3px !important; border-radius: 0 !important; } \
    i.line { background: var(--stock); width: 2px !important; border-radius: 0 !important; } \
    .scroll tr.name th { position: static; } .scroll tr.name span { position: sticky; left: .4rem; font: inherit; color: inherit; }";
const TITLE: &str = "TLS with and without crypto hardware";

/// The page.
pub fn text(report: &TlsReport) -> String {
    let main = html! {
        header {
            h1 { (TITLE) }
            p.muted { (report.cpu) ", " (report.openssl) ", " (report.date[..report.date.len().min(10)]) }
            p.lead { (sentence(report)) }
        }
        (overview(report))
        @for server in &report.servers { (section(report, server)) }
        (papers(report))
        (machine(report))
    };
    page(TITLE, &report.cpu, MORE, &main)
}

/// The best of the sides with adjunct of a case.
fn best<'a>(report: &'a TlsReport, row: &Row) -> Option<&'a Row> {
    let same = report.rows.iter().filter(|other| other.server == row.server && other.title == row.title);
    same.filter_map(|other| Some((other.told()?, other))).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, best)| best)
}

/// The result in one sentence.
fn sentence(report: &TlsReport) -> String {
    let mut parts = Vec::new();
    for key in CertificateKey::ALL.map(CertificateKey::name) {
        let of = report.rows.iter().filter(|row| row.certificate == key && row.sessions == "full" && !row.client_auth);
        let top = of.filter_map(|row| Some((row.told()?, row))).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((ratio, top)) = top {
            parts.push((format!("{ratio:.1} times as many"), format!("with {key} ({})", name(report, top.server))));
        }
    }
    let lowest = report.rows.iter().filter_map(Row::told).fold(f64::INFINITY, f64::min);
    match parts.as_slice() {
        [] => "Nothing was measured beside stock.".to_owned(),
        [(times, with), more @ ..] => {
            let more: String = more.iter().map(|(times, with)| format!(", {times} {with}")).collect();
            format!(
                "With adjunct, servers do up to {times} transactions a second as with stock OpenSSL {with}{more}; the smallest \
                 ratio of all rows is {lowest:.2}."
            )
        }
    }
}

fn name<'a>(report: &'a TlsReport, server: &'a str) -> &'a str {
    report.servers.iter().find(|s| s.server == server).map_or(server, |s| s.version.as_str())
}

/// A bar of a chart: its label, the ratio of transactions a second, and that of CPU time.
struct Bar {
    label: String,
    ratio: f64,
    cpu: Option<f64>,
    /// Whether the row differs from stock's, where that can be told.
    verdict: Option<Verdict>,
}

impl Bar {
    /// Makes the bar of a row that has stock beside it.
    fn new(label: &str, row: &Row) -> Option<Bar> {
        Some(Bar { label: label.to_owned(), ratio: row.ratio?, cpu: row.cpu_ratio, verdict: row.verdict() })
    }
}

/// Bars with a title.
struct Group {
    title: String,
    bars: Vec<Bar>,
}

fn overview(report: &TlsReport) -> Markup {
    let mut groups: Vec<Group> = Vec::new();
    for server in &report.servers {
        let mut bars = Vec::new();
        let rows = report.rows.iter().filter(|row| row.server == server.server && row.side == Side::Stock);
        for row in rows.filter(|row| row.sessions == "full" && !row.client_auth) {
            bars.extend(best(report, row).and_then(|best| Bar::new(&row.title, best)));
        }
        groups.push(Group { title: server.version.clone(), bars });
    }
    groups.retain(|group| !group.bars.is_empty());
    html! {
        @if !groups.is_empty() {
            section {
                h2 { "Transactions a second, over stock OpenSSL" }
                p { "Full handshakes; of the sides with adjunct the best." }
                (legend())
                (charts(&groups, "Transactions a second over stock, by server and certificate", [0.0, 236.0]))
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        ul.legend {
            li { i.line {} "stock" }
            li { i.adjunct {} "more than stock" }
            li { i.software {} "no difference told from chance" }
            li { i.worse {} "less" }
            li { i.tick {} "by CPU time: what it would be were the load no limit" }
        }
    }
}

fn section(report: &TlsReport, server: &Server) -> Markup {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.server == server.server).collect();
    let mut groups: Vec<Group> = Vec::new();
    for row in &rows {
        let Some(bar) = Bar::new(row.side.name(), row) else { continue };
        match groups.last_mut().filter(|group| group.title == row.title) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group { title: row.title.clone(), bars: vec![bar] }),
        }
    }
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (server.version) }
                @if !groups.is_empty() {
                    figure {
                        figcaption { "Transactions a second over stock's" }
                        (charts(&groups, &format!("{}: transactions a second over stock", server.version), [44.0, 60.0]))
                    }
                }
                details {
                    summary { "These figures as a table" }
                    div.scroll { (table(report, &rows)) }
                    @for row in rows.iter().filter(|row| row.errors > 0) {
                        p.muted { (row.title) ", " (row.side.name()) ": " (row.errors) " transactions failed: " (row.error) }
                    }
                }
            }
        }
    }
}

/// Draws the chart for phones and for wider pages, with this much room for the bars' labels; with none, labels stand above their bars.
fn charts(groups: &[Group], title: &str, [narrow, wide]: [f64; 2]) -> Markup {
    html! { (PreEscaped(chart(groups, title, narrow, false))) (PreEscaped(chart(groups, title, wide, true))) }
}

const STEP: f64 = 24.0;
const BAR: f64 = 15.0;
const HEAD: f64 = 24.0;
const GAP: f64 = 8.0;
const VALUE: f64 = 44.0;
/// A label above its bar.
const ABOVE: f64 = 19.0;
/// Height of the axis with its numbers and its title.
const AXIS: f64 = 42.0;

/// Draws a chart as SVG: a line where stock is, bars by groups, a tick for CPU time.
fn chart(groups: &[Group], title: &str, label: f64, wide: bool) -> String {
    let (class, width) = if wide { ("wide", 880.0) } else { ("narrow", 360.0) };
    // On wide pages a group's title is left of its bars' labels.
    let names = if wide { 236.0 } else { 0.0 };
    let above = if label > 0.0 { 0.0 } else { ABOVE };
    let left = if label > 0.0 { names + label + 8.0 } else { 2.0 };
    let all = || groups.iter().flat_map(|group| &group.bars);
    let most = all().flat_map(|bar| [Some(bar.ratio), bar.cpu]).flatten().fold(1.2, f64::max).min(1e6);
    let scale = (width - left - VALUE) / most;
    let head = if wide { 0.0 } else { HEAD };
    let height = groups.iter().map(|group| head + GAP + (STEP + above) * group.bars.len() as f64).sum::<f64>() + AXIS;
    let mut svg = svg_open(class, width, height, title);
    let step = [0.5, 1.0, 2.0, 5.0, 10.0, 50.0].into_iter().find(|step| most / step <= 6.0).unwrap_or(most);
    let mut at = step;
    while at <= most {
        let x = left + at * scale;
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\"/>\
             <text class=\"muted\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{at}</text>",
            height - AXIS + 2.0,
            height - AXIS + 18.0
        );
        at += step;
    }
    let _ = write!(
        svg,
        "<text class=\"muted\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">times stock</text>",
        left + (width - left - VALUE) / 2.0,
        height - 6.0
    );
    let x = left + scale;
    let _ = write!(svg, "<line class=\"one\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\"/>", height - AXIS + 2.0);
    let mut top = 0.0;
    for group in groups {
        let name = html! { (group.title) }.into_string();
        top += GAP / 2.0;
        if wide {
            let _ = write!(svg, "<text x=\"0\" y=\"{:.1}\">{name}</text>", top + 16.0);
        } else {
            let _ = write!(svg, "<text x=\"0\" y=\"{:.1}\" class=\"name\">{name}</text>", top + 15.0);
        }
        top += head;
        for bar in &group.bars {
            svg += &one(bar, left, top, scale, above);
            top += STEP + above;
        }
        top += GAP / 2.0;
    }
    svg + "</svg>"
}

fn one(bar: &Bar, left: f64, top: f64, scale: f64, above: f64) -> String {
    let ratio = bar.ratio.clamp(0.0, 1e6);
    let class = match bar.verdict {
        Some(Verdict::Better) => "better",
        Some(Verdict::Worse) => "worse",
        Some(Verdict::Same) | None => "same",
    };
    let label = html! { (bar.label) }.into_string();
    let end = left + ratio.max(bar.cpu.unwrap_or(0.0).clamp(0.0, 1e6)) * scale + 7.0;
    // Right of the line that stock is, where it would stand on it.
    let stock = left + scale;
    let end = if end < stock + 5.0 && end + VALUE - 7.0 > stock { stock + 5.0 } else { end };
    let (anchor, at, baseline) = if above > 0.0 { ("start", left, 17.0) } else { ("end", left - 8.0, 15.5) };
    let (baseline, top) = (top + baseline, top + above);
    let mut svg = format!(
        "<text class=\"muted over\" x=\"{at:.1}\" y=\"{baseline:.1}\" text-anchor=\"{anchor}\">{label}</text>\
         <rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"2\"/>\
         <text class=\"over\" x=\"{end:.1}\" y=\"{:.1}\">{ratio:.2}</text>",
        top + 4.0,
        ratio * scale,
        top + 16.0,
    );
    if let Some(cpu) = bar.cpu {
        let x = left + cpu.clamp(0.0, 1e6) * scale - 1.5;
        let _ = write!(
            svg,
            "<rect class=\"cpu\" x=\"{x:.1}\" y=\"{:.1}\" width=\"3\" height=\"{}\"/>",
            top + 1.5,
            BAR + 5.0
        );
    }
    svg
}

fn table(report: &TlsReport, rows: &[&Row]) -> Markup {
    let cases = rows.chunk_by(|one, next| one.title == next.title);
    html! {
        table {
            (report.rows.page_head("side"))
            @for case in cases { tbody {
                tr.name { th colspan=(report.rows.page_width()) scope="rowgroup" { span { (case[0].title) } } }
                @for row in case { (report.rows.page_line(row.side.name(), None, row)) }
            } }
        }
        @if rows.iter().any(|row| row.saturated()) {
            p.muted { "* the load had no processor time left: the server would do more, and CPU time decides" }
        }
    }
}

fn papers(report: &TlsReport) -> Markup {
    html! {
        section {
            h2 { "In the papers" }
            p.muted { (report.source) }
            div.scroll { table {
                thead { tr {
                    @for head in ["z15", "ETR", "over software", "CPU util. %", "crypto util. %"] { th scope="col" { (head) } }
                    @for server in &report.servers { th scope="col" { (server.version) } }
                } }
                tbody { @for (paper, title, ratio) in report.papers() { tr {
                    th scope="row" { (title) }
                    td { (paper.etr) }
                    td { (format!("{ratio:.1}")) }
                    td { (format!("{:.2}", paper.cpu_utilisation)) }
                    td { (paper.crypto_utilisation.map_or_else(|| "NA".to_owned(), |value| format!("{value:.1}"))) }
                    @for server in &report.servers {
                        td { @match report.like(&paper, server.server) {
                            Some((row, ratio)) => { (format!("{:.0}", row.tps)) @if let Some(ratio) = ratio { " (" (format!("{ratio:.1}")) ")" } }
                            None => { "–" }
                        } }
                    }
                } } }
            } }
            p.muted { "ETR is the external throughput rate, transactions a second. Of this run: the same, in brackets over stock's full handshakes." }
        }
    }
}

fn machine(report: &TlsReport) -> Markup {
    let placed = match &report.processors {
        Some([servers, load]) => format!("servers, daemon and cards on processor {servers}, load on {load}"),
        None => "servers and load share one processor".to_owned(),
    };
    let transaction =
        "connect, handshake, 2048 bytes from the server, end; no certificate is verified by the load while it measures";
    let time = format!("{} s a case in {} rounds, sides in turns; medians of rounds", report.seconds, report.rounds);
    let known = [
        ("processor", report.cpu.clone()),
        ("OpenSSL", report.openssl.clone()),
        ("adjunct", format!("{}, {}", report.adjunct, report.date)),
        ("placed", placed),
        ("transaction", transaction.to_owned()),
        ("clients", format!("{} at a time, each one transaction after the other", report.clients)),
        ("time", time),
    ];
    let always = report.always.then(|| ("cards", "asked for each RSA operation".to_owned()));
    let sides = [
        ("stock", "OpenSSL without adjunct"),
        (Side::Lanes.name(), "CPU assist, and lanes where the CPU has them, without cards"),
        ("card, cards", "the same beside one card, and beside two"),
    ];
    let sides = sides.map(|(name, about)| (name, about.to_owned()));
    let missing = report.missing.iter().map(|missing| ("left out", missing.clone()));
    html! {
        section {
            h2 { "Machine and method" }
            (facts(known.into_iter().chain(always).chain(sides).chain(missing)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::sample;
    use super::*;

    #[test]
    fn the_page_begins_with_the_result_and_asks_for_nothing() {
        let report = sample();
        let page = text(&report);
        let sentence = sentence(&report);
        assert!(
            sentence.contains("2.0 times as many with P-384 (nginx <2>)") || sentence.contains("(HAProxy <2>)"),
            "{sentence}"
        );
        assert!(sentence.ends_with("the smallest ratio of all rows is 0.50."), "{sentence}");
        assert!(page.find("p class=\"lead\"").unwrap() < page.find("<svg").unwrap());
        // The overview, and one for each server, each for phones and for wider pages.
        assert_eq!(page.matches("<svg").count(), 2 * 3);
        for class in ["better", "same", "worse"] {
            assert!(page.contains(&format!("<rect class=\"{class}\"")), "{class}");
        }
        assert!(page.contains("CPU &lt;1&gt;") && !page.contains("CPU <1>") && page.contains("13456"));
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
    }
}
