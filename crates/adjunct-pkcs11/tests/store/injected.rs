//! Every call that changes a file, while a token is made, changed, repaired: killed there, and failed there.
//!
//! What was acknowledged is there afterwards, each PIN that should open opens, and nothing has to be repaired. With `ADJUNCT_DEEP` at every call and with
//! every fault, else at some of them.

use super::inject::{Fault, is_possible, with_fault};
use super::*;
use adjunct_pkcs11::admin::{self, Configured};
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

const NEW_PIN: &[u8] = b"the new PIN";

fn token(home: &Path) -> Configured {
    let path = home.join("adjunct/tokens/default.token");
    Configured { slot: SLOT, path, read_only: false, tpm: None, named: false, machines: false }
}

fn big(label: &str) -> Attributes {
    data_object(label, true).bytes(CKA_APPLICATION, &[b'x'; 70_000])
}

/// The token of all that follows.
pub fn stock() {
    new_token();
    let session = entered();
    session.create(&data_object("kept", true)).unwrap();
    session.create(&data_object("gone", true)).unwrap();
    ec_pair(&session, "pair").unwrap();
}

pub fn stock_big() {
    stock();
    entered().create(&big("big")).unwrap();
}

pub fn stock_old() {
    let session = entered();
    session.create(&data_object("kept", true)).unwrap();
    session.create(&data_object("gone", true)).unwrap();
}

const NEW: admin::New<'static> =
    admin::New { so_pin: SO_PIN, user_pin: PIN, label: &[b'n'; 32], seal: false, replace: false };

/// Whether a scenario succeeded, and why not.
type Outcome = std::result::Result<(), String>;

/// An operation: the state before it, and what it does.
struct Operation {
    name: &'static str,
    /// "none", "stock", "big", "old", "damaged".
    before: &'static str,
    /// Makes ready, and gives what is tried.
    begin: fn() -> Box<dyn FnOnce() -> Outcome>,
}

fn rv(result: Result) -> Outcome {
    result.map_err(|rv| format!("{rv:#x}"))
}

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "create",
        before: "stock",
        begin: || {
            let session = entered();
            Box::new(move || rv(ec_pair(&session, "new").map(drop)))
        },
    },
    Operation {
        name: "change",
        before: "stock",
        begin: || {
            let session = entered();
            let kept = labelled(&session, "kept")[0];
            Box::new(move || rv(session.set_attributes(kept, &Attributes::new().bytes(CKA_APPLICATION, b"changed"))))
        },
    },
    Operation {
        name: "destroy",
        before: "stock",
        begin: || {
            let session = entered();
            let gone = labelled(&session, "gone")[0];
            Box::new(move || rv(session.destroy(gone)))
        },
    },
    Operation {
        name: "destroy big",
        before: "big",
        begin: || {
            let session = entered();
            let gone = labelled(&session, "big")[0];
            Box::new(move || rv(session.destroy(gone)))
        },
    },
    Operation {
        name: "destroy old",
        before: "old",
        begin: || {
            let session = entered();
            let gone = labelled(&session, "gone")[0];
            Box::new(move || rv(session.destroy(gone)))
        },
    },
    Operation {
        name: "log in",
        before: "stock",
        begin: || {
            let session = open(RW);
            Box::new(move || rv(login(&session, CKU_USER, PIN)))
        },
    },
    Operation {
        name: "PIN",
        before: "stock",
        begin: || {
            let session = entered();
            Box::new(move || rv(set_pin(&session, PIN, NEW_PIN)))
        },
    },
    Operation {
        name: "PIN old",
        before: "old",
        begin: || {
            let session = entered();
            Box::new(move || rv(set_pin(&session, PIN, NEW_PIN)))
        },
    },
    Operation {
        name: "PIN by the officer",
        before: "stock",
        begin: || {
            let session = open(RW);
            login(&session, CKU_SO, SO_PIN).unwrap();
            Box::new(move || {
                // All of it, which is closed when it is dropped.
                let session = &session;
                rv(check(p11!(C_InitPIN(session.0, input(NEW_PIN), length(NEW_PIN)))))
            })
        },
    },
    Operation {
        name: "SO PIN",
        before: "stock",
        begin: || {
            let session = open(RW);
            login(&session, CKU_SO, SO_PIN).unwrap();
            Box::new(move || rv(set_pin(&session, SO_PIN, NEW_PIN)))
        },
    },
    Operation { name: "make", before: "none", begin: || Box::new(|| make(&NEW)) },
    Operation {
        name: "make again",
        before: "stock",
        begin: || Box::new(|| make(&admin::New { replace: true, ..NEW })),
    },
    Operation { name: "C_InitToken", before: "none", begin: || Box::new(|| rv(init_token(SO_PIN))) },
    Operation {
        name: "repair",
        before: "damaged",
        begin: || Box::new(|| admin::repair(&token(&data()), false, PIN).map(drop).map_err(|error| error.0)),
    },
    Operation {
        name: "restore",
        before: "stock",
        begin: || {
            let backup = admin::backup(&token(&data()), 1).unwrap();
            Box::new(move || {
                admin::restore(&token(&data()), &backup, false, PIN, true).map(drop).map_err(|error| error.0)
            })
        },
    },
];

fn make(new: &admin::New<'_>) -> Outcome {
    admin::initialize(&token(&data()), new).map_err(|error| error.0)
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

fn operation() -> &'static Operation {
    let name = variable("OPERATION");
    OPERATIONS.iter().find(|operation| operation.name == name).unwrap()
}

pub fn injected() {
    let (operation, fault) = (operation(), variable("FAULT"));
    let fault = Fault::ALL.iter().find(|(name, _)| *name == fault).unwrap().1;
    let tried = (operation.begin)();
    let (done, calls) = with_fault(variable("AT").parse().unwrap(), fault, tried);
    println!("\n+ {} calls, {}", calls, done.as_ref().map_or_else(String::clone, |()| "done".to_owned()));
    if operation.name == "create" {
        // What was refused is not there, and what was made is, for this process as for those that come.
        let session = entered();
        assert_eq!(labelled(&session, "new").len(), if done.is_ok() { 2 } else { 0 }, "{done:?}");
    }
}

/// Finds which of the PINs opens the token.
fn opens(session: &Session, who: CK_USER_TYPE, pins: &[&'static [u8]]) -> &'static [u8] {
    let mut tried = pins.iter().filter(|pin| match login(session, who, pin) {
        Ok(()) => true,
        Err(CKR_PIN_INCORRECT) => false,
        Err(rv) => panic!("{rv:#x}"),
    });
    tried.next().unwrap_or_else(|| panic!("no PIN of {who} opens"))
}

/// Checks the state afterwards: OUTCOME is "done", "refused", or "killed".
pub fn injected_after() {
    let (operation, outcome) = (operation(), variable("OUTCOME"));
    let (done, may) = (outcome == "done", outcome == "killed");
    let examined = admin::examine(&token(&data()));
    if operation.before == "none" && !examined.exists {
        assert!(!done, "nothing was made");
        make(&NEW).unwrap();
        return;
    }
    if operation.name == "C_InitToken" {
        let session = open(RW);
        return login(&session, CKU_SO, SO_PIN).unwrap();
    }
    if operation.name == "repair" && examined.damaged {
        assert!(!done);
        let repaired = admin::repair(&token(&data()), false, PIN);
        assert!(matches!(repaired, Ok(admin::Repaired::Anew { .. })), "{repaired:?}");
    } else {
        assert_eq!((examined.trouble, examined.foreign), (None, None));
    }
    let session = open(RW);
    let changed = |label: &str| operation.name == label;
    let user = opens(&session, CKU_USER, &[PIN, NEW_PIN]);
    let by_now = |new: bool| assert!(new == done || may || outcome == "refused and perhaps done", "{outcome}");
    match operation.name {
        "PIN" | "PIN old" | "PIN by the officer" => by_now(user == NEW_PIN),
        _ => assert_eq!(user, PIN),
    }
    let made_again = operation.before == "none" || operation.name == "make again";
    let kept = labelled(&session, "kept");
    if made_again {
        let new = kept.is_empty();
        by_now(new);
        assert!(operation.before != "none" || new);
    } else {
        assert_eq!(kept.len(), 1);
        let application = session.attribute(kept[0], CKA_APPLICATION).unwrap();
        if changed("change") {
            by_now(application == b"changed");
        } else {
            assert_eq!(application, b"");
        }
        let pair = labelled(&session, "pair");
        let public = |handle: &&Handle| session.number(**handle, CKA_CLASS) == Ok(CKO_PUBLIC_KEY);
        let public = *pair.iter().find(public).unwrap();
        sign(&session, *pair.iter().find(|handle| **handle != public).unwrap(), public);
        let gone = if changed("destroy big") { "big" } else { "gone" };
        let is_gone = labelled(&session, gone).is_empty();
        if operation.name.starts_with("destroy") {
            by_now(is_gone);
        } else {
            assert!(!is_gone || operation.name == "repair");
        }
        let new = labelled(&session, "new").len();
        if changed("create") {
            assert!(new == 0 || new == 2);
            by_now(new == 2);
        }
    }
    // Whoever writes next leaves nothing of before.
    session.create(&data_object("next", true)).unwrap();
    logout(&session).unwrap();
    let officer = opens(&session, CKU_SO, &[SO_PIN, NEW_PIN]);
    if changed("SO PIN") {
        by_now(officer == NEW_PIN);
    } else {
        assert_eq!(officer, SO_PIN);
    }
    assert_eq!(pin_flags(), 0);
    let folder = std::fs::read_dir(file().parent().unwrap()).unwrap();
    let names: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let aside = names.iter().filter(|name| name.contains(".damaged")).count();
    assert_eq!(names.len() - aside, 2, "{names:?}");
    assert_eq!(aside, usize::from(operation.name == "repair"), "{names:?}");
}

pub fn copy(from: &Path, to: &Path) {
    let (from, to) = (from.join("adjunct/tokens"), to.join("adjunct/tokens"));
    std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700).create(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Makes the state before an operation.
fn make_before(before: &str) -> Option<TempDir> {
    let home = home();
    match before {
        "none" => return None,
        "stock" | "damaged" => run("stock", home.path()),
        "big" => run("stock_big", home.path()),
        "old" => {
            older::put(home.path(), older::TOKEN);
            run("stock_old", home.path())
        }
        other => panic!("{other}"),
    };
    if before == "damaged" {
        let path = token(home.path()).path;
        let mut bytes = std::fs::read(&path).unwrap();
        // In the record of "gone", which is before the pair's.
        let at = bytes.len() - 1700;
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    Some(home)
}

/// Tries one operation with a fault at a call; whether there was such a call.
fn try_once(operation: &Operation, before: Option<&Path>, at: u32, (name, fault): (&str, Fault)) -> bool {
    let home = home();
    before.inspect(|before| copy(before, home.path()));
    let variables = |command: &mut Command| {
        command.env("OPERATION", operation.name).env("FAULT", name).env("AT", at.to_string());
    };
    let mut injected = command("injected", home.path());
    variables(&mut injected);
    let output = injected.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find_map(|line| line.strip_prefix("+ "));
    let what = format!("{} with {name} at {at}", operation.name);
    let (outcome, calls) = match line.and_then(|line| line.split_once(" calls, ")) {
        None => {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(fault.kills() && output.status.signal() == Some(libc::SIGKILL), "{what}: {said}{error}");
            ("killed", at)
        }
        Some((calls, done)) => {
            assert!(output.status.success(), "{what}: {said}");
            let refused = match fault {
                // What was changed may be past being changed back.
                Fault::From(_) => "refused and perhaps done",
                _ => "refused",
            };
            (if done == "done" { "done" } else { refused }, calls.parse().unwrap())
        }
    };
    assert!(calls >= at || outcome == "done", "{what}: without a fault {line:?}");
    let mut after = command("injected_after", home.path());
    variables(&mut after);
    let output = after.env("OUTCOME", outcome).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}, {outcome} ({line:?}): {out}{error}");
    calls >= at
}

/// Tries each operation with the faults at the calls that are `wanted`, by the numbers of the operation, of the fault, and of the call.
fn try_all(wanted: impl Fn(usize, usize, u32) -> bool + Sync) {
    let only = std::env::var("ONLY").ok();
    let is_only = |operation: &&Operation| only.as_ref().is_none_or(|only| only == operation.name);
    let before: Vec<(&str, Option<TempDir>)> =
        ["none", "stock", "big", "old", "damaged"].into_iter().map(|before| (before, make_before(before))).collect();
    let (next, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed = Mutex::new(Vec::new());
    let operations: Vec<&Operation> = OPERATIONS.iter().filter(is_only).collect();
    let work = || {
        while let Some(operation) = operations.get(next.fetch_add(1, Relaxed)) {
            let number = OPERATIONS.iter().position(|other| other.name == operation.name).unwrap();
            let before = before.iter().find(|(name, _)| *name == operation.before).unwrap();
            let before = before.1.as_ref().map(TempDir::path);
            for (kind, fault) in Fault::ALL.into_iter().enumerate() {
                for call in (1..MOST).filter(|call| wanted(number, kind, *call)) {
                    tried.fetch_add(1, Relaxed);
                    let once = || try_once(operation, before, call, fault);
                    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(once)) {
                        Ok(false) => break,
                        Ok(true) => assert!(call + 1 < MOST),
                        Err(_) => failed.lock().unwrap().push((operation.name, fault.0, call)),
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    println!("{} faults", tried.into_inner());
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{failed:?}");
}

/// More than any operation has.
const MOST: u32 = 40;

#[test]
fn a_fault_at_any_call_loses_nothing_and_locks_nobody_out() {
    if !is_possible() {
        return;
    }
    if std::env::var_os("ADJUNCT_DEEP").is_some() {
        return try_all(|_, _, _| true);
    }
    // Of each operation one fault, each time another at another call: from the sixth on a file is written and put in another's place.
    try_all(|operation, kind, call| {
        let at = operation % 3 + if operation < 6 { 1 } else { 8 };
        kind == operation % Fault::ALL.len() && call as usize == at
    });
}
