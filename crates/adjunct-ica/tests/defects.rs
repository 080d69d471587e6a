//! Situations that harm programs with IBM's libica and must not harm those with ours: foreign and damaged statistics, descriptors that are closed,
//! random bytes where there is nothing to open and after a fork, rows that count for others, and OpenSSL's configuration. What only root can set up
//! says SKIPPED for others.

#![cfg(target_os = "linux")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "plain system calls on our own children and segments")]

mod common;

use adjunct::catalogue::Function;
use adjunct::counters::{Apart, SEGMENT_SIZE, Snapshot};
use common::{here, libraries, natively, program, run};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const NOBODY: u32 = 65534;

fn me() -> u32 {
    unsafe { libc::geteuid() }
}

fn is_root() -> bool {
    if me() != 0 {
        println!("SKIPPED: this takes root");
    }
    me() == 0
}

/// Counters of one test, which go with it.
struct Own {
    word: String,
}

impl Own {
    fn new(test: &str) -> Own {
        Own { word: format!("defects-{test}-{}", std::process::id()) }
    }

    fn apart(&self) -> Apart {
        Apart::of(&self.word)
    }

    /// `program.c` in one of its modes, with these counters.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut program = program("defects/program");
        program.env_remove("ADJUNCT_STATS").env("ADJUNCT_STATS_KEY", &self.word).args(arguments);
        program.stdin(Stdio::null());
        program
    }

    fn read(&self, uid: u32) -> Option<Snapshot> {
        self.apart().read(uid).unwrap()
    }

    /// SHA-256 calls that `uid` has counted.
    fn hashes(&self, uid: u32) -> u64 {
        self.read(uid).map_or(0, |counts| calls(&counts, Function::Sha256))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for uid in [me(), NOBODY] {
            _ = self.apart().delete(uid);
        }
    }
}

fn calls(counts: &Snapshot, function: Function) -> u64 {
    let counts = counts.function(function);
    counts.hardware_calls() + counts.software_calls()
}

/// Checks that all went well; gives what the command said on standard error.
fn good(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {said}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "good\n", "{said}");
    said
}

/// A shared memory segment, gone with the value.
struct Segment {
    id: i32,
}

impl Segment {
    fn new(key: i32, size: usize, mode: i32) -> Segment {
        let id = unsafe { libc::shmget(key, size, libc::IPC_CREAT | libc::IPC_EXCL | mode) };
        assert!(id >= 0, "shmget: {}", std::io::Error::last_os_error());
        Segment { id }
    }

    /// Makes a segment that belongs to the user nobody.
    fn of_nobody(key: i32, size: usize, mode: i32) -> Segment {
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe {
                let made = libc::setresuid(NOBODY, NOBODY, NOBODY) == 0
                    && libc::shmget(key, size, libc::IPC_CREAT | libc::IPC_EXCL | mode) >= 0;
                libc::_exit(i32::from(!made));
            }
        }
        let mut status = -1;
        assert_eq!((unsafe { libc::waitpid(child, &mut status, 0) }, status), (child, 0));
        Segment { id: unsafe { libc::shmget(key, 0, 0) } }
    }

    /// Whether the segment was never written to.
    fn is_untouched(&self, size: usize) -> bool {
        let place = unsafe { libc::shmat(self.id, std::ptr::null(), libc::SHM_RDONLY) };
        assert_ne!(place as isize, -1);
        let untouched = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), size) }.iter().all(|&b| b == 0);
        unsafe { libc::shmdt(place) };
        untouched
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// The original maps a file of whatever size and is killed by SIGBUS.
#[test]
fn statistics_that_are_too_short_kill_nobody() {
    let own = Own::new("short");
    for (size, mode) in
        [(64, 0o600), (4096, 0o600), (SEGMENT_SIZE - 1, 0o600), (SEGMENT_SIZE, 0o666), (SEGMENT_SIZE, 0)]
    {
        let segment = Segment::new(own.apart().key(me()), size, mode);
        let before = own.hashes(me());
        assert_eq!(good(&own.program(&["many", "10"]).output().unwrap()), "", "the program's standard error");
        assert_eq!(own.hashes(me()), before + 10, "counted elsewhere");
        assert!(mode == 0 && me() != 0 || segment.is_untouched(size.min(4096)), "written to");
    }
    good(&own.program(&["many", "10"]).output().unwrap());
    assert_eq!(own.hashes(me()), 60, "and where all is well, it counts");
}

/// A file in the place of the original's counters changes nothing.
#[test]
fn a_file_of_the_originals_changes_nothing() {
    let own = Own::new("file");
    let path = format!("/dev/shm/icastats_{}", me());
    if std::fs::OpenOptions::new().write(true).create_new(true).open(&path).is_err() {
        return println!("SKIPPED: {path} cannot be made");
    }
    let output = own.program(&["many", "10"]).output();
    let length = std::fs::metadata(&path).map(|m| m.len());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(good(&output.unwrap()), "");
    assert_eq!((length.unwrap(), own.hashes(me())), (0, 10));
}

/// The original counts into whatever another user has put in its place.
#[test]
fn statistics_of_another_user_are_not_used() {
    if !is_root() {
        return;
    }
    let own = Own::new("squatted");
    for mode in [0o600, 0o666, 0o000] {
        let segment = Segment::of_nobody(own.apart().key(0), SEGMENT_SIZE, mode);
        let before = own.hashes(0);
        assert_eq!(good(&own.program(&["many", "10"]).output().unwrap()), "", "the program's standard error");
        assert_eq!(own.hashes(0), before + 10, "counted elsewhere");
        assert!(segment.is_untouched(SEGMENT_SIZE), "written to");
    }
}

#[test]
fn statistics_that_go_while_a_program_runs_hurt_nobody() {
    let own = Own::new("gone");
    let mut child = Waiting::start(&own);
    assert_eq!(own.hashes(me()), 5);
    own.apart().delete(me()).unwrap();
    child.go_on();
    good(&child.end());
}

/// A program that has counted 5 hashes and waits.
struct Waiting {
    child: Child,
    input: Option<std::process::ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Waiting {
    fn start(own: &Own) -> Waiting {
        let mut command = own.program(&["wait"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut waiting =
            Waiting { input: child.stdin.take(), output: BufReader::new(child.stdout.take().unwrap()), child };
        let mut line = String::new();
        waiting.output.read_line(&mut line).unwrap();
        assert_eq!(line, "counted\n");
        waiting
    }

    fn go_on(&mut self) {
        self.input.take().unwrap().write_all(b"\n").unwrap();
    }

    fn end(mut self) -> Output {
        let mut stdout = Vec::new();
        std::io::Read::read_to_end(&mut self.output, &mut stdout).unwrap();
        Output { stdout, ..self.child.wait_with_output().unwrap() }
    }
}

#[test]
fn two_processes_counts_are_both_there() {
    let own = Own::new("two");
    let start = || own.program(&["many", "20000"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (0..2).map(|_| start()).collect();
    for child in children {
        good(&child.wait_with_output().unwrap());
    }
    assert_eq!(own.hashes(me()), 40_000);
    // Of one that is killed, too.
    let mut waiting = Waiting::start(&own);
    waiting.child.kill().unwrap();
    waiting.child.wait().unwrap();
    assert_eq!(own.hashes(me()), 40_005);
}

/// Loading the library counts nothing, where the original counts its self-tests; calls count for the user that the process has by then.
#[test]
fn loading_counts_nothing_and_counts_go_to_who_the_process_is() {
    let own = Own::new("who");
    good(&own.program(&["nothing"]).output().unwrap());
    assert!(Function::ALL.iter().all(|&function| own.read(me()).is_none_or(|all| calls(&all, function) == 0)));
    if !is_root() {
        return;
    }
    good(&own.program(&["become"]).output().unwrap());
    assert_eq!((own.hashes(0), own.hashes(NOBODY)), (1, 2));
}

/// libica #105: a user who looks at another's statistics first must not make them, or the other can no longer open them.
#[test]
fn looking_at_a_users_statistics_does_not_take_them_away() {
    if !is_root() {
        return;
    }
    let own = Own::new("looked-at");
    assert!(own.read(NOBODY).is_none());
    for calls in [3, 6] {
        good(&own.program(&["become"]).output().unwrap());
        assert_eq!(own.hashes(NOBODY), calls / 3 * 2, "one that is there already is opened, too");
    }
}

/// The original has no row of its own for RSA-3072, and lists SHAKE-256 and triple DES in CFB as their neighbours.
#[test]
fn rows_count_for_themselves() {
    let own = Own::new("rows");
    good(&own.program(&["rows"]).output().unwrap());
    let Some(counts) = own.read(me()) else { return println!("SKIPPED: no shared memory for counters here") };
    let mut found = Vec::new();
    for &function in Function::ALL {
        for (size, row) in function.rows() {
            let row = counts.row(row);
            let directions = [0, 1].map(|i| row.hardware[i].calls + row.software[i].calls);
            if directions != [0, 0] {
                found.push((function.info().name, size, directions));
            }
        }
    }
    let expected = [
        ("SHAKE-256", None, [1, 0]),
        ("RSA ME", Some(3072), [1, 0]),
        ("DES CFB", None, [0, 1]),
        ("3DES CFB", None, [1, 1]),
    ];
    assert_eq!(found, expected);
}

/// libica #88: sshd has a few descriptors, daemons close all.
#[test]
fn no_descriptor_is_kept_needed_or_closed() {
    if !natively("an emulator has descriptors of its own, and needs some") {
        return;
    }
    let own = Own::new("descriptors");
    let mut program = own.program(&["descriptors"]);
    // Nor does it inherit any of those who run the test.
    unsafe {
        program.pre_exec(|| {
            (3..1024).for_each(|fd| _ = libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC));
            Ok(())
        });
    }
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(own.hashes(me()), 2, "it still counts");
}

#[test]
fn random_bytes_differ_after_a_fork() {
    good(&Own::new("forks").program(&["forks"]).output().unwrap());
}

/// The original reads /dev/urandom.
#[test]
fn random_bytes_need_nothing_to_open() {
    if !natively("an emulator has descriptors of its own, and needs some") {
        return;
    }
    let own = Own::new("root");
    good(&own.program(&["root"]).output().unwrap());
    if !is_root() {
        return;
    }
    let root = libraries().join("empty");
    std::fs::create_dir_all(&root).unwrap();
    good(&own.program(&["root", root.to_str().unwrap()]).output().unwrap());
}

/// The library works in a root directory that has nothing but the program and the libraries that the program needs.
#[test]
fn a_root_with_nothing_but_the_program_is_enough() {
    if !is_root() {
        return;
    }
    let built = program("defects/program").get_program().to_owned();
    let Ok(listed) = Command::new("ldd").arg(&built).env("LD_LIBRARY_PATH", libraries()).output() else {
        return println!("SKIPPED: no ldd");
    };
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let files: Vec<_> = listed.split_whitespace().filter(|word| word.starts_with('/')).collect();
    if !files.iter().any(|file| file.ends_with("libica.so.4")) {
        return println!("SKIPPED: ldd knows nothing of this program");
    }
    let root = libraries().join("root");
    let copy = |from: &Path, to: &Path| {
        let place = root.join(to.strip_prefix("/").unwrap());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        // By a process of its own: what this one has open for writing, a child that another test forks has as well, and no
        // program starts while anybody has it so.
        run(Command::new("cp").arg(from).arg(place));
    };
    files.iter().for_each(|file| copy(Path::new(file), Path::new(file)));
    copy(Path::new(&built), Path::new("/program"));
    let mut command = Command::new("chroot");
    command.arg(&root).args(["/program", "work"]).env("LD_LIBRARY_PATH", libraries()).env("ADJUNCT_STATS", "off");
    assert_eq!(good(&command.output().unwrap()), "");
}

/// libica #114 and #123: a provider that calls libica while OpenSSL, which libica loads, reads its configuration.
#[test]
fn openssls_configuration_may_lead_back_to_libica() {
    let module = libraries().join("recursing.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut build = Command::new(compiler);
    build.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I"]).arg(here().join("include")).arg("-o");
    build.arg(&module).arg(here().join("tests/defects/provider.c")).arg("-L").arg(libraries()).arg("-lica");
    run(&mut build);
    let configuration = libraries().join("recursing.cnf");
    let text = format!(
        "openssl_conf = init\n[init]\nproviders = all\n[all]\ndefault = ordinary\nrecursing = ours\n\
         [ordinary]\nactivate = 1\n[ours]\nmodule = {}\nactivate = 1\n",
        module.display()
    );
    std::fs::write(&configuration, text).unwrap();
    for first in ["libica", "openssl"] {
        let mut program = program("defects/recursion");
        assert_eq!(run(program.env("OPENSSL_CONF", &configuration).arg(first)), "good\n");
    }
}
