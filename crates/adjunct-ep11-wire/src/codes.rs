//! Numbers of the interface: return values, attributes, mechanisms, control points, compliance modes, queries.
//!
//! Those of PKCS #11 are OASIS's (PKCS #11 Specification Version 3.2); IBM's begin with 0x8.

/// Return values.
#[allow(missing_docs)]
pub mod rv {
    pub const OK: u32 = 0;
    pub const HOST_MEMORY: u32 = 2;
    pub const GENERAL_ERROR: u32 = 5;
    pub const FUNCTION_FAILED: u32 = 6;
    pub const ARGUMENTS_BAD: u32 = 7;
    pub const ATTRIBUTE_READ_ONLY: u32 = 0x10;
    pub const ATTRIBUTE_SENSITIVE: u32 = 0x11;
    pub const ATTRIBUTE_TYPE_INVALID: u32 = 0x12;
    pub const ATTRIBUTE_VALUE_INVALID: u32 = 0x13;
    pub const DATA_INVALID: u32 = 0x20;
    pub const DATA_LEN_RANGE: u32 = 0x21;
    pub const DEVICE_ERROR: u32 = 0x30;
    pub const DEVICE_MEMORY: u32 = 0x31;
    pub const DEVICE_REMOVED: u32 = 0x32;
    pub const ENCRYPTED_DATA_INVALID: u32 = 0x40;
    pub const ENCRYPTED_DATA_LEN_RANGE: u32 = 0x41;
    /// A control point does not allow it.
    pub const FUNCTION_CANCELED: u32 = 0x50;
    pub const FUNCTION_NOT_SUPPORTED: u32 = 0x54;
    pub const KEY_HANDLE_INVALID: u32 = 0x60;
    pub const KEY_SIZE_RANGE: u32 = 0x62;
    pub const KEY_TYPE_INCONSISTENT: u32 = 0x63;
    pub const KEY_NEEDED: u32 = 0x66;
    pub const KEY_FUNCTION_NOT_PERMITTED: u32 = 0x68;
    pub const KEY_NOT_WRAPPABLE: u32 = 0x69;
    pub const KEY_UNEXTRACTABLE: u32 = 0x6a;
    pub const MECHANISM_INVALID: u32 = 0x70;
    pub const MECHANISM_PARAM_INVALID: u32 = 0x71;
    pub const OBJECT_HANDLE_INVALID: u32 = 0x82;
    pub const OPERATION_ACTIVE: u32 = 0x90;
    pub const OPERATION_NOT_INITIALIZED: u32 = 0x91;
    pub const PIN_INCORRECT: u32 = 0xa0;
    pub const PIN_INVALID: u32 = 0xa1;
    pub const PIN_LEN_RANGE: u32 = 0xa2;
    pub const SESSION_CLOSED: u32 = 0xb0;
    pub const SIGNATURE_INVALID: u32 = 0xc0;
    pub const SIGNATURE_LEN_RANGE: u32 = 0xc1;
    pub const TEMPLATE_INCOMPLETE: u32 = 0xd0;
    pub const TEMPLATE_INCONSISTENT: u32 = 0xd1;
    pub const UNWRAPPING_KEY_HANDLE_INVALID: u32 = 0xf0;
    pub const UNWRAPPING_KEY_SIZE_RANGE: u32 = 0xf1;
    pub const UNWRAPPING_KEY_TYPE_INCONSISTENT: u32 = 0xf2;
    pub const USER_NOT_LOGGED_IN: u32 = 0x101;
    pub const WRAPPED_KEY_INVALID: u32 = 0x110;
    pub const WRAPPED_KEY_LEN_RANGE: u32 = 0x112;
    pub const WRAPPING_KEY_HANDLE_INVALID: u32 = 0x113;
    pub const WRAPPING_KEY_SIZE_RANGE: u32 = 0x114;
    pub const WRAPPING_KEY_TYPE_INCONSISTENT: u32 = 0x115;
    pub const RANDOM_SEED_NOT_SUPPORTED: u32 = 0x120;
    pub const CURVE_NOT_SUPPORTED: u32 = 0x140;
    pub const BUFFER_TOO_SMALL: u32 = 0x150;
    pub const FUNCTION_REJECTED: u32 = 0x200;
    /// The blob is of another wrapping key.
    pub const IBM_WKID_MISMATCH: u32 = 0x8001_0001;
    pub const IBM_INTERNAL_ERROR: u32 = 0x8001_0002;
    pub const IBM_TRANSPORT_ERROR: u32 = 0x8001_0003;
    /// The blob, or its MAC, is wrong.
    pub const IBM_BLOB_ERROR: u32 = 0x8001_0004;
    /// The wrapping key changed within the request.
    pub const IBM_BLOBKEY_CONFLICT: u32 = 0x8001_0005;
    pub const IBM_MODE_CONFLICT: u32 = 0x8001_0006;
    pub const IBM_NONCRT_KEY_SIZE: u32 = 0x8001_0008;
    pub const IBM_WK_NOT_INITIALIZED: u32 = 0x8001_0009;
    pub const IBM_OA_API_ERROR: u32 = 0x8001_000a;
    pub const IBM_REQ_TIMEOUT: u32 = 0x8001_000b;
    pub const IBM_READONLY: u32 = 0x8001_000c;
    pub const IBM_STATIC_POLICY: u32 = 0x8001_000d;
    pub const IBM_TRANSPORT_LIMIT: u32 = 0x8001_0010;
    pub const IBM_FCV_NOT_SET: u32 = 0x8001_0011;
    pub const IBM_PERF_CATEGORY_INVALID: u32 = 0x8001_0012;
    pub const IBM_API_MISMATCH: u32 = 0x8001_0013;
    pub const IBM_TARGET_INVALID: u32 = 0x8001_0030;
    pub const IBM_PQC_PARAMS_NOT_SUPPORTED: u32 = 0x8001_0031;
    pub const IBM_PARAM_NOT_SUPPORTED: u32 = 0x8001_0032;
    pub const IBM_SESSION_IMMUTABLE: u32 = 0x8001_0033;
    pub const IBM_ERROR_STATE: u32 = 0x8001_0101;
}

/// Attributes.
#[allow(missing_docs)]
pub mod attribute {
    pub const CLASS: u32 = 0;
    pub const VALUE: u32 = 0x11;
    pub const KEY_TYPE: u32 = 0x100;
    pub const TRUSTED: u32 = 0x86;
    pub const SENSITIVE: u32 = 0x103;
    pub const ENCRYPT: u32 = 0x104;
    pub const DECRYPT: u32 = 0x105;
    pub const WRAP: u32 = 0x106;
    pub const UNWRAP: u32 = 0x107;
    pub const SIGN: u32 = 0x108;
    pub const SIGN_RECOVER: u32 = 0x109;
    pub const VERIFY: u32 = 0x10a;
    pub const VERIFY_RECOVER: u32 = 0x10b;
    pub const DERIVE: u32 = 0x10c;
    pub const MODULUS: u32 = 0x120;
    pub const MODULUS_BITS: u32 = 0x121;
    pub const PUBLIC_EXPONENT: u32 = 0x122;
    pub const PUBLIC_KEY_INFO: u32 = 0x129;
    pub const PRIME: u32 = 0x130;
    pub const SUBPRIME: u32 = 0x131;
    pub const BASE: u32 = 0x132;
    pub const PRIME_BITS: u32 = 0x133;
    pub const SUBPRIME_BITS: u32 = 0x134;
    pub const VALUE_BITS: u32 = 0x160;
    pub const VALUE_LEN: u32 = 0x161;
    pub const EXTRACTABLE: u32 = 0x162;
    pub const LOCAL: u32 = 0x163;
    pub const NEVER_EXTRACTABLE: u32 = 0x164;
    pub const ALWAYS_SENSITIVE: u32 = 0x165;
    pub const KEY_GEN_MECHANISM: u32 = 0x166;
    pub const MODIFIABLE: u32 = 0x170;
    pub const EC_PARAMS: u32 = 0x180;
    pub const EC_POINT: u32 = 0x181;
    pub const WRAP_WITH_TRUSTED: u32 = 0x210;
    pub const PARAMETER_SET: u32 = 0x61d;
    pub const IBM_RESTRICTABLE: u32 = 0x8001_0001;
    pub const IBM_NEVER_MODIFIABLE: u32 = 0x8001_0002;
    pub const IBM_RETAINKEY: u32 = 0x8001_0003;
    pub const IBM_ATTRBOUND: u32 = 0x8001_0004;
    pub const IBM_KEYTYPE: u32 = 0x8001_0005;
    pub const IBM_CV: u32 = 0x8001_0006;
    pub const IBM_MACKEY: u32 = 0x8001_0007;
    pub const IBM_USE_AS_DATA: u32 = 0x8001_0008;
    pub const IBM_STRUCT_PARAMS: u32 = 0x8001_0009;
    pub const IBM_STD_COMPLIANCE1: u32 = 0x8001_000a;
    /// No program asks for it by a type of its own; the number is ours.
    pub const IBM_ALWAYS_RETAINED: u32 = 0x8001_000b;
    pub const IBM_PROTKEY_EXTRACTABLE: u32 = 0x8001_000c;
    pub const IBM_PROTKEY_NEVER_EXTRACTABLE: u32 = 0x8001_000d;
    pub const IBM_PQC_PARAMS: u32 = 0x8001_000e;
    pub const IBM_LOGIN_SESSION: u32 = 0x8001_000f;
    pub const IBM_PARAMETER_SET: u32 = 0x8001_0010;
    pub const IBM_MACED_PUBLIC_KEY_INFO: u32 = 0x8002_0002;
}

/// The bits of boolean attributes in blobs and templates.
#[allow(missing_docs)]
pub mod flag {
    pub const EXTRACTABLE: u32 = 1;
    pub const NEVER_EXTRACTABLE: u32 = 2;
    pub const MODIFIABLE: u32 = 4;
    pub const NEVER_MODIFIABLE: u32 = 8;
    pub const RESTRICTABLE: u32 = 0x10;
    pub const LOCAL: u32 = 0x20;
    pub const ATTRBOUND: u32 = 0x40;
    pub const USE_AS_DATA: u32 = 0x80;
    pub const SIGN: u32 = 0x100;
    pub const SIGN_RECOVER: u32 = 0x200;
    pub const DECRYPT: u32 = 0x400;
    pub const ENCRYPT: u32 = 0x800;
    pub const DERIVE: u32 = 0x1000;
    pub const UNWRAP: u32 = 0x2000;
    pub const WRAP: u32 = 0x4000;
    pub const VERIFY: u32 = 0x8000;
    pub const VERIFY_RECOVER: u32 = 0x1_0000;
    pub const TRUSTED: u32 = 0x2_0000;
    pub const WRAP_WITH_TRUSTED: u32 = 0x4_0000;
    pub const RETAINED: u32 = 0x8_0000;
    pub const ALWAYS_RETAINED: u32 = 0x10_0000;
    pub const PROTKEY_EXTRACTABLE: u32 = 0x20_0000;
    pub const PROTKEY_NEVER_EXTRACTABLE: u32 = 0x40_0000;
    /// Those that change only from true to false.
    pub const DOWNWARD: u32 = EXTRACTABLE | MODIFIABLE | TRUSTED | PROTKEY_EXTRACTABLE;
    /// Those that change both ways while the key is modifiable.
    pub const CHANGEABLE: u32 =
        USE_AS_DATA | SIGN | DECRYPT | ENCRYPT | DERIVE | UNWRAP | WRAP | VERIFY | WRAP_WITH_TRUSTED;
}

/// Classes and types of keys.
#[allow(missing_docs)]
pub mod key {
    pub const PUBLIC: u32 = 2;
    pub const PRIVATE: u32 = 3;
    pub const SECRET: u32 = 4;
    pub const RSA: u32 = 0;
    pub const DSA: u32 = 1;
    pub const DH: u32 = 2;
    pub const EC: u32 = 3;
    pub const X9_42_DH: u32 = 4;
    pub const GENERIC_SECRET: u32 = 0x10;
    pub const DES2: u32 = 0x14;
    pub const DES3: u32 = 0x15;
    pub const AES: u32 = 0x1f;
    pub const SHA_1_HMAC: u32 = 0x28;
    pub const EC_EDWARDS: u32 = 0x40;
    pub const EC_MONTGOMERY: u32 = 0x41;
    pub const IBM_DILITHIUM: u32 = 0x8001_0023;
    pub const IBM_KYBER: u32 = 0x8001_0024;
    pub const IBM_ML_DSA: u32 = 0x8001_0025;
    pub const IBM_ML_KEM: u32 = 0x8001_0026;
}

/// Mechanisms.
#[allow(missing_docs)]
pub mod mechanism {
    pub const RSA_PKCS_KEY_PAIR_GEN: u32 = 0;
    pub const RSA_PKCS: u32 = 1;
    pub const SHA1_RSA_PKCS: u32 = 6;
    pub const RSA_PKCS_OAEP: u32 = 9;
    pub const RSA_X9_31_KEY_PAIR_GEN: u32 = 0xa;
    pub const RSA_X9_31: u32 = 0xb;
    pub const SHA1_RSA_X9_31: u32 = 0xc;
    pub const RSA_PKCS_PSS: u32 = 0xd;
    pub const SHA1_RSA_PKCS_PSS: u32 = 0xe;
    pub const DSA_KEY_PAIR_GEN: u32 = 0x10;
    pub const DSA: u32 = 0x11;
    pub const DSA_SHA1: u32 = 0x12;
    pub const DH_PKCS_KEY_PAIR_GEN: u32 = 0x20;
    pub const DH_PKCS_DERIVE: u32 = 0x21;
    pub const SHA256_RSA_PKCS: u32 = 0x40;
    pub const SHA384_RSA_PKCS: u32 = 0x41;
    pub const SHA512_RSA_PKCS: u32 = 0x42;
    pub const SHA256_RSA_PKCS_PSS: u32 = 0x43;
    pub const SHA384_RSA_PKCS_PSS: u32 = 0x44;
    pub const SHA512_RSA_PKCS_PSS: u32 = 0x45;
    pub const SHA224_RSA_PKCS: u32 = 0x46;
    pub const SHA224_RSA_PKCS_PSS: u32 = 0x47;
    pub const SHA512_224: u32 = 0x48;
    pub const SHA512_224_HMAC: u32 = 0x49;
    pub const SHA512_256: u32 = 0x4c;
    pub const SHA512_256_HMAC: u32 = 0x4d;
    pub const DES2_KEY_GEN: u32 = 0x130;
    pub const DES3_KEY_GEN: u32 = 0x131;
    pub const DES3_ECB: u32 = 0x132;
    pub const DES3_CBC: u32 = 0x133;
    pub const DES3_MAC: u32 = 0x134;
    pub const DES3_MAC_GENERAL: u32 = 0x135;
    pub const DES3_CBC_PAD: u32 = 0x136;
    pub const DES3_CMAC_GENERAL: u32 = 0x137;
    pub const DES3_CMAC: u32 = 0x138;
    pub const SHA_1: u32 = 0x220;
    pub const SHA_1_HMAC: u32 = 0x221;
    pub const SHA_1_HMAC_GENERAL: u32 = 0x222;
    pub const SHA256: u32 = 0x250;
    pub const SHA256_HMAC: u32 = 0x251;
    pub const SHA256_HMAC_GENERAL: u32 = 0x252;
    pub const SHA224: u32 = 0x255;
    pub const SHA224_HMAC: u32 = 0x256;
    pub const SHA224_HMAC_GENERAL: u32 = 0x257;
    pub const SHA384: u32 = 0x260;
    pub const SHA384_HMAC: u32 = 0x261;
    pub const SHA384_HMAC_GENERAL: u32 = 0x262;
    pub const SHA512: u32 = 0x270;
    pub const SHA512_HMAC: u32 = 0x271;
    pub const SHA512_HMAC_GENERAL: u32 = 0x272;
    pub const SHA3_256: u32 = 0x2b0;
    pub const SHA3_256_HMAC: u32 = 0x2b1;
    pub const SHA3_224: u32 = 0x2b5;
    pub const SHA3_224_HMAC: u32 = 0x2b6;
    pub const SHA3_384: u32 = 0x2c0;
    pub const SHA3_384_HMAC: u32 = 0x2c1;
    pub const SHA3_512: u32 = 0x2d0;
    pub const SHA3_512_HMAC: u32 = 0x2d1;
    pub const GENERIC_SECRET_KEY_GEN: u32 = 0x350;
    pub const SHA1_KEY_DERIVATION: u32 = 0x392;
    pub const SHA256_KEY_DERIVATION: u32 = 0x393;
    pub const SHA384_KEY_DERIVATION: u32 = 0x394;
    pub const SHA512_KEY_DERIVATION: u32 = 0x395;
    pub const SHA224_KEY_DERIVATION: u32 = 0x396;
    pub const PBE_SHA1_DES3_EDE_CBC: u32 = 0x3a8;
    pub const EC_KEY_PAIR_GEN: u32 = 0x1040;
    pub const ECDSA: u32 = 0x1041;
    pub const ECDSA_SHA1: u32 = 0x1042;
    pub const ECDSA_SHA224: u32 = 0x1043;
    pub const ECDSA_SHA256: u32 = 0x1044;
    pub const ECDSA_SHA384: u32 = 0x1045;
    pub const ECDSA_SHA512: u32 = 0x1046;
    pub const ECDH1_DERIVE: u32 = 0x1050;
    pub const EC_EDWARDS_KEY_PAIR_GEN: u32 = 0x1055;
    pub const EC_MONTGOMERY_KEY_PAIR_GEN: u32 = 0x1056;
    pub const EDDSA: u32 = 0x1057;
    pub const AES_KEY_GEN: u32 = 0x1080;
    pub const AES_ECB: u32 = 0x1081;
    pub const AES_CBC: u32 = 0x1082;
    pub const AES_MAC: u32 = 0x1083;
    pub const AES_MAC_GENERAL: u32 = 0x1084;
    pub const AES_CBC_PAD: u32 = 0x1085;
    pub const AES_CMAC_GENERAL: u32 = 0x108b;
    pub const AES_CMAC: u32 = 0x108a;
    pub const DSA_PARAMETER_GEN: u32 = 0x2000;
    pub const DH_PKCS_PARAMETER_GEN: u32 = 0x2001;
    pub const IBM_SHA3_224: u32 = 0x8001_0001;
    pub const IBM_SHA3_256: u32 = 0x8001_0002;
    pub const IBM_SHA3_384: u32 = 0x8001_0003;
    pub const IBM_SHA3_512: u32 = 0x8001_0004;
    pub const IBM_CMAC: u32 = 0x8001_0007;
    pub const IBM_ECDSA_SHA224: u32 = 0x8001_0008;
    pub const IBM_ECDSA_SHA256: u32 = 0x8001_0009;
    pub const IBM_ECDSA_SHA384: u32 = 0x8001_000a;
    pub const IBM_ECDSA_SHA512: u32 = 0x8001_000b;
    pub const IBM_SHA512_256: u32 = 0x8001_0012;
    pub const IBM_SHA512_224: u32 = 0x8001_0013;
    pub const IBM_SHA512_256_HMAC: u32 = 0x8001_0014;
    pub const IBM_SHA512_224_HMAC: u32 = 0x8001_0015;
    pub const IBM_EC_X25519: u32 = 0x8001_001b;
    pub const IBM_ED25519_SHA512: u32 = 0x8001_001c;
    pub const IBM_EC_X448: u32 = 0x8001_001e;
    pub const IBM_ED448_SHA3: u32 = 0x8001_001f;
    pub const IBM_DILITHIUM: u32 = 0x8001_0023;
    pub const IBM_KYBER: u32 = 0x8001_0024;
    pub const IBM_SHA3_224_HMAC: u32 = 0x8001_0025;
    pub const IBM_SHA3_256_HMAC: u32 = 0x8001_0026;
    pub const IBM_SHA3_384_HMAC: u32 = 0x8001_0027;
    pub const IBM_SHA3_512_HMAC: u32 = 0x8001_0028;
    pub const IBM_EC_X25519_RAW: u32 = 0x8001_0029;
    pub const IBM_EC_X448_RAW: u32 = 0x8001_0030;
    pub const IBM_ECDSA_OTHER: u32 = 0x8001_0031;
    pub const IBM_EC_AGGREGATE: u32 = 0x8001_0034;
    pub const IBM_ML_DSA_KEY_PAIR_GEN: u32 = 0x8001_0035;
    pub const IBM_ML_DSA: u32 = 0x8001_0036;
    pub const IBM_ML_KEM_KEY_PAIR_GEN: u32 = 0x8001_0037;
    pub const IBM_ML_KEM: u32 = 0x8001_0038;
    /// The hybrid of ML-KEM and ECDH, which openCryptoki's tokens offer and do by two calls.
    pub const IBM_ML_KEM_WITH_ECDH: u32 = 0x8001_ff01;
    pub const IBM_CLEARKEY_TRANSPORT: u32 = 0x8002_0001;
    pub const IBM_ATTRIBUTEBOUND_WRAP: u32 = 0x8002_0004;
    pub const IBM_TRANSPORTKEY: u32 = 0x8002_0005;
    pub const IBM_DH_PKCS_DERIVE_RAW: u32 = 0x8002_0006;
    pub const IBM_ECDH1_DERIVE_RAW: u32 = 0x8002_0007;
    pub const IBM_WIRETEST: u32 = 0x8003_0004;
    pub const IBM_RETAINKEY: u32 = 0x8004_0001;
    pub const IBM_CPACF_WRAP: u32 = 0x8006_0001;
    pub const IBM_BTC_DERIVE: u32 = 0x8007_0001;
    pub const IBM_ETH_DERIVE: u32 = 0x8007_0002;
}

/// Control points, by their numbers: a bit that is set allows.
#[allow(missing_docs)]
pub mod control {
    pub const ADD_CPS: u8 = 0;
    pub const DELETE_CPS: u8 = 1;
    pub const SIGN_ASYMM: u8 = 2;
    pub const SIGN_SYMM: u8 = 3;
    pub const SIGVERIFY_SYMM: u8 = 4;
    pub const ENCRYPT_SYMM: u8 = 5;
    pub const DECRYPT_ASYMM: u8 = 6;
    pub const DECRYPT_SYMM: u8 = 7;
    pub const WRAP_ASYMM: u8 = 8;
    pub const WRAP_SYMM: u8 = 9;
    pub const UNWRAP_ASYMM: u8 = 10;
    pub const UNWRAP_SYMM: u8 = 11;
    pub const KEYGEN_ASYMM: u8 = 12;
    pub const KEYGEN_SYMM: u8 = 13;
    pub const RETAINKEYS: u8 = 14;
    pub const SKIP_KEYTESTS: u8 = 15;
    pub const NON_ATTRBOUND: u8 = 16;
    pub const MODIFY_OBJECTS: u8 = 17;
    pub const RNG_SEED: u8 = 18;
    pub const RAW_RSA: u8 = 19;
    pub const NFIPS2009: u8 = 20;
    pub const NBSI2009: u8 = 21;
    pub const HMAC_ANY: u8 = 22;
    pub const BELOW_80_BITS: u8 = 23;
    pub const BITS_80: u8 = 24;
    pub const BITS_112: u8 = 25;
    pub const BITS_128: u8 = 26;
    pub const BITS_192: u8 = 27;
    pub const BITS_256: u8 = 28;
    pub const RSA65536: u8 = 29;
    pub const RSA: u8 = 30;
    pub const DSA: u8 = 31;
    pub const EC: u8 = 32;
    pub const BPOOL: u8 = 33;
    pub const NIST: u8 = 34;
    pub const NFIPS2011: u8 = 35;
    pub const NBSI2011: u8 = 36;
    pub const USER_SET_TRUSTED: u8 = 37;
    pub const SKIP_CROSSCHK: u8 = 38;
    pub const WRAP_CRYPT: u8 = 39;
    pub const SIGN_CRYPT: u8 = 40;
    pub const WRAP_SIGN: u8 = 41;
    pub const USER_SET_ATTRBOUND: u8 = 42;
    pub const PASSPHRASE: u8 = 43;
    pub const WRAP_STRONGER: u8 = 44;
    pub const WRAP_RAW_SPKI: u8 = 45;
    pub const DH: u8 = 46;
    pub const DERIVE: u8 = 47;
    pub const NONSESSION: u8 = 48;
    pub const EC_25519: u8 = 55;
    pub const SECG: u8 = 60;
    pub const NBSI2017: u8 = 61;
    pub const CPACF_PK: u8 = 64;
    pub const PQC: u8 = 65;
    pub const BTC: u8 = 66;
    pub const ECDSA_OTHER: u8 = 67;
    pub const NFIPS2021: u8 = 68;
    pub const NFIPS2024: u8 = 69;
    pub const LEGACY_SHA3: u8 = 70;
    pub const DSA_PARAM: u8 = 71;
    pub const DERIVE_NON_AB: u8 = 72;
    pub const LOGIN_PRE_F2021: u8 = 73;
    pub const RSA_OAEP: u8 = 74;
    pub const COMBINED_EXTRACT: u8 = 75;
    pub const PAIRING: u8 = 76;
    pub const DILITHIUM: u8 = 77;
    pub const KYBER: u8 = 78;
    pub const ML_DSA: u8 = 79;
    pub const ML_KEM: u8 = 80;
    /// The highest number.
    pub const LAST: u8 = ML_KEM;
}

/// Compliance modes: bits.
#[allow(missing_docs)]
pub mod compliance {
    pub const FIPS2009: u64 = 1;
    pub const BSI2009: u64 = 2;
    pub const FIPS2011: u64 = 4;
    pub const BSI2011: u64 = 8;
    pub const SIGG_IMPORT: u64 = 0x10;
    pub const SIGG: u64 = 0x20;
    pub const BSICC2017: u64 = 0x40;
    pub const FIPS2021: u64 = 0x80;
    pub const FIPS2024: u64 = 0x100;
}
