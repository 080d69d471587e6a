//! How this system starts sshd, and where that takes its environment from.

use super::environment::{self, Setting};
use adjunct_tool::Failure;
use adjunct_tool::files;
use adjunct_tool::process::run;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The place where the environment of sshd is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Environment {
    /// A file of variables that the service reads.
    File(PathBuf),
    /// A drop-in of adjunct's for a unit that reads no file of variables.
    DropIn(PathBuf),
}

impl Environment {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Environment::File(path) | Environment::DropIn(path) => path,
        }
    }
}

/// The service that starts sshd.
#[derive(Debug, Clone)]
pub(super) struct Service {
    /// Its name: `ssh` or `sshd`.
    pub name: String,
    /// The place where the service's environment is set.
    pub environment: Environment,
    /// Another setting of OPENSSL_CONF for the service, with its file.
    pub taken: Option<(PathBuf, Setting)>,
    systemd: bool,
}

/// The folders of systemd's units, those that win first (systemd.unit(5)).
const UNITS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// The folders whose files are an administrator's to set variables in.
const FILES: [&str; 3] = ["/etc/default", "/etc/sysconfig", "/etc/conf.d"];

/// The name of adjunct's drop-in.
const DROP_IN: &str = "adjunct.conf";

/// The variable that leads OpenSSL to its configuration.
pub(super) const VARIABLE: &str = "OPENSSL_CONF";

/// Finds the service.
///
/// # Errors
/// [`Failure`] where neither systemd nor an init script starts sshd here.
pub(super) fn find() -> Result<Service, Failure> {
    // Debian calls it ssh and has the other name as a link; elsewhere it is sshd.
    for name in ["ssh", "sshd"] {
        if let Some(unit) = Unit::read(&format!("{name}.service")) {
            return Ok(unit.service(name));
        }
    }
    let scripts = [("ssh", "/etc/default/ssh"), ("sshd", "/etc/conf.d/sshd"), ("sshd", "/etc/sysconfig/sshd")];
    for (name, file) in scripts {
        let script = files::text(&Path::new("/etc/init.d").join(name)).unwrap_or_default();
        let openrc = file.starts_with("/etc/conf.d/") && script.starts_with("#!/sbin/openrc-run");
        if script.contains(file) || openrc {
            let path = PathBuf::from(file);
            let taken = taken(&path);
            return Ok(Service { name: name.to_owned(), environment: Environment::File(path), taken, systemd: false });
        }
    }
    Err(Failure::new(
        "sshd is started here neither by systemd (ssh.service, sshd.service) nor by an init script that is known; \
         put OPENSSL_CONF into its environment by hand, with a file of 'adjunct openssl enable --config FILE'",
    ))
}

/// Every place where a line of adjunct's may stand, whatever is installed now.
pub(super) fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        ["/etc/default/ssh", "/etc/sysconfig/sshd", "/etc/sysconfig/ssh", "/etc/conf.d/sshd"].map(PathBuf::from).into();
    places.extend(["ssh", "sshd"].map(drop_in));
    if let Ok(service) = find() {
        let path = service.environment.path().to_owned();
        if !places.contains(&path) {
            places.push(path);
        }
    }
    places
}

fn drop_in(name: &str) -> PathBuf {
    Path::new(UNITS[0]).join(format!("{name}.service.d")).join(DROP_IN)
}

impl Service {
    /// The commands by which a change of the environment takes effect.
    pub fn restart(&self) -> String {
        self.commands().map(|words| words.join(" ")).collect::<Vec<_>>().join(" && ")
    }

    /// What puts a change of the environment in force, as the words of commands. Where systemd is installed and does not run (a container) the
    /// init script is meant.
    fn commands(&self) -> impl Iterator<Item = [&str; 3]> {
        let reload = matches!(self.environment, Environment::DropIn(_));
        let running = Path::new("/run/systemd/system").is_dir();
        let systemd = self.systemd && (running || reload || !self.has_script());
        let name = self.name.as_str();
        let restart = if systemd { ["systemctl", "restart", name] } else { ["service", name, "restart"] };
        reload.then_some(["systemctl", "daemon-reload", "--quiet"]).into_iter().chain([restart])
    }

    fn has_script(&self) -> bool {
        Path::new("/etc/init.d").join(&self.name).is_file()
    }

    /// Restarts sshd and sees that it runs.
    ///
    /// # Errors
    /// What the service's program says.
    pub fn start_again(&self) -> Result<(), String> {
        let check = if self.commands().any(|c| c[0] == "systemctl") {
            ["systemctl", "is-active", self.name.as_str()]
        } else {
            ["service", self.name.as_str(), "status"]
        };
        for words in self.commands().chain([check]) {
            let mut command = Command::new(words[0]);
            let outcome = run(command.args(&words[1..]))?;
            if !outcome.success {
                return Err(format!("{}: {}", words.join(" "), outcome.why()));
            }
        }
        Ok(())
    }
}

/// A unit and its drop-ins, ours left out, as far as they set the environment.
#[derive(Debug, Default)]
struct Unit {
    files: Vec<String>,
    settings: Vec<(PathBuf, Setting)>,
}

impl Unit {
    fn read(name: &str) -> Option<Unit> {
        let path = UNITS.iter().map(|dir| Path::new(dir).join(name)).find(|path| fs::symlink_metadata(path).is_ok())?;
        // A masked unit is a link to /dev/null.
        let text = files::text(&path).ok().filter(|text| !text.is_empty())?;
        let mut unit = Unit::default();
        unit.take(&path, &text);
        for (path, text) in drop_ins(name) {
            unit.take(&path, &text);
        }
        Some(unit)
    }

    fn take(&mut self, path: &Path, text: &str) {
        let mut section = "";
        for (index, line) in text.replace("\\\n", "  ").lines().enumerate() {
            let line = line.trim();
            if line.starts_with('[') {
                section = if line == "[Service]" { "Service" } else { "" };
            }
            match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                Some(("EnvironmentFile", "")) if section == "Service" => self.files.clear(),
                Some(("EnvironmentFile", value)) if section == "Service" => self.files.push(value.to_owned()),
                Some(("Environment", "")) if section == "Service" => self.settings.clear(),
                Some(("Environment", value)) if section == "Service" => {
                    let at = value.find(&format!("{VARIABLE}=")).map(|at| &value[at + VARIABLE.len() + 1..]);
                    self.settings.extend(at.map(|value| {
                        let value = value.split(['"', '\'', ' ']).next().unwrap_or_default().to_owned();
                        (path.to_owned(), Setting { name: VARIABLE.to_owned(), value, line: index + 1 })
                    }));
                }
                _ => {}
            }
        }
    }

    fn service(self, name: &str) -> Service {
        let path = |text: &String| PathBuf::from(text.strip_prefix('-').unwrap_or(text));
        let usable = |path: &PathBuf| {
            let plain = path.to_str().is_some_and(|p| !p.contains(['%', '*', '?', '[', '"', '\'']));
            plain && path.parent().is_some_and(|dir| FILES.iter().any(|f| dir == Path::new(f)) && dir.is_dir())
        };
        let files: Vec<PathBuf> = self.files.iter().map(path).collect();
        // A file wins over what the unit sets, a later one over an earlier one.
        let taken = files.iter().rev().find_map(|path| taken(path)).or_else(|| self.settings.into_iter().next_back());
        let environment = match files.into_iter().rfind(usable) {
            Some(path) => Environment::File(path),
            None => Environment::DropIn(drop_in(name)),
        };
        Service { name: name.to_owned(), environment, taken, systemd: true }
    }
}

/// The drop-ins of a unit in systemd's order, ours left out.
fn drop_ins(name: &str) -> Vec<(PathBuf, String)> {
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for dir in UNITS {
        let entries = fs::read_dir(Path::new(dir).join(format!("{name}.d"))).into_iter().flatten().flatten();
        for path in entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "conf")) {
            let known = found.iter().any(|(other, _)| other.file_name() == path.file_name());
            if !known && path.file_name().is_some_and(|n| n != DROP_IN) {
                found.extend(files::text(&path).ok().map(|text| (path, text)));
            }
        }
    }
    found.sort_by(|a, b| a.0.file_name().cmp(&b.0.file_name()));
    found
}

/// The setting of the variable in a file of variables, outside adjunct's block.
fn taken(path: &Path) -> Option<(PathBuf, Setting)> {
    let text = files::config(path).ok()?;
    let own = adjunct_openssl_conf::strip(&text).ok().flatten();
    let setting = environment::value(own.as_deref().unwrap_or(&text), VARIABLE)?;
    Some((path.to_owned(), setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Unit {
        let mut unit = Unit::default();
        unit.take(Path::new("/u/ssh.service"), text);
        unit
    }

    #[test]
    fn the_last_file_of_an_administrator_is_taken() {
        let debian = unit("[Unit]\nEnvironmentFile=/no\n[Service]\nEnvironmentFile=-/etc/default/ssh\n");
        assert_eq!(debian.files, ["-/etc/default/ssh"]);
        let service = unit("[Service]\nEnvironmentFile=/etc/default/%p\nEnvironmentFile=-/run/x\n").service("sshd");
        let path = "/etc/systemd/system/sshd.service.d/adjunct.conf";
        assert_eq!(service.environment, Environment::DropIn(PathBuf::from(path)));
        assert_eq!(service.restart(), "systemctl daemon-reload --quiet && systemctl restart sshd");
        assert!(unit("[Service]\nEnvironmentFile=/a\nEnvironmentFile=\n").files.is_empty());
    }

    #[test]
    fn a_variable_that_is_set_is_seen() {
        let set = unit("[Service]\nEnvironment=A=1 \\\n \"OPENSSL_CONF=/x.cnf\" B=2\n").service("ssh").taken.unwrap();
        assert_eq!((set.0, set.1.value.as_str()), (PathBuf::from("/u/ssh.service"), "/x.cnf"));
        assert_eq!(unit("[Service]\nEnvironment=OPENSSL_CONF=/x\nEnvironment=\n").service("ssh").taken, None);
    }
}
