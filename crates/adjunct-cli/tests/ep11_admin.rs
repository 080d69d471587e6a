//! `adjunct ep11 admins`, `cps` and `wk import`: imprint mode, thresholds, signatures and parts, on a coprocessor that `adjunct ep11 dev` runs.

#[path = "ep11_dev/mod.rs"]
mod ep11_dev;

use ep11_dev::{Dev, adjunct, text};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Administrators' keys and certificates, as openssl makes them.
struct People(tempfile::TempDir);

impl People {
    fn new(names: &[(&str, &[&str])]) -> People {
        let folder = tempfile::tempdir().unwrap();
        for (name, kind) in names {
            let file = |end: &str| folder.path().join(format!("{name}.{end}"));
            let mut command = Command::new("openssl");
            command.args(["req", "-x509", "-nodes", "-days", "30", "-newkey"]).args(*kind);
            command.args(["-subj", &format!("/CN={name}"), "-keyout"]).arg(file("key"));
            let made = command.arg("-out").arg(file("pem")).stderr(Stdio::null()).status().unwrap();
            assert!(made.success(), "openssl makes {name}'s certificate");
        }
        People(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
}

const P256: &[&str] = &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
const P521: &[&str] = &["ec", "-pkeyopt", "ec_paramgen_curve:P-521"];
const RSA: &[&str] = &["rsa:2048"];

fn with_input(dev: &Dev, words: &[&str], input: &str) -> Output {
    let mut child = adjunct(words)
        .env("ADJUNCT_CARDS_DIR", &dev.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended before it asks.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// One line says why, and nothing else is said.
fn refused(output: &Output, words: &str) {
    let why = text(&output.stderr);
    let is_one = output.status.code() == Some(1) && why.lines().count() == 1;
    assert!(is_one && why.contains(words) && output.stdout.is_empty(), "{words}: {why}");
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn administrators_sign_what_changes_once_imprint_mode_is_left() {
    let people = People::new(&[("alice", P256), ("bob", P521), ("carol", RSA)]);
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| people.path(&format!("{name}.pem")));
    let [alice_key, bob_key, carol_key] = ["alice", "bob", "carol"].map(|name| people.path(&format!("{name}.key")));
    let dev = Dev::start(&[], None);
    let list = dev.json(&["ep11", "admins", "list", "--card", "--json"]);
    assert_eq!(
        (&list["imprint"], &list["administrators"], &list["domain"]),
        (&true.into(), &serde_json::json!([]), &serde_json::Value::Null)
    );
    // The domain cannot leave imprint mode before its card.
    for file in [&alice, &bob] {
        dev.json(&["ep11", "admins", "add", file, "--yes", "--json"]);
    }
    let early = [
        "ep11",
        "admins",
        "thresholds",
        "--sign",
        "2",
        "--revoke",
        "2",
        "--yes",
        "--key",
        &alice_key,
        "--key",
        &bob_key,
    ];
    refused(&dev.run(&early), "leave imprint mode first");
    // Without consent nothing is changed, and a dry run says what would be.
    assert_eq!(dev.run(&["ep11", "admins", "add", &alice, "--card"]).status.code(), Some(2));
    let dry = dev.run(&["ep11", "admins", "add", &alice, "--card", "--dry-run"]);
    assert!(dry.status.success() && text(&dry.stdout).contains("would add administrator"), "{}", text(&dry.stdout));
    for file in [&alice, &bob] {
        dev.json(&["ep11", "admins", "add", file, "--card", "--yes", "--json"]);
    }
    refused(&dev.run(&["ep11", "admins", "add", &alice, "--card", "--yes"]), "an administrator already");
    let thresholds = ["ep11", "admins", "thresholds", "--card", "--sign", "2", "--revoke", "2", "--yes"];
    // What ends imprint mode is signed as all that follows.
    refused(&dev.run(&thresholds), "");
    let signed = [&thresholds[..], &["--key", &alice_key, "--key", &bob_key, "--json"]].concat();
    let list = dev.json(&signed);
    assert_eq!((&list["imprint"], &list["sign"], &list["revoke"]), (&false.into(), &2.into(), &2.into()));
    let names: Vec<&str> =
        list["administrators"].as_array().unwrap().iter().map(|one| one["subject"].as_str().unwrap()).collect();
    assert!(
        names.iter().any(|name| name.contains("alice")) && names.iter().any(|name| name.contains("bob")),
        "{names:?}"
    );
    assert_eq!(dev.json(&[&early[..], &["--json"]].concat())["imprint"], false);
    // From here on two sign.
    let off = ["ep11", "cps", "--off", "alg_ec_bpoolcrv", "--yes"];
    refused(&dev.run(&off), "signatures of 2 of its administrators");
    refused(&dev.run(&[&off[..], &["--key", &alice_key]].concat()), "signatures of 2");
    refused(&dev.run(&[&off[..], &["--key", &alice_key, "--key", &alice_key]].concat()), "signatures of 2");
    refused(&dev.run(&[&off[..], &["--key", &alice_key, "--key", &carol_key]].concat()), "of no administrator");
    let points = dev.json(&[&off[..], &["--key", &alice_key, "--key", &bob_key, "--json"]].concat());
    assert!(
        !points["on"].as_array().unwrap().contains(&33.into()) && points["on"].as_array().unwrap().contains(&30.into())
    );
    assert_eq!(points["points"][33], serde_json::json!({ "number": 33, "name": "ALG_EC_BPOOLCRV", "on": false }));
    // RSA signs too, once she is one.
    let both = ["--card", "--yes", "--key", &alice_key, "--key", &bob_key];
    dev.json(&[&["ep11", "admins", "add", &carol, "--json"][..], &both].concat());
    let removed =
        ["ep11", "admins", "remove", &alice, "--card", "--yes", "--key", &bob_key, "--key", &carol_key, "--json"];
    assert_eq!(dev.json(&removed)["administrators"].as_array().unwrap().len(), 2);
    let ski = dev.json(&["ep11", "admins", "list", "--card", "--json"])["administrators"][0]["ski"].clone();
    let last =
        ["ep11", "admins", "remove", ski.as_str().unwrap(), "--card", "--yes", "--key", &bob_key, "--key", &carol_key];
    refused(&dev.run(&last), "fewer administrators");
    let shown = done(&dev.run(&["ep11", "admins", "list", "--card"]));
    assert!(shown.starts_with("card 00: changes take 2 signatures") && shown.lines().count() == 3, "{shown}");
    assert!(dev.end());
}

#[test]
fn control_points_are_switched_by_name_and_number() {
    let dev = Dev::start(&[], None);
    let shown = done(&dev.run(&["ep11", "cps"]));
    assert!(shown.contains(" 19  off  ALG_RAW_RSA\n") && shown.lines().count() == 69, "{shown}");
    let changed = dev.json(&["ep11", "cps", "00.0000", "--off", "31", "--off", "XCP_CPB_ALG_RSA", "--yes", "--json"]);
    let on = changed["on"].as_array().unwrap();
    assert!(!on.contains(&31.into()) && !on.contains(&30.into()));
    let changed = dev.json(&["ep11", "cps", "--on", "alg_rsa", "--yes", "--json"]);
    assert!(changed["on"].as_array().unwrap().contains(&30.into()));
    // The card's own.
    let card = dev.json(&["ep11", "cps", "--card", "--off", "31", "--yes", "--json"]);
    assert!(!card["on"].as_array().unwrap().contains(&31.into()) && card["domain"].is_null());
    assert_eq!(dev.run(&["ep11", "cps", "--on", "31", "--off", "31", "--yes"]).status.code(), Some(2));
    assert_eq!(dev.run(&["ep11", "cps", "--on", "nothing", "--yes"]).status.code(), Some(2));
    // Who switches off what switches on has no way back.
    dev.json(&["ep11", "cps", "--off", "add_cpbs", "--yes", "--json"]);
    refused(&dev.run(&["ep11", "cps", "--on", "31", "--yes"]), "ADD_CPBS is off");
    refused(&dev.run(&["ep11", "cps", "07.0000", "--off", "31", "--yes"]), "07.0000 does not answer");
    assert!(dev.end());
}

#[test]
fn a_wrapping_key_of_parts_is_the_same_in_each_domain_that_gets_them() {
    let people = People::new(&[("alice", P256), ("bob", P256)]);
    let [one, two]: [String; 2] = ["one.part", "two.part"].map(|name| people.path(name));
    let dev = Dev::start(&[], None);
    let part = |file: &str, input: &str, words: &[&str]| {
        with_input(&dev, &[&["ep11", "wk", "part", file], words].concat(), input)
    };
    let ones = "01".repeat(32);
    let shown = done(&part(&one, &format!("first secret\n{ones}\n"), &["--given"]));
    assert!(shown.contains("  part "), "{shown}");
    done(&part(&two, "second secret\n", &[]));
    refused(&part(&two, "second secret\n", &[]), "it is there already");
    refused(&part(&people.path("three"), "\n", &[]), "passphrase is empty");
    refused(&part(&people.path("three"), "secret\n0102\n", &["--given"]), "64 hexadecimal digits");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&one).unwrap());
    assert!(mode & 0o777 == 0o600 && !std::fs::read_to_string(&one).unwrap().contains(&ones));
    let both = ["ep11", "wk", "import", "--part", &one, "--part", &two, "--yes", "--json"];
    refused(&with_input(&dev, &both, "first secret\nwrong\n"), "the password is wrong");
    refused(&with_input(&dev, &both, "first secret\n"), "standard input has no passphrase");
    let twice = ["ep11", "wk", "import", "--part", &one, "--part", &one, "--yes"];
    refused(&with_input(&dev, &twice, "first secret\nfirst secret\n"), "have the same part");
    let single = ["ep11", "wk", "import", "--part", &one, "--yes"];
    refused(&with_input(&dev, &single, "first secret\n"), "a single part");
    refused(
        &with_input(&dev, &["ep11", "wk", "import", "--part", &people.path("alice.key"), "--yes"], "x\n"),
        "no key part",
    );
    let next = |output: &Output| serde_json::from_str::<serde_json::Value>(&done(output)).unwrap()["next"].clone();
    let imported = next(&with_input(&dev, &both, "first secret\nsecond secret\n"));
    assert_eq!(dev.json(&["ep11", "wk", "show", "--json"])["next"], imported);
    // Until it is committed, another import takes its place.
    assert_eq!(next(&with_input(&dev, &both, "first secret\nsecond secret\n")), imported);
    assert!(dev.end());
    // Another card, whose administrators sign their parts.
    let dev = Dev::start(&[], None);
    let [alice, bob] =
        ["alice", "bob"].map(|name| (people.path(&format!("{name}.pem")), people.path(&format!("{name}.key"))));
    for place in [&["--card"][..], &[]] {
        for (certificate, _) in [&alice, &bob] {
            done(&dev.run(&[&["ep11", "admins", "add", certificate, "--yes"], place].concat()));
        }
        let keys = ["--yes", "--key", &alice.1, "--key", &bob.1];
        done(&dev.run(&[&["ep11", "admins", "thresholds", "--sign", "2", "--revoke", "1"][..], &keys, place].concat()));
    }
    refused(&with_input(&dev, &both, "first secret\nsecond secret\n"), "signed by an administrator");
    let signed = [&both[..], &["--key", &alice.1, "--key", &bob.1]].concat();
    assert_eq!(next(&with_input(&dev, &signed, "first secret\nsecond secret\n")), imported);
    assert!(dev.end());
}

#[test]
fn files_that_are_none_are_told_by_name() {
    let people = People::new(&[("alice", P256)]);
    let dev = Dev::start(&[], None);
    let junk: PathBuf = Path::new(&people.path("junk")).into();
    std::fs::write(&junk, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    let junk = junk.to_str().unwrap();
    refused(&dev.run(&["ep11", "admins", "add", junk, "--yes"]), "junk: it is no certificate");
    refused(
        &dev.run(&["ep11", "admins", "add", &people.path("alice.key"), "--yes"]),
        "alice.key: it has no certificate",
    );
    refused(&dev.run(&["ep11", "admins", "add", "/nowhere", "--yes"]), "/nowhere: No such file");
    refused(&dev.run(&["ep11", "cps", "--off", "31", "--yes", "--key", junk]), "junk: it has no private key");
    let sealed = people.path("sealed.key");
    let made = Command::new("openssl")
        .args([
            "pkcs8",
            "-topk8",
            "-v2",
            "aes-256-cbc",
            "-passout",
            "pass:secret",
            "-in",
            &people.path("alice.key"),
            "-out",
            &sealed,
        ])
        .status();
    assert!(made.unwrap().success());
    // A key with a passphrase signs where it is entered.
    let off = ["ep11", "cps", "--off", "31", "--yes", "--key", &sealed];
    refused(&with_input(&dev, &off, "wrong\n"), "the password is wrong");
    done(&with_input(&dev, &off, "secret\n"));
    assert!(dev.end());
}
