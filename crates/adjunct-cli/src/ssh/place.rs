//! A private place for a private OpenSSH: keys, configurations and logs in a folder of their own, gone when it is dropped.

use crate::Failure;
use crate::failure::cause;
use crate::openssl::programs::{run, run_within};
use nix::unistd::{User, geteuid};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

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
        let beside = ssh.with_file_name("ssh-keygen");
        let keygen = if beside.is_file() { beside } else { locate("ssh-keygen", None, "openssh-client")? };
        Ok(Programs { sshd: locate("sshd", sshd, "openssh-server")?, ssh, keygen })
    }

    /// What the client calls its own version and OpenSSL's: `("OpenSSH_9.2p1 ...", "OpenSSL 3.0.19 ...")`.
    ///
    /// # Errors
    /// [`Failure`] where the client does not run.
    pub fn versions(&self) -> Result<(String, String), Failure> {
        let output = run(Command::new(&self.ssh).arg("-V").stdin(Stdio::null())).map_err(Failure::new)?;
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
        let output = run(Command::new(&self.ssh).args(["-Q", query]).stdin(Stdio::null())).map_err(Failure::new)?;
        Ok(output.text().lines().map(str::to_owned).collect())
    }
}

/// Finds a program: the one given, or by its name in `PATH` and the system's folders.
pub(super) fn locate(name: &str, given: Option<&Path>, package: &str) -> Result<PathBuf, Failure> {
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

/// A private folder with a host key, a user key and the client's configuration.
#[derive(Debug)]
pub struct Place {
    dir: TempDir,
    /// The programs the keys were made with.
    pub programs: Programs,
    /// The account that logs in: that of the effective user.
    pub user: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        super::session::end_left_behind(self.dir.path());
    }
}

impl Place {
    /// Makes the folder (mode 0700, in the folder for temporary files) and the keys.
    ///
    /// # Errors
    /// [`Failure`] where the folder or a key cannot be made, or the effective user has no account.
    pub fn new(programs: Programs) -> Result<Place, Failure> {
        room()?;
        let uid = geteuid();
        let user = User::from_uid(uid)
            .ok()
            .flatten()
            .ok_or_else(|| Failure::new(format!("user {uid} has no account: sshd cannot log it in")))?;
        let dir = tempfile::Builder::new()
            .prefix("adjunct-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|e| no_room(&e))?;
        let place = Place { dir, programs, user: user.name };
        let host = place.key("host_key")?;
        place.key("user_key")?;
        // The client knows the server by a name, not by its port, which differs from run to run.
        place.write("known_hosts", &format!("{HOST} {host}\n"))?;
        Ok(place)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file in the folder.
    ///
    /// # Errors
    /// [`Failure`] with the path and the cause.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|e| cannot_write(&path, &e))?;
        Ok(path)
    }

    /// The client, ready to run against the private server at `port`; the remote command is the caller's to add.
    /// `options` are lines of `ssh_config`; they win over those written here.
    ///
    /// # Errors
    /// [`Failure`] where its configuration cannot be written.
    pub fn client(&self, port: u16, options: &[String], openssl_conf: &Path) -> Result<Command, Failure> {
        let dir = self.dir().display();
        // ssh takes the first value it reads: the caller's win.
        let config = format!(
            "Host {HOST}\n{}\nHostName 127.0.0.1\nHostKeyAlias {HOST}\nPort {port}\nUser {}\n\
             IdentityFile {dir}/user_key\nIdentitiesOnly yes\nIdentityAgent none\n\
             UserKnownHostsFile {dir}/known_hosts\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n\
             CheckHostIP no\nUpdateHostKeys no\nBatchMode yes\nPreferredAuthentications publickey\n\
             ControlMaster no\nControlPath none\nCompression no\nForwardAgent no\nForwardX11 no\nConnectTimeout 20\n",
            options.join("\n"),
            self.user
        );
        let config = self.write("ssh_config", &config)?;
        let mut command = Command::new(&self.programs.ssh);
        command.arg("-F").arg(config).arg("-T").arg(HOST);
        command.env("OPENSSL_CONF", openssl_conf).env_remove("SSH_AUTH_SOCK").stdin(Stdio::null());
        Ok(command)
    }

    /// Makes a key pair without a passphrase at `path` (and `path`.pub); its public part.
    ///
    /// # Errors
    /// [`Failure`] with ssh-keygen's own words.
    pub fn keygen(&self, path: &Path, kind: &str, bits: u32) -> Result<String, Failure> {
        /// A long RSA key takes minutes on a busy machine.
        const LIMIT: Duration = Duration::from_secs(900);
        let mut command = Command::new(&self.programs.keygen);
        command.args(["-q", "-t", kind, "-b", &bits.to_string(), "-N", "", "-C", "adjunct-private", "-f"]);
        let output = run_within(LIMIT, command.arg(path).stdin(Stdio::null())).map_err(Failure::new)?;
        match fs::read_to_string(path.with_extension("pub")) {
            Ok(text) if output.success => Ok(text.trim().to_owned()),
            _ => {
                let (keygen, said) = (self.programs.keygen.display(), last_line(&output.stderr));
                Err(Failure::new(format!("{keygen}: no key made: {said}")))
            }
        }
    }

    fn key(&self, name: &str) -> Result<String, Failure> {
        self.keygen(&self.path(name), "ed25519", 256)
    }
}

/// The name the client knows the private server by.
pub const HOST: &str = "adjunct-private";

/// Sees to it that the folder for temporary files takes what a session needs: keys, logs, data. Programs that find it full
/// say anything, or nothing.
///
/// # Errors
/// [`Failure`] that names the folder.
pub fn room() -> Result<(), Failure> {
    /// More than twice what a login check writes.
    const NEEDED: usize = 2 << 20;
    let written = tempfile::Builder::new().prefix("adjunct-").tempfile().and_then(|mut file| {
        // Written, not only set aside: some file systems promise more than they have.
        file.write_all(&vec![0x5a; NEEDED])?;
        file.as_file().sync_data()
    });
    written.map_err(|e| no_room(&e))
}

fn no_room(error: &std::io::Error) -> Failure {
    let folder = std::env::temp_dir();
    let folder = folder.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::new(format!(
            "{folder}: the folder for temporary files is full, or nearly (2 MiB are needed); make room, or name another by TMPDIR"
        )),
        _ => Failure::new(format!("{folder}: {}; the folder for temporary files can be named by TMPDIR", cause(error))),
    }
}

/// The failure of a write, in words; a full disk is named as such.
pub fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let what = if error.kind() == ErrorKind::StorageFull { "the disk is full" } else { &error.to_string() };
    Failure::new(format!("{}: {what}", path.display()))
}

/// The last line of what a program said, without blanks around it.
pub fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|l| !l.is_empty()).unwrap_or("it gave no reason")
}
