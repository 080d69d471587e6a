//! PCC: scalar multiplication on the NIST curves (FIPS 186-5), X25519 and X448 (RFC 7748), Ed25519 and Ed448 (RFC 8032).

use super::block::Page;
use super::{Assist, Edwards, Instruction, Machine, Refused, Registers};

/// A prime curve of NIST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nist {
    /// P-256.
    P256,
    /// P-384.
    P384,
    /// P-521.
    P521,
}

impl Nist {
    /// All curves.
    pub const ALL: [Nist; 3] = [Nist::P256, Nist::P384, Nist::P521];

    /// The length of a coordinate and of a scalar in bytes.
    pub const fn length(self) -> usize {
        match self {
            Nist::P256 => 32,
            Nist::P384 => 48,
            Nist::P521 => 66,
        }
    }

    /// The width of a field in the parameter block, in bytes.
    pub const fn width(self) -> usize {
        match self {
            Nist::P521 => 80,
            _ => self.length(),
        }
    }

    /// PCC's function code.
    pub const fn multiply_code(self) -> u8 {
        64 + self as u8
    }

    /// KDSA's function code to verify.
    pub const fn verify_code(self) -> u8 {
        1 + self as u8
    }

    /// KDSA's function code to sign.
    pub const fn sign_code(self) -> u8 {
        9 + self as u8
    }
}

/// A curve of RFC 7748.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Montgomery {
    /// X25519.
    X25519,
    /// X448.
    X448,
}

impl Montgomery {
    /// The length of a key in bytes.
    pub const fn length(self) -> usize {
        match self {
            Montgomery::X25519 => 32,
            Montgomery::X448 => 56,
        }
    }

    /// The width of a field in the parameter block, in bytes.
    pub const fn width(self) -> usize {
        match self {
            Montgomery::X25519 => 32,
            Montgomery::X448 => 64,
        }
    }

    /// PCC's function code.
    pub const fn code(self) -> u8 {
        80 + self as u8
    }
}

impl<M: Machine> Assist<M> {
    /// scalar * (x, y); big-endian numbers of [`Nist::length`] bytes. The result goes to `x` and `y`.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done. [`Refused::Condition`]: the point or the scalar is none, or the result is the
    /// point at infinity.
    ///
    /// # Panics
    /// If a number has another length.
    pub fn multiply(&self, curve: Nist, scalar: &[u8], x: &mut [u8], y: &mut [u8]) -> Result<(), Refused> {
        let (width, length) = (curve.width(), curve.length());
        assert!([scalar.len(), x.len(), y.len()] == [length; 3]);
        let mut page = Page::default();
        page.set(width, 2, x);
        page.set(width, 3, y);
        page.set(width, 4, scalar);
        let mut registers = Registers::new(curve.multiply_code().into(), &mut page);
        // SAFETY: point and scalar in their block; there are no operands.
        unsafe { self.run_to_end(Instruction::Pcc, &mut registers) }?;
        page.get(width, 0, x);
        page.get(width, 1, y);
        Ok(())
    }

    /// X25519 or X448 of a private key and a public one, little-endian as RFC 7748 has them; the private key's fixed bits are
    /// set here, and of X25519's public key the highest bit is not looked at. The result goes to `u`.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done. [`Refused::Condition`]: the instruction does not take the point.
    ///
    /// # Panics
    /// If a key is not of [`Montgomery::length`] bytes.
    pub fn exchange(&self, curve: Montgomery, private: &[u8], u: &mut [u8]) -> Result<(), Refused> {
        let (width, length) = (curve.width(), curve.length());
        assert!([private.len(), u.len()] == [length; 2]);
        let mut page = Page::default();
        page.set_reversed(width, 1, u);
        page.set_reversed(width, 2, private);
        // The places of the first and the last byte, turned round.
        let (first, last) = (width - 1, width - length);
        page.change(width, 2, |scalar| match curve {
            Montgomery::X25519 => {
                scalar[first] &= 248;
                scalar[last] = scalar[last] & 63 | 64;
            }
            Montgomery::X448 => {
                scalar[first] &= 252;
                scalar[last] |= 128;
            }
        });
        if curve == Montgomery::X25519 {
            page.change(width, 1, |u| u[last] &= 127);
        }
        let mut registers = Registers::new(curve.code().into(), &mut page);
        // SAFETY: point and scalar in their block; there are no operands.
        unsafe { self.run_to_end(Instruction::Pcc, &mut registers) }?;
        page.get_reversed(width, 0, u);
        Ok(())
    }

    /// The public key of a scalar that has been made of the private key as RFC 8032 says (5.1.5, 5.2.5), little-endian as is the
    /// result.
    ///
    /// # Errors
    /// [`Refused::Absent`]: nothing was done. [`Refused::Condition`]: the scalar is none.
    ///
    /// # Panics
    /// If one is not of [`Edwards::length`] bytes.
    pub fn edwards_public(&self, curve: Edwards, scalar: &[u8], public: &mut [u8]) -> Result<(), Refused> {
        let (width, length) = (curve.width(), curve.length());
        assert!([scalar.len(), public.len()] == [length; 2]);
        let (x, y) = curve.base();
        let mut page = Page::default();
        page.set(width, 2, x);
        page.set(width, 3, y);
        page.set_reversed(width, 4, scalar);
        let mut registers = Registers::new(curve.multiply_code().into(), &mut page);
        // SAFETY: point and scalar in their block; there are no operands.
        unsafe { self.run_to_end(Instruction::Pcc, &mut registers) }?;
        page.get_reversed(width, 1, public);
        // The sign of x is its lowest bit.
        public[length - 1] |= page.field(width, 0)[width - 1] << 7;
        Ok(())
    }
}
