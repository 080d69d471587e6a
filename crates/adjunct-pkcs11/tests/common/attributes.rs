//! Attributes and mechanisms as calls take them, with what their pointers point to.

use super::{input, length};
use cryptoki_sys::*;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// A value: bytes, or a template.
#[derive(Debug, Clone)]
enum Value {
    Bytes(Vec<u8>),
    Template(Attributes),
}

/// A list of attributes, in the order they were given.
#[derive(Debug, Clone, Default)]
pub struct Attributes(Vec<(CK_ATTRIBUTE_TYPE, Value)>);

impl Attributes {
    /// Makes an empty list.
    pub fn new() -> Attributes {
        Attributes::default()
    }

    /// A key of a class and a type.
    pub fn key(class: CK_OBJECT_CLASS, kind: CK_KEY_TYPE) -> Attributes {
        Attributes::new().number(CKA_CLASS, class).number(CKA_KEY_TYPE, kind)
    }

    /// A secret key with its value, which may be read.
    pub fn secret(kind: CK_KEY_TYPE, value: &[u8]) -> Attributes {
        Attributes::key(CKO_SECRET_KEY, kind).bytes(CKA_VALUE, value)
    }

    /// Adds an attribute with bytes.
    pub fn bytes(mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Attributes {
        self.0.push((kind, Value::Bytes(value.to_vec())));
        self
    }

    /// Adds an attribute with a number.
    pub fn number(self, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Attributes {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute with numbers: a list of mechanisms.
    pub fn numbers(self, kind: CK_ATTRIBUTE_TYPE, values: &[CK_ULONG]) -> Attributes {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.bytes(kind, &bytes)
    }

    /// Adds an attribute with a boolean.
    pub fn flag(self, kind: CK_ATTRIBUTE_TYPE, value: bool) -> Attributes {
        self.bytes(kind, &[if value { CK_TRUE } else { CK_FALSE }])
    }

    /// Adds an attribute with a template.
    pub fn template(mut self, kind: CK_ATTRIBUTE_TYPE, value: Attributes) -> Attributes {
        self.0.push((kind, Value::Template(value)));
        self
    }

    /// Calls `body` with the attributes as the interface takes them.
    pub fn with<R>(&self, body: impl FnOnce(*mut CK_ATTRIBUTE, CK_ULONG) -> R) -> R {
        let nested: Vec<Raw> = self
            .0
            .iter()
            .filter_map(|(_, value)| match value {
                Value::Template(nested) => Some(Raw::of(nested)),
                Value::Bytes(_) => None,
            })
            .collect();
        let mut raw = Raw::with_nested(self, nested);
        body(raw.list.as_mut_ptr(), raw.list.len() as CK_ULONG)
    }
}

/// A list as the interface has it, with the lists within it.
struct Raw {
    list: Vec<CK_ATTRIBUTE>,
    _nested: Vec<Raw>,
}

impl Raw {
    fn of(attributes: &Attributes) -> Raw {
        let nested = attributes.0.iter().filter_map(|(_, value)| match value {
            Value::Template(nested) => Some(Raw::of(nested)),
            Value::Bytes(_) => None,
        });
        let nested = nested.collect();
        Raw::with_nested(attributes, nested)
    }

    fn with_nested(attributes: &Attributes, mut nested: Vec<Raw>) -> Raw {
        let mut templates = nested.iter_mut();
        let list = attributes.0.iter().map(|(kind, value)| match value {
            Value::Bytes(bytes) => {
                CK_ATTRIBUTE { type_: *kind, pValue: input(bytes).cast(), ulValueLen: length(bytes) }
            }
            Value::Template(_) => {
                let list = &mut templates.next().expect("made above").list;
                let bytes = list.len() * size_of::<CK_ATTRIBUTE>();
                CK_ATTRIBUTE { type_: *kind, pValue: list.as_mut_ptr().cast(), ulValueLen: bytes as CK_ULONG }
            }
        });
        let list = list.collect();
        Raw { list, _nested: nested }
    }
}

/// A mechanism with its parameter, which may point to what lives as long.
#[derive(Debug, Clone)]
pub struct Mechanism<'a> {
    kind: CK_MECHANISM_TYPE,
    /// The parameter's bytes, aligned.
    parameter: Vec<u64>,
    length: usize,
    lives: PhantomData<&'a [u8]>,
}

impl<'a> Mechanism<'a> {
    /// Makes a mechanism without a parameter.
    pub fn new(kind: CK_MECHANISM_TYPE) -> Mechanism<'a> {
        Mechanism::bytes(kind, &[])
    }

    /// Makes a mechanism with bytes as its parameter: an IV, a nonce.
    pub fn bytes(kind: CK_MECHANISM_TYPE, parameter: &[u8]) -> Mechanism<'a> {
        let mut words = vec![0_u64; parameter.len().div_ceil(8)];
        for (word, bytes) in words.iter_mut().zip(parameter.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(whole);
        }
        Mechanism { kind, parameter: words, length: parameter.len(), lives: PhantomData }
    }

    /// Makes a mechanism with a structure as its parameter, whose pointers point to what lives long enough.
    pub fn with<T: Copy>(kind: CK_MECHANISM_TYPE, parameter: T) -> Mechanism<'a> {
        let mut words = vec![0_u64; size_of::<T>().div_ceil(8)];
        // SAFETY: there is room for one, aligned as nothing here is more.
        unsafe { words.as_mut_ptr().cast::<T>().write(parameter) };
        Mechanism { kind, parameter: words, length: size_of::<T>(), lives: PhantomData }
    }

    /// Makes a mechanism with a number as its parameter: the length of a MAC.
    pub fn number(kind: CK_MECHANISM_TYPE, number: CK_ULONG) -> Mechanism<'a> {
        Mechanism::with(kind, number)
    }

    /// AES-GCM.
    pub fn gcm(iv: &'a [u8], aad: &'a [u8], tag_bits: usize) -> Mechanism<'a> {
        Mechanism::with(
            CKM_AES_GCM,
            CK_GCM_PARAMS {
                pIv: input(iv),
                ulIvLen: length(iv),
                ulIvBits: 8 * length(iv),
                pAAD: input(aad),
                ulAADLen: length(aad),
                ulTagBits: tag_bits as CK_ULONG,
            },
        )
    }

    /// AES-CCM of a message of `data` bytes.
    pub fn ccm(data: usize, nonce: &'a [u8], aad: &'a [u8], mac: usize) -> Mechanism<'a> {
        Mechanism::with(
            CKM_AES_CCM,
            CK_CCM_PARAMS {
                ulDataLen: data as CK_ULONG,
                pNonce: input(nonce),
                ulNonceLen: length(nonce),
                pAAD: input(aad),
                ulAADLen: length(aad),
                ulMACLen: mac as CK_ULONG,
            },
        )
    }

    /// ChaCha20-Poly1305.
    pub fn chacha_poly(nonce: &'a [u8], aad: &'a [u8]) -> Mechanism<'a> {
        Mechanism::with(
            CKM_CHACHA20_POLY1305,
            CK_SALSA20_CHACHA20_POLY1305_PARAMS {
                pNonce: input(nonce),
                ulNonceLen: length(nonce),
                pAAD: input(aad),
                ulAADLen: length(aad),
            },
        )
    }

    /// AES-CTR, whose counter has `bits` bits.
    pub fn ctr(bits: usize, block: [u8; 16]) -> Mechanism<'a> {
        Mechanism::with(CKM_AES_CTR, CK_AES_CTR_PARAMS { ulCounterBits: bits as CK_ULONG, cb: block })
    }

    /// The mechanism as the interface takes it; it points into `self`.
    pub fn raw(&self) -> CK_MECHANISM {
        let parameter = if self.length == 0 { null_mut() } else { self.parameter.as_ptr().cast_mut().cast() };
        CK_MECHANISM { mechanism: self.kind, pParameter: parameter, ulParameterLen: self.length as CK_ULONG }
    }
}
