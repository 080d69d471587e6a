//! What a measured copy copies: random data, written once as a block and sent over and over, so that no copy needs more
//! disk or memory than the block, and every byte that arrives can be compared.

use crate::ssh::copy::{quoted, random_file};
use adjunct_tool::Failure;
use adjunct_tool::failure::cannot_write;
use std::fs;
use std::path::{Path, PathBuf};

/// The shortest block that is repeated, in bytes: it stays in a processor's caches while it is compared.
const BLOCK: u64 = 4 << 20;
/// How often, at most, a block is named on the remote command line.
const REPEATS: u64 = 250;

/// Data of a given length.
#[derive(Debug)]
pub struct Data {
    block: Vec<u8>,
    file: PathBuf,
    tail: Option<PathBuf>,
    bytes: u64,
}

impl Data {
    /// `bytes` of data; its block, at most 1/250 of it or 4 MiB, lies in `folder` under `name`.
    ///
    /// # Errors
    /// [`Failure`] where the disk is full.
    pub fn new(folder: &Path, name: &str, bytes: u64) -> Result<Data, Failure> {
        let length = bytes.min(BLOCK.max(bytes.div_ceil(REPEATS)));
        let file = random_file(&folder.join(name), length)?;
        let block = fs::read(&file).map_err(|e| cannot_write(&file, &e))?;
        let rest = (bytes % length.max(1)) as usize;
        let mut tail = None;
        if rest > 0 {
            let path = folder.join(format!("{name}_tail"));
            fs::write(&path, &block[..rest]).map_err(|e| cannot_write(&path, &e))?;
            tail = Some(path);
        }
        Ok(Data { block, file, tail, bytes })
    }

    /// Length of the data in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The remote command that writes the data.
    pub fn command(&self) -> String {
        let whole = self.bytes / self.block.len().max(1) as u64;
        let mut command = "cat".to_owned();
        for _ in 0..whole {
            command += &format!(" {}", quoted(&self.file));
        }
        if let Some(tail) = &self.tail {
            command += &format!(" {}", quoted(tail));
        }
        command
    }

    /// Whether `got` is what stands at `place`.
    pub fn same(&self, place: u64, got: &[u8]) -> bool {
        if place + got.len() as u64 > self.bytes || self.block.is_empty() {
            return got.is_empty();
        }
        let mut at = (place % self.block.len() as u64) as usize;
        let mut left = got;
        while !left.is_empty() {
            let length = left.len().min(self.block.len() - at);
            if left[..length] != self.block[at..at + length] {
                return false;
            }
            left = &left[length..];
            at = 0;
        }
        true
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        if let Some(tail) = &self.tail {
            let _ = fs::remove_file(tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_command_writes_what_is_expected() {
        let dir = tempfile::tempdir().unwrap();
        for bytes in [1, 1000, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK - 5] {
            let data = Data::new(dir.path(), "data", bytes).unwrap();
            let out = Command::new("sh").arg("-c").arg(data.command()).output().unwrap().stdout;
            assert_eq!((out.len() as u64, data.bytes()), (bytes, bytes));
            assert!(data.same(0, &out));
            let half = out.len() / 2;
            assert!(data.same(half as u64, &out[half..]));
            let mut wrong = out.clone();
            wrong[half] ^= 1;
            assert!(!data.same(0, &wrong) && !data.same(1, &out));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn much_data_needs_little_disk() {
        let dir = tempfile::tempdir().unwrap();
        let data = Data::new(dir.path(), "it's", 5_000_000_000).unwrap();
        assert!(data.block.len() as u64 <= 20_000_000 && data.command().len() < 100_000);
    }
}
