//! Calls that first ask for the length of the result, as programs in C++ do: these allocate that many bytes, and the address of an empty vector is
//! null. For any length of the result the second call must do the operation.

mod common;

use common::{Attributes, Handle, Mechanism, Result, Session, check, input, length};
use cryptoki_sys::*;
use std::ptr::null_mut;

/// The two calls, and what the second wrote. The answer to the first comes with it.
fn asked_in_cpp(mut call: impl FnMut(*mut u8, *mut CK_ULONG) -> CK_RV) -> Result<(usize, Vec<u8>)> {
    let mut size = 0;
    check(call(null_mut(), &raw mut size))?;
    let told = size as usize;
    let mut out = vec![0xa5; told];
    let at = if told == 0 { null_mut() } else { out.as_mut_ptr() };
    check(call(at, &raw mut size))?;
    assert!(size as usize <= told, "{size} of {told} bytes");
    out.truncate(size as usize);
    Ok((told, out))
}

#[derive(Clone, Copy)]
struct Direction<'a> {
    session: &'a Session,
    encrypt: bool,
}

impl Direction<'_> {
    fn begin(self, mechanism: &Mechanism<'_>, key: Handle) -> Result {
        if self.encrypt { self.session.encrypt_init(mechanism, key) } else { self.session.decrypt_init(mechanism, key) }
    }

    fn update(self, part: &[u8]) -> Result<(usize, Vec<u8>)> {
        let (session, at, size) = (self.session.0, input(part), length(part));
        asked_in_cpp(|out, out_length| match self.encrypt {
            true => p11!(C_EncryptUpdate(session, at, size, out, out_length)),
            false => p11!(C_DecryptUpdate(session, at, size, out, out_length)),
        })
    }

    fn end(self) -> Result<(usize, Vec<u8>)> {
        asked_in_cpp(|out, out_length| match self.encrypt {
            true => p11!(C_EncryptFinal(self.session.0, out, out_length)),
            false => p11!(C_DecryptFinal(self.session.0, out, out_length)),
        })
    }

    fn once(self, data: &[u8]) -> Result<Vec<u8>> {
        let (session, at, size) = (self.session.0, input(data), length(data));
        let made = asked_in_cpp(|out, out_length| match self.encrypt {
            true => p11!(C_Encrypt(session, at, size, out, out_length)),
            false => p11!(C_Decrypt(session, at, size, out, out_length)),
        });
        made.map(|(_, out)| out)
    }

    /// Passes a message in parts of `bytes` bytes.
    fn parts(self, mechanism: &Mechanism<'_>, key: Handle, data: &[u8], bytes: usize) -> Result<Vec<u8>> {
        self.begin(mechanism, key)?;
        let mut all = Vec::new();
        for part in data.chunks(bytes) {
            let (told, out) = self.update(part)?;
            assert!(told > 0, "nothing is told of {} bytes", part.len());
            all.extend(out);
        }
        let (told, out) = self.end()?;
        assert!(told > 0);
        all.extend(out);
        Ok(all)
    }
}

fn gcm<'a>(aad: &'a [u8]) -> Mechanism<'a> {
    let params = CK_GCM_PARAMS {
        pIv: input(&[7; 12]),
        ulIvLen: 12,
        ulIvBits: 96,
        pAAD: input(aad),
        ulAADLen: length(aad),
        ulTagBits: 128,
    };
    Mechanism::with(CKM_AES_GCM, params)
}

fn ccm(data: usize) -> Mechanism<'static> {
    let params = CK_CCM_PARAMS {
        ulDataLen: data as CK_ULONG,
        pNonce: input(&[7; 13]),
        ulNonceLen: 13,
        pAAD: null_mut(),
        ulAADLen: 0,
        ulMACLen: 16,
    };
    Mechanism::with(CKM_AES_CCM, params)
}

fn chacha_poly() -> Mechanism<'static> {
    let (nonce, none) = (input(&[7; 12]), null_mut());
    let params = CK_SALSA20_CHACHA20_POLY1305_PARAMS { pNonce: nonce, ulNonceLen: 12, pAAD: none, ulAADLen: 0 };
    Mechanism::with(CKM_CHACHA20_POLY1305, params)
}

fn aes(session: &Session) -> Handle {
    session.create(&Attributes::secret(CKK_AES, &[9; 32])).unwrap()
}

/// Each cipher works in the second of two calls (length, then bytes), in one part and in several, whether they give bytes or not.
#[test]
fn every_cipher_does_its_work_in_the_second_call() {
    let session = Session::open();
    let (aes, chacha) = (aes(&session), session.create(&Attributes::secret(CKK_CHACHA20, &[9; 32])).unwrap());
    let xts =
        session.create(&Attributes::secret(CKK_AES_XTS, &std::array::from_fn::<u8, 64, _>(|at| at as u8))).unwrap();
    let des3 = session.generate(&Mechanism::new(CKM_DES3_KEY_GEN), &Attributes::new()).unwrap();
    let counter = Mechanism::with(CKM_AES_CTR, CK_AES_CTR_PARAMS { ulCounterBits: 64, cb: [3; 16] });
    let iv = |kind, bytes| Mechanism::bytes(kind, [&[1; 8][..], &[1; 16]][usize::from(bytes == 16)]);
    let (encrypt, decrypt) =
        (Direction { session: &session, encrypt: true }, Direction { session: &session, encrypt: false });
    let data: Vec<u8> = (0..64).collect();
    for (mechanism, key, lengths) in [
        (gcm(b"aad"), aes, &[0, 1, 15, 16, 64][..]),
        (ccm(0), aes, &[0, 1, 64]),
        (chacha_poly(), chacha, &[0, 1, 64]),
        (iv(CKM_AES_CBC, 16), aes, &[0, 16, 64]),
        (iv(CKM_AES_CBC_PAD, 16), aes, &[0, 1, 16, 31, 64]),
        (iv(CKM_DES3_CBC_PAD, 8), des3, &[0, 1, 8, 31]),
        (Mechanism::new(CKM_AES_ECB), aes, &[0, 16, 64]),
        (counter, aes, &[0, 1, 33]),
        (iv(CKM_AES_CFB8, 16), aes, &[0, 1, 33]),
        (iv(CKM_AES_OFB, 16), aes, &[0, 1, 33]),
        (iv(CKM_AES_XTS, 16), xts, &[16, 17, 64]),
        (Mechanism::new(CKM_AES_KEY_WRAP), aes, &[16, 24, 64]),
        (Mechanism::new(CKM_AES_KEY_WRAP_KWP), aes, &[1, 16, 20]),
        (Mechanism::new(CKM_AES_KEY_WRAP_PKCS7), aes, &[1, 16, 20]),
    ] {
        for length in lengths {
            let text = &data[..*length];
            encrypt.begin(&mechanism, key).unwrap();
            let sealed = encrypt.once(text).unwrap();
            decrypt.begin(&mechanism, key).unwrap();
            assert_eq!(decrypt.once(&sealed).as_deref(), Ok(text), "{mechanism:?}");
            for bytes in [1, 5, 16, 17, 100] {
                assert_eq!(encrypt.parts(&mechanism, key, text, bytes).as_ref(), Ok(&sealed), "{mechanism:?}");
                assert_eq!(decrypt.parts(&mechanism, key, &sealed, bytes).as_deref(), Ok(text), "{mechanism:?}");
            }
        }
    }
    // RSA takes a message whole, at its end.
    let template = Attributes::new().number(CKA_MODULUS_BITS, 1024);
    let pair = Mechanism::new(CKM_RSA_PKCS_KEY_PAIR_GEN);
    let (public, private) = session.generate_pair(&pair, &template, &Attributes::new()).unwrap();
    let pkcs1 = Mechanism::new(CKM_RSA_PKCS);
    for text in [&b""[..], b"message"] {
        let sealed = encrypt.parts(&pkcs1, public, text, 3).unwrap();
        assert_eq!(decrypt.parts(&pkcs1, private, &sealed, 50).as_deref(), Ok(text));
        session.sign_recover_init(&pkcs1, private).unwrap();
        let signature = session.sign_recover(text).unwrap();
        session.verify_recover_init(&pkcs1, public).unwrap();
        let (at, size) = (input(&signature), length(&signature));
        let recovered = asked_in_cpp(|out, out_length| p11!(C_VerifyRecover(session.0, at, size, out, out_length)));
        assert_eq!(recovered.unwrap().1, text);
    }
}

/// The tag of an empty message is checked.
#[test]
fn tags_of_empty_messages_are_checked() {
    let session = Session::open();
    let aes = aes(&session);
    let decrypt = Direction { session: &session, encrypt: false };
    let mut sealed = session.encrypt(&gcm(b"aad"), aes, b"").unwrap();
    sealed[3] ^= 1;
    decrypt.begin(&gcm(b"aad"), aes).unwrap();
    assert_eq!(decrypt.once(&sealed), Err(CKR_ENCRYPTED_DATA_INVALID));
    assert_eq!(decrypt.parts(&gcm(b"aad"), aes, &sealed, 16), Err(CKR_ENCRYPTED_DATA_INVALID));
    // A message with a parameter of its own: nothing but a tag comes of it.
    session.message_encrypt_init(&Mechanism::new(CKM_AES_GCM), aes).unwrap();
    session.message_decrypt_init(&Mechanism::new(CKM_AES_GCM), aes).unwrap();
    let (mut iv, mut tag) = ([7; 12], [0; 16]);
    let mut parameter = CK_GCM_MESSAGE_PARAMS {
        pIv: iv.as_mut_ptr(),
        ulIvLen: 12,
        ulIvFixedBits: 96,
        ivGenerator: CKG_NO_GENERATE,
        pTag: tag.as_mut_ptr(),
        ulTagBits: 128,
    };
    let (at, size) = ((&raw mut parameter).cast(), size_of_val(&parameter) as CK_ULONG);
    let (aad, aad_length) = (input(b"aad"), 3);
    let none = null_mut();
    let made = asked_in_cpp(|out, out_length| {
        p11!(C_EncryptMessage(session.0, at, size, aad, aad_length, none, 0, out, out_length))
    });
    assert_eq!(made.unwrap().1, b"");
    assert_ne!(tag, [0; 16]);
    let open = || {
        let open =
            |out, out_length| p11!(C_DecryptMessage(session.0, at, size, aad, aad_length, none, 0, out, out_length));
        asked_in_cpp(open).map(|(_, out)| out)
    };
    assert_eq!(open().as_deref(), Ok(&b""[..]));
    tag[0] ^= 1;
    assert_eq!(open(), Err(CKR_AEAD_DECRYPT_FAILED));
    assert_ne!(tag, [0; 16]);
}

/// A program that asks for the length once, for all of a message, has room for all that comes.
#[test]
fn one_question_is_enough_for_a_message_that_is_kept() {
    let session = Session::open();
    let aes = aes(&session);
    let sealed = session.encrypt(&gcm(b""), aes, &[5; 100]).unwrap();
    session.decrypt_init(&gcm(b""), aes).unwrap();
    let (at, size) = (input(&sealed), length(&sealed));
    let mut told = 0;
    check(p11!(C_DecryptUpdate(session.0, at, size, null_mut(), &raw mut told))).unwrap();
    let (mut out, mut first) = (vec![0; told as usize], told);
    check(p11!(C_DecryptUpdate(session.0, at, size, out.as_mut_ptr(), &raw mut first))).unwrap();
    let mut last = told - first;
    check(p11!(C_DecryptFinal(session.0, out[first as usize..].as_mut_ptr(), &raw mut last))).unwrap();
    assert_eq!(out[..(first + last) as usize], [5; 100]);
    // Who knows that nothing comes yet needs no room for it, and a part without bytes asks for none.
    session.decrypt_init(&gcm(b""), aes).unwrap();
    let (mut byte, mut none) = (0, 0);
    check(p11!(C_DecryptUpdate(session.0, null_mut(), 0, null_mut(), &raw mut none))).unwrap();
    assert_eq!(none, 0);
    check(p11!(C_DecryptUpdate(session.0, at, size, &raw mut byte, &raw mut none))).unwrap();
    assert_eq!((none, byte), (0, 0));
    assert_eq!(session.decrypt_final().as_deref(), Ok(&[5; 100][..]));
}
