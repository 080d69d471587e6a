//! Tables as the tools of s390-tools print them: fields padded to their columns, one blank between them, and nothing cut off.

/// Alignment of a column's fields.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    /// Blanks behind.
    Left,
    /// Blanks before.
    Right,
}

/// A column: its heading, its side, and how wide it is at least.
pub type Column = (&'static str, Side, usize);

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    indent: usize,
}

impl Table {
    /// Makes a table with these columns.
    pub fn new(columns: &[Column]) -> Table {
        Table { columns: columns.to_vec(), indent: 0 }
    }

    /// Puts blanks before each line.
    pub fn indented(self, indent: usize) -> Table {
        Table { indent, ..self }
    }

    /// The headings and the line below them.
    pub fn heading(&self) -> String {
        let headings = self.columns.iter().map(|(heading, ..)| (*heading).to_owned());
        self.row(headings) + &self.line()
    }

    /// A line as long as the columns.
    pub fn line(&self) -> String {
        let width: usize = self.columns.iter().map(|(.., width)| width + 1).sum();
        format!("{}{}\n", " ".repeat(self.indent), "-".repeat(width.saturating_sub(1)))
    }

    /// A row.
    pub fn row(&self, fields: impl IntoIterator<Item = String>) -> String {
        let padded = self.columns.iter().zip(fields).map(|((_, side, width), field)| match side {
            Side::Left => format!("{field:<width$}"),
            Side::Right => format!("{field:>width$}"),
        });
        format!("{}{}\n", " ".repeat(self.indent), padded.collect::<Vec<_>>().join(" "))
    }
}
