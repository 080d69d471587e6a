//! Rows, the columns that they have in a table for people, and the table.

use super::figures::Verdict;
use maud::{Markup, html};
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::Deref;

/// A row of a report: what serializes is its line of JSON, and its columns are its line of a table.
pub trait Row: Serialize + Sized {
    /// The columns of the rows' table, from left to right.
    fn columns() -> Vec<Column<Self>>;
}

/// What a row has in a column: text, or nothing.
pub trait Cell {
    /// The text, if there is one.
    fn text(self) -> Option<String>;
}

impl Cell for String {
    fn text(self) -> Option<String> {
        Some(self)
    }
}

impl Cell for Option<String> {
    fn text(self) -> Option<String> {
        self
    }
}

/// What a row has in a column.
type Of<R> = Box<dyn Fn(&R) -> Option<String>>;

/// A column of a table: its head, its width, and what a row has there.
pub struct Column<R> {
    head: String,
    width: usize,
    left: bool,
    cell: Of<R>,
    /// On a page: its head, what stands before a value, and whether the value is a good one.
    name: Option<String>,
    before: &'static str,
    verdict: Option<fn(&R) -> Option<Verdict>>,
}

impl<R> Column<R> {
    fn new<C: Cell>(left: bool, width: usize, head: impl Into<String>, cell: impl Fn(&R) -> C + 'static) -> Column<R> {
        let cell = Box::new(move |row: &R| cell(row).text());
        Column { head: head.into(), width, left, cell, name: None, before: "", verdict: None }
    }

    /// A column that only pages have.
    pub fn on_page<C: Cell>(head: impl Into<String>, cell: impl Fn(&R) -> C + 'static) -> Column<R> {
        Column::new(false, 0, head, cell)
    }

    /// Has another head on a page, where there is more room.
    #[must_use]
    pub fn named(self, name: &str) -> Column<R> {
        Column { name: Some(name.to_owned()), ..self }
    }

    /// On a page something stands before its values.
    #[must_use]
    pub fn before(self, before: &'static str) -> Column<R> {
        Column { before, ..self }
    }

    /// On a page its values have the colour of what is said of them.
    #[must_use]
    pub fn judged(self, verdict: fn(&R) -> Option<Verdict>) -> Column<R> {
        Column { verdict: Some(verdict), ..self }
    }

    /// A column of names, which begin at its left edge.
    pub fn left<C: Cell>(width: usize, head: impl Into<String>, cell: impl Fn(&R) -> C + 'static) -> Column<R> {
        Column::new(true, width, head, cell)
    }

    /// A column of numbers, which end at its right edge.
    pub fn right<C: Cell>(width: usize, head: impl Into<String>, cell: impl Fn(&R) -> C + 'static) -> Column<R> {
        Column::new(false, width, head, cell)
    }

    /// A column of rates, times or counts, with the digits of [`number`].
    pub fn rate(width: usize, head: &str, of: fn(&R) -> f64) -> Column<R>
    where
        R: 'static,
    {
        Column::right(width, head, move |row| number(of(row)))
    }

    /// A column of ratios, with two decimals.
    pub fn ratio(width: usize, head: &str, of: fn(&R) -> f64) -> Column<R>
    where
        R: 'static,
    {
        Column::right(width, head, move |row| fixed(of(row), 2))
    }

    /// What a row has there, if anything.
    pub fn of(&self, row: &R) -> Option<String> {
        (self.cell)(row)
    }

    /// The column's cell of a row on a page.
    fn cell(&self, row: &R) -> Markup {
        let class = self.verdict.map(|of| of(row).map_or("", Verdict::class));
        html! {
            td class=[class] {
                @match self.of(row) { Some(text) => { (self.before) (text.trim_end()) }, None => { "–" } }
            }
        }
    }

    fn padded(&self, text: &str) -> String {
        let width = self.width;
        if width == 0 {
            return String::new();
        }
        if self.left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }
}

/// A table: its columns, and its rows so far, which are what serializes.
pub struct Table<R> {
    columns: Vec<Column<R>>,
    rows: Vec<R>,
}

impl<R: Row> Default for Table<R> {
    fn default() -> Table<R> {
        Table::new(R::columns())
    }
}

impl<R> Table<R> {
    /// Makes a table without rows.
    pub fn new(columns: Vec<Column<R>>) -> Table<R> {
        Table { columns, rows: Vec::new() }
    }

    /// The line above the rows.
    pub fn head(&self) -> String {
        self.columns.iter().map(|column| column.padded(&column.head)).collect()
    }

    /// The line of a row; `-` stands where it has nothing.
    pub fn line(&self, row: &R) -> String {
        self.columns.iter().map(|column| column.padded(column.of(row).as_deref().unwrap_or("-"))).collect()
    }

    /// The head of the table on a page, whose first column is of the rows' names.
    pub fn page_head(&self, names: &str) -> Markup {
        let heads = self.columns.iter().map(|column| column.name.as_ref().unwrap_or(&column.head));
        html! { thead { tr { th scope="col" { (names) } @for head in heads { th scope="col" { (head) } } } } }
    }

    /// The columns of that table.
    pub fn page_width(&self) -> usize {
        self.columns.len() + 1
    }

    /// The line of a row on a page, with its name, and what that is in words.
    pub fn page_line(&self, name: &str, about: Option<&str>, row: &R) -> Markup {
        html! { tr { th scope="row" title=[about] { (name) } @for column in &self.columns { (column.cell(row)) } } }
    }

    /// Adds a row; its line.
    pub fn add(&mut self, row: R) -> String {
        let line = self.line(&row);
        self.rows.push(row);
        line
    }

    /// Adds rows without lines.
    pub fn extend(&mut self, rows: impl IntoIterator<Item = R>) {
        self.rows.extend(rows);
    }
}

impl<R> Deref for Table<R> {
    type Target = [R];

    fn deref(&self) -> &[R] {
        &self.rows
    }
}

impl<R: Serialize> Serialize for Table<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.rows.serialize(serializer)
    }
}

impl<R: fmt::Debug> fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}

/// A row that could not be measured, in JSON.
#[derive(Debug, Serialize)]
pub struct Trouble {
    function: String,
    /// Where rows have sizes: this one's, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Option<usize>>,
    error: String,
}

impl Trouble {
    /// Makes the trouble of a row in a report whose rows have no sizes.
    pub fn new(function: String, error: &str) -> Trouble {
        Trouble { function, size: None, error: error.to_owned() }
    }

    /// Makes the trouble of a row, perhaps without a size, in a report whose rows have sizes.
    pub fn of_size(function: String, size: Option<usize>, error: &str) -> Trouble {
        Trouble { function, size: Some(size), error: error.to_owned() }
    }
}

/// A number with `digits` digits after the point.
pub fn fixed(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}

/// A number with three to six digits, whatever its size.
pub fn number(value: f64) -> String {
    match value {
        v if v < 10.0 => fixed(v, 2),
        v if v < 100.0 => fixed(v, 1),
        v => fixed(v, 0),
    }
}

/// A part in percent, without the sign.
pub fn percent(part: f64) -> String {
    fixed(part * 100.0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize)]
    struct Pair(&'static str, Option<f64>);

    impl Row for Pair {
        fn columns() -> Vec<Column<Pair>> {
            vec![
                Column::left(6, "name", |pair: &Pair| pair.0.to_owned()),
                Column::right(5, "value", |pair: &Pair| pair.1.map(number)),
            ]
        }
    }

    #[test]
    fn rows_stand_below_their_heads_and_serialize_by_themselves() {
        let mut table = Table::default();
        assert_eq!(table.head(), "name  value");
        assert_eq!(table.add(Pair("a", Some(12.34))), "a      12.3");
        assert_eq!(table.add(Pair("too long", None)), "too long    -");
        assert_eq!(table.len(), 2);
        assert_eq!(serde_json::to_string(&table).unwrap(), r#"[["a",12.34],["too long",null]]"#);
    }

    #[test]
    fn what_failed_has_a_size_where_rows_have_one() {
        let json = |trouble: Trouble| serde_json::to_string(&trouble).unwrap();
        assert_eq!(json(Trouble::new("a".to_owned(), "b")), r#"{"function":"a","error":"b"}"#);
        assert_eq!(json(Trouble::of_size("a".to_owned(), None, "b")), r#"{"function":"a","size":null,"error":"b"}"#);
    }
}
