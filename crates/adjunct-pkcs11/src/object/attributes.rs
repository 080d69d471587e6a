//! Attributes: what an object is, by type.

use crate::rv::{Result, Rv};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// A value. Numbers and booleans are bytes as the interface has them.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    Bytes(Bytes),
    Template(Box<Attributes>),
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It may be a key.
        f.write_str("Value")
    }
}

impl Value {
    /// Bytes as the value of a type.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn bytes(kind: CK_ATTRIBUTE_TYPE, bytes: &[u8]) -> Result<Value> {
        if bytes.len() <= SHORT && !may_be_secret(kind) {
            let mut room = [0; SHORT];
            room[..bytes.len()].copy_from_slice(bytes);
            return Ok(Value::Bytes(Bytes(Stored::Here(bytes.len() as u8, room))));
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes.len())?;
        copy.extend_from_slice(bytes);
        Ok(Value::Bytes(Bytes(Stored::Apart(Zeroizing::new(copy.into_boxed_slice())))))
    }

    /// The bytes; `None` of a template.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Template(_) => None,
        }
    }
}

/// Whether values of a type may be a key, or a part of one: they have memory of their own, for what is moved leaves a copy behind.
pub const fn may_be_secret(kind: CK_ATTRIBUTE_TYPE) -> bool {
    matches!(
        kind,
        CKA_VALUE
            | CKA_PRIVATE_EXPONENT
            | CKA_PRIME_1
            | CKA_PRIME_2
            | CKA_EXPONENT_1
            | CKA_EXPONENT_2
            | CKA_COEFFICIENT
            | CKA_SEED
    )
}

/// The bytes of a value.
#[derive(Clone)]
pub struct Bytes(Stored);

/// The longest value that takes no memory of its own: all booleans, numbers and dates, and most labels and identifiers.
const SHORT: usize = 22;

/// Where the bytes are.
#[derive(Clone)]
enum Stored {
    /// So many, here.
    Here(u8, [u8; SHORT]),
    /// In memory of their own, which is wiped.
    Apart(Zeroizing<Box<[u8]>>),
}

// An attribute takes 32 bytes: a key has some 29 of them.
const _: () = assert!(size_of::<Value>() <= 24);

impl std::ops::Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Stored::Here(length, room) => room.get(..usize::from(*length)).unwrap_or_default(),
            Stored::Apart(bytes) => bytes,
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

/// Room for the attributes of most keys, had at once.
const USUAL: usize = 32;

/// Values by type, one of each, in the order of the types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(Vec<(CK_ATTRIBUTE_TYPE, Value)>);

impl Attributes {
    /// Whether values of this type are templates.
    pub const fn is_template(kind: CK_ATTRIBUTE_TYPE) -> bool {
        matches!(
            kind,
            CKA_WRAP_TEMPLATE
                | CKA_UNWRAP_TEMPLATE
                | CKA_DERIVE_TEMPLATE
                | CKA_ENCAPSULATE_TEMPLATE
                | CKA_DECAPSULATE_TEMPLATE
        )
    }

    fn find(&self, kind: CK_ATTRIBUTE_TYPE) -> std::result::Result<usize, usize> {
        self.0.binary_search_by_key(&kind, |(kind, _)| *kind)
    }

    /// The value of a type.
    pub fn get(&self, kind: CK_ATTRIBUTE_TYPE) -> Option<&Value> {
        self.find(kind).ok().map(|at| &self.0[at].1)
    }

    /// Whether there is one.
    pub fn has(&self, kind: CK_ATTRIBUTE_TYPE) -> bool {
        self.find(kind).is_ok()
    }

    /// Memory for so many more, had at once.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn reserve(&mut self, more: usize) -> Result {
        Ok(self.0.try_reserve_exact(more)?)
    }

    /// Sets a value; the one before.
    pub fn insert(&mut self, kind: CK_ATTRIBUTE_TYPE, value: Value) -> Option<Value> {
        match self.place(kind) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.put(at, kind, value);
                None
            }
        }
    }

    /// Where a type is, or is to be.
    fn place(&self, kind: CK_ATTRIBUTE_TYPE) -> std::result::Result<usize, usize> {
        match self.0.last() {
            // What comes in order goes to the end.
            Some((last, _)) if *last >= kind => self.find(kind),
            _ => Err(self.0.len()),
        }
    }

    fn put(&mut self, at: usize, kind: CK_ATTRIBUTE_TYPE, value: Value) {
        if self.0.capacity() == 0 {
            self.0.reserve_exact(USUAL);
        }
        self.0.insert(at, (kind, value));
    }

    /// Takes a value away.
    pub fn remove(&mut self, kind: CK_ATTRIBUTE_TYPE) -> Option<Value> {
        self.find(kind).ok().map(|at| self.0.remove(at).1)
    }

    /// Sets bytes.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn set(&mut self, kind: CK_ATTRIBUTE_TYPE, bytes: &[u8]) -> Result {
        self.insert(kind, Value::bytes(kind, bytes)?);
        Ok(())
    }

    /// Sets a boolean.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn set_bool(&mut self, kind: CK_ATTRIBUTE_TYPE, value: bool) -> Result {
        self.set(kind, &[if value { CK_TRUE } else { CK_FALSE }])
    }

    /// Sets a number.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn set_number(&mut self, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Result {
        self.set(kind, &value.to_ne_bytes())
    }

    /// Sets what is not there.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn default_to(&mut self, kind: CK_ATTRIBUTE_TYPE, bytes: &[u8]) -> Result {
        if let Err(at) = self.place(kind) {
            self.put(at, kind, Value::bytes(kind, bytes)?);
        }
        Ok(())
    }

    /// The bytes of a type; `None` where there are none.
    pub fn bytes(&self, kind: CK_ATTRIBUTE_TYPE) -> Option<&[u8]> {
        self.get(kind).and_then(Value::as_bytes)
    }

    /// The boolean of a type; false where there is none.
    pub fn is(&self, kind: CK_ATTRIBUTE_TYPE) -> bool {
        self.bytes(kind).is_some_and(|value| value == [CK_TRUE])
    }

    /// The number of a type; `None` where there is none or it is not a number.
    pub fn number(&self, kind: CK_ATTRIBUTE_TYPE) -> Option<CK_ULONG> {
        self.bytes(kind)?.try_into().ok().map(CK_ULONG::from_ne_bytes)
    }

    /// The bytes of a type.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE` where there are none.
    pub fn need(&self, kind: CK_ATTRIBUTE_TYPE) -> Result<&[u8]> {
        self.bytes(kind).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))
    }

    /// All, in the order of their types.
    pub fn iter(&self) -> impl Iterator<Item = (CK_ATTRIBUTE_TYPE, &Value)> {
        self.0.iter().map(|(kind, value)| (*kind, value))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all of `others` are here with the same values.
    pub fn matches(&self, others: &Attributes) -> bool {
        others.iter().all(|(kind, value)| self.get(kind) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_by_type_and_replaced() {
        let mut attributes = Attributes::default();
        attributes.set_number(CKA_CLASS, CKO_SECRET_KEY).unwrap();
        attributes.set_bool(CKA_SIGN, true).unwrap();
        attributes.set(CKA_LABEL, b"one").unwrap();
        assert_eq!(attributes.number(CKA_CLASS), Some(CKO_SECRET_KEY));
        assert!(attributes.is(CKA_SIGN) && !attributes.is(CKA_VERIFY) && attributes.number(CKA_LABEL).is_none());
        attributes.default_to(CKA_LABEL, b"two").unwrap();
        assert_eq!(attributes.need(CKA_LABEL), Ok(&b"one"[..]));
        assert_eq!(attributes.need(CKA_ID), Err(Rv(CKR_TEMPLATE_INCOMPLETE)));
        let kinds: Vec<_> = attributes.iter().map(|(kind, _)| kind).collect();
        assert!(kinds.is_sorted() && kinds.len() == 3);
        let mut part = Attributes::default();
        assert!(attributes.matches(&part));
        part.set(CKA_LABEL, b"one").unwrap();
        assert!(attributes.matches(&part));
        part.set(CKA_ID, b"").unwrap();
        assert!(!attributes.matches(&part) && !format!("{attributes:?}").contains("one"));
    }

    #[test]
    fn values_of_any_length_are_what_was_set_and_keys_have_memory_of_their_own() {
        for length in 0..64 {
            let bytes: Vec<u8> = (0..length).collect();
            for kind in [CKA_LABEL, CKA_VALUE, CKA_SEED, CKA_PRIME_1] {
                let value = Value::bytes(kind, &bytes).unwrap();
                assert_eq!((value.as_bytes(), value.clone() == value), (Some(&bytes[..]), true));
                let Value::Bytes(Bytes(stored)) = value else { panic!("bytes") };
                assert_eq!(matches!(stored, Stored::Here(..)), kind == CKA_LABEL && bytes.len() <= SHORT);
            }
        }
        assert!(Value::bytes(CKA_ID, b"1") != Value::bytes(CKA_ID, b"10"));
    }
}
