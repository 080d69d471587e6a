//! `adjunct cards sysfs`: the files are those of IBM Z, appear in one step, and replace nothing that another program made.

#[path = "../../adjunct-ztools/tests/zcrypt_stage/mod.rs"]
mod zcrypt_stage;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use zcrypt_stage::{Stage, mixed};

fn export(stage: &Stage, dir: &Path) -> (String, i32) {
    let (text, errors, status) = stage.said("adjunct", &["cards", "sysfs", dir.to_str().unwrap()]);
    assert_eq!(text, "");
    (errors, status)
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tree below a folder as text, a line for each file.
fn all(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_symlink() {
            found.push(format!("{} -> {}", entry.display(), fs::read_link(&entry).unwrap().display()));
        } else if entry.is_dir() {
            found.extend(all(&entry));
        } else {
            found.push(format!("{}: {}", entry.display(), read(entry.clone())));
        }
    }
    found.sort();
    found
}

#[test]
fn the_files_are_those_of_z() {
    let stage = Stage::new(mixed());
    stage.prints("zcryptctl", &["create", "web"]);
    stage.prints("zcryptctl", &["addap", "web", "1"]);
    let dir = stage.path().join("tree");
    assert_eq!(export(&stage, &dir), (String::new(), 0));
    let file = |name: &str| read(dir.join(name));
    for (name, text) in [
        ("bus/ap/ap_domain", "5\n"),
        ("bus/ap/ap_max_domain_id", "255\n"),
        ("bus/ap/features", "APSC APXA QACT RC8A\n"),
        ("bus/ap/bindings", "6/6 (complete)\n"),
        ("bus/ap/poll_timeout", "250000\n"),
        ("devices/ap/card00/type", "CEX8A\n"),
        ("devices/ap/card00/ap_functions", "0xEA800000\n"),
        ("devices/ap/card00/modalias", "ap:t0E\n"),
        ("devices/ap/card00/request_count", "20\n"),
        ("devices/ap/card00/pendingq_count", "2\n"),
        ("devices/ap/card00/00.002f/online", "0\n"),
        ("devices/ap/card00/00.002f/request_count", "8\n"),
        ("devices/ap/card00/00.0005/reset", "No Reset Timer set.\n"),
        ("devices/ap/card02/config", "0\n"),
        ("devices/ap/card02/02.0005/config", "0\n"),
        ("devices/ap/card02/online", "0\n"),
        ("devices/ap/card1f/chkstop", "1\n"),
        ("devices/ap/card1f/serialnr", "93AA1FQR00000000\n"),
        // By the links.
        ("bus/ap/devices/card1f/1f.00c8/request_count", "123456789\n"),
        ("bus/ap/devices/1f.00c8/load", "0\n"),
        ("class/zcrypt/create", ""),
    ] {
        assert_eq!(file(name), text, "{name}");
    }
    assert_eq!(file("bus/ap/ap_usage_domain_mask"), format!("0x0400000000010{}\n", "0".repeat(51)));
    assert_eq!(file("class/zcrypt/web/apmask"), format!("0x4{}\n", "0".repeat(63)));
    assert_eq!(
        fs::canonicalize(dir.join("devices/ap/card00/00.0005/driver")).unwrap(),
        dir.join("bus/ap/drivers/cex4queue")
    );
    assert!(!dir.join("devices/ap/card00/serialnr").exists());
    assert_eq!(
        fs::read_dir(stage.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'))
            .count(),
        0
    );
}

#[test]
fn a_tree_is_brought_up_to_date_in_its_place() {
    let mut machine = mixed();
    let stage = Stage::new(machine.clone());
    let dir = stage.path().join("tree");
    export(&stage, &dir);
    let kept = fs::File::open(&dir).unwrap();
    let first = all(&dir);
    machine.cards.remove(2);
    machine.cards[0].online = false;
    machine.cards[1].queues.push(zcrypt_stage::queue(47, 0));
    machine.cards[1].id = 3;
    stage.becomes(machine);
    // What somebody has changed in the tree is put right: a folder in place of a file, a file in place of a link.
    fs::remove_file(dir.join("bus/ap/scans")).unwrap();
    fs::create_dir_all(dir.join("bus/ap/scans/x")).unwrap();
    fs::remove_file(dir.join("devices/ap/card1f/driver")).unwrap();
    fs::write(dir.join("devices/ap/card1f/driver"), "x").unwrap();
    assert_eq!(export(&stage, &dir), (String::new(), 0));
    assert_ne!(all(&dir), first);
    let other = stage.path().join("other");
    export(&stage, &other);
    let names = |dir: &Path| all(dir).iter().map(|line| line.replace(dir.to_str().unwrap(), "")).collect::<Vec<_>>();
    let differing: Vec<_> = names(&dir).into_iter().zip(names(&other)).filter(|(one, other)| one != other).collect();
    assert!(differing.is_empty() && names(&dir).len() == names(&other).len(), "{differing:?}");
    // The folder is the same, and so is what did not change.
    use std::os::unix::fs::MetadataExt;
    assert_eq!(kept.metadata().unwrap().ino(), fs::metadata(&dir).unwrap().ino());
    stage.becomes(mixed());
    export(&stage, &dir);
    let inode = fs::metadata(dir.join("devices/ap/card1f/type")).unwrap().ino();
    export(&stage, &dir);
    assert_eq!(inode, fs::metadata(dir.join("devices/ap/card1f/type")).unwrap().ino());
}

#[test]
fn what_others_made_is_left_alone() {
    let stage = Stage::new(mixed());
    let refused = |dir: &Path| {
        let (errors, status) = export(&stage, dir);
        assert_eq!(status, 1, "{errors}");
        assert!(
            errors.ends_with("exists and was not made by this command: name a folder that does not exist\n"),
            "{errors}"
        );
    };
    let path = |name: &str| stage.path().join(name);
    fs::create_dir(path("empty")).unwrap();
    refused(&path("empty"));
    fs::write(path("file"), "mine").unwrap();
    refused(&path("file"));
    assert_eq!(read(path("file")), "mine");
    export(&stage, &path("tree"));
    symlink("tree", path("link")).unwrap();
    refused(&path("link"));
    // A mark that is not a file.
    fs::remove_file(path("tree/.adjunct-cards-sysfs")).unwrap();
    fs::create_dir(path("tree/.adjunct-cards-sysfs")).unwrap();
    refused(&path("tree"));
    let (errors, status) = export(&stage, &path("none/tree"));
    assert_eq!((errors.lines().count(), status), (1, 1), "{errors}");
    // That of another user.
    if rustix::process::geteuid().is_root() {
        export(&stage, &path("theirs"));
        std::os::unix::fs::chown(path("theirs"), Some(65534), None).unwrap();
        refused(&path("theirs"));
    }
}

#[test]
fn a_watched_tree_follows_the_cards() {
    let mut stage = Stage::new(mixed());
    let dir = stage.path().join("tree");
    let args = ["cards", "sysfs", dir.to_str().unwrap(), "--watch"];
    let mut child = stage.command("adjunct", &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = |what: &str, is: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let online = dir.join("devices/ap/card00/online");
    until("the tree", &|| fs::read_to_string(&online).is_ok_and(|text| text == "1\n"));
    stage.prints("chzcrypt", &["-d", "0"]);
    // The file is never seen in part.
    until("the change", &|| match read(online.clone()).as_str() {
        "1\n" => false,
        "0\n" => true,
        other => panic!("{other:?}"),
    });
    stage.ends();
    until("nothing", &|| !dir.join("bus").exists() && !dir.join("devices").exists());
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(dir.join(".adjunct-cards-sysfs").exists());
}
