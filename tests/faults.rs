//! Faults of a machine's set-up: a missing or broken module, a bad configuration, an unreadable file. ssh and sshd must still log in, and `openssl`
//! must still compute.

use adjunct_e2e::lab::{Lab, adjunct_conf, stock_conf};
use adjunct_e2e::random;
use adjunct_e2e::sha256;
use adjunct_e2e::skipped;
use adjunct_e2e::ssh::Ssh;
use adjunct_e2e::system::{System, is_root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A module made of a line of C.
fn module(lab: &Lab, name: &str, code: &str) -> PathBuf {
    let source = lab.write(&format!("{name}.c"), code);
    let path = lab.path(&format!("{name}.so"));
    let out = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&path).arg(source).output().expect("cc");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    path
}

/// Configurations with an error, by the kind of error; all of them list the default provider.
fn faults(lab: &Lab) -> Vec<(&'static str, PathBuf)> {
    let refusing =
        module(lab, "refusing", "int OSSL_provider_init(void *a, void *b, void **c, void **d) { return 0; }\n");
    let other = module(lab, "other", "int something_else(void) { return 1; }\n");
    let empty = lab.write("empty.so", "");
    let garbage = lab.write("garbage.so", random(5000));
    let with = |name: &'static str, module: &Path, keys: &str| {
        (name, lab.write(&format!("{}.cnf", name.replace(' ', "-")), adjunct_conf(module, keys, "")))
    };
    vec![
        with("module missing", Path::new("/nonexistent/adjunct.so"), ""),
        with("module is a folder", lab.dir(), ""),
        with("initialisation fails", &refusing, ""),
        with("not a provider", &other, ""),
        with("module empty", &empty, ""),
        with("module garbage", &garbage, ""),
        // A module cut off in the middle kills its loader with SIGBUS in dlopen itself: nothing in it could prevent that.
        with("wrong keyword", &lab.module(), "algorithms = RSA,CYPHERS"),
        with("only wrong keywords", &lab.module(), "algorithms = NOTHING"),
        with("empty keyword", &lab.module(), "algorithms ="),
        with("unknown key", &lab.module(), "colour = blue"),
        ("no such file", lab.path("none.cnf")),
        ("empty file", lab.write("blank.cnf", "")),
        ("section missing", lab.write("section.cnf", format!("{}\nadjunct = nowhere\n", stock_conf("")))),
    ]
}

#[test]
fn ssh_and_sshd_still_log_in() {
    for system in System::all() {
        let lab = Lab::new();
        let ssh = Ssh::new(&system, &system);
        let data = random(300_000);
        for (what, conf) in faults(&lab) {
            // A broken server with a sound client, and the reverse.
            let sshd = ssh.serve(&lab, &conf, &[]);
            ssh.echo(&lab, lab.stock(), &sshd, &[], &data);
            drop(sshd);
            let sshd = ssh.serve(&lab, lab.stock(), &[]);
            let log = ssh.echo(&lab, &conf, &sshd, &[], &data);
            let loud = log.lines().filter(|l| l.starts_with("adjunct:")).count();
            assert!(loud <= 1, "{what}: more than one line: {log}");
        }
    }
}

#[test]
fn openssl_still_computes() {
    for system in System::all() {
        let lab = Lab::new();
        let data = random(10_000);
        let hash = sha256(&lab, &data);
        for (what, conf) in faults(&lab) {
            let out = lab.try_openssl(&system, &conf, &["dgst", "-sha256", "-r"], &data);
            let said = String::from_utf8_lossy(&out.stderr);
            // The command itself, unlike ssh, insists on a file and sections that exist.
            if what != "no such file" && what != "section missing" {
                assert!(out.status.success(), "{} {what}: {said}", system.name);
            }
            if out.status.success() {
                assert!(String::from_utf8_lossy(&out.stdout).starts_with(&hash), "{what}");
            }
            assert!(!said.contains("panicked"), "{what}: {said}");
            let loud = said.lines().filter(|l| l.starts_with("adjunct:")).count();
            let wrong = what.contains("wrong keyword");
            assert_eq!(loud, usize::from(wrong), "{what}: one line for a wrong keyword, none else: {said}");
        }
    }
}

/// A wrong keyword costs that keyword only.
#[test]
fn the_right_keywords_beside_a_wrong_one_work() {
    let lab = Lab::new();
    let here = System::here();
    let conf = lab.write("some.cnf", adjunct_conf(&lab.module(), "algorithms = DIGESTS,CYPHERS", ""));
    lab.openssl(&here, &conf, &["dgst", "-sha256"], b"x");
    let (key, iv) = ("00".repeat(16), "00".repeat(16));
    lab.openssl(&here, &conf, &["enc", "-aes-128-cbc", "-K", &key, "-iv", &iv], b"x");
    let counters = lab.counters();
    assert!(counters.contains_key("SHA-256") && !counters.contains_key("AES CBC"), "{counters:?}");
}

#[test]
fn without_the_right_to_read_the_default_provider_serves() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        skipped("only root can become another user");
        return;
    }
    let lab = Lab::new();
    let data = random(10_000);
    let hash = sha256(&lab, &data);
    let input = lab.write("input", &data);
    let secret = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("chmod");
    let run = |conf: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "openssl", "dgst", "-sha256", "-r"]);
        command.arg(&input).env("OPENSSL_CONF", conf).envs(lab.environment()).stdin(Stdio::null());
        let out = command.output().expect("setpriv");
        String::from_utf8_lossy(&out.stdout).starts_with(&hash)
    };
    assert!(run(lab.adjunct()), "readable");
    assert!(lab.counters().contains_key("SHA-256"), "nobody's digest is counted, and root sees it");
    let before = lab.counters();
    secret(&lab.module());
    assert!(run(lab.adjunct()), "a module that may not be read");
    assert_eq!(lab.counters(), before, "it was not used");
}

/// The default provider not listed: OpenSSL is then without most of its own, but adjunct must not make it worse.
#[test]
fn a_configuration_without_the_default_provider_fails_cleanly() {
    let lab = Lab::new();
    let text = adjunct_conf(&lab.module(), "", "").replace("default = default_sect\n", "");
    let conf = lab.write("alone.cnf", text);
    let out = lab.try_openssl(&System::here(), &conf, &["dgst", "-sha256"], b"x");
    assert!(out.status.code().is_some(), "killed by a signal: {}", out.status);
    assert!(!String::from_utf8_lossy(&out.stderr).contains("panicked"));
}
