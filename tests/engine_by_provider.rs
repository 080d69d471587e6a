//! The engine that the provider registers (`engine = RSA,EC` in its own section of openssl.cnf): there for what calls
//! low-level functions, and never a reason for a program not to start.

use adjunct_e2e::lab::{Lab, adjunct_conf};
use adjunct_e2e::random;
use adjunct_e2e::skipped;
use adjunct_e2e::ssh::Ssh;
use adjunct_e2e::system::{System, is_root, target};
use std::path::PathBuf;

/// A configuration that tells every error, as Debian's does; `keys` are of the module's section.
fn conf(lab: &Lab, name: &str, keys: &str, more: &str) -> PathBuf {
    lab.write(name, format!("config_diagnostics = 1\n{}", adjunct_conf(&lab.module(), keys, more)))
}

/// What `openssl engine -c` lists of adjunct's; `None` where this OpenSSL has no engines.
fn listed(lab: &Lab, system: &System, conf: &std::path::Path) -> Option<String> {
    let out = lab.try_openssl(system, conf, &["engine", "-c"], b"");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("engine") && !said.contains("FATAL"), "{}: {said}", system.name);
        return None;
    }
    let at = text.find("(adjunct)").unwrap_or(text.len());
    Some(text[at..].to_owned())
}

#[test]
fn it_is_listed_with_its_algorithms() {
    for system in System::all() {
        let lab = Lab::new();
        let with = conf(&lab, "with.cnf", "engine = RSA,EC", "");
        if let Some(text) = listed(&lab, &system, &with) {
            // OpenSSL 3.0 does not list EC.
            assert!(text.contains("[RSA"), "{}: {text}", system.name);
            assert_eq!(listed(&lab, &system, lab.adjunct()).as_deref(), Some(""), "{}: unasked", system.name);
        }
        // A configuration loaded twice: an engine's own section is an error then.
        let out = lab.try_openssl(&system, &with, &["ca", "-config", with.to_str().expect("a path")], b"");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(said.contains("default_ca") && !said.contains("Error configuring"), "{}: {said}", system.name);
    }
}

/// Unknown words, no words at all, and an engine of the same name configured beside it in the classic way keep no program from starting.
#[test]
fn nothing_in_it_keeps_a_program_from_starting() {
    for system in System::all() {
        let lab = Lab::new();
        let engine = target().join("libadjunct_engine.so");
        std::fs::copy(&engine, lab.path("engine.so")).unwrap_or_else(|e| panic!("{}: {e}", engine.display()));
        let section = format!(
            "engines = e\n[e]\nadjunct = x\n[x]\nengine_id = adjunct\ndynamic_path = {}\ndefault_algorithms = RSA,EC\n",
            lab.path("engine.so").display()
        );
        let by_hand = format!("openssl_conf = openssl_init\n[openssl_init]\n{section}");
        let own = adjunct_conf(&lab.module(), "engine = RSA,EC", "");
        let mut cases = vec![
            ("word", conf(&lab, "word.cnf", "engine = RSA,NONSENSE", "")),
            ("empty", conf(&lab, "empty.cnf", "engine =", "")),
            ("all", conf(&lab, "all.cnf", "engine = ALL", "")),
        ];
        if listed(&lab, &system, lab.adjunct()).is_some() {
            cases.push((
                "by hand",
                lab.write("by-hand.cnf", format!("config_diagnostics = 1\n{by_hand}[default]\n{own}")),
            ));
        }
        for (what, conf) in cases {
            let out = lab.try_openssl(&system, &conf, &["dgst", "-sha256", "-r"], b"abc");
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.stdout.starts_with(b"ba7816bf"), "{} {what}: {said}", system.name);
            assert_eq!(said.contains("'NONSENSE'"), what == "word", "{} {what}: {said}", system.name);
            if let Some(text) = listed(&lab, &system, &conf) {
                assert_eq!(text.contains("(adjunct)"), what != "empty", "{} {what}: {text}", system.name);
            }
        }
    }
}

/// OpenSSH's ECDH bypasses every provider (up to 10.5): key agreement, login and data with what the provider registered.
#[test]
fn ssh_agrees_on_keys_through_it() {
    for system in System::all() {
        if system.name != "here" && !is_root() {
            continue;
        }
        let lab = Lab::new();
        let conf = conf(&lab, "with.cnf", "engine = RSA,EC", "");
        let ssh = Ssh::new(&system, &system);
        let options = ["KexAlgorithms ecdh-sha2-nistp256,ecdh-sha2-nistp384".to_owned()];
        let server = ssh.serve(&lab, &conf, &options);
        let before = lab.counters();
        ssh.echo(&lab, &conf, &server, &options, &random(200_000));
        server.stop().expect("sshd ends");
        let after = lab.counters();
        let calls = |c: &adjunct_e2e::lab::Counters| c.get("ECDH").map_or(0, |(hw, sw)| hw + sw);
        assert!(calls(&after) >= calls(&before) + 2, "{}: ECDH on both sides: {after:?}", system.name);
    }
}

/// A configuration of a program's own, as `adjunct openssl enable --for sshd` writes it, does not prevent logins when the files it refers to are
/// removed, one after the other: real logins go on, on every OpenSSL, though the system's file wants every error told.
#[test]
fn an_own_configuration_locks_nobody_out() {
    use adjunct_openssl_conf::{Includes, Options, enable, include};
    struct Disk;
    impl Includes for Disk {
        fn read(&self, path: &std::path::Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
            std::fs::read(path).map(|text| vec![(path.to_owned(), text)]).map_err(|e| e.to_string())
        }
    }
    for system in System::all() {
        if system.name != "here" && !is_root() {
            continue;
        }
        let lab = Lab::new();
        let stock = lab.write("system.cnf", "config_diagnostics = 1\nopenssl_conf = init\n[init]\n");
        let options = Options::new(lab.module().to_str().expect("a path"), None).with_engine(Some("RSA,EC"));
        let base = format!("{}\n", include(stock.to_str().expect("a path")));
        let own = lab.write("own.cnf", enable(base.as_bytes(), &options, &Disk).expect("enabled"));
        let ssh = Ssh::new(&system, &system);
        let logs_in = |what: &str| {
            let server = ssh.serve(&lab, &own, &[]);
            ssh.echo(&lab, &own, &server, &[], &random(50_000));
            server.stop().unwrap_or_else(|e| panic!("{} {what}: {e}", system.name));
        };
        let before = lab.counters();
        logs_in("whole");
        assert_ne!(before, lab.counters(), "{}: counted", system.name);
        std::fs::remove_file(lab.module()).expect("removed");
        logs_in("no module");
        std::fs::remove_file(&stock).expect("removed");
        logs_in("no configuration of the system's");
        std::fs::remove_file(&own).expect("removed");
        logs_in("no configuration of its own");
    }
}

/// A program that loads libcrypto itself, signs with low-level calls, forks, loads the configuration a second time into a
/// context of its own, cleans up and unloads.
const HOST: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *crypto;
static void *function(const char *name) { void *f = dlsym(crypto, name); if (!f) _exit(77); return f; }
static int sign(void) {
    void *(*new_key)(int) = function("EC_KEY_new_by_curve_name");
    int (*generate)(void *) = function("EC_KEY_generate_key");
    int (*make)(int, const unsigned char *, int, unsigned char *, unsigned *, void *) = function("ECDSA_sign");
    int (*check)(int, const unsigned char *, int, const unsigned char *, int, void *) = function("ECDSA_verify");
    void (*drop)(void *) = function("EC_KEY_free");
    unsigned char digest[32] = {1}, signature[200];
    unsigned length = 0;
    void *key = new_key(415);
    int good = key && generate(key) == 1 && make(0, digest, 32, signature, &length, key) == 1
        && check(0, digest, 32, signature, (int)length, key) == 1;
    drop(key);
    return good;
}
int main(int n, char **names) {
    crypto = dlopen(names[1], RTLD_NOW | RTLD_LOCAL);
    if (!crypto) return 77;
    if (((int (*)(uint64_t, void *))function("OPENSSL_init_crypto"))(0x40, 0) != 1 || !sign()) return 1;
    pid_t child = fork();
    if (child == 0) exit(sign() ? 0 : 2);
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0 || !sign()) return 3;
    void *context = ((void *(*)(void))function("OSSL_LIB_CTX_new"))();
    if (((int (*)(void *, const char *))function("OSSL_LIB_CTX_load_config"))(context, getenv("OPENSSL_CONF")) != 1) return 4;
    if (!sign()) return 5;
    ((void (*)(void *))function("OSSL_LIB_CTX_free"))(context);
    if (!sign()) return 6;
    ((void (*)(void))function("OPENSSL_cleanup"))();
    dlclose(crypto);
    return 0;
}
"#;

#[test]
fn it_survives_fork_contexts_and_unloading() {
    let lab = Lab::new();
    let conf = conf(&lab, "with.cnf", "engine = RSA,EC", "");
    let (source, program) = (lab.write("host.c", HOST), lab.path("host"));
    let built = std::process::Command::new("cc").arg("-o").arg(&program).arg(source).arg("-ldl").output().expect("cc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let before = lab.counters();
    let mut command = std::process::Command::new(&program);
    let out = command.arg("libcrypto.so.3").env("OPENSSL_CONF", &conf).envs(lab.environment()).output().expect("runs");
    if out.status.code() == Some(77) {
        return skipped("no libcrypto.so.3 here");
    }
    assert!(out.status.success(), "{}: {}", out.status, String::from_utf8_lossy(&out.stderr));
    let signed = |c: &adjunct_e2e::lab::Counters| c.get("ECDSA Sign").map_or(0, |(hw, sw)| hw + sw);
    assert_eq!(signed(&lab.counters()) - signed(&before), 5, "each of the five signatures");
}
