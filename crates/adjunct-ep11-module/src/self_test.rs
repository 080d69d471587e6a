//! Known answers of what the module is made of.

use crate::error::{Result, ensure};
use crate::key::Material;
use adjunct::InOut;
use adjunct::ops::cipher::once::{Aes, cbc};
use adjunct::ops::digest::{Part, SHA256, SHA512};
use adjunct::ops::drbg;
use adjunct::ops::mac::hmac_within;
use adjunct::ops::random::random;
use adjunct_ep11_wire::codes::rv;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use cryptoki_sys::{CKM_ECDSA, CKM_SHA256_RSA_PKCS};

/// A key of nobody, and its signature by PKCS #1 v1.5 with SHA-256 of "abc", which OpenSSL 3.0 made.
const RSA_KEY: &[u8] = include_bytes!("self_test/rsa.p8");
const RSA_SIGNATURE: &[u8] = include_bytes!("self_test/rsa.sig");

/// A test, by its name.
type Test = (&'static str, fn() -> Result);

const TESTS: [Test; 7] = [
    ("AES", aes),
    ("SHA-2", sha),
    ("HMAC", hmac),
    ("RSA", rsa),
    ("ECDSA", ecdsa),
    ("DRBG", drbg),
    ("random bytes", random_bytes),
];

/// Runs all tests; the name of the first that fails.
pub(crate) fn run() -> std::result::Result<(), String> {
    let failed = TESTS.iter().find_map(|(name, test)| test().err().map(|error| (name, error.0)));
    failed.map_or(Ok(()), |(name, error)| Err(format!("self-test of {name} failed: {error:#x}")))
}

/// Bytes of hexadecimal digits.
fn hex<const N: usize>(digits: &str) -> [u8; N] {
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = pair.iter().fold(0, |byte, digit| byte << 4 | (*digit as char).to_digit(16).unwrap_or(0) as u8);
    }
    out
}

fn same(one: &[u8], other: &[u8]) -> Result {
    ensure(one == other, rv::FUNCTION_FAILED)
}

/// SP 800-38A, F.2.5 and F.2.6.
fn aes() -> Result {
    let key: [u8; 32] = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
    let (iv, plain): ([u8; 16], [u8; 16]) =
        (hex("000102030405060708090a0b0c0d0e0f"), hex("6bc1bee22e409f96e93d7e117393172a"));
    let mut text = plain;
    cbc::<Aes, 16>(&key, &mut iv.clone(), true, InOut::in_place(&mut text))?;
    same(&text, &hex::<16>("f58c4c04d6e5f1ba779eabfb5f7bfbd6"))?;
    cbc::<Aes, 16>(&key, &mut iv.clone(), false, InOut::in_place(&mut text))?;
    same(&text, &plain)
}

/// FIPS 180-4's example "abc".
fn sha() -> Result {
    let mut digest = Part::new(&SHA256);
    let mut out = [0; 64];
    digest.update(b"abc");
    digest.finish(&mut out);
    same(&out[..32], &hex::<32>("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))?;
    let mut digest = Part::new(&SHA512);
    digest.update(b"abc");
    digest.finish(&mut out);
    same(
        &out,
        &hex::<64>(
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
    )
}

/// RFC 4231, 4.2.
fn hmac() -> Result {
    let mut out = [0; 32];
    hmac_within(&SHA256, &[11; 20], &[b"Hi ", b"There"], &mut out)?;
    same(&out, &hex::<32>("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"))
}

fn rsa() -> Result {
    let private = Material::of_pkcs8(RSA_KEY)?;
    let mechanism = Mechanism::new(CKM_SHA256_RSA_PKCS, Params::None);
    let mut signer = mechanism.signer(private.held.clone())?;
    let mut signature = vec![0; signer.length()];
    signer.once(b"abc", &mut signature)?;
    same(&signature, RSA_SIGNATURE)?;
    let public = Material::of_spki(&private.spki()?)?;
    let mut verifier = mechanism.verifier(public.held.clone())?;
    verifier.update(b"abc")?;
    Ok(verifier.finish(RSA_SIGNATURE)?)
}

/// RFC 6979, A.2.5: a signature of the SHA-256 of "sample" with P-256.
fn ecdsa() -> Result {
    let head: [u8; 27] = hex("3059301306072a8648ce3d020106082a8648ce3d03010703420004");
    let point: [u8; 64] = hex("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6\
         7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299");
    let signature: [u8; 64] = hex("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
         f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");
    let mut digest = Part::new(&SHA256);
    let mut hash = [0; 32];
    digest.update(b"sample");
    digest.finish(&mut hash);
    let public = Material::of_spki(&[&head[..], &point].concat())?;
    let mechanism = Mechanism::new(CKM_ECDSA, Params::None);
    let mut verifier = mechanism.verifier(public.held.clone())?;
    verifier.update(&hash)?;
    verifier.finish(&signature)?;
    let mut wrong = hash;
    wrong[0] ^= 1;
    let mut verifier = mechanism.verifier(public.held)?;
    verifier.update(&wrong)?;
    ensure(verifier.finish(&signature).is_err(), rv::FUNCTION_FAILED)
}

/// Hash_DRBG, by NIST's vectors.
fn drbg() -> Result {
    ensure(drbg::known_answers(), rv::FUNCTION_FAILED)
}

/// What the generator gives does not stand still.
fn random_bytes() -> Result {
    let (mut one, mut other) = ([0; 32], [0; 32]);
    random(&mut one);
    random(&mut other);
    ensure(one != other && one != [0; 32], rv::FUNCTION_FAILED)
}
