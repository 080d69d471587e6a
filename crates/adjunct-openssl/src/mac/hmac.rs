//! HMAC, with the constant-time MAC of TLS records that libssl asks for by `tls-data-size`.

use super::{Context, Engine, Foreign, Keyed, alias, dup, find, gettable, with};
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, evp};
use crate::abi::{self, Dispatch, guard, id, slice};
use crate::entry;
use crate::fallback::Output;
use adjunct::awslc::digest::{MAX_SIZE, Method};
use adjunct::awslc::mac::{Hmac, TLS_HEADER};
use adjunct::catalogue::Function;
use adjunct::route::Tally;
use adjunct_ossl::engines::Engines;
use std::ffi::{CStr, c_int, c_void};

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
        engines.replace_digest(under.name)
    }

    fn function(under: &'static Method) -> (Function, usize) {
        (under.hmac.unwrap_or(Function::HmacSha2_256), 0)
    }

    fn key(under: &'static Method, key: &[u8]) -> Option<Hmac> {
        Hmac::new(under, key).ok()
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
    fn finish(&mut self, out: &mut [u8]) {
        Hmac::finish(self, out);
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
    mac: [u8; MAX_SIZE],
    mac_length: usize,
}

impl Record {
    const NONE: Record = Record { size: 0, header: None, mac: [0; MAX_SIZE], mac_length: 0 };
}

/// A context that may be told of TLS records.
struct TlsContext {
    mac: Context<Hmac>,
    record: Record,
}

impl TlsContext {
    fn duplicate(&self) -> Option<TlsContext> {
        Some(TlsContext { mac: self.mac.duplicate()?, record: self.record })
    }

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

    /// Leaves records under a digest that the CPU library has no constant-time function for to the default provider.
    fn hand_over_record(&mut self, size: &Param) -> bool {
        if let Engine::Served(hmac) = &self.mac.engine {
            if self.record.size == 0 || hmac.has_tls_record() {
                return true;
            }
            let Some(name) = abi::c_string(hmac.method().name.as_bytes()) else { return false };
            let Some(Foreign { mac: mut delegate, .. }) = self.mac.delegate(&name, None) else { return false };
            // SAFETY: an empty array.
            if !unsafe { delegate.init(Some(hmac.block_key()), std::ptr::null()) } {
                return false;
            }
            self.mac.tally = hmac.method().hmac.map(|function| Tally::delegated(function, 0));
            self.mac.engine = Engine::Delegated(delegate);
        }
        match &mut self.mac.engine {
            // SAFETY: the array ends.
            Engine::Delegated(mac) => unsafe { mac.set_params([alias(size), Param::END].as_ptr()) },
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
            // SAFETY: see above.
            Engine::Delegated(mac) => return unsafe { mac.update_record(data, length) },
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
        // SAFETY: see above.
        let Ok((mac, size)) = hmac.tls_record(header, unsafe { slice(data, self.record.size) }, length) else {
            return false;
        };
        // The length of the record, not of its secret content.
        self.mac.total = self.record.size;
        (self.record.mac, self.record.mac_length) = (mac, size);
        true
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn finish_record(&mut self, output: Output) -> bool {
        let length = self.record.mac_length;
        if length == 0 || output.size < length || output.data.is_null() {
            return false;
        }
        // SAFETY: see above.
        unsafe {
            std::ptr::copy_nonoverlapping(self.record.mac.as_ptr(), output.data, length);
            if !output.length.is_null() {
                *output.length = length;
            }
        }
        if let Some(tally) = self.mac.tally {
            tally.count(adjunct::route::Direction::Encrypt, self.mac.total);
        }
        true
    }

    #[inline]
    fn in_record(&self) -> bool {
        self.record.size > 0 && matches!(self.mac.engine, Engine::Served(_))
    }
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the pointer is the provider's.
        let mac = unsafe { Context::create(provctx) };
        abi::give(TlsContext { mac, record: Record::NONE })
    })
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: the context is ours.
    unsafe { dup(ctx, TlsContext::duplicate) }
}

unsafe extern "C" fn freectx(ctx: *mut c_void) {
    // SAFETY: the context is ours and not used again.
    guard((), || unsafe { abi::free::<TlsContext>(ctx) });
}

unsafe extern "C" fn init(ctx: *mut c_void, key: *const u8, length: usize, params: *const Param) -> c_int {
    // SAFETY: the context is ours, the rest OpenSSL's.
    unsafe {
        with::<TlsContext>(ctx, |c| {
            c.set_params(params) && c.mac.init(key, length, std::ptr::null()) && {
                let size = c.record.size;
                let mut value = size;
                let data = (&raw mut value).cast();
                let p = Param { data, ..Param::describe(c"tls-data-size", param::UNSIGNED, size_of::<usize>()) };
                size == 0 || c.hand_over_record(&p)
            }
        })
    }
}

unsafe extern "C" fn update(ctx: *mut c_void, data: *const u8, length: usize) -> c_int {
    // SAFETY: as above.
    unsafe {
        with::<TlsContext>(ctx, |c| {
            if c.record.size > 0 { c.update_record(data, length) } else { c.mac.update(slice(data, length)) }
        })
    }
}

unsafe extern "C" fn finish(ctx: *mut c_void, data: *mut u8, length: *mut usize, size: usize) -> c_int {
    let output = Output { data, length, size };
    // SAFETY: as above.
    unsafe { with::<TlsContext>(ctx, |c| if c.in_record() { c.finish_record(output) } else { c.mac.finish(output) }) }
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: as above.
    unsafe { with::<TlsContext>(ctx, |c| c.mac.get_params(params)) }
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: as above.
    unsafe { with::<TlsContext>(ctx, |c| c.set_params(params)) }
}

static SETTABLE: [Param; 7] = [
    Param::describe(c"digest", param::UTF8, 0),
    Param::describe(c"properties", param::UTF8, 0),
    Param::describe(c"key", param::OCTETS, 0),
    // Hints to OpenSSL's own digests; the results do not depend on them.
    Param::describe(c"digest-noinit", param::INTEGER, 4),
    Param::describe(c"digest-oneshot", param::INTEGER, 4),
    Param::describe(c"tls-data-size", param::UNSIGNED, 8),
    Param::END,
];

unsafe extern "C" fn settable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SETTABLE.as_ptr()
}

/// What OpenSSL calls for an HMAC.
pub static DISPATCH: &[Dispatch] = &[
    entry!(id::MAC_NEWCTX, newctx),
    entry!(id::MAC_DUPCTX, dupctx),
    entry!(id::MAC_FREECTX, freectx),
    entry!(id::MAC_INIT, init),
    entry!(id::MAC_UPDATE, update),
    entry!(id::MAC_FINAL, finish),
    entry!(id::MAC_GET_CTX_PARAMS, get_ctx_params),
    entry!(id::MAC_GETTABLE_CTX_PARAMS, gettable),
    entry!(id::MAC_SET_CTX_PARAMS, set_ctx_params),
    entry!(id::MAC_SETTABLE_CTX_PARAMS, settable),
    Dispatch::END,
];
