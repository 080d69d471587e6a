//! Sessions of the command's own: the user's startup files have no part in them, nothing outlives them, and a folder for
//! temporary files that is full is said as that.

mod module;

use module::module;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

/// A copy of this machine in a mount namespace, where root's account has another home and shell.
struct Machine {
    dir: TempDir,
    module: PathBuf,
}

impl Machine {
    fn new(shell: &str) -> Option<Machine> {
        let possible = nix::unistd::geteuid().is_root()
            && Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|s| s.success());
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].iter().any(|p| Path::new(p).is_file());
        if !possible || !sshd || !Path::new(shell).is_file() {
            eprintln!("SKIPPED: needs root, mount namespaces, sshd and {shell}");
            return None;
        }
        let machine = Machine { dir: tempfile::tempdir().unwrap(), module: module()? };
        fs::set_permissions(machine.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for folder in ["home", "tmp"] {
            fs::create_dir(machine.path(folder)).unwrap();
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap();
        let moved = |line: &str| {
            let mut fields: Vec<&str> = line.split(':').collect();
            let home = machine.path("home").display().to_string();
            if fields.len() == 7 && fields[2] == "0" {
                (fields[5], fields[6]) = (&home, shell);
                return fields.join(":");
            }
            line.to_owned()
        };
        let passwd: Vec<String> = passwd.lines().map(moved).collect();
        fs::write(machine.path("passwd"), passwd.join("\n") + "\n").unwrap();
        fs::write(machine.path("openssl.cnf"), "a = b\n").unwrap();
        Some(machine)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Startup files of every shell, which tell that they ran and then do not end.
    fn with_startup_files(self) -> Machine {
        let ran = self.path("ran");
        let files = [
            ".bashrc",
            ".bash_profile",
            ".profile",
            ".zshenv",
            ".zprofile",
            ".zshrc",
            ".kshrc",
            ".mkshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".config/fish/config.fish",
            ".ssh/rc",
        ];
        for file in files {
            let file = self.path("home").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, format!("echo {} >>{}\nsleep 600\n", file.display(), ran.display())).unwrap();
        }
        let environment = format!("ENV={0}/.kshrc\nBASH_ENV={0}/.bashrc\n", self.path("home").display());
        fs::write(self.path("home/.ssh/environment"), environment).unwrap();
        self
    }

    /// The command, after `first` in the namespace.
    fn command(&self, first: &str, args: &[&str]) -> Command {
        self.shell(first, ADJUNCT, args)
    }

    fn shell(&self, first: &str, program: &str, args: &[&str]) -> Command {
        let script = format!("mount --bind \"$1\" /etc/passwd || exit 99; {first}\nshift; exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh"]).arg(self.path("passwd")).arg(program).args(args);
        command.env_remove("OPENSSL_CONF").env("ADJUNCT_STATS", "off").env("HOME", self.path("home"));
        command.env("TMPDIR", self.path("tmp")).env("PLACE", self.dir.path()).stdin(Stdio::null());
        command
    }

    fn enable(&self, first: &str) -> Command {
        let config = self.path("openssl.cnf");
        let mut command = self.command(first, &["openssl", "enable", "--yes", "--trust-module", "--config"]);
        command.arg(config).arg("--module").arg(&self.module);
        command
    }

    /// Processes that the command has started, directly or not.
    fn alive(&self) -> Vec<String> {
        let place = self.dir.path().to_str().unwrap();
        let of = |pid: &str| {
            let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let text = [read("cmdline"), b" ".to_vec(), read("environ")].concat();
            String::from_utf8_lossy(&text).replace('\0', " ")
        };
        let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().into_string().ok());
        let pids = pids.filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        pids.map(|pid| of(&pid)).filter(|text| text.contains(place)).collect()
    }

    fn nothing_lives_on(&self, what: &str) {
        let start = Instant::now();
        while !self.alive().is_empty() && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.alive(), Vec::<String>::new(), "{what}");
        let left: Vec<_> = fs::read_dir(self.path("tmp")).unwrap().flatten().map(|e| e.path()).collect();
        assert!(left.is_empty(), "{what}: {left:?}");
    }
}

fn within(command: &mut Command, limit: Duration) -> Output {
    let start = Instant::now();
    let output = command.output().unwrap();
    assert!(start.elapsed() < limit, "{:?}: {output:?}", start.elapsed());
    output
}

const SHELLS: [&str; 8] =
    ["/bin/bash", "/bin/sh", "/bin/zsh", "/bin/ksh", "/bin/mksh", "/bin/tcsh", "/usr/bin/fish", "/bin/rbash"];

/// Set where this program runs itself inside a [`Machine`].
const INSIDE: &str = "ADJUNCT_TEST_INSIDE";

/// Makes a connection as `ssh bench` and `ssh tune` do; it does something inside a [`Machine`] alone.
#[test]
fn a_measured_login() {
    use adjunct_cli::ssh::measure::{Rig, Side, Suite};
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let programs = adjunct_cli::ssh::lab::Programs::find(None, None).unwrap();
    Rig::new(programs).unwrap().login(&Side::as_is("as configured"), &Suite::default()).unwrap();
}

#[test]
fn startup_files_have_no_part_in_them() {
    let deep = std::env::var_os("ADJUNCT_DEEP").is_some();
    for (at, shell) in SHELLS.iter().enumerate() {
        let Some(machine) = Machine::new(shell).map(Machine::with_startup_files) else { continue };
        let module = machine.module.to_str().unwrap().to_owned();
        let cipher = "Ciphers=aes128-gcm@openssh.com";
        let verify = ["ssh", "verify", "--private", "--size", "100K", "-o", cipher];
        let try_it = ["ssh", "try", "--size", "1M", "--runs", "1", "--trust-module", "--module", &module];
        let said = within(&mut machine.enable(""), Duration::from_secs(50));
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.status.success() && text.contains("a login over loopback works: yes"), "{shell}: {said:?}");
        let commands: [&[&str]; 2] = [&verify, &try_it];
        for args in commands.iter().take(if deep || at == 0 { 2 } else { 1 }) {
            // try sees by the counters that adjunct was used; it has some of its own.
            let output = within(machine.command("", args).env_remove("ADJUNCT_STATS"), Duration::from_secs(55));
            assert!(matches!(output.status.code(), Some(0 | 3)), "{shell}: {args:?}: {output:?}");
        }
        // The server of bench and tune is another part of the program.
        let own = std::env::current_exe().unwrap();
        let mut login = machine.shell("", own.to_str().unwrap(), &["--exact", "a_measured_login", "--nocapture"]);
        let output = within(login.env(INSIDE, "1"), Duration::from_secs(50));
        assert!(output.status.success(), "{shell}: {output:?}");
        assert_eq!(fs::read_to_string(machine.path("ran")).unwrap_or_default(), "", "{shell}");
        machine.nothing_lives_on(shell);
    }
}

/// The user's ssh alone is enabled without running what the user's shells run at login.
#[test]
fn enabling_for_a_user_runs_no_startup_file() {
    let Some(machine) = Machine::new("/bin/bash").map(Machine::with_startup_files) else { return };
    let module = machine.module.to_str().unwrap();
    let args = ["openssl", "enable", "--yes", "--for", "ssh", "--trust-module", "--module", module];
    let profile = machine.path("home/.profile");
    for (text, words) in [("", "add PATH="), ("PATH=\"$HOME/.local/bin:$PATH\"\n", "from your next login on")] {
        let before = fs::read_to_string(&profile).unwrap();
        fs::write(&profile, text.to_owned() + &before).unwrap();
        let mut command = machine.command("", &args);
        command.env("SHELL", "/bin/bash").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env_remove("XDG_CONFIG_HOME");
        let output = within(&mut command, Duration::from_secs(50));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains(words), "{output:?}");
    }
    assert!(!machine.path("ran").exists(), "{:?}", fs::read_to_string(machine.path("ran")));
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), signal);
}

#[test]
fn after_an_interrupt_no_process_lives_on() {
    use rustix::process::Signal;
    let Some(machine) = Machine::new("/bin/bash") else { return };
    let module = machine.module.to_str().unwrap().to_owned();
    let try_it: &[&str] = &["ssh", "try", "--size", "300M", "--runs", "9", "--trust-module", "--module", &module];
    let tune: &[&str] = &["ssh", "tune", "--time", "60"];
    let deep = std::env::var_os("ADJUNCT_DEEP").is_some();
    let times: &[u64] = if deep { &[50, 200, 400, 700, 1100, 1700, 2600] } else { &[300, 1200] };
    for (args, signals) in [(try_it, [Signal::INT, Signal::TERM]), (tune, [Signal::TERM, Signal::INT])] {
        for (at, &after) in times.iter().enumerate() {
            let mut command = machine.command("", args);
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(after));
            signal(&child, signals[at % 2]);
            let start = Instant::now();
            let output = child.wait_with_output().unwrap();
            assert!(start.elapsed() < Duration::from_secs(15), "{args:?} after {after} ms: {:?}", start.elapsed());
            assert!(!output.status.success(), "{args:?} after {after} ms: {output:?}");
            machine.nothing_lives_on(&format!("{args:?} after {after} ms"));
        }
    }
}

/// The account's shell starts what ignores every signal but one, and the command is interrupted while it runs.
#[test]
fn what_a_session_leaves_behind_is_ended() {
    let Some(machine) = Machine::new("/bin/bash") else { return };
    let shell = machine.path("shell");
    let text = "#!/bin/sh\ntrap '' TERM HUP INT\n(trap '' TERM HUP INT; exec setsid sleep 600) &\necho >\"$PLACE_OF\"; sleep 600\n";
    let started = machine.path("started");
    fs::write(&shell, text.replace("\"$PLACE_OF\"", started.to_str().unwrap())).unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    let passwd = fs::read_to_string(machine.path("passwd")).unwrap();
    let line = passwd.lines().next().unwrap();
    assert!(line.starts_with("root:"), "{line}");
    fs::write(machine.path("passwd"), passwd.replacen(":/bin/bash", &format!(":{}", shell.display()), 1)).unwrap();
    let child = machine.enable("").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !started.exists() && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(started.exists());
    signal(&child, rustix::process::Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    machine.nothing_lives_on("enable");
    assert_eq!(fs::read(machine.path("openssl.cnf")).unwrap(), b"a = b\n");
}

/// Full from the start, nearly full, and filled while the checks run: said as that, and nothing is enabled unchecked.
#[test]
fn a_full_folder_for_temporary_files_is_said_as_that() {
    let Some(machine) = Machine::new("/bin/bash") else { return };
    let mount = |size: &str| format!("mount -t tmpfs -o size={size} none \"$PLACE/tmp\" || exit 98");
    let full = format!("{}; cat /dev/zero >\"$PLACE/tmp/fill\" 2>/dev/null", mount("1m"));
    for first in [full, mount("1m"), mount("64k")] {
        let output = within(&mut machine.enable(&first), Duration::from_secs(20));
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            line.contains("the folder for temporary files is full, or nearly") && line.contains("TMPDIR"),
            "{line}"
        );
        assert!(line.contains("nothing was changed") && line.lines().count() == 1, "{line}");
        assert_eq!(fs::read(machine.path("openssl.cnf")).unwrap(), b"a = b\n");
        let mut verify = machine.command(&first, &["ssh", "verify", "--private"]);
        let output = within(&mut verify, Duration::from_secs(20));
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && line.contains("the folder for temporary files"), "{output:?}");
    }
    let output = within(&mut machine.enable(&mount("8m")), Duration::from_secs(50));
    assert!(output.status.success(), "{output:?}");
}
