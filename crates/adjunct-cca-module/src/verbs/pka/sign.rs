//! CSNDDSG and CSNDDSV: ECDSA, and RSA with PKCS #1 1.5 (PKCS-1.1, the hash as DigestInfo) and with zeros (ZERO-PAD).
//!
//! A signature of ECDSA is r and s, each as long as the order.

use super::{KM_ONLY, group, private, rsa_private, rsa_public};
use crate::context::Context;
use crate::error::{Fault, Result, ensure, fail};
use crate::token::pka::Key;
use adjunct::ops::ec;
use adjunct::ops::rsa::{Signature, pkcs1_sign};
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

const KEY: usize = 1;
const HASH: usize = 2;
const SIGNATURE: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Ecdsa,
    Pkcs1,
    Zeros,
}

const SCHEMES: [(&[u8; 8], Scheme); 3] =
    [(b"ECDSA   ", Scheme::Ecdsa), (b"PKCS-1.1", Scheme::Pkcs1), (b"ZERO-PAD", Scheme::Zeros)];

fn generate_rsa(context: &mut Context<'_>, scheme: Scheme, hash: &[u8]) -> Result<Code> {
    let (key, usage, size) = rsa_private(context, KEY)?;
    ensure(usage & KM_ONLY != KM_ONLY, Code::CONTROL_VECTOR)?;
    ensure(!hash.is_empty() && context.request.room(SIGNATURE) >= size, Code::LENGTH)?;
    let mut block = Zeroizing::new(vec![0; size]);
    if scheme == Scheme::Pkcs1 {
        pkcs1_sign(None, hash, &mut block).map_err(|_| Fault(Code::LENGTH))?;
    } else {
        let at = size.checked_sub(hash.len()).ok_or(Fault(Code::LENGTH))?;
        block[at..].copy_from_slice(hash);
    }
    ensure(key.takes(&block), Code::LENGTH)?;
    // Its length in bits goes before it.
    let mut out = Zeroizing::new(vec![0; 8 + size]);
    out[..8].copy_from_slice(&(size as u64 * 8).to_be_bytes());
    key.private(&block, &mut out[8..])?;
    context.results.set(SIGNATURE, out);
    Ok(Code::OK)
}

pub(in crate::verbs) fn generate(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 1)?;
    let scheme = rules.needed(&SCHEMES)?;
    rules.end()?;
    let hash = context.request.bytes(HASH);
    if scheme != Scheme::Ecdsa {
        return generate_rsa(context, scheme, hash);
    }
    ensure((20..=64).contains(&hash.len()), Code::LENGTH)?;
    let (key, scalar) = private(context, KEY)?;
    let Key::Ecc { private: Some((_, usage)), curve, bits, .. } = key else { return fail(Code::PKA_TOKEN) };
    ensure(usage & KM_ONLY != KM_ONLY, Code::CONTROL_VECTOR)?;
    let group = group(curve, bits)?;
    let length = 2 * group.field_len();
    ensure(context.request.room(SIGNATURE) >= length, Code::LENGTH)?;
    let key = ec::EcKey::new(group, None, Some(&scalar)).map_err(|_| Fault(Code::TOKEN))?;
    // Its length in bits goes before it.
    let mut out = Zeroizing::new(vec![0; 8 + length]);
    out[..8].copy_from_slice(&(length as u64 * 8).to_be_bytes());
    key.sign_pair(hash, &mut out[8..])?;
    context.results.set(SIGNATURE, out);
    Ok(Code::OK)
}

pub(in crate::verbs) fn verify(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 1, 1)?;
    let scheme = rules.needed(&SCHEMES)?;
    rules.end()?;
    let (hash, signature) = (context.request.bytes(HASH), context.request.bytes(SIGNATURE));
    ensure(!hash.is_empty(), Code::LENGTH)?;
    let good = match (Key::parse(context.request.bytes(KEY))?, scheme) {
        (Key::Ecc { curve, bits, public, .. }, Scheme::Ecdsa) => {
            let group = group(curve, bits)?;
            let key = ec::EcKey::new(group, Some(&public), None).map_err(|_| Fault(Code::PKA_TOKEN))?;
            signature.len() == 2 * group.field_len() && key.verify_pair(hash, signature)?
        }
        // The hash comes as DigestInfo: the program has encoded it.
        (Key::Rsa { n, e, .. }, Scheme::Pkcs1) => rsa_public(&n, &e)?.verify(Signature::Pkcs1(None), signature, hash),
        (Key::Rsa { n, e, .. }, Scheme::Zeros) => {
            let key = rsa_public(&n, &e)?;
            let mut block = Zeroizing::new(vec![0; key.size()]);
            let at = key.size().checked_sub(hash.len()).ok_or(Fault(Code::LENGTH))?;
            block[at..].copy_from_slice(hash);
            key.verify(Signature::Raw, signature, &block)
        }
        _ => return fail(Code::KEYWORDS),
    };
    Ok(if good { Code::OK } else { Code::BAD_SIGNATURE })
}
