//! CSNDPKB: skeletons of ECC and RSA keys, tokens of public keys.

use super::{KM_ONLY, group, rsa_public};
use crate::context::Context;
use crate::error::{Fault, Result, ensure, fail};
use crate::token::pka::Key;
use crate::token::skeleton::{RsaSkeleton, Skeleton};
use adjunct::ops::ec;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    EccPair,
    EccPublic,
    RsaPublic,
    RsaPair,
}

/// A key-value structure, read from the front.
struct Values<'a>(&'a [u8]);

impl<'a> Values<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Fault(Code::LENGTH))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn half(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.bytes(2)?.try_into().map_err(|_| Fault(Code::LENGTH))?))
    }
}

pub(in crate::verbs) fn run(context: &mut Context<'_>) -> Result<Code> {
    const OUT: usize = 8;
    let mut rules = context.rules(0, 1, 3)?;
    let kinds = [
        (b"ECC-PAIR", Kind::EccPair),
        (b"ECC-PUBL", Kind::EccPublic),
        (b"RSA-PUBL", Kind::RsaPublic),
        (b"RSA-AESC", Kind::RsaPair),
    ];
    let kind = rules.needed(&kinds)?;
    let usage = rules.one(&[(b"KEY-MGMT", 0x80), (b"KM-ONLY ", KM_ONLY), (b"SIG-ONLY", 0x00)])?;
    rules.one(&[(b"ECC-VER1", ())])?;
    rules.end()?;
    ensure(usage.is_none() || matches!(kind, Kind::EccPair | Kind::RsaPair), Code::KEYWORDS)?;
    ensure(context.request.bytes(2).is_empty(), Code::LENGTH)?;
    let mut values = Values(context.request.bytes(1));
    let token = match kind {
        Kind::RsaPublic => {
            let (bits, n_length, e_length, _) = (values.half()?, values.half()?, values.half()?, values.half()?);
            let (n, e) = (values.bytes(n_length.into())?, values.bytes(e_length.into())?);
            ensure(adjunct::ops::rsa::bits(n) == usize::from(bits), Code::PKA_TOKEN)?;
            rsa_public(n, e)?;
            Key::Rsa { private: None, n: n.to_vec(), e: e.to_vec() }.to_bytes()?
        }
        Kind::RsaPair => {
            let (bits, n_length, e_length, _) = (values.half()?, values.half()?, values.half()?, values.half()?);
            // A clear private key has no token here: the lengths of its numbers are zero.
            ensure(n_length == 0 && values.bytes(10)?.iter().all(|byte| *byte == 0), Code::PKA_TOKEN)?;
            let e = values.bytes(e_length.into())?;
            let random = e.iter().all(|byte| *byte == 0);
            ensure(matches!(bits, 512..=4096) && e.len() <= 8 && (!random || bits <= 2048), Code::RSA_SIZE)?;
            let random_e = adjunct::ops::rsa::random_exponent(bits.into()).to_be_bytes();
            let e = if random { &random_e[..] } else { e };
            let e = &e[e.iter().position(|byte| *byte != 0).unwrap_or(0)..];
            RsaSkeleton { bits, e: e.to_vec(), usage: usage.unwrap_or(0x00) }.to_bytes()
        }
        _ => {
            let (curve, _, bits) = (values.bytes(1)?[0], values.bytes(1)?, values.half()?);
            let group = group(curve, bits)?;
            if kind == Kind::EccPair {
                let (d_length, q_length) = (values.half()?, values.half()?);
                // A clear private key has no token here.
                ensure((d_length, q_length) == (0, 0), Code::PKA_TOKEN)?;
                Skeleton { curve, bits, usage: usage.unwrap_or(0x80) }.to_bytes().to_vec()
            } else {
                let length = values.half()?;
                let public = values.bytes(length.into())?;
                if public.first() != Some(&4) || ec::EcKey::new(group, Some(public), None).is_err() {
                    return fail(Code::PKA_TOKEN);
                }
                Key::Ecc { private: None, curve, bits, public: public.to_vec() }.to_bytes()?
            }
        }
    };
    context.give(OUT, Zeroizing::new(token))?;
    Ok(Code::OK)
}
