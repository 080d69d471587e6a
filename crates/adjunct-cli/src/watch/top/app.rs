//! What the person in front of it chose: view, order, filter, pause; and what keys do.

use super::table::Table;
use super::views::{Period, View};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How a view is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Order {
    by: usize,
    descending: bool,
}

/// What a key led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Go,
    Quit,
}

/// The choices.
#[derive(Debug)]
pub(super) struct App {
    pub(super) view: View,
    orders: [Option<Order>; View::ALL.len()],
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    pub(super) paused: bool,
    pub(super) help: bool,
    /// The first row that is shown.
    pub(super) first: usize,
    /// When it was drawn last: the rows that were there, those that were shown, and the first one of the last page.
    pub(super) rows: usize,
    pub(super) shown: usize,
    pub(super) last: usize,
    /// What is shown; it stands still while paused.
    pub(super) period: Option<Period>,
}

impl App {
    pub(super) fn new(view: View, filter: String) -> App {
        App {
            view,
            orders: [None; View::ALL.len()],
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

    /// What was counted since the last time.
    pub(super) fn take(&mut self, period: Option<Period>) {
        if !self.paused && period.is_some() {
            self.period = period;
        }
    }

    /// The column that a table is sorted by, and whether from the greatest down.
    pub(super) fn order(&self, table: &Table) -> (usize, bool) {
        let chosen = self.orders[self.view as usize];
        chosen.map_or_else(|| (table.main, table.descends(table.main)), |order| (order.by, order.descending))
    }

    /// Sorts by the column so many to the right.
    fn move_order(&mut self, step: isize) {
        let Some(table) = self.period.as_ref().map(|period| period.table(self.view)) else { return };
        let columns = table.columns.len();
        let by = (self.order(&table).0 + columns).saturating_add_signed(step) % columns;
        self.orders[self.view as usize] = Some(Order { by, descending: table.descends(by) });
        self.first = 0;
    }

    fn reverse(&mut self) {
        let Some(table) = self.period.as_ref().map(|period| period.table(self.view)) else { return };
        let (by, descending) = self.order(&table);
        self.orders[self.view as usize] = Some(Order { by, descending: !descending });
    }

    fn show(&mut self, view: View) {
        (self.view, self.first) = (view, 0);
    }

    fn turn(&mut self, step: isize) {
        let all = View::ALL.len();
        self.show(View::ALL[(self.view as usize + all).saturating_add_signed(step) % all]);
    }

    fn scroll(&mut self, step: isize) {
        self.first = self.first.saturating_add_signed(step).min(self.last);
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
            self.first = 0;
            return Then::Go;
        }
        let page = isize::try_from(self.shown.max(1)).unwrap_or(isize::MAX);
        match key.code {
            KeyCode::Char('q' | 'Q') => return Then::Quit,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char(' ' | 'p') => self.paused = !self.paused,
            KeyCode::Char('r') => self.reverse(),
            KeyCode::Char('<') | KeyCode::Left => self.move_order(-1),
            KeyCode::Char('>' | 's') | KeyCode::Right => self.move_order(1),
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(-1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::PageUp => self.scroll(-page),
            KeyCode::PageDown => self.scroll(page),
            KeyCode::Home => self.first = 0,
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
