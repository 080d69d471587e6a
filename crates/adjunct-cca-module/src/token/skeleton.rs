//! Skeletons of ECC and RSA keys: what CSNDPKB makes and CSNDPKG reads. Nobody else reads them; they are PKA tokens by their header and sections, with nothing in them.
//!
//! | offset | |
//! | --- | --- |
//! | 0 | 1E, 00, length (2), 0 (4) |
//! | 8 | section 20: id, version 00, length (2), 0 (4), usage, type of the curve, 40, 00, bits (2); zeros up to 76 bytes |
//! | 84 | section 21: id, version 00, length (2), 0 (4), type of the curve, 00, bits (2), 0 (2) |
//!
//! Of an RSA key: section 31 of 134 bytes, with the usage at 50 of it and else zeros; at 142 section 04: id, version 00, length (2), 0 (2), length of e (2), bits (2), 0 (2), e.

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

/// A skeleton of an RSA key with CRT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RsaSkeleton {
    /// Bits of the modulus.
    pub bits: u16,
    /// The public exponent.
    pub e: Vec<u8>,
    /// The usage byte.
    pub usage: u8,
}

/// Where the public section of an RSA skeleton begins.
const RSA_PUBLIC: usize = 8 + 134;

impl RsaSkeleton {
    /// The skeleton as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![0; RSA_PUBLIC];
        let length = (RSA_PUBLIC + 12 + self.e.len()) as u16;
        out[0] = 0x1e;
        out[2..4].copy_from_slice(&length.to_be_bytes());
        (out[8], out[11], out[8 + 50]) = (0x31, 134, self.usage);
        out.extend_from_slice(&[4, 0, 0, 12 + self.e.len() as u8, 0, 0, 0, self.e.len() as u8]);
        out.extend_from_slice(&self.bits.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.e);
        out
    }

    /// Reads the skeleton that an identifier begins with.
    ///
    /// # Errors
    /// 8/770.
    pub fn parse(identifier: &[u8]) -> Result<RsaSkeleton> {
        let public = identifier.get(RSA_PUBLIC..).unwrap_or_default();
        let e = public.get(12..).and_then(|rest| rest.get(..half(public, 6))).unwrap_or_default();
        ensure((1..=8).contains(&e.len()), Code::PKA_TOKEN)?;
        let read = RsaSkeleton { bits: half(public, 8) as u16, e: e.to_vec(), usage: identifier[8 + 50] };
        ensure(identifier.starts_with(&read.to_bytes()), Code::PKA_TOKEN)?;
        Ok(read)
    }

    /// Whether an identifier is one of an RSA key.
    #[must_use]
    pub fn is(identifier: &[u8]) -> bool {
        identifier.get(8) == Some(&0x31)
    }
}
