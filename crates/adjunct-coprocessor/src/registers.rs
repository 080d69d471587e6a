//! Registers of master keys: for each kind of master key of a domain, the key in use, the next one, and the one before.
//!
//! | | EP11 (wrapping key) | CCA (AES, APKA, SYM, ASYM) |
//! | --- | --- | --- |
//! | next | "next", "pending": uncommitted or committed | NEW: partially full, full |
//! | current | "current" | CURRENT |
//! | old | - | OLD |
//! | next becomes current | commit, finalize | SET |
//!
//! A key is found by its id, the first 16 bytes of its verification pattern; the pattern is SHA-256 of the byte 1 and the key.

use crate::crypt::{BoxedSecret, boxed, sha256};
use crate::roles::{Loaders, Step};
use adjunct::ops::random::random;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A verification pattern: public, and of one key alone.
pub type Pattern = [u8; 32];
/// The first half of a pattern: the WKID of an EP11 blob.
pub type KeyId = [u8; 16];

/// A kind of master key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// EP11's wrapping key, 32 bytes.
    Wrapping = 1,
    /// CCA's AES master key, 32 bytes.
    Aes = 16,
    /// CCA's APKA master key, 32 bytes.
    Apka = 17,
    /// CCA's symmetric (DES) master key, 24 bytes.
    Sym = 18,
    /// CCA's asymmetric master key, 24 bytes.
    Asym = 19,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [Kind::Wrapping, Kind::Aes, Kind::Apka, Kind::Sym, Kind::Asym];

    /// Bytes of such a key.
    #[must_use]
    pub const fn length(self) -> usize {
        match self {
            Kind::Wrapping | Kind::Aes | Kind::Apka => 32,
            Kind::Sym | Kind::Asym => 24,
        }
    }

    /// Whether the key before stays in a register of its own.
    #[must_use]
    pub const fn keeps_old(self) -> bool {
        !matches!(self, Kind::Wrapping)
    }
}

/// A master key; wiped when the last that holds it goes. It is in memory once, behind an [`Arc`].
pub struct MasterKey {
    kind: Kind,
    /// In a box: a value that is moved leaves a copy behind.
    secret: BoxedSecret,
    pattern: Pattern,
}

adjunct::opaque_debug!(MasterKey);

impl MasterKey {
    /// A key of such bytes; `None` for a length that the kind has not, and for zeros, which no key is.
    #[must_use]
    pub fn new(kind: Kind, bytes: &[u8]) -> Option<MasterKey> {
        let zeros = bytes.iter().fold(0, |all, byte| all | byte) == 0;
        if bytes.len() != kind.length() || zeros {
            return None;
        }
        Some(MasterKey { kind, secret: boxed(bytes), pattern: sha256(&[&[1], bytes]) })
    }

    /// A random key.
    #[must_use]
    pub fn random(kind: Kind) -> MasterKey {
        let mut bytes = Zeroizing::new([0; 32]);
        loop {
            random(&mut bytes[..kind.length()]);
            if let Some(key) = MasterKey::new(kind, &bytes[..kind.length()]) {
                return key;
            }
        }
    }

    /// A key that is the XOR of parts; `None` for no part, a part of another length, and parts that make zeros.
    #[must_use]
    pub fn of_parts<'a>(kind: Kind, parts: impl IntoIterator<Item = &'a [u8]>) -> Option<MasterKey> {
        let mut sum = Zeroizing::new([0; 32]);
        for part in parts {
            add(&mut sum, kind, part)?;
        }
        MasterKey::new(kind, &sum[..kind.length()])
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The key's bytes.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        &self.secret[..self.kind.length()]
    }

    /// The verification pattern.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The first half of the pattern.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let mut id = [0; 16];
        id.copy_from_slice(&self.pattern[..16]);
        id
    }

    fn is(&self, id: &KeyId) -> bool {
        self.pattern[..16] == id[..]
    }
}

/// XORs a part in.
fn add(sum: &mut [u8; 32], kind: Kind, part: &[u8]) -> Option<()> {
    if part.len() != kind.length() {
        return None;
    }
    sum.iter_mut().zip(part).for_each(|(sum, byte)| *sum ^= byte);
    Some(())
}

/// A key that is being loaded in parts: the XOR of those that came. Wiped when dropped.
pub struct Parts {
    pub(crate) sum: BoxedSecret,
}

impl Clone for Parts {
    fn clone(&self) -> Parts {
        Parts { sum: boxed(&self.sum[..]) }
    }
}

adjunct::opaque_debug!(Parts);

/// What stands in the next register.
#[derive(Debug, Clone)]
pub enum Stage {
    /// Some parts of a key.
    Partial(Parts),
    /// A whole key.
    Full(Arc<MasterKey>),
    /// A whole key that was committed: keys are being re-encrypted to it.
    Committed(Arc<MasterKey>),
}

/// The next register.
#[derive(Debug, Clone)]
pub struct Next {
    /// What it holds.
    pub stage: Stage,
    /// Who loaded it.
    pub loaders: Loaders,
}

impl Next {
    /// The key, where it is whole.
    #[must_use]
    pub fn key(&self) -> Option<&Arc<MasterKey>> {
        match &self.stage {
            Stage::Partial(_) => None,
            Stage::Full(key) | Stage::Committed(key) => Some(key),
        }
    }

    /// Whether it is committed.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        matches!(self.stage, Stage::Committed(_))
    }
}

/// Which register a key is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The key in use.
    Current,
    /// The next key; whether it is committed.
    Next {
        /// Whether it is.
        committed: bool,
    },
    /// The key before.
    Old,
}

/// Why a register does not do what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The bytes are no key of the kind: their length, or all are zero.
    #[error("no master key: wrong length, or all zeros")]
    Key,
    /// The next register is empty, or only partly loaded.
    #[error("no whole key is in the register of the next master key")]
    Empty,
    /// A first part has to come before the others.
    #[error("no first part was loaded")]
    NoFirst,
    /// The next register has what the step would overwrite.
    #[error("the register of the next master key is not empty: clear it first")]
    NotEmpty,
    /// The next key is not committed.
    #[error("the next master key is not committed")]
    NotCommitted,
    /// The next key is committed already.
    #[error("the next master key is committed: finalize it, or clear it first")]
    Committed,
    /// The pattern is not that of the key.
    #[error("the verification pattern is another than that of the next master key")]
    Pattern,
    /// The key is current or old already.
    #[error("the key is in use already, or was before")]
    Same,
}

/// The registers of one kind of master key.
#[derive(Debug, Clone)]
pub struct Registers {
    kind: Kind,
    pub(crate) current: Option<Arc<MasterKey>>,
    pub(crate) next: Option<Next>,
    pub(crate) old: Option<Arc<MasterKey>>,
}

impl Registers {
    /// Empty ones.
    #[must_use]
    pub fn new(kind: Kind) -> Registers {
        Registers { kind, current: None, next: None, old: None }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The key in use.
    #[must_use]
    pub fn current(&self) -> Option<&Arc<MasterKey>> {
        self.current.as_ref()
    }

    /// The next register.
    #[must_use]
    pub fn next(&self) -> Option<&Next> {
        self.next.as_ref()
    }

    /// The key before.
    #[must_use]
    pub fn old(&self) -> Option<&Arc<MasterKey>> {
        self.old.as_ref()
    }

    /// Who loaded what is in the next register.
    #[must_use]
    pub fn loaders(&self) -> Loaders {
        self.next.as_ref().map(|next| next.loaders).unwrap_or_default()
    }

    /// The key of an id, with its register: the one in use first.
    #[must_use]
    pub fn find(&self, id: &KeyId) -> Option<(Place, &Arc<MasterKey>)> {
        let next = self.next.as_ref();
        let committed = next.is_some_and(Next::is_committed);
        let places = [
            (Place::Current, self.current.as_ref()),
            (Place::Next { committed }, next.and_then(Next::key)),
            (Place::Old, self.old.as_ref()),
        ];
        places.into_iter().filter_map(|(place, key)| Some((place, key?))).find(|(_, key)| key.is(id))
    }

    /// Puts a key in use at once, by no change: for the first key of a domain, and for development.
    ///
    /// # Errors
    /// [`Wrong::Key`] of another kind.
    pub fn set_current(&mut self, key: MasterKey) -> Result<(), Wrong> {
        if key.kind != self.kind {
            return Err(Wrong::Key);
        }
        self.current = Some(Arc::new(key));
        Ok(())
    }

    /// Puts a whole key into the next register, in place of one that is not committed.
    ///
    /// # Errors
    /// [`Wrong::Key`], [`Wrong::Committed`], [`Wrong::Same`].
    pub fn set_next(&mut self, key: MasterKey, by: u32) -> Result<(), Wrong> {
        if key.kind != self.kind {
            return Err(Wrong::Key);
        }
        if self.next.as_ref().is_some_and(Next::is_committed) {
            return Err(Wrong::Committed);
        }
        self.is_new(&key)?;
        self.next = Some(Next { stage: Stage::Full(Arc::new(key)), loaders: Loaders::whole(by) });
        Ok(())
    }

    /// Puts a random key into the next register.
    ///
    /// # Errors
    /// [`Wrong::Committed`].
    pub fn generate_next(&mut self, by: u32) -> Result<(), Wrong> {
        self.set_next(MasterKey::random(self.kind), by)
    }

    /// Puts the XOR of parts into the next register.
    ///
    /// # Errors
    /// [`Wrong::Key`], [`Wrong::Committed`], [`Wrong::Same`].
    pub fn import_next<'a>(&mut self, parts: impl IntoIterator<Item = &'a [u8]>, by: u32) -> Result<(), Wrong> {
        self.set_next(MasterKey::of_parts(self.kind, parts).ok_or(Wrong::Key)?, by)
    }

    /// Loads one part of the next key. After an error the register is as before.
    ///
    /// # Errors
    /// [`Wrong::NotEmpty`] for a first part where there is something; [`Wrong::NoFirst`] for others where no part is; [`Wrong::Key`] for a part of another length and
    /// for parts that make zeros; [`Wrong::Same`]; [`Wrong::Empty`] for [`Step::Set`], which loads nothing.
    pub fn load(&mut self, step: Step, part: &[u8], by: u32) -> Result<(), Wrong> {
        let (mut sum, mut loaders) = match (&self.next, step) {
            (_, Step::Set) => return Err(Wrong::Empty),
            (None, Step::First) => (boxed(&[]), Loaders::default()),
            (Some(_), Step::First) => return Err(Wrong::NotEmpty),
            (Some(Next { stage: Stage::Partial(parts), loaders }), _) => (boxed(&parts.sum[..]), *loaders),
            _ => return Err(Wrong::NoFirst),
        };
        add(&mut sum, self.kind, part).ok_or(Wrong::Key)?;
        let stage = if step == Step::Last {
            let key = MasterKey::new(self.kind, &sum[..self.kind.length()]).ok_or(Wrong::Key)?;
            self.is_new(&key)?;
            Stage::Full(Arc::new(key))
        } else {
            Stage::Partial(Parts { sum })
        };
        loaders.note(step, by);
        self.next = Some(Next { stage, loaders });
        Ok(())
    }

    fn is_new(&self, key: &MasterKey) -> Result<(), Wrong> {
        let known = [&self.current, &self.old].into_iter().flatten();
        if known.into_iter().any(|known| known.pattern == key.pattern) { Err(Wrong::Same) } else { Ok(()) }
    }

    /// Commits the next key, whose pattern is to be told.
    ///
    /// # Errors
    /// [`Wrong::Empty`], [`Wrong::Committed`], [`Wrong::Pattern`].
    pub fn commit(&mut self, pattern: &Pattern) -> Result<(), Wrong> {
        let next = self.next.as_mut().ok_or(Wrong::Empty)?;
        match &next.stage {
            Stage::Partial(_) => Err(Wrong::Empty),
            Stage::Committed(_) => Err(Wrong::Committed),
            Stage::Full(key) if key.pattern != *pattern => Err(Wrong::Pattern),
            Stage::Full(key) => {
                next.stage = Stage::Committed(key.clone());
                Ok(())
            }
        }
    }

    /// Puts the committed key, whose pattern is to be told, in use.
    ///
    /// # Errors
    /// [`Wrong::NotCommitted`], also where there is no next key; [`Wrong::Pattern`].
    pub fn finalize(&mut self, pattern: &Pattern) -> Result<(), Wrong> {
        match &self.next {
            Some(Next { stage: Stage::Committed(key), .. }) if key.pattern == *pattern => self.turn(key.clone()),
            Some(Next { stage: Stage::Committed(_), .. }) => return Err(Wrong::Pattern),
            _ => return Err(Wrong::NotCommitted),
        }
        Ok(())
    }

    /// Puts the next key, which is whole, in use: CCA's SET.
    ///
    /// # Errors
    /// [`Wrong::Empty`].
    pub fn set(&mut self) -> Result<(), Wrong> {
        let key = self.next.as_ref().and_then(Next::key).ok_or(Wrong::Empty)?.clone();
        self.turn(key);
        Ok(())
    }

    fn turn(&mut self, key: Arc<MasterKey>) {
        let before = self.current.replace(key);
        self.old = before.filter(|_| self.kind.keeps_old());
        self.next = None;
    }

    /// Empties the next register.
    pub fn clear_next(&mut self) {
        self.next = None;
    }

    /// Empties the register of the key before.
    pub fn clear_old(&mut self) {
        self.old = None;
    }

    /// Empties the register of the key in use.
    pub fn clear_current(&mut self) {
        self.current = None;
    }

    /// Empties all registers.
    pub fn clear(&mut self) {
        *self = Registers::new(self.kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ep11_key_is_committed_and_finalized() {
        let mut registers = Registers::new(Kind::Wrapping);
        assert_eq!(registers.commit(&[0; 32]), Err(Wrong::Empty));
        registers.import_next([&[3_u8; 32][..], &[1; 32]], 7).unwrap();
        let next = registers.next().unwrap().key().unwrap().clone();
        assert_eq!((next.secret(), registers.loaders()), (&[2; 32][..], Loaders::whole(7)));
        // SHA-256 of 01 and 32 times 02, by another program.
        assert_eq!(next.pattern()[..], sha256(&[&[1], &[2; 32]]));
        assert_eq!(registers.find(&next.id()).unwrap().0, Place::Next { committed: false });
        assert_eq!(registers.finalize(next.pattern()), Err(Wrong::NotCommitted));
        assert_eq!(registers.commit(&[0; 32]), Err(Wrong::Pattern));
        registers.commit(next.pattern()).unwrap();
        assert_eq!(registers.find(&next.id()).unwrap().0, Place::Next { committed: true });
        assert_eq!(registers.commit(next.pattern()), Err(Wrong::Committed));
        assert_eq!(registers.generate_next(7), Err(Wrong::Committed));
        assert_eq!(registers.finalize(&[0; 32]), Err(Wrong::Pattern));
        registers.finalize(next.pattern()).unwrap();
        assert_eq!(registers.find(&next.id()).unwrap().0, Place::Current);
        assert!(registers.next().is_none() && registers.old().is_none());
        assert_eq!(registers.set_next(MasterKey::new(Kind::Wrapping, &[2; 32]).unwrap(), 7), Err(Wrong::Same));
        // The key before has no register.
        registers.generate_next(7).unwrap();
        let pattern = *registers.next().unwrap().key().unwrap().pattern();
        registers.commit(&pattern).unwrap();
        registers.finalize(&pattern).unwrap();
        assert!(registers.find(&next.id()).is_none() && registers.old().is_none());
    }

    #[test]
    fn a_cca_key_comes_in_parts_and_is_set() {
        let mut registers = Registers::new(Kind::Sym);
        assert_eq!(registers.load(Step::Last, &[1; 24], 1), Err(Wrong::NoFirst));
        assert_eq!(registers.load(Step::First, &[1; 32], 1), Err(Wrong::Key));
        registers.load(Step::First, &[1; 24], 1).unwrap();
        assert_eq!(registers.load(Step::First, &[1; 24], 1), Err(Wrong::NotEmpty));
        assert_eq!(registers.set(), Err(Wrong::Empty));
        assert_eq!(registers.load(Step::Last, &[1; 24], 1), Err(Wrong::Key), "zeros");
        registers.load(Step::Middle, &[2; 24], 2).unwrap();
        registers.load(Step::Last, &[4; 24], 3).unwrap();
        let loaders = Loaders { first: Some(1), middle: Some(2), last: Some(3) };
        assert_eq!(registers.loaders(), loaders);
        assert_eq!(registers.load(Step::Middle, &[4; 24], 3), Err(Wrong::NoFirst));
        registers.set().unwrap();
        let first = registers.current().unwrap().clone();
        assert_eq!(first.secret(), [7; 24]);
        registers.load(Step::First, &[6; 24], 1).unwrap();
        assert_eq!(registers.load(Step::Last, &[1; 24], 2), Err(Wrong::Same));
        registers.load(Step::Last, &[2; 24], 2).unwrap();
        registers.set().unwrap();
        assert_eq!(registers.find(&first.id()).unwrap().0, Place::Old);
        registers.clear_old();
        assert!(registers.find(&first.id()).is_none());
        registers.clear();
        assert!(registers.current().is_none());
    }

    #[test]
    fn what_is_no_key_is_none() {
        for kind in Kind::ALL {
            assert!(MasterKey::new(kind, &vec![0; kind.length()]).is_none());
            assert!(MasterKey::new(kind, &[1; 31]).is_none());
            assert!(MasterKey::of_parts(kind, []).is_none());
            assert_eq!(MasterKey::random(kind).secret().len(), kind.length());
        }
        let key = MasterKey::random(Kind::Aes);
        assert_eq!(format!("{key:?}"), "MasterKey { .. }");
        assert_eq!(Registers::new(Kind::Apka).set_current(key), Err(Wrong::Key));
    }
}
