//! Skeletons of ECC keys: what CSNDPKB makes and CSNDPKG reads. Nobody else reads them; they are PKA tokens by their header and sections, with nothing in them.
//!
//! | offset | |
//! | --- | --- |
//! | 0 | 1E, 00, length (2), 0 (4) |
//! | 8 | section 20: id, version 00, length (2), 0 (4), usage, type of the curve, 40, 00, bits (2); zeros up to 76 bytes |
//! | 84 | section 21: id, version 00, length (2), 0 (4), type of the curve, 00, bits (2), 0 (2) |

use super::half;
use crate::error::{Result, ensure};
use adjunct_cca_wire::code::Code;

/// Bytes of a skeleton.
pub const LENGTH: usize = 8 + 76 + 14;

/// A skeleton of an ECC key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skeleton {
    /// The type of the curve.
    pub curve: u8,
    /// Bits of p.
    pub bits: u16,
    /// The usage byte.
    pub usage: u8,
}

impl Skeleton {
    /// The skeleton as bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        (out[0], out[3]) = (0x1e, LENGTH as u8);
        (out[8], out[11], out[16], out[17], out[18]) = (0x20, 76, self.usage, self.curve, 0x40);
        out[20..22].copy_from_slice(&self.bits.to_be_bytes());
        (out[84], out[87], out[92]) = (0x21, 14, self.curve);
        out[94..96].copy_from_slice(&self.bits.to_be_bytes());
        out
    }

    /// Reads the skeleton that an identifier begins with.
    ///
    /// # Errors
    /// 8/770.
    pub fn parse(identifier: &[u8]) -> Result<Skeleton> {
        ensure(identifier.len() >= LENGTH, Code::PKA_TOKEN)?;
        let read = Skeleton { curve: identifier[17], bits: half(identifier, 20) as u16, usage: identifier[16] };
        ensure(identifier[..LENGTH] == read.to_bytes(), Code::PKA_TOKEN)?;
        Ok(read)
    }
}
