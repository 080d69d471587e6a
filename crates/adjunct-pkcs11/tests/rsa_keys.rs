//! RSA keys as programs ask for them: of any size that the mechanism's information says, with any public exponent, and numbers that have
//! zeros in front.

mod common;

use common::{Attributes, Handle, Mechanism, Session};
use cryptoki_sys::*;

const NUMBERS: [CK_ATTRIBUTE_TYPE; 8] = [
    CKA_MODULUS,
    CKA_PUBLIC_EXPONENT,
    CKA_PRIVATE_EXPONENT,
    CKA_PRIME_1,
    CKA_PRIME_2,
    CKA_EXPONENT_1,
    CKA_EXPONENT_2,
    CKA_COEFFICIENT,
];

fn generate(session: &Session, bits: usize, e: Option<&[u8]>) -> common::Result<(Handle, Handle)> {
    let template = Attributes::new().number(CKA_MODULUS_BITS, bits as CK_ULONG);
    let template = e.into_iter().fold(template, |template, e| template.bytes(CKA_PUBLIC_EXPONENT, e));
    session.generate_pair(&Mechanism::new(CKM_RSA_PKCS_KEY_PAIR_GEN), &template, &Attributes::new())
}

/// Whether both halves do what they should, by every scheme that fits.
fn works(session: &Session, (public, private): (Handle, Handle), bits: usize) {
    let modulus = session.attribute(public, CKA_MODULUS).unwrap();
    assert_eq!((modulus.len(), modulus[0].ilog2() as usize), (bits.div_ceil(8), (bits - 1) % 8), "{bits}");
    assert_eq!(session.number(public, CKA_MODULUS_BITS), Ok(bits as CK_ULONG));
    for kind in [CKM_SHA256_RSA_PKCS, CKM_SHA1_RSA_PKCS] {
        let mechanism = Mechanism::new(kind);
        let signature = session.sign(&mechanism, private, b"message").unwrap();
        assert_eq!(signature.len(), modulus.len());
        session.verify(&mechanism, public, b"message", &signature).unwrap();
        assert_eq!(session.verify(&mechanism, public, b"massage", &signature), Err(CKR_SIGNATURE_INVALID));
    }
    let pss = CK_RSA_PKCS_PSS_PARAMS { hashAlg: CKM_SHA256, mgf: CKG_MGF1_SHA256, sLen: 20 };
    let mechanism = Mechanism::with(CKM_SHA256_RSA_PKCS_PSS, pss);
    let signature = session.sign(&mechanism, private, b"message").unwrap();
    session.verify(&mechanism, public, b"message", &signature).unwrap();
    let mechanism = Mechanism::new(CKM_RSA_PKCS);
    let ciphertext = session.encrypt(&mechanism, public, b"message").unwrap();
    assert_eq!(session.decrypt(&mechanism, private, &ciphertext).as_deref(), Ok(&b"message"[..]));
}

/// Keys of any size are made. Sizes that no library makes by itself (multiples of 128 bits it does) and long ones are in the deep layer.
#[test]
fn keys_of_any_size_are_made() {
    let session = Session::open();
    let deep = std::env::var_os("ADJUNCT_DEEP").is_some_and(|value| value == "1");
    let usual = [512, 513, 520, 1000, 1023, 1024, 1025, 1031, 2047, 2048, 2056];
    let long: &[usize] = if deep { &[2049, 3000, 3072, 3092, 4095, 4100, 8191] } else { &[] };
    for bits in usual.iter().chain(long) {
        let pair = generate(&session, *bits, None).unwrap();
        works(&session, pair, *bits);
    }
    for bits in [0, 511, 16385, usize::MAX >> 1] {
        assert_eq!(generate(&session, bits, None), Err(CKR_KEY_SIZE_RANGE), "{bits}");
    }
}

#[test]
fn public_exponents_are_numbers_of_any_length() {
    let session = Session::open();
    let long = [&[0x80][..], &[0; 30], &[1]].concat();
    for (e, same) in [
        (&[3][..], &[3][..]),
        (&[0, 0, 1, 0, 1], &[1, 0, 1]),
        (&[0, 0, 0, 0, 0, 1, 0, 1], &[1, 0, 1]),
        (&[0, 3], &[3]),
        (&[1, 0, 0, 0, 1, 0, 1], &[1, 0, 0, 0, 1, 0, 1]),
        (&long, &long),
    ] {
        let (public, private) = generate(&session, 1024, Some(e)).unwrap();
        for key in [public, private] {
            assert_eq!(session.attribute(key, CKA_PUBLIC_EXPONENT).as_deref(), Ok(same));
        }
        works(&session, (public, private), 1024);
    }
    for e in [&[][..], &[0], &[1], &[0, 1], &[2], &[1, 0, 0], &[0xff; 33], &[1; 200]] {
        assert_eq!(generate(&session, 1024, Some(e)), Err(CKR_ATTRIBUTE_VALUE_INVALID), "{e:x?}");
    }
    // One that FIPS 186-5 has, and no signature could be checked with (as OpenSSL has it).
    assert_eq!(generate(&session, 4096, Some(&[1; 9])), Err(CKR_ATTRIBUTE_VALUE_INVALID));
}

/// Numbers with zeros in front are those numbers: in templates of keys, of searches and of keys that are unwrapped.
#[test]
fn zeros_in_front_of_numbers_are_nothing() {
    let session = Session::open();
    let pair = generate(&session, 1024, None).unwrap();
    let numbers = NUMBERS.map(|kind| session.attribute(pair.1, kind).unwrap());
    let padded = |mut template: Attributes, kinds: &[CK_ATTRIBUTE_TYPE], zeros: usize| {
        for (kind, number) in NUMBERS.iter().zip(&numbers).filter(|(kind, _)| kinds.contains(kind)) {
            template = template.bytes(*kind, &[&vec![0; zeros][..], number].concat());
        }
        template
    };
    let public_numbers = [CKA_MODULUS, CKA_PUBLIC_EXPONENT];
    for zeros in [1, 2, 9, 200] {
        let label = format!("{zeros} zeros");
        let of = |class| Attributes::key(class, CKK_RSA).bytes(CKA_LABEL, label.as_bytes());
        let public = session.create(&padded(of(CKO_PUBLIC_KEY), &public_numbers, zeros)).unwrap();
        let private = session.create(&padded(of(CKO_PRIVATE_KEY), &NUMBERS, zeros)).unwrap();
        for (kind, number) in NUMBERS.iter().zip(&numbers) {
            assert_eq!(session.attribute(private, *kind).as_ref(), Ok(number));
        }
        assert_eq!(session.attribute(public, CKA_MODULUS).as_ref(), Ok(&numbers[0]));
        works(&session, (public, private), 1024);
        let named = Attributes::new().bytes(CKA_LABEL, label.as_bytes());
        for zeros in [0, 1, 5] {
            let found = session.find(&padded(named.clone(), &public_numbers, zeros)).unwrap();
            assert_eq!(found.len(), 2, "{zeros}");
        }
    }
    // A key that comes in wrapped, with a template that says its numbers once more.
    let aes = session.create(&Attributes::secret(CKK_AES, &[7; 32])).unwrap();
    let mechanism = Mechanism::bytes(CKM_AES_CBC_PAD, &[1; 16]);
    let wrapped = session.wrap(&mechanism, aes, pair.1).unwrap();
    let template = padded(Attributes::key(CKO_PRIVATE_KEY, CKK_RSA), &public_numbers, 3);
    let back = session.unwrap(&mechanism, aes, &wrapped, &template).unwrap();
    assert_eq!(session.attribute(back, CKA_MODULUS).as_ref(), Ok(&numbers[0]));
}

/// A private number of a curve is as long as the curve's field, however it was given.
#[test]
fn private_numbers_of_curves_have_one_length() {
    let session = Session::open();
    let params = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let template = Attributes::new().bytes(CKA_EC_PARAMS, &params);
    let pair = Mechanism::new(CKM_EC_KEY_PAIR_GEN);
    let (public, private) = session.generate_pair(&pair, &template, &Attributes::new()).unwrap();
    let value = session.attribute(private, CKA_VALUE).unwrap();
    let mechanism = Mechanism::new(CKM_ECDSA_SHA256);
    for zeros in [0, 1, 20] {
        let key = Attributes::key(CKO_PRIVATE_KEY, CKK_EC).bytes(CKA_EC_PARAMS, &params);
        let key = session.create(&key.bytes(CKA_VALUE, &[&vec![0; zeros][..], &value].concat())).unwrap();
        assert_eq!(session.attribute(key, CKA_VALUE).as_ref(), Ok(&value));
        let signature = session.sign(&mechanism, key, b"message").unwrap();
        session.verify(&mechanism, public, b"message", &signature).unwrap();
    }
    let short = Attributes::key(CKO_PRIVATE_KEY, CKK_EC).bytes(CKA_EC_PARAMS, &params).bytes(CKA_VALUE, &[7]);
    let short = session.create(&short).unwrap();
    assert_eq!(session.attribute(short, CKA_VALUE), Ok([&[0; 31][..], &[7]].concat()));
}
