//! Verbs of public-key algorithms: ECC and RSA keys.

pub(super) mod build;
pub(super) mod sign;

use crate::context::{Bytes, Context};
use crate::error::{Fault, Result, ensure, fail};
use crate::token::pka::{self, Key, Private};
use crate::token::skeleton::{RsaSkeleton, Skeleton};
use crate::verbs::change::{TO, To};
use adjunct::ops::digest::{Method, SHA1, SHA224, SHA256, SHA384, SHA512};
use adjunct::ops::ec::{Form, Group, MAX_POINT};
use adjunct::ops::{ec, rsa};
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// Usage: keys are agreed on, and nothing is signed.
const KM_ONLY: u8 = 0xc0;

/// The curve of a type and bits of p.
fn group(curve: u8, bits: u16) -> Result<Group> {
    Ok(match (curve, bits) {
        (0, 192) => Group::P192,
        (0, 224) => Group::P224,
        (0, 256) => Group::P256,
        (0, 384) => Group::P384,
        (0, 521) => Group::P521,
        (1, 160) => Group::BrainpoolP160r1,
        (1, 192) => Group::BrainpoolP192r1,
        (1, 224) => Group::BrainpoolP224r1,
        (1, 256) => Group::BrainpoolP256r1,
        (1, 320) => Group::BrainpoolP320r1,
        (1, 384) => Group::BrainpoolP384r1,
        (1, 512) => Group::BrainpoolP512r1,
        _ => return fail(Code::CURVE),
    })
}

/// Opens the private key of an internal token: what the token says, and the key.
fn private(context: &mut Context<'_>, at: usize) -> Result<(Key, Bytes)> {
    let key = Key::parse(context.operational(at)?)?;
    let Some(private @ Private::Wrapped { mkvp, .. }) = key.private() else { return fail(Code::PKA_TOKEN) };
    let domain = context.domain.clone();
    let (master, old) = domain.apka.opening(mkvp)?;
    let secret = private.unwrap(master.secret())?;
    if old {
        let current = domain.apka.sealing()?;
        let renewed = private.rewrapped(master.secret(), current.secret(), current.mkvp())?;
        let token = key.clone().with_private(renewed).to_bytes()?;
        context.renew(at, &token);
    }
    Ok((key, secret))
}

/// A public RSA key.
fn rsa_public(n: &[u8], e: &[u8]) -> Result<rsa::RsaKey> {
    rsa::RsaKey::new(&rsa::Numbers { n, e, d: None, crt: None }).map_err(|_| Fault(Code::PKA_TOKEN))
}

pub(super) fn generate(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 1)?;
    rules.needed(&[(b"MASTER  ", ())])?;
    rules.end()?;
    ensure(context.request.bytes(1).is_empty(), Code::LENGTH)?;
    if RsaSkeleton::is(context.request.bytes(2)) {
        return generate_rsa(context);
    }
    let Skeleton { curve, bits, usage } = Skeleton::parse(context.request.bytes(2))?;
    let group = group(curve, bits)?;
    let domain = context.domain.clone();
    let master = domain.apka.sealing()?;
    let key = ec::EcKey::generate(group)?;
    let mut room = [0; MAX_POINT];
    let public = key.public(Form::Uncompressed, &mut room).ok_or(Fault(Code::INTERNAL))?.to_vec();
    let scalar = key.private().ok_or(Fault(Code::INTERNAL))?;
    let private = Private::of_ecc(master.secret(), master.mkvp(), curve, bits, usage, scalar)?;
    let token = Key::Ecc { private: Some((private, usage)), curve, bits, public }.to_bytes()?;
    context.give(4, Zeroizing::new(token))?;
    Ok(Code::OK)
}

fn generate_rsa(context: &mut Context<'_>) -> Result<Code> {
    let RsaSkeleton { bits, e, usage } = RsaSkeleton::parse(context.request.bytes(2))?;
    let domain = context.domain.clone();
    let master = domain.apka.sealing()?;
    let key = rsa::RsaKey::generate_any(bits.into(), &e).map_err(|_| Fault(Code::RSA_SIZE))?;
    let number = |part| key.number(part)?.ok_or(Fault(Code::INTERNAL));
    let numbers = [rsa::Part::P, rsa::Part::Q, rsa::Part::Dp, rsa::Part::Dq, rsa::Part::Qinv];
    let [p, q, dp, dq, u] = numbers.map(number);
    let (p, q, dp, dq, u, n) = (p?, q?, dp?, dq?, u?, number(rsa::Part::N)?);
    let numbers: [&[u8]; 5] = [&p, &q, &dp, &dq, &u];
    let private = Private::of_rsa(master.secret(), master.mkvp(), usage, &numbers, &n, &e)?;
    let form = pka::Form::Crt(numbers.map(<[u8]>::len));
    let token = Key::Rsa { private: Some((private, form, usage)), n: n.to_vec(), e }.to_bytes()?;
    context.give(4, Zeroizing::new(token))?;
    Ok(Code::OK)
}

/// The private key, opened, of an internal token of an RSA key with CRT; the usage byte, and bytes of the modulus.
fn rsa_private(context: &mut Context<'_>, at: usize) -> Result<(rsa::CrtKey, u8, usize)> {
    let (key, secret) = private(context, at)?;
    let Key::Rsa { private: Some((_, pka::Form::Crt(lengths), usage)), n, .. } = key else {
        return fail(Code::PKA_TOKEN);
    };
    let mut rest = &secret[..];
    let mut next = |length: usize| -> Result<&[u8]> {
        let (number, after) = rest.split_at_checked(length).ok_or(Fault(Code::PKA_TOKEN))?;
        rest = after;
        Ok(number)
    };
    let [p, q, dp, dq, qinv] = lengths.map(&mut next);
    let crt = rsa::Crt { p: p?, q: q?, dp: dp?, dq: dq?, qinv: qinv? };
    let key = rsa::CrtKey::new(&crt).map_err(|_| Fault(Code::PKA_TOKEN))?;
    ensure(key.bits() == rsa::bits(&n), Code::PKA_TOKEN)?;
    Ok((key, usage, n.len()))
}

/// CSNDPKD: decryption by a private RSA key. What is wrong with a padding does not show in time.
pub(super) fn decipher(context: &mut Context<'_>) -> Result<Code> {
    const OUT: usize = 4;
    let mut rules = context.rules(0, 1, 2)?;
    let padding = rules.needed(&PADDINGS)?;
    let hash = rules.one(&HASHES)?;
    rules.end()?;
    ensure(hash.is_none() || padding == Padding::Oaep, Code::KEYWORDS)?;
    let (key, usage, size) = rsa_private(context, 3)?;
    // A key for signatures alone decrypts nothing.
    ensure(usage & 0x80 != 0, Code::CONTROL_VECTOR)?;
    let text = context.request.bytes(1);
    ensure(text.len() == size, Code::LENGTH)?;
    let mut block = adjunct::memory::zeros(size)?;
    let wrong = if padding == Padding::Oaep { Code::OAEP } else { Code::PADDING };
    ensure(key.takes(text), wrong)?;
    key.private(text, &mut block)?;
    let hash = hash.unwrap_or(&SHA1);
    // One path: the buffer is there before the padding is looked at.
    let mut out = adjunct::memory::zeros(size)?;
    let found = match padding {
        Padding::Pkcs1 => rsa::pkcs1_decode(&mut block).map(|length| &block[..length]),
        Padding::Oaep => rsa::oaep_decode(hash, hash, &[], &mut block),
        Padding::Zeros => Ok(&block[..]),
    };
    let good = found.is_ok();
    let found = found.unwrap_or_default();
    out[..found.len()].copy_from_slice(found);
    out.truncate(found.len());
    ensure(good, wrong)?;
    context.give(OUT, out)?;
    Ok(Code::OK)
}

/// CSNDPKX: the public half.
pub(super) fn extract(context: &mut Context<'_>) -> Result<Code> {
    context.rules(0, 0, 0)?.end()?;
    let token = Key::parse(context.request.bytes(1))?.public().to_bytes()?;
    context.give(2, Zeroizing::new(token))?;
    Ok(Code::OK)
}

/// CSNDKTC: a token from the old master key to the current one, or from the current to the new one.
pub(super) fn change(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 2)?;
    let to = rules.needed(&TO)?;
    rules.one(&[(b"RSA     ", ()), (b"ECC     ", ())])?;
    rules.end()?;
    let (key, _) = private(context, 1)?;
    if to == To::New {
        let domain = context.domain.clone();
        let Some(private @ Private::Wrapped { mkvp, .. }) = key.private() else { return fail(Code::PKA_TOKEN) };
        let (from, _) = domain.apka.opening(mkvp)?;
        let new = domain.apka.new.as_ref().ok_or(Fault(Code::NO_MASTER_KEY))?;
        let private = private.rewrapped(from.secret(), new.secret(), new.mkvp())?;
        let token = key.with_private(private).to_bytes()?;
        context.results.set_bytes(1, &token);
    }
    context.renewed = false;
    Ok(Code::OK)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    Pkcs1,
    Oaep,
    Zeros,
}

const PADDINGS: [(&[u8; 8], Padding); 3] =
    [(b"PKCS-1.2", Padding::Pkcs1), (b"PKCSOAEP", Padding::Oaep), (b"ZERO-PAD", Padding::Zeros)];

const HASHES: [(&[u8; 8], &Method); 5] = [
    (b"SHA-1   ", &SHA1),
    (b"SHA-224 ", &SHA224),
    (b"SHA-256 ", &SHA256),
    (b"SHA-384 ", &SHA384),
    (b"SHA-512 ", &SHA512),
];

/// CSNDPKE: encryption by a public RSA key.
pub(super) fn encipher(context: &mut Context<'_>) -> Result<Code> {
    const OUT: usize = 4;
    let mut rules = context.rules(0, 1, 2)?;
    let padding =
        rules.needed(&[(b"PKCS-1.2", Padding::Pkcs1), (b"PKCSOAEP", Padding::Oaep), (b"ZERO-PAD", Padding::Zeros)])?;
    let hash = rules.one(&HASHES)?;
    rules.end()?;
    ensure(hash.is_none() || padding == Padding::Oaep, Code::KEYWORDS)?;
    let Key::Rsa { n, e, .. } = Key::parse(context.request.bytes(3))? else { return fail(Code::PKA_TOKEN) };
    let key = rsa_public(&n, &e)?;
    let value = context.request.bytes(1);
    let size = key.size();
    ensure(context.request.room(OUT) >= size, Code::LENGTH)?;
    let mut out = adjunct::memory::zeros(size)?;
    let hash = hash.unwrap_or(&SHA1);
    let done = match padding {
        Padding::Pkcs1 => key.encrypt(rsa::Encryption::Pkcs1, value, &mut out),
        Padding::Oaep => key.encrypt(rsa::Encryption::Oaep { hash, mgf1: hash, label: &[] }, value, &mut out),
        Padding::Zeros => {
            let mut block = adjunct::memory::zeros(size)?;
            let at = size.checked_sub(value.len()).ok_or(Fault(Code::LENGTH))?;
            block[at..].copy_from_slice(value);
            key.encrypt(rsa::Encryption::Raw, &block, &mut out)
        }
    };
    // What does not fit into the modulus.
    done.map_err(|_| Fault(Code::LENGTH))?;
    context.give(OUT, out)?;
    Ok(Code::OK)
}
