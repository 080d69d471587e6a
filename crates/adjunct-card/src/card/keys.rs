//! Keys that requests came with, prepared: what Montgomery's method needs of them takes as long as an operation.
//!
//! They are found by SHA-256 of a secret of this process, the user and the key, so that nobody learns by the time an answer takes whether
//! another user has the same key. The least recently used one goes where there are too many, and all go when nobody has asked for a while.
#![forbid(unsafe_code)]

use adjunct::card::wire::Kind;
use adjunct::card::work::Key;
use adjunct::ops::digest::{Part, SHA256};
use adjunct::ops::random;
use std::collections::HashMap;

/// Keys that are kept.
const MOST: usize = 256;

/// What a key is found by.
pub type Tag = [u8; 32];

/// The keys.
#[derive(Debug)]
pub struct Keys {
    keys: HashMap<Tag, (Key, u64)>,
    uses: u64,
}

/// What tags are made of.
pub struct Secret([u8; 32]);

adjunct_kernels::opaque_debug!(Secret);

impl Secret {
    /// A new one.
    pub fn new() -> Secret {
        let mut secret = [0; 32];
        random::random(&mut secret);
        Secret(secret)
    }

    /// The tag of a user's key.
    pub fn tag(&self, uid: u32, kind: Kind, key: &[u8]) -> Tag {
        let (mut digest, mut tag) = (Part::new(&SHA256), [0; 32]);
        for part in [&self.0[..], &uid.to_ne_bytes(), &[kind as u8], key] {
            digest.update(part);
        }
        digest.finish(&mut tag);
        tag
    }
}

impl Keys {
    /// None yet.
    pub fn new() -> Keys {
        Keys { keys: HashMap::new(), uses: 0 }
    }

    /// A key that is kept.
    pub fn get(&mut self, tag: &Tag) -> Option<Key> {
        self.uses += 1;
        let (key, used) = self.keys.get_mut(tag)?;
        *used = self.uses;
        Some(key.clone())
    }

    /// Keeps a key.
    pub fn put(&mut self, tag: Tag, key: Key) {
        if self.keys.len() >= MOST
            && let Some(oldest) = self.keys.iter().min_by_key(|(_, (_, used))| *used).map(|(tag, _)| *tag)
        {
            self.keys.remove(&oldest);
        }
        self.uses += 1;
        self.keys.insert(tag, (key, self.uses));
    }

    /// Forgets all; they are wiped when the last operation with them ends.
    pub fn clear(&mut self) {
        self.keys.clear();
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}
