//! Measurements are kept when the command is interrupted and when the disk is full, and no temporary file is left.

mod script;

use script::script;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

/// The command with a folder of its own for temporary files.
fn adjunct(temporary: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(ADJUNCT);
    command.args(args).env("TMPDIR", temporary).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn end(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn nothing_is_left(folder: &Path) {
    let left: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

const ROWS: [&str; 8] = [
    "bench",
    "openssl",
    "--noise",
    "--filter",
    "sha2-256",
    "--sizes",
    "64,128,256,512,1024,2048,4096,8192",
    "--seconds=0.3",
];

#[test]
fn rows_of_a_run_that_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let (temporary, file) = (dir.path().join("tmp"), dir.path().join("report.json"));
    fs::create_dir(&temporary).unwrap();
    fs::write(&file, "an earlier report").unwrap();
    let mut child = adjunct(&temporary, &ROWS).arg("--json").arg(&file).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.starts_with("SHA2-256 ")).expect("a row");
    end(&child, rustix::process::Signal::INT);
    let rest: Vec<String> = lines.collect();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}\n{rest:?}");
    let partial = dir.path().join("report.json.partial");
    assert_eq!(said, format!("adjunct: interrupted; what was measured until then is in {}\n", partial.display()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "an earlier report");
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&partial).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap().len();
    assert!((1..8).contains(&rows) && report["incomplete"] == "interrupted", "{report}");
    nothing_is_left(&temporary);
}

/// The report that is kept of a command with --json which is ended once it has `rows`. It is ended later and later until it has some.
fn kept(words: &[&str], rows: impl Fn(&serde_json::Value) -> usize) -> serde_json::Value {
    let dir = tempfile::tempdir().unwrap();
    let (temporary, file) = (dir.path().join("tmp"), dir.path().join("report.json"));
    fs::create_dir(&temporary).unwrap();
    for seconds in [3, 6, 12, 24, 48] {
        let json = format!("--json={}", file.display());
        let child = adjunct(&temporary, words).arg(json).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(seconds));
        end(&child, if seconds % 2 == 0 { rustix::process::Signal::TERM } else { rustix::process::Signal::INT });
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
        assert!(said.starts_with("adjunct: interrupted"), "{said}");
        assert!(!file.exists(), "a file of this name is a whole report");
        nothing_is_left(&temporary);
        let Ok(partial) = fs::read(dir.path().join("report.json.partial")) else { continue };
        let report: serde_json::Value = serde_json::from_slice(&partial).unwrap();
        assert_eq!(report["incomplete"], "interrupted", "{report}");
        if rows(&report) > 0 {
            return report;
        }
    }
    panic!("{words:?}: nothing was measured within 48 seconds")
}

#[test]
fn what_ssh_has_copied_and_tried() {
    let module = Path::new(ADJUNCT).with_file_name("libadjunct_openssl.so");
    if !Path::new("/usr/sbin/sshd").exists() || !module.is_file() {
        return println!("SKIPPED: no sshd, or no module built");
    }
    let words = ["ssh", "try", "--size=100K", "--runs=1000", "--trust-module", "--module", module.to_str().unwrap()];
    let report = kept(&words, |report| report["copies"].as_u64().unwrap() as usize);
    assert!(report["stock"]["mb_s"].as_f64() > Some(0.0) && report["adjunct"]["mb_s"].as_f64() > Some(0.0), "{report}");
    // So long that it is ended while it still measures what there is, before it compares two suites.
    let words = ["ssh", "tune", "--quick", "--time=3600"];
    let report = kept(&words, |report| report["survey"]["kex"].as_array().unwrap().len());
    assert!(report["plans"].as_array().unwrap().is_empty() && report["applied"] == false, "{report}");
}

/// Stands for a JVM that has made one of four handshakes when it is ended.
#[test]
fn handshakes_of_java() {
    let dir = tempfile::tempdir().unwrap();
    let (home, config, second) = (dir.path().join("jdk"), dir.path().join("a.security"), dir.path().join("second"));
    fs::write(&config, "security.provider.1=SUN\n").unwrap();
    let says = "printf '@\\tprovider\\tSunPKCS11-t\\t1\\n@\\trandom\\tSUN\\n@\\thandshake\\tTLS 1.2 RSA\\n@\\tpause\\tbefore\\tx\\n'
        read line; printf '@\\tpause\\tafter\\tx\\n'; read line
        printf '@\\tsuite\\tTLS_A\\n@\\thandshake\\tTLS 1.3 RSA\\n'";
    jdk(&home, &format!("case $0 in *keytool) exit 0;; esac\n{says}\n: >'{}'\nsleep 60 & wait", second.display()));
    let words = ["java", "verify", "--jdk", home.to_str().unwrap(), "--config", config.to_str().unwrap()];
    for json in [false, true] {
        let child = adjunct(dir.path(), &words).args(json.then_some("--json")).spawn().unwrap();
        wait_for("the second handshake", || fs::remove_file(&second).is_ok());
        end(&child, rustix::process::Signal::INT);
        let output = child.wait_with_output().unwrap();
        let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!((output.status.code(), said.as_str()), (Some(1), "adjunct: interrupted\n"), "{shown}");
        if json {
            let report: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(report["incomplete"], "interrupted");
            let handshakes = report["handshakes"].as_array().unwrap();
            assert_eq!((handshakes.len(), &handshakes[0]["suite"]), (1, &"TLS_A".into()), "{report}");
        } else {
            assert!(shown.contains("\nTLS 1.2 RSA, TLS_A\n") && shown.contains("it was ended early"), "{shown}");
            assert!(!shown.contains("TLS 1.3 RSA") && !shown.contains("is served by it"), "{shown}");
        }
    }
}

#[test]
fn a_report_that_a_full_disk_does_not_take() {
    let dir = tempfile::tempdir().unwrap();
    let words = [&ROWS[..5], &["--sizes=64", "--seconds=0.01", "--json", "/dev/full"]].concat();
    let output = adjunct(dir.path(), &words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said, "adjunct: /dev/full: the disk is full; what was to be written there went to standard output\n");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("\"rows\": [") && shown.contains("\nSHA2-256 "), "{shown}");
    // Standard output itself takes no more: there is standard error.
    let words = [&ROWS[..5], &["--sizes=64", "--seconds=0.01", "--json", "-"]].concat();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = adjunct(dir.path(), &words).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("\"rows\": ["), "{said}");
    assert!(said.ends_with("what was to be written there went to standard error\n"), "{said}");
}

/// A JDK whose keytool does what `text` says.
fn jdk(folder: &Path, text: &str) {
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::create_dir_all(folder.join("conf/security")).unwrap();
    fs::write(folder.join("release"), "JAVA_VERSION=\"17.0.15\"\nIMPLEMENTOR=\"nobody\"\n").unwrap();
    fs::write(folder.join("conf/security/java.security"), "security.provider.1=SUN\n").unwrap();
    for name in ["java", "keytool"] {
        script(&folder.join("bin").join(name), &format!("#!/bin/sh\n{text}\n"));
    }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder for temporary files whose name has what configurations of servers take for something else: a real login and a real handshake.
#[test]
fn a_blank_in_the_path_of_temporary_files() {
    let dir = tempfile::tempdir().unwrap();
    let temporary = dir.path().join("a \"b\" c");
    fs::create_dir(&temporary).unwrap();
    let ssh = ["ssh", "verify", "--private", "--size", "10K"];
    let module = Path::new(ADJUNCT).with_file_name("libadjunct_openssl.so");
    let tls = ["bench", "tls", "--seconds=0.2", "--rounds=1", "--filter=RSA-2048", "--protocol=1.3", "--side=stock"];
    for (words, installed) in [
        (&ssh[..], Path::new("/usr/sbin/sshd").exists()),
        (&[&tls[..], &["--server=nginx"]].concat(), Path::new("/usr/sbin/nginx").exists() && module.is_file()),
        (&[&tls[..], &["--server=haproxy"]].concat(), Path::new("/usr/sbin/haproxy").exists() && module.is_file()),
    ] {
        if !installed {
            println!("SKIPPED: {words:?}");
            continue;
        }
        let mut command = adjunct(&temporary, words);
        if words[0] == "bench" {
            command.arg("--trust-module").arg("--module").arg(&module);
        }
        let output = command.output().unwrap();
        let (said, shown) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        // Whether a session was served in hardware is another question (3).
        assert!(matches!(output.status.code(), Some(0 | 3)), "{words:?}: {said}{shown}");
        nothing_is_left(&temporary);
    }
}

/// No temporary folder is left by any signal that ends the command, whether the programs that it started react to a signal or not.
#[test]
fn no_temporary_folder_is_left() {
    use rustix::process::Signal;
    let dir = tempfile::tempdir().unwrap();
    let (temporary, home, config) = (dir.path().join("tmp"), dir.path().join("jdk"), dir.path().join("a.security"));
    fs::create_dir(&temporary).unwrap();
    fs::write(&config, "security.provider.1=SUN\n").unwrap();
    jdk(&home, &format!("trap '' INT TERM HUP\n: >'{}'\nsleep 30 & wait", dir.path().join("runs").display()));
    let words = ["java", "verify", "--jdk", home.to_str().unwrap(), "--config", config.to_str().unwrap()];
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let child = adjunct(&temporary, &words).spawn().unwrap();
        wait_for("keytool runs", || fs::remove_file(dir.path().join("runs")).is_ok());
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1, "the folder of keys");
        end(&child, signal);
        let output: Output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("interrupted"), "{said}");
        nothing_is_left(&temporary);
    }
    // Nothing can be done against this one. The next run sees what is left, and that nobody has it.
    let mut child = adjunct(&temporary, &words).spawn().unwrap();
    wait_for("keytool runs", || fs::remove_file(dir.path().join("runs")).is_ok());
    child.kill().unwrap();
    child.wait().unwrap();
    let left = fs::read_dir(&temporary).unwrap().flatten().next().expect("a folder is left").path();
    let hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(&left).unwrap().set_modified(hour_ago).unwrap();
    let mut child = adjunct(&temporary, &words).spawn().unwrap();
    wait_for("the next run removes it", || !left.exists());
    end(&child, Signal::TERM);
    child.wait().unwrap();
    nothing_is_left(&temporary);
}

/// On a terminal, something that takes long says so, and for how long it has been going on; elsewhere it prints nothing of that.
#[test]
fn long_work_is_not_silent() {
    if Command::new("script").arg("--version").output().is_err() {
        return println!("SKIPPED: no script(1) here");
    }
    let dir = tempfile::tempdir().unwrap();
    script(&dir.path().join("openssl"), "#!/bin/sh\nsleep 4\necho 'OpenSSL 1.1.1w  11 Sep 2023'\n");
    let path = format!("{}:/usr/bin:/bin", dir.path().display());
    let quiet = adjunct(dir.path(), &["openssl", "status"]).env("PATH", &path).spawn().unwrap();
    let mut command = Command::new("script");
    command.args(["-qec", &format!("\"{ADJUNCT}\" openssl status"), "/dev/null"]);
    let output = command.env("TERM", "xterm").env("SHELL", "/bin/sh").env("PATH", &path).stdin(Stdio::null()).output();
    let shown = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
    assert!(shown.contains("configuration is looked at") && shown.contains("for 0:03"), "{shown:?}");
    let quiet = quiet.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&quiet.stderr).contains("for 0:0"), "{quiet:?}");
}
