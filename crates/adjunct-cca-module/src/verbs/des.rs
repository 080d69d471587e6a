//! CSNBENC and CSNBDEC: DES in CBC, whole or in parts.
//!
//! The chaining vector of 18 bytes begins with the last block of ciphertext.

use crate::context::Context;
use crate::des::{self, BLOCK};
use crate::error::{Fault, Result, ensure};
use crate::vector::Type;
use adjunct_cca_wire::code::Code;
use subtle::{Choice, ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess};
use zeroize::Zeroizing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    /// Whole blocks alone.
    None,
    /// ANSI X9.23: zeros, and their number with the last byte.
    X923,
}

/// The text's place, and those of what is behind it.
const TEXT: usize = 1;
const IV: usize = 2;
const RULES: usize = 3;

fn ready(context: &Context<'_>) -> Result<(Padding, bool)> {
    let mut rules = context.rules(RULES, 0, 2)?;
    let padding = rules.one(&[(b"CBC     ", Padding::None), (b"X9.23   ", Padding::X923)])?;
    let goes_on = rules.one(&[(b"INITIAL ", false), (b"CONTINUE", true)])?;
    rules.end()?;
    Ok((padding.unwrap_or(Padding::None), goes_on.unwrap_or(false)))
}

fn iv(context: &Context<'_>, vector: usize, goes_on: bool) -> Result<[u8; BLOCK]> {
    let vector = if goes_on { &context.fixed::<18>(vector)?[..] } else { &context.fixed::<BLOCK>(IV)?[..] };
    vector.first_chunk().copied().ok_or(Fault(Code::LENGTH))
}

fn keep(context: &mut Context<'_>, at: usize, last: &[u8; BLOCK]) {
    let mut vector = [0; 18];
    vector[..BLOCK].copy_from_slice(last);
    context.results.set_bytes(at, &vector);
}

pub(super) fn encipher(context: &mut Context<'_>) -> Result<Code> {
    const VECTOR: usize = 5;
    let (padding, goes_on) = ready(context)?;
    let text = context.request.bytes(TEXT);
    let pad = if padding == Padding::X923 { BLOCK - text.len() % BLOCK } else { 0 };
    ensure(!text.is_empty() && (text.len() + pad).is_multiple_of(BLOCK), Code::TEXT_LENGTH)?;
    let mut iv = iv(context, VECTOR, goes_on)?;
    let key = context.des_key(0, &[Type::Data, Type::Cipher, Type::Encipher])?;
    let mut out = adjunct::memory::zeros(text.len() + pad)?;
    out[..text.len()].copy_from_slice(text);
    if let Some(last) = out.last_mut().filter(|_| pad != 0) {
        *last = pad as u8;
    }
    des::cbc(key.key(), &mut iv, true, &mut out)?;
    keep(context, VECTOR, &iv);
    context.results.set(6, out);
    Ok(Code::OK)
}

pub(super) fn decipher(context: &mut Context<'_>) -> Result<Code> {
    const VECTOR: usize = 4;
    let (padding, goes_on) = ready(context)?;
    let text = context.request.bytes(TEXT);
    ensure(!text.is_empty() && text.len().is_multiple_of(BLOCK), Code::TEXT_LENGTH)?;
    let mut iv = iv(context, VECTOR, goes_on)?;
    let key = context.des_key(0, &[Type::Data, Type::Cipher, Type::Decipher])?;
    let mut out = Zeroizing::new(text.to_vec());
    des::cbc(key.key(), &mut iv, false, &mut out)?;
    if padding == Padding::X923 {
        let length = unpadded(&out)?;
        out.truncate(length);
    }
    keep(context, VECTOR, &iv);
    context.results.set(5, out);
    Ok(Code::OK)
}

/// The length without padding; the time tells nothing of it.
fn unpadded(text: &[u8]) -> Result<usize> {
    let pad = text.last().copied().unwrap_or(0);
    let mut good = !pad.ct_eq(&0) & !pad.ct_gt(&(BLOCK as u8));
    for (back, byte) in (1_u8..).zip(text.iter().rev().skip(1)).take(BLOCK - 1) {
        good &= byte.ct_eq(&0) | !back.ct_lt(&pad) | Choice::from(0);
    }
    ensure(good.into(), Code::TEXT_LENGTH)?;
    Ok(text.len() - usize::from(pad))
}
