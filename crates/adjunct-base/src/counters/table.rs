//! The table of uses of PKCS #11 mechanisms, as it lies in a user's segment: rows for pairs of a slot and a mechanism, numbers by the
//! strength of the key. See [`super::uses`].
#![forbid(unsafe_code)]

use super::layout::Head;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Rows of the table: pairs of a slot and a mechanism that were used.
pub(super) const ROWS: usize = 2048;
/// Copies of the numbers.
pub(super) const STRIPES: usize = 64;
/// Rows looked at for one that is free: where none of these is free, nothing is counted.
const PROBES: usize = 64;
/// Numbers of a row, a cache line.
const LINE: usize = 8;

/// How strong a key is, in bits of security.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// There is no key, or it is weaker than 112 bits.
    None,
    /// 112 bits: RSA with 2048.
    Bits112,
    /// 128 bits: RSA with 3072, P-256, AES-128.
    Bits128,
    /// 192 bits: RSA with 7680, P-384, AES-192.
    Bits192,
    /// 256 bits: RSA with 15360, P-521, AES-256.
    Bits256,
}

impl Strength {
    /// All, from the weakest on.
    pub const ALL: [Strength; 5] =
        [Strength::None, Strength::Bits112, Strength::Bits128, Strength::Bits192, Strength::Bits256];

    /// Bits of security.
    pub const fn bits(self) -> u32 {
        match self {
            Strength::None => 0,
            Strength::Bits112 => 112,
            Strength::Bits128 => 128,
            Strength::Bits192 => 192,
            Strength::Bits256 => 256,
        }
    }
}

/// How often a mechanism was used in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The slot's number.
    pub slot: u32,
    /// The mechanism's number.
    pub mechanism: u32,
    /// The uses by strength, as in [`Strength::ALL`].
    pub by_strength: [u64; Strength::ALL.len()],
}

/// A user's segment.
#[repr(C, align(4096))]
#[derive(Debug)]
pub(super) struct Uses {
    head: Head,
    /// Whether anything was counted in a stripe: reading the others would allocate their memory.
    used: [AtomicU64; STRIPES],
    /// Slot and mechanism of each row, plus 1; 0: free.
    pub(super) rows: [AtomicU64; ROWS],
    stripes: [[[AtomicU64; LINE]; ROWS]; STRIPES],
}

const _: () = assert!(size_of::<Uses>() < 12 << 20);

fn name(slot: u32, mechanism: u32) -> u64 {
    // Never u64::MAX, so that 1 can be added: no slot has that number.
    (u64::from(slot) << 32 | u64::from(mechanism)).wrapping_add(1)
}

/// The name of a slot's mechanism, and the row at which it is looked for first.
#[inline]
fn start(slot: u32, mechanism: u32) -> (u64, usize) {
    let name = name(slot, mechanism);
    (name, (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % ROWS)
}

impl Uses {
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    /// The row of a slot's mechanism, claimed if there is none.
    #[inline]
    pub(super) fn row(&self, slot: u32, mechanism: u32) -> Option<usize> {
        let (name, start) = start(slot, mechanism);
        if self.rows[start].load(Acquire) == name { Some(start) } else { self.other_row(name, start) }
    }

    #[cold]
    fn other_row(&self, name: u64, start: usize) -> Option<usize> {
        (0..PROBES).map(|turn| (start + turn) % ROWS).find(|&row| match self.rows[row].load(Acquire) {
            0 => match self.rows[row].compare_exchange(0, name, AcqRel, Acquire) {
                Ok(_) => true,
                Err(found) => found == name,
            },
            found => found == name,
        })
    }

    /// Adds a use where the row is the first that is looked at and the stripe was used before; false, and nothing is added, where they are not.
    #[inline(always)]
    pub(super) fn add_again(&self, stripe: usize, slot: u32, mechanism: u32, strength: Strength) -> bool {
        let (stripe, (name, row)) = (stripe % STRIPES, start(slot, mechanism));
        let known = self.rows[row].load(Acquire) == name && self.used[stripe].load(Relaxed) != 0;
        if known {
            self.stripes[stripe][row][strength as usize].fetch_add(1, Relaxed);
        }
        known
    }

    pub(super) fn add(&self, stripe: usize, slot: u32, mechanism: u32, strength: Strength) {
        let stripe = stripe % STRIPES;
        let Some(row) = self.row(slot, mechanism) else { return };
        if self.used[stripe].load(Relaxed) == 0 {
            self.used[stripe].store(1, Relaxed);
        }
        self.stripes[stripe][row][strength as usize].fetch_add(1, Relaxed);
    }

    /// The sum of the rows that `wanted` selects, by `number`.
    pub(super) fn sum(&self, wanted: impl Fn(u32) -> bool, number: impl Fn(&AtomicU64) -> u64) -> Vec<Use> {
        let stripes: Vec<_> = (0..STRIPES).filter(|&stripe| self.used[stripe].load(Relaxed) != 0).collect();
        let mut uses = Vec::new();
        for (row, found) in self.rows.iter().enumerate() {
            let Some(name) = found.load(Acquire).checked_sub(1) else { continue };
            let (slot, mechanism) = ((name >> 32) as u32, name as u32);
            if !wanted(slot) {
                continue;
            }
            let mut by_strength = [0u64; Strength::ALL.len()];
            for &stripe in &stripes {
                let line = &self.stripes[stripe][row];
                by_strength.iter_mut().zip(line).for_each(|(sum, word)| *sum = sum.saturating_add(number(word)));
            }
            if by_strength != [0; Strength::ALL.len()] {
                uses.push(Use { slot, mechanism, by_strength });
            }
        }
        uses
    }
}
