//! Message digests as an engine offers them: `EVP_MD` methods.

use crate::bulk::{self, Made, bulk};
use crate::libcrypto::Opaque;
use adjunct::ops::digest::{self, Digest, Method};
use adjunct_ossl::guard;
use std::ffi::{c_int, c_ulong, c_void};

/// `EVP_MD_FLAG_XOF`.
const XOF: c_ulong = 2;
/// `EVP_MD_FLAG_DIGALGID_ABSENT`: its AlgorithmIdentifier goes without parameters.
const ALGORITHM_ALONE: c_ulong = 8;
/// `EVP_MD_CTRL_XOF_LEN`.
const SET_LENGTH: c_int = 3;

#[derive(Clone)]
struct Context {
    digest: Digest,
    /// Length of the result; only that of an extendable-output function may differ from the method's.
    size: usize,
}

/// The context behind one of libcrypto's.
unsafe fn held<'a>(context: Opaque) -> Option<&'a mut Context> {
    // SAFETY: libcrypto passes a context whose method is one of this module, whose data holds null or a context of this module.
    unsafe { bulk::place::<Context>((bulk().digest_data)(context))?.as_mut() }
}

fn begin(context: Opaque, method: &'static Method) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto passes a context whose method is one of this module, whose data holds null or a context of this module.
        let Some(place) = (unsafe { bulk::place::<Context>((bulk().digest_data)(context)) }) else { return 0 };
        // SAFETY: put there by us.
        match unsafe { place.as_mut() } {
            Some(this) => {
                this.digest.reset();
                this.size = method.size;
            }
            None => {
                adjunct::ops::attribute();
                let new = Context { digest: Digest::new(method), size: method.size };
                *place = Box::into_raw(Box::new(new));
            }
        }
        1
    })
}

unsafe extern "C" fn update(context: Opaque, data: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto's arguments.
        let Some(this) = (unsafe { held(context) }) else { return 0 };
        if length > 0 {
            // SAFETY: libcrypto passes `length` readable bytes at `data`, which is not null as `length` is not 0.
            this.digest.update(unsafe { std::slice::from_raw_parts(data, length) });
        }
        1
    })
}

unsafe extern "C" fn finish(context: Opaque, out: *mut u8) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto's arguments; there is room for the length that is known to it.
        unsafe {
            let Some(this) = held(context) else { return 0 };
            let out = if this.size > 0 { std::slice::from_raw_parts_mut(out, this.size) } else { &mut [] };
            this.digest.finish(out);
        }
        1
    })
}

unsafe extern "C" fn copy(to: Opaque, from: Opaque) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto's contexts; the first one's data is a copy of the second's, byte by byte, and not its own.
        unsafe {
            let Some(place) = bulk::place::<Context>((bulk().digest_data)(to)) else { return 1 };
            *place = std::ptr::null_mut();
            if let Some(this) = held(from) {
                *place = Box::into_raw(Box::new(this.clone()));
            }
        }
        1
    })
}

unsafe extern "C" fn cleanup(context: Opaque) -> c_int {
    guard(1, || {
        // SAFETY: libcrypto passes a context whose method is one of this module, with data of a pointer's size, and forgets the data after this call.
        if let Some(place) = unsafe { bulk::place::<Context>((bulk().digest_data)(context)) } {
            // SAFETY: put there by `begin` or `copy`.
            unsafe { bulk::release(place) };
        }
        1
    })
}

unsafe extern "C" fn control(context: Opaque, command: c_int, argument: c_int, _pointer: *mut c_void) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto's context.
        let this = unsafe { held(context) };
        match (this, usize::try_from(argument)) {
            (Some(this), Ok(size)) if command == SET_LENGTH && this.digest.method().xof => {
                this.size = size;
                1
            }
            _ => 0,
        }
    })
}

/// An `EVP_MD`; `signed` is the NID of RSA signatures over it, by which old programs know it.
fn method(signed: c_int, init: bulk::OfContext, core: &'static Method) -> Opaque {
    let b = bulk();
    let xof = if core.xof { XOF } else { 0 };
    let flags = xof | if std::ptr::eq(core, &digest::MD5) { 0 } else { ALGORITHM_ALONE };
    // SAFETY: libcrypto's functions on an object just made.
    unsafe {
        let method = (b.digest_new)(core.nid, signed);
        if method.is_null() {
            return method;
        }
        let set = (b.digest_set_block)(method, core.block as c_int) == 1
            && (b.digest_set_result)(method, core.size as c_int) == 1
            && (b.digest_set_size)(method, std::mem::size_of::<*mut Context>() as c_int) == 1
            && (b.digest_set_flags)(method, flags) == 1
            && (b.digest_set_init)(method, init) == 1
            && (b.digest_set_update)(method, update) == 1
            && (b.digest_set_final)(method, finish) == 1
            && (b.digest_set_copy)(method, copy) == 1
            && (b.digest_set_cleanup)(method, cleanup) == 1
            && (!core.xof || (b.digest_set_control)(method, control) == 1);
        if set {
            return method;
        }
        (b.digest_free)(method);
        std::ptr::null_mut()
    }
}

macro_rules! digests {
    ($($signed:literal $method:ident;)*) => {
        const NIDS: &[c_int] = &[$(digest::$method.nid),*];
        type Make = fn() -> Opaque;
        static DIGESTS: [(Make, Made); NIDS.len()] = [$({
            unsafe extern "C" fn init(context: Opaque) -> c_int {
                begin(context, &digest::$method)
            }
            (|| method($signed, init, &digest::$method), Made::new())
        }),*];
    };
}

// The numbers are obj_mac.h's NIDs of RSA signatures over the digests.
digests! {
    8 MD5;
    65 SHA1;
    671 SHA224;
    668 SHA256;
    669 SHA384;
    670 SHA512;
    1145 SHA512_224;
    1146 SHA512_256;
    1116 SHA3_224;
    1117 SHA3_256;
    1118 SHA3_384;
    1119 SHA3_512;
    0 SHAKE128;
    0 SHAKE256;
}

/// What `ENGINE_set_digests` takes.
///
/// # Safety
/// Called by libcrypto.
pub unsafe extern "C" fn selector(_engine: Opaque, method: *mut Opaque, nids: *mut *const c_int, nid: c_int) -> c_int {
    guard(0, || {
        let give = |index: usize| {
            let (make, made) = &DIGESTS[index];
            made.get(make, bulk().digest_free)
        };
        // SAFETY: libcrypto's arguments.
        unsafe { bulk::select(method, nids, NIDS, give, nid) }
    })
}
