//! Calls and bytes per user and function, shared by all processes of the machine.

mod snapshot;

pub use snapshot::{Cell, Counts, Snapshot};

use crate::error::Error;
use crate::route::{Direction, Tally};

/// Maps the counters of the effective user. Never fails; without them nothing is counted and one warning says why.
pub fn open() {}

/// Tells the counters that a context is being created: operations from here on count to the effective user of now.
#[inline]
pub fn attribute() {}

/// Counts `calls` calls and `bytes` bytes.
#[inline]
pub fn add(tally: Tally, direction: Direction, calls: u64, bytes: u64) {
    let _ = (tally, direction, calls, bytes);
}

/// The users who have counters, by uid in ascending order. Those of others are seen only by root.
///
/// # Errors
/// [`Error::Counters`] where the system refuses.
pub fn users() -> Result<Vec<u32>, Error> {
    Ok(Vec::new())
}

/// What `uid` has counted since the last reset; `None` where the user has no counters.
///
/// # Errors
/// [`Error::Counters`] with the cause: permission, wrong owner or mode, damaged.
pub fn read(uid: u32) -> Result<Option<Snapshot>, Error> {
    let _ = uid;
    Ok(None)
}

/// Sets the counters of `uid` to zero; what running processes count from now on is kept.
///
/// # Errors
/// As for [`read`].
pub fn reset(uid: u32) -> Result<(), Error> {
    let _ = uid;
    Ok(())
}

/// Removes the counters of `uid`; processes that have them mapped go on, uncounted.
///
/// # Errors
/// As for [`read`].
pub fn delete(uid: u32) -> Result<(), Error> {
    let _ = uid;
    Ok(())
}
