//! Requests of any bytes to a CCA module, and tokens of any bytes: each request gets a reply, also where its parameters are keys of the module that a bit was changed of; a
//! token that is read is written as it was.
//!
//! An input whose first byte is 0 is a token, with 1 a request as it is. Else: the verb (1 byte, less 1), then for each parameter how it is made (1 byte): 0 to 9 a piece that
//! makes sense (a key, keywords, a skeleton), with a bit changed where the next byte is not 0; from 10 on so many bytes of the input, less 10.
#![no_main]

use adjunct_cca_module::Module;
use adjunct_cca_module::masters::Masters;
use adjunct_cca_module::token::{aes, des, pka, variable};
use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::{Reply, Value, request};
use adjunct_cca_wire::verb::{Parameter, Verb};
use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::keeper::Keeper;
use adjunct_coprocessor::registers::MasterKey;
use adjunct_coprocessor::roles::{Caller, Rules};
use adjunct_coprocessor::state::{Mode, State};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

struct Card {
    module: Module,
    pieces: [Vec<u8>; 10],
}

fn call(module: &Module, verb: Verb, values: &[Value<'_>], at: usize) -> Vec<u8> {
    let message = request(verb, values).expect("a request");
    let reply = module.call(&Caller::default(), 0, &message);
    Reply::parse(&reply).expect("a reply").bytes(at).expect("a result").to_vec()
}

fn b(bytes: &[u8]) -> Value<'_> {
    Value::Bytes(bytes)
}

static CARD: LazyLock<Card> = LazyLock::new(|| {
    let mut state = State::new(Mode::Cca, ControlPoints::NONE);
    let domain = state.domain_or_new(0, ControlPoints::NONE);
    for (number, kind) in (1..).zip(Mode::Cca.kinds()) {
        let key: Vec<u8> = (0..kind.length() as u8).map(|byte| byte.wrapping_mul(7) ^ number).collect();
        let registers = domain.registers_mut(*kind).expect("a kind of CCA's");
        registers.set_current(MasterKey::new(*kind, &key).expect("a key")).expect("of its kind");
    }
    let module = Module::new(Masters::new(Arc::new(Keeper::volatile(state, None)), Rules::default()));
    let data = |rules: &[u8], key: &[u8]| call(&module, Verb::CSNBCKM, &[b(rules), b(key), b(&[0; 64])], 2);
    let skeleton = |rules: &[u8]| {
        let values = [b(rules), Value::Bits(0, &[]), b(&[]), b(&[]), b(&[]), b(&[]), b(&[0; 725])];
        let mut token = call(&module, Verb::CSNBKTB2, &values, 6);
        token.resize(725, 0);
        token
    };
    let hmac = skeleton(b"INTERNALNO-KEY  HMAC    MAC     GENERATE");
    let first = [b(b"HMAC    FIRST   MIN1PART"), Value::Bits(160, &[3; 20]), b(&hmac)];
    let mut first = call(&module, Verb::CSNBKPI2, &first, 2);
    first.resize(725, 0);
    let complete = call(&module, Verb::CSNBKPI2, &[b(b"HMAC    COMPLETE"), Value::Bits(0, &[]), b(&first)], 2);
    let pieces = [
        data(b"DES     ", &[0x13; 16]),
        data(b"AES     ", &[5; 32]),
        complete,
        skeleton(b"INTERNALNO-KEY  AES     CIPHER  "),
        b"AES     CBC     KEYIDENTINITIAL ".to_vec(),
        b"HMAC    SHA-256 FIRST   ".to_vec(),
        b"CMAC    ONLY    MACLEN8 ".to_vec(),
        b"SHA-512 LAST    ".to_vec(),
        b"AES     FIRST   MIN2PART".to_vec(),
        Vec::new(),
    ];
    Card { module, pieces }
});

/// The bytes of the next parameter.
fn bytes(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (&how, after) = rest.split_first()?;
    *rest = after;
    let Some(piece) = CARD.pieces.get(usize::from(how)) else {
        let length = (usize::from(how) - CARD.pieces.len()).min(rest.len());
        let (bytes, after) = rest.split_at(length);
        *rest = after;
        return Some(bytes.to_vec());
    };
    let (&change, after) = rest.split_first()?;
    *rest = after;
    let mut piece = piece.clone();
    let length = piece.len();
    if change != 0 && length != 0 {
        piece[usize::from(change) * 7 % length] ^= 1 << (change % 8);
    }
    Some(piece)
}

fn token(bytes: &[u8]) {
    if let Ok(token) = des::Token::parse(bytes) {
        assert_eq!(des::Token::parse(&token.to_bytes()), Ok(token));
    }
    if let Ok(token) = aes::Token::parse(bytes) {
        assert_eq!(aes::Token::parse(&token.to_bytes()[..]), Ok(token));
    }
    if let Ok(token) = variable::Token::parse(bytes) {
        assert_eq!(token.to_bytes()[..], bytes[..token.to_bytes().len()]);
    }
    if let Ok(token) = pka::Key::parse(bytes)
        && let Ok(written) = token.to_bytes()
    {
        assert!(pka::Key::parse(&written).is_ok());
    }
}

fn made(verb: Verb, mut rest: &[u8]) -> Option<Vec<u8>> {
    let given: Option<Vec<_>> = verb.shape().iter().map(|_| bytes(&mut rest)).collect();
    let given = given?;
    let number = |bytes: &[u8]| bytes.iter().fold(0_i64, |number, byte| number << 8 | i64::from(*byte));
    let values: Vec<Value<'_>> = (verb.shape().iter().zip(&given))
        .map(|(parameter, bytes)| match parameter {
            Parameter::Long | Parameter::LongBoth => Value::Long(number(bytes)),
            Parameter::PairOut | Parameter::Signature => Value::Room(number(bytes) as u64 % 20_000),
            Parameter::Bits => Value::Bits(bytes.len() as u64 * 8, bytes),
            Parameter::Rules | Parameter::RulesBoth => Value::Bytes(&bytes[..bytes.len() / 8 * 8]),
            Parameter::In(size) | Parameter::Both(size) => {
                bytes.get(..usize::from(*size)).map_or(Value::None, Value::Bytes)
            }
            Parameter::Pair | Parameter::PairBoth | Parameter::Text | Parameter::Varying => Value::Bytes(bytes),
            _ => Value::None,
        })
        .collect();
    request(verb, &values).map(|request| request.to_vec())
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let request = match first {
        0 => return token(rest),
        1 => rest.to_vec(),
        number => {
            // Master keys stay as they are: an input does not depend on the ones before it.
            let verb = Verb::with_number(u16::from(number) - 1).filter(|verb| *verb != Verb::CSNBMKP);
            let Some(request) = verb.and_then(|verb| made(verb, rest)) else { return };
            request
        }
    };
    if adjunct_cca_wire::message::verb(&request) == Some(Verb::CSNBMKP) {
        return;
    }
    let reply = CARD.module.call(&Caller::default(), 0, &request);
    let reply = Reply::parse(&reply).expect("a reply");
    assert_ne!(reply.code, Code::INTERNAL);
});
