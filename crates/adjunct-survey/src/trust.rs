//! Which configurations of OpenSSL root runs programs under: those that root alone can change, with all that they include and have programs load. Under
//! any other, what the user put there would run as root.

use crate::FromDisk;
use crate::elf;
use crate::module::changeable_now;
use adjunct_openssl_conf::{Entry, Includes, Model};
use adjunct_tool::Failure;
use adjunct_tool::escape::{shown, word};
use adjunct_tool::files;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names of entries whose value is a module, or a folder of modules: of providers, of engines, and of other modules of OpenSSL's.
const LOADS: [&str; 6] = ["module", "identity", "dynamic_path", "engine_id", "so_path", "dir_add"];

/// Refuses, for root, a configuration file that others could change. What it includes and loads is no matter: nothing runs under it.
///
/// # Errors
/// [`Failure`] that says who else could change it.
pub fn file(config: &Path) -> Result<(), Failure> {
    match no_root_s(config).filter(|_| nix::unistd::geteuid().is_root()) {
        None => Ok(()),
        Some(why) => Err(refused(config, &why)),
    }
}

/// Refuses, for root, to run programs under the text `bytes` of the configuration `config`, where others than root could change the file, a file that it
/// includes, or a module that it names. `accepted` is a module that root has said to trust.
///
/// # Errors
/// [`Failure`] that says what could be changed, and by whom; also where that cannot be told.
pub fn runs_under(config: &Path, bytes: &[u8], accepted: Option<&Path>) -> Result<(), Failure> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    file(config)?;
    let includes = RootsAlone(RefCell::new(None));
    let model = match Model::read(bytes, &includes) {
        Ok(model) => model,
        Err(refused_by_format) => {
            let why = includes.0.into_inner().unwrap_or_else(|| refused_by_format.to_string());
            return Err(refused(config, &why));
        }
    };
    loads(&model, accepted).map_or(Ok(()), |why| Err(refused(config, &why)))
}

/// The command that enables adjunct in a configuration, as advice: by root where root alone can change the file, else by whoever it belongs to.
pub fn enabling(config: &Path) -> String {
    let command = format!("adjunct openssl enable --config {}", word(config));
    match changeable_now(config) {
        None => format!("sudo {command}"),
        Some(_) => format!("{command} (as the user whose file it is, not as root)"),
    }
}

/// Why a file or folder is not root's alone, or is neither.
fn no_root_s(path: &Path) -> Option<String> {
    let neither = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if neither { Some(format!("{} is no regular file", path.display())) } else { changeable_now(path) }
}

fn refused(config: &Path, why: &str) -> Failure {
    Failure::new(format!(
        "{}: {}; root runs nothing under it and leaves it alone: run this as the user whose file it is, or make all of it root's",
        shown(config),
        shown(why)
    ))
}

/// Included files, as long as they are root's alone; else why not.
struct RootsAlone(RefCell<Option<String>>);

impl Includes for RootsAlone {
    fn read(&self, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        let refuse = |why: Option<String>| match why {
            None => Ok(()),
            Some(why) => {
                *self.0.borrow_mut() = Some(format!("it includes {}, and {why}", path.display()));
                Err(why)
            }
        };
        refuse(no_root_s(path))?;
        let files = FromDisk.read(path)?;
        // A link in a folder of root's may lead to another's file.
        files.iter().try_for_each(|(file, _)| refuse(no_root_s(file)))?;
        Ok(files)
    }
}

/// Why something that a configuration has programs load is not root's alone.
fn loads(model: &Model, accepted: Option<&Path>) -> Option<String> {
    model.entries().find_map(|(section, entry)| loaded_by(model, section, entry, accepted))
}

fn loaded_by(model: &Model, section: &[u8], entry: &Entry, accepted: Option<&Path>) -> Option<String> {
    let at = |why: String| Some(format!("{}: {why}", entry.place));
    let value = Path::new(OsStr::from_bytes(&entry.value));
    // As OpenSSL does: `1.dynamic_path` is `dynamic_path`.
    let key = entry.name.iter().position(|&byte| byte == b'.').map_or(&entry.name[..], |dot| &entry.name[dot + 1..]);
    let key = String::from_utf8_lossy(key).to_ascii_lowercase();
    // A provider or engine without a path is loaded by its name, which leads anywhere where it has a slash.
    if entry.name.contains(&b'/') && lists_modules(model, section) {
        return at("a name with a slash: what is loaded by it cannot be told".to_owned());
    }
    let named = LOADS.contains(&key.as_str()) || key == "path" && is_module(model, section);
    if named && !entry.certain {
        return at("which module is loaded depends on the environment".to_owned());
    }
    if accepted == Some(value) {
        return None;
    }
    if named && value.is_relative() && entry.value.contains(&b'/') {
        return at(format!("{} is a relative path: what is loaded depends on where a program runs", value.display()));
    }
    // Any other value may be a command of an engine's: what is a library is taken for one that is loaded.
    let library = || files::open(value).is_ok_and(|file| elf::read(&file).is_ok());
    if value.is_absolute() && (named || library()) {
        return changeable_now(value).and_then(|why| at(format!("it names {}, and {why}", value.display())));
    }
    None
}

/// Whether a section lists modules by name: providers, engines, or what programs begin with.
fn lists_modules(model: &Model, section: &[u8]) -> bool {
    model.entries().any(|(within, entry)| {
        let list = ["providers", "engines"].iter().any(|list| entry.name.starts_with(list.as_bytes()));
        entry.value == section && (list || within == b"default" && entry.name.ends_with(b"_conf"))
    })
}

/// Whether a section is that of a module which OpenSSL loads by its `path`: a value in a section that programs begin with.
fn is_module(model: &Model, section: &[u8]) -> bool {
    let begins = model.section(b"default").into_iter().flatten().filter(|entry| entry.name.ends_with(b"_conf"));
    begins.filter_map(|entry| model.section(&entry.value)).flatten().any(|module| module.value == section)
}
