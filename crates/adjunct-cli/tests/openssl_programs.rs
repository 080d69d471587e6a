//! `adjunct openssl status` about programs: programs that are compiled for the test, broken files, running processes. The survey is of a tree of the
//! test's own, and of its own processes.

mod copy;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

/// A folder with a configuration in which a module is enabled, and what compiles programs.
struct Lab {
    dir: TempDir,
    config: PathBuf,
    module: PathBuf,
}

/// A module that loads: adjunct's own where it is built, else any provider of OpenSSL's.
fn module() -> Option<PathBuf> {
    let said = Command::new("openssl").args(["version", "-m"]).output().ok()?.stdout;
    let folder = String::from_utf8(said).ok()?.split('"').nth(1).map(PathBuf::from)?;
    let beside = Path::new(ADJUNCT).with_file_name("libadjunct_openssl.so");
    [beside, folder.join("adjunct.so"), folder.join("legacy.so")].into_iter().find(|p| p.is_file())
}

impl Lab {
    /// `None`, with the reason on standard error, where the machine lacks what the test needs.
    fn new() -> Option<Lab> {
        let skip = |what: &str| eprintln!("SKIPPED: no {what} on this machine");
        let Some(module) = module() else {
            skip("provider module");
            return None;
        };
        let found = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
        if !found("cc") || libcrypto().is_none() {
            skip("compiler or libcrypto");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let config = dir.path().join("openssl.cnf");
        let options = adjunct_openssl_conf::Options::new(module.to_str().unwrap(), None);
        let text = adjunct_openssl_conf::enable(b"", &options, &adjunct_openssl_conf::NoIncludes).unwrap();
        fs::write(&config, text).unwrap();
        fs::create_dir(dir.path().join("proc")).unwrap();
        symlink("/proc/stat", dir.path().join("proc/stat")).unwrap();
        Some(Lab { dir, config, module })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Compiles C to a file in the folder.
    fn compile(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let (code, program) = (self.path(&format!("{name}.c")), self.path(name));
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&code, source).unwrap();
        let mut command = Command::new("cc");
        let output = command.arg("-w").arg("-o").arg(&program).arg(&code).args(flags).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    }

    fn status(&self, args: &[&str]) -> Output {
        let mut command = Command::new(ADJUNCT);
        command.args(["openssl", "status", "--config"]).arg(&self.config).args(args);
        command.arg("--proc").arg(self.path("proc"));
        command.env_remove("OPENSSL_CONF").env("ADJUNCT_STATS", "off").output().unwrap()
    }

    /// Has the survey see a process.
    fn sees(&self, pid: u32) {
        symlink(format!("/proc/{pid}"), self.path(&format!("proc/{pid}"))).unwrap();
    }

    /// What is said of one program.
    fn about(&self, program: &Path) -> Value {
        let output = self.status(&["--json", "--program", program.to_str().unwrap()]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
        let list = report["programs"]["list"].as_array().unwrap();
        assert!(list.len() <= 1, "{list:?}");
        list.first().cloned().unwrap_or(Value::Null)
    }
}

/// The machine's libcrypto, which needs no development package to link with.
fn libcrypto() -> Option<PathBuf> {
    let output = Command::new("sh").args(["-c", "ldd \"$(command -v openssl)\""]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().find(|line| line.contains("libcrypto.so."))?;
    line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from)
}

fn crypto() -> String {
    libcrypto().unwrap().to_str().unwrap().to_owned()
}

const EVP: &str = "int EVP_Digest(); int main(void) { return EVP_Digest(0, 0, 0, 0, 0, 0); }";
const LOW: &str = "int RSA_sign(), AES_encrypt(); int main(void) { return RSA_sign() + AES_encrypt(); }";

#[test]
fn what_a_program_calls_decides_what_it_gets() {
    let Some(lab) = Lab::new() else { return };
    let evp = lab.about(&lab.compile("evp", EVP, &[&crypto()]));
    assert_eq!((evp["gets"].as_str(), evp["provider"]["gets"].as_bool()), (Some("provider"), Some(true)), "{evp}");
    assert!(evp["version"].as_str().unwrap().starts_with("OpenSSL 3"), "{evp}");
    assert_eq!(evp["plugin"], false);
    let low = lab.about(&lab.compile("low", LOW, &[&crypto()]));
    assert_eq!(low["provider"]["gets"], false, "{low}");
    assert_eq!(low["engine_calls"][0]["functions"], serde_json::json!(["RSA_sign"]));
    assert_eq!(low["bypasses"][0]["functions"], serde_json::json!(["AES_encrypt"]));
    let major = evp["version"].as_str().unwrap().trim_start_matches("OpenSSL ").split('.').next().unwrap();
    assert_eq!(low["could_get"], if major == "3" { "engine" } else { "neither" });
    let none = lab.compile("none", "int main(void) { return 0; }", &[]);
    assert_eq!(lab.about(&none), Value::Null);
    let said = lab.status(&["--program", none.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("uses no OpenSSL"), "{said:?}");
    assert!(said.status.success());
}

#[test]
fn libraries_are_found_as_the_loader_finds_them() {
    let Some(lab) = Lab::new() else { return };
    let library = "int EVP_Digest(); int hash(void) { return EVP_Digest(0, 0, 0, 0, 0, 0); }";
    lab.compile("own/libhash.so.1", library, &["-shared", "-fPIC", "-Wl,-soname,libhash.so.1", &crypto()]);
    let folder = lab.path("own");
    let program = "int hash(void); int main(void) { return hash(); }";
    for (name, tags) in [("runpath", "-Wl,--enable-new-dtags"), ("rpath", "-Wl,--disable-new-dtags")] {
        let library = folder.join("libhash.so.1");
        let flags = [library.to_str().unwrap(), tags, "-Wl,-rpath,$ORIGIN/own", "-Wl,--allow-shlib-undefined"];
        let built = lab.about(&lab.compile(name, program, &flags));
        assert_eq!(
            (built["gets"].as_str(), built["through"].as_str()),
            (Some("provider"), Some("libhash.so.1")),
            "{built}"
        );
    }
    // Without the folder in it, the program would not start either.
    let flags = [folder.join("libhash.so.1").to_str().unwrap().to_owned(), "-Wl,--allow-shlib-undefined".to_owned()];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(lab.about(&lab.compile("lost", program, &flags)), Value::Null);
}

#[test]
fn other_versions_of_openssl_are_told_by_their_text() {
    let Some(lab) = Lab::new() else { return };
    let library = |text: &str, engines: &str| {
        format!(
            "const char v[] = \"{text}\"; {engines} int RSA_sign() {{ return v[0]; }} int EVP_Digest() {{ return 0; }}"
        )
    };
    for (name, text, engines, gets, why) in [
        (
            "libcrypto.so.1.1",
            "OpenSSL 1.1.1w  11 Sep 2023",
            "int ENGINE_by_id() { return 1; }",
            "neither",
            "no providers",
        ),
        ("libcrypto.so.4", "OpenSSL 4.0.0 14 Apr 2026", "", "provider", "has no engines"),
        ("libcrypto.so.56", "LibreSSL 4.1.0", "", "neither", "no providers"),
    ] {
        let soname = format!("-Wl,-soname,{name}");
        let built = lab.compile(name, &library(text, engines), &["-shared", "-fPIC", &soname]);
        let source = "int EVP_Digest(), RSA_sign(); int main(void) { return EVP_Digest() + RSA_sign(); }";
        let flags = [built.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
        let program = lab.about(&lab.compile(&format!("with-{name}"), source, &flags));
        assert_eq!(program["gets"], gets, "{program}");
        assert!(text.starts_with(program["version"].as_str().unwrap()), "{program}");
        assert!(program["engine"]["why"].as_str().unwrap().contains(why), "{program}");
    }
}

#[test]
fn openssl_inside_a_program_is_found_by_its_text() {
    let Some(lab) = Lab::new() else { return };
    let source = "const char room[2000000] = {1}; const char v[] = \"OpenSSL 3.0.2 15 Mar 2022\";\n\
                  const char d[] = \"OPENSSLDIR: \\\"/nowhere/ssl\\\"\"; int main(void) { return room[0] + v[0] + d[0]; }";
    let program = lab.about(&lab.compile("inside", source, &["-O0"]));
    assert_eq!((program["gets"].as_str(), program["version"].as_str()), (Some("unknown"), Some("OpenSSL 3.0.2")));
    assert_eq!(program["libcrypto"], Value::Null);
    assert!(program["provider"]["why"].as_str().unwrap().contains("linked into it statically"), "{program}");
}

#[test]
fn rights_of_others_keep_a_configuration_out() {
    let Some(lab) = Lab::new() else { return };
    let program = lab.compile("setgid", EVP, &[&crypto()]);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o2755)).unwrap();
    if fs::metadata(&program).unwrap().permissions().mode() & 0o2000 == 0 {
        eprintln!("SKIPPED: this file system keeps no setgid bit");
        return;
    }
    let about = lab.about(&program);
    assert_eq!((about["gets"].as_str(), about["rights"].as_str()), (Some("neither"), Some("setgid")), "{about}");
    assert!(about["provider"]["why"].as_str().unwrap().contains("ignores OPENSSL_CONF"), "{about}");
}

#[test]
fn what_is_no_program_is_one_line() {
    let Some(lab) = Lab::new() else { return };
    let good = fs::read(lab.compile("good", EVP, &[&crypto()])).unwrap();
    let line = |name: &str, bytes: Option<&[u8]>| {
        let path = lab.path(name);
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let output = lab.status(&["--program", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(line.lines().count(), 1, "{line}");
        line
    };
    assert!(line("nothing", None).contains("no such program"));
    assert!(line("script", Some(b"#!/bin/sh\n")).contains("no compiled program"));
    assert!(line("cut", Some(&good[..100])).contains("broken ELF file"));
    let mut wild = good.clone();
    // The place of the program headers.
    wild[32..40].copy_from_slice(&[0xff; 8]);
    assert!(line("wild", Some(&wild)).contains("broken ELF file"));
    let by_name = lab.status(&["--program", "no-such-program-here"]);
    assert!(String::from_utf8_lossy(&by_name.stderr).contains("no such program"), "{by_name:?}");
}

/// A running program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_runs_is_seen_with_what_it_has_loaded() {
    let Some(lab) = Lab::new() else { return };
    let source = "#include <unistd.h>\n#include <stdio.h>\nint EVP_Digest(); void *EVP_sha256(void);\n\
                  int main(int n, char **v) { unsigned char d[64]; if (n > 1) EVP_Digest(\"\", 0L, d, 0L, EVP_sha256(), 0L);\n\
                  puts(\"ready\"); fflush(stdout); pause(); return 0; }";
    let program = lab.compile("daemon", source, &[&crypto()]);
    let start = |computes: bool| {
        let mut command = Command::new(&program);
        command.args(computes.then_some("x")).env("OPENSSL_CONF", &lab.config).env("ADJUNCT_STATS", "off");
        let mut child = Running(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut ready = [0; 5];
        std::io::Read::read_exact(child.0.stdout.as_mut().unwrap(), &mut ready).unwrap();
        lab.sees(child.0.id());
        child
    };
    let (with, without) = (start(true), start(false));
    let processes = || {
        let about = lab.about(&program);
        let list = about["processes"].as_array().unwrap().clone();
        let of = |child: &Running| list.iter().find(|p| p["pid"] == child.0.id()).cloned().unwrap();
        (of(&with), of(&without))
    };
    let (one, other) = processes();
    assert_eq!((one["loaded"].as_bool(), other["loaded"].as_bool()), (Some(true), Some(false)), "{one} {other}");
    // As if it had been enabled after they were started.
    let later = SystemTime::now() + Duration::from_secs(3600);
    fs::File::options().append(true).open(&lab.config).unwrap().set_modified(later).unwrap();
    let (one, other) = processes();
    assert_eq!(one["restart"], Value::Null);
    assert!(other["restart"].as_str().unwrap().contains("before adjunct was enabled"), "{other}");
    let said = lab.status(&["--program", program.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("start it again: started before"), "{said}");
    assert!(lab.module.is_file());
}

#[test]
fn a_tree_of_programs_is_surveyed() {
    let Some(lab) = Lab::new() else { return };
    lab.compile("tree/bin/evp", EVP, &[&crypto()]);
    lab.compile("tree/bin/deeper/none", "int main(void) { return 0; }", &[]);
    let plugin = "int EVP_Digest(); int hash(void) { return EVP_Digest(0, 0, 0, 0, 0, 0); }";
    lab.compile("tree/lib/plugin.so", plugin, &["-shared", "-fPIC", "-Wl,-soname,plugin.so", &crypto()]);
    lab.compile("beside", EVP, &[&crypto()]);
    let tree = lab.path("tree");
    let below = ["--below", tree.to_str().unwrap()];
    let output = lab.status(&[&below[..], &["--json"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    let list = report["programs"]["list"].as_array().unwrap();
    let seen: Vec<_> = list.iter().map(|p| (p["path"].as_str().unwrap(), p["plugin"].as_bool().unwrap())).collect();
    let path = |name: &str| tree.canonicalize().unwrap().join(name).to_str().unwrap().to_owned();
    assert_eq!(seen, [(path("bin/evp").as_str(), false), (path("lib/plugin.so").as_str(), true)], "{report}");
    assert!(list.iter().all(|p| p["gets"] == "provider"), "{report}");
    // Both reports are about the same programs.
    for args in [&below[..], &[&below[..], &["--programs"]].concat()] {
        let text = String::from_utf8(lab.status(args).stdout).unwrap();
        assert!(text.contains("bin/evp") && text.contains("provider"), "{text}");
        assert!(text.contains("processes:") && !text.contains('\x1b'), "{text}");
    }
    let nowhere = lab.status(&["--below", "/nonexistent"]);
    assert_eq!(nowhere.status.code(), Some(1), "{nowhere:?}");
}

/// Control characters in the names of programs, their folders and processes are written out in every report and error.
#[test]
fn control_characters_reach_no_terminal() {
    let Some(lab) = Lab::new() else { return };
    let name = "tree/a\u{1b}]0;x\u{7}\n\u{9b}31m/p\u{1b}[2J\u{202e}";
    let program = lab.path(name);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let source = "#include <unistd.h>\nint EVP_Digest(); void *EVP_sha256(void);\n\
                  int main(void) { unsigned char d[64]; EVP_Digest(\"\", 0L, d, 0L, EVP_sha256(), 0L); pause(); return 0; }";
    fs::rename(lab.compile("plain", source, &[&crypto()]), &program).unwrap();
    let child = Running(Command::new(&program).env("OPENSSL_CONF", "/dev/null").spawn().unwrap());
    lab.sees(child.0.id());
    let maps = || fs::read_to_string(format!("/proc/{}/maps", child.0.id())).unwrap_or_default();
    let start = Instant::now();
    while !maps().contains("libcrypto") && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let harmless = |text: &[u8]| {
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{text:?}");
        text
    };
    let tree = lab.path("tree");
    let below = ["--below", tree.to_str().unwrap()];
    for args in [&[][..], &["--programs"], &["--json"]] {
        let output = lab.status(&[&below[..], args].concat());
        let text = harmless(&output.stdout);
        assert!(text.contains("]0;x"), "{text}");
        assert!(args == ["--json"] || !text.lines().any(|line| line.starts_with('\u{9b}')), "{text}");
    }
    assert!(harmless(&lab.status(&["--program", program.to_str().unwrap()]).stdout).contains("]0;x"));
    let gone = lab.status(&["--program", program.with_file_name("\u{1b}c\n").to_str().unwrap()]);
    let line = harmless(&gone.stderr);
    assert_eq!((gone.status.code(), line.lines().count()), (Some(1), 1), "{line:?}");
}

#[test]
fn another_user_sees_the_programs_too() {
    let Some(lab) = Lab::new() else { return };
    if !nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    // The program lies where only its owner may look, as a rule.
    let copy = lab.path("adjunct");
    copy::copy(ADJUNCT, &copy);
    fs::set_permissions(&lab.config, fs::Permissions::from_mode(0o644)).unwrap();
    lab.compile("tree/evp", EVP, &[&crypto()]);
    // This test's own process is root's.
    lab.sees(std::process::id());
    let mut command = Command::new(&copy);
    command.args(["openssl", "status", "--json", "--config"]).arg(&lab.config);
    command.arg("--below").arg(lab.path("tree")).arg("--proc").arg(lab.path("proc"));
    std::os::unix::process::CommandExt::uid(&mut command, 65534);
    std::os::unix::process::CommandExt::gid(&mut command, 65534);
    let output = command.env("ADJUNCT_STATS", "off").env_remove("OPENSSL_CONF").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    assert_eq!(report["programs"]["list"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["programs"]["hidden_processes"], 1, "{report}");
}
