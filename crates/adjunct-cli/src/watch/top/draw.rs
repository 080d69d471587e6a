//! The screen: five lines about the machine, the table, a line of keys. Made for 80 columns and 24 lines, and drawn on a screen of any size.

use super::app::App;
use super::table::{Table, Unit, short};
use super::views::View;
use crate::watch::sample::Cards;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

/// The facts about the machine in the title.
#[derive(Debug, Clone)]
pub(super) struct Title {
    pub(super) host: String,
    /// The time, as people read it.
    pub(super) time: String,
    /// Seconds between two samples.
    pub(super) interval: f64,
    /// Whether these are the counters of all users.
    pub(super) all_users: bool,
    /// No colours.
    pub(super) plain: bool,
}

const KEYS: &str = "q quit  1-7 view  Enter parts  <> sort  r reverse  / filter  space pause  ? help";
const KEYS_OF_PARTS: &str = "q quit  Esc back  Enter parts  <> sort  r reverse  / filter  space pause  ? help";
const HELP: &[&str] = &[
    "1 functions   2 users    3 processes   4 why software   5 lanes",
    "6 cards       7 PKCS #11 mechanisms by slot           Tab: the next",
    "",
    "< >  the column to sort by             r     the other way round",
    "/    only rows with a text             Esc   all rows",
    "space, p  stand still and go on        up, down, page: choose a row",
    "Enter  what the row is made of: processes, users, functions, key sizes,",
    "       reasons; Enter again goes on    Esc   back          q    quit",
    "",
    "HW/S and SW/S: operations a second that dedicated instructions, lanes",
    "or cards did, and that software did. HW%: the part of hardware. TOTAL:",
    "since counting began. Rates of processes come from the slots of their",
    "threads; what ended meanwhile stands together.",
];

/// Draws the screen.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, title: &Title) {
    let area = frame.area();
    let paint = Paint { plain: title.plain };
    let line = |y: u16| Rect { x: area.x, y: area.y + y, width: area.width, height: 1 };
    if area.height < 6 || area.width < 20 {
        frame.render_widget(Paragraph::new("adjunct top: larger, please (20x6 at least)"), area);
        return;
    }
    frame.render_widget(Paragraph::new(headline(app, title)), line(0));
    frame.render_widget(Paragraph::new(summary(app, paint)), line(1));
    frame.render_widget(Paragraph::new(tabs(app)), line(2));
    let body = Rect { x: area.x, y: area.y + 3, width: area.width, height: area.height - 4 };
    frame.render_widget(Paragraph::new(table(app, body, paint)), body);
    frame.render_widget(Paragraph::new(footer(app)), line(area.height - 1));
    if app.help {
        help(frame, body);
    }
}

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
struct Paint {
    plain: bool,
}

impl Paint {
    fn colour(self, colour: Color) -> Style {
        if self.plain { Style::new() } else { Style::new().fg(colour) }
    }

    /// Style for a share of hardware (0 to 1).
    fn share(self, share: Option<f64>) -> Style {
        match share {
            None => Style::new(),
            Some(share) if share >= 0.8 => self.colour(Color::Green),
            Some(share) if share >= 0.2 => self.colour(Color::Yellow),
            Some(_) => self.colour(Color::Red),
        }
    }
}

const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

fn headline(app: &App, title: &Title) -> Line<'static> {
    let whose = if title.all_users { "all users" } else { "your own counters" };
    let paused = if app.paused { "  PAUSED" } else { "" };
    let rest = format!("  {}  {}  every {} s  {whose}", title.host, title.time, title.interval);
    Line::from(vec![Span::styled("adjunct top", STRONG), Span::raw(rest), Span::styled(paused, STRONG)])
}

fn summary(app: &App, paint: Paint) -> Line<'static> {
    let Some(period) = &app.period else { return Line::raw("measuring ...") };
    let work = period.work();
    let rate = |number: u64| short(number as f64 / period.seconds);
    let share = work.share();
    let filled = share.map_or(0, |share| (share * 10.0).round() as usize);
    let bar = format!("[{}{}]", "#".repeat(filled), "-".repeat(10 - filled));
    let text = share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", share * 100.0));
    let programs: u64 = period.now.users.iter().map(|counted| counted.attached).sum();
    let cards = match &period.now.cards {
        Cards::Running(machine) => {
            let online = machine.cards.iter().filter(|card| card.is_online()).count();
            format!("{online}/{} cards", machine.cards.len())
        }
        Cards::NotRunning => "no cards".to_owned(),
        Cards::Unreadable(_) => "cards?".to_owned(),
    };
    let unread = period.now.wrong.len();
    let mut spans = vec![
        Span::raw(format!("{} ops/s  {} bytes/s  hardware ", rate(work.operations()), rate(work.bytes))),
        Span::styled(format!("{bar} {text}"), paint.share(share)),
        Span::raw(format!("  {programs} processes  {cards}")),
    ];
    if unread > 0 {
        spans.push(Span::styled(format!("  {unread} unreadable"), paint.colour(Color::Red)));
    }
    Line::from(spans)
}

fn tabs(app: &App) -> Line<'static> {
    if let (Some(period), false) = (&app.period, app.parts.is_empty()) {
        let way = std::iter::once(app.view.name().to_owned()).chain(app.parts.iter().map(|&part| period.title(part)));
        return Line::styled(way.collect::<Vec<_>>().join(" > "), STRONG);
    }
    let tab = |(number, view): (usize, View)| {
        let style = if view == app.view { REVERSED } else { Style::new() };
        [Span::styled(format!("{number} {}", view.name()), style), Span::raw("  ")]
    };
    Line::from((1..).zip(View::ALL).flat_map(tab).collect::<Vec<_>>())
}

/// The lines of the table that there is room for.
fn table(app: &mut App, body: Rect, paint: Paint) -> Vec<Line<'static>> {
    let Some(table) = app.table() else { return Vec::new() };
    let (by, descending) = app.order(&table);
    let rows = table.shown(&app.filter, by, descending);
    let lines = table.lines(&rows, usize::from(body.width));
    let cursor = app.row_of(&rows);
    place(app, &lines[1..], cursor, usize::from(body.height).saturating_sub(1));
    if rows.is_empty() {
        let why = if table.rows.is_empty() { table.empty.clone() } else { format!("no row has \"{}\"", app.filter) };
        return vec![Line::raw(""), Line::raw(adjunct_tool::escape::shown(&why))];
    }
    let mut drawn = vec![head(&lines[0], by, usize::from(body.width))];
    for (at, (line, row)) in lines.iter().skip(1).zip(&rows).enumerate().skip(app.first).take(app.shown) {
        let mut first = coloured(line, row, &table, paint);
        if at == cursor {
            first = first.style(REVERSED);
        }
        drawn.push(first);
        drawn.extend(line.texts.iter().skip(1).map(|text| Line::raw(text.clone())));
    }
    drawn
}

/// Chooses the rows that are shown in `room` lines, of which a row may take several: one row in any case, and the one at the cursor.
fn place(app: &mut App, rows: &[super::table::Line], cursor: usize, room: usize) {
    fn fit<'a>(rows: impl Iterator<Item = &'a super::table::Line>, room: usize) -> usize {
        let mut lines = 0;
        rows.take_while(|row| {
            lines += row.texts.len();
            lines <= room
        })
        .count()
    }
    app.rows = rows.len();
    app.last = app.rows.saturating_sub(fit(rows.iter().rev(), room).max(1));
    app.first = app.first.min(app.last).min(cursor);
    let shown = |first: usize| fit(rows.iter().skip(first), room).max(1).min(rows.len());
    while cursor >= app.first + shown(app.first) && app.first < app.last {
        app.first += 1;
    }
    app.shown = shown(app.first);
}

/// The titles, with the one that the table is sorted by set off.
fn head(line: &super::table::Line, by: usize, width: usize) -> Line<'static> {
    let text = format!("{:<width$}", line.texts.first().map_or("", String::as_str));
    let Some(&(start, wide)) = line.cells.get(by) else { return Line::styled(text, REVERSED) };
    let part = |from: usize, count: usize| text.chars().skip(from).take(count).collect::<String>();
    Line::from(vec![
        Span::styled(part(0, start), REVERSED),
        Span::styled(part(start, wide), STRONG.add_modifier(Modifier::UNDERLINED)),
        Span::styled(part(start + wide, usize::MAX), REVERSED),
    ])
}

/// The first line of a row, with its share of hardware in colour.
fn coloured(line: &super::table::Line, row: &[super::table::Cell], table: &Table, paint: Paint) -> Line<'static> {
    let at = table.columns.iter().position(|column| column.unit == Unit::Share);
    let share = at.and_then(|at| match (line.cells.get(at), row.get(at)) {
        (Some(place), Some(super::table::Cell::Real(Some(share)))) => Some((*place, *share)),
        _ => None,
    });
    let text = line.texts.first().map_or("", String::as_str);
    let Some(((start, wide), share)) = share else { return Line::raw(text.to_owned()) };
    let part = |from: usize, count: usize| text.chars().skip(from).take(count).collect::<String>();
    Line::from(vec![
        Span::raw(part(0, start)),
        Span::styled(part(start, wide), paint.share(Some(share))),
        Span::raw(part(start + wide, usize::MAX)),
    ])
}

fn footer(app: &App) -> Line<'static> {
    let filter = adjunct_tool::escape::shown(&app.filter);
    if app.typing {
        return Line::from(vec![
            Span::styled(format!("filter: {filter}_"), STRONG),
            Span::raw("  (Enter keeps it, Esc drops it)"),
        ]);
    }
    let mut text = if app.parts.is_empty() { KEYS } else { KEYS_OF_PARTS }.to_owned();
    if !filter.is_empty() {
        text = format!("[{filter}] Esc drops the filter  {text}");
    }
    if app.rows > app.shown {
        let last = (app.first + app.shown).min(app.rows);
        text = format!("{}-{last} of {}  {text}", app.first + 1, app.rows);
    }
    Line::raw(text)
}

fn help(frame: &mut Frame<'_>, body: Rect) {
    let height = (HELP.len() as u16 + 1).min(body.height);
    let area = Rect { height, ..body };
    frame.render_widget(Clear, area);
    let lines: Vec<_> = HELP.iter().map(|line| Line::raw(*line)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}
