//! Included files, from the file system.

use crate::failure::cause;
use crate::openssl_conf::Includes;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// More than this is no configuration file.
const LONGEST: u64 = 16 << 20;

/// Reads what `.include` names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FromDisk;

impl Includes for FromDisk {
    fn read(&self, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            // OpenSSL passes over what does not exist.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(cause(&e)),
        };
        if !metadata.is_dir() {
            return Ok(vec![(path.to_owned(), text(path)?)]);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(|e| cause(&e))? {
            let file = entry.map_err(|e| cause(&e))?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            let wanted = name.strip_suffix(".cnf").or_else(|| name.strip_suffix(".conf"));
            if wanted.is_some_and(|stem| !stem.is_empty()) && file.is_file() {
                let text = text(&file).map_err(|e| format!("{}: {e}", file.display()))?;
                files.push((file, text));
            }
        }
        Ok(files)
    }
}

fn text(path: &Path) -> Result<Vec<u8>, String> {
    if !fs::metadata(path).map_err(|e| cause(&e))?.is_file() {
        return Err("is no regular file".to_owned());
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|e| cause(&e))?;
    file.take(LONGEST + 1).read_to_end(&mut text).map_err(|e| cause(&e))?;
    Ok(text)
}
