//! The tables of `adjunct top`: columns that know their unit, rows that can be sorted and filtered.

use super::parts::Part;
use adjunct_tool::output::wrapped;
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Text,
    /// Things, exact.
    Count,
    /// Things a second.
    Rate,
    /// Bytes a second.
    Bytes,
    /// A part of all, from 0 to 1.
    Share,
    /// A number of things on average.
    Mean,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Title above the column.
    pub(super) title: &'static str,
    /// Key in JSON.
    pub(super) key: &'static str,
    pub(super) unit: Unit,
}

/// A column, in one line.
pub(super) const fn column(title: &'static str, key: &'static str, unit: Unit) -> Column {
    Column { title, key, unit }
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    Count(u64),
    /// A number with any unit, not exact; `None` where there is nothing to divide by.
    Real(Option<f64>),
    /// A part, which is not shown: what the row's parts are shown of. It stands behind the last column.
    Part(Part),
}

impl Cell {
    /// Text of a cell for people.
    pub(super) fn text(&self, unit: Unit) -> String {
        match (self, unit) {
            (Cell::Text(text), _) => text.clone(),
            (Cell::Part(_), _) => String::new(),
            (Cell::Count(count), _) => count.to_string(),
            (Cell::Real(None), _) => "-".to_owned(),
            (Cell::Real(Some(share)), Unit::Share) => format!("{:.1}%", share * 100.0),
            (Cell::Real(Some(mean)), Unit::Mean) => format!("{mean:.2}"),
            (Cell::Real(Some(number)), _) => short(*number),
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::Text(text) => text.as_str().into(),
            Cell::Count(count) => (*count).into(),
            Cell::Part(_) => Value::Null,
            Cell::Real(number) => number.map_or(Value::Null, |number| ((number * 1000.0).round() / 1000.0).into()),
        }
    }

    fn order(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (Cell::Count(a), Cell::Count(b)) => a.cmp(b),
            // What there is not comes before all there is.
            (Cell::Real(a), Cell::Real(b)) => a.unwrap_or(-1.0).total_cmp(&b.unwrap_or(-1.0)),
            _ => Ordering::Equal,
        }
    }
}

/// A number of three digits with the letter of its thousands: 0, 0.5, 12.3, 456, 7.89k, 12.3M.
pub(super) fn short(number: f64) -> String {
    let (mut scaled, mut letters) = (number, ["", "k", "M", "G", "T", "P", "E"].into_iter());
    let mut letter = letters.next().unwrap_or_default();
    // What would be rounded to 1000 is of the next letter.
    while scaled >= 999.5 {
        let Some(next) = letters.next() else { break };
        (scaled, letter) = (scaled / 1000.0, next);
    }
    match (scaled, letter) {
        (scaled, "") if scaled < 0.05 => "0".to_owned(),
        (scaled, "") if scaled < 99.95 => format!("{scaled:.1}"),
        (scaled, "") => format!("{scaled:.0}"),
        (scaled, letter) if scaled < 9.995 => format!("{scaled:.2}{letter}"),
        (scaled, letter) if scaled < 99.95 => format!("{scaled:.1}{letter}"),
        (scaled, letter) => format!("{scaled:.0}{letter}"),
    }
}

/// The thing that a row stands for, if its parts can be shown.
pub(super) fn part(row: &[Cell]) -> Option<Part> {
    match row.last() {
        Some(Cell::Part(part)) => Some(*part),
        _ => None,
    }
}

/// The texts that identify a row while its numbers change.
pub(super) fn identity(row: &[Cell]) -> Vec<String> {
    let told = |cell: &Cell| match cell {
        Cell::Text(text) => Some(text.clone()),
        _ => None,
    };
    row.iter().filter_map(told).collect()
}

/// A table.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) columns: &'static [Column],
    /// The column that the table is sorted by unless another is chosen, the greatest first.
    pub(super) main: usize,
    pub(super) rows: Vec<Vec<Cell>>,
    /// The message where there are no rows.
    pub(super) empty: String,
}

impl Table {
    /// The rows that have `filter` in a text, whatever its case, in the order of a column.
    pub(super) fn shown(&self, filter: &str, by: usize, descending: bool) -> Vec<&Vec<Cell>> {
        let filter = filter.to_lowercase();
        let has = |cell: &Cell| matches!(cell, Cell::Text(text) if text.to_lowercase().contains(&filter));
        let mut rows: Vec<_> = self.rows.iter().filter(|row| filter.is_empty() || row.iter().any(has)).collect();
        let order = |a: &&Vec<Cell>, b: &&Vec<Cell>| match (a.get(by), b.get(by)) {
            (Some(a), Some(b)) => a.order(b),
            _ => Ordering::Equal,
        };
        rows.sort_by(|a, b| if descending { order(b, a) } else { order(a, b) });
        rows
    }

    /// Whether a column is read from its greatest number down: all but those of texts.
    pub(super) fn descends(&self, by: usize) -> bool {
        self.columns.get(by).is_some_and(|column| column.unit != Unit::Text)
    }

    /// Rows for programs.
    pub(super) fn json(&self, rows: &[&Vec<Cell>]) -> Value {
        let object = |row: &&Vec<Cell>| {
            let pairs = self.columns.iter().zip(row.iter()).map(|(column, cell)| (column.key.to_owned(), cell.json()));
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        rows.iter().map(object).collect()
    }

    /// Head and rows, no wider than `width`. Texts that are too long for their column go on below. Columns that do not fit are left out, from
    /// the last on; before a last one of texts, which takes what is left, as many numbers as leave it room to be read.
    pub(super) fn lines(&self, rows: &[&Vec<Cell>], width: usize) -> Vec<Line> {
        let texts: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().zip(self.columns).map(|(cell, c)| cell.text(c.unit)).collect()).collect();
        let mut lines = vec![Line::default(); rows.len() + 1];
        let mut start = 0;
        for (at, (column, wide)) in self.columns.iter().zip(self.widths(&texts, width)).enumerate() {
            let cells =
                std::iter::once(column.title).chain(texts.iter().map(|row| row.get(at).map_or("", |text| text)));
            if wide > 0 && start > 0 {
                start += GAP;
            }
            for (line, cell) in lines.iter_mut().zip(cells) {
                line.cells.push((start, wide));
                if wide > 0 {
                    line.write(start, &wrapped(cell, wide), wide, column.unit != Unit::Text);
                }
            }
            start += wide;
        }
        lines.iter_mut().flat_map(|line| &mut line.texts).for_each(|text| text.truncate(text.trim_end().len()));
        lines
    }

    /// How wide each column is; 0 where it is left out.
    fn widths(&self, texts: &[Vec<String>], width: usize) -> Vec<usize> {
        let wanted: Vec<usize> = (self.columns.iter().enumerate())
            .map(|(at, column)| {
                let longest = texts.iter().filter_map(|row| row.get(at)).map(|text| text.chars().count()).max();
                // One name does not push all numbers out.
                let most = if at + 1 == self.columns.len() { usize::MAX } else { 30 };
                let least = if column.unit == Unit::Text { 6 } else { 8 };
                longest.unwrap_or(0).min(most).max(column.title.chars().count()).max(least)
            })
            .collect();
        // Of a last column of texts, what is to be there in any case.
        let ends_in_text =
            self.columns.len() > 1 && self.columns.last().is_some_and(|column| column.unit == Unit::Text);
        let (numbers, rest) = wanted.split_at(wanted.len() - usize::from(ends_in_text));
        let kept: usize = rest.iter().map(|wide| GAP + (*wide).min(READABLE)).sum();
        let (mut taken, mut widths) = (0, Vec::with_capacity(wanted.len()));
        for (at, wide) in numbers.iter().enumerate() {
            let more = wide + if at > 0 { GAP } else { 0 };
            if at > 0 && taken + more + kept > width {
                break;
            }
            taken += more;
            widths.push(*wide);
        }
        widths.resize(numbers.len(), 0);
        widths.extend(rest.iter().map(|wide| {
            let left = width.saturating_sub(taken + GAP);
            if left < 6 { 0 } else { left.min(*wide) }
        }));
        widths
    }
}

/// Between two columns.
const GAP: usize = 2;
/// The fewest characters of a line in which a sentence is still easily read.
const READABLE: usize = 28;

/// A row of a table, in as many lines as its longest text takes, and where each cell stands in them: from which character on, and how many;
/// none for a column that is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) texts: Vec<String>,
    pub(super) cells: Vec<(usize, usize)>,
}

impl Line {
    /// Puts a cell's lines there, one below the other.
    fn write(&mut self, start: usize, parts: &[String], wide: usize, right: bool) {
        let height = self.texts.len().max(parts.len());
        self.texts.resize(height, String::new());
        for (text, part) in self.texts.iter_mut().zip(parts) {
            let before = start.saturating_sub(text.chars().count());
            *text += &" ".repeat(before);
            *text += &if right { format!("{part:>wide$}") } else { format!("{part:<wide$}") };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        const COLUMNS: &[Column] =
            &[column("NAME", "name", Unit::Text), column("OPS/S", "ops", Unit::Rate), column("HW", "hw", Unit::Share)];
        let row = |name: &str, rate: f64, share: Option<f64>| {
            vec![Cell::Text(name.to_owned()), Cell::Real(Some(rate)), Cell::Real(share)]
        };
        let rows = vec![row("AES GCM", 1234.5, Some(1.0)), row("SHA-1", 0.2, Some(0.0)), row("RSA", 70_000.0, None)];
        Table { columns: COLUMNS, main: 1, rows, empty: String::new() }
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 0.04, 0.05, 9.96, 99.96, 999.4, 999.6, 1234.0, 99_950.0, 999_600.0, 1.5e9, 2e22];
        let texts = ["0", "0", "0.1", "10.0", "100", "999", "1.00k", "1.23k", "100k", "1.00M", "1.50G", "20000E"];
        assert_eq!(numbers.map(short), texts);
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let table = table();
        let names = |rows: Vec<&Vec<Cell>>| rows.iter().map(|row| row[0].text(Unit::Text)).collect::<Vec<_>>();
        assert_eq!(names(table.shown("", 1, true)), ["RSA", "AES GCM", "SHA-1"]);
        assert_eq!(names(table.shown("", 2, false)), ["RSA", "SHA-1", "AES GCM"]);
        assert_eq!(names(table.shown("aes", 0, false)), ["AES GCM"]);
        assert!(table.descends(1) && !table.descends(0));
        assert_eq!(
            table.json(&table.shown("rsa", 0, false)).to_string(),
            "[{\"name\":\"RSA\",\"ops\":70000.0,\"hw\":null}]"
        );
    }

    #[test]
    fn lines_keep_their_columns_and_leave_out_what_does_not_fit() {
        let table = table();
        let lines = table.lines(&table.shown("", 1, true), 80);
        let texts: Vec<_> = lines.iter().flat_map(|line| &line.texts).map(String::as_str).collect();
        assert_eq!(
            texts,
            [
                "NAME        OPS/S        HW",
                "RSA         70.0k         -",
                "AES GCM     1.23k    100.0%",
                "SHA-1         0.2      0.0%",
            ]
        );
        assert_eq!(lines[0].cells, [(0, 7), (9, 8), (19, 8)]);
        assert_eq!(table.lines(&[], 20)[0].cells, [(0, 6), (8, 8), (16, 0)]);
    }

    #[test]
    fn long_texts_go_on_below() {
        const COLUMNS: &[Column] =
            &[column("NAME", "name", Unit::Text), column("OPS/S", "ops", Unit::Rate), column("WHY", "why", Unit::Text)];
        let why = "no hardware path for this key size or parameter";
        let row = vec![Cell::Text("RSA".to_owned()), Cell::Real(Some(7.0)), Cell::Text(why.to_owned())];
        let table = Table { columns: COLUMNS, main: 1, rows: vec![row], empty: String::new() };
        let drawn = |width| {
            let lines = table.lines(&table.shown("", 1, true), width);
            lines.into_iter().flat_map(|line| line.texts).collect::<Vec<_>>()
        };
        assert_eq!(drawn(80)[1..], [format!("RSA          7.0  {why}")]);
        assert_eq!(
            drawn(50)[1..],
            ["RSA          7.0  no hardware path for this key", "                  size or parameter"]
        );
        // The sentence before the number.
        assert_eq!(drawn(40), ["NAME    WHY", "RSA     no hardware path for this key", "        size or parameter"]);
    }
}
