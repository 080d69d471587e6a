//! Certificates.

use super::stage::{Stage, openssl};
use std::fs;

const HEAD: &str = "\
| P M B Y T | CERT TYPE | SUBJECT-CN             | LABEL
|-----------+-----------+------------------------+-------------------------
";

/// A key and its certificate, as PEM and as DER.
fn make(stage: &Stage, subject: &str, more: &[&str]) -> [String; 3] {
    let [key, pem, der] = ["key.pem", "cert.pem", "cert.der"].map(|name| stage.file(name));
    let made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"];
    let files = ["-keyout", &key, "-out", &pem, "-subj", subject, "-utf8"];
    assert!(openssl(&[&made[..], &files, more].concat()));
    assert!(openssl(&["x509", "-in", &pem, "-outform", "DER", "-out", &der]));
    [key, pem, der]
}

/// Imports, lists, exports and removes certificates, whichever the module.
fn live(stage: &Stage) {
    let [key, pem, der] = make(stage, "/C=DE/CN=web.example", &["-addext", "basicConstraints=critical,CA:FALSE"]);
    let said = stage.sak(&["import-cert", "x509", "-L", "web", "-i", "0a", "-F", &pem]);
    assert_eq!(said, "Successfully imported a X.509 certificate with label \"web\".\n");
    stage.sak(&["impc", "-L", "der", "-C", "-F", &der]);
    let listed = stage.sak(&["list-cert", "-S", "l:d", "-N"]);
    let row = |label| format!("| 0 1 1 1 0 |     X.509 |            web.example | \"{label}\"\n");
    assert_eq!(listed, format!("{HEAD}{}{}\n2 certificate(s) displayed\n", row("web"), row("der")));
    assert_eq!(
        stage.sak(&["lsc", "x509", "-L", "w*", "-N"]),
        format!("{HEAD}{}\n1 certificate(s) displayed\n", row("web"))
    );
    let out = stage.file("out");
    let said = stage.sak(&["export-cert", "-i", "0a", "-f", "-F", &out]);
    let words = "Successfully exported X.509 certificate object \"web\" to file";
    assert_eq!(said, format!("{words} '{out}'.\n1 certificate object(s) exported.\n"));
    assert_eq!(fs::read(&out).unwrap(), fs::read(&pem).unwrap());
    stage.sak(&["expc", "-L", "der", "-f", "-D", "-F", &out]);
    assert_eq!(fs::read(&out).unwrap(), fs::read(&der).unwrap());
    let said = stage.sak(&["extract-cert-pubkey", "-L", "web", "-f", "-l", "of web", "-A", "v"]);
    assert_eq!(
        said,
        "Successfully extracted the public key from X.509 certificate object \"web\" into new token object \"of web\".\n\
         1 public key object(s) extracted.\n"
    );
    stage.sak(&["exp", "public", "-i", "0a", "-a", "v", "-f", "-F", &out]);
    let public = stage.file("public");
    assert!(openssl(&["pkey", "-in", &key, "-pubout", "-out", &public]));
    assert_eq!(fs::read(&out).unwrap(), fs::read(&public).unwrap());
    let said = stage.sak(&["set-cert-attr", "-L", "web", "-f", "-l", "new", "-I", "0b"]);
    assert_eq!(said, "Successfully changed X.509 certificate object \"web\".\n1 certificate object(s) updated.\n");
    let said = stage.sak(&["copy-cert", "-i", "0b", "-f", "-l", "twin"]);
    assert_eq!(said, "Successfully copied X.509 certificate object \"new\".\n1 certificate object(s) copied.\n");
    let (status, out, err) = stage.run("p11sak", &["remove-cert", "-L", "twin", "-s", &stage.slot], "y\n");
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(
        out,
        "Are you sure you want to remove X.509 certificate object \"twin\" [y/n/a/c]? \
         Successfully removed X.509 certificate object \"twin\".\n1 certificate object(s) removed.\n"
    );
    // Keys are none of theirs, and stay.
    assert!(stage.sak(&["rmc", "-f"]).ends_with("\n2 certificate object(s) removed.\n"));
    assert!(stage.sak(&["ls"]).ends_with("\n1 key(s) displayed\n"));
    assert_eq!(stage.sak(&["lsc"]), format!("{HEAD}\n0 certificate(s) displayed\n"));
}

#[test]
fn certificates_come_are_seen_and_go() {
    let Some(stage) = Stage::ours() else { return };
    live(&stage);
    let name = "/O=\u{c9}cole/CN=a name longer than its cell";
    let [_, pem, _] = make(&stage, name, &["-addext", "basicConstraints=critical,CA:TRUE"]);
    stage.sak(&["importc", "-L", "ca", "-i", "01", "-a", "P", "-F", &pem]);
    let row = "| 1 1 1 1 0 |     X.509 | a name longer than ... | \"ca\"\n";
    assert_eq!(stage.sak(&["ls-cert"]), format!("{HEAD}{row}\n1 certificate(s) displayed\n"));
    // It is private, and nobody logs in.
    assert_eq!(stage.sak(&["ls-cert", "-N"]), format!("{HEAD}\n0 certificate(s) displayed\n"));
    let long = stage.sak(&["lsc", "-l"]);
    let name = "/O=\\xC3\\x89cole/CN=a name longer than its cell\n            len=";
    for line in [
        "Label: \"ca\"\n",
        ";id=%01;object=ca;type=cert\n    Certificate: X.509\n    Attributes:\n        CKA_TOKEN: CK_TRUE\n        CKA_PRIVATE: CK_TRUE\n",
        "        CKA_CLASS: CKO_CERTIFICATE (0x1)\n        CKA_CERTIFICATE_TYPE: CKC_X_509 (0x0)\n",
        "        CKA_CERTIFICATE_CATEGORY: CK_CERTIFICATE_CATEGORY_AUTHORITY\n        CKA_CHECK_VALUE: len=3 value:\n",
        &format!("        CKA_SUBJECT: {name}"),
        &format!("        CKA_ISSUER: {name}"),
        "        CKA_NAME_HASH_ALGORITHM: CKM_SHA256 (0x250)\n        CKA_HASH_OF_SUBJECT_PUBLIC_KEY: len=32 value:\n",
        "        CKA_URL: [no value]\n\n1 certificate(s) displayed\n",
    ] {
        assert!(long.contains(line), "{line}{long}");
    }
    let (start, end) = (long.find("CKA_START_DATE: 20"), long.find("CKA_END_DATE: 20"));
    assert!(start.is_some() && start < end, "{long}");
    // What OpenSSL's pkcs11-provider reads in the place of the certificate.
    let out = stage.file("uri");
    stage.sak(&["expc", "-f", "-u", "-F", &out]);
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.starts_with("-----BEGIN PKCS#11 PROVIDER URI-----\n"), "{text}");
    assert!(openssl(&["asn1parse", "-in", &out]));
}

#[test]
fn what_is_no_certificate_is_refused_in_one_line() {
    let Some(stage) = Stage::ours() else { return };
    let [key, pem, der] = make(&stage, "/CN=x", &[]);
    let file = stage.file("broken");
    let whole = fs::read(&der).unwrap();
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    for file in [&file, &key] {
        let (status, err) = stage.fails(&["impc", "-L", "x", "-F", file]);
        let why = "it is neither PEM nor DER, or damaged";
        assert_eq!(
            err,
            format!(
                "p11sak: Failed to read a certificate from file '{file}': {why}\n\
                 p11sak: Failed to perform the 'import-cert' command: CKR_FUNCTION_FAILED\n"
            )
        );
        assert_eq!(status, 6);
    }
    let (status, err) = stage.fails(&["impc", "-L", "x", "-F", "/nowhere/cert.pem"]);
    assert_eq!(
        (status, err.lines().next().unwrap()),
        (7, "p11sak: Failed to open file '/nowhere/cert.pem': No such file or directory")
    );
    // Only the officer trusts one.
    let (status, err) = stage.fails(&["impc", "-L", "x", "-a", "T", "-F", &pem]);
    assert_eq!(
        (status, err.lines().next().unwrap()),
        (7, "p11sak: Attribute CKA_TRUSTED ('T') can only be set to TRUE by SO")
    );
    let (status, err) = stage.fails(&["expc", "-D", "-u", "-f", "-F", &file]);
    assert_eq!(
        (status, err.lines().next().unwrap()),
        (7, "p11sak: Either '-D'/'--der' or '-u'/'--uri-pem' can be specified.")
    );
    assert_eq!(fs::read(&file).unwrap().len(), whole.len() - 1);
    assert!(stage.sak(&["lsc"]).ends_with("\n0 certificate(s) displayed\n"));
}

#[test]
fn another_modules_certificates_are_managed_as_well() {
    let Some(stage) = Stage::softhsm() else { return };
    live(&stage);
}
