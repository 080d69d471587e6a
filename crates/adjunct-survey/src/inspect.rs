//! Looks at one file after the other and says what each gets.

use super::constants::{self, Inside};
use super::elf::{Elf, Machine};
use super::find::Candidate;
use super::functions::Call;
use super::judge::{self, Judged, Rights, User};
use super::libcrypto::{Configurations, Libcrypto, Libraries};
use super::loader::{Closure, Loader, NotSeen};
use super::process::is_libcrypto;
use super::program::Program;
use super::{Given, Reach};
use adjunct_tool::files;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// A file below this length has no room for OpenSSL's code.
const LEAST_STATIC: u64 = 1 << 20;

/// The parts of a file: its libraries, and the runtimes inside it.
#[derive(Debug)]
pub struct Made {
    /// The verdict on the file as a program, where it uses OpenSSL.
    pub program: Option<Program>,
    /// The file names of its libraries in the loader's order, itself left out.
    pub libraries: Vec<String>,
    /// Whether Go's linker made it.
    pub go: bool,
    /// The libraries that its constants show, where no libcrypto is among its libraries and it is large enough to contain one.
    pub inside: Inside,
}

/// Looks at files, each part of which it reads once.
pub struct Inspector<'a> {
    reach: &'a Reach,
    pub(crate) loader: Loader,
    libraries: Libraries,
    configurations: Configurations<'a>,
    module: Option<Machine>,
}

impl<'a> Inspector<'a> {
    /// Makes an inspector that judges by `reach`.
    pub fn new(reach: &'a Reach) -> Inspector<'a> {
        let mut loader = Loader::new();
        let module = reach.modules.first().and_then(|path| loader.file(path).ok()).map(|elf| elf.machine);
        Inspector { reach, loader, libraries: Libraries::default(), configurations: Configurations::new(reach), module }
    }

    /// The reach by which files are judged.
    pub fn reach(&self) -> &'a Reach {
        self.reach
    }

    /// The provider and engine that the configuration gives to a program that reads it.
    pub fn given(&mut self, config: &Path) -> Given {
        self.configurations.given(config)
    }

    /// Looks at a file; `plugin`: one that programs load.
    ///
    /// # Errors
    /// Where it is no program that can be read.
    pub fn look(&mut self, path: &Path, plugin: bool) -> Result<Made, NotSeen> {
        let closure = self.loader.closure(path)?;
        let length = std::fs::metadata(path).map_or(0, |m| m.len());
        let file = Candidate { path: path.to_owned(), names: Vec::new(), library: plugin, length };
        let (program, inside) = self.judge(&file, &closure, plugin);
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let libraries = closure.files.iter().skip(1).map(|f| name(&f.path)).collect();
        let go = closure.files.first().is_some_and(|f| f.elf.go);
        Ok(Made { program, libraries, go, inside: inside.unwrap_or_default() })
    }

    /// OpenSSL's own modules serve it and do not use it.
    pub(crate) fn belongs_to_openssl(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        folder == "ossl-modules" || folder.starts_with("engines-") || self.reach.modules.iter().any(|m| m == path)
    }

    /// What a file gets of OpenSSL, where it uses it, and the libraries that its constants show, where they were searched.
    pub(crate) fn judge(
        &mut self,
        file: &Candidate,
        closure: &Closure,
        plugin: bool,
    ) -> (Option<Program>, Option<Inside>) {
        let Some(elf) = closure.files.first().map(|first| Rc::clone(&first.elf)) else { return (None, None) };
        let linked = closure.files.iter().skip(1).position(|f| is_libcrypto(&f.path)).map(|at| at + 1);
        let (libcrypto, through, inside) = match linked {
            Some(at) => {
                let library = &closure.files[at];
                (self.libraries.get(&library.path, &library.elf), through(closure, at), None)
            }
            None => match statically(file, &elf, plugin) {
                Some(inside) if has_openssl(&inside) => (Rc::new(Libcrypto::inside(&inside)), None, Some(inside)),
                inside => return (None, inside),
            },
        };
        let user = User {
            calls: calls(closure),
            plugin,
            rights: if plugin { Rights::Own } else { Rights::of(&file.path) },
            same_machine: self.module.is_none_or(|module| module == elf.machine),
            gnutls: gnutls(closure),
            libcrypto,
        };
        (Some(self.judged(file, &user, plugin, through)), inside)
    }

    fn judged(&mut self, file: &Candidate, user: &User, plugin: bool, through: Option<String>) -> Program {
        let own = self.reach.own.iter().find(|own| own.program == file.path);
        let config = match own {
            Some(own) => Some(own.config.clone()),
            None if self.reach.by_environment => Some(self.reach.config.clone()),
            None => user.libcrypto.config.clone(),
        };
        let given = match (own, &config) {
            (Some(own), _) => own.given,
            (None, Some(config)) => self.configurations.given(config),
            (None, None) => Given::default(),
        };
        let Judged { gets, provider, engine, cause } = judge::judge(user, given, config.as_deref(), self.reach);
        Program {
            path: file.path.clone(),
            names: file.names.clone(),
            plugin,
            libcrypto: user.libcrypto.path.clone(),
            version: user.libcrypto.version.clone(),
            through,
            could_get: judge::judge(user, Given::usual(), config.as_deref(), self.reach).gets,
            config,
            rights: user.rights,
            gets,
            cause,
            provider,
            engine,
            engine_calls: judge::engine_calls(user, given),
            bypasses: judge::bypasses(user, given),
            notes: judge::notes(user, self.reach),
            processes: Vec::new(),
        }
    }
}

/// The library by which GnuTLS comes into a program that asks for it, itself or by one of its own libraries.
fn gnutls(closure: &Closure) -> Option<String> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let library = closure.files.iter().find(|f| name(&f.path).starts_with("libgnutls.so"))?;
    match library.asked_by? {
        0 => Some(name(&library.path)),
        at => (closure.files[at].asked_by == Some(0)).then(|| name(&closure.files[at].path)),
    }
}

fn has_openssl(inside: &Inside) -> bool {
    !inside.adjunct && (inside.version.is_some() || inside.providers)
}

/// The library that brought the one at `at`: the first on the way to it; `None` where the program asks for it itself, or asks for libssl, which
/// belongs to it.
fn through(closure: &Closure, at: usize) -> Option<String> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut step = closure.files[at].asked_by?;
    let mut first = None;
    while step != 0 {
        first = Some(name(&closure.files[step].path)).filter(|name| !name.starts_with("libssl"));
        step = closure.files[step].asked_by?;
    }
    // Asked for directly too, though something before it in the list asked first.
    let direct = closure.files[0].elf.needed.iter().any(|needed| is_libcrypto(Path::new(needed)));
    first.filter(|_| !direct)
}

/// The calls of a program and its libraries into OpenSSL; calls within OpenSSL itself do not count.
fn calls(closure: &Closure) -> BTreeMap<Call, Option<String>> {
    let mut calls = BTreeMap::new();
    for (at, file) in closure.files.iter().enumerate() {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_libcrypto(&file.path) || name.starts_with("libssl.so") || name.starts_with("libssl-") {
            continue;
        }
        let by = (at > 0).then_some(name);
        for call in &file.elf.calls {
            calls.entry(call.clone()).or_insert_with(|| by.clone());
        }
    }
    calls
}

/// The libraries that the constants of a program show, or those of a plugin that programs load by its path. A library that the loader finds by its
/// name (lib...) is not searched: it has no OpenSSL inside.
fn statically(file: &Candidate, elf: &Elf, plugin: bool) -> Option<Inside> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    if file.length < LEAST_STATIC || (file.library && (!plugin || name.starts_with("lib"))) {
        return None;
    }
    Some(constants::search(&files::open(&file.path).ok()?, &elf.constants))
}
