//! DES tokens, 64 bytes.
//!
//! | offset | |
//! | --- | --- |
//! | 0, 4, 6, 7 | 01 internal or 02 external; version 00 or 01; flags; method |
//! | 8 | pattern of the master key |
//! | 16, 24, 48 | the parts of the key |
//! | 32, 40 | control vectors of the left and the right part |
//! | 59 | parts of a DATA key without control vector: 00 one, 10 two, 20 three |
//! | 60 | token validation value |

use super::{FIXED, part, seal, sealed};
use crate::error::{Result, ensure, fail};
use crate::pattern::Mkvp;
use crate::vector::{self, Type, Vector};
use crate::wrap::Method;
use adjunct_cca_wire::code::Code;

/// Flag: the key is there, and of an internal token the pattern.
const PRESENT: u8 = 0x80;
/// Flag: a control vector was applied.
const VECTOR: u8 = 0x40;
/// Flag: a key-encrypting key that applies no control vector.
const NOCV: u8 = 0x20;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Whether the key is under a key-encrypting key.
    pub external: bool,
    /// The version, 0 or 1.
    pub version: u8,
    /// Whether there is a key; else the token is a skeleton.
    pub present: bool,
    /// Whether the key, which wraps others, applies no control vector.
    pub nocv: bool,
    /// How the key is wrapped.
    pub method: Method,
    /// The pattern of the master key; of an external token zeros.
    pub mkvp: Mkvp,
    /// The control vectors of the left and the right part.
    pub vectors: [Vector; 2],
    /// Bytes of the key.
    pub length: usize,
    /// The key as it is wrapped: the first [`Token::length`] bytes.
    pub wrapped: [u8; 24],
}

impl Token {
    /// Reads the token that an identifier begins with.
    ///
    /// # Errors
    /// 8/12, 8/29 for the validation value; 8/49 for a version; 8/47 for all else.
    pub fn parse(identifier: &[u8]) -> Result<Token> {
        let token = sealed(identifier)?;
        ensure(matches!(token[0], 1 | 2), Code::TOKEN)?;
        ensure(token[4] < 2, Code::TOKEN_VERSION)?;
        let zeros = [&token[1..4], &token[5..6], &token[56..59]];
        ensure(zeros.iter().all(|bytes| bytes.iter().all(|byte| *byte == 0)), Code::TOKEN)?;
        let (external, flags) = (token[0] == 2, token[6]);
        let vectors: [Vector; 2] = [part(token, 32), part(token, 40)];
        let none = vectors == [[0; 8]; 2];
        ensure(flags & 0x1f == 0 && vectors.iter().all(vector::is_even), Code::TOKEN)?;
        let length = match (none, token[59]) {
            (true, 0x00) => Some(8),
            (true, 0x10) => Some(16),
            (true, 0x20) => Some(24),
            // Version 01 is that of DATA keys without control vector.
            (false, 0x00) if token[4] == 0 || external => vector::key_length(&vectors[0]),
            _ => None,
        };
        let Some(length) = length else { return fail(Code::TOKEN) };
        let mut wrapped = [0; 24];
        wrapped[..16].copy_from_slice(&token[16..32]);
        wrapped[16..].copy_from_slice(&token[48..56]);
        let present = flags & PRESENT != 0;
        let rest = if present { &wrapped[length..] } else { &wrapped[..] };
        ensure(rest.iter().all(|byte| *byte == 0), Code::TOKEN)?;
        let mkvp: Mkvp = part(token, 8);
        ensure(present && !external || mkvp == [0; 8], Code::TOKEN)?;
        let method = if present { Method::of(token[7])? } else { Method::Ecb };
        Ok(Token {
            external,
            version: token[4],
            present,
            nocv: flags & NOCV != 0,
            method,
            mkvp,
            vectors,
            length,
            wrapped,
        })
    }

    /// The token as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; FIXED] {
        let mut token = [0; FIXED];
        let none = self.vectors == [[0; 8]; 2];
        token[0] = if self.external { 2 } else { 1 };
        token[4] = self.version;
        let flag = |flag: u8, set: bool| if set { flag } else { 0 };
        token[6] = flag(PRESENT, self.present) | flag(VECTOR, !none) | flag(NOCV, self.nocv);
        token[7] = if self.present { self.method as u8 } else { 0 };
        token[8..16].copy_from_slice(&self.mkvp);
        token[16..32].copy_from_slice(&self.wrapped[..16]);
        token[32..40].copy_from_slice(&self.vectors[0]);
        token[40..48].copy_from_slice(&self.vectors[1]);
        token[48..56].copy_from_slice(&self.wrapped[16..]);
        token[59] = match self.length {
            16 if none => 0x10,
            24 if none => 0x20,
            _ => 0,
        };
        seal(&mut token);
        token
    }

    /// A skeleton: a token without a key, with the default control vectors.
    ///
    /// # Errors
    /// 8/43 for a length that the type has not.
    pub fn skeleton(kind: Type, length: usize) -> Result<Token> {
        let (method, mkvp, wrapped) = (Method::Ecb, [0; 8], [0; 24]);
        let vectors = vector::default(kind, length)?;
        Ok(Token { external: false, version: 0, present: false, nocv: false, method, mkvp, vectors, length, wrapped })
    }

    /// What the key is for; `None` where no service here takes such a key.
    #[must_use]
    pub fn kind(&self) -> Option<Type> {
        Type::of_vector(&self.vectors[0])
    }
}
