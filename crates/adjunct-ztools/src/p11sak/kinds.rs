//! The types of objects that p11sak knows, and the letters of their attributes.

use adjunct_pkcs11_client::sys::*;

/// Attributes about uses that a type of keys has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uses {
    sign: bool,
    encrypt: bool,
    wrap: bool,
    derive: bool,
    encapsulate: bool,
}

const NONE: Uses = Uses { sign: false, encrypt: false, wrap: false, derive: false, encapsulate: false };

/// The attribute that tells the size of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    None,
    /// Key size by the length of the value: this many bits for each byte.
    ValueLength(CK_ULONG),
    /// The length of the modulus.
    Modulus,
}

/// A type of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyKind {
    /// Name on command lines.
    pub word: &'static str,
    /// Name in what is printed.
    pub name: &'static str,
    pub key_type: CK_KEY_TYPE,
    pub generate: CK_MECHANISM_TYPE,
    pub pair: bool,
    pub size: Size,
    uses: Uses,
}

/// The objects that are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selected {
    /// All keys.
    All,
    /// Keys of this class.
    Class(CK_OBJECT_CLASS),
    /// Keys of this type.
    Of(&'static KeyKind),
    /// All certificates of the one type that there is.
    Certificates,
}

const fn secret(
    word: &'static str,
    name: &'static str,
    key_type: CK_KEY_TYPE,
    generate: CK_MECHANISM_TYPE,
    size: Size,
    uses: Uses,
) -> KeyKind {
    KeyKind { word, name, key_type, generate, pair: false, size, uses }
}

const fn pair(
    word: &'static str,
    name: &'static str,
    key_type: CK_KEY_TYPE,
    generate: CK_MECHANISM_TYPE,
    size: Size,
    uses: Uses,
) -> KeyKind {
    KeyKind { word, name, key_type, generate, pair: true, size, uses }
}

const ALL_USES: Uses = Uses { sign: true, encrypt: true, wrap: true, derive: true, encapsulate: false };
const MACS: Uses = Uses { sign: true, derive: true, ..NONE };
const BITS: Size = Size::ValueLength(8);
const SIGNS: Uses = Uses { sign: true, ..NONE };

/// All types of keys.
pub(super) const KINDS: [KeyKind; 22] = [
    secret("des", "DES", CKK_DES, CKM_DES_KEY_GEN, Size::None, ALL_USES),
    secret("3des", "3DES", CKK_DES3, CKM_DES3_KEY_GEN, Size::None, ALL_USES),
    secret("generic", "GENERIC", CKK_GENERIC_SECRET, CKM_GENERIC_SECRET_KEY_GEN, BITS, MACS),
    secret("sha-hmac", "SHA-HMAC", CKK_SHA_1_HMAC, CKM_SHA_1_KEY_GEN, BITS, SIGNS),
    secret("sha224-hmac", "SHA224-HMAC", CKK_SHA224_HMAC, CKM_SHA224_KEY_GEN, BITS, SIGNS),
    secret("sha256-hmac", "SHA256-HMAC", CKK_SHA256_HMAC, CKM_SHA256_KEY_GEN, BITS, SIGNS),
    secret("sha384-hmac", "SHA384-HMAC", CKK_SHA384_HMAC, CKM_SHA384_KEY_GEN, BITS, SIGNS),
    secret("sha512-hmac", "SHA512-HMAC", CKK_SHA512_HMAC, CKM_SHA512_KEY_GEN, BITS, SIGNS),
    secret("sha512-224-hmac", "SHA512-224-HMAC", CKK_SHA512_224_HMAC, CKM_SHA512_224_KEY_GEN, BITS, SIGNS),
    secret("sha512-256-hmac", "SHA512-256-HMAC", CKK_SHA512_256_HMAC, CKM_SHA512_256_KEY_GEN, BITS, SIGNS),
    secret("sha3-224-hmac", "SHA3-224-HMAC", CKK_SHA3_224_HMAC, CKM_SHA3_224_KEY_GEN, BITS, SIGNS),
    secret("sha3-256-hmac", "SHA3-256-HMAC", CKK_SHA3_256_HMAC, CKM_SHA3_256_KEY_GEN, BITS, SIGNS),
    secret("sha3-384-hmac", "SHA3-384-HMAC", CKK_SHA3_384_HMAC, CKM_SHA3_384_KEY_GEN, BITS, SIGNS),
    secret("sha3-512-hmac", "SHA3-512-HMAC", CKK_SHA3_512_HMAC, CKM_SHA3_512_KEY_GEN, BITS, SIGNS),
    secret("aes", "AES", CKK_AES, CKM_AES_KEY_GEN, BITS, ALL_USES),
    secret("aes-xts", "AES XTS", CKK_AES_XTS, CKM_AES_XTS_KEY_GEN, Size::ValueLength(4), ALL_USES),
    pair(
        "rsa",
        "RSA",
        CKK_RSA,
        CKM_RSA_PKCS_KEY_PAIR_GEN,
        Size::Modulus,
        Uses { sign: true, encrypt: true, wrap: true, ..NONE },
    ),
    pair("ec", "EC", CKK_EC, CKM_EC_KEY_PAIR_GEN, Size::None, MACS),
    pair("ec-edwards", "EC-EDWARDS", CKK_EC_EDWARDS, CKM_EC_EDWARDS_KEY_PAIR_GEN, Size::None, SIGNS),
    pair(
        "ec-montgomery",
        "EC-MONTGOMERY",
        CKK_EC_MONTGOMERY,
        CKM_EC_MONTGOMERY_KEY_PAIR_GEN,
        Size::None,
        Uses { derive: true, ..NONE },
    ),
    pair("ml-dsa", "ML-DSA", CKK_ML_DSA, CKM_ML_DSA_KEY_PAIR_GEN, Size::None, SIGNS),
    pair("ml-kem", "ML-KEM", CKK_ML_KEM, CKM_ML_KEM_KEY_PAIR_GEN, Size::None, Uses { encapsulate: true, ..NONE }),
];

/// The type of certificates; there is one.
pub(super) static X509: KeyKind = KeyKind {
    word: "x509",
    name: "X.509",
    key_type: CK_UNAVAILABLE_INFORMATION,
    generate: CK_UNAVAILABLE_INFORMATION,
    pair: false,
    size: Size::None,
    uses: NONE,
};

impl KeyKind {
    /// A type of keys by the name that is printed, in any case.
    pub(super) fn named(name: &str) -> Option<&'static KeyKind> {
        KINDS.iter().find(|kind| kind.name.eq_ignore_ascii_case(name))
    }

    pub(super) fn of(key_type: CK_KEY_TYPE) -> Option<&'static KeyKind> {
        KINDS.iter().find(|kind| kind.key_type == key_type)
    }

    /// Whether keys of this type and class have an attribute.
    pub(super) fn has(&self, letter: &Letter, class: CK_OBJECT_CLASS) -> bool {
        let of_class = match class {
            CKO_SECRET_KEY => letter.secret,
            CKO_PUBLIC_KEY => letter.public,
            CKO_PRIVATE_KEY => letter.private,
            CKO_CERTIFICATE => letter.certificate,
            _ => false,
        };
        of_class
            && match letter.kind {
                CKA_SIGN | CKA_SIGN_RECOVER | CKA_VERIFY | CKA_VERIFY_RECOVER => self.uses.sign,
                CKA_ENCRYPT | CKA_DECRYPT => self.uses.encrypt,
                CKA_WRAP | CKA_UNWRAP | CKA_WRAP_WITH_TRUSTED => self.uses.wrap,
                CKA_DERIVE => self.uses.derive,
                CKA_ENCAPSULATE | CKA_DECAPSULATE => self.uses.encapsulate,
                _ => true,
            }
    }
}

/// A flag among an object's attributes, and its letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Letter {
    pub letter: char,
    pub name: &'static str,
    pub kind: CK_ATTRIBUTE_TYPE,
    secret: bool,
    public: bool,
    private: bool,
    pub certificate: bool,
    /// Whether the attribute can be set, rather than only looked for.
    pub settable: bool,
}

macro_rules! letters {
    ($($letter:literal $name:ident $kind:expr, $of:literal $settable:literal;)*) => {
        /// All, in the order of the columns.
        pub(super) const LETTERS: [Letter; 25] = [$(Letter {
            letter: $letter,
            name: stringify!($name),
            kind: $kind,
            secret: $of & 4 != 0,
            public: $of & 2 != 0,
            private: $of & 1 != 0,
            certificate: $of & 8 != 0,
            settable: $settable,
        }),*];
    };
}

// IBM's own: of openCryptoki's module, and the first of ours.
const PROTKEY_EXTRACTABLE: CK_ATTRIBUTE_TYPE = CKA_VENDOR_DEFINED + 0x1000c;
const PROTKEY_NEVER_EXTRACTABLE: CK_ATTRIBUTE_TYPE = CKA_VENDOR_DEFINED + 0x1000d;

letters! {
    'P' CKA_PRIVATE CKA_PRIVATE, 15 true;
    'L' CKA_LOCAL CKA_LOCAL, 7 false;
    'M' CKA_MODIFIABLE CKA_MODIFIABLE, 15 true;
    'B' CKA_COPYABLE CKA_COPYABLE, 15 true;
    'Y' CKA_DESTROYABLE CKA_DESTROYABLE, 15 true;
    'R' CKA_DERIVE CKA_DERIVE, 5 true;
    'E' CKA_ENCRYPT CKA_ENCRYPT, 6 true;
    'D' CKA_DECRYPT CKA_DECRYPT, 5 true;
    'G' CKA_SIGN CKA_SIGN, 5 true;
    'C' CKA_SIGN_RECOVER CKA_SIGN_RECOVER, 1 true;
    'V' CKA_VERIFY CKA_VERIFY, 6 true;
    'O' CKA_VERIFY_RECOVER CKA_VERIFY_RECOVER, 2 true;
    'W' CKA_WRAP CKA_WRAP, 6 true;
    'U' CKA_UNWRAP CKA_UNWRAP, 5 true;
    'S' CKA_SENSITIVE CKA_SENSITIVE, 5 true;
    'A' CKA_ALWAYS_SENSITIVE CKA_ALWAYS_SENSITIVE, 5 false;
    'X' CKA_EXTRACTABLE CKA_EXTRACTABLE, 5 true;
    'N' CKA_NEVER_EXTRACTABLE CKA_NEVER_EXTRACTABLE, 5 false;
    'T' CKA_TRUSTED CKA_TRUSTED, 14 true;
    'I' CKA_WRAP_WITH_TRUSTED CKA_WRAP_WITH_TRUSTED, 5 true;
    'H' CKA_ALWAYS_AUTHENTICATE CKA_ALWAYS_AUTHENTICATE, 1 true;
    'J' CKA_ENCAPSULATE CKA_ENCAPSULATE, 2 true;
    'Q' CKA_DECAPSULATE CKA_DECAPSULATE, 1 true;
    'K' CKA_IBM_PROTKEY_EXTRACTABLE PROTKEY_EXTRACTABLE, 5 true;
    'Z' CKA_IBM_PROTKEY_NEVER_EXTRACTABLE PROTKEY_NEVER_EXTRACTABLE, 5 false;
}

impl Letter {
    /// The attribute of a letter of either case.
    pub(super) fn of(letter: char) -> Option<&'static Letter> {
        LETTERS.iter().find(|known| known.letter == letter.to_ascii_uppercase())
    }
}

/// Attributes of certificates beside the flags, as they are listed.
pub(super) const CERTIFICATE_DETAILS: &[(&str, CK_ATTRIBUTE_TYPE)] = &[
    ("CKA_LABEL", CKA_LABEL),
    ("CKA_CLASS", CKA_CLASS),
    ("CKA_CERTIFICATE_TYPE", CKA_CERTIFICATE_TYPE),
    ("CKA_CERTIFICATE_CATEGORY", CKA_CERTIFICATE_CATEGORY),
    ("CKA_CHECK_VALUE", CKA_CHECK_VALUE),
    ("CKA_START_DATE", CKA_START_DATE),
    ("CKA_END_DATE", CKA_END_DATE),
    ("CKA_PUBLIC_KEY_INFO", CKA_PUBLIC_KEY_INFO),
    ("CKA_SUBJECT", CKA_SUBJECT),
    ("CKA_ID", CKA_ID),
    ("CKA_ISSUER", CKA_ISSUER),
    ("CKA_SERIAL_NUMBER", CKA_SERIAL_NUMBER),
    ("CKA_VALUE", CKA_VALUE),
    ("CKA_NAME_HASH_ALGORITHM", CKA_NAME_HASH_ALGORITHM),
    ("CKA_HASH_OF_SUBJECT_PUBLIC_KEY", CKA_HASH_OF_SUBJECT_PUBLIC_KEY),
    ("CKA_HASH_OF_ISSUER_PUBLIC_KEY", CKA_HASH_OF_ISSUER_PUBLIC_KEY),
    ("CKA_URL", CKA_URL),
    ("CKA_JAVA_MIDP_SECURITY_DOMAIN", CKA_JAVA_MIDP_SECURITY_DOMAIN),
];

/// Attributes of keys beside the flags, as they are listed: of secret keys (4), public keys (2), private keys (1).
pub(super) const DETAILS: &[(&str, CK_ATTRIBUTE_TYPE, u8)] = &[
    ("CKA_LABEL", CKA_LABEL, 7),
    ("CKA_CLASS", CKA_CLASS, 7),
    ("CKA_KEY_TYPE", CKA_KEY_TYPE, 7),
    ("CKA_ID", CKA_ID, 7),
    ("CKA_START_DATE", CKA_START_DATE, 7),
    ("CKA_END_DATE", CKA_END_DATE, 7),
    ("CKA_KEY_GEN_MECHANISM", CKA_KEY_GEN_MECHANISM, 7),
    ("CKA_ALLOWED_MECHANISMS", CKA_ALLOWED_MECHANISMS, 7),
    ("CKA_CHECK_VALUE", CKA_CHECK_VALUE, 4),
    ("CKA_SUBJECT", CKA_SUBJECT, 3),
    ("CKA_PUBLIC_KEY_INFO", CKA_PUBLIC_KEY_INFO, 3),
    ("CKA_MODULUS", CKA_MODULUS, 3),
    ("CKA_MODULUS_BITS", CKA_MODULUS_BITS, 3),
    ("CKA_PUBLIC_EXPONENT", CKA_PUBLIC_EXPONENT, 3),
    ("CKA_PRIVATE_EXPONENT", CKA_PRIVATE_EXPONENT, 1),
    ("CKA_PRIME_1", CKA_PRIME_1, 1),
    ("CKA_PRIME_2", CKA_PRIME_2, 1),
    ("CKA_EXPONENT_1", CKA_EXPONENT_1, 1),
    ("CKA_EXPONENT_2", CKA_EXPONENT_2, 1),
    ("CKA_COEFFICIENT", CKA_COEFFICIENT, 1),
    ("CKA_PARAMETER_SET", CKA_PARAMETER_SET, 3),
    ("CKA_EC_PARAMS", CKA_EC_PARAMS, 3),
    ("CKA_EC_POINT", CKA_EC_POINT, 2),
    ("CKA_SEED", CKA_SEED, 1),
    ("CKA_VALUE", CKA_VALUE, 7),
    ("CKA_VALUE_LEN", CKA_VALUE_LEN, 4),
];

impl KeyKind {
    /// Whether keys of this type are made of an attribute: of others a module may say anything, that they are secret, too.
    pub(super) fn has_detail(&self, kind: CK_ATTRIBUTE_TYPE, class: CK_OBJECT_CLASS) -> bool {
        match kind {
            CKA_MODULUS | CKA_MODULUS_BITS | CKA_PUBLIC_EXPONENT | CKA_PRIVATE_EXPONENT | CKA_PRIME_1 | CKA_PRIME_2
            | CKA_EXPONENT_1 | CKA_EXPONENT_2 | CKA_COEFFICIENT => self.key_type == CKK_RSA,
            CKA_EC_PARAMS | CKA_EC_POINT => {
                matches!(self.key_type, CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY)
            }
            CKA_PARAMETER_SET | CKA_SEED => self.is_lattice(),
            CKA_VALUE => self.key_type != CKK_RSA && (class != CKO_PUBLIC_KEY || self.is_lattice()),
            CKA_VALUE_LEN => matches!(self.size, Size::ValueLength(_)),
            _ => true,
        }
    }

    const fn is_lattice(&self) -> bool {
        matches!(self.key_type, CKK_ML_DSA | CKK_ML_KEM)
    }
}

/// The bit of a class in [`DETAILS`].
pub(super) fn class_bit(class: CK_OBJECT_CLASS) -> u8 {
    match class {
        CKO_SECRET_KEY => 4,
        CKO_PUBLIC_KEY => 2,
        CKO_PRIVATE_KEY => 1,
        _ => 0,
    }
}
