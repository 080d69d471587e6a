//! RSA (RFC 8017): keys and the operations with them.
//!
//! * [`RsaKey`]: a key as OpenSSL has them, its two raw operations, and the schemes made of them with an encoding ([`RsaKey::sign`],
//!   [`RsaKey::verify`], [`RsaKey::encrypt`]).
//! * [`CrtKey`], [`power`], [`generate`]: the same by bare numbers of any size, as IBM Z's cards have it.
//! * The encodings: functions over blocks of the modulus's length, which compute digests and count nothing: a digest within an
//!   encoding is a part of the operation around it. The digest of the message itself is one of its own ([`MessageDigest`]).
//!
//! What is decrypted is secret until a decoding has succeeded: the encodings neither branch on it nor use it as an index before.

mod any;
mod crt;
mod encryption;
mod hash;
mod implicit;
mod key;
mod mgf1;
mod oaep;
mod pkcs1;
mod premaster;
mod pss;
mod route;
mod signature;

pub use adjunct_cpu::digest::{Method, SHA1};
pub use adjunct_cpu::rsa::{Crt, MAX_SIZE, Numbers, Part};
pub use adjunct_cpu::rsa_any::Generated;
pub use any::{Form, bits, generate, power, random_exponent};
pub use crt::{CrtKey, turned};
pub use encryption::Encryption;
pub use hash::{Hash, MessageDigest, oid};
pub use implicit::pkcs1_decode_implicit;
pub use key::RsaKey;
pub use oaep::oaep_decode;
pub use pkcs1::{pkcs1_decode, pkcs1_sign, pkcs1_signed};
pub use premaster::{PREMASTER, premaster_choose, premaster_decode};
pub use pss::{Salt, pss_max_salt};
pub use signature::Signature;

use crate::error::Error;

const TOO_LONG: Error = Error::Unsupported("data too large for the RSA key");

/// The error of data or a digest of a length that the scheme does not take.
fn length(what: &'static str, got: usize, expected: &'static str) -> Error {
    Error::Length { what, got, expected }
}
