//! Sessions: what authorizes commands, under a key that only the TPM with the storage key knows.

use crate::connection::{Connection, Flushed};
use crate::wire::{self, In, Out};
use crate::{Fault, Result, Secret, hmac};
use adjunct::InOut;
use adjunct::ops::cipher::once;
use adjunct::ops::digest::sha256;
use adjunct::ops::ec::{Curve, EcKey, Form, MAX_FIELD, MAX_POINT};
use adjunct::ops::random::random;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Attributes of a session: it stays open after the command; the command's first parameter is encrypted; the response's first parameter is.
const CONTINUE: u8 = 0x01;
pub(crate) const DECRYPT: u8 = 0x20;
pub(crate) const ENCRYPT: u8 = 0x40;

/// A value as TPMs take it: they strip zeros behind.
pub(crate) fn authorization(auth: &Secret) -> Secret {
    let mut value = auth.clone();
    value[31] |= 1;
    value
}

/// The name of an object: what a command's HMAC says it is about.
pub(crate) fn name(public: &[u8]) -> Vec<u8> {
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
pub(crate) fn no_password() -> Vec<u8> {
    Out::default().u32(wire::PASSWORD).u16(0).u8(0).u16(0).0
}

/// The storage key.
#[derive(Debug)]
pub(crate) struct Parent<'a> {
    pub handle: Flushed<'a>,
    pub name: Vec<u8>,
    pub point: [u8; 64],
}

/// A session that authorizes a command, and the key that its secrets are encrypted under.
pub(crate) struct Session<'a> {
    handle: Flushed<'a>,
    key: Secret,
    nonce: Vec<u8>,
}

impl Connection {
    /// Makes the storage key, the same each time.
    pub(crate) fn parent(&self) -> Result<Parent<'_>> {
        // fixedTPM, fixedParent, sensitiveDataOrigin, userWithAuth, noDA, restricted, decrypt.
        let public = Out::default().u16(wire::ECC).u16(wire::SHA256).u32(0x0003_0472).u16(0);
        let public = public.u16(wire::AES).u16(128).u16(wire::CFB).u16(wire::NONE).u16(wire::P256).u16(wire::NONE);
        let public = public.u16(0).u16(0).0;
        let parameters = Out::default().sized(&[0; 4]).sized(&public).u16(0).u32(0).0;
        let made = self.transact(&wire::command(wire::CREATE_PRIMARY, &[wire::OWNER], &no_password(), &parameters))?;
        let made = wire::response(&made, true)?;
        let handle = self.flushed(made.handle.ok_or(Fault::Nonsense)?);
        let public = In(made.parameters).sized()?;
        let mut point = [0; 64];
        for (part, to) in wire::point(public)?.into_iter().zip(point.chunks_exact_mut(32)) {
            to[32 - part.len()..].copy_from_slice(part);
        }
        Ok(Parent { handle, name: name(public), point })
    }

    /// Starts a session whose key only the TPM with this storage key knows.
    pub(crate) fn session(&self, parent: &Parent<'_>) -> Result<Session<'_>> {
        const GROUP: Curve = Curve::P256;
        let wrong = |_| Fault::Nonsense;
        let storage = EcKey::new(GROUP, Some(&[&[4][..], &parent.point].concat()), None).map_err(wrong)?;
        let (mut room, mut secret) = ([0; MAX_POINT], Zeroizing::new([0; MAX_FIELD]));
        let (ephemeral, shared) = loop {
            let pair = EcKey::generate(GROUP).map_err(wrong)?;
            let shared = Zeroizing::new(pair.shared_secret(&storage, &mut secret).map_err(wrong)?.to_vec());
            let point = pair.public(Form::Uncompressed, &mut room).ok_or(Fault::Nonsense)?[1..].to_vec();
            // TPMs differ in whether zeros before a number count.
            if point[0] != 0 && point[32] != 0 && shared[0] != 0 {
                break (point, shared);
            }
        };
        let points = (&ephemeral[..32], &parent.point[..32]);
        let salt = Zeroizing::new(sha256(&[&1_u32.to_be_bytes(), &shared, b"SECRET\0", points.0, points.1]));
        let mut ours = [0; 32];
        random(&mut ours);
        let point = Out::default().sized(&ephemeral[..32]).sized(&ephemeral[32..]).0;
        let parameters = Out::default().sized(&ours).sized(&point).u8(0).u16(wire::AES).u16(128).u16(wire::CFB);
        let handles = [parent.handle.number, wire::NULL];
        let command = wire::command(wire::START_AUTH_SESSION, &handles, &[], &parameters.u16(wire::SHA256).0);
        let started = self.transact(&command)?;
        let started = wire::response(&started, true)?;
        let handle = self.flushed(started.handle.ok_or(Fault::Nonsense)?);
        let nonce = In(started.parameters).sized()?.to_vec();
        Ok(Session { handle, key: kdfa(&salt[..], b"ATH", &nonce, &ours), nonce })
    }
}

impl Session<'_> {
    /// Runs a command on objects (number and name), authorized with the value of the first; the response's parameters. What is encrypted of command and
    /// response stands in `secret`.
    pub(crate) fn run(
        &self,
        code: u32,
        objects: &[(u32, &[u8])],
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
        let names = objects.iter().flat_map(|(_, name)| name.iter().copied()).collect::<Vec<u8>>();
        let said = sha256(&[&code.to_be_bytes(), &names, parameters]);
        let proof = hmac(&key, &[&said, &ours, &self.nonce, &[attributes]]);
        let session = Out::default().u32(self.handle.number).sized(&ours).u8(attributes).sized(&proof[..]).0;
        let handles: Vec<u32> = objects.iter().map(|(number, _)| *number).collect();
        let answer = self.handle.connection.transact(&wire::command(code, &handles, &session, parameters))?;
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
