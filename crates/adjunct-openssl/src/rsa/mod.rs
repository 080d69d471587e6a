//! RSA: keys, signatures, encryption. RSA-PSS keys are not offered, so the default provider keeps them.

mod context;
pub mod encryption;
mod identifier;
mod key;
pub mod keymgmt;
mod sign;
pub mod signature;

use adjunct::Error;

/// Why an operation was not done here.
enum NotDone {
    /// Refused for what was asked, which is no secret: the default provider does the operation over, which gives its result and its errors.
    Refused,
    /// The decrypted data does not have the expected form, and the error was raised: the time must not depend on anything further.
    Malformed,
    /// Nothing but a card may do the operation with this key, and none has.
    Final(Error),
    /// The key is not a pair, so that no result of it may leave; or there is no memory.
    Broken,
}

impl From<Error> for NotDone {
    fn from(error: Error) -> NotDone {
        match error {
            // Too long for the modulus, or not below it: OpenSSL has errors for these.
            Error::Unsupported(_) | Error::Length { .. } => NotDone::Refused,
            error if !error.may_fall_back() => NotDone::Final(error),
            _ => NotDone::Broken,
        }
    }
}

/// `RSA_*_PADDING` of rsa.h: how OpenSSL numbers the encodings.
mod padding {
    use std::ffi::CStr;

    pub const PKCS1: i64 = 1;
    pub const NONE: i64 = 3;
    pub const OAEP: i64 = 4;
    pub const X931: i64 = 5;
    pub const PSS: i64 = 6;
    pub const TLS: i64 = 7;

    const NAMES: &[(i64, &CStr)] =
        &[(PKCS1, c"pkcs1"), (NONE, c"none"), (OAEP, c"oaep"), (OAEP, c"oeap"), (X931, c"x931"), (PSS, c"pss")];

    pub fn name(number: i64) -> Option<&'static CStr> {
        NAMES.iter().find(|(n, _)| *n == number).map(|(_, name)| *name)
    }

    pub fn number(name: &str) -> Option<i64> {
        NAMES.iter().find(|(_, n)| n.to_bytes() == name.as_bytes()).map(|(number, _)| *number)
    }
}
