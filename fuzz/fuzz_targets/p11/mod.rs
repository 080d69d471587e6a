//! What the targets of the PKCS #11 module share: its functions, and memory for what calls point to.

#![allow(dead_code, reason = "each target uses its part")]

pub mod mechanism;

use cryptoki_sys::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The slot of the accelerator token.
pub const ACCELERATOR: CK_SLOT_ID = 1;
/// The slot of a token whose file the target writes.
pub const FILE: CK_SLOT_ID = 4;

/// The folder of this process.
pub fn folder() -> &'static std::path::Path {
    static FOLDER: OnceLock<std::path::PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("adjunct-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    })
}

/// The functions of version 3.2, initialized.
pub fn functions() -> &'static CK_FUNCTION_LIST_3_2 {
    static LIST: OnceLock<&'static CK_FUNCTION_LIST_3_2> = OnceLock::new();
    LIST.get_or_init(|| {
        let conf = folder().join("tokens.conf");
        let token = folder().join("fuzzed.token");
        std::fs::write(&conf, format!("[[token]]\nslot = {FILE}\npath = {token:?}\n")).expect("a configuration");
        // SAFETY: no other thread of a fuzz target reads the environment.
        unsafe { std::env::set_var("ADJUNCT_PKCS11_CONF", &conf) };
        let (mut interface, mut version) = (null_mut(), CK_VERSION { major: 3, minor: 2 });
        // SAFETY: the arguments live; the list of an interface of version 3.2 is of this type, and lives for good.
        unsafe {
            assert_eq!(adjunct_pkcs11::C_GetInterface(null_mut(), &raw mut version, &raw mut interface, 0), CKR_OK);
            let list = &*(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>();
            // Another target of the same program may have been first, with the same configuration.
            let rv = list.C_Initialize.expect("a function")(null_mut());
            assert!(matches!(rv, CKR_OK | CKR_CRYPTOKI_ALREADY_INITIALIZED), "{rv:#x}");
            list
        }
    })
}

/// Memory for what calls point to: all of it lives until the input has been run, and ends where a call may go no further.
#[derive(Default)]
pub struct Memory {
    bytes: Vec<Box<[u8]>>,
    values: Vec<Box<dyn std::any::Any>>,
}

impl Memory {
    pub fn bytes(&mut self, bytes: Vec<u8>) -> *mut u8 {
        if bytes.is_empty() {
            return null_mut();
        }
        self.bytes.push(bytes.into_boxed_slice());
        self.bytes.last_mut().expect("just pushed").as_mut_ptr()
    }

    pub fn value<T: 'static>(&mut self, value: T) -> *mut T {
        let mut place = Box::new(value);
        let pointer = &raw mut *place;
        self.values.push(place);
        pointer
    }

    pub fn list<T: 'static>(&mut self, list: Vec<T>) -> *mut T {
        let mut place = list.into_boxed_slice();
        let pointer = place.as_mut_ptr();
        self.values.push(Box::new(place));
        pointer
    }

    /// A mechanism with a structure as its parameter.
    pub fn with<T: 'static>(&mut self, kind: CK_MECHANISM_TYPE, value: T) -> CK_MECHANISM {
        let pointer = self.value(value);
        CK_MECHANISM { mechanism: kind, pParameter: pointer.cast(), ulParameterLen: size_of::<T>() as CK_ULONG }
    }
}

/// An attribute with these bytes.
pub fn attribute(memory: &mut Memory, kind: CK_ATTRIBUTE_TYPE, bytes: &[u8]) -> CK_ATTRIBUTE {
    CK_ATTRIBUTE {
        type_: kind,
        pValue: memory.bytes(bytes.to_vec()).cast::<c_void>(),
        ulValueLen: bytes.len() as CK_ULONG,
    }
}

/// An attribute with a number.
pub fn number(memory: &mut Memory, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> CK_ATTRIBUTE {
    attribute(memory, kind, &value.to_ne_bytes())
}
