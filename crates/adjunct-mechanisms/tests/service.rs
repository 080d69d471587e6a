//! A service that has keys by names of its own, and no session, token or C structure: what one in a card does with this crate.

use adjunct_mechanisms::keys::derive::Deriving;
use adjunct_mechanisms::keys::encapsulate::{self, Encapsulating};
use adjunct_mechanisms::keys::{self, wrapping};
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::derive::Derivation;
use adjunct_mechanisms::mechanism::derive::hkdf::{Hkdf, Salt};
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::{Defaults, Origin};
use adjunct_mechanisms::object::{Held, Object};
use adjunct_mechanisms::rv::{Result, Rv};
use cryptoki_sys::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Uses have to be asked for by name where they take a key out.
const DEFAULTS: Defaults = Defaults { open: false };

/// Keys, by name.
#[derive(Default)]
struct Service(BTreeMap<&'static str, Held>);

fn template(class: CK_OBJECT_CLASS, kind: CK_KEY_TYPE) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, class).unwrap();
    attributes.set_number(CKA_KEY_TYPE, kind).unwrap();
    attributes
}

fn with_bytes(mut attributes: Attributes, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Attributes {
    attributes.set(kind, value).unwrap();
    attributes
}

fn with_flag(mut attributes: Attributes, kind: CK_ATTRIBUTE_TYPE, value: bool) -> Attributes {
    attributes.set_bool(kind, value).unwrap();
    attributes
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

impl Service {
    fn keep(&mut self, name: &'static str, object: Object) {
        self.0.insert(name, Held::Own(Arc::new(object)));
    }

    fn import(&mut self, name: &'static str, template: Attributes) {
        self.keep(name, DEFAULTS.object(template, Origin::Created).unwrap());
    }

    /// A key that may be used so.
    fn key(&self, name: &str, usage: CK_ATTRIBUTE_TYPE, mechanism: Mechanism<'_>) -> Result<Held> {
        let key = self.0.get(name).ok_or(Rv(CKR_KEY_HANDLE_INVALID))?;
        key.permits(usage, mechanism.kind)?;
        Ok(key.clone())
    }

    fn crypt(&self, encrypt: bool, mechanism: Mechanism<'_>, name: &str, input: &[u8]) -> Result<Vec<u8>> {
        let key = self.key(name, if encrypt { CKA_ENCRYPT } else { CKA_DECRYPT }, mechanism)?;
        let mut cipher = mechanism.cipher(key, encrypt)?;
        let mut out = vec![0; cipher.once_length(input.len())];
        let length = cipher.once(input, &mut out)?;
        out.truncate(length);
        Ok(out)
    }

    fn sign(&self, mechanism: Mechanism<'_>, name: &str, data: &[u8]) -> Result<Vec<u8>> {
        let mut signer = mechanism.signer(self.key(name, CKA_SIGN, mechanism)?)?;
        let mut out = vec![0; signer.length()];
        let length = signer.once(data, &mut out)?;
        out.truncate(length);
        Ok(out)
    }

    fn verify(&self, mechanism: Mechanism<'_>, name: &str, parts: &[&[u8]], signature: &[u8]) -> Result {
        let mut verifier = mechanism.verifier(self.key(name, CKA_VERIFY, mechanism)?)?;
        parts.iter().try_for_each(|part| verifier.update(part))?;
        verifier.finish(signature)
    }

    fn wrap(&self, mechanism: Mechanism<'_>, with: &str, name: &str) -> Result<Vec<u8>> {
        let with = self.key(with, CKA_WRAP, mechanism)?;
        let leaving = wrapping::wrap(mechanism, &with, self.0.get(name).ok_or(Rv(CKR_KEY_HANDLE_INVALID))?)?;
        let mut out = vec![0; leaving.length()];
        let length = leaving.wrap(&mut out)?;
        out.truncate(length);
        Ok(out)
    }

    fn unwrap(&self, mechanism: Mechanism<'_>, with: &str, wrapped: &[u8], template: Attributes) -> Result<Object> {
        let with = self.key(with, CKA_UNWRAP, mechanism)?;
        wrapping::unwrap(DEFAULTS, mechanism, &with, wrapped, template)
    }
}

fn key_wrap() -> Mechanism<'static> {
    Mechanism::new(CKM_AES_KEY_WRAP, Params::None)
}

#[test]
fn keys_of_attributes_encrypt_and_sign() {
    let mut service = Service::default();
    // SP 800-38A, F.2.1.
    let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
    service.import("aes", with_bytes(template(CKO_SECRET_KEY, CKK_AES), CKA_VALUE, &key));
    let iv = hex("000102030405060708090a0b0c0d0e0f");
    let cbc = Mechanism::new(CKM_AES_CBC, Params::Bytes(&iv));
    let plain = hex("6bc1bee22e409f96e93d7e117393172a");
    let encrypted = service.crypt(true, cbc, "aes", &plain).unwrap();
    assert_eq!(encrypted, hex("7649abac8119b246cee98e9b12e9197d"));
    assert_eq!(service.crypt(false, cbc, "aes", &encrypted).unwrap(), plain);
    let gcm = Mechanism::new(CKM_AES_GCM, Params::Gcm { iv: &iv[..12], aad: b"aad", tag_bits: 128 });
    let mut sealed = service.crypt(true, gcm, "aes", &plain).unwrap();
    assert_eq!(service.crypt(false, gcm, "aes", &sealed).unwrap(), plain);
    sealed[3] ^= 1;
    assert_eq!(service.crypt(false, gcm, "aes", &sealed), Err(Rv(CKR_ENCRYPTED_DATA_INVALID)));
    // RFC 4231, 4.2.
    let hmac = Mechanism::new(CKM_SHA256_HMAC, Params::None);
    service.import("hmac", with_bytes(template(CKO_SECRET_KEY, CKK_GENERIC_SECRET), CKA_VALUE, &[11; 20]));
    let mac = service.sign(hmac, "hmac", b"Hi There").unwrap();
    assert_eq!(mac, hex("b0344c61d8db38535ca8afceaf0bf12b 881dc200c9833da726e9376c2e32cff7"));
    assert_eq!(service.verify(hmac, "hmac", &[b"Hi ", b"There"], &mac), Ok(()));
    // What a key is not for, and what no mechanism is.
    let mut digest = Mechanism::new(CKM_SHA256, Params::None).digester().unwrap();
    digest.update(b"abc");
    assert_eq!(digest.size(), 32);
    assert_eq!(service.crypt(true, hmac, "hmac", &plain), Err(Rv(CKR_MECHANISM_INVALID)));
    assert_eq!(service.crypt(true, cbc, "hmac", &plain), Err(Rv(CKR_KEY_TYPE_INCONSISTENT)));
    assert_eq!(service.wrap(key_wrap(), "aes", "hmac"), Err(Rv(CKR_KEY_FUNCTION_NOT_PERMITTED)));
}

#[test]
fn generated_keys_sign_and_leave_only_wrapped() {
    let mut service = Service::default();
    let mut secret = template(CKO_SECRET_KEY, CKK_AES);
    secret.set_number(CKA_VALUE_LEN, 32).unwrap();
    let secret = with_flag(with_flag(secret, CKA_WRAP, true), CKA_UNWRAP, true);
    let wrapper = keys::generate(DEFAULTS, Mechanism::new(CKM_AES_KEY_GEN, Params::None), secret).unwrap();
    service.keep("wrapper", wrapper);
    let p256 = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let generate = Mechanism::new(CKM_EC_KEY_PAIR_GEN, Params::None);
    let public = with_bytes(Attributes::default(), CKA_EC_PARAMS, &p256);
    let pair = |extractable| {
        let private = with_flag(Attributes::default(), CKA_EXTRACTABLE, extractable);
        keys::generate_pair(DEFAULTS, generate, public.clone(), private).unwrap()
    };
    let [public, private] = pair(true);
    assert!(public.attributes.has(CKA_PUBLIC_KEY_INFO) && private.attributes.is(CKA_LOCAL));
    service.keep("public", public);
    service.keep("private", private);
    let ecdsa = Mechanism::new(CKM_ECDSA_SHA256, Params::None);
    let signature = service.sign(ecdsa, "private", b"message").unwrap();
    assert_eq!(service.verify(ecdsa, "public", &[b"message"], &signature), Ok(()));
    assert_eq!(service.verify(ecdsa, "public", &[b"messagf"], &signature), Err(Rv(CKR_SIGNATURE_INVALID)));
    // Out, back, and still the same key.
    let padded = Mechanism::new(CKM_AES_KEY_WRAP_KWP, Params::None);
    let wrapped = service.wrap(padded, "wrapper", "private").unwrap();
    let back = service.unwrap(padded, "wrapper", &wrapped, template(CKO_PRIVATE_KEY, CKK_EC)).unwrap();
    assert!(!back.attributes.is(CKA_LOCAL) && !back.attributes.is(CKA_ALWAYS_SENSITIVE));
    service.keep("back", back);
    let signature = service.sign(ecdsa, "back", b"message").unwrap();
    assert_eq!(service.verify(ecdsa, "public", &[b"message"], &signature), Ok(()));
    let mut broken = wrapped.clone();
    broken[9] ^= 1;
    let refused = service.unwrap(padded, "wrapper", &broken, template(CKO_PRIVATE_KEY, CKK_EC));
    assert_eq!(refused.map(drop), Err(Rv(CKR_WRAPPED_KEY_INVALID)));
    let [_, kept] = pair(false);
    service.keep("kept", kept);
    assert_eq!(service.wrap(padded, "wrapper", "kept"), Err(Rv(CKR_KEY_UNEXTRACTABLE)));
    // A mechanism that encrypts, but wraps no keys.
    let ofb = Mechanism::new(CKM_AES_OFB, Params::Bytes(&[0; 16]));
    assert_eq!(service.wrap(ofb, "wrapper", "private"), Err(Rv(CKR_MECHANISM_INVALID)));
}

#[test]
fn secret_keys_are_wrapped_as_rfc_3394_has_it() {
    // RFC 3394, 4.1.
    let mut service = Service::default();
    let wrapper = with_bytes(template(CKO_SECRET_KEY, CKK_AES), CKA_VALUE, &hex("000102030405060708090A0B0C0D0E0F"));
    service.import("wrapper", with_flag(with_flag(wrapper, CKA_WRAP, true), CKA_UNWRAP, true));
    let value = hex("00112233445566778899AABBCCDDEEFF");
    service.import("key", with_bytes(template(CKO_SECRET_KEY, CKK_AES), CKA_VALUE, &value));
    let wrapped = service.wrap(key_wrap(), "wrapper", "key").unwrap();
    assert_eq!(wrapped, hex("1FA68B0A8112B447 AEF34BD8FB5A7B82 9D3E862371D2CFE5"));
    let back = service.unwrap(key_wrap(), "wrapper", &wrapped, template(CKO_SECRET_KEY, CKK_AES)).unwrap();
    assert_eq!((back.value(), back.attributes.number(CKA_VALUE_LEN)), (Ok(&value[..]), Some(16)));
}

#[test]
fn keys_are_derived_and_encapsulated() {
    let mut service = Service::default();
    // RFC 5869, A.1.
    service.import("base", with_bytes(template(CKO_SECRET_KEY, CKK_HKDF), CKA_VALUE, &[11; 22]));
    let (salt, info) = (hex("000102030405060708090a0b0c"), hex("f0f1f2f3f4f5f6f7f8f9"));
    let hkdf = Hkdf { extract: true, expand: true, hash: Hash::Sha256, salt: Salt::Data(&salt), info: &info };
    let derivation = Derivation::Hkdf(hkdf);
    let mechanism = Mechanism::new(CKM_HKDF_DERIVE, Params::None);
    let base = service.key("base", CKA_DERIVE, mechanism).unwrap();
    let mut wanted = template(CKO_SECRET_KEY, CKK_GENERIC_SECRET);
    wanted.set_number(CKA_VALUE_LEN, 42).unwrap();
    assert_eq!(derivation.others(), []);
    let derived = Deriving::new(DEFAULTS, base, Vec::new()).one(&derivation, wanted, false).unwrap();
    let okm = hex("3cb25f25faacd57a90434f64d0362f2a 2d2d0a90cf1a5a4c5db02d56ecc4c5bf 34007208d5b887185865");
    assert_eq!(derived.value(), Ok(&okm[..]));

    let mut public = Attributes::default();
    public.set_number(CKA_PARAMETER_SET, CKP_ML_KEM_768).unwrap();
    let generate = Mechanism::new(CKM_ML_KEM_KEY_PAIR_GEN, Params::None);
    let [public, private] = keys::generate_pair(DEFAULTS, generate, public, Attributes::default()).unwrap();
    service.keep("public", public);
    service.keep("private", private);
    let kem = Mechanism::new(CKM_ML_KEM, Params::None);
    let encapsulating = Encapsulating::new(kem, service.key("public", CKA_ENCAPSULATE, kem).unwrap()).unwrap();
    let mut ciphertext = vec![0; encapsulating.length().unwrap()];
    let ours = encapsulating.run(DEFAULTS, template(CKO_SECRET_KEY, CKK_AES), &mut ciphertext).unwrap();
    let private = service.key("private", CKA_DECAPSULATE, kem).unwrap();
    let aes = template(CKO_SECRET_KEY, CKK_AES);
    let theirs = encapsulate::decapsulate(DEFAULTS, kem, &private, aes, &ciphertext).unwrap();
    assert!(ours.value() == theirs.value() && ours.value().unwrap().len() == 32);
}
