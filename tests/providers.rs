//! Other providers beside adjunct, under what `adjunct openssl enable` writes into a configuration that activates none, as Debian's: a key meant
//! for a TPM (tpm2-openssl on swtpm) or for a token (pkcs11-provider on our module) is made there, as without adjunct, and nothing is
//! made in software instead.

use adjunct_e2e::lab::{Lab, feed};
use adjunct_e2e::listener::until;
use adjunct_e2e::system::{System, target};
use adjunct_e2e::token::{PIN, Token, said};
use adjunct_e2e::{ports, skipped};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The lines of Debian's openssl.cnf that matter: nothing is activated.
const STOCK: &str = "openssl_conf = openssl_init\nconfig_diagnostics = 1\n[openssl_init]\nproviders = provider_sect\n\
                     [provider_sect]\ndefault = default_sect\n[default_sect]\n# activate = 1\n";

/// A configuration, and a copy of it with what `enable` adds.
fn configurations(lab: &Lab, more: &str) -> [PathBuf; 2] {
    let stock = lab.write("none-activated.cnf", format!("{STOCK}{more}"));
    let enabled = lab.write("enabled.cnf", format!("{STOCK}{more}"));
    let mut command = Command::new(target().join("adjunct"));
    command.args(["openssl", "enable", "--yes", "--trust-module", "--module"]).arg(lab.module());
    let out = command.arg("--config").arg(&enabled).envs(lab.environment()).output().expect("adjunct; run ./check");
    assert!(out.status.success(), "{}", said(&out));
    let text = std::fs::read_to_string(&enabled).expect("the configuration");
    assert!(text.contains("\nyield = yes\n"), "{text}");
    [stock, enabled]
}

/// A TPM of software.
struct Tpm {
    emulator: Child,
    port: u16,
}

impl Tpm {
    /// Starts a TPM; `None`, with the reason printed, where there is no swtpm or no tpm2-openssl.
    fn start(lab: &Lab) -> Option<Tpm> {
        let module = format!("/usr/lib/{}-linux-gnu/ossl-modules/tpm2.so", std::env::consts::ARCH);
        if !Path::new(&module).is_file() || !Path::new("/usr/bin/swtpm").is_file() {
            skipped("no swtpm or no tpm2-openssl");
            return None;
        }
        let state = lab.path("tpm");
        std::fs::create_dir_all(&state).expect("a folder");
        // tpm2-tss takes the next port for control.
        let next_is_free = |port: &u16| TcpListener::bind(("127.0.0.1", port + 1)).is_ok();
        let port = std::iter::repeat_with(ports::free).find(next_is_free).expect("two ports");
        let control = port + 1;
        let mut command = Command::new("swtpm");
        command.args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear", "--tpmstate"]);
        command.arg(format!("dir={}", state.display()));
        command.args(["--server", &format!("type=tcp,port={port},bindaddr=127.0.0.1")]);
        command.args(["--ctrl", &format!("type=tcp,port={control},bindaddr=127.0.0.1")]);
        let emulator = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("swtpm");
        let tpm = Tpm { emulator, port };
        until("swtpm listens", || TcpStream::connect(("127.0.0.1", control)).is_ok());
        Some(tpm)
    }
}

impl Drop for Tpm {
    fn drop(&mut self) {
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

/// What kind of key `openssl genpkey` writes: the words of the first line of PEM, or that it fails.
fn key(command: &mut Command, words: &[&str]) -> String {
    let out = feed(command.arg("genpkey").args(words), b"");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("-----BEGIN ")?.strip_suffix("-----"));
    match (out.status.success(), line) {
        (true, Some(line)) => line.to_owned(),
        (false, _) => "none".to_owned(),
        (true, None) => panic!("{words:?}: {}", said(&out)),
    }
}

#[test]
fn a_key_meant_for_a_tpm_is_the_tpms() {
    let lab = Lab::new();
    let Some(tpm) = Tpm::start(&lab) else { return };
    let [stock, enabled] = configurations(&lab, "");
    let command = |conf: &Path| {
        let mut command = lab.command(&System::here(), "openssl", conf);
        command.env("TPM2OPENSSL_TCTI", format!("swtpm:host=127.0.0.1,port={}", tpm.port)).env("TSS2_LOG", "all+none");
        command
    };
    let ec = ["-algorithm", "EC", "-pkeyopt", "group:P-256"];
    let (tss2, plain) = ("TSS2 PRIVATE KEY", "PRIVATE KEY");
    for (providers, algorithm, expected) in [
        (&["-provider", "tpm2"][..], &ec[..], tss2),
        (&["-provider", "tpm2"], &["-algorithm", "RSA"], tss2),
        (&["-provider", "tpm2", "-provider", "base"], &ec, tss2),
        (&["-provider", "tpm2", "-provider", "default"], &ec, tss2),
        (&["-provider", "default", "-provider", "tpm2", "-propquery", "?provider=tpm2"], &ec, tss2),
        // The TPM has no such keys.
        (&["-provider", "tpm2"], &["-algorithm", "ED25519"], "none"),
        (&["-provider", "tpm2", "-provider", "default"], &["-algorithm", "ED25519"], plain),
        // As without adjunct: `default` was asked for first.
        (&["-provider", "default", "-provider", "tpm2"], &ec, plain),
        (&[], &ec, plain),
    ] {
        let words = [providers, algorithm].concat();
        let (before, after) = (key(&mut command(&stock), &words), key(&mut command(&enabled), &words));
        assert_eq!((before.as_str(), after.as_str()), (expected, expected), "{words:?}");
    }
    // A certificate with a key of the TPM's, and random numbers of it.
    for conf in [&stock, &enabled] {
        let made = lab.path("key.pem");
        let mut request = command(conf);
        request.args([
            "req",
            "-provider",
            "tpm2",
            "-provider",
            "base",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ]);
        request.args(["-nodes", "-subj", "/CN=tpm", "-out", "/dev/null", "-keyout"]).arg(&made);
        let out = feed(&mut request, b"");
        assert!(out.status.success(), "{}: {}", conf.display(), said(&out));
        assert!(std::fs::read_to_string(&made).expect("a key").starts_with("-----BEGIN TSS2 PRIVATE KEY-----"));
        let out = feed(command(conf).args(["rand", "-provider", "tpm2", "-hex", "8"]), b"");
        assert!(out.status.success() && out.stdout.len() == 17, "{}", said(&out));
    }
    // Who brings no provider is served.
    let before = lab.counters();
    feed(command(&enabled).args(["dgst", "-sha256"]), b"x");
    lab.moved("enabled", &before, &["SHA-256"]);
}

/// A provider without keys makes none, on every OpenSSL there is, and neither does OpenSSL's own in its place.
#[test]
fn a_provider_without_keys_makes_none() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/adjunct-openssl/tests/neighbours/provider.c");
    for system in System::all().into_iter().chain(System::without_engines()) {
        let lab = Lab::new();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let built = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(lab.path("foreign.so"))
            .arg(&source)
            .output();
        assert!(built.as_ref().is_ok_and(|out| out.status.success()), "{built:?}");
        let [stock, enabled] = configurations(&lab, "");
        for (providers, expected) in [
            (&["-provider", "foreign"][..], "none"),
            (&["-provider", "foreign", "-provider", "default"], "PRIVATE KEY"),
            (&["-provider", "default", "-provider", "foreign"], "PRIVATE KEY"),
            (&["-provider", "default"], "PRIVATE KEY"),
            (&[], "PRIVATE KEY"),
        ] {
            for conf in [&stock, &enabled] {
                let mut command = lab.command(&system, "openssl", conf);
                let words = [providers, &["-algorithm", "EC", "-pkeyopt", "group:P-256"]].concat();
                let made = key(command.env("OPENSSL_MODULES", lab.dir()), &words);
                assert_eq!(made, expected, "{}: {providers:?}, {}", system.name, conf.display());
            }
        }
    }
}

#[test]
fn a_key_meant_for_a_token_is_the_tokens() {
    for system in System::all().into_iter().skip(1) {
        let token = Token::new();
        // Not activated: the module's own settings, for when a program loads it.
        let settings = format!(
            "[provider_sect]\npkcs11 = pkcs11_sect\n[pkcs11_sect]\npkcs11-module-path = {}\npkcs11-module-token-pin = file:{}\n",
            token.module(),
            token.path("pin"),
        );
        let [stock, enabled] = configurations(&token.lab, &settings);
        assert_eq!(std::fs::read_to_string(token.path("pin")).expect("the PIN"), PIN);
        for (conf, name) in [(&stock, "stock"), (&enabled, "enabled")] {
            let uri = format!("pkcs11_uri:pkcs11:token={};object={name}", adjunct_e2e::token::LABEL);
            let words = ["-provider", "pkcs11", "-algorithm", "EC", "-pkeyopt", "group:P-256", "-pkeyopt", &uri];
            let mut command = token.command(&system, "openssl");
            let made = key(command.env("OPENSSL_CONF", conf), &words);
            assert_ne!(made, "PRIVATE KEY", "{} {name}: a key of software", system.name);
            let objects = token.store(&System::here(), &["--list-objects", "--type", "privkey"]);
            assert!(objects.contains(name), "{} {name}: {made}: {objects}", system.name);
        }
    }
}
