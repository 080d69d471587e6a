//! Why a coprocessor does not serve, by `adjunct doctor`, `check` and `exporter`. It needs adjunctd beside the program.

#[path = "ep11_dev/mod.rs"]
mod ep11_dev;

use adjunct_card_state::control::{Device, Request};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::{control, state};
use ep11_dev::{adjunct, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A daemon with card 00, whose keys are in memory alone, and card 01, whose vault waits for its passphrase.
struct Daemon {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

impl Daemon {
    fn start() -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("cards.conf");
        let card = |id: u8, seal: &str| {
            format!("[[card]]\nid = {id}\nmode = \"ep11\"\nseal = \"{seal}\"\nmode-bits = \"0600\"\n")
        };
        std::fs::write(&config, card(0, "none") + &card(1, "passphrase")).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_adjunct")).with_file_name("adjunctd");
        let mut command = Command::new(program);
        command.arg("--folder").arg(folder.path()).arg("--config").arg(&config);
        let child = command.arg("--files").arg(folder.path().join("files")).spawn().unwrap();
        let daemon = Daemon { child, folder };
        let limit = Instant::now() + Duration::from_secs(60);
        let ready = || {
            let machine = state::read(&Folder::at(daemon.folder.path()).state());
            machine.is_ok_and(|machine| {
                machine.cards.len() == 2 && machine.cards.iter().all(|card| card.confined.is_some())
            })
        };
        while !ready() {
            assert!(Instant::now() < limit, "the cards do not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        daemon
    }

    fn run(&self, words: &[&str]) -> Output {
        let nothing = self.folder.path().join("files");
        adjunct(words)
            .env("ADJUNCT_CARDS_DIR", self.folder.path())
            .env("XDG_STATE_HOME", nothing)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// What doctor says of the coprocessors, on a machine without processes.
    fn doctor(&self) -> Value {
        let empty = tempfile::tempdir().unwrap();
        let output = self.run(&["doctor", "--json", "--proc", empty.path().to_str().unwrap()]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
            ["coprocessors"]
            .clone()
    }

    fn unlock(&self) {
        let order = json!({ "order": "unlock", "passphrase": "secret" });
        let request = Request::Administer(Device { card: 1, domain: None }, order);
        control::ask(&Folder::at(self.folder.path()).control(), &request).unwrap();
    }
}

#[test]
fn each_cause_has_its_sentence_and_its_number() {
    let daemon = Daemon::start();
    let said = daemon.doctor();
    let causes = |said: &Value| -> Vec<(Value, Value)> {
        said.as_array().unwrap().iter().map(|one| (one["cause"].clone(), one["advice"].clone())).collect()
    };
    assert_eq!(
        causes(&said),
        [("no-wrapping-key".into(), "ADJ-P004".into()), ("vault-locked".into(), "ADJ-P003".into())]
    );
    assert!(said[0]["sentence"].as_str().unwrap().contains("adjunct ep11 wk generate --in-use 00.0000"), "{said}");
    assert!(said[1]["sentence"].as_str().unwrap().contains("adjunct cards unlock 01"), "{said}");
    let empty = tempfile::tempdir().unwrap();
    let doctor = daemon.run(&["doctor", "--proc", empty.path().to_str().unwrap()]);
    assert!(doctor.status.code() == Some(1) && text(&doctor.stdout).contains("EP11 coprocessor 01.0000: its vault"));
    for number in ["ADJ-P001", "adj-p003"] {
        let page = text(&daemon.run(&["doctor", number]).stdout);
        assert!(
            page.starts_with(&format!("## {}: ", number.to_uppercase())) && page.contains("What to do: "),
            "{page}"
        );
    }
    let check = daemon.run(&["check", "--no-module"]);
    let line = text(&check.stdout);
    assert!(check.status.code() == Some(2) && line.contains("0 of 2 EP11 domains serve"), "{line}");
    assert!(line.contains("[ADJ-P004]") && line.contains("ep11_domains=0;;;0;2"), "{line}");
    // What was wrong is set right.
    daemon.unlock();
    for domain in ["00.0000", "01.0000"] {
        assert!(daemon.run(&["ep11", "wk", "generate", "--in-use", domain]).status.success());
    }
    let said = daemon.doctor();
    assert!(
        said.as_array().unwrap().iter().all(|one| one["cause"].is_null() && one["sentence"] == "it serves"),
        "{said}"
    );
    let check = daemon.run(&["check", "--no-module"]);
    assert!(
        check.status.success() && text(&check.stdout).contains("2 of 2 EP11 domains serve"),
        "{}",
        text(&check.stdout)
    );
    // A card that is taken offline.
    let off = Request::SetOnline(Device { card: 0, domain: None }, false);
    control::ask(&Folder::at(daemon.folder.path()).control(), &off).unwrap();
    let said = daemon.doctor();
    assert_eq!(causes(&said)[0], ("card-down".into(), "ADJ-P001".into()), "{said}");
    assert!(said[0]["sentence"].as_str().unwrap().contains("the card is offline: chzcrypt -e 00"), "{said}");
}

#[test]
fn the_exporter_tells_who_serves_and_what_was_refused() {
    let daemon = Daemon::start();
    let metrics = || {
        let output = daemon.run(&["exporter", "--once"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let before = metrics();
    for line in [
        "adjunct_ep11_domain_serving{card=\"00\",domain=\"0000\"} 0",
        "adjunct_ep11_domain_cause{card=\"00\",domain=\"0000\",cause=\"no-wrapping-key\"} 1",
        "adjunct_ep11_vault_locked{card=\"01\"} 1",
    ] {
        assert!(before.lines().any(|found| found == line), "{line}: {before}");
    }
    daemon.unlock();
    assert!(daemon.run(&["ep11", "wk", "generate", "--in-use", "01.0000"]).status.success());
    let after = metrics();
    assert!(after.contains("adjunct_ep11_domain_serving{card=\"01\",domain=\"0000\"} 1"), "{after}");
    assert!(
        after.contains("adjunct_ep11_vault_locked{card=\"01\"} 0")
            && !after.contains("{card=\"01\",domain=\"0000\",cause")
    );
}
