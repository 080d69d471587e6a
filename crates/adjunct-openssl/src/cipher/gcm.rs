//! AES-GCM: as a stream, one-shot as OpenSSH uses it, and TLS 1.2 records (SP 800-38D, RFC 5288).

use super::state::{self, Info, mode};
use crate::abi::core::{Core, Reason};
use crate::abi::param::{self, Param};
use crate::abi::{self, Dispatch, guard, id};
use crate::entry;
use crate::provider::provider;
use adjunct::InOut;
use adjunct::awslc::cipher_gcm::{Gcm, TAG};
use adjunct::catalogue::Function;
use adjunct::route::{Direction, Tally};
use std::ffi::{c_int, c_void};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

const DEFAULT_IV: usize = 12;
const MAX_IV: usize = 128;
/// The part of a TLS 1.2 nonce that travels in the record; the invocation field of SP 800-38D 8.2.1.
const EXPLICIT_IV: usize = 8;
const FIXED_IV: usize = 4;
/// The additional data of a TLS record: sequence number, type, version, length.
pub(super) const TLS_AAD: usize = 13;

const fn info(bits: usize) -> Info {
    let plain = Info::plain(mode::GCM, bits / 8, 1, DEFAULT_IV);
    Info { aead: true, custom_iv: true, ..plain }
}

/// What the IV in the context is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IvState {
    /// None yet.
    Unset,
    /// Set, and the cipher not yet told.
    Buffered,
    /// In use by the cipher.
    Copied,
    /// Its message is over: it must not be used again.
    Finished,
}

#[derive(Clone)]
struct Context {
    gcm: Gcm,
    core: &'static Core,
    tally: Tally,
    encrypt: bool,
    iv_state: IvState,
    iv_generator: bool,
    iv_random: bool,
    key_len: usize,
    iv_len: usize,
    tag_len: Option<usize>,
    /// The tag computed or to be compared.
    tag: [u8; TAG],
    /// The header of the TLS record that comes next.
    tls_aad: Option<[u8; TLS_AAD]>,
    tls_pad: usize,
    tls_records: u64,
    iv: [u8; MAX_IV],
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

    fn direction(&self) -> Direction {
        if self.encrypt { Direction::Encrypt } else { Direction::Decrypt }
    }

    /// Tells the cipher its IV.
    #[inline]
    fn start(&mut self) {
        self.gcm.set_iv(&self.iv[..self.iv_len]);
        self.iv_state = IvState::Copied;
    }

    fn crypt(&mut self, io: InOut<'_>) -> bool {
        let done = if self.encrypt { self.gcm.encrypt(io) } else { self.gcm.decrypt(io) };
        done.is_ok()
    }

    /// Ends the message: the tag goes to `self.tag`, or what is there (or `expected`) is compared.
    fn finish(&mut self, expected: Option<[u8; TAG]>) -> bool {
        let tag = self.gcm.tag();
        if self.encrypt {
            self.tag = tag;
            self.tag_len = Some(TAG);
            return true;
        }
        let length = if expected.is_some() { TAG } else { self.tag_len.unwrap_or(0) };
        tag[..length].ct_eq(&expected.unwrap_or(self.tag)[..length]).into()
    }

    /// Makes a random IV (SP 800-38D 8.2.2): at least 96 bits of it.
    fn random_iv(&mut self) -> bool {
        if !self.encrypt || self.iv_len < DEFAULT_IV {
            return false;
        }
        adjunct::awslc::random(&mut self.iv[..self.iv_len]);
        self.iv_state = IvState::Buffered;
        self.iv_random = true;
        true
    }

    /// Uses the IV, gives out its last bytes and counts its invocation field up.
    fn generate_iv(&mut self, out: &mut [u8]) -> bool {
        if !self.iv_generator || !self.gcm.has_key() || self.iv_len < EXPLICIT_IV {
            return false;
        }
        self.start();
        let iv = &mut self.iv[..self.iv_len];
        let length = if out.is_empty() { iv.len() } else { out.len().min(iv.len()) };
        if !out.is_empty() {
            out[..length].copy_from_slice(&iv[iv.len() - length..]);
        }
        let Some(field) = iv.last_chunk_mut::<EXPLICIT_IV>() else { return false };
        *field = u64::from_be_bytes(*field).wrapping_add(1).to_be_bytes();
        true
    }

    /// Uses the IV with the last bytes the peer sent.
    fn received_iv(&mut self, invocation: &[u8]) -> bool {
        if !self.iv_generator || !self.gcm.has_key() || self.encrypt || invocation.len() > self.iv_len {
            return false;
        }
        self.iv[self.iv_len - invocation.len()..self.iv_len].copy_from_slice(invocation);
        self.start();
        true
    }

    /// Sets the part of the IV that stays for a connection.
    fn fixed_iv(&mut self, fixed: &[u8]) -> bool {
        let whole = fixed.len() == self.iv_len;
        if !whole && (fixed.len() < FIXED_IV || fixed.len() + EXPLICIT_IV > self.iv_len) {
            return false;
        }
        self.iv[..fixed.len()].copy_from_slice(fixed);
        if !whole && self.encrypt {
            adjunct::awslc::random(&mut self.iv[fixed.len()..self.iv_len]);
            self.iv_random = true;
        }
        self.iv_generator = true;
        self.iv_state = IvState::Buffered;
        true
    }

    /// Takes the header of the next TLS record; gives what its length grows by.
    fn tls_header(&mut self, aad: &[u8]) -> Option<usize> {
        let mut aad: [u8; TLS_AAD] = aad.try_into().ok()?;
        self.tls_aad = Some(aad);
        let mut length = usize::from(u16::from_be_bytes([aad[TLS_AAD - 2], aad[TLS_AAD - 1]]));
        length = length.checked_sub(EXPLICIT_IV)?;
        if !self.encrypt {
            length = length.checked_sub(TAG)?;
        }
        aad[TLS_AAD - 2..].copy_from_slice(&(length as u16).to_be_bytes());
        self.tls_aad = Some(aad);
        Some(TAG)
    }

    /// One TLS record in place: explicit IV, payload, tag. Gives the length of the result.
    fn tls_record(&mut self, aad: [u8; TLS_AAD], record: &mut [u8]) -> Option<usize> {
        if !self.gcm.has_key() || record.len() < EXPLICIT_IV + TAG {
            return None;
        }
        let length = record.len();
        let (explicit, rest) = record.split_at_mut(EXPLICIT_IV);
        let (payload, tag) = rest.split_at_mut(length - EXPLICIT_IV - TAG);
        if self.encrypt {
            self.tls_records = self.tls_records.checked_add(1)?;
            if !self.generate_iv(explicit) {
                return None;
            }
        } else if !self.received_iv(explicit) {
            return None;
        }
        let bytes = payload.len();
        if self.gcm.aad(&aad).is_err() || !self.crypt(InOut::in_place(payload)) {
            return None;
        }
        self.tally.count(self.direction(), bytes);
        let expected: [u8; TAG] = (&*tag).try_into().ok()?;
        if !self.finish(Some(expected)) {
            // What does not authenticate must not be seen.
            payload.zeroize();
            return None;
        }
        self.tag_len = Some(TAG);
        if self.encrypt {
            tag.copy_from_slice(&self.tag);
            return Some(length);
        }
        Some(bytes)
    }

    /// Additional data (no output), message, or the end (no input). `None` is a failure.
    ///
    /// # Safety
    /// `input` and `out` are null or valid for `len` bytes.
    #[inline]
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        if let Some(aad) = self.tls_aad {
            self.tls_aad = None;
            let done = if out.cast_const() == input && !out.is_null() {
                // SAFETY: see above; input and output are the same.
                self.tls_record(aad, unsafe { abi::slice_mut(out, len) })
            } else {
                None
            };
            self.iv_state = IvState::Finished;
            return done;
        }
        if !self.gcm.has_key() {
            return None;
        }
        if self.iv_state == IvState::Unset && !self.random_iv() {
            return None;
        }
        match self.iv_state {
            IvState::Copied => {}
            IvState::Buffered => self.start(),
            IvState::Unset | IvState::Finished => return None,
        }
        if input.is_null() {
            if !self.encrypt && self.tag_len.is_none() {
                self.core.raise(Reason::TagNotSet);
                return None;
            }
            if !self.finish(None) {
                return None;
            }
            self.iv_state = IvState::Finished;
            return Some(0);
        }
        if out.is_null() {
            // SAFETY: see above.
            return self.gcm.aad(unsafe { abi::slice(input, len) }).ok().map(|()| len);
        }
        // SAFETY: see above.
        if !self.crypt(unsafe { InOut::from_raw(input, out, len) }) {
            return None;
        }
        self.tally.count(self.direction(), len);
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
                b"ivlen" => match p.get_usize() {
                    None => return self.fail(Reason::InvalidParameter),
                    Some(length) if length == 0 || length > MAX_IV => return self.fail(Reason::InvalidIvLength),
                    Some(length) if length != self.iv_len => {
                        // An IV already there was made for another length.
                        if self.iv_state != IvState::Unset {
                            self.iv_state = IvState::Finished;
                        }
                        self.iv_len = length;
                    }
                    Some(_) => {}
                },
                // EVP_CTRL_GCM_SET_IV_FIXED with a length of -1 sets the whole IV; the array then has no length of its own.
                b"tlsivfixed" if p.data_type == param::OCTETS && p.data_size == usize::MAX => {
                    // SAFETY: by the rule of that control call the data is as long as the IV.
                    let iv = unsafe { abi::slice(p.data.cast(), self.iv_len) }.to_vec();
                    if !self.fixed_iv(&iv) {
                        return self.fail(Reason::InvalidParameter);
                    }
                }
                b"tlsivinv" => {
                    let octets = (p.data_type == param::OCTETS).then(|| p.get_octets()).flatten();
                    if !octets.is_some_and(|o| self.received_iv(o)) {
                        return 0;
                    }
                }
                b"tag" | b"tlsaad" | b"tlsivfixed" => {
                    let octets = (p.data_type == param::OCTETS).then(|| p.get_octets()).flatten();
                    let Some(octets) = octets else { return self.fail(Reason::InvalidParameter) };
                    let done = match name {
                        b"tag" => self.set_tag(octets),
                        b"tlsaad" => {
                            self.tls_header(octets).map(|pad| self.tls_pad = pad).ok_or(Reason::InvalidParameter)
                        }
                        b"tlsivfixed" if octets.len() != self.iv_len => {
                            self.fixed_iv(octets).then_some(()).ok_or(Reason::InvalidParameter)
                        }
                        _ => Err(Reason::InvalidParameter),
                    };
                    if let Err(reason) = done {
                        return self.fail(reason);
                    }
                }
                _ => {}
            }
        }
        1
    }

    fn set_tag(&mut self, tag: &[u8]) -> Result<(), Reason> {
        if tag.len() > TAG {
            return Err(Reason::InvalidParameter);
        }
        self.tag[..tag.len()].copy_from_slice(tag);
        if tag.is_empty() || self.encrypt {
            return Err(Reason::InvalidTag);
        }
        self.tag_len = Some(tag.len());
        Ok(())
    }

    /// Answers the parameters of [`GETTABLE`].
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn get_params(&mut self, params: *mut Param) -> c_int {
        // SAFETY: see above.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"ivlen" => p.set_usize(self.iv_len),
                b"keylen" => p.set_usize(self.key_len),
                b"taglen" => p.set_usize(self.tag_len.unwrap_or(TAG)),
                b"iv" | b"updated-iv" => {
                    if self.iv_state == IvState::Unset {
                        return 0;
                    }
                    if !p.data.is_null() && p.data_type == param::OCTETS && p.data_size < self.iv_len {
                        return self.fail(Reason::InvalidIvLength);
                    }
                    p.set_octets(&self.iv[..self.iv_len])
                }
                b"tlsaadpad" => p.set_usize(self.tls_pad),
                b"tag" => {
                    let size = p.data_size;
                    if size == 0 || size > TAG || !self.encrypt || self.tag_len.is_none() {
                        return self.fail(Reason::InvalidTag);
                    }
                    p.data_type == param::OCTETS && p.set_octets(&self.tag[..size])
                }
                b"tlsivgen" => {
                    if p.data.is_null() || p.data_type != param::OCTETS {
                        return 0;
                    }
                    // A length of 0, or beyond the IV's, asks for all of it.
                    let size = if p.data_size == 0 { self.iv_len } else { p.data_size.min(self.iv_len) };
                    // SAFETY: data has that room.
                    self.generate_iv(unsafe { abi::slice_mut(p.data.cast(), size) })
                }
                b"iv-generated" => p.set_u64(self.iv_random.into()),
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
            gcm: Gcm::default(),
            // SAFETY: OpenSSL keeps the provider until its last context is gone.
            core: unsafe { &provider(provctx).core },
            tally: Tally::new(Function::AesGcm, BITS),
            encrypt: false,
            iv_state: IvState::Unset,
            iv_generator: false,
            iv_random: false,
            key_len: BITS / 8,
            iv_len: DEFAULT_IV,
            tag_len: None,
            tag: [0; TAG],
            tls_aad: None,
            tls_pad: 0,
            tls_records: 0,
            iv: [0; MAX_IV],
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
            if iv_len == 0 || iv_len > MAX_IV {
                return c.fail(Reason::InvalidIvLength);
            }
            c.iv_len = iv_len;
            // SAFETY: as above.
            c.iv[..iv_len].copy_from_slice(unsafe { abi::slice(iv, iv_len) });
            c.iv_random = false;
            c.iv_state = IvState::Buffered;
        }
        if !key.is_null() {
            // SAFETY: as above.
            if key_len != c.key_len || c.gcm.set_key(unsafe { abi::slice(key, key_len) }).is_err() {
                return c.fail(Reason::InvalidKeyLength);
            }
            c.tls_records = 0;
            // A message begun under the old key cannot go on under the new one.
            if c.iv_state == IvState::Copied {
                c.iv_state = IvState::Buffered;
            }
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
        let written = if len == 0 {
            0
        } else {
            if out_size < len {
                return c.fail(Reason::BufferTooSmall);
            }
            // SAFETY: as above.
            let Some(written) = (unsafe { c.process(out, input, len) }) else { return c.fail(Reason::CipherFailed) };
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
        // SAFETY: as above.
        let done = unsafe { c.process(out, input, len) };
        if done.is_none() {
            return 0;
        }
        // SAFETY: as above. OpenSSL's own gives the input's length here, for TLS records too.
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

static GETTABLE: [Param; 10] = [
    Param::describe(c"keylen", param::UNSIGNED, 8),
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::describe(c"taglen", param::UNSIGNED, 8),
    Param::describe(c"iv", param::OCTETS, 0),
    Param::describe(c"updated-iv", param::OCTETS, 0),
    Param::describe(c"tag", param::OCTETS, 0),
    Param::describe(c"tlsaadpad", param::UNSIGNED, 8),
    Param::describe(c"tlsivgen", param::OCTETS, 0),
    Param::describe(c"iv-generated", param::UNSIGNED, 4),
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

pub(super) static GCM128: [Dispatch; 15] = table::<128>();
pub(super) static GCM192: [Dispatch; 15] = table::<192>();
pub(super) static GCM256: [Dispatch; 15] = table::<256>();
