//! AES-CCM (SP 800-38C, RFC 3610): one message with lengths known before.

use super::aes::{AesKey, BLOCK, Block, xor};
use adjunct_base::error::Error;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::ccm;
use adjunct_kernels::short::number;
use adjunct_kernels::{opaque_debug, wipe};

/// Bits below the flags in the first block.
const FLAGS: u32 = 120;

/// Reads at most 16 bytes as a big-endian number.
#[inline]
fn from_top(bytes: &[u8]) -> u128 {
    number(bytes).swap_bytes()
}

/// The most bytes of additional data that are one block with their length.
#[cfg(target_arch = "x86_64")]
const MOST_AAD: usize = BLOCK - 2;

/// AES-CCM with its key and the state of one message; wiped when dropped.
#[derive(Clone)]
pub struct Ccm {
    key: AesKey,
    /// The first block of the MAC, as two big-endian numbers: flags, nonce, message length. Half by half, as they are written and
    /// read: together they would be read before they can be.
    high: u64,
    low: u64,
    mac: Block,
    message: u64,
    with_aad: bool,
}

opaque_debug!(Ccm);

impl Default for Ccm {
    #[inline]
    fn default() -> Ccm {
        Ccm { key: AesKey::default(), high: 0, low: 0, mac: [0; BLOCK], message: 0, with_aad: false }
    }
}

impl Drop for Ccm {
    #[inline]
    fn drop(&mut self) {
        (self.high, self.low) = (0, 0);
        wipe(&mut self.mac);
    }
}

impl Ccm {
    /// Sets the key.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set_encrypt(key)
    }

    /// Begins a message of `message` bytes with a tag of `tag` bytes. The nonce has 7 to 13 bytes and leaves 15 less that
    /// for the length.
    ///
    /// # Errors
    /// [`Error::Length`] if one of the three does not fit.
    #[inline]
    pub fn start(&mut self, nonce: &[u8], tag: usize, message: usize) -> Result<(), Error> {
        if !(7..=13).contains(&nonce.len()) || !(4..=16).contains(&tag) || tag % 2 == 1 {
            return Err(Error::Length { what: "CCM nonce", got: nonce.len(), expected: "7 to 13" });
        }
        let width = 15 - nonce.len();
        if width < 8 && message as u64 >> (8 * width) != 0 {
            return Err(Error::Length {
                what: "CCM message",
                got: message,
                expected: "what the nonce leaves room for",
            });
        }
        let flags = (tag - 2) / 2 * 8 + width - 1;
        let header = (flags as u128) << FLAGS | from_top(nonce) >> 8 | message as u128;
        (self.high, self.low) = ((header >> 64) as u64, header as u64);
        self.message = message as u64;
        self.with_aad = false;
        Ok(())
    }

    /// Takes the additional data, all at once; of several the last counts.
    #[inline]
    pub fn aad(&mut self, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.with_aad = true;
        self.begin(0x40);
        // SP 800-38C A.2.2: the length in 2, 6 or 10 bytes, then the data, zeros to a whole block.
        let length = data.len() as u128;
        let (prefix, begun) = match length {
            0..0xFF00 => (length, 2),
            0xFF00..0x1_0000_0000 => (0xFFFE << 32 | length, 6),
            _ => (0xFFFF << 64 | length, 10),
        };
        let (head, rest) = data.split_at(data.len().min(BLOCK - begun));
        let first = prefix << (8 * (BLOCK - begun)) | from_top(head) >> (8 * begun);
        self.key.absorb_one(&mut self.mac, first.swap_bytes());
        let (whole, tail) = rest.split_at(rest.len() - rest.len() % BLOCK);
        if !whole.is_empty() {
            self.absorb(whole);
        }
        if !tail.is_empty() {
            self.key.absorb_one(&mut self.mac, number(tail));
        }
    }

    /// Works on additional data and message of a started message at once, and gives the tag, of which the first bytes count; for a few bytes this
    /// takes less time than step by step.
    ///
    /// # Errors
    /// As for [`Ccm::message`].
    #[inline]
    pub fn whole(&mut self, encrypt: bool, aad: &[u8], io: InOut<'_>) -> Result<Block, Error> {
        #[cfg(target_arch = "x86_64")]
        if aad.len() <= MOST_AAD && io.len() <= BLOCK && io.len() as u64 == self.message && self.key.single() {
            self.message = u64::MAX;
            let (first, data) = if aad.is_empty() {
                (self.first(0), None)
            } else {
                // As `aad` has it, in the order of memory; the first byte of so small a length is 0.
                (self.first(0x40), Some((aad.len() as u128) << 8 | number(aad) << 16))
            };
            // SAFETY: AES-NI is in force.
            return Ok(unsafe { ccm::once(self.key.keys(), first, data, self.counter(), encrypt, io) });
        }
        self.steps(encrypt, aad, io)
    }

    // A frame of its own: it has room for what the library's code works on.
    #[inline(never)]
    fn steps(&mut self, encrypt: bool, aad: &[u8], io: InOut<'_>) -> Result<Block, Error> {
        self.aad(aad);
        self.message(encrypt, io)?;
        Ok(self.tag())
    }

    /// The first block of the MAC, in which `flags` are added.
    #[inline]
    fn first(&self, flags: u64) -> u128 {
        u128::from(self.high | flags << (FLAGS - 64)) << 64 | u128::from(self.low)
    }

    /// The counter block: the width of the length, the nonce, a count from 1; 0 is the tag's.
    #[inline]
    fn counter(&self) -> u128 {
        let width = (self.high >> (FLAGS - 64) & 7) + 1;
        // The nonce does not reach into the lower half where the width is 8.
        let low = u64::MAX.checked_shl(8 * width as u32).unwrap_or(0) & self.low;
        u128::from(self.high & !(0xF8 << (FLAGS - 64))) << 64 | u128::from(low)
    }

    /// Begins the MAC with its first block.
    #[inline]
    fn begin(&mut self, flags: u64) {
        self.mac = [0; BLOCK];
        let first = self.first(flags).swap_bytes();
        self.key.absorb_one(&mut self.mac, first);
    }

    #[inline]
    fn absorb(&mut self, blocks: &[u8]) {
        self.key.absorb(&mut self.mac, blocks);
    }

    /// Encrypts or decrypts the message; then [`Ccm::tag`] has its tag.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not as long as was said.
    #[inline]
    pub fn message(&mut self, encrypt: bool, io: InOut<'_>) -> Result<(), Error> {
        if io.len() as u64 != self.message {
            return Err(Error::Length { what: "CCM message", got: io.len(), expected: "the length set before" });
        }
        // One message per nonce: until the next start no length fits.
        self.message = u64::MAX;
        if !self.with_aad {
            self.begin(0);
        }
        let first = self.counter();
        let mut mask = [0; BLOCK];
        self.key.absorb_one(&mut mask, first.swap_bytes());
        let (whole, tail) = io.split_whole(BLOCK);
        let blocks = (whole.len() / BLOCK) as u128;
        self.blocks(encrypt, first | 1, whole);
        // No message is so long that it carries out of the count.
        self.tail(encrypt, first | (1 + blocks), tail);
        xor(&mut self.mac, &mask);
        wipe(&mut mask);
        Ok(())
    }

    fn blocks(&mut self, encrypt: bool, counter: u128, mut io: InOut<'_>) {
        #[cfg(target_arch = "x86_64")]
        if self.key.single() {
            let run = if encrypt { ccm::seal } else { ccm::open };
            // SAFETY: AES-NI is in force.
            return unsafe { run(self.key.keys(), counter, &mut self.mac, io) };
        }
        let mut counter = counter.to_be_bytes();
        // CTR in the library's bulk code, a few kilobytes at a time so that the MAC finds them in the cache.
        while !io.is_empty() {
            let (part, rest) = io.split_head(4096);
            let (input, output, len) = (part.input(), part.output(), part.len());
            let (mut stream, mut used) = ([0; BLOCK], 0);
            // SAFETY: the plaintext of this part, before encryption or after decryption; no one else writes there now.
            let plain = |p: *const u8| unsafe { std::slice::from_raw_parts(p, len) };
            if encrypt {
                self.absorb(plain(input));
            }
            self.key.ctr(&mut counter, &mut stream, &mut used, part);
            if !encrypt {
                self.absorb(plain(output));
            }
            io = rest;
        }
    }

    fn tail(&mut self, encrypt: bool, counter: u128, mut io: InOut<'_>) {
        if io.is_empty() {
            return;
        }
        let mut stream = counter.to_be_bytes();
        self.key.encrypt_block(&mut stream);
        for (i, s) in stream.iter_mut().enumerate().take(io.len()) {
            let input = io.get(i);
            let output = input ^ *s;
            io.set(i, output);
            self.mac[i] ^= if encrypt { input } else { output };
        }
        self.key.encrypt_block(&mut self.mac);
        wipe(&mut stream);
    }

    /// The tag of the message, of which the first bytes count.
    #[inline]
    pub fn tag(&self) -> Block {
        self.mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_once_and_step_by_step_are_the_same() {
        let bytes = |length: usize, from: usize| (0..length).map(|i| ((i + from) * 139) as u8).collect::<Vec<_>>();
        let mut round = 0;
        for (aad, length) in (0..=17).flat_map(|aad| (0..=18).map(move |length| (aad, length))) {
            round += 1;
            let (nonce, tag) = (bytes(7 + round % 7, round), 4 + round % 7 * 2);
            let (aad, text) = (bytes(aad, 3 * round), bytes(length, 5 * round));
            let mut ccm = Ccm::default();
            ccm.set_key(&bytes([16, 24, 32][round % 3], 7 * round)).expect("a key");
            for encrypt in [true, false] {
                let (mut steps, mut once) = (text.clone(), text.clone());
                ccm.start(&nonce, tag, length).expect("a nonce");
                ccm.aad(&aad);
                ccm.message(encrypt, InOut::in_place(&mut steps)).expect("a message");
                let right = ccm.tag();
                ccm.start(&nonce, tag, length).expect("a nonce");
                let made = ccm.whole(encrypt, &aad, InOut::in_place(&mut once)).expect("a message");
                assert_eq!((&once, made), (&steps, right), "{} + {length} bytes, {encrypt}", aad.len());
                assert!(ccm.whole(encrypt, &aad, InOut::in_place(&mut once)).is_err(), "a nonce used twice");
            }
        }
        let mut ccm = Ccm::default();
        ccm.set_key(&[0; 16]).expect("a key");
        ccm.start(&[0; 12], 16, 5).expect("a nonce");
        assert!(ccm.whole(true, b"", InOut::in_place(&mut [0; 4])).is_err());
    }
}
