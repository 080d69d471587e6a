//! The user's choices (view, order, filter, pause), and what keys do.

use super::parts::Part;
use super::table::{Cell, Table, identity, part};
use super::views::{Period, View};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How a view is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Order {
    by: usize,
    descending: bool,
}

/// Whether a key ends the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Go,
    Quit,
}

/// A table that the user left for the parts of one of its rows.
#[derive(Debug)]
struct Above {
    filter: String,
    order: Option<Order>,
    cursor: usize,
    chosen: Option<Vec<String>>,
}

/// The choices.
#[derive(Debug)]
pub(super) struct App {
    pub(super) view: View,
    orders: [Option<Order>; View::ALL.len()],
    /// The row whose parts are shown, behind the rows that it is a part of; empty: the view itself.
    pub(super) parts: Vec<Part>,
    above: Vec<Above>,
    order_of_parts: Option<Order>,
    /// The row that Enter opens.
    pub(super) cursor: usize,
    /// Key of the chosen row, which the cursor follows wherever the row goes.
    chosen: Option<Vec<String>>,
    moved: bool,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    pub(super) paused: bool,
    pub(super) help: bool,
    /// The first row that is shown.
    pub(super) first: usize,
    /// Rows at the last drawing: all of them, those that were shown, and the first one of the last page.
    pub(super) rows: usize,
    pub(super) shown: usize,
    pub(super) last: usize,
    /// The period that is shown; it does not change while paused.
    pub(super) period: Option<Period>,
}

impl App {
    pub(super) fn new(view: View, filter: String) -> App {
        App {
            view,
            orders: [None; View::ALL.len()],
            parts: Vec::new(),
            above: Vec::new(),
            order_of_parts: None,
            cursor: 0,
            chosen: None,
            moved: false,
            filter,
            typing: false,
            paused: false,
            help: false,
            first: 0,
            rows: 0,
            shown: 0,
            last: 0,
            period: None,
        }
    }

    /// Takes a new period, with the operations counted since the last one.
    pub(super) fn take(&mut self, period: Option<Period>) {
        if !self.paused && period.is_some() {
            self.period = period;
        }
    }

    /// The table that is shown: the view's, or the parts of a row.
    pub(super) fn table(&self) -> Option<Table> {
        let period = self.period.as_ref()?;
        Some(self.parts.last().map_or_else(|| period.table(self.view), |&part| period.parts(part)))
    }

    fn chosen_order(&mut self) -> &mut Option<Order> {
        if self.parts.is_empty() { &mut self.orders[self.view as usize] } else { &mut self.order_of_parts }
    }

    /// The column that a table is sorted by, and whether from the greatest down.
    pub(super) fn order(&self, table: &Table) -> (usize, bool) {
        let chosen = if self.parts.is_empty() { self.orders[self.view as usize] } else { self.order_of_parts };
        chosen.map_or_else(|| (table.main, table.descends(table.main)), |order| (order.by, order.descending))
    }

    /// Moves the sorting `step` columns to the right.
    fn move_order(&mut self, step: isize) {
        let Some(table) = self.table() else { return };
        let columns = table.columns.len();
        let by = (self.order(&table).0 + columns).saturating_add_signed(step) % columns;
        *self.chosen_order() = Some(Order { by, descending: table.descends(by) });
        self.start_over();
    }

    fn reverse(&mut self) {
        let Some(table) = self.table() else { return };
        let (by, descending) = self.order(&table);
        *self.chosen_order() = Some(Order { by, descending: !descending });
    }

    /// Goes to the first row, and lets the cursor follow no row.
    fn start_over(&mut self) {
        (self.first, self.cursor, self.chosen, self.moved) = (0, 0, None, false);
    }

    fn show(&mut self, view: View) {
        while !self.parts.is_empty() {
            self.back();
        }
        self.view = view;
        self.start_over();
    }

    /// Goes from the row at the cursor to its parts.
    fn enter(&mut self) {
        let Some(table) = self.table() else { return };
        let (by, descending) = self.order(&table);
        let rows = table.shown(&self.filter, by, descending);
        let Some(part) = rows.get(self.row_of(&rows)).and_then(|row| part(row)) else { return };
        let order = if self.parts.is_empty() { None } else { self.order_of_parts.take() };
        let (filter, chosen) = (std::mem::take(&mut self.filter), self.chosen.take());
        self.above.push(Above { filter, order, cursor: self.cursor, chosen });
        self.parts.push(part);
        self.start_over();
    }

    /// Goes from the parts of a row to the table that it is in.
    fn back(&mut self) {
        self.parts.pop();
        if let Some(above) = self.above.pop() {
            (self.filter, self.order_of_parts) = (above.filter, above.order);
            (self.cursor, self.chosen, self.first, self.moved) = (above.cursor, above.chosen, 0, false);
        }
    }

    /// Finds the cursor's row among those that are shown: the chosen one, wherever it is by now.
    pub(super) fn row_of(&mut self, rows: &[&Vec<Cell>]) -> usize {
        let last = rows.len().saturating_sub(1);
        if std::mem::take(&mut self.moved) {
            self.chosen = rows.get(self.cursor.min(last)).map(|row| identity(row));
        }
        let chosen = self.chosen.as_ref().and_then(|chosen| rows.iter().position(|row| identity(row) == *chosen));
        self.cursor = chosen.unwrap_or(self.cursor).min(last);
        self.cursor
    }

    fn turn(&mut self, step: isize) {
        let all = View::ALL.len();
        self.show(View::ALL[(self.view as usize + all).saturating_add_signed(step) % all]);
    }

    fn scroll(&mut self, step: isize) {
        self.cursor = self.cursor.saturating_add_signed(step).min(self.rows.saturating_sub(1));
        self.moved = true;
    }

    fn page(&mut self, step: isize) {
        let first = self.first.saturating_add_signed(step).min(self.last);
        // On the last page the cursor goes on alone, to the last row.
        let moved = if first == self.first { step } else { first.cast_signed() - self.first.cast_signed() };
        self.first = first;
        self.scroll(moved);
    }

    /// Does what a key stands for.
    pub(super) fn key(&mut self, key: KeyEvent) -> Then {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Then::Quit;
        }
        if self.typing {
            match key.code {
                KeyCode::Enter => self.typing = false,
                KeyCode::Esc => (self.typing, self.filter) = (false, String::new()),
                KeyCode::Backspace => _ = self.filter.pop(),
                KeyCode::Char('u') if control => self.filter.clear(),
                KeyCode::Char(c) if !control && self.filter.chars().count() < 40 => self.filter.push(c),
                _ => {}
            }
            self.start_over();
            return Then::Go;
        }
        let page = isize::try_from(self.shown.max(1)).unwrap_or(isize::MAX);
        match key.code {
            KeyCode::Char('q' | 'Q') => return Then::Quit,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Esc if self.filter.is_empty() => self.back(),
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Enter => self.enter(),
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char(' ' | 'p') => self.paused = !self.paused,
            KeyCode::Char('r') => self.reverse(),
            KeyCode::Char('<') | KeyCode::Left => self.move_order(-1),
            KeyCode::Char('>' | 's') | KeyCode::Right => self.move_order(1),
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(-1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::PageUp => self.page(-page),
            KeyCode::PageDown => self.page(page),
            KeyCode::Home => self.start_over(),
            KeyCode::End => self.scroll(isize::MAX),
            KeyCode::Char(digit @ '1'..='7') => {
                let place = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
                self.show(View::ALL[place]);
            }
            _ => {}
        }
        Then::Go
    }
}
