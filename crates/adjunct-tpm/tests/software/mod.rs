//! A TPM in software (swtpm), where one is installed; its process ends with it. Included by tests of several crates.

#![allow(dead_code, reason = "each test program uses a part")]

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A TPM in software.
#[derive(Debug)]
pub struct Software {
    process: Child,
    folder: TempDir,
}

impl Software {
    /// Starts one; `None` where there is no swtpm.
    pub fn new() -> Option<Software> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut command = Command::new("swtpm");
        command.args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear"]);
        command.arg("--tpmstate").arg(format!("dir={}", folder.path().display()));
        command.arg("--server").arg(format!("type=unixio,path={}", path("tpm")));
        command.arg("--ctrl").arg(format!("type=unixio,path={}", path("control")));
        let Ok(process) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            println!("not tried: there is no swtpm");
            return None;
        };
        let software = Software { process, folder };
        while UnixStream::connect(software.socket()).is_err() {
            std::thread::yield_now();
        }
        Some(software)
    }

    /// Its socket, which takes one connection at a time.
    pub fn socket(&self) -> PathBuf {
        self.file("tpm")
    }

    /// A path beside its socket.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Software {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
