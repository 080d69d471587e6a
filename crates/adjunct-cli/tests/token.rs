//! `adjunct token`: a store token set up, used and looked after, with the module beside the program and a home of its own.

mod copy;
mod own_pkcs11;
mod token_refused;

use copy::copy;
use own_pkcs11::own_pkcs11;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");
const SO_PIN: &str = "87654321";
const PIN: &str = "12345678";

struct Home {
    dir: TempDir,
}

/// How a run ended, and what it said.
#[derive(Debug)]
struct Said {
    status: i32,
    out: String,
    err: String,
}

impl Home {
    fn new() -> Option<Home> {
        let module = own_pkcs11()?;
        let dir = tempfile::tempdir().unwrap();
        copy(ADJUNCT, &dir.path().join("adjunct"));
        copy(module, &dir.path().join("adjunct-pkcs11.so"));
        Some(Home { dir })
    }

    /// Makes a home with a token in it.
    fn with_token() -> Option<Home> {
        let home = Home::new()?;
        let made = home.run(&["init", "--label", "mine"]);
        assert_eq!((made.status, made.out.as_str()), (0, ""), "{made:?}");
        Some(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn token(&self) -> PathBuf {
        self.path("data/adjunct/tokens/default.token")
    }

    /// A command without PINs in its environment.
    fn bare(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.path("adjunct"));
        command.arg("token").args(args).env("ADJUNCT_STATS", "off").env("HOME", self.dir.path());
        command.env("XDG_DATA_HOME", self.path("data")).env("XDG_CONFIG_HOME", self.path("config"));
        for name in [
            "ADJUNCT_PKCS11_CONF",
            "ADJUNCT_PIN",
            "ADJUNCT_SO_PIN",
            "ADJUNCT_NEW_PIN",
            "ADJUNCT_TPM",
            "ADJUNCT_KEY_PASSWORD",
        ] {
            command.env_remove(name);
        }
        command
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.env("ADJUNCT_PIN", PIN).env("ADJUNCT_SO_PIN", SO_PIN);
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        run(&mut self.command(args), "")
    }

    /// Output of a command that succeeds.
    fn shown(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!((said.status, said.err.as_str()), (0, ""), "{args:?}");
        said.out
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.shown(args)).unwrap()
    }

    /// The one line of error that the command fails with.
    fn failed(&self, args: &[&str]) -> String {
        line(self.run(args))
    }

    fn path_of(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Imports a key from the file `aes`.
    fn import_aes(&self, label: &str) {
        std::fs::write(self.path("aes"), [7; 16]).unwrap();
        assert_eq!(self.run(&["import", &self.path_of("aes"), "--aes", "--label", label, "--again"]).status, 0);
    }
}

fn line(said: Said) -> String {
    assert_eq!((said.status, said.out.as_str(), said.err.lines().count()), (1, "", 1), "{said:?}");
    said.err.strip_prefix("adjunct: ").unwrap().trim_end().to_owned()
}

fn run(command: &mut Command, input: &str) -> Said {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // What ends before it has read all is no failure.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { status: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn openssl(args: &[&str]) {
    let output = Command::new("openssl").args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_token_is_set_up_and_its_pins_change() {
    let Some(home) = Home::new() else { return };
    let fresh = home.json(&["list", "--json"]);
    assert_eq!((&fresh[0]["slot"], &fresh[0]["state"]), (&3.into(), &"not initialized".into()));
    let absent = home.failed(&["objects"]);
    assert!(absent.ends_with("there is no token yet; `adjunct token init` makes one"), "{absent}");
    assert!(!home.path("data").exists(), "looking makes nothing");
    // A pipe gives the PINs in the order they are asked for.
    let made = run(&mut home.bare(&["init", "--label", "mine"]), &format!("{SO_PIN}\n{PIN}\n"));
    assert_eq!(made.status, 0, "{made:?}");
    assert_eq!(made.err, format!("Slot 3: token \"mine\" in {}\n", home.token().display()));
    let listed = home.json(&["list", "--json"]);
    assert_eq!((&listed[0]["label"], &listed[0]["state"]), (&"mine".into(), &"ready".into()));
    assert_eq!(listed[0]["user_pin"], serde_json::json!({"set": true, "sealed_by_tpm": false, "tries_left": 3}));
    let again = home.failed(&["init", "--label", "other"]);
    assert!(
        again.ends_with("there is a token already, \"mine\"; --replace removes it with all its objects"),
        "{again}"
    );

    std::fs::write(home.path("pin"), format!("{PIN}\nnot this\n")).unwrap();
    let changed =
        run(&mut home.bare(&["pin", "change", "--pin-file", &home.path_of("pin"), "--new-pin-file", "-"]), "new pin\n");
    assert_eq!((changed.status, changed.err.as_str()), (0, "The user's PIN is changed.\n"));
    assert_eq!(home.failed(&["objects"]), "wrong PIN of the user; 2 tries are left");
    assert_eq!(home.failed(&["objects"]), "wrong PIN of the user; one try is left");
    assert_eq!(
        home.failed(&["pin", "change"]),
        "New PIN of the user: standard input has ended; --new-pin-file or ADJUNCT_NEW_PIN gives it"
    );
    assert_eq!(home.failed(&["objects"]), "wrong PIN of the user; it is locked now");
    let locked = "the user's PIN is locked; `adjunct token pin unlock` gives a new one";
    assert_eq!(home.failed(&["objects"]), locked);
    assert_eq!(home.json(&["list", "--json"])[0]["state"], "user PIN locked");
    let unlocked = run(home.command(&["pin", "unlock"]).env("ADJUNCT_NEW_PIN", PIN), "");
    assert_eq!((unlocked.status, unlocked.err.as_str()), (0, "The user has a new PIN.\n"));
    home.shown(&["objects"]);
    let officer = run(home.command(&["pin", "change", "--so"]).env("ADJUNCT_NEW_PIN", "another so pin"), "");
    assert_eq!((officer.status, officer.err.as_str()), (0, "The security officer's PIN is changed.\n"));
    let wrong = run(home.command(&["pin", "set"]).env("ADJUNCT_NEW_PIN", "new pin"), "");
    assert_eq!(line(wrong), "wrong PIN of the security officer; 2 tries are left");
    let short = run(home.command(&["pin", "change"]).env("ADJUNCT_NEW_PIN", "abc"), "");
    assert_eq!(line(short), "ADJUNCT_NEW_PIN: too short; a PIN has 4 to 255 bytes (no try was counted)");
    // What no terminal is asked: nothing on the command line could be a PIN.
    let help = run(&mut home.bare(&["init", "--help"]), "").out;
    assert!(help.contains("--pin-file") && !help.contains("--pin "), "{help}");
}

#[test]
fn keys_and_certificates_come_in_and_go_out() {
    let Some(home) = Home::with_token() else { return };
    let key = home.path_of("key.pem");
    openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &key]);
    openssl(&[
        "req",
        "-x509",
        "-new",
        "-key",
        &key,
        "-subj",
        "/CN=web",
        "-days",
        "2",
        "-out",
        &home.path_of("cert.pem"),
    ]);
    let both = std::fs::read_to_string(&key).unwrap() + &std::fs::read_to_string(home.path("cert.pem")).unwrap();
    std::fs::write(home.path("both.pem"), both).unwrap();
    let imported = home.run(&["import", &home.path_of("both.pem"), "--label", "web"]);
    assert_eq!((imported.status, imported.err.as_str()), (0, "Imported: key pair\nImported: certificate\n"));
    let objects = home.json(&["objects", "--json"]);
    let objects = objects.as_array().unwrap();
    assert_eq!(objects.len(), 3);
    // They belong together.
    assert!(objects.iter().all(|object| object["id"] == objects[0]["id"] && object["label"] == "web"), "{objects:?}");
    let private = objects.iter().find(|object| object["class"] == "private key").unwrap();
    assert_eq!((&private["sensitive"], &private["extractable"]), (&true.into(), &false.into()));
    assert_eq!(home.json(&["objects", "--public", "--json"]).as_array().unwrap().len(), 2);
    let name = private["name"].as_str().unwrap();
    assert_eq!(
        home.failed(&["export", &name[..8]]),
        format!("{}: the key is not extractable, and never leaves the token", &name[..8])
    );
    let shown = home.shown(&["show", name]);
    assert!(shown.contains("sign                 true\n") && shown.contains("never-extractable    false\n"), "{shown}");
    let several = home.failed(&["export", "web"]);
    assert!(several.starts_with("web: 3 objects: ") && several.contains("(certificate)"), "{several}");
    assert!(several.contains("first column") && several.contains("--type (certificate, "), "{several}");
    // What is there already is not imported once more without a word.
    for file in ["both.pem", "key.pem", "cert.pem"] {
        let twice = home.failed(&["import", &home.path_of(file), "--label", "web"]);
        assert!(twice.contains("the token has this ") && twice.ends_with("\"web\"; --again imports it once more"));
    }
    assert_eq!(home.json(&["objects", "--json"]).as_array().unwrap().len(), 3);
    assert_eq!(home.run(&["import", &home.path_of("cert.pem"), "--label", "web", "--again"]).status, 0);
    let several = home.failed(&["export", "web", "--type", "certificate"]);
    assert!(several.starts_with("web: 2 objects: ") && several.contains("first column"), "{several}");
    let second = home.json(&["objects", "--json"]);
    let second = second.as_array().unwrap().iter().find(|object| object["class"] == "certificate").unwrap();
    assert_eq!(home.run(&["remove", second["name"].as_str().unwrap()]).status, 0);
    let certificate = home.shown(&["export", "web", "--type", "certificate"]);
    assert_eq!(certificate, std::fs::read_to_string(home.path("cert.pem")).unwrap());
    openssl(&["pkey", "-in", &key, "-pubout", "-out", &home.path_of("public.pem")]);
    let public = home.shown(&["export", "web", "--type", "public-key"]);
    assert_eq!(public, std::fs::read_to_string(home.path("public.pem")).unwrap());
    assert!(home.failed(&["remove", "web"]).ends_with("; --all removes them"));
    assert_eq!(home.run(&["remove", "web", "--all"]).status, 0);
    assert_eq!(home.json(&["objects", "--json"]), serde_json::json!([]));

    // What may be taken out again comes out as it was.
    for (at, args) in [
        &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"][..],
        &["genpkey", "-algorithm", "ED25519"],
        &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    ]
    .into_iter()
    .enumerate()
    {
        let (file, out, label) =
            (home.path_of(&format!("{at}.pem")), home.path_of(&format!("{at}.out")), format!("key {at}"));
        openssl(&[args, &["-out", &file]].concat());
        assert_eq!(home.run(&["import", &file, "--label", &label, "--extractable"]).status, 0, "{args:?}");
        let exported = home.run(&["export", &label, "--type", "private-key", "--out", &out]);
        assert_eq!((exported.status, exported.err.as_str()), (0, ""));
        assert_eq!(std::fs::metadata(&out).unwrap().mode() & 0o777, 0o600);
        let public = |file: &str| {
            let output = Command::new("openssl").args(["pkey", "-in", file, "-text"]).output().unwrap();
            assert!(output.status.success());
            output.stdout
        };
        assert_eq!(public(&out), public(&file), "{args:?}");
    }
    std::fs::write(home.path("aes"), [7; 32]).unwrap();
    assert_eq!(home.run(&["import", &home.path_of("aes"), "--aes", "--label", "aes", "--extractable"]).status, 0);
    assert_eq!(home.run(&["export", "aes", "--out", &home.path_of("aes.out")]).status, 0);
    assert_eq!(std::fs::read(home.path("aes.out")).unwrap(), [7; 32]);
    assert!(home.failed(&["export", "aes", "--out", &home.path_of("aes.out")]).contains("exists"));
    // Keys in their older forms, and what is none.
    openssl(&["rsa", "-in", &home.path_of("0.pem"), "-traditional", "-out", &home.path_of("old.pem")]);
    openssl(&["ec", "-in", &key, "-out", &home.path_of("ec.pem")]);
    openssl(&["pkey", "-in", &key, "-aes256", "-passout", "pass:x", "-out", &home.path_of("encrypted.pem")]);
    for name in ["old.pem", "ec.pem"] {
        assert_eq!(home.run(&["import", &home.path_of(name), "--label", name, "--again"]).err, "Imported: key pair\n");
    }
    let encrypted = home.path_of("encrypted.pem");
    let import = ["import", &encrypted, "--label", "encrypted", "--again"];
    assert_eq!(run(&mut home.command(&import), "x\n").err, "Imported: key pair\n");
    assert_eq!(run(home.command(&import).env("ADJUNCT_KEY_PASSWORD", "x"), "").err, "Imported: key pair\n");
    std::fs::write(home.path("password"), "y\n").unwrap();
    let password = home.path_of("password");
    let wrong = [&import[..], &["--password-file", &password]].concat();
    assert!(home.failed(&wrong).ends_with("encrypted.pem: the password is wrong, or the key is damaged"));
    let ended = home.failed(&import);
    assert!(
        ended.ends_with("encrypted.pem: standard input has ended; --password-file or ADJUNCT_KEY_PASSWORD gives it"),
        "{ended}"
    );
    assert!(home.failed(&["import", &home.path_of("aes")]).contains("--aes"));
    let (before, half) = (home.json(&["objects", "--json"]), std::fs::read_to_string(&key).unwrap());
    std::fs::write(home.path("half.pem"), half + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    assert!(home.failed(&["import", &home.path_of("half.pem"), "--again"]).ends_with("a certificate that is broken"));
    assert_eq!(home.json(&["objects", "--json"]), before, "all of a file, or nothing");
    assert!(home.failed(&["show", "nothing"]).contains("there is no such object"));
}

#[test]
fn a_token_is_backed_up_restored_and_repaired() {
    let Some(home) = Home::with_token() else { return };
    home.import_aes("one");
    home.import_aes("two");
    let backup = home.path_of("backup");
    let made = run(&mut home.bare(&["backup", &backup]), "");
    assert_eq!((made.status, made.err), (0, format!("Token \"mine\" with 2 objects written to {backup}\n")));
    // A file that is no backup, or would take the place of a token, is told before any PIN is asked for.
    let none = line(run(&mut home.bare(&["restore", "/etc/passwd", "--replace"]), ""));
    assert_eq!(none, "/etc/passwd: is no backup of a token");
    let there = line(run(&mut home.bare(&["restore", &backup]), ""));
    assert!(there.ends_with("--replace puts the backup in its place"), "{there}");
    assert_eq!(std::fs::metadata(&backup).unwrap().mode() & 0o777, 0o600);
    let there = home.failed(&["backup", &backup]);
    assert!(there.contains("exists") && there.ends_with("name another, or remove it first"), "{there}");
    home.import_aes("three");
    let there = home.failed(&["restore", &backup]);
    assert!(there.ends_with("there is a token already; --replace puts the backup in its place"), "{there}");
    let bytes = std::fs::read(&backup).unwrap();
    std::fs::write(home.path("cut"), &bytes[..bytes.len() - 1]).unwrap();
    let cut = home.failed(&["restore", &home.path_of("cut"), "--replace"]);
    assert!(cut.ends_with("cut: is not whole, or was changed"), "{cut}");
    let none = home.failed(&["restore", &home.path_of("aes"), "--replace"]);
    assert!(none.ends_with("aes: is no backup of a token"), "{none}");
    assert_eq!(home.json(&["objects", "--json"]).as_array().unwrap().len(), 3);
    let restored = home.run(&["restore", &backup, "--replace"]);
    assert_eq!(restored.status, 0);
    let said = format!(
        "2 objects restored to {}; what was there was the same token, 1 change later\n",
        home.token().display()
    );
    assert_eq!(restored.err, said);

    assert_eq!(home.run(&["repair"]).err, "Nothing to repair: 2 objects, all of them whole.\n");
    let mut bytes = std::fs::read(home.token()).unwrap();
    let at = bytes.len() - 100;
    bytes[at] ^= 1;
    std::fs::write(home.token(), &bytes).unwrap();
    let damaged = home.failed(&["objects"]);
    assert!(damaged.ends_with("damaged; `adjunct token repair` keeps all that can be read"), "{damaged}");
    let explained = home.run(&["explain"]);
    assert_eq!(explained.status, 1);
    assert!(
        explained.out.contains("damaged\n") && explained.out.contains("-> `adjunct token repair --slot 3`"),
        "{explained:?}"
    );
    let repaired = home.run(&["repair", "--so"]);
    assert!(
        repaired.err.starts_with("1 object kept; 1 object could not be read. The damaged file is "),
        "{repaired:?}"
    );
    assert_eq!(std::fs::read(home.token().with_file_name("default.token.damaged")).unwrap().len(), bytes.len());
    assert_eq!(home.json(&["objects", "--json"])[0]["label"], "one");
}

/// Of several commands that make a token at once, one makes it, with both PINs; the others say that it exists, and try none of its PINs. Errors say
/// what to do, and the status tells of them.
#[test]
fn one_of_many_makes_the_token() {
    let Some(home) = Home::new() else { return };
    let start = |number: usize| {
        let mut command = home.bare(&["init", "--label", &format!("number {number}")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        (child, input)
    };
    let started: Vec<_> = (0..4).map(start).collect();
    // They have seen that there is none, and wait for their PINs.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut children: Vec<Child> = Vec::new();
    for (number, (child, mut input)) in started.into_iter().enumerate() {
        input.write_all(format!("so pin {number}\n{PIN}\n").as_bytes()).unwrap();
        children.push(child);
    }
    let ended: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let made: Vec<usize> = (0..4).filter(|number| ended[*number].status.success()).collect();
    assert_eq!(made.len(), 1, "{ended:?}");
    for output in ended.iter().filter(|output| !output.status.success()) {
        let err = String::from_utf8_lossy(&output.stderr);
        let words = "; --replace removes it with all its objects\n";
        assert!(err.contains("there is a token already, \"number ") && err.ends_with(words), "{err}");
    }
    let listed = home.json(&["list", "--json"]);
    assert_eq!(listed[0]["label"], format!("number {}", made[0]));
    assert_eq!((&listed[0]["user_pin"]["tries_left"], &listed[0]["so_pin"]["tries_left"]), (&3.into(), &3.into()));
    // Who comes later is told before a PIN is asked for.
    let late = run(&mut home.bare(&["init", "--label", "late"]), "");
    assert!(late.err.contains("there is a token already"), "{late:?}");
}

/// A token whose user's PIN is refused is not made at all.
#[test]
fn a_token_is_made_whole_or_not_at_all() {
    let Some(home) = Home::new() else { return };
    let short = run(&mut home.bare(&["init", "--label", "mine"]), &format!("{SO_PIN}\n123\n"));
    assert_eq!(
        (short.status, short.err.as_str()),
        (1, "adjunct: New PIN of the user: too short; a PIN has 4 to 255 bytes (no try was counted)\n")
    );
    assert_eq!(home.json(&["list", "--json"])[0]["state"], "not initialized");
    let cut = run(&mut home.bare(&["init", "--label", "mine"]), &format!("{SO_PIN}\n"));
    assert_eq!(cut.status, 1, "{cut:?}");
    assert_eq!(home.json(&["list", "--json"])[0]["state"], "not initialized");
}

/// Problems that are reported of a file that can still be used.
#[test]
fn health_is_said_after_it_was_checked() {
    let Some(home) = Home::with_token() else { return };
    home.import_aes("one");
    let before = std::fs::read(home.token()).unwrap();
    home.import_aes("two");
    let whole = std::fs::read(home.token()).unwrap();
    let state = || home.json(&["list", "--json"])[0]["state"].clone();
    assert_eq!(state(), "ready");
    // Bytes of nobody's at its end.
    std::fs::write(home.token(), [&whole[..], &[0xa5; 24]].concat()).unwrap();
    assert_eq!(state(), "to be repaired");
    let explained = home.run(&["explain"]);
    assert!(explained.out.contains("24 bytes at its end are not adjunct's"), "{explained:?}");
    let objects = home.run(&["objects", "--json"]);
    assert!(objects.out.contains("\"one\"") && objects.out.contains("\"two\""), "{objects:?}");
    assert_eq!(objects.err.lines().count(), 1, "{objects:?}");
    assert!(home.run(&["repair"]).err.starts_with("2 objects kept. "));
    assert_eq!((state(), std::fs::read(home.token()).unwrap().len() <= whole.len()), ("ready".into(), true));
    // Two writers that did not know of each other: each wrote behind the same frame.
    std::fs::write(home.token(), &before).unwrap();
    home.import_aes("TWO");
    let other = std::fs::read(home.token()).unwrap();
    home.import_aes("three");
    let third = std::fs::read(home.token()).unwrap()[other.len()..].to_vec();
    assert_eq!(other.len(), whole.len());
    std::fs::write(home.token(), [&whole[..], &third].concat()).unwrap();
    assert_eq!(state(), "damaged");
    assert_eq!(home.run(&["explain"]).status, 1);
    // An older copy.
    std::fs::write(home.token(), &before).unwrap();
    assert_eq!(state(), "older copy");
    let explained = home.run(&["explain"]);
    assert!(explained.status == 1 && explained.out.contains("an older copy was put in its place"), "{explained:?}");
    assert_eq!(home.run(&["repair"]).err, "Nothing to repair: 1 object, all of them whole.\n");
    assert_eq!(state(), "ready");
}

#[test]
fn the_set_up_is_explained() {
    let Some(home) = Home::new() else { return };
    let explained = |status: i32, words: &[&str]| {
        let said = home.run(&["explain"]);
        assert_eq!((said.status, said.err.as_str()), (status, ""), "{words:?}: {said:?}");
        words.iter().for_each(|words| assert!(said.out.contains(words), "{words}: {}", said.out));
    };
    explained(0, &["(PKCS #11 3.2)", "no token yet", "-> `adjunct token init --label NAME` makes one"]);
    assert_eq!(home.run(&["init", "--label", "mine"]).status, 0);
    explained(0, &["\"mine\", 0 objects", "user PIN      set", "loaded by"]);
    std::fs::write(home.path("wrong"), "wrong").unwrap();
    let wrong = home.failed(&["init", "--label", "mine", "--replace", "--so-pin-file", &home.path_of("wrong")]);
    assert_eq!(wrong, "wrong PIN of the security officer; 2 tries are left");
    explained(0, &["2 of 3 tries left"]);
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(&home.token(), 0o666);
    explained(1, &["writable by others", "chmod 600 "]);
    let folder = home.token().parent().unwrap().to_owned();
    mode(&home.token(), 0o644);
    mode(&folder, 0o755);
    explained(0, &["other users can read the file"]);
    // As docs/pkcs11.md has it for a server's workers: what is said must not undo that.
    mode(&home.token(), 0o640);
    mode(&folder, 0o750);
    explained(0, &["its group can read the file, as a server's workers must", "-> nothing, where that is meant"]);
    mode(&home.token(), 0o600);
    mode(&folder, 0o700);
    let conf = home.path("config/adjunct/tokens.conf");
    std::fs::create_dir_all(conf.parent().unwrap()).unwrap();
    std::fs::write(&conf, "[[token]]\nslot = 4\n").unwrap();
    explained(1, &["tokens.conf: ", "correct the file"]);
    let text = format!("[[token]]\nslot = 4\npath = \"{}/no/such.token\"\nread-only = true\n", home.path_of("x"));
    std::fs::write(&conf, text).unwrap();
    explained(1, &["slot 4", "no token, and read-only"]);
    std::fs::remove_file(&conf).unwrap();
    for _ in 0..3 {
        let wrong = run(home.command(&["objects"]).env("ADJUNCT_PIN", "wrong"), "");
        assert_eq!(wrong.status, 1);
    }
    explained(1, &["locked after three wrong ones", "-> `adjunct token pin unlock --slot 3`"]);
    let report: Value = serde_json::from_str(&home.run(&["explain", "--json"]).out).unwrap();
    assert_eq!((&report["problems"], &report["tokens"][0]["user_pin"]["tries_left"]), (&1.into(), &0.into()));
    std::fs::remove_file(home.path("adjunct-pkcs11.so")).unwrap();
    if module_is_nowhere() {
        explained(1, &["adjunct-pkcs11.so is neither beside this program"]);
    }
    assert!(!home.failed(&["export", "x", "--slot", "9"]).is_empty());
}

/// What a program says that has failed is explained, by name or number.
#[test]
fn return_values_are_explained() {
    let Some(home) = Home::new() else { return };
    let said = home.run(&["explain", "CKR_PIN_LOCKED", "pin_locked", "0xA4", "164"]);
    let lines: Vec<_> = said.out.lines().collect();
    assert_eq!((said.status, lines.len(), lines[0]), (0, 12, "CKR_PIN_LOCKED (0xa4)"), "{said:?}");
    assert!(lines.chunks(3).all(|chunk| chunk == &lines[..3]) && lines[2].contains("token pin unlock"), "{said:?}");
    let report = home.json(&["explain", "--json", "CKR_MUTEX_BAD"]);
    assert_eq!((&report[0]["value"], &report[0]["means"]), (&0x1a0.into(), &Value::Null));
    for wrong in ["CKR_PIN", "0x", "4294967296", "0xfffffffffffffffff"] {
        assert!(home.failed(&["explain", wrong]).contains("is no return value of PKCS #11"), "{wrong}");
    }
}

/// A restore that is ended part-way, by a limit of a file's length that kills (SIGXFSZ), leaves the token that was there; one that is not ended puts
/// the whole backup in its place.
#[test]
fn a_restore_that_is_cut_leaves_the_token_that_was_there() {
    let Some(home) = Home::with_token() else { return };
    home.import_aes("one");
    let backup = home.path_of("backup");
    assert_eq!(run(&mut home.bare(&["backup", &backup]), "").status, 0);
    home.import_aes("two");
    let count = || home.json(&["objects", "--json"]).as_array().unwrap().len();
    let folder = home.token().parent().unwrap().to_owned();
    let files = || std::fs::read_dir(&folder).unwrap().count();
    let before = files();
    let whole = std::fs::metadata(home.token()).unwrap().len();
    let restore = |most: u64| {
        let command = home.command(&["restore", &backup, "--replace"]);
        let mut limited = Command::new("prlimit");
        limited
            .args([format!("--fsize={most}"), "--core=0".to_owned()])
            .arg(command.get_program())
            .args(command.get_args());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.output().unwrap()
    };
    for most in [0, 1, 255, 256, 300, whole / 3, whole / 2, whole * 2 / 3] {
        let cut = restore(most);
        assert!(!cut.status.success(), "{most}: {cut:?}");
        assert_eq!(count(), 2, "{most}: {cut:?}");
    }
    let done = restore(2 * whole);
    assert!(done.status.success(), "{done:?}");
    assert_eq!((count(), files()), (1, before));
}

fn module_is_nowhere() -> bool {
    let triplet = format!("/usr/lib/{}-linux-gnu/pkcs11", std::env::consts::ARCH);
    [&triplet, "/usr/lib64/pkcs11", "/usr/lib/pkcs11"]
        .iter()
        .all(|folder| !Path::new(folder).join("adjunct-pkcs11.so").exists())
}

/// A TPM in software, ended with this.
struct Swtpm(Child);

impl Drop for Swtpm {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_token_is_sealed_by_a_tpm() {
    let Some(home) = Home::new() else { return };
    let start = |name: &str| {
        std::fs::create_dir(home.path(name)).unwrap();
        let mut command = Command::new("swtpm");
        command.args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"]);
        command.arg("--tpmstate").arg(format!("dir={}", home.path_of(name)));
        command.arg("--server").arg(format!("type=unixio,path={}/tpm", home.path_of(name)));
        command.arg("--ctrl").arg(format!("type=unixio,path={}/control", home.path_of(name)));
        let process = Swtpm(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?);
        while std::os::unix::net::UnixStream::connect(home.path(name).join("tpm")).is_err() {
            std::thread::yield_now();
        }
        Some((process, home.path(name).join("tpm")))
    };
    let (Some(here), Some(other)) = (start("here"), start("other")) else {
        eprintln!("SKIPPED: there is no swtpm");
        return;
    };
    let run = |tpm: &Path, args: &[&str]| run(home.command(args).env("ADJUNCT_TPM", tpm), "");
    let none = run(Path::new("/nowhere"), &["init", "--label", "sealed", "--tpm"]);
    assert_eq!(line(none), "/nowhere: the TPM cannot be opened: No such file or directory");
    let made = run(&here.1, &["init", "--label", "sealed", "--tpm"]);
    assert!(made.status == 0 && made.err.ends_with(", sealed by the TPM\n"), "{made:?}");
    assert_eq!(run(&here.1, &["objects"]).status, 0);
    let elsewhere = line(run(&other.1, &["objects"]));
    assert!(
        elsewhere.ends_with("sealed by another TPM than this, or by this one before it was cleared"),
        "{elsewhere}"
    );
    let explained = run(&here.1, &["explain"]);
    assert!(explained.status == 0 && explained.out.contains("set, sealed by the TPM"), "{explained:?}");
    let explained = run(&other.1, &["explain"]);
    assert!(explained.status == 1 && explained.out.contains("slot 3 TPM"), "{explained:?}");
    std::fs::write(home.path("wrong"), "wrong").unwrap();
    let wrong = line(run(&here.1, &["objects", "--pin-file", &home.path_of("wrong")]));
    assert_eq!(wrong, "wrong PIN of the user; 2 tries are left");
    let backup = run(&here.1, &["backup", &home.path_of("backup")]);
    assert!(
        backup.err.ends_with("\nThe token is sealed by this machine's TPM: the backup opens here alone.\n"),
        "{backup:?}"
    );
    assert!(line(run(&other.1, &["restore", &home.path_of("backup"), "--replace"])).contains("sealed by another TPM"));
    assert_eq!(run(&here.1, &["restore", &home.path_of("backup"), "--replace"]).status, 0);
}
