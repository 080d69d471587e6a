//! Tries of PINs: counted before the work, on every way, across processes.

use super::*;
use std::time::Duration;

/// A token's PINs, of which each process tries one.
pub fn wrong() {
    let session = open(RW);
    let tried = pin_flags();
    match tried {
        0 => assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT)),
        CKF_USER_PIN_COUNT_LOW => assert_eq!(set_pin(&session, b"wrong", b"new pin"), Err(CKR_PIN_INCORRECT)),
        CKF_USER_PIN_FINAL_TRY => assert_eq!(login(&session, CKU_USER, b"wrong"), Err(CKR_PIN_INCORRECT)),
        _ => assert_eq!(tried, CKF_USER_PIN_LOCKED),
    }
    if tried == CKF_USER_PIN_LOCKED {
        assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_LOCKED));
        assert_eq!(set_pin(&session, PIN, b"new pin"), Err(CKR_PIN_LOCKED));
        // The security officer opens it again.
        login(&session, CKU_SO, SO_PIN).unwrap();
        check(p11!(C_InitPIN(session.0, input(PIN), length(PIN)))).unwrap();
        logout(&session).unwrap();
        assert_eq!(pin_flags(), 0);
        login(&session, CKU_USER, PIN).unwrap();
        logout(&session).unwrap();
        drop(session);
        for left in [CKF_SO_PIN_COUNT_LOW, CKF_SO_PIN_FINAL_TRY, CKF_SO_PIN_LOCKED] {
            assert_eq!(init_token(b"wrong"), Err(CKR_PIN_INCORRECT));
            assert_eq!(pin_flags(), left);
        }
        assert_eq!(init_token(SO_PIN), Err(CKR_PIN_LOCKED));
    }
}

pub fn killed_while_trying() {
    let session = open(RW);
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(20));
        std::process::abort();
    });
    let _ = login(&session, CKU_USER, PIN);
    std::thread::sleep(Duration::from_secs(5));
}

pub fn count_low() {
    assert_eq!(pin_flags(), CKF_USER_PIN_COUNT_LOW);
}

#[test]
fn wrong_pins_count_across_processes() {
    let home = home();
    run("new_token", home.path());
    (0..4).for_each(|_| _ = run("wrong", home.path()));
}

#[test]
fn a_try_counts_before_it_is_made() {
    let home = home();
    run("new_token", home.path());
    assert!(!command("killed_while_trying", home.path()).output().unwrap().status.success());
    run("count_low", home.path());
}

/// Tries PINs that nobody can have set, on every way on which one is tried.
pub fn impossible() {
    let session = open(RW);
    for pin in [&b""[..], b"123", &[b'x'; 256]] {
        assert_eq!(login(&session, CKU_USER, pin), Err(CKR_PIN_INCORRECT));
        assert_eq!(login(&session, CKU_SO, pin), Err(CKR_PIN_INCORRECT));
        assert_eq!(set_pin(&session, pin, b"new pin"), Err(CKR_PIN_INCORRECT));
        assert_eq!(set_pin(&session, PIN, pin), Err(CKR_PIN_LEN_RANGE));
        assert_eq!(pin_flags(), 0);
    }
    drop(session);
    assert_eq!(init_token(b""), Err(CKR_ARGUMENTS_BAD));
    assert_eq!(init_token(b"123"), Err(CKR_PIN_INCORRECT));
    let session = open(RW);
    login(&session, CKU_SO, SO_PIN).unwrap();
    assert_eq!(check(p11!(C_InitPIN(session.0, input(b"123"), 3))), Err(CKR_PIN_LEN_RANGE));
    logout(&session).unwrap();
    // The PIN for one use of a key.
    let session = entered();
    let careful = Attributes::new().flag(CKA_ALWAYS_AUTHENTICATE, true);
    let public = Attributes::new().bytes(CKA_EC_PARAMS, &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]);
    let pair = session.generate_pair(&Mechanism::new(CKM_EC_KEY_PAIR_GEN), &public, &careful);
    session.sign_init(&Mechanism::new(CKM_ECDSA_SHA256), pair.unwrap().1).unwrap();
    assert_eq!(login(&session, CKU_CONTEXT_SPECIFIC, b"123"), Err(CKR_PIN_INCORRECT));
    assert_eq!(pin_flags(), 0);
}

#[test]
fn a_pin_that_cannot_be_costs_no_try() {
    let home = home();
    run("new_token", home.path());
    run("impossible", home.path());
}

/// Tries wrong PINs in every way there is until they are locked, and prints the result of each.
pub fn guesses() {
    let session = open(RW);
    for at in 0..6 {
        let result =
            if at % 2 == 0 { login(&session, CKU_USER, b"wrong") } else { set_pin(&session, b"wrong", b"other") };
        println!("\n+ user {:#x}", result.unwrap_err());
    }
    drop(session);
    for _ in 0..6 {
        println!("\n+ officer {:#x}", init_token(b"wrong").unwrap_err());
    }
}

#[test]
fn parallel_processes_have_no_more_tries_than_one() {
    let home = home();
    run("new_token", home.path());
    let guess = || command("guesses", home.path()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let said: Vec<String> = (0..3)
        .map(|_| guess())
        .collect::<Vec<_>>()
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    let count = |word: String| said.iter().flat_map(|said| said.lines()).filter(|line| *line == word).count();
    for who in ["user", "officer"] {
        let (wrong, locked) =
            (count(format!("+ {who} {CKR_PIN_INCORRECT:#x}")), count(format!("+ {who} {CKR_PIN_LOCKED:#x}")));
        assert_eq!((wrong, locked), (3, 15), "{who}");
    }
}
