//! A client of the module for tests: safe functions over its C interface, version 3.2.

#![allow(unsafe_code, dead_code)]

pub mod attributes;
pub mod calls;

pub use attributes::{Attributes, Mechanism};
use cryptoki_sys::*;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The result of a call: an error is the return value.
pub type Result<T = ()> = std::result::Result<T, CK_RV>;

/// A return value as a result.
pub fn check(rv: CK_RV) -> Result {
    if rv == CKR_OK { Ok(()) } else { Err(rv) }
}

/// The functions of version 3.2, of a module that is initialized once in this process.
pub fn functions() -> &'static CK_FUNCTION_LIST_3_2 {
    static LIST: OnceLock<&'static CK_FUNCTION_LIST_3_2> = OnceLock::new();
    LIST.get_or_init(|| {
        let mut interface = null_mut();
        let mut version = CK_VERSION { major: 3, minor: 2 };
        // SAFETY: the arguments live; the list of an interface of version 3.2 is of this type, and lives for good.
        let list = unsafe {
            assert_eq!(adjunct_pkcs11::C_GetInterface(null_mut(), &raw mut version, &raw mut interface, 0), CKR_OK);
            &*(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>()
        };
        // SAFETY: no arguments are given.
        let rv = unsafe { list.C_Initialize.expect("a function")(null_mut()) };
        assert!(rv == CKR_OK || rv == CKR_CRYPTOKI_ALREADY_INITIALIZED, "{rv:#x}");
        list
    })
}

/// The functions of version 2.40, by C_GetFunctionList, of the same module.
pub fn old_functions() -> &'static CK_FUNCTION_LIST {
    functions();
    let mut list = null_mut();
    // SAFETY: the argument lives, and so does the list, for good.
    unsafe {
        assert_eq!(adjunct_pkcs11::C_GetFunctionList(&raw mut list), CKR_OK);
        &*list
    }
}

/// Calls a function of the list; its return value.
#[macro_export]
macro_rules! p11 {
    // The arguments are computed one after the other, outside of what is unsafe.
    (@ $name:ident [$($done:ident)*]) => {{
        let function = $crate::common::functions().$name.expect(stringify!($name));
        // SAFETY: the arguments are what the standard says, or what a test wants to be refused without being read.
        unsafe { function($($done),*) }
    }};
    (@ $name:ident [$($done:ident)*] $argument:expr, $($rest:expr,)*) => {
        match $argument { argument => $crate::p11!(@ $name [$($done)* argument] $($rest,)*) }
    };
    ($name:ident($($argument:expr),* $(,)?)) => { $crate::p11!(@ $name [] $($argument,)*) };
}

/// A pointer to bytes that a call reads; null for none.
pub fn input(bytes: &[u8]) -> *mut u8 {
    if bytes.is_empty() { null_mut() } else { bytes.as_ptr().cast_mut() }
}

/// A length as calls have it.
pub fn length(bytes: &[u8]) -> CK_ULONG {
    bytes.len() as CK_ULONG
}

/// The result of a call that is first asked for the length, and must then keep to it.
pub fn asked(mut call: impl FnMut(*mut u8, *mut CK_ULONG) -> CK_RV) -> Result<Vec<u8>> {
    let mut most = 0;
    check(call(null_mut(), &raw mut most))?;
    let mut out = vec![0xa5; most as usize + 8];
    let mut length = most;
    check(call(out.as_mut_ptr(), &raw mut length))?;
    assert!(length <= most && out[most as usize..] == [0xa5; 8], "{length} of {most} bytes");
    out.truncate(length as usize);
    Ok(out)
}

/// Makes a call with room for `room` bytes; gives its return value, the length that it says, and the room.
pub fn with_room(room: usize, call: impl FnOnce(*mut u8, *mut CK_ULONG) -> CK_RV) -> (CK_RV, usize, Vec<u8>) {
    let mut out = vec![0xa5; room + 8];
    let mut length = room as CK_ULONG;
    let rv = call(out.as_mut_ptr(), &raw mut length);
    assert!(out[room..] == [0xa5; 8], "written behind {room} bytes");
    out.truncate(room);
    (rv, length as usize, out)
}

/// A handle as an argument.
pub type Handle = CK_OBJECT_HANDLE;

/// A session, closed at its end.
#[derive(Debug)]
pub struct Session(pub CK_SESSION_HANDLE);

impl Drop for Session {
    fn drop(&mut self) {
        p11!(C_CloseSession(self.0));
    }
}

/// The slot of the accelerator token.
pub const ACCELERATOR: CK_SLOT_ID = 1;

impl Session {
    /// A session for reading and writing with the accelerator token.
    pub fn open() -> Session {
        Session::open_in(ACCELERATOR, CKF_SERIAL_SESSION | CKF_RW_SESSION).expect("a session")
    }

    /// A session with the token of a slot.
    pub fn open_in(slot: CK_SLOT_ID, flags: CK_FLAGS) -> Result<Session> {
        let mut handle = 0;
        check(p11!(C_OpenSession(slot, flags, null_mut(), None, &raw mut handle)))?;
        Ok(Session(handle))
    }
}
