//! Several processes with one token.

use super::*;

pub fn two_processes() {
    new_token();
    let session = entered();
    let mine = session.create(&data_object("mine", true)).unwrap();
    run("other", &data());
    assert_eq!(labelled(&session, "theirs").len(), 1);
    assert_eq!(labelled(&session, "changed"), [mine]);
    session.destroy(mine).unwrap();
    run("other_after", &data());
    assert_eq!(session.attribute(labelled(&session, "theirs")[0], CKA_VALUE).unwrap(), b"some bytes");
    // Many at once: all that was made is there.
    let writers: Vec<_> =
        (0..4).map(|at| command("many", &data()).env("NUMBER", at.to_string()).spawn().unwrap()).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(session.find(&Attributes::new().bytes(CKA_APPLICATION, b"many")).unwrap().len(), 100);
    assert_eq!((labelled(&session, "short"), labelled(&session, "shorter")), (vec![], vec![]));
    drop(session);
    // A new token, by another process, ends what was: whoever is logged in to the old one is not to this.
    let session = entered();
    run("initialize", &data());
    assert_eq!(session.find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap(), []);
    assert_eq!(session.create(&data_object("x", false)), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(logout(&session), Err(CKR_USER_NOT_LOGGED_IN));
}

pub fn other() {
    let session = entered();
    let theirs = labelled(&session, "mine")[0];
    session.set_attributes(theirs, &Attributes::new().bytes(CKA_LABEL, b"changed")).unwrap();
    session.create(&data_object("theirs", true)).unwrap();
}

pub fn other_after() {
    let session = entered();
    assert_eq!((labelled(&session, "changed").len(), labelled(&session, "theirs").len()), (0, 1));
}

pub fn many() {
    let session = entered();
    let number = std::env::var("NUMBER").unwrap();
    for at in 0..25 {
        session.create(&data_object(&format!("{number} {at}"), at % 2 == 0).bytes(CKA_APPLICATION, b"many")).unwrap();
        let short = session.create(&data_object("short", at % 2 == 1)).unwrap();
        session.set_attributes(short, &Attributes::new().bytes(CKA_LABEL, b"shorter")).unwrap();
        session.destroy(short).unwrap();
    }
}

pub fn initialize() {
    init_token(SO_PIN).unwrap();
}

/// Makes an object when it is told to.
pub fn makes_when_told() {
    let session = entered();
    println!("\n+ ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    session.create(&data_object("told", true)).unwrap();
}

/// If a lock's file is removed while a process waits for it, mutual exclusion still holds: the waiting process does not write beside one that comes
/// later.
#[test]
fn a_lock_that_was_taken_away_lets_nobody_in() {
    use std::io::{BufRead as _, Write as _};
    let home = home();
    run("new_token", home.path());
    let path = home.path().join("adjunct/tokens/default.token.lock");
    let locked = |path: &Path| {
        let file = std::fs::File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        adjunct::file_lock::FileLock::try_lock(file.into()).unwrap().expect("nobody has it")
    };
    let mut command = command("makes_when_told", home.path());
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    lines.by_ref().find(|line| line.as_ref().unwrap() == "+ ready").unwrap().unwrap();
    let first = locked(&path);
    writeln!(child.stdin.take().unwrap(), "now").unwrap();
    let waits = |name: &str| {
        let open = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
        let is_it = |entry: std::fs::DirEntry| {
            std::fs::read_link(entry.path()).is_ok_and(|open| open.to_string_lossy().ends_with(name))
        };
        open.into_iter().any(is_it)
    };
    let until = |holds: &dyn Fn() -> bool| {
        assert!((0..60_000).any(|_| holds() || (std::thread::sleep(std::time::Duration::from_millis(1)), false).1));
    };
    until(&|| waits(".lock"));
    // In one step: what was there is taken away, and what comes in its place is locked already.
    let new = path.with_extension("new");
    let second = locked(&new);
    std::fs::rename(&new, &path).unwrap();
    let length = || std::fs::metadata(home.path().join("adjunct/tokens/default.token")).unwrap().len();
    let before = length();
    drop(first);
    // It lets go of what was taken away, and waits for what is there.
    until(&|| !waits(".lock (deleted)") || length() != before);
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(length(), before, "two wrote at a time");
    drop(second);
    assert!(child.wait().unwrap().success());
    assert!(length() > before);
}

#[test]
fn processes_see_each_others_objects() {
    run("two_processes", home().path());
}
