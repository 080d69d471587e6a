//! The rows: private-key operations of which eight fit into a batch.

use crate::publickey::{KeyType, Operation, Row};

/// The functions that are measured, with AWS-LC and with the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// RSA signature, PKCS#1 v1.5 with SHA-256, with a modulus of this many bits.
    Rsa(u32),
    /// ECDSA with SHA-256.
    Ecdsa(Curve),
    /// ECDH.
    Ecdh(Curve),
    /// Key generation.
    Keygen(Curve),
    /// X25519, shared secret.
    X25519,
    /// X25519, key generation.
    X25519Keygen,
    /// Ed25519, signature.
    Ed25519,
    /// Ed25519, key generation.
    Ed25519Keygen,
}

/// A curve of NIST's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// P-256.
    P256,
    /// P-384.
    P384,
}

impl Curve {
    fn name(self) -> &'static str {
        match self {
            Curve::P256 => "P-256",
            Curve::P384 => "P-384",
        }
    }
}

impl Function {
    /// Every row, in the order of the table.
    pub const ALL: &[Function] = &[
        Function::Rsa(2048),
        Function::Rsa(3072),
        Function::Rsa(4096),
        Function::Ecdsa(Curve::P256),
        Function::Ecdsa(Curve::P384),
        Function::Ecdh(Curve::P256),
        Function::Ecdh(Curve::P384),
        Function::Keygen(Curve::P256),
        Function::Keygen(Curve::P384),
        Function::X25519,
        Function::X25519Keygen,
        Function::Ed25519,
        Function::Ed25519Keygen,
    ];

    /// The EVP calls of the row.
    pub fn evp(self) -> Row {
        let (title, name, group, bits, operation) = match self {
            Function::Rsa(2048) => ("RSA-2048", "RSA", "", 2048, Operation::SignMessage),
            Function::Rsa(3072) => ("RSA-3072", "RSA", "", 3072, Operation::SignMessage),
            Function::Rsa(bits) => ("RSA-4096", "RSA", "", bits, Operation::SignMessage),
            Function::Ecdsa(Curve::P256) => ("ECDSA P-256", "EC", "P-256", 0, Operation::SignMessage),
            Function::Ecdsa(Curve::P384) => ("ECDSA P-384", "EC", "P-384", 0, Operation::SignMessage),
            Function::Ecdh(Curve::P256) => ("ECDH P-256", "EC", "P-256", 0, Operation::Derive),
            Function::Ecdh(Curve::P384) => ("ECDH P-384", "EC", "P-384", 0, Operation::Derive),
            Function::Keygen(curve) => (curve.name(), "EC", curve.name(), 0, Operation::Generate),
            Function::X25519 => ("X25519", "X25519", "", 0, Operation::Derive),
            Function::X25519Keygen => ("X25519", "X25519", "", 0, Operation::Generate),
            Function::Ed25519 => ("Ed25519", "ED25519", "", 0, Operation::SignMessage),
            Function::Ed25519Keygen => ("Ed25519", "ED25519", "", 0, Operation::Generate),
        };
        Row { kind: KeyType::new(title, name, group, bits), operation }
    }

    /// The row's name.
    pub fn title(self) -> String {
        self.evp().title()
    }

    /// Operations a second of a Crypto Express7S accelerator with 1 job and with 8 (IBM z15 performance, 3.3.10: PKD CRT).
    pub fn crypto_express(self) -> Option<(f64, f64)> {
        match self {
            Function::Rsa(2048) => Some((1912.0, 15232.0)),
            Function::Rsa(4096) => Some((278.0, 2222.0)),
            _ => None,
        }
    }
}

/// The message, or digest, that every signature is made of.
pub const MESSAGE: [u8; 32] = [0x42; 32];
