//! The tables of methods that hold our functions, libcrypto's own among them.
//!
//! An engine that is the default of RSA or EC makes every key of the process *foreign* to libcrypto, those of its default provider included:
//! `ossl_rsa_is_foreign` (crypto/rsa/rsa_backend.c) and `ec_pkey_export_to` (crypto/ec/ec_ameth.c) take no key for one of theirs that has an engine
//! or another table than `RSA_PKCS1_OpenSSL()` or `EC_KEY_OpenSSL()`. A foreign key cannot be duplicated, is exported to no provider, and so cannot
//! be checked, nor given parameters. A default method that is another table has the same effect. And each new key of a process that has a default
//! engine takes libcrypto's lock of engines for writing, which a child forked while another thread holds it finds locked without end.
//!
//! So the functions are set in libcrypto's own tables: the keys stay its own, and no lock is taken that stock does not take.

use adjunct_ossl::object;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The tables of one kind of key that hold our functions: libcrypto's own, and that of the engine.
///
/// Others copy tables (`RSA_meth_dup`, `EC_KEY_METHOD_new`) and replace functions of the copy: a key with such a copy belongs to
/// who made it, and our functions hand it on.
#[derive(Debug)]
pub struct Tables([AtomicPtr<c_void>; 2]);

impl Tables {
    /// Makes an empty list.
    pub const fn new() -> Tables {
        Tables([const { AtomicPtr::new(null_mut()) }; 2])
    }

    /// Adds a table.
    pub fn add(&self, table: *const c_void) {
        for place in &self.0 {
            let (new, order) = (table.cast_mut(), Ordering::AcqRel);
            match place.compare_exchange(null_mut(), new, order, Ordering::Acquire) {
                Ok(_) => return,
                Err(there) if there == new => return,
                Err(_) => {}
            }
        }
    }

    /// Whether `table` is one of these tables.
    pub fn has(&self, table: *const c_void) -> bool {
        self.0.iter().any(|place| place.load(Ordering::Acquire).cast_const() == table)
    }
}

impl Default for Tables {
    fn default() -> Tables {
        Tables::new()
    }
}

/// How many bytes of a table hold functions that are set: both have fifteen words, ours among them.
const LENGTH: usize = 16 * size_of::<usize>();

/// Runs `write`, which writes to a table within a loaded object, where the table is or can be made writable for so long.
///
/// OpenSSL's table for RSA is data; that for EC is constant, and becomes read-only when the loader has relocated it. Such pages
/// are the process's own (relocation wrote to them). Nothing but reading is asked of them meanwhile by others.
///
/// # Safety
/// `table` is libcrypto's, and `write` stores aligned words in it alone.
pub unsafe fn writing(table: *const c_void, write: impl FnOnce()) -> bool {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let (first, last) = (table as usize & !(page - 1), (table as usize + LENGTH - 1) & !(page - 1));
    let mut opened = [None; 2];
    for (place, at) in opened.iter_mut().zip((first..=last).step_by(page)) {
        match protection(at.max(table as usize), page) {
            // What is only read, and not run: other threads may be running it.
            Some(libc::PROT_READ) if protect(at, page, libc::PROT_READ | libc::PROT_WRITE) => *place = Some(at),
            Some(now) if now & libc::PROT_WRITE != 0 => {}
            // The object ends before: so does the table.
            None if at != first => {}
            _ => {
                close(opened, page);
                return false;
            }
        }
    }
    write();
    close(opened, page);
    true
}

fn close(opened: [Option<usize>; 2], page: usize) {
    for at in opened.into_iter().flatten() {
        // Where it fails the page stays writable, as before its relocation.
        protect(at, page, libc::PROT_READ);
    }
}

fn protect(at: usize, page: usize, protection: c_int) -> bool {
    // SAFETY: a page of a loaded object that is data and stays readable.
    unsafe { libc::mprotect(at as *mut c_void, page, protection) == 0 }
}

/// How the loader has left the page of an address: as its segment says, without writing where relocation was the last to.
/// `None` for an address in no loaded object.
fn protection(address: usize, page: usize) -> Option<c_int> {
    object::find_loaded(|object| {
        let segment = object.segment(address)?;
        let mut found = libc::PROT_NONE;
        for (flag, protection) in
            [(libc::PF_R, libc::PROT_READ), (libc::PF_W, libc::PROT_WRITE), (libc::PF_X, libc::PROT_EXEC)]
        {
            found |= if segment.p_flags & flag != 0 { protection } else { 0 };
        }
        // The last page of it stays writable where other data begins on it.
        let down = |address: usize| address & !(page - 1);
        let relocated = object.headers.iter().filter(|h| h.p_type == libc::PT_GNU_RELRO).any(|header| {
            let start = object.start(header);
            (down(start)..down(start.wrapping_add(header.p_memsz as usize))).contains(&address)
        });
        Some(if relocated { found & !libc::PROT_WRITE } else { found })
    })
}
