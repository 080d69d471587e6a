//! The numbers of slots that the configuration does not give.

use cryptoki_sys::CK_SLOT_ID;

/// The slot of the accelerator token.
pub const ACCELERATOR: CK_SLOT_ID = 1;

/// The same slot, for programs that leave operations behind: in sessions that are opened by this number a C_*Init ends the operations that
/// run, where the standard has CKR_OPERATION_ACTIVE for one of its kind and others go on beside it. It is in no list of slots.
pub const GIVING_WAY: CK_SLOT_ID = 0x1_0001;
