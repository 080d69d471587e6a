//! The reasons of OpenSSL's error queue, as its own providers raise them: what programs compare is the number of the library and
//! of the reason. `tests/headers.rs` compares them with the headers.
//!
//! A caller names the module of the library and the reason as the header has it: `prov::BAD_DECRYPT` is `ERR_LIB_PROV` and
//! `PROV_R_BAD_DECRYPT`, `rsa::BN_LIB` is `ERR_LIB_RSA` and `ERR_R_BN_LIB`. Words of our own go with it as the error's data:
//! `prov::BAD_DECRYPT.with(c"...")`.

#![allow(missing_docs)]

use std::ffi::{CStr, c_int};
use std::fmt::{self, Display, Write};

/// An error for OpenSSL's queue ([`super::core::Core::raise`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    library: u8,
    number: u32,
    data: Option<&'static CStr>,
}

impl Reason {
    const fn new(library: u8, number: u32) -> Reason {
        Reason { library, number, data: None }
    }

    /// The error with `data` as its text, which OpenSSL reads as a format: a `%` must not be in it.
    #[must_use]
    pub const fn with(self, data: &'static CStr) -> Reason {
        let bytes = data.to_bytes();
        let mut at = 0;
        while at < bytes.len() {
            assert!(bytes[at] != b'%', "words of an error are a format without arguments");
            at += 1;
        }
        Reason { data: Some(data), ..self }
    }

    /// Library and reason as one number (`ERR_PACK`), which the core takes in place of a reason of the provider's own library.
    pub const fn code(self) -> u32 {
        (self.library as u32) << 23 | self.number
    }

    /// Library and reason as `ERR_set_error` takes them.
    pub(crate) const fn parts(self) -> (c_int, c_int) {
        (self.library as c_int, self.number as c_int)
    }

    /// The text that goes with the error.
    pub const fn data(self) -> Option<&'static CStr> {
        self.data
    }
}

/// Bytes of [`Words`], with the zero at the end.
const LONGEST: usize = 256;

/// Words as the data of an error, which OpenSSL reads as a format without arguments, and copies. In memory of the caller's: an error may be that there is none.
pub(crate) struct Words {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Words {
    /// The words of `what`: without each `%` and zero, and cut where they are longer than 255 bytes.
    pub(crate) fn new(what: impl Display) -> Words {
        let mut words = Words { bytes: [0; LONGEST], length: 0 };
        // Nothing of ours gives an error here; what is there until then stays.
        let _ = write!(words, "{what}");
        words
    }

    /// The words as C has them.
    pub(crate) fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl fmt::Write for Words {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..LONGEST - 1];
        let taken = text.bytes().filter(|&byte| byte != 0 && byte != b'%');
        self.length += room.iter_mut().zip(taken).map(|(place, byte)| *place = byte).count();
        Ok(())
    }
}

/// `ERR_RFLAG_FATAL` and `ERR_RFLAG_COMMON`: the flags of reasons that every library has.
const FATAL: u32 = 1 << 18;
const COMMON: u32 = 2 << 18;

/// A module with a library's own reasons and those that every library has.
macro_rules! library {
    ($module:ident $text:literal $library:literal $prefix:literal: $($name:ident $number:literal)*) => {
        #[doc = $text]
        pub mod $module {
            use super::{COMMON, FATAL, Reason};

            /// The library's own reasons with the names that the header gives them.
            pub const ALL: &[(&str, u32)] = &[$((concat!($prefix, stringify!($name)), $name.code())),*];
            $(pub const $name: Reason = Reason::new($library, $number);)*
            pub const MALLOC_FAILURE: Reason = Reason::new($library, 256 | COMMON | FATAL);
            pub const PASSED_NULL_PARAMETER: Reason = Reason::new($library, 258 | COMMON | FATAL);
            pub const INTERNAL_ERROR: Reason = Reason::new($library, 259 | COMMON | FATAL);
            pub const INIT_FAIL: Reason = Reason::new($library, 261 | COMMON | FATAL);
            pub const PASSED_INVALID_ARGUMENT: Reason = Reason::new($library, 262 | COMMON);
            pub const OPERATION_FAIL: Reason = Reason::new($library, 263 | COMMON | FATAL);
            pub const UNSUPPORTED: Reason = Reason::new($library, 268 | COMMON);
            pub const FETCH_FAILED: Reason = Reason::new($library, 269 | COMMON);
            pub const UNABLE_TO_GET_WRITE_LOCK: Reason = Reason::new($library, 272 | COMMON | FATAL);
            pub const BN_LIB: Reason = Reason::new($library, 3 | COMMON);
            pub const RSA_LIB: Reason = Reason::new($library, 4 | COMMON);
            pub const EVP_LIB: Reason = Reason::new($library, 6 | COMMON);
            pub const CRYPTO_LIB: Reason = Reason::new($library, 15 | COMMON);
            pub const EC_LIB: Reason = Reason::new($library, 16 | COMMON);
            pub const ECDSA_LIB: Reason = Reason::new($library, 42 | COMMON);
            pub const PROV_LIB: Reason = Reason::new($library, 57 | COMMON);
        }
    };
}

library! { prov "`ERR_LIB_PROV`: the providers themselves; the newest reasons are those of OpenSSL 3.5." 57 "PROV_R_":
    ADDITIONAL_INPUT_TOO_LONG 184
    ALGORITHM_MISMATCH 173
    ALREADY_INSTANTIATED 185
    BAD_DECRYPT 100
    BAD_ENCODING 141
    BAD_LENGTH 142
    BN_ERROR 160
    CIPHER_OPERATION_FAILED 102
    DIGEST_NOT_ALLOWED 174
    ENTROPY_SOURCE_STRENGTH_TOO_WEAK 186
    ERROR_INSTANTIATING_DRBG 188
    ERROR_RETRIEVING_ENTROPY 189
    ERROR_RETRIEVING_NONCE 190
    FAILED_TO_CREATE_LOCK 180
    FAILED_DURING_DERIVATION 164
    FAILED_TO_DECRYPT 162
    FAILED_TO_GENERATE_KEY 121
    FAILED_TO_GET_PARAMETER 103
    FAILED_TO_SET_PARAMETER 104
    FAILED_TO_SIGN 175
    FINAL_CALL_OUT_OF_ORDER 237
    GENERATE_ERROR 191
    ILLEGAL_OR_UNSUPPORTED_PADDING_MODE 165
    INIT_CALL_OUT_OF_ORDER 238
    INSUFFICIENT_DRBG_STRENGTH 181
    INVALID_AAD 108
    INVALID_CURVE 176
    INVALID_DATA 115
    INVALID_DIGEST 122
    INVALID_DIGEST_LENGTH 166
    INVALID_DIGEST_SIZE 218
    INVALID_EDDSA_INSTANCE_FOR_ATTEMPTED_OPERATION 243
    INVALID_INPUT_LENGTH 230
    INVALID_IV_LENGTH 109
    INVALID_KEY 158
    INVALID_KEY_LENGTH 105
    INVALID_MAC 151
    INVALID_MGF1_MD 167
    INVALID_MODE 125
    INVALID_OUTPUT_LENGTH 217
    INVALID_PADDING_MODE 168
    INVALID_PREHASHED_DIGEST_LENGTH 241
    INVALID_SALT_LENGTH 112
    INVALID_SEED_LENGTH 154
    INVALID_SIGNATURE_SIZE 179
    INVALID_STATE 212
    INVALID_TAG 110
    INVALID_TAG_LENGTH 118
    INVALID_X931_DIGEST 170
    IN_ERROR_STATE 192
    KEY_SETUP_FAILED 101
    KEY_SIZE_TOO_SMALL 171
    LENGTH_TOO_LARGE 202
    MISSING_KEY 128
    MISSING_MAC 150
    MISSING_MESSAGE_DIGEST 129
    NOT_A_PRIVATE_KEY 221
    NOT_A_PUBLIC_KEY 220
    NOT_INSTANTIATED 193
    NOT_PARAMETERS 226
    NOT_SUPPORTED 136
    NOT_XOF_OR_INVALID_LENGTH 113
    NO_INSTANCE_ALLOWED 242
    NO_KEY_SET 114
    NO_PARAMETERS_SET 177
    NULL_LENGTH_POINTER 247
    NULL_OUTPUT_BUFFER 248
    ONESHOT_CALL_OUT_OF_ORDER 239
    OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE 178
    OUTPUT_BUFFER_TOO_SMALL 106
    PARENT_CANNOT_GENERATE_RANDOM_NUMBERS 228
    PARENT_CANNOT_SUPPLY_ENTROPY_SEED 187
    PARENT_LOCKING_NOT_ENABLED 182
    PARENT_STRENGTH_TOO_WEAK 194
    PERSONALISATION_STRING_TOO_LONG 195
    PSS_SALTLEN_TOO_SMALL 172
    REQUEST_TOO_LARGE_FOR_DRBG 196
    REQUIRE_CTR_MODE_CIPHER 206
    RESEED_ERROR 197
    SEED_SOURCES_MUST_NOT_HAVE_A_PARENT 229
    TAG_NOT_NEEDED 120
    TAG_NOT_SET 119
    TOO_MANY_RECORDS 126
    UNABLE_TO_GET_PARENT_STRENGTH 199
    UNABLE_TO_LOCK_PARENT 201
    UNABLE_TO_RESEED 204
    UNSUPPORTED_KEY_SIZE 153
    UNSUPPORTED_MAC_TYPE 137
    UNSUPPORTED_SELECTION 250
    UPDATE_CALL_OUT_OF_ORDER 240
    VALUE_ERROR 138
    WRONG_CIPHERTEXT_SIZE 251
    WRONG_FINAL_BLOCK_LENGTH 107
    WRONG_OUTPUT_BUFFER_SIZE 139
    XOF_DIGESTS_NOT_ALLOWED 183
    XTS_DATA_UNIT_IS_TOO_LARGE 148
    XTS_DUPLICATED_KEYS 149
}

library! { rsa "`ERR_LIB_RSA`: what the RSA functions below the provider raise." 4 "RSA_R_":
    ALGORITHM_MISMATCH 100
    BAD_E_VALUE 101
    BAD_FIXED_HEADER_DECRYPT 102
    BAD_PAD_BYTE_COUNT 103
    BAD_SIGNATURE 104
    BLOCK_TYPE_IS_NOT_01 106
    BLOCK_TYPE_IS_NOT_02 107
    DATA_GREATER_THAN_MOD_LEN 108
    DATA_TOO_LARGE 109
    DATA_TOO_LARGE_FOR_KEY_SIZE 110
    DATA_TOO_LARGE_FOR_MODULUS 132
    DATA_TOO_SMALL 111
    DATA_TOO_SMALL_FOR_KEY_SIZE 122
    DIGEST_DOES_NOT_MATCH 158
    DIGEST_NOT_ALLOWED 145
    DIGEST_TOO_BIG_FOR_RSA_KEY 112
    DMP1_NOT_CONGRUENT_TO_D 124
    DMQ1_NOT_CONGRUENT_TO_D 125
    D_E_NOT_CONGRUENT_TO_1 123
    FIRST_OCTET_INVALID 133
    ILLEGAL_OR_UNSUPPORTED_PADDING_MODE 144
    INVALID_DIGEST 157
    INVALID_DIGEST_LENGTH 143
    INVALID_HEADER 137
    INVALID_KEYPAIR 171
    INVALID_KEY_LENGTH 173
    INVALID_LABEL 160
    INVALID_LENGTH 181
    INVALID_MESSAGE_LENGTH 131
    INVALID_MGF1_MD 156
    INVALID_MODULUS 174
    INVALID_MULTI_PRIME_KEY 167
    INVALID_PADDING 138
    INVALID_PADDING_MODE 141
    INVALID_PSS_PARAMETERS 149
    INVALID_PSS_SALTLEN 146
    INVALID_REQUEST 175
    INVALID_SALT_LENGTH 150
    INVALID_TRAILER 139
    INVALID_X931_DIGEST 142
    KEY_PRIME_NUM_INVALID 165
    KEY_SIZE_TOO_SMALL 120
    LAST_OCTET_INVALID 134
    MGF1_DIGEST_NOT_ALLOWED 152
    MISSING_PRIVATE_KEY 179
    MODULUS_TOO_LARGE 105
    NO_PUBLIC_EXPONENT 140
    NULL_BEFORE_BLOCK_MISSING 113
    N_DOES_NOT_EQUAL_PRODUCT_OF_PRIMES 172
    N_DOES_NOT_EQUAL_P_Q 127
    OAEP_DECODING_ERROR 121
    OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE 148
    PADDING_CHECK_FAILED 114
    PAIRWISE_TEST_FAILURE 177
    PKCS_DECODING_ERROR 159
    PSS_SALTLEN_TOO_SMALL 164
    PUB_EXPONENT_OUT_OF_RANGE 178
    P_NOT_PRIME 128
    Q_NOT_PRIME 129
    SLEN_CHECK_FAILED 136
    SLEN_RECOVERY_FAILED 135
    UNKNOWN_DIGEST 166
    UNKNOWN_MASK_DIGEST 151
    UNKNOWN_PADDING_TYPE 118
    VALUE_MISSING 147
    WRONG_SIGNATURE_LENGTH 119
}

library! { ec "`ERR_LIB_EC`: what the functions of curves below the provider raise." 16 "EC_R_":
    BAD_SIGNATURE 156
    BUFFER_TOO_SMALL 100
    COORDINATES_OUT_OF_RANGE 146
    CURVE_DOES_NOT_SUPPORT_ECDH 160
    CURVE_DOES_NOT_SUPPORT_ECDSA 170
    CURVE_DOES_NOT_SUPPORT_SIGNING 159
    DECODE_ERROR 142
    INCOMPATIBLE_OBJECTS 101
    INVALID_ARGUMENT 112
    INVALID_COMPRESSED_POINT 110
    INVALID_COMPRESSION_BIT 109
    INVALID_CURVE 141
    INVALID_DIGEST 151
    INVALID_DIGEST_TYPE 138
    INVALID_ENCODING 102
    INVALID_FIELD 103
    INVALID_FORM 104
    INVALID_KEY 116
    INVALID_LENGTH 117
    INVALID_OUTPUT_LENGTH 161
    INVALID_PEER_KEY 133
    INVALID_PRIVATE_KEY 123
    KEYS_NOT_SET 140
    MISSING_OID 167
    MISSING_PARAMETERS 124
    MISSING_PRIVATE_KEY 125
    NOT_INITIALIZED 111
    NO_PARAMETERS_SET 139
    NO_PRIVATE_VALUE 154
    OPERATION_NOT_SUPPORTED 152
    PEER_KEY_ERROR 149
    POINT_ARITHMETIC_FAILURE 155
    POINT_AT_INFINITY 106
    POINT_IS_NOT_ON_CURVE 107
    RANDOM_NUMBER_GENERATION_FAILED 158
    UNKNOWN_GROUP 129
    UNKNOWN_ORDER 114
    WRONG_CURVE_PARAMETERS 145
    WRONG_ORDER 130
}

library! { evp "`ERR_LIB_EVP`." 6 "EVP_R_":
    INVALID_DIGEST 152
    INVALID_KEY_LENGTH 130
    MESSAGE_DIGEST_IS_NULL 159
    XTS_DUPLICATED_KEYS 192
}

library! { crypto "`ERR_LIB_CRYPTO`: memory, parameters." 15 "CRYPTO_R_":
    INVALID_NULL_ARGUMENT 109
    INVALID_OSSL_PARAM_TYPE 110
    TOO_SMALL_BUFFER 116
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_format_and_have_an_end() {
        assert_eq!(Words::new("100 %s of it\0 and more").text(), c"100 s of it and more");
        assert_eq!(Words::new("x".repeat(1000)).text().count_bytes(), 255);
        assert_eq!(Words::new("").text(), c"");
    }
}
