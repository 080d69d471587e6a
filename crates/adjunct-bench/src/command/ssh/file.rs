//! The file that is copied: a hole as long as is wanted, so that it takes no disk; where the file system has no holes, zeros.
//! Ciphers and MACs take the same time for all data, and nothing is compressed.

use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::interrupt::interrupted;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that is removed when this is dropped.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    /// Bytes that the file takes on the disk.
    pub on_disk: u64,
}

impl Source {
    /// A file of `bytes` bytes in `folder`.
    ///
    /// # Errors
    /// [`Failure`] where neither a hole nor zeros of that length fit.
    pub fn new(folder: &Path, name: &str, bytes: u64) -> Result<Source, Failure> {
        let path = folder.join(name);
        allowed(folder, bytes)?;
        let failed = |e: &std::io::Error| Failure::new(format!("{}: {}", folder.display(), cause(e)));
        let mut file = File::create(&path).map_err(|e| failed(&e))?;
        let mut source = Source { path, on_disk: 0 };
        // Tried with little: a file system without holes would write all of it here.
        let trial = bytes.min(1 << 20);
        file.set_len(trial).map_err(|e| failed(&e))?;
        if taken(&file) == 0 {
            file.set_len(bytes).map_err(|e| too_long(folder, bytes, &e))?;
        } else {
            enough(folder, bytes)?;
            file.set_len(0).map_err(|e| failed(&e))?;
            zeros(&mut file, bytes).map_err(|e| e.unwrap_or_else(|e| failed(&e)))?;
        }
        source.on_disk = taken(&file);
        Ok(source)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn taken(file: &File) -> u64 {
    file.metadata().map_or(u64::MAX, |about| about.blocks().saturating_mul(512))
}

/// A longer file than the process may make ends the process by a signal.
fn allowed(folder: &Path, bytes: u64) -> Result<(), Failure> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    match limit {
        Some(limit) if limit < bytes => Err(Failure::new(format!(
            "{}: files may have {limit} bytes here (ulimit -f), {bytes} needed; give a smaller --size",
            folder.display()
        ))),
        _ => Ok(()),
    }
}

fn too_long(folder: &Path, bytes: u64, error: &std::io::Error) -> Failure {
    let cause = cause(error);
    Failure::new(format!(
        "{}: no file of {bytes} bytes: {cause}; give a smaller --size or set TMPDIR",
        folder.display()
    ))
}

fn enough(folder: &Path, bytes: u64) -> Result<(), Failure> {
    let Ok(fs) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free = fs.f_bavail.saturating_mul(fs.f_frsize);
    if free >= bytes {
        return Ok(());
    }
    let folder = folder.display();
    Err(Failure::new(format!("{folder}: {free} bytes free, {bytes} needed; give a smaller --size or set TMPDIR")))
}

fn zeros(file: &mut File, bytes: u64) -> Result<(), Result<Failure, std::io::Error>> {
    let block = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        interrupted().map_err(Ok)?;
        let length = left.min(block.len() as u64) as usize;
        file.write_all(&block[..length]).map_err(Err)?;
        left -= length as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_as_long_as_asked_and_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        for bytes in [1, 4096, 5_000_000_001] {
            let source = Source::new(dir.path(), "data", bytes).unwrap();
            assert_eq!(std::fs::metadata(source.path()).unwrap().len(), bytes);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_no_file_system_takes_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refused = Source::new(dir.path(), "data", u64::MAX).unwrap_err().to_string();
        assert!(refused.contains("--size"), "{refused}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
