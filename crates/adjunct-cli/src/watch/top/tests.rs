//! What is drawn on 80 columns and 24 lines, and what keys do.

use super::app::{App, Then};
use super::draw::{Title, draw};
use super::processes::Doing;
use super::table::Unit;
use super::views::{Period, View};
use super::work::Work;
use crate::watch::sample::{Cards, Counted, Sample};
use adjunct::counters::{Snapshot, Use};
use adjunct_ztools::stats::User;
use adjunct_ztools::stats::sample::sample as counted;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn sample(grown: bool) -> Sample {
    let snapshot = if grown { counted().plus(&counted()) } else { counted() };
    let uses = vec![Use { slot: 3, mechanism: 0x1041, by_strength: [0, 0, if grown { 29 } else { 9 }, 0, 0] }];
    let alice = Counted { user: User { uid: 1000, name: "alice".into() }, attached: 3, snapshot, uses };
    let root = Counted {
        user: User { uid: 0, name: "root".into() },
        attached: 1,
        snapshot: Snapshot::new(0),
        uses: Vec::new(),
    };
    Sample { users: vec![root, alice], cards: Cards::NotRunning, wrong: Vec::new() }
}

fn app(view: View) -> App {
    let mut app = App::new(view, String::new());
    let work = Work { hardware: 30, software: 10, bytes: 4096 };
    let (name, user) = ("nginx".into(), "alice".into());
    let nginx = Doing { pid: Some(4711), name, uid: 1000, user, threads: 2, work, counted: counted() };
    app.take(Some(Period::new(sample(false), sample(true), 2.0, vec![nginx])));
    app
}

fn screen(app: &mut App, width: u16, height: u16) -> String {
    let title = Title { host: "z16".into(), time: "12:34:56".into(), interval: 2.0, all_users: true, plain: true };
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app, &title)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

fn press(app: &mut App, keys: &str) {
    keys.chars().for_each(|key| assert_eq!(app.key(KeyEvent::from(KeyCode::Char(key))), Then::Go));
}

#[test]
fn the_screen_at_80_by_24() {
    let expected = "\
adjunct top  z16  12:34:56  every 2 s  all users
14.5 ops/s  99.0k bytes/s  hardware [#####-----] 51.7%  4 processes  no cards
1 functions  2 users  3 processes  4 reasons  5 lanes  6 cards  7 tokens
FUNCTION           OPS/S      HW/S      SW/S       HW%   BYTES/S     TOTAL
AES GCM              6.0       6.0         0    100.0%     98.3k        24
SHA-512              5.5         0       5.5      0.0%       704        22
RSA-CRT              2.5       1.5       1.0     60.0%         0        10
RSA Keygen CRT       0.5         0       0.5      0.0%         0         2";
    let drawn = screen(&mut app(View::Functions), 80, 24);
    assert!(drawn.starts_with(expected), "{drawn}");
    assert_eq!(drawn.lines().count(), 24);
    assert_eq!(
        drawn.lines().last(),
        Some("q quit  1-7 view  Enter parts  <> sort  r reverse  / filter  space pause  ? help")
    );
}

#[test]
fn every_view_has_its_rows() {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for (view, row) in [
        (View::Users, "alice 3 14.5 7.5 7.0 51.7% 99.0k 58"),
        (View::Processes, "4711 nginx alice 20.0 75.0% 2.05k 15.0 5.0"),
        (View::Reasons, "SHA-512 5.5 704 22 no instruction for it on this"),
        (View::Lanes, "RSA-2048 CRT 14.5 9.5 2.0 3.0 6.33 6"),
        (View::Cards, "no cards: adjunctd does not run (`adjunct cards enable` starts it)"),
        (View::Tokens, "3 CKM_ECDSA alice 10.0 29 128"),
    ] {
        let drawn = screen(&mut app(view), 80, 24);
        assert!(drawn.lines().any(|line| words(line).starts_with(row)), "{view:?}\n{drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() <= 80));
    }
}

/// Every reason that the reasons' rows have, in order.
fn reasons(app: &App) -> Vec<String> {
    let table = app.period.as_ref().unwrap().table(View::Reasons);
    table.shown("", table.main, true).iter().map(|row| row[4].text(Unit::Text)).collect()
}

#[test]
fn reasons_are_read_whole_on_small_screens() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for width in [200, 80, 60, 40] {
        let mut app = app(View::Reasons);
        let drawn = screen(&mut app, width, 24);
        let mut rest = words(&drawn);
        for reason in reasons(&app) {
            let at = rest.find(&reason).unwrap_or_else(|| panic!("{reason}, {width} columns\n{drawn}"));
            rest = rest.split_off(at);
        }
    }
    // A page has whole rows alone, and all pages have all rows.
    let mut app = app(View::Reasons);
    let expected = reasons(&app);
    let mut seen = Vec::new();
    loop {
        let drawn = words(&screen(&mut app, 80, 7));
        let before = app.first;
        let page = &expected[before..before + app.shown];
        assert!(page.iter().all(|reason| drawn.contains(reason)), "{drawn}");
        seen.extend((before..before + app.shown).filter(|row| !seen.contains(row)).collect::<Vec<_>>());
        app.key(KeyEvent::from(KeyCode::PageDown));
        if app.first == before {
            break;
        }
    }
    assert_eq!(seen, (0..expected.len()).collect::<Vec<_>>());
}

#[test]
fn keys_choose_what_is_shown() {
    let mut app = app(View::Functions);
    screen(&mut app, 80, 24);
    let first =
        |app: &mut App| screen(app, 80, 24).lines().nth(4).unwrap_or_default().split("  ").next().unwrap().to_owned();
    press(&mut app, "r");
    assert_eq!(first(&mut app), "RSA Keygen CRT");
    press(&mut app, "<");
    assert_eq!(first(&mut app), "AES GCM", "by name");
    press(&mut app, ">>>");
    assert_eq!(first(&mut app), "SHA-512", "by software");
    press(&mut app, "/rsa");
    let drawn = screen(&mut app, 80, 24);
    assert!(drawn.contains("filter: rsa_") && !drawn.contains("AES GCM"), "{drawn}");
    app.key(KeyEvent::from(KeyCode::Enter));
    press(&mut app, "p");
    let drawn = screen(&mut app, 80, 24);
    assert!(drawn.contains("PAUSED") && drawn.contains("[rsa] Esc drops the filter"), "{drawn}");
    app.take(Some(Period::new(sample(true), sample(true), 2.0, Vec::new())));
    assert!(screen(&mut app, 80, 24).contains("2.5"), "it stands still");
    app.key(KeyEvent::from(KeyCode::Esc));
    press(&mut app, "p?");
    assert!(screen(&mut app, 80, 24).contains("1 functions   2 users"));
    press(&mut app, "?2");
    assert!(screen(&mut app, 80, 24).contains("PROCS"));
    app.key(KeyEvent::from(KeyCode::BackTab));
    assert_eq!(app.view, View::Functions);
    assert_eq!(app.key(KeyEvent::from(KeyCode::Char('q'))), Then::Quit);
    assert_eq!(app.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Then::Quit);
}

#[test]
fn it_fits_what_there_is() {
    let mut app = app(View::Functions);
    for (width, height) in [(200, 50), (40, 10), (20, 6), (19, 5), (1, 1)] {
        assert_eq!(screen(&mut app, width, height).split('\n').count(), usize::from(height), "{width}x{height}");
    }
    // Two of four rows at a time.
    let drawn = screen(&mut app, 80, 7);
    assert!(drawn.contains("1-2 of 4") && drawn.contains("AES GCM") && !drawn.contains("RSA-CRT"), "{drawn}");
    app.key(KeyEvent::from(KeyCode::PageDown));
    let drawn = screen(&mut app, 80, 7);
    assert!(drawn.contains("3-4 of 4") && drawn.contains("RSA-CRT") && !drawn.contains("AES GCM"), "{drawn}");
    app.key(KeyEvent::from(KeyCode::End));
    (0..2).for_each(|_| _ = app.key(KeyEvent::from(KeyCode::Up)));
    assert!(screen(&mut app, 80, 7).contains("2-3 of 4"));
}

fn push(app: &mut App, key: KeyCode) -> String {
    assert_eq!(app.key(KeyEvent::from(key)), Then::Go);
    screen(app, 80, 24)
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line has these words, whatever stands between them.
fn has(drawn: &str, row: &str) -> bool {
    drawn.lines().any(|line| words(line).starts_with(row))
}

#[test]
fn enter_goes_from_a_function_to_who_does_it_and_why() {
    let mut app = app(View::Functions);
    screen(&mut app, 80, 24);
    push(&mut app, KeyCode::Down);
    let drawn = push(&mut app, KeyCode::Enter);
    for row in [
        "functions > SHA-512",
        "PART NAME OPS/S",
        "process 4711 nginx (alice) 5.5 0 5.5 0.0%",
        "user alice 5.5",
        "reason no instruction for it on this",
    ] {
        assert!(has(&drawn, row), "{row}\n{drawn}");
    }
    assert!(drawn.lines().last().unwrap().contains("Esc back"), "{drawn}");
    // A filter is this table's alone.
    press(&mut app, "/4711");
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(has(&drawn, "process 4711") && !has(&drawn, "user alice"), "{drawn}");
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(has(&drawn, "functions > SHA-512 > SHA-512") && has(&drawn, "reason no instruction"), "{drawn}");
    push(&mut app, KeyCode::Enter);
    assert_eq!(app.parts.len(), 2, "a reason has no parts");
    let drawn = push(&mut app, KeyCode::Esc);
    assert!(has(&drawn, "functions > SHA-512") && drawn.contains("[4711] Esc drops the filter"), "{drawn}");
    push(&mut app, KeyCode::Esc);
    let drawn = push(&mut app, KeyCode::Esc);
    assert!(has(&drawn, "1 functions 2 users") && app.cursor == 1 && app.parts.is_empty(), "{drawn}");
    let drawn = push(&mut app, KeyCode::Esc);
    assert!(has(&drawn, "1 functions"), "there is nothing above a view");
}

#[test]
fn enter_goes_from_a_process_to_its_functions() {
    let mut app = app(View::Processes);
    screen(&mut app, 80, 24);
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(
        has(&drawn, "processes > 4711 nginx (alice)") && has(&drawn, "function AES GCM 6.0 6.0 0 100.0%"),
        "{drawn}"
    );
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(has(&drawn, "key size 256 bits 6.0"), "{drawn}");
    // Another view is left for at once.
    press(&mut app, "2");
    let drawn = screen(&mut app, 80, 24);
    assert!(app.parts.is_empty() && drawn.contains("PROCS"), "{drawn}");
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(has(&drawn, "users > alice") && has(&drawn, "process 4711 nginx (alice)"), "{drawn}");
    press(&mut app, "5");
    screen(&mut app, 80, 24);
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(has(&drawn, "lanes > RSA-2048 CRT") && has(&drawn, "process 4711 nginx (alice) 14.5 - - -"), "{drawn}");
    press(&mut app, "4");
    screen(&mut app, 80, 24);
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(has(&drawn, "reasons > SHA-512, no instruction") && has(&drawn, "user alice 5.5 0 5.5"), "{drawn}");
    for (width, height) in [(40, 10), (20, 6), (1, 1)] {
        assert_eq!(screen(&mut app, width, height).split('\n').count(), usize::from(height));
    }
}

#[test]
fn a_chosen_row_is_kept_wherever_it_goes() {
    let mut app = app(View::Functions);
    screen(&mut app, 80, 24);
    push(&mut app, KeyCode::Down);
    press(&mut app, "r");
    screen(&mut app, 80, 24);
    assert_eq!(app.cursor, 2, "SHA-512, which the other order has third");
    let drawn = push(&mut app, KeyCode::Enter);
    assert!(has(&drawn, "functions > SHA-512"), "{drawn}");
    // What came before has gone since: the parts say so, and stay.
    app.take(Some(Period::new(sample(true), sample(true), 2.0, Vec::new())));
    let drawn = screen(&mut app, 80, 24);
    assert!(has(&drawn, "functions > SHA-512") && has(&drawn, "nothing of it in this time"), "{drawn}");
}

#[test]
fn what_was_reset_meanwhile_is_new() {
    let grown = super::views::grown(&counted(), Some(&counted().plus(&counted())));
    assert_eq!(grown, counted());
    assert_eq!(Work::all(&super::views::grown(&counted(), Some(&counted()))).operations(), 0);
}
