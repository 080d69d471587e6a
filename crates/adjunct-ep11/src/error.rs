//! What a function returns where it does not do what was asked.

use crate::transport::Failed;
use adjunct_ep11_wire::codes::rv;

/// A return value of PKCS #11 other than CKR_OK ([`adjunct_ep11_wire::codes::rv`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rv(pub u32);

impl Rv {
    /// A pointer or a length that no caller may pass.
    pub const ARGUMENTS: Rv = Rv(rv::ARGUMENTS_BAD);
    /// What a card said is no reply to the request.
    pub const DEVICE: Rv = Rv(rv::DEVICE_ERROR);
    /// There is no such target, or nobody serves it.
    pub const TARGET: Rv = Rv(rv::IBM_TARGET_INVALID);
}

impl From<adjunct_base::Error> for Rv {
    fn from(_: adjunct_base::Error) -> Rv {
        Rv(rv::HOST_MEMORY)
    }
}

impl From<Failed> for Rv {
    fn from(failed: Failed) -> Rv {
        Rv(match failed {
            Failed::Off | Failed::Nobody => rv::IBM_TARGET_INVALID,
            Failed::Memory => rv::HOST_MEMORY,
            Failed::Failed => rv::DEVICE_ERROR,
            _ => rv::IBM_TRANSPORT_ERROR,
        })
    }
}

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
