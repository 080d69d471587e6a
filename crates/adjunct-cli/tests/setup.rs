//! `adjunct setup` on this machine with an /etc of its own: the whole way and back, and what happens where it fails or is interrupted.

mod module;
mod tune_figures;

use module::module;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

/// A copy of /etc in which OpenSSL and OpenSSH are as Debian installs them.
struct Machine {
    dir: tempfile::TempDir,
    module: PathBuf,
}

impl Machine {
    /// `None`, with the reason printed, where there can be none.
    fn new() -> Option<Machine> {
        let possible = nix::unistd::geteuid().is_root()
            && Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|s| s.success());
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].iter().any(|p| Path::new(p).is_file());
        let own = Path::new(ADJUNCT).with_file_name("libadjunct_openssl.so");
        if !possible || !sshd || module().is_none_or(|module| module != own) {
            eprintln!("SKIPPED: needs root, mount namespaces, sshd and adjunct's own module");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        // What is installed meanwhile may vanish between its listing and its copying; it is of no matter here.
        let _ = Command::new("cp").args(["-a", "/etc"]).arg(dir.path()).stderr(Stdio::null()).status().unwrap();
        let machine = Machine { dir, module: own };
        for name in ["ssh/ssh_config.d", "ssh/sshd_config.d"] {
            let _ = fs::remove_dir_all(machine.etc(name));
            fs::create_dir_all(machine.etc(name)).unwrap();
        }
        for (program, port) in [("ssh", ""), ("sshd", "Port 22\n")] {
            let text = format!("Include /etc/ssh/{program}_config.d/*.conf\n{port}");
            fs::write(machine.etc(&format!("ssh/{program}_config")), text).unwrap();
        }
        for file in ["default/ssh", "adjunct/sshd.cnf"] {
            let _ = fs::remove_file(machine.etc(file));
        }
        fs::write(machine.etc("ssl/openssl.cnf"), "openssl_conf = init\n[init]\n").unwrap();
        // Of the algorithms only some, in place of all.
        let policy = "base = \"modern\"\n[ciphers]\nallow = [\"aes128-gcm*\", \"chacha20-*\"]\n[macs]\nallow = \
                      [\"hmac-sha2-256-etm*\"]\n[kex]\nallow = [\"curve25519*\"]\n[host-keys]\nallow = [\"ssh-ed25519\"]\n";
        fs::write(machine.dir.path().join("policy.toml"), policy).unwrap();
        Some(machine)
    }

    fn etc(&self, name: &str) -> PathBuf {
        self.dir.path().join("etc").join(name)
    }

    /// `adjunct` on the machine. It replaces the shell, so that a signal for the one is for the other.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        // Port 22 may be this machine's own sshd, which has another /etc: /run is without it.
        let script = "mount --bind \"$1\" /etc || exit 99; shift; exec \"$@\"";
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(self.dir.path().join("etc")).arg(ADJUNCT).args(args);
        command.env_remove("OPENSSL_CONF").env("HOME", self.dir.path()).env("ADJUNCT_STATS", "off");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn words(&self, more: &[&str]) -> Vec<String> {
        let (module, policy) = (self.module.display(), self.dir.path().join("policy.toml"));
        let all = format!("setup --trust-module --module {module} --time 5 --policy {}", policy.display());
        all.split(' ').chain(more.iter().copied()).map(str::to_owned).collect()
    }

    fn setup(&self, more: &[&str]) -> Output {
        let words = self.words(more);
        self.command(&words.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
    }

    /// Every file that setup may change, with its mode.
    fn files(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = BTreeMap::new();
        for folder in ["ssl", "ssh", "ssh/ssh_config.d", "ssh/sshd_config.d", "default", "adjunct"] {
            for entry in fs::read_dir(self.etc(folder)).into_iter().flatten().flatten() {
                let about = entry.metadata().unwrap();
                let bytes = if about.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
                files.insert(entry.path(), (about.mode(), bytes));
            }
        }
        files
    }
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_whole_way_and_back() {
    let Some(machine) = Machine::new() else { return };
    let before = machine.files();
    let shown = machine.setup(&["--dry-run"]);
    let (out, err) = said(&shown);
    assert!(shown.status.success(), "{out}{err}");
    assert!(out.contains("+++ /etc/ssl/openssl.cnf") || out.contains("openssl.cnf"), "{out}");
    assert!(out.ends_with("nothing was changed (--dry-run)\n"), "{out}");
    assert!(out.contains("REFUSES") && out.contains("libssh2 1.10 (curl of Debian 12"), "{out}");
    assert_eq!(machine.files(), before);

    let done = machine.setup(&["--yes", "--json"]);
    let (out, err) = said(&done);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    assert_eq!(report["changed"], true, "{out}");
    assert!(
        report["buys"].as_str().is_some_and(|buys| buys.contains("copying 1 GB") || buys.contains("cannot be told"))
    );
    // The order of algorithms and adjunct apart, and logins.
    let gain: Vec<&str> = report["gain"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    let begin = ["copying 1 GB", "  the order of", "  adjunct adds to that, with the same algorithms", "a login"];
    assert_eq!(gain.len(), begin.len(), "{gain:?}");
    assert!(gain.iter().zip(begin).all(|(line, begin)| line.starts_with(begin)), "{gain:?}");
    let steps = report["tune"]["gain"]["steps"].as_array().unwrap();
    let with = |who: &str| steps.iter().filter(|step| step["with"] == who).count();
    assert_eq!((with("stock"), with("adjunct")), (2, 2), "two suites, each stock and with adjunct: {steps:?}");
    let refuses = report["refuses"].as_array().unwrap();
    assert!(refuses.iter().any(|name| name == "libssh2 1.10"), "this policy refuses it, by name: {refuses:?}");
    let hardware = cfg!(target_arch = "x86_64") && adjunct::cpu::features().has(adjunct::catalogue::Feature::Aes);
    if hardware {
        assert_eq!((done.status.code(), &report["bulk_in_hardware"]), (Some(0), &true.into()), "{out}{err}");
    }
    let after = machine.files();
    assert_ne!(after, before);

    // Once more: nothing is left to do, or the fresh figures say otherwise; the session is as before.
    let again = machine.setup(&["--yes", "--json"]);
    let (out, err) = said(&again);
    assert_eq!(again.status.code(), done.status.code(), "{out}{err}");

    // Nobody's silence is a yes.
    let unasked = machine.files();
    let refused = machine.command(&["setup", "--undo"]).output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).1.contains("--yes"), "{:?}", said(&refused));
    assert_eq!(machine.files(), unasked);
    let undone = machine.command(&["setup", "--undo", "--yes"]).output().unwrap();
    let (out, err) = said(&undone);
    assert!(undone.status.success() && out.ends_with("all of it is taken back\n"), "{out}{err}");
    assert_eq!(machine.files(), before);
    let nothing = machine.command(&["setup", "--undo", "--yes"]).output().unwrap();
    assert_eq!(said(&nothing).0, "adjunct is not set up\n");
}

/// The figures of a busy machine leave ssh's order: adjunct is set up all the same, and it is said that the order is why the session was not hardware,
/// and what to do. What is said works.
#[test]
fn an_order_that_cannot_be_told_is_said_with_what_to_do() {
    let Some(machine) = Machine::new() else { return };
    let before = machine.files();
    let figures = machine.dir.path().join("busy.json");
    fs::write(&figures, tune_figures::figures_sure_to(0.83).to_string()).unwrap();
    let (module, figures) = (machine.module.to_str().unwrap(), figures.to_str().unwrap());
    let setup = |more: &[&str]| {
        let words = ["setup", "--trust-module", "--module", module, "--from", figures];
        machine.command(&[&words[..], more].concat()).output().unwrap()
    };
    let (out, err) = said(&setup(&["--dry-run"]));
    assert!(
        out.contains("to be changed: /etc/ssl/openssl.cnf\nnot to be changed: ssh's and sshd's algorithms\n"),
        "{out}{err}"
    );
    assert_eq!(machine.files(), before);

    let done = setup(&["--yes"]);
    let (out, err) = said(&done);
    assert_eq!(done.status.code(), Some(3), "{out}{err}");
    for part in [
        "adjunct is set up, and OpenSSL is served by it\n",
        "a session over loopback was not encrypted in hardware: it took chacha20-poly1305@openssh.com",
        "could not be told, for the figures vary by 83 %",
        "to do: 'sudo adjunct ssh tune --quick --time 180 --apply'",
        "to do: 'sudo adjunct setup --policy compat'",
    ] {
        assert!(out.contains(part), "'{part}' is not in: {out}{err}");
    }
    let again = setup(&["--yes", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&said(&again).0).unwrap();
    let not = &report["not_in_hardware"];
    assert_eq!((&not["reason"], again.status.code()), (&"order-unclear".into(), Some(3)), "{report}");
    assert_eq!(not["cipher"], "chacha20-poly1305@openssh.com");
    // Whoever asks why is told the same.
    for words in [&["doctor", "ssh"][..], &["ssh", "verify"]] {
        let (out, err) = said(&machine.command(words).output().unwrap());
        assert!(out.contains("sudo adjunct setup --policy compat"), "{words:?}: {out}{err}");
    }
    // What is said to be done does it.
    let hardware = cfg!(target_arch = "x86_64") && adjunct::cpu::features().has(adjunct::catalogue::Feature::Aes);
    let policy = setup(&["--yes", "--json", "--policy", "compat"]);
    let (out, err) = said(&policy);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    if hardware {
        assert_eq!((policy.status.code(), &report["bulk_in_hardware"]), (Some(0), &true.into()), "{out}{err}");
        assert_eq!(
            (&report["not_in_hardware"], &report["refuses"]),
            (&serde_json::Value::Null, &serde_json::json!([]))
        );
    }
    assert!(machine.command(&["setup", "--undo", "--yes"]).output().unwrap().status.success());
    assert_eq!(machine.files(), before);
}

/// A policy that there is none of is a wrong word, as for `ssh tune`.
#[test]
fn a_policy_that_is_none_is_a_wrong_command_line() {
    let Some(machine) = Machine::new() else { return };
    let before = machine.files();
    let module = machine.module.to_str().unwrap();
    let words = ["setup", "--dry-run", "--trust-module", "--module", module, "--policy", "nosuch"];
    let refused = machine.command(&words).output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).1.contains("nosuch"), "{:?}", said(&refused));
    assert_eq!(machine.files(), before);
}

/// Without a policy no peer is refused: sshd's lists are not written.
#[test]
fn without_a_policy_sshd_s_lists_stay() {
    let Some(machine) = Machine::new() else { return };
    if std::env::var_os("ADJUNCT_DEEP").is_none() {
        eprintln!("SKIPPED: it measures all that OpenSSH has; ADJUNCT_DEEP=1 runs it");
        return;
    }
    let module = machine.module.display().to_string();
    let output = machine
        .command(&["setup", "--dry-run", "--json", "--trust-module", "--module", &module, "--time", "10"])
        .output()
        .unwrap();
    let (out, err) = said(&output);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    assert_eq!(report["refuses"], serde_json::json!([]));
    let plans = report["tune"]["plans"].as_array().unwrap();
    assert_eq!((&plans[1]["program"], &plans[1]["changes"]), (&"sshd".into(), &false.into()), "{plans:?}");
}

/// Without a terminal, where nobody can answer, setup says so before it measures, and does nothing.
#[test]
fn without_a_terminal_it_wants_yes() {
    let Some(machine) = Machine::new() else { return };
    let before = machine.files();
    for (words, expected) in
        [(&[][..], "there is no terminal to ask at: say --yes"), (&["--json"], "--json cannot ask: say --yes")]
    {
        let output = machine.setup(words);
        let (out, err) = said(&output);
        assert_eq!(output.status.code(), Some(2), "{out}{err}");
        assert!(out.is_empty() && err.contains(expected) && err.contains("nothing was changed"), "{out}{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert_eq!(machine.files(), before);
    }
}

/// Where sshd's folder for its files cannot be written, everything that was written before that is taken back.
#[test]
fn a_step_that_fails_leaves_everything_as_it_was() {
    let Some(machine) = Machine::new() else { return };
    // It refuses every file that is put there, once it is in force: no Include line leads there.
    fs::write(machine.etc("ssh/sshd_config.d/10-adjunct.conf"), "# somebody else's\n").unwrap();
    let before = machine.files();
    let failed = machine.setup(&["--yes"]);
    let (out, err) = said(&failed);
    assert_eq!(failed.status.code(), Some(1), "{out}{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("was not written by adjunct; it is left alone"), "{err}");
    assert_eq!(machine.files(), before);
}

/// A termination at any time, to the command alone or with its children as from a terminal.
#[test]
fn an_interrupt_leaves_everything_as_it_was() {
    let Some(machine) = Machine::new() else { return };
    let before = machine.files();
    let deep = std::env::var_os("ADJUNCT_DEEP").is_some();
    let words = machine.words(&["--yes"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let cnf = machine.etc("ssl/openssl.cnf");
    let original = fs::read(&cnf).unwrap();
    for round in 0..if deep { 12 } else { 2 } {
        let child = machine.command(&words).spawn().unwrap();
        // From the moment on when the first file is changed: later each time.
        let start = Instant::now();
        while fs::read(&cnf).is_ok_and(|now| now == original) && start.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(150 * round));
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        let (out, err) = said(&output);
        if output.status.success() {
            // It was done before the signal came.
            assert!(out.contains("adjunct is set up"), "{out}{err}");
            assert!(machine.command(&["setup", "--undo", "--yes"]).output().unwrap().status.success());
        } else {
            assert!(err.contains("interrupted"), "{round}: {out}{err}");
        }
        assert_eq!(machine.files(), before, "{round}: {out}{err}");
    }
}

#[test]
fn without_root_it_says_what_to_do() {
    let me = nix::unistd::geteuid();
    let mut command = if me.is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(ADJUNCT);
        command
    } else {
        Command::new(ADJUNCT)
    };
    let output = command.args(["setup", "--yes"]).stdin(Stdio::null()).output().unwrap();
    let (_, err) = said(&output);
    // Where the program is in a folder that others may not enter, setpriv says so.
    if output.status.code() == Some(1) && err.starts_with("adjunct") {
        assert!(err.contains("run it as root"), "{err}");
    }
}
