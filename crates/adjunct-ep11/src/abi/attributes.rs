//! Templates: C's CK_ATTRIBUTE become [`adjunct_ep11_wire::attributes`]'s, and back.

use super::types::{Attribute, Ulong};
use super::{change, input, returns, value};
use crate::error::Rv;
use crate::forms::{inward, outward};
use crate::library::Said;
use crate::targets::flag;
use crate::template::{Kind, SAID_BY_KEY, kind};
use adjunct_ep11_wire::attributes::{Template, Value, bit};
use adjunct_ep11_wire::codes::{attribute, rv};
use adjunct_ep11_wire::function::Function;
use std::borrow::Cow;
use zeroize::Zeroizing;

/// The most attributes of a template.
const MOST: usize = 256;
/// Its value is what a message has.
const WIRETEST: Ulong = 0x8002_0001;
/// What stands for the length of a value that is not there.
const UNAVAILABLE: usize = usize::MAX;

/// The attributes of a caller's template.
///
/// # Safety
/// The pointer is null or leads to so many attributes.
unsafe fn all(pointer: *const Attribute, count: usize) -> Result<Vec<Attribute>, Rv> {
    if count > MOST || pointer.is_null() && count > 0 {
        return Err(Rv::ARGUMENTS);
    }
    // SAFETY: the caller's attributes are so many.
    (0..count).map(|place| unsafe { value(pointer.wrapping_add(place)) }).collect()
}

/// A CK_ULONG that fits into a message.
fn number(bytes: &[u8]) -> Result<u32, Rv> {
    let bytes = bytes.try_into().map_err(|_| Rv(rv::ATTRIBUTE_VALUE_INVALID))?;
    u32::try_from(Ulong::from_ne_bytes(bytes)).map_err(|_| Rv(rv::ATTRIBUTE_VALUE_INVALID))
}

/// The bytes of a template in a message. Attributes that libep11 does not know are left out, or refused where the target says so. Those of bytes
/// that have none are left out: templates of programs have a place for what a key does not have yet (CKA_MODULUS, CKA_VALUE).
///
/// # Errors
/// [`Rv::ARGUMENTS`] for null pointers; CKR_ATTRIBUTE_VALUE_INVALID and CKR_TEMPLATE_INCONSISTENT for what no message can have.
///
/// # Safety
/// The pointer is null or leads to so many attributes, whose values are as long as they say.
pub(crate) unsafe fn template(pointer: *const Attribute, count: usize, flags: u64) -> Result<Zeroizing<Vec<u8>>, Rv> {
    // SAFETY: the caller's attributes.
    unsafe { template_without(&[], pointer, count, flags) }
}

/// The bytes of the template of a key that comes wrapped, without [`SAID_BY_KEY`].
///
/// # Errors
/// Those of [`template`].
///
/// # Safety
/// That of [`template`].
pub(crate) unsafe fn template_of_wrapped(
    pointer: *const Attribute,
    count: usize,
    flags: u64,
) -> Result<Zeroizing<Vec<u8>>, Rv> {
    // SAFETY: the caller's attributes.
    unsafe { template_without(&SAID_BY_KEY, pointer, count, flags) }
}

/// [`template`] without attributes of some types.
///
/// # Safety
/// That of [`template`].
unsafe fn template_without(
    without: &[u32],
    pointer: *const Attribute,
    count: usize,
    flags: u64,
) -> Result<Zeroizing<Vec<u8>>, Rv> {
    // SAFETY: the caller's attributes.
    let all = unsafe { all(pointer, count) }?;
    // SAFETY: the caller's values have the lengths that are said.
    let bytes = |of: &Attribute| unsafe { input(of.value.cast_const().cast(), of.length) };
    if let [only] = &all[..]
        && only.kind == WIRETEST
    {
        return Ok(Zeroizing::new(bytes(only)?.to_vec()));
    }
    let mut template = Template::default();
    let mut values: Vec<(u32, Cow<'_, [u8]>)> = Vec::new();
    for of in &all {
        let known = u32::try_from(of.kind).ok().and_then(|of| Some((of, kind(of)?)));
        let Some((of_kind, is)) = known else {
            if flags & flag::CHECK_ATTRIBUTES != 0 {
                return Err(Rv(rv::TEMPLATE_INCONSISTENT));
            }
            continue;
        };
        let bytes = bytes(of)?;
        let twice = bit(of_kind).is_some_and(|bit| template.mask & bit != 0)
            || values.iter().any(|(other, _)| *other == of_kind);
        if twice {
            return Err(Rv(rv::TEMPLATE_INCONSISTENT));
        }
        match is {
            Kind::Bytes | Kind::Blob if bytes.is_empty() || without.contains(&of_kind) => {}
            Kind::Boolean => {
                let &[boolean @ (0 | 1)] = bytes else { return Err(Rv(rv::ATTRIBUTE_VALUE_INVALID)) };
                _ = template.set_flag(of_kind, boolean == 1);
            }
            Kind::Number => values.push((of_kind, Cow::Owned(number(bytes)?.to_be_bytes().to_vec()))),
            Kind::Bytes => values.push((of_kind, Cow::Borrowed(bytes))),
            Kind::Blob => values.push((of_kind, inward(bytes))),
        }
    }
    for (of, bytes) in &values {
        let value = match (kind(*of), &bytes[..]) {
            (Some(Kind::Number), &[a, b, c, d]) => Value::Number(u32::from_be_bytes([a, b, c, d])),
            (_, bytes) => Value::Bytes(bytes),
        };
        template.values.push((*of, value));
    }
    Ok(Zeroizing::new(template.to_bytes()))
}

/// A question for a caller's attributes.
fn question(all: &[Attribute]) -> Result<Vec<u8>, Rv> {
    let mut template = Template::default();
    for of in all {
        let of = u32::try_from(of.kind).ok().filter(|of| kind(*of).is_some());
        let of = of.ok_or(Rv(rv::ATTRIBUTE_TYPE_INVALID))?;
        match bit(of) {
            // Nobody may ask for it.
            _ if of == attribute::IBM_NEVER_MODIFIABLE => return Err(Rv::ARGUMENTS),
            Some(bit) => template.mask |= bit,
            None if template.values.iter().any(|(other, _)| *other == of) => {}
            None => template.values.push((of, Value::Wanted)),
        }
    }
    Ok(template.to_bytes())
}

/// A value as C has it; `None` where the answer has none.
fn answered(answer: &Template<'_>, of: u32) -> Option<Vec<u8>> {
    match kind(of)? {
        Kind::Boolean => Some(vec![answer.flag(bit(of)?)?.into()]),
        Kind::Number => Some(Ulong::from(answer.number(of)?).to_ne_bytes().to_vec()),
        Kind::Bytes => Some(answer.bytes(of)?.to_vec()),
        Kind::Blob => {
            let mut bytes = answer.bytes(of)?.to_vec();
            outward(&mut bytes);
            Some(bytes)
        }
    }
}

/// # Safety
/// The caller's object and attributes, as long as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_GetAttributeValue(
    object: *const u8,
    length: usize,
    attributes: *mut Attribute,
    count: usize,
    target: u64,
) -> Ulong {
    returns(|| {
        // SAFETY: the caller's object, attributes and target.
        let (target, object, mut all) =
            unsafe { (super::target(target)?, input(object, length)?, all(attributes, count)?) };
        let question = question(&all)?;
        let Said::Done(said) =
            super::LIBRARY.run(&target, Function::GetAttributeValue, &[&inward(object), &question])?
        else {
            return Err(Rv::ARGUMENTS);
        };
        let answer = Template::parse(said.result(0)?).ok_or(Rv::DEVICE)?;
        let mut result = Ok(());
        for (place, of) in all.iter_mut().enumerate() {
            let value = u32::try_from(of.kind).ok().and_then(|of| answered(&answer, of)).map(Zeroizing::new);
            of.length = match value {
                None => {
                    result = Err(Rv(rv::ATTRIBUTE_TYPE_INVALID));
                    UNAVAILABLE
                }
                Some(value) if of.value.is_null() => value.len(),
                Some(value) if value.len() <= of.length => {
                    // SAFETY: the caller's value has room for it.
                    unsafe { of.value.cast::<u8>().copy_from_nonoverlapping(value.as_ptr(), value.len()) };
                    value.len()
                }
                Some(_) => {
                    result = result.and(Err(Rv(rv::BUFFER_TOO_SMALL)));
                    UNAVAILABLE
                }
            };
            // SAFETY: the caller's attributes are so many.
            unsafe { attributes.wrapping_add(place).write_unaligned(*of) };
        }
        result
    })
}

/// # Safety
/// The caller's object, which is changed, and attributes, as long as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_SetAttributeValue(
    object: *mut u8,
    length: usize,
    attributes: *mut Attribute,
    count: usize,
    target: u64,
) -> Ulong {
    returns(|| {
        // SAFETY: the caller's object, attributes and target; nothing refers to the object any more when it is written.
        unsafe {
            let target = super::target(target)?;
            let template = template(attributes, count, target.flags)?;
            change(&target, Function::SetAttributeValue, object, length, &[&template], &[])
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_ep11_wire::codes::{attribute as a, flag as bits};
    use std::ffi::c_void;

    fn of<T>(kind: u32, value: &mut T) -> Attribute {
        Attribute { kind: kind.into(), value: (&raw mut *value).cast::<c_void>(), length: size_of::<T>() }
    }

    fn read(all: &[Attribute], flags: u64) -> Result<Zeroizing<Vec<u8>>, Rv> {
        // SAFETY: the attributes of these tests.
        unsafe { template(all.as_ptr(), all.len(), flags) }
    }

    #[test]
    fn templates_become_messages() {
        let (mut yes, mut no, mut length, mut oid, mut label) = (1_u8, 0_u8, 32_u64, [6_u8, 1, 42], *b"label");
        let all = [
            of(a::ENCRYPT, &mut yes),
            of(a::EXTRACTABLE, &mut no),
            of(a::VALUE_LEN, &mut length),
            of(a::EC_PARAMS, &mut oid),
            of(3, &mut label),
        ];
        let bytes = read(&all, 0).unwrap();
        let template = Template::parse(&bytes).unwrap();
        assert_eq!((template.mask, template.flags), (bits::ENCRYPT | bits::EXTRACTABLE, bits::ENCRYPT));
        assert_eq!((template.number(a::VALUE_LEN), template.bytes(a::EC_PARAMS)), (Some(32), Some(&[6, 1, 42][..])));
        assert_eq!(template.values.len(), 2);
        assert_eq!(read(&all, flag::CHECK_ATTRIBUTES), Err(Rv(rv::TEMPLATE_INCONSISTENT)));
        // What openCryptoki's token passes of a key that is to be made.
        let (mut unknown, mut nothing) = (Ulong::MAX, [0_u8; 0]);
        let vain = [of(a::KEY_GEN_MECHANISM, &mut unknown), of(a::MODULUS, &mut nothing), of(a::VALUE, &mut nothing)];
        assert_eq!(read(&vain, 0).unwrap(), read(&[], 0).unwrap());
        // What it passes of a key that it imports.
        let imported = [of(a::EC_POINT, &mut oid), of(a::VALUE, &mut label), of(a::ENCRYPT, &mut yes)];
        // SAFETY: the attributes of this test.
        let wrapped = unsafe { template_of_wrapped(imported.as_ptr(), 3, 0) };
        assert_eq!(wrapped.unwrap(), read(&imported[2..], 0).unwrap());
        assert!(read(&all[..4], flag::CHECK_ATTRIBUTES).is_ok());
        let wire = Attribute { kind: WIRETEST, ..of(0, &mut oid) };
        assert_eq!(read(&[wire], 0).unwrap()[..], oid);
    }

    #[test]
    fn what_no_message_can_have_is_refused() {
        let (mut long, mut two, mut yes) = (1_u64 << 32, 2_u8, 1_u8);
        let invalid = Err(Rv(rv::ATTRIBUTE_VALUE_INVALID));
        assert_eq!(read(&[of(a::VALUE_LEN, &mut long)], 0), invalid);
        assert_eq!(read(&[Attribute { length: 4, ..of(a::VALUE_LEN, &mut long) }], 0), invalid);
        assert_eq!(read(&[of(a::SIGN, &mut two)], 0), invalid);
        assert_eq!(read(&[Attribute { length: 0, ..of(a::SIGN, &mut yes) }], 0), invalid);
        let twice = [of(a::SIGN, &mut yes), of(a::SIGN, &mut two)];
        assert!(read(&twice, 0).is_err());
        let null = Attribute { value: std::ptr::null_mut(), ..of(a::SIGN, &mut yes) };
        assert_eq!(read(&[null], 0), Err(Rv::ARGUMENTS));
        // SAFETY: a null pointer, and a count that no template has.
        unsafe {
            assert_eq!(template(std::ptr::null(), 1, 0), Err(Rv::ARGUMENTS));
            assert_eq!(template([null].as_ptr(), usize::MAX, 0), Err(Rv::ARGUMENTS));
            assert!(template(std::ptr::null(), 0, 0).is_ok());
        }
    }

    #[test]
    fn questions_name_types_and_answers_fill_values() {
        let (mut yes, mut number) = (9_u8, 0_u64);
        let all = [of(a::SIGN, &mut yes), of(a::IBM_STD_COMPLIANCE1, &mut number), of(a::PUBLIC_KEY_INFO, &mut number)];
        let bytes = question(&all).unwrap();
        let asked = Template::parse(&bytes).unwrap();
        assert_eq!((asked.mask, asked.values.len()), (bits::SIGN, 2));
        assert_eq!(question(&[of(a::IBM_NEVER_MODIFIABLE, &mut yes)]), Err(Rv::ARGUMENTS));
        assert_eq!(question(&[of(3, &mut yes)]), Err(Rv(rv::ATTRIBUTE_TYPE_INVALID)));
        let mut answer = Template::default();
        answer.set_flag(a::SIGN, true).unwrap();
        answer.values.push((a::IBM_STD_COMPLIANCE1, Value::Number(7)));
        assert_eq!(answered(&answer, a::SIGN), Some(vec![1]));
        assert_eq!(answered(&answer, a::IBM_STD_COMPLIANCE1), Some(Ulong::from(7_u8).to_ne_bytes().to_vec()));
        assert_eq!((answered(&answer, a::VERIFY), answered(&answer, a::PUBLIC_KEY_INFO)), (None, None));
    }
}
