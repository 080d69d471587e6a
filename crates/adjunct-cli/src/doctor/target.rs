//! What a word on the command line means: a process, a program, a service, or the processes that listen at a port.

use super::hidden;
use super::sockets::{self, Endpoint};
use adjunct_survey::locate;
use adjunct_survey::process::{self, Look, Processes};
use adjunct_tool::Failure;
use adjunct_tool::escape::shown;
use adjunct_tool::files;
use adjunct_tool::process::run;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The subject that a word on the command line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// One process.
    Process(u32),
    /// A program, started now, and the processes that run it.
    Program(PathBuf),
    /// The processes of a service.
    Service(String, Vec<u32>),
    /// Processes that listen at an address.
    Listener(Endpoint, Vec<u32>),
    /// An address of another machine.
    Remote(Endpoint),
}

/// The kind of a subject, for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// One process.
    Process,
    /// A program.
    Program,
    /// A service.
    Service,
    /// Listeners at a port of this machine.
    Listener,
    /// A port of another machine's.
    Remote,
}

impl Subject {
    /// The kind of the subject.
    pub fn kind(&self) -> TargetKind {
        match self {
            Subject::Process(_) => TargetKind::Process,
            Subject::Program(_) => TargetKind::Program,
            Subject::Service(..) => TargetKind::Service,
            Subject::Listener(..) => TargetKind::Listener,
            Subject::Remote(_) => TargetKind::Remote,
        }
    }
}

/// What `word` is about: a number is a process; what has a slash is a program; what ends in a colon and a number is a place on the network;
/// what ends in `.service` is a service; any other name is a program that a shell finds, or else a service.
///
/// # Errors
/// One line: there is nothing of that name, or it may not be looked at.
pub fn resolve(word: &str, proc: &Path, processes: &Processes) -> Result<Subject, Failure> {
    if let Ok(pid) = word.parse::<u32>() {
        return process(pid, proc);
    }
    if let Some(place) = Endpoint::parse(word) {
        return listener(place, proc, processes);
    }
    if !word.ends_with(".service") {
        match locate(Path::new(word)) {
            Ok(path) => return Ok(Subject::Program(path)),
            Err(why) if word.contains('/') => return Err(why),
            Err(_) => {}
        }
    }
    let pids = service(word, processes)?;
    Ok(Subject::Service(word.to_owned(), pids))
}

fn process(pid: u32, proc: &Path) -> Result<Subject, Failure> {
    let refuse = |why: &str| Err(Failure::new(format!("process {pid}: {why}")));
    match process::one(proc, pid, &[]) {
        Look::Runs(_) => Ok(Subject::Process(pid)),
        Look::Gone => refuse("there is none of that number"),
        Look::Zombie => refuse("it has ended (its parent has not asked for its end yet)"),
        Look::Kernel => refuse("it is a thread of the kernel's, and uses no OpenSSL"),
        Look::Hidden => refuse(&hidden::why()),
    }
}

fn listener(place: Endpoint, proc: &Path, processes: &Processes) -> Result<Subject, Failure> {
    let addresses = place.addresses().map_err(Failure::new)?;
    if !addresses.iter().any(|&address| sockets::is_here(address)) {
        return Ok(Subject::Remote(place));
    }
    let found = sockets::find(proc, &addresses, place.port, processes);
    let at = format!("{}:{}", shown(&place.host), place.port);
    match (found.pids.is_empty(), found.listens) {
        (false, _) => Ok(Subject::Listener(place, found.pids)),
        (true, true) => {
            let root = nix::unistd::geteuid().is_root();
            let why = match (root, processes.hidden) {
                (true, 0) => "a process of a container's listens there".to_owned(),
                (true, _) => format!("a process listens there that may not be looked at: {}", hidden::why()),
                (false, _) => "another user's process listens there; ask as root".to_owned(),
            };
            Err(Failure::new(format!("{at}: {why}")))
        }
        (true, false) => Err(Failure::new(format!("{at}: nothing listens there"))),
    }
}

/// The processes of a service: those of its unit's control group, or, without systemd, those of that name.
fn service(name: &str, processes: &Processes) -> Result<Vec<u32>, Failure> {
    let bare = name.strip_suffix(".service").unwrap_or(name);
    let unit = format!("{bare}.service");
    let of_unit = |unit: &str| -> Vec<u32> {
        let of = processes.list.iter().filter(|p| p.unit.as_ref().is_some_and(|u| u.name == unit));
        of.map(|p| p.pid).collect()
    };
    let mut pids = of_unit(&unit);
    if pids.is_empty() && Path::new("/run/systemd/system").is_dir() {
        pids = by_systemd(&unit).map_or_else(Vec::new, |unit| of_unit(&unit));
    }
    if let (true, Some(daemon)) = (pids.is_empty(), by_init_script(bare)) {
        pids =
            processes.list.iter().filter(|p| !p.elsewhere && p.exe.as_ref() == Some(&daemon)).map(|p| p.pid).collect();
    }
    if pids.is_empty() && !name.ends_with(".service") {
        // The kernel keeps the first 15 bytes of a name.
        let short = bare.get(..15).unwrap_or(bare);
        pids = processes.list.iter().filter(|p| p.name == short).map(|p| p.pid).collect();
    }
    if pids.is_empty() {
        return Err(Failure::new(format!("{}: no program, no service and no process of that name", shown(name))));
    }
    Ok(pids)
}

/// The name that systemd has for a unit: `sshd.service` is an alias of `ssh.service`.
fn by_systemd(unit: &str) -> Option<String> {
    let mut command = Command::new("systemctl");
    let outcome = run(command.args(["show", "--value", "--property=Id", "--", unit])).ok()?;
    Some(outcome.text().trim().to_owned()).filter(|_| outcome.success)
}

/// The daemon that an init script starts: the first program of the system's that it names.
fn by_init_script(name: &str) -> Option<PathBuf> {
    let plain = !name.contains('/') && !name.starts_with('.');
    let text = files::text(&Path::new("/etc/init.d").join(name)).ok().filter(|_| plain)?;
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || "=\"';()[]".contains(c)));
    let daemons = words.filter(|word| word.starts_with("/usr/sbin/") || word.starts_with("/usr/bin/"));
    let found = daemons.map(Path::new).find(|path| path.is_file() && !path.ends_with("env"))?;
    std::fs::canonicalize(found).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart() {
        let none = Processes::default();
        let of = |word: &str| resolve(word, Path::new("/proc"), &none);
        assert_eq!(of(&std::process::id().to_string()).unwrap(), Subject::Process(std::process::id()));
        assert!(matches!(of("/bin/sh").unwrap(), Subject::Program(_)));
        assert!(matches!(of("sh").unwrap(), Subject::Program(_)));
        assert!(matches!(of("192.0.2.1:443").unwrap(), Subject::Remote(_)));
        for (word, why) in [
            ("4294967295", "none of that number"),
            ("/no/such", "no such program"),
            ("no-such-thing", "no program, no service"),
            ("sh.service", "no program, no service"),
            ("2", ""),
        ] {
            if let Err(failure) = of(word) {
                assert!(failure.to_string().contains(why), "{failure}");
            } else {
                assert_eq!(word, "2");
            }
        }
    }

    #[test]
    fn a_zombie_is_no_process() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id().to_string();
        let ended = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| s.contains(") Z "));
        assert!(adjunct_tool::process::wait_for(std::time::Duration::from_secs(10), ended));
        let why = resolve(&pid, Path::new("/proc"), &Processes::default()).unwrap_err().to_string();
        assert!(why.contains("has ended"), "{why}");
        child.wait().unwrap();
    }
}
