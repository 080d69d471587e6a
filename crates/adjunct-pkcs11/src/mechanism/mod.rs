//! Mechanisms: which there are, and the operations that they give. `registry` has them all; each stands in the file of its family (`rsa`, `curves`,
//! `mldsa`, `mlkem`, `aes`, `des3`, `chacha`, `hmac`, `digest`, `generate`, `tls_mac`, `derive/`). The other files are what families share.

pub mod aead;
pub mod aes;
pub mod blocks;
pub mod chacha;
pub mod common;
pub mod curves;
pub mod derive;
pub mod des3;
pub mod digest;
pub mod generate;
pub mod hash;
pub mod hmac;
pub mod iv;
pub mod mac;
pub mod mldsa;
pub mod mlkem;
pub mod params;
pub mod recover;
pub mod registry;
pub mod rsa;
pub mod rsa_cipher;
pub mod sign;
pub mod streams;
pub mod tls_mac;
pub mod wrap;
pub mod xts;

use cryptoki_sys::CK_MECHANISM_TYPE;
use params::Params;
use registry::Entry;

/// A mechanism with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism<'a> {
    pub kind: CK_MECHANISM_TYPE,
    pub entry: &'static Entry,
    pub params: Params<'a>,
}

impl<'a> Mechanism<'a> {
    /// A mechanism with these parameters; nothing begins with one that is not there.
    pub fn new(kind: CK_MECHANISM_TYPE, params: Params<'a>) -> Mechanism<'a> {
        Mechanism { kind, entry: registry::find_or_unknown(kind), params }
    }
}
