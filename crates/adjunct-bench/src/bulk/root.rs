//! The root of another system, whose OpenSSL is measured: its loader, its libcrypto, the folder of its libraries.

use crate::Error;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The files of a root that are needed to run a program under its libraries.
#[derive(Debug)]
pub struct Root {
    /// Path of the root's dynamic loader.
    pub loader: PathBuf,
    /// Path of the root's libcrypto.
    pub libcrypto: PathBuf,
    /// Folders of the root's libraries.
    pub libraries: Vec<PathBuf>,
}

impl Root {
    /// Finds loader and libraries below `folder`, or below the `root` in it, as tests/make-root leaves it.
    ///
    /// # Errors
    /// [`Error::Root`] where something is missing, or made for another architecture than this command.
    pub fn find(folder: &Path) -> Result<Root, Error> {
        let wrong = |path: &Path, cause: &str| Error::Root(path.to_owned(), cause.to_owned());
        if !folder.is_dir() {
            return Err(wrong(folder, "no such folder"));
        }
        let inner = folder.join("root");
        let top = if folder.join("usr").is_dir() || !inner.is_dir() { folder.to_owned() } else { inner };
        let folders = library_folders(&top);
        let newest = |start: &str| {
            let mut found: Vec<PathBuf> = folders.iter().flat_map(|f| files(f, start)).collect();
            found.sort_by_key(|path| path.file_name().map(std::ffi::OsStr::to_owned));
            found.pop()
        };
        let libcrypto =
            newest("libcrypto.so.").ok_or_else(|| wrong(&top, "no libcrypto.so.* below its lib folders"))?;
        let loader =
            newest("ld-linux").ok_or_else(|| wrong(&top, "no dynamic loader (ld-linux*) below its lib folders"))?;
        for path in [&libcrypto, &loader] {
            let machine = machine(path).map_err(|e| wrong(path, &e))?;
            let here = machine_here().map_err(|e| wrong(path, &e))?;
            if machine != here {
                let cause = format!("made for another architecture (ELF machine {machine}; this command is {here})");
                return Err(wrong(path, &cause));
            }
        }
        Ok(Root { loader, libcrypto, libraries: folders })
    }

    /// Everything that the root's loader could load into a program: itself, the folders of libraries, and the libraries there.
    pub fn loadable(&self) -> Vec<PathBuf> {
        let libraries =
            self.libraries.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
        let libraries = libraries.map(|entry| entry.path()).filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so")) && path.is_file()
        });
        [self.loader.clone()].into_iter().chain(self.libraries.clone()).chain(libraries).collect()
    }
}

/// Existing folders with libraries, in any distribution's layout.
fn library_folders(top: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for base in ["usr/local/lib64", "usr/local/lib", "usr/lib64", "usr/lib", "lib64", "lib"].map(|f| top.join(f)) {
        // Multiarch: usr/lib/x86_64-linux-gnu.
        let below = std::fs::read_dir(&base).into_iter().flatten().flatten().map(|entry| entry.path());
        all.extend(below.filter(|path| path.is_dir() && path.to_string_lossy().ends_with("-linux-gnu")));
        all.push(base);
    }
    all.retain(|path| path.is_dir());
    all
}

/// Files of `folder` whose name starts so, and which lie in no other root: an absolute link would lead to the machine's own.
fn files(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && !std::fs::read_link(path).is_ok_and(|target| target.is_absolute()))
        .collect()
}

fn machine_here() -> Result<u16, String> {
    machine(Path::new("/proc/self/exe"))
}

/// `e_machine` of an ELF file (System V ABI, ELF header).
fn machine(path: &Path) -> Result<u16, String> {
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(20).read_to_end(&mut header));
    read.map_err(|error| crate::cause(&error))?;
    match header[..] {
        [0x7f, b'E', b'L', b'F', _, order, .., a, b] if header.len() == 20 => {
            Ok(if order == 2 { u16::from_be_bytes([a, b]) } else { u16::from_le_bytes([a, b]) })
        }
        _ => Err("not an ELF file".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u8) -> Vec<u8> {
        let mut header = vec![0x7f, b'E', b'L', b'F', 2, 1];
        header.resize(64, 0);
        header[18] = machine;
        header
    }

    #[test]
    fn a_root_is_found_and_another_architecture_refused() {
        let dir = tempfile::tempdir().unwrap();
        let lib = dir.path().join("root/usr/lib");
        std::fs::create_dir_all(&lib).unwrap();
        let why = || Root::find(dir.path()).unwrap_err().to_string();
        assert!(why().contains("no libcrypto"), "{}", why());
        std::fs::write(lib.join("libcrypto.so.3"), elf(machine_here().unwrap() as u8)).unwrap();
        assert!(why().contains("no dynamic loader"), "{}", why());
        std::fs::write(lib.join("ld-linux-any.so.1"), elf(machine_here().unwrap() as u8)).unwrap();
        assert_eq!(Root::find(dir.path()).unwrap().libcrypto, lib.join("libcrypto.so.3"));
        std::fs::write(lib.join("libcrypto.so.3"), elf(2)).unwrap();
        assert!(why().contains("another architecture"), "{}", why());
        std::fs::write(lib.join("libcrypto.so.3"), "text, and more of it").unwrap();
        assert!(why().contains("not an ELF file"), "{}", why());
    }
}
