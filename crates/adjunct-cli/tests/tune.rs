//! `adjunct ssh tune`, against copies of a configuration: the machine's own /etc/ssh is read by nothing here.

mod script;
mod tune_figures;

use script::script;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tune_figures::figures_sure_to;

const INCLUDE_SSH: &str = "Include /etc/ssh/ssh_config.d/*.conf\nHost *\n    SendEnv LANG LC_*\n";
const INCLUDE_SSHD: &str = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nSubsystem sftp internal-sftp\n";

fn figures() -> Value {
    figures_sure_to(0.01)
}

/// A system's /etc below a folder, and a folder for temporary files.
struct Etc {
    root: tempfile::TempDir,
    tmp: tempfile::TempDir,
}

impl Etc {
    /// Makes an /etc as Debian has it; `None` where there is no sshd to run.
    fn new() -> Option<Etc> {
        let there = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].iter().any(|p| Path::new(p).exists());
        if !there {
            eprintln!("SKIPPED: no sshd");
            return None;
        }
        // A name that could be taken for options, as a random one may be.
        let tmp = tempfile::Builder::new().prefix("tmp-t-i-").tempdir().unwrap();
        let etc = Etc { root: tempfile::tempdir().unwrap(), tmp };
        etc.write("etc/ssh/ssh_config", INCLUDE_SSH);
        etc.write("etc/ssh/sshd_config", INCLUDE_SSHD);
        fs::create_dir(etc.path("etc/ssh/ssh_config.d")).unwrap();
        fs::create_dir(etc.path("etc/ssh/sshd_config.d")).unwrap();
        etc.write("tune.json", &figures().to_string());
        Some(etc)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Every file and folder below /etc with its content and mode.
    fn all(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        fn walk(dir: &Path, all: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let mode = fs::metadata(&path).unwrap().permissions().mode();
                all.insert(path.clone(), (mode, fs::read(&path).unwrap_or_default()));
                if path.is_dir() {
                    walk(&path, all);
                }
            }
        }
        let mut all = BTreeMap::new();
        walk(&self.path("etc"), &mut all);
        all
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
        command.args(["ssh", "tune", "--root"]).arg(self.root.path()).args(words);
        command.env("TMPDIR", self.tmp.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs `ssh tune` with the made-up figures.
    fn tune(&self, words: &[&str]) -> Output {
        let from = self.path("tune.json");
        let mut all = vec!["--from", from.to_str().unwrap()];
        all.extend(words);
        self.run(&all)
    }

    fn json(&self, words: &[&str]) -> Value {
        let mut all = words.to_vec();
        all.push("--json");
        let out = self.tune(&all);
        assert!(out.status.success(), "{}", err(&out));
        serde_json::from_slice(&out.stdout).unwrap()
    }

    /// Checks that a command fails with one line that has `parts`, and changes nothing.
    fn refuses(&self, words: &[&str], status: i32, parts: &[&str]) {
        let before = self.all();
        let out = self.tune(words);
        self.refused(&out, status, parts);
        assert_eq!(self.all(), before, "{words:?} changed something");
    }

    fn refused(&self, out: &Output, status: i32, parts: &[&str]) {
        let line = err(out);
        assert_eq!(out.status.code(), Some(status), "{line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{line}");
        for part in parts {
            assert!(line.contains(part), "'{part}' is not in: {line}");
        }
        assert_eq!(fs::read_dir(self.tmp.path()).unwrap().count(), 0, "temporary files are left");
    }
}

fn err(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn text(out: &Output) -> String {
    assert!(out.status.success(), "{}", err(out));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn list(text: &str, keyword: &str) -> Vec<String> {
    let line = text.lines().find_map(|l| l.strip_prefix(keyword)).unwrap_or_default();
    line.trim().split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect()
}

const SSH: &str = "etc/ssh/ssh_config.d/10-adjunct.conf";
const SSHD: &str = "etc/ssh/sshd_config.d/10-adjunct.conf";

#[test]
fn applied_tried_and_undone_byte_for_byte() {
    let Some(etc) = Etc::new() else { return };
    let before = etc.all();
    let shown = text(&etc.tune(&[]));
    assert_eq!(etc.all(), before, "showing changes nothing");
    assert!(shown.contains("+Ciphers aes128-gcm@openssh.com,aes256-gcm@openssh.com,"), "{shown}");
    let told = text(&etc.tune(&["--apply", "--policy", "modern"]));
    assert_eq!(told.matches("ok: a login works").count(), 3, "{told}");
    assert!(told.contains("copying 1 GB: 1.1 s and 1.0 CPU s instead of 2.2 s and 2.0"), "{told}");
    for file in [SSH, SSHD] {
        let text = etc.read(file);
        let ciphers = list(&text, "Ciphers");
        assert_eq!(ciphers[..2], ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com"], "{text}");
        assert_eq!(list(&text, "MACs")[0], "hmac-sha2-256-etm@openssh.com");
        // Not in the comments: the file's seal is a number in hexadecimal, and "cbc" are digits.
        let mut settings = text.lines().filter(|line| !line.starts_with('#'));
        assert!(settings.all(|line| !["cbc", "sha1", "md5"].iter().any(|old| line.contains(old))), "{text}");
        let kex = list(&text, "KexAlgorithms");
        let quantum = |n: &String| n.contains("sntrup") || n.contains("mlkem");
        let first = kex.iter().position(|n| !quantum(n)).unwrap();
        assert!(kex[first..].iter().all(|n| !quantum(n)) && kex[first] == "ecdh-sha2-nistp256", "{kex:?}");
        assert_eq!(fs::metadata(etc.path(file)).unwrap().permissions().mode() & 0o7777, 0o644);
    }
    assert!(!etc.read(SSH).contains("HostKeyAlgorithms"), "a list would make known hosts strangers");
    let again = text(&etc.tune(&["--apply", "--policy", "modern"]));
    assert!(again.contains("nothing has to be changed"), "{again}");
    // Without a policy the files go on by the one that they were written by.
    let again = text(&etc.tune(&["--apply"]));
    assert!(again.contains("nothing has to be changed"), "{again}");
    let other = text(&etc.tune(&["--apply", "--policy", "compat"]));
    assert!(other.contains("+MACs ") && list(&etc.read(SSHD), "MACs").iter().any(|m| m == "hmac-sha2-256"), "{other}");
    let gone = text(&etc.run(&["--undo"]));
    assert!(gone.contains("/etc/ssh/ssh_config.d/10-adjunct.conf is gone"), "{gone}");
    assert_eq!(etc.all(), before);
    assert!(text(&etc.run(&["--undo"])).contains("no file of adjunct's"));
}

#[test]
fn one_program_only() {
    let Some(etc) = Etc::new() else { return };
    text(&etc.tune(&["--apply", "--for", "ssh"]));
    assert!(etc.path(SSH).exists() && !etc.path(SSHD).exists());
    text(&etc.tune(&["--apply", "--for", "sshd"]));
    assert!(!etc.path(SSHD).exists(), "its order brings nothing");
    text(&etc.run(&["--undo", "--for", "sshd"]));
    assert!(etc.path(SSH).exists());
    text(&etc.run(&["--undo", "--for", "ssh"]));
    assert!(!etc.path(SSH).exists());
}

#[test]
fn policies() {
    let Some(etc) = Etc::new() else { return };
    let then = |words: &[&str], kind: &str| -> Vec<String> {
        let all = etc.json(words);
        let names = all["plans"][1]["then_in_force"][kind].as_array().unwrap().clone();
        names.iter().map(|n| n.as_str().unwrap().to_owned()).collect()
    };
    let fips = then(&["--policy", "fips"], "Ciphers");
    assert!(fips.iter().all(|c| c.starts_with("aes")) && fips.len() >= 4, "{fips:?}");
    let kex = then(&["--policy", "fips"], "KexAlgorithms");
    assert!(kex.iter().all(|k| !k.contains("25519")) && kex[0] == "ecdh-sha2-nistp256", "{kex:?}");
    let compat = then(&["--policy", "compat"], "MACs");
    assert_eq!(compat[0], "hmac-sha2-256-etm@openssh.com");
    assert!(compat.contains(&"hmac-sha2-256".to_owned()), "{compat:?}");
    etc.write("my.toml", "base = 'modern'\n[ciphers]\nfirst = ['aes256-*']\ndeny = ['*ctr']\n");
    let file = etc.path("my.toml");
    let own = then(&["--policy", file.to_str().unwrap()], "Ciphers");
    assert_eq!(own, ["aes256-gcm@openssh.com", "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"]);
}

#[test]
fn a_policy_that_cannot_be_is_refused() {
    let Some(etc) = Etc::new() else { return };
    etc.write("none.toml", "[ciphers]\nallow = ['blowfish-*']\n");
    etc.write("bad.toml", "base = 'modern'\n\n[cipher]\n");
    let file = |name: &str| etc.path(name).to_str().unwrap().to_owned();
    etc.refuses(&["--apply", "--policy", &file("none.toml")], 1, &["leaves no cipher", "OpenSSH's default"]);
    etc.refuses(&["--policy", &file("bad.toml")], 2, &["bad.toml:3:", "cipher"]);
    etc.refuses(&["--policy", "modren"], 2, &["modren", "compat, modern, strict, fips"]);
    etc.write("etc/ssh/sshd_config.d/05-old.conf", "Ciphers aes128-cbc\n");
    let said = ["strict leaves no cipher for sshd", "05-old.conf:1", "aes128-cbc"];
    etc.refuses(&["--apply", "--policy", "strict"], 1, &said);
}

#[test]
fn what_is_set_already_decides() {
    let Some(etc) = Etc::new() else { return };
    // Read before adjunct's file: it wins. Read after it: adjunct's wins, and lists no more.
    etc.write("etc/ssh/sshd_config.d/05-site.conf", "Ciphers aes256-ctr,aes128-ctr\n");
    etc.write("etc/ssh/sshd_config.d/50-site.conf", "KexAlgorithms curve25519-sha256,ecdh-sha2-nistp256\n");
    etc.write(
        "etc/ssh/ssh_config",
        "Include /etc/ssh/ssh_config.d/*.conf\nHost old\n  MACs +hmac-sha1\nHost *\n  ForwardX11 no\n",
    );
    let shown = text(&etc.tune(&["--apply", "--policy", "modern"]));
    assert!(shown.contains("/etc/ssh/sshd_config.d/05-site.conf:1 is read before"), "{shown}");
    assert!(shown.contains("goes before /etc/ssh/sshd_config.d/50-site.conf:1"), "{shown}");
    assert!(shown.contains("/etc/ssh/ssh_config:3 sets it below 'Host old'"), "{shown}");
    let (ssh, sshd) = (etc.read(SSH), etc.read(SSHD));
    assert!(!sshd.contains("\nCiphers") && !ssh.contains("\nMACs"), "{ssh}{sshd}");
    assert_eq!(list(&sshd, "KexAlgorithms"), ["ecdh-sha2-nistp256", "curve25519-sha256"]);
    assert_eq!(list(&ssh, "Ciphers")[0], "aes128-gcm@openssh.com");
}

#[test]
fn match_blocks_stay_and_a_missing_include_is_told() {
    let Some(etc) = Etc::new() else { return };
    let config = format!("{INCLUDE_SSHD}Match User nobody\n  PasswordAuthentication no\n  PubkeyAuthentication no\n");
    etc.write("etc/ssh/sshd_config", &config);
    text(&etc.tune(&["--apply", "--policy", "modern"]));
    assert_eq!(etc.read("etc/ssh/sshd_config"), config);
    text(&etc.run(&["--undo"]));
    etc.write("etc/ssh/sshd_config", "UsePAM yes\n");
    etc.refuses(
        &["--apply", "--policy", "modern"],
        1,
        &["does not read /etc/ssh/sshd_config.d", "Include /etc/ssh/sshd_config.d/*.conf"],
    );
    assert!(text(&etc.tune(&["--policy", "modern"])).contains("does not read /etc/ssh/sshd_config.d"));
    etc.write("etc/ssh/sshd_config", "Match User bob\n  Include /etc/ssh/sshd_config.d/*.conf\n");
    etc.refuses(&["--apply", "--policy", "modern"], 1, &["only below 'Match User bob'"]);
}

#[test]
fn crypto_policies_are_kept_to() {
    let Some(etc) = Etc::new() else { return };
    let lists = "Ciphers aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr\nMACs hmac-sha2-512-etm@openssh.com,\
                 hmac-sha2-256-etm@openssh.com,hmac-sha1\nKexAlgorithms curve25519-sha256,ecdh-sha2-nistp256\n";
    etc.write("etc/crypto-policies/config", "# which\nFUTURE\n");
    etc.write("etc/crypto-policies/back-ends/openssh.config", lists);
    etc.write("etc/crypto-policies/back-ends/opensshserver.config", lists);
    let include = |name: &str| format!("Include /etc/crypto-policies/back-ends/{name}.config\n");
    etc.write("etc/ssh/ssh_config.d/50-redhat.conf", &format!("Match final all\n{}", include("openssh")));
    etc.write("etc/ssh/sshd_config.d/50-redhat.conf", &include("opensshserver"));
    let shown = text(&etc.tune(&["--apply", "--policy", "modern"]));
    assert!(shown.contains("crypto-policies FUTURE"), "{shown}");
    for file in [SSH, SSHD] {
        let text = etc.read(file);
        let ciphers = ["aes256-gcm@openssh.com", "aes256-ctr", "chacha20-poly1305@openssh.com"];
        assert_eq!(list(&text, "Ciphers"), ciphers, "{text}");
        // For curl with libssh2 1.10 and others that have neither: the policy of the machine lets it be.
        let mut macs = vec!["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com"];
        macs.extend((file == SSHD).then_some("hmac-sha1"));
        assert!(list(&text, "MACs").starts_with(&macs.iter().map(|m| (*m).to_owned()).collect::<Vec<_>>()), "{text}");
    }
    // RHEL 8 has sshd's on its command line.
    text(&etc.run(&["--undo"]));
    etc.write("etc/ssh/sshd_config.d/50-redhat.conf", "");
    etc.write(
        "etc/crypto-policies/back-ends/opensshserver.config",
        "CRYPTO_POLICY='-oCiphers=aes256-ctr,aes128-ctr'\n",
    );
    let shown = text(&etc.tune(&["--apply", "--policy", "modern"]));
    assert!(shown.contains("opensshserver.config sets it on sshd's command line"), "{shown}");
    assert!(!etc.read(SSHD).contains("\nCiphers"));
}

#[test]
fn what_openssh_refuses_is_told_and_nothing_is_changed() {
    let Some(etc) = Etc::new() else { return };
    etc.write("etc/ssh/sshd_config.d/90-bad.conf", "\nCiphers rot13\n");
    etc.refuses(
        &["--apply", "--policy", "modern"],
        1,
        &["sshd refuses its configuration", "/etc/ssh/sshd_config.d/90-bad.conf", "2"],
    );
    fs::remove_file(etc.path("etc/ssh/sshd_config.d/90-bad.conf")).unwrap();
    etc.write("etc/ssh/ssh_config", "Include ssh_config.d/*.conf\nHoost x\n");
    etc.refuses(&["--apply", "--policy", "modern"], 1, &["ssh refuses its configuration", "/etc/ssh/ssh_config"]);
    etc.write("etc/ssh/ssh_config", INCLUDE_SSH);
    // An sshd that takes adjunct's file for wrong, and one whose logins fail.
    let real = if Path::new("/usr/sbin/sshd").exists() { "/usr/sbin/sshd" } else { "/usr/local/sbin/sshd" };
    for (name, condition, said) in [
        (
            "refuses",
            "case $1:$f in -t:*/stage/*) grep -q 'Written by' \"${f%/*}\"/* && { echo \"$f line 4: no\" >&2; exit 255; };; esac",
            "sshd -t refuses",
        ),
        ("hangs_up", "case $1 in -i) grep -q aes128-gcm \"$f\" && exit 1;; esac", "no login"),
    ] {
        let program = etc.path(name);
        script(&program, &format!("#!/bin/sh\nfor f; do :; done\n{condition}\nexec {real} \"$@\"\n"));
        etc.refuses(&["--apply", "--policy", "modern", "--sshd", program.to_str().unwrap()], 1, &[said]);
    }
    etc.refuses(&["--sshd", "/nonexistent/sshd"], 1, &["/nonexistent/sshd"]);
}

#[test]
fn files_of_others_are_left_alone() {
    let Some(etc) = Etc::new() else { return };
    etc.write(SSHD, "# mine\n");
    etc.refuses(&["--apply", "--policy", "modern"], 1, &["10-adjunct.conf", "not written by adjunct"]);
    etc.refused(&etc.run(&["--undo"]), 1, &["not written by adjunct"]);
    fs::remove_file(etc.path(SSHD)).unwrap();
    text(&etc.tune(&["--apply", "--policy", "modern"]));
    let changed = etc.read(SSHD) + "PermitRootLogin no\n";
    etc.write(SSHD, &changed);
    etc.refuses(&["--apply", "--policy", "compat"], 1, &["changed since adjunct wrote it"]);
    etc.refused(&etc.run(&["--undo"]), 1, &["changed since adjunct wrote it"]);
    assert_eq!(etc.read(SSHD), changed);
    assert!(etc.path(SSH).exists(), "all or none");
}

#[test]
fn words_that_make_no_sense() {
    let Some(etc) = Etc::new() else { return };
    for words in
        [&["--reload"][..], &["--undo", "--apply"], &["--for", "scp"], &["--time", "1"], &["--quick", "--from", "x"]]
    {
        let out = etc.run(words);
        assert_eq!(out.status.code(), Some(2), "{words:?}: {}", err(&out));
    }
    etc.write("other.json", "{\"survey\": 1}");
    for (file, part) in [("other.json", "no report"), ("missing.json", "No such file")] {
        let from = etc.path(file);
        etc.refused(&etc.run(&["--from", from.to_str().unwrap()]), 1, &[file, part]);
    }
}

/// Runs `script` with the root as `$1` and the command after it, in a mount namespace; `None` where that is not allowed.
fn in_namespace(etc: &Etc, script: &str, words: &[&str]) -> Option<Output> {
    let allowed = Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|s| s.success()) {
        eprintln!("SKIPPED: no mount namespace");
        return None;
    }
    let tune = etc.command(words);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{script}; root=$1; shift; exec \"$@\""), "sh"]).arg(etc.root.path());
    command.arg(tune.get_program()).args(tune.get_args()).env("TMPDIR", etc.tmp.path()).stdin(Stdio::null());
    Some(command.output().unwrap())
}

#[test]
fn a_folder_that_cannot_be_written_is_told_at_once() {
    let Some(etc) = Etc::new() else { return };
    let from = etc.path("tune.json").to_str().unwrap().to_owned();
    let words = ["--from", &from, "--apply", "--policy", "modern"];
    let before = etc.all();
    let read_only = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\"";
    if let Some(out) = in_namespace(&etc, read_only, &words) {
        etc.refused(&out, 1, &["ssh_config.d", "Read-only file system"]);
    }
    let full = "mount -t tmpfs -o size=4k full \"$1/etc/ssh/sshd_config.d\" && \
                dd if=/dev/zero of=\"$1/etc/ssh/sshd_config.d/fill\" bs=4k count=9 2>/dev/null";
    if let Some(out) = in_namespace(&etc, full, &words) {
        etc.refused(&out, 1, &["sshd_config.d", "the disk is full", "nothing was changed"]);
    }
    assert_eq!(etc.all(), before);
}

/// The made-up figures, with every copy costing the same.
fn all_alike(etc: &Etc) -> PathBuf {
    let mut all = figures();
    for pair in all["survey"]["pairs"].as_array_mut().unwrap() {
        pair["cpu_s_per_gb"]["median"] = json!(1.0);
    }
    etc.write("alike.json", &all.to_string());
    etc.path("alike.json")
}

fn names(value: &Value, key: &str) -> Vec<String> {
    value.as_array().unwrap().iter().map(|peer| peer[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_a_policy_only_ssh_s_order_changes_and_nobody_is_refused() {
    let Some(etc) = Etc::new() else { return };
    let all = etc.json(&[]);
    for plan in all["plans"].as_array().unwrap() {
        assert_eq!(plan["peers"]["refused"], json!([]), "{plan}");
        for (kind, then) in plan["then_in_force"].as_object().unwrap() {
            let sorted = |list: &Value| {
                let mut names: Vec<String> = serde_json::from_value(list.clone()).unwrap();
                names.sort();
                names
            };
            assert_eq!(sorted(then), sorted(&plan["in_force"][kind]), "{kind} has lost or got something");
        }
    }
    let told = text(&etc.tune(&["--apply"]));
    assert!(told.contains("the client's order decides, not sshd's"), "{told}");
    assert!(told.contains("the order of ciphers brings: 1.1 s and 1.0 CPU s instead of 2.2 s and 2.0 CPU s"), "{told}");
    assert!(!etc.path(SSHD).exists());
    assert_eq!(list(&etc.read(SSH), "Ciphers")[0], "aes128-gcm@openssh.com");
}

#[test]
fn no_clear_difference_changes_nothing() {
    let Some(etc) = Etc::new() else { return };
    let before = etc.all();
    let from = all_alike(&etc);
    let from = from.to_str().unwrap();
    let told = text(&etc.run(&["--from", from, "--apply"]));
    assert!(told.contains("no clear difference") && told.contains("nothing has to be changed"), "{told}");
    assert_eq!(etc.all(), before);
    // An administrator's own lists are not written anew either, where theirs is as good.
    etc.write(
        "etc/ssh/ssh_config.d/50-site.conf",
        "Ciphers aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes128-ctr\n",
    );
    let before = etc.all();
    text(&etc.run(&["--from", from, "--apply"]));
    assert_eq!(etc.all(), before);
    // Who asks for a policy gets its files.
    text(&etc.run(&["--from", from, "--apply", "--policy", "modern"]));
    assert!(etc.path(SSH).exists() && etc.path(SSHD).exists());
}

/// The figures of a busy machine, which tell nothing: the order stays, with the reason and what to do; a policy writes an order all the same.
#[test]
fn figures_that_tell_nothing_leave_the_order_and_say_why() {
    let Some(etc) = Etc::new() else { return };
    let before = etc.all();
    let mut busy = figures_sure_to(0.83);
    let fewer = json!([{"what": "copies", "times": 1, "usual": 2}]);
    busy["survey"]["fewer"] = fewer;
    etc.write("busy.json", &busy.to_string());
    let from = etc.path("busy.json");
    let from = from.to_str().unwrap();
    let told = text(&etc.run(&["--from", from, "--apply"]));
    for part in [
        "the order of ssh's ciphers stays, chacha20-poly1305@openssh.com first: whether aes128-gcm@openssh.com is faster could not be told",
        "the figures vary by 83 %",
        "(copies once in place of 2 times)",
        "sudo adjunct ssh tune --quick --time 180 --apply",
        "sudo adjunct setup --policy compat",
        "nothing has to be changed",
    ] {
        assert!(told.contains(part), "'{part}' is not in: {told}");
    }
    assert_eq!(etc.all(), before);
    let json = |words: &[&str]| -> Value {
        let out = etc.run(&[&["--from", from, "--json"], words].concat());
        serde_json::from_slice(&out.stdout).unwrap()
    };
    let left = json!({"why": "unclear", "first": "chacha20-poly1305@openssh.com", "instead": "aes128-gcm@openssh.com", "varies": 83.0});
    assert_eq!(json(&[])["left"], left);
    // A clear gain, and a policy, leave nothing.
    assert!(etc.json(&[])["left"].is_null() && json(&["--policy", "compat"])["left"].is_null());
    text(&etc.run(&["--from", from, "--apply", "--policy", "compat"]));
    if adjunct::cpu::features().has(adjunct::catalogue::Feature::Aes) {
        assert_eq!(list(&etc.read(SSH), "Ciphers")[0], "aes128-gcm@openssh.com");
    }
    text(&etc.run(&["--undo"]));
    // Figures that are sure, and alike, are another reason.
    let alike = all_alike(&etc);
    let out = etc.run(&["--from", alike.to_str().unwrap(), "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&out.stdout).unwrap()["left"]["why"], "same");
}

#[test]
fn a_policy_says_whom_it_refuses_before_it_writes() {
    let Some(etc) = Etc::new() else { return };
    let of_sshd = |policy: &str| etc.json(&["--policy", policy])["plans"][1]["peers"].clone();
    let modern = of_sshd("modern");
    assert_eq!(modern["refused"], json!([]), "modern keeps those that are known");
    let shown = text(&etc.tune(&["--policy", "strict"]));
    let strict = names(&of_sshd("strict")["refused"], "name");
    assert!(strict.contains(&"libssh2 1.10".to_owned()), "{strict:?}");
    assert!(shown.contains("policy strict REFUSES") && shown.contains("libssh2 1.10 (curl of Debian 12"), "{shown}");
    let kept = &modern["kept"][0];
    assert_eq!((kept["list"].as_str(), kept["algorithm"].as_str()), (Some("MACs"), Some("hmac-sha2-256")), "{modern}");
    // A program that fails after the warning, and before anything is written: an sshd whose logins end at once.
    let program = etc.path("hangs_up");
    let real = if Path::new("/usr/sbin/sshd").exists() { "/usr/sbin/sshd" } else { "/usr/local/sbin/sshd" };
    script(&program, &format!("#!/bin/sh\ncase $1 in -i) exit 1;; esac\nexec {real} \"$@\"\n"));
    let before = etc.all();
    let out = etc.tune(&["--apply", "--policy", "strict", "--sshd", program.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(1));
    assert!(err(&out).contains("policy strict REFUSES") && err(&out).contains("libssh2 1.10"), "{}", err(&out));
    assert_eq!(etc.all(), before);
    text(&etc.tune(&["--apply", "--policy", "modern"]));
    assert_eq!(list(&etc.read(SSHD), "MACs").last().map(String::as_str), Some("hmac-sha2-256"));
}

#[test]
fn measures_and_proposes() {
    let Some(etc) = Etc::new() else { return };
    let before = etc.all();
    let out = etc.run(&["--quick", "--time", "5", "--json"]);
    assert!(out.status.success(), "{}", err(&out));
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let rows = |kind: &str| all["survey"][kind].as_array().unwrap().clone();
    let positive = |row: &Value, figure: &str| {
        let median = row[figure]["median"].as_f64().unwrap();
        assert!(median > 0.0 && row[figure]["error"].as_f64().unwrap() >= 0.0, "{row}");
        assert!(row[figure]["count"].as_u64().unwrap() >= 1, "{row}");
    };
    assert!(rows("pairs").len() >= 10 && rows("kex").len() >= 5 && rows("host_keys").len() >= 4, "{all}");
    for row in rows("pairs") {
        positive(&row, "mb_s");
        let cipher = row["cipher"].as_str().unwrap();
        assert!(!cipher.contains("cbc"), "--quick keeps to the policy: {cipher}");
    }
    for row in rows("kex").iter().chain(&rows("host_keys")).chain(&rows("user_keys")) {
        positive(row, "seconds");
        positive(row, "cpu_s");
    }
    // On a machine too busy to tell, it says that.
    let said = |text: &str| text.contains("copying 1 GB") || text.contains("cannot be told");
    assert!(said(all["buys"].as_str().unwrap()), "{all}");
    assert_eq!(all["applied"], false);
    // Each suite by itself, stock: adjunct is not in use here.
    let steps = all["survey"]["trial"]["steps"].as_array().unwrap();
    assert!((1..=2).contains(&steps.len()) && steps.iter().all(|step| step["with"] == "stock"), "{steps:?}");
    steps.iter().for_each(|step| ["mb_s", "login_s", "login_cpu_s"].iter().for_each(|figure| positive(step, figure)));
    assert!(all["gain"]["order"].as_str().is_some_and(|order| order.starts_with("the order of")), "{all}");
    assert!(all["gain"]["adjunct"].is_null() && all["gain"]["login"].as_str().is_some());
    assert_eq!(etc.all(), before);
    etc.write("measured.json", &all.to_string());
    let from = etc.path("measured.json");
    assert!(said(&text(&etc.run(&["--from", from.to_str().unwrap()]))));
}

#[test]
fn an_interrupt_leaves_nothing() {
    let Some(etc) = Etc::new() else { return };
    let before = etc.all();
    // A termination while it starts; interrupts only once it has its handler, for a shell that runs the tests in the background
    // has whatever they start ignore them until then.
    for (signal, after, wait) in [("-TERM", false, 30), ("-INT", true, 100), ("-INT", true, 2500)] {
        let mut command = etc.command(&["--apply"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while after && fs::read_dir(etc.tmp.path()).unwrap().count() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "it ends before it makes its folder");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(wait));
        let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
        let start = Instant::now();
        let out = child.wait_with_output().unwrap();
        // Uninterrupted it measures for four minutes.
        assert!(start.elapsed() < Duration::from_secs(180));
        // Before the handler is there, the signal itself ends it.
        assert!(out.status.code().is_none_or(|c| c == 1), "{}", err(&out));
        assert!(out.status.code().is_none() || err(&out).contains("interrupted"), "{}", err(&out));
        assert_eq!(fs::read_dir(etc.tmp.path()).unwrap().count(), 0, "temporary files are left");
        assert_eq!(etc.all(), before);
    }
}
