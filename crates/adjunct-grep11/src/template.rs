//! Templates: GREP11's maps of attributes become a request's ([`adjunct_ep11_wire::attributes`]), and back.

use crate::failure::Failure;
use crate::pb::AttributeValue;
use crate::pb::attribute_value::OneAttr;
use adjunct_ep11_client::template::{Kind, kind};
use adjunct_ep11_wire::attributes::{Template, Value, bit};
use adjunct_ep11_wire::codes::{attribute, rv};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// A map of attributes.
pub type Attributes = BTreeMap<u64, AttributeValue>;
/// The most attributes of a template.
const MOST: usize = 256;

fn invalid(kind: u32) -> Failure {
    Failure::new(rv::ATTRIBUTE_VALUE_INVALID, format!("attribute 0x{kind:x}: its value is not of its type"))
}

/// A boolean: as it is, as a number, or as the byte of a CK_BBOOL.
fn boolean(value: &OneAttr) -> Option<bool> {
    match value {
        OneAttr::AttributeTf(value) => Some(*value),
        OneAttr::AttributeI(number @ (0 | 1)) => Some(*number == 1),
        OneAttr::AttributeB(bytes) => match bytes[..] {
            [byte @ (0 | 1)] => Some(byte == 1),
            _ => None,
        },
        OneAttr::AttributeI(_) => None,
    }
}

/// A number: as it is, or in four or eight bytes, big-endian.
fn number(value: &OneAttr) -> Option<u32> {
    match value {
        OneAttr::AttributeI(number) => u32::try_from(*number).ok(),
        OneAttr::AttributeB(bytes) => match bytes[..] {
            [a, b, c, d] | [0, 0, 0, 0, a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
            _ => None,
        },
        OneAttr::AttributeTf(_) => None,
    }
}

/// The bytes of a template in a request, without attributes of some types. Attributes that EP11 does not know are left out, as libep11 does, and so are those of
/// bytes that have none.
///
/// # Errors
/// CKR_ATTRIBUTE_VALUE_INVALID for a value that is not of its type, CKR_ARGUMENTS_BAD for more than 256 attributes.
pub fn template(attributes: &Attributes, without: &[u32]) -> Result<Zeroizing<Vec<u8>>, Failure> {
    if attributes.len() > MOST {
        return Err(Failure::new(rv::ARGUMENTS_BAD, "more than 256 attributes"));
    }
    let mut template = Template::default();
    for (of, value) in attributes {
        let Some((of, is)) = u32::try_from(*of).ok().and_then(|of| Some((of, kind(of)?))) else { continue };
        match (is, &value.one_attr) {
            _ if without.contains(&of) => {}
            (Kind::Bytes | Kind::Blob, None) => {}
            (Kind::Bytes | Kind::Blob, Some(OneAttr::AttributeB(bytes))) if bytes.is_empty() => {}
            (Kind::Bytes | Kind::Blob, Some(OneAttr::AttributeB(bytes))) => {
                template.values.push((of, Value::Bytes(bytes)));
            }
            (Kind::Boolean, Some(value)) => {
                _ = template.set_flag(of, boolean(value).ok_or_else(|| invalid(of))?);
            }
            (Kind::Number, Some(value)) => {
                template.values.push((of, Value::Number(number(value).ok_or_else(|| invalid(of))?)));
            }
            _ => return Err(invalid(of)),
        }
    }
    Ok(Zeroizing::new(template.to_bytes()))
}

/// A question for attributes, by their types.
///
/// # Errors
/// CKR_ATTRIBUTE_TYPE_INVALID for one that EP11 does not know, CKR_ARGUMENTS_BAD for one that nobody may ask for.
pub fn question(types: impl Iterator<Item = u64>) -> Result<Vec<u8>, Failure> {
    let mut template = Template::default();
    for of in types {
        let known = u32::try_from(of).ok().filter(|of| kind(*of).is_some());
        let known = known.ok_or_else(|| {
            Failure::new(rv::ATTRIBUTE_TYPE_INVALID, format!("attribute 0x{of:x}: a coprocessor does not know it"))
        })?;
        match bit(known) {
            _ if known == attribute::IBM_NEVER_MODIFIABLE => return Err(Failure::new(rv::ARGUMENTS_BAD, "")),
            Some(bit) => template.mask |= bit,
            None if template.values.iter().any(|(other, _)| *other == known) => {}
            None => template.values.push((known, Value::Wanted)),
        }
    }
    Ok(template.to_bytes())
}

/// A value of an answer, and its bytes as a CK_ATTRIBUTE has them, numbers in eight, big-endian.
///
/// # Errors
/// CKR_ATTRIBUTE_TYPE_INVALID where the key has none.
pub fn answered(answer: &Template<'_>, of: u64) -> Result<(AttributeValue, Vec<u8>), Failure> {
    let found = || {
        let of = u32::try_from(of).ok()?;
        Some(match kind(of)? {
            Kind::Boolean => {
                let value = answer.flag(bit(of)?)?;
                (OneAttr::AttributeTf(value), vec![value.into()])
            }
            Kind::Number => {
                let value = answer.number(of)?;
                (OneAttr::AttributeI(value.into()), u64::from(value).to_be_bytes().to_vec())
            }
            Kind::Bytes | Kind::Blob => {
                let value = answer.bytes(of)?.to_vec();
                (OneAttr::AttributeB(value.clone()), value)
            }
        })
    };
    let none = || Failure::new(rv::ATTRIBUTE_TYPE_INVALID, format!("attribute 0x{of:x}: the key has none"));
    let (value, bytes) = found().ok_or_else(none)?;
    Ok((AttributeValue { one_attr: Some(value) }, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_ep11_wire::codes::{attribute as a, flag};

    fn of<const N: usize>(all: [(u32, OneAttr); N]) -> Attributes {
        all.map(|(kind, value)| (kind.into(), AttributeValue { one_attr: Some(value) })).into()
    }

    #[test]
    fn maps_become_templates() {
        let attributes = of([
            (a::ENCRYPT, OneAttr::AttributeTf(true)),
            (a::EXTRACTABLE, OneAttr::AttributeI(0)),
            (a::SIGN, OneAttr::AttributeB(vec![1])),
            (a::VALUE_LEN, OneAttr::AttributeI(32)),
            (a::MODULUS_BITS, OneAttr::AttributeB(2048_u64.to_be_bytes().to_vec())),
            (a::EC_PARAMS, OneAttr::AttributeB(b"oid".to_vec())),
            (a::VALUE, OneAttr::AttributeB(vec![])),
            (a::PUBLIC_EXPONENT, OneAttr::AttributeB(vec![1, 0, 1])),
            (3, OneAttr::AttributeB(b"label".to_vec())),
        ]);
        let bytes = template(&attributes, &[a::PUBLIC_EXPONENT]).unwrap();
        let template = Template::parse(&bytes).unwrap();
        let mask = flag::ENCRYPT | flag::EXTRACTABLE | flag::SIGN;
        assert_eq!((template.mask, template.flags), (mask, flag::ENCRYPT | flag::SIGN));
        assert_eq!((template.number(a::VALUE_LEN), template.number(a::MODULUS_BITS)), (Some(32), Some(2048)));
        assert_eq!((template.bytes(a::EC_PARAMS), template.values.len()), (Some(&b"oid"[..]), 3));
    }

    #[test]
    fn values_of_another_type_are_refused() {
        for (kind, value) in [
            (a::ENCRYPT, OneAttr::AttributeI(2)),
            (a::ENCRYPT, OneAttr::AttributeB(vec![0, 1])),
            (a::VALUE_LEN, OneAttr::AttributeI(-1)),
            (a::VALUE_LEN, OneAttr::AttributeI(1 << 32)),
            (a::VALUE_LEN, OneAttr::AttributeTf(true)),
            (a::EC_PARAMS, OneAttr::AttributeI(1)),
        ] {
            assert_eq!(template(&of([(kind, value)]), &[]).unwrap_err().rv, rv::ATTRIBUTE_VALUE_INVALID);
        }
        let none = Attributes::from([(a::ENCRYPT.into(), AttributeValue { one_attr: None })]);
        assert!(template(&none, &[]).is_err());
    }

    #[test]
    fn answers_come_in_both_forms() {
        let mut answer = Template::default();
        answer.set_flag(a::SIGN, true).unwrap();
        answer.values.push((a::KEY_TYPE, Value::Number(3)));
        let (value, bytes) = answered(&answer, a::SIGN.into()).unwrap();
        assert_eq!((value.one_attr, bytes), (Some(OneAttr::AttributeTf(true)), vec![1]));
        let (value, bytes) = answered(&answer, a::KEY_TYPE.into()).unwrap();
        assert_eq!((value.one_attr, bytes), (Some(OneAttr::AttributeI(3)), vec![0, 0, 0, 0, 0, 0, 0, 3]));
        assert!(answered(&answer, a::VERIFY.into()).is_err());
        assert!(question([3].into_iter()).is_err() && question([u64::MAX].into_iter()).is_err());
        let asked = question([u64::from(a::SIGN), a::KEY_TYPE.into()].into_iter()).unwrap();
        assert_eq!(Template::parse(&asked).map(|asked| (asked.mask, asked.values.len())), Some((flag::SIGN, 1)));
    }
}
