//! CSNBKGN and CSNBKGN2: random keys.

use crate::context::{Context, seal_des};
use crate::des::{self, Whole};
use crate::error::{Fault, Result, ensure, fail};
use crate::token::{aes, des::Token, variable};
use crate::vector::{self, Type};
use crate::verbs::build::skeleton;
use crate::verbs::clear::des_token;
use crate::wrap::Wrapper;
use adjunct::ops::cipher::des::random_key;
use adjunct::ops::random::random;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// Where a copy of a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Here: under the master key.
    Operational,
    /// Another system: under an EXPORTER key.
    Exportable,
    /// This system, later: under an IMPORTER key.
    Importable,
}

fn forms(name: &[u8]) -> Option<(Form, Option<Form>)> {
    use Form::{Exportable as Ex, Importable as Im, Operational as Op};
    Some(match name {
        b"OP  " => (Op, None),
        b"EX  " => (Ex, None),
        b"IM  " => (Im, None),
        b"OPOP" => (Op, Some(Op)),
        b"OPIM" => (Op, Some(Im)),
        b"OPEX" => (Op, Some(Ex)),
        b"IMIM" => (Im, Some(Im)),
        b"IMEX" => (Im, Some(Ex)),
        b"EXEX" => (Ex, Some(Ex)),
        _ => return None,
    })
}

/// The length that a keyword says; `None` for blanks. The other half: whether the parts are equal.
fn length(name: &[u8]) -> Result<Option<(usize, bool)>> {
    Ok(Some(match name {
        b"KEYLN8  " | b"SINGLE  " => (8, false),
        b"SINGLE-R" => (16, true),
        b"KEYLN16 " | b"DOUBLE  " | b"DOUBLE-O" => (16, false),
        b"KEYLN24 " | b"TRIPLE  " | b"TRIPLE-O" => (24, false),
        b"KEYLN32 " => (32, false),
        b"        " => return Ok(None),
        _ => return fail(Code::KEY_LENGTH),
    }))
}

pub(super) fn fixed(context: &mut Context<'_>) -> Result<Code> {
    let (first, second) = forms(context.fixed::<4>(0)?).ok_or(Fault(Code::KEY_FORM))?;
    let length = length(context.fixed::<8>(1)?)?;
    let kinds = [context.fixed::<8>(2)?, context.request.bytes(3).first_chunk().unwrap_or(&[b' '; 8])];
    if matches!(kinds[0], b"AESTOKEN" | b"AESDATA ") {
        ensure((first, second) == (Form::Operational, None), Code::KEY_FORM)?;
        return aes_data(context, kinds[0] == b"AESTOKEN", length);
    }
    let mut tokens = [Some(des_skeleton(context, kinds[0], length, 6)?), None];
    if second.is_some() {
        tokens[1] = Some(des_skeleton(context, kinds[1], length, 7)?);
    }
    let bytes = tokens[0].as_ref().map_or(0, |token| token.length);
    ensure(tokens.iter().flatten().all(|token| token.length == bytes), Code::KEY_LENGTH)?;
    let key = des_key(bytes, length.is_some_and(|(_, equal)| equal))?;
    for (at, (form, token)) in [Some(first), second].into_iter().zip(tokens).enumerate() {
        let (Some(form), Some(token)) = (form, token) else { continue };
        let token = wrapped(context, form, 4 + at, token, &key[..bytes])?;
        context.results.set_bytes(6 + at, &token.to_bytes());
    }
    Ok(Code::OK)
}

/// The token without a key: that of a type, or for `TOKEN` the one that the program gave.
fn des_skeleton(context: &Context<'_>, kind: &[u8; 8], length: Option<(usize, bool)>, at: usize) -> Result<Token> {
    let said = length.map(|(length, _)| length);
    if kind == b"TOKEN   " {
        let mut token = Token::parse(context.request.bytes(at))?;
        ensure(said.is_none_or(|said| said == token.length), Code::KEY_LENGTH)?;
        (token.external, token.present, token.mkvp, token.wrapped) = (false, false, [0; 8], [0; 24]);
        return Ok(token);
    }
    let kind = Type::of(kind).ok_or(Fault(Code::KEYWORD))?;
    let length = said.unwrap_or(if kind.wraps() { 16 } else { 8 });
    ensure(matches!(length, 8 | 16 | 24), Code::KEY_LENGTH)?;
    if kind == Type::Data { Ok(des_token(length)) } else { Token::skeleton(kind, length) }
}

/// A random key of odd parity, none of whose parts is weak, and whose parts differ.
fn des_key(length: usize, equal: bool) -> Result<Whole> {
    let mut key = Whole::default();
    loop {
        random_key(&mut key[..length]);
        if equal {
            key.copy_within(..8, 8);
        }
        let parts = key[..length].as_chunks::<8>().0;
        let differ = equal || parts.iter().enumerate().all(|(at, part)| !parts[..at].contains(part));
        if differ && !parts.iter().any(des::is_weak) {
            return Ok(key);
        }
    }
}

/// A key in its token, in a form; `kek`: the place of the key that wraps it.
pub(super) fn wrapped(context: &mut Context<'_>, form: Form, kek: usize, token: Token, key: &[u8]) -> Result<Token> {
    let kind = match form {
        Form::Operational => return context.sealed_des(token, key),
        Form::Exportable => Type::Exporter,
        Form::Importable => Type::Importer,
    };
    let under = context.des_key(kek, &[kind])?;
    exported(&under, token, key)
}

/// A key in an external token, under a key-encrypting key.
pub(super) fn exported(under: &crate::context::DesKey, mut token: Token, key: &[u8]) -> Result<Token> {
    (token.external, token.present, token.mkvp) = (true, true, [0; 8]);
    let vectors = token.vectors;
    if under.token.nocv {
        token.vectors = [[0; 8]; 2];
    }
    let sealed = seal_des(&mut token, &Wrapper::new(under.key())?, key);
    token.vectors = vectors;
    sealed.map(|()| token)
}

/// The clear key of an external token.
pub(super) fn imported(under: &crate::context::DesKey, token: &Token) -> Result<Whole> {
    ensure(token.external && token.present, Code::TOKEN)?;
    let vectors = if under.token.nocv { [[0; 8]; 2] } else { token.vectors };
    let mut key = token.wrapped;
    let wrapper = Wrapper::new(under.key())?;
    wrapper.unwrap(token.method, &vectors, &mut key[..token.length])?;
    Ok(Zeroizing::new(key))
}

fn aes_data(context: &mut Context<'_>, by_token: bool, length: Option<(usize, bool)>) -> Result<Code> {
    let said = length.map(|(length, _)| length);
    let in_token = if by_token { Some(aes::Token::parse(context.request.bytes(6))?.length) } else { None };
    let length = match (said, in_token.filter(|length| *length != 0)) {
        (Some(said), Some(there)) => {
            ensure(said == there, Code::KEY_LENGTH)?;
            said
        }
        (said, there) => said.or(there).unwrap_or(32),
    };
    ensure(matches!(length, 16 | 24 | 32), Code::KEY_LENGTH)?;
    let mut key = Zeroizing::new([0; 32]);
    random(&mut key[..length]);
    let token = context.sealed_aes(&key[..length])?;
    context.results.set_bytes(6, &token.to_bytes()[..]);
    Ok(Code::OK)
}

pub(super) fn variable(context: &mut Context<'_>) -> Result<Code> {
    const GENERATED: usize = 10;
    let mut rules = context.rules(0, 2, 3)?;
    let algorithm =
        rules.needed(&[(b"AES     ", variable::Algorithm::Aes), (b"HMAC    ", variable::Algorithm::Hmac)])?;
    rules.needed(&[(b"OP      ", ())])?;
    let format = rules.one(&[(b"V0PYLD  ", variable::Payload::Variable), (b"V1PYLD  ", variable::Payload::Fixed)])?;
    rules.end()?;
    let of_hmac = algorithm == variable::Algorithm::Hmac;
    let mut token = match context.fixed::<8>(2)? {
        b"TOKEN   " => variable::Token::parse(context.request.bytes(GENERATED))?,
        b"CIPHER  " if !of_hmac => skeleton(algorithm, variable::CIPHER),
        b"MAC     " => skeleton(algorithm, variable::MAC),
        _ => return fail(Code::KEYWORD),
    };
    ensure(token.algorithm == algorithm, Code::KEYWORDS)?;
    if let Some(format) = format {
        ensure(!of_hmac || format == variable::Payload::Variable, Code::KEYWORDS)?;
        token.format = format;
    }
    let (name, user) = (context.request.bytes(4), context.request.bytes(6));
    ensure(matches!(name.len(), 0 | 64) && user.len() <= 255, Code::LENGTH)?;
    if !name.is_empty() {
        token.name = name.to_vec();
    }
    if !user.is_empty() {
        token.user = user.to_vec();
    }
    let bits = context.request.number(1);
    let length = usize::try_from(bits).unwrap_or(0) / 8;
    let fits = if of_hmac { (10..=256).contains(&length) } else { matches!(length, 16 | 24 | 32) };
    ensure(fits && length as i64 * 8 == bits, Code::KEY_LENGTH)?;
    let mut key = adjunct::memory::zeros(length)?;
    random(&mut key);
    let token = context.sealed_variable(token, &key)?;
    // The buffer may be longer than the skeleton in it: its size is what the program told.
    context.give(GENERATED, token.to_bytes())?;
    Ok(Code::OK)
}

/// CSNBKIM: a key from another system.
pub(super) fn import(context: &mut Context<'_>) -> Result<Code> {
    let token = Token::parse(context.request.bytes(1))?;
    kind_is(context, &token)?;
    let under = context.des_key(2, &[Type::Importer])?;
    let key = imported(&under, &token)?;
    let odd = des::is_odd(&key[..token.length]);
    let length = token.length;
    let token = context.sealed_des(token, &key[..length])?;
    context.results.set_bytes(3, &token.to_bytes());
    Ok(if odd { Code::OK } else { Code::PARITY })
}

/// CSNBKEX: a key for another system.
pub(super) fn export(context: &mut Context<'_>) -> Result<Code> {
    let key = context.any_des_key(1)?;
    kind_is(context, &key.token)?;
    ensure(vector::may_leave(&key.token.vectors[0]), Code::CONTROL_VECTOR)?;
    let under = context.des_key(2, &[Type::Exporter])?;
    let token = exported(&under, key.token.clone(), key.key())?;
    context.results.set_bytes(3, &token.to_bytes());
    Ok(Code::OK)
}

/// The type that the program names is that of the token, or `TOKEN`.
fn kind_is(context: &Context<'_>, token: &Token) -> Result {
    let name = context.fixed::<8>(0)?;
    if name == b"TOKEN   " {
        return Ok(());
    }
    let kind = Type::of(name).ok_or(Fault(Code::KEYWORD))?;
    ensure(token.kind() == Some(kind), Code::CONTROL_VECTOR)
}

/// CSNBKTR: a key from one key-encrypting key to another.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Code> {
    let token = Token::parse(context.request.bytes(0))?;
    let from = context.des_key(1, &[Type::Importer])?;
    let to = context.des_key(2, &[Type::Exporter])?;
    ensure(vector::may_leave(&token.vectors[0]), Code::CONTROL_VECTOR)?;
    let key = imported(&from, &token)?;
    let length = token.length;
    let token = exported(&to, token, &key[..length])?;
    context.results.set_bytes(3, &token.to_bytes());
    Ok(Code::OK)
}
