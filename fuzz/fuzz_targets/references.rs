//! References to cards' keys, and the replies to what is asked with them.
#![no_main]

use adjunct::ops::may_leave;
use adjunct::ops::reference::{MAGIC, Reference, SHORTEST};
use adjunct_card_protocol::frame::Service;
use adjunct_card_protocol::secure::{self, Call};
use libfuzzer_sys::fuzz_target;

fn reference(data: &[u8]) {
    match Reference::parse(data) {
        Ok(None) => assert!(data.len() < SHORTEST || !data.starts_with(&MAGIC)),
        Ok(Some(reference)) => {
            // Nothing is left out: what was read is what would be written.
            assert_eq!(reference.encode(data.len()).as_deref(), Some(data));
            assert!(may_leave(data).is_err());
        }
        Err(_) => assert!(may_leave(data).is_err()),
    }
    let zeros = data.iter().take_while(|&&byte| byte == 0).count();
    assert_eq!(Reference::parse_number(data), Reference::parse(&data[zeros..]));
}

fuzz_target!(|data: &[u8]| {
    reference(data);
    // The fuzzer's bytes are what follows the magic.
    reference(&[&MAGIC[..], data].concat());
    for (call, _) in Call::ALL {
        for number in [0, 1] {
            if let Some(Ok(output)) = secure::reply(data, Service::Test, call, number) {
                assert!(output.len() < data.len());
            }
        }
    }
});
