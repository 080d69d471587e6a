//! Files that other users choose: a FIFO, a device without end, a socket, too much. Root's commands and the package's script
//! come past them, and every command ends when it is told to.

mod script;

use script::script;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");
/// Far more than any of it takes, and less than a person waits.
const LIMIT: Duration = Duration::from_secs(60);

/// The provider that cargo built beside the command.
fn module() -> PathBuf {
    Path::new(ADJUNCT).with_file_name("libadjunct_openssl.so")
}

/// The end of a command; one that hangs is killed and fails the test.
fn ended(mut child: Child, limit: Duration) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command to its end, by files: what hangs must not make the test hang.
fn output(command: &mut Command) -> Output {
    let (out, err) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    command.stdin(Stdio::null()).stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
    let status = ended(command.spawn().unwrap(), LIMIT);
    Output { status, stdout: fs::read(out.path()).unwrap(), stderr: fs::read(err.path()).unwrap() }
}

fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
}

/// A program with a libcrypto that reads its configuration in `folder`; none where there is no compiler.
fn program_that_reads(dir: &TempDir, name: &str, folder: &Path) -> Option<PathBuf> {
    let tree = dir.path().join("tree").join(name);
    fs::create_dir_all(&tree).unwrap();
    let library = format!(
        "const char v[] = \"OpenSSL 3.0.19 27 Jan 2026\"; const char d[] = \"OPENSSLDIR: \\\"{}\\\"\";\n\
         int EVP_Digest() {{ return v[0] + d[0]; }}\n",
        folder.display()
    );
    let compile = |source: &str, out: &Path, flags: &[&str]| {
        let code = dir.path().join("code.c");
        fs::write(&code, source).unwrap();
        Command::new("cc").arg("-w").arg("-o").arg(out).arg(&code).args(flags).status().is_ok_and(|s| s.success())
    };
    let (libcrypto, program) = (tree.join("libcrypto.so.3"), tree.join("program"));
    let flags = [libcrypto.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
    (compile(&library, &libcrypto, &["-shared", "-fPIC", "-Wl,-soname,libcrypto.so.3"])
        && compile("int EVP_Digest(); int main(void) { return EVP_Digest(); }", &program, &flags))
    .then_some(program)
}

/// `openssl status` over a tree of programs whose configurations are traps, each in its own way.
#[test]
fn a_survey_comes_past_every_trap() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("openssl.cnf");
    fs::write(&config, "a = b\n").unwrap();
    let folder = |name: &str| {
        let folder = dir.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let traps = ["fifo", "endless", "socket", "include", "includes", "long"].map(folder);
    let [a_fifo, endless, socket, include, includes, long] = &traps;
    fifo(&a_fifo.join("openssl.cnf"));
    symlink("/dev/zero", endless.join("openssl.cnf")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(socket.join("openssl.cnf")).unwrap();
    fifo(&include.join("x.cnf"));
    fs::write(include.join("openssl.cnf"), format!(".include {}/x.cnf\n", include.display())).unwrap();
    fs::create_dir(includes.join("d")).unwrap();
    fifo(&includes.join("d/x.cnf"));
    fs::write(includes.join("openssl.cnf"), format!(".include {}/d\n", includes.display())).unwrap();
    // A hole: it takes no room on the disk, and a terabyte of memory if it is read.
    fs::File::create(long.join("openssl.cnf")).unwrap().set_len(1 << 40).unwrap();
    for trap in &traps {
        let name = trap.file_name().unwrap().to_str().unwrap();
        if program_that_reads(&dir, name, trap).is_none() {
            return eprintln!("SKIPPED: no compiler");
        }
    }
    let mut command = Command::new(ADJUNCT);
    command.args(["openssl", "status", "--json", "--proc", "/nonexistent", "--config"]).arg(&config);
    command.arg("--below").arg(dir.path().join("tree")).env_remove("OPENSSL_CONF");
    let output = output(&mut command);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    let list = report["programs"]["list"].as_array().unwrap();
    assert_eq!(list.len(), traps.len(), "{report:#}");
    assert!(list.iter().all(|program| program["gets"] == "neither"), "{report:#}");
}

/// A configuration given to a command, or included by it, that is no file, gives one line of error.
#[test]
fn a_configuration_that_is_no_file_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fifo(&path("fifo.cnf"));
    fs::create_dir(path("d")).unwrap();
    fifo(&path("d/in.cnf"));
    symlink("/dev/zero", path("endless.cnf")).unwrap();
    for (name, included) in [("one.cnf", "fifo.cnf"), ("two.cnf", "d"), ("three.cnf", "endless.cnf")] {
        fs::write(path(name), format!(".include {}\n", path(included).display())).unwrap();
    }
    for name in ["fifo.cnf", "endless.cnf", "one.cnf", "two.cnf", "three.cnf"] {
        let mut command = Command::new(ADJUNCT);
        command.args(["openssl", "enable", "--dry-run", "--config"]).arg(path(name)).env_remove("OPENSSL_CONF");
        let output = output(command.args(["--trust-module", "--module"]).arg(module()));
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && line.contains("is no regular file"), "{name}: {line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

/// A home in which every file that `--for ssh` reads is a FIFO.
#[test]
fn a_home_of_fifos_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for folder in [".config/adjunct", ".local/bin"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    for name in [".config/adjunct/ssh.cnf", ".local/bin/ssh", ".local/bin/scp", ".profile"] {
        fifo(&dir.path().join(name));
        fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = Command::new(ADJUNCT);
        let path = format!("{}:{}", dir.path().join(".local/bin").display(), std::env::var("PATH").unwrap());
        command.arg("openssl").args(args).env("HOME", dir.path()).env("PATH", path);
        output(command.env_remove("XDG_CONFIG_HOME").env_remove("OPENSSL_CONF"))
    };
    let disabled = run(&["disable", "--for", "ssh", "--yes"]);
    assert!(disabled.status.success(), "{disabled:?}");
    assert!(String::from_utf8_lossy(&disabled.stdout).contains("is not enabled for your ssh"), "{disabled:?}");
    let below = dir.path().join(".config");
    let status = run(&["status", "--json", "--proc", "/nonexistent", "--below", below.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&status.stdout).unwrap_or_else(|e| panic!("{e}: {status:?}"));
    assert_eq!(report["for"][1]["enabled"], false, "{report:#}");
}

/// Every command ends when it is told to, though it waits for a program that neither ends nor reacts to a signal.
#[test]
fn every_command_ends_when_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let started = dir.path().join("started");
    let text = format!(
        "#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >>{0}\n(trap '' TERM; echo $(sh -c 'echo $PPID') >>{0}; exec sleep 300) &\n\
         sleep 300\n",
        started.display()
    );
    for name in ["openssl", "ssh"] {
        script(&bin.join(name), &text);
    }
    let config = dir.path().join("openssl.cnf");
    fs::write(&config, "").unwrap();
    let config = config.to_str().unwrap();
    let module = module();
    let commands: [&[&str]; 4] = [
        &["openssl", "status", "--config", config],
        &["openssl", "enable", "--yes", "--config", config, "--trust-module", "--module", module.to_str().unwrap()],
        &["ssh", "verify", "--private"],
        &["ssh", "try", "--size", "1K"],
    ];
    for args in commands {
        let _ = fs::remove_file(&started);
        let mut command = Command::new(ADJUNCT);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        command.args(args).env("PATH", path).env_remove("OPENSSL_CONF").env("TMPDIR", dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let start = Instant::now();
        let lines = || fs::read_to_string(&started).unwrap_or_default().lines().count();
        while lines() < 2 && start.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = ended(child, Duration::from_secs(25));
        assert!(status.code() == Some(1) || status.signal() == Some(15), "{args:?}: {status}");
        let pids = fs::read_to_string(&started).unwrap();
        for pid in pids.split_whitespace() {
            let alive = || {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
            };
            let start = Instant::now();
            while alive() && start.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(!alive(), "{args:?}: process {pid} lives on");
        }
    }
}

/// The package's script before removal waits for no user who does not answer it.
#[test]
fn the_packages_script_waits_for_no_user() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    let home = dir.path().join("home");
    fs::create_dir_all(home.join(".config/adjunct")).unwrap();
    fs::write(home.join(".config/adjunct/ssh.cnf"), "").unwrap();
    fs::create_dir(&bin).unwrap();
    let user = format!("u:x:4242:4242::{}:/bin/sh", home.display());
    script(
        &bin.join("getent"),
        &format!("#!/bin/sh\n[ -n \"$2\" ] && echo root:x:0:0::/root:/bin/sh || echo '{user}'\n"),
    );
    // As the user: it writes what drives a terminal, leaves a child behind that holds what it writes to, and does not end.
    let text = "#!/bin/sh\nprintf 'adjunct is \\033]0;x\\007 lies\\n'\nsetsid sleep 20 &\ntrap '' TERM\nsleep 20 & wait; sleep 20\n";
    script(&bin.join("runuser"), text);
    script(
        &bin.join("adjunct"),
        &format!("#!/bin/sh\necho \"$@\" >>{}\necho adjunct is gone\n", dir.path().join("asked").display()),
    );
    script(&bin.join("unshare"), "#!/bin/sh\nexit 1\n");
    // A timeout(1) of one second, whatever time the script asks for.
    script(&bin.join("timeout"), "#!/bin/sh\nshift 3\nexec /usr/bin/timeout -k 1 1 \"$@\"\n");
    let prerm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/debian/prerm");
    let mut command = Command::new("sh");
    command.arg(prerm).arg("remove").env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", bin.display()));
    let start = Instant::now();
    let output = output(&mut command);
    assert!(output.status.success() && start.elapsed() < Duration::from_secs(15), "{output:?}");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(said.contains("adjunct: not disabled: ") && !said.contains('\x1b'), "{said:?}");
    assert!(said.contains("adjunct is gone"), "{said}");
    let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
    assert_eq!(asked, "openssl disable --yes\nstats --delete-all\n");
}
