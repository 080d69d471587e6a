//! `icainfo`, `icainfo-cex` and `icastats` as scripts for IBM Z call them: the same options, and the same tables to the byte.

#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
#[path = "../../adjunct/tests/tally/mod.rs"]
mod tally;

use adjunct::catalogue::Direction;
use adjunct::catalogue::Function;
use copy::copy;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tally::Tally;

const ZTOOLS: &str = env!("CARGO_BIN_EXE_adjunct-ztools");
/// The output of `icainfo` on a machine without crypto hardware; from IBM Z, except for the software column, which is off there.
const ICAINFO: &str = include_str!("../src/info/icainfo.txt");
const CURVES: &str = include_str!("../src/info/icainfo-c.txt");
/// What `icastats` prints on Z where nothing was counted.
const ICASTATS: &str = include_str!("../src/stats/icastats.txt");
const KEY_SIZES: &str = include_str!("../src/stats/icastats-k.txt");
/// A processor without crypto instructions.
const PLAIN: &str = if cfg!(target_arch = "x86_64") {
    "-aes,-pclmul,-sha,-avx512"
} else if cfg!(target_arch = "aarch64") {
    "-aes,-pmull,-sha1,-sha256,-sha512,-sha3"
} else {
    ""
};

fn tool(program: &Path, name: &str, key: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg0(name).args(args).env("ADJUNCT_STATS_KEY", key);
    for variable in ["ADJUNCT_CPU", "LIBICA_FALLBACK_MODE", "ICAPATH", "ADJUNCT_ACCELERATOR"] {
        command.env_remove(variable);
    }
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn icainfo(args: &[&str]) -> Command {
    tool(Path::new(ZTOOLS), "icainfo", "none", args)
}

/// The rows of a table, which say "yes" and "no" by the machine, as those of a machine without hardware.
fn without_hardware(table: &str) -> String {
    let row = |line: &str| match line.split('|').count() {
        4 => format!("{}\n", line.replace("    yes     |", "     no     |")),
        _ => format!("{line}\n"),
    };
    table.lines().map(row).collect()
}

#[test]
fn icainfo_prints_the_tables_of_z() {
    assert_eq!(said(icainfo(&[]).env("ADJUNCT_CPU", PLAIN)), ICAINFO);
    for option in ["-c", "--list-curves"] {
        assert_eq!(said(icainfo(&[option]).env("ADJUNCT_CPU", PLAIN)), CURVES);
    }
    assert_eq!(without_hardware(&said(&mut icainfo(&[]))), ICAINFO);
    assert_eq!(without_hardware(&said(&mut icainfo(&["-c"]))), CURVES);
    let disabled = said(icainfo(&[]).env("LIBICA_FALLBACK_MODE", "0").env("ADJUNCT_CPU", PLAIN));
    assert!(disabled.contains("\n       AES GCM |     no     |     no     |      -     \n"), "{disabled}");
    assert!(disabled.contains("\n RSA Keygen ME |     no     |     no     |    yes     \n"), "{disabled}");
    assert!(disabled.ends_with("\nSoftware fallbacks are disabled.\n"));
    let without_curves = said(icainfo(&["-c"]).env("ICAPATH", "1").env("ADJUNCT_CPU", PLAIN));
    assert!(without_curves.contains("\n brainpoolP160r1 |     no     |     no     |     no\n"), "{without_curves}");
    assert!(without_curves.contains("\n          X25519 |     no     |     no     |    yes\n"), "{without_curves}");
    assert_eq!(said(icainfo(&[]).env("LIBICA_FALLBACK_MODE", "1").env("ADJUNCT_CPU", PLAIN)), ICAINFO);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn batches_are_dynamic_hardware_and_instructions_static() {
    let columns = |table: &str, name: &str| {
        let row = table.lines().find(|line| line.split('|').next().is_some_and(|first| first.trim() == name));
        let cells: Vec<bool> = row.expect(name).split('|').skip(1).map(|cell| cell.trim() == "yes").collect();
        (cells[0], cells[1], cells[2])
    };
    let lanes = std::is_x86_feature_detected!("avx512ifma") && std::is_x86_feature_detected!("avx512bw");
    let aes = std::is_x86_feature_detected!("aes");
    let asked = |args: &[&str]| said(icainfo(args).env("ADJUNCT_ACCELERATOR", "always"));
    let (functions, curves) = (asked(&[]), asked(&["-c"]));
    for (name, dynamic, instructions) in [
        ("AES CBC", false, aes),
        ("RSA CRT", lanes, lanes),
        ("RSA ME", columns(&functions, "RSA ME").0, false),
        ("ECDH", lanes, false),
        ("ECDSA Sign", lanes, lanes),
        ("ECDSA Verify", false, false),
        ("Ed25519 Sign", lanes, false),
        ("X448 Derive", false, false),
        ("SHA3-256", false, false),
    ] {
        assert_eq!(columns(&functions, name), (dynamic, instructions, true), "{name}");
    }
    for (curve, dynamic) in [("prime256v1", lanes), ("secp521r1", lanes), ("brainpoolP256r1", false), ("X25519", lanes)]
    {
        assert_eq!(columns(&curves, curve), (dynamic, false, true), "{curve}");
    }
    // Threads share batches only where that is asked for.
    for other in ["", "on", "off"] {
        let functions = said(icainfo(&[]).env("ADJUNCT_ACCELERATOR", other));
        assert_eq!(columns(&functions, "ECDH"), (false, false, true), "'{other}'");
        assert_eq!(columns(&functions, "RSA CRT"), (false, lanes, true), "'{other}'");
    }
}

#[test]
fn icainfo_takes_its_options() {
    for option in ["-r", "--list-rsa"] {
        let rsa = said(&mut icainfo(&[option]));
        let mut lines = rsa.lines();
        assert!(lines.next().unwrap().starts_with("RSA key lengths: ") && rsa.contains(" ... 4096 bits.\n"), "{rsa}");
        assert_eq!(lines.next(), Some("RSA public exponents greater or equal to 3."));
        assert_eq!(lines.next(), Some("No built-in FIPS support."));
    }
    for option in ["-f", "--list-fips-exceptions"] {
        assert_eq!(said(&mut icainfo(&[option])), "Built-in FIPS support: FIPS 140-3 mode inactive.\n");
    }
    for option in ["-v", "--version"] {
        assert!(said(&mut icainfo(&[option])).starts_with("icainfo: libica version 4.4"));
    }
    for option in ["-h", "--help"] {
        let help = said(&mut icainfo(&[option]));
        for word in ["-v, --version", "-c, --list-curves", "-r, --list-rsa", "-f, --list-fips-exceptions", "-h, --help"]
        {
            assert!(help.contains(word), "{word}: {help}");
        }
    }
    let json: serde_json::Value = serde_json::from_str(&said(&mut icainfo(&["--json"]))).unwrap();
    assert_eq!(json["functions"].as_array().unwrap().len(), 54);
    assert!(json["functions"][0]["static"].is_boolean() && json["curves"].as_array().unwrap().len() == 16);
}

/// The tables of icainfo, about libica-cex: no instructions, whatever the processor has, and a dash in their column.
#[test]
fn icainfo_cex_knows_cards_only() {
    let cex = |args: &[&str]| tool(Path::new(ZTOOLS), "icainfo-cex", "none", args);
    let dashes = |table: &str| -> String {
        let row = |line: &str| match line.split('|').collect::<Vec<_>>()[..] {
            [name, dynamic, "     no     ", software] => format!("{name}|{dynamic}|      -     |{software}\n"),
            _ => format!("{line}\n"),
        };
        table.lines().map(row).collect()
    };
    let functions = dashes(ICAINFO) + "CPACF support is disabled in libica-cex.\n";
    assert_eq!(said(cex(&[]).env("ADJUNCT_CPU", PLAIN)), functions);
    assert_eq!(said(cex(&["-c"]).env("ADJUNCT_CPU", PLAIN)), dashes(CURVES));
    assert_eq!(without_hardware(&said(&mut cex(&[]))), functions);
    let cards = |table: &str| -> Vec<_> {
        let first = |line: &str| Some((line.split('|').next()?.to_owned(), line.split('|').nth(1)?.trim() == "yes"));
        table.lines().filter_map(first).collect()
    };
    let asked = |mut command: Command| said(command.env("ADJUNCT_ACCELERATOR", "always"));
    // The candidates of one RSA key are a batch, which one operation has to itself: an instruction's work there, and a card's here.
    let keys = |name: &str| name.trim().starts_with("RSA Keygen");
    let of_several = |mut rows: Vec<(String, bool)>| {
        rows.retain(|(name, _)| !keys(name));
        rows
    };
    assert_eq!(of_several(cards(&asked(cex(&[])))), of_several(cards(&asked(icainfo(&[])))));
    // What the batches' instructions do alone is a card's here.
    let alone = cards(&said(&mut cex(&[])));
    let lanes = cards(&asked(cex(&[]))).into_iter().any(|(_, dynamic)| dynamic);
    let single = ["RSA CRT", "ECDSA Sign", "EC Keygen", "Ed25519 Keygen", "X25519 Keygen"];
    let is_single = |name: &str| single.contains(&name.trim()) || keys(name);
    assert!(alone.iter().all(|(name, dynamic)| *dynamic == (lanes && is_single(name))), "{alone:?}");
    assert_eq!(said(&mut cex(&["-r"])), said(&mut icainfo(&["-r"])));
    assert!(said(&mut cex(&["-v"])).starts_with("icainfo-cex: libica-cex version 4.4"));
    assert!(said(&mut cex(&["-h"])).contains("Usage: icainfo-cex"));
    let json: serde_json::Value = serde_json::from_str(&said(&mut cex(&["--json"]))).unwrap();
    assert!(json["functions"].as_array().unwrap().iter().all(|row| row["static"] == false));
}

/// The originals end with 1 for whatever goes wrong; the command itself with 2 where its command line is.
#[test]
fn a_wrong_option_is_1_as_on_z() {
    for (name, wrong) in [
        ("icainfo", &["word"][..]),
        ("icainfo", &["--nope"]),
        ("icainfo-cex", &["-x"]),
        ("icastats", &["-x"]),
        ("icastats", &["--used"]),
        ("icastats", &["-S", "-A"]),
        ("icastats", &["word"]),
        ("icastats", &["-U"]),
        ("icastats", &["-U", "no-such-user"]),
    ] {
        let output = tool(Path::new(ZTOOLS), name, "none", wrong).output().unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]), "{name} {wrong:?}");
        assert!(!output.stderr.is_empty(), "{name} {wrong:?}");
    }
}

#[test]
fn icastats_prints_the_tables_of_z() {
    let key = format!("z1-{}", std::process::id());
    let icastats = |args: &[&str]| said(&mut tool(Path::new(ZTOOLS), "icastats", &key, args));
    assert_eq!(icastats(&[]), ICASTATS);
    assert_eq!((icastats(&["-k"]), icastats(&["--key-sizes"])), (KEY_SIZES.to_owned(), KEY_SIZES.to_owned()));
    assert!(icastats(&["--version"]).starts_with("icastats: libica version 4.4"));
    let help = icastats(&["-h"]);
    for word in [
        "-r, --reset",
        "-R, --reset-all",
        "-d, --delete",
        "-D, --delete-all",
        "-U, --user <",
        "-S, --summary",
        "-A, --all",
        "-k, --key-sizes",
        "-j, --json",
        "-v, --version",
        "-h, --help",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

/// The names and keys of the JSON are those of the table, in its order.
#[test]
fn icastats_json_has_the_rows_of_the_table() {
    let key = format!("z2-{}", std::process::id());
    let text = said(&mut tool(Path::new(ZTOOLS), "icastats", &key, &["-j", "-k"]));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in ["nodename", "sysname", "release", "machine", "date"] {
        assert!(report["host"][key].is_string(), "{key}");
    }
    let (mut function, mut expected) = (String::new(), Vec::new());
    for row in KEY_SIZES.lines().skip(4) {
        let (name, cells) = row.split_once('|').unwrap();
        let size = name.trim().strip_prefix("- ");
        size.is_none().then(|| function = name.trim().to_owned());
        expected
            .push((size.map_or(function.clone(), |size| format!("{function} - {size}")), cells.matches(" 0").count()));
    }
    let found = report["users"][0]["functions"].as_array().unwrap().iter().map(|row| {
        let keys: Vec<_> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let of_cipher = ["function", "hw-dec", "hw-enc", "sw-dec", "sw-enc"];
        let of_others = ["function", "hw-crypt", "sw-crypt"];
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        assert!(sorted == of_cipher || sorted == of_others, "{keys:?}");
        (row["function"].as_str().unwrap().to_owned(), keys.len() - 1)
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// Not a test: the process whose calls the next one looks for.
#[test]
#[ignore = "run by every_option_of_icastats"]
fn count_a_few_calls() {
    adjunct::init();
    let gcm = Tally::new(Function::AesGcm, 256);
    (0..3).for_each(|_| gcm.count(Direction::Encrypt, 16));
    Tally::new(Function::AesGcm, 128).count(Direction::Decrypt, 16);
    Tally::new(Function::EcdsaSign, 384).count(Direction::Encrypt, 0);
}

/// The programs where another user reaches them, and counters of their own, which go in the end.
struct Stage {
    dir: tempfile::TempDir,
    key: String,
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        copy(ZTOOLS, &dir.path().join("ztools"));
        copy(std::env::current_exe().unwrap(), &dir.path().join("counting"));
        Stage { dir, key: format!("z3-{}", std::process::id()) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a tool as the user of the test, or by `setpriv` as the ordinary user nobody.
    fn run(&self, ordinary: bool, program: &str, name: &str, args: &[&str]) -> Output {
        let path = self.path(program);
        let mut command = tool(&path, name, &self.key, args);
        if ordinary {
            // The link's name says who is called; setpriv sets no other.
            let link = self.path(name);
            _ = std::os::unix::fs::symlink(&path, &link);
            command =
                tool(Path::new("setpriv"), "setpriv", &self.key, &["--reuid=65534", "--regid=65534", "--clear-groups"]);
            command.arg(&link).args(args);
        }
        command.env_remove("ADJUNCT_STATS").output().unwrap()
    }

    fn count(&self, ordinary: bool) {
        let output = self.run(ordinary, "counting", "counting", &["--exact", "count_a_few_calls", "--ignored"]);
        assert!(output.status.success(), "{output:?}");
    }

    fn icastats(&self, ordinary: bool, args: &[&str]) -> String {
        let output = self.run(ordinary, "ztools", "icastats", args);
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Encryptions and decryptions by AES GCM, wherever they ran, and those with keys of 256 bits; ECDSA signatures.
    fn counted(&self, ordinary: bool, args: &[&str]) -> [u64; 4] {
        let text = self.icastats(ordinary, &[args, &["-j", "-k"]].concat());
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rows = report["users"][0]["functions"].as_array().unwrap();
        let sum = |name: &str, direction: &str| {
            let row = rows.iter().find(|row| row["function"] == name).unwrap();
            ["hw", "sw"].iter().map(|side| row[format!("{side}-{direction}")].as_u64().unwrap()).sum()
        };
        [sum("AES GCM", "enc"), sum("AES GCM", "dec"), sum("AES GCM - 256", "enc"), sum("ECDSA Sign - 384", "crypt")]
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for ordinary in [false, true] {
            self.run(ordinary, "ztools", "icastats", &["-d"]);
        }
    }
}

#[test]
fn every_option_of_icastats() {
    let stage = Stage::new();
    stage.count(false);
    assert_eq!(stage.counted(false, &[]), [3, 1, 3, 1]);
    stage.icastats(false, &["-r"]);
    assert_eq!((stage.counted(false, &[]), stage.icastats(false, &[])), ([0; 4], ICASTATS.to_owned()));
    stage.count(false);
    stage.icastats(false, &["--delete"]);
    assert_eq!(stage.icastats(false, &["-k"]), KEY_SIZES);
    if !nix::unistd::geteuid().is_root() {
        return println!("SKIPPED: what root alone may do, and what others may not");
    }
    stage.count(false);
    (0..2).for_each(|_| stage.count(true));
    // A user's own, and nobody else's.
    assert_eq!((stage.counted(true, &[]), stage.counted(false, &[])), ([6, 2, 6, 2], [3, 1, 3, 1]));
    for args in
        [&["-R"][..], &["-D"], &["-S"], &["-A"], &["-U", "root"], &["--reset-all"], &["--delete-all"], &["--summary"]]
    {
        let output = stage.run(true, "ztools", "icastats", args);
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), line.lines().count()), (Some(1), 1), "{args:?}: {line}");
        assert!(line.starts_with("icastats: only root may ") && output.stdout.is_empty(), "{args:?}: {line}");
    }
    assert_eq!((stage.counted(true, &[]), stage.counted(false, &[])), ([6, 2, 6, 2], [3, 1, 3, 1]));
    // libica #113: the sum of all users is the sum of all key sizes, too.
    assert_eq!(
        (stage.counted(false, &["-S"]), stage.counted(false, &["--user", "65534"])),
        ([9, 3, 9, 3], [6, 2, 6, 2])
    );
    let all = stage.icastats(false, &["-A"]);
    let users: Vec<_> = all.lines().filter(|line| line.starts_with("user: ")).collect();
    assert_eq!((users.len(), users[0]), (2, "user: root"));
    assert_eq!(all.lines().count(), 2 * (1 + ICASTATS.lines().count()));
    let report: serde_json::Value = serde_json::from_str(&stage.icastats(false, &["--all", "--json"])).unwrap();
    assert_eq!(report["users"].as_array().unwrap().len(), 2);
    stage.icastats(true, &["--reset"]);
    assert_eq!((stage.counted(true, &[]), stage.counted(false, &[])), ([0; 4], [3, 1, 3, 1]));
    stage.count(true);
    stage.icastats(false, &["-R"]);
    assert_eq!(stage.counted(false, &["-S"]), [0; 4]);
    assert_eq!(stage.icastats(false, &["-A"]).matches("user: ").count(), 2);
    stage.icastats(false, &["-D"]);
    assert_eq!(stage.icastats(false, &["-A"]), "");
}
