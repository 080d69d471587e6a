//! AES-GCM with the controls of TLS 1.2 (RFC 5288) and OpenSSH: fixed and generated IVs, records in place.

use super::{Cipher, UNSUPPORTED};
use crate::bulk::bulk;
use crate::libcrypto::Opaque;
use adjunct::InOut;
use adjunct::awslc::cipher_gcm::{Gcm, TAG};
use adjunct::catalogue::Function;
use adjunct::route::{Direction, Tally};
use std::ffi::{c_int, c_void};
use zeroize::Zeroize;

/// `EVP_CTRL_*`.
mod command {
    use std::ffi::c_int;
    pub const SET_IV_LENGTH: c_int = 0x9;
    pub const GET_TAG: c_int = 0x10;
    pub const SET_TAG: c_int = 0x11;
    pub const SET_FIXED_IV: c_int = 0x12;
    pub const GENERATE_IV: c_int = 0x13;
    pub const TLS_AAD: c_int = 0x16;
    pub const SET_INVOCATION: c_int = 0x18;
    pub const GET_IV_LENGTH: c_int = 0x25;
}

const MAX_IV: usize = 128;
/// The header of a TLS record that is authenticated.
const TLS_AAD: usize = 13;
/// The part of a nonce that travels in a TLS record, and the part that stays for a connection.
const EXPLICIT_IV: usize = 8;
const FIXED_IV: usize = 4;

/// What the IV is good for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IvState {
    /// None, or its message is over: it must not be used again.
    Unset,
    /// Set, and the cipher not yet told.
    Set,
    /// In use.
    Used,
}

/// AES-GCM with keys of `BITS` bits.
#[derive(Clone)]
pub struct Context<const BITS: usize> {
    gcm: Gcm,
    tally: Tally,
    encrypt: bool,
    iv_state: IvState,
    generates: bool,
    iv_length: usize,
    tag_length: Option<usize>,
    tag: [u8; TAG],
    tls_aad: Option<[u8; TLS_AAD]>,
    tls_records: u64,
    iv: [u8; MAX_IV],
}

impl<const BITS: usize> Drop for Context<BITS> {
    fn drop(&mut self) {
        self.iv.zeroize();
        self.tag.zeroize();
    }
}

/// Whether the first `length` bytes of two tags are the same, in one comparison: the time tells nothing of where they differ.
fn same(a: &[u8; TAG], b: &[u8; TAG], length: usize) -> bool {
    let kept = if length >= TAG { u128::MAX } else { (1 << (8 * length)) - 1 };
    std::hint::black_box((u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b)) & kept) == 0
}

impl<const BITS: usize> Context<BITS> {
    fn start(&mut self) {
        self.gcm.set_iv(&self.iv[..self.iv_length]);
        self.iv_state = IvState::Used;
    }

    fn crypt(&mut self, io: InOut<'_>) -> bool {
        let bytes = io.len();
        let done = if self.encrypt { self.gcm.encrypt(io) } else { self.gcm.decrypt(io) };
        if done.is_ok() {
            self.tally.count(if self.encrypt { Direction::Encrypt } else { Direction::Decrypt }, bytes);
        }
        done.is_ok()
    }

    /// Uses the IV, gives out its last bytes and counts its invocation field up (SP 800-38D 8.2.1).
    fn generate(&mut self, out: &mut [u8]) -> bool {
        if !self.generates || !self.gcm.has_key() || self.iv_length < EXPLICIT_IV || out.len() > self.iv_length {
            return false;
        }
        self.start();
        let iv = &mut self.iv[..self.iv_length];
        out.copy_from_slice(&iv[iv.len() - out.len()..]);
        let Some(field) = iv.last_chunk_mut::<EXPLICIT_IV>() else { return false };
        *field = u64::from_be_bytes(*field).wrapping_add(1).to_be_bytes();
        true
    }

    /// Uses the IV with the last bytes that the peer sent.
    fn received(&mut self, invocation: &[u8]) -> bool {
        if !self.generates || !self.gcm.has_key() || self.encrypt || invocation.len() > self.iv_length {
            return false;
        }
        self.iv[self.iv_length - invocation.len()..self.iv_length].copy_from_slice(invocation);
        self.start();
        true
    }

    /// Sets the part of the IV that stays for a connection, or all of it.
    fn fix(&mut self, fixed: &[u8], whole: bool) -> bool {
        if !whole && (fixed.len() < FIXED_IV || fixed.len() + EXPLICIT_IV > self.iv_length) {
            return false;
        }
        self.iv[..fixed.len()].copy_from_slice(fixed);
        if !whole && self.encrypt {
            adjunct::awslc::random(&mut self.iv[fixed.len()..self.iv_length]);
        }
        self.generates = true;
        self.iv_state = IvState::Set;
        true
    }

    /// The header of the next record, with the length that its payload will have; the bytes a record grows by.
    fn tls_header(&mut self, mut aad: [u8; TLS_AAD]) -> Option<usize> {
        let [.., high, low] = aad;
        let overhead = EXPLICIT_IV + if self.encrypt { 0 } else { TAG };
        let length = usize::from(u16::from_be_bytes([high, low])).checked_sub(overhead)?;
        aad[TLS_AAD - 2..].copy_from_slice(&(length as u16).to_be_bytes());
        self.tls_aad = Some(aad);
        Some(TAG)
    }

    /// One record in place: explicit IV, payload, tag. The length of the result.
    fn tls_record(&mut self, aad: [u8; TLS_AAD], record: &mut [u8]) -> Option<usize> {
        let length = record.len();
        if !self.gcm.has_key() || length < EXPLICIT_IV + TAG {
            return None;
        }
        let (explicit, rest) = record.split_at_mut(EXPLICIT_IV);
        let (payload, tag) = rest.split_at_mut(length - EXPLICIT_IV - TAG);
        if self.encrypt {
            self.tls_records = self.tls_records.checked_add(1)?;
        }
        let started = if self.encrypt { self.generate(explicit) } else { self.received(explicit) };
        if !started || self.gcm.aad(&aad).is_err() || !self.crypt(InOut::in_place(payload)) {
            return None;
        }
        let made = self.gcm.tag();
        if self.encrypt {
            tag.copy_from_slice(&made);
            return Some(length);
        }
        let received: [u8; TAG] = (&*tag).try_into().ok()?;
        if !same(&made, &received, TAG) {
            // What does not authenticate must not be seen.
            payload.zeroize();
            return None;
        }
        Some(payload.len())
    }

    /// Ends the message: makes the tag, or compares it.
    fn close(&mut self) -> bool {
        let made = self.gcm.tag();
        self.iv_state = IvState::Unset;
        if self.encrypt {
            (self.tag, self.tag_length) = (made, Some(TAG));
            return true;
        }
        self.tag_length.is_some_and(|length| same(&made, &self.tag, length))
    }

    /// # Safety
    /// As for [`Cipher::run`].
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, length: usize) -> Option<usize> {
        if let Some(aad) = self.tls_aad.take() {
            let in_place = out.cast_const() == input && !out.is_null();
            // SAFETY: libcrypto's buffer, which is input and output.
            let done = in_place.then(|| unsafe { std::slice::from_raw_parts_mut(out, length) });
            let done = done.and_then(|record| self.tls_record(aad, record));
            self.iv_state = IvState::Unset;
            return done;
        }
        match self.iv_state {
            _ if !self.gcm.has_key() => return None,
            IvState::Unset => return None,
            IvState::Set => self.start(),
            IvState::Used => {}
        }
        if input.is_null() {
            return self.close().then_some(0);
        }
        if out.is_null() {
            // SAFETY: libcrypto's buffer.
            return self.gcm.aad(unsafe { std::slice::from_raw_parts(input, length) }).ok().map(|()| length);
        }
        // SAFETY: libcrypto's buffers.
        self.crypt(unsafe { InOut::from_raw(input, out, length) }).then_some(length)
    }

    fn set_iv_length(&mut self, length: c_int) -> bool {
        let Some(length) = usize::try_from(length).ok().filter(|l| (1..=MAX_IV).contains(l)) else { return false };
        if length != self.iv_length {
            // An IV already there was made for another length.
            self.iv_state = IvState::Unset;
            self.iv_length = length;
        }
        true
    }
}

impl<const BITS: usize> Cipher for Context<BITS> {
    const FAILED: c_int = -1;

    fn new() -> Self {
        Context {
            gcm: Gcm::default(),
            tally: Tally::new(Function::AesGcm, BITS),
            encrypt: false,
            iv_state: IvState::Unset,
            generates: false,
            iv_length: 12,
            tag_length: None,
            tag: [0; TAG],
            tls_aad: None,
            tls_records: 0,
            iv: [0; MAX_IV],
        }
    }

    unsafe fn init(&mut self, context: Opaque, key: *const u8, iv: *const u8, encrypt: bool) -> bool {
        self.encrypt = encrypt;
        // SAFETY: a key of the method's length, an IV of that set, or null; libcrypto's context keeps an IV of 16 bytes.
        unsafe {
            if !iv.is_null() {
                let length = self.iv_length;
                self.iv[..length].copy_from_slice(std::slice::from_raw_parts(iv, length));
                self.iv_state = IvState::Set;
                let shown = (bulk().cipher_iv)(context);
                if !shown.is_null() && length <= 16 {
                    std::ptr::copy_nonoverlapping(self.iv.as_ptr(), shown, length);
                }
            }
            if !key.is_null() {
                if self.gcm.set_key(std::slice::from_raw_parts(key, BITS / 8)).is_err() {
                    return false;
                }
                self.tls_records = 0;
                // A message begun under the old key cannot go on under the new one.
                if self.iv_state == IvState::Used {
                    self.iv_state = IvState::Set;
                }
            }
        }
        true
    }

    unsafe fn run(&mut self, _context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int {
        // SAFETY: libcrypto's buffers.
        unsafe { self.process(out, input, length) }.and_then(|n| c_int::try_from(n).ok()).unwrap_or(Self::FAILED)
    }

    unsafe fn control(&mut self, command: c_int, argument: c_int, pointer: *mut c_void) -> c_int {
        let data = pointer.cast::<u8>();
        let length = usize::try_from(argument).unwrap_or(0);
        // SAFETY: the pointer of these commands is valid for the length that comes with it.
        let given = || unsafe { if data.is_null() { &[] } else { std::slice::from_raw_parts(data, length) } };
        match command {
            command::GET_IV_LENGTH if !pointer.is_null() => {
                // SAFETY: a place for an int.
                unsafe { *pointer.cast::<c_int>() = self.iv_length as c_int };
                1
            }
            command::SET_IV_LENGTH => self.set_iv_length(argument).into(),
            command::SET_TAG => {
                if self.encrypt || !(1..=TAG).contains(&length) || data.is_null() {
                    return 0;
                }
                self.tag[..length].copy_from_slice(given());
                self.tag_length = Some(length);
                1
            }
            command::GET_TAG => {
                if !self.encrypt || !(1..=TAG).contains(&length) || data.is_null() || self.tag_length.is_none() {
                    return 0;
                }
                // SAFETY: the caller's buffer of that length.
                unsafe { std::ptr::copy_nonoverlapping(self.tag.as_ptr(), data, length) };
                1
            }
            command::SET_FIXED_IV if data.is_null() => 0,
            command::SET_FIXED_IV if argument == -1 => {
                // SAFETY: by the rule of this command the data is as long as the IV.
                let iv = unsafe { std::slice::from_raw_parts(data, self.iv_length) };
                self.fix(iv, true).into()
            }
            command::SET_FIXED_IV => self.fix(given(), false).into(),
            command::GENERATE_IV if data.is_null() => 0,
            command::GENERATE_IV => {
                // No length, or one beyond the IV's, asks for all of it.
                let size = if length == 0 { self.iv_length } else { length.min(self.iv_length) };
                // SAFETY: the caller's buffer.
                self.generate(unsafe { std::slice::from_raw_parts_mut(data, size) }).into()
            }
            command::SET_INVOCATION => (!data.is_null() && self.received(given())).into(),
            command::TLS_AAD => {
                given().try_into().ok().and_then(|aad| self.tls_header(aad)).map_or(0, |growth| growth as c_int)
            }
            _ => UNSUPPORTED,
        }
    }
}
