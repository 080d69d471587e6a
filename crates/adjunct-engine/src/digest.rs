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
struct EngineDigest {
    digest: Digest,
    /// Length of the result; only that of an extendable-output function may differ from the method's.
    size: usize,
}

/// What libcrypto keeps for a context; zeros before the first use.
///
/// libcrypto copies these bytes before it calls [`copy`], and takes the copy back where something else could not be copied: then they name
/// another context as their owner, whose context of ours stays as it is.
#[repr(C)]
struct Place {
    held: *mut EngineDigest,
    owner: Opaque,
}

/// The data that libcrypto keeps for one of its contexts; `None` where there is none.
///
/// # Safety
/// `context` is libcrypto's, and its method is one of this module.
unsafe fn place<'a>(context: Opaque) -> Option<&'a mut Place> {
    // SAFETY: libcrypto keeps as many bytes as the method's size says, aligned for pointers and filled with zeros at first.
    unsafe { (bulk().digest_data)(context).cast::<Place>().as_mut() }
}

impl Place {
    /// The context of this engine that belongs to `context` of libcrypto.
    fn own<'a>(&self, context: Opaque) -> Option<&'a mut EngineDigest> {
        // SAFETY: `put` wrote both, for this owner, and `release` takes both away.
        if self.owner == context { unsafe { self.held.as_mut() } } else { None }
    }

    fn put(&mut self, context: Opaque, new: EngineDigest) {
        *self = Place { held: Box::into_raw(Box::new(new)), owner: context };
    }

    /// Frees what `context` owns, and forgets what another does.
    fn release(&mut self, context: Opaque) {
        let Place { held, owner } =
            std::mem::replace(self, Place { held: std::ptr::null_mut(), owner: std::ptr::null_mut() });
        if owner == context && !held.is_null() {
            // SAFETY: `put` made it of a box for this owner; it is forgotten first, so that it is freed once.
            drop(unsafe { Box::from_raw(held) });
        }
    }
}

/// The context that belongs to a context of libcrypto's.
///
/// # Safety
/// `context` is libcrypto's, and its method is one of this module.
unsafe fn held<'a>(context: Opaque) -> Option<&'a mut EngineDigest> {
    // SAFETY: by the caller's word.
    unsafe { place(context) }?.own(context)
}

fn begin(context: Opaque, method: &'static Method) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto passes a context whose method is one of this module.
        let Some(place) = (unsafe { place(context) }) else { return 0 };
        match place.own(context) {
            Some(this) => {
                this.digest.reset();
                this.size = method.size;
            }
            None => {
                adjunct::ops::attribute();
                place.put(context, EngineDigest { digest: Digest::new(method), size: method.size });
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
        // SAFETY: libcrypto passes two contexts whose method is one of this module; the first one's data is a copy of the second's.
        let (place, from) = unsafe { (place(to), held(from)) };
        let Some(place) = place else { return 1 };
        match from {
            Some(this) => place.put(to, this.clone()),
            None => *place = Place { held: std::ptr::null_mut(), owner: std::ptr::null_mut() },
        }
        1
    })
}

unsafe extern "C" fn cleanup(context: Opaque) -> c_int {
    guard(1, || {
        // SAFETY: libcrypto passes a context whose method is one of this module, and forgets the data after this call.
        if let Some(place) = unsafe { place(context) } {
            place.release(context);
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
            && (b.digest_set_size)(method, size_of::<Place>() as c_int) == 1
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
