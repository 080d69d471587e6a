//! Commands, queries and their replies ([`adjunct_ep11_wire::admin`]).
//!
//! The blobs that two commands take and give have the form of cards in a block that is made here. A program that makes blocks itself may have put one in the
//! form of its machine: it is turned where no signature vouches for the block. In the reply of a re-enciphering the blob has the form of the machine.

use crate::error::int;
use crate::forms;
use adjunct_ep11_wire::admin::{Block, Head, QUERY, Reply, command};

pub use adjunct_ep11_wire::admin::Reply as Said;
use adjunct_ep11_wire::message::{self, number};
use std::borrow::Cow;
use zeroize::Zeroizing;

/// The longest reply to a command, its signatures apart: a blob of 16 KiB and what is around it.
pub const LONGEST_REPLY: usize = 16384 + 256;
/// No error is below it (`XCP_ADMERR_MIN`).
const LEAST: i64 = i64::MIN;

/// Errors of functions that return a `long`, beside [`int`].
#[allow(missing_docs)]
pub mod error {
    use super::LEAST;
    pub const QUERY_FAILED: i64 = LEAST + 0x101;
    pub const NOT_ENOUGH_SIGNATURES: i64 = LEAST + 0x102;
    pub const SIGNING_FAILED: i64 = LEAST + 0x103;
    pub const COMMAND_FAILED: i64 = LEAST + 0x104;
    pub const CARD_CPS: i64 = LEAST + 0x105;
    pub const UNEXPECTED_RV: i64 = LEAST + 0x106;
    pub const COMPLIANCE_CONFLICT: i64 = LEAST + 0x107;
    pub const NEEDS_FORCE: i64 = LEAST + 0x108;
    pub const COUNTER: i64 = LEAST + 0x109;
    pub const SI_HASH: i64 = LEAST + 0x151;
    pub const SI_SIGNATURE: i64 = LEAST + 0x152;
    pub const SI_MISMATCH: i64 = LEAST + 0x153;
    pub const SI_EMPTY: i64 = LEAST + 0x154;
    pub const SI_SIZE: i64 = LEAST + 0x155;
    pub const RI_EMPTY: i64 = LEAST + 0x181;
    pub const RI_UKM: i64 = LEAST + 0x182;
    pub const RI_IMPORTER: i64 = LEAST + 0x183;
    pub const RI_RSA_ALGORITHM: i64 = LEAST + 0x184;
    pub const RI_WRAP_SIZE: i64 = LEAST + 0x185;
    pub const RI_POINT: i64 = LEAST + 0x186;
    pub const RI_SKI: i64 = LEAST + 0x187;
    pub const RI_RSA_OID: i64 = LEAST + 0x188;
    pub const RI_EC_OID: i64 = LEAST + 0x189;
    pub const RI_VERSION: i64 = LEAST + 0x18a;
    pub const RI_WRAP_ALGORITHM: i64 = LEAST + 0x18b;
}

/// An error of a function that returns a `long`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed(pub i64);

impl From<i32> for Failed {
    fn from(error: i32) -> Failed {
        Failed(error.into())
    }
}

/// Whether a block is a query; `None` where it is no block.
pub fn is_query(block: &[u8]) -> Option<bool> {
    Some(Block::parse(block)?.head.number & QUERY != 0)
}

/// Whether a command takes a blob.
fn takes_a_blob(number: u32) -> bool {
    matches!(number, command::REENCRYPT | command::SET_TRUSTED)
}

/// A command as a card takes it.
pub fn inward(block: &[u8], signed: bool) -> Cow<'_, [u8]> {
    let parsed = Block::parse(block).filter(|block| !signed && takes_a_blob(block.head.number));
    let Some(Block { head, payload }) = parsed else { return Cow::Borrowed(block) };
    match forms::inward(payload) {
        Cow::Borrowed(_) => Cow::Borrowed(block),
        Cow::Owned(payload) => Cow::Owned(Block { head, payload: &payload }.to_bytes().to_vec()),
    }
}

/// A card's reply as a program reads it.
pub fn outward(reply: &[u8]) -> Cow<'_, [u8]> {
    let Some(Reply { head, rv: 0, output }) = Reply::parse(reply) else { return Cow::Borrowed(reply) };
    if !takes_a_blob(head.number) {
        return Cow::Borrowed(reply);
    }
    let mut blob = output.to_vec();
    forms::outward(&mut blob);
    Cow::Owned(Reply { head, rv: 0, output: &blob }.to_bytes().to_vec())
}

/// A query of a domain.
pub fn query(number: u32, domain: u32, payload: &[u8]) -> Zeroizing<Vec<u8>> {
    let head = Head { number, domain, instance: 0, module: [0; 16], counter: [0; 16] };
    Block { head, payload }.to_bytes()
}

/// What a command's block is made for, as a query has said: `counter` is that of the last command, unless one is given for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct For {
    /// The domain.
    pub domain: u32,
    /// Its instance.
    pub instance: u32,
    /// The module.
    pub module: [u8; 16],
    /// The counter of the last command.
    pub counter: [u8; 16],
}

/// A command.
///
/// # Errors
/// [`error::COUNTER`] where there is no next counter.
pub fn command(number: u32, of: &For, counter: Option<[u8; 16]>, payload: &[u8]) -> Result<Zeroizing<Vec<u8>>, Failed> {
    let For { domain, instance, module, .. } = *of;
    // It changes nothing of the domain: any of its instances, by any caller, at any time.
    if number == command::REENCRYPT {
        let head = Head { number, domain, instance: 0, module: [0; 16], counter: [0; 16] };
        return Ok(Block { head, payload: &forms::inward(payload) }.to_bytes());
    }
    let next = || u128::from_be_bytes(of.counter).checked_add(1).map(u128::to_be_bytes);
    let counter = counter.or_else(next).ok_or(Failed(error::COUNTER))?;
    let payload = if takes_a_blob(number) { forms::inward(payload) } else { Cow::Borrowed(payload) };
    Ok(Block { head: Head { number, domain, instance, module, counter }, payload: &payload }.to_bytes())
}

/// What a reply says.
///
/// # Errors
/// [`int::INVALID`] for what is none.
pub fn reply(bytes: &[u8]) -> Result<Reply<'_>, Failed> {
    Reply::parse(bytes).ok_or(int::INVALID.into())
}

/// The reason in a reply; 0 where it has none.
pub fn reason(reply: &Reply<'_>) -> u32 {
    let word = reply.output.get(..4).filter(|_| reply.rv != 0);
    word.and_then(number).unwrap_or_default()
}

/// A certificate that takes the place of another.
pub fn certificate_replacement(ski: &[u8], certificate: &[u8]) -> Zeroizing<Vec<u8>> {
    message::sequence(&[ski, certificate])
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_ep11_wire::blob;

    const OF: For = For { domain: 3, instance: 7, module: [1; 16], counter: [0xff; 16] };

    fn a_blob() -> Vec<u8> {
        let mut bytes = vec![0; 192];
        bytes[52..56].copy_from_slice(&0x8d26_u32.to_be_bytes());
        bytes[64..66].copy_from_slice(&blob::MAGIC);
        bytes
    }

    #[test]
    fn commands_have_the_next_counter() {
        assert_eq!(command(command::GEN_WK, &OF, None, b"").err(), Some(Failed(error::COUNTER)));
        let of = For { counter: [0; 16], ..OF };
        let bytes = command(command::GEN_WK, &of, None, b"p").unwrap();
        let block = Block::parse(&bytes).unwrap();
        assert_eq!((block.head.counter, block.payload), (1_u128.to_be_bytes(), &b"p"[..]));
        assert_eq!((block.head.domain, block.head.instance, block.head.module), (3, 7, [1; 16]));
        let bytes = command(command::GEN_WK, &OF, Some([9; 16]), b"").unwrap();
        assert_eq!(Block::parse(&bytes).unwrap().head.counter, [9; 16]);
        assert_eq!(
            (is_query(&bytes), is_query(b""), is_query(&query(QUERY | 7, 3, b""))),
            (Some(false), None, Some(true))
        );
    }

    #[test]
    fn blobs_have_the_form_of_cards() {
        let card = a_blob();
        let mut seen = card.clone();
        forms::outward(&mut seen);
        // Whatever a program has not set does not matter.
        let bytes = command(command::REENCRYPT, &OF, None, &seen).unwrap();
        let block = Block::parse(&bytes).unwrap();
        assert_eq!((block.payload, block.head.counter, block.head.module), (&card[..], [0; 16], [0; 16]));
        let own = Block { head: block.head, payload: &seen }.to_bytes();
        assert_eq!(*inward(&own, false), *bytes);
        assert_eq!(*inward(&own, true), *own);
        let said = Reply { head: block.head, rv: 0, output: &card }.to_bytes();
        assert_eq!(reply(&outward(&said)).unwrap().output, seen);
        let failed = Reply { head: block.head, rv: 6, output: &86_u32.to_be_bytes() }.to_bytes();
        assert_eq!(*outward(&failed), *failed);
        assert_eq!(reason(&reply(&failed).unwrap()), 86);
    }
}
