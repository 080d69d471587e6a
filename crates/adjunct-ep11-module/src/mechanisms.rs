//! The one table of mechanisms: what each is for, its keys, the control points beside those of the key, and PKCS #11's number that does it.

use crate::context::{Bytes, Context, Results};
use crate::error::{Result, Rv, ensure, fail};
use crate::own::PRIMES;
use adjunct_ep11_wire::codes::{control as c, mechanism as m, rv};
use adjunct_ep11_wire::mechanism::{self as wire, Parameter};
use adjunct_mechanisms::curve448;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::mechanism::params::Params;
use cryptoki_sys::*;

/// What a mechanism is for: PKCS #11's flags.
#[allow(missing_docs)]
pub mod flags {
    pub const ENCRYPT: u32 = 0x100;
    pub const DECRYPT: u32 = 0x200;
    pub const DIGEST: u32 = 0x400;
    pub const SIGN: u32 = 0x800;
    pub const VERIFY: u32 = 0x2000;
    pub const GENERATE: u32 = 0x8000;
    pub const GENERATE_PAIR: u32 = 0x1_0000;
    pub const WRAP: u32 = 0x2_0000;
    pub const UNWRAP: u32 = 0x4_0000;
    pub const DERIVE: u32 = 0x8_0000;
    /// Those of mechanisms on curves: over prime fields, named by identifiers, with uncompressed points.
    pub const CURVES: u32 = 0x10_0000 | 0x80_0000 | 0x100_0000;
}

use flags::*;

const CIPHER: u32 = ENCRYPT | DECRYPT;
const WRAPS: u32 = WRAP | UNWRAP;
const SIGNS: u32 = SIGN | VERIFY;

/// What a mechanism does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Hashes.
    Digest,
    /// Encrypts with a secret key.
    Cipher,
    /// Encrypts with RSA.
    RsaCipher,
    /// Makes a MAC with a secret key; the hash's bytes of an HMAC, 0 of another.
    Mac(u32),
    /// Signs.
    Sign,
    /// RSA's padding that both encrypts and signs.
    RsaBoth,
    /// Makes a secret key.
    Secret,
    /// Makes a pair of keys.
    Pair,
    /// Agrees on a secret with a peer's public value; without a derivation function where `true`.
    Agree(bool),
    /// Hashes a key to another.
    HashKey(Hash),
    /// Encapsulates and decapsulates.
    Kem,
    /// Turns a public key into one whose attributes are vouched for.
    Transport,
    /// Wraps a key with its attributes.
    Bound,
    /// Derives keys on curves of others.
    Hierarchy,
    /// Sums signatures up, or public keys.
    Aggregate,
}

/// A mechanism.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its number.
    pub kind: u32,
    /// PKCS #11's number of what does it.
    pub core: CK_MECHANISM_TYPE,
    /// What it does.
    pub family: Family,
    /// The smallest key, in the unit of PKCS #11.
    pub least: u32,
    /// The largest key.
    pub most: u32,
    /// What it is for ([`flags`]).
    pub flags: u32,
    /// Control points beside those of key and function.
    pub points: &'static [u8],
    /// Whether only a library has it that is not there everywhere.
    pub curve448: bool,
}

const fn entry(kind: u32, core: CK_MECHANISM_TYPE, family: Family, sizes: (u32, u32), flags: u32) -> Entry {
    Entry { kind, core, family, least: sizes.0, most: sizes.1, flags, points: &[], curve448: false }
}

const fn digest(kind: u32, core: CK_MECHANISM_TYPE) -> Entry {
    entry(kind, core, Family::Digest, (0, 0), DIGEST)
}

/// Programs look at the sizes in bits: half of the hash is the least that new domains take ([`c::HMAC_ANY`]).
const fn hmac(kind: u32, core: CK_MECHANISM_TYPE, hash: u32) -> Entry {
    entry(kind, core, Family::Mac(hash), (4 * hash, 8 * 4096), SIGNS)
}

const fn mac(kind: u32, core: CK_MECHANISM_TYPE) -> Entry {
    entry(kind, core, Family::Mac(0), (16, 32), SIGNS)
}

const fn cipher(kind: u32, core: CK_MECHANISM_TYPE) -> Entry {
    entry(kind, core, Family::Cipher, (16, 32), CIPHER | WRAPS)
}

const fn rsa(kind: u32, core: CK_MECHANISM_TYPE) -> Entry {
    entry(kind, core, Family::Sign, RSA, SIGNS)
}

const fn ecdsa(kind: u32, core: CK_MECHANISM_TYPE) -> Entry {
    entry(kind, core, Family::Sign, CURVES_BITS, SIGNS | CURVES)
}

const fn hash_key(kind: u32, core: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    entry(kind, core, Family::HashKey(hash), (1, 4096), DERIVE)
}

/// The number of a mechanism that PKCS #11 does not have.
const fn own(kind: u32) -> CK_MECHANISM_TYPE {
    kind as CK_MECHANISM_TYPE
}

const fn hierarchy(kind: u32, sizes: (u32, u32), points: &'static [u8]) -> Entry {
    entry(kind, own(kind), Family::Hierarchy, sizes, DERIVE | CURVES).points(points)
}

impl Entry {
    const fn sizes(self, (least, most): (u32, u32)) -> Entry {
        Entry { least, most, ..self }
    }

    const fn points(self, points: &'static [u8]) -> Entry {
        Entry { points, ..self }
    }

    const fn curve448(self) -> Entry {
        Entry { curve448: true, ..self }
    }

    /// Whether it works here.
    pub fn is_here(&self) -> bool {
        !self.curve448 || curve448::is_available()
    }
}

const RSA: (u32, u32) = (512, 4096);
const CURVES_BITS: (u32, u32) = (160, 521);
/// Hashes by SHA-1 for signatures.
const SHA1_SIGNS: &[u8] = &[c::NFIPS2011];

/// All mechanisms, in the order of m_GetMechanismList.
pub static MECHANISMS: &[Entry] = &[
    entry(m::RSA_PKCS_KEY_PAIR_GEN, CKM_RSA_PKCS_KEY_PAIR_GEN, Family::Pair, RSA, GENERATE_PAIR),
    entry(m::RSA_PKCS, CKM_RSA_PKCS, Family::RsaBoth, RSA, CIPHER | WRAPS | SIGNS),
    entry(m::RSA_PKCS_OAEP, CKM_RSA_PKCS_OAEP, Family::RsaCipher, RSA, CIPHER | WRAPS).points(&[c::RSA_OAEP]),
    rsa(m::SHA1_RSA_PKCS, CKM_SHA1_RSA_PKCS).points(SHA1_SIGNS),
    rsa(m::SHA224_RSA_PKCS, CKM_SHA224_RSA_PKCS),
    rsa(m::SHA256_RSA_PKCS, CKM_SHA256_RSA_PKCS),
    rsa(m::SHA384_RSA_PKCS, CKM_SHA384_RSA_PKCS),
    rsa(m::SHA512_RSA_PKCS, CKM_SHA512_RSA_PKCS),
    rsa(m::RSA_PKCS_PSS, CKM_RSA_PKCS_PSS),
    rsa(m::SHA1_RSA_PKCS_PSS, CKM_SHA1_RSA_PKCS_PSS).points(SHA1_SIGNS),
    rsa(m::SHA224_RSA_PKCS_PSS, CKM_SHA224_RSA_PKCS_PSS),
    rsa(m::SHA256_RSA_PKCS_PSS, CKM_SHA256_RSA_PKCS_PSS),
    rsa(m::SHA384_RSA_PKCS_PSS, CKM_SHA384_RSA_PKCS_PSS),
    rsa(m::SHA512_RSA_PKCS_PSS, CKM_SHA512_RSA_PKCS_PSS),
    entry(m::RSA_X9_31_KEY_PAIR_GEN, CKM_RSA_PKCS_KEY_PAIR_GEN, Family::Pair, (1024, 4096), GENERATE_PAIR),
    rsa(m::RSA_X9_31, CKM_RSA_X9_31),
    rsa(m::SHA1_RSA_X9_31, CKM_SHA1_RSA_X9_31).points(SHA1_SIGNS),
    entry(m::DSA_KEY_PAIR_GEN, CKM_DSA_KEY_PAIR_GEN, Family::Pair, PRIMES, GENERATE_PAIR),
    entry(m::DSA, CKM_DSA, Family::Sign, PRIMES, SIGNS),
    entry(m::DSA_SHA1, CKM_DSA_SHA1, Family::Sign, PRIMES, SIGNS).points(SHA1_SIGNS),
    entry(m::DH_PKCS_KEY_PAIR_GEN, CKM_DH_PKCS_KEY_PAIR_GEN, Family::Pair, PRIMES, GENERATE_PAIR),
    entry(m::DH_PKCS_DERIVE, CKM_DH_PKCS_DERIVE, Family::Agree(true), PRIMES, DERIVE),
    entry(m::IBM_DH_PKCS_DERIVE_RAW, CKM_DH_PKCS_DERIVE, Family::Agree(true), PRIMES, DERIVE),
    entry(m::EC_KEY_PAIR_GEN, CKM_EC_KEY_PAIR_GEN, Family::Pair, CURVES_BITS, GENERATE_PAIR | CURVES),
    entry(m::EC_EDWARDS_KEY_PAIR_GEN, CKM_EC_EDWARDS_KEY_PAIR_GEN, Family::Pair, (255, 448), GENERATE_PAIR | CURVES),
    entry(
        m::EC_MONTGOMERY_KEY_PAIR_GEN,
        CKM_EC_MONTGOMERY_KEY_PAIR_GEN,
        Family::Pair,
        (255, 448),
        GENERATE_PAIR | CURVES,
    ),
    ecdsa(m::ECDSA, CKM_ECDSA),
    ecdsa(m::ECDSA_SHA1, CKM_ECDSA_SHA1).points(SHA1_SIGNS),
    ecdsa(m::ECDSA_SHA224, CKM_ECDSA_SHA224),
    ecdsa(m::ECDSA_SHA256, CKM_ECDSA_SHA256),
    ecdsa(m::ECDSA_SHA384, CKM_ECDSA_SHA384),
    ecdsa(m::ECDSA_SHA512, CKM_ECDSA_SHA512),
    ecdsa(m::IBM_ECDSA_SHA224, CKM_ECDSA_SHA224),
    ecdsa(m::IBM_ECDSA_SHA256, CKM_ECDSA_SHA256),
    ecdsa(m::IBM_ECDSA_SHA384, CKM_ECDSA_SHA384),
    ecdsa(m::IBM_ECDSA_SHA512, CKM_ECDSA_SHA512),
    ecdsa(m::IBM_ECDSA_OTHER, own(m::IBM_ECDSA_OTHER)).sizes((256, 381)).points(&[c::ECDSA_OTHER]),
    entry(m::EDDSA, CKM_EDDSA, Family::Sign, (255, 448), SIGNS | CURVES),
    entry(m::IBM_ED25519_SHA512, CKM_EDDSA, Family::Sign, (255, 255), SIGNS | CURVES),
    entry(m::IBM_ED448_SHA3, CKM_EDDSA, Family::Sign, (448, 448), SIGNS | CURVES).curve448(),
    entry(m::ECDH1_DERIVE, CKM_ECDH1_DERIVE, Family::Agree(false), CURVES_BITS, DERIVE | CURVES),
    entry(m::IBM_ECDH1_DERIVE_RAW, CKM_ECDH1_DERIVE, Family::Agree(true), CURVES_BITS, DERIVE | CURVES),
    entry(m::IBM_EC_X25519, CKM_ECDH1_DERIVE, Family::Agree(false), (255, 255), DERIVE | CURVES),
    entry(m::IBM_EC_X25519_RAW, CKM_ECDH1_DERIVE, Family::Agree(true), (255, 255), DERIVE | CURVES),
    entry(m::IBM_EC_X448, CKM_ECDH1_DERIVE, Family::Agree(false), (448, 448), DERIVE | CURVES).curve448(),
    entry(m::IBM_EC_X448_RAW, CKM_ECDH1_DERIVE, Family::Agree(true), (448, 448), DERIVE | CURVES).curve448(),
    hierarchy(m::IBM_BTC_DERIVE, (255, 256), &[c::BTC]),
    hierarchy(m::IBM_ETH_DERIVE, (381, 381), &[c::PAIRING]),
    entry(m::IBM_EC_AGGREGATE, own(m::IBM_EC_AGGREGATE), Family::Aggregate, (381, 381), SIGN | DERIVE | CURVES)
        .points(&[c::PAIRING]),
    entry(m::IBM_DILITHIUM, own(m::IBM_DILITHIUM), Family::Sign, (1312, 2592), GENERATE_PAIR | SIGNS),
    entry(m::IBM_ML_DSA_KEY_PAIR_GEN, CKM_ML_DSA_KEY_PAIR_GEN, Family::Pair, (1312, 2592), GENERATE_PAIR),
    entry(m::IBM_ML_DSA, CKM_ML_DSA, Family::Sign, (1312, 2592), SIGNS),
    entry(m::IBM_ML_KEM_KEY_PAIR_GEN, CKM_ML_KEM_KEY_PAIR_GEN, Family::Pair, (800, 1568), GENERATE_PAIR),
    entry(m::IBM_ML_KEM, CKM_ML_KEM, Family::Kem, (800, 1568), DERIVE),
    entry(m::AES_KEY_GEN, CKM_AES_KEY_GEN, Family::Secret, (16, 32), GENERATE),
    cipher(m::AES_ECB, CKM_AES_ECB),
    cipher(m::AES_CBC, CKM_AES_CBC),
    cipher(m::AES_CBC_PAD, CKM_AES_CBC_PAD),
    mac(m::AES_CMAC, CKM_AES_CMAC),
    mac(m::AES_CMAC_GENERAL, CKM_AES_CMAC_GENERAL),
    mac(m::IBM_CMAC, CKM_AES_CMAC),
    entry(m::DES2_KEY_GEN, CKM_DES2_KEY_GEN, Family::Secret, (16, 16), GENERATE),
    entry(m::DES3_KEY_GEN, CKM_DES3_KEY_GEN, Family::Secret, (24, 24), GENERATE),
    cipher(m::DES3_ECB, CKM_DES3_ECB),
    cipher(m::DES3_CBC, CKM_DES3_CBC),
    cipher(m::DES3_CBC_PAD, CKM_DES3_CBC_PAD),
    mac(m::DES3_CMAC, CKM_DES3_CMAC),
    mac(m::DES3_CMAC_GENERAL, CKM_DES3_CMAC_GENERAL),
    entry(m::GENERIC_SECRET_KEY_GEN, CKM_GENERIC_SECRET_KEY_GEN, Family::Secret, (1, 4096), GENERATE),
    digest(m::SHA_1, CKM_SHA_1),
    digest(m::SHA224, CKM_SHA224),
    digest(m::SHA256, CKM_SHA256),
    digest(m::SHA384, CKM_SHA384),
    digest(m::SHA512, CKM_SHA512),
    digest(m::SHA512_224, CKM_SHA512_224),
    digest(m::SHA512_256, CKM_SHA512_256),
    digest(m::IBM_SHA512_224, CKM_SHA512_224),
    digest(m::IBM_SHA512_256, CKM_SHA512_256),
    digest(m::SHA3_224, CKM_SHA3_224),
    digest(m::SHA3_256, CKM_SHA3_256),
    digest(m::SHA3_384, CKM_SHA3_384),
    digest(m::SHA3_512, CKM_SHA3_512),
    digest(m::IBM_SHA3_224, CKM_SHA3_224),
    digest(m::IBM_SHA3_256, CKM_SHA3_256),
    digest(m::IBM_SHA3_384, CKM_SHA3_384),
    digest(m::IBM_SHA3_512, CKM_SHA3_512),
    hmac(m::SHA_1_HMAC, CKM_SHA_1_HMAC, 20),
    hmac(m::SHA_1_HMAC_GENERAL, CKM_SHA_1_HMAC_GENERAL, 20),
    hmac(m::SHA224_HMAC, CKM_SHA224_HMAC, 28),
    hmac(m::SHA224_HMAC_GENERAL, CKM_SHA224_HMAC_GENERAL, 28),
    hmac(m::SHA256_HMAC, CKM_SHA256_HMAC, 32),
    hmac(m::SHA256_HMAC_GENERAL, CKM_SHA256_HMAC_GENERAL, 32),
    hmac(m::SHA384_HMAC, CKM_SHA384_HMAC, 48),
    hmac(m::SHA384_HMAC_GENERAL, CKM_SHA384_HMAC_GENERAL, 48),
    hmac(m::SHA512_HMAC, CKM_SHA512_HMAC, 64),
    hmac(m::SHA512_HMAC_GENERAL, CKM_SHA512_HMAC_GENERAL, 64),
    hmac(m::SHA512_224_HMAC, CKM_SHA512_224_HMAC, 28),
    hmac(m::SHA512_256_HMAC, CKM_SHA512_256_HMAC, 32),
    hmac(m::IBM_SHA512_224_HMAC, CKM_SHA512_224_HMAC, 28),
    hmac(m::IBM_SHA512_256_HMAC, CKM_SHA512_256_HMAC, 32),
    hmac(m::SHA3_224_HMAC, CKM_SHA3_224_HMAC, 28),
    hmac(m::SHA3_256_HMAC, CKM_SHA3_256_HMAC, 32),
    hmac(m::SHA3_384_HMAC, CKM_SHA3_384_HMAC, 48),
    hmac(m::SHA3_512_HMAC, CKM_SHA3_512_HMAC, 64),
    hmac(m::IBM_SHA3_224_HMAC, CKM_SHA3_224_HMAC, 28),
    hmac(m::IBM_SHA3_256_HMAC, CKM_SHA3_256_HMAC, 32),
    hmac(m::IBM_SHA3_384_HMAC, CKM_SHA3_384_HMAC, 48),
    hmac(m::IBM_SHA3_512_HMAC, CKM_SHA3_512_HMAC, 64),
    hash_key(m::SHA1_KEY_DERIVATION, CKM_SHA1_KEY_DERIVATION, Hash::Sha1),
    hash_key(m::SHA224_KEY_DERIVATION, CKM_SHA224_KEY_DERIVATION, Hash::Sha224),
    hash_key(m::SHA256_KEY_DERIVATION, CKM_SHA256_KEY_DERIVATION, Hash::Sha256),
    hash_key(m::SHA384_KEY_DERIVATION, CKM_SHA384_KEY_DERIVATION, Hash::Sha384),
    hash_key(m::SHA512_KEY_DERIVATION, CKM_SHA512_KEY_DERIVATION, Hash::Sha512),
    entry(m::IBM_TRANSPORTKEY, own(m::IBM_TRANSPORTKEY), Family::Transport, (0, 0), UNWRAP),
    entry(m::IBM_ATTRIBUTEBOUND_WRAP, own(m::IBM_ATTRIBUTEBOUND_WRAP), Family::Bound, (16, 4096), WRAPS),
];

/// A mechanism by its number.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`.
pub fn find(kind: u32) -> Result<&'static Entry> {
    let found = MECHANISMS.iter().find(|entry| entry.kind == kind);
    found.filter(|entry| entry.is_here()).ok_or(Rv(rv::MECHANISM_INVALID))
}

/// A mechanism of a request.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What is known of it.
    pub entry: &'static Entry,
    /// Its parameter.
    pub parameter: Parameter<'a>,
}

impl<'a> Wanted<'a> {
    /// Reads a mechanism that is for a use.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`.
    pub fn read(bytes: &'a [u8], flag: u32) -> Result<Wanted<'a>> {
        let number = bytes.first_chunk().ok_or(Rv(rv::MECHANISM_INVALID))?;
        let entry = find(u32::from_be_bytes(*number))?;
        ensure(entry.flags & flag != 0, rv::MECHANISM_INVALID)?;
        let read = wire::Mechanism::parse(bytes).ok_or(Rv(rv::MECHANISM_PARAM_INVALID))?;
        Ok(Wanted { entry, parameter: read.parameter })
    }

    /// The mechanism as PKCS #11 has it.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn core(&self) -> Result<Mechanism<'a>> {
        self.core_for(self.entry.core)
    }

    /// With another of PKCS #11's numbers.
    ///
    /// # Errors
    /// As [`Wanted::core`].
    pub fn core_for(&self, kind: CK_MECHANISM_TYPE) -> Result<Mechanism<'a>> {
        let params = match self.parameter {
            Parameter::None => Params::None,
            Parameter::Bytes(bytes) => Params::Bytes(bytes),
            Parameter::Number(number) => Params::Number(number.into()),
            Parameter::Pss { hash, mgf, salt } => {
                Params::Pss { hash: hash_of(hash)?, mgf1: mgf_of(mgf)?, salt: salt as usize }
            }
            Parameter::Oaep { hash, mgf, source, label } => {
                ensure(source == 1 || source == 0 && label.is_empty(), rv::MECHANISM_PARAM_INVALID)?;
                Params::Oaep { hash: hash_of(hash)?, mgf1: mgf_of(mgf)?, label }
            }
            _ => return fail(rv::MECHANISM_PARAM_INVALID),
        };
        Ok(Mechanism::new(kind, params))
    }

    /// Checks that there is no parameter.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn has_no_parameter(&self) -> Result {
        ensure(matches!(self.parameter, Parameter::None), rv::MECHANISM_PARAM_INVALID)
    }
}

/// The hash of a mechanism that hashes.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID` for another.
pub fn hash_of(kind: u32) -> Result<Hash> {
    let digest = find(kind).ok().filter(|entry| entry.family == Family::Digest);
    Ok(match digest.map(|entry| entry.core) {
        Some(CKM_SHA_1) => Hash::Sha1,
        Some(CKM_SHA224) => Hash::Sha224,
        Some(CKM_SHA256) => Hash::Sha256,
        Some(CKM_SHA384) => Hash::Sha384,
        Some(CKM_SHA512) => Hash::Sha512,
        Some(CKM_SHA512_224) => Hash::Sha512_224,
        Some(CKM_SHA512_256) => Hash::Sha512_256,
        Some(CKM_SHA3_224) => Hash::Sha3_224,
        Some(CKM_SHA3_256) => Hash::Sha3_256,
        Some(CKM_SHA3_384) => Hash::Sha3_384,
        Some(CKM_SHA3_512) => Hash::Sha3_512,
        _ => return fail(rv::MECHANISM_PARAM_INVALID),
    })
}

/// The hash of a mask generation function, by PKCS #11's number or IBM's.
fn mgf_of(mgf: u32) -> Result<Hash> {
    Ok(match mgf {
        0x8000_0001 => Hash::Sha3_224,
        0x8000_0002 => Hash::Sha3_256,
        0x8000_0003 => Hash::Sha3_384,
        0x8000_0004 => Hash::Sha3_512,
        mgf => Hash::of_mgf(mgf.into())?,
    })
}

/// m_GetMechanismList.
pub(crate) fn list(_: &Context<'_>) -> Result<Results> {
    let numbers = MECHANISMS.iter().filter(|entry| entry.is_here()).flat_map(|entry| entry.kind.to_be_bytes());
    Ok(vec![Bytes::new(numbers.collect())])
}

/// m_GetMechanismInfo.
pub(crate) fn information(context: &Context<'_>) -> Result<Results> {
    let number = context.argument(0).try_into().map_err(|_| Rv(rv::ARGUMENTS_BAD))?;
    let entry = find(u32::from_be_bytes(number))?;
    let words = [entry.least, entry.most, entry.flags];
    Ok(vec![Bytes::new(words.iter().flat_map(|word| word.to_be_bytes()).collect())])
}
