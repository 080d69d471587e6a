//! The module as programs have it: the shared library, loaded at run time, in a process for each scenario.

#![allow(unsafe_code, dead_code)]

use adjunct::counters::Apart;
use cryptoki_sys::*;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

pub const RW: CK_FLAGS = CKF_SERIAL_SESSION | CKF_RW_SESSION;
/// The accelerator token's slot, and the user's own store token's.
pub const ACCELERATOR: CK_SLOT_ID = 1;
pub const STORE: CK_SLOT_ID = 3;

/// Whether long runs are wanted.
pub fn deep() -> bool {
    std::env::var_os("ADJUNCT_DEEP").is_some_and(|value| value == "1")
}

/// The library that was built along with this test.
pub fn library() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let found =
        program.ancestors().skip(1).take(2).map(|folder| folder.join("libadjunct_pkcs11.so")).find(|p| p.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: libadjunct_pkcs11.so is not built");
    }
    found
}

/// The word of the counters that a scenario has of its own.
fn counted_apart(test: &str) -> String {
    format!("p11{:x}{}", std::process::id(), test.len())
}

/// This program, to run one of its tests with a home of its own.
pub fn command(test: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("SCENARIO", test).env("XDG_DATA_HOME", home).env("XDG_CONFIG_HOME", home).env("HOME", home);
    command.env_remove("ADJUNCT_PKCS11_CONF").env_remove("ADJUNCT_PKCS11_TRACE");
    command.env("ADJUNCT_STATS_KEY", counted_apart(test)).env("ADJUNCT_STATS", "on");
    command
}

/// Whether this is the process of a scenario; else runs one, which must succeed.
pub fn inside(test: &str) -> bool {
    if std::env::var("SCENARIO").is_ok_and(|scenario| scenario == test) {
        return true;
    }
    if library().is_some() {
        let home = tempfile::tempdir().expect("a folder");
        let Output { status, stdout, stderr } = command(test, home.path()).output().expect("this program");
        // SAFETY: no arguments.
        let _ = Apart::of(&counted_apart(test)).delete(unsafe { libc::geteuid() });
        let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{test}: {status}\n{out}\n{err}");
        out.lines().filter_map(|line| line.split_once("# ")).for_each(|(_, said)| println!("{test}: {said}"));
    }
    false
}

/// Calls a function of a list; its return value.
#[macro_export]
macro_rules! at {
    // The arguments are computed one after the other, outside of what is unsafe.
    (@ $list:ident $name:ident [$($done:ident)*]) => {{
        let function = $list.$name.expect(stringify!($name));
        // SAFETY: the arguments are what the standard says, or what the module has to refuse.
        unsafe { function($($done),*) }
    }};
    (@ $list:ident $name:ident [$($done:ident)*] $argument:expr, $($rest:expr,)*) => {
        match $argument { argument => $crate::at!(@ $list $name [$($done)* argument] $($rest,)*) }
    };
    ($list:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let list = &$list;
        $crate::at!(@ list $name [] $($argument,)*)
    }};
}

/// The functions of one interface.
#[derive(Clone, Copy)]
pub struct Functions(pub &'static CK_FUNCTION_LIST_3_2);

impl std::ops::Deref for Functions {
    type Target = CK_FUNCTION_LIST_3_2;

    fn deref(&self) -> &CK_FUNCTION_LIST_3_2 {
        self.0
    }
}

/// Loads the library once more.
pub fn load() -> libloading::Library {
    // SAFETY: the library is our own.
    unsafe { libloading::Library::new(library().expect("a library")) }.expect("a library that loads")
}

/// The functions of the library's interface with these flags; it stays loaded.
pub fn functions(flags: CK_FLAGS) -> Functions {
    let library = std::mem::ManuallyDrop::new(load());
    let mut interface: *mut CK_INTERFACE = null_mut();
    let mut version = CK_VERSION { major: 3, minor: 2 };
    type Get = unsafe extern "C" fn(*mut u8, *mut CK_VERSION, *mut *mut CK_INTERFACE, CK_FLAGS) -> CK_RV;
    // SAFETY: the function of that name is of this type; the list of an interface of version 3.2 is too, and lives for good.
    unsafe {
        let get = library.get::<Get>(b"C_GetInterface").expect("C_GetInterface");
        assert_eq!(get(null_mut(), &raw mut version, &raw mut interface, flags), CKR_OK);
        Functions(&*(*interface).pFunctionList.cast::<CK_FUNCTION_LIST_3_2>())
    }
}

fn ok(rv: CK_RV, call: &str) -> Result<(), String> {
    if rv == CKR_OK { Ok(()) } else { Err(format!("{call}: {rv:#x}")) }
}

/// A template of numbers and bytes.
pub fn attribute<T>(kind: CK_ATTRIBUTE_TYPE, value: &T) -> CK_ATTRIBUTE {
    let place = std::ptr::from_ref(value).cast_mut().cast::<c_void>();
    CK_ATTRIBUTE { type_: kind, pValue: place, ulValueLen: size_of::<T>() as CK_ULONG }
}

impl Functions {
    pub fn initialize(self) -> Result<(), String> {
        let mut arguments = CK_C_INITIALIZE_ARGS { flags: CKF_OS_LOCKING_OK, ..Default::default() };
        ok(at!(self, C_Initialize((&raw mut arguments).cast())), "C_Initialize")
    }

    pub fn finalize(self) -> Result<(), String> {
        ok(at!(self, C_Finalize(null_mut())), "C_Finalize")
    }

    pub fn open(self, slot: CK_SLOT_ID) -> Result<CK_SESSION_HANDLE, String> {
        let mut session = 0;
        ok(at!(self, C_OpenSession(slot, RW, null_mut(), None, &raw mut session)), "C_OpenSession").map(|()| session)
    }

    pub fn close(self, session: CK_SESSION_HANDLE) -> Result<(), String> {
        ok(at!(self, C_CloseSession(session)), "C_CloseSession")
    }

    /// A session key for HMAC, with a label.
    pub fn secret(
        self,
        session: CK_SESSION_HANDLE,
        kind: CK_KEY_TYPE,
        label: &[u8; 8],
    ) -> Result<CK_OBJECT_HANDLE, String> {
        let (class, value, no) = (CKO_SECRET_KEY, [7_u8; 32], CK_FALSE);
        let mut template = [
            attribute(CKA_CLASS, &class),
            attribute(CKA_KEY_TYPE, &kind),
            attribute(CKA_VALUE, &value),
            attribute(CKA_LABEL, label),
            attribute(CKA_TOKEN, &no),
        ];
        let mut key = 0;
        let rv = at!(self, C_CreateObject(session, template.as_mut_ptr(), template.len() as CK_ULONG, &raw mut key));
        ok(rv, "C_CreateObject").map(|()| key)
    }

    /// A session key pair on P-256: its private key.
    pub fn pair(self, session: CK_SESSION_HANDLE) -> Result<CK_OBJECT_HANDLE, String> {
        let mut mechanism = CK_MECHANISM { mechanism: CKM_EC_KEY_PAIR_GEN, pParameter: null_mut(), ulParameterLen: 0 };
        let curve = [6_u8, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
        let mut public = [attribute(CKA_EC_PARAMS, &curve)];
        let mut keys = (0, 0);
        let (first, second) = (&raw mut keys.0, &raw mut keys.1);
        let rv = at!(
            self,
            C_GenerateKeyPair(session, &raw mut mechanism, public.as_mut_ptr(), 1, null_mut(), 0, first, second)
        );
        ok(rv, "C_GenerateKeyPair").map(|()| keys.1)
    }

    /// A signature or MAC of a few bytes.
    pub fn sign(
        self,
        session: CK_SESSION_HANDLE,
        kind: CK_MECHANISM_TYPE,
        key: CK_OBJECT_HANDLE,
    ) -> Result<(), String> {
        let mut mechanism = CK_MECHANISM { mechanism: kind, pParameter: null_mut(), ulParameterLen: 0 };
        ok(at!(self, C_SignInit(session, &raw mut mechanism, key)), "C_SignInit")?;
        let (mut data, mut out, mut length) = ([9; 32], [0; 128], 128);
        ok(at!(self, C_Sign(session, data.as_mut_ptr(), 32, out.as_mut_ptr(), &raw mut length)), "C_Sign")
    }

    /// How many objects have a label; two at most.
    pub fn find(self, session: CK_SESSION_HANDLE, label: &[u8; 8]) -> Result<CK_ULONG, String> {
        let mut template = [attribute(CKA_LABEL, label)];
        let (mut found, mut count) = ([0; 2], 0);
        ok(at!(self, C_FindObjectsInit(session, template.as_mut_ptr(), 1)), "C_FindObjectsInit")?;
        ok(at!(self, C_FindObjects(session, found.as_mut_ptr(), 2, &raw mut count)), "C_FindObjects")?;
        ok(at!(self, C_FindObjectsFinal(session)), "C_FindObjectsFinal").map(|()| count)
    }

    pub fn random(self, session: CK_SESSION_HANDLE) -> Result<(), String> {
        let mut out = [0; 32];
        ok(at!(self, C_GenerateRandom(session, out.as_mut_ptr(), 32)), "C_GenerateRandom")
    }

    pub fn destroy(self, session: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE) -> Result<(), String> {
        ok(at!(self, C_DestroyObject(session, object)), "C_DestroyObject")
    }

    /// All of the above once, in a session of its own with a shared key.
    pub fn everything(self, shared: CK_OBJECT_HANDLE) -> Result<(), String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let label = NEXT.fetch_add(1, Ordering::Relaxed).to_ne_bytes();
        let session = self.open(ACCELERATOR)?;
        if shared != 0 {
            self.sign(session, CKM_ECDSA, shared)?;
        }
        let own = self.secret(session, CKK_GENERIC_SECRET, &label)?;
        self.sign(session, CKM_SHA256_HMAC, own)?;
        let found = self.find(session, &label)?;
        if found != 1 {
            return Err(format!("{found} objects found"));
        }
        self.random(session)?;
        self.close(session)
    }
}
