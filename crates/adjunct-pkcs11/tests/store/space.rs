//! Tokens whose file may not grow: a full file system, or a limit of the process.

use super::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

pub fn limited() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let session = entered();
    let (before, limits) = (std::fs::read(file()).unwrap(), getrlimit(Resource::Fsize));
    for more in 0..700 {
        let current = Some((before.len() + more) as u64);
        setrlimit(Resource::Fsize, Rlimit { current, maximum: limits.maximum }).unwrap();
        match session.create(&data_object("limited", true)) {
            Ok(_) => {
                assert!(more > 300);
                break;
            }
            Err(rv) => assert_eq!(rv, CKR_DEVICE_MEMORY),
        }
        assert_eq!(std::fs::read(file()).unwrap(), before);
        assert_eq!(labelled(&session, "limited"), []);
    }
    assert_eq!(labelled(&session, "limited").len(), 1);
    // Every other change, with room for part of it.
    let (before, made) = (std::fs::read(file()).unwrap(), labelled(&session, "limited")[0]);
    let unchanged = |what: &str| {
        assert_eq!(std::fs::read(file()).unwrap(), before, "{what}");
        assert_eq!(labelled(&session, "limited").len(), 1, "{what}");
    };
    let limit = |most: usize| {
        let current = Some(most as u64);
        setrlimit(Resource::Fsize, Rlimit { current, maximum: limits.maximum }).unwrap();
    };
    let label = Attributes::new().bytes(CKA_LABEL, b"other");
    for more in [0, 1, 23, 24, 40, 90] {
        limit(before.len() + more);
        assert_eq!(session.set_attributes(made, &label), Err(CKR_DEVICE_MEMORY));
        assert_eq!(session.copy(made, &label).unwrap_err(), CKR_DEVICE_MEMORY);
        assert_eq!(ec_pair(&session, "limited").unwrap_err(), CKR_DEVICE_MEMORY);
        unchanged("a change");
    }
    // To destroy takes no room.
    limit(before.len());
    let gone = session.find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap();
    assert_eq!(gone, [made]);
    session.destroy(made).unwrap();
    assert_eq!((labelled(&session, "limited"), std::fs::read(file()).unwrap().len()), (vec![], before.len()));
    run("gone", &data());
    limit(before.len() + 1000);
    session.create(&data_object("limited", true)).unwrap();
    let before = std::fs::read(file()).unwrap();
    // A PIN's try is written in place; its new role, and a new token, need room.
    limit(300);
    assert_eq!(set_pin(&session, PIN, b"new pin"), Err(CKR_DEVICE_MEMORY));
    drop(session);
    assert_eq!(init_token(SO_PIN), Err(CKR_DEVICE_MEMORY));
    limit(before.len());
    let session = entered();
    assert_eq!(labelled(&session, "limited").len(), 1);
    assert_eq!(std::fs::read(file()).unwrap()[256..], before[256..]);
    assert_eq!(std::fs::read_dir(file().parent().unwrap()).unwrap().count(), 2, "no file is left behind");
}

pub fn two_left() {
    assert_eq!(labelled(&entered(), "some").len(), 2);
}

pub fn gone() {
    assert_eq!(labelled(&entered(), "limited"), []);
}

/// Runs in a file system that is full.
pub fn full() {
    new_token();
    let session = entered();
    let mut made = 0;
    while session.create(&data_object("some", true)).is_ok() && made < 1000 {
        made += 1;
    }
    assert!(made < 1000);
    assert_eq!(session.create(&data_object("some", true)), Err(CKR_DEVICE_MEMORY));
    assert_eq!(labelled(&session, "some").len(), made);
    // PINs are counted and checked all the same.
    logout(&session).unwrap();
    assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
    login(&session, CKU_USER, PIN).unwrap();
    let all = labelled(&session, "some");
    assert_eq!(all.len(), made);
    // All but two are destroyed, though nothing can be added; another process sees each time what is left.
    let mut other = command("sees", &data()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut ask, mut told) = (other.stdin.take().unwrap(), BufReader::new(other.stdout.take().unwrap()).lines());
    let mut seen = || {
        writeln!(ask, "?").unwrap();
        told.by_ref().find_map(|line| line.unwrap().strip_prefix("+ ").map(|count| count.parse::<usize>().unwrap()))
    };
    assert_eq!(seen(), Some(made));
    for (at, object) in all.iter().skip(2).enumerate() {
        session.destroy(*object).unwrap();
        if at < 5 {
            assert_eq!(seen(), Some(made - at - 1));
        }
    }
    assert_eq!((labelled(&session, "some").len(), seen()), (2, Some(2)));
    drop(ask);
    assert!(other.wait().unwrap().success());
    println!("# {made} objects in a full file system");
}

/// Prints how many objects there are, as often as it is asked.
pub fn sees() {
    let session = entered();
    for _ in std::io::stdin().lines() {
        println!("\n+ {}", labelled(&session, "some").len());
    }
}

/// Fills the file system with changes of several threads, which are written together: changes that there is room for are made all the same.
pub fn full_together() {
    new_token();
    let session = &entered();
    let make = |thread: usize| {
        let mut made = 0;
        for at in 0..200 {
            let object = data_object(&format!("{thread} {at}"), true);
            // Of different lengths: what one has room for another has not.
            match session.create(&object.bytes(CKA_APPLICATION, &vec![b'x'; 100 + 500 * thread])) {
                Ok(_) => made += 1,
                Err(rv) => assert_eq!(rv, CKR_DEVICE_MEMORY),
            }
        }
        made
    };
    let made: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || make(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count = |session: &Session| session.find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap().len();
    assert_eq!(count(session), made.iter().sum());
    println!("# MADE {}", made.iter().sum::<usize>());
}

/// What is in the file is what was said to be.
pub fn counted() {
    let made: usize = std::env::var("MADE").unwrap().parse().unwrap();
    let found = entered().find(&Attributes::new().number(CKA_CLASS, CKO_DATA)).unwrap().len();
    assert_eq!(found, made);
}

#[test]
fn a_file_that_may_not_grow_stays_what_it_is() {
    let home = home();
    run("new_token", home.path());
    run("limited", home.path());
}

/// Runs `body` with a file system of 64 KiB, where one can be mounted.
fn in_small_file_system(body: impl FnOnce(&Path)) {
    let home = home();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(home.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("not tried: no file system can be mounted here");
        return;
    }
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(home.path())));
    assert!(Command::new("umount").arg(home.path()).status().unwrap().success());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[test]
fn a_full_file_system_loses_nothing() {
    in_small_file_system(|home| {
        run("full", home);
        run("two_left", home);
    });
}

#[test]
fn a_full_file_system_takes_what_it_has_room_for() {
    in_small_file_system(|home| {
        let output = String::from_utf8(run("full_together", home).stdout).unwrap();
        let made = output.lines().find_map(|line| line.split_once("# MADE ")).unwrap().1;
        assert_ne!(made, "0");
        let counted = command("counted", home).env("MADE", made).output().unwrap();
        assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    });
}
