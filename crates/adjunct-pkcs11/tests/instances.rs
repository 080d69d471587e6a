//! Two copies of the module in one process, as when its package is upgraded beneath a running program, or two paths lead to two files: they know
//! nothing of each other, and share a token's file.

#![allow(unsafe_code)]

mod loaded;

use adjunct::catalogue::Function;
use adjunct::counters;
use adjunct_pkcs11::admin::{self, Configured};
use cryptoki_sys::*;
use loaded::{ACCELERATOR, Functions, RW, STORE, attribute, inside, library};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

const SO_PIN: [u8; 8] = *b"so pin 1";
const PIN: [u8; 8] = *b"12345678";
/// Objects that each copy makes.
const COUNT: u64 = 50;

/// The functions of a copy of the library at another path.
fn copy(number: u32) -> Functions {
    let path = std::env::temp_dir().join(format!("adjunct-instance-{}-{number}.so", std::process::id()));
    std::fs::copy(library().expect("a library"), &path).expect("a copy");
    // SAFETY: the library is our own.
    let library = unsafe { libloading::Library::new(&path) }.expect("a library that loads");
    std::fs::remove_file(&path).expect("loaded");
    let library = std::mem::ManuallyDrop::new(library);
    let (mut interface, mut version): (*mut CK_INTERFACE, _) = (null_mut(), CK_VERSION { major: 3, minor: 2 });
    type Get = unsafe extern "C" fn(*mut u8, *mut CK_VERSION, *mut *mut CK_INTERFACE, CK_FLAGS) -> CK_RV;
    // SAFETY: the function of that name is of this type; the list of an interface of version 3.2 is too, and lives for good.
    unsafe {
        let get = library.get::<Get>(b"C_GetInterface").expect("C_GetInterface");
        assert_eq!(get(null_mut(), &raw mut version, &raw mut interface, 0), CKR_OK);
        Functions(&*(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>())
    }
}

fn login(functions: Functions, user: CK_USER_TYPE, pin: [u8; 8]) -> CK_SESSION_HANDLE {
    let (mut session, mut pin) = (0, pin);
    assert_eq!(at!(functions, C_OpenSession(STORE, RW, null_mut(), None, &raw mut session)), CKR_OK);
    assert_eq!(at!(functions, C_Login(session, user, pin.as_mut_ptr(), 8)), CKR_OK);
    session
}

fn make(functions: Functions, session: CK_SESSION_HANDLE, label: &[u8; 8]) -> CK_OBJECT_HANDLE {
    let (class, yes, value) = (CKO_DATA, CK_TRUE, [7_u8; 64]);
    let mut template = [
        attribute(CKA_CLASS, &class),
        attribute(CKA_TOKEN, &yes),
        attribute(CKA_PRIVATE, &yes),
        attribute(CKA_VALUE, &value),
        attribute(CKA_LABEL, label),
    ];
    let mut made = 0;
    assert_eq!(at!(functions, C_CreateObject(session, template.as_mut_ptr(), 5, &raw mut made)), CKR_OK);
    made
}

fn label(copy: u8, number: u64) -> [u8; 8] {
    let mut label = number.to_be_bytes();
    label[0] = copy;
    label
}

/// A thread that ends, or fails.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn two_copies_in_one_process_keep_one_token_whole() {
    if !inside("two_copies_in_one_process_keep_one_token_whole") {
        return;
    }
    let copies = [copy(1), copy(2)];
    copies.iter().for_each(|copy| copy.initialize().unwrap());
    let (mut so_pin, mut name) = (SO_PIN, [b'x'; 32]);
    assert_eq!(at!(copies[0], C_InitToken(STORE, so_pin.as_mut_ptr(), 8, name.as_mut_ptr())), CKR_OK);
    let session = login(copies[0], CKU_SO, SO_PIN);
    let mut pin = PIN;
    assert_eq!(at!(copies[0], C_InitPIN(session, pin.as_mut_ptr(), 8)), CKR_OK);
    assert_eq!(at!(copies[0], C_Logout(session)), CKR_OK);
    let sessions = copies.map(|copy| login(copy, CKU_USER, PIN));
    let path = PathBuf::from(std::env::var_os("XDG_DATA_HOME").unwrap()).join("adjunct/tokens/default.token");
    let (lock, busy) = (path.with_extension("token.lock"), AtomicUsize::new(4));
    assert!(lock.is_file());
    // Two threads with each copy; every fifth object goes again.
    std::thread::scope(|scope| {
        // Somebody who takes the lock's file for one that was left behind.
        scope.spawn(|| {
            while busy.load(Relaxed) > 0 {
                let _ = std::fs::remove_file(&lock);
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        for thread in 0..4_u64 {
            let at = (thread % 2) as usize;
            let (copy, session, busy) = (copies[at], sessions[at], &busy);
            scope.spawn(move || {
                let _done = Done(busy);
                for number in (0..COUNT).filter(|number| number % 2 == thread / 2) {
                    let made = make(copy, session, &label(at as u8 + 1, number));
                    if number % 5 == 0 {
                        copy.destroy(session, made).unwrap();
                    }
                }
            });
        }
    });
    for (copy, session) in copies.iter().zip(sessions) {
        for owner in 1..=2 {
            for number in 0..COUNT {
                let found = copy.find(session, &label(owner, number)).unwrap();
                assert_eq!(found, CK_ULONG::from(number % 5 != 0), "{number} of {owner}");
            }
        }
    }
    let token = Configured { slot: STORE, path, read_only: false, tpm: None, named: false, machines: false };
    let seen = admin::examine(&token);
    assert_eq!((seen.trouble, seen.checked, seen.objects), (None, true, Some(80)));
    let repaired = admin::repair(&token, false, &PIN).unwrap();
    assert!(matches!(repaired, admin::Repaired::Whole(_)), "{repaired:?}");
    copies.iter().for_each(|copy| copy.finalize().unwrap());
}

/// What both do is counted, each call once: no thread of one takes a slot that a thread of the other counts in.
#[test]
fn two_copies_in_one_process_count_all_that_they_do() {
    if !inside("two_copies_in_one_process_count_all_that_they_do") {
        return;
    }
    const CALLS: u64 = 20_000;
    let copies = [copy(1), copy(2)];
    copies.iter().for_each(|copy| copy.initialize().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let copy = copies[thread % 2];
            scope.spawn(move || {
                let session = copy.open(ACCELERATOR).unwrap();
                let key = copy.secret(session, CKK_GENERIC_SECRET, b"hmac....").unwrap();
                (0..CALLS).for_each(|_| copy.sign(session, CKM_SHA256_HMAC, key).unwrap());
            });
        }
    });
    // SAFETY: no arguments.
    let uid = unsafe { libc::geteuid() };
    let counted = counters::read(uid).unwrap().unwrap().function(Function::HmacSha2_256);
    assert_eq!(counted.hardware_calls() + counted.software_calls(), 4 * CALLS);
    copies.iter().for_each(|copy| copy.finalize().unwrap());
}
