//! The rows: what is measured, by IBM's names for it, beside what IBM's card does.

use super::express;

/// A cipher, in CBC mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// AES-128.
    Aes,
    /// Triple DES of three keys.
    Des3,
}

/// The hash of an HMAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Hash {
    Sha256,
    Sha512,
    Sha3_256,
    Sha3_512,
}

impl Hash {
    /// All of them.
    pub const ALL: [Hash; 4] = [Hash::Sha256, Hash::Sha512, Hash::Sha3_256, Hash::Sha3_512];

    fn name(self) -> &'static str {
        match self {
            Hash::Sha256 => "SHA-256",
            Hash::Sha512 => "SHA-512",
            Hash::Sha3_256 => "SHA3-256",
            Hash::Sha3_512 => "SHA3-512",
        }
    }
}

/// A curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Curve {
    Brainpool192,
    Brainpool256,
    Brainpool512,
    P192,
    P256,
    P521,
    Ed448,
    Ed25519,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// RSA with a modulus of so many bits.
    Rsa(u16),
    /// On a curve.
    Ec(Curve),
    /// Dilithium of round 2, strength 6-5.
    Dilithium,
    /// AES-256.
    Aes,
}

impl Key {
    fn name(self) -> String {
        match self {
            Key::Rsa(bits) => format!("RSA {bits}"),
            Key::Ec(Curve::Brainpool192) => "BrainPool 192".to_owned(),
            Key::Ec(Curve::Brainpool256) => "BrainPool 256".to_owned(),
            Key::Ec(Curve::Brainpool512) => "BrainPool 512".to_owned(),
            Key::Ec(Curve::P192) => "Prime Curve 192".to_owned(),
            Key::Ec(Curve::P256) => "Prime Curve 256".to_owned(),
            Key::Ec(Curve::P521) => "Prime Curve 521".to_owned(),
            Key::Ec(Curve::Ed448) => "Ed448".to_owned(),
            Key::Ec(Curve::Ed25519) => "Ed25519".to_owned(),
            Key::Dilithium => "Dilithium".to_owned(),
            Key::Aes => "AES".to_owned(),
        }
    }
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// `m_EncryptSingle`.
    Cbc(Cipher),
    /// `m_SignSingle`.
    Mac(Hash),
    /// `m_VerifySingle`.
    VerifyMac(Hash),
    /// `m_DecryptSingle` by RSA of so many bits (PKD).
    Decrypt(u16),
    /// `m_EncryptSingle` (PKE).
    Encrypt(u16),
    /// `m_SignSingle` of 32 bytes (PKS).
    Sign(Key),
    /// `m_VerifySingle` (PKV).
    Verify(Key),
    /// `m_WrapKey` (WPK): of an AES key by RSA or AES, of a private key on a curve by AES.
    Wrap(Key),
    /// `m_UnwrapKey` (UPK).
    Unwrap(Key),
    /// `m_GenerateKeyPair`.
    Generate(Key),
}

/// What a row's figures stand beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// IBM's card.
    Express,
    /// The goals for small requests.
    Small,
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// What is done.
    pub what: What,
    /// Bytes of a message, where there are several sizes.
    pub size: Option<usize>,
    /// What it stands beside.
    pub group: Group,
    /// Operations a second there with 1 job and with 8; where there is none, so many jobs are not measured.
    pub beside: [Option<f64>; 2],
}

/// Small requests a second from one thread and from eight.
const GOALS: [Option<f64>; 2] = [Some(50_000.0), Some(80_000.0)];

impl Row {
    /// All rows.
    pub fn all() -> Vec<Row> {
        let small = [What::Cbc(Cipher::Aes), What::Mac(Hash::Sha256)];
        let small = small.map(|what| Row { what, size: Some(64), group: Group::Small, beside: GOALS });
        let express = express::rows().map(|(what, size, beside)| Row { what, size, group: Group::Express, beside });
        small.into_iter().chain(express).collect()
    }

    /// What it is called, without the size.
    pub fn title(&self) -> String {
        match self.what {
            What::Cbc(Cipher::Aes) => "AES 128-bit CBC Encipher".to_owned(),
            What::Cbc(Cipher::Des3) => "Triple DES CBC Encipher".to_owned(),
            What::Mac(hash) => format!("HMAC Generate {}", hash.name()),
            What::VerifyMac(hash) => format!("HMAC Verify {}", hash.name()),
            What::Decrypt(bits) => format!("PKD RSA {bits}"),
            What::Encrypt(bits) => format!("PKE RSA {bits}"),
            What::Sign(key) => format!("PKS {}", key.name()),
            What::Verify(key) => format!("PKV {}", key.name()),
            What::Wrap(key) => format!("WPK {}", key.name()),
            What::Unwrap(key) => format!("UPK {}", key.name()),
            What::Generate(key) => format!("Key Generate {}", key.name()),
        }
    }

    /// What it is called, with the size.
    pub fn name(&self) -> String {
        let small = if self.group == Group::Small { "small: " } else { "" };
        let size = self.size.map_or_else(String::new, |size| format!(" {size}"));
        format!("{small}{}{size}", self.title())
    }

    /// Whether single operations take so unlike times that only the mean of many says anything.
    pub fn is_uneven(&self) -> bool {
        matches!(self.what, What::Generate(Key::Rsa(_)) | What::Sign(Key::Dilithium))
    }

    /// Why a CPU may be slower than the card, where that is to be expected of this one.
    pub fn risk(&self) -> Option<&'static str> {
        if self.group == Group::Small {
            return None;
        }
        let private = |bits: u16| match bits {
            _ if !adjunct::card::work::available() => Some("RSA private keys on a CPU that has no lanes for them"),
            4096 => Some(
                "a private key of 4096 bits takes a CPU eight times as long as one of 2048; the card has several units for it",
            ),
            _ => None,
        };
        match self.what {
            What::Cbc(Cipher::Des3) if self.size.is_some_and(|size| size > 4096) => {
                Some("no CPU has an instruction for DES")
            }
            What::Generate(Key::Rsa(_)) => Some("primes are found by one CPU alone, and the card has units for it"),
            What::Sign(Key::Ec(curve)) | What::Verify(Key::Ec(curve)) | What::Generate(Key::Ec(curve)) => match curve {
                Curve::Brainpool192 | Curve::Brainpool256 | Curve::Brainpool512 | Curve::P192 => {
                    Some("a curve for which no library has more than generic arithmetic")
                }
                _ => None,
            },
            What::Decrypt(bits) | What::Sign(Key::Rsa(bits)) | What::Unwrap(Key::Rsa(bits)) => private(bits),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_papers_is_there_once() {
        let rows = Row::all();
        let express: Vec<&Row> = rows.iter().filter(|row| row.group == Group::Express).collect();
        // Two ciphers and eight HMACs of six sizes, 42 of public keys, 12 of pairs.
        assert_eq!(express.len(), 10 * 6 + 42 + 12);
        let mut names: Vec<String> = rows.iter().map(Row::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), rows.len());
        let of = |name: &str| rows.iter().find(|row| row.name() == name).unwrap().beside;
        assert_eq!(of("HMAC Verify SHA3-512 1048576"), [Some(40.0), Some(61.5)]);
        assert_eq!(of("PKS Prime Curve 521"), [Some(1333.0), Some(9556.0)]);
        assert_eq!(of("Key Generate RSA 4096"), [Some(3.9), None]);
        assert_eq!(of("small: AES 128-bit CBC Encipher 64"), GOALS);
    }
}
