//! Included files, from the file system.

use adjunct_openssl_conf::Includes;
use adjunct_tool::failure::cause;
use adjunct_tool::files;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A folder with more entries holds no configuration.
const MOST: usize = 10_000;

/// Reads what `.include` names.
#[derive(Debug, Clone, Copy)]
pub struct FromDisk;

impl Includes for FromDisk {
    fn read(&self, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        match files::config(path) {
            Ok(text) => return Ok(vec![(path.to_owned(), text)]),
            // OpenSSL passes over what does not exist.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) if e.kind() == ErrorKind::IsADirectory => {}
            Err(e) => return Err(cause(&e)),
        }
        let mut files = Vec::new();
        let mut left = files::CONFIG;
        for (count, entry) in fs::read_dir(path).map_err(|e| cause(&e))?.enumerate() {
            if count == MOST {
                return Err(format!("has more than {MOST} entries"));
            }
            let file = entry.map_err(|e| cause(&e))?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            let wanted = name.strip_suffix(".cnf").or_else(|| name.strip_suffix(".conf"));
            if wanted.is_some_and(|stem| !stem.is_empty()) && !file.is_dir() {
                let text = match files::read(&file, left) {
                    // A link that leads nowhere, or a file that is gone by now.
                    Err(e) if e.kind() == ErrorKind::NotFound => continue,
                    read => read.map_err(|e| format!("{}: {}", file.display(), cause(&e)))?,
                };
                left -= text.len() as u64;
                files.push((file, text));
            }
        }
        Ok(files)
    }
}
