//! Numbers and order of slots where the configuration gives none.

use cryptoki_sys::CK_SLOT_ID;

/// The slot of the accelerator token.
pub const ACCELERATOR: CK_SLOT_ID = 1;

/// A second number of the accelerator's slot, for programs that leave operations behind: in sessions that are opened by this number a C_*Init ends
/// the operations that run, where the standard has CKR_OPERATION_ACTIVE for one of its kind and others go on beside it. It is in no list of slots.
pub const GIVING_WAY: CK_SLOT_ID = 0x1_0001;

/// What decides where a token stands in the list of slots, in the order of that list. Programs that are told of no token take the first: it is
/// to be one in which they find keys, or can make them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Standing {
    /// The token has objects.
    Filled = 0,
    /// The token's user has a PIN, and may make objects.
    Empty = 1,
    /// The accelerator, which keeps no objects.
    Accelerator = 2,
    /// The token is not initialized, its user has no PIN, or it cannot be read.
    Unready = 3,
}
