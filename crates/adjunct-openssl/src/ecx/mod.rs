//! X25519 and Ed25519.

pub mod exchange;
pub mod keymgmt;
pub mod signature;
