//! `RAND_METHOD`: random bytes of the core's generator, which seeds itself from the operating system and notices forks.

use adjunct::ops::random::Generator;
use adjunct_ossl::guard;
use std::ffi::{c_int, c_void};

/// `RAND_METHOD`.
#[repr(C)]
#[derive(Debug)]
pub struct Method {
    seed: unsafe extern "C" fn(data: *const c_void, length: c_int) -> c_int,
    bytes: unsafe extern "C" fn(out: *mut u8, length: c_int) -> c_int,
    cleanup: Option<unsafe extern "C" fn()>,
    add: unsafe extern "C" fn(data: *const c_void, length: c_int, entropy: f64) -> c_int,
    pseudo_bytes: unsafe extern "C" fn(out: *mut u8, length: c_int) -> c_int,
    status: unsafe extern "C" fn() -> c_int,
}

/// What `ENGINE_set_RAND` takes. Seeds a program brings replace nothing: the generator has better ones.
pub static METHOD: Method = Method { seed, bytes, cleanup: None, add, pseudo_bytes: bytes, status };

unsafe extern "C" fn seed(_data: *const c_void, _length: c_int) -> c_int {
    1
}

unsafe extern "C" fn add(_data: *const c_void, _length: c_int, _entropy: f64) -> c_int {
    1
}

unsafe extern "C" fn status() -> c_int {
    1
}

unsafe extern "C" fn bytes(out: *mut u8, length: c_int) -> c_int {
    guard(0, || {
        let Ok(length) = usize::try_from(length) else { return 0 };
        // SAFETY: the caller's buffer.
        let out = if length > 0 { unsafe { std::slice::from_raw_parts_mut(out, length) } } else { &mut [] };
        adjunct::init();
        adjunct::ops::attribute_now();
        Generator::new().generate(out);
        1
    })
}
