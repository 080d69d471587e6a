//! What sessions with a private sshd leave out, the user's startup files, and how what they started is ended.

use super::place::Place;
use super::server::{descendants, kill};
use crate::files;
use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The line of `sshd_config` that keeps the user's startup files out of a session. sshd runs every command by the login shell
/// of the account (`shell -c COMMAND`), and what that reads first may take longer than all the rest, print, or never end:
///
/// * bash reads `/etc/bash.bashrc` and `~/.bashrc` where sshd started it, but only as the outermost shell (`SHLVL` below 2);
/// * zsh reads `.zshenv` in `ZDOTDIR`, csh and tcsh `.cshrc` and `.tcshrc` in `HOME`, fish `fish/` in `XDG_CONFIG_HOME`;
/// * dash and ksh read nothing without a terminal but, in some versions, what `ENV` names.
///
/// So the session gets a home of its own, in which nothing is. One line, because sshd takes the first of its kind. What an
/// administrator set up for every shell of the machine (`/etc/zsh/zshenv`, `/etc/fish`, `/etc/csh.cshrc`) is still read.
pub(in crate::ssh) fn without_startup_files(place: &Place) -> String {
    let home = home(place.dir());
    let home = home.display();
    format!("SetEnv HOME={home} ZDOTDIR={home} XDG_CONFIG_HOME={home} SHLVL=2 ENV=/dev/null BASH_ENV=/dev/null\n")
}

/// The home of sessions; it also tells their processes from all others.
fn home(folder: &Path) -> PathBuf {
    folder.join("home")
}

/// Ends what sessions with the servers of `folder` have started and left behind: their shells and commands are orphans, and so
/// this process's children, once their sshd is gone.
pub(in crate::ssh) fn end_left_behind(folder: &Path) {
    const ASKED: Duration = Duration::from_millis(500);
    let start = Instant::now();
    loop {
        let left = of_sessions(folder);
        if left.is_empty() || start.elapsed() > ASKED * 4 {
            return;
        }
        let signal = if start.elapsed() < ASKED { Signal::TERM } else { Signal::KILL };
        for pid in left {
            kill(pid, signal);
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The processes below this one that were started in such a session.
fn of_sessions(folder: &Path) -> Vec<u32> {
    let marked = format!("HOME={}", home(folder).display());
    let environment = |pid: u32| files::of_process(Path::new(&format!("/proc/{pid}/environ"))).unwrap_or_default();
    let is_marked = |&pid: &u32| environment(pid).split(|&b| b == 0).any(|entry| entry == marked.as_bytes());
    descendants(std::process::id()).into_iter().filter(is_marked).collect()
}
