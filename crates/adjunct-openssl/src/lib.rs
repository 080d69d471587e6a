//! adjunct's OpenSSL provider: `adjunct.so` for OpenSSL 3.0 to 4.x.
//!
//! It does not link libcrypto: it talks to OpenSSL through the dispatch it is given and computes with the core. One
//! module per operation ([`cipher`], [`digest`], [`mac`], ...), each a thin foreign layer over safe logic; [`abi`] holds
//! OpenSSL's types and the guard that lets no panic out.

pub mod abi;
pub mod asynchronous;
pub mod capabilities;
pub mod cipher;
pub mod digest;
pub mod ec;
pub mod ecx;
pub mod encoders;
pub mod fallback;
pub mod init;
pub mod kem;
pub mod mac;
mod neighbours;
mod prime;
pub mod provider;
pub mod rand;
pub mod rsa;

use adjunct_ossl::entry;
