//! What each libcrypto on the machine is, and what the configuration it reads gives.

use super::constants::{self, Inside};
use super::elf::{Elf, Interface};
use super::{Given, Reach};
use crate::includes::FromDisk;
use adjunct_openssl_conf::Model;
use adjunct_tool::files;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A copy of OpenSSL, in a library or inside a program.
#[derive(Debug, Clone)]
pub struct Libcrypto {
    /// The library; `None` for one inside a program.
    pub path: Option<PathBuf>,
    /// The library's version as it names itself: `OpenSSL 3.0.19`.
    pub version: Option<String>,
    /// The configuration it reads where the environment names none.
    pub config: Option<PathBuf>,
    /// Whether the library has OpenSSL's engine interface.
    pub has_engines: bool,
    /// Whether the library is Node's own copy.
    pub node: bool,
}

impl Libcrypto {
    /// The library at `path`.
    pub fn of_library(path: &Path, elf: &Elf) -> Libcrypto {
        let inside = files::open(path).map(|file| constants::search_openssl(&file, &elf.constants)).unwrap_or_default();
        Libcrypto {
            has_engines: elf.interfaces.contains(&Interface::Engines),
            path: Some(path.to_owned()),
            ..Libcrypto::inside(&inside)
        }
    }

    /// A copy that is part of a program.
    pub fn inside(inside: &Inside) -> Libcrypto {
        Libcrypto {
            path: None,
            version: inside.version.clone(),
            config: inside.folder.as_ref().map(|folder| folder.join("openssl.cnf")),
            has_engines: false,
            node: inside.node,
        }
    }

    /// The first number of OpenSSL's version; `None` where it is another library or says nothing.
    pub fn major(&self) -> Option<u32> {
        self.version.as_deref()?.strip_prefix("OpenSSL ")?.split('.').next()?.parse().ok()
    }
}

/// The provider and engine that the machine's configurations give; each is read once.
pub struct Configurations<'a> {
    reach: &'a Reach,
    known: HashMap<PathBuf, Given>,
}

impl<'a> Configurations<'a> {
    /// Makes an empty cache.
    pub fn new(reach: &'a Reach) -> Configurations<'a> {
        Configurations { reach, known: HashMap::new() }
    }

    /// The provider and engine that `config` gives to a program that reads it.
    pub fn given(&mut self, config: &Path) -> Given {
        let same = |a: &Path, b: &Path| a == b || std::fs::canonicalize(a).is_ok_and(|a| a == b);
        if same(config, &self.reach.config) {
            return self.reach.given;
        }
        *self.known.entry(config.to_owned()).or_insert_with(|| Given::of_file(config))
    }
}

impl Given {
    /// The provider and engine that the file names, without a trial.
    fn of_file(config: &Path) -> Given {
        let state = files::config(config).ok().and_then(|text| Model::read(&text, &FromDisk).ok());
        let state = state.map(|model| adjunct_openssl_conf::state(&model)).unwrap_or_default();
        let value = |bytes: Option<&Vec<u8>>| bytes.map(|b| String::from_utf8_lossy(b).into_owned());
        let module = value(state.adjunct.as_ref().and_then(|a| a.module.as_ref()));
        let there = module.is_some_and(|module| Path::new(&module).is_file());
        Given { node: state.node && there, ..Given::provider(state.works() && there, None) }
    }
}

/// The libraries seen so far.
#[derive(Default)]
pub struct Libraries {
    known: HashMap<PathBuf, Rc<Libcrypto>>,
}

impl Libraries {
    /// The facts about the library at `path`.
    pub fn get(&mut self, path: &Path, elf: &Elf) -> Rc<Libcrypto> {
        let known = self.known.entry(path.to_owned());
        Rc::clone(known.or_insert_with(|| Rc::new(Libcrypto::of_library(path, elf))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_numbers() {
        let major = |version: &str| {
            Libcrypto { path: None, version: Some(version.into()), config: None, has_engines: false, node: false }
                .major()
        };
        assert_eq!(major("OpenSSL 3.0.19"), Some(3));
        assert_eq!(major("OpenSSL 1.1.1w"), Some(1));
        assert_eq!(major("OpenSSL 10.0.0"), Some(10));
        assert_eq!(major("LibreSSL 3.8.2"), None);
    }
}
