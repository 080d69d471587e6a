//! The rows of the bulk report: the modes that run in parallel, and the two that want more than AES.

use crate::Error;
use crate::libcrypto::Side;
use crate::measure::Work;
use crate::symmetric::{self, Cipher};

/// A mode of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// AES in counter mode.
    Ctr,
    /// AES-CBC.
    Cbc,
    /// AES-ECB.
    Ecb,
    /// AES-CFB with whole-block segments.
    Cfb,
    /// AES-XTS, one data unit.
    Xts,
    /// AES-GCM.
    Gcm,
    /// ChaCha20-Poly1305.
    ChaCha,
    /// SHA-512.
    Sha512,
}

/// A row without a size.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// What.
    pub mode: Mode,
    /// Bits of the AES key, or of one of the two.
    pub bits: usize,
    /// The direction.
    pub encrypt: bool,
}

impl Subject {
    /// Every row, in the order of the table.
    pub fn all() -> Vec<Subject> {
        let mut all = Vec::new();
        let aes: &[(Mode, &[bool])] = &[
            (Mode::Ctr, &[true]),
            (Mode::Cbc, &[false]),
            (Mode::Ecb, &[true, false]),
            (Mode::Cfb, &[false]),
            (Mode::Xts, &[true, false]),
            (Mode::Gcm, &[true, false]),
        ];
        for &(mode, directions) in aes {
            for bits in [128, 256] {
                all.extend(directions.iter().map(|&encrypt| Subject { mode, bits, encrypt }));
            }
        }
        all.push(Subject { mode: Mode::Sha512, bits: 0, encrypt: true });
        all.extend([true, false].map(|encrypt| Subject { mode: Mode::ChaCha, bits: 0, encrypt }));
        all
    }

    /// The row's name.
    pub fn title(&self) -> String {
        self.cipher().map_or_else(|| "SHA-512".to_owned(), |c| c.title())
    }

    fn cipher(&self) -> Option<Cipher> {
        use symmetric::Mode::{Aead, Continued, PerMessage};
        let (name, mode) = match self.mode {
            Mode::Ctr => ("CTR", PerMessage),
            Mode::Cbc => ("CBC", PerMessage),
            Mode::Ecb => ("ECB", Continued),
            Mode::Cfb => ("CFB", PerMessage),
            Mode::Xts => ("XTS", PerMessage),
            Mode::Gcm => ("GCM", Aead),
            Mode::ChaCha => {
                return Some(Cipher { name: "ChaCha20-Poly1305".to_owned(), mode: Aead, encrypt: self.encrypt });
            }
            Mode::Sha512 => return None,
        };
        Some(Cipher { name: format!("AES-{}-{name}", self.bits), mode, encrypt: self.encrypt })
    }

    /// AES rounds for a block of 16 bytes; `None` where AES is not what takes the time.
    pub fn rounds(&self) -> Option<usize> {
        (self.bits != 0).then_some(self.bits / 32 + 6)
    }

    /// Bytes of the key.
    pub fn key_length(&self) -> usize {
        match self.mode {
            Mode::Xts => self.bits / 4,
            Mode::ChaCha => 32,
            _ => self.bits / 8,
        }
    }

    /// One message through OpenSSL's EVP; `None` where the side does not have it.
    pub fn evp(&self, side: Side, size: usize) -> Result<Option<Work>, Error> {
        match self.cipher() {
            Some(cipher) => cipher.work(side, size),
            None => symmetric::digest(side, "SHA2-512", size),
        }
    }

    /// The input of the row: the message, or its encryption by `stock` with the tag.
    pub fn input(&self, stock: Side, size: usize) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let missing = || Error::Operation(format!("stock does not have {}", self.title()));
        match self.cipher() {
            Some(cipher) if !self.encrypt => {
                let mut sealed = cipher.sealed(stock, size)?.ok_or_else(missing)?;
                let tag = sealed.split_off(size);
                Ok((sealed, tag))
            }
            _ => Ok((symmetric::pattern(size), Vec::new())),
        }
    }
}
