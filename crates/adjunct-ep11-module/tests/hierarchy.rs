//! Hierarchies of keys: the vectors of BIP-32, SLIP-0010 and EIP-2333.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::Parameter;
use common::*;

const HARDENED: u32 = 1 << 31;

/// A number of a child, then the chain code, the private key, and the public one, compressed.
type Child = (u32, &'static str, &'static str, &'static str);

struct Chain {
    params: &'static [u8],
    seed: &'static str,
    children: &'static [Child],
}

/// SLIP-0010, "Test vector 1 for secp256k1", which is BIP-32's "Test vector 1"; "Test vector 1 for nist256p1" and "for ed25519"; "Test derivation retry
/// for nist256p1", "Test seed retry for nist256p1".
const CHAINS: &[Chain] = &[
    Chain {
        params: SECP256K1,
        seed: "000102030405060708090a0b0c0d0e0f",
        children: &[
            (
                0,
                "873dff81c02f525623fd1fe5167eac3a55a049de3d314bb42ee227ffed37d508",
                "e8f32e723decf4051aefac8e2c93c9c5b214313817cdb01a1494b917c8436b35",
                "0339a36013301597daef41fbe593a02cc513d0b55527ec2df1050e2e8ff49c85c2",
            ),
            (
                HARDENED,
                "47fdacbd0f1097043b78c63c20c34ef4ed9a111d980047ad16282c7ae6236141",
                "edb2e14f9ee77d26dd93b4ecede8d16ed408ce149b6cd80b0715a2d911a0afea",
                "035a784662a4a20a65bf6aab9ae98a6c068a81c52e4b032c0fb5400c706cfccc56",
            ),
            (
                1,
                "2a7857631386ba23dacac34180dd1983734e444fdbf774041578e9b6adb37c19",
                "3c6cb8d0f6a264c91ea8b5030fadaa8e538b020f0a387421a12de9319dc93368",
                "03501e454bf00751f24b1b489aa925215d66af2234e3891c3b21a52bedb3cd711c",
            ),
            (
                HARDENED | 2,
                "04466b9cc8e161e966409ca52986c584f07e9dc81f735db683c3ff6ec7b1503f",
                "cbce0d719ecf7431d88e6a89fa1483e02e35092af60c042b1df2ff59fa424dca",
                "0357bfe1e341d01c69fe5654309956cbea516822fba8a601743a012a7896ee8dc2",
            ),
        ],
    },
    Chain {
        params: P256,
        seed: "000102030405060708090a0b0c0d0e0f",
        children: &[
            (
                0,
                "beeb672fe4621673f722f38529c07392fecaa61015c80c34f29ce8b41b3cb6ea",
                "612091aaa12e22dd2abef664f8a01a82cae99ad7441b7ef8110424915c268bc2",
                "0266874dc6ade47b3ecd096745ca09bcd29638dd52c2c12117b11ed3e458cfa9e8",
            ),
            (
                HARDENED,
                "3460cea53e6a6bb5fb391eeef3237ffd8724bf0a40e94943c98b83825342ee11",
                "6939694369114c67917a182c59ddb8cafc3004e63ca5d3b84403ba8613debc0c",
                "0384610f5ecffe8fda089363a41f56a5c7ffc1d81b59a612d0d649b2d22355590c",
            ),
            (
                1,
                "4187afff1aafa8445010097fb99d23aee9f599450c7bd140b6826ac22ba21d0c",
                "284e9d38d07d21e4e281b645089a94f4cf5a5a81369acf151a1c3a57f18b2129",
                "03526c63f8d0b4bbbf9c80df553fe66742df4676b241dabefdef67733e070f6844",
            ),
        ],
    },
    Chain {
        params: P256,
        seed: "000102030405060708090a0b0c0d0e0f",
        children: &[
            (
                0,
                "beeb672fe4621673f722f38529c07392fecaa61015c80c34f29ce8b41b3cb6ea",
                "612091aaa12e22dd2abef664f8a01a82cae99ad7441b7ef8110424915c268bc2",
                "0266874dc6ade47b3ecd096745ca09bcd29638dd52c2c12117b11ed3e458cfa9e8",
            ),
            (
                HARDENED | 28578,
                "e94c8ebe30c2250a14713212f6449b20f3329105ea15b652ca5bdfc68f6c65c2",
                "06f0db126f023755d0b8d86d4591718a5210dd8d024e3e14b6159d63f53aa669",
                "02519b5554a4872e8c9c1c847115363051ec43e93400e030ba3c36b52a3e70a5b7",
            ),
            (
                33941,
                "9e87fe95031f14736774cd82f25fd885065cb7c358c1edf813c72af535e83071",
                "092154eed4af83e078ff9b84322015aefe5769e31270f62c3f66c33888335f3a",
                "0235bfee614c0d5b2cae260000bb1d0d84b270099ad790022c1ae0b2e782efe120",
            ),
        ],
    },
    Chain {
        params: P256,
        seed: "a7305bc8df8d0951f0cb224c0e95d7707cbdf2c6ce7e8d481fec69c7ff5e9446",
        children: &[(
            0,
            "7762f9729fed06121fd13f326884c82f59aa95c57ac492ce8c9654e60efd130c",
            "3b8c18469a4634517d6d0b65448f8e6c62091b45540a1743c5846be55d47d88f",
            "0383619fadcde31063d8c5cb00dbfe1713f3e6fa169d8541a798752a1c1ca0cb20",
        )],
    },
    Chain {
        params: ED25519,
        seed: "000102030405060708090a0b0c0d0e0f",
        children: &[
            (
                0,
                "90046a93de5380a72b5e45010748567d5ea02bbf6522f979e05c0d8d8ca9fffb",
                "2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7",
                "00a4b2856bfec510abab89753fac1ac0e1112364e7d250545963f135f2a33188ed",
            ),
            (
                HARDENED,
                "8b59aa11380b624e81507a27fedda59fea6d0b779a778918a2fd3590e16e9c69",
                "68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3",
                "008c8a13df77a28f3445213a0f432fde644acaa215fc72dcdf300d5efaa85d350c",
            ),
        ],
    },
];

const USES: &[(u32, bool)] = &[(a::DERIVE, true), (a::EXTRACTABLE, true)];

fn btc(kind: u32, child: u32, chain_code: &[u8]) -> Vec<u8> {
    with(m::IBM_BTC_DERIVE, Parameter::Btc { kind, child, chain_code })
}

fn eth(kind: u32, child: u32, key_info: &[u8]) -> Vec<u8> {
    with(m::IBM_ETH_DERIVE, Parameter::Eth { signature: 4, kind, child, key_info })
}

fn seed(card: &Card, value: &[u8]) -> Vec<u8> {
    card.import(k::SECRET, k::GENERIC_SECRET, value, &[(a::IBM_USE_AS_DATA, true)]).unwrap()
}

fn derive(card: &Card, mechanism: &[u8], base: &[u8], wanted: &[u8]) -> Answer {
    card.call(F::DeriveKey, &[mechanism, wanted, base, b"", b""])
}

/// A template as openCryptoki's token gives it.
fn wanted(params: &[u8], flags: &[(u32, bool)]) -> Vec<u8> {
    let values =
        [(a::KEY_TYPE, Value::Number(k::EC)), (a::EC_PARAMS, Value::Bytes(params)), (a::VALUE_LEN, Value::Number(32))];
    template(flags, &values)
}

/// What a private key is: it is wrapped by a key that decrypts too.
fn reveal(card: &Card, key: &[u8]) -> Vec<u8> {
    let kek = card.aes(32, &[(a::WRAP, true), (a::DECRYPT, true)]);
    let cbc = with_iv(m::AES_CBC_PAD, &[1; 16]);
    let wrapped = card.wrap(key, &kek, &cbc).unwrap();
    card.decrypt(&kek, &cbc, &wrapped).unwrap()
}

fn has(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}

/// Whether a public key is that of a compressed point.
fn is_point(info: &[u8], point: &[u8]) -> bool {
    match point[0] {
        0 => has(info, &point[1..]),
        sign => {
            let at = info.windows(32).position(|window| window == &point[1..]);
            at.is_some_and(|at| info[at - 1] == 4 && info[at + 63] & 1 == sign & 1)
        }
    }
}

#[test]
fn hierarchies_are_those_of_the_standards() {
    let card = card();
    for chain in CHAINS {
        // BIP-32's numbers, and SLIP-10's.
        for slip in if chain.params == SECP256K1 { &[0, 4][..] } else { &[4] } {
            let seed = seed(&card, &hex(chain.seed));
            let template = wanted(chain.params, USES);
            let (mut base, mut code) = (seed, Vec::new());
            let mut public: Option<Vec<u8>> = None;
            for (at, (number, chain_code, private, point)) in chain.children.iter().enumerate() {
                let kind = slip + if at == 0 { 4 } else { 1 };
                let [key, sum] =
                    derive(&card, &btc(kind, *number, &code), &base, &template).unwrap().try_into().unwrap();
                assert_eq!(sum, hex(chain_code), "{at} {number}");
                assert!(has(&reveal(&card, &key), &hex(private)), "{at} {number}");
                let info = card.attributes(&key, 0, &[a::PUBLIC_KEY_INFO]).unwrap().1.remove(0);
                assert!(is_point(&info, &hex(point)), "{at} {number}");
                if at > 0 {
                    let half = wanted(chain.params, &[(a::DERIVE, true), (a::IBM_USE_AS_DATA, true)]);
                    let [half, sum] =
                        derive(&card, &btc(slip + 2, *number, &code), &base, &half).unwrap().try_into().unwrap();
                    assert_eq!((sum, &half[..info.len()]), (hex(chain_code), &info[..]));
                    let of_public = derive(&card, &btc(slip + 3, *number, &code), public.as_ref().unwrap(), b"");
                    if *number < HARDENED && chain.params != ED25519 {
                        let [own, sum] = of_public.unwrap().try_into().unwrap();
                        assert_eq!((sum, &own[..info.len()]), (hex(chain_code), &info[..]));
                    } else {
                        // A public key of EdDSA that nobody vouches for is not for derivation at all.
                        let ed = chain.params == ED25519;
                        let error = if ed { rv::KEY_FUNCTION_NOT_PERMITTED } else { rv::MECHANISM_PARAM_INVALID };
                        assert_eq!(of_public, Err(error));
                    }
                }
                let signs = plain(if chain.params == ED25519 { m::IBM_ED25519_SHA512 } else { m::ECDSA });
                let signature = card.sign(&key, &signs, &[9; 20]).unwrap();
                assert_eq!(card.verify(&info, &signs, &[9; 20], &signature), Ok(()));
                (base, code, public) = (key, sum, Some(info));
            }
        }
    }
}

#[test]
fn ethereum_keys_are_those_of_eip_2333() {
    let card = card();
    // Test cases 0 and 1: seed, master key, number of the child, the child.
    for (value, master, number, child) in [
        (
            "c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e53495531f09a6987599d18264c1e1c92f2cf141630c7a3c4ab7c81b2f001698e7463b04",
            "0d7359d57963ab8fbbde1852dcf553fedbc31f464d80ee7d40ae683122b45070",
            0,
            "2d18bd6c14e6d15bf8b5085c9b74f3daae3b03cc2014770a599d8c1539e50f8e",
        ),
        (
            "3141592653589793238462643383279502884197169399375105820974944592",
            "41c9e07822b092a93fd6797396338c3ada4170cc81829fdfce6b5d34bd5e7ec7",
            3_141_592_653,
            "384843fad5f3d777ea39de3e47a8f999ae91f89e42bffa993d91d9782d152a0f",
        ),
    ] {
        let seed = seed(&card, &hex(value));
        let template = wanted(BLS12_381, USES);
        let root = derive(&card, &eth(3, 0, b""), &seed, &template).unwrap().remove(0);
        assert!(has(&reveal(&card, &root), &hex(master)));
        let key = derive(&card, &eth(1, number, b""), &root, &template).unwrap().remove(0);
        assert!(has(&reveal(&card, &key), &hex(child)));
        let half = derive(&card, &eth(2, number, &[0; 32]), &root, b"").unwrap().remove(0);
        let bls = with(m::IBM_ECDSA_OTHER, Parameter::Number(6));
        let signature = card.sign(&key, &bls, b"block").unwrap();
        assert_eq!(card.verify(&half, &bls, b"block", &signature), Ok(()));
        // Further input makes another key.
        let other = derive(&card, &eth(3, 0, &[1; 32]), &seed, &template).unwrap().remove(0);
        assert!(!has(&reveal(&card, &other), &hex(master)));
        assert_eq!(derive(&card, &eth(1, 0, &[1; 32]), &root, b""), Err(rv::MECHANISM_PARAM_INVALID));
    }
    let short = seed(&card, &[1; 31]);
    assert_eq!(derive(&card, &eth(3, 0, b""), &short, b""), Err(rv::KEY_SIZE_RANGE));
    let other = with(m::IBM_ETH_DERIVE, Parameter::Eth { signature: 3, kind: 3, child: 0, key_info: b"" });
    assert_eq!(derive(&card, &other, &seed(&card, &[1; 32]), b""), Err(rv::MECHANISM_PARAM_INVALID));
}

#[test]
fn what_is_no_step_is_refused() {
    let card = card();
    let seed = seed(&card, &[1; 32]);
    let root = |params: &[u8], kind| derive(&card, &btc(kind, 0, b""), &seed, &wanted(params, USES));
    let [key, code] = root(SECP256K1, 4).unwrap().try_into().unwrap();
    let nothing = |answer: Answer| answer.map(drop);
    for (mechanism, base, template, error) in [
        (btc(0, 0, &code), &key, b"".to_vec(), rv::MECHANISM_PARAM_INVALID),
        (btc(9, 0, &code), &key, b"".to_vec(), rv::MECHANISM_PARAM_INVALID),
        (btc(1, 0, &code[1..]), &key, b"".to_vec(), rv::MECHANISM_PARAM_INVALID),
        (btc(1, 0, b""), &key, b"".to_vec(), rv::MECHANISM_PARAM_INVALID),
        (btc(1, 0, &code), &seed, b"".to_vec(), rv::KEY_TYPE_INCONSISTENT),
        (btc(3, 0, &code), &key, b"".to_vec(), rv::KEY_TYPE_INCONSISTENT),
        (btc(4, 0, b""), &key, b"".to_vec(), rv::KEY_TYPE_INCONSISTENT),
        (btc(4, 0, b""), &seed, b"".to_vec(), rv::TEMPLATE_INCOMPLETE),
        (btc(4, 0, b""), &seed, wanted(P256, USES), rv::CURVE_NOT_SUPPORTED),
        (btc(8, 0, b""), &seed, wanted(P384, USES), rv::CURVE_NOT_SUPPORTED),
        (btc(8, 0, b""), &seed, wanted(BLS12_381, USES), rv::CURVE_NOT_SUPPORTED),
        (btc(1, 0, &code), &key, wanted(P256, USES), rv::TEMPLATE_INCONSISTENT),
        (eth(1, 0, b""), &key, b"".to_vec(), rv::KEY_TYPE_INCONSISTENT),
        (btc(1, 0, &code), &key, template(&[], &[(a::CLASS, Value::Number(k::PUBLIC))]), rv::TEMPLATE_INCONSISTENT),
        (btc(1, 0, &code), &key, template(&[], &[(a::KEY_TYPE, Value::Number(k::RSA))]), rv::TEMPLATE_INCONSISTENT),
        (btc(1, 0, &code), &key, template(&[(a::IBM_ATTRBOUND, true)], &[]), rv::TEMPLATE_INCONSISTENT),
    ] {
        assert_eq!(nothing(derive(&card, &mechanism, base, &template)), Err(error), "{mechanism:x?}");
    }
    // EdDSA's have hardened children alone.
    let [ed, code] = root(ED25519, 8).unwrap().try_into().unwrap();
    assert_eq!(derive(&card, &btc(5, 0, &code), &ed, b""), Err(rv::MECHANISM_PARAM_INVALID));
    // No use of the parent: no child.
    let firm = card.set(&key, &[(a::DERIVE, false)]).unwrap();
    assert_eq!(derive(&card, &btc(1, 0, &[0; 32]), &firm, b""), Err(rv::KEY_FUNCTION_NOT_PERMITTED));
    // A child may not leave that its parent may not: with its public key and the chain code it gives the parent away.
    let fixed = card.set(&key, &[(a::EXTRACTABLE, false)]).unwrap();
    let child = btc(1, 0, &[0; 32]);
    assert_eq!(derive(&card, &child, &fixed, &template(USES, &[])), Err(rv::TEMPLATE_INCONSISTENT));
    let kept = derive(&card, &child, &fixed, &template(&[(a::DERIVE, true)], &[])).unwrap().remove(0);
    let kek = card.aes(32, &[(a::WRAP, true)]);
    assert_eq!(card.wrap(&kept, &kek, &with_iv(m::AES_CBC_PAD, &[1; 16])), Err(rv::KEY_UNEXTRACTABLE));
    for length in [15, 65] {
        let seed = self::seed(&card, &vec![1; length]);
        let refused = derive(&card, &btc(4, 0, b""), &seed, &wanted(SECP256K1, USES));
        assert_eq!(refused, Err(rv::KEY_SIZE_RANGE));
    }
}
