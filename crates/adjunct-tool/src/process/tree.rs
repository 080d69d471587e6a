//! The processes below another one, and what is left of them.
//!
//! The monitor of an ordinary user's ssh session may end before the child that did the session's work, without waiting for it; then no process gets
//! the child's processor time. So this process takes the place of init for what it starts ([`adopt`]), and waits for those children itself
//! ([`reap`]): its own account of children then contains the whole session.

use super::wait_for;
use crate::files;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A process's number for the system.
fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Sends a signal to a process, if it exists.
pub fn kill(pid: u32, signal: Signal) {
    if let Some(pid) = number(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Kills a process and all below it.
pub fn kill_tree(root: u32) {
    // First it alone: what it would start meanwhile does not start.
    kill(root, Signal::STOP);
    for pid in descendants(root) {
        kill(pid, Signal::KILL);
    }
    kill(root, Signal::KILL);
}

/// The processes below `root`, nearest first.
pub fn descendants(root: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let parents: Vec<(u32, u32)> = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    and_below(&[root], &parents).split_off(1)
}

/// `roots` and all below them, nearest first, by each process's parent.
fn and_below(roots: &[u32], parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = roots.to_vec();
    let mut next = 0;
    while next < found.len() {
        let above = found[next];
        found.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

/// The processes `roots` and all below them, with the CPU time of those of their children that have ended and were waited for.
pub fn with_ended(roots: &[u32]) -> (Vec<u32>, Duration) {
    let Ok(entries) = fs::read_dir("/proc") else { return (roots.to_vec(), Duration::ZERO) };
    let (parents, ended): (Vec<(u32, u32)>, Vec<f64>) = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| {
            let fields = fields(pid)?.1;
            // The parent, and the times of children, in the order of proc_pid_stat(5) behind the name.
            let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
            Some(((pid, u32::try_from(number(1)?).ok()?), (number(13)? + number(14)?) as f64))
        })
        .unzip();
    let found = and_below(roots, &parents);
    let ticks: f64 =
        parents.iter().zip(ended).filter(|((pid, _), _)| found.contains(pid)).map(|(_, ended)| ended).sum();
    (found, Duration::from_secs_f64(ticks / rustix::param::clock_ticks_per_second() as f64))
}

/// The parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    stat(pid).map(|(_, parent)| parent)
}

/// The name of a process and its parent.
fn stat(pid: u32) -> Option<(String, u32)> {
    let (name, fields) = fields(pid)?;
    Some((name, fields.get(1)?.parse().ok()?))
}

/// The name of a process, and the fields behind it.
fn fields(pid: u32) -> Option<(String, Vec<String>)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name, in parentheses, may itself contain anything.
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    Some((name.to_owned(), rest.split_whitespace().map(str::to_owned).collect()))
}

/// The children that a thread of this process waits for.
static OURS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn ours() -> MutexGuard<'static, BTreeSet<u32>> {
    OURS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Makes orphans of this process's children its own children.
pub fn adopt() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// Takes note of a child, so that it is not taken for an orphan, until [`forget`].
pub(super) fn note(child: u32) {
    ours().insert(child);
}

/// Notes that the child's end was waited for.
pub(super) fn forget(child: u32) {
    ours().remove(&child);
}

/// Waits for the processes of this name (its beginning) that were left to us; one that does not end by `limit` is killed.
pub fn reap(name: &str, limit: Duration) {
    let me = std::process::id();
    for pid in descendants(me) {
        let left = stat(pid).is_some_and(|(of, parent)| parent == me && of.starts_with(name));
        let Some(child) = number(pid).filter(|_| left && !ours().contains(&pid)) else { continue };
        let ended = || !matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None));
        if !wait_for(limit, ended) {
            kill(pid, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::empty());
        }
    }
}

/// Ends the processes below this one that were started with `entry` in their environment: `NAME=value`. They are asked first.
pub fn end_marked(entry: &str) {
    const ASKED: Duration = Duration::from_millis(500);
    let start = Instant::now();
    loop {
        let left = marked(entry);
        if left.is_empty() || start.elapsed() > ASKED * 4 {
            return;
        }
        let signal = if start.elapsed() < ASKED { Signal::TERM } else { Signal::KILL };
        for pid in left {
            kill(pid, signal);
            if let Some(pid) = number(pid) {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn marked(entry: &str) -> Vec<u32> {
    let environment = |pid: u32| files::of_process(Path::new(&format!("/proc/{pid}/environ"))).unwrap_or_default();
    let is_marked = |&pid: &u32| environment(pid).split(|&b| b == 0).any(|e| e == entry.as_bytes());
    descendants(std::process::id()).into_iter().filter(is_marked).collect()
}
