//! Verbs as a program calls them: known answers of standards, and what is refused.

mod card;

use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::{Reply, Value};
use adjunct_cca_wire::verb::Verb;
use adjunct_coprocessor::roles::Caller;
use card::{Answer, Card, hex};

const NONE: Value<'_> = Value::None;

fn b(bytes: &[u8]) -> Value<'_> {
    Value::Bytes(bytes)
}

fn enc(card: &Card, key: &[u8], text: &[u8], iv: &[u8], rules: &[u8], vector: &[u8]) -> Answer {
    card.call(Verb::CSNBENC, &[b(key), b(text), b(iv), b(rules), Value::Long(0), b(vector), NONE])
}

fn dec(card: &Card, key: &[u8], text: &[u8], iv: &[u8], rules: &[u8], vector: &[u8]) -> Answer {
    card.call(Verb::CSNBDEC, &[b(key), b(text), b(iv), b(rules), b(vector), NONE])
}

/// DES: FIPS 81's example of CBC. Triple DES: by OpenSSL and every other, the key of SP 800-67's samples.
#[test]
fn encipher_and_decipher_are_des_in_cbc() {
    let card = Card::ready();
    let key = card.des(&hex("0123456789ABCDEF"));
    assert_eq!((key[0], key[4], key[6] & 0x80), (1, 0, 0x80));
    let (text, iv) = (b"Now is the time for all ", hex("1234567890ABCDEF"));
    let cipher = hex("E5C7CDDE872BF27C 43E934008C389C0F 683788499A7C05F6");
    let (code, results) = enc(&card, &key, text, &iv, b"CBC     INITIAL ", &[]);
    assert_eq!((code, results[6].as_ref()), (Code::OK, Some(&cipher)));
    let (code, results) = dec(&card, &key, &cipher, &iv, b"", &[]);
    assert_eq!((code, results[5].as_deref()), (Code::OK, Some(&text[..])));

    // In parts, the vector of one part is the other's.
    let (_, first) = enc(&card, &key, &text[..8], &iv, b"CBC     INITIAL ", &[]);
    let vector = first[5].clone().unwrap();
    let (_, second) = enc(&card, &key, &text[8..], &[], b"CONTINUECBC     ", &vector);
    assert_eq!([first[6].clone().unwrap(), second[6].clone().unwrap()].concat(), cipher);

    let triple = card.des(&hex("0123456789ABCDEF 23456789ABCDEF01 456789ABCDEF0123"));
    assert_eq!((triple[4], triple[59]), (1, 0x20));
    let one = enc(&card, &triple, &hex("5468652071756663"), &[0; 8], b"CBC     ", &[]).1[6].clone().unwrap();
    assert_eq!(one, hex("A826FD8CE53B855F"), "SP 800-67, B.1");
}

#[test]
fn x9_23_pads_to_whole_blocks() {
    let card = Card::ready();
    let key = card.des(&[0x13; 16]);
    for length in 1..20 {
        let text = vec![7; length];
        let (code, results) = enc(&card, &key, &text, &[3; 8], b"X9.23   ", &[]);
        let cipher = results[6].clone().unwrap();
        assert_eq!((code, cipher.len()), (Code::OK, (length / 8 + 1) * 8));
        let (code, results) = dec(&card, &key, &cipher, &[3; 8], b"X9.23   ", &[]);
        assert_eq!((code, results[5].as_ref()), (Code::OK, Some(&text)));
    }
    let (_, results) = enc(&card, &key, &[7; 8], &[3; 8], b"CBC     ", &[]);
    let (code, results) = dec(&card, &key, &results[6].clone().unwrap(), &[3; 8], b"X9.23   ", &[]);
    assert!(code == Code::OK && results[5].as_ref().unwrap().len() == 1 || code == Code::TEXT_LENGTH);
    assert_eq!(enc(&card, &key, &[7; 9], &[3; 8], b"CBC     ", &[]).0, Code::TEXT_LENGTH);
    assert_eq!(enc(&card, &key, &[7; 8], &[3; 8], b"CUSPS   ", &[]).0, Code::KEYWORD);
    assert_eq!(enc(&card, &key, &[7; 8], &[3; 8], b"CBC     X9.23   ", &[]).0, Code::KEYWORDS);
}

fn sym(card: &Card, verb: Verb, rules: &[u8], key: &[u8], iv: &[u8], text: &[u8]) -> Answer {
    let none = Value::Bytes(&[]);
    let room = Value::Room(text.len() as u64 + 16);
    card.call(verb, &[b(rules), b(key), none, Value::Long(16), b(iv), b(&[0; 32]), b(text), room, none])
}

/// SP 800-38A, F.1.1 and F.2.1, F.2.5: with secure keys in both kinds of tokens, and with clear ones.
#[test]
fn aes_is_that_of_sp_800_38a() {
    let card = Card::ready();
    let text = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51");
    let iv = hex("000102030405060708090a0b0c0d0e0f");
    let short = hex("2b7e151628aed2a6abf7158809cf4f3c");
    let long = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
    let ecb = hex("3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf");
    let cbc = hex("7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2");
    let cbc_long = hex("f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d");
    let skeleton = card.skeleton(b"INTERNALNO-KEY  AES     CIPHER  XPRTCPAC");
    for (key, mode, expected) in [(&short, "ECB", &ecb), (&short, "CBC", &cbc), (&long, "CBC", &cbc_long)] {
        let tokens = [card.aes(key), card.variable(b"AES     ", &skeleton, key), key.clone()];
        for (token, kind) in tokens.iter().zip(["KEYIDENT", "KEYIDENT", "KEY-CLR "]) {
            let rules = format!("AES     {mode:8}{kind}INITIAL ");
            let (code, results) = sym(&card, Verb::CSNBSAE, rules.as_bytes(), token, &iv, &text);
            assert_eq!((code, results[7].as_ref()), (Code::OK, Some(expected)), "{rules}");
            let (code, results) = sym(&card, Verb::CSNBSAD, rules.as_bytes(), token, &iv, expected);
            assert_eq!((code, results[7].as_ref()), (Code::OK, Some(&text)), "{rules}");
        }
    }
    for length in 0..33 {
        let text = vec![5; length];
        let token = card.aes(&short);
        let (code, results) = sym(&card, Verb::CSNBSAE, b"AES     PKCS-PADKEYIDENT", &token, &iv, &text);
        let cipher = results[7].clone().unwrap();
        assert_eq!((code, cipher.len()), (Code::OK, (length / 16 + 1) * 16));
        let (code, results) = sym(&card, Verb::CSNBSAD, b"AES     PKCS-PADKEYIDENT", &token, &iv, &cipher);
        assert_eq!((code, results[7].as_ref()), (Code::OK, Some(&text)));
    }
}

/// Test case 4 of the GCM specification: 20 bytes of additional data, 60 of text.
#[test]
fn gcm_is_that_of_its_specification() {
    let card = Card::ready();
    let key = card.aes(&hex("feffe9928665731c6d6a8f9467308308"));
    let (iv, aad) = (hex("cafebabefacedbaddecaf888"), hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"));
    let text = hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    );
    let cipher = hex(
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
    );
    let tag = hex("5bc94fbc3221a5db94fae95ae7121a47");
    let call = |verb, tag: &[u8], text: &[u8]| {
        let values = [b(b"AES     GCM     KEYIDENTONLY    "), b(&key), b(tag), Value::Long(16), b(&iv)];
        let rest = [b(&[0; 104]), b(text), Value::Room(60), b(&aad)];
        card.call(verb, &[&values[..], &rest].concat())
    };
    for length in [4, 8, 12, 13, 14, 15, 16] {
        let (code, results) = call(Verb::CSNBSAE, &vec![0; length], &text);
        assert_eq!((code, results[7].as_ref(), results[2].as_deref()), (Code::OK, Some(&cipher), Some(&tag[..length])));
        let (code, results) = call(Verb::CSNBSAD, &tag[..length], &cipher);
        assert_eq!((code, results[7].as_ref()), (Code::OK, Some(&text)));
        let mut wrong = tag[..length].to_vec();
        wrong[length - 1] ^= 1;
        let (code, results) = call(Verb::CSNBSAD, &wrong, &cipher);
        assert!(code == Code::GCM_TAG && results[7].is_none(), "no text of a wrong tag");
    }
    assert_eq!(call(Verb::CSNBSAE, &[0; 5], &text).0, Code::LENGTH);
}

fn mgn(card: &Card, key: &[u8], text: &[u8], rules: &[u8], vector: &[u8]) -> Answer {
    card.call(Verb::CSNBMGN, &[Value::Bytes(key), Value::Bytes(text), Value::Bytes(rules), Value::Bytes(vector), NONE])
}

fn mvr(card: &Card, key: &[u8], text: &[u8], rules: &[u8], mac: &[u8]) -> Code {
    let values =
        [Value::Bytes(key), Value::Bytes(text), Value::Bytes(rules), Value::Bytes(&[0; 18]), Value::Bytes(mac)];
    card.call(Verb::CSNBMVR, &values).0
}

/// ISO 9797-1, annex B: the text "Now is the time for all " under 0123456789ABCDEF by algorithm 1, with FEDCBA9876543210 by algorithm 3, paddings 1 and 2; FIPS 113's
/// example has the first, too. CMAC: SP 800-38B, D.4.
#[test]
fn macs_are_those_of_the_standards() {
    let card = Card::ready();
    let single = card.des(&hex("0123456789ABCDEF"));
    let double = card.des(&hex("0123456789ABCDEF FEDCBA9876543210"));
    let text = b"Now is the time for all ";
    for (key, method, expected) in [
        (&single, "", "70A30640CC76DD8B"),
        (&single, "X9.9-1  ", "70A30640CC76DD8B"),
        (&single, "EMVMAC  ", "10E1F0F108341B6D"),
        (&double, "", "A1C72E74EA3FA9B6"),
        (&double, "X9.19OPT", "A1C72E74EA3FA9B6"),
        (&double, "EMVMACD ", "E9086230CA3BE796"),
    ] {
        let rules = format!("{method}MACLEN8 ");
        let (code, results) = mgn(&card, key, text, rules.as_bytes(), &[0; 18]);
        assert_eq!((code, results[4].clone().unwrap()), (Code::OK, hex(expected)), "{method}");
        assert_eq!(mvr(&card, key, text, rules.as_bytes(), &hex(expected)), Code::OK);
        assert_eq!(mvr(&card, key, &text[1..], rules.as_bytes(), &hex(expected)), Code::NOT_VERIFIED);
    }
    let two = card.des(&hex("4cf15134a2850dd5 8a3d10ba80570d38"));
    let message = hex("6bc1bee22e409f96e93d7e117393172aae2d8a57");
    let (code, results) = mgn(&card, &two, &message, b"CMAC    MACLEN8 ", &[0; 18]);
    assert_eq!((code, results[4].clone().unwrap()), (Code::OK, hex("62dd1b471902bd4e")), "SP 800-38B, D.5");
}

#[test]
fn macs_of_parts_are_those_of_the_whole_and_have_many_forms() {
    let card = Card::ready();
    let double = card.des(&hex("0123456789ABCDEF FEDCBA9876543210"));
    let text: Vec<u8> = (0..50).collect();
    for method in ["X9.19OPT", "EMVMACD ", "TDES-MAC", "CMAC    "] {
        let rules = |part: &str| format!("{method}{part}MACLEN8 ").into_bytes();
        let whole = mgn(&card, &double, &text, &rules("ONLY    "), &[0; 18]).1[4].clone().unwrap();
        for (one, two) in [(1, 2), (7, 8), (8, 16), (16, 48), (49, 50), (20, 20)] {
            let first = mgn(&card, &double, &text[..one], &rules("FIRST   "), &[0; 18]).1;
            assert!(first[4].is_none());
            let middle = mgn(&card, &double, &text[one..two], &rules("MIDDLE  "), &first[3].clone().unwrap()).1;
            let last = mgn(&card, &double, &text[two..], &rules("LAST    "), &middle[3].clone().unwrap()).1;
            assert_eq!(last[4].as_ref(), Some(&whole), "{method} {one} {two}");
        }
        let form = |form: &str| {
            mgn(&card, &double, &text, format!("{method}{form}").as_bytes(), &[0; 18]).1[4].clone().unwrap()
        };
        assert_eq!((form("MACLEN4 "), form("MACLEN6 ")), (whole[..4].to_vec(), whole[..6].to_vec()));
        let digits: String = whole[..4].iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(form("HEX-8   "), digits.as_bytes());
        assert_eq!(form("HEX-9   "), format!("{} {}", &digits[..4], &digits[4..]).into_bytes());
    }
    assert_eq!(mgn(&card, &double, &[], b"", &[0; 18]).0, Code::TEXT_LENGTH);
    assert_eq!(mgn(&card, &double, &text, b"X9.9-1  ", &[0; 18]).0, Code::KEY_LENGTH);
}

fn hmg(card: &Card, key: &[u8], rules: &[u8], text: &[u8], vector: &[u8]) -> Answer {
    card.call(Verb::CSNBHMG, &[b(rules), b(key), b(text), b(vector), Value::Room(64)])
}

/// RFC 4231, cases 1 and 6, by keys of parts as openCryptoki makes them.
#[test]
fn hmac_is_that_of_rfc_4231() {
    let card = Card::ready();
    let skeleton = card.skeleton(b"INTERNALNO-KEY  HMAC    MAC     GENERATE");
    let key = card.variable(b"HMAC    ", &skeleton, &[0x0b; 20]);
    assert_eq!((key[0], key[4], key[8], key[26], key[27], key[28], key[41]), (1, 5, 3, 2, 2, 0, 3));
    let expected = hex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    let (code, results) = hmg(&card, &key, b"HMAC    SHA-256 ONLY    ", b"Hi There", &[0; 128]);
    assert_eq!((code, results[4].as_ref()), (Code::OK, Some(&expected)));
    let verify = |mac: &[u8]| {
        let values = [b(b"HMAC    SHA-256 ONLY    "), b(&key), b(b"Hi There"), b(&[0; 128]), b(mac)];
        card.call(Verb::CSNBHMV, &values).0
    };
    assert_eq!((verify(&expected), verify(&expected[..16])), (Code::OK, Code::OK));
    assert_eq!((verify(&[0; 32]), verify(&[])), (Code::BAD_SIGNATURE, Code::LENGTH));

    let long = card.variable(b"HMAC    ", &skeleton, &[0xaa; 131]);
    let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
    let expected = hex(
        "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
    );
    assert_eq!(hmg(&card, &long, b"HMAC    SHA-512 ", text, &[0; 128]).1[4].as_ref(), Some(&expected));
}

#[test]
fn hmac_and_digests_of_parts_are_those_of_the_whole() {
    let card = Card::ready();
    let skeleton = card.skeleton(b"INTERNALNO-KEY  HMAC    MAC     GENERATE");
    let key = card.variable(b"HMAC    ", &skeleton, &[7; 32]);
    let text: Vec<u8> = (0..500_u16).map(|byte| byte as u8).collect();
    let hash = |rules: &[u8], text: &[u8], vector: &[u8]| {
        card.call(Verb::CSNBOWH, &[Value::Bytes(rules), Value::Bytes(text), Value::Bytes(vector), Value::Room(64)])
    };
    for (name, block) in [("SHA-1   ", 64), ("SHA-224 ", 64), ("SHA-256 ", 64), ("SHA-384 ", 128), ("SHA-512 ", 128)] {
        let rules = |part: &str| format!("{name}{part}").into_bytes();
        let mac_rules = |part: &str| format!("HMAC    {name}{part}").into_bytes();
        let whole = hash(&rules("ONLY    "), &text, &[0; 128]).1[3].clone().unwrap();
        let mac = hmg(&card, &key, &mac_rules("ONLY    "), &text, &[0; 128]).1[4].clone().unwrap();
        for (one, two) in [(block, 2 * block), (128, 384), (0, 256)] {
            let first = hash(&rules("FIRST   "), &text[..one], &[0; 128]).1[2].clone().unwrap();
            let middle = hash(&rules("MIDDLE  "), &text[one..two], &first).1[2].clone().unwrap();
            assert_eq!(hash(&rules("LAST    "), &text[two..], &middle).1[3].as_ref(), Some(&whole), "{name}");
            let first = hmg(&card, &key, &mac_rules("FIRST   "), &text[..one], &[0; 128]).1[3].clone().unwrap();
            let middle = hmg(&card, &key, &mac_rules("MIDDLE  "), &text[one..two], &first).1[3].clone().unwrap();
            assert_eq!(
                hmg(&card, &key, &mac_rules("LAST    "), &text[two..], &middle).1[4].as_ref(),
                Some(&mac),
                "{name}"
            );
        }
        assert_eq!(hash(&rules("FIRST   "), &text[..9], &[0; 128]).0, Code::TEXT_LENGTH);
        assert_eq!(hash(&rules("LAST    "), &text[..9], &[0xff; 128]).0, Code::TEXT_LENGTH);
    }
    for name in ["SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512"] {
        let rules = |part: &str| format!("{name}{part}").into_bytes();
        let block = [144, 136, 104, 72]
            [["SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512"].iter().position(|one| *one == name).unwrap()];
        let first = hash(&rules("FIRST   "), &text[..block], &[0; 256]).1[2].clone().unwrap();
        let last = hash(&rules("LAST    "), &text[block..], &first).1[3].clone().unwrap();
        assert_eq!(Some(last), hash(&rules("ONLY    "), &text, &[0; 256]).1[3], "{name}");
    }
    assert_eq!(
        hash(b"SHA-256 ", b"abc", &[0; 128]).1[3].clone().unwrap(),
        hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    );
    let values = [Value::Bytes(b"SHA-256 "), Value::Bytes(b"abc"), Value::Bytes(&[0; 128]), Value::Room(31)];
    assert_eq!(card.call(Verb::CSNBOWH, &values).0, Code::LENGTH);
}

/// SP 800-38B, D.1: AES-128, 40 bytes.
#[test]
fn cmac_by_aes_is_that_of_sp_800_38b() {
    let card = Card::ready();
    let skeleton = card.skeleton(b"INTERNALNO-KEY  AES     MAC     CMAC    ");
    let key = card.variable(b"AES     ", &skeleton, &hex("2b7e151628aed2a6abf7158809cf4f3c"));
    let text = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411");
    let call = |rules: &[u8], text: &[u8], vector: &[u8]| {
        card.call(Verb::CSNBMGN2, &[b(rules), b(&key), b(text), b(vector), Value::Room(16)])
    };
    let expected = hex("dfa66747de9ae63030ca32611497c827");
    assert_eq!(call(b"AES     CMAC    ONLY    ", &text, &[]).1[4].as_ref(), Some(&expected));
    let first = call(b"AES     CMAC    FIRST   ", &text[..16], &[0; 128]).1[3].clone().unwrap();
    assert_eq!(call(b"AES     CMAC    LAST    ", &text[16..], &first).1[4].as_ref(), Some(&expected));
    let verify = |mac| card.call(Verb::CSNBMVR2, &[b(b"AES     CMAC    "), b(&key), b(&text), b(&[]), b(mac)]).0;
    assert_eq!((verify(&expected[..]), verify(&[0; 16][..])), (Code::OK, Code::NOT_VERIFIED));
}

fn kgn(
    card: &Card,
    form: &[u8; 4],
    length: &[u8; 8],
    kinds: [&[u8; 8]; 2],
    keks: [&[u8]; 2],
    given: [&[u8]; 2],
) -> Answer {
    let values = [b(form), b(length), b(kinds[0]), b(kinds[1]), b(keks[0]), b(keks[1]), b(given[0]), b(given[1])];
    card.call(Verb::CSNBKGN, &values)
}

/// As openCryptoki makes its keys.
#[test]
fn keys_are_generated() {
    let card = Card::ready();
    let (null, blank) = (&[0; 64][..], b"        ");
    for (length, bytes) in [(b"KEYLN8  ", 8), (b"DOUBLE-O", 16), (b"KEYLN24 ", 24), (b"TRIPLE-O", 24)] {
        let (code, results) = kgn(&card, b"OP  ", length, [b"DATA    ", blank], [null; 2], [null; 2]);
        let token = results[6].clone().unwrap();
        assert_eq!((code, token[4], token[59]), (Code::OK, u8::from(bytes > 8), (bytes as u8 / 8 - 1) * 0x10));
        let (code, results) = enc(&card, &token, &[1; 16], &[0; 8], b"", &[]);
        assert!(code == Code::OK && results[6].is_some());
    }
    let values = |rules| {
        [
            Value::Bytes(null),
            Value::Bytes(b"DATA    "),
            Value::Bytes(rules),
            NONE,
            NONE,
            NONE,
            NONE,
            NONE,
            NONE,
            NONE,
            NONE,
            NONE,
        ]
    };
    for (rules, bits) in [(b"INTERNALAES     NO-KEY  KEYLN16 ", 128), (b"INTERNALAES     NO-KEY  KEYLN32 ", 256)] {
        let skeleton = card.done(Verb::CSNBKTB, &values(&rules[..]))[0].clone().unwrap();
        let (code, results) = kgn(&card, b"OP  ", blank, [b"AESTOKEN", blank], [null; 2], [&skeleton, null]);
        let token = results[6].clone().unwrap();
        assert_eq!((code, u16::from_be_bytes([token[56], token[57]])), (Code::OK, bits));
        assert_eq!(sym(&card, Verb::CSNBSAE, b"AES     CBC     KEYIDENT", &token, &[0; 16], &[1; 32]).0, Code::OK);
    }
    let skeleton = card.skeleton(b"INTERNALNO-KEY  AES     CIPHER  XPRTCPAC");
    let room = [&skeleton[..], &[0; 600]].concat();
    let n = Value::Bytes(&[]);
    let kgn2 = |rules, bits, room| {
        card.call(
            Verb::CSNBKGN2,
            &[b(rules), Value::Long(bits), b(b"TOKEN   "), b(b"        "), n, n, n, n, n, n, b(room), n],
        )
    };
    let (code, results) = kgn2(b"AES     OP      ", 256, &room);
    let token = results[10].clone().unwrap();
    assert_eq!((code, token.len(), &token[38..40]), (Code::OK, 136, &[2, 0x80][..]));
    assert_eq!(sym(&card, Verb::CSNBSAE, b"AES     CBC     KEYIDENT", &token, &[0; 16], &[1; 32]).0, Code::OK);
    assert_eq!(kgn2(b"AES     OP      ", 255, &room).0, Code::KEY_LENGTH);
    assert_eq!(kgn2(b"AES     OP      ", 256, &skeleton).0, Code::LENGTH, "no room");
    let skeleton = card.skeleton(b"INTERNALHMAC    MAC     GENERATE");
    let room = [&skeleton[..], &[0; 600]].concat();
    let token = kgn2(b"HMAC    OP      ", 2048, &room).1[10].clone().unwrap();
    assert_eq!(hmg(&card, &token, b"HMAC    SHA-256 ", b"x", &[0; 128]).0, Code::OK);
    assert_eq!(kgn(&card, b"XX  ", blank, [b"DATA    ", blank], [null; 2], [null; 2]).0, Code::KEY_FORM);
}

/// A key for another system and back, and that another type is refused.
#[test]
fn keys_leave_and_come_under_key_encrypting_keys() {
    let card = Card::ready();
    let (null, blank) = (&[0; 64][..], b"        ");
    // One key as EXPORTER and IMPORTER. The pair is made with another pair's help: the one that imports the other half.
    let pair = kgn(&card, b"OPOP", blank, [b"EXPORTER", b"IMPORTER"], [null; 2], [null; 2]).1;
    let (exporter, importer) = (pair[6].clone().unwrap(), pair[7].clone().unwrap());
    let key = kgn(&card, b"OPEX", b"DOUBLE  ", [b"CIPHER  ", b"CIPHER  "], [null, &exporter], [null; 2]).1;
    let (here, there) = (key[6].clone().unwrap(), key[7].clone().unwrap());
    assert_eq!((there[0], &there[8..16]), (2, &[0; 8][..]));
    let import = |name: &[u8; 8], token: &[u8]| card.call(Verb::CSNBKIM, &[b(name), b(token), b(&importer), b(null)]);
    let (code, results) = import(b"CIPHER  ", &there);
    let back = results[3].clone().unwrap();
    assert_eq!(code, Code::OK);
    let text = |key: &[u8]| enc(&card, key, &[1; 16], &[0; 8], b"", &[]).1[6].clone().unwrap();
    assert_eq!(text(&here), text(&back));
    assert_eq!(import(b"MAC     ", &there).0, Code::CONTROL_VECTOR);
    let mut other = there.clone();
    other[20] ^= 4;
    assert_eq!(import(b"CIPHER  ", &other).0, Code::EXTERNAL_TVV);

    let (code, results) = card.call(Verb::CSNBKEX, &[b(b"TOKEN   "), b(&here), b(&exporter), b(null)]);
    assert_eq!((code, results[3].as_ref()), (Code::OK, Some(&there)), "the same key under the same key");
    let results = card.done(Verb::CSNBKTR, &[b(&there), b(&importer), b(&exporter), b(null)]);
    assert_eq!(results[3].as_ref(), Some(&there));
    assert_eq!(card.call(Verb::CSNBKEX, &[b(b"TOKEN   "), b(&here), b(&importer), b(null)]).0, Code::CONTROL_VECTOR);
    // A key that wraps keys encrypts no data, and makes no MAC.
    assert_eq!(enc(&card, &exporter, &[1; 8], &[0; 8], b"", &[]).0, Code::CONTROL_VECTOR);
    assert_eq!(mgn(&card, &here, &[1; 8], b"", &[0; 18]).0, Code::CONTROL_VECTOR);
}

#[test]
fn patterns_are_made_and_verified() {
    let card = Card::ready();
    let kyt2 =
        |rules, key: &[u8], pattern: &[u8]| card.call(Verb::CSNBKYT2, &[b(rules), b(key), b(&[]), b(&[]), b(pattern)]);
    let des = card.des(&hex("0123456789ABCDEF FEDCBA9876543210"));
    assert_eq!(kyt2(b"DES     GENERATEENC-ZERO", &des, &[0; 8]).1[4].clone().unwrap()[..3], hex("08D7B4"));
    let aes = card.aes(&[2; 32]);
    let made = kyt2(b"AES     GENERATESHA2VP1 ", &aes, &[0; 8]).1[4].clone().unwrap();
    assert_eq!(made, hex("f1386fff8b06ac98"));
    assert_eq!(kyt2(b"AES     VERIFY  SHA2VP1 ", &aes, &made).0, Code::OK);
    assert_eq!(kyt2(b"AES     VERIFY  SHA2VP1 ", &aes, &made[1..]).0, Code::NOT_VERIFIED);
}

#[test]
fn random_numbers_have_the_parity_that_was_asked_for() {
    let card = Card::ready();
    for (form, odd) in [(b"ODD     ", Some(true)), (b"EVEN    ", Some(false)), (b"RANDOM  ", None)] {
        let eight = card.done(Verb::CSNBRNG, &[Value::Bytes(form), NONE])[1].clone().unwrap();
        let long =
            card.done(Verb::CSNBRNGL, &[Value::Bytes(form), Value::Bytes(&[]), Value::Room(8192)])[2].clone().unwrap();
        assert_eq!((eight.len(), long.len()), (8, 8192));
        if let Some(odd) = odd {
            assert!(eight.iter().chain(&long).all(|byte| (byte.count_ones() % 2 == 1) == odd));
        }
    }
    for room in [0, 8193] {
        let values = [Value::Bytes(b"RANDOM  "), Value::Bytes(&[]), Value::Room(room)];
        assert_eq!(card.call(Verb::CSNBRNGL, &values).0, Code::LENGTH);
    }
}

/// Each bit of a key that a verb is given: refused with a code of tokens. (Of an AES-256 key in a token of variable length both formats of the payload are the same bytes, so
/// that the byte which tells them apart is free there.)
#[test]
fn no_flipped_bit_of_a_token_gives_an_answer() {
    let card = Card::ready();
    let cipher = card.skeleton(b"INTERNALNO-KEY  AES     CIPHER  ");
    for key in [card.aes(&[9; 32]), card.variable(b"AES     ", &cipher, &[9; 24])] {
        for bit in 0..key.len() * 8 {
            let mut other = key.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            let (code, results) = sym(&card, Verb::CSNBSAE, b"AES     CBC     KEYIDENT", &other, &[0; 16], &[1; 32]);
            assert!(code.rc == 8 && results[7].is_none(), "{bit} {code:?}");
        }
    }
    let key = card.des(&[0x13; 24]);
    for bit in 0..512 {
        let mut other = key.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let (code, results) = enc(&card, &other, &[1; 8], &[0; 8], b"", &[]);
        assert!(code.rc == 8 && results[6].is_none(), "{bit} {code:?}");
    }
}

#[test]
fn what_is_not_built_and_what_is_no_request_is_answered() {
    let card = Card::ready();
    assert_eq!(card.call(Verb::CSUARNT, &[Value::Bytes(b"RQ-TOKEN")]).0, Code::ACCESS);
    for bytes in [&[][..], &[1, 0, 16], &[9; 40]] {
        let reply = card.module.call(&Caller::default(), 0, bytes);
        assert_eq!(Reply::parse(&reply).unwrap().code, Code::MESSAGE);
    }
    // Labels name keys of the key storage, which is the host's.
    let label = format!("{:64}", "MY.KEY");
    assert_eq!(enc(&card, label.as_bytes(), &[1; 8], &[0; 8], b"", &[]).0, Code::LABEL);
}
