//! A listening sshd at a loopback port, and what a process holds.

use crate::lab::spawn;
use crate::ports;
use crate::session::{LIMIT, Pair, Side, next};
use adjunct_tool::process::descendants;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A running server; it ends with its sessions when it is dropped.
#[derive(Debug)]
pub struct Listener {
    child: Child,
    log: PathBuf,
    /// Port where the server listens.
    pub port: u16,
}

impl Pair<'_> {
    /// Starts `sshd -D` at `port`, or a free one.
    pub fn listen(&self, side: &Side, port: Option<u16>) -> Listener {
        let start = Instant::now();
        loop {
            // Between looking for a free port and binding it, another program may take it.
            let at = port.unwrap_or_else(ports::free);
            let name = next();
            let log = self.lab.path(&format!("log-{name}"));
            let side = side.clone().option(format!("ListenAddress 127.0.0.1:{at}"));
            let mut sshd = self.sshd(&side, &name, &["-D"]);
            sshd.stdout(Stdio::null()).stderr(File::create(&log).expect("a log"));
            let mut listener = Listener { child: spawn(&mut sshd), log, port: at };
            if listener.comes_up() {
                return listener;
            }
            let said = listener.log();
            assert!(said.contains("Address already in use") && start.elapsed() < LIMIT, "sshd does not listen: {said}");
        }
    }
}

impl Listener {
    fn comes_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < LIMIT && matches!(self.child.try_wait(), Ok(None)) {
            if self.log().contains("Server listening on") {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// The listening process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Log of the server and its sessions.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Sends the server a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Waits until no process of its sessions is left, not even a zombie.
    pub fn idle(&self) {
        until("its sessions end", || descendants(self.child.id()).is_empty());
    }

    /// Ends the listening process alone; its sessions go on.
    pub fn end(mut self) {
        self.signal(libc::SIGTERM);
        self.child.wait().expect("wait");
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        let sessions = descendants(self.child.id());
        for pid in std::iter::once(self.child.id()).chain(sessions) {
            // SAFETY: a signal to our own processes.
            unsafe { libc::kill(pid as i32, libc::SIGTERM) };
        }
        let _ = self.child.wait();
    }
}

/// Waits for a condition.
pub fn until(what: &str, condition: impl FnMut() -> bool) {
    assert!(eventually(condition), "waited in vain until {what}");
}

/// Whether a condition comes about.
pub fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > LIMIT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Mappings of SysV shared memory: counters.
    pub segments: usize,
    /// Private memory that was written, in kilobytes.
    pub kilobytes: u64,
}

impl Holding {
    /// Reads what a process holds.
    pub fn of(pid: u32) -> Holding {
        let text = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let count = |name: &str| std::fs::read_dir(format!("/proc/{pid}/{name}")).map_or(0, Iterator::count);
        let rollup = text("smaps_rollup");
        let line = rollup.lines().find(|l| l.starts_with("Private_Dirty:")).unwrap_or_default();
        Holding {
            descriptors: count("fd"),
            threads: count("task"),
            segments: text("maps").matches("/SYSV").count(),
            kilobytes: line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0),
        }
    }
}
