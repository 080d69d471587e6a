//! Keys and certificates for ssh's tests, made once a program: RSA keys take seconds.

use crate::system::System;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Key types by the name of their file, with `ssh-keygen`'s words for them.
pub const KINDS: [(&str, &[&str]); 7] = [
    ("ed25519", &["-t", "ed25519"]),
    ("ecdsa256", &["-t", "ecdsa", "-b", "256"]),
    ("ecdsa384", &["-t", "ecdsa", "-b", "384"]),
    ("ecdsa521", &["-t", "ecdsa", "-b", "521"]),
    ("rsa2048", &["-t", "rsa", "-b", "2048"]),
    ("rsa3072", &["-t", "rsa", "-b", "3072"]),
    ("rsa4096", &["-t", "rsa", "-b", "4096"]),
];

/// A folder of keys; each with a host and a user certificate of an Ed25519 authority (`ca`).
#[derive(Debug)]
pub struct Keys {
    dir: PathBuf,
}

impl Keys {
    /// The keys of this program's tests, made at the first call with this machine's `ssh-keygen`; every version reads them.
    pub fn shared() -> &'static Keys {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        KEYS.get_or_init(|| {
            let dir = tempfile::Builder::new().prefix("adjunct-keys-").tempdir_in("/tmp").expect("a folder in /tmp");
            let dir = dir.keep();
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).expect("mode of the folder of keys");
            // SAFETY: a function that takes nothing and does not unwind.
            unsafe { libc::atexit(forget) };
            let keys = Keys { dir };
            keys.make(&System::here(), "ca", &["-t", "ed25519"]);
            for (name, words) in KINDS {
                keys.make(&System::here(), name, words);
                keys.certify("ca", name, "host", HOST);
                keys.certify("ca", name, "user", "root");
            }
            let lines = KINDS.iter().map(|(name, _)| format!("{HOST} {}", keys.public(name)));
            let known: String = lines.chain([format!("@cert-authority {HOST} {}", keys.public("ca"))]).collect();
            std::fs::write(keys.path("known_hosts"), known).expect("the known hosts are written");
            keys
        })
    }

    /// The private key `name`; the public one is beside it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The public key `name`, a line.
    pub fn public(&self, name: &str) -> String {
        let path = self.path(&format!("{name}.pub"));
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The certificate of key `name` as `host` or `user`.
    pub fn certificate(&self, name: &str, role: &str) -> PathBuf {
        self.path(&format!("{name}-{role}-cert.pub"))
    }

    /// Makes a key with a system's `ssh-keygen`; whether it could.
    pub fn make(&self, system: &System, name: &str, words: &[&str]) -> bool {
        keygen(system, &[words, &["-q", "-N", "", "-C", name, "-f", text(&self.path(name))]].concat())
    }

    /// Has the authority `ca` certify a key for `role` and a name.
    pub fn certify(&self, ca: &str, name: &str, role: &str, principal: &str) {
        let (ca, public) = (self.path(ca), self.path(&format!("{name}.pub")));
        let mut words = vec!["-q", "-s", text(&ca), "-I", name, "-n", principal, "-z", "7"];
        if role == "host" {
            words.push("-h");
        }
        words.push(text(&public));
        assert!(keygen(&System::here(), &words), "no certificate for {name}");
        let made = self.path(&format!("{name}-cert.pub"));
        std::fs::rename(made, self.certificate(name, role)).expect("the certificate is moved");
    }
}

/// The name the servers of the tests go by.
pub const HOST: &str = "adjunct-host";

/// Runs a system's `ssh-keygen`, without adjunct; whether it succeeded.
pub fn keygen(system: &System, words: &[&str]) -> bool {
    let mut command = Command::new(system.program("ssh-keygen"));
    let out = command.args(words).env("OPENSSL_CONF", "/dev/null").stdin(Stdio::null()).output();
    out.expect("ssh-keygen").status.success()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of ours")
}

/// A value in a static is never dropped: the folder goes at exit.
extern "C" fn forget() {
    let _ = std::fs::remove_dir_all(&Keys::shared().dir);
}
