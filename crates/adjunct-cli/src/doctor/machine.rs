//! The report about the whole machine: its processes, and well-known programs that are installed.

use super::running::{self, Proof, Ran};
use adjunct_survey::Cause;
use adjunct_survey::process::Processes;
use adjunct_survey::served::{Judged, Outdated, Programs, Restarts, Standing, State, Verdict, known, name};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Processes, or an installed program, of which the same is to be said.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// The service, or else the program.
    pub name: String,
    /// The program.
    pub program: Option<PathBuf>,
    /// The processes; none for a program that does not run.
    pub processes: Vec<u32>,
    /// The verdict on the group.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Notes, one line each.
    pub notes: Vec<String>,
}

/// All programs and processes, the worst verdicts first.
pub fn look(processes: Processes, standing: &Standing, programs: &mut Programs) -> Result<Vec<Entry>, Failure> {
    let mut proof = Proof::default();
    let mut entries: BTreeMap<(State, Option<Cause>, String, String), Entry> = BTreeMap::new();
    for process in processes.list {
        interrupted()?;
        let Ran { process, verdict, .. } = running::judge(process, programs, standing, &mut proof);
        if verdict.cause == Some(Cause::NoCrypto) {
            continue;
        }
        let program = process.exe.clone();
        let name = name(process.unit.as_ref(), program.as_deref(), &process.name);
        let key = (verdict.state, verdict.cause, name.clone(), verdict.sentence());
        let entry = Entry { name, program, processes: Vec::new(), verdict, notes: Vec::new() };
        entries.entry(key).or_insert(entry).processes.push(process.pid);
    }
    let running: Vec<PathBuf> = entries.values().filter_map(|entry| entry.program.clone()).collect();
    for (name, judged) in known(programs, |path| !running.iter().any(|program| program == path))? {
        let Judged { path, verdict, notes, .. } = judged;
        if verdict.cause == Some(Cause::NoCrypto) {
            continue;
        }
        let key = (verdict.state, verdict.cause, name.to_owned(), verdict.sentence());
        let entry = Entry { name: name.to_owned(), program: Some(path), processes: Vec::new(), verdict, notes };
        entries.entry(key).or_insert(entry);
    }
    Ok(entries.into_values().collect())
}

/// The services that would be served if they had not been started before adjunct was enabled.
///
/// # Errors
/// Only where the user interrupts.
pub fn started_before(processes: Processes, standing: &Standing) -> Result<Vec<Outdated>, Failure> {
    let (mut all, mut proof, mut programs) = (Restarts::default(), Proof::default(), Programs::new(standing));
    for process in processes.list {
        interrupted()?;
        let Ran { process, verdict, .. } = running::judge(process, &mut programs, standing, &mut proof);
        if verdict.cause == Some(Cause::StartedBefore) {
            all.entry(&process).started_before = true;
        }
    }
    Ok(all.list())
}
