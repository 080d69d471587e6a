//! Hash_DRBG over SHA-512 (NIST SP 800-90A, revision 1, 10.1.1): the mechanism alone. Who seeds it, when again, and who may ask for
//! how much is the interface's.

use crate::cpacf;
use crate::digest::{Digest, SHA512};
use adjunct_base::catalogue::Function;
use adjunct_kernels::cpacf::DrbgBlock;
use adjunct_kernels::opaque_debug;
use zeroize::{Zeroize, Zeroizing};

/// `seedlen` of table 2, in bytes.
const SEED: usize = 111;
/// The length of a hash in bytes.
const OUT: usize = 64;

/// A byte string modulo 2^(8 SEED), big-endian.
type Seed = [u8; SEED];

fn add(to: &mut Seed, number: &[u8]) {
    let mut carry = 0;
    for (i, byte) in to.iter_mut().rev().enumerate() {
        let other = number.len().checked_sub(i + 1).map_or(0, |at| number[at]);
        let sum = u16::from(*byte) + u16::from(other) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
}

/// Allocates nothing, as all here: a child of fork may call it whose allocator another thread had.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Zeroizing<[u8; OUT]> {
    let mut digest = Digest::new(&SHA512);
    parts.into_iter().for_each(|part| digest.update(part));
    let mut out = Zeroizing::new([0; OUT]);
    digest.finish(&mut out[..]);
    out
}

/// `Hash_df` (10.3.1).
fn derive(parts: &[&[u8]]) -> Seed {
    let mut seed = [0; SEED];
    for (i, piece) in seed.chunks_mut(OUT).enumerate() {
        let head = [&[i as u8 + 1][..], &(SEED as u32 * 8).to_be_bytes()];
        piece.copy_from_slice(&hash(head.into_iter().chain(parts.iter().copied()))[..piece.len()]);
    }
    seed
}

/// The state of a generator; wiped when dropped.
pub struct State {
    value: Seed,
    constant: Seed,
    /// The number of the next request since the last seeding, from 1.
    pub requests: u64,
}

opaque_debug!(State);

impl Drop for State {
    fn drop(&mut self) {
        self.value.zeroize();
        self.constant.zeroize();
    }
}

impl State {
    /// Makes a state of the parts of a seed: entropy, a nonce, a personalization string.
    pub fn new(parts: &[&[u8]]) -> State {
        let value = derive(parts);
        State { constant: derive(&[&[0], &value]), value, requests: 1 }
    }

    /// Seeds the generator again.
    pub fn reseed(&mut self, entropy: &[u8], additional: &[u8]) {
        *self = State::new(&[&[1], &self.value, entropy, additional]);
    }

    /// Fills `out` as one request, with the parts of an additional input.
    pub fn generate(&mut self, additional: &[&[u8]], out: &mut [u8]) {
        if additional.iter().any(|part| !part.is_empty()) {
            let more = hash([&[2][..], &self.value].into_iter().chain(additional.iter().copied()));
            add(&mut self.value, &more[..]);
        }
        if self.at_once(out) {
            return;
        }
        let mut data = Zeroizing::new(self.value);
        for piece in out.chunks_mut(OUT) {
            piece.copy_from_slice(&hash([&data[..]])[..piece.len()]);
            add(&mut data, &[1]);
        }
        let next = hash([&[3][..], &self.value]);
        let constant = Zeroizing::new(self.constant);
        for number in [&next[..], &constant[..], &self.requests.to_be_bytes()] {
            add(&mut self.value, number);
        }
        self.requests += 1;
    }

    /// Fills `out` by PRNO, whose request count has 32 bits; false where the processor lacks the function.
    fn at_once(&mut self, out: &mut [u8]) -> bool {
        let (Some(cpacf), Ok(request)) = (cpacf::here(), u32::try_from(self.requests)) else { return false };
        // What counts as hardware is the hash's, of which seeds and additional inputs are made.
        if request == u32::MAX || cpacf::lacking(Function::DrbgSha512, 0).is_some() {
            return false;
        }
        let mut block = DrbgBlock::new(&self.value, &self.constant, request);
        let done = cpacf.drbg_generate(&mut block, out).is_ok();
        if done {
            self.value.copy_from_slice(&block.value[1..]);
            self.requests += 1;
        }
        done
    }
}

/// The health test (11.3): whether the answers come out that OpenSSL's HASH-DRBG has for the same seeds and requests under its
/// TEST-RAND.
#[must_use]
pub fn known_answers() -> bool {
    const ANSWERS: [[u8; 8]; 3] = [
        [0x44, 0x40, 0x68, 0xd5, 0x0c, 0xfe, 0xdc, 0x34],
        [0x1c, 0x24, 0x5d, 0x66, 0xa7, 0x5b, 0x7b, 0xef],
        [0xa8, 0x44, 0x8d, 0x18, 0x6e, 0xe0, 0x62, 0xf1],
    ];
    const fn count<const N: usize>(from: u8) -> [u8; N] {
        let (mut bytes, mut i) = ([from; N], 0);
        while i < N {
            bytes[i] += i as u8;
            i += 1;
        }
        bytes
    }
    let (seed, nonce, name) = (count::<96>(0), count::<16>(0x40), count::<20>(0x60));
    let (first, second) = (count::<24>(0x80), count::<24>(0xa0));
    let mut state = State::new(&[&seed, &nonce, &name]);
    let mut out = [[0; 64]; 3];
    state.generate(&[&first], &mut out[0]);
    state.reseed(&seed, &second);
    state.generate(&[], &mut out[1]);
    state.generate(&[&first], &mut out[2]);
    out.iter().zip(ANSWERS).all(|(out, answer)| out.starts_with(&answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2)
            .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal digits"))
            .collect()
    }

    /// NIST's CAVP, Hash_DRBG.rsp: without reseeding or anything additional, with both strings, and reseeded.
    #[test]
    fn nists_answers_come_out() {
        let mut names = include_str!("../tests/vectors/hash_drbg_sha512.rsp").lines();
        let mut tried = 0;
        while let Some(first) = names.find(|line| line.starts_with("EntropyInput = ")) {
            let mut fields = vec![hex(&first["EntropyInput = ".len()..])];
            let rest = names.by_ref().take_while(|line| !line.is_empty());
            fields.extend(rest.map(|line| hex(line.split_once(" = ").expect("a name and a value").1)));
            let [entropy, nonce, name, reseed, more, first, second, answer] =
                <[Vec<u8>; 8]>::try_from(fields).expect("the fields in their order");
            let mut state = State::new(&[&entropy, &nonce, &name]);
            if !reseed.is_empty() {
                state.reseed(&reseed, &more);
            }
            let mut out = [0; 256];
            state.generate(&[&first], &mut out);
            state.generate(&[&second], &mut out);
            assert_eq!(out[..], answer);
            tried += 1;
        }
        assert_eq!(tried, 3);
    }

    #[test]
    fn the_known_answers_come_out() {
        assert!(known_answers());
    }

    #[test]
    fn a_carry_goes_all_the_way() {
        let mut number = [0xff; SEED];
        add(&mut number, &[1]);
        assert_eq!(number, [0; SEED]);
        add(&mut number, &[2; 64]);
        assert_eq!((number[SEED - 65], number[SEED - 64]), (0, 2));
    }
}
