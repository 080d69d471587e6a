//! SP 800-108: counter, feedback and double-pipeline mode. What the pseudo-random function takes in is put together as the caller says.

use super::{Derive, Secret};
use crate::mechanism::hash::Hash;
use crate::mechanism::params::Shape;
use crate::mechanism::registry::{Entry, LONG};
use crate::object::{Held, Object};
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::kdf::Prf as Hmac;
use adjunct::ops::mac::{BlockCipher, Cmac};
use cryptoki_sys::*;
use zeroize::Zeroizing;

const INVALID: Rv = Rv(CKR_MECHANISM_PARAM_INVALID);

const fn entry(kind: CK_MECHANISM_TYPE, derive: Derive) -> Entry {
    Entry::new(kind, 1, LONG, CKF_DERIVE, Shape::Derive(derive))
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry(CKM_SP800_108_COUNTER_KDF, Derive::Counter),
    entry(CKM_SP800_108_FEEDBACK_KDF, Derive::Feedback),
    entry(CKM_SP800_108_DOUBLE_PIPELINE_KDF, Derive::DoublePipeline),
];

/// CK_SP800_108_KDF_PARAMS, CK_SP800_108_FEEDBACK_KDF_PARAMS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kdf<'a> {
    /// The mode.
    pub mode: Mode<'a>,
    /// The pseudorandom function.
    pub prf: Prf,
    /// What the function is applied to, in this order.
    pub parts: Vec<Part<'a>>,
}

/// The mode of iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode<'a> {
    /// Counter mode (4.1).
    Counter,
    /// Each result goes into the next; with the value that stands before the first one.
    Feedback(&'a [u8]),
    /// Double-pipeline mode (4.3).
    DoublePipeline,
}

/// The pseudo-random function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prf {
    /// HMAC over a hash.
    Hmac(Hash),
    /// CMAC with AES.
    AesCmac,
    /// CMAC with triple DES.
    Des3Cmac,
}

/// A part of the input of the pseudo-random function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// The counter in counter mode, of a form; else the result before.
    Iteration(Option<Number>),
    /// A counter, in modes that iterate something else.
    Counter(Number),
    /// The length of all keys in bits; of whole results where `segments`.
    Length {
        /// Whether it is that of whole results.
        segments: bool,
        /// The form of the length.
        number: Number,
    },
    /// Bytes as they are.
    Bytes(&'a [u8]),
    /// The value of another key.
    Key(CK_OBJECT_HANDLE),
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// Whether the lowest byte comes first.
    pub little: bool,
    /// How many bytes it has.
    pub bytes: usize,
}

impl Number {
    fn write(self, number: u64, out: &mut Vec<u8>) {
        let bytes = number.to_be_bytes();
        let from = out.len();
        out.extend_from_slice(&bytes[bytes.len() - self.bytes..]);
        if self.little {
            out[from..].reverse();
        }
    }
}

/// The function, keyed.
enum Keyed {
    Hmac(Box<Hmac>),
    Cmac(Box<Cmac>),
}

impl Keyed {
    fn new(prf: Prf, base: &Object) -> Result<Keyed> {
        let (key, kind) = (base.value()?, base.key_type());
        Ok(match prf {
            Prf::Hmac(hash) => Keyed::Hmac(Box::new(Hmac::new(hash.method(), key)?)),
            Prf::AesCmac => {
                ensure(kind == Some(CKK_AES), CKR_KEY_TYPE_INCONSISTENT)?;
                Keyed::Cmac(Box::new(Cmac::new(BlockCipher::Aes(key.len()), key)?))
            }
            Prf::Des3Cmac => {
                ensure(kind == Some(CKK_DES3), CKR_KEY_TYPE_INCONSISTENT)?;
                Keyed::Cmac(Box::new(Cmac::new(BlockCipher::TripleDes, key)?))
            }
        })
    }

    fn size(&self) -> usize {
        match self {
            Keyed::Hmac(hmac) => hmac.size(),
            Keyed::Cmac(cmac) => cmac.cipher().block(),
        }
    }

    fn run(&mut self, data: &[u8], out: &mut Secret) -> Result {
        match self {
            Keyed::Hmac(hmac) => hmac.mac(&[data], out),
            Keyed::Cmac(cmac) => {
                cmac.reset();
                cmac.update(data);
                cmac.finish(out)?;
            }
        }
        Ok(())
    }
}

impl Kdf<'_> {
    /// Handles of the keys that the derivation takes in.
    pub fn keys(&self) -> Vec<CK_OBJECT_HANDLE> {
        let keys = self.parts.iter().filter_map(|part| match part {
            Part::Key(key) => Some(*key),
            _ => None,
        });
        keys.collect()
    }

    /// Checks that the parts are those of the mode.
    fn check(&self) -> Result {
        let counter = self.mode == Mode::Counter;
        let of = |kind: fn(&Part<'_>) -> bool| self.parts.iter().filter(|part| kind(part)).count();
        let (iterations, counters, lengths) = (
            of(|part| matches!(part, Part::Iteration(_))),
            of(|part| matches!(part, Part::Counter(_))),
            of(|part| matches!(part, Part::Length { .. })),
        );
        let forms = self.parts.iter().all(|part| match part {
            Part::Iteration(form) => form.is_some() == counter,
            Part::Counter(_) => !counter,
            _ => true,
        });
        ensure(iterations == 1 && counters <= 1 && lengths <= 1 && forms, CKR_MECHANISM_PARAM_INVALID)
    }

    /// The input of the pseudorandom function for a step with this counter and iteration value; without a step, the first input of the double
    /// pipeline.
    fn input(&self, step: Option<(u64, &[u8])>, length: [u64; 2], others: &[Held]) -> Result<Zeroizing<Vec<u8>>> {
        let (mut data, mut others) = (Zeroizing::new(Vec::new()), others.iter());
        for part in &self.parts {
            match (part, step) {
                (Part::Iteration(Some(form)) | Part::Counter(form), Some((number, _))) => {
                    // A counter never comes round.
                    ensure(form.bytes == 8 || number >> (8 * form.bytes) == 0, CKR_KEY_SIZE_RANGE)?;
                    form.write(number, &mut data);
                }
                (Part::Iteration(None), Some((_, before))) => append(&mut data, before)?,
                (Part::Iteration(_) | Part::Counter(_), None) => (),
                (Part::Length { segments, number }, _) => number.write(length[usize::from(*segments)], &mut data),
                (Part::Bytes(bytes), _) => append(&mut data, bytes)?,
                (Part::Key(_), _) => append(&mut data, others.next().ok_or(INVALID)?.clear_value()?)?,
            }
        }
        Ok(data)
    }

    /// Derives keys of these lengths. Each begins with a result of its own (PKCS #11 3.2, 6.42.8).
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE` for more than the counter can tell.
    pub fn derive(&self, base: &Object, others: &[Held], lengths: &[usize]) -> Result<Vec<Secret>> {
        self.check()?;
        let mut prf = Keyed::new(self.prf, base)?;
        let size = prf.size();
        let bits = |bytes: usize| bytes as u64 * 8;
        let all: u64 = lengths.iter().map(|length| bits(*length)).sum();
        let whole: u64 = lengths.iter().map(|length| bits(length.next_multiple_of(size))).sum();
        ensure(whole / bits(size) <= u64::from(u32::MAX), CKR_KEY_SIZE_RANGE)?;
        let length = [all, whole];
        let (mut before, mut result) = (adjunct::memory::zeros(size)?, adjunct::memory::zeros(size)?);
        let (mut number, mut keys) = (0, Vec::new());
        for wanted in lengths {
            let mut key = adjunct::memory::zeros(*wanted)?;
            for chunk in key.chunks_mut(size) {
                number += 1;
                let data = match (self.mode, number) {
                    (Mode::Feedback(iv), 1) => self.input(Some((1, iv)), length, others)?,
                    (Mode::DoublePipeline, _) => {
                        let start = if number == 1 { Some(self.input(None, length, others)?) } else { None };
                        let last = start.unwrap_or_else(|| before.clone());
                        prf.run(&last, &mut before)?;
                        self.input(Some((number, &before)), length, others)?
                    }
                    _ => self.input(Some((number, &result)), length, others)?,
                };
                prf.run(&data, &mut result)?;
                chunk.copy_from_slice(&result[..chunk.len()]);
            }
            keys.push(key);
        }
        Ok(keys)
    }
}

fn append(data: &mut Vec<u8>, bytes: &[u8]) -> Result {
    data.try_reserve(bytes.len())?;
    data.extend_from_slice(bytes);
    Ok(())
}
