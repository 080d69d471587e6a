//! A token in the older version of the format, made by the older module: a pair, private data "private" and "later", a key that was destroyed, and a
//! user's PIN that was changed from [`FIRST_PIN`].

use super::*;
use adjunct_pkcs11::admin::{self, Configured, Repaired};

pub const TOKEN: &[u8] = include_bytes!("version-1.token");
const FIRST_PIN: &[u8] = b"first PIN";

pub fn put(home: &Path, bytes: &[u8]) -> Configured {
    let path = home.join("adjunct/tokens/default.token");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for directory in [home.join("adjunct"), home.join("adjunct/tokens")] {
        std::fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    Configured { slot: SLOT, path, read_only: false, tpm: None, named: false, machines: false }
}

fn version() -> u8 {
    std::fs::read(file()).unwrap()[16]
}

fn all_there(session: &Session, more: &[&str]) {
    for label in ["later", "pair"].iter().chain(more) {
        assert!(!labelled(session, label).is_empty(), "{label}");
    }
    let found = labelled(session, "pair");
    let class = |handle: &&Handle| session.attribute(**handle, CKA_CLASS).unwrap() == CKO_PRIVATE_KEY.to_ne_bytes();
    let private = *found.iter().find(class).unwrap();
    let public = *found.iter().find(|handle| **handle != private).unwrap();
    sign(session, private, public);
}

/// A file of the older version is used and added to in its format, so that programs that still run the older module go on.
pub fn used_on() {
    let session = open(RW);
    assert_eq!(login(&session, CKU_USER, FIRST_PIN), Err(CKR_PIN_INCORRECT));
    drop(session);
    let session = entered();
    all_there(&session, &["private"]);
    session.create(&data_object("added", true)).unwrap();
    assert_eq!(version(), 1);
}

pub fn destroys_short() {
    let session = entered();
    session.destroy(session.create(&data_object("short", true)).unwrap()).unwrap();
}

fn version_of(token: &Configured) -> u8 {
    std::fs::read(&token.path).unwrap()[16]
}

/// A large file becomes one of this version when a sealed object is destroyed.
pub fn grows() {
    let session = entered();
    let big = data_object("big", true).bytes(CKA_APPLICATION, &[b'x'; 66_000]);
    session.create(&big).unwrap();
    let short = session.create(&data_object("short", true)).unwrap();
    assert_eq!(version(), 1);
    session.destroy(short).unwrap();
    assert_eq!(version(), 2);
    all_there(&session, &["private", "big"]);
    session.create(&data_object("added", true)).unwrap();
    logout(&session).unwrap();
    login(&session, CKU_SO, SO_PIN).unwrap();
}

#[test]
fn a_large_token_of_the_version_before_becomes_one_of_this() {
    let home = home();
    put(home.path(), TOKEN);
    run("grows", home.path());
}

/// A destroyed object exists nowhere any more; logins in other processes go on.
pub fn destroys_on_old() {
    let session = entered();
    session.destroy(labelled(&session, "private")[0]).unwrap();
    assert_eq!(version(), 1);
    all_there(&session, &["added"]);
    session.create(&data_object("by another", true)).unwrap();
    logout(&session).unwrap();
    // The officer's role was handed over.
    login(&session, CKU_SO, SO_PIN).unwrap();
    logout(&session).unwrap();
}

pub fn follows() {
    let session = entered();
    all_there(&session, &["private"]);
    run("destroys_on_old", &data());
    assert_eq!(labelled(&session, "private"), []);
    all_there(&session, &["added", "by another"]);
    session.create(&data_object("by the first", true)).unwrap();
    // A PIN of the new kind in the place of the one of before, and the other's after it.
    set_pin(&session, PIN, b"third PIN").unwrap();
    assert_eq!(version(), 2);
    logout(&session).unwrap();
    login(&session, CKU_SO, SO_PIN).unwrap();
    set_pin(&session, SO_PIN, b"another SO PIN").unwrap();
    check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))).unwrap();
    logout(&session).unwrap();
    assert_eq!(login(&session, CKU_USER, b"third PIN"), Err(CKR_PIN_INCORRECT));
    login(&session, CKU_USER, PIN).unwrap();
    all_there(&session, &["added", "by another", "by the first"]);
}

#[test]
fn a_token_of_the_version_before_is_used_on_and_becomes_one_of_this() {
    let home = home();
    let token = put(home.path(), TOKEN);
    let seen = admin::examine(&token);
    assert_eq!((seen.leftovers, seen.checked, seen.objects), (true, false, Some(4)));
    run("used_on", home.path());
    assert!(admin::examine(&token).leftovers);
    run("destroys_short", home.path());
    // Written anew, and with that what the module of before had left.
    let seen = admin::examine(&token);
    assert_eq!((seen.leftovers, seen.checked, version_of(&token)), (false, true, 1));
    run("follows", home.path());
    let seen = admin::examine(&token);
    assert_eq!((seen.leftovers, seen.checked, seen.objects), (false, true, Some(6)));
    assert_eq!(std::fs::read_dir(token.path.parent().unwrap()).unwrap().count(), 2);
}

/// With a flipped bit in the change of a PIN, the earlier PIN still does not open the token.
#[test]
fn repair_takes_no_pin_of_before() {
    let home = home();
    // The last record of a role: kind, zeros, length, identifier.
    let role = [&[5, 0, 0, 0, 108, 0, 0, 0, 1][..], &[0; 15]].concat();
    let places: Vec<usize> = (0..TOKEN.len() - 24).filter(|at| TOKEN[*at..*at + 24] == role).collect();
    assert_eq!(places.len(), 2);
    let deep = std::env::var_os("ADJUNCT_DEEP").is_some();
    let head = [0, 1, 4, 5, 7, 8, 9, 23, 24, 31, 32, 45, 60, 63, 64, 80, 130, 171];
    for at in (0..172).filter(|at| deep || head.contains(at)) {
        let mut bytes = TOKEN.to_vec();
        bytes[places[1] + at] ^= 1;
        let token = put(home.path(), &bytes);
        let repaired = admin::repair(&token, false, FIRST_PIN);
        assert!(repaired.is_err(), "{at}: {repaired:?}");
        assert_eq!(std::fs::read(&token.path).unwrap()[256..], bytes[256..], "{at}");
    }
    // The officer repairs it, and then gives the user a PIN.
    let mut bytes = TOKEN.to_vec();
    bytes[places[1] + 5] ^= 1;
    let token = put(home.path(), &bytes);
    assert!(matches!(admin::repair(&token, true, SO_PIN), Ok(Repaired::Anew { kept: 4, lost: 0, .. })));
    // Damage elsewhere keeps nobody with the PIN of now from repairing.
    let mut bytes = TOKEN.to_vec();
    bytes[places[1] - 60] ^= 1;
    let token = put(home.path(), &bytes);
    assert!(matches!(admin::repair(&token, false, PIN), Ok(Repaired::Anew { .. })));
}
