//! AES-XTS: a data unit, whose number is the parameter.

use super::Mechanism;
use super::common::iv;
use crate::object::Held;
use crate::object::prepared::Prepared;
use crate::operation::{Again, Cipher};
use crate::rv::{Result, Rv, ensure};
use adjunct::InOut;
use adjunct::ops::cipher::Block;
use adjunct::ops::cipher::xts::{MAX_UNIT, Xts};
use cryptoki_sys::*;
use zeroize::Zeroize;

const BLOCK: usize = 16;

/// A data unit in parts. Of what has come, a block and whatever is beyond whole blocks wait for the end, which steals from the last
/// ciphertext.
struct Unit {
    xts: Prepared<Xts>,
    encrypt: bool,
    iv: Block,
    /// The tweak of the next part, once one has run.
    tweak: Option<Block>,
    held: [u8; 2 * BLOCK],
    used: usize,
    total: usize,
}

impl Drop for Unit {
    fn drop(&mut self) {
        self.held.zeroize();
        self.tweak.zeroize();
    }
}

/// Begins a data unit.
///
/// # Errors
/// As [`Mechanism::cipher`].
pub fn begin(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    let iv = iv(mechanism.params)?;
    let xts = Prepared::new(key, encrypt)?;
    Ok(Box::new(Unit { xts, encrypt, iv, tweak: None, held: [0; 2 * BLOCK], used: 0, total: 0 }))
}

impl Unit {
    fn wrong(&self) -> CK_RV {
        if self.encrypt { CKR_DATA_LEN_RANGE } else { CKR_ENCRYPTED_DATA_LEN_RANGE }
    }

    fn part(&mut self, io: InOut<'_>) -> Result {
        let xts = self.xts.get()?;
        let mut tweak = self.tweak.unwrap_or_else(|| xts.tweak(&self.iv));
        xts.part(&mut tweak, io)?;
        self.tweak = Some(tweak);
        Ok(())
    }
}

impl Again for Unit {}

impl Cipher for Unit {
    fn update_length(&self, input: usize) -> usize {
        (self.used + input).saturating_sub(BLOCK) / BLOCK * BLOCK
    }

    fn update(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let whole = self.update_length(input.len());
        self.total += input.len();
        ensure(self.total <= MAX_UNIT, self.wrong())?;
        let mut rest = input;
        if whole > 0 {
            // What is held back is made whole blocks first: one or two of them.
            let first = self.used.next_multiple_of(BLOCK).min(whole);
            let taken = first.saturating_sub(self.used);
            let (head, tail) = input.split_at(taken);
            self.held[self.used..self.used + taken].copy_from_slice(head);
            self.used += taken;
            let out = out.get_mut(..whole).ok_or(Rv(CKR_FUNCTION_FAILED))?;
            let (begun, body) = out.split_at_mut(first);
            if first > 0 {
                let held = zeroize::Zeroizing::new(self.held);
                self.part(InOut::apart(&held[..first], begun))?;
                self.held.copy_within(first..self.used, 0);
                self.used -= first;
            }
            // Where some is still held back there is no body.
            let (now, later) = tail.split_at(body.len());
            if !now.is_empty() {
                self.part(InOut::apart(now, body))?;
            }
            rest = later;
        }
        self.held[self.used..self.used + rest.len()].copy_from_slice(rest);
        self.used += rest.len();
        Ok(whole)
    }

    fn final_length(&self) -> usize {
        self.used
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let used = self.used;
        ensure(used >= BLOCK, self.wrong())?;
        let out = out.get_mut(..used).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        let held = zeroize::Zeroizing::new(self.held);
        self.part(InOut::apart(&held[..used], out))?;
        Ok(used)
    }

    fn once_length(&self, input: usize) -> usize {
        input
    }

    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        ensure((BLOCK..=MAX_UNIT).contains(&input.len()), self.wrong())?;
        let out = out.get_mut(..input.len()).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        self.xts.get()?.unit(&self.iv, InOut::apart(input, out))?;
        Ok(input.len())
    }
}
