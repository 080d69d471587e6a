//! The `openssl` program: what it says of its version, its folders and its providers.

use crate::process;
use adjunct_tool::Failure;
use adjunct_tool::files;
use adjunct_tool::process::{Outcome, run};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `openssl ARGS`, under `config` where one is given.
///
/// # Errors
/// As [`run`]; also where there is no such program.
pub fn openssl<S: AsRef<OsStr>>(args: &[S], config: Option<&Path>) -> Result<Outcome, String> {
    let mut command = Command::new("openssl");
    command.args(args);
    if let Some(config) = config {
        command.env("OPENSSL_CONF", config);
    }
    run(&mut command)
}

/// Asks `openssl version` for a line, without what the configuration could break.
fn version(option: &str) -> Result<String, Failure> {
    let mut command = Command::new("openssl");
    command.args(["version", option]).env("OPENSSL_CONF", "/dev/null");
    match run(&mut command) {
        Ok(outcome) if outcome.success => Ok(outcome.text().trim().to_owned()),
        Ok(outcome) => Err(Failure::new(format!("openssl version {option}: {}", outcome.why()))),
        Err(line) => Err(Failure::new(format!("{line}; install it: apt-get install openssl"))),
    }
}

fn quoted_path(text: &str) -> Option<PathBuf> {
    text.split('"').nth(1).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The folder that holds the system's openssl.cnf.
///
/// # Errors
/// [`Failure`] where `openssl` does not say.
pub fn openssl_dir() -> Result<PathBuf, Failure> {
    let text = version("-d")?;
    quoted_path(&text).ok_or_else(|| Failure::new(format!("openssl version -d says '{text}'; give --config")))
}

/// The folder of OpenSSL's modules.
pub fn modules_dir() -> Option<PathBuf> {
    quoted_path(&version("-m").ok()?)
}

/// OpenSSL's version: `OpenSSL 3.0.19 27 Jan 2026`.
///
/// # Errors
/// [`Failure`] where there is no `openssl` program.
pub fn openssl_version() -> Result<String, Failure> {
    let text = version("-v")?;
    Ok(text.split(" (Library").next().unwrap_or(&text).to_owned())
}

/// Refuses OpenSSL without providers.
///
/// # Errors
/// [`Failure`] before version 3.
pub fn require_providers(version: &str) -> Result<(), Failure> {
    let number = version.split_whitespace().nth(1).unwrap_or_default();
    match number.split('.').next().and_then(|n| n.parse::<u32>().ok()) {
        Some(major) if major >= 3 && version.starts_with("OpenSSL ") => Ok(()),
        _ => Err(Failure::new(format!("'{version}' has no providers; adjunct needs OpenSSL 3.0 or newer"))),
    }
}

/// Major and minor number of a version that [`require_providers`] has let pass.
pub fn numbers(version: &str) -> (u32, u32) {
    let number = version.split_whitespace().nth(1).unwrap_or_default();
    let mut parts = number.split('.').map_while(|part| part.parse().ok());
    (parts.next().unwrap_or(3), parts.next().unwrap_or(0))
}

/// Whether this OpenSSL has engines.
pub fn has_engines() -> bool {
    openssl(&["engine", "dynamic"], Some(Path::new("/dev/null"))).is_ok_and(|o| o.success)
}

/// The processes of that name that the system itself has started: of sshd, the one that listens for logins.
pub fn services(name: &str) -> Vec<u32> {
    let of = |pid: u32| files::text(Path::new(&format!("/proc/{pid}/comm"))).unwrap_or_default();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    // Process 1, which may be it in a container, has no parent. One that has ended and waits for its parent runs no more.
    let runs = |pid: u32| {
        let stat = files::of_process(Path::new(&format!("/proc/{pid}/stat"))).unwrap_or_default();
        process::parent(&stat).is_some_and(|(parent, ended)| parent <= 1 && !ended)
    };
    all.filter(|&pid| of(pid).trim() == name && runs(pid)).collect()
}

/// A provider as `openssl list -providers` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name in the configuration.
    pub name: String,
    /// The name that the program gives itself.
    pub title: String,
    /// Its version.
    pub version: String,
    /// Whether the provider is active.
    pub active: bool,
}

/// The providers that OpenSSL has loaded under `config`.
///
/// # Errors
/// One line: the program does not run or refuses the configuration.
pub fn providers(config: &Path) -> Result<Vec<Listed>, String> {
    let outcome = openssl(&["list", "-providers"], Some(config))?;
    if !outcome.success {
        return Err(format!("openssl list -providers: {}", outcome.why()));
    }
    Ok(parse_providers(&outcome.text()))
}

fn parse_providers(text: &str) -> Vec<Listed> {
    let mut list: Vec<Listed> = Vec::new();
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let line = line.trim();
        match (depth, line.split_once(": "), list.last_mut()) {
            (2, ..) => {
                list.push(Listed { name: line.to_owned(), title: String::new(), version: String::new(), active: false })
            }
            (4, Some(("name", value)), Some(last)) => value.clone_into(&mut last.title),
            (4, Some(("version", value)), Some(last)) => value.clone_into(&mut last.version),
            (4, Some(("status", value)), Some(last)) => last.active = value == "active",
            _ => {}
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_providers_is_read() {
        let text = "Providers:\n  adjunct\n    name: adjunct provider\n    version: 0.1.0\n    status: active\n  x\n    \
                    name: X\n";
        let list = parse_providers(text);
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].name.as_str(), list[0].version.as_str(), list[0].active), ("adjunct", "0.1.0", true));
        assert!(!list[1].active);
        assert!(parse_providers("").is_empty());
    }

    #[test]
    fn versions() {
        assert!(require_providers("OpenSSL 3.0.19 27 Jan 2026").is_ok());
        assert!(require_providers("OpenSSL 10.1.0").is_ok());
        assert_eq!(numbers("OpenSSL 3.5.9 29 Sep 2026"), (3, 5));
        assert!(require_providers("OpenSSL 1.1.1w  11 Sep 2023").is_err());
        assert!(require_providers("LibreSSL 3.8.2").is_err());
        assert_eq!(quoted_path("OPENSSLDIR: \"/usr/lib/ssl\""), Some("/usr/lib/ssl".into()));
    }
}
