//! The registry: every mechanism stands in the file of its family, in that file's `ENTRIES`, with all that is known of it. A new mechanism is
//! one entry, and the functions that it names.

use super::hash::Hash;
use super::params::Shape;
use super::{Mechanism, aes, chacha, curves, derive, des3, digest, generate, hmac, mldsa, mlkem, rsa, tls_mac};
use crate::curve448;
use crate::object::Held;
use crate::object::attributes::Attributes;
use crate::operation::{Cipher, Digester, Signer, Verifier};
use crate::rv::{Result, Rv, ensure};
use cryptoki_sys::*;
pub use generate::{Pair, Secret};

/// Flags of signatures and MACs, also of many messages with one key.
pub(crate) const SIGNS: CK_FLAGS = CKF_SIGN | CKF_VERIFY | CKF_MESSAGE_SIGN | CKF_MESSAGE_VERIFY | CKF_MULTI_MESSAGE;
/// Flags of ciphers.
pub(crate) const CIPHERS: CK_FLAGS = CKF_ENCRYPT | CKF_DECRYPT;
/// Flags of ciphers that wrap keys.
pub(crate) const WRAPS: CK_FLAGS = CKF_WRAP | CKF_UNWRAP;
/// Flags of ciphers that encrypt many messages with one key.
pub(crate) const MESSAGES: CK_FLAGS = CKF_MESSAGE_ENCRYPT | CKF_MESSAGE_DECRYPT | CKF_MULTI_MESSAGE;
/// Flags of signatures that give back what they sign.
pub(crate) const RECOVERS: CK_FLAGS = CKF_SIGN_RECOVER | CKF_VERIFY_RECOVER;
/// Flags of mechanisms of curves: which forms of curves and points they take.
pub(crate) const CURVES: CK_FLAGS = CKF_EC_F_P | CKF_EC_OID | CKF_EC_CURVENAME | CKF_EC_UNCOMPRESS;

/// The longest secret key of any bytes that is made here, in bytes.
pub(crate) const LONG: CK_ULONG = 4096;

/// The size of Ed448 and X448, which are not there everywhere.
pub(crate) const CURVE448: CK_ULONG = 448;

/// Begins an encryption (`true`) or a decryption with a key, whose use for it was checked before.
type BeginCipher = fn(Mechanism<'_>, Held, bool) -> Result<Box<dyn Cipher>>;

/// How signatures or MACs begin: to be made, and to be checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs {
    pub signer: fn(Mechanism<'_>, Held) -> Result<Box<dyn Signer>>,
    pub verifier: fn(Mechanism<'_>, Held) -> Result<Box<dyn Verifier>>,
}

/// What begins with a mechanism.
#[derive(Debug, Clone, Copy)]
enum Begins {
    /// Nothing that has an operation: derivations and encapsulations (`keys/`).
    Elsewhere,
    Cipher(BeginCipher),
    Signature(Signs),
    /// RSA's schemes that both encrypt and sign.
    Both(BeginCipher, Signs),
    Digest(fn(Mechanism<'_>) -> Result<Box<dyn Digester>>),
    Secret(fn(Mechanism<'_>, &Attributes) -> Result<Secret>),
    Pair(fn(Mechanism<'_>, &Attributes) -> Result<Pair>),
}

/// A mechanism.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its type.
    pub kind: CK_MECHANISM_TYPE,
    /// Sizes of keys (C_GetMechanismInfo): in bits for RSA and curves, else in bytes (of ML-DSA and ML-KEM the public key's); 0 where there is no
    /// key.
    pub least: CK_ULONG,
    /// The largest key; in a process see [`Entry::most_here`].
    pub most: CK_ULONG,
    /// What it is for (`CKF_*`).
    pub flags: CK_FLAGS,
    /// What its parameter is.
    pub shape: Shape,
    /// The hash that its name says.
    pub hash: Option<Hash>,
    /// The bytes that a wrapped key is filled up to with zeros; 1 where it may have any length.
    pub unit: usize,
    begins: Begins,
}

impl Entry {
    /// An entry; which operation begins with it is said by one of the functions below.
    pub(crate) const fn new(
        kind: CK_MECHANISM_TYPE,
        least: CK_ULONG,
        most: CK_ULONG,
        flags: CK_FLAGS,
        shape: Shape,
    ) -> Entry {
        Entry { kind, least, most, flags, shape, hash: None, unit: 1, begins: Begins::Elsewhere }
    }

    pub(crate) const fn hash(self, hash: Hash) -> Entry {
        Entry { hash: Some(hash), ..self }
    }

    pub(crate) const fn unit(self, unit: usize) -> Entry {
        Entry { unit, ..self }
    }

    pub(crate) const fn cipher(self, begin: BeginCipher) -> Entry {
        let begins = match self.begins {
            Begins::Signature(signs) => Begins::Both(begin, signs),
            _ => Begins::Cipher(begin),
        };
        Entry { begins, ..self }
    }

    pub(crate) const fn signs(self, signs: Signs) -> Entry {
        let begins = match self.begins {
            Begins::Cipher(begin) => Begins::Both(begin, signs),
            _ => Begins::Signature(signs),
        };
        Entry { begins, ..self }
    }

    pub(crate) const fn digest(self, begin: fn(Mechanism<'_>) -> Result<Box<dyn Digester>>) -> Entry {
        Entry { begins: Begins::Digest(begin), ..self }
    }

    pub(crate) const fn secret(self, make: fn(Mechanism<'_>, &Attributes) -> Result<Secret>) -> Entry {
        Entry { begins: Begins::Secret(make), ..self }
    }

    pub(crate) const fn pair(self, make: fn(Mechanism<'_>, &Attributes) -> Result<Pair>) -> Entry {
        Entry { begins: Begins::Pair(make), ..self }
    }

    /// The largest key in this process.
    pub fn most_here(&self) -> CK_ULONG {
        if self.most == CURVE448 && !curve448::is_available() { self.least } else { self.most }
    }
}

impl Mechanism<'_> {
    /// Checks that the mechanism is for a use, by that use's flag.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`.
    #[inline]
    pub fn is_for(self, flag: CK_FLAGS) -> Result {
        ensure(self.entry.flags & flag != 0, CKR_MECHANISM_INVALID)
    }

    /// Begins an encryption (`encrypt`) or a decryption. Whether the key may be used so was checked before.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
    #[inline]
    pub fn cipher(self, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
        match self.entry.begins {
            Begins::Cipher(begin) | Begins::Both(begin, _) => begin(self, key, encrypt),
            _ => Err(Rv(CKR_MECHANISM_INVALID)),
        }
    }

    #[inline]
    fn signs(self) -> Result<Signs> {
        match self.entry.begins {
            Begins::Signature(signs) | Begins::Both(_, signs) => Ok(signs),
            _ => Err(Rv(CKR_MECHANISM_INVALID)),
        }
    }

    /// Begins a signature or a MAC.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
    #[inline]
    pub fn signer(self, key: Held) -> Result<Box<dyn Signer>> {
        (self.signs()?.signer)(self, key)
    }

    /// Begins the check of a signature or a MAC.
    ///
    /// # Errors
    /// As [`Mechanism::signer`].
    #[inline]
    pub fn verifier(self, key: Held) -> Result<Box<dyn Verifier>> {
        (self.signs()?.verifier)(self, key)
    }

    /// Begins a hash.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`.
    #[inline]
    pub fn digester(self) -> Result<Box<dyn Digester>> {
        match self.entry.begins {
            Begins::Digest(begin) => begin(self),
            _ => Err(Rv(CKR_MECHANISM_INVALID)),
        }
    }

    /// Makes a secret key, by a template: its type and its bytes.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_TEMPLATE_INCOMPLETE`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
    pub fn secret(self, template: &Attributes) -> Result<Secret> {
        match self.entry.begins {
            Begins::Secret(make) => make(self, template),
            _ => Err(Rv(CKR_MECHANISM_INVALID)),
        }
    }

    /// Makes a key pair, by the public key's template.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_TEMPLATE_INCOMPLETE`, `CKR_KEY_SIZE_RANGE`, `CKR_ATTRIBUTE_VALUE_INVALID`, `CKR_CURVE_NOT_SUPPORTED`,
    /// `CKR_HOST_MEMORY`.
    pub fn pair(self, template: &Attributes) -> Result<Pair> {
        match self.entry.begins {
            Begins::Pair(make) => make(self, template),
            _ => Err(Rv(CKR_MECHANISM_INVALID)),
        }
    }
}

/// The families, in the order of C_GetMechanismList.
const FAMILIES: [&[Entry]; 15] = [
    rsa::ENTRIES,
    curves::ENTRIES,
    mldsa::ENTRIES,
    mlkem::ENTRIES,
    derive::hkdf::ENTRIES,
    derive::sp800108::ENTRIES,
    derive::bytes::ENTRIES,
    derive::tls::ENTRIES,
    tls_mac::ENTRIES,
    generate::ENTRIES,
    aes::ENTRIES,
    des3::ENTRIES,
    chacha::ENTRIES,
    hmac::ENTRIES,
    digest::ENTRIES,
];

const COUNT: usize = {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
};

const NONE: Entry = Entry::new(CK_UNAVAILABLE_INFORMATION, 0, 0, 0, Shape::Bytes);

/// What a type stands for that no mechanism has.
static UNKNOWN: Entry = NONE;

/// All, in the order of C_GetMechanismList.
pub static MECHANISMS: [Entry; COUNT] = {
    let mut all = [NONE; COUNT];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut place = 0;
        while place < FAMILIES[family].len() {
            all[at] = FAMILIES[family][place];
            (at, place) = (at + 1, place + 1);
        }
        family += 1;
    }
    all
};

/// One more than the greatest type of a mechanism that is here.
const TYPES: usize = 0x4100;

/// The place of each type in [`MECHANISMS`], from 1 on: each operation asks when it begins.
static PLACES: [u8; TYPES] = {
    let mut places = [0; TYPES];
    let mut at = 0;
    while at < COUNT {
        let kind = MECHANISMS[at].kind as usize;
        // Two entries for one type, and more entries than a byte counts, are no program.
        assert!(places[kind] == 0 && at < 255);
        places[kind] = at as u8 + 1;
        at += 1;
    }
    places
};

/// A mechanism by its type.
#[inline]
pub fn find(kind: CK_MECHANISM_TYPE) -> Option<&'static Entry> {
    let place = *PLACES.get(usize::try_from(kind).ok()?)?;
    MECHANISMS.get(usize::from(place).wrapping_sub(1))
}

/// A mechanism by its type; one with which nothing begins where there is none of that type.
#[inline]
pub fn find_or_unknown(kind: CK_MECHANISM_TYPE) -> &'static Entry {
    find(kind).unwrap_or(&UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_and_has_a_name_and_an_operation_for_its_flags() {
        for entry in &MECHANISMS {
            let kind = entry.kind;
            assert_eq!(find(kind).map(|found| found.kind), Some(kind));
            assert!(crate::names::mechanism(kind).is_some() && entry.least <= entry.most && entry.flags != 0);
            let begins = |flags: CK_FLAGS| entry.flags & flags != 0;
            let (mut cipher, mut signs, mut digest, mut secret, mut pair) = (false, false, false, false, false);
            match entry.begins {
                Begins::Elsewhere => {}
                Begins::Cipher(_) => cipher = true,
                Begins::Signature(_) => signs = true,
                Begins::Both(..) => (cipher, signs) = (true, true),
                Begins::Digest(_) => digest = true,
                Begins::Secret(_) => secret = true,
                Begins::Pair(_) => pair = true,
            }
            assert_eq!(begins(CKF_ENCRYPT) || begins(CKF_WRAP), cipher, "{kind:#x}");
            assert_eq!(begins(CKF_SIGN), signs, "{kind:#x}");
            assert_eq!(begins(CKF_DIGEST), digest, "{kind:#x}");
            assert_eq!(begins(CKF_GENERATE), secret, "{kind:#x}");
            assert_eq!(begins(CKF_GENERATE_KEY_PAIR), pair, "{kind:#x}");
            assert_eq!(begins(CKF_DERIVE), matches!(entry.shape, Shape::Derive(_)), "{kind:#x}");
        }
        for kind in [0x4fff, TYPES as CK_MECHANISM_TYPE, CKM_VENDOR_DEFINED, CK_UNAVAILABLE_INFORMATION, CKM_DES_ECB] {
            assert!(find(kind).is_none());
        }
    }
}
