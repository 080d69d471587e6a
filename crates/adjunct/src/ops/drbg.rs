//! Hash_DRBG over SHA-512 (NIST SP 800-90A, revision 1, 10.1.1): the mechanism alone. The interface decides how it is seeded, when again, and how
//! much may be asked for. A request counts itself; seeding and the health test count nothing.

pub use adjunct_cpu::drbg::known_answers;

use super::Tally;
use crate::catalogue::{Direction, Function, Path};
use adjunct_cpu::drbg as cpu;

/// The tally of requests.
fn tally() -> Tally {
    Tally::new(Function::DrbgSha512, 0)
}

/// Whether instructions of this machine serve requests.
pub fn in_hardware() -> bool {
    tally().path() == Path::Hardware
}

/// The state of a generator; wiped when dropped.
#[derive(Debug)]
pub struct State(cpu::State);

impl State {
    /// Makes a state of the parts of a seed: entropy, a nonce, a personalization string.
    pub fn new(parts: &[&[u8]]) -> State {
        State(cpu::State::new(parts))
    }

    /// The number of the next request since the last seeding, from 1.
    pub fn requests(&self) -> u64 {
        self.0.requests
    }

    /// Has it be at that request, for tests of what is due then.
    #[doc(hidden)]
    pub fn pretend(&mut self, requests: u64) {
        self.0.requests = requests;
    }

    /// Seeds the generator again.
    pub fn reseed(&mut self, entropy: &[u8], additional: &[u8]) {
        self.0.reseed(entropy, additional);
    }

    /// Fills `out` as one request, with the parts of an additional input.
    pub fn generate(&mut self, additional: &[&[u8]], out: &mut [u8]) {
        self.0.generate(additional, out);
        tally().count(Direction::Encrypt, out.len());
    }
}
