//! Primes of RSA keys, found in lanes: candidates drawn one by one (FIPS 186-5, A.1.3), without small factors, are tested eight or
//! sixteen at once.
//!
//! A candidate that passes the first test, with a random base, is tested again in all lanes by half as many bases as there are: five or
//! nine rounds of Miller and Rabin together, where FIPS 186-5 (table B.1) wants five for 1024 bits and four for more.
//!
//! Time tells how many candidates were drawn, which factors those had that are dropped, and which place a prime has in its batch. A prime is
//! drawn by itself, so that nothing of this tells more of it than that it is one; what is done to it depends on its size alone.

#![allow(unsafe_code)]

use super::random;
use super::{RsaLanes, features, rsa_lanes};
use adjunct_base::catalogue::Feature;
use adjunct_base::error::Error;
use adjunct_base::memory::{room, zeros};
use adjunct_base::stack;
use adjunct_kernels::lanes::{MASK, limbs_from_be, limbs_to_be};
use adjunct_kernels::rsa::prime::sieve;
use adjunct_kernels::rsa::{avx_ifma, fma, prime};
use std::mem::MaybeUninit;
use zeroize::{Zeroize, Zeroizing};

/// The most candidates of a test.
const MOST: usize = prime::CANDIDATES;
/// Candidates drawn at once.
const DRAWN: usize = 32;

/// Is told of each step with the two numbers of `BN_GENCB`; false ends the search.
pub(super) type Tell<'a> = &'a mut dyn FnMut(i32, i32) -> bool;

/// Two primes, big-endian.
type Pair = [Zeroizing<Vec<u8>>; 2];

/// Two primes of half as many bits as `bits`, at most `candidates` drawn for each, and each less one coprime to `e`, which is odd. `None` where
/// there are no lanes for it.
///
/// # Errors
/// [`Error::Failed`] when told to end, and where no prime was found; [`Error::Memory`].
pub(super) fn pair(bits: usize, e: u32, candidates: usize, tell: Tell<'_>) -> Result<Option<Pair>, Error> {
    let Some(lanes) = rsa_lanes().filter(|_| features().has(Feature::Avx2)) else { return Ok(None) };
    match bits {
        2048 => of::<20, 22>(lanes, e, candidates, tell),
        3072 => of::<30, 33>(lanes, e, candidates, tell),
        4096 => of::<40, 45>(lanes, e, candidates, tell),
        _ => Ok(None),
    }
}

/// Primes of P limbs, or D digits.
fn of<const P: usize, const D: usize>(
    lanes: RsaLanes,
    e: u32,
    candidates: usize,
    tell: Tell<'_>,
) -> Result<Option<Pair>, Error> {
    let mut search = Search::<P>::new(e, candidates)?;
    match lanes {
        RsaLanes::Ifma => {
            let mut scratch: Box<MaybeUninit<prime::Scratch<P>>> = room()?;
            // SAFETY: `rsa_lanes` has found AVX-512 IFMA.
            search.run(prime::CANDIDATES, &mut |all, bases| unsafe { prime::test(all, bases, &mut scratch) }, tell)
        }
        RsaLanes::AvxIfma => {
            let mut scratch: Box<MaybeUninit<avx_ifma::PrimeScratch<P>>> = room()?;
            // SAFETY: `rsa_lanes` has found AVX-IFMA, and `pair` AVX2.
            let mut test = |all: &[_], bases: &[_]| unsafe { avx_ifma::vex::test(all, bases, &mut scratch) };
            search.run(avx_ifma::CANDIDATES, &mut test, tell)
        }
        RsaLanes::Fma => {
            let mut scratch: Box<MaybeUninit<fma::prime::Scratch<P, D>>> = room()?;
            // SAFETY: `rsa_lanes` has found AVX2 and FMA.
            let mut test = |all: &[_], bases: &[_]| unsafe { fma::prime::test(all, bases, &mut scratch) };
            search.run(fma::prime::CANDIDATES, &mut test, tell)
        }
    }
}

/// A test of candidates with a base for each.
type Test<'a, const P: usize> = &'a mut dyn FnMut(&[[u64; P]], &[[u64; P]]) -> u32;

/// A search, with what is secret of it on the heap.
struct Search<const P: usize> {
    /// Candidates that were drawn, one after the other; the ones from `next` on have yet to be looked at.
    drawn: Zeroizing<Vec<u8>>,
    next: usize,
    /// How many may still be drawn.
    left: usize,
    /// The primes that divide the public exponent.
    factors: Vec<u32>,
    work: Box<Work<P>>,
    told: i32,
}

struct Work<const P: usize> {
    candidates: [[u64; P]; MOST],
    bases: [[u64; P]; MOST],
    found: [[u64; P]; 2],
}

impl<const P: usize> Drop for Work<P> {
    fn drop(&mut self) {
        self.candidates.zeroize();
        self.bases.zeroize();
        self.found.zeroize();
    }
}

impl<const P: usize> Search<P> {
    /// Bytes of a candidate.
    const BYTES: usize = P / 10 * 64;

    fn new(e: u32, candidates: usize) -> Result<Search<P>, Error> {
        let work = Work { candidates: [[0; P]; MOST], bases: [[0; P]; MOST], found: [[0; P]; 2] };
        Ok(Search {
            drawn: zeros(DRAWN * Self::BYTES)?,
            next: DRAWN,
            left: 2 * candidates,
            factors: factors(e)?,
            work: adjunct_base::memory::boxed(work)?,
            told: 0,
        })
    }

    /// Goes on to the next candidate without small factors; where it is.
    fn candidate(&mut self) -> Result<usize, Error> {
        let wide = [Feature::Avx512, Feature::Ifma].iter().all(|feature| features().has(*feature));
        loop {
            self.left = self.left.checked_sub(1).ok_or(Error::Failed("RSA key generation"))?;
            if self.next == DRAWN {
                random(&mut self.drawn);
                self.next = 0;
            }
            let at = self.next * Self::BYTES;
            self.next += 1;
            let number = &mut self.drawn[at..at + Self::BYTES];
            // The product of two such has twice their bits.
            number[0] |= 0xC0;
            number[Self::BYTES - 1] |= 1;
            // SAFETY: the CPU has AVX2, and where it has AVX-512 all parts of it that the kernels of lanes need.
            let divided = unsafe { if wide { sieve::wide(number) } else { sieve::narrow(number) } };
            if !divided && !self.factors.iter().any(|factor| sieve::is_one_modulo(number, *factor)) {
                return Ok(at);
            }
        }
    }

    /// Fills bases with random limbs.
    fn draw_bases(&mut self) {
        for base in &mut self.work.bases {
            let mut bytes = Zeroizing::new([[0; 8]; P]);
            random(bytes.as_flattened_mut());
            *base = bytes.map(|bytes| u64::from_ne_bytes(bytes) & MASK);
        }
    }

    /// Two primes; `None` where there is no stack for the kernels.
    fn run(&mut self, width: usize, test: Test<'_, P>, tell: Tell<'_>) -> Result<Option<Pair>, Error> {
        let stopped = || Error::Failed("RSA key generation was stopped");
        let mut passes = |work: &Work<P>| stack::with_room(|| test(&work.candidates[..width], &work.bases[..width]));
        let mut found = 0;
        loop {
            for place in 0..width {
                let at = self.candidate()?;
                self.work.candidates[place] = limbs_from_be(&self.drawn[at..at + Self::BYTES]);
            }
            self.draw_bases();
            let Some(passed) = passes(&self.work) else { return Ok(None) };
            for place in 0..width {
                if !tell(0, self.told) {
                    return Err(stopped());
                }
                self.told += 1;
                if passed >> place & 1 == 1 && found < 2 {
                    self.work.found[found] = self.work.candidates[place];
                    found += 1;
                }
            }
            if found < 2 {
                continue;
            }
            // Both by half of the bases each.
            let half = width / 2;
            let Work { candidates, found: primes, .. } = &mut *self.work;
            for (place, candidate) in candidates[..width].iter_mut().enumerate() {
                *candidate = primes[place / half];
            }
            self.draw_bases();
            let Some(passed) = passes(&self.work) else { return Ok(None) };
            let whole = (1 << half) - 1;
            let good = [passed & whole == whole, passed >> half == whole];
            if good == [true; 2] {
                break;
            }
            if good[1] {
                self.work.found.swap(0, 1);
            }
            found = usize::from(good[0] || good[1]);
        }
        for (prime, rounds) in [(0, 0..width / 2), (1, 0..width / 2)] {
            for round in rounds {
                if !tell(1, round as i32) {
                    return Err(stopped());
                }
            }
            if !tell(3, prime) {
                return Err(stopped());
            }
        }
        let bytes = |prime: &[u64; P]| {
            let mut bytes = zeros(Self::BYTES)?;
            limbs_to_be(prime, &mut bytes);
            Ok::<_, Error>(bytes)
        };
        let [p, q] = &self.work.found;
        Ok(Some([bytes(p)?, bytes(q)?]))
    }
}

/// The primes that divide an odd number above 1: nine at most.
fn factors(mut e: u32) -> Result<Vec<u32>, Error> {
    let mut factors = Vec::new();
    factors.try_reserve_exact(9).map_err(|_| Error::Memory)?;
    let mut divisor = 3;
    while e > 1 {
        if divisor > e / divisor {
            divisor = e;
        }
        if e.is_multiple_of(divisor) {
            factors.push(divisor);
            while e.is_multiple_of(divisor) {
                e /= divisor;
            }
        }
        divisor = divisor.saturating_add(2);
    }
    Ok(factors)
}

#[cfg(test)]
mod tests {
    use super::super::rsa::CpuRsaKey;
    use super::*;

    #[test]
    fn factors_are_the_primes_of_a_number() {
        for (e, expected) in [
            (3, &[3][..]),
            (17, &[17]),
            (65537, &[65537]),
            (9, &[3]),
            (35, &[5, 7]),
            (0xFFFF_FFFF, &[3, 5, 17, 257, 65537]),
            (0xFFFF_FFFB, &[0xFFFF_FFFB]),
            (65521 * 65521, &[65521]),
            (3 * 5 * 7 * 11 * 13 * 17 * 19 * 23 * 29, &[3, 5, 7, 11, 13, 17, 19, 23, 29]),
        ] {
            assert_eq!(factors(e).unwrap(), expected, "{e}");
        }
    }

    #[test]
    fn pairs_are_primes_that_fit_the_exponent() {
        for (bits, e, times) in
            [(2048, 65537, 4), (2048, 3, 2), (2048, 0xFFFF_FFFF, 2), (3072, 17, 2), (4096, 65537, 1)]
        {
            for _ in 0..times {
                let mut steps = Vec::new();
                let mut tell = |a, b| {
                    steps.push((a, b));
                    true
                };
                let Some(pair) = pair(bits, e, 400 * bits, &mut tell).unwrap() else {
                    return println!("SKIPPED: this CPU has no lanes for RSA");
                };
                for prime in &pair {
                    assert_eq!((prime.len(), prime[0] >> 6), (bits / 16, 3));
                    assert!(CpuRsaKey::is_prime(prime), "{bits}");
                    let rest = prime.iter().fold(0u64, |rest, b| (rest << 8 | u64::from(*b)) % u64::from(e));
                    let (mut a, mut b) = (u64::from(e), (rest + u64::from(e) - 1) % u64::from(e));
                    while b != 0 {
                        (a, b) = (b, a % b);
                    }
                    assert_eq!(a, 1, "{bits} {e}");
                }
                assert_ne!(pair[0], pair[1]);
                assert_eq!(steps.iter().filter(|(step, _)| *step == 3).count(), 2);
            }
        }
    }

    #[test]
    fn who_is_told_may_end_the_search() {
        for end in [(0, 0), (0, 3), (3, 0), (3, 1)] {
            match pair(2048, 65537, 1 << 20, &mut |a, b| (a, b) != end) {
                Ok(None) => println!("SKIPPED: this CPU has no lanes for RSA"),
                found => assert!(matches!(found, Err(Error::Failed(_))), "{end:?}"),
            }
        }
        // So few that none is prime.
        assert!(!matches!(pair(2048, 65537, 1, &mut |_, _| true), Ok(Some(_))));
    }
}
