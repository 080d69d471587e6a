//! Administration of an EP11 coprocessor: commands and queries of any bytes on a domain that goes on from one input to the next. A block is taken as it is, or made
//! right around a number and a payload, so that the payload is reached.
//!
//! An input: flags (1: the rest is the block and nothing is signed; 2: a query) | number | bytes of the payload (2) | payload | signatures.
#![no_main]

use adjunct_coprocessor::keeper::Keeper;
use adjunct_ep11_module::admin::kept::{Kept, initial};
use adjunct_ep11_module::{Caller, Module, Settings};
use adjunct_ep11_wire::admin::{Block, Head, QUERY, Reply, query};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message;
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

const DOMAIN: u8 = 1;

static CARD: LazyLock<Module> = LazyLock::new(|| {
    let keeper = Arc::new(Keeper::volatile(initial([DOMAIN, 2]), None));
    Module::new(Arc::new(Kept::new(keeper, |_| Default::default())), Settings::default())
});

/// The reply to a block; `None` where it is none.
fn send(block: &[u8], signatures: &[u8]) -> Option<Vec<u8>> {
    let request = message::request(6, Function::Admin, DOMAIN.into(), &[block, signatures]);
    let reply = CARD.call(&Caller::default(), DOMAIN, &request);
    let reply = message::Reply::parse(&reply).expect("a reply");
    reply.results().first().map(|block| block.to_vec())
}

fuzz_target!(|data: &[u8]| {
    let [flags, number, high, low, rest @ ..] = data else { return };
    if flags & 1 != 0 {
        let _ = send(rest, &[]);
        return;
    }
    // Pairs of keys take long, and are no matter of what comes in.
    let number = u32::from(*number) | if flags & 2 != 0 { QUERY } else { 0 };
    if number == adjunct_ep11_wire::admin::command::GEN_DOM_IMPORTER {
        return;
    }
    let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
    let (payload, signatures) = rest.split_at(length);
    let ask =
        Head { number: query::DOMADMIN | QUERY, domain: DOMAIN.into(), instance: 0, module: [0; 16], counter: [0; 16] };
    let state = send(&Block { head: ask, payload: &[] }.to_bytes(), &[]).expect("an answer");
    let mut head = Reply::parse(&state).expect("a block").head;
    head.number = number;
    head.counter = (u128::from_be_bytes(head.counter).wrapping_add(1)).to_be_bytes();
    let before = head.counter;
    let answer = send(&Block { head, payload }.to_bytes(), signatures).expect("an answer");
    let answer = Reply::parse(&answer).expect("a block");
    // What was refused was not counted; what was done to the domain was, once.
    if answer.head.instance == head.instance && answer.head.domain == head.domain && number & QUERY == 0 {
        let counted = u128::from_be_bytes(answer.head.counter);
        let expected = u128::from_be_bytes(before);
        assert!(counted == expected || counted == expected.wrapping_sub(1));
        assert!(answer.rv == 0 || counted != expected);
    }
});
