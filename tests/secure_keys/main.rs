//! Keys that only a card can use, by each interface: the provider, the engine, libica and PKCS #11 sign with a key that the test card alone has; they fail
//! clearly while it is gone, and work when it is back; each operation counts once, as hardware.

use adjunct_e2e::lab::Lab;
use adjunct_e2e::system::target;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The test card's process, and what it keeps.
struct Card {
    folder: PathBuf,
    vault: PathBuf,
    process: Option<Child>,
}

impl Card {
    fn new(lab: &Lab) -> Card {
        let folder = lab.path("cards");
        std::fs::create_dir(&folder).expect("a folder");
        let mut card = Card { folder, vault: lab.path("vault"), process: None };
        card.start();
        card
    }

    fn start(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-test-card"));
        command.args([&self.folder, &self.vault]).env("ADJUNCT_STATS", "off").env("ADJUNCT_CARDS", "off");
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the test card");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        self.process = Some(process);
    }

    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.end();
    }
}

/// A program that does an operation for each line.
struct Program {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(lab: &Lab, card: &Card, command: &mut Command) -> Program {
        command.envs(lab.environment()).env("ADJUNCT_CARDS", "on").env("ADJUNCT_CARDS_DIR", &card.folder);
        command.env("TEST_CARD_KEYS", card.folder.join("keys")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the program");
        let (input, output) = (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        Program { process, input, output: BufReader::new(output) }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").expect("it listens");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("an answer");
        answer.trim_end().to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn compiled(lab: &Lab, name: &str, more: &[&str]) -> PathBuf {
    let (source, program) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("secure_keys"), lab.path(name));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source.join(format!("{name}.c")));
    let built = command.args(more).arg("-lcrypto").output().expect("a compiler of C");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

/// What was counted in hardware, by function.
fn hardware(lab: &Lab) -> BTreeMap<String, u64> {
    lab.counters().into_iter().map(|(name, (hardware, _))| (name, hardware)).collect()
}

/// Has a program do each of these operations: with the card, without it, which `fails` has to recognise and which counts nothing, and with the card again.
/// Each is of a function, which counts once in hardware.
fn each(lab: &Lab, card: &mut Card, program: &mut Program, operations: &[(&str, &str)], fails: impl Fn(&str) -> bool) {
    let calls = |function: &str| hardware(lab).get(function).copied().unwrap_or(0);
    for (operation, function) in operations {
        let before = calls(function);
        assert_eq!(program.ask(operation), "ok", "{operation}");
        assert_eq!(calls(function), before + 1, "{operation} counts as {function}");
    }
    card.end();
    for (operation, function) in operations {
        let before = lab.counters().get(*function).copied();
        let said = program.ask(operation);
        assert!(fails(&said), "{operation}: {said}");
        assert_eq!(lab.counters().get(*function).copied(), before, "{operation}: what failed counts nothing");
    }
    card.start();
    for (operation, function) in operations {
        let before = calls(function);
        assert_eq!(program.ask(operation), "ok", "{operation}, when the card is back");
        assert_eq!(calls(function), before + 1, "{operation}");
    }
}

/// The core's words, with the device at fault.
fn names_the_device(said: &str) -> bool {
    said.contains("no card of mode test answers")
}

#[test]
fn the_provider_uses_keys_of_a_card() {
    let lab = Lab::new();
    let mut card = Card::new(&lab);
    let mut command = Command::new(compiled(&lab, "provider", &[]));
    let mut program = Program::start(&lab, &card, command.env("OPENSSL_CONF", lab.adjunct()));
    let operations = [
        ("rsa sign", "RSA-CRT"),
        ("rsa decrypt", "RSA-CRT"),
        ("p256 sign", "ECDSA Sign"),
        ("p384 sign", "ECDSA Sign"),
        ("p521 sign", "ECDSA Sign"),
        ("p256 derive", "ECDH"),
        ("p521 derive", "ECDH"),
        ("ed25519 sign", "Ed25519 Sign"),
        ("x25519 derive", "X25519 Derive"),
        ("mlkem768 decapsulate", "ML-KEM Decaps"),
        ("hmac mac", "HMAC-SHA-256"),
        ("aes mac", "AES CMAC"),
    ];
    each(&lab, &mut card, &mut program, &operations, names_the_device);
    for name in ["rsa", "p256", "ed25519", "x25519"] {
        assert_eq!(program.ask(&format!("{name} keeps")), "ok", "{name}");
    }
}

#[test]
fn the_engine_uses_keys_of_a_card() {
    let lab = Lab::new();
    let mut card = Card::new(&lab);
    let mut command = Command::new(compiled(&lab, "engine", &[]));
    command.arg(target().join("libadjunct_engine.so")).env("OPENSSL_CONF", "/dev/null");
    let mut program = Program::start(&lab, &card, &mut command);
    let operations = [
        ("rsa sign", "RSA-CRT"),
        ("rsa decrypt", "RSA-CRT"),
        ("p256 sign", "ECDSA Sign"),
        ("p521 sign", "ECDSA Sign"),
        ("p256 derive", "ECDH"),
    ];
    each(&lab, &mut card, &mut program, &operations, names_the_device);
    // What the core does not have goes to nobody.
    let said = program.ask("rsa x931");
    assert!(said.contains("key of a card"), "{said}");
}

#[test]
fn libica_uses_keys_of_a_card() {
    let lab = Lab::new();
    let mut card = Card::new(&lab);
    let ica = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/adjunct-ica");
    let linked = Command::new(ica.join("link")).arg(target().join("libadjunct_ica.a")).arg(lab.dir()).output();
    let linked = linked.expect("crates/adjunct-ica/link");
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    let (include, folder) = (ica.join("include").display().to_string(), lab.dir().display().to_string());
    let mut command = Command::new(compiled(&lab, "ica", &["-I", &include, "-L", &folder, "-lica"]));
    command.env("LD_LIBRARY_PATH", lab.dir()).env("OPENSSL_CONF", "/dev/null");
    let mut program = Program::start(&lab, &card, &mut command);
    let operations =
        [("rsa front", "RSA-ME"), ("rsa back", "RSA-ME"), ("rsa crt", "RSA-CRT"), ("ec sign", "ECDSA Sign")];
    each(&lab, &mut card, &mut program, &operations, |said| said.ends_with("ENODEV"));
}

#[test]
fn pkcs11_uses_keys_of_a_card() {
    let lab = Lab::new();
    let mut card = Card::new(&lab);
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-secure-pkcs11"));
    command.arg(target().join("libadjunct_pkcs11.so"));
    for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(name, lab.dir());
    }
    let mut program = Program::start(&lab, &card, &mut command);
    let operations = [
        ("rsa", "RSA-CRT"),
        ("p256", "ECDSA Sign"),
        ("p384", "ECDSA Sign"),
        ("p521", "ECDSA Sign"),
        ("ed25519", "Ed25519 Sign"),
        ("mldsa65", "ML-DSA Sign"),
        ("hmac", "HMAC-SHA-256"),
        ("aes ecb", "AES ECB"),
        ("aes cbc", "AES CBC"),
        ("aes ctr", "AES CTR"),
        ("aes cmac", "AES CMAC"),
    ];
    each(&lab, &mut card, &mut program, &operations, |said| said == "CKR_DEVICE_REMOVED");
}
