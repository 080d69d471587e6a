//! What a thread knows of its slot, in memory that the thread pointer reaches without a call.
//!
//! `std::thread_local!` in a shared object is a call of `__tls_get_addr` for each access: as much as all the rest of a
//! count. On x86-64 glibc the variable is therefore declared in assembly with the initial-exec model: its offset from the
//! thread pointer is fixed when the module is loaded. That uses 56 bytes of the surplus glibc keeps for modules loaded late.

use super::layout::Block;
use super::owner::{Claim, Owner};
use crate::thread::{ThreadKey, place_in_threads};
use std::cell::Cell;
use std::ffi::c_void;

/// Never the number of an epoch, which is a generation of [`crate::fork`].
const NEVER: u64 = u64::MAX;

/// A thread's view.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Thread {
    /// The epoch in which `slot` was taken; NEVER while the thread has none.
    epoch: Cell<u64>,
    /// The epoch of the last look at the effective user.
    pub(super) attributed: Cell<u64>,
    // From here on the first value is all zeros.
    slot: Cell<Option<&'static Block>>,
    owner: Cell<u64>,
    /// The number of the slot; 0 for none.
    place: Cell<u32>,
    /// The user last seen.
    pub(super) uid: Cell<u32>,
    /// Whether the slot is in the segment of switched users: 0 or 1.
    switched: Cell<u32>,
    /// Contexts to come before the next look at the effective user.
    pub(super) unchecked: Cell<u16>,
    /// Looks still to take at every context.
    pub(super) eager: Cell<u16>,
    /// Counts to come in the shared slot before the next search for a free one.
    pub(super) patience: Cell<u16>,
    /// Whether the thread's destructors have run: it takes no slot any more.
    pub(super) finished: Cell<bool>,
    /// The stripe of [`super::uses`], plus 1; 0 before the first use.
    pub(super) stripe: Cell<u8>,
}

impl Thread {
    #[cfg_attr(all(target_arch = "x86_64", target_env = "gnu", target_pointer_width = "64"), allow(dead_code))]
    const fn new() -> Thread {
        Thread {
            epoch: Cell::new(NEVER),
            attributed: Cell::new(NEVER),
            slot: Cell::new(None),
            owner: Cell::new(0),
            place: Cell::new(0),
            uid: Cell::new(0),
            switched: Cell::new(0),
            unchecked: Cell::new(0),
            eager: Cell::new(0),
            patience: Cell::new(0),
            finished: Cell::new(false),
            stripe: Cell::new(0),
        }
    }

    /// The slot, if it was taken in `epoch`, so not before a fork.
    #[inline(always)]
    pub(super) fn slot(&self, epoch: u64) -> Option<&'static Block> {
        if self.epoch.get() == epoch { self.slot.get() } else { None }
    }

    /// Notes a slot just taken.
    pub(super) fn hold(&self, slot: &'static Block, claim: Claim, switched: bool, epoch: u64) {
        self.slot.set(Some(slot));
        self.switched.set(switched.into());
        self.place.set(claim.place as u32);
        self.owner.set(claim.owner.word());
        self.epoch.set(epoch);
    }

    /// Forgets the slot, and gives it out to be freed where it was taken in `epoch`, with whether it is a switched user's.
    pub(super) fn drop_slot(&self, epoch: u64) -> Option<(Claim, bool)> {
        let held = self.slot(epoch).is_some();
        self.epoch.set(NEVER);
        self.slot.set(None);
        let claim = Claim { place: self.place.get() as usize, owner: Owner::from_word(self.owner.get()) };
        held.then_some((claim, self.switched.get() != 0))
    }
}

place_in_threads!(Thread, adjunct_counters_thread, [-1, -1, 0, 0, 0, 0, 0]);
pub(super) use place::with;

/// A function that runs at the end of each thread that has asked for it.
#[derive(Debug)]
pub(super) struct AtEnd(ThreadKey);

impl AtEnd {
    /// `ended` is called in the thread, with a pointer that says nothing.
    pub(super) const fn new(ended: extern "C" fn(*mut c_void)) -> AtEnd {
        AtEnd(ThreadKey::new(ended))
    }

    /// Has the slot given back when the calling thread ends; false where there is no memory to note that.
    pub(super) fn ask(&self) -> bool {
        // SAFETY: a safe function, which takes any pointer.
        unsafe { self.0.set(std::ptr::dangling_mut()) }
    }
}
