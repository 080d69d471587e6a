//! RSA: keys, signatures, encryption. RSA-PSS keys are not offered, so the default provider keeps them.

pub mod encryption;
mod identifier;
mod key;
pub mod keymgmt;
mod sign;
pub mod signature;

/// Why a private operation that failed did so: a number that is no residue of the modulus, which OpenSSL has an error for. Else
/// the key is not a pair, and nothing that was computed with it may leave.
fn is_too_large(key: &adjunct::adapter::cpu::awslc::rsa::Key, input: &[u8]) -> bool {
    let modulus = key.number(adjunct::adapter::cpu::awslc::rsa::Part::N);
    // Big endian, as the input, which is of its length.
    modulus.is_some_and(|modulus| input >= &modulus[..])
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
