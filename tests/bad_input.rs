//! Failures of real machines, for all commands that touch OpenSSH: missing programs, broken and read-only configurations, no rights, an interrupt at
//! any moment. Each is one clear line and the right exit status, and changes nothing. The machine is this one with an /etc of its own, in a mount and
//! process namespace.

use adjunct_e2e::lab::{Lab, copy_program};
use adjunct_e2e::ports::Refusing;
use adjunct_e2e::skipped;
use adjunct_e2e::system::{is_root, target};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The names of a tree with type, rights, owner and contents.
type Tree = BTreeMap<PathBuf, (u32, u32, Vec<u8>)>;

/// A copy of this machine with its own /etc, home and folder for temporary files.
struct Machine {
    lab: Lab,
    /// Shell commands to run before the program, in the namespace.
    first: String,
    user: Option<u32>,
}

impl Machine {
    /// `None`, with the reason printed, where there can be no namespaces.
    fn new() -> Option<Machine> {
        static ABLE: OnceLock<bool> = OnceLock::new();
        let able = *ABLE.get_or_init(|| {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private", "true"]);
            is_root() && command.stderr(Stdio::null()).status().is_ok_and(|s| s.success())
        });
        if !able {
            skipped("no mount and process namespaces here (not root, or a container that forbids them)");
            return None;
        }
        let lab = Lab::new();
        // Under a home that others could write to root runs nothing.
        for (folder, mode) in [("tmp", 0o1777), ("home", 0o755)] {
            std::fs::create_dir(lab.path(folder)).expect("a folder");
            std::fs::set_permissions(lab.path(folder), std::fs::Permissions::from_mode(mode)).expect("its rights");
        }
        // Where packages are installed meanwhile, files vanish between their listing and their copying.
        let copied = (0..20).any(|_| {
            let _ = std::fs::remove_dir_all(lab.path("etc"));
            let copied = Command::new("cp").args(["-a", "/etc"]).arg(lab.path("etc")).status().expect("cp runs");
            copied.success() || {
                std::thread::sleep(std::time::Duration::from_millis(500));
                false
            }
        });
        assert!(copied, "/etc is not copied");
        for program in ["adjunct", "adjunct-bench"] {
            copy_program(&target().join(program), &lab.path(program));
        }
        // The home of root and of nobody, for ssh asks /etc/passwd and not HOME.
        let passwd = std::fs::read_to_string(lab.path("etc/passwd")).expect("passwd");
        let home = lab.path("home").display().to_string();
        let moved = |line: &str| {
            let mut fields: Vec<&str> = line.split(':').collect();
            if fields.len() == 7 && matches!(fields[2], "0" | "65534") {
                fields[5] = &home;
            }
            fields.join(":")
        };
        let passwd: Vec<String> = passwd.lines().map(moved).collect();
        std::fs::write(lab.path("etc/passwd"), passwd.join("\n") + "\n").expect("passwd");
        Some(Machine { lab, first: String::new(), user: None })
    }

    /// Runs `commands` inside first; `$ETC` is the copy of /etc.
    fn after(mut self, commands: &str) -> Machine {
        self.first += commands;
        self.first += "\n";
        self
    }

    /// Edits a file of the machine's /etc.
    fn with(self, file: &str, edit: impl FnOnce(String) -> String) -> Machine {
        let path = self.lab.path("etc").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, edit(text)).expect("a file in the copy");
        self
    }

    fn by_user(mut self, uid: u32) -> Machine {
        self.user = Some(uid);
        self
    }

    /// Runs adjunct inside, with SIGINT to it and all it started after `interrupt` seconds.
    fn start(&self, args: &[&str], interrupt: Option<f64>) -> Output {
        let end = interrupt.map_or(String::new(), |after| format!("timeout --preserve-status -s INT {after}"));
        let user = self.user.map_or(String::new(), |u| format!("setpriv --reuid={u} --regid={u} --clear-groups"));
        // What is left when adjunct has ended is told on a descriptor of its own: this shell is the first process there.
        let script = format!(
            "mount --bind \"$ETC\" /etc || exit 99\n{}{end} {user} \"$ADJUNCT\" \"$@\"\ncode=$?\n\
             for i in $(seq 60); do\n  left=\n  for p in /proc/[0-9]*; do\n    n=${{p#/proc/}}\n    \
             [ $n = 1 ] || [ $n = $$ ] || left=\"$left $({{ tr '\\0' ' ' <$p/cmdline; }} 2>/dev/null)\"\n  done\n  \
             [ -n \"$left\" ] || break\n  sleep 0.3\ndone\n\
             printf '%s' \"$left\" >\"$LEFT\"\nexit $code\n",
            self.first
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]);
        command.args(["sh", "-c", &script, "sh"]).args(args);
        command.env("ETC", self.lab.path("etc")).env("ADJUNCT", self.lab.path("adjunct"));
        command.env("LEFT", self.lab.path("left")).env("TMPDIR", self.lab.path("tmp"));
        command.env("MODULE", self.lab.module()).env_remove("OPENSSL_CONF").env_remove("SSH_AUTH_SOCK");
        command.envs(self.lab.environment()).env("HOME", self.lab.path("home"));
        command.stdin(Stdio::null()).output().expect("unshare runs")
    }

    /// Runs adjunct; it has to fail with `code` and one line that has all `words`, and to change nothing.
    fn refuses(&self, args: &[&str], code: i32, words: &[&str]) {
        let before = self.state();
        let out = self.start(args, None);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(code), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        assert!(said.starts_with("adjunct: "), "{args:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{args:?}: no '{word}' in: {said}");
        }
        self.unchanged(args, &before);
    }

    /// Interrupts adjunct after each of the times; it has to end at once, in one line, and to leave nothing.
    fn interrupted(&self, args: &[&str], after: &[f64]) {
        for &seconds in after {
            let before = self.state();
            let out = self.start(args, Some(seconds));
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            // 3 is an answer, too: not in hardware, not enabled.
            if matches!(out.status.code(), Some(0 | 3)) {
                eprintln!("{args:?} was done before {seconds} s");
            } else {
                let by_signal = out.status.code() == Some(130);
                assert!(
                    by_signal || out.status.code() == Some(1),
                    "{args:?} after {seconds} s: {:?} {said}",
                    out.status
                );
                // What says in front how long it will take is no complaint.
                let announced = ["this takes about", "every row is tried once"];
                let complaints = |line: &&str| !announced.iter().any(|words| line.starts_with(words));
                let lines = said.lines().filter(complaints).count();
                assert!(lines <= 1, "{args:?} after {seconds} s: {said}");
                assert!(by_signal || said.contains("interrupted"), "{args:?} after {seconds} s: {said}");
                self.unchanged(args, &before);
            }
        }
    }

    fn state(&self) -> [Tree; 2] {
        [tree(&self.lab.path("etc")), tree(&self.lab.path("home"))]
    }

    fn unchanged(&self, args: &[&str], before: &[Tree; 2]) {
        for (before, after) in before.iter().zip(self.state()) {
            let names =
                |a: &Tree, b: &Tree| a.iter().filter(|(k, v)| b.get(*k) != Some(*v)).map(|(k, _)| k.clone()).collect();
            let (gone, new): (Vec<PathBuf>, Vec<PathBuf>) = (names(before, &after), names(&after, before));
            assert!(gone.is_empty() && new.is_empty(), "{args:?} changed {gone:?} to {new:?}");
        }
        let left: Vec<_> = std::fs::read_dir(self.lab.path("tmp")).expect("tmp").flatten().map(|e| e.path()).collect();
        assert!(left.is_empty(), "{args:?} left files: {left:?}");
        let processes = std::fs::read_to_string(self.lab.path("left")).unwrap_or_default();
        assert!(processes.trim().is_empty(), "{args:?} left processes: {processes}");
    }
}

fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the copy").flatten() {
            let (path, metadata) = (entry.path(), entry.metadata().expect("its data"));
            let contents = if metadata.is_file() {
                std::fs::read(&path).expect("a file of the copy")
            } else if metadata.is_symlink() {
                let target = std::fs::read_link(&path).expect("a link of the copy");
                target.into_os_string().into_encoded_bytes()
            } else {
                if metadata.is_dir() {
                    open.push(path.clone());
                }
                Vec::new()
            };
            tree.insert(path, (metadata.mode(), metadata.uid(), contents));
        }
    }
    tree
}

impl Machine {
    fn module(&self) -> String {
        self.lab.module().display().to_string()
    }

    /// The words of `adjunct openssl enable` for some programs, with an existing module.
    fn enable<'a>(&self, whose: &'a str, module: &'a str) -> Vec<&'a str> {
        vec!["openssl", "enable", "--for", whose, "--yes", "--trust-module", "--module", module]
    }

    fn without_sshd(self) -> Machine {
        self.after("mount -t tmpfs none /usr/sbin || exit 99")
    }

    fn read_only(self) -> Machine {
        self.after("mount -o remount,bind,ro /etc || exit 99")
    }
}

/// What names a missing sshd, and what to install.
const NO_SSHD: [&str; 2] = ["no sshd found", "openssh-server"];
const TUNE: [&str; 3] = ["ssh", "tune", "--quick"];
const APPLY: [&str; 4] = ["ssh", "tune", "--quick", "--apply"];

fn broken(text: String) -> String {
    text + "\nFrobnicate yes\n"
}

#[test]
fn enable_names_what_stands_in_its_way() {
    let Some(machine) = Machine::new() else { return };
    let module = machine.module();
    let machine = machine.without_sshd();
    machine.refuses(&machine.enable("sshd", &module), 1, &NO_SSHD);
    let Some(machine) = Machine::new() else { return };
    let (module, machine) = (machine.module(), machine.read_only());
    for whose in ["all", "sshd"] {
        machine.refuses(&machine.enable(whose, &module), 1, &["/etc/", "ead-only file system"]);
    }
    let Some(machine) = Machine::new() else { return };
    let (module, machine) = (machine.module(), machine.by_user(65534));
    for whose in ["all", "sshd"] {
        machine.refuses(&machine.enable(whose, &module), 1, &["/etc/", "root"]);
    }
}

#[test]
fn enable_quotes_a_broken_openssl_cnf() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("ssl/openssl.cnf", |text| text + "\nno equal sign\n");
    let module = machine.module();
    for whose in ["all", "sshd", "ssh"] {
        machine.refuses(&machine.enable(whose, &module), 1, &["line", "missing equal sign"]);
    }
}

#[test]
fn enable_interrupted_changes_nothing() {
    let Some(machine) = Machine::new() else { return };
    let module = machine.module();
    for whose in ["all", "sshd", "ssh"] {
        machine.interrupted(&machine.enable(whose, &module), &[0.02, 0.2, 0.6]);
        // It may have come to its end.
        machine.start(&["openssl", "disable", "--for", whose, "--yes"], None);
    }
    machine.interrupted(&["openssl", "status"], &[0.01, 0.1]);
}

#[test]
fn try_names_a_missing_sshd_and_can_be_interrupted() {
    let Some(machine) = Machine::new() else { return };
    let module = machine.module();
    let args = ["ssh", "try", "--size", "64M", "--trust-module", "--module", &module];
    machine.interrupted(&args, &[0.02, 0.3, 1.0]);
    machine.without_sshd().refuses(&args, 1, &NO_SSHD);
}

#[test]
fn verify_tells_hosts_apart_that_do_not_answer() {
    let Some(machine) = Machine::new() else { return };
    // No name server that says nothing, or knows everything.
    let machine = machine.with("nsswitch.conf", |_| "hosts: files\n".to_owned());
    let refusing = Refusing::new();
    let port = refusing.port.to_string();
    machine.refuses(&["ssh", "verify", "no.such.host.invalid"], 1, &["no.such.host.invalid", "check the name"]);
    machine.refuses(&["ssh", "verify", "-p", &port, "127.0.0.1"], 1, &["refused", "check the port"]);
    machine.interrupted(&["ssh", "verify", "--private"], &[0.02, 0.2, 0.6]);
    machine.without_sshd().refuses(&["ssh", "verify", "--private"], 1, &NO_SSHD);
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("ssh/ssh_config", broken);
    machine.refuses(&["ssh", "verify", "localhost"], 1, &["ssh_config", "frobnicate"]);
}

#[test]
fn tune_names_what_stands_in_its_way() {
    let Some(machine) = Machine::new() else { return };
    machine.without_sshd().refuses(&TUNE, 1, &NO_SSHD);
    let Some(machine) = Machine::new() else { return };
    machine.read_only().refuses(&APPLY, 1, &["/etc/ssh", "ead-only file system"]);
    let Some(machine) = Machine::new() else { return };
    machine.by_user(65534).refuses(&APPLY, 1, &["/etc/ssh", "root"]);
}

#[test]
fn tune_quotes_broken_configurations() {
    for file in ["ssh/sshd_config", "ssh/ssh_config"] {
        let Some(machine) = Machine::new() else { return };
        let machine = machine.with(file, broken);
        machine.refuses(&TUNE, 1, &[file, "robnicate"]);
        machine.refuses(&APPLY, 1, &[file, "robnicate"]);
    }
}

#[test]
fn tune_refuses_bad_policies_before_it_measures() {
    let Some(machine) = Machine::new() else { return };
    let policy = |path: &Path, code, words: &[&str]| {
        let path = path.display().to_string();
        machine.refuses(&["ssh", "tune", "--quick", "--policy", &path], code, words);
    };
    let file = |name: &str, text: &str| machine.lab.write(name, text);
    policy(&file("none.toml", "[ciphers]\ndeny = [\"*\"]\n"), 1, &["cipher"]);
    policy(&file("broken.toml", "[ciphers\n"), 2, &["broken.toml"]);
    policy(&file("word.toml", "[cyphers]\ndeny = []\n"), 2, &["word.toml", "cyphers"]);
    policy(Path::new("/nonexistent/policy.toml"), 2, &["/nonexistent/policy.toml"]);
}

#[test]
fn tune_interrupted_changes_nothing() {
    let Some(machine) = Machine::new() else { return };
    machine.interrupted(&APPLY, &[0.02, 0.2, 0.7, 2.0]);
}

#[test]
fn bench_names_a_missing_sshd_and_can_be_interrupted() {
    let Some(machine) = Machine::new() else { return };
    let module = machine.module();
    let args = ["ssh", "bench", "--quick", "--trust-module", "--module", &module];
    machine.interrupted(&args, &[0.02, 0.3, 1.5]);
    machine.without_sshd().refuses(&args, 1, &NO_SSHD);
}
