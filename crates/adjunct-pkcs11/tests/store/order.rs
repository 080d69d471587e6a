//! Which slots there are, in which order, and what a program is told that takes the wrong one.

use super::*;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::ptr::null_mut;

/// The slots as a call with room for them lists them.
pub fn listed() -> Vec<CK_SLOT_ID> {
    let (mut list, mut count) = ([0; 8], 8);
    check(p11!(C_GetSlotList(CK_TRUE, list.as_mut_ptr(), &raw mut count))).unwrap();
    list[..count as usize].to_vec()
}

/// The slots, looked at anew.
fn slots() -> Vec<CK_SLOT_ID> {
    let mut count = 0;
    check(p11!(C_GetSlotList(CK_TRUE, null_mut(), &raw mut count))).unwrap();
    let listed = listed();
    assert_eq!(listed.len() as CK_ULONG, count);
    listed
}

fn init(slot: CK_SLOT_ID, label: &str, user: bool) {
    let mut label: [u8; 32] = format!("{label:<32}").into_bytes().try_into().unwrap();
    check(p11!(C_InitToken(slot, input(SO_PIN), length(SO_PIN), label.as_mut_ptr()))).unwrap();
    if user {
        let session = Session::open_in(slot, RW).unwrap();
        login(&session, CKU_SO, SO_PIN).unwrap();
        check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))).unwrap();
    }
}

pub fn by_content() {
    // Nothing that a program could use but the accelerator.
    assert_eq!(slots(), [1, 3, 4, 5]);
    // A token whose user has no PIN is of no use yet.
    init(4, "four", false);
    assert_eq!(slots(), [1, 3, 4, 5]);
    init(4, "four", true);
    // Who has asked how long the list is finds what that was of.
    assert_eq!(listed(), [1, 3, 4, 5]);
    assert_eq!(slots(), [4, 1, 3, 5]);
    init(3, "three", true);
    assert_eq!(slots(), [3, 4, 1, 5]);
    // One with objects comes before one without, and before it again when they are gone.
    let session = Session::open_in(4, RW).unwrap();
    login(&session, CKU_USER, PIN).unwrap();
    let made = session.create(&data_object("x", true)).unwrap();
    assert_eq!(slots(), [4, 3, 1, 5]);
    session.destroy(made).unwrap();
    assert_eq!(slots(), [3, 4, 1, 5]);
    // A file that cannot be read comes last, and keeps no other from being there.
    std::fs::write(data().join("5.token"), [7; 4096]).unwrap();
    std::fs::write(data().join("4.token"), b"short").unwrap();
    assert_eq!(slots(), [3, 1, 4, 5]);
}

pub fn as_said() {
    assert_eq!(slots(), [4, 1, 3]);
    init(3, "three", true);
    assert_eq!(slots(), [4, 1, 3], "the configuration's order stays");
    assert_eq!(Session::open_in(5, RW).unwrap_err(), CKR_SLOT_ID_INVALID);
}

pub fn alone() {
    assert_eq!(slots(), [4]);
    for hidden in [1, 0x1_0001, 3, 5] {
        assert_eq!(Session::open_in(hidden, RO).unwrap_err(), CKR_SLOT_ID_INVALID, "{hidden}");
    }
    init(4, "four", true);
    let session = Session::open_in(slots()[0], RW).unwrap();
    login(&session, CKU_USER, PIN).unwrap();
    session.create(&data_object("x", true)).unwrap();
}

/// A home with a configuration of three tokens.
fn configured(more: &str) -> TempDir {
    let home = home();
    let token = |slot| format!("[[token]]\nslot = {slot}\npath = \"{}/{slot}.token\"\n", home.path().display());
    std::fs::create_dir(home.path().join("adjunct")).unwrap();
    let text = format!("{more}\n{}{}{}", token(5), token(4), token(3));
    std::fs::write(home.path().join("adjunct/tokens.conf"), text).unwrap();
    home
}

#[test]
fn tokens_of_use_come_before_the_accelerator() {
    run("by_content", configured("").path());
}

#[test]
fn the_configuration_says_which_slots_there_are() {
    run("as_said", configured("slots = [4, 1, 3]").path());
    run("alone", configured("slots = [4]").path());
}

/// Calls of a program that the accelerator has to refuse.
fn want_more() {
    let session = Session::open();
    let aes = Attributes::key(CKO_SECRET_KEY, CKK_AES).bytes(CKA_VALUE, &[1; 32]);
    session.create(&aes).unwrap();
    assert_eq!(session.create(&aes.flag(CKA_TOKEN, true)), Err(CKR_TOKEN_WRITE_PROTECTED));
    assert_eq!(ec_pair(&session, "pair"), Err(CKR_TOKEN_WRITE_PROTECTED));
    assert_eq!(login(&session, CKU_SO, SO_PIN), Err(CKR_USER_TYPE_INVALID));
    assert_eq!(set_pin(&session, PIN, SO_PIN), Err(CKR_FUNCTION_NOT_SUPPORTED));
}

pub fn in_vain() {
    init_some(std::env::var("TOKENS").unwrap().parse().unwrap());
    want_more();
}

fn init_some(tokens: usize) {
    [(3, "three"), (4, "a \"4\"\n")].into_iter().take(tokens).for_each(|(slot, label)| init(slot, label, true));
}

/// Asks the accelerator for what it does not do, in a program that has opened a file of its own in the place of standard error.
pub fn redirected() {
    init_some(1);
    let own = std::fs::File::create(data().join("own")).unwrap();
    // SAFETY: both descriptors are open, and nobody else uses standard error here.
    assert_eq!(unsafe { libc::dup2(own.as_fd().as_raw_fd(), 2) }, 2);
    want_more();
    assert_eq!(own.metadata().unwrap().len(), 0);
}

#[test]
fn who_wants_more_of_the_accelerator_is_told_once_where_that_is() {
    let said = |tokens: &str, more: &str| {
        let output = command("in_vain", configured(more).path()).env("TOKENS", tokens).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{err}");
        let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("adjunct: ")).collect();
        assert_eq!(lines.len(), 1, "{err}");
        lines[0].to_owned()
    };
    let is = "adjunct: the token \"icatok\" in slot 1 is an accelerator, keeps no objects and has no PINs; ";
    assert_eq!(said("1", ""), format!("{is}the token \"three\" in slot 3 does: name it to the program"));
    let both = r#"the tokens "three" in slot 3, "a \"4\"" in slot 4 do: name one to the program"#;
    assert_eq!(said("2", ""), format!("{is}{both}"));
    let init = "no other is initialized: 'adjunct token init --slot 3 --label NAME' makes one";
    assert_eq!(said("0", ""), format!("{is}{init}"));
    assert_eq!(said("0", "slots = [1]"), format!("{is}tokens.conf gives no other"));
    run("redirected", configured("").path());
}

#[test]
fn a_list_of_slots_that_cannot_be_is_told() {
    for (slots, words) in [
        ("slots = [1, 7]", "slots: there is no [[token]] with slot = 7"),
        ("slots = [1, 3, 1]", "slots: 1 is there twice"),
        ("slots = []", "slots: the list is empty"),
        ("slots = \"all\"", "invalid type"),
    ] {
        let output = command("initialize", configured(slots).path()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{err}");
        let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("adjunct: ")).collect();
        assert!(lines.len() == 1 && lines[0].contains(words) && lines[0].contains("tokens.conf"), "{slots}: {err}");
    }
}
