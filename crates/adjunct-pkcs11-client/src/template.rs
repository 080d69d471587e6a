//! What calls are given: attributes, and mechanisms with their parameters.

use super::length;
use cryptoki_sys::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use zeroize::Zeroizing;

/// An attribute, with its value as the interface has it.
pub type Attribute = (CK_ATTRIBUTE_TYPE, Zeroizing<Vec<u8>>);

/// Attributes, for what is looked for, made or changed.
#[derive(Default, Clone)]
pub struct Template(Vec<Attribute>);

impl std::fmt::Debug for Template {
    /// Shows no values, which may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(kind, _)| kind)).finish()
    }
}

impl Template {
    /// Makes an empty list of attributes.
    pub fn new() -> Template {
        Template::default()
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Template {
        self.set(kind, value);
        self
    }

    /// Adds an attribute with a number.
    #[must_use]
    pub fn with_number(self, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Template {
        self.with(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute with a flag.
    #[must_use]
    pub fn with_flag(self, kind: CK_ATTRIBUTE_TYPE, value: bool) -> Template {
        self.with(kind, &[if value { CK_TRUE } else { CK_FALSE }])
    }

    /// Sets an attribute, in the place of one of the same type.
    pub fn set(&mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) {
        let value = Zeroizing::new(value.to_vec());
        match self.0.iter_mut().find(|(other, _)| *other == kind) {
            Some(place) => place.1 = value,
            None => self.0.push((kind, value)),
        }
    }

    /// Sets a flag.
    pub fn set_flag(&mut self, kind: CK_ATTRIBUTE_TYPE, value: bool) {
        self.set(kind, &[if value { CK_TRUE } else { CK_FALSE }]);
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The attributes as calls take them: the values are only read.
    pub(crate) fn list(&self) -> Vec<CK_ATTRIBUTE> {
        let attribute = |(kind, value): &Attribute| CK_ATTRIBUTE {
            type_: *kind,
            pValue: value.as_ptr().cast_mut().cast(),
            ulValueLen: length(value),
        };
        self.0.iter().map(attribute).collect()
    }
}

impl FromIterator<Attribute> for Template {
    fn from_iter<I: IntoIterator<Item = Attribute>>(attributes: I) -> Template {
        Template(attributes.into_iter().collect())
    }
}

/// A mechanism, with the parameter that it takes.
#[derive(Debug, Clone, Copy)]
pub enum Mechanism<'a> {
    /// A mechanism without a parameter.
    Plain(CK_MECHANISM_TYPE),
    /// A mechanism whose parameter is an initialization vector.
    Iv(CK_MECHANISM_TYPE, &'a [u8]),
    /// RSA's OAEP.
    Oaep {
        /// The mechanism of the label's digest.
        hash: CK_MECHANISM_TYPE,
        /// The mask generation function.
        mgf: CK_RSA_PKCS_MGF_TYPE,
        /// The label, if there is one.
        source: Option<&'a [u8]>,
    },
    /// AES-CTR, of whose block the last bits count.
    Ctr {
        /// The first block.
        block: [u8; 16],
        /// Bits of the counter.
        bits: u8,
    },
    /// AES-GCM with a tag of 16 bytes.
    Gcm {
        /// The initialization vector.
        iv: &'a [u8],
        /// Additional data.
        aad: &'a [u8],
    },
}

impl Mechanism<'_> {
    pub(crate) fn with<R>(self, body: impl FnOnce(*mut CK_MECHANISM) -> R) -> R {
        match self {
            Mechanism::Plain(kind) => {
                let mut mechanism = CK_MECHANISM { mechanism: kind, pParameter: null_mut(), ulParameterLen: 0 };
                body(&raw mut mechanism)
            }
            Mechanism::Iv(kind, iv) => {
                let pointer = iv.as_ptr().cast_mut().cast::<c_void>();
                let mut mechanism = CK_MECHANISM { mechanism: kind, pParameter: pointer, ulParameterLen: length(iv) };
                body(&raw mut mechanism)
            }
            Mechanism::Oaep { hash, mgf, source } => {
                let mut oaep = CK_RSA_PKCS_OAEP_PARAMS {
                    hashAlg: hash,
                    mgf,
                    source: CKZ_DATA_SPECIFIED,
                    pSourceData: source.map_or(null_mut(), |data| data.as_ptr().cast_mut().cast::<c_void>()),
                    ulSourceDataLen: source.map_or(0, length),
                };
                let mut mechanism = CK_MECHANISM {
                    mechanism: CKM_RSA_PKCS_OAEP,
                    pParameter: (&raw mut oaep).cast::<c_void>(),
                    ulParameterLen: size_of::<CK_RSA_PKCS_OAEP_PARAMS>() as CK_ULONG,
                };
                body(&raw mut mechanism)
            }
            Mechanism::Ctr { block, bits } => {
                let mut counter = CK_AES_CTR_PARAMS { ulCounterBits: bits.into(), cb: block };
                let mut mechanism = CK_MECHANISM {
                    mechanism: CKM_AES_CTR,
                    pParameter: (&raw mut counter).cast::<c_void>(),
                    ulParameterLen: size_of::<CK_AES_CTR_PARAMS>() as CK_ULONG,
                };
                body(&raw mut mechanism)
            }
            Mechanism::Gcm { iv, aad } => {
                let mut gcm = CK_GCM_PARAMS {
                    pIv: iv.as_ptr().cast_mut(),
                    ulIvLen: length(iv),
                    ulIvBits: 8 * length(iv),
                    pAAD: if aad.is_empty() { null_mut() } else { aad.as_ptr().cast_mut() },
                    ulAADLen: length(aad),
                    ulTagBits: 128,
                };
                let mut mechanism = CK_MECHANISM {
                    mechanism: CKM_AES_GCM,
                    pParameter: (&raw mut gcm).cast::<c_void>(),
                    ulParameterLen: size_of::<CK_GCM_PARAMS>() as CK_ULONG,
                };
                body(&raw mut mechanism)
            }
        }
    }
}

impl From<CK_MECHANISM_TYPE> for Mechanism<'_> {
    fn from(kind: CK_MECHANISM_TYPE) -> Self {
        Mechanism::Plain(kind)
    }
}
