//! Control vectors: 8 bytes for each part of a DES key, which say what the key is for, and which the key that wraps it is changed by.
//!
//! Bit 0 is the most significant. Bits 40 to 42 of a base are the form of the key; each byte has even parity.

use crate::error::{Result, fail};
use adjunct_cca_wire::code::Code;

/// A control vector of a part.
pub type Vector = [u8; 8];

/// What a DES key is for. The ones that payment services need come with those services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// Encrypts, decrypts, makes MACs.
    Data,
    /// Encrypts and decrypts.
    Cipher,
    /// Encrypts.
    Encipher,
    /// Decrypts.
    Decipher,
    /// Makes and verifies MACs.
    Mac,
    /// Verifies MACs.
    MacVer,
    /// Wraps keys that leave.
    Exporter,
    /// Wraps keys that come.
    Importer,
}

impl Type {
    /// All types.
    pub const ALL: [Type; 8] = [
        Type::Data,
        Type::Cipher,
        Type::Encipher,
        Type::Decipher,
        Type::Mac,
        Type::MacVer,
        Type::Exporter,
        Type::Importer,
    ];

    /// The keyword, blank-padded.
    #[must_use]
    pub const fn name(self) -> &'static [u8; 8] {
        match self {
            Type::Data => b"DATA    ",
            Type::Cipher => b"CIPHER  ",
            Type::Encipher => b"ENCIPHER",
            Type::Decipher => b"DECIPHER",
            Type::Mac => b"MAC     ",
            Type::MacVer => b"MACVER  ",
            Type::Exporter => b"EXPORTER",
            Type::Importer => b"IMPORTER",
        }
    }

    /// The type of a keyword.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Type> {
        Type::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The type of a key with such a control vector: its first three bytes say it, of which the bits of form are no part.
    #[must_use]
    pub fn of_vector(vector: &Vector) -> Option<Type> {
        if *vector == [0; 8] {
            return Some(Type::Data);
        }
        Type::ALL.into_iter().find(|kind| kind.base()[..3] == vector[..3])
    }

    /// The control vector of a key of one part.
    const fn base(self) -> Vector {
        match self {
            Type::Data => [0, 0, 0x7d, 0, 3, 0, 0, 0],
            Type::Cipher => [0, 3, 0x71, 0, 3, 0, 0, 0],
            Type::Encipher => [0, 3, 0x60, 0, 3, 0, 0, 0],
            Type::Decipher => [0, 3, 0x50, 0, 3, 0, 0, 0],
            Type::Mac => [0, 5, 0x4d, 0, 3, 0, 0, 0],
            Type::MacVer => [0, 5, 0x44, 0, 3, 0, 0, 0],
            Type::Exporter => [0, 0x41, 0x7d, 0, 3, 0, 0, 0],
            Type::Importer => [0, 0x42, 0x7d, 0, 3, 0, 0, 0],
        }
    }

    /// Whether the type wraps keys: such a key has two parts at least.
    #[must_use]
    pub const fn wraps(self) -> bool {
        matches!(self, Type::Exporter | Type::Importer)
    }
}

/// The default control vectors, of the left and the right part, of a key of so many bytes.
///
/// # Errors
/// 8/43 for a length that the type has not.
pub fn default(kind: Type, length: usize) -> Result<[Vector; 2]> {
    let mut left = kind.base();
    let mut right = [0; 8];
    match length {
        8 if !kind.wraps() => {}
        16 => {
            right = left;
            left[5] = 0x41;
            right[5] = 0x21;
        }
        24 => {
            left[5] = 0x60;
            left[7] = 0x81;
            right = left;
        }
        _ => return fail(Code::KEY_LENGTH),
    }
    Ok([left, right])
}

/// Bytes of the key that a control vector of the left part is of; `None` for the form of a right part, and forms that nothing has.
#[must_use]
pub const fn key_length(left: &Vector) -> Option<usize> {
    match left[5] >> 5 {
        0b000 => Some(8),
        0b010 | 0b110 => Some(16),
        0b011 | 0b111 => Some(24),
        _ => None,
    }
}

/// Bit 17: whether the key may be exported. A key without a control vector may.
#[must_use]
pub const fn may_leave(left: &Vector) -> bool {
    left[2] & 0x40 != 0 || u64::from_be_bytes(*left) == 0
}

/// Whether each byte has even parity.
#[must_use]
pub fn is_even(vector: &Vector) -> bool {
    vector.iter().all(|byte| byte.count_ones().is_multiple_of(2))
}
