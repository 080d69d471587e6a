//! Each call that writes to a vault or an audit log, killed there or failed there: what was answered is on disk, and all else is as before or after the change.

mod common;
#[path = "../../adjunct-pkcs11/tests/store/inject.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "shared with tests of token stores"
)]
mod inject;

use adjunct_coprocessor::audit;
use adjunct_coprocessor::keeper::{Change, Finding, Keeper};
use adjunct_coprocessor::seal::Opener;
use common::*;
use inject::{Fault, is_possible, with_fault};
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Output};

/// What a vault is sealed by after it was sealed anew.
const OTHER: &[u8] = b"the credential that comes next";

/// What is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Make,
    Change,
    Reseal,
}

const CASES: [Case; 3] = [Case::Make, Case::Change, Case::Reseal];

/// The process that a fault happens to; only where [`tried`] starts it.
#[test]
fn child() {
    let Ok(order) = std::env::var("ADJUNCT_TEST_FAULT") else { return };
    let (folder, order) = order.split_once('|').unwrap();
    let numbers: Vec<usize> = order.split('|').map(|number| number.parse().unwrap()).collect();
    let (folder, case) = (Path::new(folder), CASES[numbers[0]]);
    let (_, fault) = Fault::ALL[numbers[1]];
    let at = numbers[2] as u32;
    let (done, calls) = if case == Case::Make {
        let (vault, log) = (file(folder, "vault"), log(folder));
        with_fault(at, fault, move || Keeper::open(vault, &by(), Some(log), None, new_state()).is_ok())
    } else {
        let keeper = keeper(folder);
        assert_eq!(keeper.read(current), Some(1));
        with_fault(at, fault, move || match case {
            Case::Reseal => keeper.reseal(&caller(0), &Opener::credential(OTHER).unwrap()).is_ok(),
            _ => {
                let set = |event| keeper.change(&caller(0), Some(0), event, |state| set_key(state, 0, 2));
                let done = set("set");
                // What could not be logged is logged before anything else is done.
                if matches!(done, Err(Change::Unlogged(_))) && matches!(fault, Fault::Once(_)) {
                    set("again").unwrap();
                }
                done.is_ok()
            }
        })
    };
    println!("calls {calls} done {done}");
}

/// Runs a case in a folder with a fault: whether it was answered to be done, and how many calls there were; `None` where it was killed.
fn tried(folder: &Path, case: usize, fault: usize, at: u32) -> Option<(bool, u32)> {
    let order = format!("{}|{case}|{fault}|{at}", folder.display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env("ADJUNCT_TEST_FAULT", order);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8(stdout).unwrap();
    let Some((_, told)) = text.split_once("calls ") else {
        assert!(status.code().is_none(), "{text}{}", String::from_utf8_lossy(&stderr));
        return None;
    };
    let words: Vec<&str> = told.split_whitespace().collect();
    Some((words[2] == "true", words[0].parse().unwrap()))
}

/// What is on disk after a fault.
fn check(folder: &Path, case: Case, done: bool, what: &str) {
    let open = |by: &Opener<'_>| Keeper::open(file(folder, "vault"), by, Some(log(folder)), None, new_state());
    let other = Opener::credential(OTHER).unwrap();
    let keeper = match (case, open(&by())) {
        (_, Ok(keeper)) => {
            assert!(!(case == Case::Reseal && done), "{what}: it was sealed by another");
            keeper
        }
        (Case::Reseal, Err(_)) => open(&other).unwrap(),
        (_, Err(error)) => panic!("{what}: {error}"),
    };
    let expected: &[Option<u8>] = match (case, done) {
        (Case::Make, _) => &[None],
        (Case::Reseal, _) => &[Some(1)],
        (Case::Change, true) => &[Some(2)],
        (Case::Change, false) => &[Some(1), Some(2)],
    };
    assert!(expected.contains(&keeper.read(current)), "{what}: {:?}", keeper.read(current));
    assert!(keeper.findings().iter().all(|finding| matches!(finding, Finding::Lost(_))), "{what}");
    // It goes on.
    keeper.change(&caller(0), Some(0), "afterwards", |state| set_key(state, 0, 3)).unwrap();
    let mut events = Vec::new();
    let log = BufReader::new(file(folder, "audit"));
    audit::verify(log, (0, [0; 32]), keeper.last_audited(), |record| events.push((record.event, record.result)))
        .unwrap();
    let has = |event: &str| events.iter().any(|(name, result)| name == event && result == "done");
    assert!(has("afterwards"), "{what}: {events:?}");
    assert!(!has("again") || has("set"), "{what}: {events:?}");
    match case {
        Case::Change if done => assert!(has("set"), "{what}: {events:?}"),
        Case::Reseal if done => assert!(has("vault-sealed"), "{what}: {events:?}"),
        _ => {}
    }
}

#[test]
fn a_fault_at_any_write_leaves_the_state_of_before_or_after() {
    if !is_possible() {
        return;
    }
    let stock = tempfile::tempdir().unwrap();
    keeper(stock.path()).change(&caller(0), Some(0), "stock", |state| set_key(state, 0, 1)).unwrap();
    for (number, case) in CASES.into_iter().enumerate() {
        for (which, (name, fault)) in Fault::ALL.into_iter().enumerate() {
            for at in 1.. {
                let folder = tempfile::tempdir().unwrap();
                if case != Case::Make {
                    for file in ["vault", "audit"] {
                        std::fs::copy(stock.path().join(file), folder.path().join(file)).unwrap();
                    }
                }
                let what = format!("{case:?}, {name}, call {at}");
                let told = tried(folder.path(), number, which, at);
                check(folder.path(), case, told.is_some_and(|(done, _)| done), &what);
                match told {
                    None => assert!(fault.kills(), "{what}"),
                    Some((done, calls)) if calls < at => {
                        assert!(done, "{what}: no fault, and not done");
                        assert!(at > 4, "{what}: there were writes");
                        break;
                    }
                    Some((done, _)) => {
                        assert!(!done || !matches!(fault, Fault::From(_)), "{what}: answered all the same")
                    }
                }
            }
        }
    }
}
