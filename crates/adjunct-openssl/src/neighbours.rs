//! Steps back where a program brings a provider of its own, so that `-provider` and `OSSL_PROVIDER_load` mean what they mean without
//! adjunct (`yield = yes` in the module's section).
//!
//! Where no configuration activates a provider, OpenSSL loads `default` at the first search for an algorithm, and not at all in a program that has
//! loaded a provider by then: a key that `openssl genpkey -provider tpm2` makes is the TPM's. A configuration that activates any provider ends that.
//! So adjunct's configuration activates `default` too; then `default` and adjunct would come before the program's provider, and make the key in
//! software.
//!
//! Therefore, where a provider that does not come with OpenSSL is loaded before the first search, adjunct offers nothing in this library context, and
//! the preference for adjunct is replaced by one for every provider but `default`. Where it is certain that OpenSSL would not have loaded `default`
//! at all, `default` also loses the activation by the configuration: in the `openssl` command, and in programs with one thread that call nothing for
//! which OpenSSL would have loaded it. In other programs, what the program's provider lacks is found in `default`. Nothing is changed in programs
//! that load `default` themselves first, or that ask for providers in a way that keeps it (`OSSL_PROVIDER_try_load`). A property query that the
//! program has set itself stays, and with it `default`.
//!
//! OpenSSL announces a provider while it holds its locks, so the announcement is only noted. Each search asks every provider what it offers, without
//! locks and before it looks at the preference; the first search after the announcement makes the change, and other searches wait for it. So no
//! thread reads the preference while it is changed. That first search still sees `default`: its algorithms stay known to OpenSSL, hidden by the
//! preference. If the program loads `default` later, and has one thread, the preference is changed again. Nothing is removed from OpenSSL's lists,
//! since a search may be walking through them.

use adjunct::fork;
use adjunct::slab::{Number, Slab};
use adjunct::thread::ask_whether_alone;
use adjunct_ossl::core::Core;
use adjunct_ossl::guard;
use adjunct_ossl::imports;
use adjunct_ossl::neighbours::{Handle, Neighbours};
use adjunct_ossl::properties::{self, Properties};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64};

/// The default property query that `adjunct openssl enable` writes, and the one that replaces it.
const OURS: &str = "?provider=adjunct";
const OTHERS: &str = "?provider!=default";
/// The property query that hides `default` from all fetches that name no provider.
const NOT_DEFAULT: &str = "provider!=default";

/// The providers that come with OpenSSL: they serve none of the keys that adjunct serves, or are what adjunct stands before.
const OF_OPENSSL: [&CStr; 3] = [c"default", c"legacy", c"base"];

/// Functions that load a provider beside `default`: a program that calls them means to have both.
const BESIDE_DEFAULT: [&str; 2] = ["OSSL_PROVIDER_try_load", "OSSL_PROVIDER_try_load_ex"];

/// Functions for which OpenSSL loads `default` before the first search.
const FOR_DEFAULT: [&str; 2] = ["OSSL_PROVIDER_available", "OSSL_PROVIDER_do_all"];

/// The phase of a watch, in the lower half of [`Seen::phase`]: OpenSSL reports the providers that exist already.
const TOLD: u64 = 0;
/// No search for an algorithm has been made.
const FRESH: u64 = 1;
/// adjunct serves, and later providers change nothing.
const SERVES: u64 = 2;
/// A program's provider has come before the first search.
const FOREIGN: u64 = 3;
/// A thread of the process whose number is in the upper half makes the change.
const CHANGES: u64 = 4;
/// adjunct offers nothing.
const STEPPED_BACK: u64 = 5;
/// adjunct offers nothing, and `default` is deactivated.
const HIDDEN: u64 = 6;
/// The program has loaded `default` itself after it was deactivated.
const RETURNS: u64 = 7;

/// The known providers of a library context, and the phase of its watch.
#[derive(Debug)]
struct Seen {
    neighbours: Neighbours,
    phase: AtomicU64,
    /// OpenSSL's default provider, which the configuration has activated before adjunct.
    default: AtomicPtr<c_void>,
    /// References to the provider that the configuration has made.
    references: AtomicI32,
    /// The references to this provider before the first search, which makes one to each.
    own_references: AtomicI32,
    /// The query in force, a `CString`, where it has a preference for adjunct or was set by us; else null.
    query: AtomicPtr<c_char>,
}

/// The watches, by number: OpenSSL may still call with the number of a watch that is gone, until the library context is freed.
static SEEN: Slab<Seen> = Slab::new();

/// The watch that a provider keeps.
#[derive(Debug)]
pub struct Watch {
    seen: adjunct::slab::Entry<Seen>,
    number: Number,
}

impl Watch {
    /// Has OpenSSL tell of other providers. `None` where it cannot, or where `default` is not active yet.
    pub fn new(core: &Core) -> Option<Watch> {
        Properties::find(core.libcrypto()?)?;
        let neighbours = core.neighbours()?;
        let entry = SEEN.insert(Seen {
            neighbours,
            phase: AtomicU64::new(TOLD),
            default: AtomicPtr::default(),
            references: AtomicI32::new(0),
            own_references: AtomicI32::new(0),
            query: AtomicPtr::default(),
        });
        let seen = entry.ok()?;
        let number = SEEN.keep(seen.clone());
        let watch = Watch { seen, number };
        // SAFETY: the argument is no pointer but a number, which names nothing once the watch is dropped; the functions are the module's,
        // which is never unmapped.
        let told = unsafe { neighbours.register(came, went, query, number.get() as usize as *mut c_void) };
        let ready = told && !watch.seen.default.load(Relaxed).is_null();
        watch.seen.phase.store(if ready { FRESH } else { SERVES }, Release);
        ready.then_some(watch)
    }

    /// Whether adjunct is to offer nothing. To be called whenever OpenSSL asks what is offered.
    #[inline]
    pub fn steps_back(&self, core: &Core) -> bool {
        match self.seen.phase.load(Acquire) {
            SERVES => false,
            STEPPED_BACK | HIDDEN => true,
            _ => self.seen.decide(core),
        }
    }

    /// Notes that the program lists providers, for which OpenSSL would have loaded `default`.
    pub fn looked_at(&self) {
        let _ = self.seen.phase.compare_exchange(FRESH, SERVES, AcqRel, Acquire);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        SEEN.retire(self.number);
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.set_query(None);
    }
}

impl Seen {
    #[cold]
    fn decide(&self, core: &Core) -> bool {
        let own = u64::from(fork::generation()) << 32;
        loop {
            let now = self.phase.load(Acquire);
            let next = match now {
                FRESH => SERVES,
                FOREIGN | RETURNS => CHANGES | own,
                SERVES | TOLD => return false,
                STEPPED_BACK | HIDDEN => return true,
                // A fork's child has no thread that would end it.
                changes if changes & !u64::from(u32::MAX) != own => STEPPED_BACK,
                _ => {
                    std::thread::yield_now();
                    continue;
                }
            };
            if self.phase.compare_exchange(now, next, AcqRel, Acquire).is_ok() && next == CHANGES | own {
                let end = if now == FOREIGN { self.step_back(core) } else { self.show_default(core) };
                self.phase.store(end, Release);
                return end != SERVES;
            }
        }
    }

    /// Has the program's provider come before `default`, unless the program means to have that, too.
    fn step_back(&self, core: &Core) -> u64 {
        let Some(libcrypto) = core.libcrypto() else { return SERVES };
        if imports::of_libcrypto(libcrypto, &BESIDE_DEFAULT) {
            return SERVES;
        }
        let certain = is_openssl_command() || !imports::of_libcrypto(libcrypto, &FOR_DEFAULT);
        if certain && ask_whether_alone() && !self.default_is_loaded(true) && self.set(core, OURS, NOT_DEFAULT) {
            // SAFETY: no notice, and the activation is the configuration's, which adjunct is the reason for.
            unsafe { self.neighbours.deactivate(self.default.load(Acquire)) };
            return HIDDEN;
        }
        self.set(core, OURS, OTHERS);
        STEPPED_BACK
    }

    /// Stops hiding `default`, which the program has loaded now. In a program with threads that cannot be done.
    fn show_default(&self, core: &Core) -> u64 {
        if ask_whether_alone() {
            self.set(core, NOT_DEFAULT, OTHERS);
        }
        STEPPED_BACK
    }

    /// Replaces a clause of the default query. Says whether that was done: without the clause the program has set one of its own.
    fn set(&self, core: &Core, from: &str, to: &str) -> bool {
        let text = self.take_query().and_then(|query| properties::replaced(query.to_str().ok()?, from, to));
        let Some(query) = text.and_then(|text| CString::new(text).ok()) else { return false };
        let Some(properties) = core.libcrypto().and_then(Properties::find) else { return false };
        // SAFETY: the context is the one that loaded this provider. The first time, nobody has searched it before: every search asks what
        // is offered first, which made the phase another one; and those that have begun since wait in `decide`. Later there is one thread.
        unsafe { properties.set(core.library_context(), &query) }
    }

    /// A provider came.
    fn came(&self, provider: Handle) {
        if self.neighbours.is_own(provider) {
            return;
        }
        // SAFETY: called in a notice, with its handle.
        let name = unsafe { self.neighbours.name(provider) };
        match self.phase.load(Acquire) {
            TOLD if name == c"default" => {
                // SAFETY: `provider` is the handle that OpenSSL passed to the notice, and the notice has not returned.
                self.references.store(unsafe { self.neighbours.references(provider) }, Relaxed);
                self.default.store(provider.cast_mut(), Release);
            }
            HIDDEN if name == c"default" => {
                let _ = self.phase.compare_exchange(HIDDEN, RETURNS, AcqRel, Acquire);
            }
            FRESH if !OF_OPENSSL.contains(&name) => {
                // SAFETY: a handle of this library context.
                self.own_references.store(unsafe { self.neighbours.own_references() }, Relaxed);
                let next = if self.default_is_loaded(false) { SERVES } else { FOREIGN };
                let _ = self.phase.compare_exchange(FRESH, next, AcqRel, Acquire);
            }
            _ => {}
        }
    }

    /// Whether the program has loaded `default` itself; in a search, which has a reference to each provider, as it may to none.
    fn default_is_loaded(&self, in_search: bool) -> bool {
        let default = self.default.load(Acquire);
        // SAFETY: a handle of this library context, which lives as long as OpenSSL calls.
        let (all, own) = unsafe { (self.neighbours.references(default), self.neighbours.own_references()) };
        let of_search = if in_search { own - self.own_references.load(Relaxed) } else { 0 };
        all - of_search > self.references.load(Relaxed)
    }

    fn set_query(&self, query: Option<CString>) {
        let old = self.query.swap(query.map_or(null_mut(), CString::into_raw), AcqRel);
        if !old.is_null() {
            // SAFETY: from `into_raw`, and taken out by this thread alone.
            drop(unsafe { CString::from_raw(old) });
        }
    }

    fn take_query(&self) -> Option<CString> {
        let query = self.query.swap(null_mut(), AcqRel);
        // SAFETY: a pointer in the place is from `into_raw`, and this thread has taken it out.
        (!query.is_null()).then(|| unsafe { CString::from_raw(query) })
    }
}

/// The entry that the argument of a notice stands for, while it exists.
fn seen(argument: *mut c_void) -> Option<adjunct::slab::Entry<Seen>> {
    SEEN.get(Number::from_integer(argument as usize as u64)?)
}

unsafe extern "C" fn came(provider: Handle, argument: *mut c_void) -> c_int {
    guard((), || {
        if let Some(seen) = seen(argument) {
            seen.came(provider);
        }
    });
    1
}

unsafe extern "C" fn went(_provider: Handle, _argument: *mut c_void) -> c_int {
    1
}

unsafe extern "C" fn query(query: *const c_char, argument: *mut c_void) -> c_int {
    guard((), || {
        let Some(seen) = seen(argument) else { return };
        // SAFETY: a C string, for the time of the call; OpenSSL gives none where there is no query.
        let text = if query.is_null() { c"" } else { unsafe { CStr::from_ptr(query) } };
        let known =
            |text: &&str| [OURS, NOT_DEFAULT].iter().any(|clause| properties::replaced(text, clause, "").is_some());
        seen.set_query(text.to_str().ok().filter(known).and_then(|text| CString::new(text).ok()));
    });
    1
}

/// Whether this is OpenSSL's own command, which has its providers loaded before it does anything else.
fn is_openssl_command() -> bool {
    // SAFETY: the kernel's pointer to the path that was executed, which stays; 0 where it gave none.
    let path = unsafe {
        match libc::getauxval(libc::AT_EXECFN) {
            0 => c"",
            path => CStr::from_ptr(path as *const c_char),
        }
    };
    path.to_bytes().rsplit(|&b| b == b'/').next() == Some(b"openssl")
}
