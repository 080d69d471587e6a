//! Requests a second, from one thread: what the module takes itself, without a transport.

use adjunct_ep11_module::control::Points;
use adjunct_ep11_module::keys::{Domain, Keys, WrappingKey};
use adjunct_ep11_module::{Caller, Module, Settings};
use adjunct_ep11_wire::attributes::{Template, Value};
use adjunct_ep11_wire::codes::{attribute as a, mechanism as m};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::{Mechanism, Parameter};
use adjunct_ep11_wire::message::{Reply, request};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct One(Domain);

impl Keys for One {
    fn domain(&self, domain: u8) -> Option<Domain> {
        (domain == 0).then(|| self.0.clone())
    }
}

fn call(module: &Module, function: F, arguments: &[&[u8]]) -> Vec<Vec<u8>> {
    let reply = module.call(&Caller::default(), 0, &request(6, function, 0, arguments));
    let reply = Reply::parse(&reply).expect("a reply");
    assert_eq!(reply.rv, 0, "{function:?}");
    reply.results().iter().map(|result| result.to_vec()).collect()
}

fn template(kind: u32, value: Value<'_>) -> Vec<u8> {
    Template { values: vec![(kind, value)], ..Template::default() }.to_bytes()
}

fn main() {
    let current = WrappingKey::new(&[7; 32]).expect("memory");
    let domain = Domain { current: Some(Arc::new(current)), next: None, committed: false, points: Points::ALL };
    let module = Module::new(Arc::new(One(domain)), Settings::default());
    let plain = |kind| Mechanism::plain(kind).to_bytes();
    let key = |kind, length| {
        let template = template(a::VALUE_LEN, Value::Number(length));
        call(&module, F::GenerateKey, &[&plain(kind), &template, b""]).swap_remove(0)
    };
    let p256 = template(a::EC_PARAMS, Value::Bytes(&[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]));
    let pair = call(&module, F::GenerateKeyPair, &[&plain(m::EC_KEY_PAIR_GEN), &p256, b"", b""]);
    let (aes, hmac) = (key(m::AES_KEY_GEN, 32), key(m::GENERIC_SECRET_KEY_GEN, 32));
    let cbc = Mechanism { kind: m::AES_CBC, parameter: Parameter::Bytes(&[1; 16]) }.to_bytes();
    let data = [9; 64];
    let requests = [
        ("AES-256-CBC, 64 bytes", request(6, F::EncryptSingle, 0, &[&aes, &cbc, &data])),
        ("HMAC-SHA-256, 64 bytes", request(6, F::SignSingle, 0, &[&hmac, &plain(m::SHA256_HMAC), &data])),
        ("ECDSA P-256", request(6, F::SignSingle, 0, &[&pair[0], &plain(m::ECDSA), &data[..32]])),
        ("random, 32 bytes", request(6, F::GenerateRandom, 0, &[&32_u32.to_be_bytes()])),
    ];
    for (name, request) in requests {
        let (begin, mut count) = (Instant::now(), 0_u32);
        while begin.elapsed() < Duration::from_secs(1) {
            for _ in 0..100 {
                std::hint::black_box(module.call(&Caller::default(), 0, &request));
            }
            count += 100;
        }
        println!("{name}: {:.0} a second", f64::from(count) / begin.elapsed().as_secs_f64());
    }
}
