//! The report as one self-contained page: the papers' charts (throughput, response times), processor time and memory, and the counters. It loads
//! nothing from elsewhere and runs no script.

use super::report::{JavaReport, Row, WAYS};
use crate::harness::page::{capital, facts, svg_open};
use crate::harness::row::Table;
use adjunct_tool::page::page;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write as _;

/// Style for the colours of the charts' parts, beside the common style.
const MORE: &str = "svg.chart text { fill: var(--ink); font-size: 13px; } svg.chart .value { fill: var(--muted); } \
    svg.chart .own { fill: var(--adjunct); } svg.chart .stock { fill: var(--stock); } svg.chart .other { fill: var(--software); } \
    svg.chart .faint { opacity: .45; }";
const TITLE: &str = "Java on Open Liberty with PKCS #11";

/// A chart of rows: for each a bar, and a longer faint one behind it.
struct Chart {
    title: &'static str,
    better: &'static str,
    decimals: usize,
    bar: fn(&Row) -> f64,
    behind: Option<fn(&Row) -> f64>,
}

const CHARTS: [Chart; 4] = [
    Chart {
        title: "Throughput, requests a second",
        better: "longer is better",
        decimals: 0,
        bar: |r| r.requests_per_second,
        behind: None,
    },
    Chart {
        title: "Response time, ms: average, and behind it 99 of 100",
        better: "shorter is better",
        decimals: 1,
        bar: |r| r.average_ms,
        behind: Some(|r| r.p99_ms),
    },
    Chart {
        title: "Processor seconds of the server for 1000 requests",
        better: "shorter is better",
        decimals: 2,
        bar: |r| r.cpu_per_1000,
        behind: None,
    },
    Chart {
        title: "Memory, MiB: what lives in the heap, and behind it the whole process",
        better: "shorter is better",
        decimals: 0,
        bar: |r| r.heap_mib.last().copied().unwrap_or(0.0),
        behind: Some(|r| r.rss_mib.last().copied().unwrap_or(0.0)),
    },
];

/// The page.
pub(super) fn text(report: &JavaReport) -> String {
    let main = html! {
        header {
            h1 { (TITLE) }
            p.muted { (report.cpu) ", " (report.java) }
            p.lead { (sentence(report)) }
        }
        (rows(report))
        @for (way, title) in WAYS { (section(report, way, title)) }
        (machine(report))
    };
    page(TITLE, &report.cpu, MORE, &main)
}

/// The result in one sentence: adjunct's rows beside HTTPS by the JDK alone.
fn sentence(report: &JavaReport) -> String {
    let mut parts = Vec::new();
    for ((way, _), when) in WAYS.into_iter().zip(["with a new connection for each", "where connections are kept"]) {
        let own = report.of(way).filter(|row| OWN.contains(&row.name.as_str()));
        let told = own.filter_map(|row| Some((&row.name, report.beside(row, "stock")?)));
        if let Some((name, (times, cpu))) = told.max_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b)) {
            parts.push(format!(
                "{times:.2} times as many requests a second {when} ({name}, {cpu:.2} times as many for a CPU second)"
            ));
        }
    }
    if parts.is_empty() {
        return "Nothing was measured beside HTTPS by the JDK alone.".to_owned();
    }
    format!("With adjunct's module the server answers {}, compared with HTTPS by the JDK alone.", parts.join(", and "))
}

/// The section that explains the rows.
fn rows(report: &JavaReport) -> Markup {
    html! {
        section {
            h2 { "What is compared" }
            dl { @for row in report.of(report.rows.first().map_or("new", |r| r.connections)) { dt { (row.name) } dd { (row.about) } } }
        }
    }
}

/// The rows with adjunct's module.
const OWN: [&str; 3] = ["rsa", "chosen", "all"];

fn section(report: &JavaReport, way: &str, title: &str) -> Markup {
    let rows: Vec<&Row> = report.of(way).collect();
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (capital(title)) }
                ul.legend {
                    li { i.software {} "without PKCS #11, or in another module" }
                    li { i.stock {} "HTTPS by the JDK alone" }
                    li { i.adjunct {} "adjunct's module" }
                }
                @for chart in &CHARTS {
                    figure {
                        figcaption { (chart.title) " (" (chart.better) ")" }
                        (PreEscaped(bars(chart, &rows, "narrow", 380.0))) (PreEscaped(bars(chart, &rows, "wide", 880.0)))
                    }
                }
                details open {
                    summary { "These figures as a table" }
                    div.scroll { (table(&report.table(way))) }
                    @for row in rows.iter().filter(|row| row.errors > 0) {
                        p.muted { (row.name) ": " (row.errors) " requests failed: " (row.error) }
                    }
                }
                details {
                    summary { "What icastats and cpacfstats counted" }
                    div.scroll { (counters(&rows)) }
                }
            }
        }
    }
}

const LEFT: f64 = 84.0;
const ROOM: f64 = 120.0;
const STEP: f64 = 26.0;

/// The chart as SVG, for phones and for wider pages: a row's name, its bar, its value.
fn bars(chart: &Chart, rows: &[&Row], layout: &str, width: f64) -> String {
    let of = |r: &Row| (chart.bar)(r).max(0.0);
    let behind = |r: &Row| chart.behind.map_or(0.0, |f| f(r).max(0.0));
    let most = rows.iter().map(|r| of(r).max(behind(r))).fold(1e-9, f64::max).min(1e15);
    let scale = (width - LEFT - ROOM) / most;
    let height = STEP * rows.len() as f64 + 4.0;
    let mut svg = svg_open(layout, width, height, chart.title);
    for (i, row) in rows.iter().enumerate() {
        let top = i as f64 * STEP + 4.0;
        let middle = top + 14.0;
        let class = match row.name.as_str() {
            "stock" => "stock",
            name if OWN.contains(&name) => "own",
            _ => "other",
        };
        let (value, back) = (of(row).min(1e15), behind(row).min(1e15));
        let _ = write!(svg, "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>", LEFT - 8.0, row.name);
        if back > 0.0 {
            let _ = write!(
                svg,
                "<rect class=\"{class} faint\" x=\"{LEFT}\" y=\"{top}\" width=\"{:.1}\" height=\"18\"/>",
                back * scale
            );
        }
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{top}\" width=\"{:.1}\" height=\"18\"/>",
            value * scale
        );
        let d = chart.decimals;
        let told = if back > 0.0 { format!("{value:.d$} / {back:.0}") } else { format!("{value:.d$}") };
        let _ = write!(
            svg,
            "<text class=\"value\" x=\"{:.1}\" y=\"{middle}\">{told}</text>",
            LEFT + value.max(back) * scale + 6.0
        );
    }
    svg + "</svg>"
}

fn table(rows: &Table<Row>) -> Markup {
    html! {
        table {
            (rows.page_head("row"))
            tbody { @for row in rows.iter() { (rows.page_line(&row.name, Some(&row.about), row)) } }
        }
    }
}

fn counters(rows: &[&Row]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "row" } th scope="col" { "function" } th scope="col" { "hardware" } th scope="col" { "software" } } }
            @for row in rows.iter().filter(|r| !r.icastats.is_empty()) {
                tbody {
                    @for (function, hardware, software) in &row.icastats {
                        tr { th scope="row" { (row.name) } td { (function) } td { (hardware) } td { (software) } }
                    }
                    @for (counter, value) in &row.cpacfstats {
                        tr { th scope="row" { (row.name) } td { "cpacfstats " (counter) } td { (value) } td {} }
                    }
                }
            }
        }
    }
}

fn machine(report: &JavaReport) -> Markup {
    let placed = report
        .processors
        .as_ref()
        .map(|[server, load]| ("placed", format!("servers on processor {server}, load on {load}")));
    let time = format!(
        "{} s a row in {} rounds, rows interleaved; load average before {:.1}",
        report.seconds, report.rounds, report.busy
    );
    let users = format!("{} threads, {} users, {} ms think time", report.threads, report.users, report.think_ms);
    let known = [
        ("processor", report.cpu.clone()),
        ("Java", report.java.clone()),
        ("server and load", report.versions.clone()),
    ];
    let told = [
        ("TLS", format!("{} {}, RSA-{}", report.protocol, report.suite, report.rsa_bits)),
        ("users", users),
        ("time", time),
    ];
    let missing = report.missing.iter().map(|missing| ("left out", missing.clone()));
    html! {
        section {
            h2 { "Machine and method" }
            (facts(known.into_iter().chain(placed).chain(told).chain(missing)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::sample;

    #[test]
    fn every_row_is_in_every_chart_and_nothing_is_asked_for() {
        let page = super::text(&sample());
        assert_eq!(page.matches("<svg").count(), 16);
        assert_eq!(page.matches("text-anchor=\"end\">rsa<").count(), 16);
        assert!(page.contains("CPU &lt;1&gt;") && page.contains("about &lt;rsa&gt;") && !page.contains("CPU <1>"));
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
    }
}
