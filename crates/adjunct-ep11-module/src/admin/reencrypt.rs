//! Blobs, MACed public keys and states under the committed next wrapping key, of the same length; and keys that are marked as trusted.
//!
//! Both forms of a blob are taken, that of the card and that of programs on little-endian machines, and the answer has the form of the question: what a program
//! puts into a command is nobody's to turn around on the way.

use super::Command;
use super::reason::{Done, Reason, Refused, refuse};
use crate::blob;
use crate::context::Bytes;
use crate::error::{Result, Rv};
use crate::keys::{Purpose, WrappingKey};
use crate::spki;
use adjunct_ep11_wire::codes::{flag, key as k, rv};
use adjunct_ep11_wire::{blob as wire, spki as public};

/// What a program has a key or state in.
enum Given {
    /// As the card has it.
    Own,
    /// As programs on little-endian machines have it.
    Swapped,
}

/// The bytes as the card has them.
fn given(payload: &[u8]) -> (Given, Bytes) {
    let mut bytes = Bytes::new(payload.to_vec());
    if wire::is_swapped(payload) {
        wire::swap(&mut bytes);
        return (Given::Swapped, bytes);
    }
    if public::Maced::parse(payload).is_some_and(|maced| maced.is_swapped()) {
        public::swap(&mut bytes);
        return (Given::Swapped, bytes);
    }
    (Given::Own, bytes)
}

fn answer(given: &Given, mut bytes: Bytes) -> Bytes {
    match given {
        Given::Own => {}
        Given::Swapped if wire::is_blob(&bytes) => wire::swap(&mut bytes),
        Given::Swapped => {
            public::swap(&mut bytes);
        }
    }
    bytes
}

/// Why a blob is refused: the return value says it, the reason is the same.
fn refused(error: Rv) -> Refused {
    Refused { rv: error.0, reason: Reason::Blob as u32 }
}

/// What is under one wrapping key, under another.
fn turned(from: &WrappingKey, to: &WrappingKey, bytes: &[u8]) -> Result<Bytes> {
    if spki::split(bytes).is_some() {
        let key = spki::open(Some(from), bytes)?;
        return spki::seal(to, &key.head, &key.material.value);
    }
    match blob::reseal(from, to, Purpose::Key, bytes) {
        Err(Rv(rv::IBM_BLOB_ERROR)) => blob::reseal(from, to, Purpose::State, bytes),
        result => result,
    }
}

/// XCP_ADM_REENCRYPT.
pub(super) fn reencrypt(command: &Command<'_>) -> Done<Bytes> {
    let context = command.context;
    if command.block.head.domain != u32::from(context.number) {
        return refuse(Reason::DomainRange);
    }
    let (form, bytes) = given(command.block.payload);
    let to = context.domain.next.as_ref().filter(|_| context.domain.committed).ok_or(Reason::NotCommitted)?;
    let from = if spki::split(&bytes).is_some() {
        spki::key_of(context, &bytes).and_then(|with| with.ok_or(Rv(rv::IBM_BLOB_ERROR)))
    } else {
        blob::key_of(&context.domain, &bytes)
    };
    let turned = from.and_then(|from| turned(from, to, &bytes)).map_err(refused)?;
    Ok(answer(&form, turned))
}

/// XCP_ADM_SET_TRUSTED: a key that administrators vouch for.
pub(super) fn trust(command: &Command<'_>) -> Done<Bytes> {
    let context = command.context;
    let reject = |error: Rv| Refused { rv: error.0, reason: Reason::Trusted as u32 };
    let (form, bytes) = given(command.block.payload);
    let (with, key) = context.key_with(&bytes).map_err(reject)?;
    let with = with.ok_or(Reason::Trusted)?;
    let mut key = crate::key::Key::clone(&key);
    key.head.flags |= flag::TRUSTED;
    let made = match key.material.class {
        k::PUBLIC => spki::seal(with, &key.head, &key.material.value),
        k::SECRET => key.seal(with),
        _ => return refuse(Reason::Trusted),
    };
    Ok(answer(&form, made.map_err(reject)?))
}
