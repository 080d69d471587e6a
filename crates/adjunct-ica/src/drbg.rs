//! Generators of the core's Hash_DRBG, seeded from the CPU library's generator.

use adjunct::lock::Lock;
use adjunct::ops::drbg::{self, State};
use adjunct::ops::random::random;
use std::sync::atomic::{AtomicBool, Ordering};
use zeroize::Zeroizing;

/// The most bytes of a personalization string and of additional input.
pub const MOST_INPUT: usize = 256;
/// The most bytes of one request: 2^19 bits.
pub const MOST_OUTPUT: usize = 1 << 16;
/// Requests between two seedings: the standard allows 2^48.
const RESEED_AFTER: u64 = 1 << 32;
/// Entropy input and nonce, as much as the strongest needs: 256 bits and half of it.
const ENTROPY: usize = 48;

/// Why there are no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// A length or handle that cannot be.
    Invalid,
    /// A strength, or prediction resistance, that is not served.
    Unsupported,
    /// The known answers do not come out: nothing more comes from this mechanism.
    HealthTest,
}

/// Bytes of the CPU library's generator, which knows of forks however they were made: its state is wiped in the child.
fn fresh<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    random(&mut bytes[..]);
    bytes
}

/// Entropy and a nonce for one seeding.
fn entropy() -> Zeroizing<[u8; ENTROPY]> {
    fresh()
}

/// The strength served for one asked for (8.4).
///
/// # Errors
/// [`Refused::Unsupported`] above 256 bits.
pub fn strength(asked: i32) -> Result<i32, Refused> {
    [112, 128, 196, 256].into_iter().find(|&strength| asked <= strength).ok_or(Refused::Unsupported)
}

/// A generator. Threads may share it; what a child of a fork gets, its parent does not: each request has fresh bytes mixed in.
#[derive(Debug)]
pub struct Drbg {
    state: Lock<State>,
    /// Security strength in bits.
    pub strength: i32,
    /// Whether prediction resistance may be asked for.
    pub prediction_resistance: bool,
}

impl Drbg {
    /// Makes a seeded generator.
    ///
    /// # Errors
    /// [`Refused`]: too long a personalization string, a strength not served, known answers that do not come out.
    pub fn new(strength: i32, prediction_resistance: bool, personalization: &[u8]) -> Result<Drbg, Refused> {
        let strength = self::strength(strength)?;
        if personalization.len() > MOST_INPUT {
            return Err(Refused::Invalid);
        }
        healthy()?;
        let state = Lock::new(State::new(&[&entropy()[..], personalization]));
        Ok(Drbg { state, strength, prediction_resistance })
    }

    /// Runs `body` on the state, which no other thread has meanwhile. A state that a parent's thread was changing serves as well as any: each request
    /// has fresh bytes mixed in.
    fn hold<R>(&self, body: impl FnOnce(&mut State) -> R) -> R {
        self.state.hold(|state, _| body(state))
    }

    /// Seeds the generator again.
    ///
    /// # Errors
    /// [`Refused`]: too long an additional input, prediction resistance that was not asked for at first.
    pub fn reseed(&self, prediction_resistance: bool, additional: &[u8]) -> Result<(), Refused> {
        self.allows(prediction_resistance, additional)?;
        self.hold(|state| state.reseed(&entropy()[..], additional));
        Ok(())
    }

    /// Gives random bytes.
    ///
    /// # Errors
    /// As for [`Drbg::reseed`]; also more bytes or strength than it has.
    pub fn generate(
        &self,
        strength: i32,
        prediction_resistance: bool,
        additional: &[u8],
        out: &mut [u8],
    ) -> Result<(), Refused> {
        self.allows(prediction_resistance, additional)?;
        if out.len() > MOST_OUTPUT {
            return Err(Refused::Invalid);
        }
        if strength > self.strength {
            return Err(Refused::Unsupported);
        }
        let fresh = fresh::<32>();
        self.hold(|state| {
            if prediction_resistance || state.requests() > RESEED_AFTER {
                state.reseed(&entropy()[..], additional);
                state.generate(&[&fresh[..]], out);
            } else {
                state.generate(&[&fresh[..], additional], out);
            }
        });
        Ok(())
    }

    fn allows(&self, prediction_resistance: bool, additional: &[u8]) -> Result<(), Refused> {
        if additional.len() > MOST_INPUT {
            return Err(Refused::Invalid);
        }
        if prediction_resistance && !self.prediction_resistance {
            return Err(Refused::Unsupported);
        }
        if BROKEN.load(Ordering::Relaxed) { Err(Refused::HealthTest) } else { Ok(()) }
    }
}

/// Whether the known answers did not come out.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// The health test (11.3).
///
/// # Errors
/// [`Refused::HealthTest`], now and for good.
pub fn healthy() -> Result<(), Refused> {
    if !drbg::known_answers() {
        BROKEN.store(true, Ordering::Relaxed);
    }
    if BROKEN.load(Ordering::Relaxed) { Err(Refused::HealthTest) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_answers_come_out() {
        assert_eq!(healthy(), Ok(()));
    }

    #[test]
    fn a_generator_is_seeded_again_in_time() {
        let drbg = Drbg::new(256, false, b"").unwrap();
        for (before, after) in [(1, 2), (RESEED_AFTER, RESEED_AFTER + 1), (RESEED_AFTER + 1, 2), (u64::MAX, 2)] {
            drbg.hold(|state| state.pretend(before));
            drbg.generate(0, false, b"", &mut [0]).unwrap();
            assert_eq!(drbg.hold(|state| state.requests()), after);
        }
        drbg.reseed(false, b"").unwrap();
        assert_eq!(drbg.hold(|state| state.requests()), 1);
    }

    #[test]
    fn generators_differ_and_refuse_what_they_do_not_have() {
        let (a, b) = (Drbg::new(256, false, b"name").unwrap(), Drbg::new(112, true, b"name").unwrap());
        let mut out = [[0; 200]; 3];
        a.generate(256, false, b"", &mut out[0]).unwrap();
        a.generate(0, false, b"more", &mut out[1]).unwrap();
        b.generate(112, true, b"", &mut out[2]).unwrap();
        assert!(out[0] != out[1] && out[1] != out[2] && out[0] != out[2]);
        assert_eq!(b.generate(128, false, b"", &mut out[0]), Err(Refused::Unsupported));
        assert_eq!(a.reseed(true, b""), Err(Refused::Unsupported));
        assert_eq!(a.reseed(false, &[0; 257]), Err(Refused::Invalid));
        assert_eq!(a.generate(1, false, b"", &mut vec![0; MOST_OUTPUT + 1]), Err(Refused::Invalid));
        assert!(Drbg::new(257, false, b"").is_err() && Drbg::new(1, false, &[0; 257]).is_err());
    }
}
