//! Keys that only the test card can use, by PKCS #11's calls: `adjunct-secure-pkcs11 MODULE` does an operation for each line of standard input.

use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Mechanism, Module, Rv, Session, Template};
use std::collections::BTreeMap;
use std::io::BufRead;

const ACCELERATOR: CK_SLOT_ID = 1;

/// The reference and the public half of a key of the card's list.
fn find(name: &str) -> [Vec<u8>; 2] {
    let digit = |c: u8| (c as char).to_digit(16).expect("a digit") as u8;
    let unhex = |text: &str| text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    let list = std::fs::read_to_string(std::env::var("TEST_CARD_KEYS").expect("a path")).expect("a list");
    let line = list.lines().find(|line| line.split(' ').next() == Some(name)).expect("a key of that name");
    let mut fields = line.split(' ').skip(1).map(unhex);
    [(); 2].map(|()| fields.next().unwrap_or_default())
}

/// A key and its public half.
type Pair = (CK_OBJECT_HANDLE, CK_OBJECT_HANDLE);

fn curve(name: &str) -> &'static [u8] {
    match name {
        "p256" => &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
        "p384" => &[6, 5, 0x2b, 0x81, 4, 0, 0x22],
        "p521" => &[6, 5, 0x2b, 0x81, 4, 0, 0x23],
        _ => &[6, 3, 0x2b, 0x65, 0x70],
    }
}

fn create(session: &Session<'_>, name: &str) -> Result<Pair, Rv> {
    let [reference, public] = find(name);
    let template = |class, kind| {
        Template::new().with_number(CKA_CLASS, class).with_number(CKA_KEY_TYPE, kind).with_flag(CKA_TOKEN, false)
    };
    let both = |kind| (template(CKO_PRIVATE_KEY, kind), template(CKO_PUBLIC_KEY, kind));
    let (private, public) = match name {
        "rsa" => {
            let (private, of_all) = both(CKK_RSA);
            let (e, n) = public[4..].split_at(usize::from(public[0]));
            let with = |template: Template| template.with(CKA_MODULUS, n).with(CKA_PUBLIC_EXPONENT, e);
            (with(private).with(CKA_PRIVATE_EXPONENT, &reference), with(of_all))
        }
        "mldsa65" => {
            let (private, of_all) = both(CKK_ML_DSA);
            let with = |template: Template| template.with_number(CKA_PARAMETER_SET, 2);
            (with(private).with(CKA_VALUE, &reference), with(of_all).with(CKA_VALUE, &public))
        }
        "aes" | "hmac" => {
            let kind = if name == "aes" { CKK_AES } else { CKK_GENERIC_SECRET };
            let secret = template(CKO_SECRET_KEY, kind).with(CKA_VALUE, &reference);
            let secret = secret.with_flag(CKA_SIGN, true).with_flag(CKA_ENCRYPT, name == "aes");
            let key = session.create(&secret)?;
            return Ok((key, key));
        }
        _ => {
            let (private, of_all) = both(if name == "ed25519" { CKK_EC_EDWARDS } else { CKK_EC });
            let point =
                [&[4][..], if public.len() < 128 { &[] } else { &[0x81] }, &[public.len() as u8], &public].concat();
            let with = |template: Template| template.with(CKA_EC_PARAMS, curve(name));
            (with(private).with(CKA_VALUE, &reference), with(of_all).with(CKA_EC_POINT, &point))
        }
    };
    let private = private.with_flag(CKA_SIGN, true).with_flag(CKA_SENSITIVE, false).with_flag(CKA_EXTRACTABLE, true);
    Ok((session.create(&private)?, session.create(&public.with_flag(CKA_VERIFY, true))?))
}

fn work(session: &Session<'_>, keys: &mut BTreeMap<String, Pair>, name: &str) -> Result<bool, Rv> {
    let (name, how) = name.split_once(' ').unwrap_or((name, ""));
    let (key, public) = match keys.get(name) {
        Some(pair) => *pair,
        None => *keys.entry(name.to_owned()).or_insert(create(session, name)?),
    };
    let mut out = [0; 4096];
    if name == "aes" {
        // A block of zeros, by each of these.
        let mechanism = match how {
            "ecb" => Mechanism::from(CKM_AES_ECB),
            "cbc" => Mechanism::Iv(CKM_AES_CBC, &[0; 16]),
            "ctr" => Mechanism::Ctr { block: [0; 16], bits: 64 },
            _ => {
                let length = session.sign(Mechanism::from(CKM_AES_CMAC), key, b"a message", &mut out)?;
                return Ok(length == 16 && out[..16] != [0; 16]);
            }
        };
        // Of CTR two blocks and a half, which need three.
        let data = &[0; 40][..if how == "ctr" { 40 } else { 16 }];
        let length = session.encrypt(mechanism, key, data, &mut out)?;
        return Ok(length == data.len() && out[..16] == find(name)[1]);
    }
    let (mechanism, data): (_, &[u8]) = match name {
        "rsa" => (CKM_SHA256_RSA_PKCS, b"a message"),
        "mldsa65" => (CKM_ML_DSA, b"a message"),
        "ed25519" => (CKM_EDDSA, b"a message"),
        "hmac" => (CKM_SHA256_HMAC, b"check"),
        _ => (CKM_ECDSA, &[7; 32]),
    };
    let length = session.sign(Mechanism::from(mechanism), key, data, &mut out)?;
    if name == "hmac" {
        return Ok(out[..length] == find(name)[1]);
    }
    session.verify(Mechanism::from(mechanism), public, data, &out[..length])?;
    Ok(true)
}

fn main() {
    let path = std::env::args_os().nth(1).expect("adjunct-secure-pkcs11 MODULE");
    let mut module = Module::load(path).expect("the module");
    module.initialize().expect("it starts");
    let session = module.open_session(ACCELERATOR).expect("a session");
    let mut keys = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        match work(&session, &mut keys, &line) {
            Ok(true) => println!("ok"),
            Ok(false) => println!("another result"),
            Err(Rv(CKR_DEVICE_REMOVED)) => println!("CKR_DEVICE_REMOVED"),
            Err(Rv(CKR_DEVICE_ERROR)) => println!("CKR_DEVICE_ERROR"),
            Err(Rv(rv)) => println!("{rv:#x}"),
        }
    }
}
