//! Values that have numbers: a number is plain data, so that a request can name a key wherever it lies, and an interface can give out handles and
//! check any value that comes back.
//!
//! A number is the place of a value and the place's generation, and is never given twice but once in 2^32 uses of a place. Taking, finding and
//! leaving a place are one or two atomic instructions each, without a lock: a fork, a signal's handler or a thread that ends anywhere in them costs
//! at most one place. Memory for places is allocated in pieces that double in size, and is never freed, so that a number can be looked up at any
//! time, after its value is gone too.

#![allow(unsafe_code)]

mod last;

use crate::error::Error;
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, fence};

/// Places of the first piece of memory.
const FIRST: usize = 64;
/// Pieces, each twice as large as the one before: places for 2^31 values.
const PIECES: usize = 26;
/// Lists of free places; a thread begins at one of its own.
const LISTS: usize = 64;
/// The owners, in a place's word: the generation is above.
const OWNERS: u64 = RETIRED - 1;
/// Bit that says that the value is no longer found by its number.
const RETIRED: u64 = 1 << 31;

/// The name of a value in a [`Slab`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Number(NonZeroU64);

impl Number {
    /// The number as an integer, never 0.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The number of an integer that may be none.
    pub fn from_integer(integer: u64) -> Option<Number> {
        NonZeroU64::new(integer).map(Number)
    }

    fn new(generation: u32, place: u32) -> Number {
        // Generations begin with 1.
        Number(NonZeroU64::new(u64::from(generation) << 32 | u64::from(place)).unwrap_or(NonZeroU64::MIN))
    }

    fn generation(self) -> u32 {
        (self.get() >> 32) as u32
    }

    fn place(self) -> u32 {
        self.get() as u32
    }
}

/// Values by number. Made once for each type, as a static.
#[derive(Debug)]
pub struct Slab<T> {
    pieces: [AtomicPtr<Place<T>>; PIECES],
    /// Places from here on were never used.
    fresh: AtomicU32,
    free: [Free; LISTS],
}

/// A list of free places: the number of the first, plus 1, below a count of changes, by which a thread that was away while the list
/// changed and changed back finds out.
#[derive(Debug)]
#[repr(align(64))]
struct Free(AtomicU64);

#[repr(align(64))]
struct Place<T> {
    /// The generation, in the upper half, and the owners of the value that is here.
    word: AtomicU64,
    /// The number of the next place in a list, plus 1.
    next: AtomicU32,
    /// The place's own number and its slab, set at its first use: one pointer to the place is enough to own it.
    number: AtomicU32,
    slab: AtomicPtr<Slab<T>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a value is shared by its owners and dropped by the last, whatever their threads.
unsafe impl<T: Send + Sync> Sync for Slab<T> {}

/// An owner of a value. A clone is one more; the value is dropped with the last.
pub struct Entry<T: 'static> {
    place: &'static Place<T>,
}

// SAFETY: as for Arc: any thread may share the value, and may be the one that drops it.
unsafe impl<T: Send + Sync> Send for Entry<T> {}
// SAFETY: as for Arc: any thread may share the value, and may be the one that drops it; so T has to be Send and Sync.
unsafe impl<T: Send + Sync> Sync for Entry<T> {}

thread_local! {
    /// The list at which this thread begins, plus 1.
    static LIST: Cell<u32> = const { Cell::new(0) };
}

/// The list at which this thread begins.
fn own_list() -> usize {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    LIST.with(|list| {
        if list.get() == 0 {
            list.set(NEXT.fetch_add(1, Relaxed) | 1 << 31);
        }
        list.get() as usize % LISTS
    })
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab::new()
    }
}

impl<T> Slab<T> {
    /// Makes an empty slab.
    pub const fn new() -> Slab<T> {
        Slab {
            pieces: [const { AtomicPtr::new(null_mut()) }; PIECES],
            fresh: AtomicU32::new(0),
            free: [const { Free(AtomicU64::new(0)) }; LISTS],
        }
    }

    /// The piece that a place is in, and its index there.
    #[inline]
    const fn position(number: u32) -> (usize, usize) {
        let at = number as usize + FIRST;
        let piece = (at / FIRST).ilog2() as usize;
        (piece, at - (FIRST << piece))
    }

    /// A place that was taken before.
    #[inline]
    fn place(&self, number: u32) -> Option<&Place<T>> {
        let (piece, at) = Slab::<T>::position(number);
        let first = self.pieces.get(piece)?.load(Acquire);
        // SAFETY: a piece has so many places and is never freed.
        (!first.is_null()).then(|| unsafe { &*first.add(at) })
    }

    /// A free place, and its number.
    fn take(&self) -> Result<(u32, &Place<T>), Error> {
        let own = own_list();
        let lists = (own..LISTS).chain(0..own);
        if let Some(number) = lists.into_iter().find_map(|list| self.pop(&self.free[list])) {
            return Ok((number, self.place(number).ok_or(Error::Memory)?));
        }
        // A number that is taken and not used, where memory has run out, goes to the free places as soon as there is some.
        let number = self.fresh.fetch_update(Relaxed, Relaxed, |fresh| {
            let (piece, _) = Slab::<T>::position(fresh);
            (piece < PIECES && self.piece(piece).is_ok()).then_some(fresh + 1)
        });
        let number = number.map_err(|_| Error::Memory)?;
        Ok((number, self.place(number).ok_or(Error::Memory)?))
    }

    /// Has memory for a piece's places.
    #[inline]
    fn piece(&self, piece: usize) -> Result<(), Error> {
        if self.pieces[piece].load(Acquire).is_null() { self.make(piece) } else { Ok(()) }
    }

    #[cold]
    fn make(&self, piece: usize) -> Result<(), Error> {
        let places = memory::<T>(FIRST << piece)?;
        if self.pieces[piece].compare_exchange(null_mut(), places, AcqRel, Acquire).is_err() {
            // SAFETY: had just now, and nobody's.
            unsafe { forget::<T>(places, FIRST << piece) };
        }
        Ok(())
    }

    fn pop(&self, list: &Free) -> Option<u32> {
        let mut head = list.0.load(Acquire);
        loop {
            let number = (head as u32).checked_sub(1)?;
            let next = self.place(number)?.next.load(Relaxed);
            match list.0.compare_exchange_weak(head, after(head, next), Acquire, Acquire) {
                Ok(_) => return Some(number),
                Err(changed) => head = changed,
            }
        }
    }

    fn push(&self, place: &Place<T>, number: u32) {
        let list = &self.free[own_list()];
        let mut head = list.0.load(Relaxed);
        loop {
            place.next.store(head as u32, Relaxed);
            match list.0.compare_exchange_weak(head, after(head, number + 1), Release, Relaxed) {
                Ok(_) => return,
                Err(changed) => head = changed,
            }
        }
    }

    /// Gives a value a number, and its first owner.
    ///
    /// # Errors
    /// [`Error::Memory`]; the value is dropped.
    pub fn insert(&'static self, value: T) -> Result<Entry<T>, Error> {
        let (number, place) = self.take()?;
        // SAFETY: a place that was free is this thread's alone, and nothing is in it.
        unsafe { (*place.value.get()).write(value) };
        place.number.store(number, Relaxed);
        place.slab.store(std::ptr::from_ref(self).cast_mut(), Relaxed);
        let generation = (place.word.load(Relaxed) >> 32).max(1);
        place.word.store(generation << 32 | 1, Release);
        Ok(Entry { place })
    }

    /// The value of a number, one owner more; `None` where it is gone or never was.
    pub fn get(&'static self, number: Number) -> Option<Entry<T>> {
        let place = self.place(number.place())?;
        let owned = |word: u64| {
            let found = word >> 32 == u64::from(number.generation()) && word & RETIRED == 0;
            (found && word & OWNERS != 0 && word & OWNERS != OWNERS).then_some(word + 1)
        };
        place.word.fetch_update(Acquire, Relaxed, owned).ok()?;
        Some(Entry { place })
    }

    /// Whether a number names a value. Nothing is written for it, so that threads that ask for one number do not hinder each other.
    #[inline]
    pub fn has(&'static self, number: Number) -> bool {
        let word = self.place(number.place()).map_or(0, |place| place.word.load(Acquire));
        word >> 32 == u64::from(number.generation()) && word & RETIRED == 0 && word & OWNERS != 0
    }

    /// A watch that tells at any time whether a number still names the value that it names now; `None` where it names none.
    pub fn watch(&'static self, number: Number) -> Option<Watch<T>> {
        let watch = Watch { place: self.place(number.place())?, generation: number.generation() };
        watch.is_there().then_some(watch)
    }

    /// Has the slab itself own the value from now on; [`Slab::retire`] ends that.
    pub fn keep(&'static self, entry: Entry<T>) -> Number {
        let number = entry.number();
        std::mem::forget(entry);
        number
    }

    /// Takes back the value that [`Slab::keep`] was given, so that no number finds it: of several callers, one gets it.
    pub fn retire(&'static self, number: Number) -> Option<Entry<T>> {
        let place = self.place(number.place())?;
        let retired = |word: u64| {
            let found = word >> 32 == u64::from(number.generation()) && word & RETIRED == 0 && word & OWNERS != 0;
            found.then_some(word | RETIRED)
        };
        place.word.fetch_update(Acquire, Relaxed, retired).ok()?;
        Some(Entry { place })
    }

    /// Calls `body` with each value that a number finds. Those that come meanwhile may be missed.
    pub fn each(&'static self, mut body: impl FnMut(Entry<T>)) {
        for place in 0..self.fresh.load(Acquire) {
            let generation = self.place(place).map_or(0, |place| (place.word.load(Relaxed) >> 32) as u32);
            if generation != 0
                && let Some(entry) = self.get(Number::new(generation, place))
            {
                body(entry);
            }
        }
    }
}

/// Says whether a number still names its value, as [`Slab::has`] does, without the way to it.
pub struct Watch<T: 'static> {
    place: &'static Place<T>,
    generation: u32,
}

// SAFETY: it gives no way to the value.
unsafe impl<T> Send for Watch<T> {}
// SAFETY: a watch gives no way to the value; it only reads the atomic word of a place that is never freed.
unsafe impl<T> Sync for Watch<T> {}

impl<T> Watch<T> {
    /// Whether the number names the value.
    #[inline]
    pub fn is_there(&self) -> bool {
        let word = self.place.word.load(Acquire);
        word & (!OWNERS) == u64::from(self.generation) << 32 && word & OWNERS != 0
    }
}

impl<T> Clone for Watch<T> {
    fn clone(&self) -> Watch<T> {
        Watch { place: self.place, generation: self.generation }
    }
}

impl<T> std::fmt::Debug for Watch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Watch").field(&self.is_there()).finish()
    }
}

/// The head of a list, one change later.
fn after(head: u64, first: u32) -> u64 {
    (head >> 32).wrapping_add(1) << 32 | u64::from(first)
}

/// Zeroed memory for places: generation 0, no owner.
fn memory<T>(places: usize) -> Result<*mut Place<T>, Error> {
    let layout = std::alloc::Layout::array::<Place<T>>(places).map_err(|_| Error::Memory)?;
    // SAFETY: a place has a size.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<Place<T>>();
    if memory.is_null() { Err(Error::Memory) } else { Ok(memory) }
}

/// Gives back what [`memory`] gave.
///
/// # Safety
/// For so many places, of which none was used.
unsafe fn forget<T>(memory: *mut Place<T>, places: usize) {
    if let Ok(layout) = std::alloc::Layout::array::<Place<T>>(places) {
        // SAFETY: the caller gives memory that `memory` gave for so many places, so by this layout.
        unsafe { std::alloc::dealloc(memory.cast(), layout) };
    }
}

impl<T> Entry<T> {
    /// Whether no number finds the value any more ([`Slab::retire`]).
    #[inline]
    pub fn is_retired(&self) -> bool {
        self.place.word.load(Acquire) & RETIRED != 0
    }

    /// Whether this is the only owner of a value that no number finds any more: so it stays.
    pub fn is_last(&self) -> bool {
        let word = self.place.word.load(Acquire);
        word & RETIRED != 0 && word & OWNERS == 1
    }

    /// Number of the value, which is valid as long as the value has an owner.
    #[inline]
    pub fn number(&self) -> Number {
        Number::new((self.place.word.load(Relaxed) >> 32) as u32, self.place.number.load(Relaxed))
    }
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Entry<T> {
        // Owners are as many as there is memory for: the count does not run over. They would have to be forgotten, by the billion.
        self.place.word.fetch_add(1, Relaxed);
        Entry { place: self.place }
    }
}

impl<T> Deref for Entry<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a value is there as long as it has an owner.
        unsafe { (*self.place.value.get()).assume_init_ref() }
    }
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        let before = self.place.word.fetch_sub(1, Release);
        if before & OWNERS != 1 {
            return;
        }
        // What other owners have done with the value comes before its end.
        fence(Acquire);
        // SAFETY: the last owner; `get` finds none.
        unsafe { (*self.place.value.get()).assume_init_drop() };
        let next = ((before >> 32) as u32).wrapping_add(1).max(1);
        self.place.word.store(u64::from(next) << 32, Relaxed);
        // SAFETY: `insert` has put it there, before there was an owner: a static.
        let slab = unsafe { &*self.place.slab.load(Relaxed) };
        slab.push(self.place, self.place.number.load(Relaxed));
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Entry<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Entry").field(&**self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_number_names_its_value_until_the_last_owner_goes() {
        static SLAB: Slab<String> = Slab::new();
        let entry = SLAB.insert("one".to_owned()).unwrap();
        let number = entry.number();
        let again = SLAB.get(number).unwrap();
        drop(entry);
        assert_eq!(&*again.clone(), "one");
        drop(again);
        assert!(SLAB.get(number).is_none());
        // The next value has the place of the last one, and another number.
        let next = SLAB.insert("two".to_owned()).unwrap();
        assert_eq!((next.number().place(), next.number() == number), (number.place(), false));
        assert!(SLAB.get(number).is_none());
        for none in [1, u64::from(u32::MAX), u64::MAX, 1 << 32 | 1 << 20, 1 << 32] {
            let found = SLAB.get(Number::from_integer(none).unwrap());
            assert!(found.is_none_or(|found| found.number().get() == none), "{none:x}");
        }
        assert_eq!(Number::from_integer(0), None);
        assert_eq!(Number::from_integer(next.number().get()), Some(next.number()));
    }

    #[test]
    fn what_is_kept_is_found_until_it_is_retired() {
        static SLAB: Slab<u32> = Slab::new();
        let numbers: Vec<_> = (0..100).map(|i| SLAB.keep(SLAB.insert(i).unwrap())).collect();
        let mut sum = 0;
        SLAB.each(|entry| sum += *entry);
        assert_eq!(sum, (0..100).sum::<u32>());
        let held = SLAB.get(numbers[7]).unwrap();
        let watches = [7, 8].map(|at: usize| SLAB.watch(numbers[at]).unwrap());
        assert!(watches.iter().all(Watch::is_there));
        let retired = SLAB.retire(numbers[7]).unwrap();
        assert!(*retired == 7 && retired.is_retired() && !retired.is_last());
        drop(retired);
        assert!(held.is_last() && !SLAB.get(numbers[8]).unwrap().is_last());
        assert!(SLAB.retire(numbers[7]).is_none() && SLAB.get(numbers[7]).is_none());
        assert!(!SLAB.has(numbers[7]) && SLAB.has(numbers[8]));
        assert_eq!(watches.each_ref().map(Watch::is_there), [false, true]);
        assert!(SLAB.watch(numbers[7]).is_none());
        assert_eq!((*held, held.number()), (7, numbers[7]));
        drop(held);
        // Of several who ask, one gets it.
        let got = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    numbers.iter().for_each(|n| _ = got.fetch_add(SLAB.retire(*n).is_some().into(), Relaxed))
                });
            }
        });
        assert_eq!(got.into_inner(), 99);
        SLAB.each(|_| panic!("nothing is left"));
    }

    #[test]
    fn places_are_found_in_their_pieces() {
        let mut expected = (0, 0);
        for number in 0..5000 {
            assert_eq!(Slab::<u8>::position(number), expected, "{number}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(Slab::<u8>::position(u32::MAX - 63).0, PIECES);
    }

    /// Values that say how many there are, and that are what their number says.
    struct Counted(u64, &'static AtomicUsize);

    impl Drop for Counted {
        fn drop(&mut self) {
            assert_eq!(self.0, 0x5EED);
            self.0 = 0;
            self.1.fetch_sub(1, Relaxed);
        }
    }

    #[test]
    fn threads_that_take_find_and_leave_lose_nothing() {
        static SLAB: Slab<Counted> = Slab::new();
        static ALIVE: AtomicUsize = AtomicUsize::new(0);
        // Numbers of others, which may be gone at any moment.
        static SEEN: [AtomicU64; 16] = [const { AtomicU64::new(1) }; 16];
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    for round in 0..20_000_usize {
                        ALIVE.fetch_add(1, Relaxed);
                        let entry = SLAB.insert(Counted(0x5EED, &ALIVE)).unwrap();
                        SEEN[(round + thread) % 16].store(entry.number().get(), Relaxed);
                        mine.push(entry);
                        let other = Number::from_integer(SEEN[round % 16].load(Relaxed)).unwrap();
                        if let Some(found) = SLAB.get(other) {
                            assert_eq!((found.0, found.number()), (0x5EED, other));
                            mine.push(found);
                        }
                        while mine.len() > 1 + round % 20 {
                            mine.swap_remove(round % mine.len());
                        }
                    }
                });
            }
        });
        assert_eq!(ALIVE.load(Relaxed), 0);
        // Threads took places that others had left: memory is what was in use at one time.
        assert!(SLAB.fresh.load(Relaxed) < 8 * 64, "{}", SLAB.fresh.load(Relaxed));
    }
}
