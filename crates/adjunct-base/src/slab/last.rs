//! The entry that a thread used last, which it keeps: programs use one entry again and again, and taking and releasing it would be two writes to
//! memory that other cores may have.
//!
//! A thread has one such place, for one slab: entries of others are not kept while it is taken.

use super::{Entry, Place, Slab};
use crate::thread::{AtEnd, place_in_threads};
use std::cell::Cell;
use std::ptr::null;

/// What a thread has. Zeros at first.
#[repr(C)]
struct Last {
    /// The address of the entry's slab, which says what type it has; 0 while there is none.
    slab: Cell<usize>,
    place: Cell<*const ()>,
    /// Whether the entry is given up when the thread ends.
    armed: Cell<usize>,
}

impl Last {
    #[cfg_attr(all(target_arch = "x86_64", target_env = "gnu", target_pointer_width = "64"), allow(dead_code))]
    const fn new() -> Last {
        Last { slab: Cell::new(0), place: Cell::new(null()), armed: Cell::new(0) }
    }
}

place_in_threads!(Last, adjunct_slab_last, [0, 0, 0]);
use place::with;

impl<T> Slab<T> {
    /// The entry of this slab that this thread has, which is the caller's from now on.
    #[inline]
    pub fn take_last(&'static self) -> Option<Entry<T>> {
        with(|last| {
            if last.slab.get() != std::ptr::from_ref(self).addr() {
                return None;
            }
            last.slab.set(0);
            // SAFETY: `put_last` of this slab has put it there, of an entry that it forgot: so this is an owner.
            let place: &'static Place<T> = unsafe { &*last.place.get().cast() };
            Some(Entry { place })
        })
    }

    /// Has this thread keep an entry of this slab in place of the one that it has. `at_end` calls [`Slab::end_last`]; if that cannot be arranged,
    /// nothing is kept.
    #[inline]
    pub fn put_last(&'static self, entry: Entry<T>, at_end: &'static AtEnd) {
        with(|last| {
            if last.slab.get() != 0 || last.armed.get() == 0 {
                return self.put_slowly(last, entry, at_end);
            }
            last.place.set(std::ptr::from_ref(entry.place).cast());
            last.slab.set(std::ptr::from_ref(self).addr());
            std::mem::forget(entry);
        });
    }

    #[cold]
    fn put_slowly(&'static self, last: &Last, entry: Entry<T>, at_end: &'static AtEnd) {
        drop(self.take_last());
        if last.armed.get() == 0 {
            last.armed.set(at_end.arm().into());
        }
        if last.slab.get() == 0 && last.armed.get() != 0 {
            self.put_last(entry, at_end);
        }
    }

    /// Gives up what an ending thread has.
    pub fn end_last(&'static self) {
        with(|last| last.armed.set(0));
        drop(self.take_last());
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use crate::thread::AtEnd;

    #[test]
    fn a_thread_has_one_entry_of_one_slab_until_it_ends() {
        static SLAB: Slab<u32> = Slab::new();
        static OTHER: Slab<u32> = Slab::new();
        static AT_END: AtEnd = AtEnd::new(|| SLAB.end_last());
        let numbers = std::thread::spawn(|| {
            assert!(SLAB.take_last().is_none());
            let (one, two) = (SLAB.insert(1).unwrap(), SLAB.insert(2).unwrap());
            let numbers = [one.number(), two.number()];
            SLAB.put_last(one, &AT_END);
            OTHER.put_last(OTHER.insert(3).unwrap(), &AT_END);
            assert!(OTHER.take_last().is_none() && SLAB.has(numbers[0]));
            SLAB.put_last(two, &AT_END);
            assert!(!SLAB.has(numbers[0]));
            let two = SLAB.take_last().unwrap();
            assert!(*two == 2 && SLAB.take_last().is_none());
            SLAB.put_last(two, &AT_END);
            assert!(SLAB.has(numbers[1]));
            numbers
        });
        let numbers = numbers.join().unwrap();
        assert!(!SLAB.has(numbers[0]) && !SLAB.has(numbers[1]));
    }
}
