//! Master keys by CSNBMKP: parts, parity, weak keys, groups, dual control; and tokens across a change.

mod card;

use adjunct_cca_module::pattern;
use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::Value;
use adjunct_cca_wire::verb::Verb;
use adjunct_coprocessor::registers::Kind;
use adjunct_coprocessor::roles::{Caller, Rules};
use card::{Card, hex};

fn step(card: &Card, rules: &[u8], part: &[u8]) -> Code {
    card.call(Verb::CSNBMKP, &[Value::Bytes(rules), Value::Bytes(part)]).0
}

#[test]
fn parts_are_added_and_set_moves_the_registers() {
    let card = Card::empty(Rules::default());
    assert_eq!(step(&card, b"AES-MK  SET     ", &[]), Code::NO_MASTER_KEY);
    assert_eq!(step(&card, b"AES-MK  MIDDLE  ", &[1; 32]), Code::KEYWORDS, "no first part");
    assert_eq!(step(&card, b"AES-MK  FIRST   ADAPTER ", &[1; 32]), Code::OK);
    assert_eq!(step(&card, b"AES-MK  FIRST   ", &[1; 32]), Code::KEYWORDS, "not empty");
    assert_eq!(step(&card, b"MIDDLE  AES-MK  ", &[2; 32]), Code::OK);
    assert_eq!(step(&card, b"AES-MK  LAST    ", &[4; 32]), Code::OK);
    assert_eq!(card.registers(Kind::Aes), (None, None));
    assert_eq!(step(&card, b"AES-MK  SET     ", &[]), Code::OK);
    assert_eq!(card.registers(Kind::Aes), (Some(vec![7; 32]), None));
    card.set(b"AES-MK  ", [&[1; 32], &[2; 32]]);
    assert_eq!(card.registers(Kind::Aes), (Some(vec![3; 32]), Some(vec![7; 32])));
    assert_eq!(step(&card, b"AES-MK  FIRST   ", &[1; 32]), Code::OK);
    assert_eq!(step(&card, b"AES-MK  LAST    ", &[2; 32]), Code::MASTER_KEY_PATTERN, "it is in use");
    assert_eq!(step(&card, b"AES-MK  CLEAR   ", &[]), Code::OK);
    assert_eq!(step(&card, b"AES-MK  RANDOM  ", &[]), Code::OK);
    assert_eq!(step(&card, b"AES-MK  SET     ", &[]), Code::OK);
    assert_eq!(step(&card, b"AES-MK  CLR-OLD ", &[]), Code::OK);
    assert_eq!(card.registers(Kind::Aes).1, None);
    assert_eq!(step(&card, b"AES-MK  FIRST   ", &[1; 24]), Code::LENGTH);
    assert_eq!(step(&card, b"AES-MK  THIRD   ", &[]), Code::KEYWORD);
    assert_eq!(step(&card, b"SET     ", &[]), Code::KEYWORD_COUNT);
}

/// init_cca.sh loads 01.. and 03.., with the pattern 8a0246826e00ab59 of 02...
#[test]
fn des_master_keys_have_odd_parity_and_no_weak_third() {
    let card = Card::empty(Rules::default());
    assert_eq!(step(&card, b"SYM-MK  FIRST   ", &[0x11; 24]), Code::PART_PARITY);
    assert_eq!(step(&card, b"SYM-MK  LAST    ", &[0x13; 24]), Code::EQUAL_THIRDS, "a warning tells one thing");
    assert_eq!(step(&card, b"SYM-MK  SET     ", &[]), Code::OK);
    let made = card.registers(Kind::Sym).0.unwrap();
    assert_eq!(made, [2; 24]);
    assert_eq!(pattern::of_sym(made[..].try_into().unwrap()).unwrap().to_vec(), hex("8a0246826e00ab59"));

    // What differs in parity alone is the same key.
    let parts = [hex("1011121314151617 2021222324252627 3031323334353637"), vec![0x41; 24], vec![0x82; 24]];
    for (word, part) in [b"FIRST   ", b"MIDDLE  ", b"LAST    "].into_iter().zip(&parts) {
        assert_eq!(step(&card, &[&b"ASYM-MK "[..], word].concat(), part).rc, 0);
    }
    assert_eq!(step(&card, b"ASYM-MK SET     ", &[]), Code::OK);
    let made = card.registers(Kind::Asym).0.unwrap();
    assert!(adjunct_cca_module::des::is_odd(&made));
    for (at, byte) in made.iter().enumerate() {
        assert_eq!(byte >> 1, (parts[0][at] ^ parts[1][at] ^ parts[2][at]) >> 1);
    }

    assert_eq!(step(&card, b"SYM-MK  FIRST   ", &hex("0101010101010101 1111111111111111 2222222222222222")).rc, 0);
    let last = hex("0000000000000000 4444444444444444 8888888888888888");
    assert_eq!(step(&card, b"SYM-MK  LAST    ", &last), Code::WEAK_MASTER_KEY);
    assert_eq!(step(&card, b"SYM-MK  SET     ", &[]), Code::NO_MASTER_KEY, "the part that was refused is not in");
}

#[test]
fn groups_and_dual_control_are_checked_in_the_card() {
    let rules = Rules { first: Some(10), middle: Some(11), last: Some(11), set: Some(12), distinct: true, owner: None };
    let card = Card::empty(rules);
    let step = |uid: u32, group: u32, rules: &[u8], part: &[u8]| {
        let caller = Caller { uid, gid: group, groups: Vec::new() };
        card.call_as(&caller, Verb::CSNBMKP, &[Value::Bytes(rules), Value::Bytes(part)]).0
    };
    assert_eq!(step(5, 5, b"APKA-MK FIRST   ", &[1; 32]), Code::ACCESS);
    assert_eq!(step(5, 10, b"APKA-MK FIRST   ", &[1; 32]), Code::OK);
    assert_eq!(step(5, 11, b"APKA-MK LAST    ", &[2; 32]), Code::ACCESS, "one user, two steps");
    assert_eq!(step(6, 11, b"APKA-MK LAST    ", &[2; 32]), Code::OK);
    assert_eq!(step(6, 12, b"APKA-MK SET     ", &[]), Code::ACCESS);
    assert_eq!(step(7, 11, b"APKA-MK SET     ", &[]), Code::ACCESS, "not in the group");
    assert_eq!(step(7, 12, b"APKA-MK SET     ", &[]), Code::OK);
    assert_eq!(step(5, 10, b"APKA-MK RANDOM  ", &[]), Code::ACCESS, "a whole key by one user");
    assert_eq!(card.registers(Kind::Apka).0, Some(vec![3; 32]));
}

fn sae(card: &Card, key: &[u8]) -> card::Answer {
    let values = [
        Value::Bytes(b"AES     CBC     KEYIDENTINITIAL "),
        Value::Bytes(key),
        Value::Bytes(&[]),
        Value::Long(16),
        Value::Bytes(&[0; 16]),
        Value::Bytes(&[0; 32]),
        Value::Bytes(&[9; 32]),
        Value::Room(32),
        Value::Bytes(&[]),
    ];
    card.call(Verb::CSNBSAE, &values)
}

/// A key under the old master key works, and comes back under the current one with 0/10001. Under one that is gone it is refused, with 8/48.
#[test]
fn tokens_follow_a_change_of_the_master_key() {
    let card = Card::ready();
    let cipher = card.skeleton(b"INTERNALAES     NO-KEY  CIPHER  ");
    let keys = [card.aes(&[3; 16]), card.variable(b"AES     ", &cipher, &[3; 16])];
    let before = keys.each_ref().map(|key| sae(&card, key));
    assert!(before.iter().all(|(code, results)| *code == Code::OK && results[1].is_none()));
    card.set(b"AES-MK  ", [&[0x10; 32], &[0x21; 32]]);
    let renewed = keys.each_ref().map(|key| {
        let (code, results) = sae(&card, key);
        assert_eq!(code, Code::OLD_MASTER_KEY);
        assert_eq!(results[7], before[0].1[7], "the same key");
        results[1].clone().unwrap()
    });
    for (key, renewed) in keys.iter().zip(&renewed) {
        assert!(key != renewed && key.len() == renewed.len());
        let (code, results) = sae(&card, renewed);
        assert!(code == Code::OK && results[1].is_none() && results[7] == before[0].1[7]);
    }
    // CSNBKTC asks for the same, and has no warning.
    let results = card.done(Verb::CSNBKTC, &[Value::Bytes(b"RTCMK   AES     "), Value::Bytes(&keys[0])]);
    assert_eq!(results[1].as_ref(), Some(&renewed[0]));
    let results = card.done(Verb::CSNBKTC2, &[Value::Bytes(b"RTCMK   AES     "), Value::Bytes(&keys[1])]);
    assert_eq!(results[1].as_ref().map(Vec::len), Some(renewed[1].len()));

    // Ready before the change: the token is refused until the new key is set.
    let to_new = [Value::Bytes(&b"RTNMK   AES     "[..]), Value::Bytes(&renewed[0])];
    assert_eq!(card.call(Verb::CSNBKTC, &to_new).0, Code::NO_MASTER_KEY);
    for (rules, part) in [(&b"AES-MK  FIRST   "[..], [0x50; 32]), (b"AES-MK  LAST    ", [1; 32])] {
        assert_eq!(step(&card, rules, &part), Code::OK);
    }
    let new = card.done(Verb::CSNBKTC, &to_new)[1].clone().unwrap();
    assert_eq!(sae(&card, &new).0, Code::MASTER_KEY_PATTERN);
    assert_eq!(step(&card, b"AES-MK  SET     ", &[]), Code::OK);
    assert_eq!(sae(&card, &new).0, Code::OK);
    assert_eq!(sae(&card, &keys[0]).0, Code::MASTER_KEY_PATTERN, "two changes ago");
}

#[test]
fn des_tokens_follow_a_change_too() {
    let card = Card::ready();
    let key = card.des(&hex("0123456789ABCDEF FEDCBA9876543210 89ABCDEF01234567"));
    let encipher = |key: &[u8]| {
        let none = Value::None;
        let values =
            [Value::Bytes(key), Value::Bytes(&[5; 8]), Value::Bytes(&[0; 8]), none, Value::Long(0), none, none];
        card.call(Verb::CSNBENC, &values)
    };
    let (code, before) = encipher(&key);
    assert_eq!(code, Code::OK);
    card.set(b"SYM-MK  ", [&[0x10; 24], &hex("2121212121212121 4343434343434343 8585858585858585")]);
    let (code, after) = encipher(&key);
    assert_eq!((code, &after[6]), (Code::OLD_MASTER_KEY, &before[6]));
    let renewed = after[0].clone().unwrap();
    assert_eq!(encipher(&renewed).0, Code::OK);
    let results = card.done(Verb::CSNBKTC, &[Value::Bytes(b"RTCMK   "), Value::Bytes(&key)]);
    assert_eq!(results[1], Some(renewed));
}

#[test]
fn nothing_works_without_a_master_key() {
    let card = Card::empty(Rules::default());
    let values = [Value::Bytes(b"AES     "), Value::Bytes(&[1; 16]), Value::Bytes(&[0; 64])];
    assert_eq!(card.call(Verb::CSNBCKM, &values).0, Code::NO_MASTER_KEY);
    let token = Card::ready().aes(&[1; 16]);
    assert_eq!(sae(&card, &token).0, Code::NO_MASTER_KEY);
}
