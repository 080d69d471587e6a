//! `adjunct ep11` and `adjunct cards` on a coprocessor: one that `adjunct ep11 dev` runs. It needs adjunctd beside this program.

#[path = "ep11_dev/mod.rs"]
mod ep11_dev;

use adjunct_card_state::folder::Folder;
use adjunct_card_state::state;
use ep11_dev::{Dev, adjunct, text};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[test]
fn a_private_coprocessor_is_there_until_it_is_ended() {
    let runtime = tempfile::tempdir().unwrap();
    let dev = Dev::start(&[], Some(runtime.path()));
    assert_eq!(dev.folder, runtime.path().join("adjunct"));
    for words in ["no FIPS certificate", "Ctrl-C ends it", "keys are gone when it ends"] {
        assert!(dev.text.contains(words), "{}", dev.text);
    }
    let all = dev.json(&["ep11", "domains", "--json"]);
    let one = &all["domains"][0];
    assert_eq!((&one["card"], &one["domain"], &one["mode"]), (&0.into(), &0.into(), &"0600".into()));
    let pattern = one["keys"]["current"].as_str().unwrap().to_owned();
    assert!(dev.text.contains(&pattern));
    let status = text(&dev.run(&["cards", "status"]).stdout);
    for words in ["Card 00 (EP11), sealed by volatile", &pattern, "do not open in IBM's hardware"] {
        assert!(status.contains(words), "{status}");
    }
    assert_eq!(dev.json(&["cards", "status", "--json"])["coprocessors"]["00"]["locked"], false);
    // The change of a wrapping key.
    let refused = dev.run(&["ep11", "wk", "generate", "--in-use"]);
    let why = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(1) && why.contains("has a wrapping key") && why.lines().count() == 1,
        "{why}"
    );
    let next = dev.json(&["ep11", "wk", "generate", "00.0000", "--json"])["next"].clone();
    assert_eq!(dev.json(&["ep11", "wk", "commit", "--json"])["next_state"], "committed");
    assert_eq!(dev.json(&["ep11", "wk", "finalize", "--json"])["current"], next);
    let shown = text(&dev.run(&["ep11", "wk", "show"]).stdout);
    assert_eq!(shown, format!("00.0000  wrapping key {}, next empty\n", next.as_str().unwrap()));
    assert!(!dev.run(&["ep11", "wk", "show", "07.0000"]).status.success());
    assert!(dev.json(&["ep11", "cps", "--json"])["on"].as_array().unwrap().len() > 30);
    // As tools of IBM Z see it.
    let tree = runtime.path().join("tree");
    assert!(dev.run(&["cards", "sysfs", tree.to_str().unwrap()]).status.success());
    let queue = tree.join("devices/ap/card00/00.0000");
    let mkvps = std::fs::read_to_string(queue.join("mkvps")).unwrap();
    assert!(
        mkvps.starts_with(&format!("WK CUR: valid 0x{}", next.as_str().unwrap())) && mkvps.contains("WK NEW: empty -")
    );
    let listed = text(&dev.run(&["cards", "list"]).stdout);
    assert!(listed.contains("EP11-Coproc") && listed.contains("ADJ8P"), "{listed}");
    // What was done is in the audit log.
    let log = dev.text.lines().find_map(|line| line.strip_prefix("Audit log: ")).unwrap();
    let done = text(&dev.run(&["cards", "audit", "show", "--json", "--file", log]).stdout);
    let events: Vec<Value> = done.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = events.iter().map(|record| record["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["start", "wk-begin", "wk-begin", "wk-generate", "wk-commit", "wk-finalize"]);
    assert!(dev.run(&["cards", "unlock"]).status.code() == Some(1));
    assert!(dev.end());
}

#[test]
fn keys_are_kept_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().join("keep");
    let word = keep.to_str().unwrap();
    let pattern = |dev: &Dev| dev.json(&["ep11", "wk", "show", "--json"])["current"].clone();
    let dev = Dev::start(&["--keep", word], None);
    assert!(dev.text.contains("whose own files open them"), "{}", dev.text);
    let first = pattern(&dev);
    let (folder, log) = (dev.folder.clone(), keep.join("ep11-00.audit"));
    assert!(dev.end());
    assert!(!folder.exists(), "the temporary folder is gone");
    for name in ["ep11-00", "ep11-00.vault", "ep11-00.audit"] {
        assert_eq!(std::fs::metadata(keep.join(name)).unwrap().mode() & 0o777, 0o600, "{name}");
    }
    let dev = Dev::start(&["--keep", word], None);
    assert_eq!(pattern(&dev), first);
    let verify = |path: &Path| dev.run(&["cards", "audit", "verify", "--file", path.to_str().unwrap()]);
    let verified = verify(&log);
    assert!(verified.status.success() && text(&verified.stdout).contains("each follows from the one before"));
    let shown = text(&dev.run(&["cards", "audit", "show", "--file", log.to_str().unwrap()]).stdout);
    assert!(shown.contains("wk-begin: done") && shown.contains("start: done"), "{shown}");
    let changed = std::fs::read_to_string(&log).unwrap().replacen("wk-begin", "wk-began", 1);
    let copy = keep.join("copy");
    std::fs::write(&copy, changed).unwrap();
    let verified = verify(&copy);
    let why = text(&verified.stderr);
    assert!(verified.status.code() == Some(1) && why.contains("was changed") && why.lines().count() == 1, "{why}");
    assert!(dev.end());
}

#[test]
fn it_ends_with_the_command_however_that_ends() {
    let runtime = tempfile::tempdir().unwrap();
    let mut dev = Dev::start(&[], Some(runtime.path()));
    dev.child.kill().unwrap();
    dev.child.wait().unwrap();
    let folder = Folder::at(&dev.folder);
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !matches!(state::read(&folder.state()), Err(state::Error::NotRunning)) {
        assert!(std::time::Instant::now() < limit, "adjunctd runs still");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn without_a_daemon_one_line_says_so() {
    let nothing = tempfile::tempdir().unwrap();
    for words in [&["ep11", "domains"][..], &["ep11", "wk", "show"], &["cards", "unlock"], &["cards", "audit", "show"]]
    {
        let output = adjunct(words).env("ADJUNCT_CARDS_DIR", nothing.path()).output().unwrap();
        let why = text(&output.stderr);
        assert!(
            output.status.code() == Some(1) && why.contains("adjunctd does not run") && why.lines().count() == 1,
            "{why}"
        );
    }
}
