//! The report for a terminal.

use super::opening::Opening;
use super::report::{Column, Figure, Group, Header, Measure, Row, Section, SshReport, Stat, Verdict, number};
use super::{SET_UP, facts, starts, summary};
use adjunct_tool::output::{Style, wrapped};
use std::fmt::Write;

/// A name's room; longer ones push their figures to the right.
const NAME: usize = 34;
/// Columns of a figure, its spread included.
const FIGURE: usize = 18;

/// The text before the sections.
pub fn head(header: &Header, style: Style) -> String {
    let mut out = String::new();
    // Known at the end only.
    for (name, value) in facts(header).into_iter().filter(|(name, _)| *name != SET_UP) {
        let value = wrapped(&value, 95).join(&format!("\n{:15}", ""));
        let _ = writeln!(out, "{}{value}", style.faint(&format!("{name:<15}")));
    }
    let _ = writeln!(out, "{}{}", style.faint(&format!("{:<15}", "repeat")), header.command);
    out
}

/// The text behind the sections: whether the machine was busy, and the means over all rows.
pub fn end(report: &SshReport, style: Style) -> String {
    let mut out = String::new();
    if let Some(starts) = starts(&report.header) {
        let _ = writeln!(out, "\n{SET_UP}: {}", wrapped(&starts, 110).join("\n"));
    }
    if let Some(busy) = &report.header.busy {
        let _ = writeln!(out, "\n{}", style.notice(&wrapped(busy, 110).join("\n")));
    }
    if let Some(opening) = Opening::of(report) {
        let _ = writeln!(out, "\n{}", style.strong(&wrapped(&opening.sentence(), 110).join("\n")));
    }
    out
}

/// Writes a section as a table.
pub fn section(section: &Section, style: Style) -> String {
    let mut out = format!("\n{}\n{}\n", style.strong(&section.title), wrapped(&section.about, 110).join("\n"));
    for measure in &section.measures {
        if section.rows().any(|row| row.figures.contains_key(&measure.id)) {
            out += &figures(section, measure, style);
        }
    }
    for row in section.rows() {
        if let Some(why) = &row.missing {
            let _ = writeln!(out, "{}", style.faint(&format!("{}: {why}", row.name)));
        }
    }
    for line in summary::lines(section) {
        let _ = writeln!(out, "{}", line.sentence());
    }
    out
}

/// The rows of a measure as a table.
fn figures(section: &Section, measure: &Measure, style: Style) -> String {
    let better = if measure.more_is_better { "more" } else { "less" };
    let title = format!("{}, {} ({better} is better)", measure.title, measure.unit);
    let paper = section.rows().any(|row| row.paper.contains_key(&measure.id));
    let mut head = format!("{:NAME$}", "");
    for column in Column::ALL {
        let _ = write!(head, "{:>FIGURE$}", column.text());
    }
    let _ = write!(head, "{:>10}{:>13}", "to stock", "to software");
    if paper {
        let _ = write!(head, "{:>11}", "the paper");
    }
    let mut out = format!("\n{title}\n{}\n", style.faint(&head));
    for group in &section.groups {
        out += &rows(group, measure, style);
    }
    out
}

fn rows(group: &Group, measure: &Measure, style: Style) -> String {
    let mut out = String::new();
    let measured: Vec<_> = group.rows.iter().filter_map(|r| Some((r, r.figures.get(&measure.id)?))).collect();
    if !group.title.is_empty() && !measured.is_empty() {
        let _ = writeln!(out, "{}", group.title);
    }
    for (row, figure) in measured {
        let _ = writeln!(out, "{}", line(row, figure, measure, style));
    }
    out
}

fn line(row: &Row, figure: &Figure, measure: &Measure, style: Style) -> String {
    let mut out = format!("{:<NAME$}", format!("  {}", row.name));
    for column in Column::ALL {
        let _ = write!(out, "{}", cell(figure.side(column), measure, style));
    }
    let ratio = |value: Option<f64>, other: Column, width: usize| {
        let Some(value) = value else { return format!("{:>width$}", "-") };
        let text = format!("{:>width$}", number(value, 2));
        figure.verdict(other, measure.more_is_better).unwrap_or(Verdict::Same).paint(style, &text)
    };
    out += &ratio(figure.adjunct_to_stock, Column::Stock, 10);
    out += &ratio(figure.adjunct_to_software, Column::Software, 13);
    if let Some(paper) = row.paper.get(&measure.id) {
        let _ = write!(out, "{:>11}", number(*paper, measure.decimals));
    }
    out
}

fn cell(stat: Option<&Stat>, measure: &Measure, style: Style) -> String {
    let Some(stat) = stat else { return format!("{:>FIGURE$}", "-") };
    let (value, spread) = (number(stat.median, measure.decimals), format!("{:>8}", stat.spread_text()));
    format!("{value:>0$}{1}", FIGURE - 8, style.faint(&spread))
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn every_figure_is_shown_and_lines_fit() {
        let report = example::report();
        let text = section(&report.sections[0], Style::PLAIN);
        for row in report.sections[0].rows() {
            assert!(text.contains(&row.name));
            for (id, figure) in &row.figures {
                let decimals = report.sections[0].measure(id).unwrap().decimals;
                assert!(text.contains(&number(figure.stock.as_ref().unwrap().median, decimals)), "{text}");
            }
        }
        assert!(text.lines().all(|l| l.chars().count() <= 125), "{text}");
    }

    #[test]
    fn colours_are_for_terminals() {
        let report = example::report();
        assert!(!section(&report.sections[0], Style::PLAIN).contains('\x1b'));
        assert!(section(&report.sections[0], Style::COLOUR).contains('\x1b'));
    }
}
