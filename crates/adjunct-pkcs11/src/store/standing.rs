//! Where a token stands in the list of slots: by what its file holds, as far as that is seen without reading a long one.

use super::file;
use super::format::{FRAMES, Header};
use super::trouble::Trouble;
use super::{Holder, Initialized, Store};
use crate::slot::Standing;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The last observation: [`file::Seen::print`], with the [`Standing`] in its lowest bits; 0 before the first one.
#[derive(Debug, Default)]
pub(super) struct Noted(AtomicU64);

const BITS: u64 = 3;
/// The note for a missing file.
const NO_FILE: u64 = BITS + 1;
/// A longer file has objects, or had until a moment ago.
const SMALL: u64 = 256 << 10;

impl Store {
    /// The token's standing in the list of slots. `again`: by the file as it is now; else by what the last call found.
    pub fn standing(&self, again: bool) -> Standing {
        let noted = self.standing.0.load(Relaxed);
        let of = |noted: u64| match noted & BITS {
            0 => Standing::Filled,
            1 => Standing::Empty,
            _ => Standing::Unready,
        };
        if noted != 0 && !again {
            return of(noted);
        }
        let seen = match self.place.look() {
            Ok(Some(seen)) => seen.print() & !BITS,
            _ => NO_FILE,
        };
        if noted != 0 && noted & !BITS == seen {
            return of(noted);
        }
        let standing = self.read_standing().unwrap_or(Standing::Unready);
        self.standing.0.store(seen.max(NO_FILE) | standing as u64, Relaxed);
        standing
    }

    fn read_standing(&self) -> Result<Standing, Trouble> {
        let Some((file, seen, _)) = self.place.open()? else { return Ok(Standing::Unready) };
        let long = seen.length > SMALL;
        let bytes = file::read(&file, 0, if long { FRAMES as u64 } else { seen.length })?;
        Header::decode(&bytes)?;
        if long {
            return Ok(Standing::Filled);
        }
        let (token, _, _) = Initialized::read(&bytes, None)?;
        Ok(match token.roles[Holder::User as usize] {
            _ if !token.objects.is_empty() => Standing::Filled,
            Some(_) => Standing::Empty,
            None => Standing::Unready,
        })
    }
}
