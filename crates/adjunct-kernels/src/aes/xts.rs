//! XTS over the whole blocks of a data unit (IEEE 1619, SP 800-38E), written over the width.
//!
//! The tweak of block i is the first times x^i in GF(2^128). Eight vectors' tweaks come from those of the eight before by
//! a multiplication by a power of x that is whole bytes: two shifts, a carry-less product that reduces what falls out,
//! and a xor. A tweak is added together with the first round key, and again with the last, which is ready long before
//! the data: a vector costs 10, 12 or 14 rounds on the AES unit and 7 other instructions beside them.

use super::Keys;
use super::modes::{Mode, WIDE, drive, each, rounds, schedule};
use super::ni::{from_bytes, single, to_bytes};
use super::width::Width;
use crate::InOut;

struct Xts<W, const ENCRYPT: bool> {
    /// The tweaks of the next eight vectors; of fewer than eight only the first counts.
    tweaks: [W; WIDE],
    /// x^128 in terms of lower powers.
    polynomial: W,
}

impl<W: Width, const ENCRYPT: bool> Xts<W, ENCRYPT> {
    /// Times x to the power of `by`, for each block its own, below 64.
    #[inline(always)]
    fn times(&self, t: W, by: [i64; 4]) -> W {
        let [a, b, c, d] = by;
        let up = W::of([a, a, b, b, c, c, d, d]);
        let [a, b, c, d] = by.map(|n| 64 - n);
        // What leaves the low half enters the high one; what leaves the high one comes back reduced.
        let carry = t.down_bits(W::of([a, a, b, b, c, c, d, d]));
        t.up_bits(up).xor3(carry.up::<8>(), carry.multiply::<0x01>(self.polynomial))
    }

    /// The tweaks of vector `i`, from those of the first.
    #[inline(always)]
    fn tweak(&self, i: usize) -> W {
        if i == 0 {
            return self.tweaks[0];
        }
        self.times(self.tweaks[0], [(W::BYTES / 16 * i) as i64; 4])
    }

    /// The tweaks of the vector eight later: one byte up is eight powers.
    #[inline(always)]
    fn advance(&self, t: W) -> W {
        if W::BYTES == 64 {
            t.up::<4>().xor(t.down::<12>().multiply::<0x00>(self.polynomial))
        } else {
            t.up::<2>().xor(t.down::<14>().multiply::<0x00>(self.polynomial))
        }
    }
}

impl<W: Width, const N: usize, const ENCRYPT: bool> Mode<W, N> for Xts<W, ENCRYPT> {
    #[inline(always)]
    fn pass<const FROM: usize, const L: usize>(&mut self, k: &[W; N], mut v: [W; L]) -> [W; L] {
        let mut tweaks = [W::zero(); L];
        each!(L, |i| {
            tweaks[i] = if L == WIDE { self.tweaks[i] } else { self.tweak(FROM + i) };
            v[i] = v[i].xor(tweaks[i]);
        });
        rounds::<W, N, L, ENCRYPT>(k, &mut v, tweaks);
        if L == WIDE {
            each!(L, |i| self.tweaks[i] = self.advance(tweaks[i]));
        }
        v
    }
}

#[inline(always)]
pub fn xts<W: Width, const N: usize, const ENCRYPT: bool>(
    keys: Keys<'_>,
    tweak_keys: Option<Keys<'_>>,
    tweak: &mut [u8; 16],
    io: InOut<'_>,
) {
    assert!(io.len().is_multiple_of(16));
    let k = schedule::<W, N>(keys);
    // SAFETY: the callers' instructions include AES-NI.
    let first = unsafe {
        let tweak = from_bytes(tweak);
        W::broadcast(tweak_keys.map_or(tweak, |keys| single::<N, true>(keys, tweak)))
    };
    let polynomial = W::of([0x87; 8]);
    let mut mode = Xts::<W, ENCRYPT> { tweaks: [first; WIDE], polynomial };
    mode.tweaks[0] = mode.times(first, [0, 1, 2, 3]);
    if io.len() >= WIDE * W::BYTES {
        each!(WIDE, |i| mode.tweaks[i] = mode.tweak(i));
    }
    drive(&mut mode, &k, &io);
    // The first tweak is now that of the last short run's first block.
    // SAFETY: the public function that this is inlined into has AES-NI among its target features, as `to_bytes` needs.
    let first = u128::from_le_bytes(unsafe { to_bytes(mode.tweaks[0].first()) });
    *tweak = shifted(first, io.len() % (WIDE * W::BYTES) / 16).to_le_bytes();
}

/// Times x^`by`, below 64.
fn shifted(t: u128, by: usize) -> u128 {
    let out = t >> 1 >> (127 - by);
    t << by ^ out ^ out << 1 ^ out << 2 ^ out << 7
}
