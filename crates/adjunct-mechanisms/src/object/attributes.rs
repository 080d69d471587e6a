//! Attributes: what an object is, by type.

use crate::rv::{Result, Rv};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// A value. Numbers and booleans are bytes as the interface has them.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Bytes.
    Bytes(Bytes),
    /// Attributes: what keys that are made by this key have, or must have.
    Template(Box<Attributes>),
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It may be a key.
        f.write_str("Value")
    }
}

impl Value {
    /// Makes the value of a type from bytes. This is the only place where leading zeros of numbers are removed, for values of any origin.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn bytes(kind: CK_ATTRIBUTE_TYPE, bytes: &[u8]) -> Result<Value> {
        let bytes = if is_big_integer(kind) { without_zeros(bytes) } else { bytes };
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

/// Whether values of a type are numbers of any size (big-endian, PKCS #11 4.1.1 calls them big integers). So is the `CKA_VALUE` of a private
/// key on a curve of Weierstrass form, which is as long as the curve's field ([`super::complete`]).
const fn is_big_integer(kind: CK_ATTRIBUTE_TYPE) -> bool {
    matches!(
        kind,
        CKA_MODULUS
            | CKA_PUBLIC_EXPONENT
            | CKA_PRIVATE_EXPONENT
            | CKA_PRIME_1
            | CKA_PRIME_2
            | CKA_EXPONENT_1
            | CKA_EXPONENT_2
            | CKA_COEFFICIENT
            | CKA_PRIME
            | CKA_SUBPRIME
            | CKA_BASE
    )
}

/// A number without the zeros in front; the number 0 has one byte.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros.min(number.len().saturating_sub(1))..]
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

/// Storage of a value's bytes.
#[derive(Clone)]
enum Stored {
    /// A length and the bytes, in this value itself.
    Here(u8, [u8; SHORT]),
    /// Bytes in memory of their own, which is wiped.
    Apart(Zeroizing<Box<[u8]>>),
}

// An attribute takes 32 bytes; a secret key has some 29, of which all but seven take two bits.
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

/// Room for what a secret key has besides [`Short`] ones, had at once.
const USUAL: usize = 8;

/// Declares [`SHORT_KINDS`], and where each is.
macro_rules! short_kinds {
    ($($kind:ident $at:literal),* $(,)?) => {
        /// Attributes that most objects have and that are false, true or empty, in the order of their types.
        const SHORT_KINDS: &[CK_ATTRIBUTE_TYPE] = &[$($kind),*];

        /// The place of a type in [`SHORT_KINDS`].
        #[inline]
        const fn short_place(kind: CK_ATTRIBUTE_TYPE) -> Option<u32> {
            match kind {
                $($kind => Some($at),)*
                _ => None,
            }
        }
    };
}

short_kinds!(
    CKA_TOKEN 0, CKA_PRIVATE 1, CKA_LABEL 2, CKA_TRUSTED 3, CKA_SUBJECT 4, CKA_ID 5, CKA_SENSITIVE 6, CKA_ENCRYPT 7, CKA_DECRYPT 8,
    CKA_WRAP 9, CKA_UNWRAP 10, CKA_SIGN 11, CKA_SIGN_RECOVER 12, CKA_VERIFY 13, CKA_VERIFY_RECOVER 14, CKA_DERIVE 15,
    CKA_START_DATE 16, CKA_END_DATE 17, CKA_EXTRACTABLE 18, CKA_LOCAL 19, CKA_NEVER_EXTRACTABLE 20, CKA_ALWAYS_SENSITIVE 21,
    CKA_MODIFIABLE 22, CKA_COPYABLE 23, CKA_DESTROYABLE 24, CKA_ALWAYS_AUTHENTICATE 25, CKA_WRAP_WITH_TRUSTED 26,
    CKA_ENCAPSULATE 27, CKA_DECAPSULATE 28,
);

const _: () = {
    let mut at = 0;
    while at < SHORT_KINDS.len() {
        assert!(matches!(short_place(SHORT_KINDS[at]), Some(place) if place as usize == at));
        assert!(at == 0 || SHORT_KINDS[at - 1] < SHORT_KINDS[at]);
        at += 1;
    }
    assert!(SHORT_KINDS.len() <= 32);
};

/// Attributes of [`SHORT_KINDS`] that are false, true or empty, in two bits each; 0: the attribute is not there, or has another value. A key has some
/// twenty of them.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Short(u64);

/// The values that are stored as two bits.
static SHORT_VALUES: [Option<Value>; 4] =
    [None, Some(short_value(&[CK_FALSE])), Some(short_value(&[CK_TRUE])), Some(short_value(&[]))];

const fn short_value(bytes: &[u8]) -> Value {
    let mut room = [0; SHORT];
    if let [byte, ..] = bytes {
        room[0] = *byte;
    }
    Value::Bytes(Bytes(Stored::Here(bytes.len() as u8, room)))
}

impl Short {
    /// The bits for a value; `None` of a type or a value that is not kept so.
    #[inline]
    fn bits(kind: CK_ATTRIBUTE_TYPE, bytes: &[u8]) -> Option<(u32, u64)> {
        let bits = match bytes {
            [CK_FALSE] => 1,
            [CK_TRUE] => 2,
            [] => 3,
            _ => return None,
        };
        Some((short_place(kind)?, bits))
    }

    #[inline]
    fn at(self, place: u32) -> Option<&'static Value> {
        SHORT_VALUES[(self.0 >> (2 * place) & 3) as usize].as_ref()
    }

    #[inline]
    fn get(self, kind: CK_ATTRIBUTE_TYPE) -> Option<&'static Value> {
        self.at(short_place(kind)?)
    }

    /// Sets two bits; gives the value that they stood for.
    fn set(&mut self, place: u32, bits: u64) -> Option<&'static Value> {
        let old = self.at(place);
        self.0 = self.0 & !(3 << (2 * place)) | bits << (2 * place);
        old
    }

    fn iter(self) -> impl Iterator<Item = (CK_ATTRIBUTE_TYPE, &'static Value)> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let place = (left != 0).then(|| left.trailing_zeros() / 2)?;
            left &= !(3 << (2 * place));
            Some((SHORT_KINDS[place as usize], self.at(place)?))
        })
    }

    /// How many.
    fn len(self) -> usize {
        ((self.0 | self.0 >> 1) & 0x5555_5555_5555_5555).count_ones() as usize
    }
}

/// Values by type, one of each, in the order of the types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Attributes that fit into two bits.
    short: Short,
    /// All others.
    others: Vec<(CK_ATTRIBUTE_TYPE, Value)>,
}

impl std::fmt::Debug for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Short")
    }
}

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
        self.others.binary_search_by_key(&kind, |(kind, _)| *kind)
    }

    /// The value of a type.
    #[inline]
    pub fn get(&self, kind: CK_ATTRIBUTE_TYPE) -> Option<&Value> {
        self.short.get(kind).or_else(|| self.find(kind).ok().map(|at| &self.others[at].1))
    }

    /// Whether there is an attribute of this type.
    #[inline]
    pub fn has(&self, kind: CK_ATTRIBUTE_TYPE) -> bool {
        self.get(kind).is_some()
    }

    /// Allocates memory for `more` attributes at once.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn reserve(&mut self, more: usize) -> Result {
        Ok(self.others.try_reserve_exact(more)?)
    }

    /// Sets a value; the one before.
    pub fn insert(&mut self, kind: CK_ATTRIBUTE_TYPE, value: Value) -> Option<Value> {
        if let Some((place, bits)) = value.as_bytes().and_then(|bytes| Short::bits(kind, bytes)) {
            let old = self.short.set(place, bits).cloned();
            // Of each type one is enough to look for: it is in one of the two.
            return old.or_else(|| self.find(kind).ok().map(|at| self.others.remove(at).1));
        }
        let short = short_place(kind).and_then(|place| self.short.set(place, 0));
        match self.place(kind) {
            Ok(at) => Some(std::mem::replace(&mut self.others[at].1, value)),
            Err(at) => {
                self.put(at, kind, value);
                short.cloned()
            }
        }
    }

    /// Finds the index of a type, or the one where it is to be inserted.
    fn place(&self, kind: CK_ATTRIBUTE_TYPE) -> std::result::Result<usize, usize> {
        match self.others.last() {
            // What comes in order goes to the end.
            Some((last, _)) if *last >= kind => self.find(kind),
            _ => Err(self.others.len()),
        }
    }

    fn put(&mut self, at: usize, kind: CK_ATTRIBUTE_TYPE, value: Value) {
        if self.others.capacity() == 0 {
            self.others.reserve_exact(USUAL);
        }
        self.others.insert(at, (kind, value));
    }

    /// Takes a value away.
    pub fn remove(&mut self, kind: CK_ATTRIBUTE_TYPE) -> Option<Value> {
        let short = short_place(kind).and_then(|place| self.short.set(place, 0));
        short.cloned().or_else(|| self.find(kind).ok().map(|at| self.others.remove(at).1))
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
        if self.short.get(kind).is_some() {
            return Ok(());
        }
        let Err(at) = self.place(kind) else { return Ok(()) };
        match Short::bits(kind, bytes) {
            Some((place, bits)) => _ = self.short.set(place, bits),
            None => self.put(at, kind, Value::bytes(kind, bytes)?),
        }
        Ok(())
    }

    /// The bytes of a type; `None` where there are none.
    #[inline]
    pub fn bytes(&self, kind: CK_ATTRIBUTE_TYPE) -> Option<&[u8]> {
        self.get(kind).and_then(Value::as_bytes)
    }

    /// The boolean of a type; false where there is none.
    #[inline]
    pub fn is(&self, kind: CK_ATTRIBUTE_TYPE) -> bool {
        self.bytes(kind).is_some_and(|value| value == [CK_TRUE])
    }

    /// The number of a type; `None` where there is none or it is not a number.
    #[inline]
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
        let mut short = self.short.iter().peekable();
        let mut others = self.others.iter().map(|(kind, value)| (*kind, value)).peekable();
        std::iter::from_fn(move || match (short.peek(), others.peek()) {
            (Some((one, _)), Some((other, _))) if other < one => others.next(),
            (None, _) => others.next(),
            _ => short.next(),
        })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.short.len() + self.others.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
    fn whatever_is_set_and_removed_they_are_one_of_each_type_in_order() {
        let kinds = [
            CKA_CLASS,
            CKA_TOKEN,
            CKA_LABEL,
            CKA_VALUE,
            CKA_ID,
            CKA_SIGN,
            CKA_START_DATE,
            CKA_MODULUS,
            CKA_DECAPSULATE,
        ];
        let values = [&b""[..], &[0], &[1], &[2], &[0, 0], b"a longer value that has memory of its own"];
        let mut model = std::collections::BTreeMap::<CK_ATTRIBUTE_TYPE, &[u8]>::new();
        let (mut attributes, mut state) = (Attributes::default(), 1_u64);
        for _ in 0..20_000 {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let (kind, value) =
                (kinds[(state >> 33) as usize % kinds.len()], values[(state >> 43) as usize % values.len()]);
            // The one number of any size among them.
            let value = if kind == CKA_MODULUS && value == [0, 0] { &[0][..] } else { value };
            match state >> 60 {
                0..4 => {
                    let old = attributes.remove(kind);
                    assert_eq!(old.as_ref().and_then(Value::as_bytes), model.remove(&kind));
                }
                4..8 => {
                    attributes.default_to(kind, value).unwrap();
                    model.entry(kind).or_insert(value);
                }
                _ => {
                    let old = attributes.insert(kind, Value::bytes(kind, value).unwrap());
                    assert_eq!(old.as_ref().and_then(Value::as_bytes), model.insert(kind, value));
                }
            }
            let all = attributes.iter().map(|(kind, value)| (kind, value.as_bytes().unwrap()));
            assert!(all.eq(model.iter().map(|(kind, value)| (*kind, *value))), "{kind:x} {value:?}");
            assert_eq!((attributes.len(), attributes.bytes(kind)), (model.len(), model.get(&kind).copied()));
            let mut again = Attributes::default();
            model.iter().rev().for_each(|(kind, value)| again.set(*kind, value).unwrap());
            assert!(again == attributes && again.matches(&attributes));
        }
    }

    #[test]
    fn values_of_any_length_are_what_was_set_and_keys_have_memory_of_their_own() {
        for length in 0..64 {
            let bytes: Vec<u8> = (1..=length).collect();
            for kind in [CKA_LABEL, CKA_VALUE, CKA_SEED, CKA_PRIME_1] {
                let value = Value::bytes(kind, &bytes).unwrap();
                assert_eq!((value.as_bytes(), value.clone() == value), (Some(&bytes[..]), true));
                let Value::Bytes(Bytes(stored)) = value else { panic!("bytes") };
                assert_eq!(matches!(stored, Stored::Here(..)), kind == CKA_LABEL && bytes.len() <= SHORT);
            }
        }
        assert!(Value::bytes(CKA_ID, b"1") != Value::bytes(CKA_ID, b"10"));
    }

    #[test]
    fn numbers_have_no_zeros_in_front_and_nothing_else_loses_any() {
        for (given, number) in
            [(&[0, 0, 1, 0][..], &[1, 0][..]), (&[1, 0], &[1, 0]), (&[0, 0], &[0]), (&[0], &[0]), (&[], &[])]
        {
            for kind in [CKA_MODULUS, CKA_PUBLIC_EXPONENT, CKA_PRIVATE_EXPONENT, CKA_COEFFICIENT] {
                assert_eq!(Value::bytes(kind, given).unwrap().as_bytes(), Some(number));
            }
            for kind in [CKA_VALUE, CKA_ID, CKA_EC_POINT, CKA_SERIAL_NUMBER, CKA_SEED] {
                assert_eq!(Value::bytes(kind, given).unwrap().as_bytes(), Some(given));
            }
        }
    }
}
