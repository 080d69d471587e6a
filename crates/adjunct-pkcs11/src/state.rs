//! Operations saved into bytes and brought back (C_GetOperationState, C_SetOperationState): hashes, and HMACs made and checked.
//!
//! The bytes are encrypted and authenticated under keys of this process, so that no program can forge or read a state. The tag of the plain state is
//! also what its key stream is made of (a synthetic IV): no two states share one.

use crate::objects;
use crate::session::running::{Run, Running};
use crate::session::{Active, Field, Session};
use adjunct::ops::digest::sha256;
use adjunct::ops::random::random;
use adjunct_mechanisms::mechanism::{digest, mac};
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const TAG: usize = 32;
const BLOCK: usize = 64;

/// The keys of the states of a process.
pub struct Keys {
    tag: [u8; TAG],
    stream: [u8; TAG],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Makes random keys.
    pub fn new() -> Keys {
        let mut keys = Keys { tag: [0; TAG], stream: [0; TAG] };
        random(&mut keys.tag);
        random(&mut keys.stream);
        keys
    }

    /// HMAC-SHA-256 of a plain state.
    fn tag(&self, plain: &[u8]) -> [u8; TAG] {
        let pad = |with: u8| {
            let mut block = Zeroizing::new([with; BLOCK]);
            block.iter_mut().zip(self.tag).for_each(|(byte, key)| *byte ^= key);
            block
        };
        sha256(&[&*pad(0x5c), &sha256(&[&*pad(0x36), plain])])
    }

    /// Encrypts or decrypts in place.
    fn crypt(&self, tag: &[u8], state: &mut [u8]) {
        for (number, piece) in (0_u64..).zip(state.chunks_mut(TAG)) {
            let stream = Zeroizing::new(sha256(&[&self.stream, tag, &number.to_be_bytes()]));
            piece.iter_mut().zip(stream.iter()).for_each(|(byte, key)| *byte ^= key);
        }
    }

    fn seal(&self, mut plain: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
        let tag = self.tag(&plain);
        self.crypt(&tag, &mut plain);
        plain.extend_from_slice(&tag);
        plain
    }

    fn open(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let invalid = Rv(CKR_SAVED_STATE_INVALID);
        let (state, tag) = sealed.split_last_chunk::<TAG>().ok_or(invalid)?;
        let mut plain = adjunct::memory::zeros(state.len())?;
        plain.copy_from_slice(state);
        self.crypt(tag, &mut plain);
        ensure(bool::from(self.tag(&plain).ct_eq(tag)), CKR_SAVED_STATE_INVALID)?;
        Ok(plain)
    }
}

/// The kind of a saved operation.
const DIGEST: u8 = 1;
const SIGN: u8 = 2;
const VERIFY: u8 = 3;
/// Kind, mechanism, whether parts have come, length.
const HEAD: usize = 1 + NUMBER + 1 + 4;
const NUMBER: usize = size_of::<CK_MECHANISM_TYPE>();

/// Adds an operation, where one runs.
fn add<O: ?Sized>(
    session: &Session,
    kind: u8,
    field: Field<Run<O>>,
    all: &mut Zeroizing<Vec<u8>>,
    state: impl FnOnce(&O) -> Option<Zeroizing<Vec<u8>>>,
) -> Result {
    let Ok(running) = session.take(field) else { return Ok(()) };
    let saved = running.operation.as_deref().filter(|_| !running.pin.is_wanted()).and_then(state);
    let (mechanism, parts) = (running.mechanism, running.parts);
    session.put(field, running);
    let saved = saved.ok_or(Rv(CKR_STATE_UNSAVEABLE))?;
    let mut more = Zeroizing::new(Vec::new());
    more.try_reserve_exact(all.len() + HEAD + saved.len() + TAG)?;
    more.extend_from_slice(all);
    more.push(kind);
    more.extend_from_slice(&mechanism.to_ne_bytes());
    more.push(u8::from(parts));
    more.extend_from_slice(&(saved.len() as u32).to_be_bytes());
    more.extend_from_slice(&saved);
    *all = more;
    Ok(())
}

fn digests(active: &mut Active) -> &mut Option<Run<dyn adjunct_mechanisms::operation::Digester>> {
    &mut active.digest
}

fn signs(active: &mut Active) -> &mut Option<Run<dyn adjunct_mechanisms::operation::Signer>> {
    &mut active.sign
}

fn verifies(active: &mut Active) -> &mut Option<Run<dyn adjunct_mechanisms::operation::Verifier>> {
    &mut active.verify
}

/// C_GetOperationState.
///
/// # Errors
/// `CKR_OPERATION_NOT_INITIALIZED` where none runs; `CKR_STATE_UNSAVEABLE` where one runs that is not saved; `CKR_HOST_MEMORY`.
pub fn save(keys: &Keys, session: &Session) -> Result<Zeroizing<Vec<u8>>> {
    let ciphers = session.runs(|active| &mut active.encrypt) || session.runs(|active| &mut active.decrypt);
    ensure(!ciphers, CKR_STATE_UNSAVEABLE)?;
    let mut all = Zeroizing::new(Vec::new());
    add(session, DIGEST, digests, &mut all, |operation| operation.state())?;
    add(session, SIGN, signs, &mut all, |operation| operation.state())?;
    add(session, VERIFY, verifies, &mut all, |operation| operation.state())?;
    ensure(!all.is_empty(), CKR_OPERATION_NOT_INITIALIZED)?;
    Ok(keys.seal(all))
}

/// A saved operation.
struct Saved<'a> {
    kind: u8,
    mechanism: CK_MECHANISM_TYPE,
    parts: bool,
    state: &'a [u8],
}

/// Takes the next saved operation off the front.
fn next<'a>(rest: &mut &'a [u8]) -> Option<Saved<'a>> {
    let (head, more) = rest.split_first_chunk::<HEAD>()?;
    let (mechanism, parts, length) = (&head[1..=NUMBER], head[1 + NUMBER] != 0, head.last_chunk()?);
    let mechanism = CK_MECHANISM_TYPE::from_ne_bytes(mechanism.try_into().ok()?);
    let (state, more) = more.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = more;
    Some(Saved { kind: head[0], mechanism, parts, state })
}

/// C_SetOperationState: puts the saved operation in place of the running one, whole or not at all.
///
/// # Errors
/// `CKR_SAVED_STATE_INVALID`; `CKR_KEY_NEEDED`, `CKR_KEY_NOT_NEEDED`, `CKR_KEY_CHANGED`, and those of keys.
pub fn restore(
    keys: &Keys,
    session: &Session,
    sealed: &[u8],
    encryption: CK_OBJECT_HANDLE,
    authentication: CK_OBJECT_HANDLE,
) -> Result {
    let plain = keys.open(sealed)?;
    ensure(encryption == 0, CKR_KEY_NOT_NEEDED)?;
    let key = |usage, mechanism| {
        ensure(authentication != 0, CKR_KEY_NEEDED)?;
        objects::key(session, authentication, usage, mechanism)
    };
    let (mut rest, mut made) = (&plain[..], Active::default());
    let mut keyed = false;
    while let Some(Saved { kind, mechanism, parts, state }) = next(&mut rest) {
        match kind {
            DIGEST => made.digest = Some(Running::restored(mechanism, parts, digest::restore(mechanism, state)?)?),
            SIGN => {
                let signer = mac::restore_signer(mechanism, key(CKA_SIGN, mechanism)?, state)?;
                made.sign = Some(Running::restored(mechanism, parts, signer)?);
            }
            VERIFY => {
                let verifier = mac::restore_verifier(mechanism, key(CKA_VERIFY, mechanism)?, state)?;
                made.verify = Some(Running::restored(mechanism, parts, verifier)?);
            }
            _ => return fail(CKR_SAVED_STATE_INVALID),
        }
        keyed |= kind != DIGEST;
    }
    ensure(rest.is_empty(), CKR_SAVED_STATE_INVALID)?;
    ensure(keyed || authentication == 0, CKR_KEY_NOT_NEEDED)?;
    session.replace(made);
    Ok(())
}
