//! The interface as C programs see it: built with `cc -lep11`, over cards that only pretend.

#![cfg(target_os = "linux")]

mod common;

use common::card::{self, pretending, serve};
use common::{library, program, run};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

#[test]
fn calls_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let _card = serve(folder.path(), 0, 5, Arc::new(pretending));
    assert_eq!(run(&mut program("calls", folder.path())), "good\n");
}

#[test]
fn null_pointers_and_impossible_lengths_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let _card = serve(folder.path(), 0, 5, Arc::new(|_, _: &[u8]| panic!("nothing is asked")));
    assert_eq!(run(&mut program("nulls", folder.path())), "good\n");
}

#[test]
fn administration_by_one_call_each() {
    let folder = tempfile::tempdir().unwrap();
    let _card = serve(folder.path(), 0, 5, Arc::new(pretending));
    assert_eq!(run(&mut program("administration", folder.path())), "good\n");
}

#[test]
fn children_and_threads_have_connections_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let _cards = [(0, 5), (1, 7)].map(|(of, domain)| serve(folder.path(), of, domain, Arc::new(pretending)));
    assert_eq!(run(&mut program("forks", folder.path())), "good\n");
}

#[test]
fn a_group_does_without_a_card_that_goes_and_takes_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let first = serve(folder.path(), 0, 5, Arc::new(pretending));
    let second = serve(folder.path(), 1, 7, Arc::new(pretending));
    let mut program = program("group", folder.path());
    let mut running = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (running.stdin.take().unwrap(), BufReader::new(running.stdout.take().unwrap()));
    // Each line has the program do ten calls more.
    let mut calls = || {
        to.write_all(b"\n").unwrap();
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        line
    };
    let count = |card: &card::Served| card.asked.swap(0, SeqCst);
    assert_eq!(calls(), "10\n");
    assert_eq!((count(&first), count(&second)), (5, 5));
    drop(first);
    assert_eq!(calls(), "10\n");
    assert_eq!(count(&second), 10);
    let again = serve(folder.path(), 0, 5, Arc::new(pretending));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(calls(), "10\n");
    assert_eq!((count(&again), count(&second)), (5, 5));
    // One that ends during a request.
    drop((again, second));
    let ends = serve(folder.path(), 0, 5, Arc::new(|_, _: &[u8]| None));
    let third = serve(folder.path(), 1, 7, Arc::new(pretending));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(calls(), "10\n");
    assert!(count(&ends) >= 1 && count(&third) == 10);
    drop((ends, third));
    assert_eq!(calls(), "0\n");
    drop(to);
    assert!(running.wait().unwrap().success());
}

/// The names that programs look for, and no others.
#[test]
fn exports_are_the_interfaces() {
    let said = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let exported: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let headers =
        ["ep11.h", "ep11adm.h"].map(|name| std::fs::read_to_string(common::here().join("include").join(name)).unwrap());
    let headers = headers.concat();
    for name in &exported {
        assert!(headers.contains(&format!("{name}(")), "{name} is in no header");
    }
    let declared = headers.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let functions = declared
        .filter(|word| ["m_", "xcpa_", "xcp_", "ep11a_", "get_dom_"].iter().any(|start| word.starts_with(start)));
    let types = |word: &&str| !word.ends_with("_t") && headers.contains(&format!("{word}("));
    for name in functions.filter(types) {
        let is_inline = headers.contains(&format!("static inline int {name}("));
        assert!(is_inline || exported.contains(&name), "{name} is not exported");
    }
    let dynamic = run(Command::new("readelf").args(["-W", "-d"]).arg(library()).env("LC_ALL", "C"));
    assert!(dynamic.contains("Library soname: [libep11.so.4]"), "{dynamic}");
    for line in dynamic.lines().filter(|line| line.contains("NEEDED")) {
        assert!(["[libc.so.6]", "[ld-linux"].iter().any(|own| line.contains(own)), "{line}");
    }
}
