//! What is to be started again: services and programs that run code which was replaced.

use crate::process::{Process, Processes, Unit};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A service, or a program without one, that is to be started again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Outdated {
    /// The service, or else the program.
    pub name: String,
    /// The processes.
    pub processes: Vec<u32>,
    /// The command that restarts it; `None` where it is no service.
    pub restart: Option<String>,
    /// The advice for the user.
    pub advice: String,
    /// The code that an upgrade replaced and that it still runs: `adjunct`, `OpenSSL`.
    pub replaced: Vec<&'static str>,
    /// Whether the process does without adjunct because it was started before that was enabled.
    pub started_before: bool,
    /// The service, where it is one.
    #[serde(skip)]
    pub unit: Option<Unit>,
}

/// The services and processes to restart that were found, by name and advice.
#[derive(Debug, Default)]
pub struct Restarts(BTreeMap<(String, String), Outdated>);

impl Restarts {
    /// The entry of a process, which is noted there.
    pub fn entry(&mut self, process: &Process) -> &mut Outdated {
        let name = name(process.unit.as_ref(), process.exe.as_deref(), &process.name);
        let (restart, advice) = (process.restart(), process.restart_words());
        let (processes, replaced) = (Vec::new(), Vec::new());
        let unit = process.unit.clone();
        let (name_of, advice_of) = (name.clone(), advice.clone());
        let empty =
            Outdated { name: name_of, processes, restart, advice: advice_of, replaced, started_before: false, unit };
        let entry = self.0.entry((name, advice)).or_insert(empty);
        entry.processes.push(process.pid);
        entry
    }

    /// All of them.
    pub fn list(self) -> Vec<Outdated> {
        self.0.into_values().collect()
    }
}

/// The services that run code which an upgrade has replaced: adjunct's module, libcrypto, libssl.
pub fn outdated(processes: &Processes) -> Vec<Outdated> {
    let mut all = Restarts::default();
    for process in processes.list.iter().filter(|p| p.replaced || p.module_replaced) {
        let entry = all.entry(process);
        for (replaced, what) in [(process.module_replaced, "adjunct"), (process.replaced, "OpenSSL")] {
            if replaced && !entry.replaced.contains(&what) {
                entry.replaced.push(what);
            }
        }
    }
    all.list()
}

/// What a process is called: its service, or else its program.
pub fn name(unit: Option<&Unit>, program: Option<&Path>, name: &str) -> String {
    match (unit, program.and_then(Path::file_name)) {
        (Some(unit), _) => unit.name.clone(),
        (None, Some(file)) => file.to_string_lossy().into_owned(),
        (None, None) => name.to_owned(),
    }
}
