//! How many of the machine's tasks can run, from `/proc/loadavg`.
#![forbid(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The file of the system's load, opened before the system calls that open files are given up; `None` where it does not exist.
#[derive(Debug)]
pub struct Load(Option<File>);

impl Load {
    /// Opens the kernel's file of the load.
    pub fn open() -> Load {
        Load(File::open("/proc/loadavg").ok())
    }

    /// The tasks of the machine that run or could run at this moment, the caller included.
    pub fn runnable(&self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        runnable(text.get(..length)?)
    }
}

/// `0.20 0.18 0.12 1/80 11206` has it before the slash.
fn runnable(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (runnable, _all) = text.split_ascii_whitespace().nth(3)?.split_once('/')?;
    runnable.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_one_can_run() {
        assert_eq!(runnable(b"3.56 6.74 4.82 4/105 25376\n"), Some(4));
        assert_eq!(runnable(b""), None);
        assert_eq!(runnable(b"1 2 3 4"), None);
        assert!(Load::open().runnable() >= Some(1));
    }
}
