//! A private place for a private OpenSSH: keys, configurations and logs in a folder of their own, gone when it is dropped.

use super::keys::Type;
use super::{Programs, Setup, config};
use adjunct_tool::Failure;
use adjunct_tool::failure::cannot_write;
use adjunct_tool::process::tree;
use adjunct_tool::scratch;
use nix::unistd::{User, geteuid};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The name the client knows the private server by, not by its port, which differs from run to run.
pub const HOST: &str = "adjunct-private";

/// A private folder with keys, and all that servers and clients with them write.
#[derive(Debug)]
pub struct Place {
    dir: scratch::Folder,
    /// The programs the keys are made with.
    pub programs: Programs,
    /// The account that logs in: that of the effective user.
    pub user: String,
    pub(super) made: Mutex<BTreeSet<Type>>,
    files: AtomicU32,
}

impl Drop for Place {
    fn drop(&mut self) {
        // What sessions have started and left behind: their shells and commands are orphans, and so this process's children,
        // once their sshd is gone.
        tree::end_marked(&format!("HOME={}", config::home(self.dir()).display()));
    }
}

impl Place {
    /// Makes the folder (mode 0700, in the folder for temporary files) and the first key.
    ///
    /// # Errors
    /// [`Failure`] where the folder or a key cannot be made, or the effective user has no account.
    pub fn new(programs: Programs) -> Result<Place, Failure> {
        scratch::room()?;
        let uid = geteuid();
        let user = User::from_uid(uid)
            .ok()
            .flatten()
            .ok_or_else(|| Failure::new(format!("user {uid} has no account: sshd cannot log it in")))?;
        let dir = scratch::folder()?;
        let place = Place { dir, programs, user: user.name, made: Mutex::default(), files: AtomicU32::new(0) };
        place.key(Type::Ed25519)?;
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

    /// ssh, ready to run against the server at `port`, without input; the remote command is the caller's to add. It offers the
    /// Ed25519 key unless `setup` names another.
    ///
    /// # Errors
    /// [`Failure`] where its configuration cannot be written.
    pub fn client(&self, port: u16, setup: &Setup) -> Result<Command, Failure> {
        let config = self.write(&self.numbered("ssh_config"), &self.client_config(port, setup)?)?;
        let mut command = self.ssh(&config);
        for_client(&mut command, setup);
        Ok(command)
    }

    /// ssh with this configuration, to the private server.
    pub(in crate::ssh) fn ssh(&self, config: &Path) -> Command {
        let mut command = Command::new(&self.programs.ssh);
        command.arg("-F").arg(config).arg("-T").arg(HOST);
        command
    }

    pub(super) fn client_config(&self, port: u16, setup: &Setup) -> Result<String, Failure> {
        let key = self.unless(setup, "IdentityFile")?;
        Ok(config::client(self, port, setup, &key))
    }

    /// The line that gives the Ed25519 key to this option, where no line of the caller's gives one.
    pub(super) fn unless(&self, setup: &Setup, option: &str) -> Result<String, Failure> {
        if setup.sets(option) {
            return Ok(String::new());
        }
        Ok(format!("{option} {}\n", self.key(Type::Ed25519)?.display()))
    }

    /// The files of one process, with its configuration written.
    pub(super) fn files(&self, program: &str, config: &str) -> Result<Files, Failure> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = |what: &str| self.path(&format!("{program}_{what}.{number}"));
        let files = Files { config: path("config"), log: path("log") };
        fs::write(&files.config, config).map_err(|e| cannot_write(&files.config, &e))?;
        Ok(files)
    }

    fn numbered(&self, name: &str) -> String {
        format!("{name}.{}", self.files.fetch_add(1, Ordering::Relaxed))
    }
}

/// Settings for every client: no agent, no input.
pub(super) fn for_client(command: &mut Command, setup: &Setup) {
    setup.environment.apply(command);
    command.env_remove("SSH_AUTH_SOCK").stdin(Stdio::null());
}

/// The configuration and the log of one process; removed when this is dropped.
#[derive(Debug)]
pub(super) struct Files {
    pub config: PathBuf,
    log: PathBuf,
}

impl Files {
    /// The log, empty.
    pub fn new_log(&self) -> Result<File, Failure> {
        File::create(&self.log).map_err(|e| cannot_write(&self.log, &e))
    }

    /// The contents of the log.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for file in [&self.config, &self.log] {
            let _ = fs::remove_file(file);
        }
    }
}
