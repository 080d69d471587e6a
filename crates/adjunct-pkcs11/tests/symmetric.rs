//! Ciphers beside openssl's, in parts, with too little room, over their own input, and refused.

mod common;

use common::{Attributes, Handle, Mechanism, Session, input, length, with_room};
use cryptoki_sys::*;
use std::io::Write;
use std::process::{Command, Stdio};

const IV: [u8; 16] = [0xf0, 0xf1, 0xf2, 3, 4, 5, 6, 7, 8, 9, 10, 0xff, 0xff, 0xff, 0xff, 0xfe];

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 256) as u8).collect()
}

fn key(session: &Session, kind: CK_KEY_TYPE, length: usize) -> Handle {
    session.create(&Attributes::secret(kind, &data(length))).unwrap()
}

fn chacha<'a>(counter: &'a [u8], nonce: &'a [u8]) -> Mechanism<'a> {
    let parameter = CK_CHACHA20_PARAMS {
        pBlockCounter: input(counter),
        blockCounterBits: 8 * length(counter),
        pNonce: input(nonce),
        ulNonceBits: 8 * length(nonce),
    };
    Mechanism::with(CKM_CHACHA20, parameter)
}

/// A cipher, the type and length of its key, the lengths that it takes, and what openssl calls it.
type Case<'a> = (Mechanism<'a>, CK_KEY_TYPE, usize, fn(usize) -> bool, &'static str);

fn cases() -> Vec<Case<'static>> {
    let blocks = |length: usize| length.is_multiple_of(16);
    let halves = |length: usize| length.is_multiple_of(8);
    let any = |_| true;
    vec![
        (Mechanism::new(CKM_AES_ECB), CKK_AES, 16, blocks, "aes-128-ecb"),
        (Mechanism::bytes(CKM_AES_CBC, &IV), CKK_AES, 24, blocks, "aes-192-cbc"),
        (Mechanism::bytes(CKM_AES_CBC_PAD, &IV), CKK_AES, 32, any, "aes-256-cbc"),
        (Mechanism::ctr(128, IV), CKK_AES, 16, any, "aes-128-ctr"),
        (Mechanism::bytes(CKM_AES_OFB, &IV), CKK_AES, 32, any, "aes-256-ofb"),
        (Mechanism::bytes(CKM_AES_CFB128, &IV), CKK_AES, 16, any, "aes-128-cfb"),
        (Mechanism::bytes(CKM_AES_CFB8, &IV), CKK_AES, 24, any, "aes-192-cfb8"),
        (Mechanism::new(CKM_DES3_ECB), CKK_DES3, 24, halves, "des-ede3"),
        (Mechanism::bytes(CKM_DES3_CBC, &IV[..8]), CKK_DES3, 24, halves, "des-ede3-cbc"),
        (Mechanism::bytes(CKM_DES3_CBC_PAD, &IV[..8]), CKK_DES3, 24, any, "des-ede3-cbc"),
        (Mechanism::bytes(CKM_DES3_CBC_PAD, &IV[..8]), CKK_DES2, 16, any, "des-ede-cbc"),
        (chacha(&[0xff, 0, 0, 0], &IV[..12]), CKK_CHACHA20, 32, any, "chacha20"),
        (chacha(&[0xff, 0, 0, 0, 0, 0, 0, 0], &IV[..8]), CKK_CHACHA20, 32, any, "chacha20"),
        (Mechanism::gcm(&IV, b"header", 96), CKK_AES, 32, any, ""),
        (Mechanism::ccm(0, &IV[..13], b"header", 8), CKK_AES, 16, any, ""),
        (Mechanism::chacha_poly(&IV[..12], b"header"), CKK_CHACHA20, 32, any, ""),
        (Mechanism::bytes(CKM_AES_XTS, &IV), CKK_AES_XTS, 64, |length| length >= 16, ""),
        (Mechanism::new(CKM_AES_KEY_WRAP_PKCS7), CKK_AES, 32, |length| length > 0, ""),
    ]
}

/// What openssl's command makes of it; `None` where its providers have not the cipher.
fn openssl(name: &str, key: &[u8], iv: &[u8], padded: bool, text: &[u8]) -> Option<Vec<u8>> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut command = Command::new("openssl");
    command.args(["enc", "-e", &format!("-{name}"), "-K", &hex(key)]).stderr(Stdio::null());
    if !iv.is_empty() {
        command.args(["-iv", &hex(iv)]);
    }
    if !padded {
        command.arg("-nopad");
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("openssl");
    child.stdin.take().expect("a pipe").write_all(text).expect("openssl reads");
    let output = child.wait_with_output().expect("openssl ends");
    output.status.success().then_some(output.stdout)
}

#[test]
fn ciphers_are_those_of_openssl() {
    let session = Session::open();
    for (number, (mechanism, kind, size, takes, name)) in cases().into_iter().enumerate() {
        if name.is_empty() {
            continue;
        }
        let (key, bytes) = (key(&session, kind, size), data(size));
        let counted = [&[0xff, 0, 0, 0][..], &IV[..12]].concat();
        let old = [&[0xff, 0, 0, 0, 0, 0, 0, 0][..], &IV[..8]].concat();
        let iv: &[u8] = match (name, number) {
            ("aes-128-ecb" | "des-ede3", _) => &[],
            ("chacha20", 11) => &counted,
            ("chacha20", _) => &old,
            _ if name.starts_with("des") => &IV[..8],
            _ => &IV,
        };
        let padded = matches!(number, 2 | 9 | 10);
        for length in [0, 1, 8, 15, 16, 17, 48, 63, 64, 200, 1024] {
            if !takes(length) {
                let error = session.encrypt(&mechanism, key, &data(length));
                assert_eq!(error, Err(CKR_DATA_LEN_RANGE), "{name} of {length}");
                let error = session.decrypt(&mechanism, key, &data(length));
                assert_eq!(error, Err(CKR_ENCRYPTED_DATA_LEN_RANGE), "{name} of {length}");
                continue;
            }
            let text = data(length);
            let expected = openssl(name, &bytes, iv, padded, &text).expect(name);
            assert_eq!(session.encrypt(&mechanism, key, &text).as_ref(), Ok(&expected), "{name} of {length}");
            assert_eq!(session.decrypt(&mechanism, key, &expected), Ok(text), "{name} of {length}");
        }
    }
}

#[test]
fn every_split_gives_what_one_part_gives() {
    let session = Session::open();
    for (mechanism, kind, size, takes, name) in cases() {
        let key = key(&session, kind, size);
        for length in (0..50).filter(|length| takes(*length)) {
            let text = data(length);
            let wrapped = session.encrypt(&mechanism, key, &text).unwrap();
            for first in 0..=length {
                let (one, rest) = text.split_at(first);
                let (two, three) = rest.split_at(rest.len().min(17));
                let parts = session.encrypt_parts(&mechanism, key, &[one, two, three]);
                assert_eq!(parts.as_ref(), Ok(&wrapped), "{name} {length} {first}");
                let (one, rest) = wrapped.split_at(first);
                let (two, three) = rest.split_at(rest.len().min(17));
                let parts = session.decrypt_parts(&mechanism, key, &[one, two, three]);
                assert_eq!(parts.as_ref(), Ok(&text), "{name} {length} {first}");
            }
        }
    }
}

#[test]
fn too_little_room_loses_nothing() {
    let session = Session::open();
    for (mechanism, kind, size, _, name) in cases() {
        let (key, text) = (key(&session, kind, size), data(48));
        session.encrypt_init(&mechanism, key).unwrap();
        let call = |out, size: *mut CK_ULONG| p11!(C_Encrypt(session.0, input(&text), length(&text), out, size));
        let (rv, needed, _) = with_room(47, call);
        assert_eq!((rv, needed >= 48), (CKR_BUFFER_TOO_SMALL, true), "{name}");
        let (rv, made, out) = with_room(needed, call);
        assert_eq!((rv, made), (CKR_OK, needed), "{name}");
        assert_eq!(session.encrypt_once(&text), Err(CKR_OPERATION_NOT_INITIALIZED), "{name}");
        session.decrypt_init(&mechanism, key).unwrap();
        let call = |place, size: *mut CK_ULONG| p11!(C_Decrypt(session.0, input(&out), length(&out), place, size));
        assert_eq!(with_room(47, call).0, CKR_BUFFER_TOO_SMALL, "{name}");
        // Just as much as the text has is enough, though the length of padded text is not known before.
        let (rv, made, plain) = with_room(48, call);
        assert_eq!((rv, made, plain), (CKR_OK, 48, text.clone()), "{name}");
    }
}

#[test]
fn results_may_lie_over_their_input() {
    let session = Session::open();
    for (mechanism, kind, size, _, name) in cases() {
        let (key, text) = (key(&session, kind, size), data(64));
        let wrapped = session.encrypt(&mechanism, key, &text).unwrap();
        for shift in [0, 1, 16] {
            let mut room = vec![0; 128];
            room[..64].copy_from_slice(&text);
            let (from, to) = (room.as_mut_ptr(), room[shift..].as_mut_ptr());
            session.encrypt_init(&mechanism, key).unwrap();
            let mut made = 100;
            assert_eq!(p11!(C_Encrypt(session.0, from, 64, to, &raw mut made)), CKR_OK, "{name}");
            assert_eq!(room[shift..shift + made as usize], wrapped, "{name} {shift}");
            let mut room = vec![0; 128];
            room[..64].copy_from_slice(&text);
            let (from, to) = (room.as_mut_ptr(), room[shift..].as_mut_ptr());
            session.encrypt_init(&mechanism, key).unwrap();
            let mut made = 100;
            assert_eq!(p11!(C_EncryptUpdate(session.0, from, 64, to, &raw mut made)), CKR_OK, "{name}");
            let mut all = room[shift..shift + made as usize].to_vec();
            all.extend(session.encrypt_final().unwrap());
            assert_eq!(all, wrapped, "{name} {shift}");
        }
    }
}

#[test]
fn padding_is_checked() {
    let session = Session::open();
    for (plain, padded, kind, size, block) in
        [(CKM_AES_CBC, CKM_AES_CBC_PAD, CKK_AES, 16, 16), (CKM_DES3_CBC, CKM_DES3_CBC_PAD, CKK_DES3, 24, 8)]
    {
        let (key, iv) = (key(&session, kind, size), &IV[..block]);
        let (plain, padded) = (Mechanism::bytes(plain, iv), Mechanism::bytes(padded, iv));
        for count in 0..=255_u8 {
            let mut text = vec![count; 2 * block];
            let wrapped = session.encrypt(&plain, key, &text).unwrap();
            let opened = session.decrypt(&padded, key, &wrapped);
            if (1..=block as u8).contains(&count) {
                assert_eq!(opened.map(|text| text.len()), Ok(2 * block - usize::from(count)));
                // One wrong byte of the padding, the first.
                text[2 * block - usize::from(count)] ^= 0x80;
                let wrapped = session.encrypt(&plain, key, &text).unwrap();
                assert_eq!(session.decrypt(&padded, key, &wrapped), Err(CKR_ENCRYPTED_DATA_INVALID), "{count}");
            } else {
                assert_eq!(opened, Err(CKR_ENCRYPTED_DATA_INVALID), "{count}");
            }
        }
        assert_eq!(session.decrypt(&padded, key, &[]), Err(CKR_ENCRYPTED_DATA_LEN_RANGE));
    }
}

#[test]
fn only_the_bits_of_a_counter_count() {
    let session = Session::open();
    let key = key(&session, CKK_AES, 16);
    let blocks = |counter: u128, bits: u32, count: usize| -> Vec<u8> {
        let mask = u128::MAX >> (128 - bits);
        let counters = (0..count as u128).map(|at| counter & !mask | counter.wrapping_add(at) & mask);
        counters.flat_map(u128::to_be_bytes).collect()
    };
    for bits in [1, 2, 7, 8, 9, 32, 64, 127, 128] {
        let most = if bits < 8 { 1 << bits } else { 9 };
        for counter in [u128::from_be_bytes(IV), u128::MAX, u128::MAX - 3, 0] {
            let stream = session.encrypt(&Mechanism::new(CKM_AES_ECB), key, &blocks(counter, bits, most)).unwrap();
            let mechanism = Mechanism::ctr(bits as usize, counter.to_be_bytes());
            let text = vec![0; 16 * most];
            assert_eq!(session.encrypt(&mechanism, key, &text).as_ref(), Ok(&stream), "{bits}");
            let (one, rest) = text.split_at(5);
            let (two, three) = rest.split_at(rest.len() / 2);
            assert_eq!(session.decrypt_parts(&mechanism, key, &[one, two, three]).as_ref(), Ok(&stream), "{bits}");
            if bits < 8 {
                assert_eq!(session.encrypt(&mechanism, key, &vec![0; 16 * most + 1]), Err(CKR_DATA_LEN_RANGE));
            }
        }
    }
    for bits in [0, 129] {
        assert_eq!(session.encrypt(&Mechanism::ctr(bits, IV), key, b""), Err(CKR_MECHANISM_PARAM_INVALID));
    }
}

#[test]
fn a_chacha_counter_ends_or_goes_on() {
    let session = Session::open();
    let (key, text) = (key(&session, CKK_CHACHA20, 32), [0; 200]);
    let low = [0xfe, 0xff, 0xff, 0xff];
    assert_eq!(session.encrypt(&chacha(&low, &IV[..12]), key, &text), Err(CKR_DATA_LEN_RANGE));
    assert!(session.encrypt(&chacha(&low, &IV[..12]), key, &text[..128]).is_ok());
    let wide = [&low[..], &[7, 0, 0, 0]].concat();
    let all = session.encrypt(&chacha(&wide, &IV[..8]), key, &text).unwrap();
    let next = session.encrypt(&chacha(&[0, 0, 0, 0, 8, 0, 0, 0], &IV[..8]), key, &text[..72]).unwrap();
    assert_eq!(all[128..], next);
    for at in [1, 127, 128, 129, 150] {
        let (one, two) = text.split_at(at);
        assert_eq!(session.encrypt_parts(&chacha(&wide, &IV[..8]), key, &[one, two]).as_ref(), Ok(&all), "{at}");
    }
}

#[test]
fn both_forms_of_gcm_parameters_are_the_same() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Old(*mut u8, CK_ULONG, *mut u8, CK_ULONG, CK_ULONG);
    let session = Session::open();
    let key = key(&session, CKK_AES, 16);
    let old = Mechanism::with(CKM_AES_GCM, Old(input(&IV), 16, input(b"aad"), 3, 128));
    let new = Mechanism::gcm(&IV, b"aad", 128);
    assert_eq!(session.encrypt(&old, key, b"text"), session.encrypt(&new, key, b"text"));
}

#[test]
fn a_wrong_tag_gives_nothing_out() {
    let session = Session::open();
    let aes = key(&session, CKK_AES, 16);
    let chacha = key(&session, CKK_CHACHA20, 32);
    for (mechanism, key) in [
        (Mechanism::gcm(&IV, b"", 128), aes),
        (Mechanism::ccm(33, &IV[..12], b"", 16), aes),
        (Mechanism::chacha_poly(&IV[..12], b""), chacha),
    ] {
        let mut wrapped = session.encrypt(&mechanism, key, &data(33)).unwrap();
        wrapped[40] ^= 1;
        session.decrypt_init(&mechanism, key).unwrap();
        let call = |out, size: *mut CK_ULONG| p11!(C_Decrypt(session.0, input(&wrapped), length(&wrapped), out, size));
        let (rv, _, out) = with_room(33, call);
        assert_eq!(rv, CKR_ENCRYPTED_DATA_INVALID);
        assert!(out.iter().all(|byte| *byte == 0));
        assert_eq!(session.decrypt_final(), Err(CKR_OPERATION_NOT_INITIALIZED));
        session.decrypt_init(&mechanism, key).unwrap();
        assert_eq!(session.decrypt_update(&wrapped), Ok(vec![]));
        assert_eq!(session.decrypt_final(), Err(CKR_ENCRYPTED_DATA_INVALID));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let session = Session::open();
    let (aes, generic) = (key(&session, CKK_AES, 16), key(&session, CKK_GENERIC_SECRET, 16));
    let secret = |kind, flag| session.create(&Attributes::secret(kind, &[1; 16]).flag(flag, false)).unwrap();
    for (mechanism, key, rv) in [
        (Mechanism::new(CKM_AES_ECB), generic, CKR_KEY_TYPE_INCONSISTENT),
        (Mechanism::new(CKM_DES3_ECB), aes, CKR_KEY_TYPE_INCONSISTENT),
        (Mechanism::new(CKM_AES_ECB), 0, CKR_KEY_HANDLE_INVALID),
        (Mechanism::new(CKM_AES_ECB), secret(CKK_AES, CKA_ENCRYPT), CKR_KEY_FUNCTION_NOT_PERMITTED),
        (Mechanism::bytes(CKM_AES_ECB, &IV), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::new(CKM_AES_CBC), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::bytes(CKM_AES_CBC, &IV[..15]), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::new(CKM_AES_GCM), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::gcm(&[], b"", 128), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::gcm(&IV, b"", 129), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::gcm(&IV, b"", 136), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::ccm(0, &IV[..6], b"", 16), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::ccm(0, &IV[..7], b"", 5), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::chacha_poly(&IV[..8], b""), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::new(CKM_SHA256), aes, CKR_MECHANISM_INVALID),
        (Mechanism::new(CKM_VENDOR_DEFINED), aes, CKR_MECHANISM_INVALID),
    ] {
        assert_eq!(session.encrypt_init(&mechanism, key), Err(rv), "{:#x}", mechanism.raw().mechanism);
    }
    let listed = Attributes::secret(CKK_AES, &[1; 16]).numbers(CKA_ALLOWED_MECHANISMS, &[CKM_AES_CBC]);
    let listed = session.create(&listed).unwrap();
    assert_eq!(session.encrypt_init(&Mechanism::new(CKM_AES_ECB), listed), Err(CKR_MECHANISM_INVALID));
    assert_eq!(session.encrypt(&Mechanism::ccm(3, &IV[..7], b"", 16), aes, b"four"), Err(CKR_DATA_LEN_RANGE));
    // An operation that runs is not replaced, and parts are not mixed with a whole.
    session.encrypt_init(&Mechanism::new(CKM_AES_ECB), aes).unwrap();
    assert_eq!(session.encrypt_init(&Mechanism::new(CKM_AES_ECB), aes), Err(CKR_OPERATION_ACTIVE));
    session.encrypt_update(&[0; 16]).unwrap();
    assert_eq!(session.encrypt_once(&[0; 16]), Err(CKR_OPERATION_ACTIVE));
    assert_eq!(p11!(C_EncryptInit(session.0, std::ptr::null_mut(), 0)), CKR_OK);
    assert_eq!(session.encrypt_final(), Err(CKR_OPERATION_NOT_INITIALIZED));
    session.decrypt_init(&Mechanism::new(CKM_AES_ECB), aes).unwrap();
    session.cancel(CKF_DECRYPT).unwrap();
    assert_eq!(session.decrypt_update(b""), Err(CKR_OPERATION_NOT_INITIALIZED));
}

#[test]
fn two_operations_go_on_together() {
    let session = Session::open();
    let (key, text) = (key(&session, CKK_AES, 16), data(64));
    let mac_key = session.create(&Attributes::secret(CKK_GENERIC_SECRET, b"of a mac")).unwrap();
    let (cipher, sha, hmac) =
        (Mechanism::bytes(CKM_AES_CBC, &IV), Mechanism::new(CKM_SHA256), Mechanism::new(CKM_SHA256_HMAC));
    let (hash, mac) = (session.digest(&sha, &text), session.sign(&hmac, mac_key, &text).unwrap());
    session.encrypt_init(&cipher, key).unwrap();
    assert_eq!(session.digest_encrypt_update(&text), Err(CKR_OPERATION_NOT_INITIALIZED));
    session.digest_init(&sha).unwrap();
    let mut wrapped = session.digest_encrypt_update(&text[..30]).unwrap();
    wrapped.extend(session.digest_encrypt_update(&text[30..]).unwrap());
    assert_eq!((session.digest_final(), session.encrypt_final()), (hash.clone(), Ok(vec![])));
    session.encrypt_init(&cipher, key).unwrap();
    session.sign_init(&hmac, mac_key).unwrap();
    assert_eq!(session.sign_encrypt_update(&text).as_ref(), Ok(&wrapped));
    assert_eq!((session.sign_final().as_ref(), session.encrypt_final()), (Ok(&mac), Ok(vec![])));
    session.decrypt_init(&cipher, key).unwrap();
    session.digest_init(&sha).unwrap();
    assert_eq!(session.decrypt_digest_update(&wrapped).as_ref(), Ok(&text));
    assert_eq!((session.digest_final(), session.decrypt_final()), (hash, Ok(vec![])));
    session.decrypt_init(&cipher, key).unwrap();
    session.verify_init(&hmac, mac_key).unwrap();
    assert_eq!(session.decrypt_verify_update(&wrapped).as_ref(), Ok(&text));
    assert_eq!((session.verify_final(&mac), session.decrypt_final()), (Ok(()), Ok(vec![])));
}

#[test]
fn macs_of_block_ciphers() {
    let session = Session::open();
    let (aes, des, text) = (key(&session, CKK_AES, 16), key(&session, CKK_DES3, 24), data(50));
    // GMAC is the tag of GCM with additional data alone, with an IV for a parameter or GCM's structure.
    let tag = session.encrypt(&Mechanism::gcm(&IV[..12], &text, 128), aes, b"").unwrap();
    let (iv, size, none) = (input(&IV), 12, std::ptr::null_mut());
    let short = CK_GCM_PARAMS { pIv: iv, ulIvLen: size, ulIvBits: 8 * size, pAAD: none, ulAADLen: 0, ulTagBits: 96 };
    let short = Mechanism::with(CKM_AES_GMAC, short);
    let gmac = Mechanism::bytes(CKM_AES_GMAC, &IV[..12]);
    for (mechanism, length) in [(gmac, 16), (short, 12)] {
        let mut mac = session.sign_parts(&mechanism, aes, &[&text[..7], &text[7..]]).unwrap();
        assert_eq!(mac, tag[..length]);
        session.verify(&mechanism, aes, &text, &mac).unwrap();
        mac[length - 1] ^= 1;
        assert_eq!(session.verify(&mechanism, aes, &text, &mac), Err(CKR_SIGNATURE_INVALID));
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    let mut child = Command::new("openssl")
        .args(["mac", "-cipher", "DES-EDE3-CBC", "-macopt", &format!("hexkey:{}", hex(&data(24))), "CMAC"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("openssl");
    child.stdin.take().expect("a pipe").write_all(&text).expect("openssl reads");
    let expected = String::from_utf8(child.wait_with_output().expect("openssl ends").stdout).expect("hex");
    let mac = session.sign(&Mechanism::new(CKM_DES3_CMAC), des, &text).unwrap();
    assert_eq!(hex(&mac), expected.trim());
    assert_eq!(session.sign(&Mechanism::number(CKM_DES3_CMAC_GENERAL, 4), des, &text).as_deref(), Ok(&mac[..4]));
    for (mechanism, key, rv) in [
        (Mechanism::number(CKM_DES3_CMAC_GENERAL, 9), des, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::number(CKM_AES_CMAC_GENERAL, 0), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::bytes(CKM_AES_CMAC, &IV), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::new(CKM_AES_GMAC), aes, CKR_MECHANISM_PARAM_INVALID),
        (Mechanism::new(CKM_AES_CMAC), des, CKR_KEY_TYPE_INCONSISTENT),
        (Mechanism::new(CKM_SHA256_HMAC), aes, CKR_KEY_TYPE_INCONSISTENT),
    ] {
        assert_eq!(session.sign_init(&mechanism, key), Err(rv));
    }
}
