//! Keys that were made ready, found by the blob that they were made of: a request need not decrypt and prepare its key again.
//!
//! An entry's name is SHA-256 of a random secret, the blob and the domain: all 32 bytes are compared, so that two blobs never share an entry, and whoever
//! sends blobs cannot choose where they go. The secret fills a block of the digest, which is worked in once.
//!
//! The cache is bounded by entries and by bytes; what was not used for the longest time goes. A key that goes, or that [`Cache::wipe`] takes out, is dropped
//! when the last request that uses it ends; that it wipes itself then is the matter of its type.

use crate::crypt::Secret;
use adjunct::ops::digest::{Part, SHA256};
use adjunct::ops::random::random;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// The name of an entry.
type Name = [u8; 32];

/// The most parts that the cache is split into, each with its own lock; a part has at least so many entries.
const PARTS: usize = 8;
const LEAST: usize = 64;
/// No entry: the end of a list.
const NONE: usize = usize::MAX;

/// What a cache holds, and how often it was of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Keys that are in it.
    pub entries: usize,
    /// Their bytes, as they were told.
    pub bytes: usize,
    /// How often a key was there.
    pub hits: u64,
    /// How often it was not.
    pub misses: u64,
}

/// Keys by their blobs.
pub struct Cache<T> {
    parts: Box<[Mutex<Kept<T>>]>,
    /// The digest after the secret.
    keyed: Part,
    /// Counts wipes: what was begun before one is not kept after it.
    wipes: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl<T> std::fmt::Debug for Cache<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("report", &self.report()).finish_non_exhaustive()
    }
}

/// Takes the first bytes of a name, which is as good as random.
#[derive(Default)]
struct First(u64);

impl Hasher for First {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*first);
        }
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// An entry, in a list from the one used last to the one not used for the longest time.
struct Entry<T> {
    name: Name,
    value: Arc<T>,
    bytes: usize,
    newer: usize,
    older: usize,
}

/// A part of the cache.
struct Kept<T> {
    places: HashMap<Name, usize, BuildHasherDefault<First>>,
    entries: Vec<Entry<T>>,
    newest: usize,
    oldest: usize,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl<T> Kept<T> {
    fn new(most: usize, most_bytes: usize) -> Kept<T> {
        let (places, entries) = Default::default();
        Kept { places, entries, newest: NONE, oldest: NONE, bytes: 0, most, most_bytes }
    }

    /// Takes an entry out of the list.
    fn unlink(&mut self, at: usize) {
        let (newer, older) = (self.entries[at].newer, self.entries[at].older);
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older].newer = newer,
        }
    }

    /// Puts an entry at the list's begin.
    fn link(&mut self, at: usize) {
        (self.entries[at].newer, self.entries[at].older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = at,
            newest => self.entries[newest].newer = at,
        }
        self.newest = at;
    }

    fn get(&mut self, name: &Name) -> Option<Arc<T>> {
        let at = *self.places.get(name)?;
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        Some(self.entries[at].value.clone())
    }

    /// Takes out what was not used for the longest time.
    fn remove_oldest(&mut self) -> Option<Arc<T>> {
        let at = self.oldest;
        if at == NONE {
            return None;
        }
        self.unlink(at);
        let entry = self.entries.swap_remove(at);
        self.places.remove(&entry.name);
        self.bytes -= entry.bytes;
        // The last entry has its place now.
        if at < self.entries.len() {
            let (newer, older) = (self.entries[at].newer, self.entries[at].older);
            self.places.insert(self.entries[at].name, at);
            match newer {
                NONE => self.newest = at,
                newer => self.entries[newer].older = at,
            }
            match older {
                NONE => self.oldest = at,
                older => self.entries[older].newer = at,
            }
        }
        Some(entry.value)
    }

    /// Puts a value in, unless there is one of that name; that, and what has to go.
    fn insert(&mut self, name: Name, value: Arc<T>, bytes: usize, gone: &mut Vec<Arc<T>>) -> Arc<T> {
        if let Some(there) = self.get(&name) {
            gone.push(value);
            return there;
        }
        if bytes > self.most_bytes || self.most == 0 {
            return value;
        }
        while self.entries.len() >= self.most || self.bytes + bytes > self.most_bytes {
            match self.remove_oldest() {
                Some(oldest) => gone.push(oldest),
                None => break,
            }
        }
        let at = self.entries.len();
        self.entries.push(Entry { name, value: value.clone(), bytes, newer: NONE, older: NONE });
        self.places.insert(name, at);
        self.link(at);
        self.bytes += bytes;
        value
    }
}

impl<T> Cache<T> {
    /// A cache of at most so many entries, and of so many bytes, each split evenly over its parts; nothing is kept where one is zero.
    #[must_use]
    pub fn new(entries: usize, bytes: usize) -> Cache<T> {
        let parts = (entries / LEAST).clamp(1, PARTS);
        let part = || Mutex::new(Kept::new(entries / parts, bytes / parts));
        // A block of the digest: the secret, and zeros.
        let (mut secret, mut keyed): (Secret, _) = (Zeroizing::new([0; 32]), Part::new(&SHA256));
        random(&mut secret[..]);
        keyed.update(&secret[..]);
        keyed.update(&[0; 32]);
        let (wipes, hits, misses) = Default::default();
        Cache { parts: (0..parts).map(|_| part()).collect(), keyed, wipes, hits, misses }
    }

    fn name(&self, domain: u8, blob: &[u8]) -> Name {
        let (mut name, mut digest) = ([0; 32], self.keyed.clone());
        // The blob begins a block of the digest, and is not copied.
        digest.update(blob);
        digest.update(&[domain]);
        digest.finish(&mut name);
        name
    }

    fn part(&self, name: &Name) -> MutexGuard<'_, Kept<T>> {
        let which = usize::from(name[31]) % self.parts.len();
        self.parts[which].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of a blob in a domain, where it is there.
    #[must_use]
    pub fn get(&self, domain: u8, blob: &[u8]) -> Option<Arc<T>> {
        self.found(&self.name(domain, blob))
    }

    fn found(&self, name: &Name) -> Option<Arc<T>> {
        let found = self.part(name).get(name);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found
    }

    /// The key of a blob in a domain; where it is not there, it is made, with the bytes that it takes, and kept. No lock is held while it is made. Two threads
    /// may make it at once; one is kept. What is made while the cache is wiped is not kept: `make` therefore looks for the master key itself, in the state of
    /// that moment, and whoever changes a master key wipes the cache after the change.
    ///
    /// # Errors
    /// Why it was not made.
    pub fn get_or_make<E>(
        &self,
        domain: u8,
        blob: &[u8],
        make: impl FnOnce() -> Result<(T, usize), E>,
    ) -> Result<Arc<T>, E> {
        let name = self.name(domain, blob);
        let wipes = self.wipes.load(Acquire);
        if let Some(found) = self.found(&name) {
            return Ok(found);
        }
        let (value, bytes) = make()?;
        let (value, mut gone) = (Arc::new(value), Vec::new());
        let mut part = self.part(&name);
        // A wipe counts before it takes the lock of any part.
        let kept = if self.wipes.load(Acquire) == wipes { part.insert(name, value, bytes, &mut gone) } else { value };
        drop(part);
        Ok(kept)
    }

    /// Takes all keys out: those of a master key that is no more, and what lay unused for a while.
    pub fn wipe(&self) {
        self.wipes.fetch_add(1, Release);
        for part in &self.parts {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let empty = Kept::new(part.most, part.most_bytes);
            let before = std::mem::replace(&mut *part, empty);
            drop(part);
            drop(before);
        }
    }

    /// What it holds, and how often it was of use.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut report =
            Report { hits: self.hits.load(Relaxed), misses: self.misses.load(Relaxed), ..Report::default() };
        for part in &self.parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            report.entries += part.entries.len();
            report.bytes += part.bytes;
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(value: u32) -> Result<(u32, usize), ()> {
        Ok((value, 10))
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes() {
        let cache = Cache::new(3, 1000);
        for value in 0..3 {
            cache.get_or_make(0, &[value], || made(value.into())).unwrap();
        }
        assert_eq!(cache.get(0, &[0]).as_deref(), Some(&0));
        cache.get_or_make(0, &[3], || made(3)).unwrap();
        let there = |value: u8| cache.get(0, &[value]).is_some();
        assert_eq!([there(0), there(1), there(2), there(3)], [true, false, true, true]);
        assert_eq!(cache.report(), Report { entries: 3, bytes: 30, hits: 4, misses: 5 });
    }

    #[test]
    fn bytes_are_bounded_too() {
        let cache = Cache::new(50, 100);
        for value in 0..20_u8 {
            cache.get_or_make(0, &[value], || made(value.into())).unwrap();
        }
        assert_eq!((cache.report().entries, cache.report().bytes), (10, 100));
        assert!(cache.get(0, &[9]).is_none() && cache.get(0, &[10]).is_some());
        // One that is too long for all is made and not kept; one that is long makes room.
        assert_eq!(cache.get_or_make(0, b"too long", || Ok::<_, ()>((7, 101))).as_deref(), Ok(&7));
        assert_eq!(cache.report().entries, 10);
        cache.get_or_make(0, b"long", || Ok::<_, ()>((8, 95))).unwrap();
        assert_eq!((cache.report().entries, cache.report().bytes), (1, 95));
        let none = Cache::new(0, 100);
        none.get_or_make(0, b"", || made(1)).unwrap();
        assert_eq!(none.report().entries, 0);
    }

    /// A list of the same entries, used at random as the cache is, with the simplest code.
    #[test]
    fn it_does_what_a_plain_list_does() {
        let (cache, mut list) = (Cache::new(7, 1000), Vec::<u8>::new());
        let mut number = 1_u32;
        for _ in 0..20_000 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = (number >> 24) as u8 % 12;
            let mut was_made = false;
            let got = cache.get_or_make(0, &[value], || {
                was_made = true;
                made(value.into())
            });
            assert_eq!(*got.unwrap(), u32::from(value));
            let before = list.iter().position(|&there| there == value);
            assert_eq!(before.is_none(), was_made);
            before.map(|at| list.remove(at));
            list.push(value);
            if list.len() > 7 {
                list.remove(0);
            }
        }
    }
}
