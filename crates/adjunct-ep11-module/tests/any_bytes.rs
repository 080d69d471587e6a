//! Any bytes get a reply.

mod common;

use adjunct_ep11_module::{Caller, Category, category};
use adjunct_ep11_wire::codes::{attribute as a, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::message::{Reply, request, sequence};
use common::*;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

#[test]
fn any_bytes_get_a_reply() {
    let card = card();
    let all = [(a::WRAP, true), (a::UNWRAP, true), (a::DERIVE, true)];
    let aes = card.aes(32, &all);
    let [private, public] = card.ec(P256, &[(a::DERIVE, true)]);
    let session = card.one(F::Login, &[b"12345678", b""]).unwrap();
    let pieces = [
        aes,
        private,
        public,
        session,
        vec![],
        vec![0; 16],
        vec![0, 0, 0, 16],
        template(&all, &[]),
        template(&[], &[(a::EC_PARAMS, adjunct_ep11_wire::attributes::Value::Bytes(P256))]),
        plain(m::AES_ECB),
        with_iv(m::AES_CBC_PAD, &[1; 16]),
        plain(m::ECDSA),
        plain(m::SHA256_HMAC),
        plain(m::EC_KEY_PAIR_GEN),
        plain(m::AES_KEY_GEN),
        plain(m::IBM_TRANSPORTKEY),
        plain(m::IBM_ATTRIBUTEBOUND_WRAP),
        plain(m::SHA256_KEY_DERIVATION),
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut parsed, mut fine) = (0, 0);
    for _ in 0..30_000 {
        let function = F::ALL[random.below(F::ALL.len())];
        let arguments: Vec<&[u8]> =
            function.arguments().iter().map(|_| &pieces[random.below(pieces.len())][..]).collect();
        let mut bytes = request(6, function, 0, &arguments).to_vec();
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        if random.below(10) == 0 {
            bytes.truncate(random.below(bytes.len()));
        }
        category(&bytes);
        let reply = card.module.call(&Caller::default(), 0, &bytes);
        let reply = Reply::parse(&reply).unwrap_or_else(|| panic!("no reply to {bytes:?}"));
        assert_ne!(reply.rv, rv::IBM_INTERNAL_ERROR, "{bytes:?}");
        parsed += usize::from(reply.rv != rv::IBM_TRANSPORT_ERROR);
        fine += usize::from(reply.rv == 0);
    }
    assert!(parsed > 5_000 && fine > 200, "{parsed} {fine}");
    for bytes in [&b""[..], &[0x30], &[0x30, 0x80], &[0xff; 100], &sequence(&[])] {
        let reply = card.module.call(&Caller::default(), 0, bytes);
        assert_eq!(Reply::parse(&reply).unwrap().rv, rv::IBM_TRANSPORT_ERROR);
    }
}

#[test]
fn requests_are_counted_by_category() {
    let of = |function, arguments: &[&[u8]]| category(&request(6, function, 0, arguments));
    let (ecdsa, hmac) = (plain(m::ECDSA), plain(m::SHA256_HMAC));
    assert_eq!(of(F::GenerateKeyPair, &[b"", b"", b"", b""]), Category::AsymmetricKeyGeneration);
    assert_eq!(of(F::GenerateKey, &[b"", b"", b""]), Category::SymmetricFull);
    assert_eq!(of(F::SignSingle, &[b"", &ecdsa, b""]), Category::AsymmetricSlow);
    assert_eq!(of(F::SignSingle, &[b"", &hmac, b""]), Category::SymmetricPartial);
    assert_eq!(of(F::VerifySingle, &[b"", &ecdsa, b"", b""]), Category::AsymmetricFast);
    assert_eq!(of(F::DigestSingle, &[b"", b""]), Category::SymmetricPartial);
    assert_eq!(category(b"no request"), Category::SymmetricPartial);
}
