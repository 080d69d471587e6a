//! Keys that have been opened, so that a small request need not open its key again.
//!
//! A key is found by all bytes of its blob, in a table whose hash is keyed by random bytes. Whether its wrapping key and its session are still there is
//! checked at each use, not here. There are two generations: when the younger is full, it becomes the older, and what that had is forgotten and wiped.

use crate::key::Key;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
struct Generations {
    young: HashMap<Box<[u8]>, Arc<Key>>,
    old: HashMap<Box<[u8]>, Arc<Key>>,
}

/// Opened keys.
pub struct Cache {
    generations: Mutex<Generations>,
    /// The most keys of a generation.
    most: usize,
}

impl Cache {
    /// Room for some keys; none where that is 0.
    pub fn new(keys: usize) -> Cache {
        Cache { generations: Mutex::default(), most: keys.div_ceil(2) }
    }

    /// The key of a blob.
    pub fn get(&self, blob: &[u8]) -> Option<Arc<Key>> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = generations.young.get(blob) {
            return Some(key.clone());
        }
        let (blob, key) = generations.old.remove_entry(blob)?;
        generations.put(blob, key.clone(), self.most);
        Some(key)
    }

    /// Keeps a key.
    pub fn put(&self, blob: &[u8], key: Arc<Key>) {
        if self.most > 0 {
            let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
            generations.put(blob.into(), key, self.most);
        }
    }

    /// Forgets all keys.
    pub fn clear(&self) {
        *self.generations.lock().unwrap_or_else(PoisonError::into_inner) = Generations::default();
    }
}

impl Generations {
    fn put(&mut self, blob: Box<[u8]>, key: Arc<Key>, most: usize) {
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(blob, key);
    }
}
