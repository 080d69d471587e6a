//! Elliptic-curve keys on the NIST curves.

pub mod exchange;
pub mod keymgmt;
pub mod signature;
