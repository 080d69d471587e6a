//! Attributes: what an object is, by type.

use crate::rv::{Result, Rv};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// A value. Numbers and booleans are bytes as the interface has them.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    Bytes(Zeroizing<Box<[u8]>>),
    Template(Attributes),
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It may be a key.
        f.write_str("Value")
    }
}

impl Value {
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn bytes(bytes: &[u8]) -> Result<Value> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes.len())?;
        copy.extend_from_slice(bytes);
        Ok(Value::Bytes(Zeroizing::new(copy.into_boxed_slice())))
    }

    /// The bytes; `None` of a template.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Template(_) => None,
        }
    }
}

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

    /// Sets a value; the one before.
    pub fn insert(&mut self, kind: CK_ATTRIBUTE_TYPE, value: Value) -> Option<Value> {
        match self.find(kind) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                if self.0.capacity() == 0 {
                    self.0.reserve_exact(USUAL);
                }
                self.0.insert(at, (kind, value));
                None
            }
        }
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
        self.insert(kind, Value::bytes(bytes)?);
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
        if self.has(kind) { Ok(()) } else { self.set(kind, bytes) }
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
}
