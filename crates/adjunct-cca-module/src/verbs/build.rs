//! CSNBKTB and CSNBKTB2: skeletons, which say what a key will be for.

use crate::context::Context;
use crate::error::{Fault, Result, ensure};
use crate::token::{aes, des, variable};
use crate::vector::Type;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

const LENGTHS: [(&[u8; 8], usize); 8] = [
    (b"KEYLN8  ", 8),
    (b"SINGLE  ", 8),
    (b"KEYLN16 ", 16),
    (b"DOUBLE  ", 16),
    (b"KEYLN24 ", 24),
    (b"TRIPLE  ", 24),
    (b"MIXED   ", 16),
    (b"KEYLN32 ", 32),
];

pub(super) fn fixed(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(2, 1, 5)?;
    rules.needed(&[(b"INTERNAL", ())])?;
    rules.one(&[(b"NO-KEY  ", ())])?;
    let of_aes = rules.one(&[(b"AES     ", true), (b"DES     ", false)])?.unwrap_or(false);
    let length = rules.one(&LENGTHS)?;
    rules.end()?;
    let kind = Type::of(context.fixed::<8>(1)?).ok_or(Fault(Code::KEYWORD))?;
    let token = if of_aes {
        ensure(kind == Type::Data, Code::KEYWORDS)?;
        let length = length.unwrap_or(0);
        ensure(matches!(length, 0 | 16 | 24 | 32), Code::KEY_LENGTH)?;
        *aes::Token { contents: aes::Contents::Empty, length }.to_bytes()
    } else {
        des::Token::skeleton(kind, length.unwrap_or(if kind.wraps() { 16 } else { 8 }))?.to_bytes()
    };
    context.results.set_bytes(0, &token);
    Ok(Code::OK)
}

/// The skeleton of a type: what its default usage and management fields are.
pub(super) fn skeleton(algorithm: variable::Algorithm, kind: u16) -> variable::Token {
    let of_hmac = algorithm == variable::Algorithm::Hmac;
    variable::Token {
        state: variable::State::Empty,
        format: if of_hmac { variable::Payload::Variable } else { variable::Payload::Fixed },
        algorithm,
        kind,
        // Of an HMAC key the second field has the digests: all.
        usage: vec![0xc000, if of_hmac { 0xf800 } else { 0x0000 }],
        // It may be exported under symmetric and asymmetric keys.
        management: vec![0xe000, 0, 0],
        name: Vec::new(),
        extended: Vec::new(),
        user: Vec::new(),
        bits: 0,
        payload: Zeroizing::new(Vec::new()),
    }
}

pub(super) fn variable(context: &mut Context<'_>) -> Result<Code> {
    let mut rules = context.rules(0, 3, 32)?;
    rules.needed(&[(b"INTERNAL", ())])?;
    rules.one(&[(b"NO-KEY  ", ())])?;
    let algorithm =
        rules.needed(&[(b"AES     ", variable::Algorithm::Aes), (b"HMAC    ", variable::Algorithm::Hmac)])?;
    let of_hmac = algorithm == variable::Algorithm::Hmac;
    let kind = rules.needed(&[(b"CIPHER  ", variable::CIPHER), (b"MAC     ", variable::MAC)])?;
    ensure(!of_hmac || kind == variable::MAC, Code::KEYWORDS)?;
    let mut token = skeleton(algorithm, kind);
    let (first, second): (&[u8; 8], &[u8; 8]) =
        if kind == variable::MAC { (b"GENERATE", b"VERIFY  ") } else { (b"ENCRYPT ", b"DECRYPT ") };
    let said = (u16::from(rules.take(first)) << 15) | (u16::from(rules.take(second)) << 14);
    if said != 0 {
        token.usage[0] = said;
        // A key that makes MACs verifies them, too, where nothing else is said.
        if kind == variable::MAC && said == 0x8000 {
            token.usage[0] = 0xc000;
        }
    }
    if of_hmac {
        let digests: [&[u8; 8]; 5] = [b"SHA-1   ", b"SHA-224 ", b"SHA-256 ", b"SHA-384 ", b"SHA-512 "];
        let said =
            (0..).zip(digests).fold(0, |said, (at, name)| said | if rules.take(name) { 0x8000 >> at } else { 0 });
        if said != 0 {
            token.usage[1] = said;
        }
    } else if kind == variable::CIPHER {
        let modes: [(&[u8; 8], u16); 9] = [
            (b"CBC     ", 0x0000),
            (b"ECB     ", 0x0100),
            (b"CFB     ", 0x0200),
            (b"OFB     ", 0x0300),
            (b"GCM     ", 0x0400),
            (b"XTS     ", 0x0500),
            (b"FF1     ", 0x0600),
            (b"FF2     ", 0x0700),
            (b"ANY-MODE", 0xff00),
        ];
        token.usage[1] = rules.one(&modes)?.unwrap_or(0);
    } else {
        rules.one(&[(b"CMAC    ", ())])?;
    }
    for (name, bit, set) in [
        (b"XPRT-SYM", 0x8000, true),
        (b"NOEX-SYM", 0x8000, false),
        (b"XPRTUASY", 0x4000, true),
        (b"NOEXUASY", 0x4000, false),
        (b"XPRTAASY", 0x2000, true),
        (b"NOEXAASY", 0x2000, false),
        (b"XPRT-RAW", 0x1000, true),
        (b"NOEX-RAW", 0x1000, false),
        (b"XPRTCPAC", 0x0800, true),
        (b"NOEXCPAC", 0x0800, false),
        (b"NOEX-DES", 0x0080, true),
        (b"NOEX-AES", 0x0040, true),
        (b"NOEX-RSA", 0x0008, true),
    ] {
        if rules.take(name) {
            token.management[0] = token.management[0] & !bit | if set { bit } else { 0 };
        }
    }
    rules.end()?;
    let name = context.request.bytes(2);
    ensure(matches!(name.len(), 0 | 64) && context.request.bytes(1).is_empty(), Code::LENGTH)?;
    let user = context.request.bytes(3);
    ensure(user.len() <= 255, Code::LENGTH)?;
    (token.name, token.user) = (name.to_vec(), user.to_vec());
    context.give(6, token.to_bytes())?;
    Ok(Code::OK)
}
