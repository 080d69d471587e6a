//! Blinding of RSA private operations: x^d is computed as (x r^e)^d / r with a random r, so that the exponentiation works on numbers that are unknown
//! to the attacker who chose x (Kocher, CRYPTO 1996).
//!
//! In place of AWS-LC's own, which does the same (fipsmodule/rsa/blinding.c) but takes 200 us to invert r modulo 2048 bits: as long as the
//! exponentiation, for each key of each process and again after every 32 operations. Here that takes 20 (`adjunct_kernels::inverse`).
//!
//! A pair (r^e, 1 / r) serves one operation at a time, and is squared after each; after [`USES`] another is made. A child of fork makes its own. No
//! thread waits: one that finds no pair makes one.

use crate::awslc::bn::{Bn, Ctx, Modulus};
use adjunct_base::error::Error;
use adjunct_base::fork::generation;
use adjunct_base::memory::{WriteOnce, boxed, zeros};
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Operations that a random number serves, as in AWS-LC and OpenSSL.
const USES: u32 = 32;
/// The most pairs that a key keeps: as many threads may use it at the same moment without making new ones.
const KEPT: usize = 32;

/// The pairs by which a key's private operations are blinded.
#[derive(Debug)]
pub(super) struct Blinding {
    modulus: WriteOnce<Modulus>,
    pairs: [AtomicPtr<Pair>; KEPT],
}

/// r^e and 1 / r, as Montgomery's multiplication takes factors.
#[derive(Debug)]
struct Pair {
    to: Bn,
    back: Bn,
    /// Operations before the next random number.
    left: u32,
    /// The process that made it.
    generation: u32,
}

impl Drop for Blinding {
    fn drop(&mut self) {
        for pair in &mut self.pairs {
            let pair = std::mem::replace(pair.get_mut(), null_mut());
            if !pair.is_null() {
                // SAFETY: a box until `give` leaked it, and nobody else's any more.
                drop(unsafe { Box::from_raw(pair) });
            }
        }
    }
}

impl Blinding {
    /// Makes a blinding for which nothing was computed yet.
    pub(super) fn new() -> Blinding {
        Blinding { modulus: WriteOnce::default(), pairs: [const { AtomicPtr::new(null_mut()) }; KEPT] }
    }

    /// Has `operation` raise the blinded input to the private exponent, and takes the blinding off the result in `out`. `n` and `e` are the key's,
    /// big-endian and without zeros in front; `input` and `out` are as long as `n`. False where `operation` says so, or where the input is 0, 1, n -
    /// 1 or above: no padding makes these, and they are their own powers.
    ///
    /// # Errors
    /// [`Error::Memory`], or [`Error::Failed`] out of AWS-LC's.
    pub(super) fn run(
        &self,
        n: impl FnOnce() -> Result<Bn, Error>,
        e: impl FnOnce() -> Result<Bn, Error>,
        input: &[u8],
        out: &mut [u8],
        operation: impl FnOnce(&[u8], &mut [u8]) -> bool,
    ) -> Result<bool, Error> {
        let ctx = Ctx::new()?;
        let modulus = self.modulus.get_or_make(|| Modulus::public(n()?, &ctx))?;
        let number = Bn::new(input)?;
        if !number.less_than(&modulus.m.minus_one()?) || number.bits() < 2 {
            return Ok(false);
        }
        let mut pair = match self.take() {
            Some(pair) => pair,
            None => boxed(Pair::new(&modulus, &e()?, &ctx)?)?,
        };
        let mut blinded = zeros(input.len())?;
        modulus.times(&number, &pair.to, &ctx)?.write(&mut blinded)?;
        let done = operation(&blinded, out);
        if done {
            modulus.times(&Bn::new(out)?, &pair.back, &ctx)?.write(out)?;
        }
        pair.left -= 1;
        if pair.left > 0 {
            (pair.to, pair.back) =
                (modulus.times(&pair.to, &pair.to, &ctx)?, modulus.times(&pair.back, &pair.back, &ctx)?);
            self.give(pair);
        }
        Ok(done)
    }

    /// Takes a pair that is not in use; no other thread gets it until it is given back.
    fn take(&self) -> Option<Box<Pair>> {
        let here = generation();
        for place in &self.pairs {
            if place.load(Relaxed).is_null() {
                continue;
            }
            let pair = place.swap(null_mut(), Acquire);
            if pair.is_null() {
                continue;
            }
            // SAFETY: a box until `give` leaked it; nobody else has the pointer any more.
            let pair = unsafe { Box::from_raw(pair) };
            // A parent's goes on serving the parent: what it is squared to would be used twice.
            if pair.generation == here {
                return Some(pair);
            }
        }
        None
    }

    fn give(&self, pair: Box<Pair>) {
        // The process was forked in the middle of the operation: the parent's pair goes on serving the parent, and what it is squared to
        // would be used twice.
        if pair.generation != generation() {
            return;
        }
        let pair = Box::into_raw(pair);
        let kept = self.pairs.iter().any(|place| {
            place.load(Relaxed).is_null() && place.compare_exchange(null_mut(), pair, Release, Relaxed).is_ok()
        });
        if !kept {
            // SAFETY: leaked just now, and kept nowhere.
            drop(unsafe { Box::from_raw(pair) });
        }
    }
}

impl Pair {
    fn new(modulus: &Modulus, e: &Bn, ctx: &Ctx) -> Result<Pair, Error> {
        let length = modulus.m.bits().div_ceil(8);
        let r = modulus.random()?;
        // The inverse takes a time that depends on its number: that of r times another random number, which is divided out again.
        let other = modulus.random()?;
        let hidden = modulus.times(&r, &other, ctx)?.bytes(length)?;
        let mut inverse = zeros(length)?;
        // A random number without an inverse is a multiple of a prime.
        if !adjunct_kernels::inverse::invert(&hidden, &modulus.m.bytes(length)?, &mut inverse) {
            return Err(Error::Failed("RSA blinding"));
        }
        // By Montgomery's method, a * b is a b / R: `hidden` is r other / R, its inverse times `other` 1 / r.
        let back = modulus.times(&Bn::new(&inverse)?, &other, ctx)?;
        let to = modulus.public_power(&r, e, ctx)?;
        Ok(Pair {
            to: modulus.encode(&to, ctx)?,
            back: modulus.encode(&back, ctx)?,
            left: USES,
            generation: generation(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any odd modulus does: no operation here uses that it has factors.
    fn modulus() -> Vec<u8> {
        let mut n = vec![0xFF; 32];
        n[31] = 0x43;
        n
    }

    fn n() -> Result<Bn, Error> {
        Bn::new(&modulus())
    }

    fn three() -> Result<Bn, Error> {
        Bn::new(&[3])
    }

    /// With the identity in place of the exponentiation the output is x r^e / r, which shows r: no two operations see the same.
    #[test]
    fn no_operation_sees_its_input_or_what_another_saw() {
        let blinding = Blinding::new();
        let (mut seen, mut out) = (std::collections::BTreeSet::new(), [0; 32]);
        let input = [7; 32];
        for _ in 0..3 * USES {
            let done = blinding.run(n, three, &input, &mut out, |blinded, out| {
                assert_ne!(blinded, input);
                assert!(seen.insert(blinded.to_vec()));
                out.copy_from_slice(blinded);
                true
            });
            assert_eq!(done, Ok(true));
        }
    }

    #[test]
    fn what_no_padding_makes_is_refused() {
        let blinding = Blinding::new();
        let (mut out, mut above) = ([0; 32], modulus());
        let never = |_: &[u8], _: &mut [u8]| panic!("no operation");
        for last in 0..2 {
            let mut input = [0; 32];
            input[31] = last;
            assert_eq!(blinding.run(n, three, &input, &mut out, never), Ok(false));
        }
        for last in [0x42, 0x43, 0x44] {
            above[31] = last;
            assert_eq!(blinding.run(n, three, &above, &mut out, never), Ok(false));
        }
    }

    #[test]
    fn a_pair_goes_round_and_a_childs_is_its_own() {
        let blinding = Blinding::new();
        let mut out = [0; 32];
        let mut once = || blinding.run(n, three, &[7; 32], &mut out, |from, to| (to.copy_from_slice(from), true).1);
        assert_eq!(once(), Ok(true));
        let kept = || blinding.pairs.iter().filter(|place| !place.load(Relaxed).is_null()).count();
        assert_eq!(kept(), 1);
        assert_eq!(once(), Ok(true));
        assert_eq!(kept(), 1);
        let pair = blinding.take().unwrap();
        assert_eq!((pair.left, kept()), (USES - 2, 0));
        blinding.give(Box::new(Pair { generation: pair.generation + 1, ..*pair }));
        assert_eq!(kept(), 0, "another process's");
    }
}
