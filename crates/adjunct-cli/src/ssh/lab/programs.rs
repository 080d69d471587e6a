//! The programs of OpenSSH.

use adjunct_tool::Failure;
use adjunct_tool::process::run;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The OpenSSH programs to use.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The client.
    pub ssh: PathBuf,
    /// The server; an absolute path, because sshd executes itself again.
    pub sshd: PathBuf,
    /// Makes the keys.
    pub keygen: PathBuf,
}

impl Programs {
    /// Finds the programs in `PATH` and the system's folders, or takes those given.
    ///
    /// # Errors
    /// [`Failure`] that names the program missing and the package that has it.
    pub fn find(ssh: Option<&Path>, sshd: Option<&Path>) -> Result<Programs, Failure> {
        let ssh = locate("ssh", ssh, "openssh-client")?;
        let keygen = beside(&ssh, "ssh-keygen")?;
        Ok(Programs { sshd: locate("sshd", sshd, "openssh-server")?, ssh, keygen })
    }

    /// scp.
    ///
    /// # Errors
    /// [`Failure`] where there is none.
    pub fn scp(&self) -> Result<PathBuf, Failure> {
        beside(&self.ssh, "scp")
    }

    /// What the client calls its own version and OpenSSL's: `("OpenSSH_9.2p1 ...", "OpenSSL 3.0.19 ...")`.
    ///
    /// # Errors
    /// [`Failure`] where the client does not run.
    pub fn versions(&self) -> Result<(String, String), Failure> {
        let output = run(Command::new(&self.ssh).arg("-V")).map_err(Failure::new)?;
        let text = output.stderr.trim().to_owned();
        Ok(match text.split_once(", ") {
            Some((ssh, openssl)) => (ssh.to_owned(), openssl.to_owned()),
            None => (text, "unknown".to_owned()),
        })
    }

    /// The names the client knows for `query`: `cipher`, `mac`, `kex`.
    ///
    /// # Errors
    /// [`Failure`] where the client does not run.
    pub fn known(&self, query: &str) -> Result<Vec<String>, Failure> {
        let output = run(Command::new(&self.ssh).args(["-Q", query])).map_err(Failure::new)?;
        Ok(output.text().lines().map(str::to_owned).collect())
    }
}

/// Finds another program of the client: beside `ssh`, else as [`locate`] finds it.
fn beside(ssh: &Path, name: &str) -> Result<PathBuf, Failure> {
    let beside = ssh.with_file_name(name);
    if beside.is_file() { Ok(beside) } else { locate(name, None, "openssh-client") }
}

/// Finds a program: the one given, or by its name in `PATH` and the system's folders.
pub fn locate(name: &str, given: Option<&Path>, package: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        let found = fs::canonicalize(path).ok().filter(|p| p.is_file());
        return found.ok_or_else(|| Failure::new(format!("{}: no such program", path.display())));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"];
    std::env::split_paths(&path)
        .chain(system.iter().map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|p| p.is_absolute() && p.is_file())
        .ok_or_else(|| Failure::new(format!("no {name} found; install it: apt-get install {package}")))
}
