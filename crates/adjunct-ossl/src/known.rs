//! A value for each libcrypto that has loaded the module: one, unless the process holds several.

use crate::object::Object;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A list that only grows, of one value for each libcrypto. No lock is taken: a value made by two threads at once is made twice and
/// one is dropped, so a fork at any moment leaves the child a usable state.
pub(crate) struct Known<T: 'static>(AtomicPtr<Entry<T>>);

struct Entry<T: 'static> {
    base: usize,
    value: T,
    next: Option<&'static Entry<T>>,
}

impl<T> Known<T> {
    /// Makes an empty list.
    pub const fn new() -> Known<T> {
        Known(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// All values, the newest first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'static T> {
        self.entries().map(|entry| &entry.value)
    }

    #[inline]
    fn entries(&self) -> impl Iterator<Item = &'static Entry<T>> {
        std::iter::successors(self.head(), |entry| entry.next)
    }

    #[inline]
    fn head(&self) -> Option<&'static Entry<T>> {
        // SAFETY: entries are leaked, and never changed once published.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// The value for a libcrypto.
    pub fn of(&self, object: Object) -> Option<&'static T> {
        self.entries().find(|entry| entry.base == object.base()).map(|entry| &entry.value)
    }

    /// Gives a libcrypto a value, for as long as the process lives. What another thread has given it meanwhile stays.
    pub fn give(&self, object: Object, value: T) -> &'static T {
        let mut entry = Box::new(Entry { base: object.base(), value, next: None });
        loop {
            // Before the look whether it is there already: what is added after it makes the exchange fail.
            let head = self.head();
            if let Some(theirs) = self.of(object) {
                return theirs;
            }
            entry.next = head;
            let expected = head.map_or(std::ptr::null_mut(), |head| std::ptr::from_ref(head).cast_mut());
            let raw = Box::into_raw(entry);
            match self.0.compare_exchange(expected, raw, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: published; from here on it is never changed or freed.
                Ok(_) => return unsafe { &(*raw).value },
                // SAFETY: not published.
                Err(_) => entry = unsafe { Box::from_raw(raw) },
            }
        }
    }
}

// SAFETY: the values are shared; one is dropped only by the thread that made it, before it is.
unsafe impl<T: Sync> Sync for Known<T> {}
