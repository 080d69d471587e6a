//! Sessions, and keys that are bound to them.

mod common;

use adjunct_ep11_module::Settings;
use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use common::*;

const PIN: &[u8] = b"12345678";

fn key(card: &Card, session: &[u8]) -> Result<Vec<u8>, u32> {
    let wanted = template(&[], &[(a::VALUE_LEN, Value::Number(16))]);
    card.one(F::GenerateKey, &[&plain(m::AES_KEY_GEN), &wanted, session])
}

#[test]
fn cards_with_one_wrapping_key_give_one_session() {
    let (card, other) = (card(), card());
    let session = card.one(F::Login, &[PIN, b"nonce"]).unwrap();
    assert_eq!(session.len(), 80);
    assert_eq!(other.one(F::Login, &[PIN, b"nonce"]), Ok(session.clone()));
    for (pin, nonce) in [(&b"12345679"[..], &b"nonce"[..]), (PIN, b"nonc"), (PIN, b""), (b"123456789", b"once")] {
        assert_ne!(card.one(F::Login, &[pin, nonce]).unwrap()[..32], session[..32]);
    }
    assert_ne!(card.call_in(1, F::Login, &[PIN, b"nonce"]).unwrap()[0][..32], session[..32]);
    for pin in [&b"1234567"[..], b"", &[b'1'; 17]] {
        assert_eq!(card.one(F::Login, &[pin, b""]), Err(rv::PIN_LEN_RANGE));
    }
    assert!(card.one(F::Login, &[&[b'1'; 16], b""]).is_ok());
    assert_eq!(card.call_in(2, F::Login, &[PIN, b""]), Err(rv::IBM_WK_NOT_INITIALIZED));
}

#[test]
fn a_key_of_a_session_works_while_that_is_open() {
    let card = card();
    let session = card.one(F::Login, &[PIN, b"nonce"]).unwrap();
    let bound = key(&card, &session).unwrap();
    assert_eq!(bound[..32], session[..32]);
    let ecb = plain(m::AES_ECB);
    let call = || card.encrypt(&bound, &ecb, &[0; 16]).map(drop);
    assert_eq!(call(), Ok(()));
    let public = template(&[], &[(a::EC_PARAMS, Value::Bytes(P256))]);
    let pair = card.call(F::GenerateKeyPair, &[&plain(m::EC_KEY_PAIR_GEN), &public, b"", &session]).unwrap();
    let signature = card.sign(&pair[0], &plain(m::ECDSA), &[1; 32]).unwrap();
    let verify = || card.verify(&pair[1], &plain(m::ECDSA), &[1; 32], &signature);
    assert_eq!(verify(), Ok(()));
    // A key that is made of it is not bound by itself.
    let copy = card.set(&bound, &[(a::DECRYPT, false)]).unwrap();
    assert_eq!(copy[..32], bound[..32]);

    assert_eq!(card.call(F::Logout, &[&session]), Ok(vec![]));
    assert_eq!((call(), verify()), (Err(rv::SESSION_CLOSED), Err(rv::SESSION_CLOSED)));
    assert_eq!(key(&card, &session), Err(rv::SESSION_CLOSED));
    assert_eq!(card.call(F::Logout, &[&session]), Err(rv::SESSION_CLOSED));
    let again = card.one(F::Login, &[PIN, b"nonce"]).unwrap();
    assert_eq!((&again, call()), (&session, Ok(())));
}

#[test]
fn each_changed_bit_of_a_session_is_told() {
    let card = card();
    let session = card.one(F::Login, &[PIN, b""]).unwrap();
    for bit in 0..8 * session.len() {
        let mut changed = session.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let expected = if (32..48).contains(&(bit / 8)) { rv::IBM_WKID_MISMATCH } else { rv::PIN_INCORRECT };
        assert_eq!(key(&card, &changed), Err(expected), "bit {bit}");
        assert_eq!(card.call(F::Logout, &[&changed]), Err(expected), "bit {bit}");
    }
    assert_eq!(key(&card, &session[..79]), Err(rv::PIN_INCORRECT));
    assert!(key(&card, &session).is_ok());
}

#[test]
fn a_domain_has_a_bounded_number_of_sessions() {
    let card = card_with(Settings { sessions: 3, ..Settings::default() });
    let login = |nonce: u8| card.one(F::Login, &[PIN, &[nonce]]);
    let sessions: Vec<Vec<u8>> = (0..3).map(|nonce| login(nonce).unwrap()).collect();
    assert_eq!(login(3), Err(rv::DEVICE_MEMORY));
    // One that is there already is no further one.
    assert_eq!(login(2).as_ref(), Ok(&sessions[2]));
    assert_eq!((card.module.sessions.count(0), card.module.sessions.count(1)), (3, 0));
    card.call(F::Logout, &[&sessions[0]]).unwrap();
    assert!(login(3).is_ok());
    card.module.sessions.remove_all(0);
    assert_eq!(card.module.sessions.count(0), 0);
}
