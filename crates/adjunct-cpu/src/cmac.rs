//! CMAC, in place and without allocation.

use super::cipher::aes::AesKey;
use super::cipher::des::Des;
use crate::cpacf;
use adjunct_base::catalogue::Function;
use adjunct_base::error::Error;
use adjunct_kernels::short::number;
use adjunct_kernels::{InOut, opaque_debug, wipe};

/// The block ciphers CMAC is served with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockCipher {
    /// AES with a key of 16, 24 or 32 bytes.
    Aes(usize),
    /// Triple DES with three keys.
    TripleDes,
    /// DES.
    Des,
}

impl BlockCipher {
    /// Length of a block, and of the MAC, in bytes.
    #[inline]
    pub const fn block(self) -> usize {
        match self {
            BlockCipher::Aes(_) => 16,
            BlockCipher::TripleDes | BlockCipher::Des => 8,
        }
    }

    /// Length of the key in bytes.
    #[inline]
    pub const fn key_length(self) -> usize {
        match self {
            BlockCipher::Aes(length) => length,
            BlockCipher::TripleDes => 24,
            BlockCipher::Des => 8,
        }
    }

    /// The function that a CMAC with this cipher counts as, and the bits of the key that it counts by.
    #[inline]
    pub const fn cmac(self) -> (Function, usize) {
        match self {
            BlockCipher::Aes(length) => (Function::AesCmac, length * 8),
            BlockCipher::TripleDes => (Function::TdesCmac, 0),
            BlockCipher::Des => (Function::DesCmac, 0),
        }
    }
}

/// The key schedule, in place: either form wipes itself.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)]
enum Schedule {
    Aes(AesKey),
    Des(Des),
}

/// A key, with what follows from it. Several messages under it may be under way at once: it is only read.
#[derive(Clone)]
struct CmacKey {
    cipher: BlockCipher,
    schedule: Schedule,
    /// The two subkeys: for a last block that is full, and for one that is not. Numbers whose lowest byte is the first.
    subkeys: [u128; 2],
}

impl Drop for CmacKey {
    fn drop(&mut self) {
        wipe(&mut self.subkeys);
    }
}

/// Position in a message, wiped when dropped.
#[derive(Clone)]
pub struct CmacMessage {
    chain: [u8; 16],
    /// The last block so far: it is not encrypted before it is known to be the last, or not.
    last: [u8; 16],
    used: usize,
}

opaque_debug!(CmacMessage);

impl Drop for CmacMessage {
    #[inline]
    fn drop(&mut self) {
        wipe(&mut self.chain);
        wipe(&mut self.last);
    }
}

impl CmacMessage {
    /// Begins another.
    #[inline]
    pub fn begin(&mut self) {
        wipe(&mut self.chain);
        wipe(&mut self.last);
        self.used = 0;
    }
}

/// Bytes of a CMAC in progress as it is saved: chaining value, last block, and how much of that is there.
pub const SAVED: usize = 16 + 16 + 1;

impl CmacMessage {
    /// Saves where the message is, for [`CmacMessage::restore`] under the same key.
    pub fn save(&self, out: &mut [u8; SAVED]) {
        out[..16].copy_from_slice(&self.chain);
        out[16..32].copy_from_slice(&self.last);
        // Bytes of an earlier block are not part of it.
        out[16 + self.used..32].fill(0);
        out[32] = self.used as u8;
    }

    /// Goes on where a message of a cipher with blocks of `block` bytes was saved; false, and nothing has changed, for what none is.
    #[must_use]
    pub fn restore(&mut self, block: usize, saved: &[u8; SAVED]) -> bool {
        let used = usize::from(saved[32]);
        if used > block {
            return false;
        }
        self.chain.copy_from_slice(&saved[..16]);
        self.last.copy_from_slice(&saved[16..32]);
        self.used = used;
        true
    }
}

impl Default for CmacMessage {
    /// Begins a message.
    #[inline]
    fn default() -> CmacMessage {
        CmacMessage { chain: [0; 16], last: [0; 16], used: 0 }
    }
}

/// CMAC (NIST SP 800-38B), keyed once.
#[derive(Clone)]
pub struct Cmac {
    key: CmacKey,
    message: CmacMessage,
}

impl std::fmt::Debug for Cmac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cmac").field("cipher", &self.key.cipher).finish_non_exhaustive()
    }
}

impl Default for Cmac {
    /// Makes a CMAC without a key.
    #[inline]
    fn default() -> Cmac {
        let (cipher, schedule) = (BlockCipher::Aes(16), Schedule::Aes(AesKey::default()));
        Cmac { key: CmacKey { cipher, schedule, subkeys: [0; 2] }, message: CmacMessage::default() }
    }
}

impl Cmac {
    /// Keys a CMAC, ready for a first message.
    ///
    /// # Errors
    /// [`Error::Length`] where the key's length is not the cipher's.
    #[inline]
    pub fn new(cipher: BlockCipher, key: &[u8]) -> Result<Cmac, Error> {
        let mut cmac = Cmac::default();
        cmac.set_key(cipher, key)?;
        Ok(cmac)
    }

    /// Keys the CMAC in place, ready for a first message.
    ///
    /// # Errors
    /// As for [`Cmac::new`].
    #[inline]
    pub fn set_key(&mut self, cipher: BlockCipher, key: &[u8]) -> Result<(), Error> {
        if key.len() != cipher.key_length() {
            return Err(Error::Length { what: "CMAC key", got: key.len(), expected: "that of the cipher" });
        }
        self.key.set(cipher, key)?;
        self.reset();
        Ok(())
    }

    /// The MAC of a message under a key of which nothing is kept, in the first [`BlockCipher::block`] bytes of `mac`; after
    /// parts, if there were any, that came to `chain` ([`Cmac::chain`]).
    ///
    /// # Errors
    /// As for [`Cmac::new`].
    ///
    /// # Panics
    /// Where `chain` is not a block.
    #[inline]
    pub fn once(
        cipher: BlockCipher,
        key: &[u8],
        chain: Option<&[u8]>,
        message: &[u8],
        mac: &mut [u8; 16],
    ) -> Result<(), Error> {
        if matches!(cipher, BlockCipher::Aes(length) if length == key.len()) && cpacf::here().is_none() {
            let mut aes = AesKey::default();
            aes.set_encrypt(key)?;
            *mac = chain.map_or([0; 16], |chain| chain.try_into().expect("a block"));
            aes_mac(&aes, mac, message);
            return Ok(());
        }
        let mut cmac = Cmac::new(cipher, key)?;
        if let Some(chain) = chain {
            cmac.resume(chain);
        }
        cmac.update(message);
        cmac.finish(mac);
        Ok(())
    }

    /// The cipher.
    #[inline]
    pub fn cipher(&self) -> BlockCipher {
        self.key.cipher
    }

    /// Begins a new message with the same key.
    #[inline]
    pub fn reset(&mut self) {
        self.message.chain = [0; 16];
        self.message.used = 0;
    }

    /// Continues a message of another CMAC with the same key: `chain` is the result of [`Cmac::chain`] there.
    ///
    /// # Panics
    /// Where it is not a block.
    #[inline]
    pub fn resume(&mut self, chain: &[u8]) {
        self.reset();
        self.message.chain[..self.key.cipher.block()].copy_from_slice(chain);
    }

    /// Takes parts of whole blocks, which are not the message's last, and gives the chaining value behind them.
    #[inline]
    pub fn chain(&mut self, blocks: &[u8]) -> &[u8] {
        if !blocks.is_empty() {
            self.key.encrypt(&mut self.message.chain, blocks);
        }
        &self.message.chain[..self.key.cipher.block()]
    }

    /// Takes in a part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.key.update(&mut self.message, data);
    }

    /// Ends the message: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) {
        self.key.finish(&mut self.message, out);
    }

    /// The MAC of a whole message of which nothing is kept: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn whole(&self, message: &[u8], out: &mut [u8]) {
        let last = message.len() - message.len().saturating_sub(1) / 16 * 16;
        let (blocks, last) = message.split_at(message.len() - last);
        if let Schedule::Aes(key) = &self.key.schedule
            && let Some(mac) = key.mac(blocks, self.key.last(last))
        {
            return out[..16].copy_from_slice(&mac);
        }
        let mut state = CmacMessage::default();
        self.take(&mut state, message);
        self.end(&mut state, out);
    }

    /// Takes in a part of a message that is kept beside the key, and begins as [`CmacMessage::default`].
    #[inline]
    pub fn take(&self, message: &mut CmacMessage, data: &[u8]) {
        self.key.update(message, data);
    }

    /// Ends such a message, as [`Cmac::finish`].
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn end(&self, message: &mut CmacMessage, out: &mut [u8]) {
        self.key.finish(message, out);
    }
}

impl CmacKey {
    /// Sets the key, in place; it has the cipher's length.
    fn set(&mut self, cipher: BlockCipher, key: &[u8]) -> Result<(), Error> {
        self.cipher = cipher;
        match cipher {
            BlockCipher::Aes(_) => {
                if !matches!(self.schedule, Schedule::Aes(_)) {
                    self.schedule = Schedule::Aes(AesKey::default());
                }
                if let Schedule::Aes(aes) = &mut self.schedule {
                    aes.set_encrypt(key)?;
                }
            }
            BlockCipher::TripleDes | BlockCipher::Des => {
                self.schedule = Schedule::Des(Des::default());
                if let Schedule::Des(des) = &mut self.schedule {
                    des.set_key(key)?;
                }
            }
        }
        let mut zero = CmacMessage::default();
        self.encrypt_one(&mut zero.chain, 0);
        let first = double(&zero.chain, cipher.block());
        self.subkeys = [first, double(&first, cipher.block())].map(u128::from_le_bytes);
        Ok(())
    }

    /// Passes whole blocks through the cipher in CBC; only the last one's result is kept, in `chain`.
    fn encrypt(&self, chain: &mut [u8; 16], blocks: &[u8]) {
        match &self.schedule {
            Schedule::Aes(key) => key.absorb(chain, blocks),
            Schedule::Des(key) if key.given().absorb(&mut chain[..8], blocks) => {}
            Schedule::Des(key) => {
                let mut scratch = [0u8; 1024];
                for part in blocks.chunks(scratch.len()) {
                    if let Some(chain) = chain.first_chunk_mut() {
                        key.cbc(true, chain, InOut::apart(part, &mut scratch[..part.len()]));
                    }
                }
                let used = blocks.len().min(scratch.len());
                wipe(&mut scratch[..used]);
            }
        }
    }

    /// Passes a block through the cipher, given as a number whose lowest byte is the first.
    #[inline]
    fn encrypt_one(&self, chain: &mut [u8; 16], block: u128) {
        match &self.schedule {
            Schedule::Aes(key) => key.absorb_one(chain, block),
            Schedule::Des(_) => self.encrypt(chain, &block.to_le_bytes()[..8]),
        }
    }

    /// Takes in a part of the message.
    fn update(&self, message: &mut CmacMessage, mut data: &[u8]) {
        let block = self.cipher.block();
        if data.is_empty() {
            return;
        }
        if message.used > 0 {
            let take = data.len().min(block - message.used);
            message.last[message.used..message.used + take].copy_from_slice(&data[..take]);
            message.used += take;
            data = &data[take..];
            if data.is_empty() {
                return;
            }
            self.encrypt(&mut message.chain, &message.last[..block]);
        }
        let keep = (data.len() - 1) % block + 1;
        let (now, later) = data.split_at(data.len() - keep);
        if !now.is_empty() {
            self.encrypt(&mut message.chain, now);
        }
        message.last[..keep].copy_from_slice(later);
        message.used = keep;
    }

    /// A message's last bytes, a block at most, as its last block with its subkey: a number whose lowest byte is the first.
    #[inline]
    fn last(&self, bytes: &[u8]) -> u128 {
        let full = bytes.len() == self.cipher.block();
        let value = if full { number(bytes) } else { number(bytes) | 0x80 << (8 * bytes.len()) };
        value ^ self.subkeys[usize::from(!full)]
    }

    /// Ends the message: the first [`BlockCipher::block`] bytes of `out`.
    fn finish(&self, message: &mut CmacMessage, out: &mut [u8]) {
        let block = self.cipher.block();
        let CmacMessage { chain, last, used } = message;
        let key = match &self.schedule {
            Schedule::Aes(key) => key.given(),
            Schedule::Des(key) => key.given(),
        };
        if key.cmac_last(&mut chain[..block], &last[..*used]) {
            return out[..block].copy_from_slice(&chain[..block]);
        }
        self.encrypt_one(chain, self.last(&last[..*used]));
        out[..block].copy_from_slice(&chain[..block]);
    }
}

/// The MAC of a message in one go; `mac` is where it begins, and becomes it.
#[inline]
fn aes_mac(key: &AesKey, mac: &mut [u8; 16], message: &[u8]) {
    let last = message.len() - message.len().saturating_sub(1) / 16 * 16;
    let (blocks, last) = message.split_at(message.len() - last);
    let mut first = [0; 16];
    key.absorb_one(&mut first, 0);
    // As a number from here on: what is written in halves cannot be read at once as a whole.
    let mut subkey = twice(u128::from_be_bytes(first));
    wipe(&mut first);
    if !blocks.is_empty() {
        key.absorb(mac, blocks);
    }
    let mut value = number(last);
    if last.len() < 16 {
        subkey = twice(subkey);
        value |= 0x80 << (8 * last.len());
    }
    key.absorb_one(mac, value ^ subkey.swap_bytes());
}

/// Multiplies a block by x in the field of SP 800-38B, 5.3, without a branch on the secret.
#[inline(always)]
fn twice(value: u128) -> u128 {
    value << 1 ^ ((value as i128 >> 127) as u128 & 0x87)
}

/// Multiplies a block of 8 or 16 bytes by x in the field of SP 800-38B, 5.3.
fn double(block: &[u8; 16], length: usize) -> [u8; 16] {
    if length == 16 {
        return twice(u128::from_be_bytes(*block)).to_be_bytes();
    }
    let mut half = [0; 8];
    half.copy_from_slice(&block[..8]);
    let value = u64::from_be_bytes(half);
    let mut out = [0; 16];
    out[..8].copy_from_slice(&(value << 1 ^ ((value as i64 >> 63) as u64 & 0x1b)).to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cmac_of_sp_800_38b() {
        let key = [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c];
        let mut cmac = Cmac::new(BlockCipher::Aes(16), &key).expect("a key");
        let mut out = [0; 16];
        cmac.finish(&mut out);
        assert_eq!(out[..4], [0xbb, 0x1d, 0x69, 0x29]);
        let message = [0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a];
        cmac.reset();
        cmac.update(&message);
        cmac.finish(&mut out);
        assert_eq!(out[..4], [0x07, 0x0a, 0x16, 0xb4]);
        assert!(Cmac::new(BlockCipher::Aes(16), &key[1..]).is_err());
    }

    #[test]
    fn cmac_in_one_call_is_that_of_parts() {
        let bytes: Vec<u8> = (0..100u8).map(|i| i.wrapping_mul(29)).collect();
        for cipher in [16, 24, 32].map(BlockCipher::Aes).into_iter().chain([BlockCipher::TripleDes, BlockCipher::Des]) {
            let (key, block) = (&bytes[..cipher.key_length()], cipher.block());
            for length in 0..=50 {
                for begun in [false, true] {
                    let message = &bytes[50..50 + length];
                    let mut cmac = Cmac::new(cipher, key).expect("a key");
                    let chain = begun.then(|| cmac.chain(&bytes[..2 * block]).to_vec());
                    cmac.update(message);
                    let mut parts = [0; 16];
                    cmac.finish(&mut parts);
                    let mut once = [0; 16];
                    Cmac::once(cipher, key, chain.as_deref(), message, &mut once).expect("a key");
                    assert_eq!(once, parts, "{cipher:?} of {length} bytes, begun {begun}");
                    if !begun {
                        let mut whole = [0; 16];
                        cmac.whole(message, &mut whole);
                        assert_eq!(whole, parts, "{cipher:?} of {length} bytes");
                    }
                }
            }
        }
        assert!(Cmac::once(BlockCipher::Aes(16), &bytes[..24], None, &[], &mut [0; 16]).is_err());
    }
}
