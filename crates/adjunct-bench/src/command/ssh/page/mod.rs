//! The report as one self-contained page: the answer in one sentence and one chart, then the papers' tables by their subject (today's ciphers,
//! logins, old ciphers), the machine, and what to do. It loads nothing from elsewhere and runs no script.

mod advice;
mod chart;

use super::opening::{Opening, Suite};
use super::plan;
use super::report::{Column, Group, Header, Measure, Row, Section, SshReport, Stat, Verdict, number};
use super::summary;
use crate::harness::page::{capital, facts};
use adjunct_tool::Failure;
use adjunct_tool::page::page;
use chart::{Bar, Layout, Line};
use maud::{Markup, PreEscaped, html};

const TITLE: &str = "OpenSSH with and without crypto hardware";

/// The page.
///
/// # Errors
/// [`Failure`] where a chart cannot be drawn.
pub fn text(report: &SshReport) -> Result<String, Failure> {
    let header = &report.header;
    let opening = Opening::of(report);
    let subjects = subjects(&report.sections);
    let parts = subjects.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    let main = html! {
        header {
            h1 { (TITLE) }
            p.muted { (header.cpu) ", " (header.openssh) ", " (header.openssl) ", " time datetime=(header.date) { (header.date) } }
            p.lead { (sentence(report, opening.as_ref())) }
            @if let Some(busy) = &header.busy { p.warning { (busy) } }
        }
        @if let Some(opening) = &opening { (answer(opening)?) }
        nav aria-label="Contents" { ul {
            @for subject in &subjects { li { a href={"#" (subject.id)} { (subject.title) } } }
            li { a href="#machine" { "Machine and method" } }
            li { a href="#advice" { "What to do" } }
        } }
        @for part in &parts { (part) }
        (machine(header))
        (advice::section(report, opening.as_ref()))
    };
    Ok(page(TITLE, &header.cpu, &theme(), &main))
}

/// Sums the report up in a sentence: by suites where they were measured, else by what was.
fn sentence(report: &SshReport, opening: Option<&Opening<'_>>) -> String {
    if let Some(opening) = opening {
        return opening.sentence().replace(" s ", "\u{a0}s ").replace(" CPU\u{a0}s", "\u{a0}CPU\u{a0}s");
    }
    let line = report.sections.iter().find_map(|section| summary::lines(section).into_iter().next());
    line.map_or_else(|| "Nothing was compared.".to_owned(), |line| line.sentence() + ".")
}

/// Draws the chart with the time and the processor time of three suites.
fn answer(opening: &Opening<'_>) -> Result<Markup, Failure> {
    let name = |what: &str, suite: Suite<'_>| format!("{what}: {}", suite.cipher());
    let suites = [
        opening.software.map(|suite| (name("software", suite), suite)),
        Some((name("default", opening.default), opening.default)),
        Some((name("adjunct", opening.tuned), opening.tuned)),
    ];
    let suites: Vec<_> = suites.into_iter().flatten().collect();
    let lines: Vec<Line<'_>> = suites
        .iter()
        .map(|(name, suite)| {
            let [time, cpu] = suite.times();
            let bar = |stat, unit| {
                let stat: &Stat = stat;
                Bar { column: suite.column, stat, text: format!("{} {unit}", number(stat.median, 2)) }
            };
            Line { name, bars: vec![bar(time, "s"), bar(cpu, "CPU s")] }
        })
        .collect();
    let title = "Seconds, and CPU seconds of both sides, to copy 1 GB by ssh";
    let narrow = chart::svg(&lines, "seconds for a GB", title, Layout::Narrow)?;
    let wide = chart::svg(&lines, "seconds for a GB", title, Layout::Above)?;
    Ok(html! {
        section id="answer" {
            figure {
                figcaption { (title) " (shorter is better)" }
                (PreEscaped(narrow)) (PreEscaped(wide))
            }
            p.muted {
                "Of each the time, and below it the CPU time of both sides. default: what OpenSSH chooses by itself, with stock OpenSSL; \
                 adjunct: the cipher that costs least with it; software: that cipher without crypto instructions. Whiskers: the middle \
                 half of the runs."
            }
        }
    })
}

/// The report's sections as the page has them: by their subject, old ciphers last.
fn subjects(sections: &[Section]) -> Vec<Section> {
    let of = |section: &Section, old: bool| {
        let mut part = section.clone();
        for group in &mut part.groups {
            group.rows.retain(|row| plan::old(&row.name) == old);
        }
        part.groups.retain(|group| !group.rows.is_empty());
        part
    };
    let bulk = |section: &&Section| !["small", "figure7"].contains(&section.id.as_str());
    let today = sections.iter().filter(bulk).map(|section| of(section, false));
    let logins = sections.iter().filter(|section| section.id == "small").cloned();
    // What stands there again, in another order, was shown once.
    let old = sections.iter().filter(bulk).filter(|section| !section.again).map(|section| {
        let old = of(section, true);
        Section { id: format!("{}-old", old.id), title: format!("Old ciphers: {}", old.title), ..old }
    });
    let figure7 = sections.iter().filter(|section| section.id == "figure7");
    let figure7 =
        figure7.map(|section| Section { title: format!("Old ciphers: {}", section.title), ..section.clone() });
    let all = today.chain(logins).chain(old).chain(figure7);
    all.filter(|section| section.rows().next().is_some()).collect()
}

/// The charts' colours, by the style sheet's names for them: those change where the page is dark.
fn theme() -> String {
    let mut rules = String::new();
    let sides = Column::ALL.map(|c| (chart::colour(c), c.text()));
    let others = [
        (chart::INK, "ink"),
        (chart::MUTED, "muted"),
        (chart::GRID, "line"),
        (chart::WHISKER, "whisker"),
        (chart::CARD, "card"),
    ];
    for (colour, name) in sides.into_iter().chain(others) {
        let colour = chart::hex(colour);
        for kind in ["fill", "stroke"] {
            rules += &format!("svg.chart [{kind}=\"{colour}\"] {{ {kind}: var(--{name}); }}\n");
        }
    }
    rules
}

fn part(section: &Section) -> Result<Markup, Failure> {
    let mut groups = Vec::new();
    for group in &section.groups {
        let measured = group.rows.iter().any(|row| row.missing.is_none());
        groups.push((charts(section, group)?, measured.then(|| table(section, group))));
    }
    Ok(html! {
        section id=(section.id) aria-labelledby={(section.id) "-title"} {
            h2 id={(section.id) "-title"} { (section.title) }
            p { (section.about) }
            @for line in summary::lines(section) { p { (line.sentence().replace("× ", "×\u{a0}")) "." } }
            (legend())
            @for (group, (charts, table)) in section.groups.iter().zip(groups) {
                @if !group.title.is_empty() { h3 { (group.title) } }
                (charts)
                @for (why, names) in missing(group) { p.muted { (names.join(", ")) ": " (why) } }
                @if let Some(table) = table {
                    details {
                        summary { "These figures as a table" @if !group.title.is_empty() { ": " (group.title) } }
                        (table)
                    }
                }
            }
        }
    })
}

/// The rows that were not measured, grouped by the reason.
fn missing(group: &Group) -> Vec<(&str, Vec<&str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (row, why) in group.rows.iter().filter_map(|row| Some((row, row.missing.as_deref()?))) {
        match all.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(&row.name),
            None => all.push((why, vec![&row.name])),
        }
    }
    all
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
        let lines = chart::lines(&group.rows, measure);
        if lines.is_empty() {
            continue;
        }
        let caption = format!("{}, {}", capital(&measure.title), measure.unit);
        let of = if group.title.is_empty() { &section.title } else { &group.title };
        let title = format!("{of}: {caption}. Bars of software, stock and adjunct; the table below has the figures.");
        let narrow = chart::svg(&lines, &measure.unit, &title, Layout::Narrow)?;
        let wide = chart::svg(&lines, &measure.unit, &title, Layout::Wide)?;
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
            caption {
                "Medians, with half of what lies between the quartiles; what adjunct's is of the other sides'. Green: adjunct is better; red: worse; grey: no difference, the \
                 whiskers overlap or chance is not ruled out."
            }
            colgroup { col.measure; col.figure span="3"; col.ratio span="2"; }
            thead { tr {
                th scope="col" { "unit" }
                @for column in Column::ALL { th scope="col" { (column.text().replace("software", "soft\u{ad}ware")) } }
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
                        @for (other, of) in [(Column::Stock, figure.adjunct_to_stock), (Column::Software, figure.adjunct_to_software)] {
                            (ratio(of, figure.verdict(other, measure.more_is_better)))
                        }
                    }
                }
            }
        }
    }
}

/// The text beside a row's name.
fn about(section: &Section, row: &Row) -> String {
    let mut parts = Vec::new();
    if !row.detail.is_empty() {
        parts.push(row.detail.clone());
    }
    match &row.missing {
        Some(why) => parts.push(why.clone()),
        None => parts.push(format!("served: {}", row.served.text())),
    }
    let paper = section.measures.iter().filter_map(|measure| {
        Some(format!("{} {}", number(*row.paper.get(&measure.id)?, measure.decimals), measure.unit))
    });
    let paper: Vec<_> = paper.collect();
    if !paper.is_empty() {
        parts.push(format!("in the paper: {}", paper.join(", ")));
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

fn ratio(ratio: Option<f64>, verdict: Option<Verdict>) -> Markup {
    let class = verdict.unwrap_or(Verdict::Same).class();
    html! {
        @match ratio {
            Some(ratio) => {
                td class=(class) title=[(class == "same").then_some("no difference")] { "×" (number(ratio, 2)) }
            }
            None => { td { "–" } }
        }
    }
}

fn machine(header: &Header) -> Markup {
    html! {
        section id="machine" aria-labelledby="machine-title" {
            h2 id="machine-title" { "Machine and method" }
            (facts(super::facts(header)))
            p { "To repeat it:" }
            pre { code { (header.command) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
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
    fn the_page_begins_with_the_answer_and_ends_with_what_to_do() {
        let page = text(&example::suites()).unwrap();
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not there"));
        let order = [
            "Copying 1 GB by ssh takes",
            "<svg",
            "id=\"table2\"",
            "id=\"table2-old\"",
            "id=\"machine\"",
            "id=\"advice\"",
        ];
        assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])));
        let (_, old) = page.split_once("id=\"table2-old\"").unwrap();
        assert!(old.contains("aes128-cbc") && !page.split_once("id=\"table2-old\"").unwrap().0.contains("aes128-cbc"));
        assert!(
            page.matches("<section").last().is_some() && page.rfind("<section").unwrap() < place("What to do</h2>")
        );
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
            let stat = Stat::new(&[value], 1).unwrap();
            let bar = |column| Bar { column, stat: &stat, text: "text".to_owned() };
            let line = Line { name: "x<y", bars: vec![bar(Column::Software), bar(Column::Adjunct)] };
            for layout in [Layout::Narrow, Layout::Wide, Layout::Above] {
                let svg = chart::svg(std::slice::from_ref(&line), "unit", "a \"title\"", layout).unwrap();
                assert!(svg.ends_with("</svg>\n") && svg.contains("x&lt;y") && svg.contains("&quot;title&quot;"));
            }
        }
    }
}
