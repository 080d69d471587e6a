//! Random bytes: requests for them (P_RNG), which count themselves, and what is drawn within other operations, which does not.
//!
//! They come from the CPU library's generator, CTR-DRBG seeded by the operating system, which is safe after forks; on s390x with bytes of the true
//! random number generator mixed in, where there is one.

use super::Tally;
use crate::catalogue::{Direction, Function, Path};
use adjunct_cpu as cpu;

/// Serves requests for random bytes.
#[derive(Clone, Copy, Debug)]
pub struct Generator(Tally);

impl Default for Generator {
    fn default() -> Generator {
        Generator::new()
    }
}

impl Generator {
    /// The process's.
    #[inline]
    pub fn new() -> Generator {
        Generator(Tally::new(Function::Prng, 0))
    }

    /// Whether instructions of this machine serve the generator.
    #[inline]
    pub fn in_hardware(self) -> bool {
        self.0.path() == Path::Hardware
    }

    /// Fills `out`.
    #[inline]
    pub fn generate(self, out: &mut [u8]) {
        cpu::random(out);
        self.0.count(Direction::Encrypt, out.len());
    }

    /// Fills `out` with `additional` mixed in, and with bytes fresh from the operating system where `fresh` asks for prediction
    /// resistance (NIST SP 800-90A, 8.8). False where there were none: `out` is not to be used then.
    #[must_use]
    pub fn generate_with(self, out: &mut [u8], additional: &[u8], fresh: bool) -> bool {
        let done = cpu::random_with(out, additional, fresh);
        if done {
            self.0.count(Direction::Encrypt, out.len());
        }
        done
    }

    /// Seeds this thread's generator from the operating system again. Not a request: it counts nothing. False where it could not.
    #[must_use]
    pub fn reseed(self) -> bool {
        // The next bytes are taken with fresh ones.
        cpu::random_with(&mut [0; 1], &[], true)
    }
}

/// Fills `out` with what another operation draws: a key, an IV, a padding, a seed. It counts nothing, for the operation counts itself.
#[inline]
pub fn random(out: &mut [u8]) {
    cpu::random(out);
}
