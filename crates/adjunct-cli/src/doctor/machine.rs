//! The report about the whole machine: its processes, and well-known programs that are installed.

use super::program::{Judged, Programs};
use super::running::{self, Proof, Ran};
use super::verdict::{State, Verdict};
use crate::openssl::standing::Standing;
use crate::openssl::users::process::{Process, Processes, Unit};
use crate::openssl::users::{Cause, locate};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Programs about which people ask, where they are installed.
const KNOWN: [&str; 50] = [
    "ssh",
    "sshd",
    "scp",
    "sftp",
    "ssh-agent",
    "rsync",
    "curl",
    "wget",
    "git",
    "apt",
    "openssl",
    "python3",
    "perl",
    "ruby",
    "php",
    "node",
    "java",
    "go",
    "nginx",
    "apache2",
    "httpd",
    "haproxy",
    "postgres",
    "psql",
    "mysqld",
    "mariadbd",
    "mysql",
    "redis-server",
    "mongod",
    "openvpn",
    "stunnel4",
    "postfix",
    "dovecot",
    "exim4",
    "named",
    "unbound",
    "squid",
    "docker",
    "podman",
    "kubectl",
    "caddy",
    "traefik",
    "firefox",
    "chromium",
    "thunderbird",
    "gnutls-cli",
    "certutil",
    "lftp",
    "cryptsetup",
    "tor",
];

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

/// Well-known programs that are installed and `wanted`, with what is to be said of each.
pub fn known(programs: &mut Programs, wanted: impl Fn(&Path) -> bool) -> Result<Vec<(&'static str, Judged)>, Failure> {
    let mut found = Vec::new();
    for name in KNOWN {
        interrupted()?;
        let Some(path) = locate(Path::new(name)).ok() else { continue };
        if std::fs::canonicalize(&path).is_ok_and(|path| wanted(&path)) {
            found.push((name, programs.judge(&path)));
        }
    }
    Ok(found)
}

fn name(unit: Option<&Unit>, program: Option<&Path>, name: &str) -> String {
    match (unit, program.and_then(Path::file_name)) {
        (Some(unit), _) => unit.name.clone(),
        (None, Some(file)) => file.to_string_lossy().into_owned(),
        (None, None) => name.to_owned(),
    }
}

/// The services that run code which an upgrade has replaced: adjunct's module, libcrypto, libssl.
pub fn outdated(processes: &Processes) -> Vec<Outdated> {
    let mut all = BTreeMap::new();
    for process in processes.list.iter().filter(|p| p.replaced || p.module_replaced) {
        let entry = entry(&mut all, process);
        for (replaced, what) in [(process.module_replaced, "adjunct"), (process.replaced, "OpenSSL")] {
            if replaced && !entry.replaced.contains(&what) {
                entry.replaced.push(what);
            }
        }
    }
    all.into_values().collect()
}

/// The services that would be served if they had not been started before adjunct was enabled.
///
/// # Errors
/// Only where the user interrupts.
pub fn started_before(processes: Processes, standing: &Standing) -> Result<Vec<Outdated>, Failure> {
    let (mut all, mut proof, mut programs) = (BTreeMap::new(), Proof::default(), Programs::new(standing));
    for process in processes.list {
        interrupted()?;
        let Ran { process, verdict, .. } = running::judge(process, &mut programs, standing, &mut proof);
        if verdict.cause == Some(Cause::StartedBefore) {
            entry(&mut all, &process).started_before = true;
        }
    }
    Ok(all.into_values().collect())
}

/// The entry of a process, which is noted there.
fn entry<'a>(all: &'a mut BTreeMap<(String, String), Outdated>, process: &Process) -> &'a mut Outdated {
    let name = name(process.unit.as_ref(), process.exe.as_deref(), &process.name);
    let (restart, advice) = (process.restart(), process.restart_words());
    let (processes, replaced) = (Vec::new(), Vec::new());
    let unit = process.unit.clone();
    let (name_of, advice_of) = (name.clone(), advice.clone());
    let empty =
        Outdated { name: name_of, processes, restart, advice: advice_of, replaced, started_before: false, unit };
    let entry = all.entry((name, advice)).or_insert(empty);
    entry.processes.push(process.pid);
    entry
}
