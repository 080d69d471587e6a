//! Blocks of administration (`m_admin`): DER SEQUENCEs of OCTET STRINGs.
//!
//! ```text
//! command or query:  SEQUENCE { number (4) | domain (8: index, instance) | module (16) | counter (16) | payload }
//! reply:             SEQUENCE { number (4) | domain (8) | module (16) | counter (16) | return value (4) | output }
//! ```
//!
//! The number of a query has [`QUERY`] added. Domain, module and counter may be empty, which stands for zeros. Where the return value is not `CKR_OK`, the first four bytes of the output are a reason.

use crate::message::{fields, number, sequence};
use zeroize::Zeroizing;

/// What is added to the numbers of queries.
pub const QUERY: u32 = 0x1_0000;

/// Commands.
#[allow(missing_docs)]
pub mod command {
    pub const ADMIN_LOGIN: u32 = 1;
    pub const DOM_ADMIN_LOGIN: u32 = 2;
    pub const ADMIN_LOGOUT: u32 = 3;
    pub const DOM_ADMIN_LOGOUT: u32 = 4;
    pub const ADMIN_REPLACE: u32 = 5;
    pub const DOM_ADMIN_REPLACE: u32 = 6;
    pub const SET_ATTR: u32 = 7;
    pub const DOM_SET_ATTR: u32 = 8;
    pub const GEN_DOM_IMPORTER: u32 = 9;
    pub const GEN_WK: u32 = 10;
    pub const EXPORT_WK: u32 = 11;
    pub const IMPORT_WK: u32 = 12;
    pub const COMMIT_WK: u32 = 13;
    pub const FINALIZE_WK: u32 = 14;
    pub const ZEROIZE: u32 = 15;
    pub const DOM_ZEROIZE: u32 = 16;
    pub const DOM_CTRLPOINT_SET: u32 = 17;
    pub const DOM_CTRLPOINT_ADD: u32 = 18;
    pub const DOM_CTRLPOINT_DEL: u32 = 19;
    pub const SET_CLOCK: u32 = 20;
    pub const SET_FCV: u32 = 21;
    pub const CTRLPOINT_SET: u32 = 22;
    pub const CTRLPOINT_ADD: u32 = 23;
    pub const CTRLPOINT_DEL: u32 = 24;
    pub const REENCRYPT: u32 = 25;
    pub const RK_REMOVE: u32 = 26;
    pub const CLEAR_WK: u32 = 27;
    pub const CLEAR_NEXT_WK: u32 = 28;
    pub const SYSTEM_ZEROIZE: u32 = 29;
    pub const EXPORT_STATE: u32 = 30;
    pub const IMPORT_STATE: u32 = 31;
    pub const COMMIT_STATE: u32 = 32;
    pub const REMOVE_STATE: u32 = 33;
    pub const GEN_MODULE_IMPORTER: u32 = 34;
    pub const SET_TRUSTED: u32 = 35;
    pub const DOMAINS_ZEROIZE: u32 = 36;
    pub const EXPORT_NEXT_WK: u32 = 38;
    pub const SESSION_REMOVE: u32 = 39;
}

/// Queries, without [`QUERY`].
#[allow(missing_docs)]
pub mod query {
    pub const ADMIN: u32 = 1;
    pub const DOMADMIN: u32 = 2;
    pub const DEVICE_CERT: u32 = 3;
    pub const DOM_IMPORTER_CERT: u32 = 4;
    pub const CTRLPOINTS: u32 = 5;
    pub const DOM_CTRLPOINTS: u32 = 6;
    pub const WK: u32 = 7;
    pub const NEXT_WK: u32 = 8;
    pub const ATTRS: u32 = 9;
    pub const DOM_ATTRS: u32 = 10;
    pub const FCV: u32 = 11;
    pub const WK_ORIGINS: u32 = 12;
    pub const RKLIST: u32 = 13;
    pub const INTERNAL_STATE: u32 = 14;
    pub const IMPORTER_CERT: u32 = 15;
    pub const AUDIT_STATE: u32 = 16;
    pub const LASTCMD_DOM_MASK: u32 = 17;
    pub const SVCADMIN: u32 = 18;
    pub const LOGIN_IMPORTER: u32 = 19;
}

/// What a block and its reply begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The command, or a query with [`QUERY`].
    pub number: u32,
    /// The domain.
    pub domain: u32,
    /// Its instance, which changes when it is zeroized.
    pub instance: u32,
    /// The module: its number and instance, 8 bytes each.
    pub module: [u8; 16],
    /// The transaction counter.
    pub counter: [u8; 16],
}

impl Head {
    fn parse(fields: &[&[u8]; 4]) -> Option<Head> {
        let [code, domain, module, counter] = fields;
        let wide = |field: &[u8]| if field.is_empty() { Some([0; 16]) } else { field.try_into().ok() };
        let (index, instance) = match domain {
            [] => (0, 0),
            domain => {
                let (index, instance) = domain.split_at_checked(4)?;
                (number(index)?, number(instance)?)
            }
        };
        Some(Head { number: number(code)?, domain: index, instance, module: wide(module)?, counter: wide(counter)? })
    }

    fn fields(&self) -> ([u8; 4], [u8; 8]) {
        let mut domain = [0; 8];
        domain[..4].copy_from_slice(&self.domain.to_be_bytes());
        domain[4..].copy_from_slice(&self.instance.to_be_bytes());
        (self.number.to_be_bytes(), domain)
    }
}

/// A command or query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// What it begins with.
    pub head: Head,
    /// What the command takes.
    pub payload: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads a block that is all of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Option<Block<'a>> {
        let fields = fields(bytes)?;
        let (head, [payload]) = fields.all().split_first_chunk::<4>()? else { return None };
        Some(Block { head: Head::parse(head)?, payload })
    }

    /// Writes the block.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (number, domain) = self.head.fields();
        sequence(&[&number, &domain, &self.head.module, &self.head.counter, self.payload])
    }
}

/// A reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// What it begins with: the counter is that after the command.
    pub head: Head,
    /// The return value.
    pub rv: u32,
    /// The output, or a reason.
    pub output: &'a [u8],
}

impl<'a> Reply<'a> {
    /// Reads a reply that is all of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Option<Reply<'a>> {
        let fields = fields(bytes)?;
        let (head, [rv, output]) = fields.all().split_first_chunk::<4>()? else { return None };
        Some(Reply { head: Head::parse(head)?, rv: number(rv)?, output })
    }

    /// Writes the reply.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (number, domain) = self.head.fields();
        sequence(&[&number, &domain, &self.head.module, &self.head.counter, &self.rv.to_be_bytes(), self.output])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_as_they_were_sent() {
        let head = Head { number: command::GEN_WK, domain: 7, instance: 9, module: [1; 16], counter: [2; 16] };
        let block = Block { head, payload: b"payload" };
        assert_eq!(Block::parse(&block.to_bytes()), Some(block));
        let reply = Reply { head, rv: 0, output: b"" };
        let bytes = reply.to_bytes();
        assert_eq!(Reply::parse(&bytes), Some(reply));
        assert_eq!(Block::parse(&bytes), None);
        assert_eq!(Reply::parse(&bytes[..bytes.len() - 1]), None);
        // Who asks needs not know module and counter.
        let number = (QUERY + query::WK).to_be_bytes();
        let zeros = Head { number: QUERY + query::WK, domain: 3, instance: 0, module: [0; 16], counter: [0; 16] };
        let short = sequence(&[&number, &[0, 0, 0, 3, 0, 0, 0, 0], &[], &[], b"ski"]);
        assert_eq!(Block::parse(&short), Some(Block { head: zeros, payload: b"ski" }));
        let shorter = sequence(&[&number, &[], &[], &[], b"ski"]);
        assert_eq!(Block::parse(&shorter).map(|block| block.head.domain), Some(0));
    }
}
