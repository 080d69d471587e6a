//! After a change an old PIN opens nothing, and nothing is left of destroyed objects.

use super::*;
use adjunct_pkcs11::admin::{self, Configured};

fn token(home: &Path) -> Configured {
    let path = home.join("adjunct/tokens/default.token");
    Configured { slot: SLOT, path, read_only: false, tpm: None, named: false, machines: false }
}

/// All files of the token's folder.
fn files(token: &Configured) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(token.path.parent().unwrap()).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

pub fn first() {
    new_token();
    let session = entered();
    session.create(&data_object("private", true)).unwrap();
    session.create(&data_object("gone", true)).unwrap();
    ec_pair(&session, "pair").unwrap();
}

/// Has repair put aside a copy of the file with a changed byte in its last record; gives its bytes.
fn put_aside(token: &Configured) -> Vec<u8> {
    let mut bytes = std::fs::read(&token.path).unwrap();
    let at = bytes.len() - 40;
    bytes[at] ^= 1;
    std::fs::write(&token.path, &bytes).unwrap();
    assert!(matches!(admin::repair(token, false, PIN), Ok(admin::Repaired::Anew { .. })));
    bytes
}

pub fn changes() {
    let session = entered();
    set_pin(&session, PIN, b"new pin").unwrap();
    session.destroy(labelled(&session, "gone")[0]).unwrap();
    session.create(&data_object("late", true)).unwrap();
}

pub fn old_pins() {
    let session = open(RW);
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_INCORRECT));
}

pub fn new_pins() {
    let session = open(RW);
    login(&session, CKU_USER, b"new pin").unwrap();
    assert_eq!((labelled(&session, "private").len(), labelled(&session, "gone").len()), (1, 0));
    logout(&session).unwrap();
    login(&session, CKU_SO, SO_PIN).unwrap();
}

#[test]
fn an_old_pin_opens_nothing_that_is_left() {
    let home = home();
    let token = token(home.path());
    run("first", home.path());
    put_aside(&token);
    let before = std::fs::read(&token.path).unwrap();
    assert_eq!(files(&token).len(), 3);
    run("changes", home.path());
    let after = files(&token);
    let mut names: Vec<&str> = after.iter().map(|(name, _)| &name[..]).collect();
    names.sort_unstable();
    assert_eq!(names, ["default.token", "default.token.lock"]);
    // The user's role stands first: behind its numbers, salt, secret and grip, of which nothing is left.
    let role = &before[256 + 24 + 64 + 16..256 + 24 + 64 + 260];
    for (name, bytes) in &after {
        assert!(!role.windows(16).any(|part| bytes.windows(16).any(|other| other == part)), "{name}");
    }
    run("old_pins", home.path());
    run("new_pins", home.path());
    // With the frames of before in place of the first one, and with any byte of that changed.
    let now = std::fs::read(&token.path).unwrap();
    let length = |bytes: &[u8]| 24 + u32::from_le_bytes(bytes[260..264].try_into().unwrap()) as usize + 20;
    let mut forged = vec![[&now[..256], &before[256..256 + length(&before)], &now[256 + length(&now)..]].concat()];
    forged.push([&before[..256 + length(&before)], &now[256 + length(&now)..]].concat());
    for at in [256 + 5, 256 + 24, 256 + 24 + 8, 256 + 24 + 64 + 50, 256 + 24 + 64 + 200] {
        let mut bytes = now.clone();
        bytes[at] ^= 1;
        forged.push(bytes);
    }
    for (at, bytes) in forged.iter().enumerate() {
        std::fs::write(&token.path, bytes).unwrap();
        match admin::repair(&token, false, PIN) {
            Err(_) => {}
            // The whole begin of the old file, with its objects: what was made after the change does not come with it.
            Ok(admin::Repaired::Anew { kept, lost, .. }) => assert_eq!((at, kept, lost), (1, 3, 1)),
            whole => panic!("{at}: {whole:?}"),
        }
    }
}

/// Logged in while others change PINs, in a process of their own.
pub fn stays_in() {
    new_token();
    let session = entered();
    let (public, private) = ec_pair(&session, "pair").unwrap();
    session.create(&data_object("private", true)).unwrap();
    session.create(&data_object("gone", true)).unwrap();
    // The officer's PIN is changed to and fro: nothing ends for the user.
    run("officer", &data());
    assert_eq!(labelled(&session, "private").len(), 1);
    session.create(&data_object("after", true)).unwrap();
    // The user's own: what was read goes on, and is seen to go; the rest is for who knows the new PIN.
    run("changes", &data());
    sign(&session, private, public);
    assert_eq!((labelled(&session, "private").len(), labelled(&session, "gone").len()), (1, 0));
    assert_eq!(labelled(&session, "late"), []);
    sign(&session, private, public);
    assert_eq!(session.create(&data_object("x", true)), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(session.destroy(private), Err(CKR_USER_NOT_LOGGED_IN));
    sign(&session, private, public);
    logout(&session).unwrap();
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_INCORRECT));
    login(&session, CKU_USER, b"new pin").unwrap();
    assert_eq!((labelled(&session, "late").len(), labelled(&session, "after").len()), (1, 1));
}

pub fn officer() {
    let session = open(RW);
    login(&session, CKU_SO, SO_PIN).unwrap();
    set_pin(&session, SO_PIN, b"for a while").unwrap();
    set_pin(&session, b"for a while", SO_PIN).unwrap();
}

#[test]
fn who_is_logged_in_goes_on_when_pins_change() {
    run("stays_in", home().path());
}

/// A copy that repair has put aside keeps nothing of what is destroyed afterwards, and keeps all else.
#[test]
fn what_is_destroyed_is_gone_from_damaged_copies() {
    let home = home();
    let token = token(home.path());
    run("first", home.path());
    let bytes = put_aside(&token);
    run("destroys_gone", home.path());
    let copy = std::fs::read(token.path.with_file_name("default.token.damaged")).unwrap();
    let changed = copy.iter().zip(&bytes).filter(|(now, before)| now != before).count();
    assert!(copy.len() == bytes.len() && (100..600).contains(&changed), "{changed}");
    std::fs::write(&token.path, &copy).unwrap();
    let Ok(admin::Repaired::Anew { kept, .. }) = admin::repair(&token, false, PIN) else { panic!("no repair") };
    run("gone_is_gone", home.path());
    println!("{kept} objects are left in the copy");
}

pub fn destroys_gone() {
    let session = entered();
    session.destroy(labelled(&session, "gone")[0]).unwrap();
}

pub fn gone_is_gone() {
    let session = entered();
    assert_eq!((labelled(&session, "gone").len(), labelled(&session, "private").len()), (0, 1));
}

/// A copy of the whole file that is put back later is reported; repair takes it as it is.
#[test]
fn an_older_copy_is_told() {
    let home = home();
    let token = token(home.path());
    run("first", home.path());
    let before = std::fs::read(&token.path).unwrap();
    run("destroys_gone", home.path());
    assert_eq!(admin::examine(&token).older, None);
    std::fs::write(&token.path, &before).unwrap();
    let older = admin::examine(&token).older.unwrap();
    assert!(older.contains("an older copy was put in its place, the last change is missing"), "{older}");
    let said = run("used_older", home.path());
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("default.token: an older copy was put in its place"), "{said}");
    assert!(admin::repair(&token, false, PIN).is_ok());
    assert_eq!(admin::examine(&token).older, None);
}

pub fn used_older() {
    assert_eq!(labelled(&entered(), "gone").len(), 1);
}

/// One of several programs that make a token at the same time makes it, and the others have tried none of its PINs.
#[test]
fn one_of_many_makes_the_token() {
    let home = home();
    let token = &token(home.path());
    let made: Vec<bool> = std::thread::scope(|scope| {
        let make = |number: usize| {
            let so_pin = format!("so pin {number}");
            let new = admin::New {
                so_pin: so_pin.as_bytes(),
                user_pin: PIN,
                label: &[b'x'; 32],
                seal: false,
                replace: false,
            };
            match admin::initialize(token, &new) {
                Ok(()) => true,
                Err(error) => {
                    assert!(error.0.contains("there is a token already"), "{error}");
                    false
                }
            }
        };
        let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || make(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
    assert_eq!(admin::examine(token).users.map(|user| (user.has_pin, user.tries_left)), [(true, Some(3)); 2]);
    // A PIN that cannot be leaves nothing, and a token that was there as it was.
    let before = std::fs::read(&token.path).unwrap();
    let so_pin = format!("so pin {}", made.iter().position(|made| *made).unwrap());
    let new =
        |user_pin| admin::New { so_pin: so_pin.as_bytes(), user_pin, label: &[b'y'; 32], seal: false, replace: true };
    assert!(admin::initialize(token, &new(b"abc")).unwrap_err().0.contains("4 to 255 bytes"));
    assert_eq!(std::fs::read(&token.path).unwrap(), before);
    admin::initialize(token, &new(b"abcd")).unwrap();
    assert_eq!(admin::examine(token).label.unwrap(), "y".repeat(32));
    assert_eq!(std::fs::read_dir(token.path.parent().unwrap()).unwrap().count(), 2);
}

/// Many processes call C_InitToken: none of those that began before there was a token has tried a PIN of it.
#[test]
fn c_init_token_of_many_tries_no_pin() {
    let home = home();
    let children: Vec<_> = (0..3)
        .map(|number| command("makes_token", home.path()).env("NUMBER", number.to_string()).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let seen = admin::examine(&token(home.path()));
    assert!(seen.trouble.is_none() && seen.users[1].has_pin, "{seen:?}");
}

pub fn makes_token() {
    let pin = format!("so pin {}", std::env::var("NUMBER").unwrap());
    // Who comes later finds a token, and has not its PIN: the interface knows of no other way.
    let made = init_token(pin.as_bytes());
    assert!(matches!(made, Ok(()) | Err(CKR_FUNCTION_FAILED | CKR_PIN_INCORRECT)), "{made:?}");
}
