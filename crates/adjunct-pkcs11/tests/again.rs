//! Message after message in one session, under the same key and others: each as the first of a session of its own.

mod common;

use common::{Attributes, Handle, Mechanism, Session};
use cryptoki_sys::*;

const DATA: [u8; 100] = [0x5a; 100];
const LONG: [u8; 40] = [7; 40];

fn aes(session: &Session, byte: u8) -> Handle {
    session.create(&Attributes::secret(CKK_AES, &[byte; 32])).unwrap()
}

/// The result of a first message in a session of its own.
fn first<R>(byte: u8, kind: CK_KEY_TYPE, body: impl FnOnce(&Session, Handle) -> R) -> R {
    let session = Session::open();
    let key = session.create(&Attributes::secret(kind, &[byte; 32])).unwrap();
    body(&session, key)
}

/// Parameters of every kind, by turns: of lengths that fit, of others, and wrong ones.
fn ciphers() -> Vec<Mechanism<'static>> {
    let bytes = Mechanism::bytes;
    vec![
        Mechanism::gcm(b"twelve bytes", b"", 128),
        Mechanism::gcm(b"Twelve bytes", b"some", 96),
        Mechanism::gcm(&LONG, &LONG, 128),
        Mechanism::gcm(b"twelve bytes", &LONG, 32),
        Mechanism::gcm(b"", b"", 128),
        Mechanism::gcm(b"twelve bytes", b"", 129),
        Mechanism::gcm(b"1", b"", 128),
        Mechanism::ccm(0, b"thirteen byte", b"", 16),
        Mechanism::ccm(0, b"seven b", &LONG, 8),
        Mechanism::ccm(DATA.len(), b"seven b", b"", 8),
        Mechanism::ctr(128, [0xff; 16]),
        Mechanism::ctr(32, [9; 16]),
        Mechanism::ctr(2, [9; 16]),
        Mechanism::ctr(0, [9; 16]),
        bytes(CKM_AES_CBC_PAD, b"sixteen bytes iv"),
        bytes(CKM_AES_CBC_PAD, b"Sixteen bytes iv"),
        bytes(CKM_AES_CBC_PAD, b"fifteen bytes i"),
        bytes(CKM_AES_CBC, b"sixteen bytes iv"),
        Mechanism::new(CKM_AES_CBC),
        Mechanism::new(CKM_AES_ECB),
        bytes(CKM_AES_ECB, b"sixteen bytes iv"),
        bytes(CKM_AES_OFB, b"sixteen bytes iv"),
        bytes(CKM_AES_CFB128, b"sixteen bytes iv"),
        bytes(CKM_AES_CFB8, b"Sixteen bytes iv"),
    ]
}

/// Numbers that look like chance, the same in each run.
fn chance() -> impl FnMut(usize) -> usize {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |below| {
        state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        (state >> 33) as usize % below
    }
}

#[test]
fn each_message_is_encrypted_as_the_first() {
    let (ciphers, mut chance) = (ciphers(), chance());
    let session = Session::open();
    // More than a session keeps.
    let keys: Vec<Handle> = (0..3).map(|byte| aes(&session, byte)).collect();
    for round in 0..6000 {
        // Often the same as before, for that is what a session is to remember.
        let at = if round % 64 < 32 { 0 } else { chance(keys.len()) };
        let mechanism = &ciphers[if round % 16 < 8 { round / 16 % ciphers.len() } else { chance(ciphers.len()) }];
        let data = &DATA[..[0, 1, 16, 48, 100][chance(5)]];
        let (head, tail) = data.split_at(chance(data.len() + 1));
        let whole = first(at as u8, CKK_AES, |session, key| session.encrypt(mechanism, key, data));
        let parts = first(at as u8, CKK_AES, |session, key| session.encrypt_parts(mechanism, key, &[head, tail]));
        match chance(4) {
            0 => assert_eq!(session.encrypt(mechanism, keys[at], data), whole, "{mechanism:?}"),
            1 => assert_eq!(session.encrypt_parts(mechanism, keys[at], &[head, tail]), parts, "{mechanism:?}"),
            // Begun, and given up.
            2 => {
                let begun = session.encrypt_init(mechanism, keys[at]);
                if begun.and_then(|()| session.encrypt_update(head)).is_ok() {
                    assert_eq!(session.encrypt_init(mechanism, keys[at]), Err(CKR_OPERATION_ACTIVE));
                    session.cancel(CKF_ENCRYPT).unwrap();
                }
            }
            _ => {
                let Ok(sealed) = whole else { continue };
                assert_eq!(session.decrypt(mechanism, keys[at], &sealed).as_deref(), Ok(data), "{mechanism:?}");
                let authenticated = matches!(mechanism.raw().mechanism, CKM_AES_GCM | CKM_AES_CCM);
                if authenticated {
                    let mut other = sealed.clone();
                    other[sealed.len() - 1] ^= 1;
                    assert_eq!(session.decrypt(mechanism, keys[at], &other), Err(CKR_ENCRYPTED_DATA_INVALID));
                }
                assert_eq!(session.decrypt_parts(mechanism, keys[at], &[&sealed]).as_deref(), Ok(data));
            }
        }
    }
}

#[test]
fn each_mac_is_as_the_first() {
    let macs = [
        (CKK_GENERIC_SECRET, Mechanism::new(CKM_SHA256_HMAC)),
        (CKK_GENERIC_SECRET, Mechanism::new(CKM_SHA512_HMAC)),
        (CKK_GENERIC_SECRET, Mechanism::number(CKM_SHA256_HMAC_GENERAL, 12)),
        (CKK_GENERIC_SECRET, Mechanism::number(CKM_SHA256_HMAC_GENERAL, 32)),
        (CKK_GENERIC_SECRET, Mechanism::number(CKM_SHA256_HMAC_GENERAL, 33)),
        (CKK_AES, Mechanism::new(CKM_AES_CMAC)),
        (CKK_AES, Mechanism::number(CKM_AES_CMAC_GENERAL, 4)),
        (CKK_AES, Mechanism::number(CKM_AES_CMAC, 4)),
        (CKK_AES, Mechanism::bytes(CKM_AES_GMAC, b"twelve bytes")),
    ];
    let mut chance = chance();
    let session = Session::open();
    let hmac = session.create(&Attributes::secret(CKK_GENERIC_SECRET, &[3; 32])).unwrap();
    let cmac = aes(&session, 3);
    for round in 0..4000 {
        let at = if round % 16 < 8 { round / 16 % macs.len() } else { chance(macs.len()) };
        let (kind, mechanism) = &macs[at];
        let key = if *kind == CKK_AES { cmac } else { hmac };
        let data = &DATA[..chance(DATA.len())];
        let (head, tail) = data.split_at(chance(data.len() + 1));
        let whole = first(3, *kind, |session, key| session.sign(mechanism, key, data));
        match chance(4) {
            0 => assert_eq!(session.sign(mechanism, key, data), whole, "{mechanism:?}"),
            1 => assert_eq!(session.sign_parts(mechanism, key, &[head, tail]), whole, "{mechanism:?}"),
            2 => {
                if session.sign_init(mechanism, key).is_ok() {
                    session.sign_update(head).unwrap();
                    session.cancel(CKF_SIGN).unwrap();
                }
            }
            _ => {
                let Ok(mac) = whole else { continue };
                session.verify(mechanism, key, data, &mac).unwrap();
                let mut other = mac.clone();
                other[0] ^= 1;
                assert_eq!(session.verify(mechanism, key, data, &other), Err(CKR_SIGNATURE_INVALID));
                session.verify_parts(mechanism, key, &[head, tail], &mac).unwrap();
            }
        }
    }
}

#[test]
fn what_becomes_of_the_key_counts_for_the_next_message() {
    let session = Session::open();
    let mechanism = Mechanism::gcm(b"twelve bytes", b"", 128);
    let (one, other) = (aes(&session, 1), aes(&session, 2));
    let encrypt = |key| session.encrypt(&mechanism, key, &DATA);
    let sealed = encrypt(one).unwrap();
    for _ in 0..3 {
        assert_eq!(encrypt(one).as_ref(), Ok(&sealed));
        assert_ne!(encrypt(other).as_ref(), Ok(&sealed));
    }
    let allowed = |value| Attributes::new().flag(CKA_ENCRYPT, value);
    for _ in 0..3 {
        assert_eq!(encrypt(one).as_ref(), Ok(&sealed));
    }
    session.set_attributes(one, &allowed(false)).unwrap();
    assert_eq!(encrypt(one), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
    session.set_attributes(one, &allowed(true)).unwrap();
    for _ in 0..3 {
        assert_eq!(encrypt(one).as_ref(), Ok(&sealed));
    }
    // Taken away in the middle of a message, which goes on; the next finds none.
    session.encrypt_init(&mechanism, one).unwrap();
    session.destroy(one).unwrap();
    assert_eq!(session.encrypt_once(&DATA).as_ref(), Ok(&sealed));
    assert_eq!(encrypt(one), Err(CKR_KEY_HANDLE_INVALID));
    // By another session.
    for _ in 0..3 {
        encrypt(other).unwrap();
    }
    Session::open().destroy(other).unwrap();
    assert_eq!(encrypt(other), Err(CKR_KEY_HANDLE_INVALID));
}

/// The accelerator token's slot, by the number by which operations give way to another.
const GIVING_WAY: CK_SLOT_ID = 0x1_0001;

#[test]
fn by_the_slots_other_number_operations_give_way_to_the_next() {
    let (one, two) = (Mechanism::gcm(b"twelve bytes", b"one", 128), Mechanism::gcm(b"Twelve bytes", b"two", 128));
    let (sha256, hmac) = (Mechanism::new(CKM_SHA256), Mechanism::new(CKM_SHA256_HMAC));
    let session = Session::open_in(GIVING_WAY, CKF_SERIAL_SESSION | CKF_RW_SESSION).unwrap();
    let keys = [aes(&session, 1), aes(&session, 2)];
    let macs = [1, 2].map(|byte| session.create(&Attributes::secret(CKK_GENERIC_SECRET, &[byte; 32])).unwrap());
    let sealed = first(2, CKK_AES, |session, key| session.encrypt(&two, key, &DATA)).unwrap();
    let mac = first(2, CKK_GENERIC_SECRET, |session, key| session.sign(&hmac, key, &DATA)).unwrap();
    let hash = session.digest(&sha256, &DATA).unwrap();
    // Some are given up before they have data, some later; the session keeps what it uses often.
    for round in 0..12 {
        let data = &DATA[..round % 3 * 10];
        session.encrypt_init(&one, keys[0]).unwrap();
        session.encrypt_update(data).unwrap();
        assert_eq!(session.encrypt(&two, keys[1], &DATA).as_ref(), Ok(&sealed));
        session.decrypt_init(&one, keys[0]).unwrap();
        session.decrypt_update(data).unwrap();
        assert_eq!(session.decrypt(&two, keys[1], &sealed).as_deref(), Ok(&DATA[..]));
        session.sign_init(&hmac, macs[0]).unwrap();
        session.sign_update(data).unwrap();
        assert_eq!(session.sign(&hmac, macs[1], &DATA).as_ref(), Ok(&mac));
        session.verify_init(&hmac, macs[0]).unwrap();
        session.verify_update(data).unwrap();
        assert_eq!(session.verify(&hmac, macs[1], &DATA, &mac), Ok(()));
        session.digest_init(&sha256).unwrap();
        session.digest_update(data).unwrap();
        assert_eq!(session.digest(&sha256, &DATA).as_ref(), Ok(&hash));
    }
    // What cannot begin leaves nothing of the one before.
    session.encrypt_init(&one, keys[0]).unwrap();
    assert_eq!(session.encrypt_init(&two, macs[0]), Err(CKR_KEY_TYPE_INCONSISTENT));
    assert_eq!(session.encrypt_update(b"x"), Err(CKR_OPERATION_NOT_INITIALIZED));
    // Of what was left behind nothing is in a state that is saved.
    for round in 0..3 {
        session.encrypt_init(&one, keys[0]).unwrap();
        session.sign_init(&hmac, macs[0]).unwrap();
        session.decrypt_init(&one, keys[0]).unwrap();
        session.digest_init(&sha256).unwrap();
        session.digest_update(&DATA[..10 * round]).unwrap();
        let (state, copy) = (session.operation_state().unwrap(), Session::open());
        copy.set_operation_state(&state, 0, 0).unwrap();
        copy.digest_update(&DATA[10 * round..]).unwrap();
        assert_eq!(copy.digest_final().as_ref(), Ok(&hash));
    }
    // It is the same slot, with the same objects, and no other knows of it.
    let mut info = CK_SESSION_INFO { slotID: 0, state: 0, flags: 0, ulDeviceError: 0 };
    assert_eq!((p11!(C_GetSessionInfo(session.0, &raw mut info)), info.slotID), (CKR_OK, common::ACCELERATOR));
    let other = Session::open();
    other.encrypt_init(&two, keys[1]).unwrap();
    assert_eq!(other.encrypt_init(&two, keys[1]), Err(CKR_OPERATION_ACTIVE));
}
