//! The index by which the objects of a table are found. Most objects are never looked for: programs bring keys, use them by their handles and destroy
//! them, and others load a token to find one key. So an object is noted at first, in a few instructions, and indexed once searches have looked
//! through all objects a few times.

use crate::handle::Handle;
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::object::attributes::Attributes;
use cryptoki_sys::*;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;

/// What programs look for; other attributes are compared one by one. Those that fewest objects share come first.
const INDEXED: [CK_ATTRIBUTE_TYPE; 4] = [CKA_UNIQUE_ID, CKA_ID, CKA_LABEL, CKA_CLASS];

/// Searches that look through all objects before the objects are indexed: to index one takes as long as to look at it some ten times.
const SCANS: usize = 4;

/// Length from which lists are not told apart by their lengths.
const LONG: usize = 64;

/// A list of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// All objects.
    All,
    /// Objects that have an attribute of this hash, and seldom others.
    Of(u64),
}

/// Handles of objects that come and go: one that has gone stays in the list until half of them have.
#[derive(Debug)]
pub struct Handles {
    all: Vec<Handle>,
    /// Handles of the list that have not gone, or fewer.
    live: usize,
    sorted: bool,
}

impl Default for Handles {
    fn default() -> Handles {
        Handles { all: Vec::new(), live: 0, sorted: true }
    }
}

impl Handles {
    fn add(&mut self, handle: Handle) {
        self.sorted = self.sorted && self.all.last().is_none_or(|last| *last < handle);
        self.all.push(handle);
        self.live += 1;
    }

    /// Notes that a handle's object has gone. `is_there` says of any handle whether its object exists.
    fn remove(&mut self, is_there: impl Fn(Handle) -> bool) {
        self.live = self.live.saturating_sub(1);
        if self.live == 0 || self.all.len() > 2 * self.live + 64 {
            self.all.retain(|handle| is_there(*handle));
            self.live = self.all.len();
        }
    }

    /// All, in order.
    fn sorted(&mut self) -> &[Handle] {
        if !self.sorted {
            self.all.sort_unstable();
            self.sorted = true;
        }
        &self.all
    }
}

/// The index of a table, and the objects that are not indexed yet.
#[derive(Debug, Default)]
pub struct Index {
    fresh: Handles,
    /// Searches that have looked through all objects.
    scans: usize,
    all: BTreeSet<Handle>,
    by_value: BTreeSet<(u64, Handle)>,
    by_session: BTreeMap<Handle, Handles>,
    hash: RandomState,
}

impl Index {
    /// The index keys of attributes. Empty attributes are left out: objects without a name share them.
    fn keys(hash: &RandomState, attributes: &Attributes) -> impl Iterator<Item = u64> {
        let value = |kind| attributes.bytes(kind).filter(|value| !value.is_empty());
        INDEXED.into_iter().filter_map(move |kind| Some(hash.hash_one((kind, value(kind)?))))
    }

    /// Notes a new object.
    pub fn add(&mut self, handle: Handle, session: Option<Handle>) {
        self.fresh.add(handle);
        if let Some(session) = session {
            self.by_session.entry(session).or_default().add(handle);
        }
    }

    /// Removes a handle from those that are noted and, if it is `indexed`, from the index. `is_there` says of a handle whether it names an object.
    pub fn remove(
        &mut self,
        handle: Handle,
        indexed: Option<&Object>,
        session: Option<Handle>,
        is_there: impl Fn(Handle) -> bool,
    ) {
        match indexed {
            Some(object) => {
                self.all.remove(&handle);
                self.remove_values(handle, object);
            }
            None => self.fresh.remove(&is_there),
        }
        if let Some(session) = session
            && let Some(handles) = self.by_session.get_mut(&session)
        {
            handles.remove(&is_there);
            if handles.all.is_empty() {
                self.by_session.remove(&session);
            }
        }
    }

    fn remove_values(&mut self, handle: Handle, object: &Object) {
        Index::keys(&self.hash, &object.attributes).for_each(|key| _ = self.by_value.remove(&(key, handle)));
    }

    /// Indexes the object that took the place of an indexed one.
    pub fn replace(&mut self, handle: Handle, old: &Object, new: &Object) {
        self.remove_values(handle, old);
        Index::keys(&self.hash, &new.attributes).for_each(|key| _ = self.by_value.insert((key, handle)));
    }

    /// Handles of objects that end with a session.
    pub fn of_session(&self, session: Handle) -> Vec<Handle> {
        self.by_session.get(&session).map(|handles| handles.all.clone()).unwrap_or_default()
    }

    /// All objects, and some that have gone.
    pub fn every(&self) -> Vec<Handle> {
        self.all.iter().chain(&self.fresh.all).copied().collect()
    }

    /// Indexes the objects that are not indexed, unless there is no index yet and this is one of the first searches. `find` gives the object of a
    /// handle, if it exists, and is told to note that it is indexed.
    fn settle(&mut self, find: impl Fn(Handle) -> Option<std::sync::Arc<Object>>) {
        if self.fresh.all.is_empty() {
            return;
        }
        self.scans += 1;
        if self.all.is_empty() && self.scans <= SCANS {
            return;
        }
        let mut values = Vec::with_capacity(self.fresh.all.len() * INDEXED.len());
        let mut handles = Vec::with_capacity(self.fresh.all.len());
        for handle in std::mem::take(&mut self.fresh.all) {
            // One that has gone a moment ago is taken away as one that was not indexed.
            if let Some(object) = find(handle) {
                values.extend(Index::keys(&self.hash, &object.attributes).map(|key| (key, handle)));
                handles.push(handle);
            }
        }
        self.fresh.live = self.fresh.live.saturating_sub(handles.len());
        self.fresh.sorted = true;
        // A set is made of many at once in less time than one by one.
        if handles.len() > self.all.len() / 8 {
            self.all.append(&mut handles.into_iter().collect());
            self.by_value.append(&mut values.into_iter().collect());
        } else {
            self.all.extend(handles);
            self.by_value.extend(values);
        }
    }

    /// A short list that has all objects with these attributes; `None` where no object has one of them. `find` is that of [`Index::settle`].
    pub fn shortest(
        &mut self,
        template: &Attributes,
        find: impl Fn(Handle) -> Option<std::sync::Arc<Object>>,
    ) -> Option<List> {
        self.settle(find);
        if !self.fresh.all.is_empty() {
            return Some(List::All);
        }
        let mut shortest = (List::All, LONG + 1);
        for key in Index::keys(&self.hash, template) {
            let length = self.range(key, None).take(LONG).count();
            if length == 0 {
                return None;
            }
            if length < shortest.1 {
                shortest = (List::Of(key), length);
            }
        }
        Some(shortest.0)
    }

    /// Handles of a list behind `last`.
    fn range(&self, key: u64, last: Option<Handle>) -> impl Iterator<Item = Handle> {
        let from = last.map_or(Bound::Included((key, Handle::from(0))), |last| Bound::Excluded((key, last)));
        let to = Bound::Included((key, Handle::from(CK_ULONG::MAX)));
        self.by_value.range((from, to)).map(|(_, handle)| *handle)
    }

    /// The next objects of a list behind `last`, at most `most`, in the order of their handles. `is_there` says of a handle whether it names an
    /// object.
    pub fn page(
        &mut self,
        list: List,
        last: Option<Handle>,
        most: usize,
        is_there: impl Fn(Handle) -> bool,
    ) -> Vec<Handle> {
        match list {
            List::Of(key) => self.range(key, last).take(most).collect(),
            List::All => {
                let from = last.map_or(Bound::Unbounded, Bound::Excluded);
                let fresh = self.fresh.sorted();
                let begin = fresh.partition_point(|handle| last.is_some_and(|last| *handle <= last));
                let fresh = fresh[begin..].iter().copied().filter(|handle| is_there(*handle)).take(most);
                let indexed = self.all.range((from, Bound::Unbounded)).copied().take(most);
                let mut both: Vec<Handle> = indexed.chain(fresh).collect();
                both.sort_unstable();
                both.truncate(most);
                both
            }
        }
    }
}
