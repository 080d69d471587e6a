//! `adjunct check` as a monitor starts it: its line, its exit status, and what it remembers.

mod counted;
mod module;
#[path = "../../adjunct-ztools/tests/zcrypt_stage/mod.rs"]
mod zcrypt_stage;

use counted::Counters;
use std::path::Path;
use std::process::Command;

/// Output and exit status of a command.
fn checked(command: &mut Command) -> (String, i32) {
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

/// Runs `adjunct check` without the module, with its state in the test's folder.
fn check(counters: &Counters, args: &[&str]) -> (String, i32) {
    let mut command = counters.adjunct(&["check", "--no-module"]);
    checked(command.args(args).env("XDG_STATE_HOME", counters.folder()))
}

#[test]
fn the_share_of_software_since_the_last_run() {
    let counters = Counters::new("check");
    let (text, status) = check(&counters, &[]);
    assert!(text.starts_with("ADJUNCT OK - nothing was counted since counting began (the first run); no cards | software=0.0%;;;0;100 operations=0 "));
    assert_eq!(status, 0);
    counters.count();
    let limits = ["--min-operations", "1", "-w", "10", "-c", "99"];
    // 2 of 5, or all of them on a machine without AES instructions.
    let (text, status) = check(&counters, &limits);
    assert!(text.contains("% of 5 operations in software") && text.contains(";10;99;0;100 operations=5 "), "{text}");
    assert!(text.contains("\nRSA-CRT in software 2: handed to OpenSSL's default provider\n"), "{text}");
    let (state, expected) = if text.contains(" 40.0%") { ("WARNING", 1) } else { ("CRITICAL", 2) };
    assert!(text.starts_with(&format!("ADJUNCT {state} - ")) && status == expected, "{text}");
    // What was seen is not seen again.
    let (text, status) = check(&counters, &limits);
    assert!(text.contains("nothing was counted in the last ") && status == 0, "{text}");
    counters.count();
    let (text, _) = check(&counters, &["--json", "--ignore", "delegated,no-instruction,cpu-lacks"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&report["state"], &report["status"], &report["values"]["software"]),
        (&"OK".into(), &0.into(), &0.0.into())
    );
    let (text, _) = check(&counters, &["--since-start"]);
    assert!(text.contains("10 operations in software since counting began (too few to judge)"), "{text}");
    // The counters of a user who has gone do not make others' new.
    counters.prints(&["stats", "--reset"]);
    counters.count();
    let (text, _) = check(&counters, &[]);
    assert!(text.contains("of 5 operations"), "{text}");
}

#[test]
fn ranges_that_alert_and_command_lines_that_are_wrong() {
    let counters = Counters::new("ranges");
    counters.count();
    let at_least = ["--since-start", "--min-operations", "1"];
    for (range, status) in [("@0:100", 2), ("~:100", 0), ("100:", 2), ("0:", 0)] {
        let (text, found) = check(&counters, &[&at_least[..], &["--critical", range]].concat());
        assert_eq!(found, status, "{range}: {text}");
    }
    for (args, words) in [
        (&["-w", "20:10"][..], "a range is needed"),
        (&["-w", "80", "-c", "20"], "--warning 80 --critical 20: there would be no warning"),
        (&["-w", "20", "-c", "150"], "the share of software is between 0 and 100 percent"),
        (&["--bogus"], "--bogus"),
        (&["--ignore", "nothing"], "nothing"),
        (&["--require", "sse99"], "known here: "),
    ] {
        let (text, status) = checked(&mut counters.adjunct(&[&["check"], args].concat()));
        assert!(text.starts_with("ADJUNCT UNKNOWN - ") && text.contains(words) && text.lines().count() == 1, "{text}");
        assert_eq!(status, 3);
    }
    let state = counters.folder().join("none/state.json");
    let (text, status) = check(&counters, &["--state", state.to_str().unwrap()]);
    assert!(text.starts_with("ADJUNCT UNKNOWN - ") && text.contains("No such file") && status == 3, "{text}");
    // Root's monitor may be told a file by who is not root: what is no state of its own stays what it is.
    let foreign = counters.folder().join("shadow");
    for text in ["root:*:19000::::::\n".to_owned(), "{}".to_owned()] {
        std::fs::write(&foreign, &text).unwrap();
        let (said, status) = check(&counters, &["--state", foreign.to_str().unwrap()]);
        assert!(said.starts_with("ADJUNCT UNKNOWN - ") && status == 3, "{said}");
        assert!(std::fs::read_to_string(&foreign).unwrap() == text, "{said}");
    }
    // An empty one is as none: the first run.
    std::fs::write(&foreign, "").unwrap();
    let first = check(&counters, &["--state", foreign.to_str().unwrap()]);
    assert!(first.1 == 0 && first.0.contains(" since counting began"), "{first:?}");
    assert!(check(&counters, &["--state", foreign.to_str().unwrap()]).0.contains(" in the last "));
    let help = counters.prints(&["check", "--help"]);
    assert!(help.contains("Exit status: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN"));
}

#[test]
fn cards() {
    let counters = Counters::new("cards");
    let run = |stage: &zcrypt_stage::Stage, args: &[&str]| {
        let mut command = counters.adjunct(&["check", "--no-module", "--since-start"]);
        checked(command.args(args).env("ADJUNCT_CARDS_DIR", stage.path()))
    };
    let stage = zcrypt_stage::Stage::new(zcrypt_stage::mixed());
    let (text, status) = run(&stage, &[]);
    assert!(text.starts_with("ADJUNCT CRITICAL - 2 of 4 cards online, check-stopped: 1f, offline: 02; "), "{text}");
    assert!(text.contains(" cards_online=2;;;0;4") && status == 2, "{text}");
    let mut machine = zcrypt_stage::mixed();
    machine.cards.pop();
    stage.becomes(machine);
    let states = [run(&stage, &[]).1, run(&stage, &["--cards", "2"]).1, run(&stage, &["--cards", "3"]).1];
    assert_eq!(states, [1, 0, 2]);
    let (text, status) = check(&counters, &["--cards", "1"]);
    assert!(text.starts_with("ADJUNCT CRITICAL - adjunctd does not run; ") && status == 2, "{text}");
}

#[test]
fn what_the_machine_has_to_have() {
    let counters = Counters::new("require");
    let Some(lacking) = (match std::env::consts::ARCH {
        "x86_64" => Some("AES-NI"),
        "aarch64" => Some("ARMv8 AES"),
        _ => None,
    }) else {
        return println!("SKIPPED: no instructions to mask here");
    };
    let mut command = counters.adjunct(&["check", "--no-module", "--since-start", "--require", "aes"]);
    let (text, status) = checked(command.env("ADJUNCT_CPU", "-aes"));
    assert!(text.starts_with(&format!("ADJUNCT CRITICAL - the CPU lacks {lacking}; ")) && status == 2, "{text}");
}

#[test]
fn the_module_is_tried() {
    let counters = Counters::new("module");
    let run = |module: &Path| {
        let mut command = counters.adjunct(&["check", "--since-start", "--trust-module", "--module"]);
        checked(command.arg(module))
    };
    if let Some(module) = module::module() {
        let (text, status) = run(&module);
        assert!(text.starts_with("ADJUNCT OK - ") && text.contains(" loads") && status == 0, "{text}");
    }
    if Command::new("openssl").arg("version").output().is_err() {
        return println!("SKIPPED: no openssl here");
    }
    let broken = counters.folder().join("adjunct.so");
    std::fs::write(&broken, "no module").unwrap();
    let (text, status) = run(&broken);
    assert!(text.starts_with("ADJUNCT CRITICAL - no module to load: ") && status == 2, "{text}");
    assert!(text.contains("adjunct.so: is not a provider of OpenSSL 3: no ELF file"), "{text}");
    let (text, status) = run(&counters.folder().join("none.so"));
    assert!(text.starts_with("ADJUNCT CRITICAL - no module to load: ") && status == 2, "{text}");
}
