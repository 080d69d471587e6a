//! X448 (RFC 7748) and Ed448 (RFC 8032), which the CPU library lacks, by OpenSSL's default provider.
//!
//! A libcrypto is looked for once, while this library is loaded: the one the process has, or else the system's. The provider
//! lives in a library context of our own, and its functions are called through its own tables. EVP would do more than
//! that: OpenSSL 3 looks for an engine first, for which it loads openssl.cnf, and that engine may be one that calls us.
//!
//! libcrypto's own start and end are left to the program: to ask it for no configuration or no handler at exit would
//! ask it for the whole process. One thing cannot be kept away from OpenSSL 3: Ed448 hashes by EVP inside the provider, so
//! that its first use loads the program's configuration, as the first use of anything else of libcrypto's does.

use adjunct::foreign::param::Param;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// The length of an X448 key and of a shared secret, in bytes.
pub const X448: usize = 56;
/// The length of an Ed448 key, in bytes.
pub const ED448: usize = 57;
/// The length of an Ed448 signature, in bytes.
pub const SIGNATURE: usize = 114;

type Opaque = *mut c_void;

adjunct::functions! {
    /// The functions of libcrypto used here; all exist since OpenSSL 3.0.
    Functions:
    lib_ctx_new c"OSSL_LIB_CTX_new" () -> Opaque;
    provider_load c"OSSL_PROVIDER_load" (Opaque, *const c_char) -> Opaque;
    provider_context c"OSSL_PROVIDER_get0_provider_ctx" (Opaque) -> Opaque;
    provider_query c"OSSL_PROVIDER_query_operation" (Opaque, c_int, *mut c_int) -> *const Entry;
    mark c"ERR_set_mark" () -> c_int;
    pop_to_mark c"ERR_pop_to_mark" () -> c_int;
}

/// `OSSL_ALGORITHM`: one entry of a provider's list.
#[repr(C)]
struct Entry {
    names: *const c_char,
    properties: *const c_char,
    functions: *const Numbered,
    description: *const c_char,
}

/// `OSSL_DISPATCH`: a function and its number.
#[repr(C)]
struct Numbered {
    id: c_int,
    function: *const c_void,
}

/// A structure of functions of a provider's table, by their numbers in core_dispatch.h.
macro_rules! numbered {
    ($name:ident: $($field:ident $number:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[derive(Clone, Copy)]
        struct $name { $($field: unsafe extern "C" fn($($argument),*) $(-> $result)?),* }

        impl $name {
            fn find(table: *const Numbered) -> Option<$name> {
                Some($name { $($field: {
                    let function = function(table, $number)?;
                    // SAFETY: the number stands for a function of the type that core_dispatch.h gives it.
                    unsafe {
                        std::mem::transmute::<*const c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(function)
                    }
                }),* })
            }
        }
    };
}

fn function(mut table: *const Numbered, number: c_int) -> Option<*const c_void> {
    // SAFETY: a table of libcrypto's, which number 0 ends.
    unsafe {
        while (*table).id != 0 {
            if (*table).id == number {
                return Some((*table).function).filter(|function| !function.is_null());
            }
            table = table.add(1);
        }
    }
    None
}

numbered! { Keys:
    new 1 (Opaque) -> Opaque;
    free 10 (Opaque);
    get_params 11 (Opaque, *mut Param) -> c_int;
    import 40 (Opaque, c_int, *const Param) -> c_int;
}

numbered! { Exchange:
    new 1 (Opaque) -> Opaque;
    init 2 (Opaque, Opaque, *const Param) -> c_int;
    derive 3 (Opaque, *mut u8, *mut usize, usize) -> c_int;
    set_peer 4 (Opaque, Opaque) -> c_int;
    free 5 (Opaque);
}

numbered! { Signing:
    new 1 (Opaque, *const c_char) -> Opaque;
    sign_init 8 (Opaque, *const c_char, Opaque, *const Param) -> c_int;
    sign 11 (Opaque, *mut u8, *mut usize, usize, *const u8, usize) -> c_int;
    verify_init 12 (Opaque, *const c_char, Opaque, *const Param) -> c_int;
    verify 15 (Opaque, *const u8, usize, *const u8, usize) -> c_int;
    free 16 (Opaque);
}

/// The default provider's functions. Immutable once made, and never freed: a program may call us while it ends.
struct Library {
    functions: Functions,
    /// `provctx`, which its constructors take.
    context: Opaque,
    x448_keys: Keys,
    x448: Exchange,
    ed448_keys: Keys,
    ed448: Signing,
}

// SAFETY: addresses of functions, and a provider that all threads may use.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();

/// Looks for a libcrypto, once: to be called while this library is loaded. No file is opened for it later.
pub fn load() {
    LIBRARY.get_or_init(Library::find);
}

/// Whether there is a libcrypto that has X448 and Ed448.
pub fn available() -> bool {
    library().is_some()
}

fn library() -> Option<&'static Library> {
    LIBRARY.get()?.as_ref()
}

/// The X448 public key of a private key.
pub fn x448_public(private: &[u8; X448]) -> Option<[u8; X448]> {
    let library = library()?;
    library.quietly(|| library.public(library.x448_keys, private))
}

/// The X448 shared secret; `None` where it is all zeros (a peer point of small order).
pub fn x448(private: &[u8; X448], peer: &[u8; X448]) -> Option<Zeroizing<[u8; X448]>> {
    let library = library()?;
    let (keys, exchange) = (library.x448_keys, library.x448);
    library.quietly(|| {
        // Of the pair only the private half is used; with something in the other's place it is not computed.
        let own = library.key(keys, Some(private), Some(&[0; X448]));
        let own = own.or_else(|| library.key(keys, Some(private), None))?;
        let peer = library.key(keys, None, Some(peer))?;
        let mut secret = Zeroizing::new([0; X448]);
        let mut length = X448;
        // SAFETY: the table's own objects; the buffer has the length given.
        let done = unsafe {
            let context = Made::new((exchange.new)(library.context), exchange.free)?;
            (exchange.init)(context.raw, own.raw, null()) == 1
                && (exchange.set_peer)(context.raw, peer.raw) == 1
                && (exchange.derive)(context.raw, secret.as_mut_ptr(), &raw mut length, X448) == 1
        };
        (done && length == X448).then_some(secret)
    })
}

/// The Ed448 public key of a private key.
pub fn ed448_public(private: &[u8; ED448]) -> Option<[u8; ED448]> {
    let library = library()?;
    library.quietly(|| library.public(library.ed448_keys, private))
}

/// Signs `message` by Ed448. `public` must be the public key of `private`: a signature made with another gives the private key
/// away.
pub fn ed448_sign(private: &[u8; ED448], public: &[u8; ED448], message: &[u8]) -> Option<[u8; SIGNATURE]> {
    let library = library()?;
    let signing = library.ed448;
    library.quietly(|| {
        let key = library.key(library.ed448_keys, Some(private), Some(public))?;
        let (mut signature, mut length) = ([0; SIGNATURE], SIGNATURE);
        // SAFETY: the table's own objects; the buffers have the lengths given.
        let done = unsafe {
            let context = Made::new((signing.new)(library.context, null()), signing.free)?;
            let (out, size) = (signature.as_mut_ptr(), SIGNATURE);
            (signing.sign_init)(context.raw, null(), key.raw, null()) == 1
                && (signing.sign)(context.raw, out, &raw mut length, size, message.as_ptr(), message.len()) == 1
        };
        (done && length == SIGNATURE).then_some(signature)
    })
}

/// Whether `signature` is one of `message` by `public`.
pub fn ed448_verify(public: &[u8; ED448], message: &[u8], signature: &[u8; SIGNATURE]) -> Option<bool> {
    let library = library()?;
    let signing = library.ed448;
    library.quietly(|| {
        let Some(key) = library.key(library.ed448_keys, None, Some(public)) else { return Some(false) };
        // SAFETY: as above.
        unsafe {
            let context = Made::new((signing.new)(library.context, null()), signing.free)?;
            let (data, length) = (signature.as_ptr(), SIGNATURE);
            let ready = (signing.verify_init)(context.raw, null(), key.raw, null()) == 1;
            ready.then(|| (signing.verify)(context.raw, data, length, message.as_ptr(), message.len()) == 1)
        }
    })
}

/// An object of the provider's, freed on every way out.
struct Made {
    raw: Opaque,
    free: unsafe extern "C" fn(Opaque),
}

impl Made {
    fn new(raw: Opaque, free: unsafe extern "C" fn(Opaque)) -> Option<Made> {
        // Not made before it is looked at: it would be freed, and not every table frees null.
        (!raw.is_null()).then(|| Made { raw, free })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made by the table that the function is of, and nobody else's.
        unsafe { (self.free)(self.raw) };
    }
}

impl Library {
    fn find() -> Option<Library> {
        /// `OSSL_OP_KEYMGMT`, `OSSL_OP_KEYEXCH`, `OSSL_OP_SIGNATURE`.
        const OPERATIONS: [c_int; 3] = [10, 11, 12];
        let object = adjunct::foreign::libcrypto()?;
        let functions = Functions::find(object)?;
        // SAFETY: libcrypto's functions, called as documented.
        let provider = unsafe {
            let context = Some((functions.lib_ctx_new)()).filter(|context| !context.is_null())?;
            (functions.provider_load)(context, c"default".as_ptr())
        };
        if provider.is_null() {
            return None;
        }
        let [keys, exchange, signing] = OPERATIONS.map(|operation| {
            let mut no_cache = 0;
            // SAFETY: as above; the list is the provider's for good.
            unsafe { (functions.provider_query)(provider, operation, &raw mut no_cache) }
        });
        Some(Library {
            x448_keys: Keys::find(named(keys, b"X448")?)?,
            x448: Exchange::find(named(exchange, b"X448")?)?,
            ed448_keys: Keys::find(named(keys, b"ED448")?)?,
            ed448: Signing::find(named(signing, b"ED448")?)?,
            // SAFETY: as above.
            context: unsafe { (functions.provider_context)(provider) },
            functions,
        })
    }

    /// A key of its private half, its public one, or both. Where there is only the private one, the provider computes the other.
    fn key<const N: usize>(&self, keys: Keys, private: Option<&[u8; N]>, public: Option<&[u8; N]>) -> Option<Made> {
        const PRIVATE: c_int = 1;
        const PUBLIC: c_int = 2;
        let param = |name, half: &[u8; N]| Param::octets(name, half.as_ptr().cast_mut(), N);
        let mut params = [Param::END; 3];
        let halves = [private.map(|half| param(c"priv", half)), public.map(|half| param(c"pub", half))];
        halves.into_iter().flatten().zip(&mut params).for_each(|(half, param)| *param = half);
        let selection = if private.is_some() { PRIVATE | PUBLIC } else { PUBLIC };
        // SAFETY: the table's own objects; the parameters are only read.
        unsafe {
            let key = Made::new((keys.new)(self.context), keys.free)?;
            ((keys.import)(key.raw, selection, params.as_ptr()) == 1).then_some(key)
        }
    }

    fn public<const N: usize>(&self, keys: Keys, private: &[u8; N]) -> Option<[u8; N]> {
        let key = self.key(keys, Some(private), None)?;
        let mut public = [0; N];
        let mut params = [Param::octets(c"pub", public.as_mut_ptr(), N), Param::END];
        // SAFETY: as above; the parameter has the buffer's length.
        let done = unsafe { (keys.get_params)(key.raw, params.as_mut_ptr()) } == 1;
        (done && params[0].return_size == N).then_some(public)
    }

    /// Runs `body` and takes back what it put on the thread's queue of errors: that queue is the program's own.
    fn quietly<T>(&self, body: impl FnOnce() -> T) -> T {
        // SAFETY: the marks are of this thread's queue.
        unsafe { (self.functions.mark)() };
        let result = body();
        // SAFETY: as above.
        unsafe { (self.functions.pop_to_mark)() };
        result
    }
}

/// The functions of the algorithm that has `name` among its names, which colons separate.
fn named(mut list: *const Entry, name: &[u8]) -> Option<*const Numbered> {
    // SAFETY: a list of the provider's, which an entry without names ends.
    unsafe {
        while !list.is_null() && !(*list).names.is_null() {
            let names = CStr::from_ptr((*list).names).to_bytes();
            if names.split(|&byte| byte == b':').any(|other| other.eq_ignore_ascii_case(name)) {
                return Some((*list).functions);
            }
            list = list.add(1);
        }
    }
    None
}
