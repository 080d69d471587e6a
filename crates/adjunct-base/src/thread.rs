//! A value for each thread, with a function that is called when the thread ends: a key of the C library (pthread_key_create(3)).
//!
//! `std::thread_local!` with a destructor asks for memory when a thread first uses it, and ends the process where there is none. A key needs no
//! memory, except in a program that has more than 31 others; there [`ThreadKey::set`] says whether memory was refused.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicU32};

/// Where the C library says whether the process has one thread; null before [`ask_whether_alone`], and where it does not say that.
static ALONE: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Asks the C library for the place that [`is_alone`] reads; as that.
pub fn ask_whether_alone() -> bool {
    // SAFETY: a name that ends with a zero. glibc since 2.32 and musl have a variable of one byte of that name (sys/single_threaded.h).
    let said = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    ALONE.store(said.cast(), Relaxed);
    is_alone()
}

/// Whether the calling thread is the only one of its process for certain, as the C library says it: no other can be kept out or waited for, until this
/// one starts another. False before [`ask_whether_alone`].
#[inline(always)]
pub fn is_alone() -> bool {
    let said = ALONE.load(Relaxed);
    // SAFETY: not null: the C library's variable of one byte, which stays, and which it changes while there is one thread.
    !said.is_null() && unsafe { said.read_volatile() } != 0
}

/// A pointer for each thread, null at first.
#[derive(Debug)]
pub struct ThreadKey {
    /// The C library's key plus one; 0 while there is none.
    word: AtomicU32,
    ended: unsafe extern "C" fn(*mut c_void),
}

impl ThreadKey {
    /// When a thread ends whose pointer is not null, `ended` is called with it in that thread, after the destructors of
    /// `std::thread_local!`, and not when the process ends.
    pub const fn new(ended: unsafe extern "C" fn(*mut c_void)) -> ThreadKey {
        ThreadKey { word: AtomicU32::new(0), ended }
    }

    /// The calling thread's pointer.
    #[inline]
    pub fn get(&self) -> *mut c_void {
        match self.key() {
            // SAFETY: a key of the C library, which is never deleted.
            Some(key) => unsafe { libc::pthread_getspecific(key) },
            None => null_mut(),
        }
    }

    /// Changes the calling thread's pointer; false where the C library has no key or no memory.
    ///
    /// # Safety
    /// Null, or what the function of [`ThreadKey::new`] may be called with when the thread ends.
    #[must_use]
    pub unsafe fn set(&self, value: *mut c_void) -> bool {
        // SAFETY: a key of the C library, which is never deleted; the caller answers for the pointer.
        self.key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) } == 0)
    }

    #[inline]
    fn key(&self) -> Option<libc::pthread_key_t> {
        match self.word.load(Acquire) {
            0 => self.create(),
            word => Some(word - 1),
        }
    }

    #[cold]
    fn create(&self) -> Option<libc::pthread_key_t> {
        let mut key = 0;
        // SAFETY: the key is written where the call succeeds.
        if unsafe { libc::pthread_key_create(&raw mut key, Some(self.ended)) } != 0 {
            return None;
        }
        match self.word.compare_exchange(0, key + 1, AcqRel, Acquire) {
            Ok(_) => Some(key),
            Err(other) => {
                // SAFETY: this call's own, which nobody has seen.
                unsafe { libc::pthread_key_delete(key) };
                Some(other - 1)
            }
        }
    }
}

/// Gives a type a place in each thread, with a function `with` that reaches it. Where the C library is glibc on x86-64 that takes no call
/// (`counters/thread.rs` says how), and the value begins as these words of 8 bytes; elsewhere it is a `std::thread_local!` without a destructor,
/// which begins as the type's `new`, the same value.
macro_rules! place_in_threads {
    ($type:ident, $symbol:ident, [$($word:literal),*]) => {
        mod place {
            use super::$type;

            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
            const SIZE: usize = size_of::<[u64; [$($word),*].len()]>();

            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
            const _: () = assert!(size_of::<$type>() == SIZE && align_of::<$type>() <= 8, "as in the assembly");

            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
            std::arch::global_asm!(
                concat!(".pushsection .tdata.", stringify!($symbol), ", \"awT\", @progbits"),
                ".p2align 3",
                concat!(".globl ", stringify!($symbol)),
                concat!(".hidden ", stringify!($symbol)),
                concat!(".type ", stringify!($symbol), ", @object"),
                concat!(".size ", stringify!($symbol), ", {size}"),
                concat!(stringify!($symbol), ":"),
                $(concat!(".quad ", $word),)*
                ".popsection",
                size = const SIZE,
            );

            /// Runs `f` on this thread's.
            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
            #[inline(always)]
            pub(crate) fn with<R>(f: impl FnOnce(&$type) -> R) -> R {
                let place: *const $type;
                // SAFETY: the ABI keeps the thread pointer at fs:0 and the variable's offset from it in this GOT entry.
                unsafe {
                    std::arch::asm!(
                        "mov {0}, qword ptr fs:[0]",
                        concat!("add {0}, qword ptr [rip + ", stringify!($symbol), "@GOTTPOFF]"),
                        out(reg) place, options(pure, nomem, nostack),
                    );
                }
                // SAFETY: the variable lives as long as the thread, its words are a value of the type, by the word of who uses the macro,
                // and only this thread reaches it; the reference does not leave `f`.
                f(unsafe { &*place })
            }

            /// Runs `f` on this thread's.
            #[cfg(not(all(
                target_arch = "x86_64",
                target_os = "linux",
                target_env = "gnu",
                target_pointer_width = "64"
            )))]
            #[inline(always)]
            pub(crate) fn with<R>(f: impl FnOnce(&$type) -> R) -> R {
                thread_local! {
                    static HERE: $type = const { $type::new() };
                }
                HERE.with(f)
            }
        }
    };
}
pub(crate) use place_in_threads;

/// A function that is called when a thread ends that has asked for it, after the destructors of `std::thread_local!`.
#[derive(Debug)]
pub struct AtEnd {
    key: ThreadKey,
    function: fn(),
}

impl AtEnd {
    /// Made once for each function, as a static.
    pub const fn new(function: fn()) -> AtEnd {
        AtEnd { key: ThreadKey::new(AtEnd::ended), function }
    }

    /// Has the function called when the calling thread ends, once; false where the C library has no key or no memory.
    #[must_use]
    pub fn arm(&'static self) -> bool {
        // SAFETY: what `ended` takes.
        unsafe { self.key.set(std::ptr::from_ref(self).cast_mut().cast()) }
    }

    unsafe extern "C" fn ended(this: *mut c_void) {
        // SAFETY: what `arm` has set: a static.
        let function = unsafe { (*this.cast::<AtEnd>()).function };
        // Nothing unwinds into the C library.
        let _ = std::panic::catch_unwind(function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    static ENDED: AtomicUsize = AtomicUsize::new(0);
    static KEY: ThreadKey = ThreadKey::new(ended);

    unsafe extern "C" fn ended(value: *mut c_void) {
        ENDED.fetch_add(value.addr(), AcqRel);
    }

    #[test]
    fn each_thread_has_its_own_until_it_ends() {
        std::thread::scope(|scope| {
            for number in 1..=8usize {
                scope.spawn(move || {
                    assert!(KEY.get().is_null());
                    // SAFETY: any number may be added.
                    assert!(unsafe { KEY.set(std::ptr::without_provenance_mut(number)) });
                    std::thread::yield_now();
                    assert_eq!(KEY.get().addr(), number);
                });
            }
        });
        // A scope ends before the destructors of its threads do.
        while ENDED.load(Acquire) < 36 {
            std::thread::yield_now();
        }
        assert!(KEY.get().is_null() && ENDED.load(Acquire) == 36);
    }

    #[test]
    fn a_function_is_called_at_the_end_of_threads_that_ask() {
        static ENDED: AtomicU32 = AtomicU32::new(0);
        static AT_END: AtEnd = AtEnd::new(|| _ = ENDED.fetch_add(1, AcqRel));
        for (ask, expected) in [(false, 0), (true, 1), (true, 2)] {
            let thread = std::thread::spawn(move || !ask || (AT_END.arm() && AT_END.arm()));
            assert!(thread.join().unwrap());
            assert_eq!(ENDED.load(Acquire), expected);
        }
    }
}
