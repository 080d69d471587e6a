//! The provider module: found, and looked at before anybody is told to load it.

use super::programs;
use crate::Failure;
use crate::failure::cause;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// The names of the module: installed, and as cargo builds it.
const NAMES: [&str; 2] = ["adjunct.so", "libadjunct_openssl.so"];

/// The module to name in the configuration: the one given, or the one beside this program or in OpenSSL's modules folder.
///
/// # Errors
/// [`Failure`]: none found, or one that must not be named there.
pub(super) fn find(given: Option<&Path>, trusted: bool) -> Result<PathBuf, Failure> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => {
            let beside = std::env::current_exe().ok().and_then(|p| Some(p.parent()?.to_owned()));
            let folders = beside.into_iter().chain(programs::modules_dir());
            let found = folders.flat_map(|dir| NAMES.map(|name| dir.join(name))).find(|p| p.is_file());
            found.ok_or_else(|| {
                Failure::new("adjunct.so is neither beside this program nor in OpenSSL's modules folder; give --module")
            })?
        }
    };
    let failed = |what: &str| Failure::new(format!("{}: {what}", path.display()));
    // Links stay: the name of an installed module outlives the version it leads to.
    let full = std::path::absolute(&path).map_err(|e| failed(&cause(&e)))?;
    let metadata = fs::metadata(&full).map_err(|e| failed(&cause(&e)))?;
    if !metadata.is_file() {
        return Err(failed("is no regular file"));
    }
    if metadata.permissions().mode() & 0o002 != 0 {
        return Err(failed("everybody may write it, and every program that uses OpenSSL would run what they write"));
    }
    if !trusted
        && nix::unistd::geteuid().is_root()
        && let Some(why) = changeable(&full)
    {
        return Err(failed(&format!(
            "{why}: every program of every user would run what they put there; install the module, or say --trust-module"
        )));
    }
    if full.to_str().is_none_or(|p| p.chars().any(char::is_control)) {
        return Err(failed("a path with such characters cannot be written into openssl.cnf"));
    }
    Ok(full)
}

/// Why others than root could put something else in the place of `path`: a folder or link on the way to it, or the file itself,
/// is not root's, or others may write it. Every link is followed, and the folders on its way looked at, too.
fn changeable(path: &Path) -> Option<String> {
    /// As many as the kernel follows.
    const MOST_LINKS: u32 = 40;
    let mut rest: Vec<OsString> = parts(path);
    let (mut here, mut links) = (PathBuf::from("/"), 0);
    loop {
        let about = match fs::symlink_metadata(&here) {
            Ok(about) => about,
            Err(e) => return Some(format!("{}: {}", here.display(), cause(&e))),
        };
        if about.uid() != 0 {
            return Some(format!("{} is another user's than root's", here.display()));
        }
        if about.is_symlink() {
            links += 1;
            let to = fs::read_link(&here).ok().filter(|_| links <= MOST_LINKS);
            let Some(to) = to else { return Some(format!("{}: a link that leads nowhere", here.display())) };
            here.pop();
            if to.is_absolute() {
                here = PathBuf::from("/");
            }
            rest.extend(parts(&to));
        } else if about.mode() & 0o022 != 0 {
            // Access lists show here, too: where there is one, the group's bits are the most that it gives.
            return Some(format!("others than root may write {}", here.display()));
        }
        match rest.pop() {
            None if !about.is_symlink() => return None,
            None => {}
            Some(part) if part == ".." => drop(here.pop()),
            Some(part) => here.push(part),
        }
    }
}

/// The parts of a path, the first at the end.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir));
    parts.map(|c| c.as_os_str().to_owned()).collect::<Vec<_>>().into_iter().rev().collect()
}

/// Why users other than its owner could not load the module; they would go on in software.
pub(super) fn unreadable_for_others(module: &Path) -> Option<String> {
    let real = fs::canonicalize(module).ok()?;
    let module = real.as_path();
    let closed = |path: &Path, bits: u32| fs::metadata(path).is_ok_and(|m| m.mode() & bits != bits);
    let folder = module.ancestors().skip(1).find(|dir| closed(dir, 0o001));
    let what = folder.or_else(|| closed(module, 0o004).then_some(module))?;
    let text = "is closed to other users; for their programs OpenSSL goes on without adjunct";
    Some(format!("{} {text}", what.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn modules_that_must_not_be_named_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let line = |name: &str| find(Some(&dir.path().join(name)), true).unwrap_err().to_string();
        assert!(line("missing.so").contains("No such file"));
        fs::create_dir(dir.path().join("dir.so")).unwrap();
        assert!(line("dir.so").contains("no regular file"));
        for (name, mode, words) in [("open.so", 0o666, "everybody"), ("odd\n.so", 0o644, "characters")] {
            fs::write(dir.path().join(name), "").unwrap();
            fs::set_permissions(dir.path().join(name), Permissions::from_mode(mode)).unwrap();
            assert!(line(name).contains(words), "{name:?}");
        }
    }

    #[test]
    fn a_closed_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let module = dir.path().join("adjunct.so");
        fs::write(&module, "").unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
        assert!(unreadable_for_others(&module).unwrap().contains("closed to other users"));
        assert_eq!(unreadable_for_others(Path::new("/bin/sh")), None);
    }
}
