//! Administrators and holders of key parts, as programs are them: their keys, certificates, signatures and RecipientInfos, written here anew.
#![allow(dead_code)]

use crate::card::Card;
use adjunct::ops::digest::{Part, SHA256};
use adjunct::ops::ec::{self, Form, MAX_FIELD, MAX_POINT};
use adjunct_ep11_module::key::Material;
use adjunct_ep11_wire::admin::{Block, Head, command};
use adjunct_ep11_wire::codes::key as k;
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::{element, fields, octets, put_octets, sequence};
use adjunct_mechanisms::der::tlv;
use adjunct_mechanisms::keys::generate_pair;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::Defaults;
use adjunct_mechanisms::object::key::ObjectKey;
use adjunct_mechanisms::object::{Held, Object};
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

const P521: &[u8] = &[6, 5, 0x2b, 0x81, 4, 0, 0x23];
const SHA_256: &[u8] = &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
const SHA_512: &[u8] = &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];
const RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const RSA_SHA256: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
const ECDSA_SHA512: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
const EC: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const ECDH_SHA256: &[u8] = &[6, 6, 0x2b, 0x81, 4, 1, 11, 1];
const AES256_WRAP: &[u8] = &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 45];
const NULL: &[u8] = &[5, 0];
const SEQUENCE: u8 = 0x30;

pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let (mut digest, mut out) = (Part::new(&SHA256), [0; 32]);
    parts.iter().for_each(|part| digest.update(part));
    digest.finish(&mut out);
    out
}

fn seq(parts: &[&[u8]]) -> Vec<u8> {
    tlv(SEQUENCE, &parts.concat())
}

/// The contents of an element with that tag, and what follows.
fn take<'a>(tag: u8, from: &mut &'a [u8]) -> &'a [u8] {
    let (found, contents, rest) = element(from).expect("an element");
    assert_eq!(found, tag);
    *from = rest;
    contents
}

/// The bits of a SubjectPublicKeyInfo.
fn bits(spki: &[u8]) -> &[u8] {
    let mut info = take(SEQUENCE, &mut &*spki);
    take(SEQUENCE, &mut info);
    &take(3, &mut info)[1..]
}

fn pair(mechanism: CK_MECHANISM_TYPE, public: Attributes) -> [Object; 2] {
    generate_pair(Defaults { open: true }, Mechanism::new(mechanism, Params::None), public, Attributes::default())
        .unwrap()
}

fn curve(params: &[u8]) -> [Object; 2] {
    let mut public = Attributes::default();
    public.set(CKA_EC_PARAMS, params).unwrap();
    pair(CKM_EC_KEY_PAIR_GEN, public)
}

fn crypt(kind: CK_MECHANISM_TYPE, key: Held, encrypt: bool, input: &[u8]) -> Option<Vec<u8>> {
    let mut cipher = Mechanism::new(kind, Params::None).cipher(key, encrypt).ok()?;
    let mut out = vec![0; cipher.once_length(input.len())];
    let length = cipher.once(input, &mut out).ok()?;
    out.truncate(length);
    Some(out)
}

fn aes(key: &[u8]) -> Held {
    Material::secret(k::AES, Zeroizing::new(key.to_vec())).unwrap().held
}

fn agree(private: &Object, point: &[u8]) -> Vec<u8> {
    let key = private.key().unwrap();
    let ObjectKey::Ec(key) = &*key else { panic!("no key on a curve") };
    let peer = ec::EcKey::new(key.group(), Some(point), None).unwrap();
    key.shared_secret(&peer, &mut [0; MAX_FIELD]).unwrap().to_vec()
}

fn point(private: &Object) -> Vec<u8> {
    let key = private.key().unwrap();
    let ObjectKey::Ec(key) = &*key else { panic!("no key on a curve") };
    key.public(Form::Uncompressed, &mut [0; MAX_POINT]).unwrap().to_vec()
}

/// The key that wraps (RFC 5753, 7.2): X9.63 with SHA-256 for 256 bits.
fn kek(shared: &[u8], material: Option<&[u8]>) -> Held {
    let material = material.map(|material| tlv(0xa0, &tlv(4, material))).unwrap_or_default();
    let info = seq(&[&seq(&[AES256_WRAP]), &material, &tlv(0xa2, &tlv(4, &[0, 0, 1, 0]))]);
    aes(&sha256(&[shared, &[0, 0, 0, 1], &info]))
}

pub struct Signer {
    private: Object,
    pub spki: Vec<u8>,
    pub ski: [u8; 32],
    pub certificate: Vec<u8>,
    on_curve: bool,
}

impl Signer {
    pub fn rsa() -> Signer {
        let mut public = Attributes::default();
        public.set_number(CKA_MODULUS_BITS, 2048).unwrap();
        Signer::of(pair(CKM_RSA_PKCS_KEY_PAIR_GEN, public), false)
    }

    pub fn p521() -> Signer {
        Signer::of(curve(P521), true)
    }

    fn of([public, private]: [Object; 2], on_curve: bool) -> Signer {
        let spki = public.attributes.bytes(CKA_PUBLIC_KEY_INFO).unwrap().to_vec();
        let (name, algorithm) = (seq(&[]), seq(&[RSA_SHA256, NULL]));
        let day = tlv(0x17, b"260101000000Z");
        let body =
            [&tlv(0xa0, &[2, 1, 2]), &[2, 1, 1][..], &algorithm, &name, &seq(&[&day, &day]), &name, &spki].concat();
        let certificate = seq(&[&seq(&[&body]), &algorithm, &tlv(3, &[0, 1, 2, 3])]);
        Signer { private, ski: sha256(&[bits(&spki)]), spki, certificate, on_curve }
    }

    fn held(&self) -> Held {
        Held::Own(Arc::new(Object::new(self.private.attributes.clone())))
    }

    /// A SignerInfo of a block.
    pub fn sign(&self, block: &[u8]) -> Vec<u8> {
        let kind = if self.on_curve { CKM_ECDSA_SHA512 } else { CKM_SHA256_RSA_PKCS };
        let mut signer = Mechanism::new(kind, Params::None).signer(self.held()).unwrap();
        let mut signature = vec![0; signer.length()];
        signer.once(block, &mut signature).unwrap();
        let named = |oid: &[u8]| seq(&[oid, NULL]);
        let (digest, algorithm) = if self.on_curve { (SHA_512, ECDSA_SHA512) } else { (SHA_256, RSA_SHA256) };
        if self.on_curve {
            let number = |digits: &[u8]| {
                let at = digits.iter().position(|digit| *digit != 0).unwrap();
                let zero: &[u8] = if digits[at] >= 0x80 { &[0] } else { &[] };
                tlv(2, &[zero, &digits[at..]].concat())
            };
            let (r, s) = signature.split_at(signature.len() / 2);
            signature = seq(&[&number(r), &number(s)]);
        }
        seq(&[&[2, 1, 3], &tlv(0x80, &self.ski), &named(digest), &named(algorithm), &tlv(4, &signature)])
    }

    /// What a RecipientInfo holds for this key.
    pub fn open(&self, info: &[u8]) -> Vec<u8> {
        let mut inside = take(SEQUENCE, &mut &*info);
        match take(2, &mut inside) {
            [2] => {
                assert_eq!(take(0x80, &mut inside), self.ski);
                assert_eq!(take(SEQUENCE, &mut inside), [RSA, NULL].concat());
                crypt(CKM_RSA_PKCS, self.held(), false, take(4, &mut inside)).unwrap()
            }
            _ => {
                let mut originator = take(0xa1, &mut take(0xa0, &mut inside));
                take(SEQUENCE, &mut originator);
                let shared = agree(&self.private, &take(3, &mut originator)[1..]);
                let material = take(4, &mut take(0xa1, &mut inside));
                take(SEQUENCE, &mut inside);
                let mut one = take(SEQUENCE, &mut take(SEQUENCE, &mut inside));
                assert_eq!(take(4, &mut take(0xa0, &mut one)), self.ski);
                crypt(CKM_AES_KEY_WRAP, kek(&shared, Some(material)), false, take(4, &mut one)).unwrap()
            }
        }
    }
}

/// A RecipientInfo of a key part for an importer.
pub fn recipient(_: &Card, spki: &[u8], secret: &[u8]) -> Vec<u8> {
    let ski = sha256(&[bits(spki)]);
    let public = Material::of_spki(spki).unwrap();
    if public.kind == k::RSA {
        let encrypted = crypt(CKM_RSA_PKCS, public.held, true, secret).unwrap();
        return seq(&[&[2, 1, 2], &tlv(0x80, &ski), &seq(&[RSA, NULL]), &tlv(4, &encrypted)]);
    }
    let [_, own] = curve(public.held.attributes.bytes(CKA_EC_PARAMS).unwrap());
    let shared = agree(&own, bits(spki));
    // User key material is optional: keys on P-256 go without.
    let material = (public.bits == 521).then_some(&[9; 40][..]);
    let wrapped = crypt(CKM_AES_KEY_WRAP, kek(&shared, material), true, secret).unwrap();
    let key = tlv(0xa1, &[seq(&[EC]), tlv(3, &[&[0][..], &point(&own)].concat())].concat());
    let material = material.map(|material| tlv(0xa1, &tlv(4, material))).unwrap_or_default();
    let keys = seq(&[&seq(&[&tlv(0xa0, &tlv(4, &ski)), &tlv(4, &wrapped)])]);
    seq(&[&[2, 1, 3], &tlv(0xa0, &key), &material, &seq(&[ECDH_SHA256, &seq(&[AES256_WRAP])]), &keys])
}

/// A key part in a request of its own, which nobody has signed.
pub fn part(head: &Head, domain: u8, recipient: &[u8]) -> Vec<u8> {
    let block = Block { head: Head { number: command::IMPORT_WK, ..*head }, payload: recipient };
    let function = (6_u32 << 16 | Function::Admin as u32).to_be_bytes();
    sequence(&[&function, &u32::from(domain).to_be_bytes(), &block.to_bytes(), &[]]).to_vec()
}

/// A request for an export to holders of parts, as a file.
pub fn export_request(certificates: &[&[u8]]) -> Vec<u8> {
    let mut sections = Vec::new();
    for (index, certificate) in (1_u32..).zip(certificates) {
        put_octets(&mut sections, &[&[0, 29][..], &index.to_be_bytes(), certificate].concat());
    }
    let sequence = seq(&[&sections]);
    [&[0, 0, 0, 4, 0, 0, 0, 0][..], &(sequence.len() as u32).to_be_bytes(), &sequence].concat()
}

/// The RecipientInfos of an export.
pub fn exported(out: &[u8]) -> Vec<Vec<u8>> {
    let (mut sections, mut found) = (take(SEQUENCE, &mut &*out), Vec::new());
    while !sections.is_empty() {
        let (one, rest) = octets(sections).unwrap();
        sections = rest;
        if one[..2] == [0, 25] {
            found.push(one[6..].to_vec());
        }
    }
    found
}

/// The PIN as it travels, the structure, and the key between.
fn extended(function: Function, importer: &[u8], pin: &[u8]) -> (Vec<u8>, Vec<u8>, Held) {
    let importer = fields(importer).unwrap();
    let [ski, spki, counter] = importer.all() else { panic!("no importer") };
    let params = Material::of_spki(spki).unwrap().held.attributes.bytes(CKA_EC_PARAMS).unwrap().to_vec();
    let [public, own] = curve(&params);
    let (shared, mine) = (agree(&own, bits(spki)), point(&own));
    let one = 1_u32.to_be_bytes();
    let key = sha256(&[&one, &one, &shared, &mine[1..1 + mine.len() / 2]]);
    let next = (u128::from_be_bytes((*counter).try_into().unwrap()) + 1).to_be_bytes();
    let padded = sequence(&[&one, &(function as u32).to_be_bytes(), &next, pin]);
    let encrypted = crypt(CKM_AES_KEY_WRAP_KWP, aes(&key), true, &padded).unwrap();
    let recipient = sequence(&[&one, ski, public.attributes.bytes(CKA_PUBLIC_KEY_INFO).unwrap()]);
    let oid = [6, 12, 0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 0x87, 0x67, 4, 1];
    let structure = sequence(&[&oid, &2_u32.to_be_bytes(), &[0; 32], &recipient, &[], &[]]);
    (encrypted, structure.to_vec(), aes(&key))
}

/// Logs in as FIPS 2021 has it; the PIN blob.
pub fn login(card: &Card, importer: &[u8], pin: &[u8], nonce: &[u8]) -> Result<Vec<u8>, u32> {
    let (encrypted, structure, key) = extended(Function::LoginExtended, importer, pin);
    let answer = card.one(Function::LoginExtended, &[&encrypted, nonce, &structure])?;
    let clear = crypt(CKM_AES_KEY_WRAP_KWP, key, false, &answer).unwrap();
    assert_eq!((clear.len(), clear[4]), (48, 0xab));
    let key = sha256(&[&1_u32.to_be_bytes(), &3_u32.to_be_bytes(), pin, &[0], &clear[32..]]);
    let mut blob = crypt(CKM_AES_KEY_WRAP_KWP, aes(&key), true, &clear).unwrap();
    blob[4] = 0xab;
    if blob[0] == 0x30 {
        blob[0] = 0xcc;
    }
    Ok(blob)
}

pub fn logout(card: &Card, importer: &[u8], pin: &[u8], nonce: &[u8]) -> Result<(), u32> {
    let (encrypted, structure, _) = extended(Function::LogoutExtended, importer, pin);
    card.call(Function::LogoutExtended, &[&[], &encrypted, nonce, &structure]).map(drop)
}
