//! The powers of GCM's hash key, and products of blocks in the form that `gcm` describes.

use super::modes::WIDE;
use super::ni::{self, load, store};
use super::width::{REVERSE, Width};
use super::{Keys, by_length};
use crate::wipe;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// The powers of the hash key kept: as many as a group of the widest vectors has blocks.
const POWERS: usize = 32;

/// The powers of the hash key, as many as have been asked for; wiped when dropped.
///
/// H^32 to H^1, each times x and byte-reversed. What has not been asked for is left as it was found: to write it would take as long as a
/// short message.
#[repr(C, align(16))]
#[derive(Debug, Clone)]
pub struct Table {
    powers: MaybeUninit<[[u8; 16]; POWERS]>,
    /// For each power that a group uses the sum of its two halves, for Karatsuba's middle product. Entry i serves two vectors of powers side by side:
    /// the first one's sums are in the lower halves, the second one's in the upper. A vector that begins at one of the last powers reads the first
    /// powers too, for blocks that are zero; so these are written, with zeros, before they are there.
    crossed: MaybeUninit<[[u8; 16]; POWERS / 2]>,
    /// Number of powers in the table, from H^1 up.
    filled: u8,
    /// Whether the sums are.
    has_crossed: bool,
}

impl Default for Table {
    #[inline]
    fn default() -> Table {
        Table { powers: MaybeUninit::uninit(), crossed: MaybeUninit::uninit(), filled: 0, has_crossed: false }
    }
}

impl Drop for Table {
    #[inline]
    fn drop(&mut self) {
        const FEW: usize = 4;
        // SAFETY: within the table, and any bytes will do.
        unsafe {
            // The first few always, which costs nothing.
            let few = self.place(FEW);
            few.write_bytes(0, FEW);
            wipe(std::slice::from_raw_parts_mut(few, FEW).as_flattened_mut());
            if self.filled() > FEW {
                let all = self.filled().min(POWERS);
                wipe(std::slice::from_raw_parts_mut(self.place(all), all - FEW).as_flattened_mut());
            }
        }
        self.wipe_crossed();
    }
}

impl Table {
    /// Place of H^`power` in the table.
    ///
    /// # Panics
    /// Beyond [`POWERS`].
    #[inline(always)]
    fn place(&mut self, power: usize) -> *mut [u8; 16] {
        assert!(power <= POWERS);
        (&raw mut *self).cast::<[u8; 16]>().wrapping_add(POWERS - power)
    }

    #[inline(always)]
    fn filled(&self) -> usize {
        self.filled.into()
    }

    /// Address of H^`power` and the powers behind it. `power` is at most [`POWERS`].
    #[inline(always)]
    pub(super) fn at_power(&self, power: usize) -> *const u8 {
        debug_assert!(power <= self.filled());
        (&raw const *self).cast::<[u8; 16]>().wrapping_add(POWERS - power).cast()
    }

    /// Address of the sums of the halves of two vectors of powers: vectors 2 `pair` and 2 `pair` + 1 of a group, whose vectors have `bytes` bytes. It
    /// must not be read before the sums are made.
    #[inline(always)]
    pub(super) fn crossed_at(&self, pair: usize, bytes: usize) -> *const u8 {
        debug_assert!(self.has_crossed && (pair + 1) * bytes <= size_of_val(&self.crossed));
        self.crossed.as_ptr().cast::<u8>().wrapping_add(pair * bytes)
    }

    /// Wipes the sums, where there are any.
    #[inline]
    fn wipe_crossed(&mut self) {
        if self.has_crossed {
            wipe(self.crossed.write([[0; 16]; POWERS / 2]).as_flattened_mut());
            self.has_crossed = false;
        }
    }

    /// Whether the table has the powers that a run of `blocks` blocks takes.
    #[inline]
    pub fn has(&self, blocks: usize) -> bool {
        self.filled() >= blocks.min(POWERS)
    }
}

/// A sum of products, not yet reduced.
pub(super) struct Sum<W> {
    pub(super) low: W,
    pub(super) middle: W,
    pub(super) high: W,
}

impl<W: Width> Sum<W> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Sum { low: W::zero(), middle: W::zero(), high: W::zero() }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, a: W, b: W) {
        self.low = self.low.xor(a.multiply::<0x00>(b));
        self.middle = self.middle.xor3(a.multiply::<0x01>(b), a.multiply::<0x10>(b));
        self.high = self.high.xor(a.multiply::<0x11>(b));
    }

    #[inline(always)]
    pub(super) fn reduced(self) -> W {
        // G without its highest and lowest term, above 2^64.
        let g = W::of([0xc2 << 56; 8]);
        let middle = self.middle.xor3(self.low.halves_exchanged(), self.low.multiply::<0x00>(g));
        self.high.xor3(middle.halves_exchanged(), middle.multiply::<0x00>(g))
    }
}

/// A block with its bytes reversed. Like every always-inlined function of this module it is for callers whose target features include the
/// instructions it uses.
#[inline(always)]
pub(super) fn reversed(block: __m128i) -> __m128i {
    // SAFETY: the public function that this is inlined into has SSSE3, which PSHUFB belongs to, among its target features.
    unsafe { _mm_shuffle_epi8(block, REVERSE) }
}

/// The product of two blocks, one of them from the table, byte-reversed all.
#[inline(always)]
pub(super) fn times<W: Width>(a: __m128i, b: __m128i) -> __m128i {
    let mut sum = Sum::new();
    sum.add(W::from_first(a), W::from_first(b));
    sum.reduced().first()
}

/// A block times x, byte-reversed both, without a branch.
#[inline(always)]
pub(super) fn doubled(block: __m128i) -> __m128i {
    // SAFETY: the callers' instructions include SSE2.
    unsafe {
        let carried = _mm_slli_si128::<8>(_mm_srli_epi64::<63>(block));
        let sign = _mm_shuffle_epi32::<0xff>(_mm_srai_epi32::<31>(block));
        let polynomial = _mm_set_epi64x(0xc2 << 56, 1);
        _mm_xor_si128(_mm_or_si128(_mm_slli_epi64::<1>(block), carried), _mm_and_si128(sign, polynomial))
    }
}

/// Begins the table for a key, or for the hash key given: with H^1 alone.
#[inline(always)]
pub fn table(keys: Keys<'_>, given: Option<&[u8; 16]>, table: &mut Table) {
    if table.filled > 0 {
        // All of it: a length that is known costs least.
        wipe(table.powers.write([[0; 16]; POWERS]).as_flattened_mut());
        table.wipe_crossed();
    }
    // SAFETY: within the table; the callers' instructions include AES-NI.
    unsafe {
        let h = match given {
            Some(h) => ni::from_bytes(h),
            None => by_length!(keys, N => ni::single::<N, true>(keys, _mm_setzero_si128())),
        };
        store(table.place(1).cast(), doubled(reversed(h)));
        table.place(0).write_bytes(0, 4);
    }
    table.filled = 1;
}

/// Extends the table to the powers that a run of `blocks` takes: multiplies its powers by the highest of them, so that few products wait for each
/// other.
#[inline(always)]
pub fn extend<W: Width>(table: &mut Table, blocks: usize) {
    let (wanted, vector) = (blocks.min(POWERS), W::BYTES / 16);
    let group = WIDE * vector;
    let mut filled = table.filled();
    // SAFETY: all within the table, of which H^1 at least is there; the callers' instructions include SSE2.
    unsafe {
        let powers = table.place(POWERS);
        let at = |power: usize| powers.add(POWERS - power).cast::<u8>();
        if filled < wanted.min(vector) {
            let first = load(at(1));
            let second = times::<W>(first, first);
            if wanted == 2 {
                store(at(2), second);
                filled = 2;
            } else {
                // As a vector: what is written block by block cannot be read at once.
                let all = [times::<W>(second, second), times::<W>(first, second), second, first];
                W::joined(all).store(at(vector));
                filled = vector;
            }
        }
        while filled < wanted {
            let step = W::broadcast(load(at(filled)));
            let more = (wanted - filled).min(filled).next_multiple_of(vector);
            for power in (vector..=more).step_by(vector) {
                let mut sum = Sum::new();
                sum.add(W::load(at(power)), step);
                sum.reduced().store(at(filled + power));
            }
            filled += more;
        }
        if !table.has_crossed && filled >= group {
            let crossed = table.crossed.as_mut_ptr().cast::<u8>();
            for pair in 0..WIDE / 2 {
                let power = group - 2 * pair * vector;
                let (first, second) = (W::load(at(power)), W::load(at(power - vector)));
                let sums = first.lower_halves(second).xor(first.upper_halves(second));
                sums.store(crossed.add(pair * W::BYTES));
            }
            table.has_crossed = true;
        }
    }
    table.filled = filled as u8;
}
