//! What openCryptoki and zkey ask before they do anything.

mod card;

use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::Value;
use adjunct_cca_wire::verb::Verb;
use adjunct_coprocessor::roles::Rules;
use card::Card;

fn query(card: &Card, name: &[u8; 8]) -> Vec<String> {
    let results = card.done(Verb::CSUACFQ, &[Value::Bytes(name), Value::Bytes(&[])]);
    let rules = results[0].clone().unwrap();
    assert!(rules.len() <= 256, "what openCryptoki has room for");
    rules.chunks(8).map(|element| String::from_utf8(element.to_vec()).unwrap()).collect()
}

/// openCryptoki scans `%u.%u.%uz%s` and has 20 bytes; IBM's book says 8 characters version, 8 date of the build, NUL.
#[test]
fn the_version_is_one_that_programs_read() {
    let card = Card::empty(Rules::default());
    let text = card.done(Verb::CSUACFV, &[Value::Room(20)])[0].clone().unwrap();
    assert_eq!((text.len(), text[16]), (17, 0));
    let text = std::str::from_utf8(&text[..16]).unwrap();
    let (numbers, built) = text.split_once('z').unwrap();
    let numbers: Vec<u32> = numbers.split('.').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers[..2] >= [7, 1][..]);
    assert!(built.trim().parse::<u32>().unwrap() > 20_261_000);
    assert_eq!(card.call(Verb::CSUACFV, &[Value::Room(16)]).0, Code::LENGTH);
    assert_eq!(query(&card, b"STATCCA ")[3], text[..8]);
}

#[test]
fn the_states_of_master_keys_are_told() {
    let card = Card::empty(Rules::default());
    let states = |card: &Card, name, at: usize| {
        let all = query(card, name);
        all[at..at + 3].iter().map(|state| state.trim().to_owned()).collect::<Vec<_>>().concat()
    };
    assert_eq!((query(&card, b"STATCCA ").len(), query(&card, b"STATCCAE").len()), (6, 9));
    let mut seen = vec![states(&card, b"STATAES ", 0)];
    for rules in
        [&b"AES-MK  FIRST   "[..], b"AES-MK  LAST    ", b"AES-MK  SET     ", b"AES-MK  RANDOM  ", b"AES-MK  SET     "]
    {
        let part = if rules.ends_with(b"FIRST   ") { [1; 32] } else { [2; 32] };
        card.done(Verb::CSNBMKP, &[Value::Bytes(rules), Value::Bytes(&part)]);
        seen.push(states(&card, b"STATAES ", 0));
    }
    assert_eq!(seen, ["111", "211", "311", "121", "321", "122"]);
    let card = Card::ready();
    assert_eq!((states(&card, b"STATCCAE", 0), states(&card, b"STATCCAE", 6)), ("121".to_owned(), "121".to_owned()));
    assert_eq!(states(&card, b"STATAPKA", 0), "121");
}

/// openCryptoki and zkey read the number of adapters, and the serial number at 112.
#[test]
fn the_card_has_a_serial_number_of_its_own() {
    let (one, other) = (query(&Card::ready(), b"STATCRD2"), query(&Card::ready(), b"STATCRD2"));
    assert_eq!((one.len(), one[0].trim()), (15, "1"));
    assert!(one[14] != other[14] && one[14].bytes().all(|digit| digit.is_ascii_hexdigit()));
    let card = Card::ready();
    assert_eq!(card.call(Verb::CSUACFQ, &[Value::Bytes(b"STATXXXX"), Value::Bytes(&[])]).0, Code::KEYWORD);
}
