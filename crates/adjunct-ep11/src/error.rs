//! What a function returns where it does not do what was asked.

pub use adjunct_ep11_client::error::Rv;

/// Results of functions that return an `int` (`XCP_E*`, `XCP_MOD_E*`).
#[allow(missing_docs)]
pub mod int {
    pub const OK: i32 = 0;
    pub const INTERNAL: i32 = -1;
    pub const ARG: i32 = -2;
    pub const TARGET: i32 = -3;
    pub const MEMORY: i32 = -4;
    pub const GROUP: i32 = -8;
    pub const SIZE: i32 = -9;
    pub const INVALID: i32 = -10;
    pub const RESPONSE: i32 = -11;
    pub const API: i32 = -12;
    pub const MOD_OBSOLETE: i32 = -101;
    pub const MOD_VERSION: i32 = -102;
    pub const MOD_FLAGS: i32 = -103;
    pub const MOD_MODULE: i32 = -104;
    pub const MOD_DOMAIN: i32 = -105;
    pub const MOD_PROBE: i32 = -107;
}
