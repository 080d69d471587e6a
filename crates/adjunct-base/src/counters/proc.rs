//! What /proc says of processes.
#![forbid(unsafe_code)]

use rustix::process::getpid;
use std::io::Read;

/// 16 bits of the pid namespace and the time namespace (which start times are relative to); 0 where not known.
pub(super) fn namespaces() -> u16 {
    let inode = |path| rustix::fs::stat(path).map_or(0, |s| s.st_ino as u32);
    let pid = inode("/proc/self/ns/pid");
    // No such file: a kernel without time namespaces, or one in which all are in the first.
    let time = inode("/proc/self/ns/time");
    if pid == 0 { 0 } else { (pid ^ time.wrapping_mul(0x9e37)) as u16 }
}

/// Start time of this process as in [`start`]; 0 where not known.
pub(super) fn own_start() -> u16 {
    // A /proc of another pid namespace shows other processes under these numbers.
    let pid = std::fs::read_link("/proc/self").ok().and_then(|p| p.to_str()?.parse().ok());
    let me = getpid().as_raw_nonzero().get() as u32;
    if pid == Some(me) { start(me).unwrap_or(0) } else { 0 }
}

/// A process's start time in clock ticks, as a number from 1 to 4095: that of its first thread, which is the same. For
/// qemu's user mode makes up the file that is named for the process, with another start time in each thread.
pub(super) fn start(pid: u32) -> Option<u16> {
    // Every program does this at its start: one read, as the kernel makes the line anew for each. What matters of it ends within
    // 52 numbers and a name of at most 64 bytes.
    let mut line = [0; 2048];
    let length = std::fs::File::open(format!("/proc/{pid}/task/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse_start(&String::from_utf8_lossy(&line[..length]))
}

fn parse_start(line: &str) -> Option<u16> {
    // The second field is a name in parentheses, which may hold blanks and parentheses; this is the 22nd.
    let (_, rest) = line.rsplit_once(')')?;
    let ticks: u64 = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some((ticks % 4095 + 1) as u16)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_cannot_shift_the_fields() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4095 20";
        for name in ["a", "a b", ") S 1 2 (", ")"] {
            assert_eq!(super::parse_start(&format!("12 ({name}) {rest}")), Some(1));
        }
        for bad in ["", "12 (a", "12 (a) S 1", "12 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"] {
            assert_eq!(super::parse_start(bad), None);
        }
    }

    #[test]
    fn this_process_has_a_start_and_a_namespace() {
        assert_ne!(super::own_start(), 0);
        assert_ne!(super::namespaces(), 0);
    }

    #[test]
    fn every_thread_sees_the_same_start() {
        let first = super::own_start();
        // Some clock ticks.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(std::thread::spawn(super::own_start).join().unwrap(), first);
    }
}
