//! libica's interface (version 4.4) over adjunct's core.
//!
//! [`abi`] is the foreign layer: pointers and lengths become slices, errors become libica's return codes, no panic leaves it.
//! The modules beside it are the logic, in safe Rust where the core's is. `include/ica_api.h` is the interface for C,
//! `libica.map` its symbol versions, `link` makes the shared libraries of the static one that cargo builds.

pub mod abi;
pub mod cmac;
pub mod drbg;
pub mod ec;
pub mod ecx;
pub mod error;
pub mod gcm;
pub mod hash;
pub mod keep;
pub mod list;
pub mod machine;
pub mod rsa;
pub mod serve;

pub use adjunct_ossl::default_provider::curve448 as libcrypto;
