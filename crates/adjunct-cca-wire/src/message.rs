//! Requests and replies. Numbers are big-endian.
//!
//! ```text
//! request:  version (1) | verb (2) | for each parameter: length (4) | bytes
//! reply:    version (1) | verb (2) | return code (4) | reason code (4) |
//!           for each parameter that is written: 0 | or 1, length (4), bytes
//! ```
//!
//! What the bytes of a parameter are is by its shape: a number in 8 bytes for [`Parameter::Long`]; for [`Parameter::PairOut`] and [`Parameter::Signature`] the size
//! of the buffer in 8; for [`Parameter::Bits`] the bits in 8, then the bytes; nothing for what is only written or reserved. In a reply a signature is its length in
//! bits in 8 bytes, then the signature. Fixed bytes may be missing, where the program gave no pointer; whether the verb can do without is the coprocessor's to say.

use crate::code::Code;
use crate::verb::{MOST, Parameter, Verb};
use zeroize::Zeroizing;

/// The version of requests and replies that this crate writes, and the only one that it reads.
pub const VERSION: u8 = 1;
/// The longest field.
pub const LONGEST: usize = 64 << 20;

/// What a program gives for a parameter.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// Nothing: for what is only written, for what is reserved, and where there is no pointer.
    None,
    /// A number.
    Long(i64),
    /// The size of a buffer.
    Room(u64),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A length in bits, and bytes.
    Bits(u64, &'a [u8]),
}

// Bytes may be secret.
impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Value::None => "None",
            Value::Long(_) => "Long",
            Value::Room(_) => "Room",
            Value::Bytes(_) => "Bytes",
            Value::Bits(..) => "Bits",
        })
    }
}

/// Whether bytes have a length that a parameter's field may have.
fn fits(parameter: Parameter, length: usize) -> bool {
    match parameter {
        Parameter::Long | Parameter::LongBoth | Parameter::PairOut | Parameter::Signature => length == 8,
        Parameter::LongOut | Parameter::Out(_) | Parameter::TextOut | Parameter::VaryingOut | Parameter::Reserved => {
            length == 0
        }
        Parameter::In(size) | Parameter::Both(size) => length == 0 || length == usize::from(size),
        Parameter::Rules | Parameter::RulesBoth => length.is_multiple_of(8),
        Parameter::Bits => length >= 8,
        Parameter::Pair | Parameter::PairBoth | Parameter::Text | Parameter::Varying => true,
    }
}

/// A request. `None` where the values are not of the verb's shape.
#[must_use]
pub fn request(verb: Verb, values: &[Value<'_>]) -> Option<Zeroizing<Vec<u8>>> {
    let shape = verb.shape();
    let length = |value: &Value<'_>| match value {
        Value::None => 0,
        Value::Long(_) | Value::Room(_) => 8,
        Value::Bytes(bytes) => bytes.len(),
        Value::Bits(_, bytes) => 8 + bytes.len(),
    };
    let kind = |parameter: Parameter, value: &Value<'_>| match parameter {
        Parameter::Long | Parameter::LongBoth => matches!(value, Value::Long(_)),
        Parameter::PairOut | Parameter::Signature => matches!(value, Value::Room(_)),
        Parameter::Bits => matches!(value, Value::Bits(..)),
        _ => matches!(value, Value::Bytes(_) | Value::None),
    };
    let whole = shape.len() == values.len()
        && shape.iter().zip(values).all(|(&parameter, value)| {
            let length = length(value);
            kind(parameter, value) && fits(parameter, length) && length <= LONGEST
        });
    whole.then_some(())?;
    // Had at once: no copy is left behind.
    let mut out = Zeroizing::new(Vec::with_capacity(3 + values.iter().map(|value| 4 + length(value)).sum::<usize>()));
    out.push(VERSION);
    out.extend_from_slice(&(verb as u16).to_be_bytes());
    for value in values {
        out.extend_from_slice(&(length(value) as u32).to_be_bytes());
        match value {
            Value::None => {}
            Value::Long(number) => out.extend_from_slice(&number.to_be_bytes()),
            Value::Room(number) => out.extend_from_slice(&number.to_be_bytes()),
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
            Value::Bits(bits, bytes) => {
                out.extend_from_slice(&bits.to_be_bytes());
                out.extend_from_slice(bytes);
            }
        }
    }
    Some(out)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

fn number<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    take(rest, N)?.try_into().ok()
}

fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_be_bytes(number(rest)?) as usize;
    take(rest, length).filter(|field| field.len() <= LONGEST)
}

fn head(rest: &mut &[u8]) -> Option<Verb> {
    (number(rest)? == [VERSION]).then_some(())?;
    Verb::with_number(u16::from_be_bytes(number(rest)?))
}

/// The verb of a request, whatever else the request is.
#[must_use]
pub fn verb(mut request: &[u8]) -> Option<Verb> {
    head(&mut request)
}

/// A request that was read: its fields have lengths that their parameters may have.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The verb.
    pub verb: Verb,
    fields: [&'a [u8]; MOST],
}

impl<'a> Request<'a> {
    /// Reads a request; `None` where it is none.
    #[must_use]
    pub fn parse(mut message: &'a [u8]) -> Option<Request<'a>> {
        let verb = head(&mut message)?;
        let mut fields: [&[u8]; MOST] = [&[]; MOST];
        for (&parameter, place) in verb.shape().iter().zip(&mut fields) {
            *place = field(&mut message).filter(|field| fits(parameter, field.len()))?;
        }
        message.is_empty().then_some(Request { verb, fields })
    }

    /// The bytes of a parameter, by its place in the shape: empty where there are none. Those of [`Parameter::Bits`] without the bits.
    #[must_use]
    pub fn bytes(&self, at: usize) -> &'a [u8] {
        let field = self.fields.get(at).copied().unwrap_or_default();
        match self.verb.shape().get(at) {
            Some(Parameter::Bits) => &field[8..],
            _ => field,
        }
    }

    /// The number that a parameter is, or begins with: a long, the size of a buffer (which is never negative: what C had as such is no size), bits.
    #[must_use]
    pub fn number(&self, at: usize) -> i64 {
        let field = self.fields.get(at).copied().unwrap_or_default();
        field.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes))
    }

    /// The size of a buffer: of [`Parameter::PairOut`] and [`Parameter::Signature`] as told, of what is read and written its length.
    #[must_use]
    pub fn room(&self, at: usize) -> usize {
        match self.verb.shape().get(at) {
            Some(Parameter::PairOut | Parameter::Signature) => usize::try_from(self.number(at)).unwrap_or(0),
            Some(Parameter::Out(size)) => usize::from(*size),
            _ => self.bytes(at).len(),
        }
    }
}

/// What a reply has for the parameters that are written, each by its place in the shape; wiped when it goes.
#[derive(Default)]
pub struct Results {
    fields: [Option<Zeroizing<Vec<u8>>>; MOST],
}

impl Results {
    /// Sets the bytes of a parameter.
    ///
    /// # Panics
    /// Where the place is none: a defect.
    pub fn set(&mut self, at: usize, bytes: Zeroizing<Vec<u8>>) {
        self.fields[at] = Some(bytes);
    }

    /// Sets the bytes of a parameter, which are nothing secret.
    ///
    /// # Panics
    /// As [`Results::set`].
    pub fn set_bytes(&mut self, at: usize, bytes: &[u8]) {
        self.set(at, Zeroizing::new(bytes.to_vec()));
    }

    /// Sets a number.
    ///
    /// # Panics
    /// As [`Results::set`].
    pub fn set_long(&mut self, at: usize, number: i64) {
        self.set_bytes(at, &number.to_be_bytes());
    }

    /// Whether something was set for a parameter.
    #[must_use]
    pub fn has(&self, at: usize) -> bool {
        self.fields.get(at).is_some_and(Option::is_some)
    }
}

/// A reply. Results are left out where the code has none.
#[must_use]
pub fn reply(verb: Verb, code: Code, results: &Results) -> Zeroizing<Vec<u8>> {
    let written = || verb.shape().iter().zip(&results.fields).filter(|(parameter, _)| parameter.is_written());
    let told = |field: &Option<Zeroizing<Vec<u8>>>| field.as_ref().map_or(1, |field| 5 + field.len());
    let mut out = Zeroizing::new(Vec::with_capacity(11 + written().map(|(_, field)| told(field)).sum::<usize>()));
    out.push(VERSION);
    out.extend_from_slice(&(verb as u16).to_be_bytes());
    out.extend_from_slice(&code.rc.to_be_bytes());
    out.extend_from_slice(&code.reason.to_be_bytes());
    for (_, field) in written() {
        match field {
            Some(field) if code.has_results() => {
                out.push(1);
                out.extend_from_slice(&(field.len() as u32).to_be_bytes());
                out.extend_from_slice(field);
            }
            _ => out.push(0),
        }
    }
    out
}

/// A reply that was read.
#[derive(Clone, Copy)]
pub struct Reply<'a> {
    /// The verb.
    pub verb: Verb,
    /// How it went.
    pub code: Code,
    fields: [Option<&'a [u8]>; MOST],
}

impl<'a> Reply<'a> {
    /// Reads a reply; `None` where it is none.
    #[must_use]
    pub fn parse(mut message: &'a [u8]) -> Option<Reply<'a>> {
        let rest = &mut message;
        let verb = head(rest)?;
        let code = Code { rc: u32::from_be_bytes(number(rest)?), reason: u32::from_be_bytes(number(rest)?) };
        let mut fields = [None; MOST];
        for (&parameter, place) in verb.shape().iter().zip(&mut fields).filter(|(parameter, _)| parameter.is_written())
        {
            *place = match number(rest)? {
                [0] => None,
                [1] => Some(field(rest).filter(|field| written_fits(parameter, field.len()))?),
                _ => return None,
            };
        }
        rest.is_empty().then_some(Reply { verb, code, fields })
    }

    /// What is to be written for a parameter; `None` where it stays as it is.
    #[must_use]
    pub fn bytes(&self, at: usize) -> Option<&'a [u8]> {
        self.fields.get(at).copied().flatten()
    }

    /// The number that is to be written for a parameter, or that its bytes begin with.
    #[must_use]
    pub fn number(&self, at: usize) -> Option<i64> {
        self.bytes(at)?.first_chunk().map(|bytes| i64::from_be_bytes(*bytes))
    }
}

/// Whether a result has a length that may be written without a look at the program's buffer, as far as the shape says.
fn written_fits(parameter: Parameter, length: usize) -> bool {
    match parameter {
        Parameter::LongOut | Parameter::LongBoth => length == 8,
        Parameter::Out(size) | Parameter::Both(size) => length == usize::from(size),
        Parameter::RulesBoth => length.is_multiple_of(8),
        Parameter::Signature => length >= 8,
        _ => true,
    }
}
