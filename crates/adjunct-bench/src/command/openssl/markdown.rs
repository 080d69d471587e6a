//! The report as tables for a document: the ratios of what has sizes, a column a size, and the rates of what has none.

use super::report::{OpenSslReport, Row};
use crate::harness::page::capital;
use std::fmt::Write;

/// The tables, under the machine and what it imitated.
pub fn of(report: &OpenSslReport) -> String {
    let mut text = String::new();
    if let Some(class) = &report.class {
        let _ = writeln!(text, "{}.\n", capital(&class.line()));
    }
    let _ = writeln!(text, "{}\n", report.header.text().trim_end().replace('\n', "; "));
    let (sized, single): (Vec<&Row>, Vec<&Row>) = report.rows.iter().partition(|row| row.size.is_some());
    text + &by_size(&sized) + &operations(&single)
}

fn by_size(rows: &[&Row]) -> String {
    let mut sizes: Vec<usize> = rows.iter().filter_map(|row| row.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        return String::new();
    }
    let mut text = String::from("| adjunct beside stock, bytes |");
    for size in &sizes {
        let _ = write!(text, " {size} |");
    }
    text += " ran |\n| --- |";
    text += &" --- |".repeat(sizes.len() + 1);
    text.push('\n');
    // Rows of one function follow each other.
    for group in rows.chunk_by(|a, b| a.function == b.function) {
        let _ = write!(text, "| {} |", group[0].function);
        for &size in &sizes {
            match group.iter().find(|row| row.size == Some(size)) {
                Some(row) => {
                    let _ = write!(text, " {:.2} |", row.ratio);
                }
                None => text += " |",
            }
        }
        let _ = writeln!(text, " {} |", group[0].ran());
    }
    text.push('\n');
    text
}

fn operations(rows: &[&Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("| operations a second | stock | adjunct | ratio | ran |\n| --- | --- | --- | --- | --- |\n");
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.2} | {} |",
            row.function,
            row.unit.number(row.stock),
            row.unit.number(row.adjunct),
            row.ratio,
            row.ran()
        );
    }
    text
}
