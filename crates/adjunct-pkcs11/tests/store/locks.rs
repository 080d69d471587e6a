//! Locks and names that others take, hold or remove while a token is used: nobody waits for a reader, and no token is destroyed.

#![allow(unsafe_code)]

use super::inject::{Fault, is_possible, with_fault};
use super::*;
use adjunct_pkcs11::admin::{self, Configured};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

const NEW_PIN: &[u8] = b"the new PIN";
const THIRD_PIN: &[u8] = b"the third PIN";

fn path(home: &Path) -> PathBuf {
    home.join("adjunct/tokens/default.token")
}

fn lock_of(home: &Path) -> PathBuf {
    home.join("adjunct/tokens/default.token.lock")
}

/// Locks a file for reading, as whoever may read it can.
fn read_locked(path: &Path) -> std::fs::File {
    let file = std::fs::File::open(path).unwrap();
    // SAFETY: numbers alone: all zeros is valid, and means the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_RDLCK as libc::c_short;
    // SAFETY: the descriptor is open, and the lock lives and is only read.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }, 0);
    file
}

/// Logs in, writes, and changes the PIN there and back.
pub fn writes() {
    let session = entered();
    session.create(&data_object("written", true)).unwrap();
    set_pin(&session, PIN, NEW_PIN).unwrap();
    set_pin(&session, NEW_PIN, PIN).unwrap();
}

/// A user who may read the files of a token keeps nobody from using it, whatever it locks.
#[test]
fn a_reader_keeps_nobody_waiting() {
    let home = home();
    run("new_token", home.path());
    for kept in [vec![path(home.path())], vec![lock_of(home.path())], vec![path(home.path()), lock_of(home.path())]] {
        let readers: Vec<_> = kept.iter().map(|path| read_locked(path)).collect();
        let begin = Instant::now();
        run("writes", home.path());
        assert!(begin.elapsed() < Duration::from_secs(50), "{kept:?}: {:?}", begin.elapsed());
        drop(readers);
    }
}

/// Where a writer stops, by the variable PAUSE: before a call of this number, or where two files are exchanged.
fn paused<R>(body: impl FnOnce() -> R) -> R {
    let pause = std::env::var("PAUSE").unwrap_or_default();
    let (at, fault) = match &pause[..] {
        "" => return body(),
        "before the exchange" => (0, Fault::PauseBeforeExchange),
        "after the exchange" => (0, Fault::PauseAfterExchange),
        at => (at.parse().unwrap(), Fault::Pause),
    };
    with_fault(at, fault, body).0
}

pub fn changes_pin_with_a_pause() {
    let session = entered();
    println!("\n+ {:?}", paused(|| set_pin(&session, PIN, NEW_PIN)));
}

/// The other writer: what it is refused is no matter.
pub fn sets_a_third_pin() {
    let session = open(RW);
    login(&session, CKU_SO, SO_PIN).unwrap();
    let third = || check(p11!(C_InitPIN(session.0, input(THIRD_PIN), length(THIRD_PIN))));
    println!("\n+ {:?}", paused(third));
}

pub fn is_whole() {
    let token =
        Configured { slot: SLOT, path: path(&data()), read_only: false, tpm: None, named: false, machines: false };
    let examined = admin::examine(&token);
    assert_eq!((examined.trouble, examined.foreign), (None, None));
    let session = open(RW);
    let opens = |pin: &&&[u8]| login(&session, CKU_USER, pin) == Ok(());
    assert!([PIN, NEW_PIN, THIRD_PIN].iter().find(opens).is_some(), "no PIN opens the token");
    assert_eq!(labelled(&session, "kept").len(), 1);
    session.create(&data_object("next", true)).unwrap();
    logout(&session).unwrap();
    login(&session, CKU_SO, SO_PIN).unwrap();
}

fn start(scenario: &str, home: &Path, pause: &str) -> std::process::Child {
    let mut command = command(scenario, home);
    command.env("PAUSE", pause).stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// Waits until a writer stops or ends; whether it has stopped.
fn stops(writer: &std::process::Child) -> bool {
    // SAFETY: numbers alone: all zeros is valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let events = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
    // SAFETY: a child of this process, which is waited for later; the information lives.
    assert_eq!(unsafe { libc::waitid(libc::P_PID, writer.id(), &raw mut info, events) }, 0);
    info.si_code == libc::CLD_STOPPED
}

fn go_on(writer: &std::process::Child) {
    // SAFETY: a child of this process, which has stopped and was not waited for to its end.
    assert_eq!(unsafe { libc::kill(writer.id().cast_signed(), libc::SIGCONT) }, 0);
}

/// One writer stops; the lock's file, and perhaps the new file, are taken away; another writer comes, and may stop too; then both go on. Whether the
/// first stopped at all.
fn two_writers(stock: &Path, [first, second]: [&str; 2], takes_new: bool) -> bool {
    let (home, what) = (home(), format!("{first}, {second}, .new taken away: {takes_new}"));
    injected::copy(stock, home.path());
    let mut first = start("changes_pin_with_a_pause", home.path(), first);
    if !stops(&first) {
        assert!(first.wait().unwrap().success(), "{what}");
        return false;
    }
    std::fs::remove_file(lock_of(home.path())).unwrap();
    if takes_new {
        let _ = std::fs::remove_file(home.path().join("adjunct/tokens/default.token.new"));
    }
    let mut second = start("sets_a_third_pin", home.path(), second);
    // Long enough to come to its pause, where nothing holds it up.
    std::thread::sleep(Duration::from_millis(2500));
    go_on(&first);
    assert!(first.wait().unwrap().success(), "{what}");
    if stops(&second) {
        go_on(&second);
    }
    assert!(second.wait().unwrap().success(), "{what}");
    let after = command("is_whole", home.path()).output().unwrap();
    let error = String::from_utf8_lossy(&after.stderr);
    assert!(after.status.success(), "{what}: {error}");
    true
}

#[test]
fn no_name_that_is_taken_away_destroys_a_token() {
    if !is_possible() {
        return;
    }
    let stock = home();
    run("stock", stock.path());
    for second in ["", "before the exchange", "after the exchange"] {
        for (first, takes_new) in
            [("before the exchange", true), ("after the exchange", false), ("after the exchange", true)]
        {
            assert!(two_writers(stock.path(), [first, second], takes_new));
        }
    }
    if std::env::var_os("ADJUNCT_DEEP").is_some() {
        for at in 1..40_u32 {
            let at = at.to_string();
            for takes_new in [false, true] {
                two_writers(stock.path(), [&at, "before the exchange"], takes_new);
            }
        }
    }
}
