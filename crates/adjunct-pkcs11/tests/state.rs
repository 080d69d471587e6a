//! Operations that are saved and go on in other sessions.

mod common;

use common::{Attributes, Handle, Mechanism, Session};
use cryptoki_sys::*;

const DIGESTS: [CK_MECHANISM_TYPE; 12] = [
    CKM_MD5,
    CKM_SHA_1,
    CKM_SHA224,
    CKM_SHA256,
    CKM_SHA384,
    CKM_SHA512,
    CKM_SHA512_224,
    CKM_SHA512_256,
    CKM_SHA3_224,
    CKM_SHA3_256,
    CKM_SHA3_384,
    CKM_SHA3_512,
];

fn text() -> Vec<u8> {
    (0..500).map(|at| (at * 3) as u8).collect()
}

#[test]
fn hashes_are_cloned_into_other_sessions() {
    let (session, other) = (Session::open(), Session::open());
    let text = text();
    for kind in DIGESTS {
        let mechanism = Mechanism::new(kind);
        let whole = session.digest(&mechanism, &text).unwrap();
        for at in [0, 1, 64, 111, 256, 500] {
            session.digest_init(&mechanism).unwrap();
            session.digest_update(&text[..at]).unwrap();
            let state = session.operation_state().unwrap();
            // What ran there makes room.
            let _ = other.digest_init(&Mechanism::new(CKM_SHA_1));
            other.set_operation_state(&state, 0, 0).unwrap();
            session.digest_update(b"something else").unwrap();
            other.digest_update(&text[at..]).unwrap();
            assert_eq!(other.digest_final().as_ref(), Ok(&whole), "{kind:#x} at {at}");
            assert_ne!(session.digest_final().as_ref(), Ok(&whole));
            // Once more from the same state.
            other.set_operation_state(&state, 0, 0).unwrap();
            other.digest_update(&text[at..]).unwrap();
            assert_eq!(other.digest_final().as_ref(), Ok(&whole), "{kind:#x} at {at}");
        }
        // Before any part, a hash may still be of one part.
        session.digest_init(&mechanism).unwrap();
        other.set_operation_state(&session.operation_state().unwrap(), 0, 0).unwrap();
        assert_eq!(other.digest_once(&text).as_ref(), Ok(&whole));
        session.digest_final().unwrap();
    }
}

fn key(session: &Session, value: &[u8]) -> Handle {
    session.create(&Attributes::secret(CKK_GENERIC_SECRET, value)).unwrap()
}

#[test]
fn macs_are_saved_with_their_key_apart() {
    let (session, other) = (Session::open(), Session::open());
    let (text, right, wrong) = (text(), key(&session, b"right"), key(&session, b"wrong"));
    for mechanism in [
        Mechanism::new(CKM_SHA256_HMAC),
        Mechanism::number(CKM_SHA512_HMAC_GENERAL, 17),
        Mechanism::new(CKM_SHA3_256_HMAC),
    ] {
        let whole = session.sign(&mechanism, right, &text).unwrap();
        session.sign_init(&mechanism, right).unwrap();
        session.sign_update(&text[..70]).unwrap();
        session.verify_init(&mechanism, right).unwrap();
        session.verify_update(&text[..90]).unwrap();
        session.digest_init(&Mechanism::new(CKM_SHA256)).unwrap();
        let state = session.operation_state().unwrap();
        assert_eq!(other.set_operation_state(&state, 0, 0), Err(CKR_KEY_NEEDED));
        assert_eq!(other.set_operation_state(&state, 0, wrong), Err(CKR_KEY_CHANGED));
        assert_eq!(other.set_operation_state(&state, right, right), Err(CKR_KEY_NOT_NEEDED));
        assert_eq!(other.sign_update(b""), Err(CKR_OPERATION_NOT_INITIALIZED));
        other.set_operation_state(&state, 0, right).unwrap();
        other.sign_update(&text[70..]).unwrap();
        other.verify_update(&text[90..]).unwrap();
        assert_eq!(other.verify_final(&whole), Ok(()));
        assert_eq!(other.sign_final().as_ref(), Ok(&whole));
        assert!(other.digest_final().is_ok());
        session.cancel(CKF_SIGN | CKF_VERIFY | CKF_DIGEST).unwrap();
    }
}

#[test]
fn no_state_is_made_up_or_changed() {
    let session = Session::open();
    assert_eq!(session.operation_state(), Err(CKR_OPERATION_NOT_INITIALIZED));
    session.digest_init(&Mechanism::new(CKM_SHA256)).unwrap();
    let state = session.operation_state().unwrap();
    for at in 0..state.len() {
        let mut forged = state.clone();
        forged[at] ^= 1;
        assert_eq!(session.set_operation_state(&forged, 0, 0), Err(CKR_SAVED_STATE_INVALID));
        assert_eq!(session.set_operation_state(&state[..at], 0, 0), Err(CKR_SAVED_STATE_INVALID));
    }
    let right = key(&session, b"key");
    assert_eq!(session.set_operation_state(&state, 0, right), Err(CKR_KEY_NOT_NEEDED));
    let aes = session.create(&Attributes::secret(CKK_AES, &[7; 16])).unwrap();
    session.encrypt_init(&Mechanism::new(CKM_AES_ECB), aes).unwrap();
    assert_eq!(session.operation_state(), Err(CKR_STATE_UNSAVEABLE));
    session.cancel(CKF_ENCRYPT).unwrap();
    session.sign_init(&Mechanism::new(CKM_AES_CMAC), aes).unwrap();
    assert_eq!(session.operation_state(), Err(CKR_STATE_UNSAVEABLE));
    // Neither is gone for that.
    assert!(session.sign_final().is_ok() && session.digest_final().is_ok());
}
