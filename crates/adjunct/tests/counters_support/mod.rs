//! Runs each scenario in a process of its own, with counters of its own: this test program again, told by the environment
//! which part to play. So scenarios fork, kill and change users freely, and the real counters of the machine stay alone.

#![allow(dead_code, reason = "each test program uses its part")]

use self::tally::Tally;
use super::runner::itself;
use adjunct::catalogue::Direction;
use adjunct::catalogue::Function;
use adjunct::counters::{self, Snapshot};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[path = "../tally/mod.rs"]
pub mod tally;

pub const SCENARIO: &str = "ADJUNCT_TEST_SCENARIO";

/// The scenario this process is to play, and its arguments.
pub fn scenario() -> Option<(String, Vec<String>)> {
    let text = std::env::var(SCENARIO).ok()?;
    let mut words = text.split(' ').map(str::to_owned);
    Some((words.next()?, words.collect()))
}

/// This program, to play `text` with the counters of this process.
pub fn another(text: &str) -> Command {
    let mut command = itself();
    command.args(["--exact", "player", "--ignored", "--nocapture", "-q"]).env(SCENARIO, text);
    command
}

/// Plays `text` in a process with fresh counters; panics with what it printed if it fails.
pub fn play(text: &str) -> Output {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    let key = format!("{:x}", std::process::id() << 10 | COUNT.fetch_add(1, Ordering::Relaxed));
    // On: also where the tests run under a filter of system calls, as in a container.
    let run = |text: &str| another(text).env("ADJUNCT_STATS_KEY", &key).env("ADJUNCT_STATS", "on").output().unwrap();
    let output = run(text);
    let cleaned = run("clean");
    let words = |o: &Output| String::from_utf8_lossy(&[&o.stdout[..], &o.stderr[..]].concat()).into_owned();
    assert!(output.status.success(), "{text}: {:?}\n{}", output.status, words(&output));
    assert!(cleaned.status.success(), "{text}, cleaning: {}", words(&cleaned));
    output
}

/// Removes what the scenario left.
pub fn clean() {
    for uid in counters::users().unwrap() {
        counters::delete(uid).unwrap();
    }
    assert!(counters::users().unwrap().is_empty());
    // That of switched users goes with root's own counters, and those may be gone.
    counters::delete(me()).unwrap();
}

/// Bytes of each counted call.
pub const BYTES: u64 = 3;

/// A function counted as software, so that calls, bytes and the reason are all counted.
pub fn tally() -> Tally {
    Tally::delegated(Function::AesCbc, 192)
}

/// Counts `calls` operations.
pub fn count(calls: u64) {
    let tally = tally();
    for i in 0..calls {
        let direction = if i % 2 == 0 { Direction::Encrypt } else { Direction::Decrypt };
        tally.count(direction, BYTES as usize);
    }
}

/// What [`count`] has counted for `uid`; asserts that calls, bytes and reasons agree.
pub fn counted(uid: u32) -> u64 {
    counters::read(uid).unwrap().map_or(0, |s| calls(&s))
}

pub fn calls(snapshot: &Snapshot) -> u64 {
    let counts = snapshot.function(Function::AesCbc);
    let calls = counts.software_calls();
    assert_eq!(counts.software.iter().map(|c| c.bytes).sum::<u64>(), BYTES * calls);
    let delegated = snapshot.fallbacks(Function::AesCbc, adjunct::catalogue::Reason::Delegated);
    assert_eq!((delegated.calls, delegated.bytes), (calls, BYTES * calls));
    assert_eq!(counts.hardware_calls(), 0);
    assert_eq!(counts, snapshot.row(Function::AesCbc.row(192)));
    calls
}

/// Calls alone, without bytes: for processes that were killed in the middle of a call.
pub fn calls_only(uid: u32) -> u64 {
    counters::read(uid).unwrap().map_or(0, |s| s.function(Function::AesCbc).software_calls())
}

pub fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Runs `f` in a forked child; the child ends without running destructors, with a status that tells whether `f` panicked.
pub fn fork(f: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child runs `f` and ends; glibc's allocator survives a fork of a threaded process.
    match unsafe { libc::fork() } {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(done.is_err())) }
        }
        pid => {
            assert!(pid > 0);
            pid
        }
    }
}

/// Runs `f` in a thread made without Rust's thread library, which has locks that a child forked from a threaded process may
/// find closed.
pub fn in_bare_thread(f: fn()) {
    extern "C" fn run(f: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: it is the `fn()` passed below.
        unsafe { std::mem::transmute::<*mut libc::c_void, fn()>(f)() };
        std::ptr::null_mut()
    }
    // SAFETY: the thread is joined; `f` is a plain function.
    unsafe {
        let mut thread = std::mem::zeroed();
        assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), run, f as *mut libc::c_void), 0);
        assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
    }
}

/// The status with which `pid` ended.
pub fn wait(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: the status is ours.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status
}

pub fn kill(pid: libc::pid_t) {
    // SAFETY: a child of ours.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

/// Words that this process shares with its forked children.
pub fn shared_words(count: usize) -> &'static [AtomicU64] {
    // SAFETY: a new shared mapping of zeros, never unmapped.
    unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let place = libc::mmap(std::ptr::null_mut(), count * 8, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(place, libc::MAP_FAILED);
        std::slice::from_raw_parts(place.cast(), count)
    }
}

/// A small generator, so that a failure can be repeated: the seed is printed.
pub struct Random(u64);

impl Random {
    pub fn new() -> Random {
        let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
        println!("seed {seed}");
        Random(seed)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Starts a player that inherits this process's counters.
pub fn start(text: &str) -> Child {
    another(text).stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().unwrap()
}
