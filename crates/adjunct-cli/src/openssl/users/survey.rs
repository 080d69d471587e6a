//! Looks at every program once and says what it gets.

use super::constants;
use super::elf::{Elf, Machine};
use super::find::{self, Candidate, Found};
use super::functions::Call;
use super::judge::{self, Calls, Gets, Judged, Rights, User, Verdict};
use super::libcrypto::{Configurations, Libcrypto, Libraries};
use super::loader::{Closure, Loader, NotSeen};
use super::process::{self, Process, Processes, is_libcrypto};
use super::{Given, Ground, Reach};
use crate::Failure;
use crate::files;
use crate::interrupt::interrupted;
use crate::ssh::measure::Progress;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A file below this length has no room for OpenSSL's code.
const LEAST_STATIC: u64 = 1 << 20;

/// A program, or a plugin that programs load when they need it, that uses OpenSSL.
#[derive(Debug, Clone, Serialize)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Other names of it.
    pub names: Vec<PathBuf>,
    /// Whether it is a plugin: programs load it when they need it, and get what it gets.
    pub plugin: bool,
    /// Its libcrypto; none where OpenSSL is part of the program.
    pub libcrypto: Option<PathBuf>,
    /// The version of its OpenSSL.
    pub version: Option<String>,
    /// The library that brought libcrypto, where the program does not ask for it itself.
    pub through: Option<String>,
    /// The configuration it reads.
    pub config: Option<PathBuf>,
    /// With whose rights it runs.
    pub rights: Rights,
    /// What it gets now.
    pub gets: Gets,
    /// What it would get from a configuration with provider and engine.
    pub could_get: Gets,
    /// Whether and why the provider.
    pub provider: Verdict,
    /// Whether and why the engine.
    pub engine: Verdict,
    /// Low-level functions it calls that only the engine can serve.
    pub engine_calls: Vec<Calls>,
    /// Low-level functions it calls that neither can serve.
    pub bypasses: Vec<Calls>,
    /// What else to know.
    pub notes: Vec<String>,
    /// The processes that run it.
    pub processes: Vec<Running>,
}

/// A process that has OpenSSL in its memory.
#[derive(Debug, Clone, Serialize)]
pub struct Running {
    /// Its number.
    pub pid: u32,
    /// The user it runs as.
    pub uid: u32,
    /// Whether adjunct is in its memory.
    pub loaded: bool,
    /// Why it is to be started again; none where that changes nothing.
    pub restart: Option<&'static str>,
}

/// What was found on the machine.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Survey {
    /// Programs and plugins that use OpenSSL.
    pub list: Vec<Program>,
    /// Processes with OpenSSL that run none of them: in containers, or of deleted files.
    pub other_processes: Vec<Process>,
    /// How many files were looked at.
    pub files: usize,
    /// Processes of others, that may not be looked at.
    pub hidden_processes: usize,
    /// Files that may be programs and cannot be read.
    pub unreadable: Vec<PathBuf>,
    /// Files that begin as programs and make no sense.
    pub broken: Vec<PathBuf>,
    /// Folders that cannot be read.
    pub unread_folders: Vec<PathBuf>,
}

/// Looks at the machine, or at one program.
///
/// # Errors
/// Where the user interrupts; where the one program is no program that can be read.
pub fn survey(reach: &Reach, ground: &Ground, only: Option<&Path>) -> Result<Survey, Failure> {
    let mut processes = process::all(&ground.proc, &reach.modules)?;
    if let Some(below) = &ground.below {
        processes.list.retain(|process| process.exe.as_deref().is_some_and(|exe| exe.starts_with(below)));
    }
    let found = match (only, &ground.below) {
        (None, None) => find::all(&processes.list)?,
        (None, Some(below)) => find::below(below)?,
        (Some(path), _) => one(path)?,
    };
    let mut work = Work {
        reach,
        loader: Loader::new(),
        libraries: Libraries::default(),
        configurations: Configurations::new(reach),
        module: None,
        survey: Survey { files: found.files.len(), unread_folders: found.unread.clone(), ..Survey::default() },
    };
    work.module = reach.modules.first().and_then(|path| work.loader.file(path).ok()).map(|elf| elf.machine);
    work.programs(&found)?;
    work.running(processes, only.is_some());
    Ok(work.survey)
}

/// The program that a name or a path on the command line means.
///
/// # Errors
/// Where there is none.
pub fn locate(name: &Path) -> Result<PathBuf, Failure> {
    let in_folder = name.components().count() > 1 || name.is_absolute();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(find::PROGRAMS.iter().map(PathBuf::from));
    let mut places: Box<dyn Iterator<Item = PathBuf>> =
        if in_folder { Box::new(std::iter::once(name.to_owned())) } else { Box::new(folders.map(|f| f.join(name))) };
    let found = places.find(|place| place.is_file());
    found.ok_or_else(|| Failure::new(format!("{}: no such program", name.display())))
}

fn one(path: &Path) -> Result<Found, Failure> {
    let refuse = |why: &str| Failure::new(format!("{}: {why}", path.display()));
    let found = Found::only(path);
    let Some(file) = found.files.first() else { return Err(refuse("no such program")) };
    match Loader::new().file(&file.path) {
        Ok(_) => Ok(found),
        Err(NotSeen::NotElf) => Err(refuse("is no compiled program; name what runs it, or a plugin it loads")),
        Err(NotSeen::Broken) => Err(refuse("is a broken ELF file")),
        Err(NotSeen::Unreadable(why)) => Err(refuse(&why)),
    }
}

struct Work<'a> {
    reach: &'a Reach,
    loader: Loader,
    libraries: Libraries,
    configurations: Configurations<'a>,
    module: Option<Machine>,
    survey: Survey,
}

impl Work<'_> {
    fn programs(&mut self, found: &Found) -> Result<(), Failure> {
        let progress = Progress::new();
        let (mut part_of_programs, mut libraries) = (HashSet::new(), Vec::new());
        for (done, file) in found.files.iter().enumerate() {
            interrupted()?;
            progress.set(done as f64 / found.files.len() as f64, "reading programs");
            let closure = match self.loader.closure(&file.path) {
                Ok(closure) => closure,
                Err(NotSeen::NotElf) => continue,
                Err(NotSeen::Broken) => {
                    self.survey.broken.push(file.path.clone());
                    continue;
                }
                Err(NotSeen::Unreadable(_)) => {
                    self.survey.unreadable.push(file.path.clone());
                    continue;
                }
            };
            if file.library {
                libraries.push((file, closure));
            } else {
                part_of_programs.extend(closure.files.iter().skip(1).map(|f| f.path.clone()));
                self.program(file, &closure, false);
            }
        }
        // A library that no program asks for, and that the loader would not find by its name, is loaded by its path.
        for (file, closure) in libraries {
            let own_module = process::is_libcrypto(&file.path) || self.belongs_to_openssl(&file.path);
            if !part_of_programs.contains(&file.path) && !self.loader.searches_folder_of(&file.path) && !own_module {
                self.program(file, &closure, true);
            }
        }
        self.survey.list.sort_by(|a, b| (a.plugin, &a.path).cmp(&(b.plugin, &b.path)));
        Ok(())
    }

    /// OpenSSL's own modules serve it and do not use it.
    fn belongs_to_openssl(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        folder == "ossl-modules" || folder.starts_with("engines-") || self.reach.modules.iter().any(|m| m == path)
    }

    fn program(&mut self, file: &Candidate, closure: &Closure, plugin: bool) {
        let Some(elf) = closure.files.first().map(|first| Rc::clone(&first.elf)) else { return };
        let linked = closure.files.iter().skip(1).position(|f| is_libcrypto(&f.path)).map(|at| at + 1);
        let (libcrypto, through) = match linked {
            Some(at) => {
                let library = &closure.files[at];
                (self.libraries.get(&library.path, &library.elf), through(closure, at))
            }
            None => match statically(file, &elf) {
                Some(libcrypto) => (Rc::new(libcrypto), None),
                None => return,
            },
        };
        let user = User {
            calls: calls(closure),
            plugin,
            rights: if plugin { Rights::Own } else { Rights::of(&file.path) },
            same_machine: self.module.is_none_or(|module| module == elf.machine),
            libcrypto,
        };
        let program = self.judged(file, &user, plugin, through);
        self.survey.list.push(program);
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
        let Judged { gets, provider, engine } = judge::judge(user, given, config.as_deref(), self.reach);
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
            provider,
            engine,
            engine_calls: judge::engine_calls(user, given),
            bypasses: judge::bypasses(user, given),
            notes: judge::notes(user, self.reach),
            processes: Vec::new(),
        }
    }

    fn running(&mut self, processes: Processes, only_one: bool) {
        self.survey.hidden_processes = processes.hidden;
        let places: BTreeMap<PathBuf, usize> =
            self.survey.list.iter().enumerate().map(|(at, program)| (program.path.clone(), at)).collect();
        for process in processes.list {
            let place = process.exe.as_deref().filter(|_| !process.elsewhere).and_then(|exe| places.get(exe));
            match place {
                Some(&at) => {
                    let restart = self.restart(&process, self.survey.list[at].gets);
                    let Process { pid, uid, loaded, .. } = process;
                    self.survey.list[at].processes.push(Running { pid, uid, loaded, restart });
                }
                None if only_one => {}
                None => self.survey.other_processes.push(process),
            }
        }
    }

    fn restart(&self, process: &Process, gets: Gets) -> Option<&'static str> {
        let would_load = matches!(gets, Gets::Both | Gets::Provider | Gets::Engine);
        let before = matches!((process.started, self.reach.since), (Some(start), Some(since)) if start < since);
        // One that was given a configuration of its own gets that one again.
        let apart = process.openssl_conf.as_ref().is_some_and(|conf| *conf != self.reach.config);
        match process {
            _ if process.replaced => Some("its libcrypto has been replaced since it was started"),
            Process { loaded: false, .. } if would_load && before && !apart => {
                Some("started before adjunct was enabled")
            }
            Process { loaded: true, .. } if gets == Gets::Neither && before && !apart => {
                Some("started before adjunct was disabled")
            }
            _ => None,
        }
    }
}

/// The library that brought the one at `at`: the first on the way to it; none where the program asks for it itself, or
/// asks for libssl, which belongs to it.
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

/// What a program and its libraries call of OpenSSL; its own parts call each other without meaning for the program.
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

/// A copy of OpenSSL inside a program.
fn statically(file: &Candidate, elf: &Elf) -> Option<Libcrypto> {
    if file.length < LEAST_STATIC || file.library {
        return None;
    }
    let inside = constants::search(&files::open(&file.path).ok()?, &elf.constants);
    (inside.version.is_some() || inside.providers).then(|| Libcrypto::inside(&inside))
}
