//! HMAC and CMAC, in place and without allocation.

use super::cipher::AesKey;
use super::cipher_des::Des;
use super::digest::{self, Digest, Method};
use super::private;
use crate::adapter::cpu::cpacf;
use crate::catalogue::Function;
use crate::error::Error;
use adjunct_kernels::short::number;
use adjunct_kernels::{InOut, opaque_debug, wipe};
use std::mem::MaybeUninit;

/// HMAC (RFC 2104, FIPS 198-1), keyed once: the states after the padded keys are kept, so that each message costs only
/// itself and two blocks.
#[derive(Clone, Debug)]
pub struct Hmac {
    key: BlockKey,
    inner: Digest,
    outer: Digest,
    current: Digest,
}

/// The key as HMAC uses it: of one block, hashed where it was longer, filled with zeros where shorter.
#[derive(Clone)]
struct BlockKey([u8; digest::MAX_BLOCK]);

opaque_debug!(BlockKey);

impl Drop for BlockKey {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Length of what TLS authenticates before a record's content (RFC 5246, 6.2.3.1), in bytes.
pub const TLS_HEADER: usize = 13;

// The library's TLS layer has this as a part of its own; no public function computes the MAC of a record whose length is
// secret.

impl Hmac {
    /// Keys an HMAC over `method`, ready for a first message.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an extendable-output function, over which none is defined.
    #[inline(always)]
    pub fn new(method: &'static Method, key: &[u8]) -> Result<Hmac, Error> {
        if method.xof {
            return Err(Error::Unsupported("HMAC over an extendable-output function"));
        }
        let mut place = MaybeUninit::<Hmac>::uninit();
        let raw = place.as_mut_ptr();
        // SAFETY: `raw` points to room for an HMAC, each of whose fields is written before it is used. In place, because the states
        // are large to copy.
        unsafe {
            let block = &raw mut (*raw).key;
            block.write(BlockKey([0; digest::MAX_BLOCK]));
            let inner = Digest::new_in_place(&mut *(&raw mut (*raw).inner).cast(), method);
            let outer = Digest::new_in_place(&mut *(&raw mut (*raw).outer).cast(), method);
            begin(&mut *block, inner, outer, key);
            inner.clone_into_place(&mut *(&raw mut (*raw).current).cast());
            Ok(place.assume_init())
        }
    }

    /// Keys it anew in place, over the same digest, ready for a first message.
    pub fn set_key(&mut self, key: &[u8]) {
        wipe(&mut self.key.0);
        self.inner.reset();
        self.outer.reset();
        begin(&mut self.key, &mut self.inner, &mut self.outer, key);
        self.current.copy_from(&self.inner);
    }

    /// The digest.
    pub fn method(&self) -> &'static Method {
        self.inner.method()
    }

    /// The key in the form HMAC uses: another HMAC keyed with it gives the same results.
    pub fn block_key(&self) -> &[u8] {
        &self.key.0[..self.method().block]
    }

    /// Begins a new message with the same key.
    #[inline]
    pub fn reset(&mut self) {
        self.current.copy_from(&self.inner);
    }

    /// Takes in a part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.current.update(data);
    }

    /// Ends the message: the first [`Method::size`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) {
        let size = self.method().size;
        self.current.finish(out);
        self.current.copy_from(&self.outer);
        self.current.update(&out[..size]);
        self.current.finish(out);
    }

    /// A message that begins, and is kept beside the key: it takes its data by [`Digest::update`].
    #[inline]
    pub fn begin(&self) -> Digest {
        self.inner.clone()
    }

    /// Ends a message that [`Hmac::begin`] has begun: the first [`Method::size`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short, and for a message of another digest.
    #[inline]
    pub fn end(&self, message: &mut Digest, out: &mut [u8]) {
        message.finish(out);
        message.copy_from(&self.outer);
        message.update(&out[..self.method().size]);
        message.finish(out);
    }

    /// All that has come of a message, for [`Hmac::restore`] under the same key.
    pub fn save<'a>(&self, out: &'a mut [u8; digest::MAX_SAVED]) -> &'a [u8] {
        self.current.save(out)
    }

    /// Goes on with a message that [`Hmac::save`] has saved.
    ///
    /// # Errors
    /// [`Error::Length`] where it is not of this digest.
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {
        self.current.restore(saved)
    }

    /// Whether [`Hmac::tls_record`] serves this digest.
    pub fn has_tls_record(&self) -> bool {
        self.tls_method().is_some()
    }

    fn tls_method(&self) -> Option<*const aws_lc_sys::EVP_MD> {
        let method = self.method();
        // SAFETY: the functions return immutable statics.
        unsafe {
            if std::ptr::eq(method, &digest::SHA1) {
                Some(aws_lc_sys::EVP_sha1())
            } else if std::ptr::eq(method, &digest::SHA256) {
                Some(aws_lc_sys::EVP_sha256())
            } else if std::ptr::eq(method, &digest::SHA384) {
                Some(aws_lc_sys::EVP_sha384())
            } else {
                None
            }
        }
    }

    /// The MAC of a decrypted TLS record in CBC whose content's length is secret: `record` is content, MAC and padding
    /// together, `content` the length of the first. Neither timing nor memory accesses tell it (CVE-2013-0169).
    ///
    /// # Errors
    /// [`Error::Unsupported`] where [`Hmac::has_tls_record`] says no, [`Error::Length`] for lengths no record has.
    pub fn tls_record(
        &self,
        header: &[u8; TLS_HEADER],
        record: &[u8],
        content: usize,
    ) -> Result<([u8; digest::MAX_SIZE], usize), Error> {
        let md = self.tls_method().ok_or(Error::Unsupported("TLS records under this digest"))?;
        // Padding is of 256 bytes at most; nothing secret is told of a record that keeps to it.
        if content > record.len() || record.len() - content > self.method().size + 256 {
            return Err(Error::Length {
                what: "content of a TLS record",
                got: content,
                expected: "that of the record",
            });
        }
        let (mut out, mut length) = ([0; digest::MAX_SIZE], 0);
        let key = self.block_key();
        // SAFETY: the pointers and lengths describe the slices; the longest result fits.
        let done = unsafe {
            private::EVP_tls_cbc_digest_record(
                md,
                out.as_mut_ptr(),
                &raw mut length,
                header.as_ptr(),
                record.as_ptr(),
                content,
                record.len(),
                key.as_ptr(),
                key.len() as u32,
            )
        };
        if done == 1 { Ok((out, length)) } else { Err(Error::Failed("MAC of a TLS record")) }
    }
}

/// Keys both states of an HMAC, which are of nothing yet; `block` is zero, and becomes the key as HMAC uses it.
fn begin(block: &mut BlockKey, inner: &mut Digest, outer: &mut Digest, key: &[u8]) {
    let method = inner.method();
    if key.len() > method.block {
        inner.update(key);
        inner.finish(&mut block.0);
        inner.reset();
    } else {
        block.0[..key.len()].copy_from_slice(key);
    }
    let pad = |digest: &mut Digest, with: u8| {
        let mut padded = BlockKey(block.0);
        padded.0.iter_mut().for_each(|b| *b ^= with);
        digest.update(&padded.0[..method.block]);
    };
    pad(inner, 0x36);
    pad(outer, 0x5c);
}

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
    pub const fn block(self) -> usize {
        match self {
            BlockCipher::Aes(_) => 16,
            BlockCipher::TripleDes | BlockCipher::Des => 8,
        }
    }

    /// Length of the key in bytes.
    pub const fn key_length(self) -> usize {
        match self {
            BlockCipher::Aes(length) => length,
            BlockCipher::TripleDes => 24,
            BlockCipher::Des => 8,
        }
    }

    /// The function that a CMAC with it counts as, and the bits of the key that it counts by.
    #[inline]
    pub const fn cmac(self) -> (Function, usize) {
        match self {
            BlockCipher::Aes(length) => (Function::AesCmac, length * 8),
            BlockCipher::TripleDes => (Function::TdesCmac, 0),
            BlockCipher::Des => (Function::DesCmac, 0),
        }
    }
}

/// Both wipe themselves. It lies where it is used.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)]
enum Schedule {
    Aes(AesKey),
    Des(Des),
}

/// CMAC (NIST SP 800-38B), keyed once.
#[derive(Clone)]
pub struct Cmac {
    cipher: BlockCipher,
    schedule: Schedule,
    /// The two subkeys: for a last block that is full, and for one that is not. Numbers whose lowest byte is the first.
    subkeys: [u128; 2],
    chain: [u8; 16],
    /// The last block so far: it is not encrypted before it is known to be the last, or not.
    last: [u8; 16],
    used: usize,
}

impl std::fmt::Debug for Cmac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cmac").field("cipher", &self.cipher).finish_non_exhaustive()
    }
}

impl Drop for Cmac {
    fn drop(&mut self) {
        wipe(&mut self.subkeys);
        wipe(&mut self.chain);
        wipe(&mut self.last);
    }
}

impl Default for Cmac {
    /// Without a key yet.
    #[inline]
    fn default() -> Cmac {
        let (cipher, schedule) = (BlockCipher::Aes(16), Schedule::Aes(AesKey::default()));
        Cmac { cipher, schedule, subkeys: [0; 2], chain: [0; 16], last: [0; 16], used: 0 }
    }
}

impl Cmac {
    /// Keys a CMAC, ready for a first message.
    ///
    /// # Errors
    /// [`Error::Length`] where the key's length is not the cipher's.
    pub fn new(cipher: BlockCipher, key: &[u8]) -> Result<Cmac, Error> {
        let mut cmac = Cmac::default();
        cmac.set_key(cipher, key)?;
        Ok(cmac)
    }

    /// Keys it in place, ready for a first message.
    ///
    /// # Errors
    /// As for [`Cmac::new`].
    pub fn set_key(&mut self, cipher: BlockCipher, key: &[u8]) -> Result<(), Error> {
        if key.len() != cipher.key_length() {
            return Err(Error::Length { what: "CMAC key", got: key.len(), expected: "that of the cipher" });
        }
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
        self.reset();
        self.encrypt_one(0);
        let first = double(&self.chain, cipher.block());
        self.subkeys = [first, double(&first, cipher.block())].map(u128::from_le_bytes);
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
    pub fn cipher(&self) -> BlockCipher {
        self.cipher
    }

    /// Begins a new message with the same key.
    #[inline]
    pub fn reset(&mut self) {
        self.chain = [0; 16];
        self.used = 0;
    }

    /// Goes on where another one with the same key had come to: `chain` is what [`Cmac::chain`] gave there.
    ///
    /// # Panics
    /// Where it is not a block.
    pub fn resume(&mut self, chain: &[u8]) {
        self.reset();
        self.chain[..self.cipher.block()].copy_from_slice(chain);
    }

    /// Where the message has come to after parts of whole blocks, all of which are followed by more.
    pub fn chain(&mut self, blocks: &[u8]) -> &[u8] {
        if !blocks.is_empty() {
            self.encrypt(blocks);
        }
        &self.chain[..self.cipher.block()]
    }

    /// Passes whole blocks through the cipher in CBC; only the last one's result is kept, in `chain`.
    fn encrypt(&mut self, blocks: &[u8]) {
        match &self.schedule {
            Schedule::Aes(key) => key.absorb(&mut self.chain, blocks),
            Schedule::Des(key) if key.given().absorb(&mut self.chain[..8], blocks) => {}
            Schedule::Des(key) => {
                let mut scratch = [0u8; 1024];
                for part in blocks.chunks(scratch.len()) {
                    if let Some(chain) = self.chain.first_chunk_mut() {
                        key.cbc(true, chain, InOut::apart(part, &mut scratch[..part.len()]));
                    }
                }
                let used = blocks.len().min(scratch.len());
                wipe(&mut scratch[..used]);
            }
        }
    }

    /// Passes one block through it, given as a number whose lowest byte is the first.
    #[inline]
    fn encrypt_one(&mut self, block: u128) {
        match &self.schedule {
            Schedule::Aes(key) => key.absorb_one(&mut self.chain, block),
            Schedule::Des(_) => self.encrypt(&block.to_le_bytes()[..8]),
        }
    }

    /// Takes in a part of the message.
    pub fn update(&mut self, mut data: &[u8]) {
        let block = self.cipher.block();
        if data.is_empty() {
            return;
        }
        if self.used > 0 {
            let take = data.len().min(block - self.used);
            self.last[self.used..self.used + take].copy_from_slice(&data[..take]);
            self.used += take;
            data = &data[take..];
            if data.is_empty() {
                return;
            }
            let full = self.last;
            self.encrypt(&full[..block]);
        }
        let keep = (data.len() - 1) % block + 1;
        let (now, later) = data.split_at(data.len() - keep);
        if !now.is_empty() {
            self.encrypt(now);
        }
        self.last[..keep].copy_from_slice(later);
        self.used = keep;
    }

    /// Ends the message: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    pub fn finish(&mut self, out: &mut [u8]) {
        let block = self.cipher.block();
        let key = match &self.schedule {
            Schedule::Aes(key) => key.given(),
            Schedule::Des(key) => key.given(),
        };
        if key.cmac_last(&mut self.chain[..block], &self.last[..self.used]) {
            return out[..block].copy_from_slice(&self.chain[..block]);
        }
        let full = self.used == block;
        let mut last = number(&self.last[..self.used]);
        if !full {
            last |= 0x80 << (8 * self.used);
        }
        self.encrypt_one(last ^ self.subkeys[usize::from(!full)]);
        out[..block].copy_from_slice(&self.chain[..block]);
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

/// The same of a block of either length.
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
                }
            }
        }
        assert!(Cmac::once(BlockCipher::Aes(16), &bytes[..24], None, &[], &mut [0; 16]).is_err());
    }

    #[test]
    fn hmac_of_rfc_4231() {
        let mut hmac = Hmac::new(&digest::SHA256, b"Jefe").expect("a key");
        let mut again = Hmac::new(&digest::SHA256, hmac.block_key()).expect("a key");
        let mut out = [0; 32];
        for _ in 0..2 {
            hmac.update(b"what do ya want ");
            hmac.update(b"for nothing?");
            hmac.finish(&mut out);
            assert_eq!(out[..4], [0x5b, 0xdc, 0xc1, 0x46]);
            hmac.reset();
        }
        // Another key in place, of more than a block, and the first one again.
        let (long, mut other) = ([7; 100], [0; 32]);
        hmac.set_key(&long);
        hmac.update(b"what do ya want for nothing?");
        hmac.finish(&mut other);
        let mut made = Hmac::new(&digest::SHA256, &long).expect("a key");
        made.update(b"what do ya want for nothing?");
        let mut same = [0; 32];
        made.finish(&mut same);
        assert_eq!(other, same);
        made.set_key(b"Jefe");
        made.update(b"what do ya want for nothing?");
        made.finish(&mut same);
        assert_eq!(out, same);
        again.update(b"what do ya want for nothing?");
        let mut same = [0; 32];
        again.finish(&mut same);
        assert_eq!(out, same);
        assert!(Hmac::new(&digest::SHAKE128, b"").is_err());
    }

    #[test]
    fn the_mac_of_a_tls_record_is_the_plain_one() {
        for method in [&digest::SHA1, &digest::SHA256, &digest::SHA384] {
            let hmac = Hmac::new(method, &[7; 20]).expect("a key");
            let record: Vec<u8> = (0..600u32).map(|i| i as u8).collect();
            assert!(hmac.tls_record(&[3; 13], &record, 600 - 257 - method.size).is_err());
            assert!(hmac.tls_record(&[3; 13], &record, 601).is_err());
            for content in [345, 400, 500, 552, 580] {
                let (out, length) = hmac.tls_record(&[3; 13], &record, content).expect("a record");
                let mut plain = hmac.clone();
                let mut expected = [0; 64];
                plain.update(&[3; 13]);
                plain.update(&record[..content]);
                plain.finish(&mut expected);
                assert_eq!((length, out), (method.size, expected));
            }
        }
        let hmac = Hmac::new(&digest::MD5, b"k").expect("a key");
        assert!(hmac.tls_record(&[0; 13], &[0; 100], 50).is_err());
    }
}
