//! The sessions that keep an object for reuse, which are told when it is gone.

use crate::handle::Handle;
use adjunct::memory::{Kept, WriteOnce, boxed};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

/// The most sessions that are recorded. In programs that open a session for each operation, as Java does, only a few keep an object, and asking
/// every session would take time in proportion to their number.
const MOST: usize = 8;

/// The record of the sessions that keep an object.
#[derive(Debug, Default)]
pub struct Keepers {
    /// Handles of the sessions, once one keeps the object; 0: no session.
    places: WriteOnce<Box<[AtomicU64; MOST]>>,
    /// Whether more sessions than [`MOST`] keep it.
    many: AtomicBool,
}

/// The sessions that keep an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keeping {
    /// The sessions in the list.
    Some(Vec<Handle>),
    /// Any may.
    Many,
}

impl Keepers {
    /// Notes that a session keeps the object.
    pub fn add(&self, session: Handle) {
        let own = session.get();
        // Where there is no memory, and where another thread makes the places at this moment, it is one of many.
        if let Ok(Kept::There(places)) = self.places.get_or_make(|| boxed(Default::default())) {
            for place in &**places {
                let before = place.compare_exchange(0, own, SeqCst, SeqCst);
                if before.is_ok() || before == Err(own) {
                    // Behind the places themselves, too, which this may have made.
                    fence(SeqCst);
                    return;
                }
            }
        }
        self.many.store(true, SeqCst);
    }

    /// The sessions that keep the object. Take the object out of its place before asking.
    pub fn sessions(&self) -> Keeping {
        // The places are looked for after the object was taken out.
        fence(SeqCst);
        if self.many.load(SeqCst) {
            return Keeping::Many;
        }
        let places = self.places.get().map_or([].as_slice(), |places| places.as_slice());
        Keeping::Some(places.iter().map(|place| place.load(SeqCst)).filter(|one| *one != 0).map(Handle::from).collect())
    }
}
