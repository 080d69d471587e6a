//! Which files a program is made of: the search of the dynamic loader (ld.so(8)), for what is installed.
//!
//! `LD_LIBRARY_PATH` and `LD_PRELOAD` are left out: they belong to one start of a program. What a process really has
//! loaded is read from the kernel.

use super::elf::{self, Elf, Machine, NotRead};
use super::ld_cache::{self, Cache};
use adjunct_tool::files;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A program with more libraries than this is no program.
const MOST_LIBRARIES: usize = 4096;

/// A file that was looked at.
pub type Seen = Result<Rc<Elf>, NotSeen>;

/// Why nothing is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSeen {
    /// The file is no ELF file.
    NotElf,
    /// The file is a broken ELF file.
    Broken,
    /// The file cannot be read; with the reason.
    Unreadable(String),
}

/// A library of a program, and what asked for it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The file, without symbolic links.
    pub path: PathBuf,
    /// Its contents.
    pub elf: Rc<Elf>,
    /// The index of the file that asked for it first; the program itself has none.
    pub asked_by: Option<usize>,
}

/// All files that are loaded when a program starts.
#[derive(Debug, Clone, Default)]
pub struct Closure {
    /// The program, then its libraries in the loader's order.
    pub files: Vec<Loaded>,
    /// Libraries that are not to be found.
    pub missing: Vec<String>,
}

/// Finds libraries as the loader does, and remembers what it has read.
pub struct Loader {
    cache: Cache,
    folders: Vec<PathBuf>,
    /// All folders that are searched for a name alone, without symbolic links.
    searched: HashSet<PathBuf>,
    files: HashMap<PathBuf, Seen>,
    real: HashMap<PathBuf, Option<PathBuf>>,
}

impl Loader {
    /// The loader of this machine.
    pub fn new() -> Loader {
        Loader::with(ld_cache::of_this_machine())
    }

    fn with(cache: Cache) -> Loader {
        let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
        let names = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];
        let folders = ["/lib", "/usr/lib"].iter().map(|f| Path::new(f).join(&multiarch));
        let folders: Vec<PathBuf> = folders.chain(names.iter().map(PathBuf::from)).collect();
        let of_cache: HashSet<&Path> = cache.values().flatten().filter_map(|path| path.parent()).collect();
        let all = folders.iter().map(PathBuf::as_path).chain(of_cache);
        let searched = all.filter_map(|folder| std::fs::canonicalize(folder).ok()).collect();
        Loader { cache, folders, searched, files: HashMap::new(), real: HashMap::new() }
    }

    /// Reads a file once.
    pub fn file(&mut self, path: &Path) -> Seen {
        if let Some(seen) = self.files.get(path) {
            return seen.clone();
        }
        let seen = open(path).and_then(|file| match elf::read(&file) {
            Ok(elf) => Ok(Rc::new(elf)),
            Err(NotRead::NotElf) => Err(NotSeen::NotElf),
            Err(NotRead::Broken) => Err(NotSeen::Broken),
        });
        self.files.insert(path.to_owned(), seen.clone());
        seen
    }

    /// What is loaded when `path` is.
    ///
    /// # Errors
    /// [`NotSeen`] where the file itself cannot be read.
    pub fn closure(&mut self, path: &Path) -> Result<Closure, NotSeen> {
        let elf = self.file(path)?;
        let mut closure = Closure::default();
        let mut names = HashSet::new();
        closure.files.push(Loaded { path: path.to_owned(), elf, asked_by: None });
        let mut next = 0;
        while next < closure.files.len() && closure.files.len() < MOST_LIBRARIES {
            let needed = closure.files[next].elf.needed.clone();
            for name in needed {
                // The loader takes a name that it has loaded, wherever that lies.
                if !names.insert(name.clone()) {
                    continue;
                }
                match self.find(&closure.files, next, &name) {
                    Some((path, _)) if closure.files.iter().any(|f| f.path == path) => {}
                    Some((path, elf)) => closure.files.push(Loaded { path, elf, asked_by: Some(next) }),
                    None => closure.missing.push(name),
                }
            }
            next += 1;
        }
        Ok(closure)
    }

    /// The file that the loader takes for `name`, asked for by the file at `asker`.
    fn find(&mut self, files: &[Loaded], asker: usize, name: &str) -> Option<(PathBuf, Rc<Elf>)> {
        let machine = files[asker].elf.machine;
        if name.contains('/') {
            return self.usable(Path::new(name), machine);
        }
        for folder in self.own_folders(files, asker) {
            if let Some(found) = self.usable(&folder.join(name), machine) {
                return Some(found);
            }
        }
        if files[asker].elf.no_default {
            return None;
        }
        let known = self.cache.get(name).cloned().unwrap_or_default();
        let default = self.folders.clone().into_iter().map(|folder| folder.join(name));
        known.into_iter().chain(default).find_map(|path| self.usable(&path, machine))
    }

    /// The folders the files name themselves: `DT_RUNPATH` of the one that asks, else `DT_RPATH` of it and of those that
    /// led to it.
    fn own_folders(&self, files: &[Loaded], asker: usize) -> Vec<PathBuf> {
        let folders = |list: &str, file: &Loaded| {
            let folder = file.path.parent().unwrap_or(Path::new("/"));
            list.split(':').flat_map(|entry| expand(entry, folder)).collect::<Vec<_>>()
        };
        if let Some(list) = &files[asker].elf.runpath {
            return folders(list, &files[asker]);
        }
        let mut all = Vec::new();
        let mut next = Some(asker);
        while let Some(index) = next {
            let file = &files[index];
            if let (None, Some(list)) = (&file.elf.runpath, &file.elf.rpath) {
                all.extend(folders(list, file));
            }
            // A file is asked for by one before it in the list, so this ends.
            next = file.asked_by;
        }
        all
    }

    /// Whether the loader looks in this file's folder for any program: a library then, not a plugin.
    pub fn searches_folder_of(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| self.searched.contains(folder))
    }

    /// The library at a path, if it is there and of the right kind.
    fn usable(&mut self, path: &Path, machine: Machine) -> Option<(PathBuf, Rc<Elf>)> {
        let real = match self.real.get(path) {
            Some(known) => known.clone(),
            None => {
                let real = std::fs::canonicalize(path).ok();
                self.real.insert(path.to_owned(), real.clone());
                real
            }
        }?;
        let elf = self.file(&real).ok().filter(|elf| elf.machine == machine)?;
        Some((real, elf))
    }
}

/// Opens what may be an ELF file.
fn open(path: &Path) -> Result<File, NotSeen> {
    files::open(path).map_err(|e| match e.kind() {
        ErrorKind::InvalidInput | ErrorKind::IsADirectory => NotSeen::NotElf,
        _ => NotSeen::Unreadable(adjunct_tool::failure::cause(&e)),
    })
}

/// Fills the loader's words (`$ORIGIN`, ...) in an entry of a search path.
fn expand(entry: &str, origin: &Path) -> Vec<PathBuf> {
    if entry.is_empty() {
        // An empty entry is the folder a program is started in.
        return Vec::new();
    }
    let mut text = entry.to_owned();
    let origin = origin.to_string_lossy();
    for word in ["$ORIGIN", "${ORIGIN}"] {
        text = text.replace(word, &origin);
    }
    let with = |text: &str, lib: &str| PathBuf::from(text.replace("${LIB}", lib).replace("$LIB", lib));
    if !text.contains("$LIB") && !text.contains("${LIB}") {
        return vec![PathBuf::from(text)];
    }
    let multiarch = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    [multiarch.as_str(), "lib64", "lib"].iter().map(|lib| with(&text, lib)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_words() {
        let origin = Path::new("/opt/x/bin");
        assert_eq!(expand("$ORIGIN/../lib", origin), [PathBuf::from("/opt/x/bin/../lib")]);
        assert_eq!(expand("${ORIGIN}", origin), [PathBuf::from("/opt/x/bin")]);
        assert!(expand("/opt/$LIB", origin).contains(&PathBuf::from("/opt/lib64")));
        assert!(expand("", origin).is_empty());
    }

    #[test]
    fn this_program_has_its_c_library() {
        let own = std::env::current_exe().unwrap();
        let closure = Loader::new().closure(&own).unwrap();
        assert!(closure.files[0].elf.program);
        let names = |f: &Loaded| f.path.to_string_lossy().into_owned();
        assert!(closure.missing.is_empty(), "{:?}", closure.missing);
        let dynamic = closure.files[0].elf.dynamic;
        assert!(!dynamic || closure.files.iter().any(|f| names(f).contains("libc")), "{closure:?}");
    }
}
