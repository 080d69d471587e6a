//! Message digests (provider-digest(7)).
//!
//! The digests offered are those that the CPU library computes in constant space; MD5-SHA1, which only TLS 1.1 and older uses, and all others are
//! left to the default provider.

mod serialized;

use crate::abi::core::Core;
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, context, guard, id, slice, slice_mut};
use crate::entry;
use crate::provider::provider;
use adjunct::memory::boxed;
use adjunct::ops::digest::{self, Digest, Method, Once};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// The data that OpenSSL's `algctx` points to, with room for a state of ROOM words. The digest comes first, its state where OpenSSL's default
/// provider has it ([`Digest`]).
#[repr(C)]
struct DigestContext<const ROOM: usize> {
    digest: Digest<ROOM>,
    /// OpenSSL, for errors.
    core: &'static Core,
    /// Length of the result; only an extendable-output function's may differ from the method's.
    size: usize,
}

impl<const ROOM: usize> DigestContext<ROOM> {
    /// # Safety
    /// `provctx` is OpenSSL's, which keeps the provider alive as long as its contexts.
    unsafe fn create(method: &'static Method, provctx: *mut c_void) -> *mut c_void {
        adjunct::ops::attribute();
        let Ok(mut place) = boxed(MaybeUninit::<Self>::uninit()) else { return std::ptr::null_mut() };
        let raw = place.as_mut_ptr();
        // SAFETY: every field is written.
        unsafe {
            (&raw mut (*raw).core).write(&provider(provctx).core);
            (&raw mut (*raw).size).write(default_size(method));
            Digest::new_in_place(&mut *(&raw mut (*raw).digest).cast::<MaybeUninit<Digest<ROOM>>>(), method);
            abi::into_raw(place.assume_init())
        }
    }

    fn duplicate(&self) -> *mut c_void {
        let Ok(mut place) = boxed(MaybeUninit::<Self>::uninit()) else { return std::ptr::null_mut() };
        let raw = place.as_mut_ptr();
        // SAFETY: every field is written.
        unsafe {
            (&raw mut (*raw).core).write(self.core);
            (&raw mut (*raw).size).write(self.size);
            self.digest.clone_into_place(&mut *(&raw mut (*raw).digest).cast::<MaybeUninit<Digest<ROOM>>>());
            abi::into_raw(place.assume_init())
        }
    }

    fn take_over(&mut self, other: &Self) {
        self.size = other.size;
        self.digest.copy_from(&other.digest);
    }

    fn set_params(&mut self, params: *const Param) -> bool {
        if params.is_null() {
            return true;
        }
        // SAFETY: the array is OpenSSL's.
        for p in unsafe { param::iter(params) } {
            let done = match p.name().to_bytes() {
                b"xoflen" if self.digest.method().xof => match p.get_usize() {
                    Some(size) => {
                        self.size = size;
                        true
                    }
                    None => {
                        self.core.raise(prov::FAILED_TO_GET_PARAMETER);
                        false
                    }
                },
                b"ssl3-ms" if p.data_type == param::OCTETS && std::ptr::eq(self.digest.method(), &digest::SHA1) => {
                    p.get_octets().is_some_and(|secret| self.digest.ssl3_finish(secret))
                }
                _ => true,
            };
            if !done {
                return false;
            }
        }
        true
    }

    fn get_params(&self, params: *mut Param) -> bool {
        // SAFETY: the array is OpenSSL's.
        unsafe { param::iter_mut(params) }.all(|p| match p.name().to_bytes() {
            b"xoflen" | b"size" => p.set_usize(self.size),
            _ => true,
        })
    }
}

/// Whether this OpenSSL's own extendable-output functions have no length until one is set (3.4 and later).
static NO_DEFAULT_XOF_SIZE: AtomicBool = AtomicBool::new(false);

/// The mark of a result whose length is not set.
const UNSET: usize = usize::MAX;

/// Learns what differs between versions of OpenSSL; `version` is that of its core (`3.0.19`).
pub fn follow_version(version: &str) {
    let mut numbers = version.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    let at_least = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (3, 4);
    NO_DEFAULT_XOF_SIZE.store(at_least, Ordering::Relaxed);
}

#[inline]
fn default_size(method: &Method) -> usize {
    if method.xof && NO_DEFAULT_XOF_SIZE.load(Ordering::Relaxed) { UNSET } else { method.size }
}

unsafe extern "C" fn init<const ROOM: usize>(ctx: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours.
        let Some(this) = (unsafe { context::<DigestContext<ROOM>>(ctx) }) else { return 0 };
        this.digest.reset();
        c_int::from(this.set_params(params))
    })
}

unsafe extern "C" fn update<const ROOM: usize>(ctx: *mut c_void, data: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffer OpenSSL's.
        let (Some(this), data) = (unsafe { (context::<DigestContext<ROOM>>(ctx), slice(data, length)) }) else {
            return 0;
        };
        if this.digest.is_squeezing() {
            return 0;
        }
        this.digest.update(data);
        1
    })
}

unsafe extern "C" fn finish<const ROOM: usize>(
    ctx: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    room: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours.
        let Some(this) = (unsafe { context::<DigestContext<ROOM>>(ctx) }) else { return 0 };
        let xof = this.digest.method().xof;
        if this.size == UNSET || this.digest.is_squeezing() || (!xof && room < this.size) {
            return 0;
        }
        // An extendable-output function fills the length that was set, whatever room EVP_DigestFinal_ex, which knows only
        // the usual length, says there is; no room at all asks for nothing.
        let length = if room > 0 { this.size } else { 0 };
        // SAFETY: the buffer is OpenSSL's caller's, of the length the digest is known to have; so is the pointer.
        unsafe {
            this.digest.finish(slice_mut(out, length));
            *out_length = this.size;
        }
        1
    })
}

unsafe extern "C" fn squeeze<const ROOM: usize>(
    ctx: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    room: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        let (Some(this), out) = (unsafe { (context::<DigestContext<ROOM>>(ctx), slice_mut(out, room)) }) else {
            return 0;
        };
        if !this.digest.method().xof {
            return 0;
        }
        this.digest.squeeze(out);
        // SAFETY: the pointer is OpenSSL's.
        unsafe { *out_length = out.len() };
        1
    })
}

unsafe extern "C" fn dupctx<const ROOM: usize>(ctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the context is ours.
        let this = unsafe { context::<DigestContext<ROOM>>(ctx) };
        this.map_or(std::ptr::null_mut(), |c| c.duplicate())
    })
}

unsafe extern "C" fn copyctx<const ROOM: usize>(to: *mut c_void, from: *mut c_void) {
    guard((), || {
        if to == from {
            return;
        }
        // SAFETY: OpenSSL passes two live contexts of one algorithm, which are not one.
        let both = unsafe { (context::<DigestContext<ROOM>>(to), context::<DigestContext<ROOM>>(from)) };
        if let (Some(to), Some(from)) = both {
            to.take_over(from);
        }
    });
}

unsafe extern "C" fn set_ctx_params<const ROOM: usize>(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the context is ours.
    guard(0, || unsafe { context::<DigestContext<ROOM>>(ctx) }.is_some_and(|c| c.set_params(params)).into())
}

unsafe extern "C" fn get_ctx_params<const ROOM: usize>(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the context is ours.
    guard(0, || unsafe { context::<DigestContext<ROOM>>(ctx) }.is_some_and(|c| c.get_params(params)).into())
}

fn describe(method: &Method, params: *mut Param) -> c_int {
    // SAFETY: the array is OpenSSL's.
    let done = unsafe { param::iter_mut(params) }.all(|p| match p.name().to_bytes() {
        b"blocksize" => p.set_usize(method.block),
        b"size" => p.set_usize(if default_size(method) == UNSET { 0 } else { method.size }),
        b"xof" => p.set_u64(method.xof.into()),
        // Whether an AlgorithmIdentifier goes without parameters; of old, MD5's has a NULL.
        b"algid-absent" => p.set_u64((!std::ptr::eq(method, &digest::MD5)).into()),
        _ => true,
    });
    done.into()
}

/// Runs the one-shot function of a digest.
///
/// # Safety
/// OpenSSL passes `length` readable bytes at `data`, room for `room` bytes at `out`, and a place for the length.
unsafe fn at_once(
    method: &'static Method,
    data: *const u8,
    length: usize,
    out: *mut u8,
    out_length: *mut usize,
    room: usize,
) -> c_int {
    let size = default_size(method);
    if room < size {
        return 0;
    }
    adjunct::ops::attribute();
    // SAFETY: the buffers are OpenSSL's.
    unsafe {
        Once::new(method).run(slice(data, length), slice_mut(out, size));
        *out_length = size;
    }
    1
}

static GETTABLE: [Param; 5] = [
    Param::describe(c"blocksize", param::UNSIGNED, 8),
    Param::describe(c"size", param::UNSIGNED, 8),
    Param::describe(c"xof", param::INTEGER, 4),
    Param::describe(c"algid-absent", param::INTEGER, 4),
    Param::END,
];
static XOF_SETTABLE: [Param; 2] = [Param::describe(c"xoflen", param::UNSIGNED, 0), Param::END];
static XOF_GETTABLE: [Param; 3] =
    [Param::describe(c"xoflen", param::UNSIGNED, 0), Param::describe(c"size", param::UNSIGNED, 0), Param::END];
static SHA1_SETTABLE: [Param; 2] = [Param::describe(c"ssl3-ms", param::OCTETS, 0), Param::END];

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}
unsafe extern "C" fn xof_settable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    XOF_SETTABLE.as_ptr()
}
unsafe extern "C" fn xof_gettable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    XOF_GETTABLE.as_ptr()
}
unsafe extern "C" fn sha1_settable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SHA1_SETTABLE.as_ptr()
}

/// The functions of a method and what OpenSSL lists it as; `extra` are the entries only some have. `ROOM` is the number of words of the method's
/// state: a server may have a context for each of many thousand connections.
macro_rules! offer {
    ($($module:ident $method:ident $description:literal [$($extra:expr),*];)*) => {
        $(mod $module {
            use super::*;

            const ROOM: usize = digest::$method.words();

            unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
                // SAFETY: the pointer is the provider's.
                guard(std::ptr::null_mut(), || unsafe { DigestContext::<ROOM>::create(&digest::$method, provctx) })
            }

            unsafe extern "C" fn get_params(params: *mut Param) -> c_int {
                guard(0, || describe(&digest::$method, params))
            }

            unsafe extern "C" fn digest(
                _provctx: *mut c_void,
                data: *const u8,
                length: usize,
                out: *mut u8,
                out_length: *mut usize,
                room: usize,
            ) -> c_int {
                // SAFETY: the buffers are OpenSSL's.
                guard(0, || unsafe { at_once(&digest::$method, data, length, out, out_length, room) })
            }

            pub static DISPATCH: &[Dispatch] = &[
                entry!(id::DIGEST_NEWCTX, newctx),
                entry!(id::DIGEST_INIT, init::<ROOM>),
                entry!(id::DIGEST_UPDATE, update::<ROOM>),
                entry!(id::DIGEST_FINAL, finish::<ROOM>),
                entry!(id::DIGEST_DIGEST, digest),
                entry!(id::DIGEST_FREECTX, abi::freed::<DigestContext<ROOM>>),
                entry!(id::DIGEST_DUPCTX, dupctx::<ROOM>),
                entry!(id::DIGEST_COPYCTX, copyctx::<ROOM>),
                entry!(id::DIGEST_GET_PARAMS, get_params),
                entry!(id::DIGEST_GETTABLE_PARAMS, gettable_params),
                $($extra,)*
                Dispatch::END,
            ];
        })*

        /// The algorithms that this module offers.
        pub static ALGORITHMS: &[Algorithm] = &[$(Algorithm {
            names: digest::names::$method,
            dispatch: $module::DISPATCH,
            description: $description,
        }),*];
    };
}

const fn serialize<const ROOM: usize>() -> Dispatch {
    entry!(id::DIGEST_SERIALIZE, serialized::serialize::<ROOM>)
}

const fn deserialize<const ROOM: usize>() -> Dispatch {
    entry!(id::DIGEST_DESERIALIZE, serialized::deserialize::<ROOM>)
}

offer! {
    sha1 SHA1 c"SHA-1" [
        entry!(id::DIGEST_SET_CTX_PARAMS, set_ctx_params::<ROOM>),
        entry!(id::DIGEST_SETTABLE_CTX_PARAMS, sha1_settable),
        serialize::<ROOM>(), deserialize::<ROOM>()
    ];
    sha224 SHA224 c"SHA-224" [serialize::<ROOM>(), deserialize::<ROOM>()];
    sha256 SHA256 c"SHA-256" [serialize::<ROOM>(), deserialize::<ROOM>()];
    sha384 SHA384 c"SHA-384" [serialize::<ROOM>(), deserialize::<ROOM>()];
    sha512 SHA512 c"SHA-512" [serialize::<ROOM>(), deserialize::<ROOM>()];
    sha512_224 SHA512_224 c"SHA-512/224" [serialize::<ROOM>(), deserialize::<ROOM>()];
    sha512_256 SHA512_256 c"SHA-512/256" [serialize::<ROOM>(), deserialize::<ROOM>()];
    sha3_224 SHA3_224 c"SHA3-224" [];
    sha3_256 SHA3_256 c"SHA3-256" [];
    sha3_384 SHA3_384 c"SHA3-384" [];
    sha3_512 SHA3_512 c"SHA3-512" [];
    shake128 SHAKE128 c"SHAKE-128" [
        entry!(id::DIGEST_SQUEEZE, squeeze::<ROOM>),
        entry!(id::DIGEST_SET_CTX_PARAMS, set_ctx_params::<ROOM>),
        entry!(id::DIGEST_SETTABLE_CTX_PARAMS, xof_settable),
        entry!(id::DIGEST_GET_CTX_PARAMS, get_ctx_params::<ROOM>),
        entry!(id::DIGEST_GETTABLE_CTX_PARAMS, xof_gettable)
    ];
    shake256 SHAKE256 c"SHAKE-256" [
        entry!(id::DIGEST_SQUEEZE, squeeze::<ROOM>),
        entry!(id::DIGEST_SET_CTX_PARAMS, set_ctx_params::<ROOM>),
        entry!(id::DIGEST_SETTABLE_CTX_PARAMS, xof_settable),
        entry!(id::DIGEST_GET_CTX_PARAMS, get_ctx_params::<ROOM>),
        entry!(id::DIGEST_GETTABLE_CTX_PARAMS, xof_gettable)
    ];
    md5 MD5 c"MD5" [serialize::<ROOM>(), deserialize::<ROOM>()];
}
