//! AES DATA tokens: 64 bytes, version 04.
//!
//! | offset | |
//! | --- | --- |
//! | 0, 4, 6, 7 | 01; version 04; flags; LRC, the XOR of a clear key's bytes |
//! | 8 | pattern of the master key |
//! | 16 | the key, left-justified in 32 bytes |
//! | 48 | control vector: zeros |
//! | 56, 58 | bits of the key; bytes that it is encrypted in: 32, or 0 where it is clear or not there |
//! | 60 | token validation value |

use super::{FIXED, half, part, seal, sealed};
use crate::error::{Result, ensure};
use crate::pattern::Mkvp;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// Flag: the key is encrypted, and the pattern there.
const ENCRYPTED: u8 = 0x80;
/// Flag: there is a control vector, all zeros.
const VECTOR: u8 = 0x40;

/// What is in the place of the key.
#[derive(Clone, PartialEq, Eq)]
pub enum Contents {
    /// Nothing: a skeleton.
    Empty,
    /// The clear key, with zeros behind it.
    Clear(Zeroizing<[u8; 32]>),
    /// The key under a master key of such a pattern.
    Wrapped(Mkvp, [u8; 32]),
}

// A clear key is a secret.
adjunct::opaque_debug!(Contents);

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The key.
    pub contents: Contents,
    /// Bytes of the key: 16, 24 or 32; of a skeleton 0 too.
    pub length: usize,
}

impl Token {
    /// Whether an identifier is such a token by its type and version.
    #[must_use]
    pub fn is(identifier: &[u8]) -> bool {
        identifier.len() >= FIXED && identifier[0] == 1 && identifier[4] == 4
    }

    /// Reads the token that an identifier begins with.
    ///
    /// # Errors
    /// 8/29 for the validation value; 8/49 for a version; 8/47 for all else, the LRC of a clear key too.
    pub fn parse(identifier: &[u8]) -> Result<Token> {
        let token = sealed(identifier)?;
        ensure(token[0] == 1, Code::TOKEN)?;
        ensure(token[4] == 4, Code::TOKEN_VERSION)?;
        let zeros = [&token[1..4], &token[5..6], &token[48..56]];
        ensure(zeros.iter().all(|bytes| bytes.iter().all(|byte| *byte == 0)), Code::TOKEN)?;
        let (flags, bits, bytes) = (token[6], half(token, 56), half(token, 58));
        let length = bits / 8;
        ensure(flags & !(ENCRYPTED | VECTOR) == 0 && matches!(bits, 0 | 128 | 192 | 256), Code::TOKEN)?;
        let (mkvp, key): (Mkvp, [u8; 32]) = (part(token, 8), part(token, 16));
        let key = Zeroizing::new(key);
        let contents = if flags & ENCRYPTED != 0 {
            ensure(length != 0 && bytes == 32 && token[7] == 0, Code::TOKEN)?;
            Contents::Wrapped(mkvp, *key)
        } else {
            let padded = key[length..].iter().fold(0, |all, byte| all | byte) == 0;
            let lrc = key.iter().fold(0, |sum, byte| sum ^ byte);
            ensure(mkvp == [0; 8] && bytes == 0 && padded && lrc == token[7], Code::TOKEN)?;
            // No AES key is zeros: openCryptoki, too, tells skeletons so.
            if key.iter().fold(0, |all, byte| all | byte) == 0 { Contents::Empty } else { Contents::Clear(key) }
        };
        Ok(Token { contents, length })
    }

    /// The token as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; FIXED]> {
        let mut token = Zeroizing::new([0; FIXED]);
        token[0] = 1;
        token[4] = 4;
        token[56..58].copy_from_slice(&(self.length as u16 * 8).to_be_bytes());
        match &self.contents {
            Contents::Empty => {}
            Contents::Clear(key) => {
                token[7] = key.iter().fold(0, |sum, byte| sum ^ byte);
                token[16..48].copy_from_slice(&key[..]);
            }
            Contents::Wrapped(mkvp, key) => {
                token[6] = ENCRYPTED | VECTOR;
                token[8..16].copy_from_slice(mkvp);
                token[16..48].copy_from_slice(key);
                token[58..60].copy_from_slice(&32_u16.to_be_bytes());
            }
        }
        seal(&mut token);
        token
    }
}
