//! Files that another user may have put in place: no option blocks on a FIFO without end, and each reports in one line what is wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The command's name and its words; `@` is the FIFO. Commands that need a token or a bus of cards first may report that in place of the file.
const OPTIONS: &[(&str, &str)] = &[
    ("adjunct", "openssl status --config @"),
    ("adjunct", "openssl enable --yes --config @"),
    ("adjunct", "openssl enable --dry-run --module @"),
    ("adjunct", "openssl disable --yes --config @"),
    ("adjunct", "doctor --config @ curl"),
    ("adjunct", "doctor --restarts --config @"),
    ("adjunct", "ssh tune --from @"),
    ("adjunct", "ssh tune --json=@"),
    ("adjunct", "ssh tune --module=@"),
    ("adjunct", "ssh try --file @"),
    ("adjunct", "ssh try --json=@"),
    ("adjunct", "ssh try --module @"),
    ("adjunct", "ssh bench --from @"),
    ("adjunct", "ssh bench --json @"),
    ("adjunct", "ssh bench --html @"),
    ("adjunct", "ssh verify --config @ localhost"),
    ("adjunct", "ssh verify --identity @ localhost"),
    ("adjunct", "java check @"),
    ("adjunct", "java verify --config @"),
    ("adjunct", "java config --module @"),
    ("adjunct", "bench openssl --filter sha2-256 --module @"),
    ("adjunct", "bench openssl --filter sha2-256 --libcrypto @"),
    ("adjunct", "bench openssl --noise --filter sha2-256 --json @"),
    ("adjunct", "bench bulk --noise --filter 128-ctr --json @"),
    ("adjunct", "bench accelerator --noise --filter X25519 --json @"),
    ("adjunct", "bench pkcs11 --filter sign --module @"),
    ("adjunct", "bench tls --module @"),
    ("adjunct", "check --module @"),
    ("adjunct", "check --no-module --state @"),
    ("adjunct", "token restore @"),
    ("adjunct", "token import @ --label y"),
    ("adjunct", "token init --label x --so-pin-file @"),
    ("adjunct", "ep11 admins add @ 00.0000 --yes"),
    ("adjunct", "ep11 cps 00.0000 --on 31 --yes --key @"),
    ("p11sak", "import-key rsa private --label x --file @ --slot 3"),
    ("zcryptctl", "config @"),
];

fn run(name: &str, words: &[&str], dir: &Path) -> Option<Output> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.arg0(name).args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("HOME", dir).env("XDG_DATA_HOME", dir).env("XDG_CONFIG_HOME", dir).env("ADJUNCT_STATS", "off");
    command.env("ADJUNCT_PIN", "12345678").env("PKCS11_USER_PIN", "12345678");
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Some(child.wait_with_output().unwrap())
}

#[test]
fn no_option_waits_for_a_fifo() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let path = fifo.to_str().unwrap();
    let mut wrong = Vec::new();
    for (name, words) in OPTIONS {
        let words = words.replace('@', path);
        let words: Vec<&str> = words.split(' ').collect();
        match run(name, &words, dir.path()) {
            None => wrong.push(format!("{name} {words:?} waits")),
            Some(output) => {
                let said =
                    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
                if output.status.success() || output.status.code().is_none() {
                    wrong.push(format!("{name} {words:?}: {} {said}", output.status));
                }
                // What is not installed has its own line.
                let other = ["is not installed", "no such program", "there is no JDK", "JAVA_HOME"];
                let first = words[0] == "token" || *name != "adjunct";
                if !first && !said.contains(path) && !other.iter().any(|words| said.contains(words)) {
                    wrong.push(format!("{name} {words:?} does not name the file: {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(fs::metadata(&fifo).is_ok(), "it is there as it was");
}
