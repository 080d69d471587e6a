//! Keys that come in the clear: CSNBCKI, CSNBCKM; CSNBKPI2, in parts.

use crate::context::Context;
use crate::des::{self, Whole};
use crate::error::{Result, ensure, fail};
use crate::token::{des::Token, variable};
use crate::wrap::Method;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// The token, without a key, of a DATA key without control vector: of one part it is of version 00, of more of version 01.
pub(super) fn des_token(length: usize) -> Token {
    let (mkvp, vectors, wrapped) = ([0; 8], [[0; 8]; 2], [0; 24]);
    let version = u8::from(length > des::BLOCK);
    Token { external: false, version, present: false, nocv: false, method: Method::Ecb, mkvp, vectors, length, wrapped }
}

fn sealed(context: &mut Context<'_>, key: &[u8], at: usize) -> Result<Code> {
    let token = context.sealed_des(des_token(key.len()), key)?;
    context.results.set_bytes(at, &token.to_bytes());
    Ok(if des::is_odd(key) { Code::OK } else { Code::PARITY })
}

pub(super) fn des_data(context: &mut Context<'_>) -> Result<Code> {
    let key = context.fixed::<8>(0)?;
    sealed(context, key, 1)
}

pub(super) fn data(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 1)?;
    let of_aes = rules.needed(&[(b"AES     ", true), (b"DES     ", false)])?;
    rules.end()?;
    let key = context.request.bytes(1);
    if of_aes {
        context.domain.allows(0x0129)?;
        let token = context.sealed_aes(key)?;
        context.results.set_bytes(2, &token.to_bytes()[..]);
        return Ok(Code::OK);
    }
    context.domain.allows(0x00c3)?;
    ensure(matches!(key.len(), 8 | 16 | 24), Code::KEY_LENGTH)?;
    let whole = {
        let mut whole = Whole::default();
        whole[..key.len()].copy_from_slice(key);
        whole
    };
    sealed(context, &whole[..key.len()], 2)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    Add,
    Complete,
}

/// The first two bits of the second management field.
const MISSING: u16 = 0xc000;

pub(super) fn parts(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 2, 3)?;
    let algorithm =
        rules.needed(&[(b"AES     ", variable::Algorithm::Aes), (b"HMAC    ", variable::Algorithm::Hmac)])?;
    let step = rules.needed(&[(b"FIRST   ", Step::First), (b"ADD-PART", Step::Add), (b"COMPLETE", Step::Complete)])?;
    let least = rules.one(&[(b"MIN1PART", 0x4000), (b"MIN2PART", 0x8000), (b"MIN3PART", 0xc000)])?;
    rules.end()?;
    ensure(least.is_none() || step == Step::First, Code::KEYWORDS)?;
    let (bits, part) = (context.request.number(1), context.request.bytes(1));
    let whole = bits == part.len() as i64 * 8;
    let fits = match (step, algorithm) {
        (Step::Complete, _) => part.is_empty(),
        (_, variable::Algorithm::Hmac) => (10..=256).contains(&part.len()),
        _ => matches!(part.len(), 16 | 24 | 32),
    };
    ensure(whole && fits, Code::KEY_LENGTH)?;
    let (mut token, key) = if step == Step::First {
        let mut token = variable::Token::parse(context.request.bytes(2))?;
        ensure(token.state == variable::State::Empty && token.management.len() == 3, Code::TOKEN)?;
        token.management[1] = token.management[1] & !MISSING | least.unwrap_or(0x8000);
        (token, Zeroizing::new(part.to_vec()))
    } else {
        let (mut token, mut key) = context.variable_key(2)?;
        let missing = token.management.get(1).map_or(0, |field| field & MISSING);
        match (step, missing) {
            // All parts are there when the last one that has to be comes; others may follow.
            (Step::Add, 0x4000..) => {
                ensure(key.len() == part.len(), Code::KEY_LENGTH)?;
                key.iter_mut().zip(part).for_each(|(byte, part)| *byte ^= part);
                token.management[1] = token.management[1] & !MISSING | (missing - 0x4000).max(0x4000);
            }
            (Step::Complete, 0x4000) => token.management[1] &= !MISSING,
            _ => return fail(Code::CONTROL_VECTOR),
        }
        (token, key)
    };
    ensure(token.algorithm == algorithm, Code::KEYWORDS)?;
    token.state = variable::State::Empty;
    let token = context.sealed_variable(token, &key)?;
    context.renewed = false;
    context.results.set(2, token.to_bytes());
    Ok(Code::OK)
}
