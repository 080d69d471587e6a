//! `adjunct openssl enable --for sshd|ssh`: for sshd in a mount namespace with a copy of /etc, for ssh in a folder that is
//! this user's home for it. The system's own files are read and never written.

mod copy;
mod module;
mod outcome;
mod script;

use copy::copy;
use module::module;
use outcome::{failed, good};
use script::script;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");
/// Arguments of `status` that do without a survey of the machine's programs and processes.
const STATUS: &[&str] = &["status", "--below", "/etc", "--proc", "/nonexistent"];

/// A copy of /etc in which sshd is a service of systemd's that reads /etc/default/ssh.
struct Etc {
    dir: TempDir,
    module: PathBuf,
    /// What is run in the namespace before the command.
    before: String,
}

impl Etc {
    fn new() -> Option<Etc> {
        let possible = nix::unistd::geteuid().is_root()
            && Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|s| s.success());
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].iter().any(|p| Path::new(p).is_file());
        if !possible || !sshd {
            eprintln!("SKIPPED: needs root, mount namespaces and sshd");
            return None;
        }
        let etc = Etc { dir: tempfile::tempdir().unwrap(), module: module()?, before: String::new() };
        fs::set_permissions(etc.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        etc.copy();
        for gone in ["adjunct", "systemd/system/ssh.service.d", "systemd/system/sshd.service.d"] {
            let _ = fs::remove_dir_all(etc.path(gone));
        }
        etc.unit("EnvironmentFile=-/etc/default/ssh");
        fs::create_dir_all(etc.path("default")).unwrap();
        etc.write("default/ssh", "# Options\nSSHD_OPTS=\n");
        etc.write("ssl/openssl.cnf", "config_diagnostics = 1\nopenssl_conf = init\n[init]\n[ca]\n");
        etc.keep();
        Some(etc)
    }

    /// Copies /etc. Where packages are installed meanwhile, files vanish between their listing and their copying.
    fn copy(&self) {
        let copied = || {
            let _ = fs::remove_dir_all(self.path(""));
            Command::new("cp").args(["-a", "/etc"]).arg(self.dir.path()).status().unwrap().success()
        };
        let done = (0..20).any(|_| {
            copied() || {
                std::thread::sleep(Duration::from_millis(500));
                false
            }
        });
        assert!(done, "/etc cannot be copied");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("etc").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn unit(&self, line: &str) {
        self.write("systemd/system/ssh.service", &format!("[Service]\n{line}\nExecStart=/usr/sbin/sshd -D\n"));
    }

    /// What /etc must be again.
    fn keep(&self) {
        let kept = self.dir.path().join("kept");
        let _ = fs::remove_dir_all(&kept);
        assert!(Command::new("cp").arg("-a").arg(self.path("")).arg(kept).status().unwrap().success());
    }

    fn differences(&self) -> String {
        let kept = self.dir.path().join("kept");
        let output =
            Command::new("diff").args(["-r", "--no-dereference"]).arg(kept).arg(self.path("")).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A command that sees the copy as /etc.
    fn command(&self, program: &str, args: &[&str]) -> Command {
        let script = format!("mount --bind \"$1\" /etc || exit 99; {}\nshift; exec \"$@\"", self.before);
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh"]).arg(self.path("")).arg(program).args(args);
        command
            .env_remove("OPENSSL_CONF")
            .env("ADJUNCT_STATS", "off")
            .env("HOME", self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn adjunct(&self, args: &[&str]) -> Output {
        self.command(ADJUNCT, &[&["openssl"], args].concat()).output().unwrap()
    }

    fn enable(&self) -> Output {
        self.adjunct(&["enable", "--yes", "--for", "sshd", "--trust-module", "--module", self.module.to_str().unwrap()])
    }

    /// Checks that a command is refused with one line that has these words, and that /etc is as it was.
    fn refused(&self, words: &[&str]) {
        let line = failed(&self.enable());
        assert!(words.iter().all(|word| line.contains(word)), "{line}");
        assert_eq!(self.differences(), "");
    }
}

#[test]
fn sshd_alone_is_enabled_and_restored() {
    let Some(etc) = Etc::new() else { return };
    let said = good(&etc.enable());
    assert!(said.contains("a login over loopback works: yes") && said.contains("restart"), "{said}");
    let environment = etc.read("default/ssh");
    assert!(environment.contains("\nOPENSSL_CONF=/etc/adjunct/sshd.cnf\nexport OPENSSL_CONF\n"), "{environment}");
    let own = etc.read("adjunct/sshd.cnf");
    assert!(own.contains(".include /etc/ssl/openssl.cnf\n") && !own.contains("engines"), "{own}");
    assert!(good(&etc.enable()).contains("is enabled already for sshd"));

    let status = etc.adjunct(&[STATUS, &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&good(&status)).unwrap();
    assert_eq!(report["enabled"].as_bool(), Some(false), "not for all programs");
    let sshd = &report["for"][0];
    assert_eq!((sshd["for"].as_str(), sshd["working"].as_bool()), (Some("sshd"), Some(true)), "{report}");
    assert!(good(&etc.adjunct(STATUS)).contains("for sshd:       enabled and in force"));

    // The system's configuration goes on, and is followed.
    etc.write("ssl/openssl.cnf", "config_diagnostics = 1\nopenssl_conf = init\n[init]\n[ca]\ndefault_days = 9\n");
    let conf = "OPENSSL_CONF=/etc/adjunct/sshd.cnf";
    let listed = etc.command("env", &[conf, "openssl", "list", "-providers"]).output().unwrap();
    assert!(good(&listed).contains("\n  adjunct\n"));

    // Nobody is locked out by a file that vanishes: the module, the system's configuration, the own one.
    let works = |etc: &Etc, what: &str| {
        let output = etc.command("env", &[conf, "ssh", "-G", "localhost"]).output().unwrap();
        assert!(output.status.success(), "{what}: {output:?}");
        let output = etc.command("env", &[conf, "openssl", "rand", "-hex", "8"]).output().unwrap();
        assert!(output.status.success(), "{what}: {output:?}");
    };
    etc.write("adjunct/sshd.cnf", &own.replace(etc.module.to_str().unwrap(), "/nonexistent/adjunct.so"));
    works(&etc, "no module");
    let status = etc.adjunct(STATUS);
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.status.code() == Some(1) && text.contains("enabled, not in force"), "{text}");
    fs::remove_file(etc.path("ssl/openssl.cnf")).unwrap();
    works(&etc, "no configuration of the system's");
    fs::remove_dir_all(etc.path("adjunct")).unwrap();
    works(&etc, "no configuration of its own");

    etc.write("ssl/openssl.cnf", "config_diagnostics = 1\nopenssl_conf = init\n[init]\n[ca]\n");
    etc.write("adjunct/sshd.cnf", &own);
    let said = good(&etc.adjunct(&["disable", "--yes"]));
    assert!(said.contains("/etc/default/ssh is what it was before, byte for byte"), "{said}");
    assert_eq!(etc.differences(), "");
    assert_eq!(etc.adjunct(STATUS).status.code(), Some(3));
    good(&etc.adjunct(&["disable", "--yes", "--for", "sshd"]));
}

#[test]
fn a_unit_without_a_file_gets_a_drop_in() {
    let Some(etc) = Etc::new() else { return };
    etc.unit("Environment=LANG=C");
    etc.keep();
    let said = good(&etc.enable());
    assert!(said.contains("systemctl daemon-reload"), "{said}");
    let text = etc.read("systemd/system/ssh.service.d/adjunct.conf");
    assert!(text.contains("\n[Service]\nEnvironment=OPENSSL_CONF=/etc/adjunct/sshd.cnf\n"), "{text}");
    good(&etc.adjunct(STATUS));
    good(&etc.adjunct(&["disable", "--yes", "--for", "sshd"]));
    assert_eq!(etc.differences(), "");
}

/// A link and a file that is not there yet; changes of others beside ours stay.
#[test]
fn the_file_of_variables_may_be_a_link_or_missing() {
    let Some(etc) = Etc::new() else { return };
    fs::rename(etc.path("default/ssh"), etc.path("default/real")).unwrap();
    symlink("real", etc.path("default/ssh")).unwrap();
    etc.keep();
    good(&etc.enable());
    assert!(fs::symlink_metadata(etc.path("default/ssh")).unwrap().is_symlink());
    let text = etc.read("default/real") + "MORE=1\n";
    fs::write(etc.path("default/real"), text).unwrap();
    assert!(good(&etc.adjunct(&["disable", "--yes"])).contains("keeps what others changed in it"));
    assert_eq!(etc.read("default/real"), "# Options\nSSHD_OPTS=\nMORE=1\n");
    fs::remove_file(etc.path("default/ssh")).unwrap();
    etc.keep();
    good(&etc.enable());
    assert!(etc.read("default/ssh").contains("OPENSSL_CONF=/etc/adjunct/sshd.cnf"));
    good(&etc.adjunct(&["disable", "--yes", "--json"]));
    assert_eq!(etc.differences(), "");
}

#[test]
fn what_does_not_go_for_sshd_changes_nothing() {
    let Some(mut etc) = Etc::new() else { return };
    etc.write("default/ssh", "A=1\nOPENSSL_CONF=/my.cnf\n");
    etc.keep();
    etc.refused(&["/etc/default/ssh: line 2: OPENSSL_CONF is '/my.cnf' already", "--config"]);
    etc.write("default/ssh", "A='open\n");
    etc.keep();
    etc.refused(&["/etc/default/ssh: a quotation"]);
    etc.write("default/ssh", "A=1\r\n");
    etc.keep();
    etc.refused(&["/etc/default/ssh: it has line ends"]);
    etc.write("default/ssh", "A=1\n");
    etc.unit("Environment=\"OPENSSL_CONF=/unit.cnf\"\nEnvironmentFile=-/etc/default/ssh");
    etc.keep();
    etc.refused(&["/etc/systemd/system/ssh.service: line 2: OPENSSL_CONF is '/unit.cnf'"]);
    etc.unit("EnvironmentFile=-/etc/default/ssh");
    etc.write("adjunct/sshd.cnf", "mine = 1\n");
    etc.keep();
    etc.refused(&["/etc/adjunct/sshd.cnf: is there already and not adjunct's"]);
    fs::remove_dir_all(etc.path("adjunct")).unwrap();
    let sshd_config = etc.read("ssh/sshd_config");
    etc.write("ssh/sshd_config", "NoSuchKeyword yes\n");
    etc.keep();
    etc.refused(&["sshd -t: ", "NoSuchKeyword", "nothing was changed"]);
    etc.write("ssh/sshd_config", &sshd_config);
    etc.keep();
    etc.before = "mount -o remount,bind,ro /etc || exit 99".to_owned();
    etc.refused(&["/etc/adjunct: Read-only file system"]);
    // A full disk: room for the folder, none for what goes into it.
    etc.before = "mkdir /etc/adjunct; mount -t tmpfs -o size=4k,nr_inodes=2 none /etc/adjunct; \
                  dd if=/dev/zero of=/etc/adjunct/x bs=4k count=1 2>/dev/null"
        .to_owned();
    etc.keep();
    let line = failed(&etc.enable());
    assert!(line.contains("the disk is full"), "{line}");
    let _ = fs::remove_dir(etc.path("adjunct"));
    assert_eq!(etc.read("default/ssh"), "A=1\n");
}

#[test]
fn others_than_root_are_told_so() {
    let Some(etc) = Etc::new() else { return };
    let program = etc.dir.path().join("adjunct");
    let own = etc.dir.path().join("module.so");
    copy(ADJUNCT, &program);
    fs::copy(&etc.module, &own).unwrap();
    let mut command = etc.command("setpriv", &["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(&program).args(["openssl", "enable", "--yes", "--for", "sshd", "--trust-module", "--module"]).arg(&own);
    let line = failed(&command.output().unwrap());
    assert!(line.contains("run it as root"), "{line}");
    assert_eq!(etc.differences(), "");
}

/// If the restart fails, every change is undone; if it succeeds, none is.
#[test]
fn a_restart_is_seen_to_work() {
    let Some(etc) = Etc::new() else { return };
    let bin = etc.dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for (status, done) in [(1, false), (0, true)] {
        let log = bin.join("log");
        for name in ["systemctl", "service"] {
            let text = format!("#!/bin/sh\necho \"$*\" >>{}\necho no such luck >&2\nexit {status}\n", log.display());
            script(&bin.join(name), &text);
        }
        let _ = fs::remove_file(&log);
        let mut command = etc.command(
            ADJUNCT,
            &["openssl", "enable", "--yes", "--for", "sshd", "--restart", "--trust-module", "--module"],
        );
        let output = command.arg(&etc.module).env("PATH", &path).output().unwrap();
        let restarts = fs::read_to_string(log).unwrap().matches("restart").count();
        if done {
            assert!(good(&output).contains("sshd was restarted") && restarts == 1);
            // Where nothing has to be changed, too.
            let again = etc
                .command(
                    ADJUNCT,
                    &["openssl", "enable", "--yes", "--for", "sshd", "--restart", "--trust-module", "--module"],
                )
                .arg(&etc.module)
                .env("PATH", &path)
                .output()
                .unwrap();
            let said = good(&again);
            assert!(said.contains("is enabled already for sshd") && said.contains("sshd was restarted"), "{said}");
            assert_eq!(fs::read_to_string(bin.join("log")).unwrap().matches("restart").count(), 2);
        } else {
            let line = failed(&output);
            assert!(line.contains("no such luck; everything was put back") && restarts == 2, "{line}");
            assert_eq!(etc.differences(), "");
        }
    }
    good(&etc.adjunct(&["disable", "--yes", "--for", "sshd"]));
    assert_eq!(etc.differences(), "");
}

/// An interrupt anywhere leaves everything as before, or everything done.
#[test]
fn an_interrupt_leaves_nothing_half_done() {
    let Some(etc) = Etc::new() else { return };
    let mut interrupted = 0;
    for after in [50, 400, 900, 1500, 2300] {
        let mut command =
            etc.command(ADJUNCT, &["openssl", "enable", "--yes", "--for", "sshd", "--trust-module", "--module"]);
        let child = command.arg(&etc.module).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        // unshare and sh have become the command by now, or have not started it yet.
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            assert!(etc.read("default/ssh").contains("OPENSSL_CONF"));
            good(&etc.adjunct(&["disable", "--yes"]));
        } else {
            interrupted += 1;
            // Before the command has taken the signal over it just ends.
            let line = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(line.lines().count() <= 1, "{line}");
            assert!(line.is_empty() || line.contains("interrupted"), "{line}");
        }
        assert_eq!(etc.differences(), "", "after {after} ms");
    }
    assert!(interrupted > 0);
}

/// A home for `--for ssh`.
struct Home {
    dir: TempDir,
    module: PathBuf,
}

impl Home {
    fn new() -> Option<Home> {
        if !Path::new("/usr/bin/ssh").is_file() {
            eprintln!("SKIPPED: no ssh here");
            return None;
        }
        Some(Home { dir: tempfile::tempdir().unwrap(), module: module()? })
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", self.dir.path().join(".local/bin").display());
        command.env_remove("OPENSSL_CONF").env_remove("XDG_CONFIG_HOME").env("HOME", self.dir.path());
        command.env("PATH", path).env("ADJUNCT_STATS", "off").stdin(Stdio::null());
        command
    }

    fn adjunct(&self, args: &[&str]) -> Output {
        self.command(ADJUNCT).arg("openssl").args(args).output().unwrap()
    }

    fn enable(&self) -> Output {
        self.adjunct(&["enable", "--yes", "--for", "ssh", "--trust-module", "--module", self.module.to_str().unwrap()])
    }

    /// Every file and folder.
    fn tree(&self) -> Vec<String> {
        let output =
            Command::new("find").arg(self.dir.path()).args(["-mindepth", "1", "-printf", "%P\n"]).output().unwrap();
        let mut names: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        names.sort();
        names
    }
}

#[test]
fn a_users_ssh_alone_is_enabled_and_restored() {
    let Some(home) = Home::new() else { return };
    let said = good(&home.enable());
    assert!(said.contains("is enabled for your ssh"), "{said}");
    assert!(good(&home.enable()).contains("is enabled for your ssh"), "a second time nothing is done");
    let config = home.dir.path().join(".config/adjunct/ssh.cnf");
    // What each program gives the ssh that it starts, and ssh its own children.
    for words in [&["ssh", "host"][..], &["scp", "host:x", "/dev/null"], &["sftp", "host"]] {
        let proxy = ["-F", "none", "-o", "ProxyCommand=env | cat >&2"];
        let args = [&["-c", "exec \"$@\"", "sh", words[0]], &proxy[..], &words[1..]].concat();
        let output = home.command("sh").args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(&format!("OPENSSL_CONF={}\n", config.display())), "{words:?}: {text}");
    }
    // What is set already stays.
    let kept = home.command("ssh").args(["-G", "localhost"]).env("OPENSSL_CONF", "/dev/null").output().unwrap();
    good(&kept);
    let status = home.adjunct(&[STATUS, &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    let ssh = report["for"].as_array().unwrap().iter().find(|t| t["for"] == "ssh").unwrap();
    assert_eq!((ssh["enabled"].as_bool(), ssh["working"].as_bool()), (Some(true), Some(true)), "{ssh}");
    // Nothing vanishes from under anybody: without the configuration the scripts run what they stand before.
    let aside = home.dir.path().join("aside");
    fs::rename(&config, &aside).unwrap();
    good(&home.command("ssh").args(["-G", "localhost"]).output().unwrap());
    fs::rename(&aside, &config).unwrap();
    good(&home.adjunct(&["disable", "--yes", "--for", "ssh"]));
    assert_eq!(home.tree(), Vec::<String>::new());
}

#[test]
fn what_is_the_users_own_stays() {
    let Some(home) = Home::new() else { return };
    let bin = home.dir.path().join(".local/bin");
    fs::create_dir_all(&bin).unwrap();
    let own = bin.join("scp");
    fs::write(&own, "#!/bin/sh\nexec /usr/bin/scp -C \"$@\"\n").unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let tree = home.tree();
    let line = failed(&home.enable());
    assert!(line.contains(".local/bin/scp: is there already and not adjunct's"), "{line}");
    assert_eq!(home.tree(), tree);
    fs::remove_file(own).unwrap();
    good(&home.enable());
    good(&home.adjunct(&["disable", "--yes"]));
    assert_eq!(home.tree(), [".local", ".local/bin"], "a folder that was there stays");
}

#[test]
fn another_users_home_and_closed_folders_are_one_line() {
    let Some(home) = Home::new() else { return };
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let tools = tempfile::tempdir().unwrap();
    fs::set_permissions(tools.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (program, module) = (tools.path().join("adjunct"), tools.path().join("module.so"));
    copy(ADJUNCT, &program);
    fs::copy(&home.module, &module).unwrap();
    fs::set_permissions(home.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let enable = || {
        let mut command = home.command(&program);
        command
            .args(["openssl", "enable", "--yes", "--for", "ssh", "--trust-module", "--module"])
            .arg(&module)
            .uid(65534)
            .gid(65534);
        failed(&command.output().unwrap())
    };
    assert!(enable().contains("is another user's"));
    std::os::unix::fs::chown(home.dir.path(), Some(65534), Some(65534)).unwrap();
    let bin = home.dir.path().join(".local");
    fs::create_dir(&bin).unwrap();
    let line = enable();
    assert!(line.contains(".local/bin: Permission denied"), "{line}");
    assert_eq!(home.tree(), [".local"]);
}

#[test]
fn words_that_do_not_go_together_are_2() {
    for args in [
        &["enable", "--for", "nobody"][..],
        &["enable", "--for", "sshd", "--config", "x"],
        &["enable", "--restart"],
        &["enable", "--engine", "RSA", "--no-engine"],
        &["enable", "--engine", "NONSENSE", "--dry-run"],
        &["disable", "--for", "ssh", "--config", "x"],
    ] {
        let output = Command::new(ADJUNCT).arg("openssl").args(args).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    }
}
