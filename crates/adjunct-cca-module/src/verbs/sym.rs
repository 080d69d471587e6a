//! CSNBSAE and CSNBSAD: AES with a secure key, or a clear one.
//!
//! The chaining data, of 32 bytes at least, begins with the last block of ciphertext.

use crate::context::{Bytes, Context};
use crate::error::{Result, ensure, fail};
use adjunct::InOut;
use adjunct::ops::aead::{gcm_parts, same_tag};
use adjunct::ops::cipher::once::{self, Aes};
use adjunct_cca_wire::code::Code;
use subtle::{ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess};
use zeroize::Zeroizing;

const BLOCK: usize = 16;
/// The places of the parameters; `IN` and `OUT` are the texts in both directions.
const KEY: usize = 1;
const PARAMETERS: usize = 2;
const BLOCK_SIZE: usize = 3;
const IV: usize = 4;
const CHAIN: usize = 5;
const IN: usize = 6;
const OUT: usize = 7;
const OPTIONAL: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Ecb,
    Cbc,
    Padded,
    Gcm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Initial,
    Continue,
    Final,
    Only,
}

struct Call {
    mode: Mode,
    part: Part,
    clear: bool,
}

fn ready(context: &Context<'_>) -> Result<Call> {
    let mut rules = context.rules(0, 1, 4)?;
    rules.needed(&[(b"AES     ", ())])?;
    let modes =
        [(b"CBC     ", Mode::Cbc), (b"ECB     ", Mode::Ecb), (b"PKCS-PAD", Mode::Padded), (b"GCM     ", Mode::Gcm)];
    let mode = rules.one(&modes)?.unwrap_or(Mode::Cbc);
    let clear = rules.one(&[(b"KEY-CLR ", true), (b"KEYIDENT", false)])?.unwrap_or(true);
    let parts = [
        (b"INITIAL ", Part::Initial),
        (b"CONTINUE", Part::Continue),
        (b"FINAL   ", Part::Final),
        (b"ONLY    ", Part::Only),
    ];
    let part = rules.one(&parts)?.unwrap_or(Part::Initial);
    rules.end()?;
    let size = context.request.number(BLOCK_SIZE);
    // GCM does not look at it; programs give 0 or 16.
    ensure(size == BLOCK as i64 || mode == Mode::Gcm && size == 0, Code::LENGTH)?;
    Ok(Call { mode, part, clear })
}

fn key(context: &mut Context<'_>, call: &Call, encrypt: bool) -> Result<Bytes> {
    if !call.clear {
        return context.aes_key(KEY, encrypt);
    }
    let key = context.request.bytes(KEY);
    ensure(matches!(key.len(), 16 | 24 | 32), Code::KEY_LENGTH)?;
    Ok(Zeroizing::new(key.to_vec()))
}

fn iv(context: &Context<'_>, call: &Call) -> Result<[u8; BLOCK]> {
    let goes_on = matches!(call.part, Part::Continue | Part::Final);
    let from = context.request.bytes(if goes_on { CHAIN } else { IV });
    match from.first_chunk() {
        Some(iv) => Ok(*iv),
        None if call.mode == Mode::Ecb => Ok([0; BLOCK]),
        None => fail(Code::LENGTH),
    }
}

fn keep(context: &mut Context<'_>, last: &[u8; BLOCK]) {
    let room = context.request.room(CHAIN);
    if room >= BLOCK {
        let mut chain = Zeroizing::new(vec![0; room.min(32)]);
        chain[..BLOCK].copy_from_slice(last);
        context.results.set(CHAIN, chain);
    }
}

pub(super) fn encipher(context: &mut Context<'_>) -> Result<Code> {
    let call = ready(context)?;
    let text = context.request.bytes(IN);
    if call.mode == Mode::Gcm {
        return gcm(context, &call, true);
    }
    let pad = if call.mode == Mode::Padded { BLOCK - text.len() % BLOCK } else { 0 };
    let length = text.len() + pad;
    ensure(length != 0 && length.is_multiple_of(BLOCK), Code::TEXT_LENGTH)?;
    // Before anything is computed: outputs are whole or not there.
    ensure(context.request.room(OUT) >= length, Code::LENGTH)?;
    let mut iv = iv(context, &call)?;
    let key = key(context, &call, true)?;
    let mut out = adjunct::memory::zeros(length)?;
    out[..text.len()].copy_from_slice(text);
    out[text.len()..].fill(pad as u8);
    run(&call, &key, &mut iv, true, &mut out)?;
    keep(context, &iv);
    context.give(OUT, out)?;
    Ok(Code::OK)
}

fn run(call: &Call, key: &[u8], iv: &mut [u8; BLOCK], encrypt: bool, text: &mut [u8]) -> Result {
    let io = InOut::in_place(text);
    match call.mode {
        Mode::Ecb => once::ecb::<Aes, BLOCK>(key, encrypt, io)?,
        _ => once::cbc::<Aes, BLOCK>(key, iv, encrypt, io)?,
    }
    Ok(())
}

pub(super) fn decipher(context: &mut Context<'_>) -> Result<Code> {
    let call = ready(context)?;
    let text = context.request.bytes(IN);
    if call.mode == Mode::Gcm {
        return gcm(context, &call, false);
    }
    ensure(!text.is_empty() && text.len().is_multiple_of(BLOCK), Code::TEXT_LENGTH)?;
    let mut iv = iv(context, &call)?;
    let key = key(context, &call, false)?;
    let mut out = Zeroizing::new(text.to_vec());
    run(&call, &key, &mut iv, false, &mut out)?;
    if call.mode == Mode::Padded {
        let length = unpadded(&out)?;
        out.truncate(length);
    }
    keep(context, &iv);
    context.give(OUT, out)?;
    Ok(Code::OK)
}

/// The length without padding as in PKCS #7; the time tells nothing of it.
fn unpadded(text: &[u8]) -> Result<usize> {
    let pad = text.last().copied().unwrap_or(0);
    let mut good = !pad.ct_eq(&0) & !pad.ct_gt(&(BLOCK as u8));
    for (back, byte) in (0_u8..).zip(text.iter().rev()).take(BLOCK) {
        good &= byte.ct_eq(&pad) | !back.ct_lt(&pad);
    }
    ensure(good.into(), Code::TEXT_LENGTH)?;
    Ok(text.len() - usize::from(pad))
}

/// GCM of a message at once. The tag is in the key parameters, the additional data in the optional data.
fn gcm(context: &mut Context<'_>, call: &Call, encrypt: bool) -> Result<Code> {
    ensure(call.part == Part::Only, Code::KEYWORDS)?;
    let (tag, iv) = (context.request.bytes(PARAMETERS), context.request.bytes(IV));
    ensure(matches!(tag.len(), 4 | 8 | 12..=16) && !iv.is_empty(), Code::LENGTH)?;
    let (text, aad) = (context.request.bytes(IN), context.request.bytes(OPTIONAL));
    ensure(context.request.room(OUT) >= text.len(), Code::LENGTH)?;
    let key = key(context, call, encrypt)?;
    let mut out = Zeroizing::new(text.to_vec());
    let mut made = [0; BLOCK];
    gcm_parts::message(&key, encrypt, iv, aad, InOut::in_place(&mut out), &mut made)?;
    if encrypt {
        let length = tag.len();
        context.results.set_bytes(PARAMETERS, &made[..length]);
    } else {
        let mut given = [0; BLOCK];
        given[..tag.len()].copy_from_slice(tag);
        ensure(same_tag(&made, &given, tag.len()), Code::GCM_TAG)?;
    }
    context.results.set(OUT, out);
    Ok(Code::OK)
}
