//! Requests of any bytes to an EP11 module: each gets a reply, also where its arguments are keys of the module that a bit was changed of.
//!
//! An input whose first byte is 0 is a request as it is. Else: the function (1 byte), then for each argument how it is made (1 byte): 0 to 9 a piece that
//! makes sense (a key, a mechanism, a template, a session), with a bit changed where the next byte is not 0; from 10 on so many bytes of the input, less 10.
#![no_main]

use adjunct_ep11_module::control::Points;
use adjunct_ep11_module::keys::{Domain, Keys, WrappingKey};
use adjunct_ep11_module::{Caller, Module, Settings, category};
use adjunct_ep11_wire::attributes::{Template, Value};
use adjunct_ep11_wire::codes::{attribute as a, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::{Mechanism, Parameter};
use adjunct_ep11_wire::message::{Reply, request};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

struct One(Domain);

impl Keys for One {
    fn domain(&self, domain: u8) -> Option<Domain> {
        (domain == 0).then(|| self.0.clone())
    }
}

struct Card {
    module: Module,
    pieces: [Vec<u8>; 10],
}

static CARD: LazyLock<Card> = LazyLock::new(|| {
    let current = WrappingKey::new(&[7; 32]).expect("memory");
    let domain = Domain { current: Some(Arc::new(current)), next: None, committed: false, points: Points::ALL };
    let module = Module::new(Arc::new(One(domain)), Settings::default());
    let make = |function, arguments: &[&[u8]]| {
        let reply = module.call(&Caller::default(), 0, &request(6, function, 0, arguments));
        let reply = Reply::parse(&reply).expect("a reply");
        reply.results().iter().map(|result| result.to_vec()).collect::<Vec<_>>()
    };
    let plain = |kind| Mechanism::plain(kind).to_bytes();
    let p256 = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let mut wide = Template::default();
    for kind in [a::WRAP, a::UNWRAP, a::DERIVE, a::IBM_USE_AS_DATA] {
        wide.set_flag(kind, true).expect("a boolean");
    }
    wide.values.push((a::VALUE_LEN, Value::Number(32)));
    let wide = wide.to_bytes();
    let curve = Template { values: vec![(a::EC_PARAMS, Value::Bytes(&p256))], ..Template::default() }.to_bytes();
    let aes = make(F::GenerateKey, &[&plain(m::AES_KEY_GEN), &wide, b""]).swap_remove(0);
    let mut pair = make(F::GenerateKeyPair, &[&plain(m::EC_KEY_PAIR_GEN), &curve, b"", b""]);
    let session = make(F::Login, &[b"12345678", b"nonce"]).swap_remove(0);
    let cbc = Mechanism { kind: m::AES_CBC_PAD, parameter: Parameter::Bytes(&[1; 16]) }.to_bytes();
    let public = pair.swap_remove(1);
    let pieces = [
        aes,
        pair.swap_remove(0),
        public,
        session,
        wide,
        curve,
        cbc,
        plain(m::ECDSA_SHA256),
        plain(m::SHA256_HMAC),
        Vec::new(),
    ];
    Card { module, pieces }
});

/// The next argument.
fn argument(card: &Card, rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (&how, after) = rest.split_first()?;
    *rest = after;
    let Some(piece) = card.pieces.get(usize::from(how)) else {
        let length = (usize::from(how) - card.pieces.len()).min(rest.len());
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

fuzz_target!(|data: &[u8]| {
    let Some((&first, mut rest)) = data.split_first() else { return };
    let request = match first {
        0 => rest.to_vec(),
        number => {
            let Some(function) = F::with_number(number.into()) else { return };
            let arguments: Option<Vec<_>> = function.arguments().iter().map(|_| argument(&CARD, &mut rest)).collect();
            let Some(arguments) = arguments else { return };
            let arguments: Vec<&[u8]> = arguments.iter().map(|argument| &argument[..]).collect();
            request(6, function, 0, &arguments).to_vec()
        }
    };
    category(&request);
    let reply = CARD.module.call(&Caller::default(), 0, &request);
    let reply = Reply::parse(&reply).expect("a reply");
    assert_ne!(reply.rv, rv::IBM_INTERNAL_ERROR);
});
