//! What AWS-LC keeps for each thread: the state of its random generator, and its errors.
//!
//! AWS-LC's own table of these comes from malloc alone: where that has no memory, a thread's first random byte ends the process. This
//! one comes from where AWS-LC's other memory does ([`super::memory`]), with its reserve. Every module has it in place of AWS-LC's, by
//! the linker's `--wrap` (`link/module.args`).

use super::memory;
use super::private::symbol;
use adjunct_base::thread::ThreadKey;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// `NUM_OPENSSL_THREAD_LOCALS` of crypto/internal.h, and some more.
const VALUES: usize = 12;

/// A thread's values.
type Table = [*mut c_void; VALUES];

/// `thread_local_destructor_t` of crypto/internal.h.
type Destructor = unsafe extern "C" fn(*mut c_void);

static TABLE: ThreadKey = ThreadKey::new(ended);
/// The destructor of each value: the same for every thread, null until a thread has such a value.
static DESTRUCTORS: [AtomicPtr<c_void>; VALUES] = [const { AtomicPtr::new(null_mut()) }; VALUES];

/// Frees the table of a thread that ends.
///
/// # Safety
/// `table` is a table that `set` made, of a thread that does not use it any more.
unsafe extern "C" fn ended(table: *mut c_void) {
    // SAFETY: a table that `set` has made, of a thread that has no other use for it. A value was stored after its destructor.
    unsafe {
        for (value, destructor) in table.cast::<Table>().read().into_iter().zip(&DESTRUCTORS) {
            let destructor = destructor.load(Acquire);
            if !value.is_null() && !destructor.is_null() {
                std::mem::transmute::<*mut c_void, Destructor>(destructor)(value);
            }
        }
        memory::release(table.cast());
    }
}

/// The calling thread's value at `index`; null where there is none.
fn get(index: usize) -> *mut c_void {
    // SAFETY: null, or this thread's table.
    let table = unsafe { TABLE.get().cast::<Table>().as_ref() };
    table.and_then(|table| table.get(index).copied()).unwrap_or(null_mut())
}

/// Sets a value; false where there is no memory for it, or no such value.
fn set(index: usize, value: *mut c_void, destructor: Destructor) -> bool {
    let Some(kept) = DESTRUCTORS.get(index) else { return false };
    let mut table = TABLE.get().cast::<Table>();
    if table.is_null() {
        table = memory::allocate(size_of::<Table>()).cast();
        if table.is_null() {
            return false;
        }
        // SAFETY: memory of that length, aligned for pointers, that is this thread's alone; given back where nobody has seen it.
        unsafe {
            table.write([null_mut(); VALUES]);
            if !TABLE.set(table.cast()) {
                memory::release(table.cast());
                return false;
            }
        }
    }
    kept.store(destructor as *mut c_void, Release);
    // SAFETY: the table is this thread's alone, and `index` is below VALUES: `DESTRUCTORS` has it.
    unsafe { (*table)[index] = value };
    true
}

// No module shows them to its program.
std::arch::global_asm!(
    concat!(".hidden __wrap_", symbol!(CRYPTO_get_thread_local)),
    concat!(".hidden __wrap_", symbol!(CRYPTO_set_thread_local)),
);

#[unsafe(export_name = concat!("__wrap_", symbol!(CRYPTO_get_thread_local)))]
extern "C" fn get_thread_local(index: c_uint) -> *mut c_void {
    get(index as usize)
}

#[unsafe(export_name = concat!("__wrap_", symbol!(CRYPTO_set_thread_local)))]
unsafe extern "C" fn set_thread_local(index: c_uint, value: *mut c_void, destructor: Destructor) -> c_int {
    if set(index as usize, value, destructor) {
        return 1;
    }
    // SAFETY: AWS-LC's own function for this value, which it has called where the value is not kept.
    unsafe { destructor(value) };
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    static ENDED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn add(value: *mut c_void) {
        ENDED.fetch_add(value.addr(), std::sync::atomic::Ordering::AcqRel);
    }

    /// Thread values, set and freed as AWS-LC does, at indices that AWS-LC does not use: they belong to a thread and end with it.
    #[test]
    fn values_are_a_threads_and_end_with_it() {
        let value = |number| std::ptr::without_provenance_mut::<c_void>(number);
        let (one, other) = (VALUES as c_uint - 2, VALUES as c_uint - 1);
        std::thread::scope(|scope| {
            for number in 1..=8 {
                scope.spawn(move || {
                    assert!(get_thread_local(one).is_null());
                    // SAFETY: the destructor takes any pointer.
                    assert_eq!(unsafe { set_thread_local(one, value(number), add) }, 1);
                    assert!(get_thread_local(other).is_null());
                    assert_eq!(get_thread_local(one), value(number));
                });
            }
        });
        // A scope ends before the destructors of its threads do.
        while ENDED.load(Acquire) < 36 {
            std::thread::yield_now();
        }
        // SAFETY: the destructor takes any pointer.
        assert_eq!(unsafe { set_thread_local(VALUES as c_uint, value(100), add) }, 0);
        assert_eq!((ENDED.load(Acquire), get_thread_local(VALUES as c_uint)), (136, null_mut()));
    }
}
