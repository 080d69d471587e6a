//! Why a process may not be looked at, and what to do about it. Root is told root's reason.

use adjunct_tool::files;
use std::path::Path;

/// The number of the capability `CAP_SYS_PTRACE`, with which root may look at the processes of all users.
const SYS_PTRACE: u32 = 19;

/// Why, and what to do.
pub(super) fn why() -> String {
    if !nix::unistd::geteuid().is_root() {
        return "it is another user's; ask as root".to_owned();
    }
    let capable = files::of_process(Path::new("/proc/self/status")).ok().and_then(|status| has(&status, SYS_PTRACE));
    of_root(capable).to_owned()
}

/// Root's reason, by whether it has the capability; none where the kernel does not say.
fn of_root(capable: Option<bool>) -> &'static str {
    match capable {
        Some(false) => {
            "this root lacks the capability CAP_SYS_PTRACE (as in most containers), and the kernel does not show it other processes' \
             memory maps; ask outside of the container, or start this one with that capability"
        }
        _ => {
            "the kernel does not let even root look at it: it belongs to another user namespace (ask as root outside of it), or a \
             security module forbids it (journalctl -k says which)"
        }
    }
}

/// Whether a capability is in effect, by `/proc/PID/status`.
fn has(status: &[u8], capability: u32) -> Option<bool> {
    let status = String::from_utf8_lossy(status);
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let set = u64::from_str_radix(set.trim(), 16).ok()?;
    Some(set >> capability & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_not_told_to_ask_as_root() {
        // Docker's root, and a machine's.
        assert_eq!(has(b"Name:\tx\nCapEff:\t00000000a80425fb\n", SYS_PTRACE), Some(false));
        assert_eq!(has(b"CapEff:\t000001ffffffffff\n", SYS_PTRACE), Some(true));
        assert_eq!(has(b"nothing", SYS_PTRACE), None);
        for capable in [Some(false), Some(true), None] {
            assert!(
                !of_root(capable).contains("ask as root;") && !of_root(capable).starts_with("it is another user's")
            );
        }
        assert!(of_root(Some(false)).contains("CAP_SYS_PTRACE"));
    }
}
