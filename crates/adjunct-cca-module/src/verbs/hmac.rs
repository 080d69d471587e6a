//! CSNBHMG, CSNBHMV, CSNBMGN2, CSNBMVR2: HMAC, and CMAC by AES.
//!
//! In the chaining vector of 128 bytes is what goes on with the message, and its length in the last byte: of HMAC the state of the inner digest, which makes no MAC without
//! the key; of CMAC the chaining value and the last block of the text so far, which may be its end.

use crate::context::{Bytes, Context};
use crate::error::{Fault, Result, ensure};
use crate::token::variable;
use crate::verbs::hash::{Part, SHA};
use adjunct::catalogue::Direction;
use adjunct::ops::digest::Method;
use adjunct::ops::mac::{BlockCipher, CmacOnce, Hmac};
use adjunct_cca_wire::code::Code;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const KEY: usize = 1;
const TEXT: usize = 2;
const VECTOR: usize = 3;
const MAC: usize = 4;
/// Bytes of a chaining vector.
const ROOM: usize = 128;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Hmac(&'static Method),
    Cmac,
}

fn ready(context: &Context<'_>, both: bool) -> Result<(Kind, Part)> {
    let mut rules = context.rules(0, 2, 3)?;
    let of_aes = if both {
        rules.needed(&[(b"HMAC    ", false), (b"AES     ", true)])?
    } else {
        rules.needed(&[(b"HMAC    ", false)])?
    };
    let kind = if of_aes {
        rules.one(&[(b"CMAC    ", ())])?;
        Kind::Cmac
    } else {
        Kind::Hmac(rules.needed(SHA)?)
    };
    let part = rules.one(&Part::WORDS)?.unwrap_or(Part::Only);
    rules.end()?;
    Ok((kind, part))
}

/// What a chaining vector has.
fn kept<'a>(context: &Context<'a>) -> Result<&'a [u8]> {
    let vector = context.fixed::<ROOM>(VECTOR)?;
    vector.get(..usize::from(vector[ROOM - 1])).filter(|kept| kept.len() < ROOM).ok_or(Fault(Code::LENGTH))
}

fn keep(context: &mut Context<'_>, state: &[u8]) -> Result {
    ensure(context.request.bytes(VECTOR).len() >= ROOM, Code::LENGTH)?;
    let mut vector = Zeroizing::new(vec![0; ROOM]);
    ensure(state.len() < ROOM, Code::TEXT_LENGTH)?;
    vector[..state.len()].copy_from_slice(state);
    vector[ROOM - 1] = state.len() as u8;
    context.results.set(VECTOR, vector);
    Ok(())
}

fn run(context: &mut Context<'_>, kind: Kind, part: Part, generate: bool) -> Result<Option<Bytes>> {
    match kind {
        Kind::Hmac(method) => hmac(context, method, part, generate),
        Kind::Cmac => cmac(context, part, generate),
    }
}

fn hmac(context: &mut Context<'_>, method: &'static Method, part: Part, generate: bool) -> Result<Option<Bytes>> {
    let key = context.hmac_key(KEY, generate)?;
    let text = context.request.bytes(TEXT);
    let mut mac = Hmac::new(method, &key)?;
    if part.goes_on() {
        mac.restore(kept(context)?).map_err(|_| Fault(Code::LENGTH))?;
    }
    mac.update(text);
    if part.ends() {
        let mut out = adjunct::memory::zeros(method.size)?;
        mac.finish(&mut out)?;
        return Ok(Some(out));
    }
    ensure(text.len().is_multiple_of(method.block), Code::TEXT_LENGTH)?;
    let mut room = [0; adjunct::ops::digest::MAX_SAVED];
    let state = mac.save(&mut room)?;
    keep(context, state)?;
    Ok(None)
}

fn cmac(context: &mut Context<'_>, part: Part, generate: bool) -> Result<Option<Bytes>> {
    const BLOCK: usize = 16;
    let (token, key) = context.variable_key(KEY)?;
    let usage = token.usage.first().copied().unwrap_or(0);
    let may = if generate { usage & 0x8000 != 0 } else { usage & 0xc000 != 0 };
    let of_aes = token.algorithm == variable::Algorithm::Aes && token.kind == variable::MAC;
    ensure(of_aes && may && token.is_complete(), Code::CONTROL_VECTOR)?;
    let (mut chain, mut all) = ([0; BLOCK], Zeroizing::new(Vec::new()));
    if part.goes_on() {
        let (value, last) = kept(context)?.split_first_chunk::<BLOCK>().ok_or(Fault(Code::LENGTH))?;
        ensure((1..=BLOCK).contains(&last.len()), Code::LENGTH)?;
        chain = *value;
        all.extend_from_slice(last);
    }
    all.extend_from_slice(context.request.bytes(TEXT));
    ensure(part.ends() || !all.is_empty(), Code::TEXT_LENGTH)?;
    let (blocks, last) = all.split_at(all.len().saturating_sub(1) / BLOCK * BLOCK);
    let mac = CmacOnce::new(BlockCipher::Aes(key.len()));
    let direction = if generate { Direction::Encrypt } else { Direction::Decrypt };
    if !blocks.is_empty() {
        mac.absorb(direction, &key, blocks, &mut chain)?;
    }
    if part.ends() {
        let mut out = [0; BLOCK];
        mac.finish(direction, &key, Some(&chain), last, &mut out)?;
        return Ok(Some(Zeroizing::new(out.to_vec())));
    }
    keep(context, &[&chain[..], last].concat())?;
    Ok(None)
}

fn made(context: &mut Context<'_>, both: bool) -> Result<Code> {
    let (kind, part) = ready(context, both)?;
    let Some(mut mac) = run(context, kind, part, true)? else { return Ok(Code::OK) };
    // A shorter buffer takes the first bytes of the MAC.
    let room = context.request.room(MAC);
    ensure(room >= 4, Code::LENGTH)?;
    mac.truncate(room);
    context.give(MAC, mac)?;
    Ok(Code::OK)
}

fn verified(context: &mut Context<'_>, both: bool, wrong: Code) -> Result<Code> {
    let (kind, part) = ready(context, both)?;
    let Some(mac) = run(context, kind, part, false)? else { return Ok(Code::OK) };
    let given = context.request.bytes(MAC);
    ensure((4..=mac.len()).contains(&given.len()), Code::LENGTH)?;
    Ok(if mac[..given.len()].ct_eq(given).into() { Code::OK } else { wrong })
}

pub(super) fn generate(context: &mut Context<'_>) -> Result<Code> {
    made(context, false)
}

pub(super) fn verify(context: &mut Context<'_>) -> Result<Code> {
    verified(context, false, Code::BAD_SIGNATURE)
}

pub(super) fn generate2(context: &mut Context<'_>) -> Result<Code> {
    made(context, true)
}

pub(super) fn verify2(context: &mut Context<'_>) -> Result<Code> {
    verified(context, true, Code::NOT_VERIFIED)
}
