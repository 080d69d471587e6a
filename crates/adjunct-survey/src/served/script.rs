//! Scripts: the interpreter that runs them.

use std::io::Read;
use std::path::{Path, PathBuf};

/// No first line of a script is longer for the kernel.
const LONGEST: u64 = 4096;

/// The kind of a file that is no compiled program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Script {
    /// A script that this program runs.
    Of(PathBuf),
    /// A stand-in of pyenv's, which starts this program.
    Shim(PathBuf),
    /// A script of a shell's, which may start anything.
    Shell(PathBuf),
}

/// What runs a script; `None` where the file is none. `path` is the folders that a name is looked for in.
pub fn of(file: &Path, path: &[PathBuf]) -> Option<Script> {
    let mut head = Vec::new();
    adjunct_tool::files::open(file).ok()?.take(LONGEST).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let mut interpreter = PathBuf::from(words.next()?);
    if interpreter.file_name()? == "env" {
        let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        interpreter = path.iter().map(|folder| folder.join(name)).find(|p| p.is_file())?;
    }
    if let Some(program) = pyenv(file) {
        return Some(Script::Shim(program));
    }
    let name = interpreter.file_name()?.to_string_lossy().into_owned();
    let shell = ["sh", "bash", "dash", "zsh", "ksh", "busybox"].contains(&name.as_str());
    Some(if shell { Script::Shell(interpreter) } else { Script::Of(interpreter) })
}

/// The folders in which a shell finds programs.
pub fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The compiled program that runs a file: itself, or what runs the script that it is.
pub fn compiled(file: &Path) -> PathBuf {
    if let Some(program) = std::fs::canonicalize(file).ok().and_then(|real| wrapped(file, &real)) {
        return program;
    }
    match of(file, &search_path()) {
        Some(Script::Of(program) | Script::Shim(program)) => program,
        _ => file.to_owned(),
    }
}

/// What Debian's `pg_wrapper` starts when it is called by the name `called`: PostgreSQL's program of that name, of the newest version.
pub fn wrapped(called: &Path, real: &Path) -> Option<PathBuf> {
    if real.file_name()? != "pg_wrapper" {
        return None;
    }
    let name = called.file_name()?.to_str()?;
    let found = glob::glob(&format!("/usr/lib/postgresql/*/bin/{}", glob::Pattern::escape(name))).ok()?;
    let version = |path: &PathBuf| path.iter().nth(4).and_then(|part| part.to_str()?.parse::<u32>().ok());
    found.flatten().max_by_key(version)
}

/// What a stand-in of pyenv's starts: the program of that name in the version that `PYENV_VERSION`, a `.python-version` or the
/// file `version` names (`pyenv help version-name`).
fn pyenv(file: &Path) -> Option<PathBuf> {
    let root = file.parent().filter(|folder| folder.file_name().is_some_and(|n| n == "shims"))?.parent()?;
    let versions = root.join("versions");
    let text = |file: PathBuf| adjunct_tool::files::text(&file).ok();
    let here = std::env::current_dir().ok();
    let local = here.as_deref().into_iter().flat_map(Path::ancestors).find_map(|dir| text(dir.join(".python-version")));
    let wanted = std::env::var("PYENV_VERSION").ok().filter(|v| !v.is_empty());
    let wanted = wanted.or(local).or_else(|| text(root.join("version")))?;
    let name = file.file_name()?;
    wanted.split([':', '\n', ' ']).filter(|v| !v.is_empty()).find_map(|version| {
        let program = versions.join(version.trim()).join("bin").join(name);
        program.is_file().then_some(program)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn first_lines() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let python = write("bin/python3", "x");
        let path = [dir.path().join("bin")];
        let script = |name: &str, text: &str| of(&write(name, text), &path);
        assert_eq!(script("a", "#!/usr/bin/perl -w\nx"), Some(Script::Of("/usr/bin/perl".into())));
        assert_eq!(script("b", "#! /usr/bin/env -S python3 -u\n"), Some(Script::Of(python)));
        assert_eq!(script("c", "#!/bin/sh\n"), Some(Script::Shell("/bin/sh".into())));
        assert_eq!(script("d", "\x7fELF"), None);
        assert_eq!(script("e", "#!"), None);
        let real = write("pyenv/versions/3.12.1/bin/tool", "x");
        write("pyenv/version", "3.12.1\n");
        if std::env::var_os("PYENV_VERSION").is_none() {
            assert_eq!(script("pyenv/shims/tool", "#!/bin/bash\n"), Some(Script::Shim(real)));
        }
    }
}
