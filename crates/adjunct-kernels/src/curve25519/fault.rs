//! A test's way to flip bits in one lane's arithmetic; nothing of it is left in a build without the `fault` feature.

use crate::lanes::Vector;

/// Site in the ladder, after the step of the bit that `place` names.
pub const LADDER: u32 = 1;
/// Site in a fixed-base multiplication, after the addition of the digit that `place` names.
pub const COMB: u32 = 2;
/// Site in a hash, after the block that `place` names.
pub const HASH: u32 = 3;
/// Site in the arithmetic modulo the group's order.
pub const SCALAR: u32 = 4;

/// What to flip: where, at which place, for how many visits to pass by first, in which lane, which bits.
#[cfg(any(test, feature = "fault"))]
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Site of the fault, one of this module's constants.
    pub site: u32,
    /// The step at the site.
    pub place: usize,
    /// How often the step passes unharmed before.
    pub after: u32,
    /// The lane.
    pub lane: usize,
    /// The bits of the lane's word that are flipped.
    pub bits: u64,
}

#[cfg(any(test, feature = "fault"))]
thread_local! {
    static NEXT: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Sets this thread's next fault; it strikes once. Returns the one before if it never struck.
#[cfg(any(test, feature = "fault"))]
pub fn set(fault: Option<Fault>) -> Option<Fault> {
    NEXT.replace(fault)
}

/// Flips the bits of `_word` if the armed fault is for this site and place.
#[inline(always)]
pub(super) fn inject(_site: u32, _place: usize, _word: &mut Vector) {
    #[cfg(any(test, feature = "fault"))]
    {
        let Some(mut fault) = NEXT.get().filter(|f| f.site == _site && f.place == _place) else { return };
        if fault.after > 0 {
            fault.after -= 1;
            return NEXT.set(Some(fault));
        }
        NEXT.set(None);
        let mut lanes = [0; crate::lanes::LANES];
        lanes[fault.lane] = fault.bits;
        // SAFETY: a vector is eight words, and any bits are one.
        let words: &mut [u64; crate::lanes::LANES] = unsafe { &mut *std::ptr::from_mut(_word).cast() };
        words.iter_mut().zip(lanes).for_each(|(word, bits)| *word ^= bits);
    }
}
