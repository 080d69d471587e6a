//! Operations of several calls, by messages: they come to what a call for all does, wherever the data are split; and a state is good for nothing else.

mod card;

use adjunct_ep11_module::mechanisms::{self, Family, MECHANISMS};
use adjunct_ep11_wire::codes::{mechanism as m, rv};
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::mechanism::{Parameter, Shape};
use card::{Card, DOMAIN, OTHER, mechanism};

/// Numbers that are the same in each run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn parts<'a>(&mut self, mut data: &'a [u8]) -> Vec<&'a [u8]> {
        let mut parts = Vec::new();
        while !data.is_empty() {
            let (part, rest) = data.split_at(1 + self.below(data.len()));
            parts.push(part);
            data = rest;
        }
        parts
    }
}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + 7) as u8).collect()
}

/// The mechanisms of families.
fn of(is: impl Fn(Family) -> bool) -> Vec<u32> {
    MECHANISMS.iter().filter(|entry| entry.is_here() && is(entry.family)).map(|entry| entry.kind).collect()
}

/// The functions of an operation: at once, first call, part, end, all with a state.
type Functions = [Function; 5];
const DIGEST: Functions =
    [Function::DigestSingle, Function::DigestInit, Function::DigestUpdate, Function::DigestFinal, Function::Digest];
const ENCRYPT: Functions = [
    Function::EncryptSingle,
    Function::EncryptInit,
    Function::EncryptUpdate,
    Function::EncryptFinal,
    Function::Encrypt,
];
const DECRYPT: Functions = [
    Function::DecryptSingle,
    Function::DecryptInit,
    Function::DecryptUpdate,
    Function::DecryptFinal,
    Function::Decrypt,
];
const SIGN: Functions =
    [Function::SignSingle, Function::SignInit, Function::SignUpdate, Function::SignFinal, Function::Sign];

/// What an operation gives of parts; its state never changes its length.
fn in_parts(card: &Card, functions: Functions, arguments: &[&[u8]], parts: &[&[u8]]) -> Result<Vec<u8>, u32> {
    let [_, init, update, end, _] = functions;
    let mut state = card.one(init, arguments)?;
    let (length, mut out) = (state.len(), Vec::new());
    assert!(length <= if init == Function::DigestInit { 1024 } else { 12_288 });
    for part in parts {
        let mut results = card.call(update, &[&state, part])?;
        state = results.remove(0);
        assert_eq!(state.len(), length, "{update:?}");
        results.into_iter().for_each(|more| out.extend_from_slice(&more));
    }
    out.extend_from_slice(&card.one(end, &[&state])?);
    Ok(out)
}

fn verified(card: &Card, mechanism: &[u8], key: &[u8], parts: &[&[u8]], signature: &[u8]) -> Result<(), u32> {
    let mut state = card.one(Function::VerifyInit, &[mechanism, key])?;
    for part in parts {
        state = card.one(Function::VerifyUpdate, &[&state, part])?;
    }
    card.call(Function::VerifyFinal, &[&state, signature]).map(drop)
}

#[test]
fn digests_in_parts_are_those_at_once() {
    let (card, data, mut numbers) = (Card::new(), data(1000), Numbers(3));
    for kind in of(|family| family == Family::Digest) {
        let mechanism = mechanism(kind, Parameter::None);
        for length in [0, 1, 64, 65, 127, 128, 144, 1000] {
            let data = &data[..length];
            let expected = card.one(Function::DigestSingle, &[&mechanism, data]).unwrap();
            for _ in 0..3 {
                let parts = numbers.parts(data);
                assert_eq!(in_parts(&card, DIGEST, &[&mechanism], &parts).unwrap(), expected, "{kind:x} {length}");
            }
            let state = card.one(Function::DigestInit, &[&mechanism]).unwrap();
            assert_eq!(card.one(Function::Digest, &[&state, data]).unwrap(), expected, "{kind:x} {length}");
        }
    }
    assert_eq!(card.call(Function::DigestKey, &[&[0; 300], &[0; 300]]), Err(rv::FUNCTION_NOT_SUPPORTED));
    let hmac = mechanism(m::SHA256_HMAC, Parameter::None);
    assert_eq!(card.call(Function::DigestInit, &[&hmac]), Err(rv::MECHANISM_INVALID));
}

#[test]
fn ciphers_in_parts_are_those_at_once() {
    let (card, data, mut numbers) = (Card::new(), data(400), Numbers(5));
    let (aes, des) = (card.aes(&[]), card.secret(m::DES3_KEY_GEN, 24, &[]));
    let iv = [7; 16];
    for (kind, key, parameter, block, padded) in [
        (m::AES_ECB, &aes, Parameter::None, 16, false),
        (m::AES_CBC, &aes, Parameter::Bytes(&iv), 16, false),
        (m::AES_CBC_PAD, &aes, Parameter::Bytes(&iv), 16, true),
        (m::DES3_ECB, &des, Parameter::None, 8, false),
        (m::DES3_CBC, &des, Parameter::Bytes(&iv[..8]), 8, false),
        (m::DES3_CBC_PAD, &des, Parameter::Bytes(&iv[..8]), 8, true),
    ] {
        let mechanism = mechanism(kind, parameter);
        for length in [0, block, 3 * block, 240].into_iter().chain(padded.then_some(251)) {
            let plain = &data[..length];
            let encrypted = card.one(Function::EncryptSingle, &[key, &mechanism, plain]).unwrap();
            for (functions, from, to) in [(ENCRYPT, plain, &encrypted[..]), (DECRYPT, &encrypted, plain)] {
                for _ in 0..4 {
                    let parts = numbers.parts(from);
                    let made = in_parts(&card, functions, &[&mechanism, key], &parts);
                    assert_eq!(made.unwrap(), to, "{kind:x} {length} {:?}", functions[0]);
                }
                let state = card.one(functions[1], &[&mechanism, key]).unwrap();
                assert_eq!(card.one(functions[4], &[&state, from]).unwrap(), to, "{kind:x} {length}");
            }
        }
        if !padded {
            let made = in_parts(&card, ENCRYPT, &[&mechanism, key], &[&data[..block + 1]]);
            assert_eq!(made, Err(rv::DATA_LEN_RANGE));
        }
    }
}

#[test]
fn macs_in_parts_are_those_at_once() {
    let (card, data, mut numbers) = (Card::new(), data(700), Numbers(7));
    let (aes, des) = (card.aes(&[]), card.secret(m::DES3_KEY_GEN, 24, &[]));
    let any = card.secret(m::GENERIC_SECRET_KEY_GEN, 64, &[]);
    for kind in of(|family| matches!(family, Family::Mac(_))) {
        let key = match mechanisms::find(kind).unwrap().family {
            Family::Mac(1..) => &any,
            _ if matches!(kind, m::DES3_CMAC | m::DES3_CMAC_GENERAL) => &des,
            _ => &aes,
        };
        let general = Shape::of(kind) == Shape::Number;
        let parameter = if general { Parameter::Number(7) } else { Parameter::None };
        let mechanism = mechanism(kind, parameter);
        for length in [0, 1, 16, 64, 200, 700] {
            let data = &data[..length];
            let expected = card.one(Function::SignSingle, &[key, &mechanism, data]).unwrap();
            for _ in 0..3 {
                let parts = numbers.parts(data);
                let made = in_parts(&card, SIGN, &[&mechanism, key], &parts).unwrap();
                assert_eq!(made, expected, "{kind:x} {length}");
                assert_eq!(verified(&card, &mechanism, key, &parts, &expected), Ok(()), "{kind:x} {length}");
            }
            let state = card.one(Function::SignInit, &[&mechanism, key]).unwrap();
            assert_eq!(card.one(Function::Sign, &[&state, data]).unwrap(), expected);
            let state = card.one(Function::VerifyInit, &[&mechanism, key]).unwrap();
            assert_eq!(card.call(Function::Verify, &[&state, data, &expected]), Ok(Vec::new()));
            let wrong = card.call(Function::Verify, &[&state, data, &vec![0; expected.len()]]);
            assert_eq!(wrong, Err(rv::SIGNATURE_INVALID));
        }
    }
    let by_des = mechanism(m::IBM_CMAC, Parameter::None);
    let expected = card.one(Function::SignSingle, &[&des, &by_des, &data]).unwrap();
    assert_eq!(in_parts(&card, SIGN, &[&by_des, &des], &numbers.parts(&data)), Ok(expected));
}

#[test]
fn signatures_in_parts_are_those_at_once() {
    let (card, data, mut numbers) = (Card::new(), data(700), Numbers(13));
    let (rsa, ec) = (card.rsa(), card.curve(&[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]));
    let mut done = 0;
    for kind in of(|family| matches!(family, Family::Sign | Family::RsaBoth)) {
        let hash = match kind {
            m::SHA1_RSA_PKCS_PSS => (m::SHA_1, 1),
            m::SHA224_RSA_PKCS_PSS => (m::SHA224, 5),
            m::SHA384_RSA_PKCS_PSS => (m::SHA384, 3),
            m::SHA512_RSA_PKCS_PSS => (m::SHA512, 4),
            _ => (m::SHA256, 2),
        };
        let parameter = match Shape::of(kind) {
            Shape::Pss => Parameter::Pss { hash: hash.0, mgf: hash.1, salt: 20 },
            Shape::Number => Parameter::Number(3),
            _ => Parameter::None,
        };
        // What takes a hash takes as many bytes; of data that are not hashed as they come a state has room for 512.
        let bare = matches!(kind, m::RSA_PKCS | m::RSA_PKCS_PSS | m::RSA_X9_31 | m::ECDSA | m::IBM_ECDSA_OTHER);
        let (mechanism, data) = (mechanism(kind, parameter), if bare { &data[..32] } else { &data[..] });
        for [private, public] in [&rsa, &ec] {
            let single = card.one(Function::SignSingle, &[private, &mechanism, data]);
            if single == Err(rv::KEY_TYPE_INCONSISTENT) {
                continue;
            }
            let parts = numbers.parts(data);
            let signature = in_parts(&card, SIGN, &[&mechanism, private], &parts).unwrap();
            let verified_once = card.call(Function::VerifySingle, &[public, &mechanism, data, &signature]);
            assert_eq!(verified_once, Ok(Vec::new()), "{kind:x}");
            assert_eq!(verified(&card, &mechanism, public, &parts, &single.unwrap()), Ok(()), "{kind:x}");
            let cut = verified(&card, &mechanism, public, &parts[1..], &signature);
            assert!(matches!(cut, Err(rv::SIGNATURE_INVALID | rv::DATA_LEN_RANGE)), "{kind:x} {cut:?}");
            done += 1;
        }
    }
    assert!(done >= 20, "{done}");
}

#[test]
fn every_changed_bit_of_a_state_is_refused() {
    let card = Card::new();
    let key = card.aes(&[]);
    let cbc = mechanism(m::AES_CBC_PAD, Parameter::Bytes(&[1; 16]));
    let state = card.one(Function::EncryptInit, &[&cbc, &key]).unwrap();
    let state = card.call(Function::EncryptUpdate, &[&state, b"some data"]).unwrap().remove(0);
    for bit in 0..8 * state.len() {
        let mut other = state.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let refused = card.call(Function::EncryptFinal, &[&other]).unwrap_err();
        let expected = if (32..48).contains(&(bit / 8)) { rv::IBM_WKID_MISMATCH } else { rv::IBM_BLOB_ERROR };
        assert_eq!(refused, expected, "bit {bit}");
    }
    for length in 0..state.len() {
        assert_eq!(card.call(Function::EncryptFinal, &[&state[..length]]).unwrap_err(), rv::IBM_BLOB_ERROR, "{length}");
    }
    assert!(card.call(Function::EncryptFinal, &[&state]).is_ok());
}

#[test]
fn a_state_is_good_for_nothing_else() {
    let card = Card::new();
    let key = card.aes(&[]);
    let cbc = mechanism(m::AES_CBC, Parameter::Bytes(&[1; 16]));
    let encrypt = card.one(Function::EncryptInit, &[&cbc, &key]).unwrap();
    let other = rv::OPERATION_NOT_INITIALIZED;
    for (function, rest) in [
        (Function::DecryptUpdate, 1),
        (Function::DecryptFinal, 0),
        (Function::Decrypt, 1),
        (Function::SignUpdate, 1),
        (Function::VerifyFinal, 1),
        (Function::DigestFinal, 0),
        (Function::DigestUpdate, 1),
    ] {
        let arguments = [&encrypt[..], &[0; 16]];
        assert_eq!(card.call(function, &arguments[..1 + rest]), Err(other), "{function:?}");
    }
    // Neither is a key a state, nor a state a key.
    assert_eq!(card.call(Function::EncryptFinal, &[&key]), Err(rv::IBM_BLOB_ERROR));
    assert_eq!(card.call(Function::EncryptSingle, &[&encrypt, &cbc, &[0; 16]]), Err(rv::IBM_BLOB_ERROR));
    // All data at once is for a state without data.
    let begun = card.call(Function::EncryptUpdate, &[&encrypt, &[0; 16]]).unwrap().remove(0);
    assert_eq!(card.call(Function::Encrypt, &[&begun, &[0; 16]]), Err(rv::OPERATION_ACTIVE));
    // Another domain has another wrapping key.
    let elsewhere = card.call_in(OTHER, Function::EncryptFinal, &[&encrypt]);
    assert_eq!(elsewhere, Err(rv::IBM_WKID_MISMATCH));
    // A mechanism whose message comes at once has a state for one part alone.
    let ed25519 = [6, 3, 0x2b, 0x65, 0x70];
    let [private, public] = card.curve(&ed25519);
    let eddsa = mechanism(m::IBM_ED25519_SHA512, Parameter::None);
    let state = card.one(Function::SignInit, &[&eddsa, &private]).unwrap();
    assert_eq!(card.call(Function::SignUpdate, &[&state, b"part"]), Err(rv::FUNCTION_NOT_SUPPORTED));
    let signature = card.one(Function::Sign, &[&state, b"all"]).unwrap();
    assert_eq!(card.call(Function::VerifySingle, &[&public, &eddsa, b"all", &signature]), Ok(Vec::new()));
}

#[test]
fn states_end_with_their_session_and_their_rights() {
    let card = Card::new();
    let pin = card.one(Function::Login, &[b"12345678", b"nonce"]).unwrap();
    let key = card.aes(&pin);
    let cbc = mechanism(m::AES_CBC, Parameter::Bytes(&[1; 16]));
    let state = card.one(Function::EncryptInit, &[&cbc, &key]).unwrap();
    assert_eq!(state[..32], key[..32]);
    let state = card.call(Function::EncryptUpdate, &[&state, &[0; 16]]).unwrap().remove(0);
    card.call(Function::Logout, &[&pin]).unwrap();
    assert_eq!(card.call(Function::EncryptUpdate, &[&state, &[0; 16]]), Err(rv::SESSION_CLOSED));
    card.call(Function::Login, &[b"12345678", b"nonce"]).unwrap();
    assert!(card.call(Function::EncryptUpdate, &[&state, &[0; 16]]).is_ok());
    // What control points no longer allow, a state does not do either.
    card.keeper
        .change(&Default::default(), Some(DOMAIN), "test", |state| {
            let unit = &mut state.domain_mut(DOMAIN).unwrap().unit;
            unit.set_points(unit.points().without(adjunct_ep11_wire::codes::control::ENCRYPT_SYMM));
            Ok::<_, String>(())
        })
        .unwrap();
    assert_eq!(card.call(Function::EncryptUpdate, &[&state, &[0; 16]]), Err(rv::FUNCTION_CANCELED));
}

#[test]
fn random_bytes_are_refused() {
    let (card, mut numbers) = (Card::new(), Numbers(11));
    let functions = [ENCRYPT, DECRYPT, SIGN, DIGEST].concat();
    for round in 0..2000 {
        let bytes: Vec<u8> = (0..numbers.below(700)).map(|_| numbers.below(256) as u8).collect();
        let function = functions[round % functions.len()];
        let arguments: Vec<&[u8]> = function.arguments().iter().map(|_| &bytes[..]).collect();
        assert!(card.call(function, &arguments).is_err(), "{function:?}");
    }
}
