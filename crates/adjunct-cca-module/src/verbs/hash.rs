//! CSNBOWH: digests.
//!
//! Of a message in parts the chaining vector has the chaining value as FIPS 180-4 and FIPS 202 write it, zeros up to its last 8 bytes, and there the bytes so far.

use crate::context::Context;
use crate::error::{Fault, Result, ensure, fail};
use adjunct::ops::digest::{
    Digest, MAX_CHAIN, MD5, Method, SHA1, SHA3_224, SHA3_256, SHA3_384, SHA3_512, SHA224, SHA256, SHA384, SHA512,
};
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// Where a part stands in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It is the message.
    Only,
    /// Others come.
    First,
    /// Others came and come.
    Middle,
    /// It is the end.
    Last,
}

impl Part {
    /// The keywords.
    pub(super) const WORDS: [(&[u8; 8], Part); 4] =
        [(b"ONLY    ", Part::Only), (b"FIRST   ", Part::First), (b"MIDDLE  ", Part::Middle), (b"LAST    ", Part::Last)];

    /// Whether parts came before.
    pub(super) fn goes_on(self) -> bool {
        matches!(self, Part::Middle | Part::Last)
    }

    /// Whether the message ends with it.
    pub(super) fn ends(self) -> bool {
        matches!(self, Part::Only | Part::Last)
    }
}

const METHODS: [(&[u8; 8], &Method); 10] = [
    (b"SHA-1   ", &SHA1),
    (b"SHA-224 ", &SHA224),
    (b"SHA-256 ", &SHA256),
    (b"SHA-384 ", &SHA384),
    (b"SHA-512 ", &SHA512),
    (b"SHA3-224", &SHA3_224),
    (b"SHA3-256", &SHA3_256),
    (b"SHA3-384", &SHA3_384),
    (b"SHA3-512", &SHA3_512),
    (b"MD5     ", &MD5),
];

/// The methods of HMAC.
pub(super) const SHA: &[(&[u8; 8], &Method)] = {
    let (sha, _) = METHODS.split_at(5);
    sha
};

/// Bytes of a chaining value; 0 for a method whose messages come whole.
fn chain_length(method: &Method) -> usize {
    match method.name {
        "MD5" => 0,
        "SHA1" => 20,
        "SHA2-224" | "SHA2-256" => 32,
        "SHA2-384" | "SHA2-512" => 64,
        _ => MAX_CHAIN,
    }
}

pub(super) fn run(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 2)?;
    let method = rules.needed(&METHODS)?;
    let part = rules.one(&Part::WORDS)?.unwrap_or(Part::Only);
    rules.end()?;
    let (text, vector) = (context.request.bytes(1), context.request.bytes(2));
    let mut digest = Digest::boxed(method)?;
    if part.goes_on() {
        let Some((chain, bytes)) = vector.split_last_chunk::<8>() else { return fail(Code::LENGTH) };
        let (length, bytes) = (chain_length(method), u64::from_be_bytes(*bytes));
        let chain = chain.get(..length).filter(|chain| !chain.is_empty()).ok_or(Fault(Code::LENGTH))?;
        ensure(bytes.is_multiple_of(method.block as u64), Code::TEXT_LENGTH)?;
        digest.resume(chain, bytes.into())?;
    }
    digest.update(text);
    if part.ends() {
        let mut out = Zeroizing::new(vec![0; method.size]);
        ensure(context.request.room(3) >= out.len(), Code::LENGTH)?;
        digest.finish(&mut out);
        context.give(3, out)?;
        return Ok(Code::OK);
    }
    ensure(text.len().is_multiple_of(method.block), Code::TEXT_LENGTH)?;
    let before = if part.goes_on() { vector.last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)) } else { 0 };
    let mut room = [0; MAX_CHAIN];
    let chain = digest.suspend(&mut room).ok_or(Fault(Code::KEYWORDS))?;
    let mut out = Zeroizing::new(vec![0; vector.len()]);
    ensure(out.len() >= chain.len() + 8, Code::LENGTH)?;
    out[..chain.len()].copy_from_slice(chain);
    if let Some(bytes) = out.last_chunk_mut() {
        *bytes = before.wrapping_add(text.len() as u64).to_be_bytes();
    }
    context.results.set(2, out);
    Ok(Code::OK)
}
