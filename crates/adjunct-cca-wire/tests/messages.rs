//! Requests and replies through the crate's interface, whole and damaged; the table of verbs.

use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::{Reply, Request, Results, Value, reply, request};
use adjunct_cca_wire::verb::{MOST, Parameter, Verb};

#[test]
fn a_verb_is_found_by_its_number_and_no_other() {
    for (at, &verb) in (1..).zip(Verb::ALL) {
        assert_eq!((verb as u16, Verb::with_number(at)), (at, Some(verb)), "{}", verb.name());
        assert!(verb.shape().len() <= MOST);
    }
    assert_eq!(Verb::with_number(0), None);
    assert_eq!(Verb::with_number(Verb::ALL.len() as u16 + 1), None);
    assert_eq!(Verb::with_number(u16::MAX), None);
}

/// The numbers of pointers behind the first four, from IBM's description of the verbs.
#[test]
fn shapes_have_as_many_pointers_as_the_functions_in_c() {
    let pointers = |verb: Verb| verb.shape().iter().map(|parameter| parameter.pointers()).sum::<usize>();
    for (verb, count) in [
        (Verb::CSNBCKI, 2),
        (Verb::CSNBCKM, 5),
        (Verb::CSNBENC, 9),
        (Verb::CSNBDEC, 8),
        (Verb::CSNBKGN, 8),
        (Verb::CSNBKGN2, 21),
        (Verb::CSNBKTB, 13),
        (Verb::CSNBKTB2, 14),
        (Verb::CSNBMGN, 7),
        (Verb::CSNBMKP, 3),
        (Verb::CSNBPCU, 23),
        (Verb::CSNBPGN, 7),
        (Verb::CSNBSAE, 17),
        (Verb::CSNBSKY, 12),
        (Verb::CSNBSPN, 16),
        (Verb::CSNDDSG, 9),
        (Verb::CSNDEDH, 27),
        (Verb::CSNDPKB, 18),
        (Verb::CSUADHK, 11),
        (Verb::CSUACFV, 2),
    ] {
        assert_eq!(pointers(verb), count, "{}", verb.name());
    }
}

fn encipher() -> Vec<u8> {
    let values = [
        Value::Bytes(&[7; 64]),
        Value::Bytes(b"sixteen bytes ok"),
        Value::Bytes(&[1; 8]),
        Value::Bytes(b"CBC     INITIAL "),
        Value::Long(-1),
        Value::None,
        Value::None,
    ];
    request(Verb::CSNBENC, &values).unwrap().to_vec()
}

#[test]
fn a_request_comes_as_it_was_sent() {
    let message = encipher();
    let request = Request::parse(&message).unwrap();
    assert_eq!(request.verb, Verb::CSNBENC);
    assert_eq!(request.bytes(0), [7; 64]);
    assert_eq!(request.bytes(1), b"sixteen bytes ok");
    assert_eq!(request.bytes(3), b"CBC     INITIAL ");
    assert_eq!((request.number(4), request.bytes(5), request.bytes(6)), (-1, &[][..], &[][..]));
    for length in 0..message.len() {
        assert!(Request::parse(&message[..length]).is_none(), "{length}");
    }
    let longer = [&message[..], &[0]].concat();
    assert!(Request::parse(&longer).is_none());
    let version = [&[2], &message[1..]].concat();
    assert!(Request::parse(&version).is_none());
}

#[test]
fn what_is_not_of_the_shape_is_no_request() {
    let key = [0; 64];
    assert!(request(Verb::CSNBCKI, &[Value::Bytes(&[1; 8]), Value::Bytes(&key)]).is_some());
    assert!(request(Verb::CSNBCKI, &[Value::None, Value::Bytes(&key)]).is_some(), "no pointer");
    assert!(request(Verb::CSNBCKI, &[Value::Bytes(&[1; 7]), Value::Bytes(&key)]).is_none());
    assert!(request(Verb::CSNBCKI, &[Value::Bytes(&[1; 8])]).is_none());
    assert!(request(Verb::CSNBRNG, &[Value::Bytes(b"RANDOM  "), Value::Bytes(&[0; 8])]).is_none(), "only written");
    assert!(request(Verb::CSUACFV, &[Value::Bytes(&[0; 8])]).is_none(), "a buffer is given by its size");
    assert!(request(Verb::CSUARNT, &[Value::Bytes(b"FIVE ")]).is_none(), "keywords have 8 characters");
}

#[test]
fn bits_and_sizes_are_told_apart_from_bytes() {
    let values = [Value::Bytes(b"AES     FIRST   "), Value::Bits(128, &[5; 16]), Value::Bytes(&[0; 725])];
    let message = request(Verb::CSNBKPI2, &values).unwrap();
    let parsed = Request::parse(&message).unwrap();
    assert_eq!((parsed.number(1), parsed.bytes(1), parsed.room(2)), (128, &[5; 16][..], 725));
    let message = request(Verb::CSUACFV, &[Value::Room(20)]).unwrap();
    assert_eq!(Request::parse(&message).unwrap().room(0), 20);
    let message = request(Verb::CSUACFV, &[Value::Room(u64::MAX)]).unwrap();
    assert_eq!(Request::parse(&message).unwrap().room(0), 0, "no size of anything");
}

#[test]
fn a_reply_comes_as_it_was_sent_and_errors_have_no_results() {
    let mut results = Results::default();
    results.set_bytes(5, &[3; 18]);
    results.set_bytes(6, b"ciphertext");
    let message = reply(Verb::CSNBENC, Code::OLD_MASTER_KEY, &results);
    let parsed = Reply::parse(&message).unwrap();
    assert_eq!((parsed.verb, parsed.code), (Verb::CSNBENC, Code { rc: 0, reason: 10001 }));
    assert_eq!(
        (parsed.bytes(0), parsed.bytes(5), parsed.bytes(6)),
        (None, Some(&[3; 18][..]), Some(&b"ciphertext"[..]))
    );
    for length in 0..message.len() {
        assert!(Reply::parse(&message[..length]).is_none(), "{length}");
    }
    let refused = reply(Verb::CSNBENC, Code::INTERNAL_TVV, &results);
    let refused = Reply::parse(&refused).unwrap();
    assert_eq!((refused.code.rc, refused.code.reason, refused.bytes(6)), (8, 29, None));

    let mut wrong = Results::default();
    wrong.set_bytes(5, &[3; 17]);
    let message = reply(Verb::CSNBENC, Code::OK, &wrong);
    assert!(Reply::parse(&message).is_none(), "a fixed field has its size");
}

#[test]
fn a_part_of_a_master_key_is_as_long_as_the_key_says() {
    assert_eq!(Verb::CSNBMKP.varying(b"AES-MK  FIRST   "), Some(32));
    assert_eq!(Verb::CSNBMKP.varying(b"LAST    SYM-MK  "), Some(24));
    assert_eq!(Verb::CSNBMKP.varying(b"SYM-MK  SET     "), Some(0));
    assert_eq!(Verb::CSNBPTR.varying(b"TRANSLAT"), None);
}

#[test]
fn a_text_has_one_buffer_for_its_output() {
    for verb in Verb::ALL {
        let count = |kind| verb.shape().iter().filter(|&&parameter| parameter == kind).count();
        assert_eq!(count(Parameter::Text), count(Parameter::TextOut), "{}", verb.name());
    }
}
