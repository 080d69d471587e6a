//! Running processes, from /proc: which of OpenSSL and of adjunct they have loaded, and what may keep them from loading it.

use super::maps::{self, Mapped, Other};
use adjunct_tool::Failure;
use adjunct_tool::escape::word;
use adjunct_tool::files;
use adjunct_tool::interrupt::interrupted;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use super::maps::is_libcrypto;

/// A process.
#[derive(Debug, Clone, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name for the kernel, 15 bytes at most.
    pub name: String,
    /// The program it runs, where that can be told.
    #[serde(rename = "program")]
    pub exe: Option<PathBuf>,
    /// The user it runs as.
    pub uid: u32,
    /// The libcrypto in its memory.
    pub libcrypto: Option<PathBuf>,
    /// Whether libcrypto or libssl has been replaced since it was loaded (an upgrade).
    pub replaced: bool,
    /// Whether a module of adjunct's is in its memory.
    pub loaded: bool,
    /// Whether the module has been replaced since it was loaded.
    pub module_replaced: bool,
    /// Providers of others that OpenSSL has loaded into it.
    pub providers: BTreeSet<PathBuf>,
    /// Other libraries in the process that encrypt.
    pub other: BTreeSet<Other>,
    /// A package of Python's that may have OpenSSL inside.
    #[serde(skip)]
    pub wheel: Option<PathBuf>,
    /// Whether the process sees another file system than this one (a container, a chroot).
    pub elsewhere: bool,
    /// Its root, where that is another folder than this one's.
    pub root: Option<Root>,
    /// The systemd unit it belongs to, where that is a service.
    pub unit: Option<Unit>,
    /// Whether the process belongs to a user's session.
    #[serde(skip)]
    pub session: bool,
    /// Whether the process that started it has its name: of a server's, it is one of those that serve a client.
    #[serde(skip)]
    pub child_of_its_kind: bool,
    /// The AppArmor profile or SELinux domain that confines the process.
    pub confined: Option<Confined>,
    /// Whether the process was started with the rights of its file, and ignores variables of OpenSSL's and adjunct's.
    pub secure: bool,
    /// The configuration it was started with (`OPENSSL_CONF`), where that can still be seen.
    pub openssl_conf: Option<PathBuf>,
    /// Whether Node was told to read what other programs read (`--openssl-shared-config`).
    #[serde(skip)]
    pub node_shares: bool,
    /// Time at which the process was started.
    #[serde(skip)]
    pub started: Option<SystemTime>,
}

impl Process {
    /// The command that starts the process anew, where there is one.
    pub fn restart(&self) -> Option<String> {
        match &self.unit {
            Some(unit) => Some(unit.restart()),
            None if self.pid == 1 && self.name == "systemd" => Some("systemctl daemon-reexec".to_owned()),
            None => None,
        }
    }

    /// The command that restarts the process, or a description where there is none.
    pub fn restart_words(&self) -> String {
        let words = match (self.root, self.session) {
            (Some(Root::Container), _) => "start its container again",
            (_, true) => "it ends with its session: log in again",
            _ => "start it again",
        };
        self.restart().unwrap_or_else(|| words.to_owned())
    }
}

/// The kind of a root folder other than the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Root {
    /// A folder of this machine's.
    Chroot,
    /// A container's file system.
    Container,
}

/// A service of systemd's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Unit {
    /// Its name: `ssh.service`.
    pub name: String,
    /// The user whose own service it is; none for the system's.
    pub of_user: Option<u32>,
}

impl Unit {
    /// The command that restarts the unit.
    pub fn restart(&self) -> String {
        // The name may be any user's choice: a cgroup's folder.
        let name = word(self.name.strip_suffix(".service").unwrap_or(&self.name));
        match self.of_user {
            None => format!("systemctl restart {name}"),
            Some(_) => format!("systemctl --user restart {name}"),
        }
    }
}

/// The confinement of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confined {
    /// An AppArmor profile in force.
    AppArmor(String),
    /// An SELinux domain.
    SeLinux(String),
}

/// The processes of the machine.
#[derive(Debug, Default)]
pub struct Processes {
    /// The processes that were looked at.
    pub list: Vec<Process>,
    /// How many may not be looked at: others' processes.
    pub hidden: usize,
}

impl Processes {
    /// Keeps the processes that have OpenSSL or adjunct.
    pub fn with_openssl(mut self) -> Processes {
        self.list.retain(|process| process.libcrypto.is_some() || process.loaded);
        self
    }
}

/// Looks at all processes but this one. `modules` are the module files of adjunct's that are configured.
/// `proc` is the kernel's file system of processes.
///
/// # Errors
/// Only where the user interrupts.
pub fn all(proc: &Path, modules: &[PathBuf]) -> Result<Processes, Failure> {
    let mut processes = Processes::default();
    let machine = Machine::of(proc);
    let Ok(entries) = fs::read_dir(proc) else { return Ok(processes) };
    for entry in entries.flatten() {
        interrupted()?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if pid == std::process::id() {
            continue;
        }
        match look(proc, pid, modules, &machine) {
            Look::Runs(process) => processes.list.push(*process),
            Look::Hidden => processes.hidden += 1,
            Look::Gone | Look::Zombie | Look::Kernel => {}
        }
    }
    processes.list.sort_by_key(|p| p.pid);
    Ok(processes)
}

/// Looks at a process.
pub fn one(proc: &Path, pid: u32, modules: &[PathBuf]) -> Look {
    look(proc, pid, modules, &Machine::of(proc))
}

/// The result of looking at a process number.
#[derive(Debug)]
pub enum Look {
    /// A process.
    Runs(Box<Process>),
    /// There is no such process, or no longer.
    Gone,
    /// The process has ended and its parent has not yet asked for its status.
    Zombie,
    /// A thread of the kernel's.
    Kernel,
    /// The process may not be looked at.
    Hidden,
}

/// The flag of a kernel thread (`PF_KTHREAD`) among those of `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

fn look(proc: &Path, pid: u32, modules: &[PathBuf], machine: &Machine) -> Look {
    let folder = &proc.join(pid.to_string());
    let Ok(stat) = files::of_process(&folder.join("stat")) else { return Look::Gone };
    match field(&stat, 3) {
        Some("Z" | "X") => return Look::Zombie,
        _ if number(&stat, 9).is_some_and(|flags| flags & KERNEL_THREAD != 0) => return Look::Kernel,
        _ => {}
    }
    let maps = match files::of_process(&folder.join("maps")) {
        Ok(maps) => maps,
        // It ended meanwhile.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Look::Gone,
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => return Look::Gone,
        Err(_) => return Look::Hidden,
    };
    let mapped = maps::mapped(&maps, modules);
    if !mapped.any {
        return Look::Gone;
    }
    Look::Runs(Box::new(process(proc, folder, pid, mapped, &stat, machine)))
}

fn process(proc: &Path, folder: &Path, pid: u32, mapped: Mapped, stat: &[u8], machine: &Machine) -> Process {
    let exe = fs::read_link(folder.join("exe")).ok();
    let id = |m: fs::Metadata| (m.dev(), m.ino());
    // In a container, the same path is another file.
    let theirs = fs::metadata(folder.join("exe")).map(id).ok();
    let same = |path: &Path| theirs.is_none() || fs::metadata(path).map(id).ok() == theirs;
    let deleted = exe.as_deref().is_some_and(|e| e.to_string_lossy().ends_with(" (deleted)"));
    let environment = files::of_process(&folder.join("environ")).unwrap_or_default();
    let command = files::of_process(&folder.join("cmdline")).unwrap_or_default();
    let text = |name: &str| files::of_process(&folder.join(name)).map(|t| String::from_utf8_lossy(&t).into_owned());
    let cgroup = text("cgroup").unwrap_or_default();
    let name = text("comm").map(|name| name.trim_end().to_owned()).unwrap_or_default();
    let above = parent(stat).and_then(|(above, _)| files::of_process(&proc.join(format!("{above}/comm"))).ok());
    Process {
        pid,
        child_of_its_kind: above.is_some_and(|above| above.trim_ascii_end() == name.as_bytes()),
        name,
        elsewhere: !deleted && exe.as_deref().is_some_and(|exe| !same(exe)),
        exe: exe.filter(|_| !deleted),
        uid: fs::metadata(folder).map_or(u32::MAX, |m| m.uid()),
        libcrypto: mapped.libcrypto,
        replaced: mapped.replaced,
        loaded: mapped.module.is_some(),
        module_replaced: mapped.module_replaced,
        providers: mapped.providers,
        other: mapped.other,
        root: root(proc, folder, &cgroup),
        unit: unit(&cgroup, &machine.group),
        session: cgroup.contains("/session-") && cgroup.trim_end().ends_with(".scope"),
        wheel: mapped.wheel,
        confined: text("attr/current").ok().as_deref().and_then(confined),
        secure: files::of_process(&folder.join("auxv")).is_ok_and(|auxv| secure(&auxv)),
        openssl_conf: variable(&environment, b"OPENSSL_CONF=").map(path),
        node_shares: node_shares(&command, &environment),
        started: started(stat, machine.boot),
    }
}

/// Whether a process has another root than this one.
fn root(proc: &Path, folder: &Path, cgroup: &str) -> Option<Root> {
    let id = |path: &Path| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    if id(&folder.join("root"))? == id(Path::new("/"))? {
        return None;
    }
    let space = |folder: &Path| fs::read_link(folder.join("ns/mnt")).ok();
    let names = ["docker", "libpod", "kubepods", "lxc", "containerd", "machine.slice", "nspawn", "garden"];
    let apart = space(folder).is_some() && space(folder) != space(&proc.join("self"));
    Some(if apart || names.iter().any(|name| cgroup.contains(name)) { Root::Container } else { Root::Chroot })
}

/// The service in `/proc/PID/cgroup` that this systemd knows: below its slices the first part of the path is a unit, and what lies below that belongs
/// to the unit, such as a container's services. Below `user@1000.service` there are that user's units. `above` is the group of systemd itself.
fn unit(cgroup: &str, above: &str) -> Option<Unit> {
    groups(cgroup).find_map(|path| {
        let path = path.strip_prefix(above)?;
        let mut parts = path.split('/').filter(|part| !part.is_empty() && !part.ends_with(".slice"));
        let mut name = parts.next()?;
        let of_user = name.strip_prefix("user@").and_then(|rest| rest.strip_suffix(".service")?.parse().ok());
        if of_user.is_some() {
            name = parts.next()?;
        }
        name.ends_with(".service").then(|| Unit { name: name.to_owned(), of_user })
    })
}

/// The paths in `/proc/PID/cgroup` that systemd may have given: of its own hierarchy of the first version, and of the second. Which of them
/// it uses is its choice; in the other all may be at the top.
fn groups(cgroup: &str) -> impl Iterator<Item = &str> {
    cgroup.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        (controllers.is_empty() || controllers == "name=systemd").then_some(path)
    })
}

/// `/proc/PID/attr/current`: `PROFILE (enforce)` of AppArmor's, `USER:ROLE:TYPE:LEVEL` of SELinux's.
fn confined(text: &str) -> Option<Confined> {
    let text = text.trim_matches(['\0', '\n', ' ']);
    if let Some(profile) = text.strip_suffix(" (enforce)") {
        return Some(Confined::AppArmor(profile.to_owned()));
    }
    let domain = text.split(':').nth(2)?;
    let free = domain.contains("unconfined") || matches!(domain, "kernel_t" | "init_t" | "initrc_t");
    (!free).then(|| Confined::SeLinux(domain.to_owned()))
}

/// `AT_SECURE` in `/proc/PID/auxv`, which has pairs of words.
fn secure(auxv: &[u8]) -> bool {
    const AT_SECURE: usize = 23;
    let word = |bytes: &[u8]| bytes.try_into().map(usize::from_ne_bytes).unwrap_or_default();
    let mut pairs = auxv.chunks_exact(2 * size_of::<usize>()).map(|pair| pair.split_at(size_of::<usize>()));
    pairs.any(|(tag, value)| word(tag) == AT_SECURE && word(value) != 0)
}

/// Whether Node's options, on its command line or in `NODE_OPTIONS`, have it read what other programs read.
fn node_shares(command: &[u8], environment: &[u8]) -> bool {
    const OPTION: &[u8] = b"--openssl-shared-config";
    let options = variable(environment, b"NODE_OPTIONS=").unwrap_or_default();
    command.split(|&b| b == 0).any(|word| word == OPTION) || options.split(u8::is_ascii_whitespace).any(|w| w == OPTION)
}

/// The value of a variable in `/proc/PID/environ`, where it has one; `name` ends in `=`.
fn variable<'a>(environment: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    environment.split(|&b| b == 0).find_map(|entry| entry.strip_prefix(name)).filter(|value| !value.is_empty())
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// Facts that are the same for all processes.
struct Machine {
    /// Time at which the machine was started.
    boot: Option<SystemTime>,
    /// The control group below which systemd has its slices: not the first one in a container that sees the machine's.
    group: String,
}

impl Machine {
    fn of(proc: &Path) -> Machine {
        let cgroup = files::of_process(&proc.join("1/cgroup")).unwrap_or_default();
        let cgroup = String::from_utf8_lossy(&cgroup);
        let group = groups(&cgroup).find_map(|path| path.strip_suffix("/init.scope")).unwrap_or_default().to_owned();
        Machine { boot: booted(proc), group }
    }
}

/// When the machine was started.
fn booted(proc: &Path) -> Option<SystemTime> {
    let text = files::of_process(&proc.join("stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn started(stat: &[u8], boot: Option<SystemTime>) -> Option<SystemTime> {
    let ticks = start_ticks(stat)?;
    let since = Duration::from_millis(ticks.checked_mul(1000)? / rustix::param::clock_ticks_per_second().max(1));
    boot?.checked_add(since)
}

/// The 22nd field of `/proc/PID/stat`.
pub fn start_ticks(stat: &[u8]) -> Option<u64> {
    number(stat, 22)
}

/// The parent of a process, and whether it has ended, from `/proc/PID/stat`.
pub fn parent(stat: &[u8]) -> Option<(u32, bool)> {
    Some((number(stat, 4)?.try_into().ok()?, matches!(field(stat, 3), Some("Z" | "X"))))
}

fn number(stat: &[u8], at: usize) -> Option<u64> {
    field(stat, at)?.parse().ok()
}

/// A field of `/proc/PID/stat`, counted from 1, from the third on; the second is a name in brackets that may hold anything.
fn field(stat: &[u8], at: usize) -> Option<&str> {
    let after = stat.iter().rposition(|&b| b == b')')?;
    std::str::from_utf8(stat.get(after + 1..)?).ok()?.split_whitespace().nth(at.checked_sub(3)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments() {
        assert_eq!(variable(b"A=1\0OPENSSL_CONF=/a b\0", b"OPENSSL_CONF=").unwrap(), b"/a b");
        assert_eq!(variable(b"XOPENSSL_CONF=/a\0OPENSSL_CONF=\0", b"OPENSSL_CONF="), None);
        assert!(node_shares(b"node\0--openssl-shared-config\0x.js\0", b""));
        assert!(node_shares(b"node\0x.js\0", b"NODE_OPTIONS=--a --openssl-shared-config\0"));
        assert!(!node_shares(b"node\0x.js\0", b""));
    }

    #[test]
    fn start_times() {
        let stat = b"7 (a) b) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1 0\n";
        assert_eq!(start_ticks(stat), Some(4242));
        assert_eq!(start_ticks(b""), None);
        assert_eq!(start_ticks(b")"), None);
        let own = started(&fs::read("/proc/self/stat").unwrap(), booted(Path::new("/proc"))).unwrap();
        assert!(own <= SystemTime::now() + Duration::from_secs(2));
    }

    #[test]
    fn units_of_cgroups() {
        let system = |name: &str| Some(Unit { name: name.to_owned(), of_user: None });
        let of = |cgroup: &str| unit(cgroup, "");
        assert_eq!(of("0::/system.slice/ssh.service\n"), system("ssh.service"));
        assert_eq!(of("4:cpu:/x\n1:name=systemd:/system.slice/nginx.service/worker\n"), system("nginx.service"));
        assert_eq!(of("12:name=systemd:/\n0::/system.slice/nginx.service\n"), system("nginx.service"));
        assert_eq!(of("0::/system.slice/system-getty.slice/getty@tty1.service"), system("getty@tty1.service"));
        assert_eq!(of("0::/user.slice/user-0.slice/session-3.scope\n"), None);
        assert_eq!(of("0::/user.slice/user-7.slice/user@7.service/init.scope\n"), None);
        let own = of("0::/user.slice/user-7.slice/user@7.service/app.slice/x.service\n").unwrap();
        assert_eq!((own.of_user, own.restart().as_str()), (Some(7), "systemctl --user restart x"));
        assert_eq!(of("0::/\n"), None);
        // A container's services are not this systemd's; the container itself may be.
        for container in ["machine.slice/machine-web.scope/payload", "docker/5f1d", "system.slice/docker-5f1d.scope"] {
            assert_eq!(of(&format!("0::/{container}/system.slice/ssh.service\n")), None, "{container}");
        }
        let nspawn = "0::/machine.slice/systemd-nspawn@web.service/payload/system.slice/ssh.service\n";
        assert_eq!(of(nspawn), system("systemd-nspawn@web.service"));
        // In a container that sees the machine's groups, systemd's own lie below its own.
        let inside = "0::/system.slice/docker-5f1d.scope/system.slice/ssh.service\n";
        assert_eq!(unit(inside, "/system.slice/docker-5f1d.scope"), system("ssh.service"));
        assert_eq!(unit("0::/../ssh.service\n", ""), None);
    }

    #[test]
    fn confinement() {
        assert_eq!(confined("/usr/sbin/named (enforce)\n"), Some(Confined::AppArmor("/usr/sbin/named".into())));
        for free in ["unconfined\n", "x (complain)\n", "", "unconfined_u:unconfined_r:unconfined_t:s0", "kernel"] {
            assert_eq!(confined(free), None, "{free}");
        }
        assert_eq!(confined("system_u:system_r:httpd_t:s0\0"), Some(Confined::SeLinux("httpd_t".into())));
    }

    #[test]
    fn rights_of_the_file() {
        let pair = |tag: usize, value: usize| [tag.to_ne_bytes(), value.to_ne_bytes()].concat();
        assert!(secure(&[pair(6, 4096), pair(23, 1), pair(0, 0)].concat()));
        assert!(!secure(&[pair(23, 0), pair(0, 0)].concat()));
    }
}
