//! The first steps of README.md, on this machine with an /etc of its own: enable, tune, verify; they end in hardware.

mod module;
mod outcome;

use module::module;
use outcome::good;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

#[test]
fn the_first_three_commands_end_in_hardware() {
    let possible = nix::unistd::geteuid().is_root()
        && Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|s| s.success());
    let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].iter().any(|p| Path::new(p).is_file());
    let own = Path::new(ADJUNCT).with_file_name("libadjunct_openssl.so");
    if !possible || !sshd || module().is_none_or(|module| module != own) {
        return eprintln!("SKIPPED: needs root, mount namespaces, sshd and adjunct's own module");
    }
    let dir = tempfile::tempdir().unwrap();
    let etc = dir.path().join("etc");
    // What is installed meanwhile may vanish between its listing and its copying; it is of no matter here.
    let _ = Command::new("cp").args(["-a", "/etc"]).arg(dir.path()).stderr(Stdio::null()).status().unwrap();
    for name in ["ssh/ssh_config.d", "ssh/sshd_config.d"] {
        let _ = fs::remove_dir_all(etc.join(name));
        fs::create_dir_all(etc.join(name)).unwrap();
    }
    for (program, port) in [("ssh", ""), ("sshd", "Port 22\n")] {
        let text = format!("Include /etc/ssh/{program}_config.d/*.conf\n{port}");
        fs::write(etc.join(format!("ssh/{program}_config")), text).unwrap();
    }
    for file in ["default/ssh", "adjunct/sshd.cnf"] {
        let _ = fs::remove_file(etc.join(file));
    }
    fs::write(etc.join("ssl/openssl.cnf"), "openssl_conf = init\n[init]\n").unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$1\" /etc || exit 99; shift; exec \"$@\"";
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(&etc).arg(ADJUNCT).args(args);
        command.env_remove("OPENSSL_CONF").env("HOME", dir.path()).env("ADJUNCT_STATS", "off").stdin(Stdio::null());
        command.output().unwrap()
    };
    let verify = ["ssh", "verify", "--private", "--size", "300K"];
    let said = good(&run(&["openssl", "enable", "--yes", "--trust-module", "--module", own.to_str().unwrap()]));
    assert!(said.contains("next: sudo adjunct ssh tune --quick --apply --reload"), "{said}");
    assert!(said.ends_with("who computed it\n") && said.contains("\nthen: adjunct ssh verify "), "{said}");
    // Of the algorithms only some, in place of all: the whole takes a minute.
    let policy = dir.path().join("policy.toml");
    let text = "base = \"modern\"\n[ciphers]\nallow = [\"aes128-gcm*\", \"chacha20-*\"]\n[macs]\nallow = [\"hmac-sha2-256-etm*\"]\n\
                [kex]\nallow = [\"curve25519*\"]\n[host-keys]\nallow = [\"ssh-ed25519\"]\n";
    fs::write(&policy, text).unwrap();
    let deep = std::env::var_os("ADJUNCT_DEEP").is_some();
    let mut tune = vec!["ssh", "tune", "--quick", "--apply"];
    if !deep {
        tune.extend(["--time", "5", "--policy", policy.to_str().unwrap()]);
    }
    let before = run(&verify);
    let said = good(&run(&tune));
    assert!(said.contains("the files are in place"), "{said}");
    let after = run(&verify);
    let text = String::from_utf8_lossy(&after.stdout).into_owned();
    let hardware = adjunct::cpu::features().has(adjunct::catalogue::Feature::Aes);
    if cfg!(target_arch = "x86_64") && hardware {
        assert_eq!(after.status.code(), Some(0), "{text}");
        assert!(text.contains("the data were encrypted and authenticated in hardware, both ways"), "{text}");
    }
    // Where enabling alone is not enough, verify says what to do.
    let text = String::from_utf8_lossy(&before.stdout).into_owned();
    let advice = "'sudo adjunct ssh tune --quick --apply' measures, and puts the fastest first";
    assert!(before.status.success() || text.contains(advice), "{text}");
}
