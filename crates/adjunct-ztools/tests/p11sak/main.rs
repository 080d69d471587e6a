//! `p11sak` with modules: ours, and SoftHSM. What it prints of keys was compared with openCryptoki's 3.23, run on our module; of certificates
//! and wrapped keys, with openCryptoki's source.

mod certificates;
#[path = "../../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
#[path = "../../../adjunct-cli/tests/own_pkcs11/mod.rs"]
mod own_pkcs11;
mod passwords;
mod stage;
mod wrapping;

use stage::{Stage, ZTOOLS, openssl};
use std::os::unix::process::CommandExt;
use std::process::Command;

const HEAD: &str = "\
| P L M B Y R E D G C V O W U S A X N T I H J Q K Z |               KEY TYPE | LABEL
|---------------------------------------------------+------------------------+--------------------
";

#[test]
fn keys_are_made_listed_changed_and_removed() {
    let Some(stage) = Stage::ours() else { return };
    assert_eq!(
        stage.sak(&["generate-key", "aes", "256", "-L", "a key", "-a", "MxP", "-i", "0102"]),
        "Successfully generated a AES key with label \"a key\".\n"
    );
    assert_eq!(
        stage.sak(&["gen", "rsa", "1024", "-L", "web"]),
        "Successfully generated a RSA key pair with labels \"web:pub\":\"web:prv\".\n"
    );
    let pairs = [
        ("ec", "prime256v1", "EC"),
        ("ec-edwards", "ed25519", "EC-EDWARDS"),
        ("ec-montgomery", "curve25519", "EC-MONTGOMERY"),
        ("ml-dsa", "44", "ML-DSA"),
        ("ml-kem", "512", "ML-KEM"),
    ];
    for (kind, what, name) in pairs {
        let said = format!("Successfully generated a {name} key pair with labels \"{kind}\":\"{kind}\".\n");
        assert_eq!(stage.sak(&["gen", kind, what, "-L", &format!("{kind}:=")]), said);
    }
    for (kind, bits) in [("generic", "256"), ("sha256-hmac", "256")] {
        stage.sak(&["gen-key", kind, bits, "-L", kind]);
    }
    assert_eq!(
        stage.sak(&["ls", "-L", "we*", "-S", "c"]),
        format!(
            "{HEAD}| 0 1 1 1 1 - 1 - - - 1 1 0 - - - - - 0 - - - - - - |        public RSA 1024 | \"web:pub\"\n\
             | 1 1 1 1 1 - - 1 1 1 - - - 0 1 1 0 1 - 0 0 - - - - |       private RSA 1024 | \"web:prv\"\n\
             \n2 key(s) displayed\n"
        )
    );
    assert!(stage.sak(&["list-key", "ml-kem", "-a", "J"]).ends_with("\n1 key(s) displayed\n"));
    assert!(stage.sak(&["list-key", "secret"]).ends_with("\n3 key(s) displayed\n"));
    let long = stage.sak(&["ls", "aes", "-l"]);
    for line in [
        "Label: \"a key\"\n",
        ";id=%01%02;object=a%20key;type=secret-key\n",
        "    Key: AES 256\n    Attributes:\n        CKA_TOKEN: CK_TRUE\n        CKA_PRIVATE: CK_TRUE\n",
        "        CKA_EXTRACTABLE: CK_FALSE\n",
        "        CKA_ID: len=2 value:\n            01 02 \n",
        "        CKA_KEY_GEN_MECHANISM: CKM_AES_KEY_GEN (0x1080)\n",
        "        CKA_VALUE: [sensitive]\n        CKA_VALUE_LEN: 32 (0x20)\n\n1 key(s) displayed\n",
    ] {
        assert!(long.contains(line), "{line}{long}");
    }
    let changed = stage.sak(&["set-key", "aes", "-f", "-l", "other", "-I", "ff"]);
    assert_eq!(changed, "Successfully changed AES 256 key object \"a key\".\n1 key object(s) updated.\n");
    let copied = stage.sak(&["cp", "aes", "-i", "ff", "-f", "-l", "twin"]);
    assert_eq!(copied, "Successfully copied AES 256 key object \"other\".\n1 key object(s) copied.\n");
    let asked = ["remove-key", "aes", "-s", "3", "-S", "l"];
    assert_eq!(stage.run("p11sak", &asked, "").2, "p11sak: Invalid option '-S'\n");
    let (status, out, err) = stage.run("p11sak", &["rm-key", "aes", "-s", "3"], "x\nn\ny\n");
    assert_eq!((status, err.as_str()), (0, "p11sak: Improper reply, try again\n"));
    assert!(out.ends_with("1 key object(s) removed.\n1 key object(s) skipped.\n"), "{out}");
    let (_, out, _) = stage.run("p11sak", &["rm", "-s", "3"], "c\n");
    assert!(out.ends_with("? 0 key object(s) removed.\n15 key object(s) skipped.\n"), "{out}");
    assert!(stage.sak(&["rm", "-f"]).ends_with("\n15 key object(s) removed.\n"));
    assert_eq!(stage.sak(&["ls"]), format!("{HEAD}\n0 key(s) displayed\n"));
}

/// A token's key goes out and comes back, and one of OpenSSL's comes in.
fn files(stage: &Stage) {
    let (file, other) = (stage.file("key"), stage.file("other"));
    std::fs::write(&file, [7; 16]).unwrap();
    let said = stage.sak(&["import-key", "aes", "-L", "in", "-a", "sX", "-F", &file]);
    assert_eq!(said, "Successfully imported a AES key with label \"in\".\n");
    let said = stage.sak(&["export-key", "aes", "-L", "in", "-f", "-F", &other]);
    assert_eq!(
        said,
        format!("Successfully exported AES 128 key object \"in\" to file '{other}'.\n1 key object(s) exported.\n")
    );
    assert_eq!(std::fs::read(&other).unwrap(), [7; 16]);
    let keys = [
        ("rsa", &["genrsa", "-traditional", "-out"][..]),
        ("ec", &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out"]),
        ("ec", &["ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out"]),
        ("rsa", &["genpkey", "-algorithm", "RSA", "-out"]),
    ];
    // Each call derives a key of the PIN anew.
    let few = if std::env::var_os("ADJUNCT_DEEP").is_some() { keys.len() } else { 2 };
    for (kind, make) in keys.into_iter().take(few) {
        let _ = std::fs::remove_file(&file);
        let made: Vec<&str> = make.iter().copied().chain([file.as_str()]).collect();
        assert!(openssl(&made) || openssl(&["genrsa", "-out", &file]), "{made:?}");
        let public = stage.file("public");
        assert!(openssl(&["pkey", "-in", &file, "-pubout", "-out", &public]));
        stage.sak(&["imp", kind, "private", "-L", "prv", "-a", "sX", "-F", &file]);
        stage.sak(&["imp", kind, "public", "-L", "pub", "-F", &public]);
        let _ = std::fs::remove_file(&other);
        stage.sak(&["exp", kind, "-L", "prv", "-f", "-F", &other]);
        let again = stage.file("again");
        assert!(openssl(&["pkey", "-in", &other, "-pubout", "-out", &again]), "{kind}");
        assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&public).unwrap(), "{kind} private");
        let _ = std::fs::remove_file(&other);
        stage.sak(&["exp", kind, "-L", "pub", "-f", "-F", &other]);
        assert_eq!(std::fs::read(&other).unwrap(), std::fs::read(&public).unwrap(), "{kind} public");
        stage.sak(&["rm", kind, "-f"]);
    }
}

#[test]
fn keys_come_from_files_and_go_there() {
    let Some(stage) = Stage::ours() else { return };
    files(&stage);
    stage.sak(&["gen", "ec", "secp384r1", "-L", "own", "-i", "0a"]);
    let said = stage.sak(&["expub", "-f", "-i", "0a"]);
    assert_eq!(
        said,
        "Successfully extracted the public key from private EC key object \"own:prv\" into new token object \
         \"own:prv_pubkey\".\n1 public key object(s) extracted.\n"
    );
    assert!(stage.sak(&["ls", "public", "-i", "0a"]).ends_with("\n2 key(s) displayed\n"));
    let file = stage.file("spki");
    stage.sak(&["exp", "private", "-L", "own:prv", "-S", "-f", "-F", &file]);
    assert!(openssl(&["pkey", "-pubin", "-in", &file, "-noout"]));
    let (status, out, err) = stage.run("p11sak", &["exp", "ec", "-s", "3", "-L", "own:prv", "-f", "-F", &file], "");
    assert_eq!(status, 6);
    assert_eq!(out, "0 key object(s) exported.\n1 key object(s) failed to export.\n");
    assert_eq!(
        err,
        "p11sak: private EC key object \"own:prv\" is sensitive and can not be exported.\n\
         p11sak: Failed to perform the 'export-key' command: CKR_FUNCTION_FAILED\n"
    );
}

#[test]
fn another_module_is_managed_as_well() {
    let Some(stage) = Stage::softhsm() else { return };
    stage.sak(&["gen", "aes", "128", "-L", "mine"]);
    stage.sak(&["gen", "rsa", "2048", "-L", "pair"]);
    assert!(stage.sak(&["ls"]).ends_with("\n3 key(s) displayed\n"));
    assert!(stage.sak(&["rm", "-f"]).ends_with("\n3 key object(s) removed.\n"));
    files(&stage);
}

#[test]
fn wrong_command_lines_are_said_in_its_words() {
    let run = |args: &[&str]| {
        let mut command = Command::new(ZTOOLS);
        command.arg0("p11sak").args(args).env("PKCSLIB", "/nowhere/module.so").env("PKCS11_USER_PIN", "1");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (args, words) in [
        (&[][..], "A command is required. Use '-h'/'--help' to see the list of supported commands"),
        (&["foo"], "Invalid command 'foo'"),
        (&["gen"], "Argument 'KEYTYPE' is required but not specified"),
        (&["gen", "foo"], "Invalid argument 'foo' for 'KEYTYPE'"),
        (&["gen", "aes"], "Argument 'KEYBITS' is required but not specified"),
        (&["gen", "aes", "100"], "Invalid argument '100' for 'KEYBITS'"),
        (&["gen", "ec", "foo", "-s3", "-Lx"], "Invalid argument 'foo' for 'CURVE'"),
        (&["gen", "aes", "256", "-s", "3"], "Option '-L/--label' is required but not specified"),
        (&["ls", "-s", "x"], "Invalid argument 'x' for option '-s/--slot'"),
        (&["ls", "-s"], "Option '-s' requires an argument"),
        (&["ls", "-q", "-s", "3"], "Invalid option '-q'"),
        (&["ls", "aes", "extra", "-s", "3"], "Invalid argument 'extra'"),
        (&["lsc", "pgp", "-s", "3"], "Invalid argument 'pgp' for 'CERTTYPE'"),
        (&["lsc", "x509", "more", "-s", "3"], "Invalid argument 'more'"),
        (&["impc", "-s", "3", "-L", "x"], "Option '-F/--file' is required but not specified"),
        (&["lsc", "-s", "3", "-f"], "Invalid option '-f'"),
        (&["wrap", "-s", "3"], "Argument 'WRAP-MECH' is required but not specified"),
        (&["wrap", "rsa-aeskw", "-s", "3"], "Invalid argument 'rsa-aeskw' for 'WRAP-MECH'"),
        (&["wrap", "aeskw-kwp", "public", "-s", "3"], "Invalid argument 'public' for 'KEYTYPE'"),
        (&["wrap", "rsa-pkcs", "-s", "3", "-I", "00"], "Invalid option '-I'"),
        (&["wrap", "rsa-oaep", "-s", "3", "--hash-alg", "MD5"], "Invalid argument 'MD5' for option '--hash-alg'"),
        (&["unwrap", "-s", "3", "-L", "x", "-F", "x", "--mgf-alg", "SHA-1"], "Invalid option '--mgf-alg'"),
        (&["ls", "-s", "3", "-N", "-p", "1"], "Option '-p'/'--pin' is not allowed with '-N'/'--no-login'"),
    ] {
        assert_eq!(run(args), (Some(7), format!("p11sak: {words}\n")), "{args:?}");
    }
    assert_eq!(run(&["gen", "aes", "256"]).1.lines().count(), 2);
    assert_eq!(run(&["ls", "-s", "3"]).0, Some(6));
    assert_eq!(run(&["-h"]), (Some(0), String::new()));
    assert_eq!(run(&["import-key", "--help"]), (Some(0), String::new()));
}
