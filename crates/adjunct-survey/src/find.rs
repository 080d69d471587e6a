//! Where programs are on a machine.

use super::process;
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders of programs, beside those in `PATH`.
pub const PROGRAMS: [&str; 6] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/usr/local/sbin"];
/// Folders that hold programs and plugins at any depth.
const TREES: [&str; 7] =
    ["/usr/libexec", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/usr/local/libexec", "/opt"];
/// Parts of [`TREES`] without programs, or with many thousand files.
const LEFT_OUT: [&str; 4] = ["/usr/lib/modules", "/usr/lib/firmware", "/usr/lib/debug", "/usr/lib/locale"];
/// Endings of names of files that are no programs, though they may be executable.
const DATA: [&str; 24] = [
    "py", "pyc", "pyi", "h", "hpp", "c", "pl", "pm", "rb", "js", "ts", "json", "html", "css", "txt", "md", "xml", "mo",
    "a", "o", "png", "gz", "sh", "jar",
];
/// More files than this are not looked at.
const MOST: usize = 1_000_000;

/// A file that may be a program or a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its path without symbolic links.
    pub path: PathBuf,
    /// Other names of the program in the folders of programs.
    pub names: Vec<PathBuf>,
    /// Its name is a library's.
    pub library: bool,
    /// Length of the file in bytes.
    pub length: u64,
}

/// Files that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// Each file once.
    pub files: Vec<Candidate>,
    /// Folders that could not be read or were left when there was too much in them.
    pub unread: Vec<PathBuf>,
    by_file: HashMap<(u64, u64), usize>,
    folders: HashSet<PathBuf>,
    looked_at: usize,
}

/// Looks through the folders of programs and of this user's `PATH`, and adds what runs.
///
/// # Errors
/// Only where the user interrupts.
pub fn all(running: &[process::Process]) -> Result<Found, Failure> {
    let mut found = Found::default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_user = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    for folder in PROGRAMS.iter().map(PathBuf::from).chain(of_user) {
        found.folder(&folder)?;
    }
    for tree in TREES {
        found.tree(Path::new(tree))?;
    }
    for process in running {
        if let Some(exe) = process.exe.as_deref().filter(|_| !process.elsewhere) {
            found.add(exe, false);
        }
    }
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Looks through one folder at any depth.
///
/// # Errors
/// Only where the user interrupts.
pub fn below(folder: &Path) -> Result<Found, Failure> {
    let mut found = Found::default();
    found.tree(folder)?;
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

impl Found {
    /// Makes a list with the one file that is looked at whatever its place.
    pub fn only(path: &Path) -> Found {
        let mut found = Found::default();
        found.add(path, true);
        found
    }

    /// The programs of one folder.
    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        interrupted()?;
        // On most systems /bin is /usr/bin.
        let Ok(folder) = fs::canonicalize(folder) else { return Ok(()) };
        if !self.folders.insert(folder.clone()) {
            return Ok(());
        }
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
        for entry in entries.flatten() {
            self.add(&entry.path(), false);
        }
        Ok(())
    }

    /// Programs and libraries at any depth; a folder reached by a symbolic link is not entered.
    fn tree(&mut self, root: &Path) -> Result<(), Failure> {
        let real_folder = fs::symlink_metadata(root).is_ok_and(|m| m.is_dir());
        let mut open = if real_folder { vec![root.to_owned()] } else { Vec::new() };
        while let Some(folder) = open.pop() {
            interrupted()?;
            let Ok(entries) = fs::read_dir(&folder) else {
                self.unread.push(folder);
                continue;
            };
            for entry in entries.flatten() {
                self.looked_at += 1;
                if self.looked_at > MOST {
                    self.unread.push(folder);
                    return Ok(());
                }
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                if kind.is_dir() {
                    if !LEFT_OUT.iter().any(|left_out| path == Path::new(left_out)) {
                        open.push(path);
                    }
                } else if kind.is_file() {
                    self.add(&path, true);
                }
            }
        }
        Ok(())
    }

    /// Adds a file that may be a program; in a tree also one that may be a library.
    fn add(&mut self, path: &Path, tree: bool) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let library = tree && (name.ends_with(".so") || name.contains(".so."));
        if tree && !library && path.extension().is_some_and(|e| DATA.iter().any(|data| e == *data)) {
            return;
        }
        let Ok(metadata) = fs::metadata(path) else { return };
        if !metadata.is_file() || (!library && metadata.mode() & 0o111 == 0) {
            return;
        }
        let key = (metadata.dev(), metadata.ino());
        if let Some(&index) = self.by_file.get(&key) {
            let known = &mut self.files[index];
            if known.path != path && !known.names.contains(&path.to_owned()) {
                known.names.push(path.to_owned());
            }
            return;
        }
        let Ok(real) = fs::canonicalize(path) else { return };
        self.by_file.insert(key, self.files.len());
        let names = if real == path { Vec::new() } else { vec![path.to_owned()] };
        self.files.push(Candidate { path: real, names, library, length: metadata.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_is_found_once_under_all_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let program = dir.join("program");
        fs::write(&program, "x").unwrap();
        fs::write(dir.join("data"), "x").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        symlink("program", dir.join("alias")).unwrap();
        fs::hard_link(&program, dir.join("twin")).unwrap();
        symlink("nothing", dir.join("dangling")).unwrap();
        let mut found = Found::default();
        found.folder(&dir).unwrap();
        assert_eq!(found.files.len(), 1, "{found:?}");
        assert!(found.files[0].names.len() >= 2, "{found:?}");
        found.folder(&dir.join("none")).unwrap();
    }

    #[test]
    fn trees_give_programs_and_libraries() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let deep = dir.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        for (name, mode) in [("x.so", 0o644), ("y.so.1.2", 0o644), ("run", 0o755), ("run.py", 0o755), ("text", 0o644)] {
            fs::write(deep.join(name), "x").unwrap();
            fs::set_permissions(deep.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(&dir, deep.join("loop")).unwrap();
        let mut found = Found::default();
        found.tree(&dir).unwrap();
        let mut names: Vec<_> = found.files.iter().map(|f| f.path.file_name().unwrap().to_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["run", "x.so", "y.so.1.2"]);
    }
}
