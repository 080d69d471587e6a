//! AES-CCM: lengths first, then one message in one piece (SP 800-38C), and TLS 1.2 records (RFC 6655).

use super::gcm::TLS_AAD;
use super::state::{self, Info, mode};
use crate::abi::core::{Core, Reason};
use crate::abi::param::{self, Param};
use crate::abi::{self, Dispatch, guard, id};
use crate::entry;
use crate::provider::provider;
use adjunct::InOut;
use adjunct::awslc::cipher_ccm::Ccm;
use adjunct::catalogue::Function;
use adjunct::route::{Direction, Tally};
use std::ffi::{c_int, c_void};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

const EXPLICIT_IV: usize = 8;
const FIXED_IV: usize = 4;

const fn info(bits: usize) -> Info {
    Info { aead: true, custom_iv: true, ..Info::plain(mode::CCM, bits / 8, 1, 12) }
}

#[derive(Clone)]
struct Context {
    ccm: Ccm,
    core: &'static Core,
    tally: Tally,
    encrypt: bool,
    key_set: bool,
    iv_set: bool,
    tag_set: bool,
    length_set: bool,
    key_len: usize,
    /// The bytes the message length takes; the nonce has 15 less that.
    width: usize,
    tag_len: usize,
    tag: [u8; 16],
    iv: [u8; 16],
    tls_aad: Option<[u8; TLS_AAD]>,
    tls_pad: usize,
}

impl Drop for Context {
    fn drop(&mut self) {
        self.iv.zeroize();
        self.tag.zeroize();
    }
}

impl Context {
    #[cold]
    fn fail(&self, reason: Reason) -> c_int {
        self.core.raise(reason);
        0
    }

    fn iv_len(&self) -> usize {
        15 - self.width
    }

    fn start(&mut self, message: usize) -> bool {
        let iv_len = self.iv_len();
        self.length_set = self.ccm.start(&self.iv[..iv_len], self.tag_len, message).is_ok();
        self.length_set
    }

    /// The message, and its tag: given out, or compared with `expected`. What does not authenticate is wiped.
    ///
    /// # Safety
    /// `input` and `out` are valid for `len` bytes.
    unsafe fn message(&mut self, out: *mut u8, input: *const u8, len: usize, expected: Option<[u8; 16]>) -> bool {
        // SAFETY: see above.
        if self.ccm.message(self.encrypt, unsafe { InOut::from_raw(input, out, len) }).is_err() {
            return false;
        }
        let direction = if self.encrypt { Direction::Encrypt } else { Direction::Decrypt };
        self.tally.count(direction, len);
        let tag = self.ccm.tag();
        if let Some(expected) = expected {
            if bool::from(tag[..self.tag_len].ct_eq(&expected[..self.tag_len])) {
                return true;
            }
            // SAFETY: see above.
            unsafe { abi::slice_mut(out, len) }.zeroize();
            return false;
        }
        self.tag = tag;
        true
    }

    /// Takes the header of the next TLS record; gives what its length grows by.
    fn tls_header(&mut self, aad: &[u8]) -> Option<usize> {
        let mut aad: [u8; TLS_AAD] = aad.try_into().ok()?;
        self.tls_aad = Some(aad);
        let mut length = usize::from(u16::from_be_bytes([aad[TLS_AAD - 2], aad[TLS_AAD - 1]]));
        length = length.checked_sub(EXPLICIT_IV)?;
        if !self.encrypt {
            length = length.checked_sub(self.tag_len)?;
        }
        aad[TLS_AAD - 2..].copy_from_slice(&(length as u16).to_be_bytes());
        self.tls_aad = Some(aad);
        Some(self.tag_len)
    }

    /// One TLS record in place: explicit IV, payload, tag. Gives the length of the result.
    fn tls_record(&mut self, aad: [u8; TLS_AAD], record: &mut [u8]) -> Option<usize> {
        let length = record.len();
        let bytes = length.checked_sub(EXPLICIT_IV + self.tag_len)?;
        let (explicit, rest) = record.split_at_mut(EXPLICIT_IV);
        let (payload, tag) = rest.split_at_mut(bytes);
        if self.encrypt {
            // The sequence number, with which the header begins.
            explicit.copy_from_slice(&aad[..EXPLICIT_IV]);
        }
        self.iv[FIXED_IV..FIXED_IV + EXPLICIT_IV].copy_from_slice(explicit);
        if !self.start(bytes) {
            return None;
        }
        self.ccm.aad(&aad);
        let mut expected = [0; 16];
        expected[..tag.len()].copy_from_slice(tag);
        let (p, encrypt) = (payload.as_mut_ptr(), self.encrypt);
        // SAFETY: the payload in place.
        if !unsafe { self.message(p, p, bytes, (!encrypt).then_some(expected)) } {
            return None;
        }
        if encrypt {
            tag.copy_from_slice(&self.tag[..tag.len()]);
            return Some(length);
        }
        Some(bytes)
    }

    /// The end. A message that was never given is an empty one: its tag is made, or must verify, here.
    fn finish(&mut self) -> bool {
        if !self.key_set || self.tls_aad.is_some() {
            return false;
        }
        if !self.iv_set || self.encrypt && self.tag_set {
            return true;
        }
        if !self.encrypt && !self.tag_set || !self.length_set && !self.start(0) {
            return false;
        }
        let expected = (!self.encrypt).then_some(self.tag);
        // SAFETY: nothing is read or written.
        if !unsafe { self.message(std::ptr::dangling_mut(), std::ptr::dangling(), 0, expected) } {
            return false;
        }
        if self.encrypt {
            self.tag_set = true;
        } else {
            (self.iv_set, self.tag_set, self.length_set) = (false, false, false);
        }
        true
    }

    /// The length (neither input nor output), additional data (no output) or the message. `None` is a failure.
    ///
    /// # Safety
    /// `input` and `out` are null or valid for `len` bytes.
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        if !self.key_set {
            return None;
        }
        if let Some(aad) = self.tls_aad {
            if input.is_null() || input != out.cast_const() {
                return None;
            }
            // SAFETY: see above; input and output are the same.
            return self.tls_record(aad, unsafe { abi::slice_mut(out, len) });
        }
        if input.is_null() && !out.is_null() {
            return self.finish().then_some(0);
        }
        if !self.iv_set {
            return None;
        }
        if out.is_null() {
            if input.is_null() {
                return self.start(len).then_some(len);
            }
            if !self.length_set && len > 0 {
                return None;
            }
            // SAFETY: see above.
            self.ccm.aad(unsafe { abi::slice(input, len) });
            return Some(len);
        }
        if !self.length_set && !self.start(len) {
            return None;
        }
        if self.encrypt {
            // SAFETY: see above.
            let done = unsafe { self.message(out, input, len, None) };
            self.tag_set |= done;
            return done.then_some(len);
        }
        if !self.tag_set {
            return None;
        }
        let expected = self.tag;
        // SAFETY: see above.
        if !unsafe { self.message(out, input, len, Some(expected)) } {
            return None;
        }
        // Over: another message needs another nonce and tag.
        (self.iv_set, self.tag_set, self.length_set) = (false, false, false);
        Some(len)
    }

    /// Takes the parameters of [`SETTABLE`].
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set_params(&mut self, params: *const Param) -> c_int {
        // SAFETY: see above.
        for p in unsafe { param::iter(params) } {
            match p.name().to_bytes() {
                // A tag without data sets its length only.
                b"tag" => {
                    if p.data_type != param::OCTETS {
                        return self.fail(Reason::InvalidParameter);
                    }
                    if p.data_size % 2 == 1 || !(4..=16).contains(&p.data_size) {
                        return self.fail(Reason::InvalidTagLength);
                    }
                    if let Some(tag) = p.get_octets() {
                        if self.encrypt {
                            return self.fail(Reason::TagNotNeeded);
                        }
                        self.tag[..tag.len()].copy_from_slice(tag);
                        self.tag_set = true;
                    }
                    self.tag_len = p.data_size;
                }
                b"ivlen" => {
                    let Some(length) = p.get_usize() else { return self.fail(Reason::InvalidParameter) };
                    if !(7..=13).contains(&length) {
                        return self.fail(Reason::InvalidIvLength);
                    }
                    if self.width != 15 - length {
                        self.width = 15 - length;
                        // A nonce already there was made for another length.
                        self.iv_set = false;
                        self.length_set = false;
                    }
                }
                b"tlsaad" => {
                    let octets = (p.data_type == param::OCTETS).then(|| p.get_octets()).flatten();
                    let Some(pad) = octets.and_then(|o| self.tls_header(o)) else {
                        return self.fail(Reason::InvalidParameter);
                    };
                    self.tls_pad = pad;
                }
                b"tlsivfixed" => {
                    let octets = (p.data_type == param::OCTETS).then(|| p.get_octets()).flatten();
                    let Some(fixed) = octets.filter(|o| o.len() == FIXED_IV) else {
                        return self.fail(Reason::InvalidIvLength);
                    };
                    self.iv[..FIXED_IV].copy_from_slice(fixed);
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
    unsafe fn get_params(&mut self, params: *mut Param) -> c_int {
        // SAFETY: see above.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"ivlen" => p.set_usize(self.iv_len()),
                b"keylen" => p.set_usize(self.key_len),
                b"taglen" => p.set_usize(self.tag_len),
                b"iv" | b"updated-iv" => {
                    if !p.data.is_null() && p.data_type == param::OCTETS && p.data_size < self.iv_len() {
                        return self.fail(Reason::InvalidIvLength);
                    }
                    p.set_octets(&self.iv[..self.iv_len()])
                }
                b"tlsaadpad" => p.set_usize(self.tls_pad),
                b"tag" => {
                    if !self.encrypt || !self.tag_set {
                        return self.fail(Reason::TagNotSet);
                    }
                    if p.data_type != param::OCTETS {
                        return self.fail(Reason::InvalidParameter);
                    }
                    if p.data_size != self.tag_len || !p.set_octets(&self.tag[..self.tag_len]) {
                        return 0;
                    }
                    (self.iv_set, self.tag_set, self.length_set) = (false, false, false);
                    true
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

unsafe extern "C" fn newctx<const BITS: usize>(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        adjunct::counters::attribute();
        abi::into_raw(Box::new(Context {
            ccm: Ccm::default(),
            // SAFETY: OpenSSL keeps the provider until its last context is gone.
            core: unsafe { &provider(provctx).core },
            tally: Tally::new(Function::AesCcm, BITS),
            encrypt: false,
            key_set: false,
            iv_set: false,
            tag_set: false,
            length_set: false,
            key_len: BITS / 8,
            width: 8,
            tag_len: 12,
            tag: [0; 16],
            iv: [0; 16],
            tls_aad: None,
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
            if iv_len != c.iv_len() {
                return c.fail(Reason::InvalidIvLength);
            }
            // SAFETY: as above.
            c.iv[..iv_len].copy_from_slice(unsafe { abi::slice(iv, iv_len) });
            c.iv_set = true;
            // The lengths go into the same block as the nonce and are set anew with it.
            c.length_set = false;
        }
        if !key.is_null() {
            // SAFETY: as above.
            if key_len != c.key_len || c.ccm.set_key(unsafe { abi::slice(key, key_len) }).is_err() {
                return c.fail(Reason::InvalidKeyLength);
            }
            c.key_set = true;
        }
        if params.is_null() {
            return 1;
        }
        // SAFETY: as above.
        unsafe { c.set_params(params) }
    })
}

unsafe extern "C" fn update(
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
        if out_size < len {
            return c.fail(Reason::BufferTooSmall);
        }
        // SAFETY: as above.
        let Some(written) = (unsafe { c.process(out, input, len) }) else { return c.fail(Reason::CipherFailed) };
        // SAFETY: as above.
        unsafe { *out_len = written };
        1
    })
}

unsafe extern "C" fn last(ctx: *mut c_void, _out: *mut u8, out_len: *mut usize, _out_size: usize) -> c_int {
    guard(0, || {
        // SAFETY: the pointers are OpenSSL's.
        let Some(c) = (unsafe { abi::context::<Context>(ctx) }) else { return 0 };
        // SAFETY: as above.
        unsafe { *out_len = 0 };
        c.finish().into()
    })
}

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
        if out_size < len {
            return c.fail(Reason::BufferTooSmall);
        }
        // Nothing at all is the end here, where an update sets an empty message's length.
        let ended = input.is_null() && len == 0;
        // SAFETY: as above.
        if !(if ended { c.finish() } else { unsafe { c.process(out, input, len) }.is_some() }) {
            return 0;
        }
        // SAFETY: as above.
        unsafe { *out_len = len };
        1
    })
}

unsafe extern "C" fn get_params<const BITS: usize>(params: *mut Param) -> c_int {
    // SAFETY: params is OpenSSL's.
    guard(0, || unsafe { state::describe(&info(BITS), params) })
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, || unsafe { abi::context::<Context>(ctx).map_or(0, |c| c.get_params(params)) })
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, || unsafe { abi::context::<Context>(ctx).map_or(0, |c| c.set_params(params)) })
}

// OpenSSL lists the last one of each for all AEADs; CCM gives and takes none.
static GETTABLE: [Param; 9] = [
    Param::describe(c"keylen", param::UNSIGNED, 8),
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::describe(c"taglen", param::UNSIGNED, 8),
    Param::describe(c"iv", param::OCTETS, 0),
    Param::describe(c"updated-iv", param::OCTETS, 0),
    Param::describe(c"tag", param::OCTETS, 0),
    Param::describe(c"tlsaadpad", param::UNSIGNED, 8),
    Param::describe(c"tlsivgen", param::OCTETS, 0),
    Param::END,
];

static SETTABLE: [Param; 6] = [
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::describe(c"tag", param::OCTETS, 0),
    Param::describe(c"tlsaad", param::OCTETS, 0),
    Param::describe(c"tlsivfixed", param::OCTETS, 0),
    Param::describe(c"tlsivinv", param::OCTETS, 0),
    Param::END,
];

unsafe extern "C" fn gettable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn settable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SETTABLE.as_ptr()
}

const fn table<const BITS: usize>() -> [Dispatch; 15] {
    [
        entry!(id::CIPHER_NEWCTX, newctx::<BITS>),
        entry!(id::CIPHER_FREECTX, freectx),
        entry!(id::CIPHER_DUPCTX, dupctx),
        entry!(id::CIPHER_ENCRYPT_INIT, init::<true>),
        entry!(id::CIPHER_DECRYPT_INIT, init::<false>),
        entry!(id::CIPHER_UPDATE, update),
        entry!(id::CIPHER_FINAL, last),
        entry!(id::CIPHER_CIPHER, cipher),
        entry!(id::CIPHER_GET_PARAMS, get_params::<BITS>),
        entry!(id::CIPHER_GETTABLE_PARAMS, state::gettable_params),
        entry!(id::CIPHER_GET_CTX_PARAMS, get_ctx_params),
        entry!(id::CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params),
        entry!(id::CIPHER_SET_CTX_PARAMS, set_ctx_params),
        entry!(id::CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params),
        Dispatch::END,
    ]
}

pub(super) static CCM128: [Dispatch; 15] = table::<128>();
pub(super) static CCM192: [Dispatch; 15] = table::<192>();
pub(super) static CCM256: [Dispatch; 15] = table::<256>();
