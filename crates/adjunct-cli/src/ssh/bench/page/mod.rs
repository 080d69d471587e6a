//! The report as one self-contained page: charts, the same figures as tables, the machine, the command to repeat it. It asks
//! for nothing from elsewhere and runs no script.

mod chart;

use super::report::{Column, Group, Header, Measure, Report, Row, Section, Stat, number};
use super::summary;
use crate::Failure;
use crate::page::page;
use chart::Layout;
use maud::{Markup, PreEscaped, html};

const TITLE: &str = "OpenSSH with and without crypto hardware";

/// The page.
///
/// # Errors
/// [`Failure`] where a chart cannot be drawn.
pub fn text(report: &Report) -> Result<String, Failure> {
    let header = &report.header;
    let mut sections = Vec::new();
    for section in &report.sections {
        sections.push(part(section)?);
    }
    let main = html! {
        header {
            h1 { (TITLE) }
            p.muted { (header.cpu) ", " (header.openssh) ", " (header.openssl) ", " time datetime=(header.date) { (header.date) } }
            nav aria-label="Contents" { ul {
                @for section in &report.sections { li { a href={"#" (section.id)} { (section.title) } } }
                li { a href="#machine" { "Machine and method" } }
            } }
        }
        div.cards { @for section in &report.sections { (card(section)) } }
        @for section in &sections { (section) }
        (machine(header))
    };
    Ok(page(TITLE, &header.cpu, &theme(), &main))
}

/// The charts' colours, by the style sheet's names for them: those change where the page is dark.
fn theme() -> String {
    let mut rules = String::new();
    let sides = Column::ALL.map(|c| (chart::colour(c), c.text()));
    let others = [(chart::INK, "ink"), (chart::MUTED, "muted"), (chart::GRID, "line"), (chart::WHISKER, "whisker")];
    for (colour, name) in sides.into_iter().chain(others) {
        let colour = chart::hex(colour);
        for kind in ["fill", "stroke"] {
            rules += &format!("svg.chart [{kind}=\"{colour}\"] {{ {kind}: var(--{name}); }}\n");
        }
    }
    rules
}

fn card(section: &Section) -> Markup {
    let lines = summary::lines(section);
    html! {
        @if !lines.is_empty() {
            div.card {
                h2 { (section.title) }
                dl { @for line in &lines {
                    dt { "adjunct to " (line.other) }
                    dd { @for (measure, ratio) in &line.ratios {
                        p { b class=(verdict(*ratio, measure.more_is_better)) { "×\u{2009}" (number(*ratio, 2)) } " " (measure.title) }
                    } }
                } }
                @if let Some(line) = lines.first() {
                    @if line.rows > 1 { p { "geometric means of " (line.rows) " rows" } }
                }
            }
        }
    }
}

fn part(section: &Section) -> Result<Markup, Failure> {
    let mut groups = Vec::new();
    for group in &section.groups {
        groups.push((charts(section, group)?, table(section, group)));
    }
    Ok(html! {
        section id=(section.id) aria-labelledby={(section.id) "-title"} {
            h2 id={(section.id) "-title"} { (section.title) }
            p { (section.about) }
            (legend())
            @for (group, (charts, table)) in section.groups.iter().zip(groups) {
                @if !group.title.is_empty() { h3 { (group.title) } }
                (charts)
                @for row in &group.rows { @if let Some(why) = &row.missing { p.muted { (row.name) ": " (why) } } }
                details {
                    summary { "These figures as a table" @if !group.title.is_empty() { ": " (group.title) } }
                    (table)
                }
            }
        }
    })
}

fn legend() -> Markup {
    html! {
        ul.legend aria-label="Bars, from top to bottom" {
            li { i.software {} "software: stock, instructions masked" }
            li { i.stock {} "stock OpenSSL" }
            li { i.adjunct {} "adjunct" }
        }
    }
}

fn charts(section: &Section, group: &Group) -> Result<Markup, Failure> {
    let mut figures = Vec::new();
    for id in &section.charts {
        let Some(measure) = section.measure(id) else { continue };
        let rows = chart::rows(&group.rows, measure);
        if rows.is_empty() {
            continue;
        }
        let caption = format!("{}, {}", capital(&measure.title), measure.unit);
        let of = if group.title.is_empty() { &section.title } else { &group.title };
        let title = format!("{of}: {caption}. Bars of software, stock and adjunct; the table below has the figures.");
        let narrow = chart::svg(&rows, measure, &title, Layout::Narrow)?;
        let wide = chart::svg(&rows, measure, &title, Layout::Wide)?;
        let better = if measure.more_is_better { "longer is better" } else { "shorter is better" };
        figures.push(html! {
            figure {
                figcaption { (caption) " (" (better) ")" }
                (PreEscaped(narrow)) (PreEscaped(wide))
            }
        });
    }
    Ok(html! { @for figure in figures { (figure) } })
}

fn table(section: &Section, group: &Group) -> Markup {
    html! {
        table {
            caption { "Medians, with half of what lies between the quartiles; what adjunct's is of the other sides'." }
            colgroup { col.measure; col.figure span="3"; col.ratio span="2"; }
            thead { tr {
                th scope="col" { "unit" }
                @for column in Column::ALL { th scope="col" { (column.text()) } }
                th scope="col" { "to stock" }
                th scope="col" { "to soft\u{ad}ware" }
            } }
            @for row in &group.rows { (rows(section, row)) }
        }
    }
}

fn rows(section: &Section, row: &Row) -> Markup {
    html! {
        tbody {
            tr.name { th colspan="6" scope="rowgroup" { (row.name) " " span { (about(section, row)) } } }
            @for measure in &section.measures {
                @if let Some(figure) = row.figures.get(&measure.id) {
                    tr {
                        th scope="row" { (measure.unit) }
                        @for column in Column::ALL { (cell(figure.side(column), measure)) }
                        (ratio(figure.adjunct_to_stock, measure)) (ratio(figure.adjunct_to_software, measure))
                    }
                }
            }
        }
    }
}

/// What stands beside a row's name.
fn about(section: &Section, row: &Row) -> String {
    let mut parts = Vec::new();
    if !row.detail.is_empty() {
        parts.push(row.detail.clone());
    }
    match &row.missing {
        Some(why) => parts.push(why.clone()),
        None => parts.push(format!("served: {}", row.served.text())),
    }
    for measure in &section.measures {
        if let Some(value) = row.paper.get(&measure.id) {
            parts.push(format!("in the paper: {} {}", number(*value, measure.decimals), measure.unit));
        }
    }
    parts.join("; ")
}

fn cell(stat: Option<&Stat>, measure: &Measure) -> Markup {
    html! {
        td {
            @match stat {
                Some(stat) => { (number(stat.median, measure.decimals)) small { (stat.spread_text()) } }
                None => { "–" }
            }
        }
    }
}

fn ratio(ratio: Option<f64>, measure: &Measure) -> Markup {
    html! {
        @match ratio {
            Some(ratio) => { td class=(verdict(ratio, measure.more_is_better)) { "×\u{2009}" (number(ratio, 2)) } }
            None => { td { "–" } }
        }
    }
}

/// The class of a ratio: better or worse by more than what a quiet machine's noise makes of it.
fn verdict(ratio: f64, more_is_better: bool) -> &'static str {
    let gain = if more_is_better { ratio } else { 1.0 / ratio.max(1e-9) };
    if gain >= 1.03 {
        "good"
    } else if gain <= 0.97 {
        "bad"
    } else {
        "same"
    }
}

fn machine(header: &Header) -> Markup {
    html! {
        section id="machine" aria-labelledby="machine-title" {
            h2 id="machine-title" { "Machine and method" }
            dl { @for (name, value) in super::facts(header) { dt { (name) } dd { (value) } } }
            p { "To repeat it:" }
            pre { code { (header.command) } }
        }
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Text for a place between quotes in the page.
fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::super::report::Figure;
    use super::*;

    #[test]
    fn every_figure_of_the_report_is_on_the_page() {
        let report = example::report();
        let page = text(&report).unwrap();
        for row in report.sections[0].rows() {
            assert!(page.contains(&row.name));
            for (id, figure) in &row.figures {
                let decimals = report.sections[0].measure(id).unwrap().decimals;
                for stat in Column::ALL.iter().filter_map(|c| figure.side(*c)) {
                    let value = number(stat.median, decimals);
                    assert!(page.matches(&value).count() >= 3, "{value} in the table and in both charts");
                }
            }
        }
        for fact in [&report.header.openssh, &report.header.openssl, &report.header.command, &report.header.date] {
            assert!(page.contains(fact.as_str()));
        }
    }

    #[test]
    fn the_page_asks_for_nothing_and_escapes_what_it_is_told() {
        let page = text(&example::report()).unwrap();
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"), "{page}");
        assert!(page.contains("CPU &lt;1&gt;") && !page.contains("CPU <1>"));
    }

    #[test]
    fn charts_of_odd_figures_are_drawn() {
        for value in [0.0, 1e-9, 1e300, f64::MAX] {
            let figure = Figure::new([&[value], &[], &[value]], 1);
            let measure = example::report().sections[0].measures[0].clone();
            for layout in [Layout::Narrow, Layout::Wide] {
                let svg = chart::svg(&[("x<y", &figure)], &measure, "a \"title\"", layout).unwrap();
                assert!(svg.ends_with("</svg>\n") && svg.contains("x&lt;y") && svg.contains("&quot;title&quot;"));
            }
        }
    }
}
