//! Digests by CPACF, on states that `awslc` holds.

use super::serves;
use super::{Here, here};
use adjunct_base::catalogue::Function;
use adjunct_kernels::cpacf::{Hash, Instruction, Refused};

/// The CPACF function that serves a digest.
#[derive(Clone, Copy)]
pub(crate) struct Served {
    here: Here,
    hash: Hash,
}

/// What serves the digest that `function` is, where CPACF has it. The answer does not change while the process lives.
#[inline]
pub(crate) fn served(function: Function) -> Option<Served> {
    let (here, hash) = (here()?, serves::hash(function)?);
    let has = |instruction| here.functions().has(instruction, hash.code());
    (has(Instruction::Kimd) && has(Instruction::Klmd)).then_some(Served { here, hash })
}

/// A digest in progress.
pub(crate) struct State<'a> {
    /// The chaining value: SHA-1's and SHA-2's words big-endian, SHA-3's state in the order of FIPS 202's bytes.
    pub(crate) chain: &'a mut [u8],
    /// Room for a block, which begins with what has come of one.
    pub(crate) block: &'a mut [u8],
    /// Number of those bytes.
    pub(crate) used: usize,
}

impl Served {
    /// Takes in data: the rest of a begun block, whole ones, the beginning of one more.
    pub(crate) fn update(self, state: &mut State<'_>, mut data: &[u8]) {
        let length = self.hash.block();
        if state.used > 0 {
            let (now, later) = data.split_at(data.len().min(length - state.used));
            state.block[state.used..][..now.len()].copy_from_slice(now);
            state.used += now.len();
            if state.used < length {
                return;
            }
            expect(self.here.absorb(self.hash, state.chain, &state.block[..length]));
            data = later;
        }
        let (whole, rest) = data.split_at(data.len() - data.len() % length);
        if !whole.is_empty() {
            expect(self.here.absorb(self.hash, state.chain, whole));
        }
        state.block[..rest.len()].copy_from_slice(rest);
        state.used = rest.len();
    }

    /// Ends a message of `bits` bits in all, at which SHA-3 does not look: the digest is the beginning of the chaining value.
    pub(crate) fn finish(self, state: &mut State<'_>, bits: u128) {
        expect(self.here.finish(self.hash, state.chain, &state.block[..state.used], bits));
    }

    /// Output of an extendable-output function. From the first on, which `squeezing` says, the block is not used any more, and its
    /// count is of the bytes of the state's block that have been given out.
    pub(crate) fn squeeze(self, state: &mut State<'_>, squeezing: bool, mut out: &mut [u8]) {
        let length = self.hash.block();
        if !squeezing {
            let rest = std::mem::replace(&mut state.used, out.len() % length);
            return expect(self.here.squeeze_first(self.hash, state.chain, &state.block[..rest], out));
        }
        let given = state.used;
        if given > 0 {
            let now = out.len().min(length - given);
            let (head, rest) = out.split_at_mut(now);
            head.copy_from_slice(&state.chain[given..][..now]);
            state.used = (given + now) % length;
            out = rest;
        }
        if !out.is_empty() {
            state.used = out.len() % length;
            expect(self.here.squeeze_more(self.hash, state.chain, out));
        }
    }
}

/// Checks that an instruction worked: the processor has it, and callers pass only what it takes.
fn expect(done: Result<(), Refused>) {
    assert!(done.is_ok(), "a digest by CPACF");
}
