//! The command as it is called: by its own name and by those of the Z tools, as root and as another user.

mod copy;
#[path = "../../adjunct/tests/tally/mod.rs"]
mod tally;

use adjunct::catalogue::Direction;
use adjunct::catalogue::Function;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tally::Tally;

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

/// The counters of this test run, apart from the user's own.
fn key() -> String {
    format!("c11{:x}", std::process::id())
}

fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_remove("ADJUNCT_CPU").env("ADJUNCT_STATS_KEY", key());
    command
}

fn adjunct(args: &[&str]) -> Output {
    command(Path::new(ADJUNCT), args).output().unwrap()
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
    for (name, start) in [
        ("icainfo", "              Cryptographic"),
        ("icainfo-cex", "              Cryptographic"),
        ("icastats", " function       |"),
    ] {
        let link = dir.path().join(name);
        symlink(ADJUNCT, &link).unwrap();
        assert!(text(&Command::new(&link).output().unwrap()).starts_with(start), "{name}");
        assert_eq!(text(&Command::new(&link).arg("-v").output().unwrap()), of_z(name));
        assert!(text(&Command::new(&link).arg("-h").output().unwrap()).contains("Usage: "));
    }
}

fn version(name: &str) -> String {
    format!("{name} {}\n", env!("CARGO_PKG_VERSION"))
}

/// The version of libica first, in its words: scripts read it there.
fn of_z(name: &str) -> String {
    let library = if name == "icainfo-cex" { "libica-cex" } else { "libica" };
    format!("{name}: {library} version 4.4.0\nbuild: {}", version("adjunct"))
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
    copy::copy(ADJUNCT, &copy);
    readable(dir.path());
    let nobody = |args: &[&str]| command(&copy, args).uid(65534).gid(65534).output().unwrap();
    for args in [&["stats", "-A"][..], &["stats", "-S"], &["stats", "-R"], &["stats", "-D"], &["stats", "-U", "root"]] {
        let line = refused(&nobody(args), 1);
        assert!(line.starts_with("adjunct: only root may see or change") && line.lines().count() == 1, "{line}");
    }
    assert!(text(&nobody(&["stats", "-U", "65534"])).starts_with("User "));
    assert!(refused(&nobody(&["stats", "-U", "root"]), 1).contains("the statistics of user root"));
}

/// Not a test: the process whose calls the next one looks for, started with counters of its own.
#[test]
#[ignore = "run by counted_calls_are_shown"]
fn count_a_few_calls() {
    adjunct::init();
    let gcm = Tally::new(Function::AesGcm, 256);
    (0..7).for_each(|_| gcm.count(Direction::Encrypt, 16_384));
    gcm.count(Direction::Decrypt, 100);
    Tally::delegated(Function::Ecdh, 320).count(Direction::Encrypt, 0);
}

#[test]
fn counted_calls_are_shown() {
    let key = format!("c22{:x}", std::process::id());
    let ours = |args: &[&str]| command(Path::new(ADJUNCT), args).env("ADJUNCT_STATS_KEY", &key).output().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "count_a_few_calls", "--ignored"])
        .env("ADJUNCT_STATS_KEY", &key)
        .env_remove("ADJUNCT_STATS")
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    let report = json(&ours(&["stats", "--json", "--used", "-k"]));
    let rows = report["users"][0]["functions"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|r| r["function"] == name).unwrap_or_else(|| panic!("{name}: {report}"));
    let sum = |row: &serde_json::Value, keys: [&str; 2]| keys.iter().map(|k| row[k].as_u64().unwrap()).sum::<u64>();
    for name in ["AES GCM", "AES GCM - 256"] {
        assert_eq!(sum(row(name), ["hw-enc", "sw-enc"]), 7);
        assert_eq!(sum(row(name), ["hw-enc-bytes", "sw-enc-bytes"]), 7 * 16_384);
        assert_eq!(sum(row(name), ["hw-dec-bytes", "sw-dec-bytes"]), 100);
    }
    assert_eq!(row("ECDH")["fallbacks"]["delegated"], 1);
    assert_eq!(row("ECDH - 320")["sw-crypt"], 1);
    assert!(text(&ours(&["stats", "--used"])).contains("handed to OpenSSL's default provider: ECDH 1"));
    text(&ours(&["stats", "-r"]));
    assert!(text(&ours(&["stats", "--used"])).contains("nothing was counted"));
    text(&ours(&["stats", "-d"]));
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
fn man_pages_are_made() {
    let dir = tempfile::tempdir().unwrap();
    text(&adjunct(&["man", "--date", "2026-11-21", dir.path().to_str().unwrap()]));
    let page = |name: &str| std::fs::read_to_string(dir.path().join(format!("{name}.1"))).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let tools = [
        "icainfo",
        "icainfo-cex",
        "icastats",
        "cpacfstats",
        "pkcsconf",
        "pkcsstats",
        "p11sak",
        "lszcrypt",
        "chzcrypt",
        "zcryptctl",
        "zcryptstats",
    ];
    for name in
        ["adjunct", "adjunct-info", "adjunct-stats", "adjunct-openssl", "adjunct-cards-sysfs"].into_iter().chain(tools)
    {
        let title = format!(".TH \"{name}\" 1 \"2026-11-21\" \"adjunct {version}\" ");
        assert!(page(name).starts_with(&title), "{name}");
        assert_eq!(page(name).contains(".SH SUBCOMMANDS"), ["adjunct", "adjunct-openssl"].contains(&name), "{name}");
    }
    let enable = page("adjunct-openssl-enable");
    for section in ["NOTES", "EXIT STATUS", "EXAMPLES", "SEE ALSO\nadjunct\\-openssl(1)"] {
        assert!(enable.contains(&format!(".SH {section}\n")), "{section}");
    }
    // No line of an example may be read as a request.
    assert!(enable.lines().all(|l| !l.starts_with('\'')));
}

#[test]
fn completions_are_made() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&adjunct(&["completions", shell])).contains("adjunct"));
        for name in
            ["icastats", "icainfo-cex", "cpacfstats", "pkcsconf", "pkcsstats", "p11sak", "lszcrypt", "zcryptctl"]
        {
            assert!(text(&adjunct(&["completions", shell, name])).contains(name));
        }
    }
    assert_eq!(adjunct(&["completions", "bash", "lsreipl"]).status.code(), Some(2));
}

#[test]
fn a_wrong_command_line_is_2() {
    for args in [
        &["nope"][..],
        &["info", "--nope"],
        &["stats", "-x"],
        &["stats", "-r", "-d"],
        &["stats", "-R", "-U", "root"],
        &["doctor", ""],
        &["doctor", " "],
        &[],
    ] {
        refused(&adjunct(args), 2);
    }
}
