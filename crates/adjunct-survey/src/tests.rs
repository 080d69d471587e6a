//! The readers of files, given damaged files, and the verdicts on made-up programs.

use super::functions::call;
use super::judge::{self, Judged, User};
use super::libcrypto::Libcrypto;
use super::loader::{Loader, NotSeen};
use super::{Gets, Given, Reach, Rights, elf, parse_anything};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

fn reach(by_environment: bool) -> Reach {
    Reach {
        config: "/etc/ssl/openssl.cnf".into(),
        given: Given::usual(),
        by_environment,
        own: Vec::new(),
        modules: Vec::new(),
        since: None,
    }
}

fn user(version: &str, functions: &[&str]) -> User {
    let calls: BTreeMap<_, _> = functions.iter().map(|f| (call(f.as_bytes()).unwrap(), None)).collect();
    let libcrypto = Libcrypto {
        path: Some("/usr/lib/libcrypto.so.3".into()),
        version: Some(version.to_owned()),
        config: Some("/etc/ssl/openssl.cnf".into()),
        has_engines: !version.starts_with("OpenSSL 4"),
        node: false,
    };
    User { libcrypto: Rc::new(libcrypto), calls, plugin: false, rights: Rights::Own, same_machine: true, gnutls: None }
}

fn judged(user: &User, given: Given, by_environment: bool) -> Judged {
    judge::judge(user, given, user.libcrypto.config.as_deref(), &reach(by_environment))
}

#[test]
fn who_gets_what() {
    let gets = |version, functions: &[&str]| judged(&user(version, functions), Given::usual(), false).gets;
    assert_eq!(gets("OpenSSL 3.0.19", &["EVP_DigestInit_ex"]), Gets::Provider);
    assert_eq!(gets("OpenSSL 3.0.19", &["SSL_new"]), Gets::Provider);
    assert_eq!(gets("OpenSSL 3.0.19", &["EVP_Cipher", "RSA_sign"]), Gets::Both);
    assert_eq!(gets("OpenSSL 3.0.19", &["ECDSA_do_sign"]), Gets::Engine);
    assert_eq!(gets("OpenSSL 3.0.19", &["AES_encrypt"]), Gets::Neither);
    assert_eq!(gets("OpenSSL 4.0.0", &["EVP_Cipher", "RSA_sign"]), Gets::Provider);
    assert_eq!(gets("OpenSSL 1.1.1w", &["EVP_Cipher"]), Gets::Neither);
    assert_eq!(gets("LibreSSL 3.8.2", &["EVP_Cipher"]), Gets::Neither);
    assert_eq!(gets("OpenSSL 3.0.19", &["EVP_Cipher", "OPENSSL_INIT_set_config_appname"]), Gets::Unknown);
}

#[test]
fn dh_is_served_on_request() {
    let dh = user("OpenSSL 3.0.19", &["DH_compute_key"]);
    assert_eq!(judged(&dh, Given::usual(), false).gets, Gets::Neither);
    assert_eq!(judge::bypasses(&dh, Given::usual())[0].functions, ["DH_compute_key"]);
    let asked = Given::provider(true, Some("RSA,DH"));
    assert_eq!(judged(&dh, asked, false).gets, Gets::Engine);
    assert!(judge::bypasses(&dh, asked).is_empty());
    let ec = user("OpenSSL 3.0.19", &["ECDSA_do_sign"]);
    assert_eq!(judged(&ec, asked, false).gets, Gets::Neither);
}

/// The configuration that `enable` writes for all programs has the engine serve programs that themselves call for it.
#[test]
fn libraries_alone_do_not_bring_the_engine() {
    let own = user("OpenSSL 3.0.19", &["EVP_Cipher", "ECDSA_do_sign"]);
    let mut library = user("OpenSSL 3.0.19", &["EVP_Cipher"]);
    library.calls.insert(call(b"RSA_sign").unwrap(), Some("libssh2.so.1".to_owned()));
    let (usual, asked) = (Given::usual(), Given::provider(true, Some("RSA,EC")));
    assert_eq!(judged(&own, usual, false).gets, Gets::Both);
    let alone = judged(&library, usual, false);
    assert_eq!(alone.gets, Gets::Provider);
    assert!(alone.engine.why.contains("only libraries call RSA_sign (libssh2.so.1)"), "{}", alone.engine.why);
    assert_eq!(judged(&library, asked, false).gets, Gets::Both);
    // The program's own calls of EC keys do not bring what serves RSA keys.
    library.calls.insert(call(b"ECDSA_do_sign").unwrap(), None);
    assert_eq!(judged(&library, usual, false).engine.why, "ECDSA_do_sign");
    let plugin = User { plugin: true, ..own };
    assert_eq!(judged(&plugin, usual, false).gets, Gets::Provider);
    assert_eq!(judged(&plugin, asked, false).gets, Gets::Both);
}

#[test]
fn every_no_has_its_reason() {
    let why = |user: &User, given| judged(user, given, false).provider.why;
    assert!(why(&user("OpenSSL 1.1.1w", &["SSL_new"]), Given::usual()).contains("no providers"));
    let enabled = Given::provider(true, None);
    let low = user("OpenSSL 3.0.19", &["RSA_sign"]);
    assert!(judged(&low, enabled, false).engine.why.contains("not enabled for RSA_sign"));
    assert!(judged(&user("OpenSSL 4.0.0", &["RSA_sign"]), Given::usual(), false).engine.why.contains("has no engines"));
    assert!(why(&low, Given::default()).contains("not enabled in /etc/ssl/openssl.cnf"));
    let setgid = User { rights: Rights::Setgid, ..user("OpenSSL 3.0.19", &["SSL_new"]) };
    assert_eq!(judged(&setgid, Given::usual(), false).gets, Gets::Provider);
    assert!(judged(&setgid, Given::usual(), true).provider.why.contains("ignores OPENSSL_CONF"));
    assert!(judge::notes(&setgid, &reach(false))[0].starts_with("setgid"));
    let narrow = User { same_machine: false, ..user("OpenSSL 3.0.19", &["SSL_new"]) };
    assert!(why(&narrow, Given::usual()).contains("another kind"));
    let silent = Libcrypto { version: None, ..(*low.libcrypto).clone() };
    assert_eq!(judged(&User { libcrypto: Rc::new(silent), ..low }, Given::usual(), false).gets, Gets::Unknown);
    let inside = Libcrypto { path: None, ..(*user("OpenSSL 3.0.19", &[]).libcrypto).clone() };
    let inside = User { libcrypto: Rc::new(inside), ..user("OpenSSL 3.0.19", &[]) };
    assert_eq!(judged(&inside, Given::usual(), false).gets, Gets::Unknown);
    assert_eq!(judged(&inside, Given::default(), false).gets, Gets::Neither);
}

/// Bytes of this test's own program, which is surely an ELF file.
fn own_bytes() -> Vec<u8> {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    // Its first megabyte has the headers, and the tables of names as linkers lay them out.
    bytes[..bytes.len().min(1 << 20)].to_vec()
}

#[test]
fn cut_and_changed_programs_are_no_danger() {
    let mut bytes = own_bytes();
    for length in (0..200).chain((200..bytes.len()).step_by(bytes.len() / 64)) {
        let _ = elf::read(&&bytes[..length]);
    }
    // A generator of the simplest kind: the same bytes each time.
    let mut state = 12345_u64;
    for _ in 0..2000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (at, value) = ((state >> 33) as usize % 4096, (state >> 20) as u8);
        let before = std::mem::replace(&mut bytes[at], value);
        let _ = elf::read(&bytes.as_slice());
        if state >> 62 != 0 {
            bytes[at] = before;
        }
    }
    parse_anything(b"\x7fELF");
    parse_anything(b"");
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let mut loader = Loader::new();
    let mut why = |path: &Path| loader.closure(path).unwrap_err();
    assert_eq!(why(&file("script", b"#!/bin/sh\n")), NotSeen::NotElf);
    assert_eq!(why(&file("empty", b"")), NotSeen::NotElf);
    assert_eq!(why(&file("cut", &own_bytes()[..40])), NotSeen::Broken);
    assert!(matches!(why(&dir.path().join("none")), NotSeen::Unreadable(_)));
    assert_eq!(why(dir.path()), NotSeen::NotElf);
    assert_eq!(why(Path::new("/dev/null")), NotSeen::NotElf);
}
