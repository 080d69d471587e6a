//! Poly1305 (RFC 8439, 2.5): in 64-bit words, and for longer parts in the lanes of vectors.
//!
//! In words: the accumulator has three, the factor r two; the clamping of r (RFC 8439, 2.5.1) makes 5/4 of its upper word
//! a whole number, with which what is above 2^130 folds back (Bernstein, "The Poly1305-AES message-authentication code",
//! FSE 2005). 5 multiplications a block, one block after the other.
//!
//! In lanes: Horner's rule in steps of as many blocks as there are lanes, with a power of r, the lanes brought together at the end by descending
//! powers (Goll and Gueron, "Vectorization of Poly1305 message authentication code", ITNG 2015). `ifma` and `avx2` describe the limbs of each.
//!
//! The key is secret: nothing branches or indexes by it or by the data, only by lengths.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

mod avx2;
mod ifma;

use crate::opaque_debug;
use zeroize::Zeroize;

/// Length of a block and of the tag in bytes.
pub const BLOCK: usize = 16;
/// Length of the one-time key in bytes.
pub const KEY: usize = 32;
/// Shorter pieces are not worth the powers of r, in bytes.
pub const WIDE: usize = 512;

/// The powers of r, as the code takes them that runs on this CPU.
#[derive(Clone)]
enum Powers {
    Ifma(ifma::Powers),
    Avx2(avx2::Powers),
}

impl Powers {
    /// Overwrites the powers.
    fn wipe(&mut self) {
        match self {
            Powers::Ifma(powers) => powers.wipe(),
            Powers::Avx2(powers) => powers.wipe(),
        }
    }
}

/// Poly1305 under a one-time key; wiped when dropped.
#[derive(Clone)]
pub struct Poly1305 {
    r: [u64; 2],
    /// Added at the end.
    s: [u64; 2],
    h: [u64; 3],
    buffer: [u8; BLOCK],
    /// Bytes of the begun block that are there.
    used: u8,
    /// Whether the powers are those of this r.
    ready: bool,
    powers: Powers,
}

opaque_debug!(Poly1305);

impl Drop for Poly1305 {
    fn drop(&mut self) {
        for words in [&mut self.r, &mut self.s] {
            words.zeroize();
        }
        self.h.zeroize();
        self.buffer.zeroize();
        self.powers.wipe();
    }
}

/// The two little-endian words of a block.
#[inline]
fn words(block: &[u8; BLOCK]) -> [u64; 2] {
    let block = u128::from_le_bytes(*block);
    [block as u64, (block >> 64) as u64]
}

/// `h` times r; `r` as clamped. The result's third word is below 5, or `h`'s third word times 2^60 where that is more.
#[inline]
fn times(h: [u64; 3], r: [u64; 2]) -> [u64; 3] {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let fold = r[1] + (r[1] >> 2);
    let low = product(h[0], r[0]) + product(h[1], fold);
    let middle = product(h[0], r[1]) + product(h[1], r[0]) + u128::from(h[2].wrapping_mul(fold));
    let middle = middle + (low >> 64);
    reduce(low as u64, middle as u64, h[2].wrapping_mul(r[0]).wrapping_add((middle >> 64) as u64))
}

/// Folds what is above 2^130 back once.
#[inline]
fn reduce(low: u64, middle: u64, high: u64) -> [u64; 3] {
    let low = u128::from(low) + u128::from((high & !3) + (high >> 2));
    let middle = u128::from(middle) + (low >> 64);
    [low as u64, middle as u64, (high & 3) + (middle >> 64) as u64]
}

/// `h` and a block, with the bit above it.
#[inline]
fn plus(h: [u64; 3], block: &[u8; BLOCK], bit: u64) -> [u64; 3] {
    let m = words(block);
    let low = u128::from(h[0]) + u128::from(m[0]);
    let middle = u128::from(h[1]) + u128::from(m[1]) + (low >> 64);
    [low as u64, middle as u64, h[2] + bit + (middle >> 64) as u64]
}

impl Poly1305 {
    /// Begins a message under `key`, which is r and the number that is added at the end.
    pub fn new(key: &[u8; KEY]) -> Poly1305 {
        let mut poly = Poly1305 {
            r: [0; 2],
            s: [0; 2],
            h: [0; 3],
            buffer: [0; BLOCK],
            used: 0,
            ready: false,
            powers: Powers::Ifma(ifma::Powers::default()),
        };
        poly.restart(key);
        poly
    }

    /// Begins anew, under another key.
    #[inline]
    pub fn restart(&mut self, key: &[u8; KEY]) {
        let (halves, _) = key.as_chunks::<BLOCK>();
        let r = words(&halves[0]);
        self.r = [r[0] & 0x0fff_fffc_0fff_ffff, r[1] & 0x0fff_fffc_0fff_fffc];
        self.s = words(&halves[1]);
        self.h = [0; 3];
        self.used = 0;
        self.ready = false;
    }

    /// Sets the powers of this r.
    #[inline]
    fn set(&mut self, powers: Powers) {
        if std::mem::discriminant(&powers) != std::mem::discriminant(&self.powers) {
            // What stands there is overwritten in part only.
            self.powers.wipe();
        }
        (self.powers, self.ready) = (powers, true);
    }

    /// Takes in the next part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        let (blocks, tail) = self.fill(data).as_chunks::<BLOCK>();
        self.blocks(blocks);
        self.keep(tail);
    }

    /// [`Poly1305::update`] on CPUs with IFMA; short parts do not use it.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn update_wide(&mut self, data: &[u8]) {
        let mut data = self.fill(data);
        if data.len() >= WIDE {
            let (groups, rest) = data.as_chunks();
            ifma::groups(self, groups);
            data = rest;
        }
        self.update(data);
    }

    /// [`Poly1305::update`] on CPUs with AVX2; short parts do not use it.
    #[target_feature(enable = "avx2")]
    pub fn update_avx2(&mut self, data: &[u8]) {
        let mut data = self.fill(data);
        if data.len() >= WIDE {
            let (groups, rest) = data.as_chunks();
            avx2::groups(self, groups);
            data = rest;
        }
        self.update(data);
    }

    /// Fills a begun block; gives the rest.
    #[inline]
    fn fill<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        if self.used == 0 {
            return data;
        }
        let (now, later) = data.split_at(data.len().min(BLOCK - usize::from(self.used)));
        self.keep(now);
        if usize::from(self.used) == BLOCK {
            self.flush(1);
        }
        later
    }

    #[inline]
    fn keep(&mut self, data: &[u8]) {
        let used = usize::from(self.used);
        self.buffer[used..used + data.len()].copy_from_slice(data);
        // A block at most, as the slice has been.
        self.used += data.len() as u8;
    }

    #[inline]
    fn flush(&mut self, bit: u64) {
        self.h = times(plus(self.h, &self.buffer, bit), self.r);
        self.used = 0;
    }

    #[inline]
    fn blocks(&mut self, blocks: &[[u8; BLOCK]]) {
        let (mut h, r) = (self.h, self.r);
        for block in blocks {
            h = times(plus(h, block, 1), r);
        }
        self.h = h;
    }

    /// Fills a begun block with zeros (RFC 8439, 2.8).
    #[inline]
    pub fn pad(&mut self) {
        if self.used > 0 {
            self.buffer[usize::from(self.used)..].fill(0);
            self.flush(1);
        }
    }

    /// Ends the message, and gives its tag. Call [`Poly1305::restart`] before the next message.
    #[inline]
    pub fn finish(&mut self) -> [u8; BLOCK] {
        if self.used > 0 {
            let used = usize::from(self.used);
            self.buffer[used] = 1;
            self.buffer[used + 1..].fill(0);
            self.flush(0);
        }
        // The third word is at most 4: below 2 (2^130 - 5), so the remainder is h or h + 5 less 2^130.
        let [low, middle, high] = self.h;
        let more = u128::from(low) + 5;
        let carried = u128::from(middle) + (more >> 64);
        let over = (u128::from(high) + (carried >> 64)) >> 2;
        let mask = (over as u64).wrapping_neg();
        let h = [low ^ (mask & (low ^ more as u64)), middle ^ (mask & (middle ^ carried as u64))];
        let h = u128::from(h[1]) << 64 | u128::from(h[0]);
        let s = u128::from(self.s[1]) << 64 | u128::from(self.s[0]);
        h.wrapping_add(s).to_le_bytes()
    }
}
