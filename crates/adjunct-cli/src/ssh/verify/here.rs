//! Whether the other side of a session is this machine: what it says of itself, and what this one is.

use std::fs;

/// Starts what the other side says of itself.
pub(super) const MARK: &str = "adjunct-verify ";

/// The other side's identification: its user, process, and whether it is this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct There {
    /// The user's number.
    pub uid: u32,
    /// The process of sshd that serves the session, where its number means something here.
    pub pid: Option<u32>,
    /// Whether the process counts where this machine's programs count: the same kernel, the same shared memory.
    pub here: bool,
}

/// Identifiers that distinguish this machine and its containers from others.
#[derive(Debug)]
pub(super) struct Here {
    /// The kernel's number since it was started.
    pub boot: String,
    /// The namespace of shared memory.
    pub ipc: String,
    /// The namespace of processes' numbers.
    pub pids: String,
}

impl Here {
    /// Asks the system about this process.
    pub(super) fn new() -> Here {
        let link = |path: &str| fs::read_link(path).map(|l| l.display().to_string()).unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        Here { boot, ipc: link("/proc/self/ns/ipc"), pids: link("/proc/self/ns/pid") }
    }
}

/// Parses the other side's line about itself in `head`, and finds where the data after it starts.
pub(super) fn there(head: &[u8]) -> Option<(There, usize)> {
    let start = head.windows(MARK.len()).position(|w| w == MARK.as_bytes())? + MARK.len();
    let length = head[start..].iter().position(|&b| b == b'\n')?;
    let line = String::from_utf8_lossy(&head[start..start + length]).into_owned();
    let words: Vec<&str> = line.split(' ').map(str::trim).collect();
    let Here { boot, ipc, pids } = Here::new();
    let same = |word: Option<&&str>, ours: &str| word.is_some_and(|w| !w.is_empty() && *w == ours);
    let here = same(words.first(), &boot) && same(words.get(1), &ipc);
    let number = |i: usize| words.get(i).and_then(|w| w.parse::<u32>().ok());
    let pid = number(4).filter(|_| here && same(words.get(2), &pids));
    Some((There { uid: number(3).unwrap_or(u32::MAX), pid, here }, start + length + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_not_taken_for_this_one() {
        let head = b"Welcome!\nadjunct-verify 0-0 ipc:[1] pid:[2] 1000 77\nrest";
        let (there, rest) = there(head).unwrap();
        assert_eq!(there, There { uid: 1000, pid: None, here: false });
        assert_eq!(&head[rest..], b"rest");
    }

    #[test]
    fn a_machine_without_proc_says_less() {
        let (there, _) = there(b"adjunct-verify    0 12\n").unwrap();
        assert_eq!(there, There { uid: 0, pid: None, here: false });
        assert_eq!(super::there(b"adjunct-verify a b"), None);
        assert_eq!(super::there(b"hello\n"), None);
    }
}
