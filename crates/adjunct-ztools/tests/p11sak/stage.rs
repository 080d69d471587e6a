//! A token, and the programs that are run on it.

use super::copy::copy;
use super::own_pkcs11::own_pkcs11;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub const ZTOOLS: &str = env!("CARGO_BIN_EXE_adjunct-ztools");
const SOFTHSM: &str = "/usr/lib/softhsm/libsofthsm2.so";

/// A token that is ready, its PIN 2468, and the program.
pub struct Stage {
    dir: TempDir,
    pub slot: String,
    library: Option<&'static str>,
}

impl Stage {
    pub fn ours() -> Option<Stage> {
        let module = own_pkcs11()?;
        let dir = tempfile::tempdir().unwrap();
        for name in ["p11sak", "pkcsconf"] {
            copy(ZTOOLS, &dir.path().join(name));
        }
        copy(module, &dir.path().join("adjunct-pkcs11.so"));
        let stage = Stage { dir, slot: "3".to_owned(), library: None };
        stage.prepare();
        Some(stage)
    }

    pub fn softhsm() -> Option<Stage> {
        if !Path::new(SOFTHSM).exists() {
            eprintln!("SKIPPED: SoftHSM is not installed");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        for name in ["p11sak", "pkcsconf"] {
            copy(ZTOOLS, &dir.path().join(name));
        }
        let tokens = dir.path().join("tokens");
        std::fs::create_dir(&tokens).unwrap();
        let conf = format!("directories.tokendir = {}\nobjectstore.backend = file\n", tokens.display());
        std::fs::write(dir.path().join("softhsm2.conf"), conf).unwrap();
        let mut stage = Stage { dir, slot: "0".to_owned(), library: Some(SOFTHSM) };
        stage.prepare();
        stage.slot = stage.made();
        Some(stage)
    }

    /// The slot of SoftHSM's token: it has another number from the next start on, and is listed before the slot that is left for the next.
    fn made(&self) -> String {
        let slots = self.run("pkcsconf", &["-l"], "").1;
        slots.lines().next().unwrap().split(':').next().unwrap().to_owned()
    }

    fn prepare(&self) {
        assert_eq!(self.run("pkcsconf", &["-I", "-c", &self.slot], "13579\ntest\n").0, 0);
        let slot = if self.library.is_some() { self.made() } else { self.slot.clone() };
        assert_eq!(self.run("pkcsconf", &["-u", "-c", &slot], "13579\n2468\n2468\n").0, 0);
    }

    /// A program with the token's surroundings.
    pub fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.dir.path().join(name));
        command.arg0(name).args(args).env("ADJUNCT_STATS", "off").env("XDG_DATA_HOME", self.dir.path());
        command.env("PKCS11_USER_PIN", "2468").env("SOFTHSM2_CONF", self.dir.path().join("softhsm2.conf"));
        match self.library {
            Some(library) => command.env("PKCSLIB", library),
            None => command.env_remove("PKCSLIB"),
        };
        command
    }

    pub fn run(&self, name: &str, args: &[&str], input: &str) -> (i32, String, String) {
        let mut command = self.command(name, args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Runs a command that has to succeed; what it prints.
    pub fn sak(&self, args: &[&str]) -> String {
        let args: Vec<&str> = args.iter().copied().chain(["-s", &self.slot]).collect();
        let (status, out, err) = self.run("p11sak", &args, "");
        assert!(status == 0 && err.is_empty(), "{args:?}: {status} {out} {err}");
        out
    }

    pub fn file(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a command that has to fail; its status, and what it prints on standard error.
    pub fn fails(&self, args: &[&str]) -> (i32, String) {
        let args: Vec<&str> = args.iter().copied().chain(["-s", &self.slot]).collect();
        let (status, out, err) = self.run("p11sak", &args, "");
        assert_ne!(status, 0, "{args:?}: {out}");
        (status, err)
    }
}

/// Whether an `openssl` command succeeds.
pub fn openssl(args: &[&str]) -> bool {
    Command::new("openssl").args(args).stderr(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// The public key of a private key in a file, as PEM.
pub fn public_of(key: &str) -> Vec<u8> {
    let output = Command::new("openssl").args(["pkey", "-in", key, "-pubout"]).output().unwrap();
    assert!(output.status.success(), "{key}");
    output.stdout
}
