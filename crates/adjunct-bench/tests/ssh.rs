//! `adjunct ssh bench` with the system's OpenSSH: all parts on tiny files, what the outputs agree on, and what is refused. How
//! fast anything is, is no test's matter.

mod bench_report;

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder for temporary files and outputs of one test.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let temporary = self.path("tmp");
        std::fs::create_dir_all(&temporary).expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
        command.args(["ssh", "bench"]).args(words).current_dir(self.0.path());
        command.env("TMPDIR", temporary).stdin(Stdio::null());
        if let Some(module) = module() {
            command
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .args(["--trust-module", "--module"])
                .arg(module);
        }
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the command runs")
    }

    /// What is left: the outputs, and nothing in the folder for temporary files.
    fn left(&self) -> Vec<String> {
        let names = |path: &Path| {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&self.path("tmp")), Vec::<String>::new(), "temporary files are left");
        let mut all = names(self.0.path());
        all.retain(|name| name != "tmp");
        all.sort();
        all
    }
}

/// The provider of the same build.
fn module() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_adjunct-bench")).parent()?;
    let path = folder.join("libadjunct_openssl.so");
    path.is_file().then_some(path)
}

/// Whether there is something to measure with; says why where there is not.
fn can_measure() -> bool {
    let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].iter().any(|p| Path::new(p).is_file());
    if !sshd {
        println!("SKIPPED: no sshd here");
    } else if module().is_none() {
        println!("SKIPPED: the provider is not built; cargo build -p adjunct-openssl with the same profile");
    }
    sshd && module().is_some()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn failure(output: &Output, code: i32, words: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "'{words}' is not in: {said}");
    assert!(code == 2 || said.trim().lines().count() == 1, "one line: {said}");
}

const TINY: [&str; 12] = [
    "--size",
    "2M",
    "--runs",
    "2",
    "--at-once",
    "2",
    "--filter",
    "aes128-cbc, hmac-sha2-256",
    "--filter",
    "gcm@",
    "--filter",
    "p-256",
];

#[test]
fn all_parts_are_measured_and_all_outputs_agree() {
    if !can_measure() {
        return;
    }
    let desk = Desk::new();
    let output = desk
        .run(&[&TINY[..], &["--filter", "cast128", "--json", "r.json", "--csv", "r.csv", "--html", "r.html"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("this takes about"), "{}", text(&output.stderr));
    assert!(says_how_long(&desk), "what was estimated, and what it took");
    assert_eq!(desk.left(), ["r.csv", "r.html", "r.json"]);
    let table = text(&output.stdout);
    assert!(!table.contains('\x1b'), "colours are for terminals");
    assert!(says_what_starting_takes(&desk));
    let read = |name: &str| std::fs::read_to_string(desk.path(name)).expect("an output");
    let (csv, html) = (read("r.csv"), read("r.html"));
    let report: Value = serde_json::from_str(&read("r.json")).expect("JSON");
    let ids: Vec<&str> = sections(&report).iter().map(|s| s["id"].as_str().expect("id")).collect();
    assert_eq!(ids, ["figure7", "table2", "table3", "table4", "small"]);
    assert!(
        report["header"]["served"]["hardware"].as_u64().unwrap_or(0)
            + report["header"]["served"]["software"].as_u64().unwrap_or(0)
            > 0
    );
    let mut figures = 0;
    for section in sections(&report) {
        for row in
            section["groups"].as_array().expect("groups").iter().flat_map(|g| g["rows"].as_array().expect("rows"))
        {
            let name = row["name"].as_str().expect("a name");
            if !row["missing"].is_null() {
                assert!(
                    name == "cast128-cbc" && csv.contains("does not have it") && table.contains("does not have it")
                );
                continue;
            }
            for (measure, figure) in row["figures"].as_object().expect("figures") {
                figures += check(section, name, measure, figure, (&table, &csv, &html));
            }
        }
    }
    // Figure 7: 1 row, table 2: 2, table 3: 2, table 4: 2, small: 1, with their measures and sides.
    assert_eq!(figures, (3 + 2 * 3 + 2 * 2 + 2 * 2 + 4) * SIDES.len());
    for known in [&report["header"]["openssh"], &report["header"]["openssl"], &report["header"]["date"]] {
        assert!(html.contains(known.as_str().expect("text")) && table.contains(known.as_str().expect("text")));
    }
    again(&desk, &table, &csv, &html);
}

/// Whether the report has its estimate and its time.
fn says_how_long(desk: &Desk) -> bool {
    let text = std::fs::read_to_string(desk.path("r.json")).expect("an output");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    ["estimated_s", "took_s"].iter().all(|key| report["header"][*key].as_f64() > Some(0.0))
}

/// What starting and logging in takes, which is in no figure of a large copy.
fn says_what_starting_takes(desk: &Desk) -> bool {
    let text = std::fs::read_to_string(desk.path("r.json")).expect("an output");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let starts = &report["header"]["starts"];
    SIDES.iter().all(|side| ["s", "cpu_s"].iter().all(|figure| starts[*figure][*side]["median"].as_f64() > Some(0.0)))
}

const SIDES: [&str; 3] = ["software", "stock", "adjunct"];

fn sections(report: &Value) -> &Vec<Value> {
    report["sections"].as_array().expect("sections")
}

/// Checks that a figure of every side stands in every output; gives how many there are.
fn check(section: &Value, name: &str, measure: &str, figure: &Value, (table, csv, html): (&str, &str, &str)) -> usize {
    let of = |side: &str, key: &str| figure[side][key].as_f64().unwrap_or(f64::NAN);
    for side in SIDES {
        assert_eq!(figure[side]["values"].as_array().map(Vec::len), Some(2), "{name} {measure} {side}");
        let (low, median, high) = (of(side, "low"), of(side, "median"), of(side, "high"));
        // The kernel tells user time by its clock's ticks, and a short process may meet none.
        let some = 0.0 < low || (low == 0.0 && measure == "user_s_gb");
        assert!(some && low <= median && median <= high, "{name} {measure} {side}: {figure}");
        let line = csv
            .lines()
            .find(|line| {
                line.starts_with(section["id"].as_str().unwrap_or("?"))
                    && line.contains(name)
                    && line.contains(&format!(",{measure},"))
                    && line.contains(&format!(",{side},"))
            })
            .unwrap_or_else(|| panic!("{name} {measure} {side} is not in the CSV"));
        let value = line.split(&format!(",{side},")).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("?");
        assert_eq!(value.parse::<f64>().ok(), Some(median), "{line}");
        assert!(
            table.contains(&format!("{value} ")) && html.contains(&format!(">{value}<")),
            "{name} {measure} {side}: {value}"
        );
    }
    let ratio = of("adjunct", "median") / of("stock", "median");
    let shown = figure["adjunct_to_stock"].as_f64();
    assert!(shown.map_or(of("stock", "median") == 0.0, |shown| (ratio - shown).abs() < 0.006), "{figure}");
    SIDES.len()
}

/// A report that is shown from its JSON is the same to the byte.
fn again(desk: &Desk, table: &str, csv: &str, html: &str) {
    let output = desk.run(&["--from", "r.json", "--csv", "2.csv", "--html", "2.html"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(desk.path("2.csv")).expect("CSV"), csv);
    assert_eq!(std::fs::read_to_string(desk.path("2.html")).expect("HTML"), html);
    let sections = |text: &str| text.split_once("\n\n").map(|(_, rest)| rest.to_owned());
    assert_eq!(sections(&text(&output.stdout)), sections(table));
}

#[test]
fn json_on_standard_output_stands_alone() {
    let desk = Desk::new();
    std::fs::write(desk.path("r.json"), bench_report::report().to_string()).expect("written");
    let output = desk.run(&["--from", "r.json", "--json", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("nothing but JSON");
    assert_eq!(report["header"]["cpu"], bench_report::report()["header"]["cpu"]);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_measured() {
    let desk = Desk::new();
    std::fs::write(desk.path("old"), "what it was").expect("written");
    let refused = [
        (&["--part", "figure8"][..], 2, "figure8"),
        (&["--size", "0"], 2, "--size"),
        (&["--size", "5T"], 2, "unknown unit"),
        (&["--runs", "0"], 2, "--runs"),
        (&["--at-once", "0"], 2, "--at-once"),
        (&["--filter", "rot13"], 2, "no row's name contains rot13"),
        (&["--json", "a", "--csv", "a"], 2, "a target each"),
        (&["--json", "-", "--html", "-"], 2, "a target each"),
        (&["--from", "old", "--quick"], 2, "--quick"),
        (&["--json", "no/such/folder/r.json"], 1, "no/such/folder/r.json"),
        (&["--html", "."], 1, "this is a folder"),
        (&["--from", "none"], 1, "none: No such file"),
        (&["--from", "old"], 1, "not a report"),
        (&["--sshd", "no-sshd"], 1, "no-sshd: no such program"),
        (&["--ssh", "/dev/null"], 1, "/dev/null: no such program"),
    ];
    for (words, code, said) in refused {
        failure(&desk.run(words), code, said);
    }
    assert_eq!(std::fs::read_to_string(desk.path("old")).expect("still there"), "what it was");
    assert_eq!(desk.left(), ["old"]);
}

#[test]
fn a_full_disk_is_said_and_spoils_nothing() {
    let desk = Desk::new();
    std::fs::write(desk.path("r.json"), bench_report::report().to_string()).expect("written");
    for option in ["--json", "--csv", "--html"] {
        failure(&desk.run(&["--from", "r.json", option, "/dev/full"]), 1, "/dev/full: the disk is full");
    }
}

#[test]
fn a_file_longer_than_allowed_is_refused() {
    if !can_measure() {
        return;
    }
    let desk = Desk::new();
    let measured = desk.command(&["--part", "tables", "--filter", "aes128-ctr", "--size", "1G", "--html", "r.html"]);
    let words: Vec<_> = std::iter::once(measured.get_program()).chain(measured.get_args()).collect();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 200000; exec \"$@\"", "sh"]).args(words);
    limited.current_dir(desk.0.path()).env("TMPDIR", desk.path("tmp")).stdin(Stdio::null());
    failure(&limited.output().expect("the command runs"), 1, "ulimit -f");
    assert!(desk.left().is_empty());
}

#[test]
fn an_interrupt_ends_it_and_leaves_nothing() {
    if !can_measure() {
        return;
    }
    let desk = Desk::new();
    let mut command = desk.command(&["--runs", "1000", "--part", "small", "--json", "r.json"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command runs");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("every row is tried"), "{first}");
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    assert!(lines.map_while(Result::ok).any(|line| line.contains("interrupted")));
    assert!(desk.left().is_empty());
}

/// A run that is interrupted while it tries its rows, which takes minutes where all of them are wanted, keeps the copies that it tried them with.
#[test]
fn an_interrupt_while_rows_are_tried_keeps_what_was_copied() {
    if !can_measure() {
        return;
    }
    let desk = Desk::new();
    // Later and later, until a row has been tried.
    for seconds in [2, 4, 8, 16, 32, 64] {
        let mut command = desk.command(&["--part", "tables", "--size", "200M", "--json", "r.json", "--html", "r.html"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command runs");
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
        let output = child.wait_with_output().expect("it ends");
        let (table, said) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("interrupted"), "{said}");
        if desk.left().is_empty() {
            assert!(table.is_empty(), "{table}");
            continue;
        }
        assert_eq!(desk.left(), ["r.html.partial", "r.json.partial"], "{said}");
        assert!(said.contains("what was measured until then is in"), "{said}");
        let report = std::fs::read_to_string(desk.path("r.json.partial")).expect("a report");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert!(report["incomplete"].as_str().is_some_and(|why| why.contains("interrupted")), "{report}");
        let rows = sections(&report)[0]["groups"][0]["rows"].as_array().expect("rows").clone();
        let (whole, rest): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(|row| row["missing"].is_null());
        assert!(!whole.is_empty(), "{report}");
        for row in whole {
            let name = row["name"].as_str().expect("a name");
            let of = |side: &str| row["figures"]["mb_s"][side]["median"].as_f64().unwrap_or(0.0);
            assert!(SIDES.iter().all(|side| of(side) > 0.0) && table.contains(name), "{row}");
        }
        assert!(rest.iter().all(|row| row["missing"].as_str().is_some_and(|why| why.starts_with("not "))), "{rest:?}");
        return;
    }
    panic!("nothing was kept");
}
