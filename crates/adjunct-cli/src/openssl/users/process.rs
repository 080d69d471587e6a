//! Which of OpenSSL and of adjunct running processes have loaded, from /proc.

use crate::Failure;
use crate::files;
use crate::interrupt::interrupted;
use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A process that has a libcrypto or adjunct in its memory.
#[derive(Debug, Clone, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The program it runs, where that can be told.
    #[serde(rename = "program")]
    pub exe: Option<PathBuf>,
    /// The user it runs as.
    pub uid: u32,
    /// The libcrypto in its memory.
    pub libcrypto: Option<PathBuf>,
    /// Whether that file has been replaced since (an upgrade).
    pub replaced: bool,
    /// Whether a module of adjunct's is in its memory.
    pub loaded: bool,
    /// Whether it sees another file system than this one (a container).
    pub elsewhere: bool,
    /// The configuration it was started with (`OPENSSL_CONF`), where that can still be seen.
    pub openssl_conf: Option<PathBuf>,
    /// When it was started.
    #[serde(skip)]
    pub started: Option<SystemTime>,
}

/// The processes of the machine.
#[derive(Debug, Default)]
pub struct Processes {
    /// Those with OpenSSL or adjunct.
    pub list: Vec<Process>,
    /// How many may not be looked at: others' processes.
    pub hidden: usize,
}

/// Looks at all processes but this one. `modules` are the module files of adjunct's that are configured.
/// `proc` is the kernel's file system of processes.
///
/// # Errors
/// Only where the user interrupts.
pub fn all(proc: &Path, modules: &[PathBuf]) -> Result<Processes, Failure> {
    let mut processes = Processes::default();
    let boot = booted(proc);
    let Ok(entries) = fs::read_dir(proc) else { return Ok(processes) };
    for entry in entries.flatten() {
        interrupted()?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if pid == std::process::id() {
            continue;
        }
        match look(&entry.path(), pid, modules, boot) {
            Look::Uses(process) => processes.list.push(process),
            Look::Hidden => processes.hidden += 1,
            Look::Without => {}
        }
    }
    processes.list.sort_by_key(|p| p.pid);
    Ok(processes)
}

enum Look {
    Uses(Process),
    Without,
    Hidden,
}

fn look(folder: &Path, pid: u32, modules: &[PathBuf], boot: Option<SystemTime>) -> Look {
    let maps = match files::of_process(&folder.join("maps")) {
        Ok(maps) => maps,
        // It ended meanwhile.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Look::Without,
        Err(_) => return Look::Hidden,
    };
    let mapped = mapped(&maps, modules);
    let exe = fs::read_link(folder.join("exe")).ok();
    if mapped.libcrypto.is_none() && !mapped.module {
        return Look::Without;
    }
    let same = |path: &Path| {
        let id = |m: fs::Metadata| (m.dev(), m.ino());
        let theirs = fs::metadata(folder.join("exe")).map(id).ok();
        theirs.is_some() && fs::metadata(path).map(id).ok() == theirs
    };
    let deleted = exe.as_deref().is_some_and(|e| e.to_string_lossy().ends_with(" (deleted)"));
    Look::Uses(Process {
        pid,
        elsewhere: !deleted && exe.as_deref().is_some_and(|exe| !same(exe)),
        exe: exe.filter(|_| !deleted),
        uid: fs::metadata(folder).map_or(u32::MAX, |m| m.uid()),
        libcrypto: mapped.libcrypto,
        replaced: mapped.replaced,
        loaded: mapped.module,
        openssl_conf: files::of_process(&folder.join("environ")).ok().and_then(|text| openssl_conf(&text)),
        started: started(folder, boot),
    })
}

/// What `/proc/PID/maps` shows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    libcrypto: Option<PathBuf>,
    replaced: bool,
    module: bool,
}

/// Reads `/proc/PID/maps`: `address perms offset device inode   path`.
pub fn mapped(maps: &[u8], modules: &[PathBuf]) -> Mapped {
    let mut mapped = Mapped::default();
    let text = String::from_utf8_lossy(maps);
    for line in text.lines() {
        let Some(start) = line.find('/') else { continue };
        let shown = line[start..].trim_end();
        let (path, deleted) = shown.strip_suffix(" (deleted)").map_or((shown, false), |path| (path, true));
        let path = Path::new(path);
        if is_libcrypto(path) {
            mapped.libcrypto.get_or_insert_with(|| path.to_owned());
            mapped.replaced |= deleted;
        }
        mapped.module |= is_ours(path) || modules.iter().any(|module| module == path);
    }
    mapped
}

/// `OPENSSL_CONF` in `/proc/PID/environ`.
fn openssl_conf(environment: &[u8]) -> Option<PathBuf> {
    let value = environment.split(|&b| b == 0).find_map(|entry| entry.strip_prefix(b"OPENSSL_CONF="))?;
    (!value.is_empty()).then(|| PathBuf::from(String::from_utf8_lossy(value).into_owned()))
}

/// Whether a file is a libcrypto by its name: `libcrypto.so.3`, or `libcrypto-1a2b3c4d.so.3` as in Python's wheels.
pub fn is_libcrypto(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("libcrypto").is_some_and(|rest| {
        rest.starts_with(".so") || (rest.starts_with('-') && (rest.contains(".so.") || rest.ends_with(".so")))
    })
}

/// Whether a file is a module of adjunct's by its name, installed or built.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, "adjunct.so" | "libadjunct_openssl.so" | "libadjunct_engine.so" | "adjunct-engine.so")
}

/// When the machine was started.
fn booted(proc: &Path) -> Option<SystemTime> {
    let text = files::of_process(&proc.join("stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn started(folder: &Path, boot: Option<SystemTime>) -> Option<SystemTime> {
    let stat = files::of_process(&folder.join("stat")).ok()?;
    let ticks = start_ticks(&stat)?;
    let since = Duration::from_millis(ticks.checked_mul(1000)? / rustix::param::clock_ticks_per_second().max(1));
    boot?.checked_add(since)
}

/// The 22nd field of `/proc/PID/stat`; the second is a name in brackets that may hold anything.
pub fn start_ticks(stat: &[u8]) -> Option<u64> {
    let after = stat.iter().rposition(|&b| b == b')')?;
    std::str::from_utf8(stat.get(after + 1..)?).ok()?.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read() {
        let maps =
            b"55d0-55d1 r--p 00000000 fe:00 12   /usr/sbin/sshd\n7f00-7f01 r-xp 0 fe:00 3 /usr/lib/libcrypto.so.3\n\
                     7f02-7f03 r--p 0 fe:00 4   /opt/a b/adjunct.so\n7ffc-7ffd rw-p 0 00:00 0 [stack]\n";
        let all = mapped(maps, &[]);
        assert_eq!(all.libcrypto.as_deref(), Some(Path::new("/usr/lib/libcrypto.so.3")));
        assert!(all.module && !all.replaced);
        let gone = mapped(b"7f-80 r-xp 0 fe:00 3 /usr/lib/libcrypto.so.3 (deleted)\n", &[]);
        assert!(gone.replaced && !gone.module);
        assert!(mapped(b"7f-80 r-xp 0 fe:00 3 /x/module\n", &["/x/module".into()]).module);
        assert_eq!(mapped(b"\xff/\n/", &[]), Mapped::default());
    }

    #[test]
    fn names_of_libcrypto() {
        for name in ["libcrypto.so.3", "libcrypto.so.1.1", "libcrypto-c11a6f30.so.1.1", "/x/libcrypto.so"] {
            assert!(is_libcrypto(Path::new(name)), "{name}");
        }
        for name in ["libcryptopp.so.8", "libcrypto.a", "libcryptsetup.so.12", "libcrypto-notes"] {
            assert!(!is_libcrypto(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn environments() {
        assert_eq!(openssl_conf(b"A=1\0OPENSSL_CONF=/a b\0").unwrap(), Path::new("/a b"));
        assert_eq!(openssl_conf(b"XOPENSSL_CONF=/a\0OPENSSL_CONF=\0"), None);
    }

    #[test]
    fn start_times() {
        let stat = b"7 (a) b) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1 0\n";
        assert_eq!(start_ticks(stat), Some(4242));
        assert_eq!(start_ticks(b""), None);
        assert_eq!(start_ticks(b")"), None);
        let own = started(Path::new("/proc/self"), booted(Path::new("/proc"))).unwrap();
        assert!(own <= SystemTime::now() + Duration::from_secs(2));
    }
}
