//! Looks at every program once and says what it gets.

use super::find::{self, Found};
use super::inspect::Inspector;
use super::judge::Gets;
use super::loader::{Loader, NotSeen};
use super::process::{self, Process, Processes};
use super::program::{Program, Running};
use super::{Ground, Reach};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::progress::Progress;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// The programs, plugins and processes on the machine that use OpenSSL.
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

/// Looks at the machine, or at one program; `wait` is shown until it is known how much there is to look at.
///
/// # Errors
/// Where the user interrupts; where the one program is no program that can be read.
pub fn survey(reach: &Reach, ground: &Ground, only: Option<&Path>, wait: Progress) -> Result<Survey, Failure> {
    let mut processes = process::all(&ground.proc, &reach.modules)?.with_openssl();
    if let Some(below) = &ground.below {
        processes.list.retain(|process| process.exe.as_deref().is_some_and(|exe| exe.starts_with(below)));
    }
    let found = match (only, &ground.below) {
        (None, None) => find::all(&processes.list)?,
        (None, Some(below)) => find::below(below)?,
        (Some(path), _) => one(path)?,
    };
    let mut work = Work {
        inspector: Inspector::new(reach),
        reach,
        survey: Survey { files: found.files.len(), unread_folders: found.unread.clone(), ..Survey::default() },
    };
    // Until here nobody knows how much there is to look at.
    drop(wait);
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
    inspector: Inspector<'a>,
    reach: &'a Reach,
    survey: Survey,
}

impl Work<'_> {
    fn programs(&mut self, found: &Found) -> Result<(), Failure> {
        let progress = Progress::begin();
        let (mut part_of_programs, mut libraries) = (HashSet::new(), Vec::new());
        for (done, file) in found.files.iter().enumerate() {
            interrupted()?;
            progress.set(done as f64 / found.files.len() as f64, "reading programs");
            let closure = match self.inspector.loader.closure(&file.path) {
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
                self.survey.list.extend(self.inspector.judge(file, &closure, false).0);
            }
        }
        // A library that no program asks for, and that the loader would not find by its name, is loaded by its path.
        for (file, closure) in libraries {
            let own_module = process::is_libcrypto(&file.path) || self.inspector.belongs_to_openssl(&file.path);
            if !part_of_programs.contains(&file.path)
                && !self.inspector.loader.searches_folder_of(&file.path)
                && !own_module
            {
                self.survey.list.extend(self.inspector.judge(file, &closure, true).0);
            }
        }
        self.survey.list.sort_by(|a, b| (a.plugin, &a.path).cmp(&(b.plugin, &b.path)));
        Ok(())
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
            _ if process.module_replaced => Some("adjunct's module has been replaced since it was started"),
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
