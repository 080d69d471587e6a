//! Allocations that may fail: the standard library's own end the process then, and an interface that has an error for it has to return that.

#![allow(unsafe_code)]

use crate::error::Error;
use std::alloc::{Layout, alloc};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering, fence};
use zeroize::Zeroizing;

/// A value in memory of its own, as by `Box::new`.
///
/// # Errors
/// [`Error::Memory`]; the value is dropped.
pub fn boxed<T>(value: T) -> Result<Box<T>, Error> {
    Ok(Box::write(room()?, value))
}

/// Room for a value in memory of its own, nothing written to it: for values that no stack may hold.
///
/// # Errors
/// [`Error::Memory`].
pub fn room<T>() -> Result<Box<MaybeUninit<T>>, Error> {
    let layout = Layout::new::<T>();
    // Of a value without a size only the alignment counts, and no memory is asked for.
    if layout.size() == 0 {
        return Ok(Box::new(MaybeUninit::uninit()));
    }
    // SAFETY: the layout has a size, and is that of MaybeUninit<T> too; what comes is null, or memory of the allocator and the
    // layout that a box frees.
    unsafe {
        let place = NonNull::new(alloc(layout).cast::<MaybeUninit<T>>()).ok_or(Error::Memory)?;
        Ok(Box::from_raw(place.as_ptr()))
    }
}

/// A value in memory of its own that is made where it lies: for values whose copy would cost more.
///
/// # Errors
/// [`Error::Memory`].
///
/// # Panics
/// Where `make` gives another place than it was given.
#[inline]
pub fn boxed_in_place<T>(make: impl FnOnce(&mut MaybeUninit<T>) -> &mut T) -> Result<Box<T>, Error> {
    let mut place = room::<T>()?;
    fill(&mut place, make);
    // SAFETY: `fill` has seen the value there.
    Ok(unsafe { place.assume_init() })
}

/// Has `make` write a value to a place, and sees that what it gives out as written is that place.
///
/// # Panics
/// Where it is another.
#[inline(always)]
pub fn fill<T>(place: &mut MaybeUninit<T>, make: impl FnOnce(&mut MaybeUninit<T>) -> &mut T) {
    let there = place.as_ptr();
    let made: *const T = make(place);
    assert!(std::ptr::eq(there, made), "made in its place");
}

/// The place of a field.
///
/// # Safety
/// For the life of the result `field` is valid for reads and writes, by nobody else.
///
/// # Panics
/// Where it is not aligned, as in a packed struct.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn place_of<'a, F>(field: *mut F) -> &'a mut MaybeUninit<F> {
    assert!(field.is_aligned(), "fields are aligned");
    // SAFETY: any bytes are a MaybeUninit; the caller upholds the rest.
    unsafe { &mut *field.cast() }
}

/// Makes a struct where it is to live, field by field, each by a function that writes to its place and gives it out, and gives it out: for
/// values whose copy would cost more. All fields have to be named.
#[macro_export]
macro_rules! in_place {
    ($place:expr => $type:ident { $($field:ident: $make:expr),* $(,)? }) => {{
        let place: &mut ::std::mem::MaybeUninit<_> = $place;
        let raw = place.as_mut_ptr();
        if false {
            // SAFETY: never run: it has the compiler see that these are the fields, and all of them.
            let $type { $($field: _),* } = unsafe { &*raw };
        }
        $(
            // SAFETY: a field of a value whose place is borrowed alone, as `raw`.
            let field = unsafe { $crate::memory::place_of(&raw mut (*raw).$field) };
            $crate::memory::fill(field, $make);
        )*
        // SAFETY: `fill` has seen a value in each field.
        unsafe { place.assume_init_mut() }
    }};
}

/// Allocates `length` zeros, wiped when dropped.
///
/// # Errors
/// [`Error::Memory`].
pub fn zeros(length: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut zeros = Zeroizing::new(Vec::new());
    zeros.try_reserve_exact(length).map_err(|_| Error::Memory)?;
    zeros.resize(length, 0);
    Ok(zeros)
}

/// A value with several owners, dropped with the last one: an `Arc` without weak references.
#[derive(Debug)]
pub struct Shared<T>(NonNull<Counted<T>>);

#[derive(Debug)]
struct Counted<T> {
    owners: AtomicUsize,
    value: T,
}

// SAFETY: as for Arc: any thread may share the value, and may be the one that drops it.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as for Arc: any thread may share the value, and may be the one that drops it; so T has to be Send and Sync.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Allocates a value with one owner.
    ///
    /// # Errors
    /// [`Error::Memory`]; the value is dropped.
    pub fn new(value: T) -> Result<Shared<T>, Error> {
        let counted = boxed(Counted { owners: AtomicUsize::new(1), value })?;
        Ok(Shared(NonNull::from(Box::leak(counted))))
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: a box that lives as long as it has an owner, and is only read.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        // Owners are as many as there is memory for: the count does not run over. They would have to be forgotten, by the billion.
        self.counted().owners.fetch_add(1, Ordering::Relaxed);
        Shared(self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        if self.counted().owners.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // What other owners have done with the value comes before its end.
        fence(Ordering::Acquire);
        // SAFETY: a box until `new` leaked it, whose last owner this was.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// A value that is computed once and kept, by whichever thread is first. No thread waits for another: one that comes while the first writes uses a
/// value of its own, as does every thread of a child that was forked at that moment.
#[derive(Debug)]
pub struct WriteOnce<T> {
    state: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: written by the one thread that has changed the state for it, and shared only after that.
unsafe impl<T: Send + Sync> Sync for WriteOnce<T> {}

/// State of [`WriteOnce`] without a value; then a thread writes it ([`WRITING`]), and then it is there ([`THERE`]).
const NOTHING: u8 = 0;
const WRITING: u8 = 1;
const THERE: u8 = 2;

impl<T> Default for WriteOnce<T> {
    fn default() -> WriteOnce<T> {
        WriteOnce::new()
    }
}

impl<T> WriteOnce<T> {
    /// A place without a value.
    pub const fn new() -> WriteOnce<T> {
        WriteOnce { state: AtomicU8::new(NOTHING), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// The value, if it has been written.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: what is there was written before, and is not changed.
        (self.state.load(Ordering::Acquire) == THERE).then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Keeps a value, unless one is there or being written.
    pub fn keep(&self, value: T) -> Kept<'_, T> {
        if self.state.compare_exchange(NOTHING, WRITING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return Kept::Own(value);
        }
        // SAFETY: nobody else writes, and nobody reads yet.
        let value = unsafe { (*self.value.get()).write(value) };
        self.state.store(THERE, Ordering::Release);
        Kept::There(value)
    }

    /// The value, which is made and kept at the first call.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn get_or_make<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Kept<'_, T>, E> {
        match self.get() {
            Some(value) => Ok(Kept::There(value)),
            None => Ok(self.keep(make()?)),
        }
    }
}

/// The value to use for a [`WriteOnce`]: the kept one, or the caller's own.
pub enum Kept<'a, T> {
    /// The value that is kept.
    There(&'a T),
    /// The caller's value, made while another thread wrote one.
    Own(T),
}

impl<T> std::ops::Deref for Kept<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Kept::There(value) => value,
            Kept::Own(value) => value,
        }
    }
}

impl<T> Drop for WriteOnce<T> {
    fn drop(&mut self) {
        if *self.state.get_mut() == THERE {
            // SAFETY: it is there, and goes with its place.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_the_first() {
        let gone = AtomicUsize::new(0);
        struct Last<'a>(u8, &'a AtomicUsize);
        impl Drop for Last<'_> {
            fn drop(&mut self) {
                self.1.fetch_add(1, Ordering::Relaxed);
            }
        }
        let kept = WriteOnce::default();
        assert!(kept.get().is_none());
        assert!(kept.get_or_make(|| Err(())).is_err() && kept.get().is_none());
        assert_eq!(kept.get_or_make(|| Ok::<_, ()>(Last(1, &gone))).unwrap().0, 1);
        assert_eq!(kept.get_or_make(|| Err(())).unwrap().0, 1);
        // Who came too late uses its own.
        assert_eq!(kept.keep(Last(2, &gone)).0, 2);
        assert_eq!((kept.get().unwrap().0, gone.load(Ordering::Relaxed)), (1, 1));
        drop(kept);
        assert_eq!(gone.into_inner(), 2);
    }

    #[test]
    fn a_box_is_aligned_and_may_be_of_nothing() {
        #[repr(align(128))]
        struct Wide(u8);
        let wide = boxed(Wide(7)).unwrap();
        assert!((&raw const *wide).addr().is_multiple_of(128) && wide.0 == 7);
        assert_eq!(*boxed(()).unwrap(), ());
        assert_eq!(boxed(String::from("text")).unwrap().as_str(), "text");
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        assert_eq!(zeros(isize::MAX as usize).map(drop), Err(Error::Memory));
        assert_eq!(zeros(usize::MAX).map(drop), Err(Error::Memory));
        assert_eq!(zeros(5).unwrap()[..], [0; 5]);
    }

    #[test]
    fn what_is_shared_goes_with_its_last_owner() {
        struct Last<'a>(&'a AtomicUsize);
        impl Drop for Last<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let gone = AtomicUsize::new(0);
        let shared = Shared::new(Last(&gone)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let own = shared.clone();
                scope.spawn(move || (0..1000).for_each(|_| drop(own.clone())));
            }
        });
        assert_eq!((*shared).0.load(Ordering::Relaxed), 0);
        drop(shared);
        assert_eq!(gone.into_inner(), 1);
    }
}
