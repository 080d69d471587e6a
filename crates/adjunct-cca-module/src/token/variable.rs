//! Symmetric tokens of variable length, version 05.
//!
//! | offset | |
//! | --- | --- |
//! | 0, 2, 4 | 01 internal or 02 external; length of all (2); 05 |
//! | 8, 9, 10 | state of the key; kind of the pattern; pattern (16, of which 8 are used) |
//! | 26, 27, 28 | how the key is wrapped; hash of the associated data; format of the payload |
//! | 30 | associated data: version 01, 0, its length (2), lengths of name, extended and user data, 0, bits of the payload (2), 0, algorithm, type (2), number of usage fields, those (2 each), number of management fields, those (2 each), name, extended data, user data |
//! | then | the payload |

use super::{half, part};
use crate::error::{Result, ensure, fail};
use crate::pattern::Mkvp;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// Where the associated data begins.
const ASSOCIATED: usize = 30;
/// Where the usage fields begin.
const FIELDS: usize = 45;
/// The longest token.
pub const LONGEST: usize = 725;
/// Bytes of a name.
const NAME: usize = 64;

/// Algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Algorithm {
    /// DES.
    Des = 1,
    /// AES.
    Aes = 2,
    /// HMAC.
    Hmac = 3,
}

/// What is in the place of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing: a skeleton.
    Empty,
    /// The clear key.
    Clear,
    /// The key under a key-encrypting key of such a pattern.
    Exported(Mkvp),
    /// The key under a master key of such a pattern.
    Wrapped(Mkvp),
}

/// The format of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Payload {
    /// Its length shows that of the key.
    Variable = 0,
    /// It is as long for all keys of the algorithm.
    Fixed = 1,
}

/// The type of a CIPHER key, in [`Token::kind`].
pub const CIPHER: u16 = 1;
/// The type of a MAC key.
pub const MAC: u16 = 2;
/// The type of a key that wraps keys that leave.
pub const EXPORTER: u16 = 3;
/// The type of a key that wraps keys that come.
pub const IMPORTER: u16 = 4;

/// What a token says.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The state of the key.
    pub state: State,
    /// The format of the payload.
    pub format: Payload,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The type.
    pub kind: u16,
    /// The usage fields.
    pub usage: Vec<u16>,
    /// The management fields.
    pub management: Vec<u16>,
    /// The name, of 64 bytes, or none.
    pub name: Vec<u8>,
    /// IBM's extended data.
    pub extended: Vec<u8>,
    /// The user's data.
    pub user: Vec<u8>,
    /// Bits of the payload.
    pub bits: usize,
    /// The payload.
    pub payload: Zeroizing<Vec<u8>>,
}

adjunct::opaque_debug!(Token);

fn fields(bytes: &[u8]) -> Option<(Vec<u16>, &[u8])> {
    let (&count, rest) = bytes.split_first()?;
    let (fields, rest) = rest.split_at_checked(usize::from(count) * 2)?;
    Some((fields.as_chunks().0.iter().map(|field| u16::from_be_bytes(*field)).collect(), rest))
}

impl Token {
    /// Whether an identifier is such a token by its type and version.
    #[must_use]
    pub fn is(identifier: &[u8]) -> bool {
        identifier.len() > 4 && matches!(identifier[0], 1 | 2) && identifier[4] == 5
    }

    /// Reads the token that an identifier begins with.
    ///
    /// # Errors
    /// 8/49 for a version; 8/47 for all else.
    pub fn parse(identifier: &[u8]) -> Result<Token> {
        ensure(identifier.len() > FIELDS && matches!(identifier[0], 1 | 2), Code::TOKEN)?;
        ensure(identifier[4] == 5, Code::TOKEN_VERSION)?;
        let length = half(identifier, 2);
        let Some(token) = identifier.get(..length).filter(|_| length > FIELDS && length <= LONGEST) else {
            return fail(Code::TOKEN);
        };
        let zeros = [
            &token[1..2],
            &token[5..8],
            &token[18..26],
            &token[29..30],
            &token[31..32],
            &token[37..38],
            &token[40..41],
        ];
        ensure(zeros.iter().all(|bytes| bytes.iter().all(|byte| *byte == 0)) && token[30] == 1, Code::TOKEN)?;
        let pattern: Mkvp = part(token, 10);
        let state = match (token[0], token[8], token[9], token[26], token[27]) {
            (1, 0, 0, 0, 0) if pattern == [0; 8] => State::Empty,
            (1, 1, 0, 0, 0) if pattern == [0; 8] => State::Clear,
            (1, 3, 1, 2, 2) => State::Wrapped(pattern),
            (2, 2, 2, 2, 2) => State::Exported(pattern),
            _ => return fail(Code::TOKEN),
        };
        let format = match token[28] {
            0 => Payload::Variable,
            1 => Payload::Fixed,
            _ => return fail(Code::TOKEN),
        };
        let algorithm = match token[41] {
            1 => Algorithm::Des,
            2 => Algorithm::Aes,
            3 => Algorithm::Hmac,
            _ => return fail(Code::TOKEN),
        };
        let Some((associated, payload)) = token[ASSOCIATED..].split_at_checked(half(token, 32)) else {
            return fail(Code::TOKEN);
        };
        let lengths = [token[34], token[35], token[36]].map(usize::from);
        let parts = associated.get(FIELDS - 1 - ASSOCIATED..).and_then(|rest| {
            let (usage, rest) = fields(rest)?;
            let (management, rest) = fields(rest)?;
            let (name, rest) = rest.split_at_checked(lengths[0])?;
            let (extended, rest) = rest.split_at_checked(lengths[1])?;
            let (user, rest) = rest.split_at_checked(lengths[2])?;
            rest.is_empty().then_some((usage, management, name.to_vec(), extended.to_vec(), user.to_vec()))
        });
        let Some((usage, management, name, extended, user)) = parts else { return fail(Code::TOKEN) };
        let bits = half(token, 38);
        let there = state == State::Empty || bits.div_ceil(8) == payload.len();
        ensure(matches!(lengths[0], 0 | NAME) && there, Code::TOKEN)?;
        ensure(state != State::Empty || payload.is_empty(), Code::TOKEN)?;
        let (kind, payload) = (half(token, 42) as u16, Zeroizing::new(payload.to_vec()));
        Ok(Token { state, format, algorithm, kind, usage, management, name, extended, user, bits, payload })
    }

    /// The associated data, which AESKW binds to the key.
    #[must_use]
    pub fn associated(&self) -> Vec<u8> {
        let length = FIELDS + 1 - ASSOCIATED + 2 * (self.usage.len() + self.management.len());
        let length = length + self.name.len() + self.extended.len() + self.user.len();
        let mut out = vec![1, 0];
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.extend([self.name.len(), self.extended.len(), self.user.len(), 0].map(|length| length as u8));
        out.extend_from_slice(&(self.bits as u16).to_be_bytes());
        out.extend([0, self.algorithm as u8]);
        out.extend_from_slice(&self.kind.to_be_bytes());
        for fields in [&self.usage, &self.management] {
            out.push(fields.len() as u8);
            fields.iter().for_each(|field| out.extend_from_slice(&field.to_be_bytes()));
        }
        [&self.name, &self.extended, &self.user].iter().for_each(|part| out.extend_from_slice(part));
        out
    }

    /// The token as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let associated = self.associated();
        let mut out = Zeroizing::new(Vec::with_capacity(ASSOCIATED + associated.len() + self.payload.len()));
        out.resize(ASSOCIATED, 0);
        let (class, state, kind, pattern) = match self.state {
            State::Empty => (1, 0, 0, [0; 8]),
            State::Clear => (1, 1, 0, [0; 8]),
            State::Exported(pattern) => (2, 2, 2, pattern),
            State::Wrapped(pattern) => (1, 3, 1, pattern),
        };
        (out[0], out[4], out[8], out[9]) = (class, 5, state, kind);
        out[2..4].copy_from_slice(&((ASSOCIATED + associated.len() + self.payload.len()) as u16).to_be_bytes());
        out[10..18].copy_from_slice(&pattern);
        if matches!(self.state, State::Exported(_) | State::Wrapped(_)) {
            (out[26], out[27]) = (2, 2);
        }
        out[28] = self.format as u8;
        out.extend_from_slice(&associated);
        out.extend_from_slice(&self.payload);
        out
    }

    /// Whether all parts of the key came, by the first two bits of the second management field: 00; 01 where no part is missing and nobody has said that it is
    /// complete, 10 and 11 where one and two parts at least are missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.management.get(1).is_none_or(|field| field & 0xc000 == 0)
    }

    /// Bytes of the block that AESKW makes of a key of so many bytes.
    #[must_use]
    pub fn block(&self, key: usize) -> usize {
        match self.format {
            Payload::Variable => crate::aeskw::length(key),
            Payload::Fixed => crate::aeskw::length(32),
        }
    }
}
