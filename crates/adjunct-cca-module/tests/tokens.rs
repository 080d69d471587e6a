//! Tokens: known layouts and answers, and each bit of them.

use adjunct_cca_module::error::Fault;
use adjunct_cca_module::token::pka::{self, Form, Private};
use adjunct_cca_module::token::{aes, des, tvv, variable};
use adjunct_cca_module::vector::{self, Type};
use adjunct_cca_module::wrap::{Method, Wrapper};
use adjunct_cca_module::{aeskw, pattern};
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.bytes().filter_map(|digit| (digit as char).to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn control_vectors_are_those_of_the_tables() {
    let text = |vectors: [vector::Vector; 2]| vectors.map(|vector| format!("{:016X}", u64::from_be_bytes(vector)));
    for (kind, length, left, right) in [
        (Type::Data, 8, "00007D0003000000", "0000000000000000"),
        (Type::Data, 16, "00007D0003410000", "00007D0003210000"),
        (Type::Data, 24, "00007D0003600081", "00007D0003600081"),
        (Type::Cipher, 16, "0003710003410000", "0003710003210000"),
        (Type::Encipher, 16, "0003600003410000", "0003600003210000"),
        (Type::Decipher, 24, "0003500003600081", "0003500003600081"),
        (Type::Mac, 8, "00054D0003000000", "0000000000000000"),
        (Type::MacVer, 16, "0005440003410000", "0005440003210000"),
        (Type::Exporter, 16, "00417D0003410000", "00417D0003210000"),
        (Type::Importer, 24, "00427D0003600081", "00427D0003600081"),
    ] {
        let vectors = vector::default(kind, length).unwrap();
        assert_eq!(text(vectors), [left, right], "{kind:?} {length}");
        assert_eq!((Type::of_vector(&vectors[0]), vector::key_length(&vectors[0])), (Some(kind), Some(length)));
        assert!(vectors.iter().all(vector::is_even), "{kind:?} {length}");
    }
    assert_eq!(vector::default(Type::Importer, 8), Err(Fault(Code::KEY_LENGTH)));
}

/// IBM's documents, and what init_cca.sh loads.
#[test]
fn patterns_of_master_keys_are_ibms() {
    assert_eq!(pattern::of_long(&[2; 32]).to_vec(), hex("f1386fff8b06ac98"));
    assert_eq!(pattern::of_sym(&[2; 24]).unwrap().to_vec(), hex("8a0246826e00ab59"));
    let apart = hex("0101010101010101 0202020202020202 0404040404040404");
    let sha1 = [&[1][..], &apart].concat();
    let mut digest = adjunct::ops::digest::Part::new(&adjunct::ops::digest::SHA1);
    digest.update(&sha1);
    let mut out = [0; 20];
    digest.finish(&mut out);
    assert_eq!(pattern::of_sym(apart[..].try_into().unwrap()).unwrap(), out[..8]);
}

/// DES with the key 0123456789ABCDEF has the check value D5D44F; triple DES with 0123456789ABCDEFFEDCBA9876543210 has 08D7B4; AES-128 with zeros 66E94BD4.
#[test]
fn patterns_of_keys_are_the_known_ones() {
    assert_eq!(pattern::enc_zero_des(&hex("0123456789ABCDEF")).unwrap()[..3], hex("D5D44F"));
    assert_eq!(pattern::enc_zero_des(&hex("0123456789ABCDEFFEDCBA9876543210")).unwrap()[..3], hex("08D7B4"));
    assert_eq!(pattern::enc_zero_aes(&[0; 16]).unwrap().to_vec(), hex("66E94BD4"));
}

/// The rounds are those of RFC 3394, 4.1 and 4.6.
#[test]
fn the_rounds_are_those_of_rfc_3394() {
    for (key, text, wrapped) in [
        (
            "000102030405060708090A0B0C0D0E0F",
            "00112233445566778899AABBCCDDEEFF",
            "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5",
        ),
        (
            "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
            "00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F",
            "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21",
        ),
    ] {
        let mut all = [vec![0xa6; 8], hex(text)].concat();
        aeskw::rounds(&hex(key), true, &mut all).unwrap();
        assert_eq!(all, hex(wrapped));
        aeskw::rounds(&hex(key), false, &mut all).unwrap();
        assert_eq!(all, [vec![0xa6; 8], hex(text)].concat());
    }
}

#[test]
fn aeskw_has_the_lengths_of_tokens_and_binds_the_associated_data() {
    let under = [9; 32];
    for (key, length) in [(16, 64), (24, 72), (32, 80)] {
        assert_eq!(aeskw::length(key), length, "512, 576 and 640 bits");
        for padded in [length, 80] {
            let wrapped = aeskw::wrap(&under, b"what it is for", &vec![7; key], padded).unwrap();
            assert_eq!(wrapped.len(), padded);
            assert_eq!(aeskw::unwrap(&under, b"what it is for", &wrapped).unwrap()[..], vec![7; key]);
            assert_eq!(aeskw::unwrap(&under, b"What it is for", &wrapped).unwrap_err(), Fault(Code::TOKEN));
            for bit in 0..padded * 8 {
                let mut other = wrapped.to_vec();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(aeskw::unwrap(&under, b"what it is for", &other).unwrap_err(), Fault(Code::TOKEN), "{bit}");
            }
        }
    }
    // The padding's bits stand in one byte.
    assert_eq!(aeskw::wrap(&under, b"", &[1], 80).unwrap_err(), Fault(Code::KEY_LENGTH));
    assert_eq!(aeskw::wrap(&under, b"", &[1; 32], 64).unwrap_err(), Fault(Code::KEY_LENGTH));
}

/// WRAP-ECB by its definition, computed part by part: E_{W1} D_{W2} E_{W3} with the control vector XORed to W.
#[test]
fn wrap_ecb_is_the_definition() {
    let single =
        |key: &[u8], encrypt: bool, block: &mut [u8]| adjunct_cca_module::des::ecb(key, encrypt, block).unwrap();
    let parts = [hex("0123456789ABCDEF"), hex("1123456789ABCDEF"), hex("2123456789ABCDEF")];
    let key = hex("4040404040404040 5151515151515151");
    let vectors = vector::default(Type::Cipher, 16).unwrap();
    for kek in [parts[..2].concat(), parts.concat()] {
        let mut wrapped = key.clone();
        Wrapper::new(&kek).unwrap().wrap(Method::Ecb, &vectors, &mut wrapped).unwrap();
        let mut by_hand = key.clone();
        for (part, vector) in by_hand.chunks_mut(8).zip(vectors) {
            let under: Vec<Vec<u8>> = kek
                .chunks(8)
                .map(|third| third.iter().zip(vector).map(|(key, vector)| key ^ vector).collect())
                .collect();
            let last = under.get(2).unwrap_or(&under[0]);
            single(last, true, part);
            single(&under[1], false, part);
            single(&under[0], true, part);
        }
        assert_eq!(wrapped, by_hand);
    }
}

/// WRAP-ENH by its definition for two parts: SHA-1 of the right to the left, triple DES in CBC under the key that SP 800-108 derives.
#[test]
fn wrap_enh_is_the_definition_and_comes_back_for_all_lengths() {
    let kek = hex("0123456789ABCDEF FEDCBA9876543210");
    let key = hex("4040404040404040 5151515151515151");
    let vectors = vector::default(Type::Mac, 16).unwrap();
    let mut wrapped = key.clone();
    let wrapper = Wrapper::new(&kek).unwrap();
    wrapper.wrap(Method::Enhanced, &vectors, &mut wrapped).unwrap();

    let mut block = [0; 32];
    let input = [&[0, 0, 0, 1][..], b"ENHANCEDWRAP2010", &[0, 0, 0, 1, 0]].concat();
    adjunct::ops::mac::hmac_within(&adjunct::ops::digest::SHA256, &kek, &[&input], &mut block).unwrap();
    let under: Vec<u8> = block[..16].iter().zip(vectors[0].iter().cycle()).map(|(key, vector)| key ^ vector).collect();
    let mut digest = adjunct::ops::digest::Part::new(&adjunct::ops::digest::SHA1);
    digest.update(&key[8..]);
    let mut sum = [0; 20];
    digest.finish(&mut sum);
    let mut by_hand = key.clone();
    by_hand.iter_mut().zip(&sum[..8]).for_each(|(byte, sum)| *byte ^= sum);
    adjunct_cca_module::des::cbc(&under, &mut [0; 8], true, &mut by_hand).unwrap();
    assert_eq!(wrapped, by_hand);

    for length in [8, 16, 24] {
        for kek in [&kek[..], &[7; 24]] {
            let wrapper = Wrapper::new(kek).unwrap();
            for method in [Method::Ecb, Method::Enhanced] {
                let vectors = vector::default(Type::Data, length).unwrap();
                let key: Vec<u8> = (0..length as u8).collect();
                let mut text = key.clone();
                wrapper.wrap(method, &vectors, &mut text).unwrap();
                assert_ne!(text, key);
                wrapper.unwrap(method, &vectors, &mut text).unwrap();
                assert_eq!(text, key, "{length} {method:?}");
            }
        }
    }
    assert_eq!(Wrapper::new(&[1; 8]).unwrap_err(), Fault(Code::KEY_LENGTH));
}

/// Two parts that are equal show in ECB where control vectors are equal, and never in the enhanced method.
#[test]
fn wrap_enh_hides_equal_parts() {
    let wrapper = Wrapper::new(&[3; 16]).unwrap();
    let mut text = [5; 16];
    wrapper.wrap(Method::Enhanced, &[[0; 8]; 2], &mut text).unwrap();
    assert_ne!(text[..8], text[8..]);
    let mut text = [5; 16];
    wrapper.wrap(Method::Ecb, &[[0; 8]; 2], &mut text).unwrap();
    assert_eq!(text[..8], text[8..]);
}

fn des_tokens() -> Vec<des::Token> {
    let mut tokens = Vec::new();
    for (kind, length) in [(Type::Data, 8), (Type::Cipher, 16), (Type::Mac, 24), (Type::Exporter, 16)] {
        let mut token = des::Token::skeleton(kind, length).unwrap();
        tokens.push(token.clone());
        (token.present, token.mkvp, token.method) = (true, [1; 8], Method::Enhanced);
        token.wrapped[..length].fill(0x5a);
        tokens.push(token.clone());
        (token.external, token.mkvp) = (true, [0; 8]);
        tokens.push(token);
    }
    for length in [8, 16, 24] {
        let mut token = des::Token::skeleton(Type::Data, 8).unwrap();
        (token.vectors, token.version, token.length) = ([[0; 8]; 2], u8::from(length > 8), length);
        (token.present, token.mkvp) = (true, [1; 8]);
        token.wrapped[..length].fill(0x5a);
        tokens.push(token);
    }
    tokens
}

#[test]
fn each_bit_of_a_des_token_is_guarded_by_its_validation_value() {
    for token in des_tokens() {
        let bytes = token.to_bytes();
        assert_eq!(des::Token::parse(&bytes).as_ref(), Ok(&token));
        assert_eq!(bytes[60..], tvv(&bytes));
        for bit in 0..512 {
            let mut other = bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            let code = if other[0] == 2 { Code::EXTERNAL_TVV } else { Code::INTERNAL_TVV };
            assert_eq!(des::Token::parse(&other), Err(Fault(code)), "{token:?} {bit}");
            // With a validation value of its own, too, a token is refused or is another.
            let sum = tvv(&other);
            other[60..].copy_from_slice(&sum);
            if bit < 480
                && let Ok(parsed) = des::Token::parse(&other)
            {
                assert!(
                    parsed != token && parsed.to_bytes() == other || bit / 8 == 6 || bit / 8 == 7,
                    "{token:?} {bit}"
                );
            }
        }
        assert_eq!(des::Token::parse(&bytes[..63]), Err(Fault(Code::TOKEN)));
    }
    let mut old = des_tokens()[0].to_bytes();
    old[4] = 3;
    let sum = tvv(&old);
    old[60..].copy_from_slice(&sum);
    assert_eq!(des::Token::parse(&old), Err(Fault(Code::TOKEN_VERSION)));
}

/// openCryptoki takes a token for one of two or three parts by version and byte 59, or by the form in the control vector.
#[test]
fn des_tokens_have_the_bytes_that_opencryptoki_reads() {
    let mut token = des::Token::skeleton(Type::Data, 8).unwrap();
    (token.vectors, token.version, token.length, token.present) = ([[0; 8]; 2], 1, 24, true);
    let bytes = token.to_bytes();
    assert_eq!((bytes[0], bytes[4], bytes[6], bytes[59]), (1, 1, 0x80, 0x20));
    let bytes = des::Token::skeleton(Type::Data, 16).unwrap().to_bytes();
    assert_eq!((bytes[0], bytes[4], bytes[37] & 0xe0, bytes[59]), (1, 0, 0x40, 0));
}

#[test]
fn each_bit_of_an_aes_token_is_guarded_by_its_validation_value() {
    let mut key = [0; 32];
    key[..24].fill(0x11);
    key[0] = 0x10;
    let contents =
        [aes::Contents::Empty, aes::Contents::Clear(Zeroizing::new(key)), aes::Contents::Wrapped([3; 8], [7; 32])];
    for contents in contents {
        let token = aes::Token { contents, length: 24 };
        let bytes = token.to_bytes();
        assert!(aes::Token::is(&bytes[..]) && aes::Token::parse(&bytes[..]).as_ref() == Ok(&token));
        for bit in 0..512 {
            let mut other = *bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(aes::Token::parse(&other).map(drop).map_err(|fault| fault.0.rc), Err(8), "{bit}");
        }
    }
    let mut wrong = *aes::Token { contents: aes::Contents::Clear(Zeroizing::new(key)), length: 24 }.to_bytes();
    assert_eq!(wrong[7], 1, "the LRC is the XOR of the key's bytes");
    wrong[7] ^= 1;
    let sum = tvv(&wrong);
    wrong[60..].copy_from_slice(&sum);
    assert_eq!(aes::Token::parse(&wrong).unwrap_err(), Fault(Code::TOKEN), "the LRC");
}

fn cipher_key() -> (Vec<u8>, variable::Token) {
    let key = hex("000102030405060708090A0B0C0D0E0F");
    let mut token = variable::Token {
        state: variable::State::Wrapped([9; 8]),
        format: variable::Payload::Fixed,
        algorithm: variable::Algorithm::Aes,
        kind: variable::CIPHER,
        usage: vec![0xc000, 0x0000],
        management: vec![0xf800, 0, 0],
        name: Vec::new(),
        extended: Vec::new(),
        user: Vec::new(),
        bits: 640,
        payload: Zeroizing::new(Vec::new()),
    };
    token.payload = aeskw::wrap(&[4; 32], &token.associated(), &key, token.block(16)).unwrap();
    (key, token)
}

/// 26 bytes of associated data, the payload at 56, 136 bytes in all; management field 1 at 50.
#[test]
fn a_cipher_token_is_laid_out_as_linux_and_opencryptoki_read_it() {
    let (_, token) = cipher_key();
    let bytes = token.to_bytes();
    assert_eq!((bytes.len(), &bytes[2..4], bytes[4], bytes[8], bytes[9]), (136, &[0, 136][..], 5, 3, 1));
    assert_eq!(
        (bytes[26], bytes[27], bytes[28], &bytes[32..34], &bytes[38..40]),
        (2, 2, 1, &[0, 26][..], &[2, 0x80][..])
    );
    assert_eq!((bytes[41], &bytes[42..44], bytes[44], &bytes[50..52]), (2, &[0, 1][..], 2, &[0xf8, 0][..]));
}

#[test]
fn each_bit_of_a_variable_token_is_refused_or_bound() {
    let (key, token) = cipher_key();
    let bytes = token.to_bytes();
    assert!(variable::Token::parse(&bytes).unwrap() == token);
    // A buffer that is longer than the token is read by the token's length.
    assert!(variable::Token::parse(&[&bytes[..], &[0; 500]].concat()).unwrap() == token);
    for length in 0..bytes.len() {
        assert!(variable::Token::parse(&bytes[..length]).is_err(), "{length}");
    }
    let open = |token: &variable::Token| aeskw::unwrap(&[4; 32], &token.associated(), &token.payload);
    assert_eq!(open(&token).unwrap()[..], key);
    for bit in 0..bytes.len() * 8 {
        let mut other = bytes.to_vec();
        other[bit / 8] ^= 1 << (bit % 8);
        match variable::Token::parse(&other) {
            Err(fault) => assert!(matches!(fault.0, Code::TOKEN | Code::TOKEN_VERSION), "{bit} {fault:?}"),
            // The pattern names another master key; whether the payload is of a fixed length is for what is made of the token.
            Ok(parsed) if (10..18).contains(&(bit / 8)) => assert!(parsed.state != token.state),
            Ok(parsed) if bit / 8 == 28 => assert!(parsed.format != token.format),
            Ok(parsed) => assert_eq!(open(&parsed).unwrap_err(), Fault(Code::TOKEN), "{bit}"),
        }
    }
}

fn ecc_token() -> Vec<u8> {
    let private = Private::of_ecc(&[6; 32], [8; 8], 0, 256, 0x80, &[0x21; 32]).unwrap();
    let public = [&[4][..], &[0x55; 64]].concat();
    pka::Key::Ecc { private: Some((private, 0x80)), curve: 0, bits: 256, public }.to_bytes().unwrap()
}

fn rsa_token(crt: bool) -> Vec<u8> {
    let numbers: &[&[u8]] =
        if crt { &[&[0xd1; 64], &[0xc1; 64], &[0xb1; 64], &[0xa1; 64], &[0x91; 64]] } else { &[&[0x77; 128]] };
    let (n, e) = (vec![0x81; 128], vec![1, 0, 1]);
    let private = Private::of_rsa(&[6; 32], [8; 8], 0x80, numbers, &n, &e).unwrap();
    let form = if crt { Form::Crt([64; 5]) } else { Form::Me };
    pka::Key::Rsa { private: Some((private, form, 0x80)), n, e }.to_bytes().unwrap()
}

fn private(token: &[u8]) -> Result<Zeroizing<Vec<u8>>, Fault> {
    match pka::Key::parse(token)? {
        pka::Key::Rsa { private: Some((private, ..)), .. } | pka::Key::Ecc { private: Some((private, _)), .. } => {
            private.unwrap(&[6; 32])
        }
        key => panic!("{key:?}"),
    }
}

/// What openCryptoki reads, and the sizes of sections: 122 and 134 bytes beside the modulus and the payload.
#[test]
fn pka_tokens_are_laid_out_as_opencryptoki_reads_them() {
    let ecc = ecc_token();
    assert_eq!(
        (ecc[0], ecc[8], ecc[12], ecc[18], &ecc[20..22], &ecc[24..32]),
        (0x1f, 0x20, 1, 8, &[1, 0][..], &[8; 8][..])
    );
    assert_eq!(private(&ecc).unwrap()[..], [0x21; 32]);
    for (crt, id, sizes, pattern) in [(true, 0x31, 134 + 128 + 368, 116), (false, 0x30, 122 + 128 + 176, 104)] {
        let token = rsa_token(crt);
        let length = u16::from_be_bytes([token[10], token[11]]);
        assert_eq!((token[0], token[8], usize::from(length)), (0x1f, id, sizes));
        assert_eq!(token[8 + pattern..][..8], [8; 8]);
        let public = &token[8 + usize::from(length)..];
        assert_eq!((public[0], &public[8..10], &public[10..12]), (4, &[4, 0][..], &[0, 0][..]));
        assert_eq!(private(&token).unwrap().len(), if crt { 320 } else { 128 });
    }
}

/// The public numbers themselves are bound by arithmetic: to the factors of the modulus, to the scalar of the point.
#[test]
fn each_bit_of_a_pka_token_is_refused_or_changes_a_public_number() {
    for token in [ecc_token(), rsa_token(true), rsa_token(false)] {
        let good = private(&token).unwrap();
        for length in 0..token.len() {
            assert!(pka::Key::parse(&token[..length]).is_err(), "{length}");
        }
        for bit in 0..token.len() * 8 {
            let mut other = token.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            if let Ok(key) = private(&other) {
                assert!(key == good);
                let same = match (pka::Key::parse(&other).unwrap(), pka::Key::parse(&token).unwrap()) {
                    (pka::Key::Rsa { n, private, .. }, pka::Key::Rsa { n: before, private: Some((one, ..)), .. }) => {
                        n == before && pattern_of(&private.unwrap().0) == pattern_of(&one)
                    }
                    (
                        pka::Key::Ecc { public, private, .. },
                        pka::Key::Ecc { public: before, private: Some((one, _)), .. },
                    ) => public == before && pattern_of(&private.unwrap().0) == pattern_of(&one),
                    _ => true,
                };
                assert!(!same, "bit {bit} of {:02x}", token[8]);
            }
        }
    }
}

fn pattern_of(private: &Private) -> Option<[u8; 8]> {
    match private {
        Private::Wrapped { mkvp, .. } => Some(*mkvp),
        Private::Clear(_) => None,
    }
}
