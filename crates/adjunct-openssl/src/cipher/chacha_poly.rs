//! ChaCha20-Poly1305 as a stream (RFC 8439), and TLS 1.2 records (RFC 7905).

use super::gcm::TLS_AAD;
use super::state::{self, Info, mode};
use crate::abi::core::{Core, Reason};
use crate::abi::param::{self, Param};
use crate::abi::{self, Dispatch, guard, id};
use crate::entry;
use crate::provider::provider;
use adjunct::InOut;
use adjunct::awslc::cipher_chacha::{ChaCha20Poly1305, KEY, TAG};
use adjunct::catalogue::Function;
use adjunct::route::{Direction, Tally};
use std::ffi::{c_int, c_void};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

const NONCE: usize = 12;

const INFO: Info = Info { aead: true, custom_iv: true, ..Info::plain(mode::STREAM, KEY, 1, NONCE) };

/// The record a TLS header announced.
#[derive(Clone, Copy)]
struct Record {
    aad: [u8; TLS_AAD],
    payload: usize,
}

#[derive(Clone)]
struct Context {
    aead: ChaCha20Poly1305,
    core: &'static Core,
    tally: Tally,
    encrypt: bool,
    key_set: bool,
    nonce: [u8; NONCE],
    tag: [u8; TAG],
    tag_len: usize,
    record: Option<Record>,
    tls_pad: usize,
}

impl Drop for Context {
    fn drop(&mut self) {
        self.nonce.zeroize();
        self.tag.zeroize();
    }
}

impl Context {
    #[cold]
    fn fail(&self, reason: Reason) -> c_int {
        self.core.raise(reason);
        0
    }

    fn message(&mut self, io: InOut<'_>) {
        let direction = if self.encrypt { Direction::Encrypt } else { Direction::Decrypt };
        self.tally.count(direction, io.len());
        self.aead.message(self.encrypt, io);
    }

    /// Takes the header of the next TLS record; gives what its length grows by. The nonce is the fixed one xor the
    /// sequence number, with which the header begins.
    fn tls_header(&mut self, aad: &[u8]) -> Option<usize> {
        let mut aad: [u8; TLS_AAD] = aad.try_into().ok()?;
        let mut payload = usize::from(u16::from_be_bytes([aad[TLS_AAD - 2], aad[TLS_AAD - 1]]));
        if !self.encrypt {
            payload = payload.checked_sub(TAG)?;
            aad[TLS_AAD - 2..].copy_from_slice(&(payload as u16).to_be_bytes());
        }
        let mut nonce = self.nonce;
        for (n, a) in nonce[4..].iter_mut().zip(aad) {
            *n ^= a;
        }
        self.aead.set_nonce(&nonce);
        self.record = Some(Record { aad, payload });
        Some(TAG)
    }

    /// One TLS record: payload and tag. Gives the length of the result.
    ///
    /// # Safety
    /// `input` and `out` are valid for `len` bytes.
    unsafe fn tls_record(&mut self, record: Record, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        let Record { aad, payload } = record;
        if input.is_null() || len != payload + TAG {
            return None;
        }
        let mut received = [0; TAG];
        // SAFETY: see above. The tag is read before the output, which may be the same memory, is written.
        let io = unsafe {
            std::ptr::copy_nonoverlapping(input.add(payload), received.as_mut_ptr(), TAG);
            InOut::from_raw(input, out, payload)
        };
        self.aead.aad(&aad);
        self.message(io);
        let tag = self.aead.tag();
        if self.encrypt {
            self.tag = tag;
            // SAFETY: see above.
            unsafe { std::ptr::copy_nonoverlapping(tag.as_ptr(), out.add(payload), TAG) };
            return Some(len);
        }
        if !bool::from(tag.ct_eq(&received)) {
            // What does not authenticate must not be seen.
            // SAFETY: see above.
            unsafe { abi::slice_mut(out, payload) }.zeroize();
            return None;
        }
        Some(payload)
    }

    /// Additional data (no output), message, or the end (no input). `None` is a failure.
    ///
    /// # Safety
    /// `input` and `out` are null or valid for `len` bytes.
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        if !self.key_set {
            self.core.raise(Reason::NotInitialised);
            return None;
        }
        if let Some(record) = self.record {
            if !out.is_null() {
                // SAFETY: see above.
                let done = unsafe { self.tls_record(record, out, input, len) };
                self.record = None;
                return done;
            }
            self.aead.aad(&record.aad);
            self.record = None;
        }
        if input.is_null() {
            let tag = self.aead.tag();
            if self.encrypt {
                self.tag = tag;
                return Some(0);
            }
            // As in OpenSSL, a caller who sets no tag checks none.
            return bool::from(tag[..self.tag_len].ct_eq(&self.tag[..self.tag_len])).then_some(0);
        }
        if out.is_null() {
            // SAFETY: see above.
            self.aead.aad(unsafe { abi::slice(input, len) });
        } else {
            // SAFETY: see above.
            self.message(unsafe { InOut::from_raw(input, out, len) });
        }
        Some(len)
    }

    /// Takes the parameters of [`SETTABLE`].
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set_params(&mut self, params: *const Param) -> c_int {
        // SAFETY: see above.
        for p in unsafe { param::iter(params) } {
            let name = p.name().to_bytes();
            match name {
                b"keylen" if p.get_usize() != Some(KEY) => return self.fail(Reason::InvalidKeyLength),
                b"ivlen" if p.get_usize() != Some(NONCE) => return self.fail(Reason::InvalidIvLength),
                b"tag" | b"tlsaad" | b"tlsivfixed" if p.data_type != param::OCTETS => {
                    return self.fail(Reason::InvalidParameter);
                }
                // A tag without data sets its length only.
                b"tag" => {
                    if p.data_size == 0 || p.data_size > TAG {
                        return self.fail(Reason::InvalidTagLength);
                    }
                    if let Some(tag) = p.get_octets() {
                        if self.encrypt {
                            return self.fail(Reason::TagNotNeeded);
                        }
                        self.tag[..tag.len()].copy_from_slice(tag);
                    }
                    self.tag_len = p.data_size;
                }
                b"tlsaad" => {
                    let Some(pad) = p.get_octets().and_then(|aad| self.tls_header(aad)) else {
                        return self.fail(Reason::InvalidParameter);
                    };
                    self.tls_pad = pad;
                }
                b"tlsivfixed" => {
                    let Some(fixed) = p.get_octets().and_then(|f| f.try_into().ok()) else {
                        return self.fail(Reason::InvalidIvLength);
                    };
                    self.nonce = fixed;
                    self.aead.set_nonce(&fixed);
                }
                _ => {}
            }
        }
        1
    }

    /// Answers the parameters of [`GETTABLE`].
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn get_params(&self, params: *mut Param) -> c_int {
        // SAFETY: see above.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"ivlen" => p.set_usize(NONCE),
                b"keylen" => p.set_usize(KEY),
                b"taglen" => p.set_usize(self.tag_len),
                b"tlsaadpad" => p.set_usize(self.tls_pad),
                b"tag" => {
                    if p.data_type != param::OCTETS {
                        return self.fail(Reason::InvalidParameter);
                    }
                    if !self.encrypt {
                        return self.fail(Reason::TagNotSet);
                    }
                    if p.data_size == 0 || p.data_size > TAG {
                        return self.fail(Reason::InvalidTagLength);
                    }
                    p.set_octets(&self.tag[..p.data_size])
                }
                _ => true,
            };
            if !done {
                return 0;
            }
        }
        1
    }
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        adjunct::counters::attribute();
        abi::into_raw(Box::new(Context {
            aead: ChaCha20Poly1305::default(),
            // SAFETY: OpenSSL keeps the provider until its last context is gone.
            core: unsafe { &provider(provctx).core },
            tally: Tally::new(Function::ChaCha20Poly1305, 0),
            encrypt: false,
            key_set: false,
            nonce: [0; NONCE],
            tag: [0; TAG],
            tag_len: 0,
            record: None,
            tls_pad: 0,
        }))
    })
}

unsafe extern "C" fn freectx(ctx: *mut c_void) {
    // SAFETY: from newctx or dupctx.
    guard((), || unsafe { abi::free::<Context>(ctx) });
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: from newctx or dupctx.
        let context = unsafe { abi::context::<Context>(ctx) };
        context.map_or(std::ptr::null_mut(), |c| abi::into_raw(Box::new(c.clone())))
    })
}

unsafe extern "C" fn init<const ENCRYPT: bool>(
    ctx: *mut c_void,
    key: *const u8,
    key_len: usize,
    iv: *const u8,
    iv_len: usize,
    params: *const Param,
) -> c_int {
    guard(0, || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(c) = (unsafe { abi::context::<Context>(ctx) }) else { return 0 };
        c.encrypt = ENCRYPT;
        if !iv.is_null() {
            // SAFETY: as above.
            let Ok(nonce) = (unsafe { abi::slice(iv, iv_len) }).try_into() else {
                return c.fail(Reason::InvalidIvLength);
            };
            c.nonce = nonce;
            c.aead.set_nonce(&nonce);
            c.record = None;
        }
        if !key.is_null() {
            // SAFETY: as above.
            let Ok(key) = (unsafe { abi::slice(key, key_len) }).try_into() else {
                return c.fail(Reason::InvalidKeyLength);
            };
            c.aead.set_key(key);
            c.record = None;
            c.key_set = true;
        }
        if params.is_null() {
            return 1;
        }
        // SAFETY: as above.
        unsafe { c.set_params(params) }
    })
}

/// Update and `EVP_Cipher` are the same here.
unsafe extern "C" fn cipher(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(c) = (unsafe { abi::context::<Context>(ctx) }) else { return 0 };
        let written = if len == 0 {
            0
        } else {
            if out_size < len {
                return c.fail(Reason::BufferTooSmall);
            }
            // SAFETY: as above.
            let Some(written) = (unsafe { c.process(out, input, len) }) else { return 0 };
            written
        };
        // SAFETY: as above.
        unsafe { *out_len = written };
        1
    })
}

unsafe extern "C" fn last(ctx: *mut c_void, out: *mut u8, out_len: *mut usize, _out_size: usize) -> c_int {
    guard(0, || {
        // SAFETY: the pointers are OpenSSL's.
        let Some(c) = (unsafe { abi::context::<Context>(ctx) }) else { return 0 };
        // SAFETY: as above.
        let done = unsafe { c.process(out, std::ptr::null(), 0) };
        // SAFETY: as above.
        unsafe { *out_len = 0 };
        done.is_some().into()
    })
}

unsafe extern "C" fn get_params(params: *mut Param) -> c_int {
    // SAFETY: params is OpenSSL's.
    guard(0, || unsafe { state::describe(&INFO, params) })
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, || unsafe { abi::context::<Context>(ctx).map_or(0, |c| c.get_params(params)) })
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, || unsafe { abi::context::<Context>(ctx).map_or(0, |c| c.set_params(params)) })
}

static GETTABLE: [Param; 6] = [
    Param::describe(c"keylen", param::UNSIGNED, 8),
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::describe(c"taglen", param::UNSIGNED, 8),
    Param::describe(c"tag", param::OCTETS, 0),
    Param::describe(c"tlsaadpad", param::UNSIGNED, 8),
    Param::END,
];

static SETTABLE: [Param; 6] = [
    Param::describe(c"keylen", param::UNSIGNED, 8),
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::describe(c"tag", param::OCTETS, 0),
    Param::describe(c"tlsaad", param::OCTETS, 0),
    Param::describe(c"tlsivfixed", param::OCTETS, 0),
    Param::END,
];

unsafe extern "C" fn gettable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn settable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SETTABLE.as_ptr()
}

pub(super) static CHACHA20_POLY1305: [Dispatch; 15] = [
    entry!(id::CIPHER_NEWCTX, newctx),
    entry!(id::CIPHER_FREECTX, freectx),
    entry!(id::CIPHER_DUPCTX, dupctx),
    entry!(id::CIPHER_ENCRYPT_INIT, init::<true>),
    entry!(id::CIPHER_DECRYPT_INIT, init::<false>),
    entry!(id::CIPHER_UPDATE, cipher),
    entry!(id::CIPHER_FINAL, last),
    entry!(id::CIPHER_CIPHER, cipher),
    entry!(id::CIPHER_GET_PARAMS, get_params),
    entry!(id::CIPHER_GETTABLE_PARAMS, state::gettable_params),
    entry!(id::CIPHER_GET_CTX_PARAMS, get_ctx_params),
    entry!(id::CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params),
    entry!(id::CIPHER_SET_CTX_PARAMS, set_ctx_params),
    entry!(id::CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params),
    Dispatch::END,
];
