//! AES key wrap: RFC 3394 (KW), RFC 5649 (KWP), and KW of data padded as in PKCS #7. A message is short, and worked on as a whole.

use super::common::{keep, secret};
use super::params::Params;
use crate::object::Object;
use crate::operation::{Again, Cipher};
use crate::rv::{Result, Rv, ensure, fail, key_size};
use adjunct::InOut;
use adjunct::ops::cipher::{Chain, Counted, Pieces, aes};
use cryptoki_sys::*;
use subtle::{Choice, ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess};
use zeroize::Zeroizing;

/// The unit of key wrapping, in bytes.
const UNIT: usize = 8;
/// The longest message: its length stands in 32 bits.
const LONGEST: usize = 1 << 31;
/// What KW begins with (RFC 3394, 2.2.3.1), and KWP (RFC 5649, 3).
const KW: [u8; 8] = [0xa6; 8];
const KWP: [u8; 4] = [0xa6, 0x59, 0x59, 0xa6];

/// The padding of a message that is not of whole units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// No padding: a message that is not of whole units is refused.
    None,
    /// Zeros, and the length before.
    Length,
    /// PKCS #7.
    Pkcs7,
}

struct Wrapping {
    ecb: Counted<aes::Ecb>,
    encrypt: bool,
    padding: Padding,
    /// The initial value; of KWP its first half.
    iv: [u8; 8],
    waiting: Zeroizing<Vec<u8>>,
}

/// Begins a message.
///
/// # Errors
/// As [`super::Mechanism::cipher`].
pub fn begin(padding: Padding, params: Params<'_>, key: &Object, encrypt: bool) -> Result<Box<dyn Cipher>> {
    let mut iv = KW;
    if padding == Padding::Length {
        iv[..4].copy_from_slice(&KWP);
    }
    match params {
        Params::None => {}
        Params::Bytes(given) if given.len() == if padding == Padding::Length { 4 } else { 8 } => {
            iv[..given.len()].copy_from_slice(given);
        }
        _ => return fail(CKR_MECHANISM_PARAM_INVALID),
    }
    let key = secret(key, CKK_AES)?;
    let ecb = Counted::default();
    let mut made = Box::new(Wrapping { ecb, encrypt, padding, iv, waiting: Zeroizing::new(Vec::new()) });
    made.ecb.set_key(key, encrypt).map_err(key_size)?;
    Ok(made)
}

fn block(pieces: &mut Pieces<'_, aes::Ecb>, block: &mut [u8; 16]) -> Result {
    let chain = Chain { iv: &mut [0; 16], stream: &mut [0; 16], used: &mut 0, bits: false };
    Ok(pieces.run(chain, InOut::in_place(block))?)
}

impl Wrapping {
    fn length(&self, input: usize) -> usize {
        match (self.encrypt, self.padding) {
            (true, Padding::None) => input + UNIT,
            (true, Padding::Length) => input.next_multiple_of(UNIT) + UNIT,
            (true, Padding::Pkcs7) => (input / UNIT + 1) * UNIT + UNIT,
            (false, _) => input.saturating_sub(UNIT),
        }
    }

    /// The six rounds over the initial value and the units behind it, in place (RFC 3394, 2.2.1 and 2.2.2); of one unit a single block.
    fn rounds(&mut self, all: &mut [u8]) -> Result {
        let encrypt = self.encrypt;
        let count = all.len() / UNIT - 1;
        self.ecb.update(encrypt, all.len(), |mut pieces| {
            let mut both = Zeroizing::new([0; 16]);
            if count == 1 {
                both.copy_from_slice(all);
                block(&mut pieces, &mut both)?;
                all.copy_from_slice(&*both);
                return Ok(());
            }
            let (first, units) = all.split_first_chunk_mut::<UNIT>().ok_or(Rv(CKR_FUNCTION_FAILED))?;
            let units = units.as_chunks_mut::<UNIT>().0;
            let steps = 6 * count as u64;
            for step in 0..steps {
                let number = if encrypt { step + 1 } else { steps - step };
                let unit = &mut units[((number - 1) % count as u64) as usize];
                let mark = |first: &mut [u8; UNIT]| *first = (u64::from_be_bytes(*first) ^ number).to_be_bytes();
                if !encrypt {
                    mark(first);
                }
                both[..UNIT].copy_from_slice(first);
                both[UNIT..].copy_from_slice(unit);
                block(&mut pieces, &mut both)?;
                first.copy_from_slice(&both[..UNIT]);
                unit.copy_from_slice(&both[UNIT..]);
                if encrypt {
                    mark(first);
                }
            }
            Ok(())
        })
    }

    fn wrap(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let least = if self.padding == Padding::None { 2 * UNIT } else { 1 };
        let whole = self.padding != Padding::None || input.len().is_multiple_of(UNIT);
        ensure(whole && (least..=LONGEST).contains(&input.len()), CKR_DATA_LEN_RANGE)?;
        let length = self.length(input.len());
        let out = out.get_mut(..length).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        out[..UNIT].copy_from_slice(&self.iv);
        let (text, pad) = out[UNIT..].split_at_mut(input.len());
        text.copy_from_slice(input);
        let filling = if self.padding == Padding::Pkcs7 { pad.len() as u8 } else { 0 };
        pad.fill(filling);
        if self.padding == Padding::Length {
            out[4..UNIT].copy_from_slice(&(input.len() as u32).to_be_bytes());
        }
        self.rounds(out)?;
        Ok(length)
    }

    /// Whether the unwrapped bytes pass the integrity check, and the length of the message; in a time that depends on neither.
    fn check(&self, all: &[u8]) -> (Choice, usize) {
        let (first, units) = all.split_at(UNIT);
        let given = units.len();
        match self.padding {
            Padding::None => (first.ct_eq(&self.iv), given),
            Padding::Length => {
                let length = u32::from_be_bytes([first[4], first[5], first[6], first[7]]);
                let most = given as u32;
                let mut good = first[..4].ct_eq(&self.iv[..4]) & !length.ct_gt(&most) & length.ct_gt(&(most - 8));
                for (at, byte) in (most - 8..).zip(&units[given - 8..]) {
                    good &= byte.ct_eq(&0) | at.ct_lt(&length);
                }
                (good, length as usize)
            }
            Padding::Pkcs7 => {
                let count = units[given - 1];
                let mut good = first.ct_eq(&self.iv) & !count.ct_eq(&0) & !count.ct_gt(&8);
                for (at, byte) in (0u8..8).zip(units.iter().rev()) {
                    good &= byte.ct_eq(&count) | !at.ct_lt(&count);
                }
                (good, given.wrapping_sub(usize::from(count)))
            }
        }
    }

    fn unwrap(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let least = if self.padding == Padding::None { 3 * UNIT } else { 2 * UNIT };
        let fits = input.len().is_multiple_of(UNIT) && (least..=LONGEST).contains(&input.len());
        ensure(fits, CKR_ENCRYPTED_DATA_LEN_RANGE)?;
        let mut all = adjunct::memory::zeros(input.len())?;
        all.copy_from_slice(input);
        self.rounds(&mut all)?;
        let (good, length) = self.check(&all);
        ensure(bool::from(good), CKR_ENCRYPTED_DATA_INVALID)?;
        let text = all.get(UNIT..UNIT + length).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        out.get_mut(..length).ok_or(Rv(CKR_FUNCTION_FAILED))?.copy_from_slice(text);
        Ok(length)
    }
}

impl Again for Wrapping {}

impl Cipher for Wrapping {
    fn update_length(&self, _: usize) -> usize {
        0
    }

    fn update(&mut self, input: &[u8], _: &mut [u8]) -> Result<usize> {
        ensure(input.len() <= LONGEST - self.waiting.len(), CKR_DATA_LEN_RANGE)?;
        keep(&mut self.waiting, input).map(|()| 0)
    }

    fn final_length(&self) -> usize {
        self.length(self.waiting.len())
    }

    fn exact(&self) -> bool {
        self.encrypt || self.padding == Padding::None
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let waiting = std::mem::take(&mut *self.waiting);
        self.once(&Zeroizing::new(waiting), out)
    }

    fn once_length(&self, input: usize) -> usize {
        self.length(input)
    }

    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        if self.encrypt { self.wrap(input, out) } else { self.unwrap(input, out) }
    }
}
