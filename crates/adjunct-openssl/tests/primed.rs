//! When the module makes the core ready: at the first search in a program that cannot lose system calls or files meanwhile, else while the
//! module loads.
#![cfg(target_os = "linux")]

mod foreign;

use adjunct::catalogue::Function;
use adjunct::counters::Apart;
use std::path::Path;
use std::process::Command;

/// What the program says, and the digests that were counted.
fn run(program: &Path, preload: Option<&str>) -> (String, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let name = program.file_name().expect("a name").display();
    let word = format!("primed-{name}-{}-{}", preload.is_some(), std::process::id());
    let mut command = Command::new(program);
    command.env("OPENSSL_CONF", foreign::config(folder.path(), "")).env("ADJUNCT_STATS_KEY", &word);
    command.env_remove("ADJUNCT_STATS").envs(preload.map(|library| ("LD_PRELOAD", library)));
    let output = command.output().expect("it runs");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {} {text}", output.status);
    let apart = Apart::of(&word);
    let mut count = 0;
    for uid in apart.users().expect("a list") {
        let counted = apart.read(uid).expect("sound counters").expect("counters");
        let digests = counted.function(Function::Sha256);
        count += digests.hardware_calls() + digests.software_calls();
        apart.delete(uid).expect("removed");
    }
    (text, count)
}

#[test]
fn what_is_never_used_is_not_made_ready() {
    if adjunct::sandbox::filtered() {
        println!("SKIPPED: a filter of system calls is in force, under which nothing is counted");
        return;
    }
    let plain = foreign::compile("primed");
    assert_eq!(run(&plain, None), ("loaded 0\nused 1\n".into(), 1));
    // A program that could close a filter or leave its files, by itself or with libseccomp.
    let changes = foreign::compile_with("primed", "primed-changes", &["-DCHANGES"]);
    assert_eq!(run(&changes, None), ("loaded 1\nused 1\n".into(), 1));
    let (said, counted) = run(&plain, Some("libseccomp.so.2"));
    if said.contains("cannot be preloaded") {
        println!("SKIPPED: this system has no libseccomp");
        return;
    }
    assert_eq!((said.as_str(), counted), ("loaded 1\nused 1\n", 1));
}
