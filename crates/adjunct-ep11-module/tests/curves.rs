//! Curves that the core does not have: secp256k1 with ECDSA, Schnorr's signatures and ECDH; BLS12-381.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, control as c, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::Parameter;
use common::*;

const DERIVES: &[(u32, bool)] = &[(a::DERIVE, true)];

fn other(kind: u32) -> Vec<u8> {
    with(m::IBM_ECDSA_OTHER, Parameter::Number(kind))
}

fn secp256k1_info(point: &str) -> Vec<u8> {
    [&hex("3056301006072a8648ce3d020106052b8104000a034200 04")[..], &hex(point)].concat()
}

fn bls_info(point: &[u8]) -> Vec<u8> {
    [&hex("307d301706072a8648ce3d0201060c2b0601040102820b87670302036200 04")[..], point].concat()
}

/// The PKCS #8 of a private key on a curve, without its point.
fn pkcs8(params: &[u8], value: &[u8]) -> Vec<u8> {
    use adjunct_mechanisms::der::tlv;
    let algorithm = tlv(0x30, &[&hex("06072a8648ce3d0201"), params].concat());
    let key = tlv(0x30, &[vec![2, 1, 1], tlv(4, value)].concat());
    tlv(0x30, &[vec![2, 1, 0], algorithm, tlv(4, &key)].concat())
}

#[test]
fn pairs_sign_and_come_back_from_their_blobs() {
    let card = card();
    for (params, scheme, length, kinds) in [
        (SECP256K1, plain(m::ECDSA_SHA256), 64, [m::ECDSA, m::ECDSA_SHA1, m::IBM_ECDSA_SHA512]),
        (SECP256K1, other(3), 64, [m::ECDSA, m::ECDSA_SHA224, m::ECDSA_SHA384]),
        (SECP256K1, other(5), 64, [m::ECDSA, m::ECDSA_SHA512, m::IBM_ECDSA_SHA256]),
        (BLS12_381, other(6), 96, [0; 3]),
        (P256, other(3), 64, [0; 3]),
        (P256, other(5), 64, [0; 3]),
        (BP256, other(3), 64, [0; 3]),
        (BP256, other(5), 64, [0; 3]),
    ] {
        let [private, public] = card.ec(params, &[]);
        let signature = card.sign(&private, &scheme, b"message").unwrap();
        assert_eq!(signature.len(), length);
        assert_eq!(card.verify(&public, &scheme, b"message", &signature), Ok(()));
        assert_eq!(card.verify(&public, &scheme, b"messagf", &signature), Err(rv::SIGNATURE_INVALID));
        assert_eq!(card.verify(&public, &scheme, b"message", &signature[1..]), Err(rv::SIGNATURE_LEN_RANGE));
        for bit in (0..8 * length).step_by(7) {
            let mut changed = signature.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(card.verify(&public, &scheme, b"message", &changed), Err(rv::SIGNATURE_INVALID), "bit {bit}");
        }
        let mut changed = private.clone();
        changed[100] ^= 1;
        assert_eq!(card.sign(&changed, &scheme, b"message"), Err(rv::IBM_BLOB_ERROR));
        assert_eq!(card.sign(&public, &scheme, b"message"), Err(rv::KEY_FUNCTION_NOT_PERMITTED));
        for kind in kinds.into_iter().filter(|kind| *kind != 0) {
            let signature = card.sign(&private, &plain(kind), &[7; 20]).unwrap();
            assert_eq!(card.verify(&public, &plain(kind), &[7; 20], &signature), Ok(()), "{kind:#x}");
        }
        // In several calls.
        let state = card.one(F::SignInit, &[&scheme, &private]).unwrap();
        let state = card.one(F::SignUpdate, &[&state, b"mess"]).unwrap();
        let state = card.one(F::SignUpdate, &[&state, b"age"]).unwrap();
        let signature = card.one(F::SignFinal, &[&state]).unwrap();
        assert_eq!(card.verify(&public, &scheme, b"message", &signature), Ok(()));
        // What the blob says of it, wrapped and back.
        let (_, known) = card.attributes(&private, 0, &[a::EC_PARAMS, a::KEY_TYPE, a::PUBLIC_KEY_INFO]).unwrap();
        assert_eq!(known[..2], [params.to_vec(), k::EC.to_be_bytes().to_vec()]);
        assert_eq!(known[2], public[..known[2].len()]);
        let kek = card.aes(32, &[(a::WRAP, true), (a::UNWRAP, true)]);
        let cbc = with_iv(m::AES_CBC_PAD, &[3; 16]);
        let wrapped = card.wrap(&private, &kek, &cbc).unwrap();
        assert_eq!(card.wrap(&private, &kek, &with_iv(m::AES_CBC, &[3; 16])), Err(rv::KEY_NOT_WRAPPABLE));
        let back = template(&[], &[(a::KEY_TYPE, Value::Number(k::EC))]);
        let back = card.unwrap(&wrapped, &kek, &cbc, &back).unwrap();
        assert_eq!(back[1], known[2]);
        let signature = card.sign(&back[0], &scheme, b"again").unwrap();
        assert_eq!(card.verify(&known[2], &scheme, b"again", &signature), Ok(()));
    }
    // A scheme of another curve, or of none.
    let [bls, _] = card.ec(BLS12_381, &[]);
    let ([secp, _], [p256, _], [p384, _]) = (card.ec(SECP256K1, &[]), card.ec(P256, &[]), card.ec(P384, &[]));
    for (key, mechanism, error) in [
        (&bls, other(3), rv::KEY_TYPE_INCONSISTENT),
        (&bls, plain(m::ECDSA), rv::KEY_TYPE_INCONSISTENT),
        (&secp, other(6), rv::KEY_TYPE_INCONSISTENT),
        (&secp, other(4), rv::MECHANISM_PARAM_INVALID),
        (&secp, plain(m::EDDSA), rv::KEY_TYPE_INCONSISTENT),
        (&secp, with_iv(m::ECDSA, &[1]), rv::MECHANISM_PARAM_INVALID),
        (&p256, other(6), rv::KEY_TYPE_INCONSISTENT),
        (&p384, other(3), rv::KEY_TYPE_INCONSISTENT),
    ] {
        assert_eq!(card.sign(key, &mechanism, &[1; 32]), Err(error));
    }
}

#[test]
fn control_points_bar_them() {
    let card = card();
    let ([bls, bls_public], [secp, _]) = (card.ec(BLS12_381, DERIVES), card.ec(SECP256K1, DERIVES));
    let signature = card.sign(&bls, &other(6), b"x").unwrap();
    let sum = with(m::IBM_EC_AGGREGATE, Parameter::Aggregate { mode: 1, size: 96, elements: &signature });
    let keys = with(
        m::IBM_EC_AGGREGATE,
        Parameter::Aggregate { mode: 2, size: bls_public.len() as u32, elements: &bls_public },
    );
    let child = with(m::IBM_BTC_DERIVE, Parameter::Btc { kind: 1, child: 1 << 31, chain_code: &[0; 32] });
    let eth = with(m::IBM_ETH_DERIVE, Parameter::Eth { signature: 4, kind: 1, child: 1, key_info: b"" });
    let derive = |base: &[u8], mechanism: &[u8]| card.call(F::DeriveKey, &[mechanism, b"", base, b"", b""]).map(drop);
    type Case<'a> = (&'a [u8], Box<dyn Fn() -> Result<(), u32> + 'a>);
    let cases: [Case<'_>; 7] = [
        (
            &[c::SIGN_ASYMM, c::EC, c::SECG, c::NFIPS2009, c::BITS_128],
            Box::new(|| card.sign(&secp, &plain(m::ECDSA), &[1; 32]).map(drop)),
        ),
        (&[c::ECDSA_OTHER], Box::new(|| card.sign(&secp, &other(3), b"x").map(drop))),
        (&[c::ECDSA_OTHER, c::PAIRING, c::EC], Box::new(|| card.sign(&bls, &other(6), b"x").map(drop))),
        (&[c::PAIRING], Box::new(|| card.sign(b"", &sum, b"").map(drop))),
        (&[c::PAIRING, c::DERIVE], Box::new(|| derive(b"", &keys))),
        (&[c::BTC, c::DERIVE, c::SECG], Box::new(|| derive(&secp, &child))),
        (&[c::PAIRING, c::DERIVE], Box::new(|| derive(&bls, &eth))),
    ];
    for (at, (points, run)) in cases.iter().enumerate() {
        card.off(&[]);
        assert_eq!(run(), Ok(()), "{at}");
        for point in points.iter() {
            card.off(&[*point]);
            assert_eq!(run(), Err(rv::FUNCTION_CANCELED), "{at} {point}");
        }
    }
}

#[test]
fn schnorr_signatures_are_those_of_others() {
    let card = card();
    // Zilliqa's form, by Trust Wallet's test "ZilliqaSignature, Signing".
    let public = secp256k1_info(
        "99c6f51ad6f98c9c583f8e92bb7758ab2ca9a04110c0a1126ec43e5453d196c1\
         66b489a4b7c491e7688e6ebea3a71fc3a1a48d60f98d5ce84c93b65e423fde91",
    );
    let signature = hex("d166b1ae7892c5ef541461dc12a50214d0681b63d8037cda29a3fe6af8bb973e\
         4ea94624d85bc0010bdc1b38d05198328fae21254adc2bf5feaf2804d54dba55");
    assert_eq!(card.verify(&public, &other(5), b"hello schnorr", &signature), Ok(()));
    assert_eq!(card.verify(&public, &other(5), b"hello schnors", &signature), Err(rv::SIGNATURE_INVALID));
    assert_eq!(card.verify(&public, &other(3), b"hello schnorr", &signature), Err(rv::SIGNATURE_INVALID));
    // ECSDSA, computed with whole numbers by the formulas of ISO/IEC 14888-3: x and y of the commitment, then the message.
    let public = secp256k1_info(
        "9e43c9810e6cc09f46aad38e716dae3191629534967dc457d3a687d2e2cddc6a\
         42961eee776a578c40190ee9940141ece35c78cf774f94756fbdd4fd70fa924b",
    );
    let signature = hex("3693e6738590ad248dfb25a10e530807f5fb699728f46878c499b6f9c8dcd41a\
         1e8df04516f0f49ef4dac33bd5b1aadd5cdca2744340eb7e31efb03aa1cc108f");
    assert_eq!(card.verify(&public, &other(3), b"ECSDSA of adjunct", &signature), Ok(()));
    assert_eq!(card.verify(&public, &other(5), b"ECSDSA of adjunct", &signature), Err(rv::SIGNATURE_INVALID));
    // Zeros, and numbers that are no remainders.
    for (r, s) in
        [([0; 32], [0; 32]), ([0; 32], [1; 32]), ([1; 32], [0; 32]), ([0xff; 32], [1; 32]), ([1; 32], [0xff; 32])]
    {
        for kind in [3, 5] {
            let signature = [r, s].concat();
            assert_eq!(card.verify(&public, &other(kind), b"x", &signature), Err(rv::SIGNATURE_INVALID));
        }
    }
}

#[test]
fn keys_that_are_none_are_refused() {
    let card = card();
    let order = hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
    let bls_order = hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");
    for (params, value) in [
        (SECP256K1, &[0; 32][..]),
        (SECP256K1, &order),
        (SECP256K1, &[1; 33]),
        (SECP256K1, b""),
        (BLS12_381, &[0; 32]),
        (BLS12_381, &bls_order),
    ] {
        assert_eq!(card.import(k::PRIVATE, k::EC, &pkcs8(params, value), &[]), Err(rv::WRAPPED_KEY_INVALID));
    }
    assert!(card.import(k::PRIVATE, k::EC, &pkcs8(SECP256K1, &[0, 0, 1]), &[]).is_ok());
    let verify = |info: &[u8], mechanism: &[u8]| card.verify(info, mechanism, &[1; 32], &[1; 64]);
    let mut off = secp256k1_info(
        "9e43c9810e6cc09f46aad38e716dae3191629534967dc457d3a687d2e2cddc6a\
         42961eee776a578c40190ee9940141ece35c78cf774f94756fbdd4fd70fa924c",
    );
    assert_eq!(verify(&off, &plain(m::ECDSA)), Err(rv::IBM_BLOB_ERROR));
    off.truncate(off.len() - 1);
    assert_eq!(verify(&off, &plain(m::ECDSA)), Err(rv::IBM_BLOB_ERROR));
    // Infinity; a point of the curve outside the group (x = 4 has such, of the test data of blst's authors and of ZCash: compressed 0x80..04).
    let mut infinity = [0; 96];
    infinity[0] = 0x40;
    assert_eq!(verify(&bls_info(&infinity), &other(6)), Err(rv::IBM_BLOB_ERROR));
    assert_eq!(verify(&bls_info(&[1; 96]), &other(6)), Err(rv::IBM_BLOB_ERROR));
}

/// ETH2's tests of BLS: private keys, and their signatures of 32 zeros.
const ETH2: [(&str, &str, &str); 3] = [
    (
        "263dbd792f5b1be47ed85f8938c0f29586af0d3ac7b977f21c278fe1462040e3",
        "a491d1b0ecd9bb917989f0e74f0dea0422eac4a873e5e2644f368dffb9a6e20fd6e10c1b77654d067c0618f6e5a7f79a",
        "b6ed936746e01f8ecf281f020953fbf1f01debd5657c4a383940b020b26507f6076334f91e2366c96e9ab279fb515809\
         0352ea1c5b0c9274504f4f0e7053af24802e51e4568d164fe986834f41e55c8e850ce1f98458c0cfc9ab380b55285a55",
    ),
    (
        "47b8192d77bf871b62e87859d653922725724a5c031afeabc60bcef5ff665138",
        "b301803f8b5ac4a1133581fc676dfedc60d891dd5fa99028805e5ea5b08d3491af75d0707adab3b70c6a6a580217bf81",
        "b23c46be3a001c63ca711f87a005c200cc550b9429d5f4eb38d74322144f1b63926da3388979e5321012fb1a0526bcd1\
         00b5ef5fe72628ce4cd5e904aeaa3279527843fae5ca9ca675f4f51ed8f83bbf7155da9ecc9663100a885d5dc6df96d9",
    ),
    (
        "328388aff0d4a5b7dc9205abd374e7e98f3cd9f3418edb4eafda5fb16473d216",
        "b53d21a4cfd562c469cc81514d4ce5a6b577d8403d32a394dc265dd190b47fa9f829fdd7963afdf972e5e77854051f6f",
        "948a7cb99f76d616c2c564ce9bf4a519f1bea6b0a624a02276443c245854219fabb8d4ce061d255af5330b078d538068\
         1751aa7053da2c98bae898edc218c75f07e24d8802a17cd1f6833b71e58f5eb5b94208b4d0bb3848cecb075ea21be115",
    ),
];
const ETH2_SUM: &str = "9683b3e6701f9a4b706709577963110043af78a5b41991b998475a3d3fd62abf35ce03b33908418efc95a058494a8ae5\
     04354b9f626231f6b3f3c849dfdeaf5017c4780e2aee1850ceaf4b4d9ce70971a3d2cfcd97b7e5ecf6759f8da5f76d31";

#[test]
fn bls_signs_and_sums_as_ethereum_does() {
    let card = card();
    let (mut infos, mut signatures) = (Vec::new(), Vec::new());
    for (value, point, signature) in ETH2 {
        let private = card.import(k::PRIVATE, k::EC, &pkcs8(BLS12_381, &hex(value)), &[]).unwrap();
        let signature = hex(signature);
        assert_eq!(card.sign(&private, &other(6), &[0; 32]).as_ref(), Ok(&signature));
        let info = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO]).unwrap().1.remove(0);
        // The uncompressed point is the compressed one without its flags, and y.
        let x = [&[hex(point)[0] & 0x1f], &hex(point)[1..]].concat();
        assert_eq!((info.len(), &info[..31], &info[31..79]), (127, &bls_info(&[])[..], &x[..]));
        assert_eq!(card.verify(&info, &other(6), &[0; 32], &signature), Ok(()));
        infos.push(info);
        signatures.push(signature);
    }
    let sum = |size: usize, elements: &[u8]| {
        let parameter = Parameter::Aggregate { mode: 1, size: size as u32, elements };
        card.sign(b"", &with(m::IBM_EC_AGGREGATE, parameter), b"whatever")
    };
    let all = signatures.concat();
    assert_eq!(sum(96, &all), Ok(hex(ETH2_SUM)));
    assert_eq!(sum(96, &all[..96]).as_ref(), Ok(&signatures[0]));
    for (size, elements) in [(95, &all[..]), (96, &all[1..]), (96, b""), (0, &all), (48, &all)] {
        assert_eq!(sum(size, elements), Err(rv::MECHANISM_PARAM_INVALID));
    }
    let mut changed = all.clone();
    changed[50] ^= 1;
    assert_eq!(sum(96, &changed), Err(rv::MECHANISM_PARAM_INVALID));
    let keyed = card.sign(
        &infos[0],
        &with(m::IBM_EC_AGGREGATE, Parameter::Aggregate { mode: 1, size: 96, elements: &all }),
        b"",
    );
    assert_eq!(keyed, Err(rv::ARGUMENTS_BAD));
    // The sum of the public keys verifies the sum of signatures of one message.
    let keys = |size: usize, elements: &[u8], flags: &[(u32, bool)]| {
        let parameter = Parameter::Aggregate { mode: 2, size: size as u32, elements };
        let wanted = template(flags, &[(a::KEY_TYPE, Value::Number(k::EC)), (a::EC_PARAMS, Value::Bytes(BLS12_381))]);
        card.call(F::DeriveKey, &[&with(m::IBM_EC_AGGREGATE, parameter), &wanted, b"", b"", b""])
    };
    let flags = [(a::VERIFY, true), (a::DERIVE, true), (a::IBM_USE_AS_DATA, true)];
    let public = keys(127, &infos.concat(), &flags).unwrap().remove(0);
    assert!(public.len() > 127, "with a MAC");
    assert_eq!(card.verify(&public, &other(6), &[0; 32], &hex(ETH2_SUM)), Ok(()));
    assert_eq!(card.verify(&public, &other(6), &[1; 32], &hex(ETH2_SUM)), Err(rv::SIGNATURE_INVALID));
    let two = keys(127, &infos[1..].concat(), &[]).unwrap().remove(0);
    assert_eq!(card.verify(&two, &other(6), &[0; 32], &hex(ETH2_SUM)), Err(rv::SIGNATURE_INVALID));
    // Those with a MAC are summed up too, and a MAC that is wrong is told.
    let [_, mine] = card.ec(BLS12_381, &[]);
    let [_, other_pair] = card.ec(BLS12_381, &[]);
    let mut both = [mine.clone(), other_pair].concat();
    assert!(keys(mine.len(), &both, &[]).is_ok());
    *both.last_mut().unwrap() ^= 1;
    assert_eq!(keys(mine.len(), &both, &[]), Err(rv::IBM_BLOB_ERROR));
    let [_, p256] = card.ec(P256, &[]);
    assert_eq!(keys(p256.len(), &p256, &[]), Err(rv::KEY_TYPE_INCONSISTENT));
    assert_eq!(keys(126, &infos.concat(), &[]), Err(rv::MECHANISM_PARAM_INVALID));
}

#[test]
fn secp256k1_agrees() {
    let card = card();
    let ([mine, my_public], [theirs, their_public]) = (card.ec(SECP256K1, DERIVES), card.ec(SECP256K1, DERIVES));
    let point = |public: &[u8]| public[23..88].to_vec();
    let generic = template(&[], &[(a::KEY_TYPE, Value::Number(k::GENERIC_SECRET))]);
    for kdf in [1, 6] {
        let secret = |base: &[u8], public: &[u8]| {
            let parameter = Parameter::Ecdh { kdf, shared: if kdf == 1 { b"" } else { b"shared" }, public };
            card.call(F::DeriveKey, &[&with(m::ECDH1_DERIVE, parameter), &generic, base, b"", b""])
        };
        let mark = |key: &[u8]| card.sign(key, &plain(m::SHA256_HMAC), b"mark").unwrap();
        let (one, other) =
            (secret(&mine, &point(&their_public)).unwrap(), secret(&theirs, &point(&my_public)).unwrap());
        assert_eq!((one[1].clone(), mark(&one[0])), (other[1].clone(), mark(&other[0])));
        let mut wrong = point(&their_public);
        wrong[64] ^= 1;
        assert_eq!(secret(&mine, &wrong), Err(rv::MECHANISM_PARAM_INVALID));
        assert_eq!(secret(&mine, &[0]), Err(rv::MECHANISM_PARAM_INVALID));
    }
}
