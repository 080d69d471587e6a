//! PEM files with a password.

use super::stage::{Stage, openssl, public_of};
use std::fs;

#[test]
fn keys_with_a_password_come_from_files_and_go_there() {
    let Some(stage) = Stage::ours() else { return };
    let [key, locked, out, plain] = ["key", "locked", "out", "plain"].map(|name| stage.file(name));
    assert!(openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &key]));
    let new = ["pkcs8", "-topk8", "-in", &key, "-out", &locked, "-passout", "pass:geheim"];
    let older = ["ec", "-in", &key, "-out", &locked, "-passout", "pass:geheim"];
    let ways: &[(&[&str], &[&str])] = &[
        (&new, &[]),
        (&older, &["-aes256"]),
        (&older, &["-des3"]),
        (&new, &["-scrypt"]),
        (&new, &["-v2", "des3", "-v2prf", "hmacWithSHA1"]),
        (&new, &["-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA512", "-iter", "100000"]),
        (&older, &["-aes128"]),
    ];
    // Each call derives a key of the PIN anew.
    let few = if std::env::var_os("ADJUNCT_DEEP").is_some() { ways.len() } else { 3 };
    for &(make, how) in &ways[..few] {
        assert!(openssl(&[make, how].concat()), "{how:?}");
        let said = stage.sak(&["imp", "ec", "private", "-L", "in", "-a", "sX", "-F", &locked, "-P", "geheim"]);
        assert_eq!(said, "Successfully imported a EC key with label \"in\".\n", "{how:?}");
        let (status, err) = stage.fails(&["imp", "ec", "private", "-L", "no", "-F", &locked, "-P", "Geheim"]);
        let why = "the password is wrong, or the key is damaged";
        assert_eq!(err.lines().next().unwrap(), format!("p11sak: Failed to read PEM file '{locked}': {why}"));
        assert_eq!(status, 6);
    }
    stage.sak(&["exp", "ec", "-L", "in", "-f", "-F", &out, "--encrypted-pem", "-P", "neu"]);
    assert!(fs::read_to_string(&out).unwrap().starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
    assert!(!openssl(&["pkey", "-in", &out, "-passin", "pass:geheim", "-out", &plain]));
    assert!(openssl(&["pkey", "-in", &out, "-passin", "pass:neu", "-out", &plain]));
    assert_eq!(public_of(&plain), public_of(&key));
    let (status, err) = stage.fails(&["exp", "ec", "-f", "-F", &out, "--encrypted-pem", "-S"]);
    let words = "Option '--encrypted-pem' is not allowed with '-S'/'--spki'";
    assert_eq!((status, err.lines().next().unwrap()), (7, format!("p11sak: {words}").as_str()));
}

#[test]
fn a_password_stands_in_the_environment_or_is_asked_for() {
    let Some(stage) = Stage::ours() else { return };
    let (key, locked) = (stage.file("key"), stage.file("locked"));
    assert!(openssl(&["genpkey", "-algorithm", "ED25519", "-out", &key]));
    assert!(openssl(&["pkcs8", "-topk8", "-in", &key, "-out", &locked, "-passout", "pass:geheim"]));
    let args = ["import-key", "ec-edwards", "private", "-L", "in", "-s", "3", "-F", &locked];
    let asked = format!("Please enter PEM password for '{locked}': \n");
    let done = "Successfully imported a EC-EDWARDS key with label \"in\".\n";
    assert_eq!(stage.run("p11sak", &args, "geheim\n"), (0, format!("{asked}{done}"), String::new()));
    let forced = [&args[..], &["--force-pem-pwd-prompt", "-P", "x"]].concat();
    assert_eq!(stage.run("p11sak", &forced, "geheim\n").1, format!("{asked}{done}"));
    let (status, out, err) = stage.run("p11sak", &args, "");
    assert_eq!((status, out), (6, asked));
    assert_eq!(err.lines().next().unwrap(), "p11sak: Failed to prompt for PEM password: standard input has ended.");
    let output = stage.command("p11sak", &args).env("PKCS11_PEM_PASSWORD", "geheim").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), done);
}
