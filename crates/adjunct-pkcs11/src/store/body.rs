//! The attributes of an object as bytes: their count (2 bytes), and each as type (8), form (1), length (4) and value. Numbers have 8 bytes,
//! little endian, on every machine; templates are attributes within.

use super::trouble::Trouble;
use adjunct_mechanisms::object::attributes::{Attributes, Value};
use adjunct_mechanisms::object::schema::{self, Form};
use cryptoki_sys::*;
use zeroize::Zeroizing;

const BYTES: u8 = 0;
const NUMBERS: u8 = 1;
const TEMPLATE: u8 = 2;
/// The deepest nesting of templates in templates: no caller's are deeper.
const DEEPEST: usize = 8;
const SIZE: usize = size_of::<CK_ULONG>();
/// Bytes of an attribute before its value.
const HEAD: usize = 13;

type Result<T> = std::result::Result<T, Trouble>;

fn is_numbers(kind: CK_ATTRIBUTE_TYPE) -> bool {
    schema::form(kind) == Form::Number || kind == CKA_ALLOWED_MECHANISMS
}

fn length(attributes: &Attributes) -> usize {
    let values = attributes.iter().map(|(kind, value)| match value {
        Value::Bytes(bytes) if is_numbers(kind) => HEAD + bytes.len() / SIZE * 8,
        Value::Bytes(bytes) => HEAD + bytes.len(),
        Value::Template(nested) => HEAD + length(nested),
    });
    2 + values.sum::<usize>()
}

/// Encodes attributes as the body of a record.
///
/// # Errors
/// [`Trouble::Memory`], [`Trouble::TooLong`].
pub fn encode(attributes: &Attributes) -> Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::new());
    // All at once: bytes that move leave a copy behind.
    bytes.try_reserve_exact(length(attributes))?;
    encode_into(attributes, &mut bytes)?;
    Ok(bytes)
}

fn encode_into(attributes: &Attributes, to: &mut Vec<u8>) -> Result<()> {
    to.extend(u16::try_from(attributes.len()).map_err(|_| Trouble::TooLong)?.to_le_bytes());
    for (kind, value) in attributes.iter() {
        // Types are 32-bit numbers, as wide as `unsigned long` may be.
        #[allow(clippy::useless_conversion)]
        to.extend(u64::from(kind).to_le_bytes());
        let head = |to: &mut Vec<u8>, form, length: usize| {
            to.push(form);
            to.extend(u32::try_from(length).map_err(|_| Trouble::TooLong)?.to_le_bytes());
            Ok::<(), Trouble>(())
        };
        match value {
            Value::Bytes(bytes) if is_numbers(kind) && bytes.len().is_multiple_of(SIZE) => {
                head(to, NUMBERS, bytes.len() / SIZE * 8)?;
                for number in bytes.chunks_exact(SIZE) {
                    let mut native = [0; SIZE];
                    native.copy_from_slice(number);
                    #[allow(clippy::useless_conversion)]
                    to.extend(u64::from(CK_ULONG::from_ne_bytes(native)).to_le_bytes());
                }
            }
            Value::Bytes(bytes) => {
                head(to, BYTES, bytes.len())?;
                to.extend_from_slice(bytes);
            }
            Value::Template(nested) => {
                head(to, TEMPLATE, length(nested))?;
                encode_into(nested, to)?;
            }
        }
    }
    Ok(())
}

/// Takes `count` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(count).ok_or(Trouble::Damaged)?;
    *bytes = rest;
    Ok(front)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Decodes the body of a record.
///
/// # Errors
/// [`Trouble::Damaged`], [`Trouble::Memory`].
pub fn decode(bytes: &[u8]) -> Result<Attributes> {
    decode_within(bytes, 0)
}

fn decode_within(mut bytes: &[u8], depth: usize) -> Result<Attributes> {
    if depth > DEEPEST {
        return Err(Trouble::Damaged);
    }
    let (bytes, mut attributes) = (&mut bytes, Attributes::default());
    let count = number(take(bytes, 2)?) as usize;
    // None takes less than its head.
    attributes.reserve(count.min(bytes.len() / HEAD)).map_err(|_| Trouble::Memory)?;
    for _ in 0..count {
        let native = |number| CK_ULONG::try_from(number).map_err(|_| Trouble::Damaged);
        let kind = native(number(take(bytes, 8)?))?;
        let form = take(bytes, 1)?[0];
        let length = number(take(bytes, 4)?) as usize;
        let value = take(bytes, length)?;
        let value = match form {
            BYTES => Value::bytes(kind, value).map_err(|_| Trouble::Memory)?,
            NUMBERS if length == 8 => {
                let one = native(number(value))?.to_ne_bytes();
                Value::bytes(kind, &one).map_err(|_| Trouble::Memory)?
            }
            NUMBERS if length.is_multiple_of(8) => {
                let numbers = value.chunks_exact(8).map(|one| native(number(one)).map(CK_ULONG::to_ne_bytes));
                let numbers: Vec<[u8; SIZE]> = numbers.collect::<Result<_>>()?;
                Value::bytes(kind, numbers.as_flattened()).map_err(|_| Trouble::Memory)?
            }
            TEMPLATE => Value::Template(Box::new(decode_within(value, depth + 1)?)),
            _ => return Err(Trouble::Damaged),
        };
        if attributes.insert(kind, value).is_some() {
            return Err(Trouble::Damaged);
        }
    }
    if bytes.is_empty() { Ok(attributes) } else { Err(Trouble::Damaged) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_and_nothing_else_is_taken() {
        let mut nested = Attributes::default();
        nested.set_number(CKA_CLASS, CKO_SECRET_KEY).unwrap();
        let mut attributes = Attributes::default();
        attributes.set_number(CKA_CLASS, CKO_PRIVATE_KEY).unwrap();
        attributes.set(CKA_LABEL, b"label").unwrap();
        attributes.set(CKA_ID, b"").unwrap();
        attributes
            .set(CKA_ALLOWED_MECHANISMS, [CKM_RSA_PKCS, CKM_ECDSA].map(CK_ULONG::to_ne_bytes).as_flattened())
            .unwrap();
        attributes.insert(CKA_UNWRAP_TEMPLATE, Value::Template(Box::new(nested)));
        let bytes = encode(&attributes).unwrap();
        assert_eq!(bytes.capacity(), bytes.len());
        assert_eq!(decode(&bytes).unwrap(), attributes);
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), Err(Trouble::Damaged), "{cut}");
        }
        assert_eq!(decode(&[&bytes[..], &[0]].concat()), Err(Trouble::Damaged));
    }
}
