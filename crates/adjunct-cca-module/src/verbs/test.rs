//! CSNBKYT2: patterns of keys, made and verified.

use crate::context::Context;
use crate::error::{Result, ensure};
use crate::pattern;
use crate::token::variable::{self, Algorithm};
use adjunct_cca_wire::code::Code;
use subtle::ConstantTimeEq;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    EncZero,
    Sha256,
    CmacZero,
}

const PATTERN: usize = 4;

pub(super) fn run(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 2, 4)?;
    let algorithm = rules.needed(&[(b"AES     ", Algorithm::Aes), (b"DES     ", Algorithm::Des)])?;
    let generate = rules.needed(&[(b"GENERATE", true), (b"VERIFY  ", false)])?;
    let method = rules.one(&[
        (b"ENC-ZERO", Method::EncZero),
        (b"SHA-256 ", Method::Sha256),
        (b"SHA2VP1 ", Method::Sha256),
        (b"CMACZERO", Method::CmacZero),
    ])?;
    rules.one(&[(b"TOKEN   ", ())])?;
    rules.end()?;
    let made = match (algorithm, method) {
        (Algorithm::Des, None | Some(Method::EncZero)) => {
            pattern::enc_zero_des(context.any_des_key(1)?.key())?.to_vec()
        }
        (Algorithm::Aes, method) => {
            let key = if variable::Token::is(context.request.bytes(1)) {
                let (token, key) = context.variable_key(1)?;
                ensure(token.algorithm == Algorithm::Aes, Code::KEYWORDS)?;
                key
            } else {
                context.aes_data_key(1)?
            };
            match method.unwrap_or(Method::Sha256) {
                Method::EncZero => pattern::enc_zero_aes(&key)?.to_vec(),
                Method::Sha256 => pattern::of_long(&key).to_vec(),
                Method::CmacZero => pattern::cmac_zero_aes(&key)?.to_vec(),
            }
        }
        _ => return crate::error::fail(Code::KEYWORDS),
    };
    if generate {
        ensure(context.request.room(PATTERN) >= made.len(), Code::LENGTH)?;
        context.results.set_bytes(PATTERN, &made);
        return Ok(Code::OK);
    }
    let given = context.request.bytes(PATTERN);
    Ok(if made[..].ct_eq(given).into() { Code::OK } else { Code::NOT_VERIFIED })
}
