//! HMAC, with the constant-time MAC of TLS records that libssl asks for by `tls-data-size`.

use super::dispatch::{self, Object};
use super::{Engine, Foreign, Keyed, MacContext, alias, find};
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, evp};
use crate::abi::{self, Dispatch, slice, slice_mut};
use crate::fallback::Output;
use adjunct::Error;
use adjunct::catalogue::Function;
use adjunct::ops::Delegated;
use adjunct::ops::digest::Method;
use adjunct::ops::mac::{Hmac, RecordMac, TLS_HEADER};
use adjunct_ossl::engines::Engines;
use std::ffi::{CStr, c_void};

impl Keyed for Hmac {
    type Under = &'static Method;
    const NAME: &CStr = c"HMAC";
    const UNDER: &CStr = c"digest";
    const NO_SIZE: Option<Reason> = Some(evp::MESSAGE_DIGEST_IS_NULL);
    const BLOCK: Option<fn(&'static Method) -> usize> = Some(|method| method.block);

    fn under(name: &str) -> Option<&'static Method> {
        Method::from_name(name).filter(|method| method.hmac.is_some())
    }

    fn replaced(under: &'static Method, engines: &Engines) -> bool {
        engines.replace_digest(under.nid)
    }

    fn function(under: &'static Method) -> (Function, usize) {
        (under.hmac.unwrap_or(Function::HmacSha2_256), 0)
    }

    fn key(under: &'static Method, key: &[u8]) -> Result<Hmac, Error> {
        Hmac::new(under, key)
    }

    fn rekey(&mut self, under: &'static Method, key: &[u8]) -> bool {
        std::ptr::eq(self.method(), under) && self.set_key(key).is_ok()
    }

    fn keyed(&self) -> &'static Method {
        self.method()
    }

    #[inline]
    fn reset(&mut self) {
        Hmac::reset(self);
    }

    #[inline]
    fn update(&mut self, data: &[u8]) {
        Hmac::update(self, data);
    }

    #[inline]
    fn finish(&mut self, out: &mut [u8]) -> Result<(), Error> {
        Hmac::finish(self, out)
    }

    #[inline]
    fn size(under: &'static Method) -> usize {
        under.size
    }
}

/// The MAC of a decrypted TLS record in CBC, in progress.
#[derive(Clone, Copy)]
struct Record {
    /// Length of content, MAC and padding in bytes; 0 where no record is meant.
    size: usize,
    header: Option<[u8; TLS_HEADER]>,
    mac: Option<RecordMac>,
}

impl Record {
    const NONE: Record = Record { size: 0, header: None, mac: None };
}

/// A context that may be told of TLS records.
struct TlsContext {
    mac: MacContext<Hmac>,
    record: Record,
}

impl TlsContext {
    /// Leaves records under a digest that the CPU library has no constant-time function for to the default provider.
    fn hand_over_record(&mut self, size: &Param) -> bool {
        if let Engine::Served(hmac) = &self.mac.engine {
            if self.record.size == 0 || hmac.has_tls_record() {
                return true;
            }
            let Some(name) = abi::c_string(hmac.method().name.as_bytes()) else { return false };
            let Some(Foreign { mac: mut delegate, .. }) = self.mac.delegate(&name, None) else { return false };
            let Ok(key) = hmac.block_key() else { return false };
            // SAFETY: an empty array.
            if !unsafe { delegate.init(Some(key), std::ptr::null()) } {
                return false;
            }
            let counts = hmac.method().hmac.map(|function| Delegated::new(function, 0));
            self.mac.engine = Engine::Delegated { mac: delegate, counts, total: 0 };
        }
        match &mut self.mac.engine {
            // SAFETY: the array ends.
            Engine::Delegated { mac, .. } => unsafe { mac.set_params([alias(size), Param::END].as_ptr()) },
            _ => true,
        }
    }

    /// The first update of a record brings its header, the second its content, with MAC and padding behind it.
    ///
    /// # Safety
    /// `data` is valid for the length of the record that was announced, in the second update.
    unsafe fn update_record(&mut self, data: *const u8, length: usize) -> bool {
        let hmac = match &mut self.mac.engine {
            Engine::Served(hmac) => hmac,
            // SAFETY: the caller answers for `data` being valid for `length` bytes and, where it is a record's content, for the record that
            // was announced.
            Engine::Delegated { mac, .. } => return unsafe { mac.update_record(data, length) },
            Engine::None | Engine::Unkeyed(_) => return false,
        };
        let Some(header) = &self.record.header else {
            // SAFETY: the buffer is OpenSSL's.
            self.record.header = unsafe { slice(data, length) }.try_into().ok();
            return self.record.header.is_some();
        };
        if length > self.record.size {
            return false;
        }
        // SAFETY: the caller answers for `data` being valid for all the bytes of the record that was announced.
        let Ok(mac) = hmac.tls_record(header, unsafe { slice(data, self.record.size) }, length) else {
            return false;
        };
        self.record.mac = Some(mac);
        true
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn finish_record(&mut self, output: Output) -> bool {
        let Some(mac) = self.record.mac else { return false };
        if output.size < mac.length() || output.data.is_null() {
            return false;
        }
        // SAFETY: the caller answers for `output` being as it describes itself: `data`, which is not null, has room for the MAC, and
        // `length` is null or a place for a number.
        unsafe {
            mac.finish(slice_mut(output.data, mac.length()));
            if !output.length.is_null() {
                *output.length = mac.length();
            }
        }
        true
    }

    #[inline]
    fn in_record(&self) -> bool {
        self.record.size > 0 && matches!(self.mac.engine, Engine::Served(_))
    }
}

impl Object for TlsContext {
    const SETTABLE: &'static [Param] = &[
        Param::describe(c"digest", param::UTF8, 0),
        Param::describe(c"properties", param::UTF8, 0),
        Param::describe(c"key", param::OCTETS, 0),
        // Hints to OpenSSL's own digests; the results do not depend on them.
        Param::describe(c"digest-noinit", param::INTEGER, 4),
        Param::describe(c"digest-oneshot", param::INTEGER, 4),
        Param::describe(c"tls-data-size", param::UNSIGNED, 8),
        Param::END,
    ];

    unsafe fn create(provctx: *mut c_void) -> TlsContext {
        // SAFETY: the pointer is OpenSSL's.
        TlsContext { mac: unsafe { MacContext::create(provctx) }, record: Record::NONE }
    }

    fn duplicate(&self) -> Option<TlsContext> {
        Some(TlsContext { mac: self.mac.duplicate()?, record: self.record })
    }

    #[inline]
    unsafe fn init(&mut self, key: *const u8, length: usize, params: *const Param) -> bool {
        // Most messages come without, and are short.
        let taken = params.is_null() || self.set_params(params);
        // SAFETY: the pointers are OpenSSL's.
        if !taken || !unsafe { self.mac.init(key, length, std::ptr::null()) } {
            return false;
        }
        let size = self.record.size;
        let mut value = size;
        let data = (&raw mut value).cast();
        let p = Param { data, ..Param::describe(c"tls-data-size", param::UNSIGNED, size_of::<usize>()) };
        size == 0 || self.hand_over_record(&p)
    }

    #[inline]
    unsafe fn update(&mut self, data: *const u8, length: usize) -> bool {
        // SAFETY: the data is OpenSSL's.
        unsafe {
            if self.record.size > 0 { self.update_record(data, length) } else { self.mac.update(slice(data, length)) }
        }
    }

    #[inline]
    unsafe fn finish(&mut self, output: Output) -> bool {
        // SAFETY: the output is OpenSSL's.
        unsafe { if self.in_record() { self.finish_record(output) } else { self.mac.finish(output) } }
    }

    #[inline]
    fn get_params(&self, params: *mut Param) -> bool {
        self.mac.get_params(params)
    }

    #[inline]
    fn set_params(&mut self, params: *const Param) -> bool {
        if !self.mac.set_params(params) {
            return false;
        }
        match find(params, c"tls-data-size") {
            None => true,
            Some(p) => match p.get_usize() {
                Some(size) => {
                    self.record = Record { size, ..Record::NONE };
                    self.hand_over_record(p)
                }
                None => false,
            },
        }
    }
}

/// The functions that OpenSSL calls for an HMAC.
pub static DISPATCH: [Dispatch; 11] = dispatch::table::<TlsContext>();
