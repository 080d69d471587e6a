//! Errors where a server does not start, with programs in place of a JDK's that behave as Java and Open Liberty do then.

use super::fetch::Fetched;
use super::{Args, run_with};
use adjunct_tool::process::wait_for;
use clap::Parser;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// Makes a PKCS #11 module with its one function, which no test calls.
fn make_module(path: &Path) {
    let source = path.with_extension("c");
    fs::write(&source, "unsigned long C_GetFunctionList(void **list) { return 5; }\n").unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(path).arg(&source).status().unwrap();
    assert!(status.success(), "{status}");
}

/// A JDK whose `java` does what `server` says, and the folder of the notes that it takes.
struct Fake {
    dir: TempDir,
}

impl Fake {
    fn new(server: &str) -> Fake {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("jdk/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(dir.path().join("wlp/bin/tools")).unwrap();
        fs::write(dir.path().join("jdk/release"), "JAVA_VERSION=\"17.0.15\"\nIMPLEMENTOR=\"nobody\"\n").unwrap();
        let notes = dir.path().display();
        // The folder that it works in, and its number.
        let java = format!("notes='{notes}'\npwd >\"$notes/folder\"\necho $$ >\"$notes/number\"\n{server}\n");
        let keytool = "while [ $# -gt 1 ]; do shift; done\necho key >\"$1\"\n".to_owned();
        for (name, text) in [("java", java), ("keytool", keytool), ("javac", "exit 0\n".to_owned())] {
            let path = bin.join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        make_module(&dir.path().join("module.so"));
        fs::write(dir.path().join("report.json"), "before").unwrap();
        Fake { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the benchmark, which fails, and gives its one line of error; panics if anything of what was begun is left.
    fn line(&self, start: Duration) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        let (jdk, module, json, html) = (path("jdk"), path("module.so"), path("report.json"), path("page.html"));
        let words = ["java", "--jdk", &jdk, "--module", &module, "--trust-module", "--rows", "http"];
        let files = ["--json", &json, "--html", &html, "--cache", &path("cache")];
        let args = Line::parse_from(words.iter().chain(&files)).args;
        let fetched = Fetched { liberty: self.path("wlp"), classes: path("classes") };
        // A program that was just written may still be open for writing, in a child that another test has forked.
        let line = loop {
            let fetched = Fetched { liberty: fetched.liberty.clone(), classes: fetched.classes.clone() };
            let line = run_with(&args, start, |_, _, _| Ok(fetched)).unwrap_err().to_string();
            if !line.contains("Text file busy") {
                break line;
            }
        };
        assert_eq!(line.lines().count(), 1, "{line}");
        let note = |name: &str| fs::read_to_string(self.path(name)).unwrap().trim().to_owned();
        // What it has started goes with it: a killed process ends when the kernel next runs it.
        for name in ["number", "child"].into_iter().filter(|name| self.path(name).exists()) {
            let stat = Path::new("/proc").join(note(name).parse::<u32>().unwrap().to_string()).join("stat");
            let is_gone = || !fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
            assert!(wait_for(Duration::from_secs(20), is_gone), "{name} is left");
        }
        assert!(!Path::new(&note("folder")).exists());
        assert_eq!(fs::read_to_string(&json).unwrap(), "before");
        let left = |name: &str| fs::read_dir(self.dir.path()).unwrap().flatten().any(|e| e.file_name() == name);
        assert!(!left("page.html") && !left("cache"));
        line
    }
}

/// A shell command that prints these lines and runs on, as a server does. Its child is noted before it prints: the test may end it from then on. It
/// ends by itself should a test leave it.
fn says(lines: &[&str]) -> String {
    let words: String = lines.iter().map(|line| format!("echo '{line}'\n")).collect();
    format!("sleep 60 & echo $! >\"$notes/child\"\n{words}wait")
}

/// More than a test takes.
const LONG: Duration = Duration::from_secs(100);

#[test]
fn a_jvm_that_ends_at_once_is_told_with_its_own_words() {
    let fake = Fake::new("echo 'Error: Could not create the Java Virtual Machine.' >&2\nexit 1");
    let line = fake.line(LONG);
    assert_eq!(line, "Open Liberty (http) ended (exit status: 1): Error: Could not create the Java Virtual Machine.");
    let fake = Fake::new("exit 20");
    assert_eq!(fake.line(LONG), "Open Liberty (http) ended (exit status: 20): its log is empty");
    let fake = Fake::new("kill -SEGV $$");
    assert_eq!(fake.line(LONG), "Open Liberty (http) ended (signal: 11 (SIGSEGV)): its log is empty");
}

#[test]
fn a_port_that_another_has_is_told_at_once() {
    // Open Liberty goes on without the port, and says that it is ready.
    let error = "[ERROR   ] CWWKO0221E: TCP Channel defaultHttpEndpoint initialization did not succeed. The socket bind did not \
                 succeed for host 127.0.0.1 and port 1. The port might already be in use.";
    let ready = "[AUDIT   ] CWWKF0011I: The hello server is ready.";
    let begun = Instant::now();
    let line = Fake::new(&says(&[error, ready])).line(LONG);
    assert_eq!(line, format!("Open Liberty (http) did not get its port: {error}"));
    assert!(begun.elapsed() < LONG / 2);
}

#[test]
fn a_server_that_does_not_answer_is_ended() {
    let short = Duration::from_secs(2);
    let fake = Fake::new(&says(&["[AUDIT   ] CWWKE0001I: The server hello has been launched."]));
    let line = fake.line(short);
    assert_eq!(line, "Open Liberty (http) does not start: [AUDIT   ] CWWKE0001I: The server hello has been launched.");
    let words = "[ERROR   ] CWWKF0001E: A feature definition could not be found for servlet-6.0";
    let fake = Fake::new(&says(&[words, "[AUDIT   ] CWWKF0011I: ready"]));
    assert_eq!(fake.line(short), format!("Open Liberty (http) does not answer: {words}"));
}

#[test]
fn a_jdk_whose_tools_fail_is_told_before_any_server_starts() {
    let fake = Fake::new("exit 1");
    let keytool = fake.path("jdk/bin/keytool");
    fs::write(&keytool, "#!/bin/sh\necho 'keytool error: no such algorithm'\nexit 1\n").unwrap();
    let args = ["java", "--rows", "http", "--trust-module", "--jdk"];
    let (jdk, module) = (fake.path("jdk"), fake.path("module.so"));
    let args = args.iter().map(Path::new).chain([jdk.as_path(), Path::new("--module"), &module]);
    let args = Line::parse_from(args.map(Path::as_os_str).chain(["--cache".as_ref(), "/nowhere".as_ref()])).args;
    let line = loop {
        let fetched = Fetched { liberty: fake.path("wlp"), classes: String::new() };
        let line = run_with(&args, LONG, |_, _, _| Ok(fetched)).unwrap_err().to_string();
        if !line.contains("Text file busy") {
            break line;
        }
    };
    assert_eq!(line, "keytool: keytool error: no such algorithm");
    assert!(!fake.path("number").exists());
}
