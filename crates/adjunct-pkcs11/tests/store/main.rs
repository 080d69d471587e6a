//! The life of store tokens through the C interface. The module is a process's own, so each scenario runs in a process of its own: this
//! program, called for the one test that runs scenarios.

#[path = "../common/mod.rs"]
mod common;

mod access;
mod authentication;
mod forks;
mod inject;
mod injected;
mod kills;
mod life;
mod locks;
mod many;
mod older;
mod order;
mod pins;
mod processes;
mod profiles;
mod renewed;
mod space;
mod tpm;

use common::{Attributes, Handle, Mechanism, Result, Session, check, input, length};
use cryptoki_sys::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const SLOT: CK_SLOT_ID = 3;
const SO_PIN: &[u8] = b"so pin 87654321";
const PIN: &[u8] = b"12345678";
const RW: CK_FLAGS = CKF_SERIAL_SESSION | CKF_RW_SESSION;
const RO: CK_FLAGS = CKF_SERIAL_SESSION;

fn data() -> PathBuf {
    std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).expect("a directory")
}

fn file() -> PathBuf {
    data().join("adjunct/tokens/default.token")
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn command(scenario: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["scenario", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("SCENARIO", scenario).env("XDG_DATA_HOME", home).env("XDG_CONFIG_HOME", home).env("HOME", home);
    command
}

fn run(scenario: &str, home: &Path) -> Output {
    let output = command(scenario, home).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{scenario}: {}\n{out}\n{err}", output.status);
    out.lines().filter_map(|line| line.split_once("# ")).for_each(|(_, said)| println!("{scenario}: {said}"));
    output
}

// What scenarios do.

fn open(flags: CK_FLAGS) -> Session {
    Session::open_in(SLOT, flags).unwrap()
}

fn login(session: &Session, user: CK_USER_TYPE, pin: &[u8]) -> Result {
    check(p11!(C_Login(session.0, user, input(pin), length(pin))))
}

fn logout(session: &Session) -> Result {
    check(p11!(C_Logout(session.0)))
}

fn set_pin(session: &Session, old: &[u8], new: &[u8]) -> Result {
    check(p11!(C_SetPIN(session.0, input(old), length(old), input(new), length(new))))
}

fn init_token(pin: &[u8]) -> Result {
    let mut label = *b"a token                         ";
    check(p11!(C_InitToken(SLOT, input(pin), length(pin), label.as_mut_ptr())))
}

fn token_info() -> Result<CK_TOKEN_INFO> {
    let mut info = CK_TOKEN_INFO::default();
    check(p11!(C_GetTokenInfo(SLOT, &raw mut info))).map(|()| info)
}

const PIN_FLAGS: CK_FLAGS = CKF_USER_PIN_COUNT_LOW
    | CKF_USER_PIN_FINAL_TRY
    | CKF_USER_PIN_LOCKED
    | CKF_SO_PIN_COUNT_LOW
    | CKF_SO_PIN_FINAL_TRY
    | CKF_SO_PIN_LOCKED;

fn pin_flags() -> CK_FLAGS {
    token_info().unwrap().flags & PIN_FLAGS
}

/// A token with both PINs.
fn new_token() {
    init_token(SO_PIN).unwrap();
    let session = open(RW);
    login(&session, CKU_SO, SO_PIN).unwrap();
    check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))).unwrap();
    logout(&session).unwrap();
}

/// A session with the user logged in.
fn entered() -> Session {
    let session = open(RW);
    login(&session, CKU_USER, PIN).unwrap();
    session
}

fn data_object(label: &str, private: bool) -> Attributes {
    let object = Attributes::new().number(CKA_CLASS, CKO_DATA).bytes(CKA_LABEL, label.as_bytes());
    object.flag(CKA_TOKEN, true).flag(CKA_PRIVATE, private).bytes(CKA_VALUE, b"some bytes")
}

fn labelled(session: &Session, label: &str) -> Vec<Handle> {
    session.find(&Attributes::new().bytes(CKA_LABEL, label.as_bytes())).unwrap()
}

fn ec_pair(session: &Session, label: &str) -> Result<(Handle, Handle)> {
    let params = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let own = |attributes: Attributes| attributes.flag(CKA_TOKEN, true).bytes(CKA_LABEL, label.as_bytes());
    let public = own(Attributes::new().bytes(CKA_EC_PARAMS, &params)).flag(CKA_PRIVATE, false);
    session.generate_pair(&Mechanism::new(CKM_EC_KEY_PAIR_GEN), &public, &own(Attributes::new()).flag(CKA_SIGN, true))
}

fn sign(session: &Session, private: Handle, public: Handle) {
    let ecdsa = Mechanism::new(CKM_ECDSA);
    let signature = session.sign(&ecdsa, private, &[7; 32]).unwrap();
    session.verify(&ecdsa, public, &[7; 32], &signature).unwrap();
}

/// Runs the scenario that a test has started this program for; no test by itself.
#[test]
fn scenario() {
    let Ok(name) = std::env::var("SCENARIO") else { return };
    macro_rules! scenarios {
        ($($module:ident::$scenario:ident)*) => {
            match &name[..] {
                "new_token" => new_token(),
                $(stringify!($scenario) => $module::$scenario(),)*
                _ => panic!("{name}"),
            }
        };
    }
    scenarios! {
        life::life life::again profiles::profiles
        pins::wrong pins::killed_while_trying pins::count_low pins::guesses pins::impossible
        processes::two_processes processes::other processes::other_after processes::many processes::initialize
        processes::makes_when_told
        kills::endless kills::after_kills kills::changes_pin kills::destroys kills::after_destroys
        kills::changes_it_once
        space::limited space::full space::full_together space::counted space::gone space::sees space::two_left
        access::modes access::group access::read_only access::no_place access::with_private
        access::refused access::changes_pin_once access::tries_wrong access::read_only_again access::unlocks
        older::used_on older::destroys_short older::grows older::destroys_on_old older::follows
        renewed::first renewed::changes renewed::old_pins renewed::new_pins renewed::stays_in renewed::officer
        renewed::destroys_gone renewed::gone_is_gone renewed::used_older renewed::makes_token
        forks::fork forks::another_user
        tpm::sealed tpm::sealed_again tpm::sealed_elsewhere
        many::fill many::filled
        order::by_content order::as_said order::alone order::in_vain order::redirected
        injected::stock injected::stock_big injected::stock_old injected::injected injected::injected_after
        locks::writes locks::changes_pin_with_a_pause locks::sets_a_third_pin locks::is_whole
        authentication::operations authentication::calls authentication::privacy authentication::locked
    }
}
