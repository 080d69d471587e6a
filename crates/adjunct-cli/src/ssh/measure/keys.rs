//! The keys of the measured connections: one of each type, made when it is first asked for.

use crate::Failure;
use crate::ssh::place::{HOST, Place};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

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
    /// The type of key that a signature algorithm of OpenSSH needs; RSA keys are `rsa_bits` long. `None` for certificates,
    /// keys on tokens and DSA, which no key of ours can stand for.
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

/// The keys, in the private folder.
#[derive(Debug, Default)]
pub struct Keys {
    made: BTreeSet<Type>,
}

impl Keys {
    /// The private host key and user key of a type. Those of one type are the same key: what they cost is the same, and
    /// making a long RSA key takes a second.
    ///
    /// # Errors
    /// [`Failure`] where the key cannot be made.
    pub fn get(&mut self, place: &Place, kind: Type) -> Result<PathBuf, Failure> {
        let path = place.path(&format!("key_{}", kind.name()));
        if !self.made.contains(&kind) {
            let (name, bits) = kind.words();
            place.keygen(&path, name, bits)?;
            self.made.insert(kind);
            self.publish(place)?;
        }
        Ok(path)
    }

    /// Writes `known_hosts` and the authorized keys: all there are.
    fn publish(&self, place: &Place) -> Result<(), Failure> {
        let (mut known, mut authorized) = (String::new(), String::new());
        for kind in &self.made {
            let path = place.path(&format!("key_{}.pub", kind.name()));
            let line = fs::read_to_string(&path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
            known += &format!("{HOST} {}\n", line.trim());
            authorized += &format!("{}\n", line.trim());
        }
        place.write("measure_known_hosts", &known)?;
        place.write("measure_authorized", &authorized)?;
        Ok(())
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
