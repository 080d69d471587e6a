//! Keys that requests came with, prepared: what Montgomery's method needs of them takes as long as an operation.
//!
//! They are found by SHA-256 of a secret of this process, the user and the key, so that no user learns by the time an answer takes whether another
//! user has the same key. Where there are too many, the least recently used key of the user with the most keys is wiped: a user loses no key to
//! another who has more. All keys are wiped when no request has come for a while.
#![forbid(unsafe_code)]

use adjunct::card::work::RequestedKey;
use adjunct::ops::digest::{Part, SHA256};
use adjunct::ops::random;
use adjunct_card_protocol::wire::Kind;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The most keys that are kept.
const MOST: usize = 256;

/// The hash by which a prepared key is found.
pub type Tag = [u8; 32];

/// The keys.
#[derive(Debug)]
pub struct Keys {
    keys: HashMap<Tag, Kept>,
    uses: u64,
}

#[derive(Debug)]
struct Kept {
    key: RequestedKey,
    uid: u32,
    used: u64,
}

/// The random secret of this process that tags are made with.
pub struct Secret([u8; 32]);

adjunct_kernels::opaque_debug!(Secret);

impl Secret {
    /// Makes a new secret.
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
    /// Makes an empty set of keys.
    pub fn new() -> Keys {
        Keys { keys: HashMap::new(), uses: 0 }
    }

    /// A key that is kept.
    pub fn get(&mut self, tag: &Tag) -> Option<RequestedKey> {
        self.uses += 1;
        let kept = self.keys.get_mut(tag)?;
        kept.used = self.uses;
        Some(kept.key.clone())
    }

    /// Keeps a key of a user's.
    pub fn put(&mut self, tag: Tag, uid: u32, key: RequestedKey) {
        if self.keys.len() >= MOST
            && let Some(one) = one_too_many(self.keys.iter().map(|(tag, kept)| (kept.uid, kept.used, *tag)))
        {
            self.keys.remove(&one);
        }
        self.uses += 1;
        self.keys.insert(tag, Kept { key, uid, used: self.uses });
    }

    /// Forgets all keys; they are wiped when the last operation with them ends.
    pub fn clear(&mut self) {
        self.keys.clear();
    }

    /// How many are kept.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Finds, among things with their owner and the time of their last use, the least recently used one of the owner that has the most.
fn one_too_many<T>(things: impl Iterator<Item = (u32, u64, T)>) -> Option<T> {
    let mut owners: HashMap<u32, (usize, u64, T)> = HashMap::new();
    for (uid, used, thing) in things {
        match owners.entry(uid) {
            Entry::Vacant(place) => _ = place.insert((1, used, thing)),
            Entry::Occupied(mut place) => {
                let (count, oldest, which) = place.get_mut();
                *count += 1;
                if used < *oldest {
                    (*oldest, *which) = (used, thing);
                }
            }
        }
    }
    owners.into_values().max_by_key(|(count, used, _)| (*count, std::cmp::Reverse(*used))).map(|(.., which)| which)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_of_who_has_the_most() {
        assert_eq!(one_too_many([(1, 9, 'a'), (1, 3, 'b'), (2, 1, 'c'), (1, 5, 'd')].into_iter()), Some('b'));
        assert_eq!(one_too_many([(1, 9, 'a'), (2, 1, 'b')].into_iter()), Some('b'));
        assert_eq!(one_too_many::<()>([].into_iter()), None);
    }
}
