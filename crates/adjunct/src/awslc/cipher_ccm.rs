//! AES-CCM (SP 800-38C, RFC 3610): one message with lengths known before.

use super::cipher::{AesKey, BLOCK, Block, xor};
use crate::error::Error;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::ccm;
use adjunct_kernels::wipe;

/// AES-CCM with its key and the state of one message; wiped when dropped.
#[derive(Debug, Clone, Default)]
pub struct Ccm {
    key: AesKey,
    /// The first block of the MAC: flags, nonce, message length.
    header: Block,
    mac: Block,
    message: u64,
    with_aad: bool,
}

impl Drop for Ccm {
    fn drop(&mut self) {
        wipe(&mut self.header);
        wipe(&mut self.mac);
    }
}

impl Ccm {
    /// Sets the key.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set_encrypt(key)
    }

    /// Begins a message of `message` bytes with a tag of `tag` bytes. The nonce has 7 to 13 bytes and leaves 15 less that
    /// for the length.
    ///
    /// # Errors
    /// [`Error::Length`] if one of the three does not fit.
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
        self.header = [0; BLOCK];
        self.header[8..].copy_from_slice(&(message as u64).to_be_bytes());
        self.header[0] = ((tag - 2) / 2 * 8 + width - 1) as u8;
        self.header[1..=nonce.len()].copy_from_slice(nonce);
        self.message = message as u64;
        self.with_aad = false;
        Ok(())
    }

    /// Takes the additional data, all at once; of several the last counts.
    pub fn aad(&mut self, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.with_aad = true;
        self.mac = self.header;
        self.mac[0] |= 0x40;
        self.key.encrypt_block(&mut self.mac);
        // SP 800-38C A.2.2: the length in 2, 6 or 10 bytes, then the data, zeros to a whole block.
        let length = data.len() as u64;
        let bytes = length.to_be_bytes();
        let mut first = [0; BLOCK];
        let begun = match length {
            0..0xFF00 => {
                first[..2].copy_from_slice(&bytes[6..]);
                2
            }
            0xFF00..0x1_0000_0000 => {
                first[..2].copy_from_slice(&[0xFF, 0xFE]);
                first[2..6].copy_from_slice(&bytes[4..]);
                6
            }
            _ => {
                first[..2].copy_from_slice(&[0xFF, 0xFF]);
                first[2..10].copy_from_slice(&bytes);
                10
            }
        };
        let (head, rest) = data.split_at(data.len().min(BLOCK - begun));
        first[begun..begun + head.len()].copy_from_slice(head);
        self.absorb(&first);
        let (whole, tail) = rest.split_at(rest.len() - rest.len() % BLOCK);
        self.absorb(whole);
        if !tail.is_empty() {
            let mut last = [0; BLOCK];
            last[..tail.len()].copy_from_slice(tail);
            self.absorb(&last);
        }
    }

    #[inline]
    fn absorb(&mut self, blocks: &[u8]) {
        self.key.absorb(&mut self.mac, blocks);
    }

    /// Encrypts or decrypts the message; then [`Ccm::tag`] has its tag.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not as long as was said.
    pub fn message(&mut self, encrypt: bool, io: InOut<'_>) -> Result<(), Error> {
        if io.len() as u64 != self.message {
            return Err(Error::Length { what: "CCM message", got: io.len(), expected: "the length set before" });
        }
        // One message per nonce: until the next start no length fits.
        self.message = u64::MAX;
        if !self.with_aad {
            self.mac = self.header;
            self.key.encrypt_block(&mut self.mac);
        }
        // The counter block: the width of the length, the nonce, a count from 1; 0 is the tag's.
        let width = usize::from(self.header[0] & 7) + 1;
        let mut counter = self.header;
        counter[0] &= 7;
        counter[BLOCK - width..].fill(0);
        let mut mask = counter;
        self.key.encrypt_block(&mut mask);
        counter[BLOCK - 1] = 1;
        let (whole, tail) = io.split_whole(BLOCK);
        self.blocks(encrypt, &mut counter, whole);
        self.tail(encrypt, counter, tail);
        xor(&mut self.mac, &mask);
        wipe(&mut mask);
        Ok(())
    }

    fn blocks(&mut self, encrypt: bool, counter: &mut Block, mut io: InOut<'_>) {
        #[cfg(target_arch = "x86_64")]
        if self.key.single() {
            let run = if encrypt { ccm::seal } else { ccm::open };
            // SAFETY: AES-NI is in force.
            return unsafe { run(self.key.keys(), counter, &mut self.mac, io) };
        }
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
            self.key.ctr(counter, &mut stream, &mut used, part);
            if !encrypt {
                self.absorb(plain(output));
            }
            io = rest;
        }
    }

    fn tail(&mut self, encrypt: bool, mut stream: Block, mut io: InOut<'_>) {
        if io.is_empty() {
            return;
        }
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
