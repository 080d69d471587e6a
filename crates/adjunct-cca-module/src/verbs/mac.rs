//! CSNBMGN and CSNBMVR: MACs by DES, of a message at once or in parts.
//!
//! | keyword | key | MAC |
//! | --- | --- | --- |
//! | X9.9-1 (of one part by default) | one part | DES in CBC, zeros as padding (ANSI X9.9; ISO 9797-1 algorithm 1) |
//! | X9.19OPT (of two parts by default) | two | DES in CBC by the left part, the end decrypted by the right and encrypted by the left (ANSI X9.19; ISO 9797-1 algorithm 3) |
//! | EMVMAC | one | as X9.9-1, with the bit 1 and zeros as padding |
//! | EMVMACD | two | as X9.19OPT, with that padding |
//! | TDES-MAC | two, three | triple DES in CBC, zeros as padding (ISO 16609) |
//! | CMAC | two, three | CMAC (SP 800-38B) |
//!
//! In the chaining vector of 18 bytes are the chaining value, the last block of the text so far, which may be its end, and the block's length.

use crate::context::{Context, DesKey};
use crate::des::{self, BLOCK};
use crate::error::{Result, ensure, fail};
use crate::vector::Type;
use crate::verbs::hash::Part;
use adjunct::catalogue::Direction;
use adjunct::ops::mac::{BlockCipher, CmacOnce};
use adjunct_cca_wire::code::Code;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Single { emv: bool },
    Retail { emv: bool },
    Triple,
    Cmac,
}

/// How a MAC is written, and whether that was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Bytes(usize),
    Hex,
    HexWithBlank,
}

struct Call {
    method: Option<Method>,
    part: Part,
    form: Option<Form>,
}

const VECTOR: usize = 3;
const MAC: usize = 4;

fn ready(context: &Context<'_>) -> Result<Call> {
    let mut rules = context.rules(2, 0, 3)?;
    let method = rules.one(&[
        (b"X9.9-1  ", Method::Single { emv: false }),
        (b"X9.19OPT", Method::Retail { emv: false }),
        (b"EMVMAC  ", Method::Single { emv: true }),
        (b"EMVMACD ", Method::Retail { emv: true }),
        (b"TDES-MAC", Method::Triple),
        (b"CMAC    ", Method::Cmac),
    ])?;
    let part = rules.one(&Part::WORDS)?.unwrap_or(Part::Only);
    let form = rules.one(&[
        (b"MACLEN4 ", Form::Bytes(4)),
        (b"MACLEN6 ", Form::Bytes(6)),
        (b"MACLEN8 ", Form::Bytes(8)),
        (b"HEX-8   ", Form::Hex),
        (b"HEX-9   ", Form::HexWithBlank),
    ])?;
    rules.end()?;
    Ok(Call { method, part, form })
}

impl Method {
    fn of(method: Option<Method>, length: usize) -> Result<Method> {
        let method = method.unwrap_or(match length {
            8 => Method::Single { emv: false },
            16 => Method::Retail { emv: false },
            _ => Method::Triple,
        });
        let fits = match method {
            Method::Single { .. } => length == 8,
            Method::Retail { .. } => length == 16,
            Method::Triple | Method::Cmac => length != 8,
        };
        ensure(fits, Code::KEY_LENGTH)?;
        Ok(method)
    }

    /// The key of the chain: of the retail MAC that is the left part alone.
    fn chaining(self, key: &DesKey) -> &[u8] {
        match self {
            Method::Retail { .. } => &key.key()[..BLOCK],
            _ => key.key(),
        }
    }

    /// Takes in whole blocks that others follow.
    fn absorb(self, key: &DesKey, chain: &mut [u8; BLOCK], blocks: &[u8]) -> Result {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut text = Zeroizing::new(blocks.to_vec());
        des::cbc(self.chaining(key), chain, true, &mut text)
    }

    /// Ends the message with its last block, which is of 1 to 8 bytes.
    fn finish(self, key: &DesKey, chain: &mut [u8; BLOCK], last: &[u8]) -> Result {
        let emv = matches!(self, Method::Single { emv: true } | Method::Retail { emv: true });
        if self == Method::Cmac {
            let mut three = des::Whole::default();
            let parts = key.key();
            three[..parts.len()].copy_from_slice(parts);
            if parts.len() == 16 {
                three.copy_within(..BLOCK, 16);
            }
            let mut mac = [0; 16];
            CmacOnce::new(BlockCipher::TripleDes).finish(
                Direction::Encrypt,
                &three[..],
                Some(&chain[..]),
                last,
                &mut mac,
            )?;
            chain.copy_from_slice(&mac[..BLOCK]);
            return Ok(());
        }
        let mut blocks = Zeroizing::new([0; 2 * BLOCK]);
        blocks[..last.len()].copy_from_slice(last);
        let mut length = BLOCK;
        if emv {
            blocks[last.len()] = 0x80;
            length = (last.len() + 1).next_multiple_of(BLOCK);
        }
        self.absorb(key, chain, &blocks[..length])?;
        if let Method::Retail { .. } = self {
            let (left, right) = key.key().split_at(BLOCK);
            des::ecb(right, false, chain)?;
            des::ecb(left, true, chain)?;
        }
        Ok(())
    }
}

/// Takes the text in; the MAC where the message ends.
fn run(context: &mut Context<'_>, call: &Call, kinds: &[Type]) -> Result<Option<[u8; BLOCK]>> {
    let key = context.des_key(0, kinds)?;
    let method = Method::of(call.method, key.token.length)?;
    let (mut chain, mut all) = ([0; BLOCK], Zeroizing::new(Vec::new()));
    if call.part.goes_on() {
        let vector = context.fixed::<18>(VECTOR)?;
        let waiting = usize::from(vector[16]);
        ensure((1..=BLOCK).contains(&waiting), Code::LENGTH)?;
        chain.copy_from_slice(&vector[..BLOCK]);
        all.extend_from_slice(&vector[BLOCK..BLOCK + waiting]);
    }
    let text = context.request.bytes(1);
    all.reserve(text.len());
    all.extend_from_slice(text);
    ensure(!all.is_empty(), Code::TEXT_LENGTH)?;
    // The last block waits: it may be the end, which methods pad.
    let (blocks, last) = all.split_at((all.len() - 1) / BLOCK * BLOCK);
    method.absorb(&key, &mut chain, blocks)?;
    if call.part.ends() {
        method.finish(&key, &mut chain, last)?;
        return Ok(Some(chain));
    }
    let mut vector = [0; 18];
    vector[..BLOCK].copy_from_slice(&chain);
    vector[BLOCK..BLOCK + last.len()].copy_from_slice(last);
    vector[16] = last.len() as u8;
    context.results.set_bytes(VECTOR, &vector);
    Ok(None)
}

/// The MAC as it is written.
fn written(mac: &[u8; BLOCK], form: Form) -> Vec<u8> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    match form {
        Form::Bytes(length) => mac[..length].to_vec(),
        Form::Hex => hex(&mac[..4]).into_bytes(),
        Form::HexWithBlank => format!("{} {}", hex(&mac[..2]), hex(&mac[2..4])).into_bytes(),
    }
}

pub(super) fn generate(context: &mut Context<'_>) -> Result<Code> {
    let call = ready(context)?;
    if let Some(mac) = run(context, &call, &[Type::Data, Type::Mac])? {
        let form = call.form.unwrap_or(Form::Bytes(4));
        context.results.set_bytes(MAC, &written(&mac, form));
    }
    Ok(Code::OK)
}

pub(super) fn verify(context: &mut Context<'_>) -> Result<Code> {
    let call = ready(context)?;
    let Some(mac) = run(context, &call, &[Type::Data, Type::Mac, Type::MacVer])? else { return Ok(Code::OK) };
    let form = call.form.unwrap_or(Form::Bytes(4));
    let given = context.request.bytes(MAC);
    let mac = written(&mac, form);
    if given.len() != mac.len() {
        return fail(Code::LENGTH);
    }
    Ok(if mac[..].ct_eq(given).into() { Code::OK } else { Code::NOT_VERIFIED })
}
