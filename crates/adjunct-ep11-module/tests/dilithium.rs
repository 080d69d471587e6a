//! Dilithium of the second and third round. Its known answers are those of openCryptoki's dilithium_tests (tests/ep11-token).

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, control as c, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use common::*;

/// The last bytes of the object identifiers, with the bytes of a SubjectPublicKeyInfo's two strings and of a signature.
const SETS: [([u8; 3], usize, usize); 5] = [
    ([1, 6, 5], 1760, 3366),
    ([1, 8, 7], 2336, 4668),
    ([7, 4, 4], 1312, 2420),
    ([7, 6, 5], 1952, 3293),
    ([7, 8, 7], 2592, 4595),
];

fn wanted(last: [u8; 3]) -> Vec<u8> {
    let oid = [&[6, 11, 0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b][..], &last].concat();
    template(&[], &[(a::IBM_PQC_PARAMS, Value::Bytes(&oid)), (a::KEY_TYPE, Value::Number(k::IBM_DILITHIUM))])
}

#[test]
fn each_set_signs_and_its_keys_come_back() {
    let card = card();
    let scheme = plain(m::IBM_DILITHIUM);
    for (last, public_bytes, length) in SETS {
        let [private, public] = card.pair(m::IBM_DILITHIUM, &wanted(last), b"").unwrap();
        let (_, known) = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO, a::KEY_TYPE]).unwrap();
        assert_eq!(known[1], k::IBM_DILITHIUM.to_be_bytes());
        // Two bit strings in a sequence in a bit string.
        assert!((public_bytes..public_bytes + 48).contains(&known[0].len()), "{}", known[0].len());
        for data in [&b""[..], b"message", &[7; 3000]] {
            let signature = card.sign(&private, &scheme, data).unwrap();
            assert_eq!(signature.len(), length);
            // It is deterministic.
            assert_eq!(card.sign(&private, &scheme, data).as_ref(), Ok(&signature));
            assert_eq!(card.verify(&public, &scheme, data, &signature), Ok(()));
            assert_eq!(card.verify(&known[0], &scheme, data, &signature), Ok(()));
            assert_eq!(card.verify(&public, &scheme, b"other", &signature), Err(rv::SIGNATURE_INVALID));
            assert_eq!(card.verify(&public, &scheme, data, &signature[1..]), Err(rv::SIGNATURE_LEN_RANGE));
        }
        let signature = card.sign(&private, &scheme, b"message").unwrap();
        for bit in (0..8 * length).step_by(197).chain(8 * length - 8..8 * length) {
            let mut changed = signature.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(card.verify(&public, &scheme, b"message", &changed), Err(rv::SIGNATURE_INVALID), "bit {bit}");
        }
        let state = card.one(F::SignInit, &[&scheme, &private]).unwrap();
        let state = card.one(F::SignUpdate, &[&state, b"mess"]).unwrap();
        let state = card.one(F::SignUpdate, &[&state, b"age"]).unwrap();
        assert_eq!(card.one(F::SignFinal, &[&state]).as_ref(), Ok(&signature));
        let mut changed = private.clone();
        changed[900] ^= 1;
        assert_eq!(card.sign(&changed, &scheme, b"message"), Err(rv::IBM_BLOB_ERROR));
        // Wrapped and back, and with each part of it changed.
        let kek = card.aes(32, &[(a::WRAP, true), (a::UNWRAP, true), (a::ENCRYPT, true), (a::DECRYPT, true)]);
        let cbc = with_iv(m::AES_CBC_PAD, &[3; 16]);
        let wrapped = card.wrap(&private, &kek, &cbc).unwrap();
        let as_dilithium = template(&[], &[(a::KEY_TYPE, Value::Number(k::IBM_DILITHIUM))]);
        let back = card.unwrap(&wrapped, &kek, &cbc, &as_dilithium).unwrap();
        assert_eq!(back[1], known[0]);
        assert_eq!(card.sign(&back[0], &scheme, b"message").as_ref(), Ok(&signature));
        let plain_key = card.decrypt(&kek, &cbc, &wrapped).unwrap();
        for at in (70..plain_key.len()).step_by(211) {
            let mut changed = plain_key.clone();
            changed[at] ^= 1;
            let wrapped = card.encrypt(&kek, &cbc, &changed).unwrap();
            let refused = card.unwrap(&wrapped, &kek, &cbc, &as_dilithium).map(drop);
            // The key of nonces is a key whatever it is.
            let nonces = changed[..at].len() < 110;
            assert!(refused == Err(rv::WRAPPED_KEY_INVALID) || nonces, "{at}");
        }
        for point in [c::PQC, c::DILITHIUM, c::SIGN_ASYMM] {
            card.off(&[point]);
            assert_eq!(card.sign(&private, &scheme, b"x"), Err(rv::FUNCTION_CANCELED));
        }
        card.off(&[]);
    }
}

#[test]
fn what_is_no_set_is_refused() {
    let card = card();
    let pair = |public: &[u8]| card.pair(m::IBM_DILITHIUM, public, b"").map(drop);
    assert_eq!(pair(&wanted([7, 5, 4])), Err(rv::IBM_PQC_PARAMS_NOT_SUPPORTED));
    assert_eq!(pair(&wanted([5, 3, 3])), Err(rv::IBM_PQC_PARAMS_NOT_SUPPORTED));
    assert_eq!(pair(b""), Err(rv::TEMPLATE_INCOMPLETE));
    let [private, _] = card.pair(m::IBM_DILITHIUM, &wanted([7, 4, 4]), b"").unwrap();
    assert_eq!(card.sign(&private, &plain(m::IBM_ML_DSA), b"x"), Err(rv::KEY_TYPE_INCONSISTENT));
    assert_eq!(card.sign(&private, &plain(m::ECDSA), b"x"), Err(rv::KEY_TYPE_INCONSISTENT));
    let [ec, _] = card.ec(P256, &[]);
    assert_eq!(card.sign(&ec, &plain(m::IBM_DILITHIUM), b"x"), Err(rv::KEY_TYPE_INCONSISTENT));
}
