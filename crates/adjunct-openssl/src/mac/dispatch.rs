//! The functions that OpenSSL calls for a MAC.

use crate::abi::param::{self, Param};
use crate::abi::{self, Dispatch, guard, id};
use crate::entry;
use crate::fallback::Output;
use std::ffi::{c_int, c_void};

/// A context that OpenSSL's `algctx` points to.
pub(super) trait Object: Sized + 'static {
    /// The parameters that `set_ctx_params` takes.
    const SETTABLE: &'static [Param];

    /// Makes an object without digest or cipher, and without a key.
    ///
    /// # Safety
    /// `provctx` is OpenSSL's, which keeps the provider alive as long as its contexts.
    unsafe fn create(provctx: *mut c_void) -> Self;

    /// A copy; `None` where there cannot be one.
    fn duplicate(&self) -> Option<Self>;

    /// Begins a message.
    ///
    /// # Safety
    /// The pointers are those of `OSSL_FUNC_mac_init`.
    unsafe fn init(&mut self, key: *const u8, length: usize, params: *const Param) -> bool;

    /// Goes on with the message.
    ///
    /// # Safety
    /// `data` is valid for `length` bytes, or for those of a TLS record that was announced.
    unsafe fn update(&mut self, data: *const u8, length: usize) -> bool;

    /// Ends the message.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn finish(&mut self, output: Output) -> bool;

    /// Answers parameters of OpenSSL's.
    fn get_params(&self, params: *mut Param) -> bool;

    /// Takes parameters of OpenSSL's.
    fn set_params(&mut self, params: *const Param) -> bool;
}

/// Runs `body` on the context behind `ctx`: 1 where it says yes, else (and for a null context) 0.
///
/// # Safety
/// `ctx` is null or a live context of type `C` that no other thread uses during the call.
#[inline]
unsafe fn with<C: Object>(ctx: *mut c_void, body: impl FnOnce(&mut C) -> bool) -> c_int {
    // SAFETY: the context is ours.
    guard(0, || unsafe { abi::context::<C>(ctx) }.is_some_and(body).into())
}

unsafe extern "C" fn newctx<C: Object>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer is the provider's.
    guard(std::ptr::null_mut(), || abi::give(unsafe { C::create(provctx) }))
}

unsafe extern "C" fn dupctx<C: Object>(ctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the context is ours.
        let copied = unsafe { abi::context::<C>(ctx) }.and_then(|c| c.duplicate());
        copied.map_or(std::ptr::null_mut(), abi::give)
    })
}

unsafe extern "C" fn init<C: Object>(ctx: *mut c_void, key: *const u8, length: usize, params: *const Param) -> c_int {
    // SAFETY: the context is ours, the rest OpenSSL's.
    unsafe { with::<C>(ctx, |c| c.init(key, length, params)) }
}

unsafe extern "C" fn update<C: Object>(ctx: *mut c_void, data: *const u8, length: usize) -> c_int {
    // SAFETY: the context is ours, the data OpenSSL's.
    unsafe { with::<C>(ctx, |c| c.update(data, length)) }
}

unsafe extern "C" fn finish<C: Object>(ctx: *mut c_void, data: *mut u8, length: *mut usize, size: usize) -> c_int {
    // SAFETY: the context is ours, the output OpenSSL's.
    unsafe { with::<C>(ctx, |c| c.finish(Output { data, length, size })) }
}

unsafe extern "C" fn get_ctx_params<C: Object>(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the context is ours.
    unsafe { with::<C>(ctx, |c| c.get_params(params)) }
}

unsafe extern "C" fn set_ctx_params<C: Object>(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the context is ours.
    unsafe { with::<C>(ctx, |c| c.set_params(params)) }
}

static GETTABLE: [Param; 3] =
    [Param::describe(c"size", param::UNSIGNED, 8), Param::describe(c"block-size", param::UNSIGNED, 8), Param::END];

unsafe extern "C" fn gettable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn settable<C: Object>(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    C::SETTABLE.as_ptr()
}

/// The functions that OpenSSL calls for a MAC with such contexts.
pub(super) const fn table<C: Object>() -> [Dispatch; 11] {
    [
        entry!(id::MAC_NEWCTX, newctx::<C>),
        entry!(id::MAC_DUPCTX, dupctx::<C>),
        entry!(id::MAC_FREECTX, abi::freed::<C>),
        entry!(id::MAC_INIT, init::<C>),
        entry!(id::MAC_UPDATE, update::<C>),
        entry!(id::MAC_FINAL, finish::<C>),
        entry!(id::MAC_GET_CTX_PARAMS, get_ctx_params::<C>),
        entry!(id::MAC_GETTABLE_CTX_PARAMS, gettable),
        entry!(id::MAC_SET_CTX_PARAMS, set_ctx_params::<C>),
        entry!(id::MAC_SETTABLE_CTX_PARAMS, settable::<C>),
        Dispatch::END,
    ]
}
