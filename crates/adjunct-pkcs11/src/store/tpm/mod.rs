//! A secret sealed by a TPM 2.0: without this machine's TPM, a copy of a token's file opens with no PIN, and cannot be tried.
//!
//! For each PIN there is a sealed secret of its own, whose authorization value is derived from the PIN: the TPM counts wrong ones
//! itself (its dictionary attack protection). The parent is the storage key that every TPM derives of the owner's seed by a template
//! (ECC P-256); nothing is left in the TPM, and clearing it makes the secret unreadable for good.
//!
//! The bus between processor and TPM may be listened to: what is secret travels encrypted (AES-128-CFB), under the key of a session that is salted
//! with the storage key, whose public half stands in the token's file, so that an attacker between processor and TPM cannot substitute another key.
//!
//! Why no library of the TCG's stack: it is C, loaded dynamically, with plug-ins that it looks for by name, and a module in foreign
//! processes should bring none of that. Six commands are needed.

mod wire;

use super::secret::{Secret, hmac};
use adjunct::InOut;
use adjunct::ops::cipher::once;
use adjunct::ops::digest::{Part, SHA256};
use adjunct::ops::ec::{Form, Key, MAX_FIELD, MAX_POINT};
use adjunct::ops::random::random;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subtle::ConstantTimeEq;
use wire::{In, Out};
use zeroize::Zeroizing;

/// The machine's TPM, of which the kernel manages what is loaded.
const DEVICE: &str = "/dev/tpmrm0";
/// The longest wait for a TPM on a socket, which is one in software.
const PATIENCE: Duration = Duration::from_secs(20);
/// The number of times that a command is repeated for which the TPM had no time.
const TRIES: u32 = 60;

/// Attributes of a session: it stays open after the command; the command's first parameter is encrypted; the response's first parameter is.
const CONTINUE: u8 = 0x01;
const DECRYPT: u8 = 0x20;
const ENCRYPT: u8 = 0x40;

/// Why a TPM did not do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The TPM cannot be spoken to.
    Absent(Errno),
    /// The TPM's return code.
    Refused(u32),
    /// The answer is none, or not by the TPM that the secret is sealed by.
    Nonsense,
    /// The TPM is not the one that sealed, or it was cleared.
    Other,
}

type Result<T> = std::result::Result<T, Fault>;

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Absent(errno) => write!(f, "the TPM cannot be opened: {}", super::trouble::words(*errno)),
            Fault::Refused(0x921) => f.write_str("the TPM takes no more tries for now (dictionary attack lockout)"),
            Fault::Refused(0x100) => f.write_str("the TPM has not been started"),
            Fault::Refused(code) => write!(f, "the TPM refuses: return code {code:#x}"),
            Fault::Nonsense => f.write_str("the TPM's answers make no sense"),
            Fault::Other => f.write_str("sealed by another TPM than this, or by this one before it was cleared"),
        }
    }
}

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
    /// The public and the private area of the sealed object.
    pub public: Vec<u8>,
    pub private: Vec<u8>,
}

/// A TPM: how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tpm {
    path: PathBuf,
}

impl Tpm {
    /// Makes the TPM of a path, a device or a socket; without a path the one that `ADJUNCT_TPM` names, else the machine's.
    pub fn new(path: Option<PathBuf>) -> Tpm {
        let named = || adjunct::environment::secure_env("ADJUNCT_TPM").map(PathBuf::from);
        Tpm { path: path.or_else(named).unwrap_or_else(|| DEVICE.into()) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Seals a secret. `auth` is wanted to get it back.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn seal(&self, auth: &Secret, secret: &Secret) -> Result<Sealed> {
        let connection = Connection::open(&self.path)?;
        let parent = connection.parent()?;
        let session = connection.session(&parent)?;
        let sensitive = Zeroizing::new(Out::default().sized(&authorization(auth)[..]).sized(&secret[..]).0);
        let mut parameters = Zeroizing::new(Out::default().sized(&sensitive).0);
        // Bound to this TPM and this parent; used with its authorization value; wrong ones are counted.
        let public = Out::default().u16(wire::KEYED_HASH).u16(wire::SHA256).u32(0x52).u16(0).u16(wire::NONE).u16(0).0;
        *parameters = Out(std::mem::take(&mut *parameters)).sized(&public).u16(0).u32(0).0;
        let (handle, name) = (parent.handle.number, parent.name);
        let done = session.run(wire::CREATE, (handle, &name), &[], DECRYPT, &mut parameters)?;
        let mut out = In(&done);
        let (private, public) = (out.sized()?.to_vec(), out.sized()?.to_vec());
        Ok(Sealed { parent: parent.point, public, private })
    }

    /// The secret; `None` where `auth` is wrong.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn unseal(&self, sealed: &Sealed, auth: &Secret) -> Result<Option<Secret>> {
        let connection = Connection::open(&self.path)?;
        let parent = connection.parent()?;
        if parent.point != sealed.parent {
            return Err(Fault::Other);
        }
        let parameters = Out::default().sized(&sealed.private).sized(&sealed.public).0;
        let command = wire::command(wire::LOAD, &[parent.handle.number], &no_password(), &parameters);
        let loaded = match connection.transact(&command) {
            Ok(loaded) => loaded,
            // Its integrity does not fit: of another seed.
            Err(Fault::Refused(code)) if code & 0xbf == 0x9f => return Err(Fault::Other),
            Err(fault) => return Err(fault),
        };
        let loaded = wire::response(&loaded, true)?;
        let item = Flushed { connection: &connection, number: loaded.handle.ok_or(Fault::Nonsense)? };
        let session = connection.session(&parent)?;
        let key = authorization(auth);
        let done = session.run(wire::UNSEAL, (item.number, &name(&sealed.public)), &key[..], ENCRYPT, &mut Vec::new());
        match done {
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

    /// Asks the TPM for its identity, the point of its storage key; so also whether it can be spoken to.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn identity(&self) -> Result<[u8; 64]> {
        Ok(Connection::open(&self.path)?.parent()?.point)
    }
}

/// A value as TPMs take it: they strip zeros behind.
fn authorization(auth: &Secret) -> Secret {
    let mut value = auth.clone();
    value[31] |= 1;
    value
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = [0; 32];
    let whole = Zeroizing::new(parts.concat());
    let mut sum = Part::new(&SHA256);
    sum.update(&whole);
    sum.finish(&mut digest);
    digest
}

/// The name of an object: what a command's HMAC says it is about.
fn name(public: &[u8]) -> Vec<u8> {
    [&wire::SHA256.to_be_bytes()[..], &sha256(&[public])].concat()
}

/// The key derivation of sessions (part 1, 11.4.10.2), of 256 bits.
fn kdfa(key: &[u8], label: &[u8], new: &[u8], old: &[u8]) -> Secret {
    hmac(key, &[&1_u32.to_be_bytes(), label, &[0], new, old, &256_u32.to_be_bytes()])
}

/// AES-128-CFB under the key of a parameter.
fn parameter(key: &[u8], new: &[u8], old: &[u8], encrypt: bool, text: &mut [u8]) -> Result<()> {
    let derived = kdfa(key, b"CFB", new, old);
    let mut iv = [0; 16];
    iv.copy_from_slice(&derived[16..]);
    once::cfb::<once::Aes, 16>(&derived[..16], &mut iv, encrypt, 16, InOut::in_place(text)).map_err(|_| Fault::Nonsense)
}

/// The session of an empty password.
fn no_password() -> Vec<u8> {
    Out::default().u32(wire::PASSWORD).u16(0).u8(0).u16(0).0
}

/// An open connection to a TPM.
#[derive(Debug)]
struct Connection {
    file: OwnedFd,
    socket: bool,
}

/// An object or session in the TPM, until this is dropped.
#[derive(Debug)]
struct Flushed<'a> {
    connection: &'a Connection,
    number: u32,
}

impl Drop for Flushed<'_> {
    fn drop(&mut self) {
        // What stays is the kernel's to take out when the device is closed.
        let command = wire::command(wire::FLUSH_CONTEXT, &[], &[], &self.number.to_be_bytes());
        let _ = self.connection.transact(&command);
    }
}

/// The storage key.
#[derive(Debug)]
struct Parent<'a> {
    handle: Flushed<'a>,
    name: Vec<u8>,
    point: [u8; 64],
}

/// A session that authorizes a command, and the key that its secrets are encrypted under.
struct Session<'a> {
    handle: Flushed<'a>,
    key: Secret,
    nonce: Vec<u8>,
}

impl Connection {
    fn open(path: &Path) -> Result<Connection> {
        let socket = FileType::from_raw_mode(rustix::fs::stat(path)?.st_mode) == FileType::Socket;
        if !socket {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
            return Ok(Connection { file: rustix::fs::open(path, flags, Mode::empty())?, socket });
        }
        let stream = std::os::unix::net::UnixStream::connect(path);
        let stream = stream.and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        let stream = stream.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(Connection { file: stream.into(), socket })
    }

    /// Gives a command; a response that tells of success.
    fn transact(&self, command: &[u8]) -> Result<Vec<u8>> {
        let mut tries = 0;
        loop {
            self.send(command)?;
            let answer = self.receive()?;
            match wire::response(&answer, false) {
                // TPM_RC_YIELDED, TESTING, RETRY, NV_RATE: later.
                Err(Fault::Refused(0x908 | 0x90a | 0x920 | 0x922)) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(Fault::Refused(code)) => return Err(Fault::Refused(code)),
                _ => return Ok(answer),
            }
        }
    }

    fn send(&self, mut command: &[u8]) -> Result<()> {
        while !command.is_empty() {
            let sent = if self.socket {
                // Without the signal for a peer that has gone.
                rustix::net::send(self.file.as_fd(), command, SendFlags::NOSIGNAL)
            } else {
                rustix::io::write(&self.file, command)
            };
            match sent {
                Ok(sent) => command = &command[sent..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn receive(&self) -> Result<Vec<u8>> {
        let mut room = Zeroizing::new([0; wire::LONGEST]);
        let mut got = 0;
        let wanted = |bytes: &[u8]| match bytes.get(2..6) {
            Some(length) => length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
            None => wire::HEAD,
        };
        while got < wanted(&room[..got]) {
            match rustix::io::read(&self.file, &mut room[got..]) {
                Ok(0) => return Err(Fault::Nonsense),
                Ok(more) => got += more,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(room[..got].to_vec())
    }

    /// Makes the storage key, the same each time.
    fn parent(&self) -> Result<Parent<'_>> {
        // fixedTPM, fixedParent, sensitiveDataOrigin, userWithAuth, noDA, restricted, decrypt.
        let public = Out::default().u16(wire::ECC).u16(wire::SHA256).u32(0x0003_0472).u16(0);
        let public = public.u16(wire::AES).u16(128).u16(wire::CFB).u16(wire::NONE).u16(wire::P256).u16(wire::NONE);
        let public = public.u16(0).u16(0).0;
        let parameters = Out::default().sized(&[0; 4]).sized(&public).u16(0).u32(0).0;
        let made = self.transact(&wire::command(wire::CREATE_PRIMARY, &[wire::OWNER], &no_password(), &parameters))?;
        let made = wire::response(&made, true)?;
        let handle = Flushed { connection: self, number: made.handle.ok_or(Fault::Nonsense)? };
        let public = In(made.parameters).sized()?;
        let mut point = [0; 64];
        for (part, to) in wire::point(public)?.into_iter().zip(point.chunks_exact_mut(32)) {
            to[32 - part.len()..].copy_from_slice(part);
        }
        Ok(Parent { handle, name: name(public), point })
    }

    /// Starts a session whose key only the TPM with this storage key knows.
    fn session(&self, parent: &Parent<'_>) -> Result<Session<'_>> {
        const GROUP: adjunct::ops::ec::Curve = adjunct::ops::ec::Curve::P256;
        let wrong = |_| Fault::Nonsense;
        let storage = Key::new(GROUP, Some(&[&[4][..], &parent.point].concat()), None).map_err(wrong)?;
        let (mut room, mut secret) = ([0; MAX_POINT], Zeroizing::new([0; MAX_FIELD]));
        let (ephemeral, shared) = loop {
            let pair = Key::generate(GROUP).map_err(wrong)?;
            let shared = Zeroizing::new(pair.shared_secret(&storage, &mut secret).map_err(wrong)?.to_vec());
            let point = pair.public(Form::Uncompressed, &mut room).ok_or(Fault::Nonsense)?[1..].to_vec();
            // TPMs differ in whether zeros before a number count.
            if point[0] != 0 && point[32] != 0 && shared[0] != 0 {
                break (point, shared);
            }
        };
        let salt = Zeroizing::new(sha256(&[
            &1_u32.to_be_bytes(),
            &shared,
            b"SECRET\0",
            &ephemeral[..32],
            &parent.point[..32],
        ]));
        let mut ours = [0; 32];
        random(&mut ours);
        let point = Out::default().sized(&ephemeral[..32]).sized(&ephemeral[32..]).0;
        let parameters = Out::default().sized(&ours).sized(&point).u8(0).u16(wire::AES).u16(128).u16(wire::CFB);
        let handles = [parent.handle.number, wire::NULL];
        let command = wire::command(wire::START_AUTH_SESSION, &handles, &[], &parameters.u16(wire::SHA256).0);
        let started = self.transact(&command)?;
        let started = wire::response(&started, true)?;
        let handle = Flushed { connection: self, number: started.handle.ok_or(Fault::Nonsense)? };
        let nonce = In(started.parameters).sized()?.to_vec();
        Ok(Session { handle, key: kdfa(&salt[..], b"ATH", &nonce, &ours), nonce })
    }
}

impl Session<'_> {
    /// Runs a command on an object, authorized with its value; the response's parameters. What is encrypted of command and response
    /// stands in `secret`.
    fn run(
        &self,
        code: u32,
        object: (u32, &[u8]),
        auth: &[u8],
        secret: u8,
        parameters: &mut [u8],
    ) -> Result<Zeroizing<Vec<u8>>> {
        let key = Zeroizing::new([&self.key[..], auth].concat());
        let mut ours = [0; 32];
        random(&mut ours);
        if secret & DECRYPT != 0 {
            let length = In(parameters).sized()?.len();
            parameter(&key, &ours, &self.nonce, true, &mut parameters[2..2 + length])?;
        }
        let attributes = CONTINUE | secret;
        let said = sha256(&[&code.to_be_bytes(), object.1, parameters]);
        let proof = hmac(&key, &[&said, &ours, &self.nonce, &[attributes]]);
        let session = Out::default().u32(self.handle.number).sized(&ours).u8(attributes).sized(&proof[..]).0;
        let answer = self.handle.connection.transact(&wire::command(code, &[object.0], &session, parameters))?;
        let answer = Zeroizing::new(answer);
        let response = wire::response(&answer, false)?;
        let (nonce, attributes, proof) = response.session.ok_or(Fault::Nonsense)?;
        let said = sha256(&[&0_u32.to_be_bytes(), &code.to_be_bytes(), response.parameters]);
        let expected = hmac(&key, &[&said, nonce, &ours, &[attributes]]);
        if !bool::from(expected[..].ct_eq(proof)) {
            return Err(Fault::Nonsense);
        }
        let mut parameters = Zeroizing::new(response.parameters.to_vec());
        if secret & ENCRYPT != 0 {
            let length = In(&parameters).sized()?.len();
            parameter(&key, nonce, &ours, false, &mut parameters[2..2 + length])?;
        }
        Ok(parameters)
    }
}

/// Takes bytes for a TPM's response. For fuzzing; it must never panic.
pub fn fuzz(bytes: &[u8]) {
    for handle in [false, true] {
        if let Ok(response) = wire::response(bytes, handle) {
            let mut rest = In(response.parameters);
            while rest.sized().is_ok_and(|part| !part.is_empty()) {}
            let _ = In(response.parameters).sized().and_then(|public| wire::point(public).map(drop));
        }
    }
    let _ = wire::point(bytes);
}

#[cfg(test)]
mod tests;
