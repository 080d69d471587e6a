//! AES-GCM with the controls of TLS 1.2 (RFC 5288) and OpenSSH: fixed and generated IVs, records in place.

use super::{Cipher, UNSUPPORTED};
use crate::bulk::bulk;
use crate::libcrypto::Opaque;
use adjunct::InOut;
use adjunct::ops::aead::gcm::{Session, TAG};
use adjunct::ops::aead::{EXPLICIT_IV, TLS_AAD, shorten_tls};
use std::ffi::{c_int, c_void};

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

/// AES-GCM with keys of `BITS` bits.
#[derive(Clone)]
pub struct EngineGcm<const BITS: usize> {
    session: Session,
    encrypt: bool,
    tls_aad: Option<[u8; TLS_AAD]>,
}

impl<const BITS: usize> EngineGcm<BITS> {
    /// The header of the next record, with the length that its payload will have; the bytes a record grows by.
    fn tls_header(&mut self, mut aad: [u8; TLS_AAD]) -> Option<usize> {
        shorten_tls(&mut aad, EXPLICIT_IV + if self.encrypt { 0 } else { TAG })?;
        self.tls_aad = Some(aad);
        Some(TAG)
    }

    /// # Safety
    /// As for [`Cipher::run`].
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, length: usize) -> Option<usize> {
        let encrypt = self.encrypt;
        if let Some(aad) = self.tls_aad.take() {
            let in_place = out.cast_const() == input && !out.is_null();
            // SAFETY: libcrypto's buffer, which is input and output.
            let record = in_place.then(|| unsafe { std::slice::from_raw_parts_mut(out, length) });
            let done = record.and_then(|record| self.session.tls_record(encrypt, aad, record));
            self.session.end();
            return done;
        }
        if !self.session.has_key() || !self.session.begin() {
            return None;
        }
        if input.is_null() {
            let done = self.session.close(encrypt);
            self.session.end();
            return done.then_some(0);
        }
        if out.is_null() {
            // SAFETY: libcrypto's buffer.
            return self.session.aad(unsafe { std::slice::from_raw_parts(input, length) }).then_some(length);
        }
        // SAFETY: libcrypto's buffers.
        self.session.crypt(encrypt, unsafe { InOut::from_raw(input, out, length) }).then_some(length)
    }
}

impl<const BITS: usize> Cipher for EngineGcm<BITS> {
    const FAILED: c_int = -1;

    fn new() -> Self {
        EngineGcm { session: Session::default(), encrypt: false, tls_aad: None }
    }

    unsafe fn init(&mut self, context: Opaque, key: *const u8, iv: *const u8, encrypt: bool) -> bool {
        self.encrypt = encrypt;
        // SAFETY: a key of the method's length, an IV of that set, or null; libcrypto's context keeps an IV of 16 bytes.
        unsafe {
            if !iv.is_null() {
                self.session.set_iv(std::slice::from_raw_parts(iv, self.session.iv_length()));
                let shown = (bulk().cipher_iv)(context);
                if let Some(iv) = self.session.iv().filter(|iv| !shown.is_null() && iv.len() <= 16) {
                    std::ptr::copy_nonoverlapping(iv.as_ptr(), shown, iv.len());
                }
            }
            key.is_null() || self.session.set_key(std::slice::from_raw_parts(key, BITS / 8)).is_ok()
        }
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
                unsafe { *pointer.cast::<c_int>() = self.session.iv_length() as c_int };
                1
            }
            command::SET_IV_LENGTH => {
                usize::try_from(argument).is_ok_and(|length| self.session.set_iv_length(length)).into()
            }
            command::SET_TAG => {
                if self.encrypt || !(1..=TAG).contains(&length) || data.is_null() {
                    return 0;
                }
                self.session.set_tag(given(), self.encrypt).into()
            }
            command::GET_TAG => {
                let Some(tag) = self.session.tag(length, self.encrypt).filter(|_| !data.is_null()) else { return 0 };
                // SAFETY: the caller's buffer of that length.
                unsafe { std::ptr::copy_nonoverlapping(tag.as_ptr(), data, length) };
                1
            }
            command::SET_FIXED_IV if data.is_null() => 0,
            command::SET_FIXED_IV if argument == -1 => {
                // SAFETY: by the rule of this command the data is as long as the IV.
                let iv = unsafe { std::slice::from_raw_parts(data, self.session.iv_length()) };
                self.session.fix_iv(iv, true, self.encrypt).into()
            }
            command::SET_FIXED_IV => self.session.fix_iv(given(), false, self.encrypt).into(),
            command::GENERATE_IV if data.is_null() => 0,
            command::GENERATE_IV => {
                // No length, or one beyond the IV's, asks for all of it.
                let whole = self.session.iv_length();
                let size = if length == 0 { whole } else { length.min(whole) };
                // SAFETY: the caller's buffer.
                self.session.generate_iv(unsafe { std::slice::from_raw_parts_mut(data, size) }).into()
            }
            command::SET_INVOCATION => (!data.is_null() && self.session.receive_iv(given(), self.encrypt)).into(),
            command::TLS_AAD => {
                given().try_into().ok().and_then(|aad| self.tls_header(aad)).map_or(0, |growth| growth as c_int)
            }
            _ => UNSUPPORTED,
        }
    }
}
