//! The log of a session, as `adjunct ssh verify` reads it: much of it is what the other side says.
#![no_main]

use adjunct_cli::ssh::verify::knowledge::{self, Act, Program};
use adjunct_cli::ssh::verify::log::Log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| {
    let log = Log::parse(&String::from_utf8_lossy(log));
    let clean = |text: &Option<String>| text.as_deref().is_none_or(|t| !t.chars().any(char::is_control));
    assert!(
        [&log.client, &log.server, &log.key_exchange, &log.host_key, &log.method, &log.last].into_iter().all(clean)
    );
    let program = log.server.as_deref().map_or(Program::Other, Program::parse);
    for name in [&log.key_exchange, &log.host_key].into_iter().flatten() {
        knowledge::key_exchange(name);
        knowledge::signature(name, Act::Sign, &program);
        knowledge::signature(name, Act::Verify, &program);
    }
    for stream in [&log.to_server, &log.to_client].into_iter().flatten() {
        let reach = knowledge::cipher(&stream.cipher);
        // What is counted has its way into OpenSSL, and the other way round.
        let counted = matches!(reach.way, knowledge::Way::Provider | knowledge::Way::Engine);
        assert_eq!(counted, !reach.functions.is_empty());
        stream.mac.as_deref().map(knowledge::mac);
    }
});
