//! Hashes in one call or in parts, with the chaining value in the caller's context.

use crate::error::Errno;
use crate::serve::begin;
use adjunct::ops::digest::{Digest, MAX_CHAIN, Method, Once};

/// `SHA_MSG_PART_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole message.
    Only,
    /// The first of several parts.
    First,
    /// A part between the first and the last.
    Middle,
    /// The last.
    Final,
}

impl Part {
    /// The part of that number.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for any other.
    pub fn new(number: u32) -> Result<Part, Errno> {
        Ok(match number {
            0 => Part::Only,
            1 => Part::First,
            2 => Part::Middle,
            3 => Part::Final,
            _ => return Err(Errno::INVALID),
        })
    }

    const fn begins(self) -> bool {
        matches!(self, Part::Only | Part::First)
    }

    const fn ends(self) -> bool {
        matches!(self, Part::Only | Part::Final)
    }
}

/// The caller's context.
#[derive(Debug)]
pub struct IcaHash<'a> {
    /// The bytes hashed so far.
    pub length: u128,
    /// The chaining value.
    pub chain: &'a mut [u8],
}

/// Hashes a whole message. Inlined, so that each function of the interface has its own copy, of a method and of sizes that the
/// compiler knows.
///
/// # Errors
/// [`Errno::NO_DEVICE`].
#[inline(always)]
pub fn whole(method: &'static Method, data: &[u8], out: &mut [u8]) -> Result<(), Errno> {
    let once = Once::new(method);
    begin(method.function, once.in_hardware())?;
    once.run(data, out);
    Ok(())
}

/// Hashes `data`. The result, or the first bytes of the chaining value where more is to come, goes to `out`, which is as long as
/// the method's result or, of an extendable-output function, as the caller wants.
///
/// # Errors
/// [`Errno::INVALID`] where a part that is not the last is not of whole blocks; [`Errno::NO_DEVICE`].
#[inline(never)]
pub fn hash(
    method: &'static Method,
    part: Part,
    data: &[u8],
    context: &mut IcaHash<'_>,
    out: &mut [u8],
) -> Result<(), Errno> {
    absorb(method, part, data, context)?.end(context, out)
}

/// Proof that a part has been taken in: its result may be written where its data was.
#[derive(Debug)]
pub struct Absorbed {
    digest: Digest,
    part: Part,
}

/// The first half of [`hash`].
///
/// # Errors
/// As there.
pub fn absorb(method: &'static Method, part: Part, data: &[u8], context: &mut IcaHash<'_>) -> Result<Absorbed, Errno> {
    if !part.ends() && !data.len().is_multiple_of(method.block) {
        return Err(Errno::INVALID);
    }
    let mut digest = Digest::new(method);
    begin(method.function, digest.in_hardware())?;
    if part.begins() {
        context.length = 0;
    } else {
        digest.resume(context.chain, context.length)?;
    }
    digest.update(data);
    // Of a context that is no real one, perhaps.
    context.length = context.length.wrapping_add(data.len() as u128);
    Ok(Absorbed { digest, part })
}

impl Absorbed {
    /// The second half.
    ///
    /// # Errors
    /// [`Errno::IO`] where there is no chaining value.
    pub fn end(mut self, context: &mut IcaHash<'_>, out: &mut [u8]) -> Result<(), Errno> {
        if self.part.ends() {
            self.digest.finish(out);
            leave(context, out);
        } else {
            let mut place = [0; MAX_CHAIN];
            let chain = self.digest.suspend(&mut place).ok_or(Errno::IO)?;
            context.chain.copy_from_slice(chain);
            let length = out.len().min(chain.len());
            out[..length].copy_from_slice(&chain[..length]);
        }
        Ok(())
    }
}

/// The result as the chaining value: the original leaves it there, and a digest that has been finished has none of its own any more.
fn leave(context: &mut IcaHash<'_>, out: &[u8]) {
    let length = out.len().min(context.chain.len());
    context.chain[..length].copy_from_slice(&out[..length]);
}
