//! Finds a user's segment: the keys that are tried, and the segments found under them.
//!
//! A key is a hash, so anybody can compute another user's and make a segment under it first. So several keys are tried in turn. If all are taken, a
//! segment without a key is made, which no other user can take; it is found in the system's list by its owner, creator, mode, size and identity. A
//! program thus makes two system calls for each key that is taken, and nothing keeps it from counting but the system's own limits.
#![forbid(unsafe_code)]

use super::layout::{Fnv, REASONS, SLOTS, VERSION};
use super::memory::{self, Access, Kind, Mapped, NO_KEY, Stat, Wrong};
use super::segment::Segment;
use super::switched::Switched;
use super::table::{self, Uses};
use crate::catalogue::{Function, Queue, Reason, Row};
use std::marker::PhantomData;

/// Keys tried before a segment without one.
pub(super) const KEYS: u32 = 16;
/// The user in the keys of the segment of switched users, which no user has as uid (to the system it means "leave it as it is").
const SWITCHED: u32 = u32::MAX;
/// Further input of the keys of segments with uses of mechanisms.
const USES: &[u32] = &[1, table::ROWS as u32, table::STRIPES as u32];

/// A hash of everything that gives the words their meaning. A program needs it at its start: the compiler works it out.
static LAYOUT: Fnv = {
    let mut hash = Fnv::new();
    let sizes = [SLOTS, Row::COUNT, REASONS, size_of::<Segment>(), size_of::<Switched>()];
    let mut n = 0;
    while n < sizes.len() {
        hash.add(&sizes[n].to_le_bytes());
        n += 1;
    }
    n = 0;
    while n < Function::ALL.len() {
        let info = Function::ALL[n].info();
        hash.add(info.name.as_bytes());
        let mut size = 0;
        while size < info.sizes.len() {
            hash.add(&info.sizes[size].to_le_bytes());
            size += 1;
        }
        n += 1;
    }
    n = 0;
    while n < Reason::ALL.len() {
        hash.add(Reason::ALL[n].key().as_bytes());
        n += 1;
    }
    n = 0;
    while n < Queue::ALL.len() {
        hash.add(Queue::ALL[n].1.as_bytes());
        n += 1;
    }
    hash
};

/// Magic, version, and a hash of the layout and of whose segment it is.
fn identity(whose: &[u32]) -> u64 {
    let mut hash = LAYOUT;
    whose.iter().for_each(|w| hash.add(&w.to_le_bytes()));
    let magic = u64::from_be_bytes([b'a', b'd', b'j', VERSION as u8, 0, 0, 0, 0]);
    magic | u64::from(hash.fold())
}

/// A segment to be found: under a prefix, of a user, of one kind.
#[derive(Debug)]
pub(super) struct Sought<T> {
    whose: [u32; 2],
    /// Further numbers that identify the kind.
    more: &'static [u32],
    /// User whose the segment has to be.
    pub(super) uid: u32,
    kind: PhantomData<T>,
}

impl Sought<Segment> {
    /// The segment of a user.
    pub(super) fn of(prefix: u32, uid: u32) -> Self {
        Sought { whose: [prefix, uid], more: &[], uid, kind: PhantomData }
    }
}

impl Sought<Switched> {
    /// The segment of switched users, which is root's.
    pub(super) fn switched(prefix: u32) -> Self {
        Sought { whose: [prefix, SWITCHED], more: &[], uid: 0, kind: PhantomData }
    }
}

impl Sought<Uses> {
    /// The segment in which a user's uses of mechanisms are counted.
    pub(super) fn uses(prefix: u32, uid: u32) -> Self {
        Sought { whose: [prefix, uid], more: USES, uid, kind: PhantomData }
    }
}

impl<T: Kind> Sought<T> {
    /// The keys, in the order in which they are tried. The layout goes into them: a version of adjunct with another layout makes
    /// segments of its own and leaves those of processes that still run the old one alone.
    pub(super) fn keys(&self) -> impl Iterator<Item = i32> {
        let layout = identity(&[]);
        let whose = self.whose();
        (0..KEYS).map(move |turn| {
            let mut hash = Fnv::new();
            hash.add(&layout.to_le_bytes());
            whose.iter().for_each(|w| hash.add(&w.to_le_bytes()));
            hash.add(&turn.to_le_bytes());
            // Never 0, which is no key.
            hash.fold().max(1).cast_signed()
        })
    }

    fn whose(&self) -> Vec<u32> {
        [&self.whose, self.more].concat()
    }

    fn identity(&self) -> u64 {
        identity(&self.whose())
    }

    /// Maps the segment to count in, which is made if it does not exist.
    ///
    /// # Errors
    /// [`Wrong`], where the system makes none.
    pub(super) fn open(&self) -> Result<Mapped<T>, Wrong> {
        for key in self.keys() {
            match memory::create(key, self.uid, self.identity()) {
                Err(wrong) if wrong.is_of_this_key() => {}
                other => return other,
            }
        }
        // All taken. Two who come here at the same time may make one each: readers add them up.
        let listed = memory::segments().map_err(|e| Wrong::System("shmctl", e))?;
        let without = listed.iter().filter(|s| s.key == NO_KEY);
        match without.filter_map(|s| self.attach(s, Access::Write).ok()).next() {
            Some(found) => Ok(found),
            None => memory::create(NO_KEY, self.uid, self.identity()),
        }
    }

    fn attach(&self, found: &Stat, access: Access) -> Result<Mapped<T>, Wrong> {
        match found.wrong(self.uid, T::SIZE) {
            Some(wrong) => Err(wrong),
            None => memory::attach(found.id, self.uid, self.identity(), access),
        }
    }

    /// Maps all of the user's segments among the `listed`: there are several where a taken key was given up by its taker.
    pub(super) fn all(&self, listed: &[Stat], access: Access) -> Vec<Mapped<T>> {
        let keys: Vec<i32> = self.keys().collect();
        let possible = listed.iter().filter(|s| s.key == NO_KEY || keys.contains(&s.key));
        possible.filter_map(|s| self.attach(s, access).ok()).collect()
    }

    /// Whether one of the user's segments is among the `listed`.
    pub(super) fn is_in(&self, listed: &[Stat]) -> bool {
        let mut fitting = listed.iter().filter(|s| s.wrong(self.uid, T::SIZE).is_none());
        fitting.any(|s| match s.key {
            NO_KEY => self.attach(s, Access::Read).is_ok(),
            key => self.keys().any(|k| k == key),
        })
    }

    /// Whether `found` is one of the user's segments, and whole.
    pub(super) fn is_sound(&self, found: &Stat) -> bool {
        self.attach(found, Access::Read).is_ok()
    }

    /// The segments under the keys before the segment's own, with the reason why each is not that: under all keys where it has none.
    pub(super) fn in_the_way(&self, listed: &[Stat]) -> Vec<(Stat, Wrong)> {
        let mut found = Vec::new();
        for key in self.keys() {
            let Some(stat) = listed.iter().find(|s| s.key == key) else { break };
            match self.attach(stat, Access::Read) {
                Ok(_) => break,
                // Made, and its maker has not come further yet.
                Err(Wrong::Content(0)) => break,
                Err(wrong) => found.push((*stat, wrong)),
            }
        }
        found
    }

    /// Segments that this user may remove: damaged ones too.
    pub(super) fn own(&self, listed: &[Stat]) -> Vec<Stat> {
        let keys: Vec<i32> = self.keys().collect();
        let own = |s: &&Stat| s.uid == self.uid && s.creator == self.uid;
        let ours = |s: &&Stat| match s.key {
            NO_KEY => self.attach(s, Access::Read).is_ok(),
            key => keys.contains(&key),
        };
        listed.iter().filter(own).filter(ours).copied().collect()
    }
}
