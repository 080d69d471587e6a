//! The report as CSV (RFC 4180): one line a figure and side, for spreadsheets and data frames.

use super::report::{Column, Figure, Row, Section, SshReport, number};
use std::fmt::Write;

const HEAD: &str =
    "section,case,row,detail,measure,unit,side,median,quartile1,quartile3,runs,adjunct_ratio,served,paper,note\r\n";

/// The whole report.
pub fn text(report: &SshReport) -> String {
    let mut out = HEAD.to_owned();
    for section in &report.sections {
        for group in &section.groups {
            for row in &group.rows {
                add(&mut out, section, &group.title, row);
            }
        }
    }
    out
}

fn add(out: &mut String, section: &Section, case: &str, row: &Row) {
    let start = [&section.id, case, &row.name, &row.detail].map(quoted).join(",");
    if let Some(why) = &row.missing {
        let paper = section.measures.first().and_then(|m| row.paper.get(&m.id).map(|v| number(*v, m.decimals)));
        let _ = write!(out, "{start},,,,,,,,,,{},{}\r\n", paper.unwrap_or_default(), quoted(why));
        return;
    }
    for measure in &section.measures {
        let Some(figure) = row.figures.get(&measure.id) else { continue };
        let paper = row.paper.get(&measure.id).map(|v| number(*v, measure.decimals)).unwrap_or_default();
        for column in Column::ALL {
            let Some(stat) = figure.side(column) else { continue };
            let value = |v: f64| number(v, measure.decimals);
            let _ = write!(
                out,
                "{start},{},{},{},{},{},{},{},{},{},{paper},\r\n",
                measure.id,
                quoted(&measure.unit),
                column.text(),
                value(stat.median),
                value(stat.low),
                value(stat.high),
                stat.values.len(),
                ratio(figure, column),
                if column == Column::Adjunct { row.served.text() } else { "" },
            );
        }
    }
}

/// The ratio of adjunct's figure to this side's.
fn ratio(figure: &Figure, column: Column) -> String {
    let ratio = match column {
        Column::Software => figure.adjunct_to_software,
        Column::Stock => figure.adjunct_to_stock,
        Column::Adjunct => None,
    };
    ratio.map(|r| number(r, 2)).unwrap_or_default()
}

/// A field, in quotes where it needs them.
fn quoted(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    if text.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must() {
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
    }

    #[test]
    fn every_line_has_as_many_fields_as_the_head() {
        let fields = HEAD.matches(',').count();
        for line in text(&super::super::example::report()).lines() {
            let mut inside = false;
            let commas = line.chars().filter(|c| {
                inside ^= *c == '"';
                *c == ',' && !inside
            });
            assert_eq!(commas.count(), fields, "{line}");
        }
    }
}
