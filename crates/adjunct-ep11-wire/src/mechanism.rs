//! Mechanisms with their parameters in messages: the number (4 bytes), then the parameter, whose shape the number tells.

use crate::codes::mechanism as m;

/// The parameter of a mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// No parameter.
    None,
    /// Bytes as they are: an IV, a point, an OID.
    Bytes(&'a [u8]),
    /// A number: the length of a MAC; the kind of `CKM_IBM_ECDSA_OTHER`.
    Number(u32),
    /// CK_RSA_PKCS_PSS_PARAMS.
    Pss {
        /// The mechanism of the data's hash.
        hash: u32,
        /// The mask generation function.
        mgf: u32,
        /// Bytes of the salt.
        salt: u32,
    },
    /// CK_RSA_PKCS_OAEP_PARAMS.
    Oaep {
        /// The mechanism of the label's hash.
        hash: u32,
        /// The mask generation function.
        mgf: u32,
        /// CKZ_DATA_SPECIFIED, or 0 without a label.
        source: u32,
        /// The label.
        label: &'a [u8],
    },
    /// CK_ECDH1_DERIVE_PARAMS.
    Ecdh {
        /// The key derivation function.
        kdf: u32,
        /// The shared data of that.
        shared: &'a [u8],
        /// The other side's public value.
        public: &'a [u8],
    },
    /// XCP_KYBER_KEM_PARAMS: one call encapsulates or decapsulates.
    Kem {
        /// 1 encapsulate, 2 decapsulate.
        mode: u32,
        /// The key derivation function, which is hybrid where it takes `secret`.
        kdf: u32,
        /// Whether `secret` comes before the encapsulated one.
        prepend: bool,
        /// The ciphertext.
        ciphertext: &'a [u8],
        /// The shared data of the derivation.
        shared: &'a [u8],
        /// The blob of the other secret of a hybrid.
        secret: &'a [u8],
    },
    /// CK_IBM_BTC_DERIVE_PARAMS.
    Btc {
        /// What is derived: 1 to 4 BIP-32, 5 to 8 SLIP-10.
        kind: u32,
        /// The number of the child.
        child: u32,
        /// The chain code.
        chain_code: &'a [u8],
    },
    /// CK_IBM_ETH_DERIVE_PARAMS (EIP-2333).
    Eth {
        /// The version of signatures: 4.
        signature: u32,
        /// What is derived: 1 to 3.
        kind: u32,
        /// The number of the child.
        child: u32,
        /// Further input of the key.
        key_info: &'a [u8],
    },
    /// CK_IBM_EC_AGGREGATE_PARAMS.
    Aggregate {
        /// 1 signatures, 2 public keys.
        mode: u32,
        /// Bytes of an element.
        size: u32,
        /// The elements, one behind the other.
        elements: &'a [u8],
    },
}

/// A mechanism with its parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mechanism<'a> {
    /// The number ([`crate::codes::mechanism`]).
    pub kind: u32,
    /// The parameter.
    pub parameter: Parameter<'a>,
}

/// The shape of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Bytes as they are, or nothing.
    Bytes,
    /// See [`Parameter::Number`].
    Number,
    /// See [`Parameter::Pss`].
    Pss,
    /// See [`Parameter::Oaep`].
    Oaep,
    /// See [`Parameter::Ecdh`].
    Ecdh,
    /// See [`Parameter::Kem`].
    Kem,
    /// See [`Parameter::Btc`].
    Btc,
    /// See [`Parameter::Eth`].
    Eth,
    /// See [`Parameter::Aggregate`].
    Aggregate,
}

/// The version that structures of IBM's mechanisms begin with.
fn version(kind: u32) -> u32 {
    u32::from(!matches!(kind, m::IBM_KYBER | m::IBM_ML_KEM | m::IBM_ML_KEM_WITH_ECDH | m::IBM_EC_AGGREGATE))
}

impl Shape {
    /// The shape of a mechanism's parameter.
    pub fn of(kind: u32) -> Shape {
        match kind {
            m::RSA_PKCS_PSS
            | m::SHA1_RSA_PKCS_PSS
            | m::SHA224_RSA_PKCS_PSS
            | m::SHA256_RSA_PKCS_PSS
            | m::SHA384_RSA_PKCS_PSS
            | m::SHA512_RSA_PKCS_PSS => Shape::Pss,
            m::RSA_PKCS_OAEP => Shape::Oaep,
            m::ECDH1_DERIVE | m::IBM_EC_X25519 | m::IBM_EC_X448 => Shape::Ecdh,
            m::SHA_1_HMAC_GENERAL
            | m::SHA224_HMAC_GENERAL
            | m::SHA256_HMAC_GENERAL
            | m::SHA384_HMAC_GENERAL
            | m::SHA512_HMAC_GENERAL
            | m::DES3_MAC_GENERAL
            | m::DES3_CMAC_GENERAL
            | m::AES_MAC_GENERAL
            | m::AES_CMAC_GENERAL
            | m::IBM_ECDSA_OTHER => Shape::Number,
            m::IBM_KYBER | m::IBM_ML_KEM | m::IBM_ML_KEM_WITH_ECDH => Shape::Kem,
            m::IBM_BTC_DERIVE => Shape::Btc,
            m::IBM_ETH_DERIVE => Shape::Eth,
            m::IBM_EC_AGGREGATE => Shape::Aggregate,
            _ => Shape::Bytes,
        }
    }
}

/// Whether a mechanism may have a parameter. Those that make keys have none: what a key is to be is in its template.
pub fn has_parameter(kind: u32) -> bool {
    !matches!(
        kind,
        m::RSA_PKCS_KEY_PAIR_GEN
            | m::RSA_X9_31_KEY_PAIR_GEN
            | m::DSA_KEY_PAIR_GEN
            | m::DSA_PARAMETER_GEN
            | m::DH_PKCS_KEY_PAIR_GEN
            | m::DH_PKCS_PARAMETER_GEN
            | m::DES2_KEY_GEN
            | m::DES3_KEY_GEN
            | m::GENERIC_SECRET_KEY_GEN
            | m::AES_KEY_GEN
            | m::EC_KEY_PAIR_GEN
            | m::EC_EDWARDS_KEY_PAIR_GEN
            | m::EC_MONTGOMERY_KEY_PAIR_GEN
            | m::IBM_ML_DSA_KEY_PAIR_GEN
            | m::IBM_ML_KEM_KEY_PAIR_GEN
    )
}

/// Reads numbers and counted bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

impl<'a> Mechanism<'a> {
    /// A mechanism without a parameter.
    pub fn plain(kind: u32) -> Mechanism<'a> {
        Mechanism { kind, parameter: Parameter::None }
    }

    /// Reads a mechanism that is all of `bytes`; `None` where it is none.
    pub fn parse(bytes: &'a [u8]) -> Option<Mechanism<'a>> {
        let mut reader = Reader(bytes);
        let kind = reader.number()?;
        if reader.0.is_empty() {
            return Some(Mechanism::plain(kind));
        }
        let shape = Shape::of(kind);
        let bytes = Mechanism { kind, parameter: Parameter::Bytes(reader.0) };
        match Mechanism::structure(kind, shape, reader) {
            // Before its third version the interface had the other side's public value alone.
            None if matches!(shape, Shape::Bytes | Shape::Ecdh) => Some(bytes),
            parameter => Some(Mechanism { kind, parameter: parameter? }),
        }
    }

    /// The parameter that is all of what the reader has.
    fn structure(kind: u32, shape: Shape, mut reader: Reader<'a>) -> Option<Parameter<'a>> {
        let versioned = matches!(shape, Shape::Kem | Shape::Btc | Shape::Eth | Shape::Aggregate);
        if versioned && reader.number()? != version(kind) {
            return None;
        }
        let parameter = match shape {
            Shape::Bytes => return None,
            Shape::Number => Parameter::Number(reader.number()?),
            Shape::Pss => Parameter::Pss { hash: reader.number()?, mgf: reader.number()?, salt: reader.number()? },
            Shape::Oaep => Parameter::Oaep {
                hash: reader.number()?,
                mgf: reader.number()?,
                source: reader.number()?,
                label: std::mem::take(&mut reader.0),
            },
            Shape::Ecdh => {
                Parameter::Ecdh { kdf: reader.number()?, shared: reader.counted()?, public: reader.counted()? }
            }
            Shape::Kem => {
                let (mode, kdf, prepend) = (reader.number()?, reader.number()?, reader.number()?);
                (prepend <= 1).then_some(())?;
                let (ciphertext, shared, secret) = (reader.counted()?, reader.counted()?, reader.counted()?);
                Parameter::Kem { mode, kdf, prepend: prepend == 1, ciphertext, shared, secret }
            }
            Shape::Btc => {
                Parameter::Btc { kind: reader.number()?, child: reader.number()?, chain_code: reader.counted()? }
            }
            Shape::Eth => Parameter::Eth {
                signature: reader.number()?,
                kind: reader.number()?,
                child: reader.number()?,
                key_info: reader.counted()?,
            },
            Shape::Aggregate => {
                Parameter::Aggregate { mode: reader.number()?, size: reader.number()?, elements: reader.counted()? }
            }
        };
        reader.0.is_empty().then_some(parameter)
    }

    /// Writes the mechanism.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.kind.to_be_bytes().to_vec();
        let number = |number: u32, out: &mut Vec<u8>| out.extend_from_slice(&number.to_be_bytes());
        let counted = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
            out.extend_from_slice(bytes);
        };
        let version = version(self.kind);
        match self.parameter {
            Parameter::None => {}
            Parameter::Bytes(bytes) => out.extend_from_slice(bytes),
            Parameter::Number(value) => number(value, &mut out),
            Parameter::Pss { hash, mgf, salt } => [hash, mgf, salt].iter().for_each(|one| number(*one, &mut out)),
            Parameter::Oaep { hash, mgf, source, label } => {
                [hash, mgf, source].iter().for_each(|one| number(*one, &mut out));
                out.extend_from_slice(label);
            }
            Parameter::Ecdh { kdf, shared, public } => {
                number(kdf, &mut out);
                [shared, public].iter().for_each(|one| counted(one, &mut out));
            }
            Parameter::Kem { mode, kdf, prepend, ciphertext, shared, secret } => {
                [version, mode, kdf, u32::from(prepend)].iter().for_each(|one| number(*one, &mut out));
                [ciphertext, shared, secret].iter().for_each(|one| counted(one, &mut out));
            }
            Parameter::Btc { kind, child, chain_code } => {
                [version, kind, child].iter().for_each(|one| number(*one, &mut out));
                counted(chain_code, &mut out);
            }
            Parameter::Eth { signature, kind, child, key_info } => {
                [version, signature, kind, child].iter().for_each(|one| number(*one, &mut out));
                counted(key_info, &mut out);
            }
            Parameter::Aggregate { mode, size, elements } => {
                [version, mode, size].iter().for_each(|one| number(*one, &mut out));
                counted(elements, &mut out);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_come_as_they_were_sent() {
        let all = [
            (m::AES_KEY_GEN, Parameter::None),
            (m::AES_CBC, Parameter::Bytes(&[7; 16])),
            (m::SHA256_HMAC_GENERAL, Parameter::Number(20)),
            (m::RSA_PKCS_PSS, Parameter::Pss { hash: 0x250, mgf: 2, salt: 32 }),
            (m::RSA_PKCS_OAEP, Parameter::Oaep { hash: 0x250, mgf: 2, source: 1, label: b"label" }),
            (m::ECDH1_DERIVE, Parameter::Ecdh { kdf: 1, shared: b"", public: &[4; 65] }),
            (m::ECDH1_DERIVE, Parameter::Bytes(&[4; 65])),
            (m::IBM_EC_X25519, Parameter::Bytes(&[0; 32])),
            (
                m::IBM_ML_KEM,
                Parameter::Kem { mode: 1, kdf: 1, prepend: true, ciphertext: b"c", shared: b"", secret: b"blob" },
            ),
            (m::IBM_BTC_DERIVE, Parameter::Btc { kind: 4, child: 0x8000_0000, chain_code: &[1; 32] }),
            (m::IBM_ETH_DERIVE, Parameter::Eth { signature: 4, kind: 1, child: 9, key_info: b"" }),
            (m::IBM_EC_AGGREGATE, Parameter::Aggregate { mode: 1, size: 96, elements: &[5; 192] }),
        ];
        for (kind, parameter) in all {
            let mechanism = Mechanism { kind, parameter };
            let bytes = mechanism.to_bytes();
            assert_eq!(Mechanism::parse(&bytes), Some(mechanism));
            if Shape::of(kind) != Shape::Bytes && !matches!(parameter, Parameter::Bytes(_)) {
                for length in 5..bytes.len() {
                    let cut = Mechanism::parse(&bytes[..length]);
                    let plain = matches!(parameter, Parameter::Oaep { .. })
                        || matches!(cut, Some(Mechanism { kind: m::ECDH1_DERIVE, parameter: Parameter::Bytes(_) }));
                    assert!(cut.is_none() || plain, "{kind:x} {length}");
                }
            }
        }
        assert_eq!(Mechanism::parse(&[0, 0, 0]), None);
    }
}
