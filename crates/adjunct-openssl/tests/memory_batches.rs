//! Memory that runs out while operations of several callers are done in one batch, in a foreign program (`memory_batches/program.c`): an
//! error for the one caller whose operation it was for, at most; the others get theirs done, and the process lives.
//! `ADJUNCT_DEEP` tries every size and curve.

#[cfg(target_env = "gnu")]
mod foreign;

/// What each kind of operation asked for at most, and how many failed, as `NAME ALLOCATIONS FAILED` lines.
#[cfg(target_env = "gnu")]
fn run(how: &str, more: &str) -> Vec<(String, u32, u32)> {
    use std::process::{Command, Output};
    use std::sync::OnceLock;
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| foreign::compile("memory_batches"));
    let folder = tempfile::tempdir().expect("a folder");
    let config = foreign::config(folder.path(), more);
    let mut command = Command::new("timeout");
    command.arg("600").arg(program).arg(&config).arg(how).env("OPENSSL_CONF", "/dev/null");
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success() && err.is_empty(), "{how}: {status}: {out}{err}");
    println!("{out}");
    let line = |line: &str| {
        let [name, asked, failed] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (name.to_owned(), asked.parse().expect("a number"), failed.parse().expect("a number"))
    };
    out.lines().map(line).collect()
}

#[test]
#[cfg(target_env = "gnu")]
fn a_batch_of_jobs_without_memory_fails_at_most_whose_it_was() {
    let kinds = run("jobs", "");
    assert!(kinds.len() >= 5, "{kinds:?}");
    if adjunct::ops::batches::for_curves() {
        // Each job asks for what it is parked in; keys of RSA for their form and the room of a batch.
        assert!(kinds.iter().all(|(_, asked, _)| *asked >= 8), "{kinds:?}");
    } else {
        println!("SKIPPED: what a batch asks for: this CPU has no AVX-512 IFMA, or it is masked");
    }
}

#[test]
#[cfg(target_env = "gnu")]
fn a_batch_of_threads_without_memory_fails_at_most_whose_it_was() {
    let kinds = run("threads", "accelerator = always\n");
    assert!(kinds.len() >= 5, "{kinds:?}");
}
