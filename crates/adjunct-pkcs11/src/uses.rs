//! What `pkcsstats` shows: each operation that begins and each key that is managed counts once, by the mechanism and the strength of
//! the key, if there is one.

use crate::session::Session;
use adjunct::counters::{self, Strength};
use cryptoki_sys::*;

/// Counts a use of a mechanism, with a key of this strength.
pub fn count(session: &Session, mechanism: CK_MECHANISM_TYPE, strength: Strength) {
    let (Ok(slot), Ok(mechanism)) = (u32::try_from(session.slot().id), u32::try_from(mechanism)) else { return };
    counters::count_use(slot, mechanism, strength);
}
