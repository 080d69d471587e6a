//! Many messages with one key.

mod common;

use common::{Attributes, Handle, Mechanism, Result, Session, asked, check, input, length};
use cryptoki_sys::*;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A message's parameter: nonce, what of it stays and who makes it, tag.
struct Message {
    kind: CK_MECHANISM_TYPE,
    nonce: Vec<u8>,
    fixed: CK_ULONG,
    generator: CK_GENERATOR_FUNCTION,
    tag: Vec<u8>,
}

impl Message {
    fn new(kind: CK_MECHANISM_TYPE) -> Message {
        Message { kind, nonce: b"twelve bytes".to_vec(), fixed: 0, generator: CKG_NO_GENERATE, tag: vec![0; 16] }
    }

    fn with<R>(&mut self, call: impl FnOnce(*mut c_void, CK_ULONG) -> R) -> R {
        let (nonce, nonce_length) = (self.nonce.as_mut_ptr(), length(&self.nonce));
        let (tag, tag_length) = (self.tag.as_mut_ptr(), length(&self.tag));
        let (fixed, generator) = (self.fixed, self.generator);
        match self.kind {
            CKM_AES_GCM => {
                let mut parameter = CK_GCM_MESSAGE_PARAMS {
                    pIv: nonce,
                    ulIvLen: nonce_length,
                    ulIvFixedBits: fixed,
                    ivGenerator: generator,
                    pTag: tag,
                    ulTagBits: 8 * tag_length,
                };
                call((&raw mut parameter).cast(), size_of_val(&parameter) as CK_ULONG)
            }
            CKM_AES_CCM => {
                let mut parameter = CK_CCM_MESSAGE_PARAMS {
                    ulDataLen: 0,
                    pNonce: nonce,
                    ulNonceLen: nonce_length,
                    ulNonceFixedBits: fixed,
                    nonceGenerator: generator,
                    pMAC: tag,
                    ulMACLen: tag_length,
                };
                call((&raw mut parameter).cast(), size_of_val(&parameter) as CK_ULONG)
            }
            _ => {
                let mut parameter =
                    CK_SALSA20_CHACHA20_POLY1305_MSG_PARAMS { pNonce: nonce, ulNonceLen: nonce_length, pTag: tag };
                call((&raw mut parameter).cast(), size_of_val(&parameter) as CK_ULONG)
            }
        }
    }

    fn run(&mut self, session: &Session, encrypt: bool, aad: &[u8], text: &[u8]) -> Result<Vec<u8>> {
        let (aad_at, aad_size, at, size) = (input(aad), length(aad), input(text), length(text));
        self.with(|place, bytes| {
            asked(|out, made| {
                if encrypt {
                    p11!(C_EncryptMessage(session.0, place, bytes, aad_at, aad_size, at, size, out, made))
                } else {
                    p11!(C_DecryptMessage(session.0, place, bytes, aad_at, aad_size, at, size, out, made))
                }
            })
        })
    }

    fn begin(&mut self, session: &Session, encrypt: bool, aad: &[u8]) -> Result {
        let (at, size) = (input(aad), length(aad));
        check(self.with(|place, bytes| {
            if encrypt {
                p11!(C_EncryptMessageBegin(session.0, place, bytes, at, size))
            } else {
                p11!(C_DecryptMessageBegin(session.0, place, bytes, at, size))
            }
        }))
    }

    fn next(&mut self, session: &Session, encrypt: bool, part: &[u8], end: bool) -> Result<Vec<u8>> {
        let (at, size, flags) = (input(part), length(part), if end { CKF_END_OF_MESSAGE } else { 0 });
        self.with(|place, bytes| {
            asked(|out, made| {
                if encrypt {
                    p11!(C_EncryptMessageNext(session.0, place, bytes, at, size, out, made, flags))
                } else {
                    p11!(C_DecryptMessageNext(session.0, place, bytes, at, size, out, made, flags))
                }
            })
        })
    }
}

fn keys(session: &Session) -> [(CK_MECHANISM_TYPE, Handle); 3] {
    let aes = session.create(&Attributes::secret(CKK_AES, &[7; 32])).unwrap();
    let chacha = session.create(&Attributes::secret(CKK_CHACHA20, &[7; 32])).unwrap();
    [(CKM_AES_GCM, aes), (CKM_AES_CCM, aes), (CKM_CHACHA20_POLY1305, chacha)]
}

#[test]
fn messages_go_both_ways_whole_and_in_parts() {
    let session = Session::open();
    let text: Vec<u8> = (0..100).collect();
    for (kind, key) in keys(&session) {
        session.message_encrypt_init(&Mechanism::new(kind), key).unwrap();
        session.message_decrypt_init(&Mechanism::new(kind), key).unwrap();
        assert_eq!(session.message_encrypt_init(&Mechanism::new(kind), key), Err(CKR_OPERATION_ACTIVE));
        for size in [0, 1, 16, 100] {
            let (mut message, text) = (Message::new(kind), &text[..size]);
            let wrapped = message.run(&session, true, b"aad", text).unwrap();
            let whole = match kind {
                CKM_AES_GCM => session.encrypt(&Mechanism::gcm(b"twelve bytes", b"aad", 128), key, text),
                CKM_AES_CCM => session.encrypt(&Mechanism::ccm(0, b"twelve bytes", b"aad", 16), key, text),
                _ => session.encrypt(&Mechanism::chacha_poly(b"twelve bytes", b"aad"), key, text),
            };
            assert_eq!(whole, Ok([&wrapped[..], &message.tag[..]].concat()), "{kind:#x}");
            assert_eq!(message.run(&session, false, b"aad", &wrapped).as_deref(), Ok(text));
            for encrypt in [true, false] {
                let (from, to) = if encrypt { (text, &wrapped[..]) } else { (&wrapped[..], text) };
                let mut parts = Message::new(kind);
                if !encrypt {
                    parts.tag.clone_from(&message.tag);
                }
                parts.begin(&session, encrypt, b"aad").unwrap();
                assert_eq!(parts.begin(&session, encrypt, b"aad"), Err(CKR_OPERATION_ACTIVE));
                assert_eq!(parts.run(&session, encrypt, b"", b""), Err(CKR_OPERATION_ACTIVE));
                let (one, two) = from.split_at(size / 3);
                let mut all = parts.next(&session, encrypt, one, false).unwrap();
                all.extend(parts.next(&session, encrypt, two, true).unwrap());
                assert_eq!((&all[..], &parts.tag), (to, &message.tag), "{kind:#x}");
            }
            // A wrong message ends alone.
            message.tag[3] ^= 1;
            assert_eq!(message.run(&session, false, b"aad", &wrapped), Err(CKR_AEAD_DECRYPT_FAILED));
            message.begin(&session, false, b"aad").unwrap();
            assert_eq!(message.next(&session, false, &wrapped, true), Err(CKR_AEAD_DECRYPT_FAILED));
            assert_eq!(message.next(&session, false, &wrapped, true), Err(CKR_OPERATION_NOT_INITIALIZED));
        }
        let mut begun = Message::new(kind);
        begun.begin(&session, true, b"").unwrap();
        assert_eq!(p11!(C_MessageEncryptFinal(session.0)), CKR_OPERATION_ACTIVE);
        begun.next(&session, true, b"", true).unwrap();
        assert_eq!(p11!(C_MessageEncryptFinal(session.0)), CKR_OK);
        assert_eq!(p11!(C_MessageDecryptFinal(session.0)), CKR_OK);
        assert_eq!(begun.run(&session, true, b"", b""), Err(CKR_OPERATION_NOT_INITIALIZED));
    }
}

#[test]
fn ivs_are_made_as_they_are_asked_for() {
    let session = Session::open();
    let (kind, key) = keys(&session)[0];
    let made = |generator, fixed| {
        session.message_encrypt_init(&Mechanism::new(kind), key).unwrap();
        let mut message = Message { generator, fixed, ..Message::new(kind) };
        let ivs: Vec<Vec<u8>> = (0..3)
            .map(|_| {
                // Asking for the length makes none.
                let wrapped = message.run(&session, true, b"", b"text").unwrap();
                let whole = session.encrypt(&Mechanism::gcm(&message.nonce, b"", 128), key, b"text").unwrap();
                assert_eq!(whole, [&wrapped[..], &message.tag[..]].concat());
                message.nonce.clone()
            })
            .collect();
        session.cancel(CKF_MESSAGE_ENCRYPT).unwrap();
        assert!(ivs[0] != ivs[1] && ivs[1] != ivs[2] && ivs[0] != ivs[2]);
        assert!(ivs.iter().all(|iv| iv[..fixed as usize / 8] == b"twelve bytes"[..fixed as usize / 8]));
        ivs
    };
    let counted = made(CKG_GENERATE_COUNTER, 32);
    assert_eq!(counted[0][4..], [0; 8]);
    assert_eq!(counted[2][4..], [0, 0, 0, 0, 0, 0, 0, 2]);
    let counted = made(CKG_GENERATE_COUNTER_XOR, 32);
    assert_eq!((&counted[0][..], counted[1][11]), (&b"twelve bytes"[..], b's' ^ 1));
    made(CKG_GENERATE_RANDOM, 32);
    made(CKG_GENERATE, 0);
    session.message_encrypt_init(&Mechanism::new(kind), key).unwrap();
    for (generator, fixed) in [(5, 0), (CKG_GENERATE_RANDOM, 64), (CKG_GENERATE_COUNTER, 97)] {
        let mut message = Message { generator, fixed, ..Message::new(kind) };
        assert_eq!(message.run(&session, true, b"", b""), Err(CKR_MECHANISM_PARAM_INVALID));
    }
    let mut short = Message { tag: vec![0; 3], ..Message::new(kind) };
    assert_eq!(short.run(&session, true, b"", b""), Err(CKR_MECHANISM_PARAM_INVALID));
    let rv =
        p11!(C_EncryptMessage(session.0, null_mut(), 0, null_mut(), 0, null_mut(), 0, [0; 1].as_mut_ptr(), &mut 1));
    assert_eq!(rv, CKR_MECHANISM_PARAM_INVALID);
}

#[test]
fn many_messages_are_signed_and_checked() {
    let session = Session::open();
    let secret = session.create(&Attributes::secret(CKK_GENERIC_SECRET, b"key")).unwrap();
    let p256 = Attributes::new().bytes(CKA_EC_PARAMS, &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]);
    let pair = session.generate_pair(&Mechanism::new(CKM_EC_KEY_PAIR_GEN), &p256, &Attributes::new()).unwrap();
    for (mechanism, verifying, signing) in [
        (Mechanism::new(CKM_SHA256_HMAC), secret, secret),
        (Mechanism::number(CKM_SHA256_HMAC_GENERAL, 12), secret, secret),
        (Mechanism::new(CKM_ECDSA_SHA256), pair.0, pair.1),
    ] {
        session.message_sign_init(&mechanism, signing).unwrap();
        session.message_verify_init(&mechanism, verifying).unwrap();
        for text in [&b"one message"[..], b"", b"another"] {
            let (at, size) = (input(text), length(text));
            let whole = asked(|out, made| p11!(C_SignMessage(session.0, null_mut(), 0, at, size, out, made))).unwrap();
            session.verify(&mechanism, verifying, text, &whole).unwrap();
            assert_eq!(p11!(C_SignMessageBegin(session.0, null_mut(), 0)), CKR_OK);
            let (one, two) = text.split_at(text.len() / 2);
            let (at, size) = (input(one), length(one));
            let rv = p11!(C_SignMessageNext(session.0, null_mut(), 0, at, size, null_mut(), null_mut()));
            assert_eq!(rv, CKR_OK);
            let (at, size) = (input(two), length(two));
            let parts = asked(|out, made| p11!(C_SignMessageNext(session.0, null_mut(), 0, at, size, out, made)));
            for signature in [whole, parts.unwrap()] {
                let verify = |text: &[u8], signature: &[u8]| {
                    let (at, size, tag, tag_size) = (input(text), length(text), input(signature), length(signature));
                    p11!(C_VerifyMessage(session.0, null_mut(), 0, at, size, tag, tag_size))
                };
                assert_eq!(verify(text, &signature), CKR_OK);
                assert_eq!(verify(b"not it", &signature), CKR_SIGNATURE_INVALID);
                assert_eq!(verify(text, &signature[1..]), CKR_SIGNATURE_LEN_RANGE);
                assert_eq!(p11!(C_VerifyMessageBegin(session.0, null_mut(), 0)), CKR_OK);
                let (at, size) = (input(one), length(one));
                assert_eq!(p11!(C_VerifyMessageNext(session.0, null_mut(), 0, at, size, null_mut(), 0)), CKR_OK);
                let (at, size, tag, tag_size) = (input(two), length(two), input(&signature), length(&signature));
                assert_eq!(p11!(C_VerifyMessageNext(session.0, null_mut(), 0, at, size, tag, tag_size)), CKR_OK);
            }
        }
        assert_eq!(p11!(C_MessageSignFinal(session.0)), CKR_OK);
        assert_eq!(p11!(C_MessageVerifyFinal(session.0)), CKR_OK);
        assert_eq!(p11!(C_MessageVerifyFinal(session.0)), CKR_OPERATION_NOT_INITIALIZED);
    }
    assert_eq!(session.message_sign_init(&Mechanism::new(CKM_SHA256), secret), Err(CKR_MECHANISM_INVALID));
}
