//! The shared libraries and C programs built against them, for every test of the interface.

#![allow(dead_code, reason = "each test uses its part")]

use adjunct::Error;
use adjunct::counters::{Apart, Snapshot};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

#[path = "../../../adjunct/tests/runner/mod.rs"]
mod runner;
pub use runner::*;

/// Runs a command that has to succeed, and gives what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Counts, in counters of their own, what the commands do that `work` runs by the function it is given; an error where there is no shared memory,
/// `None` where nothing was counted.
pub fn counted(name: &str, work: impl FnOnce(&dyn Fn(&mut Command) -> String)) -> Result<Option<Snapshot>, Error> {
    let word = format!("libica-{name}-{}", std::process::id());
    work(&|command| run(command.env("ADJUNCT_STATS", "on").env("ADJUNCT_STATS_KEY", &word)));
    let apart = Apart::of(&word);
    // SAFETY: no requirements.
    let uid = unsafe { libc::geteuid() };
    let counts = apart.read(uid);
    _ = apart.delete(uid);
    counts
}

/// The compiler of C: `CC`, which tests/cross sets to a cross compiler.
pub fn compiler() -> Command {
    Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
}

/// Step between the published vectors that are tried: 1, or 8 under an emulator.
pub fn every() -> usize {
    if emulated() { 8 } else { 1 }
}

/// The bytes of a vector.
pub fn hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).expect("a hexadecimal digit") as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// Path of this crate's folder.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Removes the folders of processes that are gone, and what an earlier one with this process's number has left.
fn remove_old() {
    let folders = std::fs::read_dir(env!("CARGO_TARGET_TMPDIR")).into_iter().flatten().flatten();
    for folder in folders {
        let name = folder.file_name();
        let Some(number) = name.to_str().and_then(|name| name.strip_prefix("ica-")?.parse::<u32>().ok()) else {
            continue;
        };
        if number == std::process::id() || !Path::new(&format!("/proc/{number}")).exists() {
            _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

/// Path of this process's folder, with the shared libraries in it.
pub fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        remove_old();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ica-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder of this process");
        let linked = linked();
        for name in ["ica", "ica-cex"] {
            let library = format!("lib{name}.so.4");
            std::fs::hard_link(linked.0.join(&library), folder.join(&library)).expect("a link to the library");
            std::os::unix::fs::symlink(&library, folder.join(format!("lib{name}.so"))).expect("a link for cc");
        }
        folder
    })
}

/// The shared libraries made from the static one that cargo has built for these tests: the first test program that needs them links them, for all
/// test programs of that build. While the file is locked none of them is linked again.
fn linked() -> (PathBuf, std::fs::File) {
    let deps = std::env::current_exe().expect("a path").parent().expect("target/PROFILE/deps").to_owned();
    let archive = std::fs::read_dir(&deps)
        .expect("target/PROFILE/deps")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libadjunct_ica-") && name.ends_with(".a")
        })
        .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok())
        .expect("cargo has built the static library");
    let folder = deps.with_file_name("libica");
    std::fs::create_dir_all(&folder).expect("a folder beside target/PROFILE/deps");
    let lock = std::fs::File::create(folder.join("lock")).expect("a lock");
    lock.lock().expect("the lock");
    // What they were linked of: the archive, and what says how.
    let how = here().join("../adjunct/link");
    let sources = [
        archive.clone(),
        here().join("link"),
        here().join("libica.map"),
        how.join("module.args"),
        how.join("module.ld"),
    ];
    let of: String = sources
        .iter()
        .map(|source| {
            let built =
                source.metadata().and_then(|m| m.modified()).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
            format!("{} {built:?}\n", source.display())
        })
        .collect();
    let mark = folder.join("of");
    if std::fs::read_to_string(&mark).ok().as_deref() != Some(&of) {
        _ = std::fs::remove_file(&mark);
        run(Command::new(here().join("link")).arg(archive).arg(&folder));
        std::fs::write(mark, of).expect("what they were linked of");
    }
    (folder, lock)
}

/// `tests/SOURCE.c` (`interface/ciphers`), built with `cc -lica` and ready to run: with no counters but those a test asks for.
pub fn program(name: &str) -> Command {
    program_of(name, "ica")
}

/// `tests/NAME.c`, built with `cc -lLIBRARY` (`ica`, or `ica-cex`) and ready to run.
pub fn program_of(name: &str, library: &str) -> Command {
    let source = here().join("tests").join(name);
    let program = libraries().join(format!("{}-{library}", name.replace('/', "-")));
    // Several tests of one process may want the same program.
    static BUILDING: Mutex<()> = Mutex::new(());
    let building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if !program.exists() {
        let mut command = compiler();
        command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(here().join("include")).arg("-o");
        command.arg(&program).arg(source.with_extension("c")).arg("-L").arg(libraries());
        run(command.arg(format!("-l{library}")).arg("-lcrypto"));
    }
    drop(building);
    let mut command = start(&program);
    command.env("LD_LIBRARY_PATH", libraries()).env("ADJUNCT_STATS", "off").env("OPENSSL_CONF", "/dev/null");
    command
}

/// Runs `tests/SOURCE.c` on a processor without the instructions of `mask` and wants "good" of it.
pub fn is_good(name: &str, mask: &str) {
    let mut program = program(name);
    assert_eq!(run(program.env("ADJUNCT_CPU", mask)), "good\n");
}

/// The mask that leaves the processor without crypto instructions.
pub const PLAIN: &str = if cfg!(target_arch = "x86_64") {
    "-aes,-pclmul,-sha,-avx512"
} else if cfg!(target_arch = "aarch64") {
    "-aes,-pmull,-sha1,-sha256,-sha512,-sha3"
} else if cfg!(target_arch = "s390x") {
    "-km,-kmc,-kmctr,-kmf,-kmo,-kma,-kmac,-kimd,-klmd,-pcc,-prno,-kdsa"
} else {
    ""
};
