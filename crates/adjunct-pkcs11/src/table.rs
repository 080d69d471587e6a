//! The objects of a token: by handle, and by what programs look for.

mod index;
mod keepers;
pub mod search;

use crate::handle::Handle;
use adjunct::lock::Lock;
use adjunct::slab::{Entry, Number, Slab, Watch};
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use index::Index;
pub use index::List;
use keepers::Keepers;
pub use keepers::Keeping;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Objects of all tokens, by handle.
static PLACES: Slab<Place> = Slab::new();

/// Objects as they are now: a change puts another there. So an operation finds its key without a lock, and a thread that finds a version gone looks
/// for the next one.
static VERSIONS: Slab<Version> = Slab::new();

/// An object as it is until it is changed or removed.
#[derive(Debug)]
pub struct Version {
    pub object: Arc<Object>,
    /// The sessions that keep it.
    keepers: Keepers,
}

impl Version {
    fn new(object: Arc<Object>) -> Version {
        Version { object, keepers: Keepers::default() }
    }

    /// The sessions that keep the object, for the function that a table calls when the object is gone.
    pub fn keepers(&self) -> Keeping {
        self.keepers.sessions()
    }
}

/// The place of an object in the table.
#[derive(Debug)]
pub struct Place {
    /// Its table's number: handles of other tokens, and of a process before a fork, find nothing.
    table: u64,
    /// The session that the object ends with.
    session: Option<Handle>,
    /// The number in [`VERSIONS`] of the object as it is now.
    version: AtomicU64,
    /// Whether the object is indexed. Read and written while the index is locked.
    indexed: AtomicBool,
}

impl Place {
    /// The object as it is now.
    pub fn object(&self) -> Arc<Object> {
        Arc::clone(&self.version().object)
    }

    fn version(&self) -> Entry<Version> {
        loop {
            let version = Number::from_integer(self.version.load(Acquire));
            if let Some(version) = version.and_then(|version| VERSIONS.get(version)) {
                return version;
            }
            std::hint::spin_loop();
        }
    }

    /// Puts another version there; the old one goes with its last user.
    fn change(&self, object: Arc<Object>) -> Result {
        let new = VERSIONS.keep(VERSIONS.insert(Version::new(object))?);
        let old = self.version.swap(new.get(), AcqRel);
        drop(Number::from_integer(old).and_then(|old| VERSIONS.retire(old)));
        Ok(())
    }

    /// The session that the object ends with; `None` for a token's object.
    pub fn session(&self) -> Option<Handle> {
        self.session
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(Number::from_integer(*self.version.get_mut()).and_then(|version| VERSIONS.retire(version)));
    }
}

/// An object with its place, which tells without a write whether the object is still there.
#[derive(Debug, Clone)]
pub struct Found {
    place: Watch<Place>,
    version: Watch<Version>,
    /// The number in [`VERSIONS`].
    number: Number,
    pub object: Arc<Object>,
}

impl Found {
    /// Whether the handle still names this object, and it has not changed.
    #[inline]
    pub fn is_current(&self) -> bool {
        self.place.is_there() && self.version.is_there()
    }

    /// Notes that a session is about to keep the object. Of one that has gone nothing is noted: the session sees that it is not current.
    pub fn will_keep(&self, session: Handle) {
        if let Some(version) = VERSIONS.get(self.number) {
            version.keepers.add(session);
        }
    }
}

/// The function that a table calls when a handle no longer names an object, because it was removed or replaced.
pub type Gone = fn(Handle, &Version);

/// The objects of one token in one process.
#[derive(Debug)]
pub struct Table {
    number: u64,
    gone: Gone,
    index: Lock<Index>,
}

impl Table {
    /// Makes an empty table, with a number that no other table has, which calls no function when an object is removed.
    pub fn new() -> Table {
        Table::telling(|_, _| {})
    }

    /// Makes an empty table that calls `gone` for each object that is removed, for code that keeps objects by their handles.
    pub fn telling(gone: Gone) -> Table {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Relaxed);
        Table { number, gone, index: Lock::new(Index::default()) }
    }

    /// Makes an empty table that calls the function that `self` calls.
    pub fn anew(&self) -> Table {
        Table::telling(self.gone)
    }

    /// Calls `body` with the index. One that a fork has caught half changed is made again.
    fn index<R>(&self, body: impl FnOnce(&mut Index) -> R) -> R {
        self.index.hold(|index, taken| {
            if taken.abandoned {
                // What is half changed is not safe to drop.
                std::mem::forget(std::mem::take(index));
                PLACES.each(|place| {
                    if place.table == self.number {
                        place.indexed.store(false, Relaxed);
                        index.add(Handle::of(place.number()), place.session);
                    }
                });
            }
            body(index)
        })
    }

    /// Puts an object there; its handle.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn insert(&self, object: Object, session: Option<Handle>) -> Result<Handle> {
        let version = VERSIONS.keep(VERSIONS.insert(Version::new(Arc::new(object)))?);
        let (version, indexed) = (AtomicU64::new(version.get()), AtomicBool::new(false));
        let place = Place { table: self.number, session, version, indexed };
        // An index that is made again has what is in its place before.
        self.index(|index| {
            let handle = Handle::of(PLACES.keep(PLACES.insert(place)?));
            index.add(handle, session);
            Ok(handle)
        })
    }

    /// The place of an object of this table.
    ///
    /// # Errors
    /// `CKR_OBJECT_HANDLE_INVALID`.
    pub fn get(&self, handle: Handle) -> Result<Entry<Place>> {
        let place = handle.number().and_then(|number| PLACES.get(number));
        place.filter(|place| place.table == self.number).ok_or(Rv(CKR_OBJECT_HANDLE_INVALID))
    }

    /// An object of this table, as it is now.
    ///
    /// # Errors
    /// `CKR_OBJECT_HANDLE_INVALID`.
    pub fn find_one(&self, handle: Handle) -> Result<Found> {
        let place = self.get(handle)?;
        loop {
            let now = place.version();
            let (number, object) = (now.number(), Arc::clone(&now.object));
            let there = handle.number().and_then(|number| PLACES.watch(number)).ok_or(Rv(CKR_OBJECT_HANDLE_INVALID))?;
            // Where another has come into its place meanwhile, that one is it.
            if let Some(version) = VERSIONS.watch(number) {
                return Ok(Found { place: there, version, number, object });
            }
        }
    }

    /// Takes an object away.
    ///
    /// # Errors
    /// `CKR_OBJECT_HANDLE_INVALID`.
    pub fn remove(&self, handle: Handle) -> Result {
        let place = self.get(handle)?;
        let retired = handle.number().and_then(|number| PLACES.retire(number));
        if retired.is_none() {
            return fail(CKR_OBJECT_HANDLE_INVALID);
        }
        let version = place.version();
        self.index(|index| {
            let indexed = place.indexed.load(Relaxed).then_some(&*version.object);
            index.remove(handle, indexed, place.session, is_there);
        });
        (self.gone)(handle, &version);
        Ok(())
    }

    /// Puts another object in the place of one.
    ///
    /// # Errors
    /// `CKR_OBJECT_HANDLE_INVALID`, `CKR_HOST_MEMORY`.
    pub fn replace(&self, handle: Handle, object: Object) -> Result {
        let (place, object) = (self.get(handle)?, Arc::new(object));
        let old = self.index(|index| {
            let old = place.version();
            place.change(object.clone())?;
            if place.indexed.load(Relaxed) {
                index.replace(handle, &old.object, &object);
            }
            Ok::<_, Rv>(old)
        })?;
        (self.gone)(handle, &old);
        Ok(())
    }

    /// Takes away what ends with a session.
    pub fn end_session(&self, session: Handle) {
        let handles = self.index(|index| index.of_session(session));
        handles.into_iter().for_each(|handle| _ = self.remove(handle));
    }

    /// Calls `body` with each object's handle and place.
    pub fn each(&self, mut body: impl FnMut(Handle, &Place)) {
        for handle in self.index(|index| index.every()) {
            if let Ok(place) = self.get(handle) {
                body(handle, &place);
            }
        }
    }

    /// Removes all objects that `which` names.
    pub fn remove_all(&self, which: impl Fn(&Place) -> bool) {
        self.each(|handle, place| {
            if which(place) {
                let _ = self.remove(handle);
            }
        });
    }

    /// A short list that has all objects with these attributes; `None` where no object has one of them.
    pub fn shortest(&self, template: &Attributes) -> Option<List> {
        let find = |handle: Handle| {
            let place = self.get(handle).ok()?;
            place.indexed.store(true, Relaxed);
            Some(place.object())
        };
        self.index(|index| index.shortest(template, find))
    }

    /// The next objects of a list behind `last`, at most `most`, in the order of their handles.
    pub fn page(&self, list: List, last: Option<Handle>, most: usize) -> Vec<Handle> {
        self.index(|index| index.page(list, last, most, is_there))
    }
}

/// Whether a handle names an object.
fn is_there(handle: Handle) -> bool {
    handle.number().is_some_and(|number| PLACES.has(number))
}

impl Default for Table {
    fn default() -> Table {
        Table::new()
    }
}

#[cfg(test)]
mod tests {
    use super::search::all;
    use super::*;

    fn object(label: &[u8], id: &[u8], private: bool) -> Object {
        let mut attributes = Attributes::default();
        attributes.set_number(CKA_CLASS, CKO_DATA).unwrap();
        attributes.set(CKA_LABEL, label).unwrap();
        attributes.set(CKA_ID, id).unwrap();
        attributes.set_bool(CKA_PRIVATE, private).unwrap();
        Object::new(attributes)
    }

    fn template(kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Attributes {
        let mut attributes = Attributes::default();
        attributes.set(kind, value).unwrap();
        attributes
    }

    #[test]
    fn it_tells_of_each_object_that_its_handle_names_no_more() {
        use std::cell::RefCell;
        thread_local! {
            static TOLD: RefCell<Vec<(Handle, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
        }
        let label = |object: &Object| object.attributes.bytes(CKA_LABEL).unwrap().to_vec();
        let table = Table::telling(|handle, version| {
            let label = version.object.attributes.bytes(CKA_LABEL).unwrap().to_vec();
            TOLD.with_borrow_mut(|told| told.push((handle, label)));
        });
        let one = table.insert(object(b"old", b"1", false), None).unwrap();
        table.replace(one, object(b"new", b"1", false)).unwrap();
        assert_eq!(label(&table.get(one).unwrap().object()), b"new");
        let other = table.anew();
        let two = other.insert(object(b"two", b"2", false), None).unwrap();
        other.remove_all(|_| true);
        table.remove(one).unwrap();
        assert!(table.remove(one).is_err());
        let told = [(one, b"old".to_vec()), (two, b"two".to_vec()), (one, b"new".to_vec())];
        assert_eq!(TOLD.take(), told);
    }

    #[test]
    fn objects_are_found_by_what_they_have() {
        let (table, other) = (Table::new(), Table::new());
        let session = Handle::from(77);
        let one = table.insert(object(b"a", b"1", false), None).unwrap();
        let two = table.insert(object(b"a", b"2", true), Some(session)).unwrap();
        let three = table.insert(object(b"b", b"2", false), None).unwrap();
        let find = |kind, value: &[u8], private| all(&table, &template(kind, value), private);
        // By handle, which need not be the order they were made in: places that other tests have left are taken again.
        assert_eq!(find(CKA_LABEL, b"a", true), [one.min(two), one.max(two)]);
        assert_eq!(find(CKA_LABEL, b"a", false), [one]);
        assert_eq!(find(CKA_ID, b"2", true), [two.min(three), two.max(three)]);
        assert_eq!(find(CKA_ID, b"3", true), []);
        assert_eq!(find(CKA_PRIVATE, &[CK_TRUE], true), [two]);
        assert_eq!(all(&table, &Attributes::default(), true).len(), 3);
        assert!(other.get(one).is_err() && all(&other, &Attributes::default(), true).is_empty());
        table.replace(one, object(b"c", b"1", false)).unwrap();
        assert_eq!((find(CKA_LABEL, b"c", false), find(CKA_LABEL, b"a", true)), (vec![one], vec![two]));
        table.end_session(session);
        assert!(table.get(two).is_err() && table.remove(two).is_err());
        table.remove_all(|_| true);
        assert!(all(&table, &Attributes::default(), true).is_empty());
        assert_eq!(table.get(three).err(), Some(Rv(CKR_OBJECT_HANDLE_INVALID)));
    }

    #[test]
    fn what_comes_goes_and_changes_is_found_before_and_after_it_is_indexed() {
        use std::collections::BTreeMap;
        let table = Table::new();
        let mut there: BTreeMap<Handle, (u64, Option<Handle>)> = BTreeMap::new();
        let mut seed = 1u64;
        let mut draw = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let label = |of: u64| [b'a' + of as u8];
        for round in 0..20_000 {
            let some = |there: &BTreeMap<Handle, _>, at: u64| there.keys().nth(at as usize % there.len()).copied();
            // Searches are seldom: many objects come and go between two.
            match draw(1000) {
                0..500 => {
                    let (of, session) = (draw(9), draw(5));
                    let session = (session > 0).then(|| Handle::from(session));
                    there.insert(table.insert(object(&label(of), b"1", false), session).unwrap(), (of, session));
                }
                500..990 if there.len() > 200 || !there.is_empty() && round % 7 == 0 => {
                    let handle = some(&there, draw(1000)).unwrap();
                    table.remove(handle).unwrap();
                    there.remove(&handle);
                }
                990..993 if !there.is_empty() => {
                    let (handle, of) = (some(&there, draw(1000)).unwrap(), draw(9));
                    table.replace(handle, object(&label(of), b"1", false)).unwrap();
                    there.get_mut(&handle).unwrap().0 = of;
                }
                993 => {
                    let session = Handle::from(1 + draw(4));
                    table.end_session(session);
                    there.retain(|_, (_, of)| *of != Some(session));
                }
                994..1000 => {
                    let of = draw(10);
                    let expected: Vec<Handle> =
                        there.iter().filter(|(_, (label, _))| *label == of).map(|(handle, _)| *handle).collect();
                    assert_eq!(all(&table, &template(CKA_LABEL, &label(of)), true), expected);
                    assert_eq!(all(&table, &Attributes::default(), true).len(), there.len());
                }
                _ => {}
            }
        }
        table.remove_all(|_| true);
        assert!(all(&table, &Attributes::default(), true).is_empty());
    }
}
