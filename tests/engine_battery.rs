//! No harm by the engine: what OpenSSL's interface answers for RSA and EC keys of every origin (`battery/battery.c`), under the configuration that
//! `adjunct openssl enable` writes, is what it answers without adjunct; and which programs get the engine at all.
//!
//! `ADJUNCT_DEEP=1` has the newer suites' OpenSSL, too.

use adjunct_e2e::lab::{Lab, adjunct_conf};
use adjunct_e2e::system::{System, is_root, namespaces, target};
use adjunct_e2e::{deep, skipped};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn systems() -> Vec<System> {
    if deep() { System::all() } else { vec![System::here()] }
}

/// A C program with libcrypto, in the lab.
fn compile(lab: &Lab, name: &str, source: &Path, args: &[&str]) -> PathBuf {
    let program = lab.path(name);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source).args(args).arg("-lcrypto");
    let built = command.output().unwrap_or_else(|e| panic!("{compiler}: {e}; a C compiler is needed"));
    assert!(built.status.success(), "libssl-dev is needed:\n{}", String::from_utf8_lossy(&built.stderr));
    program
}

/// The configurations that the command writes, each with the target's name: for all programs, for sshd and for ssh.
fn enabled(lab: &Lab) -> Vec<(&'static str, PathBuf)> {
    let (adjunct, module) = (target().join("adjunct"), lab.module());
    let stock = "config_diagnostics = 1\nopenssl_conf = init\n[init]\n";
    let all = lab.write("all.cnf", stock);
    let run = |command: &mut Command| {
        let out = command.env("HOME", lab.dir()).env_remove("OPENSSL_CONF").envs(lab.environment());
        let out = out.stdin(Stdio::null()).output().expect("it starts");
        assert!(out.status.success(), "{}\n{}", out.status, String::from_utf8_lossy(&out.stderr));
        out.stdout
    };
    let enable = |args: &[&str]| {
        let mut command = Command::new(&adjunct);
        command.args(["openssl", "enable", "--yes", "--trust-module", "--module"]).arg(&module).args(args);
        command
    };
    run(enable(&["--config"]).arg(&all));
    let mut written = vec![("all", all)];
    run(&mut enable(&["--for", "ssh"]));
    written.push(("ssh", lab.path(".config/adjunct/ssh.cnf")));
    if is_root() && namespaces() {
        // Below an /etc of its own, where sshd is a service that reads a file of variables.
        let script = "mount -t tmpfs none /mnt && cp -a /etc /mnt/ && rm -rf /mnt/etc/adjunct /mnt/etc/systemd/system/ssh*.d && \
                      mkdir -p /mnt/etc/systemd/system /mnt/etc/default && \
                      printf '[Service]\\nEnvironmentFile=-/etc/default/ssh\\n' >/mnt/etc/systemd/system/ssh.service && \
                      : >/mnt/etc/default/ssh && mount --bind /mnt/etc /etc && \"$@\" >&2 && cat /etc/adjunct/sshd.cnf";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&adjunct);
        command.args(["openssl", "enable", "--yes", "--for", "sshd", "--trust-module", "--module"]).arg(&module);
        written.push(("sshd", lab.write("sshd.cnf", run(&mut command))));
    } else {
        skipped("--for sshd: not root, or no mount namespaces");
    }
    written
}

/// The keys that the battery is about, in the lab's folder.
fn keys(lab: &Lab) {
    let openssl = |args: &str| lab.openssl(&System::here(), lab.stock(), &args.split(' ').collect::<Vec<_>>(), b"");
    for name in ["rsa", "other"] {
        lab.write(&format!("{name}.pem"), openssl("genrsa 1536"));
    }
    for (name, curve) in [("ec", "prime256v1"), ("brain", "brainpoolP256r1")] {
        lab.write(&format!("{name}.pem"), openssl(&format!("ecparam -genkey -noout -name {curve}")));
    }
    let at = |name: &str| lab.path(name).display().to_string();
    for name in ["rsa", "ec"] {
        let public = openssl(&format!("pkey -pubout -in {}", at(&format!("{name}.pem"))));
        lab.write(&format!("{name}-pub.pem"), public);
    }
    let request = lab.write("request.cnf", "[req]\ndistinguished_name = name\n[name]\n");
    let made = openssl(&format!("req -new -subj /CN=x -config {} -key {}", request.display(), at("rsa.pem")));
    lab.write("request.pem", made);
}

fn battery(lab: &Lab, system: &System, program: &Path, conf: &Path) -> Vec<String> {
    let mut command = system.run(program);
    command.arg(lab.dir()).env("OPENSSL_CONF", conf).envs(lab.environment()).env_remove("HOME").stdin(Stdio::null());
    let out = command.output().expect("the battery starts");
    let text = String::from_utf8(out.stdout).expect("its lines are text");
    let last = text.lines().last().unwrap_or_default();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success() && last == "whole",
        "{}, {}: {}; {last}\n{said}",
        system.name,
        conf.display(),
        out.status
    );
    text.lines().map(str::to_owned).collect()
}

/// The uses of incomplete keys at which stock ends with a signal. What another than it answers there has nothing to be compared
/// with; these are all the lines that may differ from stock's.
const STOCK_CRASHES: [(&str, &str); 3] = [
    // RSA_public_encrypt and its sisters read the modulus without asking whether there is one; under the engine they fail, and
    // the end comes with RSA_sign, in libcrypto's RSA_size before any engine is asked.
    ("RSA, empty", "low"),
    ("RSA, p and q alone", "low"),
    // ECDSA_sign reads the curve without asking whether there is one; under the engine all of them fail with an error.
    ("EC, empty", "low"),
];

/// The uses that crashed, by their lines.
fn crashed(lines: &[String]) -> Vec<(&str, &str)> {
    lines.iter().filter_map(|line| line.strip_suffix(" CRASHED")?.rsplit_once(": ")).collect()
}

/// The lines without those of `uses`.
fn without(lines: &[String], uses: &[(&str, &str)]) -> Vec<String> {
    let (mut kept, mut use_of): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for line in lines {
        // A use of an incomplete key ends with a line of its own; what came before it is of that use.
        let end = line.strip_suffix(" ended").or_else(|| line.strip_suffix(" CRASHED"));
        match end.and_then(|end| end.rsplit_once(": ")) {
            Some((key, name)) if uses.contains(&(key, name)) => {
                let key = format!("{key}: ");
                let begins = use_of.iter().rposition(|l| !l.starts_with(&key) || l.ends_with(" ended"));
                use_of.truncate(begins.map_or(0, |at| at + 1));
                kept.append(&mut use_of);
            }
            _ => use_of.push(line.clone()),
        }
    }
    kept.append(&mut use_of);
    kept
}

#[track_caller]
fn same(what: &str, stock: &[String], ours: &[String]) {
    let known = crashed(stock);
    assert!(known.iter().all(|of| STOCK_CRASHES.contains(of)), "stock crashes: {known:?}");
    let new: Vec<_> = crashed(ours).into_iter().filter(|of| !known.contains(of)).collect();
    assert!(new.is_empty(), "{what} crashes: {new:?}");
    let (stock, ours) = (without(stock, &known), without(ours, &known));
    let differing: Vec<_> = stock.iter().zip(&ours).filter(|(a, b)| a != b).take(8).collect();
    assert!(
        differing.is_empty() && stock.len() == ours.len(),
        "{what}: {} and {}: {differing:#?}",
        stock.len(),
        ours.len()
    );
}

#[test]
fn what_enable_writes_does_no_harm_by_the_engine() {
    let lab = Lab::new();
    let written = enabled(&lab);
    it_comes_to_programs_that_call_low_level_functions_themselves(&lab, &written);
    keys_answer_as_stock(&lab, &written);
    padding_needs_no_generator_of_the_default_context(&lab);
}

/// RSA padding by the engine and by stock agree in a program whose default library context has no generator.
fn padding_needs_no_generator_of_the_default_context(lab: &Lab) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("battery/context.c");
    let program = compile(lab, "context", &source, &[]);
    let asked = lab.write("asked.cnf", adjunct_conf(&lab.module(), "engine = RSA,EC", ""));
    for system in systems() {
        let run = |conf: &Path| {
            let mut command = system.run(&program);
            command.arg(conf).env("OPENSSL_CONF", "/dev/null").envs(lab.environment());
            let out = command.output().expect("it starts");
            assert!(out.status.success(), "{}: {out:?}", system.name);
            String::from_utf8_lossy(&out.stdout).into_owned()
        };
        let stock = run(lab.stock());
        assert!(stock.starts_with("random 0, key 1\n"), "{}: {stock}", system.name);
        assert_eq!(run(&asked), stock, "{}", system.name);
    }
}

/// Compares each configuration as it was written with stock: beside a program for which the engine is registered, with the engine taken out (what a
/// program gets that calls no low-level function), and with the default provider in front (so that OpenSSL's own key objects are the engine's).
fn keys_answer_as_stock(lab: &Lab, written: &[(&str, PathBuf)]) {
    keys(lab);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("battery/battery.c");
    let program = compile(lab, "battery", &source, &[]);
    for system in systems() {
        let stock = battery(lab, &system, &program, Path::new("/dev/null"));
        for (name, path) in written {
            let text = std::fs::read_to_string(path).expect("it was written");
            let line = text.lines().find(|line| line.starts_with("engine = "));
            assert_eq!(line, Some(if *name == "all" { "engine = auto" } else { "engine = RSA,EC" }), "{text}");
            let as_stock = |how: &str, conf: &Path| {
                let before = signatures(lab);
                let ours = battery(lab, &system, &program, conf);
                same(&format!("OpenSSL of {}, enabled for {name}, {how}", system.name), &stock, &ours);
                // We were there, and at work.
                assert!(signatures(lab) > before, "{}, {name}, {how}", system.name);
            };
            as_stock("as written", path);
            if *name == "all" || deep() {
                let changed = |file: &str, from: &str, to: &str| {
                    let other = text.replace(from, to);
                    assert_ne!(other, text);
                    lab.write(file, other)
                };
                as_stock("without the engine", &changed("without.cnf", "engine = ", "no_engine = "));
                let property = "default_properties = ?provider=";
                let default = (format!("{property}adjunct"), format!("{property}default"));
                as_stock("the default provider first", &changed("default.cnf", &default.0, &default.1));
            }
        }
    }
}

/// ECDSA signatures that were made through adjunct.
fn signatures(lab: &Lab) -> u64 {
    lab.counters().get("ECDSA Sign").map_or(0, |(hardware, software)| hardware + software)
}

/// Says whether the engine is registered, and whether the functions of keys are OpenSSL's own.
const WHO: &str = r#"
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/ec.h>
#include <openssl/engine.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <unistd.h>
#ifdef BARE
#define CALLS &RSA_free
#elif defined RSA_ONLY
#define CALLS &RSA_public_decrypt
#elif defined EC_ONLY
#define CALLS &ECDSA_do_verify
#else
void *library(void);
#define CALLS library()
#endif
int main(void) {
    void *volatile called = CALLS;
    /* As sshd does before OpenSSL reads its configuration for the first time. */
    for (int fd = 3; fd < 1000; fd++) close(fd);
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL);
    ENGINE *e = ENGINE_by_id("adjunct");
    ENGINE *rsa = ENGINE_get_default_RSA(), *ec = ENGINE_get_default_EC();
    printf("%s%s%s\n", called == NULL ? "?" : "", e == NULL ? "none" : "registered", rsa || ec ? ", default" : "");
    return 0;
}
"#;

fn it_comes_to_programs_that_call_low_level_functions_themselves(lab: &Lab, written: &[(&str, PathBuf)]) {
    let source = lab.write("who.c", WHO);
    let library = lab.write("library.c", "int RSA_sign(); void *library(void) { return (void *)&RSA_sign; }\n");
    let library = compile(lab, "liblibrary.so", &library, &["-shared", "-fPIC"]);
    let library = library.display().to_string();
    for (name, args, calls) in [
        ("bare", vec!["-DBARE"], false),
        ("library", vec![library.as_str()], false),
        ("rsa", vec!["-DRSA_ONLY"], true),
        ("ec", vec!["-DEC_ONLY"], true),
        ("ec-bound", vec!["-DEC_ONLY", "-fno-plt", "-Wl,-z,now"], true),
        ("ec-fixed", vec!["-DEC_ONLY", "-no-pie"], true),
    ] {
        let program = compile(lab, name, &source, &args);
        for system in systems() {
            for (target, conf) in written {
                let out =
                    system.run(&program).env("OPENSSL_CONF", conf).envs(lab.environment()).output().expect("runs");
                let expected = if calls || *target != "all" { "registered\n" } else { "none\n" };
                let said = String::from_utf8_lossy(&out.stdout);
                assert_eq!(
                    said,
                    expected,
                    "{name}, for {target}, {}: {}",
                    system.name,
                    String::from_utf8_lossy(&out.stderr)
                );
            }
        }
    }
}
