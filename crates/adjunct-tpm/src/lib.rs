//! A secret sealed by a TPM 2.0, which no copy of a file opens elsewhere, and counters that only go up, by which a copy of an older file shows.
//!
//! A sealed secret has an authorization value: where that is derived of a PIN, the TPM counts wrong ones itself (its dictionary attack
//! protection). The parent is the storage key that every TPM derives of the owner's seed by a template
//! (ECC P-256); nothing is left in the TPM, and clearing it makes the secret unreadable for good. A counter stays in the TPM until it is removed.
//!
//! The bus between processor and TPM may be listened to: what is secret travels encrypted (AES-128-CFB), under the key of a session that is salted
//! with the storage key, whose public half stands with what was sealed, so that an attacker between processor and TPM cannot substitute another key.
//!
//! [`Tpm`] opens the device for each call, by its path; [`Connection`] is one that is open: a process that may open nothing is given it.
//! It reads and writes the descriptor (a socket's by `sendto`), and waits by `poll` where the TPM has no time.
//!
//! Why no library of the TCG's stack: it is C, loaded dynamically, with plug-ins that it looks for by name, and a module in foreign
//! processes should bring none of that. Eleven commands are needed.
#![forbid(unsafe_code)]

mod connection;
mod counter;
mod session;
mod wire;

pub use connection::Connection;
pub use counter::Counter;

use adjunct::ops::digest::SHA256;
use adjunct::ops::mac::hmac_within;
use rustix::io::Errno;
use session::authorization;
use std::path::{Path, PathBuf};
use wire::{In, Out};
use zeroize::Zeroizing;

/// The machine's TPM, of which the kernel manages what is loaded.
const DEVICE: &str = "/dev/tpmrm0";

/// A secret: what is sealed, or an authorization value.
pub type Secret = Zeroizing<[u8; 32]>;

/// Why a TPM did not do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The TPM cannot be spoken to.
    Absent(Errno),
    /// The TPM's return code.
    Refused(u32),
    /// The answer is none, or not by the TPM that the secret is sealed by.
    Nonsense,
    /// The TPM is not the one that sealed or counted, or it was cleared.
    Other,
}

type Result<T> = std::result::Result<T, Fault>;

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Absent(errno) => {
                let text = errno.to_string();
                let words = text.split(" (os error ").next().unwrap_or(&text);
                write!(f, "the TPM cannot be opened: {words}")
            }
            Fault::Refused(0x921) => f.write_str("the TPM takes no more tries for now (dictionary attack lockout)"),
            Fault::Refused(0x100) => f.write_str("the TPM has not been started"),
            Fault::Refused(code) => write!(f, "the TPM refuses: return code {code:#x}"),
            Fault::Nonsense => f.write_str("the TPM's answers make no sense"),
            Fault::Other => f.write_str("sealed by another TPM than this, or by this one before it was cleared"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Fault {
        Fault::Absent(errno)
    }
}

/// A secret that is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The storage key's point.
    pub parent: [u8; 64],
    /// The public area of the sealed object.
    pub public: Vec<u8>,
    /// The private area of the sealed object, which the TPM alone reads.
    pub private: Vec<u8>,
}

/// Whether the TPM counts wrong authorization values of a sealed secret, and gives it no more after too many, of whatever secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tries {
    /// It does: the value is derived of what people choose.
    Counted,
    /// It does not: the value cannot be guessed, or is none.
    Uncounted,
}

/// A TPM: how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tpm {
    path: PathBuf,
}

impl Tpm {
    /// Makes the TPM of a path, a device or a socket; without a path the one that `ADJUNCT_TPM` names, else the machine's.
    #[must_use]
    pub fn new(path: Option<PathBuf>) -> Tpm {
        let named = || adjunct::environment::secure_env("ADJUNCT_TPM").map(PathBuf::from);
        Tpm { path: path.or_else(named).unwrap_or_else(|| DEVICE.into()) }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`Fault::Absent`].
    pub fn connect(&self) -> Result<Connection> {
        Connection::open(&self.path)
    }

    /// Seals a secret, whose wrong authorization values are counted. `auth` is wanted to get it back.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn seal(&self, auth: &Secret, secret: &Secret) -> Result<Sealed> {
        self.connect()?.seal(auth, secret, Tries::Counted)
    }

    /// The secret; `None` where `auth` is wrong.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn unseal(&self, sealed: &Sealed, auth: &Secret) -> Result<Option<Secret>> {
        self.connect()?.unseal(sealed, auth)
    }

    /// Asks the TPM for its identity, the point of its storage key; so also whether it can be spoken to.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn identity(&self) -> Result<[u8; 64]> {
        self.connect()?.identity()
    }
}

impl Connection {
    /// Seals a secret. `auth` is wanted to get it back.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn seal(&self, auth: &Secret, secret: &Secret, tries: Tries) -> Result<Sealed> {
        let parent = self.parent()?;
        let session = self.session(&parent)?;
        let sensitive = Zeroizing::new(Out::default().sized(&authorization(auth)[..]).sized(&secret[..]).0);
        let mut parameters = Zeroizing::new(Out::default().sized(&sensitive).0);
        // Bound to this TPM and this parent; used with its authorization value; noDA where wrong ones are not counted.
        let attributes = if tries == Tries::Counted { 0x52 } else { 0x452 };
        let public = Out::default().u16(wire::KEYED_HASH).u16(wire::SHA256).u32(attributes);
        let public = public.u16(0).u16(wire::NONE).u16(0).0;
        *parameters = Out(std::mem::take(&mut *parameters)).sized(&public).u16(0).u32(0).0;
        let object = [(parent.handle.number, &parent.name[..])];
        let done = session.run(wire::CREATE, &object, &[], session::DECRYPT, &mut parameters)?;
        let mut out = In(&done);
        let (private, public) = (out.sized()?.to_vec(), out.sized()?.to_vec());
        Ok(Sealed { parent: parent.point, public, private })
    }

    /// The secret; `None` where `auth` is wrong.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn unseal(&self, sealed: &Sealed, auth: &Secret) -> Result<Option<Secret>> {
        let parent = self.parent()?;
        if parent.point != sealed.parent {
            return Err(Fault::Other);
        }
        let parameters = Out::default().sized(&sealed.private).sized(&sealed.public).0;
        let command = wire::command(wire::LOAD, &[parent.handle.number], &session::no_password(), &parameters);
        let loaded = match self.transact(&command) {
            Ok(loaded) => loaded,
            // Its integrity does not fit: of another seed.
            Err(Fault::Refused(code)) if code & 0xbf == 0x9f => return Err(Fault::Other),
            Err(fault) => return Err(fault),
        };
        let loaded = wire::response(&loaded, true)?;
        let item = self.flushed(loaded.handle.ok_or(Fault::Nonsense)?);
        let session = self.session(&parent)?;
        let key = authorization(auth);
        let object = [(item.number, &session::name(&sealed.public)[..])];
        match session.run(wire::UNSEAL, &object, &key[..], session::ENCRYPT, &mut []) {
            Ok(done) => {
                let secret = In(&done).sized()?;
                let mut out = Zeroizing::new([0; 32]);
                if secret.len() != out.len() {
                    return Err(Fault::Nonsense);
                }
                out.copy_from_slice(secret);
                Ok(Some(out))
            }
            // The authorization failed, counted by the TPM or not.
            Err(Fault::Refused(code)) if matches!(code & 0xbf, 0x8e | 0xa2) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Asks the TPM for its identity, the point of its storage key.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn identity(&self) -> Result<[u8; 64]> {
        Ok(self.parent()?.point)
    }
}

/// HMAC-SHA-256.
fn hmac(key: &[u8], parts: &[&[u8]]) -> Secret {
    let mut result = Zeroizing::new([0; 32]);
    // SHA-256 has an HMAC, so this is one.
    let _ = hmac_within(&SHA256, key, parts, &mut result[..]);
    result
}

/// Takes bytes for a TPM's response. For fuzzing; it must never panic.
pub fn fuzz(bytes: &[u8]) {
    for handle in [false, true] {
        if let Ok(response) = wire::response(bytes, handle) {
            let mut rest = In(response.parameters);
            while rest.sized().is_ok_and(|part| !part.is_empty()) {}
            let _ = In(response.parameters).sized().and_then(|public| wire::point(public).map(drop));
            let _ = In(response.parameters).sized().map(counter::is_counter);
        }
    }
    let _ = wire::point(bytes);
    counter::is_counter(bytes);
}

#[cfg(test)]
mod tests;
