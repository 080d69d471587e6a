//! Templates in messages: boolean attributes as a mask and their values, then the others.
//!
//! ```text
//! template:  0 0x10010000 (4) | 4 mask of the booleans that are given (4) | 8 their values (4) | attribute ...
//! attribute: type (4) | value (4), of a number; type (4) | length (4) | bytes, of any other
//! ```
//!
//! Which types are numbers is fixed ([`is_number`]). An attribute whose bytes are not known, as in a question, has a length and no bytes
//! ([`Value::Wanted`]): then the word at 0 is 0x10020000.

use crate::codes::attribute as a;
use crate::codes::flag;

const HEADER: u32 = 0x1001_0000;
/// The header of a question: no attribute has a value.
const QUESTION: u32 = 0x1002_0000;
/// The most attributes beside the booleans.
const MOST: usize = 64;

/// The boolean attributes with their bits.
pub const BOOLEANS: [(u32, u32); 23] = [
    (a::EXTRACTABLE, flag::EXTRACTABLE),
    (a::NEVER_EXTRACTABLE, flag::NEVER_EXTRACTABLE),
    (a::MODIFIABLE, flag::MODIFIABLE),
    (a::IBM_NEVER_MODIFIABLE, flag::NEVER_MODIFIABLE),
    (a::IBM_RESTRICTABLE, flag::RESTRICTABLE),
    (a::LOCAL, flag::LOCAL),
    (a::IBM_ATTRBOUND, flag::ATTRBOUND),
    (a::IBM_USE_AS_DATA, flag::USE_AS_DATA),
    (a::SIGN, flag::SIGN),
    (a::SIGN_RECOVER, flag::SIGN_RECOVER),
    (a::DECRYPT, flag::DECRYPT),
    (a::ENCRYPT, flag::ENCRYPT),
    (a::DERIVE, flag::DERIVE),
    (a::UNWRAP, flag::UNWRAP),
    (a::WRAP, flag::WRAP),
    (a::VERIFY, flag::VERIFY),
    (a::VERIFY_RECOVER, flag::VERIFY_RECOVER),
    (a::TRUSTED, flag::TRUSTED),
    (a::WRAP_WITH_TRUSTED, flag::WRAP_WITH_TRUSTED),
    (a::IBM_RETAINKEY, flag::RETAINED),
    (a::IBM_ALWAYS_RETAINED, flag::ALWAYS_RETAINED),
    (a::IBM_PROTKEY_EXTRACTABLE, flag::PROTKEY_EXTRACTABLE),
    (a::IBM_PROTKEY_NEVER_EXTRACTABLE, flag::PROTKEY_NEVER_EXTRACTABLE),
];

/// The bit of a boolean attribute.
pub fn bit(kind: u32) -> Option<u32> {
    BOOLEANS.iter().find(|(other, _)| *other == kind).map(|(_, bit)| *bit)
}

/// Whether values of a type are numbers.
pub fn is_number(kind: u32) -> bool {
    matches!(
        kind,
        a::CLASS
            | a::KEY_TYPE
            | a::VALUE_LEN
            | a::MODULUS_BITS
            | a::PRIME_BITS
            | a::SUBPRIME_BITS
            | a::IBM_STD_COMPLIANCE1
            | a::IBM_KEYTYPE
            | a::IBM_PARAMETER_SET
            | a::PARAMETER_SET
            | a::KEY_GEN_MECHANISM
    )
}

/// A value beside the booleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u32),
    /// Bytes.
    Bytes(&'a [u8]),
    /// In a question: the attribute's value is wanted.
    Wanted,
}

/// A template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template<'a> {
    /// The booleans that are given ([`flag`]).
    pub mask: u32,
    /// Their values: no bit outside `mask`.
    pub flags: u32,
    /// All others, each type once, as they came.
    pub values: Vec<(u32, Value<'a>)>,
}

impl<'a> Template<'a> {
    /// Sets a boolean; `None` for a type that is none.
    pub fn set_flag(&mut self, kind: u32, value: bool) -> Option<()> {
        let bit = bit(kind)?;
        self.mask |= bit;
        self.flags = if value { self.flags | bit } else { self.flags & !bit };
        Some(())
    }

    /// The value of a boolean that is given.
    pub fn flag(&self, bit: u32) -> Option<bool> {
        (self.mask & bit != 0).then_some(self.flags & bit != 0)
    }

    /// A number that is given.
    pub fn number(&self, kind: u32) -> Option<u32> {
        self.values.iter().find_map(|(other, value)| match value {
            Value::Number(number) if *other == kind => Some(*number),
            _ => None,
        })
    }

    /// Bytes that are given.
    pub fn bytes(&self, kind: u32) -> Option<&'a [u8]> {
        self.values.iter().find_map(|(other, value)| match value {
            Value::Bytes(bytes) if *other == kind => Some(*bytes),
            _ => None,
        })
    }

    /// Reads a template that is all of `bytes`; nothing is an empty one. `None` where it is none: another header, values outside the mask, a type twice, a
    /// boolean among the others, more than 64 attributes.
    pub fn parse(bytes: &'a [u8]) -> Option<Template<'a>> {
        if bytes.is_empty() {
            return Some(Template::default());
        }
        let mut rest = bytes;
        let word = |rest: &mut &'a [u8]| {
            let (number, after) = rest.split_first_chunk()?;
            *rest = after;
            Some(u32::from_be_bytes(*number))
        };
        let header = word(&mut rest)?;
        let question = header == QUESTION;
        (header == HEADER || question).then_some(())?;
        let (mask, flags) = (word(&mut rest)?, word(&mut rest)?);
        (flags & !mask == 0).then_some(())?;
        let mut template = Template { mask, flags, values: Vec::new() };
        while !rest.is_empty() {
            let kind = word(&mut rest)?;
            let value = match (question, is_number(kind)) {
                (true, _) => Value::Wanted,
                (false, true) => Value::Number(word(&mut rest)?),
                (false, false) => {
                    let length = word(&mut rest)? as usize;
                    let (value, after) = rest.split_at_checked(length)?;
                    rest = after;
                    Value::Bytes(value)
                }
            };
            let twice = template.values.iter().any(|(other, _)| *other == kind);
            (!twice && bit(kind).is_none() && template.values.len() < MOST).then_some(())?;
            template.values.push((kind, value));
        }
        Some(template)
    }

    /// Writes the template. Where one value is [`Value::Wanted`], it is a question, and no value is written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let question = self.values.iter().any(|(_, value)| *value == Value::Wanted);
        let length = |value: &Value<'_>| match value {
            Value::Bytes(bytes) => 8 + bytes.len(),
            _ => 8,
        };
        // Values may be secret: the memory is had at once, so that none is moved.
        let mut out = Vec::with_capacity(12 + self.values.iter().map(|(_, value)| length(value)).sum::<usize>());
        for number in [if question { QUESTION } else { HEADER }, self.mask, self.flags] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        for (kind, value) in &self.values {
            out.extend_from_slice(&kind.to_be_bytes());
            match value {
                _ if question => {}
                Value::Number(number) => out.extend_from_slice(&number.to_be_bytes()),
                Value::Bytes(bytes) => {
                    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                    out.extend_from_slice(bytes);
                }
                Value::Wanted => {}
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_come_as_they_were_sent() {
        let mut template = Template::default();
        assert_eq!(Template::parse(&[]), Some(template.clone()));
        template.set_flag(a::ENCRYPT, true).unwrap();
        template.set_flag(a::EXTRACTABLE, false).unwrap();
        assert_eq!(template.set_flag(a::VALUE, true), None);
        template.values.push((a::VALUE_LEN, Value::Number(32)));
        template.values.push((a::EC_PARAMS, Value::Bytes(b"oid")));
        let bytes = template.to_bytes();
        assert_eq!(bytes.len(), 12 + 8 + 11);
        assert_eq!(Template::parse(&bytes), Some(template.clone()));
        assert_eq!((template.flag(flag::ENCRYPT), template.flag(flag::EXTRACTABLE)), (Some(true), Some(false)));
        assert_eq!((template.flag(flag::WRAP), template.number(a::VALUE_LEN)), (None, Some(32)));
        assert_eq!((template.bytes(a::EC_PARAMS), template.bytes(a::VALUE)), (Some(&b"oid"[..]), None));
        for length in [1, 11, 13, 16, 21, 24, 27, 30] {
            assert_eq!(Template::parse(&bytes[..length]), None, "{length}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        let word = |number: u32| number.to_be_bytes();
        let head = |mask, flags| [word(HEADER), word(mask), word(flags)].concat();
        assert_eq!(Template::parse(&head(1, 2)), None);
        assert_eq!(Template::parse(&[word(0), word(0), word(0)].concat()), None);
        let twice =
            [head(0, 0), word(a::VALUE_LEN).to_vec(), word(1).to_vec(), word(a::VALUE_LEN).to_vec(), word(1).to_vec()];
        assert_eq!(Template::parse(&twice.concat()), None);
        let boolean = [head(0, 0), word(a::SIGN).to_vec(), word(1).to_vec(), vec![1]];
        assert_eq!(Template::parse(&boolean.concat()), None);
    }

    #[test]
    fn a_question_has_types_alone() {
        let question = Template { mask: flag::SIGN, flags: 0, values: vec![(a::VALUE_LEN, Value::Wanted)] };
        let bytes = question.to_bytes();
        assert_eq!((bytes.len(), Template::parse(&bytes)), (16, Some(question)));
    }
}
