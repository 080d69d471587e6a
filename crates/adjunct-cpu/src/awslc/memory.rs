//! AWS-LC's allocator: the C library's memory, and where that is refused, a small reserve in this module.
//!
//! AWS-LC does not check some of its allocations for null (`EC_KEY_check_fips` that of `BN_new`, for one), and ends the process where its random
//! generator gets no memory. OpenSSL returns an error there, and its programs go on. Hence a request of AWS-LC for up to 1 KB is refused only when
//! the reserve is used up, too. A refused request gets null, as from AWS-LC's own allocator.
//!
//! The linker takes the four functions at the end of this file instead of AWS-LC's own (`crypto/mem.c` there has weak references
//! to them), from the first allocation on. Without a definition here a program's own functions of these names would be
//! taken, which BoringSSL knows as well.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Bytes before what AWS-LC gets, which hold its length: as many as AWS-LC's own allocator has there.
const PREFIX: usize = 8;
/// The unit of the reserve, in bytes.
const UNIT: usize = 64;
/// Units of a block, one bit each of a word. A piece lies within one block.
const UNITS: usize = 64;
/// Units of the longest piece. Operations of NIST's curves ask for up to 4 at once, and a thread's random generator for 7. RSA asks for
/// more, looks whether it got it, and would use the reserve up.
const LONGEST: usize = 16;

static RESERVE: Reserve<16> = Reserve::new();

/// Memory in blocks of 4 KB, given away in pieces of whole units. A piece is taken and given back by one atomic instruction on its
/// block's word: no lock that a signal's handler or a forked child could find held, and no system call.
#[repr(C, align(64))]
struct Reserve<const BLOCKS: usize> {
    memory: UnsafeCell<[[u8; UNITS * UNIT]; BLOCKS]>,
    /// A set bit is a unit that is taken.
    taken: [AtomicU64; BLOCKS],
}

// SAFETY: the memory is used by whoever has taken its units, and nobody else until they are given back.
unsafe impl<const BLOCKS: usize> Sync for Reserve<BLOCKS> {}

impl<const BLOCKS: usize> Reserve<BLOCKS> {
    const fn new() -> Self {
        // Zeros only, so that it takes no room in the file.
        Reserve { memory: UnsafeCell::new([[0; UNITS * UNIT]; BLOCKS]), taken: [const { AtomicU64::new(0) }; BLOCKS] }
    }

    /// Takes memory of `length` bytes, aligned to a unit, out of the reserve; null where there is none.
    #[cold]
    fn take(&self, length: usize) -> *mut u8 {
        let units = length.div_ceil(UNIT);
        if units > LONGEST {
            return null_mut();
        }
        for (block, word) in self.taken.iter().enumerate() {
            let mut taken = word.load(Relaxed);
            while let Some(first) = room(taken, units) {
                match word.compare_exchange_weak(taken, taken | run(first, units), Acquire, Relaxed) {
                    Ok(_) => return self.memory.get().cast::<u8>().wrapping_add((block * UNITS + first) * UNIT),
                    Err(changed) => taken = changed,
                }
            }
        }
        null_mut()
    }

    /// Whether `place` is in this memory, and where.
    #[inline]
    fn offset(&self, place: *mut u8) -> Option<usize> {
        let offset = place.addr().wrapping_sub(self.memory.get().addr());
        (offset < BLOCKS * UNITS * UNIT).then_some(offset)
    }

    /// Takes back `length` bytes at `offset`, which [`Reserve::take`] has given for that length.
    #[cold]
    fn give_back(&self, offset: usize, length: usize) {
        let first = offset / UNIT;
        self.taken[first / UNITS].fetch_and(!run(first % UNITS, length.div_ceil(UNIT)), Release);
    }
}

/// The bits of `units` units from the one numbered `first` on; at least one, and all within a word.
const fn run(first: usize, units: usize) -> u64 {
    (u64::MAX >> (UNITS - units)) << first
}

/// The first of `units` adjacent units that are not taken.
fn room(taken: u64, units: usize) -> Option<usize> {
    // The bits at which `free` free units begin.
    let (mut begin, mut free) = (!taken, 1);
    while free < units {
        let more = free.min(units - free);
        begin &= begin >> more;
        free += more;
    }
    (begin != 0).then_some(begin.trailing_zeros() as usize)
}

/// The C library's memory.
#[inline]
fn system(length: usize) -> *mut u8 {
    #[cfg(test)]
    if tests::REFUSED.get() {
        return null_mut();
    }
    // SAFETY: any length may be asked for.
    unsafe { libc::malloc(length) }.cast()
}

/// Memory of `size` bytes after a prefix that holds this length.
#[inline]
pub(super) fn allocate(size: usize) -> *mut u8 {
    let Some(length) = size.checked_add(PREFIX) else { return null_mut() };
    let mut place = system(length);
    if place.is_null() {
        place = RESERVE.take(length);
        if place.is_null() {
            return place;
        }
    }
    // SAFETY: `length` bytes, aligned for a usize by either allocator, are this call's own; the prefix has room for a usize.
    unsafe {
        place.cast::<usize>().write(size);
        place.add(PREFIX)
    }
}

/// The length that the memory at `given` was asked for with.
///
/// # Safety
/// It comes from [`allocate`], and is not released.
#[inline]
unsafe fn size(given: *mut u8) -> usize {
    // SAFETY: the prefix that `allocate` wrote.
    unsafe { given.sub(PREFIX).cast::<usize>().read() }
}

/// Wipes and releases the memory at `given`.
///
/// # Safety
/// It comes from [`allocate`], is not released, and is not used any more.
#[inline]
pub(super) unsafe fn release(given: *mut u8) {
    // SAFETY: what `allocate` gave, with its prefix, is of this length and its owner's alone, initialised or not: it is written
    // only. What is not of the reserve is malloc's.
    unsafe {
        let (place, length) = (given.sub(PREFIX), size(given) + PREFIX);
        place.write_bytes(0, length);
        // No instructions; for all the compiler knows, they read what was written.
        asm!("/* {0} */", in(reg) place, options(nostack, preserves_flags));
        match RESERVE.offset(place) {
            Some(offset) => RESERVE.give_back(offset, length),
            None => libc::free(place.cast()),
        }
    }
}

/// What AWS-LC's `crypto/mem.c` calls. The linker knows it by these names, which have no version.
mod replaced {
    // No module shows them to its program, whose own AWS-LC or BoringSSL would take them.
    std::arch::global_asm!(
        ".hidden OPENSSL_memory_alloc",
        ".hidden OPENSSL_memory_free",
        ".hidden OPENSSL_memory_get_size",
        ".hidden OPENSSL_memory_realloc",
    );

    #[unsafe(no_mangle)]
    extern "C" fn OPENSSL_memory_alloc(size: usize) -> *mut u8 {
        super::allocate(size)
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn OPENSSL_memory_free(given: *mut u8) {
        // SAFETY: AWS-LC gives back what it got here, never null.
        unsafe { super::release(given) };
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn OPENSSL_memory_get_size(given: *mut u8) -> usize {
        // SAFETY: AWS-LC asks about what it got here, never null.
        unsafe { super::size(given) }
    }

    /// Moves the memory in any case, so that nothing is left behind unwiped.
    ///
    /// # Safety
    /// `given` is null or memory that these functions gave out; where the call succeeds it is not used any more.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn OPENSSL_memory_realloc(given: *mut u8, size: usize) -> *mut u8 {
        let moved = super::allocate(size);
        if !moved.is_null() {
            // SAFETY: AWS-LC gives what it got here, never null, and no longer uses it where this succeeds. Both are as long as
            // is copied, and do not overlap.
            unsafe {
                given.copy_to_nonoverlapping(moved, size.min(super::size(given)));
                super::release(given);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Group;
    use crate::ec::CpuEcKey;
    use crate::ecx;
    use crate::random;
    use aws_lc_sys::{OPENSSL_free, OPENSSL_malloc, OPENSSL_realloc};
    use std::cell::Cell;
    use std::sync::{Mutex, PoisonError};

    thread_local! {
        /// Whether the C library has no memory for AWS-LC in this thread.
        pub(super) static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` in `threads` threads whose AWS-LC gets no memory of the C library. What AWS-LC has for a thread, it has before.
    /// Afterwards all of the reserve is given back and wiped.
    fn without_memory(threads: u64, work: impl Fn(u64) + Sync) {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let work = &work;
        std::thread::scope(|scope| {
            let run = |thread| {
                scope.spawn(move || {
                    random(&mut [0]);
                    REFUSED.set(true);
                    work(thread);
                    REFUSED.set(false);
                })
            };
            let running: Vec<_> = (0..threads).map(run).collect();
            // To the end of each: AWS-LC gives back what it had for a thread's errors when the thread ends.
            running.into_iter().for_each(|thread| thread.join().expect("the work is done"));
        });
        assert!(RESERVE.taken.iter().all(|word| word.load(Acquire) == 0));
        // SAFETY: all has been given back, and nobody else takes any while this holds the mutex.
        assert!(unsafe { &*RESERVE.memory.get() }.as_flattened().iter().all(|byte| *byte == 0));
    }

    /// xorshift64.
    fn next(state: &mut u64) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) as usize
    }

    #[test]
    fn the_first_room_is_found() {
        let mut state = 1;
        for round in 0..20_000 {
            // Few are taken, or most.
            let words: [usize; 3] = std::array::from_fn(|_| next(&mut state) << 16 ^ next(&mut state));
            let taken = if round % 2 == 0 { words[0] & words[1] & words[2] } else { words[0] | words[1] } as u64;
            let units = 1 + next(&mut state) % [4, UNITS][round / 2 % 2];
            let free = |first: &usize| taken & run(*first, units) == 0;
            assert_eq!(room(taken, units), (0..=UNITS - units).find(free), "{taken:x} {units}");
        }
        assert_eq!(room(0, UNITS), Some(0));
        assert_eq!(room(u64::MAX, 1), None);
    }

    /// AWS-LC's own functions, which would give no memory if they did not come here.
    #[test]
    fn pieces_of_the_reserve_are_each_one_owners() {
        without_memory(4, |thread| {
            let (mut state, mut had, mut served, mut lacked) = (thread + 1, Vec::<(*mut u8, usize, u8)>::new(), 0, 0);
            let is_whole = |&(memory, length, value): &(*mut u8, usize, u8)| {
                // SAFETY: memory that this thread has, of at least that length.
                let bytes = unsafe { std::slice::from_raw_parts(memory, length) };
                assert!(bytes.iter().all(|byte| *byte == value));
            };
            for round in 0..20_000 {
                let size = next(&mut state) % [100, 500, LONGEST * UNIT + 100][round % 3];
                let value = (thread as u8) << 6 | next(&mut state) as u8 & 63;
                match next(&mut state) % 8 {
                    0..4 => {
                        // SAFETY: any size may be asked for; what comes is that long.
                        let memory = unsafe {
                            let memory = OPENSSL_malloc(size).cast::<u8>();
                            if !memory.is_null() {
                                memory.write_bytes(value, size);
                                had.push((memory, size, value));
                            }
                            memory
                        };
                        assert!(memory.is_null() || RESERVE.offset(memory).is_some());
                        *(if memory.is_null() { &mut lacked } else { &mut served }) += 1;
                    }
                    4 if !had.is_empty() => {
                        let at = next(&mut state) % had.len();
                        let (memory, length, old) = had[at];
                        // SAFETY: memory of AWS-LC's allocator, replaced where this succeeds.
                        let moved = unsafe { OPENSSL_realloc(memory.cast(), size) }.cast::<u8>();
                        if !moved.is_null() {
                            is_whole(&(moved, size.min(length), old));
                            // SAFETY: of that length.
                            unsafe { moved.write_bytes(value, size) };
                            had[at] = (moved, size, value);
                        }
                    }
                    _ if !had.is_empty() => {
                        let given = had.swap_remove(next(&mut state) % had.len());
                        is_whole(&given);
                        // SAFETY: memory of AWS-LC's allocator, which nobody uses any more.
                        unsafe { OPENSSL_free(given.0.cast()) };
                    }
                    _ => {}
                }
            }
            for given in had {
                is_whole(&given);
                // SAFETY: memory of AWS-LC's allocator, which nobody uses any more.
                unsafe { OPENSSL_free(given.0.cast()) };
            }
            assert!(served > 1000 && lacked > 0, "{served} {lacked}");
        });
    }

    #[test]
    fn more_than_the_reserve_has_is_refused() {
        without_memory(1, |_| {
            let take = |size| {
                // SAFETY: any size may be asked for.
                let memory = unsafe { OPENSSL_malloc(size) };
                (!memory.is_null()).then_some(memory)
            };
            assert_eq!([LONGEST * UNIT - PREFIX + 1, usize::MAX - PREFIX, usize::MAX].map(take), [None; 3]);
            let pieces: Vec<_> = std::iter::from_fn(|| take(LONGEST * UNIT - PREFIX)).collect();
            assert_eq!((pieces.len(), take(0)), (RESERVE.taken.len() * UNITS / LONGEST, None));
            // SAFETY: memory of AWS-LC's allocator, which nobody uses any more.
            pieces.into_iter().for_each(|piece| unsafe { OPENSSL_free(piece) });
            // Memory without a byte is some, too, as AWS-LC's own allocator gives it.
            let none = take(0).expect("of the reserve");
            // SAFETY: memory of AWS-LC's allocator, which nobody uses any more.
            unsafe { OPENSSL_free(none) };
        });
    }

    #[test]
    fn operations_without_memory_are_done_right() {
        without_memory(4, |_| {
            // On s390x the model of the instructions serves those between the first and the last, and has its memory here too.
            for group in [Group::P224, Group::P256, Group::P384, Group::P521, Group::BrainpoolP256r1] {
                let (own, peer) = (CpuEcKey::generate(group).unwrap().0, CpuEcKey::generate(group).unwrap().0);
                let (mut signature, mut one, mut other) = ([0; 132], [0; 66], [0; 66]);
                let signature = &mut signature[..2 * own.shared_secret(&peer, &mut one).unwrap().0.len()];
                assert_eq!(
                    own.shared_secret(&peer, &mut one).unwrap().0,
                    peer.shared_secret(&own, &mut other).unwrap().0
                );
                own.sign(&[7; 32], signature).unwrap();
                assert!(own.verify(&[7; 32], signature).unwrap().0 && !peer.verify(&[7; 32], signature).unwrap().0);
            }
            let secret = ecx::ed25519_generate();
            let public = ecx::ed25519_public(&secret).0;
            let signature = ecx::ed25519_sign(&secret, &public, b"text").0.expect("a signature");
            assert!(ecx::ed25519_verify(&public, b"text", &signature).0);
        });
    }
}
