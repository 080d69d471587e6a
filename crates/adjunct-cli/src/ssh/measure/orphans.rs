//! Processes that sshd leaves behind.
//!
//! The monitor of an ordinary user's session may end before the child that did the session's work, without waiting for it;
//! then the child's processor time is nobody's. So this process takes the place of init for what it starts, and waits for
//! those children itself: the kernel's account of children has all of the session then.

use super::rig::wait_for;
use crate::ssh::server::descendants;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use std::collections::BTreeSet;
use std::fs;
use std::process::Child;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The children that somebody here waits for.
static OURS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn ours() -> MutexGuard<'static, BTreeSet<u32>> {
    OURS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// From here on orphans come to this process.
pub fn adopt() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// Takes note of a child, so that it is not taken for an orphan, until [`forget`].
pub fn note(child: &Child) {
    ours().insert(child.id());
}

/// Its end was waited for.
pub fn forget(child: &Child) {
    ours().remove(&child.id());
}

/// Waits for the sshd processes that were left to us; one that does not end by `limit` is killed.
pub fn reap(limit: Duration) {
    let me = getpid().as_raw_nonzero().get().unsigned_abs();
    for pid in descendants(me) {
        let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, s)| s.rsplit_once(')')) else { continue };
        let parent = rest.split_whitespace().nth(1).and_then(|p| p.parse::<u32>().ok());
        if parent != Some(me) || !name.starts_with("sshd") || ours().contains(&pid) {
            continue;
        }
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { continue };
        let ended = || !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None));
        if !wait_for(limit, ended) {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}
