//! The dispatch of the ciphers that authenticate, and the code that they share. Where OpenSSL's own ciphers differ from each other in what they
//! return or report, [`Aead`] has a constant or a method for it.

use super::state::{self, Info};
use crate::abi::core::Core;
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Dispatch, guard, id};
use crate::entry;
use crate::provider::provider;
use adjunct::ops::aead::{DEFAULT_IV, EXPLICIT_IV, TLS_AAD, shorten_tls};
use std::ffi::{c_int, c_void};

/// What every context has. Lengths are in bytes of their own: a server may have a context for each of many thousand connections.
#[derive(Clone)]
pub struct Shared {
    /// OpenSSL, for errors.
    pub core: &'static Core,
    /// The direction of the last initialisation.
    pub encrypt: bool,
    /// The key's length.
    pub key_len: u8,
    /// The header of the TLS record that comes next, with the length of its payload.
    pub tls_aad: Option<[u8; TLS_AAD]>,
    /// Bytes that the record grows by.
    pub tls_pad: u8,
}

impl Shared {
    /// Puts an error on the queue; 0 for OpenSSL.
    #[cold]
    fn fail(&self, reason: Reason) -> c_int {
        self.core.raise(reason);
        0
    }

    #[cold]
    fn refuse(&self, refusal: Refusal) -> c_int {
        match refusal {
            Refusal::Told(reason) => self.fail(reason),
            Refusal::Untold => 0,
        }
    }

    /// [`Aead::tls_header`] where the record carries a part of the nonce (RFC 5288, RFC 6655).
    pub fn tls_header(&mut self, aad: [u8; TLS_AAD], tag: usize) -> Option<usize> {
        let overhead = EXPLICIT_IV + if self.encrypt { 0 } else { tag };
        // Kept even if its length is refused, as in OpenSSL: what comes next is not taken for plain data.
        shorten_tls(self.tls_aad.insert(aad), overhead)?;
        Some(tag)
    }
}

/// Why a parameter is not taken or answered.
#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    /// Refused for this reason, which goes on OpenSSL's queue.
    Told(Reason),
    /// Refused without a reason: OpenSSL tells none.
    Untold,
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal::Told(reason)
    }
}

/// The octets of a parameter of exactly that type.
pub fn octets(p: &Param) -> Option<&[u8]> {
    if p.data_type == param::OCTETS && !p.data.is_null() { p.get_octets() } else { None }
}

/// The result of writing an answer where OpenSSL asked for it: a refusal if that was not possible.
pub fn answered(done: bool) -> Result<(), Refusal> {
    if done { Ok(()) } else { Err(prov::FAILED_TO_SET_PARAMETER.into()) }
}

/// A cipher that authenticates: the part that differs.
pub trait Aead: Clone {
    /// `EVP_CIPH_*_MODE`.
    const MODE: u32;
    /// The parameters that `get_ctx_params` answers.
    const GETTABLE: &'static [Param];
    /// The parameters that `set_ctx_params` takes.
    const SETTABLE: &'static [Param];
    /// The error of an update that fails without one of its own.
    const UPDATE_ERROR: Option<Reason> = Some(prov::CIPHER_OPERATION_FAILED);
    /// The error of a TLS header that is none, or tells too short a record.
    const HEADER_ERROR: Reason = prov::INVALID_DATA;
    /// Whether an empty update means something: it sets the length of CCM's message.
    const EMPTY_UPDATES: bool = false;
    /// Whether `EVP_Cipher` tells what was written. Where not, it tells the input's length, for TLS records too.
    const TELLS_WRITTEN: bool = false;

    /// A context without key and IV.
    fn new(shared: Shared) -> Self;

    /// The state that every context has.
    fn shared(&mut self) -> &mut Shared;

    /// Takes an IV.
    fn set_iv(&mut self, iv: &[u8]) -> Result<(), Reason>;

    /// Takes a key.
    fn set_key(&mut self, key: &[u8]) -> Result<(), Reason>;

    /// Additional data (no output), message, or the end (no input): what was written. `None` is a failure.
    ///
    /// # Safety
    /// `input` and `out` are null or valid for `len` bytes.
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize>;

    /// The end.
    ///
    /// # Safety
    /// `out` is null or valid; nothing is written there.
    #[inline]
    unsafe fn finish(&mut self, out: *mut u8) -> bool {
        // SAFETY: `process` takes a null input with a length of 0, and by the caller's word `out` is null or valid.
        unsafe { self.process(out, std::ptr::null(), 0) }.is_some()
    }

    /// Takes the header of the next TLS record; gives what its length grows by.
    fn tls_header(&mut self, aad: [u8; TLS_AAD]) -> Option<usize>;

    /// The length of the IV.
    fn iv_len(&self) -> usize;

    /// The length of the tag.
    fn tag_len(&self) -> usize;

    /// Takes another parameter than `tlsaad`; one it does not know is no error.
    fn set_param(&mut self, name: &[u8], p: &Param) -> Result<(), Refusal>;

    /// Answers another parameter than the lengths; one it does not know is no error.
    fn get_param(&mut self, p: &mut Param) -> Result<(), Refusal>;
}

unsafe extern "C" fn newctx<A: Aead, const BITS: usize>(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), move || {
        adjunct::ops::attribute();
        abi::give(A::new(Shared {
            // SAFETY: OpenSSL keeps the provider until its last context is gone.
            core: unsafe { &provider(provctx).core },
            encrypt: false,
            key_len: (BITS / 8) as u8,
            tls_aad: None,
            tls_pad: 0,
        }))
    })
}

unsafe extern "C" fn init<A: Aead, const ENCRYPT: bool>(
    ctx: *mut c_void,
    key: *const u8,
    key_len: usize,
    iv: *const u8,
    iv_len: usize,
    params: *const Param,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(c) = (unsafe { abi::context::<A>(ctx) }) else { return 0 };
        c.shared().encrypt = ENCRYPT;
        if !iv.is_null() {
            // SAFETY: `iv` is not null; OpenSSL passes `iv_len` readable bytes there, which nobody changes during the call.
            if let Err(reason) = c.set_iv(unsafe { abi::slice(iv, iv_len) }) {
                return c.shared().fail(reason);
            }
        }
        if !key.is_null() {
            // SAFETY: `key` is not null; OpenSSL passes `key_len` readable bytes there, which nobody changes during the call.
            if let Err(reason) = c.set_key(unsafe { abi::slice(key, key_len) }) {
                return c.shared().fail(reason);
            }
        }
        if params.is_null() {
            return 1;
        }
        // SAFETY: `params` is OpenSSL's parameter array, which ends and lives through the call.
        unsafe { set_params(c, params) }
    })
}

unsafe extern "C" fn update<A: Aead>(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(c) = (unsafe { abi::context::<A>(ctx) }) else { return 0 };
        let written = if len == 0 && !A::EMPTY_UPDATES {
            0
        } else {
            if out_size < len {
                return c.shared().fail(prov::OUTPUT_BUFFER_TOO_SMALL);
            }
            // SAFETY: OpenSSL passes `input` null or with `len` readable bytes, and `out` null or with `out_size` writable ones, which are
            // at least `len`.
            let Some(written) = (unsafe { c.process(out, input, len) }) else {
                return A::UPDATE_ERROR.map_or(0, |reason| c.shared().fail(reason));
            };
            written
        };
        // SAFETY: OpenSSL passes the address of a variable of its own for the length.
        unsafe { *out_len = written };
        1
    })
}

unsafe extern "C" fn last<A: Aead>(ctx: *mut c_void, out: *mut u8, out_len: *mut usize, _out_size: usize) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's.
        let Some(c) = (unsafe { abi::context::<A>(ctx) }) else { return 0 };
        // SAFETY: OpenSSL passes `out` null or valid, and `finish` writes nothing there.
        let done = unsafe { c.finish(out) };
        // SAFETY: OpenSSL passes the address of a variable of its own for the length.
        unsafe { *out_len = 0 };
        done.into()
    })
}

unsafe extern "C" fn cipher<A: Aead>(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(c) = (unsafe { abi::context::<A>(ctx) }) else { return 0 };
        if out_size < len {
            return c.shared().fail(prov::OUTPUT_BUFFER_TOO_SMALL);
        }
        // Nothing at all is the end, also where an empty update is something else.
        let ended = input.is_null() && len == 0;
        // SAFETY: OpenSSL passes `input` null or with `len` readable bytes, and `out` null or with `out_size` writable ones, which are at
        // least `len`.
        let written = unsafe { if ended { c.finish(out).then_some(0) } else { c.process(out, input, len) } };
        let Some(written) = written else { return 0 };
        // SAFETY: OpenSSL passes the address of a variable of its own for the length.
        unsafe { *out_len = if A::TELLS_WRITTEN { written } else { len } };
        1
    })
}

unsafe extern "C" fn get_params<A: Aead, const BITS: usize>(params: *mut Param) -> c_int {
    let info = Info { aead: true, custom_iv: true, ..Info::plain(A::MODE, BITS / 8, 1, DEFAULT_IV) };
    // SAFETY: params is OpenSSL's.
    guard(0, move || unsafe { state::describe(&info, params) })
}

unsafe extern "C" fn get_ctx_params<A: Aead>(ctx: *mut c_void, params: *mut Param) -> c_int {
    guard(0, move || {
        // SAFETY: both are OpenSSL's.
        let Some(c) = (unsafe { abi::context::<A>(ctx) }) else { return 0 };
        // SAFETY: `params` is OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"ivlen" => answered(p.set_usize(c.iv_len())),
                b"keylen" => answered(p.set_usize(c.shared().key_len.into())),
                b"taglen" => answered(p.set_usize(c.tag_len())),
                b"tlsaadpad" => answered(p.set_usize(c.shared().tls_pad.into())),
                _ => c.get_param(p),
            };
            if let Err(refusal) = done {
                return c.shared().refuse(refusal);
            }
        }
        1
    })
}

/// # Safety
/// `params` is OpenSSL's.
unsafe fn set_params<A: Aead>(c: &mut A, params: *const Param) -> c_int {
    // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
    for p in unsafe { param::iter(params) } {
        let done = match p.name().to_bytes() {
            b"tlsaad" if p.data_type != param::OCTETS => Err(prov::FAILED_TO_GET_PARAMETER.into()),
            b"tlsaad" => {
                let pad = octets(p).and_then(|o| o.try_into().ok()).and_then(|aad| c.tls_header(aad));
                pad.map(|pad| c.shared().tls_pad = pad as u8).ok_or(A::HEADER_ERROR.into())
            }
            name => c.set_param(name, p),
        };
        if let Err(refusal) = done {
            return c.shared().refuse(refusal);
        }
    }
    1
}

unsafe extern "C" fn set_ctx_params<A: Aead>(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, move || unsafe { abi::context::<A>(ctx).map_or(0, |c| set_params(c, params)) })
}

unsafe extern "C" fn gettable_ctx_params<A: Aead>(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    A::GETTABLE.as_ptr()
}

unsafe extern "C" fn settable_ctx_params<A: Aead>(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    A::SETTABLE.as_ptr()
}

/// The dispatch table of a cipher with keys of `BITS` bits.
pub const fn table<A: Aead, const BITS: usize>() -> [Dispatch; 15] {
    [
        entry!(id::CIPHER_NEWCTX, newctx::<A, BITS>),
        entry!(id::CIPHER_FREECTX, abi::freed::<A>),
        entry!(id::CIPHER_DUPCTX, abi::copied::<A>),
        entry!(id::CIPHER_ENCRYPT_INIT, init::<A, true>),
        entry!(id::CIPHER_DECRYPT_INIT, init::<A, false>),
        entry!(id::CIPHER_UPDATE, update::<A>),
        entry!(id::CIPHER_FINAL, last::<A>),
        entry!(id::CIPHER_CIPHER, cipher::<A>),
        entry!(id::CIPHER_GET_PARAMS, get_params::<A, BITS>),
        entry!(id::CIPHER_GETTABLE_PARAMS, state::gettable_params),
        entry!(id::CIPHER_GET_CTX_PARAMS, get_ctx_params::<A>),
        entry!(id::CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params::<A>),
        entry!(id::CIPHER_SET_CTX_PARAMS, set_ctx_params::<A>),
        entry!(id::CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params::<A>),
        Dispatch::END,
    ]
}
