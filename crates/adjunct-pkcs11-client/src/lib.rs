//! Calls of any PKCS #11 module, as administrators' tools need them.
//!
//! Answers are passed on as the module gave them: every mechanism of its list, every bit of its flags, every byte of its fields, and the number of
//! each return value. The crate `cryptoki` is made for programs that compute with keys, and leaves a part of that out: mechanisms that it has no
//! names for (SHA-224, SHA-3), flags that it does not know, and the time unless the token's flags name a clock.

pub use cryptoki_sys as sys;
use cryptoki_sys::*;
use std::ffi::{OsStr, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

/// Why a call failed: a `CKR_` value other than `CKR_OK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rv(pub CK_RV);

/// Why a module could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The loader's words.
    Loader(String),
    /// The module has no C_GetFunctionList: the loader's words.
    NoFunctionList(String),
    /// C_GetFunctionList gave none.
    Refused,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Loader(words) | LoadError::NoFunctionList(words) => f.write_str(words),
            LoadError::Refused => f.write_str("C_GetFunctionList gave no list"),
        }
    }
}

impl std::error::Error for LoadError {}

/// A module that was loaded. It stays in memory to the end of the process: its threads, and what it had done at exit, may come later.
pub struct Module {
    list: CK_FUNCTION_LIST,
    initialized: bool,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CK_VERSION { major, minor } = self.list.version;
        write!(f, "Module {{ version: {major}.{minor}, initialized: {} }}", self.initialized)
    }
}

fn done(rv: CK_RV) -> Result<(), Rv> {
    if rv == CKR_OK { Ok(()) } else { Err(Rv(rv)) }
}

/// Calls a function of the list.
macro_rules! call {
    ($module:expr, $name:ident $(, $argument:expr)* $(,)?) => {
        match $module.list.$name {
            // SAFETY: the list is the module's own, which stays loaded, and so has functions of these types. Each pointer given below
            // is null where the standard allows it, or leads to a value or to as many of them as are told, which live until the call
            // ends; what the standard has as input is not written to, whatever the C type says.
            Some(function) => done(unsafe { function($($argument),*) }),
            None => Err(Rv(CKR_FUNCTION_NOT_SUPPORTED)),
        }
    };
}

mod crypto;
mod objects;
mod template;

pub use objects::PARTS;
pub use template::{Attribute, Mechanism, Template};

impl Module {
    /// Loads the module of this path, or of a name that the loader looks for. Its code runs with all rights of the process: the caller has to trust
    /// it.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(path: impl AsRef<OsStr>) -> Result<Module, LoadError> {
        // SAFETY: loading runs the module's initializers; whoever gives the path trusts the module, as the documentation of `load` demands.
        let library = unsafe { Pkcs11::new(path) }.map_err(|e| LoadError::Loader(e.to_string()))?;
        let library = ManuallyDrop::new(library);
        let get = library.C_GetFunctionList.as_ref().map_err(|e| LoadError::NoFunctionList(e.to_string()))?;
        let mut list = null_mut();
        // SAFETY: the function of that name has this type; the pointer leads to a pointer.
        let rv = unsafe { get(&raw mut list) };
        if rv != CKR_OK || list.is_null() {
            return Err(LoadError::Refused);
        }
        // SAFETY: a module's list is a constant of its own that starts with the functions of 2.40, whatever its version.
        let list = unsafe { list.read() };
        Ok(Module { list, initialized: false })
    }

    /// Initializes the module, without arguments.
    ///
    /// # Errors
    /// What the module returns.
    pub fn initialize(&mut self) -> Result<(), Rv> {
        call!(self, C_Initialize, null_mut::<c_void>())?;
        self.initialized = true;
        Ok(())
    }

    /// Initializes the module for several threads, which lock as the system does.
    ///
    /// # Errors
    /// What the module returns.
    pub fn initialize_for_threads(&mut self) -> Result<(), Rv> {
        let mut arguments = CK_C_INITIALIZE_ARGS { flags: CKF_OS_LOCKING_OK, ..CK_C_INITIALIZE_ARGS::default() };
        call!(self, C_Initialize, (&raw mut arguments).cast::<c_void>())?;
        self.initialized = true;
        Ok(())
    }

    /// Ends what [`Module::initialize`] has begun; it may be initialized again.
    ///
    /// # Errors
    /// What the module returns.
    pub fn finalize(&mut self) -> Result<(), Rv> {
        self.initialized = false;
        call!(self, C_Finalize, null_mut::<c_void>())
    }

    /// What the module is.
    ///
    /// # Errors
    /// What the module returns.
    pub fn info(&self) -> Result<CK_INFO, Rv> {
        let mut info = CK_INFO::default();
        call!(self, C_GetInfo, &raw mut info).map(|()| info)
    }

    /// How many slots there are: all, or those with a token.
    ///
    /// # Errors
    /// What the module returns.
    pub fn slot_count(&self, with_token: bool) -> Result<CK_ULONG, Rv> {
        let mut count = 0;
        call!(self, C_GetSlotList, with_token.into(), null_mut(), &raw mut count).map(|()| count)
    }

    /// The slots: all, or those with a token.
    ///
    /// # Errors
    /// What the module returns.
    pub fn slots(&self, with_token: bool) -> Result<Vec<CK_SLOT_ID>, Rv> {
        let count = self.slot_count(with_token)?;
        filled(count, |slots, count| call!(self, C_GetSlotList, with_token.into(), slots, count))
    }

    /// What a slot is.
    ///
    /// # Errors
    /// What the module returns.
    pub fn slot_info(&self, slot: CK_SLOT_ID) -> Result<CK_SLOT_INFO, Rv> {
        let mut info = CK_SLOT_INFO::default();
        call!(self, C_GetSlotInfo, slot, &raw mut info).map(|()| info)
    }

    /// What the token in a slot is.
    ///
    /// # Errors
    /// What the module returns.
    pub fn token_info(&self, slot: CK_SLOT_ID) -> Result<CK_TOKEN_INFO, Rv> {
        let mut info = CK_TOKEN_INFO::default();
        call!(self, C_GetTokenInfo, slot, &raw mut info).map(|()| info)
    }

    /// How many mechanisms the token in a slot has.
    ///
    /// # Errors
    /// What the module returns.
    pub fn mechanism_count(&self, slot: CK_SLOT_ID) -> Result<CK_ULONG, Rv> {
        let mut count = 0;
        call!(self, C_GetMechanismList, slot, null_mut(), &raw mut count).map(|()| count)
    }

    /// The first `count` mechanisms of the token in a slot, in the module's order.
    ///
    /// # Errors
    /// What the module returns.
    pub fn mechanisms(&self, slot: CK_SLOT_ID, count: CK_ULONG) -> Result<Vec<CK_MECHANISM_TYPE>, Rv> {
        filled(count, |list, count| call!(self, C_GetMechanismList, slot, list, count))
    }

    /// What the token in a slot says of a mechanism.
    ///
    /// # Errors
    /// What the module returns.
    pub fn mechanism_info(&self, slot: CK_SLOT_ID, mechanism: CK_MECHANISM_TYPE) -> Result<CK_MECHANISM_INFO, Rv> {
        let mut info = CK_MECHANISM_INFO::default();
        call!(self, C_GetMechanismInfo, slot, mechanism, &raw mut info).map(|()| info)
    }

    /// Initializes a token anew: all its objects go. The label is as on the token, with blanks behind.
    ///
    /// # Errors
    /// What the module returns.
    pub fn init_token(&self, slot: CK_SLOT_ID, so_pin: &[u8], label: [u8; 32]) -> Result<(), Rv> {
        call!(self, C_InitToken, slot, so_pin.as_ptr().cast_mut(), length(so_pin), label.as_ptr().cast_mut())
    }

    /// Opens a session that may write.
    ///
    /// # Errors
    /// What the module returns.
    pub fn open_session(&self, slot: CK_SLOT_ID) -> Result<Session<'_>, Rv> {
        self.open(slot, CKF_SERIAL_SESSION | CKF_RW_SESSION)
    }

    /// Opens a session that only reads.
    ///
    /// # Errors
    /// What the module returns.
    pub fn open_reading(&self, slot: CK_SLOT_ID) -> Result<Session<'_>, Rv> {
        self.open(slot, CKF_SERIAL_SESSION)
    }

    fn open(&self, slot: CK_SLOT_ID, flags: CK_FLAGS) -> Result<Session<'_>, Rv> {
        let mut handle = 0;
        call!(self, C_OpenSession, slot, flags, null_mut(), None, &raw mut handle)?;
        Ok(Session { module: self, handle })
    }
}

impl Drop for Module {
    /// Sessions close, too.
    fn drop(&mut self) {
        if self.initialized {
            let _ = call!(self, C_Finalize, null_mut::<c_void>());
        }
    }
}

/// An open session. It is closed by [`Session::close`], or with its module.
#[derive(Debug)]
pub struct Session<'a> {
    module: &'a Module,
    handle: CK_SESSION_HANDLE,
}

impl Session<'_> {
    /// Logs a user in.
    ///
    /// # Errors
    /// What the module returns.
    pub fn login(&self, user: CK_USER_TYPE, pin: &[u8]) -> Result<(), Rv> {
        call!(self.module, C_Login, self.handle, user, pin.as_ptr().cast_mut(), length(pin))
    }

    /// Logs out.
    ///
    /// # Errors
    /// What the module returns.
    pub fn logout(&self) -> Result<(), Rv> {
        call!(self.module, C_Logout, self.handle)
    }

    /// Gives the user a PIN; the security officer is logged in.
    ///
    /// # Errors
    /// What the module returns.
    pub fn init_pin(&self, pin: &[u8]) -> Result<(), Rv> {
        call!(self.module, C_InitPIN, self.handle, pin.as_ptr().cast_mut(), length(pin))
    }

    /// Changes the PIN of the user who is logged in.
    ///
    /// # Errors
    /// What the module returns.
    pub fn set_pin(&self, old: &[u8], new: &[u8]) -> Result<(), Rv> {
        let (old_pin, new_pin) = (old.as_ptr().cast_mut(), new.as_ptr().cast_mut());
        call!(self.module, C_SetPIN, self.handle, old_pin, length(old), new_pin, length(new))
    }

    /// Closes the session.
    ///
    /// # Errors
    /// What the module returns.
    pub fn close(self) -> Result<(), Rv> {
        call!(self.module, C_CloseSession, self.handle)
    }
}

fn length(bytes: &[u8]) -> CK_ULONG {
    // On all our targets CK_ULONG is as wide as a pointer.
    bytes.len() as CK_ULONG
}

/// The list of at most `count` numbers that `fill` writes; fewer where the module says so.
fn filled(
    mut count: CK_ULONG,
    fill: impl FnOnce(*mut CK_ULONG, *mut CK_ULONG) -> Result<(), Rv>,
) -> Result<Vec<CK_ULONG>, Rv> {
    let mut list: Vec<CK_ULONG> = Vec::new();
    let most = usize::try_from(count).map_err(|_| Rv(CKR_HOST_MEMORY))?;
    list.try_reserve_exact(most).map_err(|_| Rv(CKR_HOST_MEMORY))?;
    list.resize(most, 0);
    fill(list.as_mut_ptr(), &raw mut count)?;
    list.truncate(usize::try_from(count).unwrap_or(most));
    Ok(list)
}
