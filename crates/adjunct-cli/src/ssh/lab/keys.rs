//! The keys of a private OpenSSH: one of each type, made when it is first asked for.

use super::{HOST, Place};
use adjunct_tool::Failure;
use adjunct_tool::process::{last_line, run_within};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::PoisonError;
use std::time::Duration;

/// A type of key, with its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Type {
    /// Ed25519.
    Ed25519,
    /// ECDSA on a curve of this many bits.
    Ecdsa(u32),
    /// RSA of this many bits.
    Rsa(u32),
}

impl Type {
    /// The type of key that a signature algorithm of OpenSSH needs; RSA keys are `rsa_bits` long. `None` for certificates, keys on tokens and DSA,
    /// for which the tests make no key.
    pub fn of(algorithm: &str, rsa_bits: u32) -> Option<Type> {
        match algorithm {
            "ssh-ed25519" => Some(Type::Ed25519),
            "ecdsa-sha2-nistp256" => Some(Type::Ecdsa(256)),
            "ecdsa-sha2-nistp384" => Some(Type::Ecdsa(384)),
            "ecdsa-sha2-nistp521" => Some(Type::Ecdsa(521)),
            "ssh-rsa" | "rsa-sha2-256" | "rsa-sha2-512" => Some(Type::Rsa(rsa_bits)),
            _ => None,
        }
    }

    fn words(self) -> (&'static str, u32) {
        match self {
            Type::Ed25519 => ("ed25519", 256),
            Type::Ecdsa(bits) => ("ecdsa", bits),
            Type::Rsa(bits) => ("rsa", bits),
        }
    }

    /// `ed25519`, `ecdsa-384`, `rsa-3072`.
    pub fn name(self) -> String {
        let (name, bits) = self.words();
        if self == Type::Ed25519 { name.to_owned() } else { format!("{name}-{bits}") }
    }
}

impl Place {
    /// The private key of a type, one for hosts and users alike: both cost the same, and making a long RSA key takes a second. The client knows it as
    /// the server's, and sshd lets its owner in.
    ///
    /// # Errors
    /// [`Failure`] where the key cannot be made.
    pub fn key(&self, kind: Type) -> Result<PathBuf, Failure> {
        let path = self.path(&format!("key_{}", kind.name()));
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains(&kind) {
            let (name, bits) = kind.words();
            self.keygen(&path, name, bits)?;
            made.insert(kind);
            self.publish(&made)?;
        }
        Ok(path)
    }

    /// The private key for a signature algorithm.
    ///
    /// # Errors
    /// [`Failure`] where no key of ours can stand for it (certificates, tokens), or none can be made.
    pub fn key_for(&self, algorithm: &str, rsa_bits: u32) -> Result<PathBuf, Failure> {
        let kind = Type::of(algorithm, rsa_bits);
        self.key(kind.ok_or_else(|| Failure::new(format!("no key can be made for '{algorithm}'")))?)
    }

    /// Writes the host keys that are known and the authorized keys: all there are.
    fn publish(&self, made: &BTreeSet<Type>) -> Result<(), Failure> {
        let (mut known, mut authorized) = (String::new(), String::new());
        for kind in made {
            let path = self.path(&format!("key_{}.pub", kind.name()));
            let line = fs::read_to_string(&path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
            known += &format!("{HOST} {}\n", line.trim());
            authorized += &format!("{}\n", line.trim());
        }
        self.write("known_hosts", &known)?;
        self.write("authorized_keys", &authorized)?;
        Ok(())
    }

    /// The keys whose owners sshd lets in.
    pub fn authorized_keys(&self) -> PathBuf {
        self.path("authorized_keys")
    }

    /// Makes a key pair without a passphrase at `path` (and `path`.pub); gives its public part.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_algorithms() {
        assert_eq!(Type::of("rsa-sha2-512", 4096), Some(Type::Rsa(4096)));
        assert_eq!(Type::of("ecdsa-sha2-nistp521", 0).map(Type::name).as_deref(), Some("ecdsa-521"));
        assert_eq!(Type::of("ssh-ed25519", 0).map(Type::name).as_deref(), Some("ed25519"));
        for none in ["ssh-dss", "ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", ""] {
            assert_eq!(Type::of(none, 3072), None);
        }
    }
}
