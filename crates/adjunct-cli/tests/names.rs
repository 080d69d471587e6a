//! The command as it is called: by its own name and by those of the Z tools, as root and as another user.

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

fn adjunct(args: &[&str]) -> Output {
    Command::new(ADJUNCT).args(args).env_remove("ADJUNCT_CPU").output().unwrap()
}

fn called_as(name: &str, args: &[&str]) -> Output {
    Command::new(ADJUNCT).arg0(format!("/usr/bin/{name}")).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&text(output)).unwrap()
}

fn refused(output: &Output, status: i32) -> String {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_link_by_the_name_of_a_z_tool_is_that_tool() {
    let dir = tempfile::tempdir().unwrap();
    for (name, start) in [("icainfo", "              Cryptographic"), ("icastats", " function       |")] {
        let link = dir.path().join(name);
        symlink(ADJUNCT, &link).unwrap();
        assert!(text(&Command::new(&link).output().unwrap()).starts_with(start), "{name}");
        assert_eq!(text(&Command::new(&link).arg("-v").output().unwrap()), version(name));
        assert!(text(&Command::new(&link).arg("-h").output().unwrap()).contains("Usage: "));
    }
}

fn version(name: &str) -> String {
    format!("{name} {}\n", env!("CARGO_PKG_VERSION"))
}

#[test]
fn icainfo_takes_its_options() {
    assert!(text(&called_as("icainfo", &["-c"])).contains("EC curve"));
    assert!(text(&called_as("icainfo", &["--list-rsa"])).starts_with("RSA key lengths: "));
    assert!(text(&called_as("icainfo", &["-f"])).contains("FIPS"));
    refused(&called_as("icainfo", &["--json"]), 2);
    refused(&called_as("icainfo", &["word"]), 2);
}

#[test]
fn icastats_takes_its_options() {
    let report = json(&called_as("icastats", &["-k", "-j"]));
    let functions = report["users"][0]["functions"].as_array().unwrap();
    assert!(functions.iter().any(|f| f["function"] == "ECDSA Sign - 256" && f["hw-crypt"].is_u64()));
    assert!(functions.iter().any(|f| f["function"] == "AES GCM" && f["sw-dec"].is_u64()));
    for key in ["nodename", "sysname", "release", "machine", "date"] {
        assert!(report["host"][key].is_string(), "{key}");
    }
    refused(&called_as("icastats", &["--used"]), 2);
    refused(&called_as("icastats", &["-S", "-A"]), 2);
}

#[test]
fn info_and_stats_report_as_json() {
    let info = json(&adjunct(&["info", "--json"]));
    assert!(info["cpu"].is_string());
    assert!(info["functions"].as_array().unwrap().iter().any(|f| f["function"] == "AES GCM"));
    let stats = json(&adjunct(&["stats", "--json", "--key-sizes"]));
    assert!(stats["users"][0]["functions"][0]["hw-crypt-bytes"].is_u64());
    assert!(text(&adjunct(&["info", "-c"])).contains("prime256v1"));
    assert_eq!(text(&adjunct(&["--version"])), version("adjunct"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_masked_instruction_is_reported() {
    let masked = Command::new(ADJUNCT).args(["info", "--json"]).env("ADJUNCT_CPU", "-aes").output().unwrap();
    let info = json(&masked);
    let gcm = info["functions"].as_array().unwrap().iter().find(|f| f["function"] == "AES GCM").unwrap();
    assert_eq!(gcm["hardware"], false);
    assert!(!info["instructions"].as_array().unwrap().iter().any(|i| i == "AES-NI"));
}

#[test]
fn an_unknown_user_is_named() {
    let line = refused(&adjunct(&["stats", "-U", "no-such-user"]), 1);
    assert_eq!(line, "adjunct: user 'no-such-user' is not known on this system\n");
}

/// Runs only as root, who alone can become another user.
#[test]
fn other_users_are_shown_to_root_only() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("adjunct");
    std::fs::copy(ADJUNCT, &copy).unwrap();
    readable(dir.path());
    let nobody = |args: &[&str]| Command::new(&copy).args(args).uid(65534).gid(65534).output().unwrap();
    for args in [&["stats", "-A"][..], &["stats", "-S"], &["stats", "-R"], &["stats", "-D"], &["stats", "-U", "root"]] {
        let line = refused(&nobody(args), 1);
        assert!(line.starts_with("adjunct: only root may see or change") && line.lines().count() == 1, "{line}");
    }
    assert!(text(&nobody(&["stats", "-U", "65534"])).starts_with("User "));
}

fn readable(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(ADJUNCT).arg("info").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_full_disk_is_one_line() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(ADJUNCT).arg("info").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("adjunct: standard output: "));
}

#[test]
fn man_pages_and_completions_are_made() {
    let dir = tempfile::tempdir().unwrap();
    text(&adjunct(&["man", dir.path().to_str().unwrap()]));
    for page in ["adjunct", "adjunct-info", "adjunct-stats", "adjunct-openssl", "icainfo", "icastats"] {
        let page = std::fs::read_to_string(dir.path().join(format!("{page}.1"))).unwrap();
        assert!(page.contains(".TH"), "{page}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&adjunct(&["completions", shell])).contains("adjunct"));
    }
}

#[test]
fn a_wrong_command_line_is_2() {
    for args in [&["nope"][..], &["info", "--nope"], &["stats", "-r", "-d"], &["stats", "-R", "-U", "root"], &[]] {
        refused(&adjunct(args), 2);
    }
}
