//! Mechanisms: which there are, and the operations that they give. `registry` has them all; each stands in the file of its family (`rsa`, `curves`,
//! `mldsa`, `mlkem`, `aes`, `des3`, `chacha`, `hmac`, `digest`, `generate`, `tls_mac`, `derive/`). The other files are what families share.

pub mod aead;
mod aes;
mod blocks;
mod chacha;
mod common;
mod curves;
pub mod derive;
mod des3;
pub mod digest;
mod generate;
pub mod hash;
pub mod hmac;
pub mod iv;
pub mod mac;
mod mldsa;
mod mlkem;
pub mod params;
pub mod recover;
pub mod registry;
mod rsa;
mod rsa_cipher;
mod sign;
mod streams;
mod tls_mac;
mod wrap;
mod xts;

use cryptoki_sys::CK_MECHANISM_TYPE;
use params::Params;
use registry::Entry;

/// A mechanism with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism<'a> {
    /// Its type.
    pub kind: CK_MECHANISM_TYPE,
    /// What is known of the type.
    pub entry: &'static Entry,
    /// The parameters.
    pub params: Params<'a>,
}

impl<'a> Mechanism<'a> {
    /// A mechanism with these parameters; nothing begins with one that is not there.
    #[inline]
    pub fn new(kind: CK_MECHANISM_TYPE, params: Params<'a>) -> Mechanism<'a> {
        Mechanism { kind, entry: registry::find_or_unknown(kind), params }
    }
}
