//! HMAC, in place and without allocation.

use super::digest::{self, Digest, Method};
use crate::awslc::tls_record::{self, Hash};
use adjunct_base::error::Error;
use adjunct_kernels::{opaque_debug, wipe};
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

/// Length in bytes of the data that TLS authenticates before a record's content (RFC 5246, 6.2.3.1).
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
            let inner = <Digest>::new_in_place(&mut *(&raw mut (*raw).inner).cast(), method);
            let outer = <Digest>::new_in_place(&mut *(&raw mut (*raw).outer).cast(), method);
            begin(&mut *block, inner, outer, key);
            inner.clone_into_place(&mut *(&raw mut (*raw).current).cast());
            Ok(place.assume_init())
        }
    }

    /// Keys the HMAC anew in place, over the same digest, ready for a first message.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) {
        wipe(&mut self.key.0);
        self.inner.reset();
        self.outer.reset();
        begin(&mut self.key, &mut self.inner, &mut self.outer, key);
        self.current.copy_from(&self.inner);
    }

    /// The digest.
    #[inline]
    pub fn method(&self) -> &'static Method {
        self.inner.method()
    }

    /// The key in the form HMAC uses: another HMAC keyed with it gives the same results.
    #[inline]
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

    /// Begins a message that is kept beside the key: it takes its data by [`Digest::update`].
    #[inline]
    pub fn begin(&self) -> Digest {
        self.inner.clone()
    }

    /// Begins another in the place of one of the same digest.
    #[inline]
    pub fn begin_again(&self, message: &mut Digest) {
        message.copy_from(&self.inner);
    }

    /// Ends a message of [`Hmac::begin`]: the first [`Method::size`] bytes of `out`.
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

    /// Saves the state of a message, for [`Hmac::restore`] under the same key.
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
    #[inline]
    pub fn has_tls_record(&self) -> bool {
        self.tls_method().is_some()
    }

    fn tls_method(&self) -> Option<Hash> {
        let known = [(&digest::SHA1, Hash::Sha1), (&digest::SHA256, Hash::Sha256), (&digest::SHA384, Hash::Sha384)];
        known.into_iter().find(|(method, _)| std::ptr::eq(*method, self.method())).map(|(_, hash)| hash)
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
        let hash = self.tls_method().ok_or(Error::Unsupported("TLS records under this digest"))?;
        // Padding is of 256 bytes at most; nothing secret is told of a record that keeps to it.
        if content > record.len() || record.len() - content > self.method().size + 256 {
            return Err(Error::Length {
                what: "content of a TLS record",
                got: content,
                expected: "that of the record",
            });
        }
        let mut out = [0; digest::MAX_SIZE];
        let length = tls_record::mac(hash, self.block_key(), header, record, content, &mut out);
        length.map(|length| (out, length)).ok_or(Error::Failed("MAC of a TLS record"))
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

#[cfg(test)]
mod tests {
    use super::*;

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
