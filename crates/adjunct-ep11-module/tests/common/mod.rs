//! A module with domains in memory, and requests as programs make them.
#![allow(dead_code)]

use adjunct_ep11_module::control::Points;
use adjunct_ep11_module::keys::{Domain, Keys, WrappingKey};
use adjunct_ep11_module::{Caller, Module, Settings};
use adjunct_ep11_wire::attributes::{Template, Value};
use adjunct_ep11_wire::codes::{attribute as a, key as k, mechanism as m};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::{Mechanism, Parameter};
use adjunct_ep11_wire::message::{Reply, request};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub struct Memory(Mutex<HashMap<u8, Domain>>);

impl Keys for Memory {
    fn domain(&self, domain: u8) -> Option<Domain> {
        self.0.lock().unwrap().get(&domain).cloned()
    }
}

pub struct Card {
    pub keys: Arc<Memory>,
    pub module: Module,
}

pub type Answer = Result<Vec<Vec<u8>>, u32>;

pub fn wrapping_key(byte: u8) -> Arc<WrappingKey> {
    Arc::new(WrappingKey::new(&[byte; 32]).unwrap())
}

/// A card with the domains 0 and 1, whose wrapping keys differ, and 2, which has none.
pub fn card() -> Card {
    card_with(Settings::default())
}

pub fn card_with(settings: Settings) -> Card {
    let domain = |key| Domain { current: key, next: None, committed: false, points: Points::ALL };
    let domains = [(0, domain(Some(wrapping_key(1)))), (1, domain(Some(wrapping_key(2)))), (2, domain(None))];
    let keys = Arc::new(Memory(Mutex::new(domains.into_iter().collect())));
    Card { module: Module::new(keys.clone(), settings), keys }
}

impl Card {
    pub fn change(&self, domain: u8, change: impl FnOnce(&mut Domain)) {
        change(self.keys.0.lock().unwrap().get_mut(&domain).unwrap());
    }

    /// Has only these control points off.
    pub fn off(&self, points: &[u8]) {
        self.change(0, |domain| domain.points = points.iter().fold(Points::ALL, |all, point| all.without(*point)));
    }

    pub fn call_in(&self, domain: u8, function: F, arguments: &[&[u8]]) -> Answer {
        let bytes = request(6, function, domain.into(), arguments);
        let reply = self.module.call(&Caller::default(), domain, &bytes);
        let reply = Reply::parse(&reply).expect("a reply");
        assert_eq!((reply.function, reply.domain), (function, domain.into()));
        let results = reply.results().iter().map(|result| result.to_vec()).collect();
        if reply.rv == 0 { Ok(results) } else { Err(reply.rv) }
    }

    pub fn call(&self, function: F, arguments: &[&[u8]]) -> Answer {
        self.call_in(0, function, arguments)
    }

    /// A function of one result.
    pub fn one(&self, function: F, arguments: &[&[u8]]) -> Result<Vec<u8>, u32> {
        self.call(function, arguments).map(|mut results| results.swap_remove(0))
    }

    pub fn encrypt(&self, key: &[u8], mechanism: &[u8], data: &[u8]) -> Result<Vec<u8>, u32> {
        self.one(F::EncryptSingle, &[key, mechanism, data])
    }

    pub fn decrypt(&self, key: &[u8], mechanism: &[u8], data: &[u8]) -> Result<Vec<u8>, u32> {
        self.one(F::DecryptSingle, &[key, mechanism, data])
    }

    pub fn sign(&self, key: &[u8], mechanism: &[u8], data: &[u8]) -> Result<Vec<u8>, u32> {
        self.one(F::SignSingle, &[key, mechanism, data])
    }

    pub fn verify(&self, key: &[u8], mechanism: &[u8], data: &[u8], signature: &[u8]) -> Result<(), u32> {
        self.call(F::VerifySingle, &[key, mechanism, data, signature]).map(drop)
    }

    pub fn generate(&self, kind: u32, template: &[u8]) -> Result<Vec<u8>, u32> {
        self.one(F::GenerateKey, &[&plain(kind), template, b""])
    }

    /// An AES key of so many bytes, with these attributes besides.
    pub fn aes(&self, length: u32, flags: &[(u32, bool)]) -> Vec<u8> {
        self.generate(m::AES_KEY_GEN, &template(flags, &[(a::VALUE_LEN, Value::Number(length))])).unwrap()
    }

    /// Private and public key.
    pub fn pair(&self, kind: u32, public: &[u8], private: &[u8]) -> Result<[Vec<u8>; 2], u32> {
        let results = self.call(F::GenerateKeyPair, &[&plain(kind), public, private, b""])?;
        Ok(results.try_into().unwrap())
    }

    pub fn ec(&self, oid: &[u8], flags: &[(u32, bool)]) -> [Vec<u8>; 2] {
        let public = template(&[], &[(a::EC_PARAMS, Value::Bytes(oid))]);
        self.pair(m::EC_KEY_PAIR_GEN, &public, &template(flags, &[])).unwrap()
    }

    pub fn rsa(&self, bits: u32, public: &[(u32, bool)], private: &[(u32, bool)]) -> [Vec<u8>; 2] {
        let public = template(public, &[(a::MODULUS_BITS, Value::Number(bits))]);
        self.pair(m::RSA_PKCS_KEY_PAIR_GEN, &public, &template(private, &[])).unwrap()
    }

    pub fn wrap(&self, key: &[u8], with: &[u8], mechanism: &[u8]) -> Result<Vec<u8>, u32> {
        self.one(F::WrapKey, &[key, with, b"", mechanism])
    }

    pub fn unwrap(&self, wrapped: &[u8], with: &[u8], mechanism: &[u8], template: &[u8]) -> Answer {
        self.call(F::UnwrapKey, &[wrapped, with, b"", b"", mechanism, template])
    }

    /// A key of bytes that are known, as openCryptoki imports it: encrypted by a key of the card, then unwrapped by it.
    pub fn import(&self, class: u32, kind: u32, value: &[u8], flags: &[(u32, bool)]) -> Result<Vec<u8>, u32> {
        let helper = self.aes(32, &[(a::ENCRYPT, true), (a::DECRYPT, true), (a::WRAP, true), (a::UNWRAP, true)]);
        let cbc = with_iv(m::AES_CBC_PAD, b"1234567812345678");
        let wrapped = self.encrypt(&helper, &cbc, value).unwrap();
        let values = [(a::CLASS, Value::Number(class)), (a::KEY_TYPE, Value::Number(kind))];
        self.unwrap(&wrapped, &helper, &cbc, &template(flags, &values)).map(|mut results| results.swap_remove(0))
    }

    pub fn secret(&self, kind: u32, value: &[u8]) -> Vec<u8> {
        self.import(k::SECRET, kind, value, &[(a::DERIVE, true)]).unwrap()
    }

    /// The numbers and bytes of attributes, and booleans.
    pub fn attributes(&self, key: &[u8], flags: u32, kinds: &[u32]) -> Result<(u32, Vec<Vec<u8>>), u32> {
        let values = kinds.iter().map(|kind| (*kind, Value::Wanted)).collect();
        let question = Template { mask: flags, flags: 0, values }.to_bytes();
        let answer = self.one(F::GetAttributeValue, &[key, &question])?;
        let answer = Template::parse(&answer).expect("a template");
        assert_eq!(answer.values.len(), kinds.len());
        let bytes = answer.values.iter().map(|(_, value)| match value {
            Value::Number(number) => number.to_be_bytes().to_vec(),
            Value::Bytes(bytes) => bytes.to_vec(),
            Value::Wanted => panic!("a question"),
        });
        Ok((answer.flags, bytes.collect()))
    }

    pub fn set(&self, key: &[u8], flags: &[(u32, bool)]) -> Result<Vec<u8>, u32> {
        self.one(F::SetAttributeValue, &[key, &template(flags, &[])])
    }
}

pub fn plain(kind: u32) -> Vec<u8> {
    Mechanism::plain(kind).to_bytes()
}

pub fn with_iv(kind: u32, iv: &[u8]) -> Vec<u8> {
    Mechanism { kind, parameter: Parameter::Bytes(iv) }.to_bytes()
}

pub fn with(kind: u32, parameter: Parameter<'_>) -> Vec<u8> {
    Mechanism { kind, parameter }.to_bytes()
}

pub fn template(flags: &[(u32, bool)], values: &[(u32, Value<'_>)]) -> Vec<u8> {
    let mut template = Template::default();
    flags.iter().for_each(|(kind, value)| template.set_flag(*kind, *value).unwrap());
    template.values.extend_from_slice(values);
    template.to_bytes()
}

pub fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Object identifiers of curves, as CKA_EC_PARAMS has them.
pub const P192: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 1];
pub const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
pub const P384: &[u8] = &[6, 5, 0x2b, 0x81, 4, 0, 0x22];
pub const P521: &[u8] = &[6, 5, 0x2b, 0x81, 4, 0, 0x23];
pub const BP160: &[u8] = &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 1];
pub const BP256: &[u8] = &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 7];
pub const ED25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x70];
pub const SECP256K1: &[u8] = &[6, 5, 0x2b, 0x81, 4, 0, 10];
pub const BLS12_381: &[u8] = &[6, 12, 0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 0x87, 0x67, 3, 2];
pub const X25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x6e];
