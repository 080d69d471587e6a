//! Who may read and write the files.

use super::*;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;

/// All files that are made are readable by their user alone, whatever the umask allows.
pub fn modes() {
    rustix::process::umask(rustix::fs::Mode::empty());
    new_token();
    let session = entered();
    // Until the file has been written anew once.
    for at in 0..300 {
        let made = session.create(&data_object(&format!("object {at}"), true)).unwrap();
        session.destroy(made).unwrap();
    }
    set_pin(&session, PIN, b"new pin").unwrap();
    let mut seen = 0;
    let mut places = vec![data().join("adjunct")];
    while let Some(place) = places.pop() {
        let there = std::fs::symlink_metadata(&place).unwrap();
        assert_eq!(there.mode() & 0o7777, if there.is_dir() { 0o700 } else { 0o600 }, "{place:?}");
        if there.is_dir() {
            places.extend(std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()));
        }
        seen += 1;
    }
    assert_eq!(seen, 4);
}

pub fn changes_pin_once() {
    set_pin(&open(RW), PIN, b"new pin").unwrap();
}

/// A user who may read a token by its group may do so after it was written anew.
#[test]
fn a_file_written_anew_is_for_who_could_read_it() {
    let home = home();
    run("with_private", home.path());
    let file = home.path().join("adjunct/tokens/default.token");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    // Another group, where this user may give it away.
    let _ = std::os::unix::fs::chown(&file, None, Some(65534));
    let before = std::fs::metadata(&file).unwrap();
    run("changes_pin_once", home.path());
    let after = std::fs::metadata(&file).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!((after.mode() & 0o7777, after.uid(), after.gid()), (0o640, before.uid(), before.gid()));
}

/// A user who may read a token by its access control list may do so after it was written anew, and the file's group may do no more than before.
#[test]
fn a_file_written_anew_has_its_access_control_list() {
    const ACL: &str = "system.posix_acl_access";
    let home = home();
    run("with_private", home.path());
    let file = home.path().join("adjunct/tokens/default.token");
    // The owner reads and writes, user 33 reads (and would write, but for the mask), the group and others nothing.
    let list = |rights: u16| {
        let entries = [(1_u16, 6, u32::MAX), (2, rights, 33), (4, 0, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        for (kind, rights, whose) in entries {
            bytes.extend([kind.to_le_bytes(), rights.to_le_bytes()].concat());
            bytes.extend(whose.to_le_bytes());
        }
        bytes
    };
    if let Err(errno) = rustix::fs::setxattr(&file, ACL, &list(6), rustix::fs::XattrFlags::empty()) {
        return println!("SKIPPED: no access control lists here: {errno}");
    }
    let before = std::fs::metadata(&file).unwrap();
    run("changes_pin_once", home.path());
    let after = std::fs::metadata(&file).unwrap();
    assert_ne!(before.ino(), after.ino());
    let mut now = vec![0; 1000];
    let length = rustix::fs::getxattr(&file, ACL, &mut now[..]).unwrap();
    assert_eq!(now[..length], list(4), "all but the right to write");
    assert_eq!(after.mode() & 0o7777, 0o640);
}

#[test]
fn nothing_is_readable_for_others_whatever_the_umask() {
    run("modes", home().path());
}

/// A group that may read the token may so after its file was written anew, which happens after some hundred changes and with a PIN.
pub fn group() {
    new_token();
    let own = std::fs::metadata(file()).unwrap();
    std::fs::set_permissions(file(), std::fs::Permissions::from_mode(0o640)).unwrap();
    let group = if rustix::process::geteuid().is_root() { 33 } else { own.gid() };
    std::os::unix::fs::chown(file(), None, Some(group)).unwrap();
    let session = entered();
    let mut number = own.ino();
    let mut anew = 0;
    for at in 0..300 {
        let made = session.create(&data_object(&format!("object {at}"), true)).unwrap();
        session.destroy(made).unwrap();
        let now = std::fs::metadata(file()).unwrap();
        anew += u32::from(now.ino() != number);
        number = now.ino();
        assert_eq!((now.mode() & 0o7777, now.gid()), (0o640, group));
    }
    assert!(anew > 0, "the file was never written anew");
    set_pin(&session, PIN, b"new pin").unwrap();
    let now = std::fs::metadata(file()).unwrap();
    assert_eq!((now.mode() & 0o7777, now.gid()), (0o640, group));
}

#[test]
fn a_group_that_may_read_still_may_when_the_file_is_written_anew() {
    run("group", home().path());
}

pub fn read_only() {
    let flags = token_info().unwrap().flags;
    assert!(flags & CKF_WRITE_PROTECTED != 0 && flags & CKF_TOKEN_INITIALIZED != 0);
    let session = entered();
    assert_eq!(labelled(&session, "private").len(), 1);
    assert_eq!(session.create(&data_object("x", true)), Err(CKR_TOKEN_WRITE_PROTECTED));
    assert_eq!(session.destroy(labelled(&session, "private")[0]), Err(CKR_TOKEN_WRITE_PROTECTED));
    session.copy(labelled(&session, "private")[0], &Attributes::new().flag(CKA_TOKEN, false)).unwrap();
    assert_eq!(set_pin(&session, PIN, b"new pin"), Err(CKR_TOKEN_WRITE_PROTECTED));
    logout(&session).unwrap();
    drop(session);
    let left = [CKF_USER_PIN_COUNT_LOW, CKF_USER_PIN_FINAL_TRY, CKF_USER_PIN_LOCKED];
    // Each in a process of its own.
    for left in left {
        assert_eq!(run_tried(), format!("{CKR_PIN_INCORRECT:#x}"));
        assert_eq!(pin_flags(), left);
    }
    assert_eq!(run_tried(), format!("{CKR_PIN_LOCKED:#x}"));
    let session = open(RW);
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_LOCKED));
}

/// Takes away what is left of tries of a token in memory.
fn forget_tries(id: &[u8]) {
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    for entry in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().contains(&id) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A wrong PIN, in this process.
pub fn tries_wrong() {
    println!("\n+ {:#x}", login(&open(RO), CKU_USER, b"wrong").unwrap_err());
}

/// Tries a wrong PIN in another process of this user's; the return value that came of it.
fn run_tried() -> String {
    let output = command("tries_wrong", &data()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("+ ")).expect("what came of it").to_owned()
}

/// A new PIN, given where the file can be written to, has all its tries.
pub fn read_only_again() {
    assert_eq!(pin_flags(), 0);
    let session = open(RW);
    assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT));
    login(&session, CKU_USER, b"new pin").unwrap();
    assert_eq!(pin_flags(), 0);
}

pub fn unlocks() {
    let session = open(RW);
    login(&session, CKU_SO, SO_PIN).unwrap();
    check(p11!(C_InitPIN(session.0, input(b"new pin"), length(b"new pin")))).unwrap();
}

pub fn no_place() {
    // A home that cannot be written to.
    assert_eq!(token_info().unwrap().flags & (CKF_WRITE_PROTECTED | CKF_TOKEN_INITIALIZED), CKF_WRITE_PROTECTED);
    assert_eq!(init_token(SO_PIN), Err(CKR_TOKEN_WRITE_PROTECTED));
    common::Session::open();
}

pub fn with_private() {
    new_token();
    entered().create(&data_object("private", true)).unwrap();
}

pub fn refused() {
    let number = |name| -> Option<CK_RV> { std::env::var(name).ok()?.parse().ok() };
    let expected = number("EXPECTED").unwrap();
    assert_eq!(token_info().err(), Some(expected));
    assert_eq!(Session::open_in(SLOT, RO).err(), Some(expected));
    assert_eq!(init_token(SO_PIN), Err(number("EXPECTED_OF_INIT").unwrap_or(expected)));
    // The others go on.
    common::Session::open();
}

#[test]
fn a_store_that_cannot_be_written_to_works() {
    let home = home();
    run("with_private", home.path());
    let tokens = home.path().join("adjunct/tokens");
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let root = rustix::process::geteuid().is_root();
    let mut command = command("read_only", home.path());
    if root {
        // Root may write anywhere: somebody else, then, who may read.
        [home.path(), &home.path().join("adjunct"), &tokens].into_iter().for_each(|path| mode(path, 0o755));
        mode(&tokens.join("default.token"), 0o644);
        command.uid(65534).gid(65534);
    } else {
        mode(&tokens.join("default.token"), 0o400);
        mode(&tokens, 0o500);
    }
    match command.output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("not tried: {error}"),
    }
    // A store that may not be written to by word of the administrator.
    let text =
        format!("[[token]]\nslot = 3\npath = \"{}\"\nread-only = true\n", tokens.join("default.token").display());
    std::fs::write(home.path().join("conf"), text).unwrap();
    mode(&tokens, 0o700);
    // Somebody else has made what the tries would first be counted in.
    let id = std::fs::read(tokens.join("default.token")).unwrap()[20..36].to_vec();
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let first = format!("/dev/shm/adjunct-pin-tries-{}-{id}-0", rustix::process::geteuid().as_raw());
    let _ = std::os::unix::fs::symlink("/dev/null", first);
    let mut command = self::command("read_only", home.path());
    let output = command.env("ADJUNCT_PKCS11_CONF", home.path().join("conf")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    mode(&tokens.join("default.token"), 0o600);
    run("unlocks", home.path());
    let mut command = self::command("read_only_again", home.path());
    let output = command.env("ADJUNCT_PKCS11_CONF", home.path().join("conf")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    forget_tries(&std::fs::read(tokens.join("default.token")).unwrap()[20..36]);
}

/// A lock that belongs to another user, or is read-only, in a folder of one's own, prevents no login.
#[test]
fn a_lock_that_cannot_be_written_to_keeps_nobody_out() {
    let home = home();
    run("with_private", home.path());
    let tokens = home.path().join("adjunct/tokens");
    let mut command = command("read_only", home.path());
    let lock = tokens.join("default.token.lock");
    if rustix::process::geteuid().is_root() {
        for path in [home.path(), &home.path().join("adjunct"), &tokens, &tokens.join("default.token")] {
            std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        }
        command.uid(65534).gid(65534);
    }
    std::fs::set_permissions(lock, std::fs::Permissions::from_mode(0o400)).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    forget_tries(&std::fs::read(tokens.join("default.token")).unwrap()[20..36]);
}

#[test]
fn a_home_that_cannot_be_written_to_is_no_error() {
    run("no_place", Path::new("/proc/self/nothing"));
}

/// Checks that an obstacle between the module and a store is reported in one line, and not as write protection.
fn refused_in_a_line(mut command: std::process::Command, words: &str, rv: CK_RV) {
    let output = command.env("EXPECTED", rv.to_string()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {err}");
    let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("adjunct: ")).collect();
    assert!(lines.len() == 1 && lines[0].contains(words), "{words}: {lines:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_refused_in_a_line() {
    let home = home();
    run("with_private", home.path());
    let tokens = home.path().join("adjunct/tokens");
    let file = tokens.join("default.token");
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    if rustix::process::geteuid().is_root() {
        [home.path(), &home.path().join("adjunct"), &tokens].into_iter().for_each(|path| mode(path, 0o755));
        let refused = |words: &str, of_init: CK_RV| {
            let mut command = command("refused", home.path());
            command.uid(65534).gid(65534).env("EXPECTED_OF_INIT", of_init.to_string());
            refused_in_a_line(command, words, CKR_DEVICE_ERROR);
        };
        // It is seen to be there, and may not be written to either.
        refused(
            "user 65534 may not read it (Permission denied): it is user 0's and group 0's, with mode 0600",
            CKR_TOKEN_WRITE_PROTECTED,
        );
        mode(&tokens, 0o700);
        refused("user 65534 may not look into its directory (Permission denied)", CKR_DEVICE_ERROR);
    } else {
        mode(&file, 0);
        refused_in_a_line(command("refused", home.path()), "may not read it", CKR_DEVICE_ERROR);
    }
    mode(&tokens, 0o700);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    refused_in_a_line(command("refused", home.path()), "a directory, where a file is to be", CKR_DEVICE_ERROR);
}

#[test]
fn a_file_that_is_not_trusted_is_refused_in_a_line() {
    let home = home();
    run("with_private", home.path());
    let tokens = home.path().join("adjunct/tokens");
    let file = tokens.join("default.token");
    let refused = |words: &str, rv: CK_RV| {
        refused_in_a_line(command("refused", home.path()), words, rv);
    };
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(&file, 0o660);
    refused("writable by others", CKR_DEVICE_ERROR);
    mode(&file, 0o600);
    mode(&tokens, 0o777);
    refused("writable by others", CKR_DEVICE_ERROR);
    mode(&tokens, 0o700);
    let whole = std::fs::read(&file).unwrap();
    let mut bytes = whole.clone();
    bytes[300] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    refused("damaged", CKR_DEVICE_ERROR);
    let mut bytes = whole.clone();
    bytes[16] = 3;
    let crc = crc32fast::hash(&bytes[..124]);
    bytes[124..128].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&file, &bytes).unwrap();
    refused("newer adjunct (version 3 of the format)", CKR_TOKEN_NOT_RECOGNIZED);
    std::fs::write(&file, &whole).unwrap();
    std::fs::rename(&file, tokens.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(tokens.join("elsewhere"), &file).unwrap();
    refused("is a link", CKR_DEVICE_ERROR);
}
