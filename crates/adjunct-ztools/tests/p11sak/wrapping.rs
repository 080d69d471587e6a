//! Keys that leave the token wrapped, and come back.

use super::stage::{Stage, openssl, public_of};
use std::fs;

/// A key goes out under another and comes back the same, whichever the module.
fn there_and_back(stage: &Stage, mechanisms: &[(&[&str], &str)]) {
    stage.sak(&["gen", "aes", "256", "-L", "kek", "-a", "WU"]);
    stage.sak(&["gen", "rsa", "2048", "-L", "kek:=", "-a", "W:U"]);
    stage.sak(&["gen", "aes", "128", "-L", "data", "-a", "sX"]);
    let [wrapped, before, after] = ["wrapped", "before", "after"].map(|name| stage.file(name));
    stage.sak(&["exp", "aes", "-L", "data", "-f", "-F", &before]);
    for (mechanism, headers) in mechanisms {
        let rest = ["-K", "kek", "-L", "data", "-f", "-F", &wrapped];
        let said = stage.sak(&[&["wrap-key", mechanism[0], "secret"], &mechanism[1..], &rest].concat());
        let words = "Successfully wrapped AES 128 key object \"data\" to file";
        assert_eq!(said, format!("{words} '{wrapped}'.\n1 key object(s) wrapped.\n"));
        let text = fs::read_to_string(&wrapped).unwrap();
        let name = mechanism[0].to_uppercase();
        let head = format!("-----BEGIN P11SAK WRAPPED KEY-----\nKEY-TYPE: AES\nWRAP-ALG: {name}\n{headers}\n");
        assert!(text.starts_with(&head), "{text}");
        let said = stage.sak(&["unwrap-key", "-K", "kek", "-L", "back", "-a", "sX", "-F", &wrapped]);
        assert_eq!(said, "Successfully unwrapped a AES key with label \"back\".\n");
        stage.sak(&["exp", "aes", "-L", "back", "-f", "-F", &after]);
        assert_eq!(fs::read(&after).unwrap(), fs::read(&before).unwrap(), "{mechanism:?}");
        stage.sak(&["rm", "aes", "-L", "back", "-f"]);
    }
}

#[test]
fn keys_leave_wrapped_and_come_back() {
    let Some(stage) = Stage::ours() else { return };
    let oaep = ["rsa-oaep", "--hash-alg", "SHA384", "--source-data", "0aff"];
    let zeros = format!("IV: {}\n", "00".repeat(16));
    there_and_back(
        &stage,
        &[
            (&["aes-cbc-pad"], &zeros),
            (&["aeskw-kwp", "-I", "01020304"], "IV: 01020304\n"),
            (&["aeskw-pkcs7"], "IV: [default]\n"),
            (&["rsa-pkcs"], ""),
            (&oaep, "HASH-ALG: SHA384\nMGF-ALG: SHA384\nSOURCE-DATA: 0aff\n"),
        ],
    );
    // A private key; the file says all that it takes.
    let (key, wrapped, out) = (stage.file("key"), stage.file("wrapped"), stage.file("out"));
    assert!(openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &key]));
    stage.sak(&["imp", "ec", "private", "-L", "web", "-a", "X", "-F", &key]);
    stage.sak(&["wrap", "aeskw-kwp", "ec", "-K", "kek", "-f", "-F", &wrapped]);
    let (status, err) = stage.fails(&["unwrap", "aeskw-kwp", "aes", "-I", "00", "-K", "no", "-L", "x", "-F", &wrapped]);
    let ignored = ["Argument 'WRAP-MECH'", "Argument 'KEYTYPE'", "Option '-I'/'--iv'"];
    let ignored =
        ignored.map(|what| format!("p11sak: {what} is ignored, using information from PEM file '{wrapped}'.\n"));
    let end = "p11sak: No AES key matched the specified KEK label or ID.\n\
               p11sak: Failed to perform the 'unwrap-key' command: CKR_ARGUMENTS_BAD\n";
    assert_eq!((status, err), (7, ignored.concat() + end));
    stage.sak(&["unwrap", "-K", "kek", "-L", "again", "-a", "sX", "-F", &wrapped]);
    stage.sak(&["exp", "ec", "-L", "again", "-f", "-F", &out]);
    assert_eq!(public_of(&out), public_of(&key));
}

#[test]
fn bytes_alone_need_to_be_told_how_they_were_wrapped() {
    let Some(stage) = Stage::ours() else { return };
    let wrapped = stage.file("wrapped");
    stage.sak(&["gen", "aes", "256", "-L", "kek", "-i", "01", "-a", "WU"]);
    stage.sak(&["gen", "generic", "160", "-L", "data", "-a", "sX"]);
    stage.sak(&["gen", "generic", "160", "-L", "stays", "-a", "x"]);
    stage.sak(&["wrap", "aeskw-kwp", "generic", "-k", "01", "-L", "data", "-R", "-f", "-F", &wrapped]);
    assert_eq!(fs::read(&wrapped).unwrap().len(), 32);
    let unwrap = ["-R", "-k", "01", "-L", "back", "-F", &wrapped];
    let (status, err) = stage.fails(&[&["unwrap"], &unwrap[..]].concat());
    let words = "p11sak: Argument 'WRAP-MECH' is required when '-R'/'--raw' is specified";
    assert_eq!((status, err.lines().next().unwrap()), (7, words));
    let said = stage.sak(&[&["unwrap", "aeskw-kwp", "generic"], &unwrap[..]].concat());
    assert_eq!(said, "Successfully unwrapped a GENERIC key with label \"back\".\n");
    // Under another vector it is another key's.
    let (status, err) = stage.fails(&[&["unwrap", "aeskw-kwp", "generic", "-I", "01020304"], &unwrap[..]].concat());
    assert_eq!(status, 0x10);
    let words = "p11sak: Failed to unwrap GENERIC key \"back\": 0x110: CKR_WRAPPED_KEY_INVALID";
    assert_eq!(err.lines().next().unwrap(), words);
    let before = fs::read(&wrapped).unwrap();
    let (status, err) = stage.fails(&["wrap", "aeskw-kwp", "-k", "01", "-L", "stays", "-f", "-F", &wrapped]);
    assert_eq!(status, 6);
    assert_eq!(
        err,
        "p11sak: Failed to wrap GENERIC 160 key \"stays\": 0x6A: CKR_KEY_UNEXTRACTABLE\n\
         p11sak: GENERIC 160 key object \"stays\" is unextractable and can not be wrapped.\n\
         p11sak: Failed to perform the 'wrap-key' command: CKR_FUNCTION_FAILED\n"
    );
    assert_eq!(fs::read(&wrapped).unwrap(), before);
    // Several keys may wrap: each is asked about.
    stage.sak(&["gen", "aes", "256", "-L", "kek2", "-a", "WU"]);
    let args = ["wrap", "aeskw-kwp", "-K", "kek*", "-L", "data", "-s", "3", "-F", &wrapped];
    let (status, out, _) = stage.run("p11sak", &args, "n\nc\n");
    assert_eq!(status, 1);
    let asked = |label| format!("Use AES 256 key object \"{label}\" as key encrypting key (KEK) [y/n/c]? ");
    let (one, two) = (asked("kek") + &asked("kek2"), asked("kek2") + &asked("kek"));
    assert!(out == one || out == two, "{out}");
    for (args, words) in [
        (&["wrap", "aeskw-kwp"][..], "At least one of the following options must be specified:"),
        (
            &["wrap", "aeskw-kwp", "-I", "0102", "-k", "01"],
            "Hex string specified as IV has an invalid length, expected 4 bytes.",
        ),
    ] {
        let (status, err) = stage.fails(&[args, &["-F", &wrapped]].concat());
        assert_eq!((status, err.lines().next().unwrap()), (7, format!("p11sak: {words}").as_str()));
    }
    fs::write(
        &wrapped,
        "-----BEGIN P11SAK WRAPPED KEY-----\nKEY-TYPE: AES\n\nAAAA\n-----END P11SAK WRAPPED KEY-----\n",
    )
    .unwrap();
    let (status, err) = stage.fails(&["unwrap", "-k", "01", "-L", "x", "-F", &wrapped]);
    let words = format!("p11sak: No 'WRAP-ALG' header line found in PEM file '{wrapped}'");
    assert_eq!((status, err.lines().next().unwrap()), (7, words.as_str()));
}

#[test]
fn another_modules_keys_are_wrapped_as_well() {
    let Some(stage) = Stage::softhsm() else { return };
    let oaep = ["rsa-oaep", "--hash-alg", "SHA-1"];
    there_and_back(&stage, &[(&["rsa-pkcs"], ""), (&oaep, "HASH-ALG: SHA-1\nMGF-ALG: SHA-1\nSOURCE-DATA: [none]\n")]);
    let (status, err) = stage.fails(&["wrap", "aeskw-kwp", "-K", "kek", "-f", "-F", &stage.file("wrapped")]);
    let words = format!("p11sak: Token in slot {} does not support mechanism CKM_AES_KEY_WRAP_KWP", stage.slot);
    assert_eq!((status, err.lines().next().unwrap()), (0x70, words.as_str()));
}
