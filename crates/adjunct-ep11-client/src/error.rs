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
            Failed::TooLong => rv::IBM_TRANSPORT_LIMIT,
            _ => rv::IBM_TRANSPORT_ERROR,
        })
    }
}
