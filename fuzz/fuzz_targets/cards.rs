//! What cards read: frames, orders and reports, requests and replies of an accelerator, `cards.conf`, what tools ask, and the file of the state.
#![no_main]

use adjunct_card_host::link::{Order, Report};
use adjunct_card_protocol::frame::{self, Frame, Service};
use adjunct_card_protocol::wire::{self, Kind};
use adjunct_card_state::config::Config;
use adjunct_card_state::control::{Reply, Request};
use adjunct_card_state::machine::Mode;
use adjunct_card_state::state;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(frame) = Frame::parse(data) {
        // What was read is what would be sent.
        let fields: Vec<_> = frame.tags().map(|tag| (tag, frame.field(tag).expect("a field with each tag"))).collect();
        let mut again = vec![0; data.len()];
        assert_eq!(frame::write(&mut again, &frame.head, &fields), Some(data.len()));
        assert_eq!(again, data);
    }
    for service in Service::ALL {
        // Whatever is no message of theirs.
        let _ = (Order::parse(service, data), Report::parse(service, data));
    }
    if let Some(asked) = wire::request(data) {
        let again =
            wire::Request::new(asked.kind, asked.place, asked.key, asked.input).expect("the lengths of a request");
        assert_eq!(wire::request(again.bytes()), Some(asked));
    }
    for kind in Kind::ALL {
        if let Some(Ok(output)) = wire::reply(kind, data) {
            assert_eq!(output.len(), kind.size());
        }
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(config) = Config::parse(text, &Mode::ALL)
    {
        assert!(config.cards.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
    let _ = serde_json::from_slice::<Request>(data);
    let _ = serde_json::from_slice::<Reply>(data);
    // The fuzzer's bytes are the first of a file of the right length, which goes on with the same again.
    if !data.is_empty() {
        let file: Vec<u8> =
            state::MAGIC.to_ne_bytes().into_iter().chain(data.iter().copied().cycle()).take(8 * state::WORDS).collect();
        if let Some(machine) = state::of_bytes(&file) {
            assert!(machine.cards.len() <= state::MAX_CARDS);
        }
    }
});
