//! OpenSSH's versions on adjunct's provider and engine together: every algorithm, every kind of login, load, and sessions that outlive a change of
//! the module or configuration. Each version is that of a Debian suite in its own root.
//!
//! `./check` tries this machine's version and the newest, each algorithm once in each role, with little load. `./check deep openssh`
//! tries the version between them too, every pair of key exchange and host key, a thousand logins in a row, and hundreds at once.

mod algorithms;
mod lasting;
mod load;
mod logins;
mod odd;
mod table;

use adjunct_e2e::system::{NEWEST, System, is_root, namespaces};
use adjunct_e2e::{deep, skipped};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The system of a name; `None`, with a message, where it cannot be had or the tests do not run as root with the right to mount: only root's sshd
/// separates privileges, and the folders and accounts that it needs are mounted.
fn system(name: &'static str) -> Option<System> {
    if !is_root() || !namespaces() {
        skipped("only root's sshd separates privileges and changes users, and needs a mount namespace");
        return None;
    }
    if name == "here" { Some(System::here()) } else { System::suite(name) }
}

/// Runs `job` on each item, several at once: a login is mostly waiting for the other side. The first failure ends it.
fn side_by_side<T: Sync>(items: &[T], job: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let result = std::panic::catch_unwind(AssertUnwindSafe(|| job(item)));
                    if let Err(panic) = result {
                        failed.store(true, Ordering::Relaxed);
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}

/// The versions to try: what is between the oldest and the newest is left to the whole matrix.
fn versions() -> Vec<&'static str> {
    if deep() { vec!["here", "trixie", NEWEST] } else { vec!["here", NEWEST] }
}

/// Runs `job` for each version.
fn each_system(job: impl Fn(&System)) {
    for system in versions().into_iter().filter_map(system) {
        job(&system);
    }
}
