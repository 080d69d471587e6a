//! RSA.

pub mod encryption;
pub mod keymgmt;
pub mod signature;
