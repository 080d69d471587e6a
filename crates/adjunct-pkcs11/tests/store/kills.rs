//! Processes that are killed while they write.

use super::*;
use std::io::{BufRead as _, Read as _, Write as _};
use std::time::Duration;

pub fn endless() {
    let session = &entered();
    // Some of them write together.
    let count: usize = std::env::var("THREADS").unwrap().parse().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..count {
            scope.spawn(move || endless_of(session, &format!("{}.{thread}", std::process::id())));
        }
    });
}

fn endless_of(session: &Session, name: &str) {
    for at in 0.. {
        let (public, _) = ec_pair(session, &format!("pair {name} {at}")).unwrap();
        if at % 3 == 0 {
            session.destroy(public).unwrap();
        } else {
            session.set_attributes(public, &Attributes::new().bytes(CKA_ID, b"changed")).unwrap();
        }
        // In one write: threads' lines do not mix.
        let mut out = std::io::stdout().lock();
        out.write_all(format!("\n+ {name} {at}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
    }
}

/// Checks that all that killed processes had reported as done is there, and nothing half.
pub fn after_kills() {
    let session = entered();
    let said = std::fs::read_to_string(data().join("said")).unwrap();
    for line in said.lines() {
        let (name, at) = line.split_once(' ').unwrap();
        let found = labelled(&session, &format!("pair {name} {at}"));
        let expected = if at.parse::<u64>().unwrap() % 3 == 0 { 1 } else { 2 };
        assert_eq!(found.len(), expected, "{line}");
        let changed = found.iter().filter(|found| session.attribute(**found, CKA_ID).unwrap() == b"changed").count();
        assert_eq!(changed, expected - 1, "{line}");
    }
    // A pair of which only half was made would have another number.
    let all = session.find(&Attributes::new().number(CKA_CLASS, CKO_PRIVATE_KEY)).unwrap();
    assert!(all.len() >= said.lines().count());
    println!("# {} of {} pairs were acknowledged", said.lines().count(), all.len());
}

/// What a program said behind `+ ` in whole lines, one a line, until it was killed: `after` its first such line.
fn said_until_killed(command: &mut Command, after: Duration) -> String {
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let (mut out, mut said) = (std::io::BufReader::new(child.stdout.take().unwrap()), String::new());
    // A kill while the PIN is tried counts as a try.
    while !said.contains("\n+ ") {
        assert!(out.read_line(&mut said).unwrap() > 0, "it ended: {said}");
    }
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    out.read_to_string(&mut said).unwrap();
    // A last line without its end is none.
    let whole = &said[..said.rfind('\n').map_or(0, |at| at + 1)];
    whole.lines().filter_map(|line| line.strip_prefix("+ ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_was_acknowledged_outlives_kills() {
    let home = home();
    run("new_token", home.path());
    let mut said = String::new();
    for round in 0..20_u64 {
        let mut command = command("endless", home.path());
        command.env("THREADS", ["1", "4"][round as usize % 2]);
        said += &said_until_killed(&mut command, Duration::from_micros(1000 + 3777 * round));
    }
    std::fs::write(home.path().join("said"), said).unwrap();
    run("after_kills", home.path());
}

/// Changes the PIN to and fro, and says so each time before it begins.
pub fn changes_pin() {
    let session = open(RW);
    let pins = [PIN, b"another PIN"];
    let now = usize::from(login(&session, CKU_USER, pins[0]).is_err());
    if now == 1 {
        login(&session, CKU_USER, pins[1]).unwrap();
    }
    assert_eq!(labelled(&session, "private").len(), 1);
    for at in now.. {
        println!("\n+ {at}");
        std::io::stdout().flush().unwrap();
        set_pin(&session, pins[at % 2], pins[(at + 1) % 2]).unwrap();
    }
}

#[test]
fn a_killed_change_of_a_pin_leaves_the_old_or_the_new() {
    let home = home();
    run("with_private", home.path());
    for round in 0..6_u64 {
        // A change takes some 200 ms, most of it derivations.
        let said = said_until_killed(&mut command("changes_pin", home.path()), Duration::from_millis(37 * round));
        assert!(!said.is_empty(), "neither PIN opens it");
    }
    // What a killed one has left beside the file the next change takes away.
    run("changes_it_once", home.path());
}

pub fn changes_it_once() {
    let session = open(RW);
    let pins = [PIN, b"another PIN"];
    let now = usize::from(login(&session, CKU_USER, pins[0]).is_err());
    set_pin(&session, pins[now], b"the last PIN").unwrap();
    assert_eq!(std::fs::read_dir(file().parent().unwrap()).unwrap().count(), 2);
}

/// Makes keys and destroys them, and says so when each is destroyed.
pub fn destroys() {
    let session = entered();
    for at in 0.. {
        let label = format!("short {} {at}", std::process::id());
        let made = session.create(&data_object(&label, true)).unwrap();
        session.destroy(made).unwrap();
        println!("\n+ {label}");
        std::io::stdout().flush().unwrap();
    }
}

/// Objects that were destroyed do not come back after a kill, and no file is left behind.
pub fn after_destroys() {
    let session = entered();
    for line in std::fs::read_to_string(data().join("said")).unwrap().lines() {
        assert_eq!(labelled(&session, line), [], "{line}");
    }
    session.create(&data_object("kept", true)).unwrap();
    assert_eq!(std::fs::read_dir(file().parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn what_was_destroyed_stays_so_after_kills() {
    let home = home();
    run("new_token", home.path());
    let mut said = String::new();
    for round in 0..8_u64 {
        let after = Duration::from_micros(1000 + 7919 * round);
        said += &said_until_killed(&mut command("destroys", home.path()), after);
    }
    std::fs::write(home.path().join("said"), said).unwrap();
    run("after_destroys", home.path());
}
