//! AES-CCM (SP 800-38C, RFC 3610): one message with lengths known before.

use super::cipher::{AesKey, BLOCK, Block, xor};
use crate::error::Error;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::ccm;
use adjunct_kernels::short::number;
use adjunct_kernels::wipe;

/// Where the flags stand in the first block.
const FLAGS: u32 = 120;

/// At most 16 bytes, the first one the number's highest.
#[inline]
fn from_top(bytes: &[u8]) -> u128 {
    number(bytes).swap_bytes()
}

/// AES-CCM with its key and the state of one message; wiped when dropped.
#[derive(Debug, Clone, Default)]
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

impl Drop for Ccm {
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

    /// Begins the MAC with its first block, in which `flags` are added.
    #[inline]
    fn begin(&mut self, flags: u64) {
        self.mac = [0; BLOCK];
        let header = u128::from(self.high | flags << (FLAGS - 64)) << 64 | u128::from(self.low);
        self.key.absorb_one(&mut self.mac, header.swap_bytes());
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
        // The counter block: the width of the length, the nonce, a count from 1; 0 is the tag's.
        let width = (self.high >> (FLAGS - 64) & 7) + 1;
        let header = u128::from(self.high & !(0xF8 << (FLAGS - 64))) << 64 | u128::from(self.low);
        let first = header >> (8 * width) << (8 * width);
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
    pub fn tag(&self) -> Block {
        self.mac
    }
}
